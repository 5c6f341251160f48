"""Rank updates: what adding or removing each unit would do to G."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class RankUpdate:
    """Changes of G by each of several moves: the sum of v v' over the vectors v of a unit is added or subtracted.

    Attributes
    ----------
    rank : ndarray of shape (n_units,) or float
        Number of independent features of each unit; one number if it is the same for all.
    feasible : ndarray of shape (n_units,)
        Whether a unit has independent features.
    all_feasible : bool
        Whether all units are.
    rows : iterator of tuple of ndarray or None
        Residuals and leverages of the rows after each move, in blocks, for a criterion that reads them.
    """

    rows: Iterator[tuple[Floats, Floats]] | None = None

    def __init__(self, rank: Floats | float, feasible: NDArray[np.bool_]) -> None:
        self.rank, self.feasible = rank, feasible
        self.all_feasible = np.count_nonzero(feasible) == len(feasible)

    @property
    def power(self) -> Floats:
        """Trace of the sum of v v', of shape (n_units,)."""
        raise NotImplementedError

    @property
    def vectors(self) -> Floats:
        """The vectors, of shape (n_units, m, n_targets)."""
        raise NotImplementedError

    def only(self, at: int) -> RankUpdate:
        """One of the moves."""
        raise NotImplementedError


class SingleUpdate(RankUpdate):
    """Moves of one feature each: v = cross / sqrt(residual_ss)."""

    def __init__(self, residual_ss: Floats, cross: Floats, feasible: NDArray[np.bool_]) -> None:
        super().__init__(1.0, feasible)
        self._residual_ss = residual_ss if self.all_feasible else np.where(feasible, residual_ss, np.inf)
        self._cross = cross

    @cached_property
    def power(self) -> Floats:
        cross = self._cross
        squares = np.square(cross[:, 0]) if cross.shape[1] == 1 else np.square(cross) @ np.ones(cross.shape[1])
        return np.asarray(squares / self._residual_ss)

    @property
    def vectors(self) -> Floats:
        return np.asarray(self._cross / np.sqrt(self._residual_ss)[:, None])[:, None, :]

    def only(self, at: int) -> RankUpdate:
        here = slice(at, at + 1)
        return SingleUpdate(self._residual_ss[here], self._cross[here], self.feasible[here])


class BlockUpdate(RankUpdate):
    """Moves of several features each."""

    rank: Floats

    def __init__(self, vectors: Floats, rank: Floats) -> None:
        super().__init__(rank, rank > 0)
        self._vectors = vectors

    def replace(self, unit: int, vectors: Floats) -> None:
        """Give one unit other vectors, one per independent feature."""
        self._vectors[unit] = 0.0
        self._vectors[unit, : len(vectors)] = vectors
        self.rank[unit], self.feasible[unit] = len(vectors), len(vectors) > 0
        self.all_feasible = np.count_nonzero(self.feasible) == len(self.feasible)

    @property
    def power(self) -> Floats:
        return np.asarray(np.einsum("umt,umt->u", self._vectors, self._vectors))

    @property
    def vectors(self) -> Floats:
        return self._vectors

    def only(self, at: int) -> RankUpdate:
        here = slice(at, at + 1)
        return BlockUpdate(self._vectors[here], np.asarray(self.rank)[here])


def block_cholesky(residual: Floats, cross: Floats, least: Floats) -> tuple[BlockUpdate, Floats]:
    """Cholesky factorisation within each unit, all units at once; a feature that depends on earlier ones adds nothing.

    Parameters
    ----------
    residual : array of shape (n_units, m, m)
        Gram matrix of the residuals of each unit's m features.
    cross : array of shape (n_units, m, n_targets)
        Products of these residuals with the targets.
    least : array of shape (n_units, m)
        Pivots up to this value count as zero.

    Returns
    -------
    update : BlockUpdate
    pivots : array of shape (n_units, m)
        Residual of each feature given the earlier ones of its unit.
    """
    residual, cross = np.moveaxis(residual, 0, -1).copy(), np.moveaxis(cross, 0, -1).copy()  # units contiguous
    vectors, pivots = np.empty_like(cross), np.empty(least.T.shape)
    for t, least_pivot in enumerate(least.T):
        pivots[t] = residual[t, t]
        length = np.sqrt(np.where(pivots[t] > least_pivot, pivots[t], np.inf))
        vectors[t], w = cross[t] / length, residual[t, t + 1 :] / length
        residual[t + 1 :, t + 1 :] -= w[:, None] * w
        cross[t + 1 :] -= w[:, None] * vectors[t]
    rank = (pivots > least.T).sum(axis=0).astype(np.float64)
    return BlockUpdate(np.moveaxis(vectors, -1, 0), rank), pivots.T
