"""Several sets at once: the branches of a beam, and the best sets of each size."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from dropstep.models.base import Floats, Indices, Model, Scan, additions_of
from dropstep.models.capabilities import BestSets, Bounds, capability
from dropstep.models.evaluation import SearchEndedError
from dropstep.search.search import (
    ExhaustiveResult,
    Move,
    Refused,
    ScoredSet,
    Search,
    exceeds,
    feasible_gains,
    first_best,
)

MAX_ENUMERATED = 20  # units of which every set is evaluated, where there are no bounds


Units = tuple[int, ...]


def optimum(search: Search, n_best: int, price: float) -> ExhaustiveResult:
    """The set that maximises value - price * size, and the best sets of each size.

    A price of -inf selects the best set of the largest size.
    """
    found = _best_sets(search, n_best)
    start = len(search.selected)
    sets = [_scored(search, units) for size in sorted(found.sets) for units in found.sets[size]]
    paid = 0.0 if price == -math.inf else price
    origin = search.value if math.isfinite(search.value) else 0.0

    def total_gain(value: float, size: int) -> float:
        return value - origin - paid * (size - start)

    best = sets[0]
    for one in sets[1:]:
        gains = total_gain(one.value, len(one.units)), total_gain(best.value, len(best.units))
        if exceeds(*gains) or (price == -math.inf and len(one.units) > len(best.units)):
            best = one
    sizes = [size for size in found.bounds if price > -math.inf or start + size == len(best.units)]
    reached = total_gain(best.value, len(best.units))
    gaps = [total_gain(found.bounds[size], start + size) - reached for size in sizes]
    return ExhaustiveResult(tuple(sets), best, max([0.0, *gaps]))


def _best_sets(search: Search, n_best: int) -> BestSets:
    limit, pool = search.rules.max_features, search.pool
    max_size = len(pool) if limit is None else min(len(pool), limit - len(search.selected))
    if len(pool) and (model := capability(search.model, Bounds)) is not None:
        found = model.best_sets(pool, max_size, n_best, search.ended)
        if found is not None:
            search.n_evaluations += found.n_evaluations
            search.stop = search.ended() if found.bounds else None
            return found
    return _enumerated(search, pool, max_size, n_best)


def _scored(search: Search, units: Units) -> ScoredSet:
    """The value of the selected units and others, as exact as the model computes it."""
    branch = search.copy()
    branch.model.add(units)
    return ScoredSet(tuple(sorted([*search.selected, *units])), branch.value)


def _enumerated(search: Search, pool: Indices, max_size: int, n_best: int) -> BestSets:
    """Every set, or those up to the end of the search."""
    if len(pool) > MAX_ENUMERATED:
        raise ValueError(
            f"exhaustive evaluates every set of candidates for this model and criterion, which is possible for up to "
            f"{MAX_ENUMERATED}; there are {len(pool)}: exclude some, or use strategy='beam'"
        )
    found: dict[int, list[ScoredSet]] = {0: [ScoredSet((), search.value)]}
    bounds: dict[int, float] = {}
    before = search.n_evaluations
    try:
        for one in _sets(search, search.copy(), pool, (), max_size):
            _keep(found.setdefault(len(one.units), []), one, n_best)
    except SearchEndedError as ended:
        search.stop = ended.reason
        bounds = dict.fromkeys(range(1, max_size + 1), math.inf)
    sets = {size: [one.units for one in some] for size, some in found.items()}
    return BestSets(sets, bounds, search.n_evaluations - before)


def _sets(search: Search, branch: Search, pool: Indices, chosen: Units, room: int) -> Iterator[ScoredSet]:
    """All sets that contain the chosen units and others of the pool, each evaluated once."""
    if not room or not len(pool) or branch.model.saturated() is not None:
        return
    search.raise_if_ended()
    gains, value = _exact_gains(search, branch.model, pool), branch.value
    for at in np.flatnonzero(np.isfinite(gains)).tolist():
        yield ScoredSet((*chosen, int(pool[at])), value + float(gains[at]))
    for at in np.flatnonzero(np.isfinite(gains)).tolist():
        further = branch.copy()
        further.model.add([int(pool[at])])
        yield from _sets(search, further, pool[at + 1 :], (*chosen, int(pool[at])), room - 1)


def _exact_gains(search: Search, model: Model, units: Indices) -> Floats:
    """Exact gains of units, minus infinity for what is not feasible; those that were only screened are confirmed."""
    scan = additions_of(model, units)
    search.count(scan)
    gains = feasible_gains(scan)
    doubtful = ~scan.eligible if scan.exact else np.ones(len(units), dtype=bool)
    for at in np.flatnonzero(doubtful & scan.feasible):
        one = model.confirm(units[at : at + 1])
        search.count(one)
        gains[at] = feasible_gains(one)[0]
    return gains


def _keep(sets: list[ScoredSet], one: ScoredSet, n_best: int) -> None:
    """Insert a set if it is among the best; of equal ones, up to rounding, the first comes first."""
    at = next((i for i, other in enumerate(sets) if exceeds(one.value, other.value)), len(sets))
    sets.insert(at, one)
    del sets[n_best:]


@dataclass(frozen=True, eq=False)
class Child:
    """A set that a branch can become by one addition, and its value, larger is better."""

    units: tuple[int, ...]
    value: float
    branch: Branch
    scan: Scan
    at: int

    def confirmed(self) -> Move | None:
        """The addition; None, which the search remembers, if it is not confirmed in the tails."""
        search = self.branch.search
        move = search.confirmed_move(self.scan, self.at, search.size + 1)
        if isinstance(move, Refused):
            search.remember([move])
            return None
        return move

    @property
    def refused(self) -> bool:
        """True if the addition was not confirmed."""
        return int(self.scan.units[self.at]) in self.branch.search.refused


@dataclass(frozen=True, eq=False)
class Branch:
    """A search, and the additions that led to its selection."""

    search: Search
    moves: tuple[Move, ...] = ()

    @property
    def units(self) -> tuple[int, ...]:
        return tuple(sorted(self.search.selected))

    def children(self) -> list[Child]:
        """Sets after every addition that is allowed."""
        scan, allowed, self.search.stop = self.search.allowed_additions()
        value, selected = self.search.value, self.search.selected
        return [
            Child(tuple(sorted([*selected, int(scan.units[at])])), value + float(scan.gains[at]), self, scan, int(at))
            for at in np.flatnonzero(allowed)
        ]


def grown(child: Child, move: Move) -> Branch:
    """The branch after the addition of a child."""
    search = child.branch.search.copy()
    search.add(move, "forward")
    return Branch(search, (*child.branch.moves, move))


def best_children(children: list[Child], count: int, start: float) -> list[tuple[Child, Move]]:
    """The best children by their gain over the value at the start, each set once; the lowest indices on ties.

    A set of which no addition is confirmed in the tails is passed over.
    """
    different: dict[tuple[int, ...], list[Child]] = {}
    for child in children:
        different.setdefault(child.units, []).append(child)
    ordered = [different[units] for units in sorted(different)]
    gains, available = _gains([same[0].value for same in ordered], start), np.ones(len(ordered), dtype=bool)
    chosen: list[tuple[Child, Move]] = []
    while len(chosen) < count and (at := first_best(gains, available)) is not None:
        available[at] = False
        moves = ((child, child.confirmed()) for child in ordered[at])
        chosen += [(child, move) for child, move in moves if move is not None][:1]
    return chosen


def best_branch(branches: list[Branch], start: float) -> Branch:
    """The branch with the best selection; on ties the smallest, then the one with the lowest indices."""
    ordered = sorted(branches, key=lambda branch: (len(branch.units), branch.units))
    gains = _gains([branch.search.value for branch in ordered], start)
    at = first_best(gains, np.ones(len(ordered), dtype=bool))
    assert at is not None
    return ordered[at]


def _gains(values: list[float], start: float) -> Floats:
    return np.array(values) - (start if math.isfinite(start) else 0.0)
