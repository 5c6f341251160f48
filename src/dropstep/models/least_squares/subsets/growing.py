"""Enumeration of small sets, where there are few of them: each one with all units that can be added to it at once."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dropstep.models.least_squares.subsets.candidates import DEPENDENT, Candidates
from dropstep.models.least_squares.subsets.incumbents import Incumbents
from dropstep.models.least_squares.subsets.scale import Scale
from dropstep.models.least_squares.updates import block_cholesky

Floats = NDArray[np.float64]
Places = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class _Grown:
    """A set: Gram matrix and cross products of all candidates given it, and its M."""

    gram: Floats
    cross: Floats
    M: Floats
    places: Places = ()

    def plus(self, place: int, width: int, sign: int) -> _Grown:
        """The set with one more unit."""
        gram, cross, M = self.gram, self.cross, self.M
        for column in range(place * width, (place + 1) * width):
            if gram[column, column] > DEPENDENT:
                w, z = gram[column] / math.sqrt(gram[column, column]), cross[column] / math.sqrt(gram[column, column])
                gram, cross, M = gram - np.outer(w, w), cross - np.outer(w, z), M + sign * np.outer(z, z)
        return _Grown(gram, cross, M, (*self.places, place))


def n_to_grow(n: int, max_size: int) -> int:
    """Number of sets that can grow to a size."""
    return sum(math.comb(n, size) for size in range(max_size))


class Growing:
    """All sets up to the largest size of the incumbents, in lexicographic order."""

    def __init__(self, scale: Scale, candidates: Candidates, incumbents: Incumbents) -> None:
        self._scale, self._candidates, self._incumbents = scale, candidates, incumbents
        self.n_evaluations = 0

    def run(self, ended: Callable[[], object]) -> bool:
        """Offer every set to the incumbents; False if the search ended before."""
        c, scale = self._candidates, self._scale
        empty = _Grown(c.gram, c.cross, scale.M)
        stack = [(empty, place) for place in reversed(self._offer_additions(empty))]
        while stack:
            if ended():
                return False
            parent, place = stack.pop()
            if len(parent.places) + 1 < self._incumbents.max_size:
                child = parent.plus(place, c.width, scale.sign)
                stack += [(child, further) for further in reversed(self._offer_additions(child))]
        return True

    def _offer_additions(self, grown: _Grown) -> list[int]:
        """Offer a set with each later unit, best first, and return the units that add to it."""
        c = self._candidates
        later = np.arange(grown.places[-1] + 1 if grown.places else 0, c.n)
        if not len(later) or not self._incumbents.max_size:
            return []
        at = later[:, None] * c.width + np.arange(c.width)
        blocks, cross = grown.gram[at[:, :, None], at[:, None, :]], grown.cross[at]
        update, _ = block_cholesky(blocks, cross, np.full(at.shape, DEPENDENT))
        V = update.vectors
        losses = np.where(
            update.feasible, self._scale.fit.loss(grown.M + self._scale.sign * np.swapaxes(V, 1, 2) @ V), np.inf
        )
        self.n_evaluations += len(later)
        size = len(grown.places) + 1
        for i in np.argsort(losses, kind="stable"):
            if not losses[i] <= self._incumbents.limit[size]:
                break
            self._incumbents.offer((*grown.places, int(later[i])))
        return [int(place) for place in later[update.feasible]]
