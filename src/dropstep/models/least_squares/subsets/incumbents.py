"""Incumbents: the best sets found of each size, and the loss that another set must not exceed to join them."""

from __future__ import annotations

import bisect
import math

import numpy as np
from numpy.typing import NDArray

from dropstep.models.base import TIE
from dropstep.models.least_squares.subsets.candidates import Candidates
from dropstep.models.least_squares.subsets.scale import ROUNDING, Scale

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]
Places = tuple[int, ...]

HALVINGS = 60  # of an interval of losses


class Incumbents:
    """The `n_best` best sets of each size.

    Parameters
    ----------
    candidates : Candidates
    scale : Scale
    limits : tuple of int and float
        Largest size, and largest rank, of a set.
    n_best : int
    """

    def __init__(self, candidates: Candidates, scale: Scale, limits: tuple[int, float], n_best: int) -> None:
        self._candidates, self._scale, self._n_best = candidates, scale, n_best
        self.max_size, self._max_rank = limits
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

    def may_join(self, losses: Floats, sizes: Indices) -> NDArray[np.bool_]:
        """Whether sets of these sizes, with at least these losses, may join."""
        inside = sizes >= 0
        return np.asarray(inside & (losses <= self.limit[np.where(inside, sizes, 0)]))

    def offer(self, places: Places) -> None:
        """Add a set if it is among the best of its size; of equal sets, the lowest indices come first."""
        size = len(places)
        if places in self._known or self.limit[size] == -np.inf:
            return
        self._known.add(places)
        self._n_known[size] += 1
        self._insert(places)
        if self._n_known[size] == math.comb(self._candidates.n, size):
            self.limit[size] = -np.inf  # there is no other set of this size
        elif len(self._found[size]) == self._n_best:
            self.limit[size] = self._largest_loss(self._found[size][-1][0], size)

    def _insert(self, places: Places) -> None:
        contribution = self._candidates.contribution(np.array(places, dtype=np.intp))
        if contribution.redundant or contribution.rank > self._max_rank + TIE:
            return
        found = self._found[len(places)]
        value = self._scale.value(self._scale.loss(contribution.G), contribution.rank, len(places))
        equal = [v for v, _ in found if abs(v - value) <= TIE * max(abs(v), abs(value))]
        bisect.insort(found, (equal[0] if equal else value, places), key=lambda one: (-one[0], one[1]))
        del found[self._n_best :]

    def _largest_loss(self, value: float, size: int) -> float:
        """The largest loss with which a set of a size can have a value, whatever its rank, and rounding errors."""
        low, high = self._scale.interval
        slack, rank = ROUNDING * max(abs(low), abs(high)), int(self._candidates.least_ranks[size])
        if self._scale.equal_ranks:
            return -value + TIE * abs(value) + slack
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            low, high = (middle, high) if self._scale.value(middle, rank, size) >= value else (low, middle)
        return high + TIE * abs(high) + slack
