"""Candidates of an exhaustive search: their Gram matrix given the selected features."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dropstep.models.base import Units
from dropstep.models.least_squares.updates import BlockUpdate, block_cholesky
from dropstep.projection.projection import Projection

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]

DEPENDENT = 1e-8  # relative pivot of a Gram matrix up to which a column is linearly dependent


class Contribution(NamedTuple):
    """What a set of candidates adds to G, and its rank; redundant if a unit depends on the others of the set."""

    G: Floats
    rank: int
    redundant: bool


@dataclass(frozen=True, eq=False)
class Candidates:
    """Units, each with orthonormal columns given the selected features, padded to the same number of columns.

    Attributes
    ----------
    units : ndarray of shape (n_units,)
        Units that have an independent column; a place is an index of this array.
    gram : ndarray of shape (n_units * width, n_units * width)
        Gram matrix, with identity blocks along the diagonal; columns that pad a unit are orthogonal to all others.
    cross : ndarray of shape (n_units * width, n_targets)
        Products with the residuals of the targets; 0 for columns that pad a unit.
    ranks : ndarray of shape (n_units,)
        Number of independent columns of each unit.
    width : int
        Columns per unit.
    """

    units: Indices
    gram: Floats
    cross: Floats
    ranks: Indices
    width: int

    @property
    def n(self) -> int:
        return len(self.units)

    @cached_property
    def dependent(self) -> list[int]:
        """Places of the units that depend, at least in part, on earlier ones."""
        pivots = self._factored(np.arange(self.n))[1]
        places: list[int] = np.unique(np.repeat(np.arange(self.n), self.ranks)[pivots <= DEPENDENT]).tolist()
        return places

    @cached_property
    def inverse(self) -> Floats:
        """Inverse of the Gram matrix of independent units."""
        return np.asarray(np.linalg.inv(self.gram))

    @cached_property
    def least_ranks(self) -> Indices:
        """Lower bound of the rank of 0, 1, 2, ... units."""
        ranks = np.ones_like(self.ranks) if self.dependent else np.sort(self.ranks)
        return np.concatenate([[0], np.cumsum(ranks)]).astype(np.intp)

    def transformed(self, T: Floats) -> Candidates:
        """The same candidates, with other coordinates of the targets."""
        return replace(self, cross=self.cross @ T.T)

    def contribution(self, places: Indices) -> Contribution:
        """What a set adds, from its part of the Gram matrix."""
        update, pivots = self._factored(places)
        rank = int(update.rank[0])
        redundant = rank < len(pivots) and any(
            int(self._factored(np.delete(places, i))[0].rank[0]) == rank for i in range(len(places))
        )
        vectors = update.vectors[0]
        return Contribution(vectors.T @ vectors, rank, redundant)

    def _factored(self, places: Indices) -> tuple[BlockUpdate, Floats]:
        inside = np.arange(self.width) < self.ranks[places][:, None]
        at = (places[:, None] * self.width + np.arange(self.width))[inside]
        least = np.full((1, len(at)), DEPENDENT)
        update, pivots = block_cholesky(self.gram[np.ix_(at, at)][None], self.cross[at][None], least)
        return update, pivots[0]

    def without(self, places: Sequence[int], given: int | None = None) -> Candidates:
        """The candidates except some, and given that one of these is selected."""
        gram, cross = self.gram, self.cross
        if given is not None:
            one = slice(given * self.width, (given + 1) * self.width)
            gram, cross = gram - gram[:, one] @ gram[one], cross - gram[:, one] @ cross[one]
        kept = np.delete(np.arange(self.n), list(places))
        blocks = [np.arange(i * self.width, i * self.width + self.ranks[i]) for i in kept]
        return orthonormalised(self.units[kept], gram, cross, blocks)


class Part(NamedTuple):
    """Sets that contain the chosen units and any of some linearly independent candidates."""

    chosen: tuple[int, ...]
    candidates: Candidates


def independent_parts(candidates: Candidates, max_size: int, chosen: tuple[int, ...] = ()) -> Iterator[Part]:
    """Partition all sets without a redundant unit: by the first dependent unit that they contain, if any."""
    dependent = candidates.dependent
    yield Part(chosen, candidates.without(dependent))
    for i, place in enumerate(dependent if len(chosen) < max_size else []):
        others = candidates.without(dependent[: i + 1], given=place)
        yield from independent_parts(others, max_size, (*chosen, int(candidates.units[place])))


def candidates_of(projection: Projection, units: Units, pool: Indices) -> Candidates:
    """The candidates of a pool, given the features that are selected in a projection."""
    members = [np.array(units.columns([int(u)]), dtype=np.intp) for u in pool]
    columns = np.concatenate([np.empty(0, dtype=np.intp), *members])
    projection.update(columns)
    equations, W = projection.equations, projection.W[:, columns]
    varies = equations.diagonal[columns] > 0
    scale = np.sqrt(np.where(varies, equations.diagonal[columns], 1.0))
    gram = np.where(np.outer(varies, varies), equations.block(columns) - W.T @ W, 0.0) / np.outer(scale, scale)
    ends = np.cumsum([len(m) for m in members], dtype=np.intp)
    blocks = [np.arange(end - len(m), end) for end, m in zip(ends, members, strict=True)]
    return orthonormalised(pool, gram, projection.residual_cross[columns] / scale[:, None], blocks)


def orthonormalised(units: Indices, gram: Floats, cross: Floats, blocks: Sequence[Indices]) -> Candidates:
    """Candidates from a Gram matrix, in which each unit has a block of columns."""
    roots = [_orthonormal_columns(gram[np.ix_(block, block)]) for block in blocks]
    kept = [i for i, root in enumerate(roots) if root.shape[1]]
    ranks = np.array([roots[i].shape[1] for i in kept], dtype=np.intp)
    width = int(ranks.max(initial=1))
    T = np.zeros((len(gram), len(kept) * width))
    for place, i in enumerate(kept):
        T[blocks[i], place * width : place * width + ranks[place]] = roots[i]
    whole = T.T @ gram @ T
    padding = np.flatnonzero(np.arange(width) >= ranks[:, None])
    whole[padding, padding] = 1.0
    return Candidates(units[kept], whole, T.T @ cross, ranks, width)


def _orthonormal_columns(block: Floats) -> Floats:
    """T with T' block T = I, one column per independent column of a Gram matrix of columns of length 1 at most."""
    basis = np.empty((len(block), 0))
    for column in np.eye(len(block)):
        for _ in range(2):
            column = column - basis @ (basis.T @ (block @ column))
        length = float(column @ block @ column)
        if length > DEPENDENT:
            basis = np.column_stack([basis, column / np.sqrt(length)])
    return basis
