"""Nodes of the search tree, many at a time: sets, and which of their units may still be deleted."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dropstep.models.least_squares.subsets.candidates import Candidates
from dropstep.models.least_squares.subsets.fit import Fit

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Tree:
    """What all nodes share.

    With b = inv(S) C of the units that are present and A = inv(S), deleting the units D takes b_D' inv(A_DD) b_D from
    G. Let D0 be the diagonal blocks of A at the root and `spread` the largest eigenvalue of A relative to them. Since
    deletions only decrease A, inv(A_DD) >= inv(D0_DD) / spread at every node, so that the powers of single deletions
    relative to D0, over `spread`, add up to a bound for the deletion of several.
    """

    candidates: Candidates
    fit: Fit
    sign: int

    @cached_property
    def root_factors(self) -> Floats:
        """Cholesky factors of D0."""
        return np.asarray(self.factors(self.candidates.inverse[None], np.ones((1, self.candidates.n), dtype=bool))[0])

    @cached_property
    def spread(self) -> float:
        n, g = self.candidates.n, self.candidates.width
        half = solve(self.root_factors, self.candidates.inverse.reshape(n, g, n * g)).reshape(n * g, n, g)
        both = solve(self.root_factors, half.transpose(1, 2, 0)).reshape(n * g, n * g)
        return float(np.linalg.eigvalsh((both + both.T) / 2)[-1])

    def root(self, M: Floats) -> Nodes:
        """All candidates, of which every one may be deleted; M is that of all of them."""
        c = self.candidates
        everything = np.ones((1, c.n), dtype=bool)
        b = (c.inverse @ c.cross)[None]
        return Nodes(self, c.inverse[None], b, M[None], self.fit.loss(M[None]), everything, everything)

    def factors(self, A: Floats, present: Bools) -> Floats:
        """Cholesky factors of the diagonal blocks; identity for deleted units."""
        n, g = self.candidates.n, self.candidates.width
        blocks = np.einsum("bigih->bigh", A.reshape(len(A), n, g, n, g))
        blocks = np.where(present[:, :, None, None], blocks, np.eye(g))
        return np.sqrt(blocks) if g == 1 else _cholesky(blocks)


@dataclass(frozen=True, eq=False)
class Nodes:
    """A batch of nodes: a node stands for the subsets of its units that contain all units that are not free.

    Attributes
    ----------
    A : ndarray of shape (n_nodes, n_columns, n_columns)
        Inverse Gram matrix of the units present; 0 elsewhere.
    b : ndarray of shape (n_nodes, n_columns, n_targets)
        Coefficients of the units present; 0 elsewhere.
    M : ndarray of shape (n_nodes, n_targets, n_targets)
    loss : ndarray of shape (n_nodes,)
    present, free : ndarray of shape (n_nodes, n_units)
        Which units are in the set, and which of them may be deleted.
    """

    tree: Tree
    A: Floats
    b: Floats
    M: Floats
    loss: Floats
    present: Bools
    free: Bools

    def __len__(self) -> int:
        return len(self.A)

    @cached_property
    def sizes(self) -> Indices:
        return np.asarray(self.present.sum(axis=1))

    @cached_property
    def _by_unit(self) -> Floats:
        c = self.tree.candidates
        return self.b.reshape(len(self), c.n, c.width, -1)

    @cached_property
    def _factors(self) -> Floats:
        return self.tree.factors(self.A, self.present)

    @cached_property
    def vectors(self) -> Floats:
        """V of each deletion."""
        return solve(self._factors, self._by_unit)

    @cached_property
    def increments(self) -> Floats:
        """Increase of the loss by each single deletion."""
        return self.tree.fit.increments(self.M[:, None], self.vectors)

    @cached_property
    def powers(self) -> Floats:
        """Powers of single deletions relative to the root, over `spread`; infinite for what may not be deleted."""
        V = solve(self.tree.root_factors, self._by_unit)
        return np.where(self.free, self.tree.fit.powers(self.M[:, None], V) / self.tree.spread, np.inf)

    @cached_property
    def _least_sums(self) -> Floats:
        """Sums of the 0, 1, 2, ... smallest powers."""
        return np.concatenate([np.zeros((len(self), 1)), np.cumsum(np.sort(self.powers, axis=1), axis=1)], axis=1)

    @cached_property
    def followers(self) -> Indices:
        """Number of free units whose deletion increases the loss less, and may follow; -1 for what is not free."""
        order = np.argsort(np.where(self.free, self.increments, np.inf), axis=1, kind="stable")
        places = np.empty_like(order)
        np.put_along_axis(places, order, np.arange(order.shape[1])[None], axis=1)
        return np.where(self.free, places, -1)

    def bounds(self, at: Indices, units: Indices) -> Floats:
        """Lower bounds of the loss after deleting a unit and 1, 2, ... followers; infinite where there are fewer.

        The loss is at least that of the worst single deletion, and increases by at least what the powers add up to.
        """
        more = np.arange(1, self.free.shape[1])
        increase = self.tree.fit.increase_from(self.powers[at, units][:, None] + self._least_sums[at][:, 1:-1])
        bound = self.loss[at][:, None] + np.maximum(increase, self.increments[at, units][:, None])
        return np.where(more <= self.followers[at, units][:, None], bound, np.inf)

    def deleted(self, at: Indices, units: Indices, *, every: bool = False) -> Nodes:
        """Nodes after the deletion of a unit of each node in `at`.

        Units whose deletion increases the loss more may not be deleted later, unless `every` unit may.
        """
        c, rows = self.tree.candidates, np.arange(len(at))
        column = self.A.reshape(len(self), -1, c.n, c.width)[at, :, units]
        w = np.swapaxes(solve(self._factors[at, units], np.swapaxes(column, 1, 2)), 1, 2)
        V = self.vectors[at, units]
        present = self.present[at]
        present[rows, units] = False
        return Nodes(
            self.tree,
            self.A[at] - w @ np.swapaxes(w, 1, 2),
            self.b[at] - w @ V,
            self.M[at] - self.tree.sign * np.swapaxes(V, 1, 2) @ V,
            self.loss[at] + self.increments[at, units],
            present,
            present if every else self.free[at] & (self.followers[at] < self.followers[at, units][:, None]),
        )


def _cholesky(blocks: Floats) -> Floats:
    """Lower triangular factors; eigenvalues that rounding has made negative are raised."""
    try:
        return np.asarray(np.linalg.cholesky(blocks))
    except np.linalg.LinAlgError:
        values, vectors = np.linalg.eigh(blocks)
        least = np.finfo(np.float64).eps * np.abs(values).max(axis=-1, keepdims=True)
        half = np.sqrt(np.maximum(values, least))[..., :, None] * np.swapaxes(vectors, -1, -2)
        return np.asarray(np.swapaxes(np.linalg.qr(half)[1], -1, -2))


def solve(L: Floats, x: Floats) -> Floats:
    """inv(L) x for lower triangular factors."""
    return np.asarray(x / L if L.shape[-1] == 1 else np.linalg.solve(L, x))
