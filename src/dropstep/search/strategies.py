"""Strategies: each reads like its definition. They ask a search for moves, and yield the steps they make."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

from dropstep.result import Phase, Step
from dropstep.search.search import Search, exceeds

Steps = Iterator[Step]
Strategy = Callable[[Search], Steps]


def forward(search: Search, phase: Phase = "forward") -> Steps:
    """Add the feature that improves the score most, while one may enter."""
    while move := search.best_addition():
        yield search.add(move, phase)


def backward(search: Search, phase: Phase = "backward") -> Steps:
    """Remove the feature that worsens the score least, while one may leave."""
    while move := search.best_removal():
        yield search.remove(move, phase)


def forward_dropping(search: Search, phase: Phase = "forward") -> Steps:
    """Go forward; drop from the pool what was hopeless in the scan that chose the addition."""
    while move := search.best_addition():
        hopeless = search.hopeless(move)
        search.rest(hopeless)
        yield search.add(move, phase)
        if len(hopeless):
            yield search.drop(hopeless, phase)


def recall(search: Search) -> Steps:
    """Give the dropped candidates a second chance."""
    if len(search.dropped):
        yield search.recall("re-forward")


def exchange(search: Search) -> Steps:
    """At `max_features`: put the best candidate in the place of the least useful feature, while the score improves."""
    while (replacement := search.best_replacement()) and not search.came_back():
        removal, addition = replacement
        yield search.remove(removal, "swap")
        yield search.add(addition, "swap")


def eliminate(search: Search) -> Steps:
    """Start from every feature, then go backward."""
    if units := search.independent():
        yield search.start(units)
    yield from backward(search)


def stepwise(search: Search) -> Steps:
    """After every addition, remove what the addition made useless."""
    for step in forward(search):
        yield step
        yield from backward(search)


def forward_backward(search: Search) -> Steps:
    """Forward to the end, then backward to the end."""
    yield from forward(search)
    yield from backward(search)


def dropping(search: Search) -> Steps:
    """Forward while dropping hopeless candidates, forward once more over everything, then backward once."""
    yield from forward_dropping(search)
    yield from recall(search)
    yield from forward(search, "re-forward")
    yield from exchange(search)
    yield from backward(search)


def fbed(search: Search, rounds: float = 1) -> Steps:
    """Forward with early dropping, in rounds, then backward (Borboudakis and Tsamardinos 2019)."""
    yield from forward_dropping(search)
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
    best, smallest = {len(search.selected): search.worth}, len(search.selected) + 2
    for step in forward(search):
        yield step
        size = len(search.selected)
        best[size] = max(best.get(size, -math.inf), search.worth)
        while size > smallest and (move := search.cheapest_removal()):
            if not exceeds(search.worth + move.gain, best.get(size - 1, -math.inf)):
                break
            yield search.remove(move, "backward")
            size = len(search.selected)
            best[size] = search.worth


def swap(search: Search) -> Steps:
    """Forward to the end, then exchange a selected feature for a candidate while that improves the score."""
    yield from forward(search)
    while (exchange := search.best_exchange()) and not search.came_back():
        removal, addition = exchange
        yield search.remove(removal, "swap")
        yield search.add(addition, "swap")


STRATEGIES: dict[str, Callable[..., Steps]] = {
    "forward": forward,
    "backward": eliminate,
    "stepwise": stepwise,
    "forward_backward": forward_backward,
    "dropping": dropping,
    "fbed": fbed,
    "floating": floating,
    "swap": swap,
}
