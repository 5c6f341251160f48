"""Strategies, as the paper and the literature define them. R = search.selected, C = search.pool."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations

from reference.least_squares.criteria import improvement
from reference.least_squares.projection import Unit, flat
from reference.search import TIE, Move, Search, Step

Strategy = Callable[[Search], Iterator[Step]]


def forward(search: Search, phase: str = "forward", *, dropping: bool = False) -> Iterator[Step]:
    """Add to R the feature that improves the fit the most. Stop when no feature improves it more than alpha.

    With dropping: remove from C the features that did not improve the fit more than beta in that same scan.
    """
    while search.can_grow():
        scan = search.additions()
        move = search.best_addition(scan)
        if move is None or search.is_cycle():
            return
        dropped = [other.added[0] for other in scan if dropping and other != move and search.droppable(other)]
        yield search.add(move.added, phase)
        if dropped:
            yield search.drop(dropped, phase)


def backward(search: Search) -> Iterator[Step]:
    """Remove from R the least useful feature, one at a time, as long as the loss is at most beta."""
    while move := search.best_removal(search.removals()):
        yield search.remove(move.removed[0], "backward")


def backward_from_all(search: Search) -> Iterator[Step]:
    """R = all features, except constant ones and combinations of earlier ones. Then backward steps."""
    units: list[Unit] = []
    for unit in search.pool:
        if search.feasible([*search.selected, *units], unit):
            units.append(unit)
    if units:
        yield search.add(units, "start")
    yield from backward(search)


def stepwise(search: Search) -> Iterator[Step]:
    """A forward step, then backward steps to the end; repeat until no feature enters."""
    for step in forward(search):
        yield step
        yield from backward(search)


def bidirectional(search: Search) -> Iterator[Step]:
    """The best of all additions and removals, one move per step; an addition on ties (R's direction="both")."""
    while True:
        addition = search.best_addition(search.additions()) if search.can_grow() else None
        removal = search.best_removal(search.removals())
        move = better(search, addition, removal)
        if move is None or search.is_cycle():
            return
        if move is addition:
            yield search.add(move.added, "forward")
        else:
            yield search.remove(move.removed[0], "backward")


def better(search: Search, addition: Move | None, removal: Move | None) -> Move | None:
    """The move with the larger gain; the addition if the gains are equal."""
    if addition is None or removal is None:
        return addition or removal
    lead, scale = removal.gain - addition.gain, max(abs(addition.gain), abs(removal.gain))
    if scale and math.isfinite(scale) and abs(lead) > TIE / 100 * scale:
        search.margin = min(search.margin, abs(lead) / scale)
    return removal if lead > TIE * scale else addition


def forward_backward(search: Search) -> Iterator[Step]:
    """Forward steps to the end, then backward steps to the end."""
    yield from forward(search)
    yield from backward(search)


def dropping(search: Search) -> Iterator[Step]:
    """Forward dropping steps; re-forward steps over all that is not in R, without dropping; backward steps."""
    yield from forward(search, dropping=True)
    yield from recall_and_exchange(search)
    yield from backward(search)


def fbed(search: Search) -> Iterator[Step]:
    """Forward dropping steps, then up to `rounds` further rounds of them over all that is not in R; backward steps."""
    yield from forward(search, dropping=True)
    rounds = 0
    while rounds < search.rules.rounds and search.dropped:
        rounds += 1
        yield search.recall("re-forward")
        before = list(search.selected)
        yield from forward(search, "re-forward", dropping=True)
        if search.selected == before:
            break
    if search.rules.max_features < math.inf:
        yield from recall_and_exchange(search)
    yield from backward(search)


def recall_and_exchange(search: Search) -> Iterator[Step]:
    """Re-forward steps over all that is not in R; at max_features, exchanges while the score improves.

    An exchange adds the best candidate and removes the feature that is the least useful after that.
    """
    if search.dropped:
        yield search.recall("re-forward")
    yield from forward(search, "re-forward")
    while search.full and search.pool and not search.is_exact:
        candidate = search.best_addition(search.additions())
        move = None if candidate is None else search.best_exchange(search.exchanges(candidate.added))
        if move is None or search.is_cycle():
            return
        yield search.remove(move.removed[0], "swap")
        yield search.add(move.added, "swap")


def floating(search: Search) -> Iterator[Step]:
    """A forward step, then removals as long as they give a better set of that size than any before; repeat."""
    record = {len(search.selected): search.score()}
    min_size = len(search.selected) + 2
    for step in forward(search):
        yield step
        update_record(record, search)
        while len(search.selected) > min_size:
            move = search.best(search.removals())
            if move is None or not beats_record(record, search, search.without(move.removed[0])):
                break
            yield search.remove(move.removed[0], "backward")
            update_record(record, search)


def beats_record(record: dict[int, float], search: Search, units: Sequence[Unit]) -> bool:
    """True if some units score better, by more than rounding error, than every set of that size before."""
    if len(units) not in record:
        return True
    new, old = search.score(units), record[len(units)]
    return improvement(search.criterion.name, new, old) > TIE * max(abs(new), abs(old))


def update_record(record: dict[int, float], search: Search) -> None:
    """Store the score of the selection if it is the best of its size."""
    n_units, new = len(search.selected), search.score()
    if n_units not in record or improvement(search.criterion.name, new, record[n_units]) > 0:
        record[n_units] = new


def swap(search: Search) -> Iterator[Step]:
    """Forward steps to the end; then the best exchange of a selected feature for another, until none improves."""
    yield from forward(search)
    while not search.is_exact:
        move = search.best_exchange(search.exchanges())
        if move is None or search.is_cycle():
            return
        yield search.remove(move.removed[0], "swap")
        yield search.add(move.added, "swap")


def beam(search: Search) -> Iterator[Step]:
    """Grow the `width` best sets of each size by all that may enter; then backward from the best that cannot grow."""
    start, everything = list(search.selected), sorted([*search.selected, *search.pool])
    beam, complete = [start], []
    while beam:
        children: dict[frozenset[Unit], list[Unit]] = {}
        for units in beam:
            visit(search, units, everything)
            moves = [m for m in search.additions() if search.may_enter(m)] if search.can_grow() else []
            moves = [m for m in moves if search.confirmed(m)]
            for move in moves:
                children.setdefault(frozenset([*units, *move.added]), [*units, *move.added])
            if not moves:
                complete.append(units)
        beam = best_sets(search, sorted(children.values(), key=sorted), search.rules.width, start)
    (best,) = best_sets(search, sorted(complete, key=lambda units: (len(units), sorted(units))), 1, start)
    visit(search, start, everything)
    for unit in best[len(start) :]:
        yield search.add([unit], "forward")
    yield from backward(search)


def visit(search: Search, units: Sequence[Unit], everything: Sequence[Unit]) -> None:
    """Continue from a set."""
    search.selected, search.evaluated = list(units), set()
    search.pool = [unit for unit in everything if unit not in units]


def best_sets(search: Search, sets: list[list[Unit]], count: int, start: list[Unit]) -> list[list[Unit]]:
    """The sets that gain most over the start; of equal ones, the first."""
    values = gains_over(search, sets, start)
    search.narrow(values, count)
    if sum(search.problem.is_exact(flat(units)) for units in sets) > 1:
        search.margin = 0.0  # the gains of exact fits are limited by rounding error, which depends on the set before
    chosen: list[list[Unit]] = []
    while sets and len(chosen) < count:
        at = first_of_the_largest(values)
        chosen.append(sets.pop(at))
        values.pop(at)
    return chosen


def gains_over(search: Search, sets: Sequence[Sequence[Unit]], start: list[Unit]) -> list[float]:
    """The improvement of each set over the start, or over 0 if that is infinite."""
    before = search.score(start)
    before = before if math.isfinite(before) else 0.0
    return [improvement(search.criterion.name, search.score(units), before) for units in sets]


def first_of_the_largest(values: Sequence[float]) -> int:
    """Index of the first value that equals the largest one up to rounding."""
    tolerance = TIE * max((abs(value) for value in values if math.isfinite(value)), default=0.0)
    return next(i for i, value in enumerate(values) if value >= max(values) - tolerance)


def exhaustive(search: Search) -> Iterator[Step]:
    """Of all sets without a redundant unit, the one that maximises the score less `enter` per unit.

    With enter = -inf, the best of the largest ones. Its units are added in order of their gains.
    """
    start, pool, price = list(search.selected), list(search.pool), search.rules.enter
    most = int(min(len(pool), search.rules.max_features - len(start)))
    sets = [s for k in range(most + 1) for s in combinations(pool, k) if search.irredundant([*start, *s])]
    if price == -math.inf:
        sets = [s for s in sets if len(s) == len(sets[-1])]
    gains = gains_over(search, [[*start, *s] for s in sets], start)
    values = [gain - (0.0 if price == -math.inf else price * len(s)) for gain, s in zip(gains, sets, strict=True)]
    search.narrow(values)
    remaining = list(sets[first_of_the_largest(values)])
    while remaining:
        before = search.score()
        move = search.best([search.exchange(None, unit, before) for unit in remaining])
        assert move is not None
        remaining.remove(move.added[0])
        yield search.add(move.added, "forward")


STRATEGIES: dict[str, Strategy] = {
    "forward": forward,
    "backward": backward_from_all,
    "stepwise": stepwise,
    "bidirectional": bidirectional,
    "forward_backward": forward_backward,
    "dropping": dropping,
    "fbed": fbed,
    "floating": floating,
    "swap": swap,
    "beam": beam,
    "exhaustive": exhaustive,
}
