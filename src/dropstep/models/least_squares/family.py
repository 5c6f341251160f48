"""Least squares as a family: linear regression and discriminant analysis, from rows or from moments."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from dropstep.data.division import Fold
from dropstep.data.groups import as_choice
from dropstep.data.leakage import SUSPICIOUS, determining, determining_note
from dropstep.data.moments import Moments
from dropstep.data.rearrange import without_levels
from dropstep.data.sample import Features, Rows, Sample, sample_of
from dropstep.data.sources import RowSource
from dropstep.data.sources.sample import SourceSample, source_sample
from dropstep.data.target import Categorical, Continuous, Target, as_target
from dropstep.models.base import Bools, Choices, Family, Floats, Units
from dropstep.models.base import Problem as SearchProblem
from dropstep.models.evaluation import Evaluation, Losses, class_losses, predictor, problems_one_by_one, row_weights
from dropstep.models.least_squares.blocks import MomentBlocks, blocks_of, prefers_blocks
from dropstep.models.least_squares.criteria import Criterion, OfRows, as_criterion
from dropstep.models.least_squares.fold_problems import fold_problems, lacks_classes, without_lone_rows
from dropstep.models.least_squares.model import LeastSquares
from dropstep.models.least_squares.notes import notes
from dropstep.models.least_squares.permutation import PermutedResiduals
from dropstep.models.least_squares.problem import Problem, choose_solver, from_moments, problem_of
from dropstep.models.least_squares.row_residuals import RowResiduals
from dropstep.models.least_squares.rows import RegressionRows
from dropstep.parameters import Parameters
from dropstep.result import Coefficients


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

    def prefers_blocks(self, sample: Sample | MomentsSample, criterion: Any, solver: str, n_blocks: int) -> bool:
        """Whether sums over blocks suffice for a criterion, and cost less than the rows themselves."""
        if not isinstance(sample, Sample) or solver == "columns":
            return False
        kind = "discriminant" if isinstance(sample.target, Categorical) else "linear"
        if isinstance(as_criterion(criterion, kind), OfRows):
            return False
        n, p = sample.table.matrix.shape
        return prefers_blocks(n, p, n_blocks) and (solver == "gram" or choose_solver(n // 2, p) == "gram")

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

    equations: Problem
    whole: AnySample | None = None
    max_features: int | None = None
    rows: Callable[[], NDArray[np.intp]] | None = None  # None is all rows

    @cached_property
    def sample(self) -> AnySample | None:
        """The sample of these rows, which are copied if a criterion or a rule reads them."""
        return self.whole if self.rows is None or not isinstance(self.whole, Sample) else self.whole.at(self.rows())

    @property
    def sizes_by(self) -> str:
        return "ebic" if self.equations.kind == "linear" else "trace"

    @property
    def n_columns(self) -> int:
        return self.equations.n_features

    @property
    def varying(self) -> Bools:
        return self.equations.equations.diagonal > 0

    def model(self, criterion: Any, units: Units, candidates: NDArray[np.intp], choices: Choices) -> LeastSquares:
        """A model of candidate columns."""
        problem = self.equations
        resolved = as_criterion(criterion, problem.kind).resolve(problem, candidates, choices)
        rows = self._rows(resolved) if isinstance(resolved, OfRows) else None
        model = LeastSquares(problem, resolved, units, self.max_features, rows)
        if isinstance(self.whole, Sample):
            model.residuals = RowResiduals(self.whole, units, self.rows)
            model.permuted = PermutedResiduals(model.residuals, candidates, problem.test)
        elif isinstance(self.whole, SourceSample) and self.whole.source.can_reread:
            from dropstep.models.least_squares.block_residuals import BlockResiduals

            model.residuals = BlockResiduals(self.whole, units)
        return model

    def _rows(self, criterion: Criterion) -> RegressionRows:
        """The rows, for a criterion that reads them."""
        sample = self.sample
        if self.equations.solver == "columns":
            return RegressionRows(self.equations)
        if not isinstance(sample, Sample):
            raise ValueError(
                f"criterion {criterion.name!r} reads the rows, which Moments do not contain; pass X and y, or use "
                "criterion='aicc'"
            )
        return RegressionRows(problem_of(sample.table, sample.target, sample.weights, "columns"))

    def with_knockoffs(self, candidates: NDArray[np.intp], seed: int) -> LeastSquaresProblem:
        """The problem of candidate columns, followed by a knockoff of each."""
        from dropstep.models.least_squares.knockoffs import with_knockoffs

        return LeastSquaresProblem(with_knockoffs(self.equations, candidates, seed))

    def notes(self, model: LeastSquares, excluded: set[int]) -> Iterator[str]:
        """Notes on features that determine the target, and on the digits of the numbers."""
        sample = self.sample
        if isinstance(sample, Sample) and isinstance(sample.target, Continuous):
            suspects = [j for j in self.equations.nearly_determining(1 - SUSPICIOUS) if j not in excluded]
            if found := determining(sample.table, sample.encoding, sample.target, sample.weights, suspects):
                yield determining_note(sample.features, found)
        yield from notes(model, None if sample is None else sample.column_names, excluded)
