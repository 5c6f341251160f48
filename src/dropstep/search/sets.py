"""Sets of units with their scores, as an exhaustive search finds them."""

from __future__ import annotations

from dataclasses import dataclass

Units = tuple[int, ...]


@dataclass(frozen=True)
class ScoredSet:
    """Units, the included ones among them, in ascending order, and their value, larger is better."""

    units: Units
    value: float


@dataclass(frozen=True)
class Optimum:
    """The best sets of each size, the best of all, and by how much a set that was not examined could be better."""

    sets: tuple[ScoredSet, ...]
    best: ScoredSet
    gap: float
