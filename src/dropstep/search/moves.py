"""Possible moves, and the best of them: ties, and differences at rounding level, go to the lowest index."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from dropstep.models.base import TIE, Bools, Floats, Scan
from dropstep.result import PartialTest


class Move(NamedTuple):
    """A possible move: the unit, by how much the score would improve (below 0: worsen) if that is known, its test."""

    unit: int
    gain: float = math.nan
    test: PartialTest | None = None


class NearTie(NamedTuple):
    """An addition and the second best one in the same scan."""

    unit: int
    second: int
    gain: float
    second_gain: float

    @property
    def margin(self) -> float:
        """By what share of its gain the unit was better."""
        return (self.gain - self.second_gain) / self.gain


def addition_of(scan: Scan, at: int) -> Move:
    """The addition of one unit of a scan."""
    return Move(int(scan.units[at]), float(scan.gains[at]), None if scan.tests is None else scan.tests.one(at))


def removal_of(scan: Scan, at: int) -> Move:
    """The removal of one unit of a scan."""
    return Move(int(scan.units[at]), -float(scan.gains[at]), None if scan.tests is None else scan.tests.one(at))


def feasible_gains(scan: Scan) -> Floats:
    """Gains of a scan, minus infinity for what could not enter."""
    return np.where(scan.feasible, scan.gains, -np.inf)


def exceeds(a: float, b: float) -> bool:
    """a > b by more than rounding errors."""
    return a - b > TIE * max(abs(a), abs(b)) if np.isfinite(b) else a > b


def first_best(values: Floats, feasible: Bools, tie: float = TIE) -> int | None:
    """The first of the largest feasible values; values that differ by rounding, relative to the largest, are equal."""
    if not len(values):
        return None
    among = values if np.count_nonzero(feasible) == len(values) else np.where(feasible, values, -np.inf)
    at = int(among.argmax())
    best = float(among[at])
    if not math.isfinite(best):  # of scores that are all infinitely bad, the first
        at = at if best > 0 else int(feasible.argmax())
        return at if feasible[at] else None
    if not at:
        return at
    least = float(values.min())
    if not math.isfinite(least):
        least = float(values.min(initial=best, where=np.isfinite(values)))
    return int((among[: at + 1] >= best - tie * max(best, -least)).argmax())


def near_tie(scan: Scan, at: int, among: Bools, closest: NearTie | None) -> NearTie | None:
    """The closer of an addition with the second best of some candidates, and the closest one so far.

    Gains that do not order the candidates, because a test does, are not compared.
    """
    gain, others = float(scan.gains[at]), np.where(among, scan.gains, -np.inf)
    others[at] = -np.inf
    second = int(others.argmax())
    second_gain = float(others[second])  # of what is not feasible it is 0, which is no near tie
    if not gain > 0 or not math.isfinite(second_gain) or second_gain > gain * (1 + scan.tie):
        return closest
    near = NearTie(int(scan.units[at]), int(scan.units[second]), gain, second_gain)
    return near if closest is None or near.margin < closest.margin else closest
