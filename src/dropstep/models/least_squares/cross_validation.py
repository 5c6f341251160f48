"""Least squares under criterion "cv": exact cross-validation, one projection per fold and no fits."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from dropstep.data.division import Fold, sample_folds
from dropstep.data.moments import Moments
from dropstep.data.sample import PerRow, Sample
from dropstep.data.source import Source
from dropstep.models.base import Bools, Choices, CriterionInfo, Floats, Indices, Scan, Units, additions_of
from dropstep.models.evaluation import Evaluation, Losses
from dropstep.models.least_squares.criteria import RSS, Trace
from dropstep.models.least_squares.family import LeastSquaresFamily, LeastSquaresProblem
from dropstep.models.least_squares.fold_scores import (
    FoldProblem,
    FoldScores,
    HeldOutErrors,
    HeldOutLogScores,
    fold_problems,
    refuse_missing_classes,
)
from dropstep.models.least_squares.model import LeastSquares
from dropstep.models.least_squares.problem import ScatterProblem
from dropstep.parameters import Parameters
from dropstep.result import Coefficients, StopReason, standard_error

FEW_DIGITS = 1e-8  # relative held-out error below which it is computed from rows instead of moments
EXACT = 1e-24  # relative held-out error that is rounding


Parts = tuple[ScatterProblem, tuple[FoldProblem, ...]]


class CrossValidatedLeastSquares:
    """A selection of features, scored by the mean over folds of a held-out score.

    The score of a regression is the mean squared error of the test rows, and that of classes the mean log probability
    of the true classes by linear discriminant analysis. Gains are exact: each equals the difference of two
    cross-validated scores of refitted models. Where the digits of moments do not suffice, the model continues from the
    rows.

    Parameters
    ----------
    parts : tuple of (ScatterProblem, tuple of FoldProblem)
        The problem of all rows, and those of the folds.
    units : Units
    max_features : int or None
    from_columns : callable or None
        Makes the same parts from columns; None if they are, or if the solver was given.
    """

    sample_unit, reads_tails, scans_cost_fits = "training rows", True, False

    def __init__(
        self, parts: Parts, units: Units, max_features: int | None, from_columns: Callable[[], Parts] | None
    ) -> None:
        self.units, self._max_features = units, max_features
        self._selected: list[int] = []
        self._start(parts, from_columns)

    def _start(self, parts: Parts, from_columns: Callable[[], Parts] | None) -> None:
        """Project the selected units of every fold."""
        self.problem, problems = parts
        make = HeldOutErrors if self.problem.kind == "linear" else HeldOutLogScores
        self._folds: list[FoldScores] = [make(fold, self.units, self._max_features) for fold in problems]
        self._from_columns = from_columns
        if self._selected:
            for fold in self._folds:
                fold.add(self._selected)
        self._read()

    def refine(self) -> None:
        """Continue from the columns, which have more digits than moments."""
        assert self._from_columns is not None
        self._start(self._from_columns(), None)

    def _read(self) -> None:
        """Read the scores of the folds; from rows if moments leave too few digits of them."""
        if self._from_columns is not None and self._imprecise:
            self.refine()
            return
        self._fold_scores = np.array([fold.score for fold in self._folds])

    @property
    def _imprecise(self) -> bool:
        few = any(isinstance(fold, HeldOutErrors) and fold.share < FEW_DIGITS for fold in self._folds)
        return few or any(fold.lost_digits or fold.projection.imprecise for fold in self._folds)

    # --- queries -----------------------------------------------------------------------------------------------------

    @property
    def score(self) -> float:
        return float(self._fold_scores.mean())

    @property
    def score_std_error(self) -> float | None:
        """Standard error of the mean over folds; None for a single fold."""
        return float(standard_error(self._fold_scores)) if self.n_folds > 1 else None

    @property
    def n_folds(self) -> int:
        return len(self._folds)

    @property
    def greater_is_better(self) -> bool:
        return self.problem.kind == "discriminant"

    @property
    def kind(self) -> str:
        return self.problem.kind

    @property
    def solver(self) -> str:
        return self.problem.solver

    @property
    def criterion_info(self) -> CriterionInfo:
        several = self.n_folds > 1
        return CriterionInfo("cv", penalised=not several, monotone=False, share=True, resampled=several)

    @property
    def n(self) -> float:
        """Number of training rows (sum of weights) of the smallest fold."""
        return min(fold.problem.n for fold in self._folds)

    @property
    def max_rank(self) -> float:
        return min(fold.max_rank for fold in self._folds)

    def rank(self, units: Sequence[int]) -> int:
        """Number of columns of some units that do not depend on others of the same unit; constant ones excluded."""
        return LeastSquares(self.problem, _criterion(self.problem), self.units).rank(units)

    # --- scans -------------------------------------------------------------------------------------------------------

    def additions(self, units: Indices, without: int | None = None) -> Scan:
        """Gains of adding each unit, after removing the selected unit `without` if it is given."""
        found = [fold.additions(units, without) for fold in self._folds]
        if self._from_columns is not None and self._imprecise:
            return Scan(units, np.zeros(len(units)), np.zeros(len(units), dtype=bool), refine=self.refine)
        changes, ranks = np.stack([change for change, _ in found]), np.stack([rank for _, rank in found])
        sizes = np.array([fold.size for fold in self._folds])
        if without is not None:
            sizes = sizes - [len(fold.projection.directions(self.units.columns([without]))) for fold in self._folds]
        brings, room = (ranks > 0).any(axis=0), (sizes[:, None] + ranks <= self.max_rank).all(axis=0)
        feasible = np.asarray(brings & room)
        reason = None if feasible.any() else StopReason.ROWS if brings.any() else StopReason.SPAN
        return self._scan(units, np.where(feasible, changes, 0.0), feasible, reason)

    def removals(self, units: Indices) -> Scan:
        """Losses of removing each selected unit."""
        if not len(units):
            return Scan(units, np.empty(0), np.empty(0, dtype=bool))
        changes = np.stack([fold.removals(units) for fold in self._folds])
        scan = self._scan(units, changes, np.ones(len(units), dtype=bool), None)
        return replace(scan, gains=-scan.gains)

    def confirm(self, units: Indices, without: int | None = None) -> Scan:
        """Gains or losses of units; all scans are exact."""
        removing = without is None and set(units.tolist()) <= set(self._selected)
        return self.removals(units) if removing else additions_of(self, units, without)

    def _scan(self, units: Indices, changes: Floats, feasible: Bools, reason: StopReason | None) -> Scan:
        """Means of the changes of the fold scores, with their standard errors."""
        gains = changes if self.greater_is_better else -changes
        std_errors = standard_error(gains) if len(gains) > 1 else None
        mean = gains.mean(axis=0)
        return Scan(units, mean, feasible, n_evaluations=len(units), std_errors=std_errors, reason=reason)

    def saturated(self) -> StopReason | None:
        """Why no unit can be added: every held-out error is rounding, or no residual degrees of freedom remain."""
        if all(isinstance(fold, HeldOutErrors) and fold.share <= EXACT for fold in self._folds):
            return StopReason.EXACT
        return StopReason.ROWS if any(fold.size + 1 > self.max_rank for fold in self._folds) else None

    def independent(self, units: Indices) -> list[int]:
        """Units, in order, that do not depend, in all rows, on the selected ones or on the ones before."""
        return self.on_all_rows().independent(units)

    # --- moves -------------------------------------------------------------------------------------------------------

    def add(self, units: Sequence[int]) -> None:
        """Select units."""
        self._selected.extend(units)
        for fold in self._folds:
            fold.add(units)
        self._read()

    def remove(self, units: Sequence[int]) -> None:
        """Remove selected units."""
        self._selected = [u for u in self._selected if u not in units]
        for fold in self._folds:
            fold.remove(units)
        self._read()

    def copy(self) -> CrossValidatedLeastSquares:
        """An independent model with the same selection."""
        parts = self.problem, tuple(fold.fold for fold in self._folds)
        other = CrossValidatedLeastSquares(parts, self.units, self._max_features, self._from_columns)
        other.add(self._selected)
        return other

    def release(self) -> None:
        """Free what was kept for features that might have been added next."""
        for fold in self._folds:
            fold.projection.release()

    def on_all_rows(self) -> LeastSquares:
        """The model of all rows with the same selection."""
        model = LeastSquares(self.problem, _criterion(self.problem), self.units)
        model.add(self._selected)
        return model

    def coefficients(self, columns: Sequence[int], names: Sequence[str]) -> Coefficients:
        """Coefficients of the selected columns on all rows, in the order given, with their names."""
        return self.on_all_rows().coefficients(columns, names)


def _criterion(problem: ScatterProblem) -> RSS | Trace:
    return RSS() if problem.kind == "linear" else Trace()


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

    def sample(self, X: Any, y: Any, rows: PerRow, given: Parameters) -> Sample:
        """Validate data: a table."""
        if isinstance(X, Moments):
            raise ValueError(
                "criterion 'cv' scores models on held-out rows, which Moments do not contain; pass X and y, "
                "or use another criterion such as 'press' or 'ebic'"
            )
        if isinstance(X, Source):
            raise ValueError(
                "criterion 'cv' needs all rows in memory, but X is read in blocks of rows; use another criterion such "
                "as 'ebic', or pass a table"
            )
        sample = LeastSquaresFamily(self.kind).sample(X, y, rows, given)
        assert sample.in_memory
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
        return self.parts[0].varying

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
