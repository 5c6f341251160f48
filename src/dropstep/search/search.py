"""The search: what is selected, what is in the pool, what is dropped, and what each move would gain.

The only mutable state above the projection.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dropstep.models.least_squares.criteria import Criterion, Size
from dropstep.models.least_squares.problem import Problem
from dropstep.models.least_squares.units import Units
from dropstep.projection.projection import Projection
from dropstep.result import Action, Phase, Step, StopReason
from dropstep.search.rules import Moves, Rules, Significance, State

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]

FEW_DIGITS = 1e-8  # share of the sum of squares below which the residual is computed from rows instead of moments
SEPARATED = 1e13  # trace at which classes are apart as far as a float64 can tell
FEW = 7  # features to fetch ahead even where fewer may be added, which may be others than it seems
TIE = 1e-9  # gains closer than this part of the largest are equal, and the lowest index wins


class Move(NamedTuple):
    """A possible move: the unit, and what the score would gain (minus what it would lose), if that is known."""

    unit: int
    gain: float = math.nan


class Search:
    """A selection that can grow and shrink by units (features, or groups of features).

    Invariant: every unit is in exactly one of `selected`, `pool`, `dropped`, excluded; moves that are known belong to
    the present selection.
    """

    def __init__(
        self,
        problem: Problem,
        criterion: Criterion,
        rules: Rules,
        units: Units,
        include: Sequence[int] = (),
        exclude: Sequence[int] = (),
    ) -> None:
        self.problem, self.criterion, self.rules, self.units = problem, criterion, rules, units
        self.projection = Projection(problem)
        self._n_dependent = 0  # selected units that bring no independent feature
        self.score = criterion.value(self.projection.explained, Size(0.0, 0.0))
        self.selected: list[int] = []
        self.dropped: Indices = np.empty(0, dtype=np.intp)
        self._told: tuple[int, ...] | None = None  # the features of what is dropped, if it was dropped in one step
        self.include = tuple(include)
        self.n_evaluations = 0
        self.stop: StopReason | None = None
        self._in_pool = np.ones(units.n, dtype=bool)
        self._in_pool[[*include, *exclude]] = False
        self._n_pool = units.n - len(include) - len(exclude)
        self._all = np.arange(units.n)
        self._known: Moves | None = None
        self._unknown: Indices | None = None  # units recalled since the known moves were made
        self._hopes = np.zeros(units.n)  # order of the gains of dropped units, when they were last looked at
        self._left_behind: set[frozenset[int]] = set()

    # --- questions ---------------------------------------------------------------------------------------------------

    @property
    def pool(self) -> Indices:
        """Candidates, by ascending unit."""
        return self._in_pool.nonzero()[0]

    @property
    def worth(self) -> float:
        """The score, turned so that more is better."""
        return self.criterion.better * self.score

    @property
    def full(self) -> bool:
        """True if `max_features` is reached."""
        return self.rules.max_features is not None and len(self.selected) >= self.rules.max_features

    @property
    def exact(self) -> bool:
        """True if nothing but rounding is left to explain, of any target."""
        explained, problem = self.projection.explained, self.problem
        if problem.sign > 0:
            return explained.trace >= SEPARATED
        return explained.unexplained <= problem.exact_fit

    def additions(self) -> Moves:
        """Candidates (and perhaps selected units, which are not free) and their gains, computed once per selection."""
        if self._known is None or self._unknown is not None:
            if self.projection.imprecise:
                self._use_rows()
            moves = self._scan()
            if self._leaves_too_little(moves):
                self._use_rows()
                moves = self._scan()
            self._known, self._unknown = moves, None
        return self._known

    def _scan(self) -> Moves:
        everything = self.units.singles and self._n_pool + len(self.selected) == self.units.n
        units = None if everything else self.pool
        change = self.units.additions(self.projection, units)
        if self._unknown is not None and self._known is not None:
            self.n_evaluations += len(self._unknown)
        else:
            self.n_evaluations += self._n_pool
        return Moves(self._all if units is None else units, change, self._state, adding=True)

    def _leaves_too_little(self, moves: Moves) -> bool:
        """True if some addition would leave a residual of which moments keep few digits."""
        if self.problem.finer is None or self.problem.sign > 0 or self.problem.n_targets > 1 or not len(moves.units):
            return False
        left = self.projection.explained.trace - float(moves.power.max())
        return left < FEW_DIGITS * float(self.problem.base[0, 0])

    def _use_rows(self) -> None:
        """Continue from the rows, where moments have too few digits to go on from the present selection."""
        if self.problem.finer is None:
            return
        self.problem = self.problem.finer()
        self.units = self.units.of(self.problem)
        self.projection = Projection(self.problem)
        if len(self.dropped):
            self.projection.rest(np.array(self.units.features(self.dropped), dtype=np.intp))
        self._n_dependent = 0
        self._project(self.selected)
        self.score = self.criterion.value(self.projection.explained, self._size)
        self._known, self._unknown = None, None

    def _project(self, units: Sequence[int]) -> None:
        """Add selected units to the projection, and count those that bring no independent feature."""
        for unit in units:
            size = self.projection.size
            self.projection.add(self.units.features([unit]))
            self._n_dependent += self.projection.size == size

    @property
    def _size(self) -> Size:
        return Size(float(self.projection.size), float(len(self.selected) - self._n_dependent))

    @property
    def _state(self) -> State:
        return State(self.criterion, self.projection.explained, self._size)

    def removals(self) -> Moves:
        """Every selected unit that may go, and what the score would lose."""
        units = np.array(sorted(u for u in self.selected if u not in self.include), dtype=np.intp)
        self.n_evaluations += len(units)
        return Moves(units, self.units.removals(self.projection, units), self._state, adding=False)

    def best_addition(self) -> Move | None:
        """The best candidate, if it may enter; otherwise None, and `stop` says why."""
        self.stop = self._no_room()
        if self.stop is not None:
            return None
        moves = self.additions()
        at = self._best(moves)
        if at is None:
            self.stop = self._none_free(moves)
            return None
        if not self.rules.enter.justifies_one(moves, at, self.problem):
            self.stop = StopReason.ENTER
        elif not self.came_back():
            return Move(int(moves.units[at]), moves.gain(at))
        return None

    def _best(self, moves: Moves) -> int | None:
        """The first of the largest gains among what is free; of the smallest p-values under a test of unequal ranks."""
        if isinstance(self.rules.enter, Significance) and not moves.same_rank:
            return _first_best(-moves.log_p_values, moves.free)
        return _first_best(moves.order, moves.free)

    def came_back(self) -> bool:
        """Whether the search is to move on from this selection for the second time, and would for ever.

        A test is not a score, and scores that differ by rounding go up and down: both can lead round in circles.
        """
        selection = frozenset(self.selected)
        if selection in self._left_behind:
            self.stop = StopReason.CYCLE
            return True
        self._left_behind.add(selection)
        return False

    def _no_room(self) -> StopReason | None:
        if self.exact:
            return StopReason.EXACT
        if not self._n_pool:
            return StopReason.POOL
        if self.full:
            return StopReason.MAX_FEATURES
        if self.projection.size + 1 > self.problem.most:
            return StopReason.ROWS
        return None

    def _none_free(self, moves: Moves) -> StopReason:
        return StopReason.ROWS if np.any(moves.rank + self.projection.size > self.problem.most) else StopReason.SPAN

    def likely(self, some: int, most: int) -> list[int]:
        """Candidates that gained most when they were last looked at: they may be added next.

        There are `some` of them, or up to `most` if as many could enter right now.
        """
        if not self.units.singles:
            return []
        wanted = some
        if self._known is not None and some < most:
            enter = self.rules.enter.justifies(self._known, self.problem) & self._in_pool[self._known.units]
            wanted = min(max(some, int(enter.sum())), most)
        if self.rules.max_features is not None:
            room = self.rules.max_features - len(self.selected)
            wanted = min(wanted, max(room, FEW) if room > 1 else room)
        if wanted < 1:
            return []
        wanted += (most - wanted) % 4 if wanted > 1 else 0  # a product of 4, 8, 12 ... vectors is the cheapest
        hopes = self._hopes if self._known is None or self._unknown is not None else np.zeros(self.units.n)
        if self._known is not None:
            hopes[self._known.units] = self._known.order
        hopes = np.where(self._in_pool, hopes, 0.0)
        at = np.argpartition(-hopes, wanted)[:wanted] if len(hopes) > wanted else np.arange(len(hopes))
        return [int(u) for u in at if hopes[u] > 0]

    def hopeless(self, chosen: Move) -> Indices:
        """Candidates beside the chosen one that, in the scan that chose it, were not worth looking at again soon."""
        moves = self.additions()
        hopeless = ~self.rules.drop.justifies(moves, self.problem)
        hopeless &= self._in_pool if moves.units is self._all else self._in_pool[moves.units]
        units = moves.units[hopeless]
        return units[units != chosen.unit] if len(units) else units

    def cheapest_removal(self) -> Move | None:
        """The selected unit that loses least, whatever the rules say."""
        moves = self.removals()
        at = _first_best(-moves.gains, None)
        return None if at is None else Move(int(moves.units[at]), -float(moves.gains[at]))

    def best_removal(self) -> Move | None:
        """The least useful selected unit, if it may leave; otherwise None."""
        moves = self.removals()
        if isinstance(self.rules.leave, Significance) and not moves.same_rank:
            at = _first_best(moves.log_p_values, None)
        else:
            at = _first_best(-moves.gains, None)
        if at is None:
            return None
        too_many = self.rules.max_features is not None and len(self.selected) > self.rules.max_features
        if not too_many and self.rules.leave.justifies_one(moves, at, self.problem):
            return None
        return Move(int(moves.units[at]), -float(moves.gains[at]))

    def best_exchange(self, pool: Indices | None = None) -> tuple[Move, Move] | None:
        """The removal, and the addition (of the pool) in its place, that together gain most, if the score improves."""
        pool = self.pool if pool is None else pool
        removals = self.removals()
        self.n_evaluations -= len(removals.units)  # an exchange is evaluated as a pair
        if self.exact or not len(removals.units) or not len(pool):
            return None
        totals = np.stack([self.gains_without(int(u), pool) for u in removals.units]) - removals.gains[:, None]
        best = _first_best(totals.ravel(), np.isfinite(totals).ravel())
        if best is None or not exceeds(self.worth + float(totals.flat[best]), self.worth):
            return None
        out, into = divmod(best, len(pool))
        return Move(int(removals.units[out]), -float(removals.gains[out])), Move(int(pool[into]))

    def best_replacement(self) -> tuple[Move, Move] | None:
        """At `max_features`: the best candidate, in the place of the least useful unit, if the score improves."""
        if not self.full or self.exact or not self._n_pool:
            return None
        moves = self.additions()
        at = self._best(moves)
        if at is None or not self.rules.enter.justifies_one(moves, at, self.problem):
            return None
        return self.best_exchange(moves.units[at : at + 1])

    def gains_without(self, unit: int, pool: Indices) -> Floats:
        """Gains of candidates if a selected unit were removed; minus infinity for what could not enter then."""
        gone = self.projection.directions(self.units.features([unit]))
        out = gone @ self.projection.Z
        explained = self.projection.explained.plus(out, -1)
        size = Size(self._size.rank - len(gone), self._size.units - 1)
        state = State(self.criterion, explained, size)
        moves = Moves(pool, self.units.additions(self.projection, pool, gone), state, adding=True)
        self.n_evaluations += len(pool)
        return np.where(moves.free, moves.gains, -np.inf)

    def equivalents(
        self, most: int = 50, near: int = 3, share: float = 0.2
    ) -> tuple[dict[int, float], dict[int, tuple[tuple[int, float], ...]]]:
        """What the score would lose without each of the first `most` units, and the candidates that could stand in.

        An exchange costs the loss less what the candidate gains once the unit is gone; at most `near` are told,
        cheapest first, whose exchange costs up to `share` of the loss. Units go by their first feature. Whatever was
        dropped must have been recalled, as `ranking` does.
        """
        evaluations, pool, removals = self.n_evaluations, self.pool, self.removals()
        known = dict(zip(removals.units.tolist(), removals.gains.tolist(), strict=True)) if len(removals.units) else {}
        first = {u: self.units.features([u])[0] for u in [v for v in self.selected if v in known][:most]}
        found: dict[int, tuple[tuple[int, float], ...]] = {}
        for unit, feature in first.items():
            loss = known[unit]
            costs = loss - self.gains_without(unit, pool) if len(pool) and loss > 0 else np.empty(0)
            cheapest = [i for i in np.argsort(costs, kind="stable")[:near] if costs[i] <= share * loss]
            found[feature] = tuple((self.units.features([int(pool[i])])[0], float(costs[i])) for i in cheapest)
        self.n_evaluations = evaluations
        return {feature: known[unit] for unit, feature in first.items()}, found

    def independent(self) -> list[int]:
        """Units of the pool, in order, that are no combination of the ones before."""
        trial = Projection(self.problem)
        trial.add(self.units.features(self.include))
        found = []
        for u in self.pool.tolist():
            size = trial.size
            trial.add(self.units.features([u]))
            if trial.size > size:
                found.append(u)
        if trial.imprecise and self.problem.finer is not None:
            self._use_rows()
            return self.independent()
        return found

    def ranking(self) -> tuple[int, ...]:
        """1 for the first that entered, and so on; then the others by the gain they would bring; last the excluded."""
        evaluations = self.n_evaluations
        if len(self.dropped):
            self.recall("re-forward")
        if self.projection.imprecise:
            self._use_rows()
        self.projection.settle()
        pool, gains = self.pool, np.zeros(self._n_pool)
        if self._no_room() not in (StopReason.EXACT, StopReason.ROWS, StopReason.POOL):
            moves = Moves(pool, self.units.additions(self.projection, pool), self._state, adding=True)
            gains = np.where(moves.free, moves.order, 0.0)
        self.n_evaluations = evaluations
        order = np.concatenate([np.array(self.selected, dtype=np.intp), pool[_descending(gains)]])
        ranks = np.full(self.units.n, len(order) + 1)
        ranks[order] = np.arange(1, len(order) + 1)
        return self.units.spread(ranks)

    # --- steps -------------------------------------------------------------------------------------------------------

    def add(self, move: Move, phase: Phase) -> Step:
        """Select the unit of a move."""
        self._in_pool[move.unit] = False
        self._n_pool -= 1
        self.selected.append(move.unit)
        self.projection.add(self.units.features([move.unit]), self.likely)
        return self._moved(phase, "add", [move.unit], move.gain)

    def remove(self, move: Move, phase: Phase) -> Step:
        """Give the unit of a move back to the pool."""
        self._in_pool[move.unit] = True
        self._n_pool += 1
        self.selected.remove(move.unit)
        self.projection.remove(self.units.features([move.unit]))
        if self.stop is StopReason.MAX_FEATURES and phase == "backward":
            self.stop = None
        return self._moved(phase, "remove", [move.unit], move.gain)

    def start(self, units: Sequence[int]) -> Step:
        """Units that are in from the start."""
        self.selected.extend(units)
        self._project(units)
        self._in_pool[list(units)] = False
        self._n_pool = int(self._in_pool.sum())
        return self._moved("start", "add", units)

    def rest(self, units: Indices) -> None:
        """StopReason updating candidates that are about to be dropped."""
        if not len(units):
            return
        if self._known is not None and self.units.singles:
            self._hopes[self._known.units] = self._known.order
        self.projection.rest(units if self.units.singles else np.array(self.units.features(units), dtype=np.intp))

    def drop(self, units: Indices, phase: Phase) -> Step:
        """Take candidates out of the pool until they are recalled."""
        self._in_pool[units] = False
        self._n_pool -= len(units)
        features = self._sorted_features(units)
        self._told = None if len(self.dropped) else features
        self.dropped = np.concatenate([self.dropped, units])
        return Step(phase, "drop", features, 0.0, self.score, self._n_pool)

    def recall(self, phase: Phase) -> Step:
        """Take every dropped candidate back into the pool."""
        units = self.dropped if self._told is not None else np.sort(self.dropped)
        self.dropped = np.empty(0, dtype=np.intp)
        self._in_pool[units] = True
        self._n_pool += len(units)
        self._unknown = units
        self.projection.recall(self.likely)
        features = self._sorted_features(units) if self._told is None else self._told
        return Step(phase, "recall", features, 0.0, self.score, self._n_pool)

    def _sorted_features(self, units: Indices) -> tuple[int, ...]:
        features = self.units.features(units)
        return features if self.units.singles else tuple(sorted(features))

    def _moved(self, phase: Phase, action: Action, units: Sequence[int], gain: float = math.nan) -> Step:
        """The step that was made.

        The gain that was computed for it has more digits than a difference of scores, but for a (nearly) exact fit.
        """
        before = self.worth
        self._known, self._unknown = None, None
        if self.problem.sign < 0 and self.projection.explained.left < FEW_DIGITS:
            self._use_rows()
            gain = math.nan
        self.score = self.criterion.value(self.projection.explained, self._size)
        if math.isnan(gain):
            gain = 0.0 if self.worth == before else self.worth - before
        return Step(phase, action, self.units.features(units), gain, self.score, self._n_pool)


def exceeds(a: float, b: float) -> bool:
    """a > b by more than rounding could do."""
    return a - b > TIE * max(abs(a), abs(b)) if np.isfinite(b) else a > b


def _descending(gains: Floats) -> Indices:
    """Places in the order of descending gains; a stable sort is slow, and is needed only where gains are equal."""
    order = np.argsort(-gains)
    in_order = gains[order]
    return np.argsort(-gains, kind="stable") if np.any(in_order[1:] == in_order[:-1]) else order


def _first_best(gains: Floats, free: NDArray[np.bool_] | None) -> int | None:
    """The first of the largest among the free; gains that differ by rounding, relative to the largest, are equal."""
    if not len(gains):
        return None
    among = gains if free is None else np.where(free, gains, -np.inf)
    at = int(among.argmax())
    best, least = float(among[at]), float(gains.min())
    if not math.isfinite(best):  # of scores that are all infinitely bad, the first; None if nothing is free
        return at if best > 0 or free is None else int(free.argmax()) if free.any() else None
    if not math.isfinite(least):
        least = float(gains.min(initial=best, where=np.isfinite(gains)))
    return int((among[: at + 1] >= best - TIE * max(best, -least)).argmax())
