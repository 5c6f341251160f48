"""Least squares as a family: linear regression and discriminant analysis, from rows or from moments."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial, reduce
from operator import add
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from dropstep.data.division import Fold
from dropstep.data.leakage import SUSPICIOUS, determining, determining_by_moments, determining_note
from dropstep.data.moments import Moments, of_rows
from dropstep.data.sample import Features, PerRow, Sample, sample_of, sample_of_moments, sample_of_source
from dropstep.data.source import Source
from dropstep.data.table import Names, refuse_missing
from dropstep.data.target import Categorical, Continuous, Target, as_target
from dropstep.models.base import Bools, Choices, Family, Floats, Units
from dropstep.models.base import Problem as SearchProblem
from dropstep.models.evaluation import Evaluation, Losses, class_losses, predictor, problems_one_by_one, row_weights
from dropstep.models.least_squares.criteria import Criterion, OfRows, as_criterion
from dropstep.models.least_squares.criterion_matrix import RegressionRows
from dropstep.models.least_squares.diagnostics import notes
from dropstep.models.least_squares.fold_scores import fold_problems, lacks_classes, without_lone_rows
from dropstep.models.least_squares.model import LeastSquares
from dropstep.models.least_squares.problem import ScatterProblem, choose_solver, from_moments, problem_of
from dropstep.models.least_squares.row_tests import PermutedResiduals, RowResiduals
from dropstep.parameters import Parameters
from dropstep.result import Coefficients

Indices = NDArray[np.intp]
FindRows = Callable[[], Indices]
MIN_ROWS_PER_VALUE = 2  # moments of all blocks may have as many numbers as X has, divided by this


@dataclass(frozen=True, eq=False)
class MomentBlocks:
    """Moments of disjoint blocks of the rows of a sample.

    Attributes
    ----------
    sample : Sample
    block : ndarray of int of shape (n_samples,)
        Block of each row.
    moments : tuple of Moments
        Moments of each block.
    total : Moments
        Moments of all rows.
    exact : bool
        Whether to continue from the rows where the digits of a Gram matrix do not suffice.
    """

    sample: Sample
    block: Indices
    moments: tuple[Moments, ...]
    total: Moments
    exact: bool

    def halves(self, chosen: Indices) -> tuple[tuple[ScatterProblem, FindRows], tuple[ScatterProblem, FindRows]]:
        """The problem of the union of some blocks, and that of the other blocks; with functions that find the rows."""
        half = union([self.moments[b] for b in chosen.tolist()])
        return self._problem(half, chosen, inside=True), self._problem(self.total - half, chosen, inside=False)

    def _problem(self, moments: Moments, chosen: Indices, *, inside: bool) -> tuple[ScatterProblem, FindRows]:
        problem = from_moments(moments)

        @cache
        def rows() -> Indices:
            return np.flatnonzero(np.isin(self.block, chosen) == inside)

        @cache
        def from_rows() -> ScatterProblem:
            part = self.sample.at(rows())
            return problem_of(part.table, part.target, part.weights, "columns")

        return replace(problem, from_rows=from_rows) if self.exact else problem, rows


def union(parts: Sequence[Moments]) -> Moments:
    """The sum of moments, at once where all have the same classes, which costs less than one after the other."""
    first = parts[0]
    classes = {None if part.labels is None else tuple(part.labels.tolist()) for part in parts}
    if len(classes) > 1:
        return reduce(add, parts)
    counts = np.array([part.counts for part in parts])
    means = np.array([part.means for part in parts])
    total = counts.sum(axis=0)
    shares = np.divide(counts, total, out=np.zeros_like(counts), where=total > 0)
    centre = np.einsum("bc,bcj->cj", shares, means)
    between = (np.sqrt(counts)[:, :, None] * (means - centre)).reshape(-1, means.shape[2])
    scatter = between.T @ between
    for part in parts:
        scatter += part.scatter
    return replace(first, counts=total, means=centre, scatter=scatter)


def blocks_are_few(n_rows: int, n_columns: int, n_blocks: int) -> bool:
    """Whether the moments of all blocks are few compared with the rows."""
    return MIN_ROWS_PER_VALUE * n_blocks * n_columns <= n_rows


def blocks_of(sample: Sample, block: Indices, *, exact: bool) -> MomentBlocks | None:
    """The moments of blocks; None if columns have so extreme a scale that moments cannot be added."""
    n_blocks = int(block.max()) + 1
    order = np.argsort(block, kind="stable")
    found = []
    for rows in np.split(order, np.searchsorted(block[order], np.arange(1, n_blocks))):
        table = sample.table.at(rows)
        weights = None if sample.weights is None else sample.weights[rows]
        moments, exponents = of_rows(table.matrix, sample.target.at(rows), weights, table.names)
        refuse_missing(sample.table, moments.means[:, : moments.n_features])
        if exponents is not None:
            return None
        found.append(moments)
    return MomentBlocks(sample, block, tuple(found), union(found), exact)


def _of_source(
    source: Source, y: Any, rows: PerRow, given: Parameters, kind: Literal["auto", "linear", "discriminant"]
) -> Sample:
    """Moments of a row source, in one pass."""
    if given.solver == "columns":
        raise ValueError(
            "solver='columns' reads columns, but X is read in blocks of rows; use solver='auto', or pass a table in "
            "memory or a numpy.memmap"
        )
    return sample_of_source(source, y, rows, given, kind, ignore_separating=True)


@dataclass(frozen=True)
class LeastSquaresFamily:
    """Linear regression or discriminant analysis.

    Parameters
    ----------
    kind : {"auto", "linear", "discriminant"}
        "auto" decides from the values of the target.
    """

    kind: Literal["auto", "linear", "discriminant"]

    def sample(self, X: Any, y: Any, rows: PerRow, given: Parameters) -> Sample:
        """Validate data: a table, a row source, or moments."""
        for name, value in (("offset", rows.offset), ("strata", rows.strata)):
            if value is not None:
                owners = "'poisson', 'gamma', 'logistic' or 'cox'" if name == "offset" else "'cox'"
                raise ValueError(f"{name} does not apply to model {self.kind!r}; use model={owners}, or omit {name}")
        if isinstance(X, Source):
            return _of_source(X, y, rows, given, self.kind)
        if not isinstance(X, Moments):
            return sample_of(X, y, rows, given, self._target, ignore_separating=True)
        if y is not None or rows.weights is not None:
            raise ValueError("Moments carry their y and their weights; omit y and sample_weight")
        return sample_of_moments(X, given)

    def cross_validated(self, evaluation: Evaluation) -> Family:
        """The family under criterion "cv"."""
        from dropstep.models.least_squares.cross_validation import CrossValidatedFamily

        return CrossValidatedFamily(self.kind, evaluation)

    def training(
        self, sample: Sample, folds: Sequence[Fold], solver: Any, max_features: int | None
    ) -> Iterator[tuple[Features, SearchProblem]]:
        """The problems of the training rows: from the moments of the folds, if a Gram matrix costs less."""
        trimmed = [(without_lone_rows(train, sample.target), test) for train, test in folds]
        if any(lacks_classes(train, sample.target) for train, _ in trimmed):
            yield from problems_one_by_one(self, sample, trimmed, solver, max_features)
            return
        limit = max_features if sample.choice.members is None and sample.encoding is None else None
        for (train, _), fold in zip(trimmed, fold_problems(sample, trimmed, solver, limit)[1], strict=True):
            yield sample, LeastSquaresProblem(fold.training, sample, max_features, partial(_same, train))

    def losses(self, sample: Sample, fold: Fold, columns: Sequence[int], fit: Coefficients) -> Losses:
        """Mean squared error and its root; log loss and error rate of classes."""
        test = fold[1]
        values = predictor(sample, test, fit)
        if fit.classes is not None:
            return class_losses(sample, test, values, fit.classes)
        errors = (values.reshape(len(test), -1) - sample.target.values[test]) ** 2
        mse = float(np.average(errors, axis=0, weights=row_weights(sample, test)).mean())
        return {"mse": mse, "rmse": math.sqrt(mse)}

    def _target(self, y: Any, n_rows: int, weights: Floats | None) -> Target:
        return as_target(y, n_rows, self.kind, weights)

    def problem(
        self, sample: Sample, solver: Any, max_features: int | None, *, from_all: bool = False
    ) -> LeastSquaresProblem:
        """The normal equations of a sample."""
        if not sample.in_memory:
            problem = from_moments(sample.moments)
            if self.kind not in ("auto", problem.kind):
                raise ValueError(f"these Moments are those of model {problem.kind!r}, not {self.kind!r}")
        else:
            limit = max_features if sample.choice.members is None and sample.encoding is None else None
            problem = problem_of(sample.table, sample.target, sample.weights, solver, limit, from_all=from_all)
        return LeastSquaresProblem(problem, sample, max_features)

    def prefers_blocks(self, sample: Sample, criterion: Any, solver: str, n_blocks: int) -> bool:
        """Whether sums over blocks suffice for a criterion, and cost less than the rows themselves."""
        if not sample.in_memory or solver == "columns":
            return False
        kind = "discriminant" if isinstance(sample.target, Categorical) else "linear"
        if isinstance(as_criterion(criterion, kind), OfRows):
            return False
        n, p = sample.table.matrix.shape
        return blocks_are_few(n, p, n_blocks) and (solver == "gram" or choose_solver(n // 2, p) == "gram")

    def blocks(
        self, sample: Sample, block: NDArray[np.intp], solver: str, max_features: int | None
    ) -> LeastSquaresBlocks | None:
        """The moments of blocks of rows, given the block of each row."""
        found = blocks_of(sample, block, exact=solver == "auto")
        return None if found is None else LeastSquaresBlocks(found, max_features)


def _same(rows: NDArray[np.intp]) -> NDArray[np.intp]:
    return rows


@dataclass(frozen=True, eq=False)
class LeastSquaresBlocks:
    """Blocks of rows, and the number of units that may be selected."""

    of: MomentBlocks
    max_features: int | None

    def halves(self, chosen: NDArray[np.intp]) -> tuple[LeastSquaresProblem, LeastSquaresProblem]:
        """The problem of the union of some blocks, and that of the other blocks."""
        (first, its_rows), (second, other_rows) = self.of.halves(chosen)
        return (
            LeastSquaresProblem(first, self.of.sample, self.max_features, its_rows),
            LeastSquaresProblem(second, self.of.sample, self.max_features, other_rows),
        )


@dataclass(frozen=True, eq=False)
class LeastSquaresProblem:
    """Normal equations, the sample (and its rows) that they are of, and the number of units that may be selected."""

    problem: ScatterProblem
    whole: Sample | None = None
    max_features: int | None = None
    rows: Callable[[], NDArray[np.intp]] | None = None  # None is all rows

    @cached_property
    def sample(self) -> Sample | None:
        """The sample of these rows, which are copied if a criterion or a rule reads them."""
        return (
            self.whole
            if self.rows is None or self.whole is None or not self.whole.in_memory
            else self.whole.at(self.rows())
        )

    @property
    def sizes_by(self) -> str:
        return "ebic" if self.problem.kind == "linear" else "trace"

    @property
    def n_columns(self) -> int:
        return self.problem.n_features

    @property
    def varying(self) -> Bools:
        return self.problem.varying

    def model(self, criterion: Any, units: Units, candidates: NDArray[np.intp], choices: Choices) -> LeastSquares:
        """A model of candidate columns."""
        problem = self.problem
        resolved = as_criterion(criterion, problem.kind).resolve(problem, candidates, choices)
        rows = self._rows(resolved) if isinstance(resolved, OfRows) else None
        model = LeastSquares(problem, resolved, units, self.max_features, rows)
        if self.whole is None:
            return model
        if self.whole.in_memory:
            model.residuals = RowResiduals(self.whole, units, self.rows)
            model.permuted = PermutedResiduals(model.residuals, candidates, problem.test)
        elif self.whole.source is not None and self.whole.source.can_reread:
            from dropstep.models.least_squares.row_tests import BlockResiduals

            model.residuals = BlockResiduals(self.whole, units)
        return model

    def _rows(self, criterion: Criterion) -> RegressionRows:
        """The rows, for a criterion that reads them."""
        sample = self.sample
        if self.problem.solver == "columns":
            return RegressionRows(self.problem)
        if sample is None or not sample.in_memory:
            raise ValueError(
                f"criterion {criterion.name!r} reads the rows, which Moments do not contain; pass X and y, or use "
                "criterion='aicc'"
            )
        return RegressionRows(problem_of(sample.table, sample.target, sample.weights, "columns"))

    def with_knockoffs(self, candidates: NDArray[np.intp], seed: int) -> LeastSquaresProblem:
        """The problem of candidate columns, followed by a knockoff of each."""
        from dropstep.models.least_squares.knockoff_moments import with_knockoffs

        return LeastSquaresProblem(with_knockoffs(self.problem, candidates, seed))

    def notes(self, model: LeastSquares, excluded: set[int]) -> Iterator[str]:
        """Notes on features that determine the target, and on the digits of the numbers."""
        sample = self.sample
        if sample is not None and (found := self._determining(sample, excluded)):
            yield determining_note(Names(sample.names), found)
        yield from notes(model, None if sample is None else sample.column_names, excluded)

    def _determining(self, sample: Sample, excluded: set[int]) -> list[int]:
        """Features that determine a target, except for those of excluded columns."""
        if sample.in_memory:
            if not isinstance(sample.target, Continuous):
                return []
            suspects = [j for j in self.problem.nearly_determining(1 - SUSPICIOUS) if j not in excluded]
            return determining(sample.table, sample.encoding, sample.target, sample.weights, suspects)
        if sample.moments.labels is not None:
            return []
        ignored = set(sample.choice.features(sample.choice.exclude))
        return [j for j in determining_by_moments(sample.moments, sample.encoding) if j not in ignored]
