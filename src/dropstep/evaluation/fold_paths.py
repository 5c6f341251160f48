"""Paths of the folds: the selection is repeated on the training rows of every fold, and scored on its test rows."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any, NamedTuple

import joblib
import numpy as np
from numpy.typing import NDArray

from dropstep.backends import opened
from dropstep.data.moments import Moments
from dropstep.data.response import Survival
from dropstep.data.sample import Features, PerRow, Sample
from dropstep.data.target import Categorical
from dropstep.evaluation.metrics import metric
from dropstep.models.base import Problem
from dropstep.models.capabilities import Fitted
from dropstep.models.estimator.family import Estimator
from dropstep.models.families import as_family
from dropstep.models.folds import Fold
from dropstep.models.held_out import Losses, Trainable
from dropstep.models.resampling import Resamples
from dropstep.parameters import NAMES, Parameters
from dropstep.result import Coefficients, SelectionPath, feature_names
from dropstep.running import FitReport, Searching, evaluated, searching
from dropstep.search.limits import Limits
from dropstep.search.search import Search
from dropstep.select import select

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Chosen:
    """A selection on the training rows of a fold, and its losses on the test rows.

    Attributes
    ----------
    selected : tuple of int
        Features, in order of entry.
    names : tuple of str
        Their names.
    losses : mapping of str to float
        Losses on the test rows; the first one is minimised.
    concordance : float or None
        Harrell's c on the test rows; None if the target is not a survival time.
    """

    selected: tuple[int, ...]
    names: tuple[str, ...]
    losses: Losses
    concordance: float | None = None

    @property
    def loss(self) -> float:
        return next(iter(self.losses.values()))


@dataclass(frozen=True, eq=False)
class Trained:
    """Validated data, the family that is trained on parts of it, and the data as they were given."""

    family: Trainable
    sample: Any
    given: Parameters
    data: tuple[Any, Any, PerRow]

    @classmethod
    def of(cls, X: Any, y: Any, rows: PerRow, given: Parameters) -> Trained:
        """Validate data for a selection that is repeated on parts of the rows."""
        if given.checkpoint is not None:
            raise ValueError("checkpoint applies to a single selection, not to one per fold; omit checkpoint")
        if isinstance(X, Moments):
            raise ValueError("the selection is repeated on parts of the rows, which Moments do not have; pass X and y")
        X, y, rows = opened(X, y, rows)
        if is_cross_validated(given) and not is_splitter(given.cv):
            raise ValueError(
                "the selection is itself cross-validated, and divides the training rows of each fold again, which a "
                "list of folds cannot; pass cv as an integer or a splitter"
            )
        with Limits(None) as limits:
            family: Any = as_family(given.model)
            without = replace(rows, groups=None)  # here they divide rows into folds, whatever the criterion
            family = evaluated(family, replace(given, n_jobs=None), without, FitReport(None, limits))
        return cls(family, family.sample(X, y, rows, given), given, (X, y, rows))

    def folds(self, cv: Any) -> tuple[Fold, ...]:
        """Folds of the rows."""
        return self.family.folds(self.sample, cv)

    def at(self, rows: NDArray[np.intp]) -> Trained:
        """The data of some rows."""
        return replace(self, sample=self.family.at(self.sample, rows))

    def without_included(self) -> Trained:
        """The same, with no feature forced in."""
        return replace(self, sample=replace(self.sample, choice=replace(self.sample.choice, include=())))

    def select(self, given: Parameters) -> SelectionPath:
        """The selection on all rows."""
        X, y, rows = self.data
        return select(
            X,
            y,
            **as_dict(given),
            sample_weight=rows.weights,
            offset=rows.offset,
            strata=rows.strata,
            sample_groups=rows.groups if is_cross_validated(given) else None,
            metadata=rows.metadata,
        )

    @property
    def kind(self) -> str:
        """Name of the model."""
        if isinstance(self.family, Estimator):
            return type(self.family.estimator).__name__
        kind = str(self.family.kind)  # type: ignore[attr-defined]
        return kind if kind != "auto" else "discriminant" if self.strata is not None else "linear"

    @property
    def n_rows(self) -> int:
        sample = self.sample
        return int(sample.table.n_rows if isinstance(sample, Sample) else sample.X.shape[0])

    @property
    def groups(self) -> Any:
        """Groups of dependent rows, or None."""
        return self.sample.groups if isinstance(self.sample, Sample) else self.sample.rows.groups

    @property
    def strata(self) -> NDArray[np.intp] | None:
        """Classes, or events, by which folds are stratified; None if there are none."""
        if not isinstance(self.sample, Sample):
            from dropstep.models.estimator.scoring import predicts_classes

            assert isinstance(self.family, Estimator)
            y = np.asarray(self.sample.y)
            return np.unique(y, return_inverse=True)[1] if predicts_classes(self.family.estimator) else None
        target = self.sample.target
        if isinstance(target, Categorical):
            return target.codes
        return target.event.astype(np.intp) if isinstance(target, Survival) else None

    @property
    def n_units(self) -> int:
        """Number of features, or groups, that may be selected."""
        choice = self.sample.choice
        n = self.sample.n_features if choice.members is None else len(choice.members)
        return n - len(choice.exclude)


def by_size(trained: Trained, folds: Sequence[Fold], given: Parameters, most: int) -> list[dict[int, Chosen]]:
    """The best selection of every size, by the criterion, on the path of every fold.

    Parameters
    ----------
    trained : Trained
    folds : sequence of (ndarray, ndarray)
    given : Parameters
        Parameters of the path: with `path_parameters` it does not stop early.
    most : int
        Largest size.

    Returns
    -------
    list of dict
        One per fold, by ascending size.
    """

    def run(part: Features, problem: Problem, fold: Fold) -> dict[int, Chosen]:
        with closing(searching(part, problem, given, most)) as search:
            found = _visited(search, part, most)
        return {size: _chosen(trained, fold, found[size]) for size in sorted(found)}

    return _over_folds(trained, folds, run, given, most)


def at_the_end(
    trained: Trained, folds: Sequence[Fold], given: Parameters, tick: Callable[[int], None] = lambda fold: None
) -> list[Chosen]:
    """The selection at the end of the path of every fold."""
    most = given.max_features

    def run(part: Features, problem: Problem, fold: Fold) -> Chosen:
        with closing(searching(part, problem, given, most)) as search:
            for _ in search.steps():
                pass
            state = _present(search.search, part)
        return _chosen(trained, fold, state)

    return _over_folds(trained, folds, run, given, most, tick)


def _over_folds(
    trained: Trained,
    folds: Sequence[Fold],
    run: Callable[[Features, Problem, Fold], Any],
    given: Parameters,
    most: int | None,
    tick: Callable[[int], None] = lambda fold: None,
) -> list[Any]:
    """Run a search on the training rows of every fold; results do not depend on the number of jobs."""
    problems = trained.family.training(trained.sample, folds, given.solver, most)

    def parts() -> Iterator[tuple[int, Features, Problem, Fold]]:
        for number, fold in enumerate(folds, start=1):
            with _inside(number, given):
                part, problem = next(problems)
            yield number, part, problem, fold

    def one(number: int, part: Features, problem: Problem, fold: Fold) -> Any:
        tick(number)
        with _inside(number, given), warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            return run(part, problem, fold)

    n_jobs = 1 if given.n_jobs is None else given.n_jobs
    return list(joblib.Parallel(n_jobs, prefer="threads")(joblib.delayed(one)(*part) for part in parts()))


@contextmanager
def _inside(number: int, given: Parameters) -> Iterator[None]:
    """Name the fold in errors of a selection that divides its training rows again."""
    try:
        yield
    except ValueError as error:
        if not is_cross_validated(given):
            raise
        raise ValueError(f"the training rows of fold {number} are divided again: {error}") from None


class State(NamedTuple):
    """A selection on training rows: features, their names, columns of the design matrix, and their coefficients."""

    features: tuple[int, ...]
    names: tuple[str, ...]
    columns: tuple[int, ...]
    fit: Coefficients | None


def _present(search: Search, part: Features) -> State:
    """The present selection of a search."""
    features, columns = search.units.features(search.selected), search.units.columns(search.selected)
    fit = None
    if isinstance(search.model, Fitted):
        fit = search.model.coefficients(columns, feature_names(part.column_names, columns))
    return State(features, feature_names(part.names, features), columns, fit)


def _visited(started: Searching, part: Features, most: int) -> dict[int, State]:
    """The best selection of every size that the search visits, or finds by comparing sets, up to `most`."""
    best: dict[int, tuple[float, State]] = {}

    def keep(search: Search) -> None:
        size, value = len(search.selected), search.value
        if size <= most and (size not in best or value > best[size][0]):
            best[size] = value, _present(search, part)

    start = started.search.copy() if started.name == "exhaustive" else None
    if not started.search.include:
        keep(started.search)
    for step in started.steps():
        if step.action in ("add", "remove"):
            keep(started.search)
    if start is not None and started.search.optimum is not None:
        for one in started.search.optimum.sets:
            branch = start.copy()
            branch.start(one.units)
            keep(branch)
    return {size: state for size, (_, state) in best.items()}


def _chosen(trained: Trained, fold: Fold, state: State) -> Chosen:
    losses = trained.family.losses(trained.sample, fold, state.columns, state.fit)
    return Chosen(state.features, state.names, losses, _concordance(trained.sample, fold, state.fit))


def _concordance(sample: Any, fold: Fold, fit: Coefficients | None) -> float | None:
    if fit is None or not isinstance(sample, Sample) or not isinstance(sample.target, Survival):
        return None
    part = sample.at(fold[1])
    return metric("cox", fit, part, list(fit.columns))


def as_dict(given: Parameters) -> dict[str, Any]:
    """Parameters by name."""
    return {name: getattr(given, name) for name in NAMES}


def is_cross_validated(given: Parameters) -> bool:
    """Whether a selection divides rows into folds by itself."""
    by_cv = isinstance(given.criterion, str) and given.criterion == "cv"
    return by_cv or isinstance(as_family(given.model), Resamples)


def is_splitter(cv: Any) -> bool:
    """Whether folds can be made of any rows: by a number of folds or a splitter, not by a list of folds."""
    return cv is None or isinstance(cv, Integral) or hasattr(cv, "split")


def path_parameters(given: Parameters, most: int, *, in_folds: bool) -> Parameters:
    """Parameters of a path that visits every size up to `most`, unless `enter` is given.

    Where `enter` is "auto", features enter whatever they gain, and early dropping follows its own "auto" rule; backward
    removes features to the last (in the folds), or down to `most`.
    """
    changes: dict[str, Any] = {"max_features": max(most, 1)}
    if isinstance(given.enter, str) and given.enter == "auto":
        changes["enter"] = -math.inf
        if given.drop is None:
            changes["drop"] = "auto"
        if in_folds and given.strategy == "backward":
            changes["leave"] = math.inf
    return replace(given, **changes)


def carried_forward(paths: Sequence[dict[int, Chosen]]) -> tuple[tuple[int, ...], Floats]:
    """Sizes, and the losses of every fold by size; a path that ended earlier keeps its last selection."""
    first = max(min(path) for path in paths)
    sizes = sorted({size for path in paths for size in path if size >= first})
    table = [[path[max(k for k in path if k <= size)].loss for size in sizes] for path in paths]
    return tuple(sizes), np.array(table)


def choose_size(sizes: Sequence[int], losses: Floats, choose: str) -> int:
    """The size of least mean loss, or the smallest within one standard error of it."""
    means = losses.mean(axis=0)
    best = int(means.argmin())
    if choose == "one_se" and len(losses) > 1:
        limit = means[best] + losses[:, best].std(ddof=1) / math.sqrt(len(losses))
        best = int(np.flatnonzero(means <= limit)[0])
    return int(sizes[best])
