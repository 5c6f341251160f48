"""A sparse design matrix: only stored values are read, and columns are centred implicitly."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dropstep.data.matrices.matrix import Bools, Exponents, Floats, Indices, MatrixGaps, Reads

MAX_MEAN_SHARE = 100.0  # sum of squares of a class mean, relative to the scatter, from which a column is shifted
BLOCK_SIZE = 2**20  # values of the nearly full columns that are shifted at a time


def is_sparse(X: Any) -> bool:
    """True for a sparse matrix or array of SciPy."""
    return bool(sparse.issparse(X))


class Sparse:
    """A matrix in compressed sparse column format, in float64, with sorted indices and without duplicates.

    Parameters
    ----------
    values : csc_array of shape (n_samples, n_features)
    reads : Reads or None, default=None
        The count of another matrix that this one is derived from.
    """

    def __init__(self, values: Any, reads: Reads | None = None) -> None:
        self.values = values
        self.reads = Reads(values.nnz) if reads is None else reads

    @classmethod
    def of(cls, X: Any) -> Sparse:
        """A sparse matrix or array of SciPy in any format; what is already in the right form is not copied."""
        values = sparse.csc_array(X)
        if not values.has_canonical_format:
            values = values.copy()  # summing duplicates sorts the indices of the caller's matrix otherwise
            values.sum_duplicates()
        return cls(values.astype(np.float64, copy=False))

    @property
    def shape(self) -> tuple[int, int]:
        return self.values.shape[0], self.values.shape[1]

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.dtype(np.float64)

    @property
    def size(self) -> int:
        return self.shape[0] * self.shape[1]

    @property
    def n_stored(self) -> int:
        """Number of stored values."""
        return int(self.values.nnz)

    def take(self, features: Indices) -> Floats:
        """A dense copy of a few columns."""
        taken = self.values[:, features]
        self.reads.add(taken.nnz)
        return np.asarray(taken.toarray(order="F"))

    def multiply(self, vectors: Floats, out: Floats | None = None, *, in_double: bool = False) -> Floats:
        """vectors @ X; the transpose is in compressed sparse row format, whose products read every value once."""
        self.reads.add(self.n_stored)
        product = (self.values.T @ np.ascontiguousarray(vectors.T)).T
        if out is None:
            return np.asarray(product)
        out[:] = product
        return out

    def sums(self, vectors: Floats, weights: Floats | None) -> tuple[Floats, Floats]:
        """vectors @ X, and the weighted sum of squares of every column."""
        w = np.ones(self.shape[0]) if weights is None else weights
        return self.multiply(vectors), np.asarray(self.squared() @ w)

    def squared(self) -> Any:
        """The transpose of the matrix with every value squared."""
        X = self.values
        self.reads.add(self.n_stored)
        return sparse.csc_array((X.data**2, X.indices, X.indptr), shape=X.shape).T

    def largest(self, features: Indices, rows: Bools | None) -> Floats:
        """Largest absolute value of some columns, over all rows or some."""
        X = self.values[:, features]
        values = np.abs(X.data) if rows is None else np.abs(X.data) * rows[X.indices]
        found, filled = np.zeros(len(features)), np.diff(X.indptr) > 0
        if filled.any():
            found[filled] = np.maximum.reduceat(values, X.indptr[:-1][filled])
        return found

    def gaps(self, features: Indices | None = None) -> MatrixGaps:
        """Where values of some columns are missing or infinite."""
        X = self.values if features is None else self.values[:, features]
        absent, infinite = np.zeros((2, X.shape[0]), dtype=bool)
        absent[X.indices[np.isnan(X.data)]] = infinite[X.indices[np.isinf(X.data)]] = True
        bad = np.flatnonzero(~np.isfinite(X.data))
        columns = np.zeros(X.shape[1], dtype=bool)
        columns[np.searchsorted(X.indptr, bad, side="right") - 1] = True
        return MatrixGaps(absent, infinite, columns)

    def subset(self, features: Indices) -> Sparse:
        """A copy of some columns."""
        copy = Sparse(self.values[:, features], self.reads)
        self.reads.add(copy.n_stored)
        return copy

    def can_copy(self, n_features: int) -> bool:
        """True: a copy of some columns is smaller than the matrix."""
        return True

    def at(self, rows: NDArray[Any]) -> Sparse:
        """A copy of some rows."""
        return Sparse(sparse.csc_array(self.values.tocsr()[rows]), self.reads)

    def native(self) -> Any:
        """The sparse array."""
        return self.values

    def zeroed(self, features: Indices) -> Sparse:
        """The matrix without the values of some columns."""
        kept = np.ones(self.shape[1], dtype=bool)
        kept[features] = False
        at = np.repeat(kept, np.diff(self.values.indptr))
        X = self.values
        indptr = np.concatenate([[0], np.cumsum(np.where(kept, np.diff(X.indptr), 0))])
        return Sparse(sparse.csc_array((X.data[at], X.indices[at], indptr), shape=X.shape))

    def rescaled(self, exponents: Exponents, weights: Floats | None) -> Sparse:
        """A copy with column j divided by 2 ** exponents[j]; values in rows of weight zero are set to zero."""
        X = self.values
        data = X.data if weights is None else np.where(weights[X.indices] > 0, X.data, 0.0)
        data = np.ldexp(data, -np.repeat(exponents, np.diff(X.indptr)))
        return Sparse(sparse.csc_array((data, X.indices, X.indptr), shape=X.shape), self.reads)

    def shifted(self, shift: Floats, codes: Indices | None) -> Sparse:
        """A matrix from whose columns constants are subtracted, one per class.

        A column x of which k of n values are stored satisfies n mean^2 <= k / (n - k) times its scatter
        (Cauchy-Schwarz). So columns whose means are large compared with their scatter are nearly full, and storing all
        their values hardly takes more memory.

        Parameters
        ----------
        shift : ndarray of shape (n_classes, n_features)
        codes : ndarray of shape (n_samples,) or None
            Class of each row; None if there is one class.
        """
        n, p = self.shape
        moved = np.flatnonzero(shift.any(axis=0))
        others = np.flatnonzero(~shift.any(axis=0))
        parts, step = [self.values[:, others]], max(1, BLOCK_SIZE // n)
        for start in range(0, len(moved), step):
            at = moved[start : start + step]
            block = self.take(at)
            block -= shift[:, at] if codes is None else shift[:, at][codes]
            parts.append(sparse.csc_array(block))
        order = np.empty(p, dtype=np.intp)
        order[np.concatenate([others, moved])] = np.arange(p)
        return Sparse(sparse.csc_array(sparse.hstack(parts, format="csc"))[:, order], self.reads)

    def gram(self, root: Floats | None) -> Floats:
        """X' W X as a dense array, where the square roots of the weights are given; only for few columns."""
        self.reads.add(self.n_stored)
        X = self.values if root is None else sparse.csc_array(self.values.multiply(root[:, None]))
        return np.asarray((X.T @ X).toarray())


def large_means(means: Floats, counts: Floats, scatter: Floats) -> Floats:
    """The class means that are large compared with the scatter of their column; 0 elsewhere.

    Parameters
    ----------
    means : ndarray of shape (n_classes, n_features)
    counts : ndarray of shape (n_classes,)
    scatter : ndarray of shape (n_features,)
        Scatter within classes, up to rounding errors.
    """
    shares = counts[:, None] * means**2
    return np.where(shares > MAX_MEAN_SHARE * np.maximum(scatter, 0.0), means, 0.0)
