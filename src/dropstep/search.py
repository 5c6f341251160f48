"""The search: what is selected, what is in the pool, what is dropped, and what each move would gain.

The only mutable state above the projection.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dropstep.criteria import Criterion, OfTrace
from dropstep.path import Action, Phase, Step, Stop
from dropstep.problem import Problem
from dropstep.projection import Projection
from dropstep.rules import Moves, Rules, State
from dropstep.units import Units

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]

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
        self.score = criterion.value(self.projection.explained, 0)
        self.selected: list[int] = []
        self.dropped: Indices = np.empty(0, dtype=np.intp)
        self._told: tuple[int, ...] | None = None  # the features of what is dropped, if it was dropped in one step
        self.include = tuple(include)
        self.n_evaluations = 0
        self.stop: Stop | None = None
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
    def n_selected(self) -> int:
        return len(self.projection.selected)

    @property
    def exact(self) -> bool:
        """Whether nothing but rounding is left to explain; by a sum over targets, of all, and else of any mixture."""
        explained, problem = self.projection.explained, self.problem
        if problem.sign > 0:
            return explained.trace >= SEPARATED
        whole = isinstance(self.criterion, OfTrace) and not self.rules.test
        left = explained.trace / np.trace(problem.base) if whole else explained.left
        return bool(left <= problem.exact_fit)

    def additions(self) -> Moves:
        """Candidates (and perhaps selected units, which are not free) and their gains, computed once a selection."""
        if self._known is None or self._unknown is not None:
            everything = self.units.singles and self._n_pool + len(self.selected) == self.units.n
            units = None if everything else self._fitting(self.pool)
            change = self.units.additions(self.projection, units)
            if self._unknown is not None and self._known is not None:
                self.n_evaluations += len(self._fitting(self._unknown))
            else:
                self.n_evaluations += self._n_pool if units is None else len(units)
            self._known = Moves(self._all if units is None else units, change, self._state, adding=True)
            self._unknown = None
        return self._known

    @property
    def _state(self) -> State:
        return State(self.criterion, self.projection.explained, float(self.projection.size))

    def _fitting(self, units: Indices) -> Indices:
        """Units that max_features leaves room for."""
        if self.units.singles or self.rules.max_features is None:
            return units
        return units[self.units.lengths[units] <= self.rules.max_features - self.n_selected]

    def removals(self) -> Moves:
        """Every selected unit that may go, and what the score would lose."""
        units = np.array(sorted(u for u in self.selected if u not in self.include), dtype=np.intp)
        self.n_evaluations += len(units)
        return Moves(units, self.units.removals(self.projection, units), self._state, adding=False)

    def best_addition(self) -> Move | None:
        """The candidate that gains most, if it may enter; otherwise None, and `stop` says why."""
        self.stop = self._no_room()
        if self.stop is not None:
            return None
        moves = self.additions()
        at = self._best(moves)
        if at is None:
            self.stop = self._none_free(moves)
            return None
        if not self.rules.enter.one_worth(moves, at, self.problem):
            self.stop = Stop.ENTER
        elif not self.came_back():
            return Move(int(moves.units[at]), moves.gain(at))
        return None

    def _best(self, moves: Moves) -> int | None:
        """The first of the largest gains among what is free."""
        if not self.units.singles:
            return _first_best(moves.gains, moves.free)
        order = moves.order
        if not len(order):
            return None
        at = int(order.argmax())
        if (best := order[at]) > 0:
            return int((order[: at + 1] >= best * (1 - TIE)).argmax())
        return int(moves.free.argmax()) if moves.free.any() else None

    def came_back(self) -> bool:
        """Whether the search is to move on from this selection for the second time, and would for ever.

        A test is not a score, and scores that differ by rounding go up and down: both can lead round in circles.
        """
        selection = frozenset(self.selected)
        if selection in self._left_behind:
            self.stop = Stop.CYCLE
            return True
        self._left_behind.add(selection)
        return False

    def _no_room(self) -> Stop | None:
        if self.exact:
            return Stop.EXACT
        if not self._n_pool:
            return Stop.POOL
        if self.rules.max_features is not None and self.n_selected >= self.rules.max_features:
            return Stop.MAX_FEATURES
        if self.projection.size + 1 > self.problem.most:
            return Stop.ROWS
        return None

    def _none_free(self, moves: Moves) -> Stop:
        if not len(moves.units):
            return Stop.MAX_FEATURES
        return Stop.ROWS if np.any(moves.rank + self.projection.size > self.problem.most) else Stop.SPAN

    def likely(self, some: int, most: int) -> list[int]:
        """Candidates that gained most when they were last looked at: they may be added next.

        There are `some` of them, or up to `most` if as many could enter right now.
        """
        if not self.units.singles:
            return []
        wanted = some
        if self._known is not None and some < most:
            enter = self.rules.enter.worth(self._known, self.problem) & self._in_pool[self._known.units]
            wanted = min(max(some, int(enter.sum())), most)
        if self.rules.max_features is not None:
            room = self.rules.max_features - self.n_selected
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
        hopeless = ~self.rules.drop.worth(moves, self.problem)
        hopeless &= self._in_pool if moves.units is self._all else self._in_pool[moves.units]
        units = moves.units[hopeless]
        return units[units != chosen.unit] if len(units) else units

    def cheapest_removal(self) -> Move | None:
        """The selected unit that loses least, whatever the rules say."""
        moves = self.removals()
        at = _first_best(-moves.gains, None)
        return None if at is None else Move(int(moves.units[at]), -float(moves.gains[at]))

    def best_removal(self) -> Move | None:
        """The selected unit that loses least, if it may leave; otherwise None."""
        moves = self.removals()
        at = _first_best(-moves.gains, None)
        if at is None:
            return None
        full = self.rules.max_features is not None and self.n_selected > self.rules.max_features
        if not full and self.rules.leave.one_worth(moves, at, self.problem):
            return None
        return Move(int(moves.units[at]), -float(moves.gains[at]))

    def best_exchange(self) -> tuple[Move, Move] | None:
        """The removal, and the addition in its place, that together gain most, if the score improves."""
        removals = self.removals()
        self.n_evaluations -= len(removals.units)  # an exchange is evaluated as a pair
        pool = self.pool
        if not len(removals.units) or not len(pool):
            return None
        totals = np.stack([self.gains_without(int(u), pool) for u in removals.units]) - removals.gains[:, None]
        best = _first_best(totals.ravel(), np.isfinite(totals).ravel())
        if best is None or not exceeds(self.worth + float(totals.flat[best]), self.worth):
            return None
        out, into = divmod(best, len(pool))
        return Move(int(removals.units[out]), -float(removals.gains[out])), Move(int(pool[into]))

    def gains_without(self, unit: int, pool: Indices) -> Floats:
        """Gains of candidates if a selected unit were removed; minus infinity for what could not enter then."""
        gone = self.projection.directions(self.units.features([unit]))
        out = gone @ self.projection.Z
        explained = self.projection.explained.plus(out, -1)
        fitting = pool
        if self.rules.max_features is not None:
            room = self.rules.max_features - self.n_selected + self.units.lengths[unit]
            fitting = pool[self.units.lengths[pool] <= room]
        state = State(self.criterion, explained, float(self.projection.size - len(gone)))
        moves = Moves(fitting, self.units.additions(self.projection, fitting, gone), state, adding=True)
        gains = np.full(self.units.n, -np.inf)
        gains[fitting] = np.where(moves.free, moves.gains, -np.inf)
        self.n_evaluations += len(fitting)
        return np.asarray(gains[pool])

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
        return found

    def ranking(self) -> tuple[int, ...]:
        """1 for the first that entered, and so on; then the others by the gain they would bring; last the excluded."""
        evaluations = self.n_evaluations
        if len(self.dropped):
            self.recall("re-forward")
        self.projection.settle()
        pool, gains = self.pool, np.zeros(self._n_pool)
        if self._no_room() not in (Stop.EXACT, Stop.ROWS, Stop.POOL):
            moves = Moves(pool, self.units.additions(self.projection, pool), self._state, adding=True)
            gains = moves.order if self.units.singles else moves.gains
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
        return self._moved(phase, "add", [move.unit], move.gain)

    def remove(self, move: Move, phase: Phase) -> Step:
        """Give the unit of a move back to the pool."""
        self._in_pool[move.unit] = True
        self._n_pool += 1
        self.selected.remove(move.unit)
        return self._moved(phase, "remove", [move.unit], move.gain)

    def start(self, units: Sequence[int]) -> Step:
        """Units that are in from the start."""
        self.selected.extend(units)
        self._in_pool[list(units)] = False
        self._n_pool = int(self._in_pool.sum())
        return self._moved("start", "add", units)

    def rest(self, units: Indices) -> None:
        """Stop updating candidates that are about to be dropped."""
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
        """Make a move. The gain that was computed for it has more digits than a difference of scores."""
        features = self.units.features(units)
        if action == "add":
            self.projection.add(features, self.likely)
        else:
            self.projection.remove(features)
        before, self.score = self.worth, self.criterion.value(self.projection.explained, self.projection.size)
        self._known, self._unknown = None, None
        gain = self.worth - before if math.isnan(gain) else gain
        return Step(phase, action, features, gain, self.score, self._n_pool)


def exceeds(a: float, b: float) -> bool:
    """a > b by more than rounding could do."""
    return a - b > TIE * max(abs(a), abs(b)) if np.isfinite(b) else a > b


def _descending(gains: Floats) -> Indices:
    """Places in the order of descending gains; a stable sort is slow, and is needed only where gains are equal."""
    order = np.argsort(-gains)
    in_order = gains[order]
    return np.argsort(-gains, kind="stable") if np.any(in_order[1:] == in_order[:-1]) else order


def _first_best(gains: Floats, free: NDArray[np.bool_] | None) -> int | None:
    """The first of the largest among the free; gains that differ by rounding only are equal."""
    if free is not None:
        gains = np.where(free, gains, -np.inf)
    best = float(gains.max(initial=-np.inf))
    if not np.isfinite(best):
        return int(np.argmax(gains)) if best > 0 else None
    scale = float(np.abs(gains[np.isfinite(gains)]).max())
    return int(np.argmax(gains >= best - TIE * scale))
