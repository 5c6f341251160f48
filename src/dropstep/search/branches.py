"""Branches: searches from the same start that continue independently, for strategies that keep several sets."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dropstep.models.base import Floats, Scan
from dropstep.search.moves import Move, first_best
from dropstep.search.search import Search


@dataclass(frozen=True, eq=False)
class Child:
    """A set that a branch can become by one addition, and its value, larger is better."""

    units: tuple[int, ...]
    value: float
    branch: Branch
    scan: Scan
    at: int

    def confirmed(self) -> Move | None:
        """The addition; None if it is not confirmed in the tails."""
        return self.branch.search.confirmed_move(self.scan, self.at, self.branch.search.size + 1)

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
        scan, allowed = self.search.allowed_additions()
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
