"""Least squares as a family: linear regression and discriminant analysis, from rows or from moments."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from dropstep.data.groups import as_choice
from dropstep.data.leakage import determining, determining_note
from dropstep.data.moments import Moments
from dropstep.data.rearrange import without_levels
from dropstep.data.sample import Features, Rows, Sample, sample_of
from dropstep.data.sources import RowSource
from dropstep.data.sources.sample import SourceSample, source_sample
from dropstep.data.target import Continuous, Target, as_target
from dropstep.models.base import Bools, Floats, Units
from dropstep.models.least_squares.criteria import as_criterion
from dropstep.models.least_squares.model import LeastSquares
from dropstep.models.least_squares.notes import notes
from dropstep.models.least_squares.problem import Problem, from_moments, problem_of
from dropstep.parameters import Parameters


@dataclass(frozen=True, eq=False)
class MomentsSample(Features):
    """Moments, which carry their target.

    Attributes
    ----------
    moments : Moments
    """

    moments: Moments


AnySample = Sample | SourceSample | MomentsSample


def _of_moments(moments: Moments, given: Parameters) -> MomentsSample:
    """Moments with the first level of every factor as its baseline."""
    encoding, names, n = None, moments.feature_names, moments.n_features
    if moments.factors is not None:
        moments, encoding = without_levels(moments)
        names, n = encoding.names, len(encoding.names)
    choice = as_choice(n, names, given.include, given.exclude, given.groups)
    return MomentsSample(names, n, encoding, choice, moments.target_names, (), moments)


def _of_source(
    source: RowSource, y: Any, rows: Rows, given: Parameters, kind: Literal["auto", "linear", "discriminant"]
) -> SourceSample:
    """Moments of a row source, in one pass."""
    if given.solver == "columns":
        raise ValueError(
            "solver='columns' reads columns, but X is read in blocks of rows; use solver='auto', or pass a table in "
            "memory or a numpy.memmap"
        )
    return source_sample(source, y, rows, given, kind, least_squares=True)


@dataclass(frozen=True)
class LeastSquaresFamily:
    """Linear regression or discriminant analysis.

    Parameters
    ----------
    kind : {"auto", "linear", "discriminant"}
        "auto" decides from the values of the target.
    """

    kind: Literal["auto", "linear", "discriminant"]

    def sample(self, X: Any, y: Any, rows: Rows, given: Parameters) -> AnySample:
        """Validate data: a table, a row source, or moments."""
        for name, value in (("offset", rows.offset), ("strata", rows.strata)):
            if value is not None:
                owners = "'poisson', 'gamma', 'logistic' or 'cox'" if name == "offset" else "'cox'"
                raise ValueError(f"{name} does not apply to model {self.kind!r}; use model={owners}, or omit {name}")
        if isinstance(X, RowSource):
            return _of_source(X, y, rows, given, self.kind)
        if not isinstance(X, Moments):
            return sample_of(X, y, rows, given, self._target, ignore_separating=True)
        if y is not None or rows.weights is not None:
            raise ValueError("Moments carry their y and their weights; omit y and sample_weight")
        return _of_moments(X, given)

    def _target(self, y: Any, n_rows: int, weights: Floats | None) -> Target:
        return as_target(y, n_rows, self.kind, weights)

    def problem(
        self, sample: AnySample, solver: Any, max_features: int | None, *, from_all: bool = False
    ) -> LeastSquaresProblem:
        """The normal equations of a sample."""
        if isinstance(sample, MomentsSample | SourceSample):
            problem = from_moments(sample.moments)
            if self.kind not in ("auto", problem.kind):
                raise ValueError(f"these Moments are those of model {problem.kind!r}, not {self.kind!r}")
        else:
            limit = max_features if sample.choice.members is None and sample.encoding is None else None
            problem = problem_of(sample.table, sample.target, sample.weights, solver, limit, from_all=from_all)
        return LeastSquaresProblem(problem, sample, max_features)


@dataclass(frozen=True, eq=False)
class LeastSquaresProblem:
    """Normal equations, the sample that they are of, and the number of units that may be selected."""

    equations: Problem
    sample: AnySample | None = None
    max_features: int | None = None

    @property
    def n_columns(self) -> int:
        return self.equations.n_features

    @property
    def varying(self) -> Bools:
        return self.equations.equations.diagonal > 0

    def model(self, criterion: Any, units: Units, candidates: NDArray[np.intp], n_candidates: int) -> LeastSquares:
        """A model of candidate columns that form a number of units."""
        problem = self.equations
        resolved = as_criterion(criterion, problem.kind).resolve(problem, candidates, n_candidates)
        return LeastSquares(problem, resolved, units, self.max_features)

    def notes(self, model: LeastSquares, excluded: set[int]) -> Iterator[str]:
        """Notes on features that determine the target, and on the digits of the numbers."""
        sample = self.sample
        if isinstance(sample, Sample) and isinstance(sample.target, Continuous):
            r2 = self.equations.r2()
            r2[list(excluded)] = 0.0
            if found := determining(sample.table, sample.encoding, sample.target, sample.weights, r2):
                yield determining_note(sample.features, found)
        yield from notes(model, None if sample is None else sample.column_names, excluded)
