"""The design of a sparse matrix: columns are standardised implicitly, in the products."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from dropstep.data.matrices.matrix import Exponents
from dropstep.data.matrices.sparse import Sparse, large_means
from dropstep.data.scale import CONSTANT
from dropstep.models.glm.likelihood import Local, Pointwise

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]

BLOCK_SIZE = 2**20  # stored values whose risk sets are summed at a time


@dataclass(frozen=True, eq=False)
class SparseDesign:
    """Columns (x - centre) / scale of a sparse matrix.

    With m the means by stratum and s the standard deviations of the columns x of X, x~ = (x - m) / s satisfies
    x~' V = (x' V - sum over strata of m 1'V) / s, and x~' W x~ = (x' W x - 2 m x' W 1 + m^2 1'W 1) / s^2.

    Attributes
    ----------
    X : Sparse
        Values, rescaled and shifted by constants, so that their means are not large compared with their scatter.
    means, sd : ndarray of shape (n_strata, n_columns), ndarray of shape (n_columns,)
        Means and standard deviations of the columns of X; infinite for constant columns.
    centre, scale : ndarray
        The same in the units of the table.
    stratum : ndarray of shape (n_rows,) or None
        Stratum of each row; None if there is one.
    """

    X: Sparse
    means: Floats
    sd: Floats
    centre: Floats
    scale: Floats
    stratum: Indices | None = None

    @property
    def n_columns(self) -> int:
        return self.X.shape[1]

    @property
    def varying(self) -> NDArray[np.bool_]:
        return np.isfinite(self.scale)

    def columns(self, columns: Sequence[int] | Indices) -> Floats:
        """Some columns, in Fortran order."""
        at = np.asarray(columns, dtype=np.intp)
        taken, means = np.asfortranarray(self.X.take(at)), self.means[:, at]
        taken -= means if self.stratum is None else means[self.stratum]
        taken *= 1 / self.sd[at]
        return taken

    def products(self, columns: Indices, V: Floats, local: Local) -> tuple[Floats, Floats]:
        """x' V and x' W x of columns x."""
        most, q = 2 * len(columns) > self.n_columns, local.residual.shape[1]
        read = np.arange(self.n_columns) if most else columns
        X, means, inverse = self.X if most else self.X.subset(columns), self.means[:, read], 1 / self.sd[read][:, None]
        if isinstance(local, Pointwise):
            W = local.weights.reshape(len(V), q * q)
            both, m = X.multiply(np.hstack([V, W]).T).T, means[0][:, None]
            sums, cross = both[:, : V.shape[1]], both[:, V.shape[1] :]
            squares = X.squared() @ W - 2 * m * cross + m**2 * W.sum(axis=0)
        else:
            sums, squares = X.multiply(V.T).T, self._risk_squares(X, local)[:, None]
        products = (sums - means.T @ self._by_stratum(V)) * inverse
        squares = (squares * inverse**2).reshape(-1, q, q)
        return (products[columns], squares[columns]) if most else (products, squares)

    @staticmethod
    def _risk_squares(X: Sparse, local: Local) -> Floats:
        """x' W x, some columns at a time; constants within strata make no difference."""
        bounds = np.unique(np.searchsorted(X.values.indptr, np.arange(0, X.n_stored + BLOCK_SIZE, BLOCK_SIZE)))
        bounds = np.unique(np.r_[0, np.minimum(bounds, X.shape[1]), X.shape[1]])
        X.reads.add(X.n_stored)
        return np.concatenate([local.sparse_squares(X.values[:, a:b]) for a, b in pairwise(bounds.tolist())])

    def _by_stratum(self, V: Floats) -> Floats:
        """Sums over the rows, by stratum; rows are sorted by it."""
        if self.stratum is None:
            return np.asarray(V.sum(axis=0))[None, :]
        return np.asarray(np.add.reduceat(V, np.searchsorted(self.stratum, np.arange(len(self.means))), axis=0))


def sparse_design(
    X: Sparse, exponents: Exponents, weights: Floats, counts: Floats, stratum: Indices | None
) -> tuple[SparseDesign, Floats]:
    """The design of a sparse matrix, and the sums of its columns, which show whether values are missing.

    Parameters
    ----------
    X : Sparse
    exponents : ndarray of shape (n_columns,)
        Column j is divided by 2 ** exponents[j], so that no square overflows.
    weights : ndarray of shape (n_rows,)
    counts : ndarray of shape (n_strata,)
        Sums of the weights by stratum.
    stratum : ndarray of shape (n_rows,) or None

    Returns
    -------
    design : SparseDesign
    sums : ndarray of shape (n_strata, n_columns)
    """
    X = X.rescaled(exponents, None)
    member = weights[None, :]
    if stratum is not None:
        member = np.zeros((len(counts), len(weights)))
        member[stratum, np.arange(len(weights))] = weights
    sums, squares = X.sums(member, weights)
    means = sums / counts[:, None]
    shift = large_means(means, counts, squares - counts @ means**2)
    if shift.any() and np.isfinite(shift).all():
        X = X.shifted(shift, stratum)
        again, squares = X.sums(member, weights)
        means = again / counts[:, None]
    sd = np.sqrt(np.maximum(squares - counts @ means**2, 0.0) / counts.sum())
    total = means + shift
    sd = np.where(sd <= CONSTANT * np.abs(total).max(axis=0), np.inf, sd)
    unit = np.ldexp(1.0, exponents)
    return SparseDesign(X, means, sd, total * unit, sd * unit, stratum), sums
