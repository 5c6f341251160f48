"""Least squares under criterion "cv" as a family: exact cross-validation, from the moments or the rows of the folds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from dropstep.data.moments import Moments
from dropstep.data.sample import Rows, Sample
from dropstep.data.target import Categorical
from dropstep.models.base import Bools, Units
from dropstep.models.folds import Fold, folds_of
from dropstep.models.least_squares.cross_validated import CrossValidatedLeastSquares, Parts
from dropstep.models.least_squares.family import LeastSquaresFamily, LeastSquaresProblem
from dropstep.models.least_squares.fold_problems import fold_problems
from dropstep.models.resampling import Evaluation
from dropstep.parameters import Parameters


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
        sample = LeastSquaresFamily(self.kind).sample(X, y, rows, given)
        assert isinstance(sample, Sample)
        return sample

    def problem(self, sample: Sample, solver: Any, max_features: int | None) -> CrossValidatedProblem:
        """The problems of the folds."""
        folds = sample_folds(sample, self.evaluation.cv)
        limit = max_features if sample.choice.members is None and sample.encoding is None else None
        return CrossValidatedProblem(fold_problems(sample, folds, solver, limit), sample, folds, solver, max_features)


def sample_folds(sample: Sample, cv: Any) -> tuple[Fold, ...]:
    """The folds of a sample; an integer stratifies classes, and keeps groups of rows together."""
    target, groups = sample.target, sample.groups
    classes = isinstance(target, Categorical)
    y = target.codes if isinstance(target, Categorical) else np.zeros(sample.table.n_rows)
    groups = None if groups is None else np.asarray(groups)
    if groups is not None and groups.shape != (sample.table.n_rows,):
        raise ValueError(
            f"sample_groups must have one label per row ({sample.table.n_rows}); its shape is {groups.shape}"
        )
    split = {} if groups is None else {"groups": groups}
    return folds_of(cv, sample.table.values, y, classes=classes, grouped=groups is not None, split_params=split)


@dataclass(frozen=True, eq=False)
class CrossValidatedProblem:
    """The problem of all rows and those of the folds, the sample that they are of, and how they were made."""

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
        self, criterion: Any, units: Units, candidates: NDArray[np.intp], n_candidates: int
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
