"""Strategies: each reads like its definition. They ask a search for moves, and yield the steps they make."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

from dropstep.foreign import did_you_mean
from dropstep.result import Phase, Step, StopReason
from dropstep.search.moves import exceeds
from dropstep.search.search import Search

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
        if len(droppable):
            yield search.drop(droppable, phase)


def recall(search: Search) -> Steps:
    """Return the dropped candidates to the pool."""
    if len(search.dropped):
        yield search.recall("re-forward")


def exchange(search: Search) -> Steps:
    """At `max_features`: put the best candidate in the place of the least useful feature, while the score improves."""
    while (replacement := search.best_replacement()) and search.visit():
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
        Further rounds; math.inf goes on as long as a round adds something.
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
    while (pair := search.best_exchange()) and search.visit():
        removal, addition = pair
        yield search.remove(removal, "swap")
        yield search.add(addition, "swap")


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
}


def as_strategy(strategy: Any) -> tuple[str, Strategy]:
    """A strategy by name or as an object, and its name."""
    if isinstance(strategy, str) and strategy in STRATEGIES:
        return strategy, STRATEGIES[strategy]
    if isinstance(strategy, FBED):
        return strategy.name, strategy
    known, hint = ", ".join(STRATEGIES), did_you_mean(strategy, STRATEGIES)
    raise ValueError(f"unknown strategy {strategy!r}; {hint}there are {known}, or an object such as FBED(rounds=2)")
