"""Fits: the score of an estimator on one fold for one set of columns, each computed at most once."""

from __future__ import annotations

import contextlib
import math
import shutil
import signal
import tempfile
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from multiprocessing import resource_tracker
from pathlib import Path
from typing import Any, NamedTuple

import joblib
import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import _safe_indexing

from dropstep.data.division import Fold
from dropstep.models.estimator.checkpoint import Checkpoint, append
from dropstep.models.evaluation import SearchEndedError
from dropstep.result import StopReason

Columns = tuple[int, ...]  # ascending
PENDING = "2*n_jobs"  # fits that are dispatched at a time: the others are not started when the search ends


class Task(NamedTuple):
    """A fit: columns, and the number of the fold."""

    columns: Columns
    fold: int


@dataclass(frozen=True)
class Outcome:
    """Result of a fit.

    Attributes
    ----------
    score : float
        NaN if the fit failed, or if the score is undefined.
    error : str or None
        Why the fit failed.
    warnings : tuple of str
        Distinct warnings.
    """

    score: float
    error: str | None = None
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Rowwise:
    """The table and everything else that has one entry per row.

    Attributes
    ----------
    X, y : array-like or frame
    folds : tuple of (ndarray, ndarray)
        Rows to fit and rows to score.
    fit_params, score_params : mapping of str to object
        Passed to `fit` and to the scorer; arrays with one entry per row are indexed.
    """

    X: Any
    y: Any
    folds: tuple[Fold, ...]
    fit_params: Mapping[str, Any] = field(default_factory=dict)
    score_params: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Recipe:
    """What is fitted, and how it is scored."""

    estimator: Any
    scorer: Callable[..., float]
    raises: bool = False


def fit_and_score(recipe: Recipe, data: Rowwise, task: Task) -> Outcome:
    """Fit on the rows of a fold and score the others; an error is part of the outcome unless the recipe raises."""
    X = _safe_indexing(data.X, list(task.columns), axis=1) if task.columns else data.X
    train, test = data.folds[task.fold]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            fitted = clone(recipe.estimator).fit(*_rows((X, data.y), train), **_at(data.fit_params, train, data.X))
            score = recipe.scorer(fitted, *_rows((X, data.y), test), **_at(data.score_params, test, data.X))
            score, error = float(score), None
        except Exception as failure:
            if recipe.raises:
                failure.add_note(f"while columns {list(task.columns)} were evaluated on fold {task.fold}")
                raise
            score, error = math.nan, f"{type(failure).__name__}: {_first_line(failure)}"
    return Outcome(
        score, error, tuple(dict.fromkeys(f"{w.category.__name__}: {_first_line(w.message)}" for w in caught))
    )


def _rows(tables: Sequence[Any], rows: NDArray[np.intp]) -> list[Any]:
    return [_safe_indexing(table, rows) for table in tables]


def _at(params: Mapping[str, Any], rows: NDArray[np.intp], X: Any) -> dict[str, Any]:
    """Parameters at some rows; what has no entry per row is passed as it is."""
    per_row = {name for name, value in params.items() if np.ndim(value) and np.shape(value)[0] == X.shape[0]}
    return {name: _safe_indexing(value, rows) if name in per_row else value for name, value in params.items()}


def _first_line(message: object) -> str:
    lines = str(message).strip().splitlines()
    return lines[0].strip() if lines else ""


# --- several processes -----------------------------------------------------------------------------------------------


@lru_cache(maxsize=1)
def _shared(file: str) -> Rowwise:
    """The rows, mapped into the memory of this process."""
    loaded = joblib.load(file, mmap_mode="r")
    assert isinstance(loaded, Rowwise)
    return loaded


def _fit_shared(i: int, recipe: Recipe, file: str, checkpoint: str | None, task: Task) -> tuple[int, Outcome]:
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # where signals cannot be masked
    return i, _recorded(recipe, _shared(file), checkpoint, task)


def _recorded(recipe: Recipe, data: Rowwise, checkpoint: str | None, task: Task) -> Outcome:
    """Fit, score, and write the outcome to the checkpoint."""
    outcome = fit_and_score(recipe, data, task)
    if checkpoint is not None:
        append(checkpoint, task.columns, task.fold, vars(outcome))
    return outcome


@contextlib.contextmanager
def _masked_signals() -> Iterator[None]:
    """Start processes that no signal to the whole group ends, if this process handles it: it ends the search.

    The mask is inherited; a signal that arrives meanwhile is handled at the end.
    """
    if not hasattr(signal, "pthread_sigmask"):  # pragma: no cover
        yield
        return
    handled = {number for number in (signal.SIGINT, signal.SIGTERM) if signal.getsignal(number) is not signal.SIG_DFL}
    resource_tracker.ensure_running()  # it resets the mask where it starts
    before = signal.pthread_sigmask(signal.SIG_BLOCK, handled)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class Runner:
    """Runs fits, in this process or in several that share the rows by memory map.

    Parameters
    ----------
    recipe : Recipe
    data : Rowwise
    n_jobs : int or None
        As in joblib.
    checkpoint : str or None, default=None
        File to which every fit is appended.
    """

    def __init__(self, recipe: Recipe, data: Rowwise, n_jobs: int | None, checkpoint: str | None = None) -> None:
        self.recipe, self.data, self._n_jobs, self._checkpoint = recipe, data, n_jobs, checkpoint
        self._folder: Path | None = None

    def run(self, tasks: Sequence[Task], ended: Callable[[], StopReason | None]) -> Iterator[tuple[int, Outcome]]:
        """Index and outcome of each task, in the order in which they finish; none is started after the end."""
        if joblib.effective_n_jobs(self._n_jobs) == 1:
            for i, task in enumerate(tasks):
                if ended() is None:
                    yield i, _recorded(self.recipe, self.data, self._checkpoint, task)
            return
        file, fit = str(self._file()), joblib.delayed(_fit_shared)
        jobs = (fit(i, self.recipe, file, self._checkpoint, task) for i, task in enumerate(tasks) if ended() is None)
        parallel = joblib.Parallel(self._n_jobs, return_as="generator_unordered", pre_dispatch=PENDING, batch_size=1)
        with _masked_signals():
            outcomes = parallel(jobs)
        yield from outcomes

    def _file(self) -> Path:
        if self._folder is None:
            self._folder = Path(tempfile.mkdtemp(prefix="dropstep-"))
            try:
                joblib.dump(self.data, self._folder / "rows")
            except OSError as error:
                raise ValueError(
                    f"the rows cannot be copied to {tempfile.gettempdir()!r} for several processes "
                    f"({error.strerror or error}); set TMPDIR to a folder with more space, or use n_jobs=1"
                ) from error
        return self._folder / "rows"

    def close(self) -> None:
        """Delete the shared rows."""
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None


# --- at most once ----------------------------------------------------------------------------------------------------


class Fits:
    """Outcomes of fits: from the cache, from a checkpoint, or from a new fit.

    Invariant: `n_fits` is the number of different tasks that were requested; a fit that an earlier process wrote to the
    checkpoint counts, so that a resumed search is equal to an uninterrupted one.

    Parameters
    ----------
    runner : Runner
    checkpoint : Checkpoint or None
    ended : callable
        Why the search is to end now; None if it is to continue.
    on_fit : callable
        Called after each fit.
    """

    def __init__(
        self,
        runner: Runner,
        checkpoint: Checkpoint | None,
        ended: Callable[[], StopReason | None],
        on_fit: Callable[[], object],
    ) -> None:
        self._runner, self._checkpoint, self._ended, self._on_fit = runner, checkpoint, ended, on_fit
        self._known: dict[Task, Outcome] = {}
        self._warnings: dict[str, int] = {}
        self.n_fits = self.n_cached = 0

    @property
    def n_folds(self) -> int:
        return len(self._runner.data.folds)

    @property
    def warnings(self) -> dict[str, int]:
        """Warnings of the fits, and in how many of them each occurred."""
        return dict(self._warnings)

    def preset(self, columns: Columns, scores: Sequence[float]) -> None:
        """Fold scores that need no fit."""
        self._known |= {Task(columns, fold): Outcome(score) for fold, score in enumerate(scores)}

    def known(self, columns: Columns) -> list[Outcome] | None:
        """Outcomes on all folds; None if some are not known."""
        tasks = [Task(columns, fold) for fold in range(self.n_folds)]
        return [self._known[task] for task in tasks] if all(task in self._known for task in tasks) else None

    def of(self, tasks: Sequence[Task], *, always: bool = False) -> list[Outcome]:
        """Outcomes of tasks, computed where necessary, even after the end if `always`."""
        new = [task for task in dict.fromkeys(tasks) if task not in self._known]
        self.n_cached += len(tasks) - len(new)
        if self._checkpoint is not None:
            for task in new:
                if (record := self._checkpoint.get(task.columns, task.fold)) is not None:
                    self._keep(task, Outcome(record["score"], record["error"], tuple(record["warnings"])))
        missing = [task for task in new if task not in self._known]
        for i, outcome in self._runner.run(missing, _never if always else self._ended):
            self._keep(missing[i], outcome)
        if any(task not in self._known for task in missing):
            reason = self._ended()
            assert reason is not None
            raise SearchEndedError(reason)
        return [self._known[task] for task in tasks]

    def _keep(self, task: Task, outcome: Outcome) -> None:
        if outcome.error is None and not math.isfinite(outcome.score):
            cause = f" ({'; '.join(outcome.warnings)})" if outcome.warnings else ""
            raise ValueError(
                f"the score of columns {list(task.columns)} on fold {task.fold} is {outcome.score}{cause}; choose a "
                "criterion and folds for which it is defined"
            )
        self._known[task] = outcome
        self.n_fits += 1
        for warning in outcome.warnings:
            self._warnings[warning] = self._warnings.get(warning, 0) + 1
        self._on_fit()

    def close(self) -> None:
        """Close the checkpoint and delete the shared rows."""
        self._runner.close()
        if self._checkpoint is not None:
            self._checkpoint.close()


def _never() -> None:
    return None
