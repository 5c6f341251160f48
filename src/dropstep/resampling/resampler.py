"""A selection that is repeated on parts of the rows.

Everything in this package is done in three steps: `data.division` divides the rows, a `Resampler` repeats the selection
on the parts, and the results are summarised. A fold trains on some rows and is scored on others, halves are compared
with each other, and a split selects on one part and infers on the other.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeVar

import joblib
import numpy as np
from numpy.typing import NDArray

from dropstep.backends import opened
from dropstep.data.division import Fold, Observations, estimable, is_splitter, sample_folds
from dropstep.data.moments import Moments
from dropstep.data.response import Survival
from dropstep.data.sample import Features, PerRow, Sample
from dropstep.data.source import Source
from dropstep.models.base import Problem
from dropstep.models.capabilities import WithCoefficients
from dropstep.models.estimator.family import Estimator
from dropstep.models.evaluation import Losses, Resamples, Scored, training_problems
from dropstep.models.families import as_family
from dropstep.parameters import NAMES, Parameters
from dropstep.resampling.refits import metric
from dropstep.result import Coefficients, SelectionPath, feature_names
from dropstep.running import FitReport, checked_max, make_search, with_evaluation
from dropstep.search.limits import Limits
from dropstep.search.search import Search
from dropstep.select import select

Indices = NDArray[np.intp]
Visit = Callable[[Search], None]
T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class PartSelection:
    """A selection on a part of the rows, and its losses on others.

    Attributes
    ----------
    selected : tuple of int
        Features, in order of entry.
    names : tuple of str
        Their names.
    columns : tuple of int
        Columns of the design matrix that encode them.
    fit : Coefficients or None
        Coefficients on the part; None if the model has none.
    losses : mapping of str to float
        Losses on the test rows of a fold; the first one is minimised.
    concordance : float or None
        Harrell's c on these rows; None if the target is not a survival time.
    """

    selected: tuple[int, ...]
    names: tuple[str, ...]
    columns: tuple[int, ...]
    fit: Coefficients | None
    losses: Losses = field(default_factory=dict)
    concordance: float | None = None

    @classmethod
    def of(cls, search: Search, part: Features) -> PartSelection:
        """The present selection of a search."""
        features, columns = search.units.features(search.selected), search.units.columns(search.selected)
        fit = None
        if isinstance(search.model, WithCoefficients):
            fit = search.model.coefficients(columns, feature_names(part.column_names, columns))
        return cls(features, feature_names(part.names, features), tuple(columns), fit)

    @property
    def loss(self) -> float:
        """The loss that is minimised."""
        return next(iter(self.losses.values()))


@dataclass(frozen=True, eq=False)
class Resampler:
    """A selection that can be repeated on parts of the rows.

    Attributes
    ----------
    family : Scored
    sample : Sample or EstimatorSample
        The whole sample, validated once: parts of it have the same encoding and the same units.
    given : Parameters
    """

    family: Scored
    sample: Any
    given: Parameters

    @classmethod
    def of(
        cls,
        X: Any,
        y: Any,
        rows: PerRow,
        given: Parameters,
        caller: str,
        *,
        on_parts: bool = True,
        limited: bool = False,
    ) -> Resampler:
        """Validate data and parameters.

        Parameters
        ----------
        X, y, rows
            The data of the selection.
        given : Parameters
        caller : str
            Name of the function that repeats the selection, for messages.
        on_parts : bool
            Whether the selection is repeated on parts of the rows; otherwise it is repeated on all of them.
        limited : bool
            Whether `max_time` applies to a selection on all rows, which `caller` makes in addition.
        """
        for name in ("checkpoint",) if limited else ("max_time", "checkpoint"):
            if getattr(given, name) is not None:
                raise ValueError(f"{name} does not apply to {caller}, which repeats the selection; omit {name}")
        if isinstance(X, Moments):
            raise ValueError(
                f"{caller} repeats the selection on parts of the rows, which Moments do not have; pass X and y"
            )
        X, y, rows = opened(X, y, rows)
        if isinstance(X, Source):
            raise ValueError(f"{caller} needs all rows in memory; pass X as an array or a frame")
        if on_parts and is_cross_validated(given) and not is_splitter(given.cv):
            raise ValueError(
                "the selection is itself cross-validated, and divides each part of the rows again, which a list of "
                "folds cannot; pass cv as an integer or a splitter"
            )
        with Limits(None) as limits:  # groups divide rows into parts here, whatever the criterion
            report, without = FitReport(None, limits), replace(rows, groups=None)
            family: Any = with_evaluation(as_family(given.model), replace(given, n_jobs=None), without, report)
        return cls(family, family.sample(X, y, rows, given), given)

    @cached_property
    def observations(self) -> Observations:
        """What is drawn when the sample is divided at random."""
        return Observations.of(self.sample)

    def part(self, drawn: Indices) -> Any:
        """The sample of some observations, without classes of a single one; None if its target cannot be fitted."""
        return estimable(self.observations.at(self.sample, drawn))

    def folds(self, cv: Any, seed: Any = None, n_repeats: int = 1) -> tuple[Fold, ...]:
        """Folds of the rows; with a seed, a number of folds is one of shuffled rows."""
        if isinstance(self.family, Estimator):
            return self.family.folds(self.sample, cv, seed)
        return sample_folds(self.sample, cv, seed, n_repeats)

    # --- one part ----------------------------------------------------------------------------------------------------

    def run(
        self,
        part: Features,
        problem: Problem | None = None,
        *,
        given: Parameters | None = None,
        make: type[Search] = Search,
        visit: Visit | None = None,
    ) -> Search:
        """A search on a part that has ended; `visit` is called after every change of the selection."""
        given = self.given if given is None else given
        most = checked_max(given.max_features, len(part.choice.include))
        problem = self.family.problem(part, given.solver, most) if problem is None else problem
        with closing(make_search(part, problem, given, most, make)) as started:
            for step in started.steps():
                if visit is not None and step.action in ("add", "remove"):
                    visit(started.search)
        return started.search

    def select_on(self, part: Any, problem: Problem | None = None, visit: Visit | None = None) -> tuple[int, ...]:
        """Units selected on a part, in order of entry; the included ones if it is None, where nothing can be fitted."""
        if part is None:
            return tuple(self.sample.choice.include)
        try:
            return tuple(self.run(part, problem, visit=visit).selected)
        except ValueError as error:
            raise ValueError(f"on a part of the rows: {error}") from error

    # --- folds: train on some rows, score on others ------------------------------------------------------------------

    def select_in_folds(
        self, folds: Sequence[Fold], given: Parameters, tick: Callable[[int], None] = lambda fold: None
    ) -> list[PartSelection]:
        """The selection at the end of the path of every fold."""

        def select(part: Features, problem: Problem, fold: Fold) -> PartSelection:
            return self._score(fold, PartSelection.of(self.run(part, problem, given=given), part))

        return self._over_folds(folds, select, given, tick)

    def select_sizes_in_folds(self, folds: Sequence[Fold], given: Parameters) -> list[dict[int, PartSelection]]:
        """The best selection of every size, by the criterion, on the path of every fold; sizes are in order."""

        def select(part: Features, problem: Problem, fold: Fold) -> dict[int, PartSelection]:
            found = _best_by_size(part, problem, given)
            return {size: self._score(fold, found[size]) for size in sorted(found)}

        return self._over_folds(folds, select, given)

    def _over_folds(
        self,
        folds: Sequence[Fold],
        select: Callable[[Features, Problem, Fold], T],
        given: Parameters,
        tick: Callable[[int], None] = lambda fold: None,
    ) -> list[T]:
        """What `select` finds on the training rows of every fold; results do not depend on the number of jobs."""
        problems = training_problems(self.family, self.sample, folds, given.solver, given.max_features)

        def training() -> Iterator[tuple[int, Fold, Features, Problem]]:
            for number, fold in enumerate(folds, start=1):
                with _named(number, given):
                    part, problem = next(problems)
                yield number, fold, part, problem

        def one(number: int, fold: Fold, part: Features, problem: Problem) -> T:
            tick(number)
            with _named(number, given), warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)
                return select(part, problem, fold)

        n_jobs = 1 if given.n_jobs is None else given.n_jobs
        return list(joblib.Parallel(n_jobs, prefer="threads")(joblib.delayed(one)(*each) for each in training()))

    def _score(self, fold: Fold, found: PartSelection) -> PartSelection:
        """A selection on the training rows of a fold, with its losses on the test rows."""
        losses, concordance = self.family.losses(self.sample, fold, found.columns, found.fit), None
        if found.fit is not None and isinstance(self.sample, Sample) and isinstance(self.sample.target, Survival):
            concordance = metric("cox", found.fit, self.sample.at(fold[1]))
        return replace(found, losses=losses, concordance=concordance)


def select_on_all_rows(X: Any, y: Any, rows: PerRow, given: Parameters) -> SelectionPath:
    """The selection by `select`; groups divide its rows only if it is cross-validated itself."""
    return select(
        X,
        y,
        **{name: getattr(given, name) for name in NAMES},
        sample_weight=rows.weights,
        offset=rows.offset,
        strata=rows.strata,
        sample_groups=rows.groups if is_cross_validated(given) else None,
        metadata=rows.metadata,
    )


def is_cross_validated(given: Parameters) -> bool:
    """Whether a selection divides rows into folds by itself."""
    by_cv = isinstance(given.criterion, str) and given.criterion == "cv"
    return by_cv or isinstance(as_family(given.model), Resamples)


@contextmanager
def _named(number: int, given: Parameters) -> Iterator[None]:
    """Name the fold in errors of a selection that divides its training rows again."""
    try:
        yield
    except ValueError as error:
        if not is_cross_validated(given):
            raise
        raise ValueError(f"the training rows of fold {number} are divided again: {error}") from None


def _best_by_size(part: Features, problem: Problem, given: Parameters) -> dict[int, PartSelection]:
    """The best selection of every size that a search visits, or finds by comparing sets, up to `max_features`."""
    best: dict[int, tuple[float, PartSelection]] = {}
    most = given.max_features
    assert most is not None

    def keep(search: Search) -> None:
        size, value = len(search.selected), search.value
        if size <= most and (size not in best or value > best[size][0]):
            best[size] = value, PartSelection.of(search, part)

    with closing(make_search(part, problem, given, most)) as started:
        search = started.search
        start = search.copy() if started.name == "exhaustive" else None
        if not search.include:
            keep(search)
        for step in started.steps():
            if step.action in ("add", "remove"):
                keep(search)
        for one in () if start is None or search.optimum is None else search.optimum.sets:
            assert start is not None
            branch = start.copy()
            branch.start(one.units)
            keep(branch)
    return {size: found for size, (_, found) in best.items()}
