"""The search: selected, pool and dropped units, the gains of all moves, and which moves the rules allow."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from reference.least_squares.criteria import SEPARABILITY, Criterion, improvement, score_of
from reference.least_squares.problem import Discriminant, Problem, Regression, adds_nothing, size
from reference.least_squares.projection import Unit, flat, orthonormal
from reference.least_squares.tests import log_p_value_of, p_value_of
from reference.tails import Rows, p_value_in_tails

TIE = 1e-9  # relative difference up to which gains are equal
EXACT_GAIN = 1e-12  # gains below this fraction of the empty model's score are rounding error, as those of an exact fit


class Step(NamedTuple):
    """A move that was made."""

    phase: str
    action: str
    features: Unit
    gain: float
    score: float
    pool: int


class Move(NamedTuple):
    """A possible move: the units removed, the units added, the gain, and whether an addition is infeasible."""

    removed: tuple[Unit, ...]
    added: tuple[Unit, ...]
    gain: float
    infeasible: bool


class Level(NamedTuple):
    """A test at a level, which "bonferroni" divides by the number m of units that could be chosen at the start.

    "fdr" tests each of k units at level k / m. With `in_tails`, what enters is confirmed there.
    """

    level: float
    correction: str | None = None
    m: int = 1
    in_tails: bool = False

    def of(self, size: int) -> float:
        """The level at which each of a number of selected units, without the included ones, is tested."""
        return self.level * size / self.m if self.correction == "fdr" else self.level


@dataclass(frozen=True)
class Rules:
    """Which moves are allowed: a number is a threshold for gains, a Level (correction applied) is a test."""

    enter: float | Level
    leave: float | Level
    drop: float | Level
    max_features: float = math.inf
    rounds: float = 1
    width: int = 10


@dataclass
class Search:
    """The state of a search, in units.

    `n_evaluations` counts a gain once per selected set. `margin` is the smallest relative distance of any decision from
    the opposite one; below some value, rounding error decides, and other implementations may decide otherwise.
    """

    problem: Problem
    criterion: Criterion
    rules: Rules
    pool: list[Unit]
    include: list[Unit] = field(default_factory=list)
    selected: list[Unit] = field(default_factory=list)
    dropped: list[Unit] = field(default_factory=list)
    n_evaluations: int = 0
    margin: float = math.inf
    evaluated: set[Move] = field(default_factory=set)
    visited: set[frozenset[Unit]] = field(default_factory=set)
    rows: Rows | None = None

    @property
    def size(self) -> int:
        """Number of selected units, without the included ones."""
        return len(self.selected) - len(self.include)

    # Scores and gains

    def score(self, units: Sequence[Unit] | None = None) -> float:
        """The score of some units, by default of the selected ones."""
        units = self.selected if units is None else units
        if self.criterion.name == "sawa" and self.problem.is_exact(flat(units)):
            self.margin = 0.0  # 1 / RSS of an exact fit is rounding error
        return score_of(self.problem, self.criterion, units)

    def gain(self, after: Sequence[Unit], before: float) -> float:
        """The gain of the selection `after` over a score `before`."""
        return improvement(self.criterion.name, self.score(after), before)

    def rank(self, units: Sequence[Unit] | None = None) -> int:
        """Number of independent features of some units, by default of the selected ones."""
        return size(self.problem, flat(self.selected if units is None else units))

    def without(self, unit: Unit) -> list[Unit]:
        """The selected units except one."""
        return [other for other in self.selected if other != unit]

    def removable(self) -> list[Unit]:
        """The selected units that are not in `include`, lowest index first."""
        return sorted(unit for unit in self.selected if unit not in self.include)

    # Feasibility

    def adds_nothing(self, units: Sequence[Unit], unit: Unit) -> bool:
        """True if a unit is constant or in the span of other units."""
        self.check_separation(flat([*units, unit]))
        return adds_nothing(self.problem, flat(units), unit)

    def check_separation(self, subset: Unit) -> None:
        """Set the margin to 0 if features are dependent within classes only, which separates the classes perfectly."""
        if isinstance(self.problem, Discriminant):
            total = np.vstack([self.problem.features, self.problem.between])
            if len(orthonormal(total, subset)[1]) > size(self.problem, subset):
                self.margin = 0.0

    def feasible(self, units: Sequence[Unit], unit: Unit) -> bool:
        """True if a unit adds to the span of other units and the rows suffice to estimate it."""
        rank = max(self.rank([*units, unit]), self.rank(units) + 1)
        estimable = self.problem.df_null - rank >= self.problem.min_residual_df
        return estimable and not self.adds_nothing(units, unit)

    def irredundant(self, units: Sequence[Unit]) -> bool:
        """True if the rows suffice, and no unit that may be chosen is in the span of the others."""
        if self.problem.df_null - self.rank(units) < self.problem.min_residual_df:
            return False
        chosen = [unit for unit in units if unit not in self.include]
        return not any(self.adds_nothing([other for other in units if other != unit], unit) for unit in chosen)

    @property
    def full(self) -> bool:
        """True if max_features is reached."""
        return len(self.selected) >= self.rules.max_features

    @property
    def is_exact(self) -> bool:
        """True if the selected units explain everything."""
        return self.problem.is_exact(flat(self.selected))

    def can_grow(self) -> bool:
        """True if the pool, max_features and the residual degrees of freedom allow another addition."""
        if not self.pool or self.full or self.is_exact:
            return False
        rank, reserved = self.rank(), self.problem.min_residual_df
        if self.problem.df_null - rank - 1 < reserved:
            return False
        if reserved > 1 and len(self.problem.features) - rank <= reserved + 2:
            self.margin = 0.0  # several targets and hardly any residual rows: residuals are rounding error
        return True

    # Scans

    def additions(self) -> list[Move]:
        """The gain of each candidate of the pool."""
        before = self.score()
        return self.count([self.exchange(None, unit, before) for unit in self.pool])

    def removals(self) -> list[Move]:
        """The gain (minus the loss) of removing each removable unit."""
        before = self.score()
        return self.count([Move((i,), (), self.gain(self.without(i), before), False) for i in self.removable()])

    def exchanges(self, pool: Sequence[Unit] | None = None) -> list[Move]:
        """The gain of removing i and adding j, for each removable i and each j (by default of the pool)."""
        pool, before = self.pool if pool is None else pool, self.score()
        return self.count([self.exchange(i, j, before) for i in self.removable() for j in pool])

    def exchange(self, i: Unit | None, j: Unit, before: float) -> Move:
        """Remove i, or nothing, and add j, from a score `before`."""
        others = self.selected if i is None else self.without(i)
        feasible = self.feasible(others, j)
        gain = self.gain([*others, j], before) if feasible else 0.0
        return Move(() if i is None else (i,), (j,), gain, not feasible)

    def count(self, moves: list[Move]) -> list[Move]:
        """Add to `n_evaluations` the moves that were not yet evaluated for this selection."""
        self.n_evaluations += len(set(moves) - self.evaluated)
        self.evaluated.update(moves)
        return moves

    # Rules

    def may_enter(self, move: Move) -> bool:
        """gain > enter, or p-value <= level."""
        if move.infeasible:
            return False
        if isinstance(rule := self.rules.enter, Level):
            level = rule.of(self.size + 1)
            return self.compared(self.p_value_to_enter(move), level, test=True) <= level
        return self.compared(move.gain, rule) > rule

    def confirmed(self, move: Move) -> bool:
        """True if a move that adds a unit is significant in the tails as well, or the plain test holds."""
        rule = self.rules.enter
        if not isinstance(rule, Level) or not rule.in_tails:
            return True
        others, (unit,) = [u for u in self.selected if u not in move.removed], move.added
        p, gate = p_value_in_tails(self.rows, flat(others), unit)
        self.margin = min(self.margin, gate)
        level = rule.of(len(others) + 1 - len(self.include))
        return p is None or self.compared(p, level, test=True) <= level

    def is_significant(self, move: Move) -> bool:
        """True if the addition of an exchange passes the test to enter, or there is none."""
        if not isinstance(rule := self.rules.enter, Level):
            return True
        others, (unit,) = [u for u in self.selected if u not in move.removed], move.added
        level = rule.of(len(others) + 1 - len(self.include))
        return self.compared(p_value_of(self.problem, flat(others), unit), level, test=True) <= level

    def may_leave(self, move: Move) -> bool:
        """loss <= leave, or p-value > level, or more units than max_features."""
        if len(self.selected) > self.rules.max_features:
            return True
        if isinstance(rule := self.rules.leave, Level):
            (unit,) = move.removed
            p = p_value_of(self.problem, flat(self.without(unit)), unit)
            level = rule.of(self.size)
            return self.compared(p, level, test=True) > level
        return self.compared(-move.gain, rule) <= rule

    def droppable(self, move: Move) -> bool:
        """gain <= drop, or p-value > level."""
        if isinstance(rule := self.rules.drop, Level):
            level = rule.of(self.size + 1)
            return self.compared(self.p_value_to_enter(move), level, test=True) > level
        return (0.0 if move.infeasible else self.compared(move.gain, rule)) <= rule

    def p_value_to_enter(self, move: Move) -> float:
        """The p-value of an addition; 1 if it is infeasible."""
        return 1.0 if move.infeasible else p_value_of(self.problem, flat(self.selected), move.added[0])

    def compared(self, value: float, bound: float, *, test: bool = False) -> float:
        """The value, after updating the margin by its distance from the bound, relative to its rounding error."""
        if math.isfinite(bound) and math.isfinite(value):
            unit = 1.0 if self.criterion.name in SEPARABILITY | {"r2", "adj_r2"} else 0.0
            scale = bound if test else max(abs(self.score()), abs(value), abs(bound), unit) * 1e-3
            self.margin = min(self.margin, abs(value - bound) / scale if scale else math.inf)
            if not test and abs(value - bound) < EXACT_GAIN * abs(self.score(())) < math.inf:
                self.margin = 0.0
        return value

    def is_cycle(self) -> bool:
        """True if this selection was already visited; continuing would cycle."""
        selection = frozenset(self.selected)
        visited = selection in self.visited
        self.visited.add(selection)
        return visited

    # Choices

    @property
    def has_several_targets(self) -> bool:
        """True if gains do not order units of one rank as their tests do."""
        return isinstance(self.problem, Regression) and self.problem.q > 1

    def best_addition(self, moves: Sequence[Move]) -> Move | None:
        """The largest gain, if it may enter; the smallest p-value, where gains do not order units as tests do."""
        ranks = {self.rank([*self.selected, *move.added]) for move in moves if not move.infeasible}
        values = None
        if isinstance(self.rules.enter, Level) and (len(ranks) > 1 or self.has_several_targets):
            values = [-log_p_value_of(self.problem, flat(self.selected), *move.added) for move in moves]
        while (move := self.best(moves, values)) is not None and self.may_enter(move):
            if self.confirmed(move):
                return move
            at = moves.index(move)
            moves = [*moves[:at], *moves[at + 1 :]]
            values = None if values is None else [*values[:at], *values[at + 1 :]]
        return None

    def best_exchange(self, moves: Sequence[Move]) -> Move | None:
        """The best exchange, if it improves the score, whose addition a test lets enter and confirms in the tails."""
        while (move := self.best(moves)) is not None and self.improves(move):
            if self.is_significant(move) and self.confirmed(move):
                return move
            moves = [other for other in moves if other != move]
        return None

    def best_removal(self, moves: Sequence[Move]) -> Move | None:
        """The smallest loss, if it may leave; the largest p-value, where gains do not order units as tests do."""
        values = None
        ranks = {self.rank(self.without(*move.removed)) for move in moves}
        if isinstance(self.rules.leave, Level) and (len(ranks) > 1 or self.has_several_targets):
            values = [log_p_value_of(self.problem, flat(self.without(*m.removed)), *m.removed) for m in moves]
        move = self.best(moves, values)
        return move if move is not None and self.may_leave(move) else None

    def best(self, moves: Sequence[Move], values: Sequence[float] | None = None) -> Move | None:
        """The move with the largest gain (or value), after updating the margin by the distances of the others."""
        gains = [move.gain for move in moves] if values is None else values
        real = [value for value, move in zip(gains, moves, strict=True) if not move.infeasible and math.isfinite(value)]
        if real:
            scale = max(abs(value) for value in real)
            if values is None and scale < EXACT_GAIN * abs(self.score(())):
                self.margin = 0.0
            gaps = [(max(real) - value) / scale for value in real if scale]
            self.margin = min([self.margin, *(gap for gap in gaps if gap > TIE / 100)])
        return largest(moves, gains)

    def narrow(self, values: Sequence[float], count: int = 1) -> None:
        """Update the margin by the distance of the first `count` of some values from the others, larger is better."""
        ordered = sorted(values, reverse=True)
        inside, outside = ordered[:count], ordered[count:]
        scale = max((abs(value) for value in ordered if math.isfinite(value)), default=0.0)
        for value in (v for v in outside if math.isfinite(v)):
            if 0 < inside[-1] - value < EXACT_GAIN * abs(self.score(())):
                self.margin = 0.0
            gap = (inside[-1] - value) / scale if scale else 0.0
            if gap > TIE / 100:
                self.margin = min(self.margin, gap)

    def improves(self, move: Move) -> bool:
        """True if an exchange improves the score by more than rounding error."""
        before = self.score()
        after = self.score([*self.without(move.removed[0]), *move.added])
        return move.gain > TIE * max(abs(before), abs(after))

    # Steps

    def add(self, units: Sequence[Unit], phase: str) -> Step:
        """Select units."""
        before = self.score()
        self.selected.extend(units)
        self.pool = [unit for unit in self.pool if unit not in units]
        self.evaluated = set()
        return self.step(phase, "add", units, self.gain(self.selected, before))

    def remove(self, unit: Unit, phase: str) -> Step:
        """Return a selected unit to the pool."""
        before = self.score()
        self.selected.remove(unit)
        self.pool = sorted([*self.pool, unit])
        self.evaluated = set()
        return self.step(phase, "remove", [unit], self.gain(self.selected, before))

    def drop(self, units: Sequence[Unit], phase: str) -> Step:
        """Take units out of the pool until they are recalled."""
        self.pool = [unit for unit in self.pool if unit not in units]
        self.dropped.extend(units)
        return self.step(phase, "drop", [tuple(sorted(flat(units)))], 0.0)

    def recall(self, phase: str) -> Step:
        """Return all dropped units to the pool: C = {X_1, ..., X_p} minus R."""
        units, self.dropped = self.dropped, []
        self.pool = sorted([*self.pool, *units])
        return self.step(phase, "recall", [tuple(sorted(flat(units)))], 0.0)

    def step(self, phase: str, action: str, units: Sequence[Unit], gain: float) -> Step:
        """The step that was just made."""
        return Step(phase, action, flat(units), gain, self.score(), len(self.pool))


def largest(moves: Sequence[Move], values: Sequence[float]) -> Move | None:
    """The feasible move with the largest value; of equal ones the lowest index (removed, then added)."""
    feasible = [(value, move) for value, move in zip(values, moves, strict=True) if not move.infeasible]
    if not feasible:
        return None
    tolerance = TIE * max((abs(value) for value, _ in feasible if math.isfinite(value)), default=0.0)
    top = max(value for value, _ in feasible)
    equal = [move for value, move in feasible if value >= top - tolerance]
    return min(equal, key=lambda move: (move.removed, move.added))
