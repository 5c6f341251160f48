"""Candidates of an exhaustive search: their Gram matrix given the selected features."""

from __future__ import annotations

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
RIDGE = 1e-11  # added to the diagonal where candidates are linearly dependent, so that an inverse exists


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
    def dependent(self) -> bool:
        """True if some unit depends, at least in part, on others."""
        return bool(self.n) and bool(np.linalg.eigvalsh(self.gram)[0] < DEPENDENT)

    @cached_property
    def inverse(self) -> Floats:
        """Inverse of the Gram matrix, with a small ridge if units are dependent."""
        ridge = RIDGE if self.dependent else 0.0
        return np.asarray(np.linalg.inv(self.gram + ridge * np.eye(len(self.gram))))

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
        update = self._factored(places)
        rank, n_columns = int(update.rank[0]), int(self.ranks[places].sum())
        redundant = rank < n_columns and any(
            int(self._factored(np.delete(places, i)).rank[0]) == rank for i in range(len(places))
        )
        vectors = update.vectors[0]
        return Contribution(vectors.T @ vectors, rank, redundant)

    def _factored(self, places: Indices) -> BlockUpdate:
        inside = np.arange(self.width) < self.ranks[places][:, None]
        at = (places[:, None] * self.width + np.arange(self.width))[inside]
        least = np.full((1, len(at)), DEPENDENT)
        return block_cholesky(self.gram[np.ix_(at, at)][None], self.cross[at][None], least)[0]


def candidates_of(projection: Projection, units: Units, pool: Indices) -> Candidates:
    """The candidates of a pool, given the features that are selected in a projection."""
    members = [np.array(units.columns([int(u)]), dtype=np.intp) for u in pool]
    columns = np.concatenate([np.empty(0, dtype=np.intp), *members])
    projection.update(columns)
    equations, W = projection.equations, projection.W[:, columns]
    diagonal = equations.diagonal[columns]
    scale = np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
    gram = np.where(diagonal > 0, (equations.block(columns) - W.T @ W) / np.outer(scale, scale), 0.0)
    gram[diagonal == 0] = 0.0
    ends = np.cumsum([len(m) for m in members], dtype=np.intp)
    blocks = [slice(end - len(m), end) for end, m in zip(ends, members, strict=True)]
    roots = [_orthonormal_columns(gram[block, block]) for block in blocks]
    kept = np.array([i for i, root in enumerate(roots) if root.shape[1]], dtype=np.intp)
    ranks = np.array([roots[i].shape[1] for i in kept], dtype=np.intp)
    width = int(ranks.max(initial=1))
    T = np.zeros((len(columns), len(kept) * width))
    for place, i in enumerate(kept):
        T[blocks[i], place * width : place * width + ranks[place]] = roots[i]
    whole = T.T @ gram @ T
    padding = np.flatnonzero(np.arange(width) >= ranks[:, None])
    whole[padding, padding] = 1.0
    cross = projection.residual_cross[columns] / scale[:, None]
    return Candidates(pool[kept], whole, T.T @ cross, ranks, width)


def _orthonormal_columns(block: Floats) -> Floats:
    """T with T' block T = I, one column per independent column of a Gram matrix of unit columns."""
    basis = np.empty((len(block), 0))
    for column in np.eye(len(block)):
        for _ in range(2):
            column = column - basis @ (basis.T @ (block @ column))
        length = float(column @ block @ column)
        if length > DEPENDENT:
            basis = np.column_stack([basis, column / np.sqrt(length)])
    return basis
