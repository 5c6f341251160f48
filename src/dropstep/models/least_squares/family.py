"""Least squares as a family: linear regression and discriminant analysis, from rows or from moments."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from dropstep.data.leakage import SUSPICIOUS, determining, determining_by_moments, determining_note
from dropstep.data.moments import Moments
from dropstep.data.sample import PerRow, Sample, sample_of, sample_of_moments, sample_of_source
from dropstep.data.source import Source
from dropstep.data.table import Names
from dropstep.data.target import Categorical, Continuous, Target, as_target
from dropstep.models.base import Bools, Choices, Family, Floats, Units
from dropstep.models.folds import Fold
from dropstep.models.held_out import Losses, class_losses, predictor, row_weights
from dropstep.models.least_squares.blocks import MomentBlocks, blocks_of, prefers_blocks
from dropstep.models.least_squares.criteria import Criterion, OfRows, as_criterion
from dropstep.models.least_squares.fold_problems import fold_problems, lacks_classes, sample_folds, without_lone_rows
from dropstep.models.least_squares.model import LeastSquares
from dropstep.models.least_squares.notes import notes
from dropstep.models.least_squares.permutation import PermutedResiduals
from dropstep.models.least_squares.problem import Problem, choose_solver, from_moments, problem_of
from dropstep.models.least_squares.row_residuals import RowResiduals
from dropstep.models.least_squares.rows import RegressionRows
from dropstep.models.resampling import Evaluation
from dropstep.parameters import Parameters
from dropstep.result import Coefficients


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

    def folds(self, sample: Sample, cv: Any) -> tuple[Fold, ...]:
        """The folds of a sample."""
        return sample_folds(sample, cv)

    def training(
        self, sample: Sample, folds: Sequence[Fold], solver: Any, max_features: int | None
    ) -> Iterator[tuple[Sample, LeastSquaresProblem]]:
        """The problems of the training rows: from the moments of the folds, if a Gram matrix costs less."""
        trimmed = [(without_lone_rows(train, sample.target), test) for train, test in folds]
        if any(lacks_classes(train, sample.target) for train, _ in trimmed):
            for train, _ in trimmed:
                part = sample.at(train)
                yield part, self.problem(part, solver, max_features)
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

    def at(self, sample: Sample, rows: NDArray[np.intp]) -> Sample:
        """The sample of some rows."""
        return sample.at(rows)

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
        if self.whole is None:
            return model
        if self.whole.in_memory:
            model.residuals = RowResiduals(self.whole, units, self.rows)
            model.permuted = PermutedResiduals(model.residuals, candidates, problem.test)
        elif self.whole.source is not None and self.whole.source.can_reread:
            from dropstep.models.least_squares.block_residuals import BlockResiduals

            model.residuals = BlockResiduals(self.whole, units)
        return model

    def _rows(self, criterion: Criterion) -> RegressionRows:
        """The rows, for a criterion that reads them."""
        sample = self.sample
        if self.equations.solver == "columns":
            return RegressionRows(self.equations)
        if sample is None or not sample.in_memory:
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
        if sample is not None and (found := self._determining(sample, excluded)):
            yield determining_note(Names(sample.names), found)
        yield from notes(model, None if sample is None else sample.column_names, excluded)

    def _determining(self, sample: Sample, excluded: set[int]) -> list[int]:
        """Features that determine a target, except for those of excluded columns."""
        if sample.in_memory:
            if not isinstance(sample.target, Continuous):
                return []
            suspects = [j for j in self.equations.nearly_determining(1 - SUSPICIOUS) if j not in excluded]
            return determining(sample.table, sample.encoding, sample.target, sample.weights, suspects)
        if sample.moments.labels is not None:
            return []
        ignored = set(sample.choice.features(sample.choice.exclude))
        return [j for j in determining_by_moments(sample.moments, sample.encoding) if j not in ignored]
