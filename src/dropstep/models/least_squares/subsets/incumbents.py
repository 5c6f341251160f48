"""Incumbents: the best sets found of each size, and the loss that another set must not exceed to join them."""

from __future__ import annotations

import bisect
import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from dropstep.models.base import TIE
from dropstep.models.least_squares.subsets.candidates import Candidates

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]

ROUNDING = 1e-13  # error of a loss relative to that of the empty set
HALVINGS = 60  # of an interval of losses

Places = tuple[int, ...]


class Incumbents:
    """The `n_best` best sets of each size.

    Parameters
    ----------
    candidates : Candidates
    value : callable
        Value of a loss at a rank and a size, larger is better.
    limits : tuple of int
        Largest size, and largest rank, of a set.
    n_best : int
    interval : tuple of float
        Losses of all candidates and of none.
    """

    def __init__(
        self,
        candidates: Candidates,
        value: Callable[[float, int, int], float],
        limits: tuple[int, float],
        n_best: int,
        interval: tuple[float, float],
    ) -> None:
        self._candidates, self._value, self.n_best = candidates, value, n_best
        self._max_rank, self._interval = limits[1], interval
        wanted = (np.arange(candidates.n + 1) <= limits[0]) & (candidates.least_ranks <= limits[1] + TIE)
        self.limit = np.where(wanted, np.inf, -np.inf)  # largest loss of a set of each size that may join
        self._found: list[list[tuple[float, Places]]] = [[] for _ in self.limit]
        self._known: set[Places] = set()
        self._n_known = np.zeros(len(self.limit), dtype=np.intp)

    @property
    def sizes(self) -> list[int]:
        """Sizes of which a set was found."""
        return [size for size, found in enumerate(self._found) if found]

    def sets(self, size: int) -> list[Places]:
        """The best sets of a size, best first."""
        return [places for _, places in self._found[size]]

    def worth_visiting(self, bounds: Floats, sizes: Indices) -> NDArray[np.bool_]:
        """Whether sets of these sizes with losses from these bounds may join."""
        inside = sizes >= 0
        return np.asarray(inside & (bounds <= self.limit[np.where(inside, sizes, 0)]))

    def offer(self, places: Places, loss: Callable[[Floats], float]) -> None:
        """Add a set if it is among the best of its size; of equal sets, the lowest index comes first."""
        size = len(places)
        if places in self._known or self.limit[size] == -np.inf:
            return
        self._known.add(places)
        self._n_known[size] += 1
        if self._n_known[size] == math.comb(self._candidates.n, size):
            self.limit[size] = -np.inf  # there is no other set of this size
        contribution = self._candidates.contribution(np.array(places, dtype=np.intp))
        if contribution.redundant or contribution.rank > self._max_rank + TIE:
            return
        value = self._value(loss(contribution.G), contribution.rank, size)
        found = self._found[size]
        near = [v for v, _ in found if abs(v - value) <= TIE * max(abs(v), abs(value))]
        bisect.insort(found, (near[0] if near else value, places), key=lambda one: (-one[0], one[1]))
        del found[self.n_best :]
        if len(found) == self.n_best and self.limit[size] > -np.inf:
            self.limit[size] = self._largest_loss(found[-1][0], size)

    def _largest_loss(self, value: float, size: int) -> float:
        """The largest loss with which a set of a size can have a value, whatever its rank."""
        low, high = self._interval
        slack = ROUNDING * max(abs(low), abs(high))
        rank = int(self._candidates.least_ranks[size])
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            if self._value(middle, rank, size) >= value:
                low = middle
            else:
                high = middle
        return high + TIE * abs(high) + slack if math.isfinite(high) else high
