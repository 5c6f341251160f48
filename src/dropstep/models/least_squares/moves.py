"""Moves: the rank updates of G by adding and removing units, from the residuals of a projection."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import groupby
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dropstep.data.columns import Columns
from dropstep.models.base import Units
from dropstep.projection.basis import orthonormal
from dropstep.projection.equations import NormalEquations
from dropstep.projection.projection import Projection

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]
RANK_FROM_ROWS_BELOW = 1e-5  # relative pivot of a Gram matrix below which the rank is determined from the rows


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
    power: Floats
    """Trace of the sum of v v', of shape (n_units,)."""

    def __init__(self, rank: Floats | float, feasible: NDArray[np.bool_]) -> None:
        self.rank, self.feasible = rank, feasible
        self.all_feasible = bool(np.logical_and.reduce(feasible))

    @property
    def vectors(self) -> Floats:
        """The vectors, of shape (n_units, m, n_targets)."""
        raise NotImplementedError

    def only(self, at: int) -> RankUpdate:
        """One of the moves."""
        raise NotImplementedError


class SingleUpdate(RankUpdate):
    """Moves of one feature each: v = cross / sqrt(residual_ss)."""

    rank: float

    def __init__(self, residual_ss: Floats, cross: Floats, feasible: NDArray[np.bool_] | None = None) -> None:
        self.rank = 1.0
        self.feasible = np.ones(residual_ss.shape[0], dtype=bool) if feasible is None else feasible
        self.all_feasible = feasible is None or bool(np.logical_and.reduce(feasible))
        self._residual_ss = residual_ss if self.all_feasible else np.where(self.feasible, residual_ss, np.inf)
        self._cross = cross
        q = cross.shape[1]
        self.power = (np.square(cross[:, 0]) if q == 1 else np.square(cross) @ np.ones(q)) / self._residual_ss

    @property
    def vectors(self) -> Floats:
        return np.asarray(self._cross / np.sqrt(self._residual_ss)[:, None])[:, None, :]

    def only(self, at: int) -> SingleUpdate:
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
        self.__dict__.pop("power", None)
        self._vectors[unit] = 0.0
        self._vectors[unit, : len(vectors)] = vectors
        self.rank[unit], self.feasible[unit] = len(vectors), len(vectors) > 0
        self.all_feasible = bool(np.logical_and.reduce(self.feasible))

    @cached_property
    def power(self) -> Floats:  # type: ignore[override]
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


class Moves(Protocol):
    """Rank updates of units."""

    def additions(self, projection: Projection, units: Indices, without: Floats | None = None) -> RankUpdate:
        """Updates by adding each unit, after some directions of the basis were removed."""
        ...

    def removals(self, projection: Projection, units: Indices) -> RankUpdate:
        """Updates by removing each selected unit; units ascend."""
        ...

    def rank(self, units: Sequence[int]) -> int:
        """Number of features of some units that do not depend on others of the same unit; constant ones excluded."""
        ...


def moves_of(equations: NormalEquations, units: Units) -> Moves:
    """The moves of features, or of groups."""
    return FeatureMoves(equations) if units.members is None else GroupMoves(equations, units)


class FeatureMoves:
    """Every feature is a unit of its own."""

    def __init__(self, equations: NormalEquations) -> None:
        self._varying = equations.diagonal > 0

    def additions(self, projection: Projection, units: Indices, without: Floats | None = None) -> RankUpdate:
        residual_ss, cross, least = projection.residuals(units, without)
        return SingleUpdate(residual_ss, cross, residual_ss > least)

    def removals(self, projection: Projection, units: Indices) -> RankUpdate:
        if projection.dependent:
            return _removals(projection, [(int(u),) for u in units])
        selected = np.array(projection.independent, dtype=np.intp)
        order = selected.argsort()
        places = order if len(units) == len(order) else order[selected.searchsorted(units, sorter=order)]
        cross, length = projection.removal_vectors(places)
        return SingleUpdate(length, cross)

    def rank(self, units: Sequence[int]) -> int:
        return int(np.count_nonzero(self._varying[list(units)]))


class GroupMoves:
    """Groups of features. Groups with the same number of independent features are evaluated together."""

    def __init__(self, equations: NormalEquations, units: Units) -> None:
        assert units.members is not None
        self._equations, self._units = equations, units
        self._varying = units.having(equations.diagonal > 0)
        self._lengths, self._place = np.zeros(units.n, dtype=np.intp), np.zeros(units.n, dtype=np.intp)
        self._blocks: dict[int, ResidualBlocks] = {}
        found = sorted(_independent(equations, units.members), key=lambda part: part[1].shape[1])
        for m, parts in groupby(found, key=lambda part: part[1].shape[1]):
            at, features, scatter = (np.concatenate(some) for some in zip(*parts, strict=True))
            self._lengths[at], self._place[at] = m, np.arange(len(at))
            self._blocks[m] = ResidualBlocks(features, scatter)

    def additions(self, projection: Projection, units: Indices, without: Floats | None = None) -> RankUpdate:
        lengths, places = self._lengths[units], self._place[units]
        vectors = np.zeros((len(units), int(lengths.max(initial=1)), self._equations.n_targets))
        rank = np.zeros(len(units))
        alike = {m: np.flatnonzero(lengths == m) for m in np.unique(lengths).tolist()}
        if len(units):
            members = [self._blocks[m].members[places[at]].ravel() for m, at in alike.items()]
            projection.update(np.sort(np.concatenate(members)), freeze=without is None)
        for m, at in alike.items():
            update = self._block_additions(projection, self._blocks[m], places[at], without)
            vectors[at, :m], rank[at] = update.vectors, update.rank
        return BlockUpdate(vectors, rank)

    def _block_additions(
        self, projection: Projection, blocks: ResidualBlocks, places: Indices, without: Floats | None
    ) -> BlockUpdate:
        """Updates by adding each of several units of the same length."""
        members, residual = blocks.members[places], blocks.given(projection, places)
        cross = projection.residual_cross[members]
        if without is not None:
            W = np.einsum("rk,kum->rum", without, projection.W[:, members])
            residual = residual + np.einsum("rum,rul->uml", W, W)
            cross = cross + np.einsum("rum,rt->umt", W, without @ projection.Z)
        least, basis = projection.precision.least[members], projection.basis
        update, pivots = block_cholesky(residual, cross, least)
        if basis.recompute_below:
            thin = (pivots < self._equations.diagonal[members] * basis.recompute_below).any(axis=1)
            for u in np.flatnonzero(thin).tolist():
                cross_of_unit = self._equations.cross[members[u]]
                update.replace(u, basis.unit_vectors(members[u], least[u], cross_of_unit, without, projection.Z))
        return update

    def removals(self, projection: Projection, units: Indices) -> RankUpdate:
        return _removals(projection, [self._units.columns([int(u)]) for u in units])

    def rank(self, units: Sequence[int]) -> int:
        return int(self._lengths[list(units)] @ self._varying[list(units)])


class ResidualBlocks:
    """Gram matrices of the residuals of units with the same number m of features, given the selected features.

    Invariant, for the units that were queried last and the directions W at that time: residual = scatter - W'W. A
    later query subtracts the new directions only, unless the basis was rotated.

    Parameters
    ----------
    members : ndarray of int of shape (n_units, m)
        The features of each unit.
    scatter : ndarray of shape (n_units, m, m)
        S among the features of each unit.
    """

    def __init__(self, members: Indices, scatter: Floats) -> None:
        self.members = members
        self._scatter = np.ascontiguousarray(np.moveaxis(scatter, 0, -1))  # units contiguous
        self._residual = self._scatter
        self._at = np.arange(len(members))  # place of each unit in the residual; -1 if it was not queried last
        self._size = self._n_rotations = 0

    def given(self, projection: Projection, places: Indices) -> Floats:
        """Residuals of the units at some places, of shape (len(places), m, m)."""
        W, at = projection.W, self._at[places]
        if projection.n_rotations > self._n_rotations or (at < 0).any():
            residual, first = self._scatter[:, :, places], 0
        else:
            residual, first = self._residual[:, :, at], self._size
        for w in W[first:, self.members[places].T]:
            residual -= w[:, None] * w
        self._residual, self._size, self._n_rotations = residual, len(W), projection.n_rotations
        self._at[:] = -1
        self._at[places] = np.arange(len(places))
        return np.moveaxis(residual, -1, 0)


def _removals(projection: Projection, units: Sequence[tuple[int, ...]]) -> RankUpdate:
    """Updates by removing each of several selected units, others of which may take its place in the span."""
    q = projection.equations.n_targets
    vectors = [projection.directions(unit) @ projection.Z for unit in units]
    padded = np.zeros((len(units), max(map(len, vectors), default=1), q))
    for i, some in enumerate(vectors):
        padded[i, : len(some)] = some
    return BlockUpdate(padded, np.array([len(some) for some in vectors], dtype=np.float64))


def _independent(
    equations: NormalEquations, units: Sequence[Sequence[int]]
) -> Iterator[tuple[Indices, Indices, Floats]]:
    """Units, the features of each that do not depend on earlier ones of it (the first if all are constant), their S.

    Units of the same length are factorised together, and those with the same number of such features returned together.
    """
    lengths = np.array([len(unit) for unit in units])
    for m in np.unique(lengths).tolist():
        at = np.flatnonzero(lengths == m)
        members = np.array([units[u] for u in at.tolist()], dtype=np.intp)
        blocks = equations.diagonal[members][:, :, None] if m == 1 else equations.blocks(members)
        kept = _kept(equations, members, blocks) if m > 1 else np.ones(members.shape, dtype=bool)
        ranks = kept.sum(axis=1)
        for rank in np.unique(ranks).tolist():
            here = ranks == rank
            some, pairs = kept[here], kept[here][:, :, None] & kept[here][:, None, :]
            yield at[here], members[here][some].reshape(-1, rank), blocks[here][pairs].reshape(-1, rank, rank)


def _kept(equations: NormalEquations, members: Indices, blocks: Floats) -> NDArray[np.bool_]:
    """Which features of units of the same length do not depend on earlier ones of their unit; at least the first."""
    least, S = equations.noise[members] * equations.resolution[0], equations.scatter
    pivots = block_cholesky(blocks, np.zeros((*members.shape, 0)), least)[1]
    kept = pivots > least
    if isinstance(S, Columns):  # where products lost digits: from the rows
        thin = (pivots <= RANK_FROM_ROWS_BELOW * np.diagonal(blocks, axis1=1, axis2=2)).any(axis=1)
        for u in np.flatnonzero(thin).tolist():
            kept[u] = False
            kept[u, orthonormal(S.centred(members[u]), least[u])[1]] = True
    kept[~kept.any(axis=1), 0] = True
    return kept
