"""Least squares as a model that can be searched: linear regression and discriminant analysis."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING

import numpy as np

from dropstep.models.base import Bools, Floats, Indices, Scan, Units, additions_of
from dropstep.models.capabilities import BestSets
from dropstep.models.least_squares.criteria import Criterion, Size
from dropstep.models.least_squares.criterion_matrix import CriterionMatrix, RegressionRows, RowFit
from dropstep.models.least_squares.moves import RankUpdate, moves_of
from dropstep.models.least_squares.problem import ScatterProblem
from dropstep.models.least_squares.row_tests import PermutedResiduals, RowResiduals
from dropstep.models.least_squares.solution import Solution, coefficients
from dropstep.models.tests import NullDistribution
from dropstep.projection.projection import Projection
from dropstep.result import Coefficients, PartialTest, StopReason

if TYPE_CHECKING:
    from dropstep.models.least_squares.row_tests import BlockResiduals

SEPARATED = 1e13  # trace at which classes are separated as far as float64 can express
FEW_DIGITS = 1e-8  # share of the sum of squares below which a residual is computed from rows instead of a Gram matrix
MAX_AHEAD = 64  # candidates whose tests in the tails are computed in one pass over blocks of rows
LIKELY = 0.05  # level, times the size over the number of candidates, at which one is likely to be added
BETWEEN = 1e-6  # share of its scatter that a feature must have between classes to separate them


class LeastSquares:
    """A selection of features of a problem, scored by a criterion.

    Where the digits of a Gram matrix do not suffice, the model continues from the rows, if the problem has them: after
    a move by itself, and after a scan (`Scan.refine`).

    Attributes
    ----------
    matrix : CriterionMatrix
        M of the selection.
    size : Size
    score : float
    projection : Projection
    residuals : RowResiduals or BlockResiduals or None
        What tests in the tails read; None if the rows are not known.
    permuted : PermutedResiduals or None
        None if the rows are not in memory.
    """

    sample_unit = "rows"
    scans_cost_fits = False

    def __init__(
        self,
        problem: ScatterProblem,
        criterion: Criterion,
        units: Units,
        max_features: int | None = None,
        rows: RegressionRows | None = None,
    ) -> None:
        self.problem, self.criterion, self.units, self._rows = problem, criterion, units, rows
        self._max_size = math.inf if max_features is None or units.members is not None else float(max_features)
        self.criterion_info, self.greater_is_better = criterion.info, criterion.better > 0
        self.permuted: PermutedResiduals | None = None
        self.residuals: RowResiduals | BlockResiduals | None = None
        self._selected: list[int] = []
        self._solution: Solution | None = None
        self._start(problem)

    def _start(self, problem: ScatterProblem) -> None:
        """Project the selected units onto a problem."""
        self.problem = problem
        self._moves = moves_of(problem.equations, self.units)
        together = None if self.units.members is None else self.units.of_column
        self.projection = Projection(problem.equations, self._max_size, together)
        self._n_dependent = 0  # selected units without an independent feature
        if self._selected:
            self._project(self._selected)
        self._read()

    def refine(self) -> None:
        """Continue from the rows, which have more digits than a Gram matrix."""
        assert self.problem.from_rows is not None
        self._start(self.problem.from_rows())

    def rank(self, units: Sequence[int]) -> int:
        """Number of features of some units that do not depend on others of the same unit; constant ones excluded."""
        return self._moves.rank(units)

    @property
    def kind(self) -> str:
        return self.problem.kind

    @property
    def solver(self) -> str:
        return self.problem.solver

    @property
    def n(self) -> float:
        return self.problem.n

    @property
    def max_rank(self) -> float:
        return self.problem.max_rank

    @property
    def reads_tails(self) -> bool:
        return self.residuals is not None

    # --- scans -------------------------------------------------------------------------------------------------------

    def additions(self, units: Indices, without: int | None = None) -> Scan:
        """Gains of adding each unit, after removing the selected unit `without` if it is given."""
        problem, matrix, size, now, gone = self.problem, self.matrix, self.size, self.score, None
        selected = tuple(self._selected)
        if without is not None:
            gone = self.projection.directions(self.units.columns([without]))
            matrix = matrix.without(gone, self.projection.Z)
            size = Size(size.rank - len(gone), size.units - 1)
            now = self.criterion.value(matrix, size)
            selected = tuple(unit for unit in selected if unit != without)
        update = self._moves.additions(self.projection, units, gone)
        if without is None and problem.from_rows is not None:
            if self.projection.imprecise or self._separates(update):
                return Scan(units, update.power, update.feasible, refine=self.refine)
            if self._leaves_too_little(update):
                return Scan(units, update.power, update.feasible, n_evaluations=len(units), refine=self.refine)
        if matrix.rows is not None:
            update.rows = matrix.rows.additions(self.units, units)
        gains, feasible, all_feasible = self.criterion.gains(matrix, update, size, now), update.feasible, True
        room = size.rank + update.rank <= problem.max_rank
        if room is not True:
            feasible, all_feasible = feasible & room, False
            gains = np.where(feasible, gains, 0.0)
        elif not update.all_feasible:
            all_feasible = False
        some_feasible = units.size and (all_feasible or feasible.any())
        return Scan(
            units,
            gains,
            feasible,
            n_evaluations=units.size,
            tests=PartialTests(
                matrix, update, size.rank, feasible, partial(self._log_tail, units, selected, without is None)
            ),
            reason=None if some_feasible else self._why_infeasible(update),
            largest_null=None
            if self.permuted is None or without is not None
            else partial(self.permuted.p_value, selected),
        )

    def _log_tail(
        self,
        units: Indices,
        selected: tuple[int, ...],
        present: bool,
        at: int,
        pillai: float,
        size: float,
        rank: float,
    ) -> float | None:
        """Logarithm of the p-value in the tails of adding a unit to a selection, the present one or a part of it."""
        if self.residuals is None:
            return None
        statistic, df, unit = (self.problem.n - 1 - size) * pillai, rank * self.problem.n_targets, int(units[at])
        if not present:
            return self.residuals.log_tail(unit, selected, statistic, df)
        known, ahead = self.projection.basis.targets, partial(self._ahead, unit, units)
        return self.residuals.log_tail(unit, selected, statistic, df, known, ahead)

    def _ahead(self, unit: int, units: Indices) -> list[int]:
        """Units that are likely to be added after a unit: forward with early dropping, while they are significant."""
        model, ahead, pool = self.copy(), list[int](), units
        scan = additions_of(model, pool)
        while len(ahead) < MAX_AHEAD and model.saturated() is None and scan.tests is not None:
            pool = pool[scan.tests.significant(LIKELY) & (pool != unit)]
            model.add([unit])
            scan = additions_of(model, pool)
            if not len(pool) or scan.tests is None:
                break
            tests, size = scan.tests, len(model._selected) + 1
            at = int(scan.gains.argmax() if tests.ordered_by_gain else tests.log_p_values.argmin())
            if not tests.is_significant(at, min(LIKELY * size / len(units), LIKELY)):
                break
            unit = int(scan.units[at])
            ahead.append(unit)
        return ahead

    def removals(self, units: Indices) -> Scan:
        """Losses of removing each selected unit."""
        if not units.size:
            return Scan(units, np.empty(0), np.empty(0, dtype=bool))
        matrix, size = self.matrix, self.size
        update = self._moves.removals(self.projection, units)
        if matrix.rows is not None:
            update.rows = matrix.rows.removals(self.units, units)
        losses = self.criterion.losses(matrix, update, size, self.score)
        tests = PartialTests(matrix, update, size.rank - update.rank, update.feasible)
        feasible = update.feasible if update.all_feasible else np.ones(units.size, dtype=bool)
        return Scan(units, losses, feasible, n_evaluations=units.size, tests=tests)

    def confirm(self, units: Indices, without: int | None = None) -> Scan:
        """Gains or losses of units; all scans are exact."""
        removing = without is None and set(units.tolist()) <= set(self._selected)
        return self.removals(units) if removing else additions_of(self, units, without)

    def saturated(self) -> StopReason | None:
        """Why no unit can be added: the fit is exact, or no residual degrees of freedom remain."""
        problem, matrix = self.problem, self.matrix
        if matrix.trace >= SEPARATED if problem.sign > 0 else matrix.unexplained <= problem.exact_fit:
            return StopReason.EXACT
        return StopReason.ROWS if self.size.rank + 1 > problem.max_rank else None

    def _why_infeasible(self, update: RankUpdate) -> StopReason:
        too_large = (update.rank > 0) & (update.rank + self.projection.size > self.problem.max_rank)
        return StopReason.ROWS if np.any(too_large & update.feasible) else StopReason.SPAN

    def independent(self, units: Indices) -> list[int]:
        """Units, in order, that do not depend on the selected ones or on the ones before."""
        problem = self.problem
        trial = self._spanned_by(problem, units)
        if trial.imprecise and problem.from_rows is not None:
            trial = self._spanned_by(problem.from_rows(), units)
        spanning = set(trial.independent)
        return [unit for unit in units.tolist() if not spanning.isdisjoint(self.units.columns([unit]))]

    def _spanned_by(self, problem: ScatterProblem, units: Indices) -> Projection:
        projection = Projection(problem.equations)
        projection.add(self.units.columns(self._selected))
        projection.add(self.units.columns(units))
        return projection

    def best_sets(self, units: Indices, max_size: int, n_best: int, ended: Callable[[], object]) -> BestSets | None:
        """The best sets of each size that can be added, by branch and bound; None if the criterion has no bounds."""
        from dropstep.models.least_squares.best_subsets import best_sets  # a part that few searches use

        return best_sets(self, units, max_size, n_best, ended)

    # --- moves -------------------------------------------------------------------------------------------------------

    def add(self, units: Sequence[int]) -> None:
        """Select units."""
        self._selected += units
        self._project(units)
        if self.problem.from_rows is not None and len(units) > 1 and self.projection.imprecise:
            self.refine()
        else:
            self._read()

    def remove(self, units: Sequence[int]) -> None:
        """Remove selected units."""
        for unit in units:
            self._selected.remove(unit)
            self.projection.remove(self.units.columns([unit]))
        self._read()

    def copy(self) -> LeastSquares:
        """An independent model with the same selection."""
        fresh = copy.copy(self)
        fresh._selected = list(self._selected)
        fresh._start(self.problem)
        return fresh

    def coefficients(self, columns: Sequence[int], names: Sequence[str]) -> Coefficients:
        """Coefficients of the selected columns, in the order given, with their names."""
        return coefficients(self.problem, self.solution(), self.matrix, columns, names)

    def solution(self) -> Solution:
        """The solution of the normal equations of the selected columns, computed once per selection."""
        if self._solution is None:
            self._solution = Solution.of(self.projection)
        return self._solution

    def release(self) -> None:
        """Free what was kept for features that might have been added next."""
        self.projection.release()

    def _project(self, units: Sequence[int]) -> None:
        self.projection.add(self.units.columns(units))
        if self.projection.dependent:
            spanning = set(self.projection.independent)
            self._n_dependent += sum(spanning.isdisjoint(self.units.columns([unit])) for unit in units)

    def _read(self) -> None:
        """Read M, the size and the score off the projection; from the rows if a Gram matrix leaves too few digits."""
        problem, projection, selected = self.problem, self.projection, self._selected
        rank, targets = len(projection.independent), projection.basis.targets
        if not rank:
            M = problem.base
        elif targets is None:
            M = problem.base + problem.sign * projection.explained
        else:
            M = targets.T @ targets
        self._solution, rows = None, None if self._rows is None else RowFit(self._rows, projection)
        self.matrix = CriterionMatrix.of(M, problem, rows)
        self.size = Size(float(rank), float(len(selected) - self._n_dependent))
        if problem.from_rows is not None and problem.sign < 0 and self.matrix.smallest_share < FEW_DIGITS:
            self.refine()
        else:
            self.score = self.criterion.value(self.matrix, self.size)

    # --- precision ---------------------------------------------------------------------------------------------------

    def _leaves_too_little(self, update: RankUpdate) -> bool:
        """True if some addition would leave a residual of which a Gram matrix keeps few digits."""
        if self.problem.sign > 0 or self.problem.n_targets > 1 or not len(update.feasible):
            return False
        least = self.matrix.trace - float(update.power.max())
        return least < FEW_DIGITS * float(self.problem.base[0, 0])

    def _separates(self, update: RankUpdate) -> bool:
        """True if some of the candidates that bring no independent feature separate classes."""
        return self.problem.sign > 0 and not update.all_feasible and bool(self.separating())

    def separating(self) -> list[int]:
        """Features in the span of the selected within classes, but not between them: together they separate classes."""
        if self.problem.sign < 0:
            return []
        projection, equations = self.projection, self.problem.equations
        dependent = (projection.residual_ss <= projection.precision.least) & (equations.diagonal > 0)
        dependent[projection.independent] = dependent[projection.dependent] = False
        if not dependent.any():
            return []
        between = np.einsum("ij,ij->i", projection.residual_cross, projection.residual_cross)
        own = equations.diagonal + np.einsum("ij,ij->i", equations.cross, equations.cross)
        return [int(j) for j in np.flatnonzero(dependent & (between > BETWEEN * own))]


class PartialTests:
    """Partial F tests of units, by partial Wilks' lambda; of removals, if there are no tests in the tails.

    Parameters
    ----------
    matrix : CriterionMatrix
    update : RankUpdate
    size : ndarray of shape (n_units,) or float
        Rank of the selection without each unit.
    feasible : ndarray of bool of shape (n_units,)
    log_tail : callable or None, default=None
        Of the place of an addition, its Pillai's trace, the size and its rank; see `Tests.log_tail`.
    """

    def __init__(
        self,
        matrix: CriterionMatrix,
        update: RankUpdate,
        size: Floats | float,
        feasible: Bools,
        log_tail: Callable[[int, float, float, float], float | None] | None = None,
    ) -> None:
        self._matrix, self._update, self._size, self._feasible, self._log_tail = (
            matrix,
            update,
            size,
            feasible,
            log_tail,
        )
        self._adding, self._test = log_tail is not None, matrix.problem.test
        alike = type(size) is float and type(update.rank) is float
        self._alike = (float(size), float(update.rank)) if alike else None  # if they are the same for all units
        self._null = None if self._alike is None else self._test.null_distribution(*self._alike)

    def _partial(self) -> Floats:
        return self._matrix.partial(self._update, adding=self._adding)

    @cached_property
    def log_p_values(self) -> Floats:
        """Logarithm of the p-value of each unit given the others; 0 for what is not feasible."""
        log_p = self._test.log_p_value(self._partial(), self._size, self._update.rank)
        return np.where(self._feasible, log_p, 0.0)

    @property
    def ordered_by_gain(self) -> bool:
        """True if all units have the same rank, and not of several targets, whose means of R2 are no tests."""
        problem, rank = self._matrix.problem, self._update.rank
        if problem.kind == "linear" and problem.n_targets > 1:
            return False
        if self._alike is not None or isinstance(rank, float):
            return True
        return len(np.unique(rank[self._feasible] if self._adding else rank)) <= 1

    def significant(self, level: float) -> Bools:
        """Which units are significant at a level."""
        size, rank = self._size, self._update.rank
        if self._null is not None:
            return self._feasible & (self._partial() <= self._test.critical(level, self._null))
        pairs = np.column_stack(np.broadcast_arrays(size, rank))
        different, which = np.unique(pairs, axis=0, return_inverse=True)
        nulls = [self._test.null_distribution(k, m) for k, m in different.tolist()]
        critical = np.array([self._test.critical(level, null) for null in nulls])
        return np.asarray(self._feasible & (self._partial() <= critical[which.ravel()]))

    def is_significant(self, at: int, level: float) -> bool:
        """Whether one of the units is significant at a level."""
        if not self._feasible[at]:
            return False
        partial = self._matrix.partial_of(self._update, at, adding=self._adding)
        return partial <= self._test.critical(level, self._null or self._null_of(at))

    def one(self, at: int) -> PartialTest | None:
        """The partial F test of one of the units; None if it brings no independent feature."""
        partial = self._matrix.partial_of(self._update, at, adding=self._adding)
        return self._test.f_test(partial, self._null or self._null_of(at))

    def log_tail(self, at: int) -> float | None:
        """Logarithm of the p-value of an addition in the tails; None where the partial F test holds."""
        if self._log_tail is None:
            return None
        size, rank = self._alike or self._size_and_rank(at)
        return self._log_tail(at, self._matrix.pillai(self._update, at), size, rank)

    def _null_of(self, at: int) -> NullDistribution:
        return self._test.null_distribution(*self._size_and_rank(at))

    def _size_and_rank(self, at: int) -> tuple[float, float]:
        """The size without one of the units, and its rank, where these differ between units."""
        size, rank = np.broadcast_arrays(self._size, self._update.rank, self._feasible)[:2]
        return float(size[at]), float(rank[at])
