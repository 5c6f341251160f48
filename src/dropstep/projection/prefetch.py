"""Prefetching: products of features that will probably be added next, in the pass for one that is needed."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

FEW = 7  # features to prefetch even if fewer can be added
MIN_USED = 2  # prefetched features that must be added for the larger product to pay off
CHI2_MEDIAN = 0.455  # of the chi-squared distribution with one degree of freedom
BACK_OFF = 2  # additions without prefetching after one that did not pay off; doubled each time


@dataclass(frozen=True)
class Prefetched:
    """Products of the residual of a feature, given the first `size` directions, with the live features."""

    products: Floats
    size: int
    residual_ss: float


class Prefetcher:
    """How many features to prefetch.

    With correlated features the next addition is hard to predict; back off exponentially after unused prefetches.

    Parameters
    ----------
    usual, maximum : int
        Number of vectors in a product that is worthwhile in any case, and if many features are likely to be added.
    """

    def __init__(self, usual: int, maximum: int) -> None:
        self._usual, self.maximum = usual, maximum
        self._used = self._failures = self._alone = 0
        self._fetched = False

    def use(self) -> None:
        """Record that a prefetched feature was added."""
        self._used += 1

    def limits(self, needed: int, room: float = math.inf) -> tuple[int, int]:
        """Least and largest number of features to prefetch in a product with `needed` other vectors.

        `room` features can still be added; the ones that will be are not known, so that a few more are prefetched.
        Nothing is prefetched before the last addition: a product with two vectors takes as long as two passes.
        """
        most = int(min(self.maximum - needed, max(room, FEW)))
        if most <= 0 or room <= 1:
            return 0, 0
        if needed > 1:  # predicted from residuals that are out of date, so that success is no evidence
            return min(max(self._usual - needed, self._usual // 2), most), most
        if self._fetched:
            self._failures = self._failures + 1 if self._used < MIN_USED else 0
            self._alone = BACK_OFF * 2**self._failures if self._failures else 0
        self._fetched, self._used = not self._alone, 0
        if self._alone:
            self._alone -= 1
            return 0, 0
        return min(self._usual - needed, most), most


def likely_next(
    power: Floats, candidates: NDArray[np.bool_], limits: tuple[int, int], units: NDArray[np.intp] | None = None
) -> list[int]:
    """The candidates that explain most: as many as stand out from noise, within limits.

    If no candidate had an effect, the largest of p powers would be about 2 log(p) times their scale. Features of the
    same unit are added together: where `units` has the unit of each feature, the result is whole units.
    """
    least, most = limits
    power = np.where(candidates, power, 0.0)
    scale = np.median(power) / CHI2_MEDIAN
    strong = np.count_nonzero(power > 2 * np.log(len(power)) * scale) if most > least else 0
    count = min(max(least, int(strong)), most)
    if units is not None:
        return _whole_units(power, units, count, most)
    at = np.argpartition(-power, count)[:count] if len(power) > count else np.arange(len(power))
    return [int(j) for j in at if power[j] > 0]


def _whole_units(power: Floats, units: NDArray[np.intp], count: int, most: int) -> list[int]:
    """The units that explain most, of `count` features together; one of up to `most` if it has more."""
    order = np.argsort(-np.bincount(units, power), kind="stable")
    together = np.bincount(units, power > 0)[order].cumsum()  # features of the first units
    chosen = np.zeros(len(order), dtype=bool)
    chosen[order[together <= max(count, min(together[0], most))]] = True
    return np.flatnonzero(chosen[units] & (power > 0)).tolist()
