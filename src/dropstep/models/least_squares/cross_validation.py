"""Least squares under criterion "cv" as a family: exact cross-validation, from the moments or the rows of the folds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from dropstep.data.division import Fold, sample_folds
from dropstep.data.moments import Moments
from dropstep.data.sample import Rows, Sample
from dropstep.data.sources import RowSource
from dropstep.models.base import Bools, Choices, Units
from dropstep.models.evaluation import Evaluation, Losses
from dropstep.models.least_squares.cross_validated import CrossValidatedLeastSquares, Parts
from dropstep.models.least_squares.family import LeastSquaresFamily, LeastSquaresProblem
from dropstep.models.least_squares.fold_problems import fold_problems, refuse_missing_classes
from dropstep.parameters import Parameters
from dropstep.result import Coefficients


@dataclass(frozen=True)
class CrossValidatedFamily:
    """Linear regression or discriminant analysis, scored on held-out rows.

    Parameters
    ----------
    kind : {"auto", "linear", "discriminant"}
        "auto" decides from the values of the target.
    evaluation : Evaluation
        The folds.
    """

    kind: Literal["auto", "linear", "discriminant"]
    evaluation: Evaluation

    def sample(self, X: Any, y: Any, rows: Rows, given: Parameters) -> Sample:
        """Validate data: a table."""
        if isinstance(X, Moments):
            raise ValueError(
                "criterion 'cv' scores models on held-out rows, which Moments do not contain; pass X and y, "
                "or use another criterion such as 'press' or 'ebic'"
            )
        if isinstance(X, RowSource):
            raise ValueError(
                "criterion 'cv' needs all rows in memory, but X is read in blocks of rows; use another criterion such "
                "as 'ebic', or pass a table"
            )
        sample = LeastSquaresFamily(self.kind).sample(X, y, rows, given)
        assert isinstance(sample, Sample)
        return sample

    def problem(
        self, sample: Sample, solver: Any, max_features: int | None, *, from_all: bool = False
    ) -> CrossValidatedProblem:
        """The problems of the folds."""
        folds = sample_folds(sample, self.evaluation.cv)
        refuse_missing_classes(sample, folds)
        limit = max_features if sample.choice.members is None and sample.encoding is None else None
        return CrossValidatedProblem(fold_problems(sample, folds, solver, limit), sample, folds, solver, max_features)

    def losses(self, sample: Sample, fold: Fold, columns: Sequence[int], fit: Coefficients) -> Losses:
        """Mean squared error and its root; log loss and error rate of classes."""
        return LeastSquaresFamily(self.kind).losses(sample, fold, columns, fit)


@dataclass(frozen=True, eq=False)
class CrossValidatedProblem:
    """The problem of all rows and those of the folds, the sample that they are of, and how they were made."""

    sizes_by = "cv"

    parts: Parts
    sample: Sample
    folds: tuple[Fold, ...]
    solver: str
    max_features: int | None

    @property
    def n_columns(self) -> int:
        return self.parts[0].n_features

    @property
    def varying(self) -> Bools:
        return self.parts[0].equations.diagonal > 0

    def model(
        self, criterion: Any, units: Units, candidates: NDArray[np.intp], choices: Choices
    ) -> CrossValidatedLeastSquares:
        """A model of candidate columns."""
        from_columns = None
        if self.solver == "auto" and self.parts[0].solver == "gram":
            from_columns = self._from_columns
        return CrossValidatedLeastSquares(self.parts, units, self.max_features, from_columns)

    def _from_columns(self) -> Parts:
        return fold_problems(self.sample, self.folds, "columns")

    def notes(self, model: CrossValidatedLeastSquares, excluded: set[int]) -> Iterator[str]:
        """Notes on features that determine the target, and on the digits of the numbers."""
        problem = LeastSquaresProblem(model.problem, self.sample, self.max_features)
        return problem.notes(model.on_all_rows(), excluded)
