"""The search: what is selected, what is in the pool, what is dropped, and what each move would gain.

The only mutable state above the projection.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dropstep.criteria import Criterion, partial_lambda
from dropstep.path import Action, Phase, Step, Stop
from dropstep.problem import Problem
from dropstep.projection import Change, Projection
from dropstep.rules import Moves, Rules

Floats = NDArray[np.float64]
Units = NDArray[np.intp]

TIE = 1e-9  # gains closer than this part of the largest are equal, and the lowest index wins


@dataclass(frozen=True)
class Move:
    """A possible move: the unit, and what the score would gain (for a removal: minus what it would lose)."""

    unit: int
    gain: float


class Search:
    """A selection that can grow and shrink by units (features, or groups of features).

    Invariant: every unit is in exactly one of `selected`, `pool`, `dropped`, `excluded`; gains that are known
    belong to the present selection.
    """

    def __init__(
        self,
        problem: Problem,
        criterion: Criterion,
        rules: Rules,
        units: Sequence[Sequence[int]],
        include: Sequence[int] = (),
        exclude: Sequence[int] = (),
    ) -> None:
        self.problem, self.criterion, self.rules, self.units = problem, criterion, rules, units
        self.projection = Projection(problem)
        self.score = criterion.value(self.projection.M, 0, problem)
        self.selected: list[int] = []
        self.dropped: list[int] = []
        self.include = tuple(include)
        self.pool: Units = np.setdiff1d(np.arange(len(units)), [*include, *exclude]).astype(np.intp)
        self.n_evaluations = 0
        self.stop: Stop | None = None
        self._shape = _Shape(units, problem)
        self._gains = np.full(len(units), np.nan)
        self._partial = np.full(len(units), np.nan)
        self._rank = np.zeros(len(units))
        self._losses: dict[int, float] = {}
        self._added_to: set[frozenset[int]] = set()

    # --- questions ---------------------------------------------------------------------------------------------------

    @property
    def worth(self) -> float:
        """The score, turned so that more is better."""
        return self.criterion.better * self.score

    @property
    def n_selected(self) -> int:
        return len(self.projection.selected)

    def additions(self) -> Moves:
        """Every candidate that fits max_features, and its gain; gains of one selection are computed once."""
        at = self.pool
        if not self._shape.singles and self.rules.max_features is not None:
            at = at[self._shape.lengths[at] <= self.rules.max_features - self.n_selected]
        unknown = at[np.isnan(self._gains[at])]
        if len(unknown):
            for units, change in self._shape.changes(self.projection, unknown):
                self._gains[units] = self.criterion.gains(self.projection.M, change, self.projection.size, self.problem)
                self._rank[units] = change.rank
                if self.rules.test:
                    self._partial[units] = partial_lambda(self.projection.M, change, self.problem, adding=True)
            self.n_evaluations += len(unknown)
        return Moves(at, self._gains[at], self._rank[at], self._partial[at], float(self.projection.size))

    def removals(self) -> Moves:
        """Every selected unit that may go, and what the score would lose."""
        units = np.array(sorted(u for u in self.selected if u not in self.include), dtype=np.intp)
        size = self.projection.size
        self.n_evaluations += len(units)
        if not len(units):
            return Moves(units, np.empty(0), np.empty(0), np.empty(0), 0.0)
        change = self._removal_changes(units)
        losses = self.criterion.losses(self.projection.M, change, size, self.problem)
        partial = (
            partial_lambda(self.projection.M, change, self.problem, adding=False)
            if self.rules.test
            else np.full(len(units), np.nan)
        )
        self._losses = dict(zip(units.tolist(), losses.tolist(), strict=True))
        return Moves(units, losses, change.rank, partial, size - change.rank)

    def _removal_changes(self, units: Units) -> Change:
        if self._shape.singles and len(self.projection.selected) == self.projection.size:
            change = self.projection.removals()
            place = {j: i for i, j in enumerate(self.projection.independent)}
            at = [place[self.units[u][0]] for u in units]
            return Change(change.vectors[at], change.rank[at])
        changes = [self.projection.removal(self.units[u]) for u in units]
        most = max(change.vectors.shape[1] for change in changes)
        vectors = np.zeros((len(units), most, self.problem.n_targets))
        for i, change in enumerate(changes):
            vectors[i, : change.vectors.shape[1]] = change.vectors[0]
        return Change(vectors, np.array([change.rank[0] for change in changes]))

    def best_addition(self) -> Move | None:
        """The candidate that gains most, if it may enter; otherwise None, and `stop` says why."""
        self.stop = self._no_room()
        if self.stop is not None:
            return None
        moves = self.additions()
        free = (moves.rank > 0) & (self.problem.df - moves.size - moves.rank >= 1 - 1e-9)
        if not free.any():
            self.stop = self._none_free(moves)
            return None
        at = _first_best(np.where(free, moves.gains, -np.inf))
        one = _only(moves, at)
        if not self.rules.enter.worth(one, self.problem)[0]:
            self.stop = Stop.ENTER
            return None
        if self.rules.test and self._came_back():
            self.stop = Stop.CYCLE
            return None
        return Move(int(moves.units[at]), float(moves.gains[at]))

    def _came_back(self) -> bool:
        """A test is not a score: a selection that is to grow a second time would do so for ever."""
        selection = frozenset(self.selected)
        came_back = selection in self._added_to
        self._added_to.add(selection)
        return came_back

    def _none_free(self, moves: Moves) -> Stop:
        if not len(moves.units):
            return Stop.MAX_FEATURES
        return Stop.ROWS if (moves.rank > 0).any() else Stop.SPAN

    def _no_room(self) -> Stop | None:
        if self.exact:
            return Stop.EXACT
        if not len(self.pool):
            return Stop.POOL
        if self.rules.max_features is not None and self.n_selected >= self.rules.max_features:
            return Stop.MAX_FEATURES
        if self.problem.df - self.projection.size < 2 - 1e-9:
            return Stop.ROWS
        return None

    @property
    def left(self) -> float:
        """Part of the sum of squares that a regression leaves, of the target it explains best."""
        return float((np.diagonal(self.projection.M) / np.diagonal(self.problem.base)).min())

    @property
    def exact(self) -> bool:
        """Whether a regression leaves nothing but rounding."""
        return self.problem.sign < 0 and self.left <= self.problem.exact_fit

    def independent(self) -> list[int]:
        """Units of the pool, in order, that are no combination of the ones before."""
        trial = Projection(self.problem)
        trial.add([j for u in self.include for j in self.units[u]])
        found = []
        for u in self.pool:
            size = trial.size
            trial.add(self.units[u])
            if trial.size > size:
                found.append(int(u))
        return found

    def ranking(self) -> tuple[int, ...]:
        """1 for the first that entered, and so on; then the others by the gain they would bring; last the excluded."""
        evaluations = self.n_evaluations
        if self.dropped:
            self.recall("re-forward")
        gains = np.zeros(len(self.pool)) if self._no_room() in (Stop.EXACT, Stop.ROWS) else self.additions().gains
        self.n_evaluations = evaluations
        order = [*self.selected, *self.pool[np.argsort(-gains, kind="stable")]]
        ranks = [len(order) + 1] * self.problem.n_features
        for rank, unit in enumerate(order, start=1):
            for j in self.units[unit]:
                ranks[j] = rank
        return tuple(ranks)

    def hopeless(self, chosen: Move) -> Units:
        """Candidates beside the chosen one that, in the scan that chose it, were not worth looking at again soon."""
        moves = self.additions()
        hopeless = ~self.rules.drop.worth(moves, self.problem) & (moves.units != chosen.unit)
        return np.asarray(moves.units[hopeless])

    def cheapest_removal(self) -> Move | None:
        """The selected unit that loses least, whatever the rules say."""
        moves = self.removals()
        if not len(moves.units):
            return None
        at = _first_best(-moves.gains)
        return Move(int(moves.units[at]), -float(moves.gains[at]))

    def best_removal(self) -> Move | None:
        """The selected unit that loses least, if it may leave; otherwise None."""
        moves = self.removals()
        if not len(moves.units):
            return None
        at = _first_best(-moves.gains)
        full = self.rules.max_features is not None and self.n_selected > self.rules.max_features
        if self.rules.leave.worth(_only(moves, at), self.problem)[0] and not full:
            return None
        return Move(int(moves.units[at]), -float(moves.gains[at]))

    def best_exchange(self) -> tuple[int, int] | None:
        """The unit to remove, and the one to add in its place, that together gain most, if the score improves."""
        removals = self.removals()
        self.n_evaluations -= len(removals.units)  # an exchange is evaluated as a pair
        if not len(removals.units) or not len(self.pool):
            return None
        totals = np.stack([self._gains_without(int(u)) for u in removals.units]) - removals.gains[:, None]
        out, into = divmod(_first_best(totals.ravel()), len(self.pool))
        if not exceeds(self.worth + float(totals[out, into]), self.worth):
            return None
        return int(removals.units[out]), int(self.pool[into])

    def _gains_without(self, unit: int) -> Floats:
        """Gains of the pool if a unit were removed; minus infinity for what could not enter then."""
        gone = self.projection.directions(self.units[unit])
        out = gone @ self.projection.Z
        M = self.projection.M - self.problem.sign * out.T @ out
        size = self.projection.size - len(gone)
        pool = self.pool
        if self.rules.max_features is not None:
            room = self.rules.max_features - self.n_selected + len(self.units[unit])
            pool = pool[self._shape.lengths[pool] <= room]
        gains = np.full(len(self.units), -np.inf)
        for units, change in self._shape.changes(self.projection, pool, gone):
            free = (change.rank > 0) & (self.problem.df - size - change.rank >= 1 - 1e-9)
            gains[units] = np.where(free, self.criterion.gains(M, change, size, self.problem), -np.inf)
        self.n_evaluations += len(pool)
        return gains[self.pool]

    # --- steps -------------------------------------------------------------------------------------------------------

    def add(self, unit: int, phase: Phase) -> Step:
        self.pool = self.pool[self.pool != unit]
        self.selected.append(unit)
        return self._moved(phase, "add", [unit], float(self._gains[unit]))

    def remove(self, unit: int, phase: Phase) -> Step:
        self.pool = np.insert(self.pool, np.searchsorted(self.pool, unit), unit)
        self.selected.remove(unit)
        return self._moved(phase, "remove", [unit], -self._losses.get(unit, np.nan))

    def start(self, units: Sequence[int]) -> Step:
        """Units that are in from the start."""
        self.selected.extend(units)
        self.pool = np.setdiff1d(self.pool, units)
        return self._moved("start", "add", units)

    def drop(self, units: Units, phase: Phase) -> Step:
        """Take candidates out of the pool until they are recalled."""
        self.pool = np.setdiff1d(self.pool, units)
        self.dropped.extend(int(u) for u in units)
        features = tuple(sorted(self._features(units)))
        self.projection.rest(np.array(features, dtype=np.intp))
        return Step(phase, "drop", features, 0.0, self.score, len(self.pool))

    def recall(self, phase: Phase) -> Step:
        """Take every dropped candidate back into the pool."""
        units, self.dropped = sorted(self.dropped), []
        self.pool = np.union1d(self.pool, np.array(units, dtype=np.intp))
        self.projection.recall()
        return Step(phase, "recall", tuple(sorted(self._features(units))), 0.0, self.score, len(self.pool))

    def _moved(self, phase: Phase, action: Action, units: Sequence[int], gain: float = np.nan) -> Step:
        """Make a move. The gain that was computed for it has more digits than a difference of scores."""
        features = self._features(units)
        if action == "add":
            self.projection.add(features)
        else:
            self.projection.remove(features)
        before, self.score = self.worth, self.criterion.value(self.projection.M, self.projection.size, self.problem)
        self._gains.fill(np.nan)
        self._losses = {}
        gain = self.worth - before if np.isnan(gain) else gain
        return Step(phase, action, features, gain, self.score, len(self.pool))

    def _features(self, units: Sequence[int] | Units) -> tuple[int, ...]:
        return tuple(j for u in units for j in self.units[int(u)])


class _Shape:
    """Units sorted by how many features they have, so that units of one length are looked at together."""

    def __init__(self, units: Sequence[Sequence[int]], problem: Problem) -> None:
        self.lengths = np.array([len(unit) for unit in units], dtype=np.intp)
        self.singles = bool((self.lengths == 1).all())
        self.first = np.array([unit[0] for unit in units], dtype=np.intp)
        self.members: dict[int, Units] = {}
        self.blocks: dict[int, Floats] = {}
        self.place = np.zeros(len(units), dtype=np.intp)
        for m in np.unique(self.lengths[self.lengths > 1]):
            at = np.flatnonzero(self.lengths == m)
            self.place[at] = np.arange(len(at))
            self.members[int(m)] = np.array([units[int(u)] for u in at], dtype=np.intp)
            self.blocks[int(m)] = np.stack([problem.block(members) for members in self.members[int(m)]])

    def changes(
        self, projection: Projection, units: Units, without: Floats | None = None
    ) -> list[tuple[Units, Change]]:
        """What adding each unit would do, units of one length at a time."""
        lengths = self.lengths[units]
        ones = units[lengths == 1]
        found = [(ones, projection.additions(self.first[ones][:, None], None, without))] if len(ones) else []
        for m in self.members:
            at = units[lengths == m]
            if len(at):
                place = self.place[at]
                found.append((at, projection.additions(self.members[m][place], self.blocks[m][place], without)))
        return found


def exceeds(a: float, b: float) -> bool:
    """a > b by more than rounding could do."""
    return a - b > TIE * max(abs(a), abs(b)) if np.isfinite(b) else a > b


def _first_best(gains: Floats) -> int:
    """The first of the largest; gains that differ by rounding only are equal."""
    finite = np.abs(gains[np.isfinite(gains)])
    slack = TIE * finite.max() if len(finite) else 0.0
    best = gains.max()
    return int(np.argmax(gains >= best - slack)) if np.isfinite(best) else int(np.argmax(gains))


def _only(moves: Moves, at: int) -> Moves:
    here = slice(at, at + 1)
    size = moves.size if np.isscalar(moves.size) else np.asarray(moves.size)[here]
    return Moves(moves.units[here], moves.gains[here], moves.rank[here], moves.partial[here], size)  # type: ignore[arg-type]
