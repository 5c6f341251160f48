"""Prefetching: products of features that will probably be added next, in the pass for one that is needed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

MIN_USED = 2  # prefetched features that must be added for the larger product to pay off
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
        Number of vectors in a product that is worthwhile in any case, and if prefetches were used before.
    """

    def __init__(self, usual: int, maximum: int) -> None:
        self._usual, self._maximum = usual, maximum
        self._fetched = self._used = self._failures = self._alone = 0

    def use(self) -> None:
        """Record that a prefetched feature was added."""
        self._used += 1

    def count(self, needed: int) -> int:
        """Number of features to prefetch in a product with `needed` other vectors."""
        if self._maximum <= needed:
            return 0
        if needed > 1:  # predicted from residuals that are out of date, so that success is no evidence
            return min(self._maximum - needed, max(self._usual - needed, self._usual // 2))
        if self._fetched:
            self._failures = self._failures + 1 if self._used < MIN_USED else 0
            self._alone = BACK_OFF * 2**self._failures if self._failures else 0
        if self._alone:
            self._alone -= 1
            self._fetched, self._used = 0, 0
            return 0
        width = self._maximum if 2 * self._used > self._fetched > 0 else self._usual
        self._fetched, self._used = width - needed, 0
        return self._fetched


def largest(power: Floats, candidates: NDArray[np.bool_], count: int) -> list[int]:
    """The candidates that explain most, at most `count` of them."""
    power = np.where(candidates, power, 0.0)
    at = np.argpartition(-power, count)[:count] if len(power) > count else np.arange(len(power))
    return [int(j) for j in at if power[j] > 0]
