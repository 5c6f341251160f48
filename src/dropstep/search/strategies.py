"""Strategies: each reads like its definition. They ask a search for moves, and yield the steps they make."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from numbers import Integral, Real
from typing import Any

import numpy as np

from dropstep.models.base import additions_of
from dropstep.models.evaluation import SearchEndedError
from dropstep.result import Phase, Step, StopReason
from dropstep.search.exchanges import best_exchange, best_replacement
from dropstep.search.rules import Threshold
from dropstep.search.search import Move, Search, addition_of, exceeds, first_best
from dropstep.search.sets import Branch, best_branch, best_children, grown, optimum
from dropstep.synonyms import did_you_mean

Steps = Iterator[Step]
Strategy = Callable[[Search], Steps]


def forward(search: Search, phase: Phase = "forward") -> Steps:
    """Add the feature that improves the score most, while one may enter."""
    while move := search.best_addition():
        yield search.add(move, phase)


def backward(search: Search) -> Steps:
    """Remove the feature that worsens the score least, while one may leave."""
    while move := search.best_removal():
        yield search.remove(move, "backward")


def backward_from_all(search: Search) -> Steps:
    """Start from every feature, then go backward."""
    if units := search.start_from_all():
        yield search.start(units)
    yield from backward(search)


def stepwise(search: Search) -> Steps:
    """After every addition, remove what the addition made redundant."""
    for step in forward(search):
        yield step
        yield from backward(search)


def bidirectional(search: Search) -> Steps:
    """Make the best single move, an addition or a removal, while one is allowed."""
    while best := search.best_move():
        action, move = best
        yield search.add(move, "forward") if action == "add" else search.remove(move, "backward")


def forward_backward(search: Search) -> Steps:
    """Forward to the end, then backward to the end."""
    yield from forward(search)
    yield from backward(search)


def forward_dropping(search: Search, phase: Phase = "forward") -> Steps:
    """Go forward; after each addition, drop every candidate whose gain in the same scan does not pass `drop`."""
    while move := search.best_addition():
        droppable = search.droppable(move)
        yield search.add(move, phase)
        if droppable.size:
            yield search.drop(droppable, phase)


def recall(search: Search) -> Steps:
    """Return the dropped candidates to the pool."""
    if search.dropped.size:
        yield search.recall("re-forward")


def exchange(search: Search) -> Steps:
    """At `max_features`: put the best candidate in the place of the least useful feature, while the score improves."""
    while (replacement := best_replacement(search)) and search.visit():
        removal, addition = replacement
        yield search.remove(removal, "swap")
        yield search.add(addition, "swap")


def dropping(search: Search) -> Steps:
    """Forward with early dropping, a second forward pass over all candidates, then one backward pass."""
    yield from forward_dropping(search)
    yield from recall(search)
    yield from forward(search, "re-forward")
    yield from exchange(search)
    yield from backward(search)


@dataclass(frozen=True)
class FBED:
    """Forward with early dropping, in rounds, then backward (Borboudakis and Tsamardinos 2019).

    Parameters
    ----------
    rounds : int or math.inf, default=1
        Further rounds; math.inf continues until a round adds nothing.
    """

    rounds: float = 1

    def __post_init__(self) -> None:
        real = isinstance(self.rounds, Real) and not isinstance(self.rounds, bool)
        if not real or self.rounds < 0 or not (self.rounds == math.inf or float(self.rounds).is_integer()):
            raise ValueError(f"rounds must be a whole number from 0, or math.inf; got {self.rounds!r}")

    @property
    def name(self) -> str:
        return "fbed"

    def __call__(self, search: Search) -> Steps:
        yield from forward_dropping(search)
        rounds = self.rounds
        while rounds > 0 and len(search.dropped):
            before = len(search.selected)
            yield from recall(search)
            yield from forward_dropping(search, "re-forward")
            rounds = rounds - 1 if len(search.selected) > before else 0
        if search.rules.max_features is not None:
            yield from recall(search)
            yield from forward(search, "re-forward")
            yield from exchange(search)
        yield from backward(search)


def floating(search: Search) -> Steps:
    """After every addition, remove while that beats the best selection seen of the smaller size (Pudil et al. 1994)."""
    best, smallest = {len(search.selected): search.value}, len(search.selected) + 2
    for step in forward(search):
        yield step
        size = len(search.selected)
        best[size] = max(best.get(size, -math.inf), search.value)
        while size > smallest and (move := search.cheapest_removal()):
            if not exceeds(search.value + move.gain, best.get(size - 1, -math.inf)):
                break
            yield search.remove(move, "backward")
            size = len(search.selected)
            best[size] = search.value


def swap(search: Search) -> Steps:
    """Forward to the end, then exchange a selected feature for a candidate while that improves the score."""
    yield from forward(search)
    while (pair := best_exchange(search)) and search.visit():
        removal, addition = pair
        yield search.remove(removal, "swap")
        yield search.add(addition, "swap")


@dataclass(frozen=True)
class Beam:
    """Forward from the best `width` sets of each size at once, then backward from the best set that cannot grow.

    A set grows by every candidate that may enter, and each set counts once. A width of 1 is `forward_backward` where
    gains order the candidates.

    Parameters
    ----------
    width : int, default=10
        Number of sets of each size.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from dropstep import Beam, select
    >>> path = select(*load_diabetes(return_X_y=True), criterion="bic", strategy=Beam(width=5))
    >>> path.selected
    (2, 8, 3, 6, 1)
    """

    width: int = 10

    def __post_init__(self) -> None:
        _check_count("width", self.width)

    @property
    def name(self) -> str:
        return "beam"

    def __call__(self, search: Search) -> Steps:
        beam, complete, reason = [Branch(search.copy())], [], None
        try:
            while beam:
                search.raise_if_ended()
                children = [branch.children() for branch in beam]
                chosen = best_children(list(chain(*children)), self.width, search.value)
                pairs = zip(beam, children, strict=True)
                complete += [branch for branch, some in pairs if all(child.refused for child in some)]
                every = [branch.search for branch in beam]
                beam = [grown(*child) for child in chosen]
                for one in every:
                    search.absorb(one)
        except SearchEndedError as ended:
            reason, complete = ended.reason, [*complete, *beam]
        best = best_branch(complete, search.value)
        best.search.stop = reason or best.search.stop
        search.stop = reason
        yield from search.follow(best.search, best.moves)
        if reason is None:
            yield from backward(search)


@dataclass(frozen=True)
class Exhaustive:
    """The best set of all: the one that maximises the score, less `enter` per feature, among the sets of every size.

    Least squares excludes most sets by bounds, as leaps and bounds (Furnival and Wilson 1974); for other models every
    set of up to 20 candidates is evaluated. At `max_time` the result is the best set found, and `path.subsets.gap` says
    by how much another could be better.

    Parameters
    ----------
    n_best : int, default=1
        Number of sets of each size in `path.subsets`.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from dropstep import Exhaustive, select
    >>> path = select(*load_diabetes(return_X_y=True), criterion="bic", strategy=Exhaustive(n_best=2))
    >>> [subset.features for subset in path.subsets.of_size(2)]
    [(2, 8), (2, 3)]
    """

    n_best: int = 1

    def __post_init__(self) -> None:
        _check_count("n_best", self.n_best)

    @property
    def name(self) -> str:
        return "exhaustive"

    def __call__(self, search: Search) -> Steps:
        assert isinstance(search.rules.enter, Threshold)
        found = optimum(search, self.n_best, search.rules.enter.value)
        search.optimum, stop = found, search.stop or StopReason.OPTIMAL
        if stop is not StopReason.OPTIMAL:
            search.notes = (_gap_note(found.gap),)
        yield from in_order_of_gain(search, [unit for unit in found.best.units if unit not in search.selected])
        search.stop = stop


def in_order_of_gain(search: Search, units: list[int]) -> Steps:
    """Add units, at each step the one that gains most."""
    remaining = np.array(units, dtype=np.intp)
    while len(remaining):
        scan = additions_of(search.model, remaining)
        at = first_best(scan.gains, scan.feasible, scan.tie) or 0
        move = addition_of(scan, at) if scan.exact else Move(int(remaining[at]))
        remaining = np.delete(remaining, at)
        yield search.add(move, "forward")


def _gap_note(gap: float) -> str:
    if math.isinf(gap):
        return "the search ended before every set was evaluated; a better one may exist"
    return f"the search ended before every set was excluded; a set that scores better by up to {gap:.4g} may exist"


def _check_count(name: str, value: Any) -> None:
    if not isinstance(value, Integral) or isinstance(value, bool) or value < 1:
        raise ValueError(f"{name} must be a whole number from 1; got {value!r}")


def in_order(units: Sequence[int]) -> Strategy:
    """A strategy that adds given units in their order, and nothing else."""

    def strategy(search: Search) -> Steps:
        for unit in units:
            yield search.add(search.addition(unit), "forward")
        search.stop = StopReason.ENTER

    return strategy


STRATEGIES: dict[str, Strategy] = {
    "forward": forward,
    "backward": backward_from_all,
    "stepwise": stepwise,
    "bidirectional": bidirectional,
    "forward_backward": forward_backward,
    "dropping": dropping,
    "fbed": FBED(),
    "floating": floating,
    "swap": swap,
    "beam": Beam(),
    "exhaustive": Exhaustive(),
}
ONE_MOVE_AT_A_TIME = tuple(name for name in STRATEGIES if name not in ("beam", "exhaustive"))


def as_strategy(strategy: Any) -> tuple[str, Strategy]:
    """A strategy by name or as an object, and its name."""
    if isinstance(strategy, str) and strategy in STRATEGIES:
        return strategy, STRATEGIES[strategy]
    if isinstance(strategy, FBED | Beam | Exhaustive):
        return strategy.name, strategy
    known, hint = ", ".join(STRATEGIES), did_you_mean(strategy, STRATEGIES)
    raise ValueError(f"unknown strategy {strategy!r}; {hint}there are {known}, or an object such as Beam(width=5)")
