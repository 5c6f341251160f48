"""Least squares as a model that can be searched: linear regression and discriminant analysis."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dropstep.models.base import Bools, Floats, Indices, Scan, Units
from dropstep.models.capabilities import BestSets
from dropstep.models.least_squares.criteria import Criterion, Size
from dropstep.models.least_squares.criterion_matrix import Explained, RegressionRows, RowFit
from dropstep.models.least_squares.moves import RankUpdate, moves_of
from dropstep.models.least_squares.problem import Problem
from dropstep.models.least_squares.row_tests import PermutedResiduals, RowResiduals
from dropstep.models.least_squares.solution import Solution, coefficients
from dropstep.projection.projection import Projection
from dropstep.result import Coefficients, PartialTest, StopReason

if TYPE_CHECKING:
    from dropstep.models.least_squares.row_tests import BlockResiduals

LogTail = Callable[[int, float, float, float], float | None]  # of a move, Pillai's trace, the size and its rank

SEPARATED = 1e13  # trace at which classes are separated as far as float64 can express
FEW_DIGITS = 1e-8  # share of the sum of squares below which a residual is computed from rows instead of a Gram matrix
MAX_AHEAD = 64  # candidates whose tests in the tails are computed in one pass over blocks of rows
LIKELY = 0.05  # level, times the size over the number of candidates, at which one is likely to be added
BETWEEN = 1e-6  # share of its scatter that a feature must have between classes to separate them


class LeastSquares:
    """A selection of features of a problem, scored by a criterion.

    Where the digits of a Gram matrix do not suffice, the model continues from the rows, if the problem has them.
    """

    sample_unit = "rows"

    @property
    def reads_tails(self) -> bool:
        return self.residuals is not None

    def __init__(
        self,
        problem: Problem,
        criterion: Criterion,
        units: Units,
        max_features: int | None = None,
        rows: RegressionRows | None = None,
    ) -> None:
        self.problem, self.criterion, self.units, self._rows = problem, criterion, units, rows
        self._max_size = math.inf if max_features is None or units.members is not None else float(max_features)
        self.criterion_info = criterion.info
        self.permuted: PermutedResiduals | None = None  # where the rows are known
        self.residuals: RowResiduals | BlockResiduals | None = None  # the same
        self._selected: list[int] = []
        self._solution: Solution | None = None
        self._start(problem)

    def _start(self, problem: Problem) -> None:
        """Project the selected units onto a problem."""
        self.problem = problem
        self._moves = moves_of(problem.equations, self.units)
        together = None if self.units.members is None else self.units.of_column
        self.projection = Projection(problem.equations, self._max_size, together)
        self._n_dependent = 0  # selected units without an independent feature
        self._project(self._selected)
        self._read()

    def rank(self, units: Sequence[int]) -> int:
        """Number of features of some units that do not depend on others of the same unit; constant ones excluded."""
        return self._moves.rank(units)

    @property
    def greater_is_better(self) -> bool:
        return self.criterion.better > 0

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

    # --- scans -------------------------------------------------------------------------------------------------------

    def additions(self, units: Indices, without: int | None = None) -> Scan:
        """Gains of adding each unit, after removing the selected unit `without` if it is given."""
        explained, size, now, gone = self.explained, self.size, self.score, None
        if without is not None:
            gone = self.projection.directions(self.units.columns([without]))
            explained = explained.without(gone, self.projection.Z)
            size = Size(size.rank - len(gone), size.units - 1)
            now = self.criterion.value(explained, size)
        update = self._moves.additions(self.projection, units, gone)
        if without is None and self.problem.finer is not None:
            if self.projection.imprecise or self._separates(update):
                self._start(self.problem.finer())
                return self.additions(units)
            if self._leaves_too_little(update):
                self._start(self.problem.finer())
                again = self.additions(units)
                return replace(again, n_evaluations=again.n_evaluations + len(units))
        if explained.rows is not None:
            update.rows = explained.rows.additions(self.units, units)
        gains, feasible = self.criterion.gains(explained, update, size, now), update.feasible
        all_feasible, room = update.all_feasible, size.rank + update.rank <= self.problem.max_rank
        if room is not True:
            feasible, all_feasible = feasible & room, False
            gains = np.where(feasible, gains, 0.0)
        some_feasible = len(units) > 0 and (all_feasible or feasible.any())
        return Scan(
            units,
            gains,
            feasible,
            n_evaluations=len(units),
            tests=PartialTests(explained, update, size.rank, feasible, self._log_tails(units, without)),
            reason=None if some_feasible else self._why_infeasible(update),
            nulls=None if self.permuted is None or without is not None else self.permuted.given(self._selected),
        )

    def _log_tails(self, units: Indices, without: int | None) -> LogTail:
        """The tests in the tails of adding each unit, computed when they are needed."""
        rows, selected = self.residuals, [unit for unit in self._selected if unit != without]

        def log_tail(at: int, pillai: float, size: float, rank: float) -> float | None:
            if rows is None:
                return None
            statistic, df, unit = (self.problem.n - 1 - size) * pillai, rank * self.problem.n_targets, int(units[at])
            ahead = partial(self._ahead, unit, units) if without is None else None
            return rows.log_tail(unit, selected, statistic, df, ahead)

        return log_tail

    def _ahead(self, unit: int, units: Indices) -> list[int]:
        """Units that are likely to be added after a unit: forward with early dropping, while they are significant."""
        model, ahead, pool = self.copy(), list[int](), units
        scan = model.additions(pool)
        while len(ahead) < MAX_AHEAD and model.saturated() is None and scan.tests is not None:
            pool = pool[scan.tests.significant(LIKELY) & (pool != unit)]
            model.add([unit])
            scan = model.additions(pool)
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
        if not len(units):
            return Scan(units, np.empty(0), np.empty(0, dtype=bool))
        update = self._moves.removals(self.projection, units)
        if self.explained.rows is not None:
            update.rows = self.explained.rows.removals(self.units, units)
        losses = self.criterion.losses(self.explained, update, self.size, self.score)
        tests = PartialTests(self.explained, update, self.size.rank - update.rank, update.feasible)
        return Scan(units, losses, np.ones(len(units), dtype=bool), n_evaluations=len(units), tests=tests)

    def confirm(self, units: Indices, without: int | None = None) -> Scan:
        """Gains or losses of units; all scans are exact."""
        removing = without is None and set(units.tolist()) <= set(self._selected)
        return self.removals(units) if removing else self.additions(units, without)

    def saturated(self) -> StopReason | None:
        """Why no unit can be added: the fit is exact, or no residual degrees of freedom remain."""
        if self._is_exact:
            return StopReason.EXACT
        return StopReason.ROWS if self.projection.size + 1 > self.problem.max_rank else None

    @property
    def _is_exact(self) -> bool:
        """True if the residual of every target is rounding error."""
        if self.problem.sign > 0:
            return self.explained.trace >= SEPARATED
        return self.explained.unexplained <= self.problem.exact_fit

    def _why_infeasible(self, update: RankUpdate) -> StopReason:
        too_large = (update.rank > 0) & (update.rank + self.projection.size > self.problem.max_rank)
        return StopReason.ROWS if np.any(too_large & update.feasible) else StopReason.SPAN

    def independent(self, units: Indices) -> list[int]:
        """Units, in order, that do not depend on the selected ones or on the ones before."""
        trial = Projection(self.problem.equations)
        trial.add(self.units.columns(self._selected))
        trial.add(self.units.columns(units))
        spanning = set(trial.independent)
        found = [unit for unit in units.tolist() if not spanning.isdisjoint(self.units.columns([unit]))]
        if trial.imprecise and self.problem.finer is not None:
            self._start(self.problem.finer())
            return self.independent(units)
        return found

    def best_sets(self, units: Indices, max_size: int, n_best: int, ended: Callable[[], object]) -> BestSets | None:
        """The best sets of each size that can be added, by branch and bound; None if the criterion has no bounds."""
        from dropstep.models.least_squares.best_subsets import (
            best_sets,
        )  # a part of the package that few searches use

        return best_sets(self, units, max_size, n_best, ended)

    # --- moves -------------------------------------------------------------------------------------------------------

    def add(self, units: Sequence[int]) -> None:
        """Select units."""
        self._selected.extend(units)
        self._project(units)
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
        return coefficients(self.problem, self.solution(), self.explained, columns, names)

    def solution(self) -> Solution:
        """The solution of the normal equations of the selected columns, computed once per selection."""
        if self._solution is None:
            self._solution = Solution.of(self.projection)
        return self._solution

    def release(self) -> None:
        """Free what was kept for features that might have been added next."""
        self.projection.release()

    def _project(self, units: Sequence[int]) -> None:
        columns, size = self.units.columns(units), self.projection.size
        self.projection.add(columns)
        if self.projection.size < size + len(columns):
            spanning = set(self.projection.independent)
            self._n_dependent += sum(spanning.isdisjoint(self.units.columns([unit])) for unit in units)

    def _read(self) -> None:
        """Read M, the size and the score off the projection; from the rows if a Gram matrix leaves too few digits."""
        problem, targets = self.problem, self.projection.basis.targets
        M = problem.base + problem.sign * self.projection.explained if targets is None else targets.T @ targets
        rows = None if self._rows is None else RowFit(self._rows, self.projection)
        self.explained = Explained(M if self.projection.size else problem.base, problem, rows)
        self.size = Size(float(self.projection.size), float(len(self._selected) - self._n_dependent))
        self._solution = None
        if problem.finer is not None and problem.sign < 0 and self.explained.smallest_share < FEW_DIGITS:
            self._start(problem.finer())
            return
        self.score = self.criterion.value(self.explained, self.size)

    # --- precision ---------------------------------------------------------------------------------------------------

    def _leaves_too_little(self, update: RankUpdate) -> bool:
        """True if some addition would leave a residual of which a Gram matrix keeps few digits."""
        if self.problem.sign > 0 or self.problem.n_targets > 1 or not len(update.feasible):
            return False
        least = self.explained.trace - float(update.power.max())
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
    """Partial F tests of units, by partial Wilks' lambda; of removals, if there are no tests in the tails."""

    def __init__(
        self,
        explained: Explained,
        update: RankUpdate,
        size: Floats | float,
        feasible: Bools,
        log_tail: LogTail | None = None,
    ) -> None:
        self._explained, self._update, self._size = explained, update, size
        self._feasible, self._log_tail, self._adding = feasible, log_tail, log_tail is not None
        self._of_one: dict[int, float] = {}

    @cached_property
    def _partial(self) -> Floats:
        return self._explained.partial(self._update, adding=self._adding)

    @cached_property
    def log_p_values(self) -> Floats:
        """Logarithm of the p-value of each unit given the others; 0 for what is not feasible."""
        log_p = self._explained.problem.test.log_p_value(self._partial, self._size, self._update.rank)
        return np.where(self._feasible, log_p, 0.0)

    @property
    def ordered_by_gain(self) -> bool:
        """True if all units have the same rank, and not of several targets, whose means of R2 are no tests."""
        if self._explained.problem.kind == "linear" and self._explained.problem.n_targets > 1:
            return False
        if isinstance(self._update.rank, float):
            return True
        rank = self._update.rank[self._feasible] if self._adding else self._update.rank
        return len(np.unique(rank)) <= 1

    def significant(self, level: float) -> NDArray[np.bool_]:
        """Which units are significant at a level."""
        test, rank = self._explained.problem.test, self._update.rank
        if isinstance(rank, float) and isinstance(self._size, float):
            return self._feasible & (self._partial <= test.critical(level, self._size, rank))
        pairs = np.column_stack(np.broadcast_arrays(self._size, rank))
        different, which = np.unique(pairs, axis=0, return_inverse=True)
        critical = np.array([test.critical(level, k, m) for k, m in different.tolist()])
        return np.asarray(self._feasible & (self._partial <= critical[which.ravel()]))

    def is_significant(self, at: int, level: float) -> bool:
        """Whether one of the units is significant at a level."""
        critical = self._explained.problem.test.critical(level, _at(self._size, at), _at(self._update.rank, at))
        return bool(self._feasible[at]) and self._partial_of(at) <= critical

    def one(self, at: int) -> PartialTest | None:
        """The partial F test of one of the units; None if it brings no independent feature."""
        test, partial = self._explained.problem.test, self._partial_of(at)
        return test.f_test(partial, _at(self._size, at), _at(self._update.rank, at))

    def log_tail(self, at: int) -> float | None:
        """Logarithm of the p-value of an addition in the tails; None where the partial F test holds."""
        if self._log_tail is None:
            return None
        pillai = self._explained.pillai(self._update.only(at))
        return self._log_tail(at, pillai, _at(self._size, at), _at(self._update.rank, at))

    def _partial_of(self, at: int) -> float:
        """Partial Wilks' lambda of one of the units, computed once."""
        if at not in self._of_one:
            self._of_one[at] = float(self._explained.partial(self._update.only(at), adding=self._adding)[0])
        return self._of_one[at]


def _at(value: Floats | float, at: int) -> float:
    return value if isinstance(value, float) else float(value[at])
