"""A design matrix in memory."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dropstep.data.matrices.matrix import Bools, Exponents, Floats, Indices, MatrixGaps, Part, Reads
from dropstep.data.threads import in_threads

BLOCK_SIZE = 2**18  # values that are copied at a time
MAX_BLOCK_SIDE = 2**12  # length of a block along the direction in which X is contiguous
MAX_SEPARATE_PRODUCTS = 3  # vectors up to which float32 products are faster one by one than as a matrix product
FLOAT32_BLOCK_COLUMNS = 2500  # columns of a float32 matrix product, which is faster in blocks than as a whole
MAX_SUMMED = 4  # vectors up to which products are summed in the same pass as squares
SUMMED_SIZE = 2**18  # values (2 MB) that are summed at a time, while they are in the cache
SUMMED_ROWS = 256  # rows of float32 that are summed at a time: with more, digits would be lost
LONG = 2**12  # number of columns from which rows are long
LONG_ROWS = 12  # long rows that are summed at a time: BLAS multiplies so few without copying them
MIN_TAKEN = 2**20  # values from which columns are copied in threads: each is read from another cache line
MIN_THREADED = 2**24  # values of X from which threads save more time than starting them takes


class Dense:
    """An array in C or Fortran order.

    Parameters
    ----------
    values : ndarray of shape (n_samples, n_features)
        Products with types other than float32 and float64 are computed in float64, one block at a time.
    reads : Reads or None, default=None
        The count of another matrix that this one is derived from.
    """

    def __init__(self, values: NDArray[Any], reads: Reads | None = None) -> None:
        self.values = values
        self.reads = Reads(values.size) if reads is None else reads

    @property
    def shape(self) -> tuple[int, int]:
        return self.values.shape[0], self.values.shape[1]

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.values.dtype

    @property
    def size(self) -> int:
        return self.values.size

    def take(self, features: Indices) -> NDArray[Any]:
        """A copy of a few columns; np.take reads rows that are contiguous in memory faster than indexing does."""
        self.reads.add(len(features) * len(self.values))
        X = self.values
        if not X.flags.c_contiguous:
            return X[:, features]
        if len(features) * len(X) < MIN_TAKEN:
            return np.take(X, features, axis=1)
        taken = np.empty((len(X), len(features)), dtype=X.dtype)
        in_threads(partial(_take_rows, X, features, taken), len(X))
        return taken

    def multiply(self, vectors: Floats, out: Floats | None = None, *, in_double: bool = False) -> Floats:
        """vectors @ X as float64; a float32 X is multiplied in float32, unless in_double."""
        X = self.values
        self.reads.add(X.size)
        if X.dtype == np.float64:
            return np.matmul(vectors, X, out=out)
        product = np.empty((len(vectors), X.shape[1])) if out is None else out
        if X.dtype != np.float32 or in_double:
            product[:] = 0.0
            for rows, columns, block in _float64_blocks(X):
                product[:, columns] += vectors[:, rows] @ block
            return product
        vectors = np.ascontiguousarray(vectors, dtype=np.float32)
        if len(vectors) <= MAX_SEPARATE_PRODUCTS:
            for row, vector in zip(product, vectors, strict=True):
                row[:] = vector @ X
            return product
        for start in range(0, X.shape[1], FLOAT32_BLOCK_COLUMNS):
            columns = slice(start, start + FLOAT32_BLOCK_COLUMNS)
            product[:, columns] = vectors @ X[:, columns]
        return product

    def sums(self, vectors: Floats, weights: Floats | None) -> tuple[Floats, Floats]:
        """vectors @ X, and the weighted sum of squares of every column; in one pass if the vectors are few."""
        X = self.values
        by_rows = abs(X.strides[0]) >= abs(X.strides[1])
        few = vectors[: len(vectors) if len(vectors) <= MAX_SUMMED else 0]
        few = np.ascontiguousarray(few, dtype=np.float32 if by_rows and X.dtype == np.float32 else np.float64)
        part = partial(_sums_of_rows if by_rows else _sums_of_columns, X, few, weights)
        # Before BLAS: its worker threads keep spinning and would compete for cores.
        total = in_threads(part, X.shape[0 if by_rows else 1], None if X.size >= MIN_THREADED else 1)
        self.reads.add(X.size)
        return total[:-1] if len(few) == len(vectors) else self.multiply(vectors), total[-1]

    def largest(self, features: Indices, rows: Bools | None) -> Floats:
        """Largest absolute value of some columns, over all rows or some."""
        found = np.empty(len(features))
        step = max(1, BLOCK_SIZE // len(self.values))
        for start in range(0, len(features), step):
            at = features[start : start + step]
            values = np.abs(self.values[:, at].astype(np.float64))
            found[start : start + step] = (values if rows is None else values[rows]).max(axis=0)
        return found

    def gaps(self, features: Indices | None = None) -> MatrixGaps:
        """Where values of some columns are missing or infinite."""
        values = self.values if features is None else self.values[:, features]
        absent, infinite = np.isnan(values), np.isinf(values)
        return MatrixGaps(absent.any(axis=1), infinite.any(axis=1), (absent | infinite).any(axis=0))

    def subset(self, features: Indices) -> Dense:
        """A copy of some columns."""
        return Dense(self.take(features), self.reads)

    def can_copy(self, n_features: int) -> bool:
        """True: a copy of some columns is smaller than the matrix."""
        return True

    def at(self, rows: NDArray[Any]) -> Dense:
        """A copy of some rows."""
        return Dense(self.values[rows], self.reads)

    def native(self) -> NDArray[Any]:
        """The array."""
        return self.values

    def zeroed(self, features: Indices) -> Dense:
        """A copy with zeros in some columns."""
        values = self.values.copy()
        values[:, features] = 0
        return Dense(values)

    def rescaled(self, exponents: Exponents, weights: Floats | None) -> Dense:
        """A float64 copy with column j divided by 2 ** exponents[j]; rows of weight zero are set to zero."""
        copy = self.values.astype(np.float64)
        if weights is not None:
            copy[weights == 0] = 0.0
        return Dense(np.ldexp(copy, -exponents, out=copy), self.reads)

    def parts(
        self, features: Indices | None = None, size: int | None = None, *, all_rows: bool = False
    ) -> Iterator[Part]:
        """Blocks of some columns: over all of them, or over all rows, in the direction in which X is contiguous."""
        X, n = self.values, len(self.values)
        p, size = X.shape[1] if features is None else len(features), BLOCK_SIZE if size is None else size
        self.reads.add(n * p)
        if X.flags.c_contiguous and not X.flags.f_contiguous and not all_rows:
            height = max(1, size // max(p, 1))
            for top in range(0, n, height):
                rows = slice(top, min(top + height, n))
                yield rows, slice(0, p), X[rows] if features is None else X[rows].take(features, axis=1)
            return
        width = max(1, size // n)
        for start in range(0, p, width):
            here = slice(start, min(start + width, p))
            yield slice(0, n), here, X[:, here] if features is None else X[:, features[here]]

    def row_parts(self, height: int) -> Iterator[tuple[slice, NDArray[Any]]]:
        """Blocks of rows with all columns."""
        self.reads.add(self.values.size)
        for start in range(0, len(self.values), height):
            rows = slice(start, start + height)
            yield rows, self.values[rows]


def _float64_blocks(X: NDArray[Any]) -> Iterator[Part]:
    """Blocks of X in float64, with their rows and columns."""
    n, p = X.shape
    if X.flags.c_contiguous:
        width = min(p, MAX_BLOCK_SIDE)
        height = max(1, BLOCK_SIZE // width)
    else:
        height = min(n, MAX_BLOCK_SIDE)
        width = max(1, BLOCK_SIZE // height)
    for top in range(0, n, height):
        rows = slice(top, top + height)
        for start in range(0, p, width):
            columns = slice(start, start + width)
            yield rows, columns, X[rows, columns].astype(np.float64)


def squares(X: NDArray[Any], weights: Floats | None) -> Floats:
    """Weighted sums of squares; float32 is accumulated in blocks, because long sums would lose digits."""
    total = np.zeros(X.shape[1])
    if X.dtype in (np.float32, np.float64):
        step = max(1, len(X)) if X.dtype == np.float64 else SUMMED_ROWS
        for start in range(0, len(X), step):
            here = slice(start, start + step)
            total += _sum_of_squares(X[here], None if weights is None else weights[here])
        return total
    for here, columns, block in _float64_blocks(X):
        total[columns] += _sum_of_squares(block, None if weights is None else weights[here])
    return total


def _take_rows(X: NDArray[Any], features: Indices, taken: NDArray[Any], rows: slice) -> Floats:
    """Copy some columns of some rows into `taken`; there is nothing to sum. Clipping avoids a buffer."""
    np.take(X[rows], features, axis=1, out=taken[rows], mode="clip")
    return np.empty(0)


def _sums_of_rows(X: NDArray[Any], vectors: NDArray[Any], weights: Floats | None, rows: slice) -> Floats:
    """Products of some rows of X with vectors, and sums of squares."""
    total, product = np.zeros((len(vectors) + 1, X.shape[1])), np.empty((len(vectors), X.shape[1]), vectors.dtype)
    step = max(1, SUMMED_SIZE // X.shape[1])
    if X.shape[1] >= LONG:
        step = min(step, LONG_ROWS)
    elif vectors.dtype == np.float32:
        step = min(step, SUMMED_ROWS)
    with np.errstate(invalid="ignore", over="ignore"):  # in a thread; sums that are not finite are refused later
        for start in range(rows.start, rows.stop, step):
            here = slice(start, min(start + step, rows.stop))
            block = X[here].astype(vectors.dtype, copy=False)
            total[:-1] += np.matmul(vectors[:, here], block, out=product)
            total[-1] += _sum_of_squares(block, None if weights is None else weights[here])
    return total


def _sums_of_columns(X: NDArray[Any], vectors: NDArray[Any], weights: Floats | None, columns: slice) -> Floats:
    """The same for some columns, and 0 for the others: where these are contiguous, pieces of them are slow."""
    total = np.zeros((len(vectors) + 1, X.shape[1]))
    step = max(1, SUMMED_SIZE // len(X))
    with np.errstate(invalid="ignore", over="ignore"):
        for start in range(columns.start, columns.stop, step):
            here = slice(start, min(start + step, columns.stop))
            block = X[:, here].astype(np.float64, copy=False)  # long sums of float32 would lose digits
            total[:-1, here] = vectors @ block
            total[-1, here] = _sum_of_squares(block, weights)
    return total


def _sum_of_squares(block: NDArray[Any], weights: Floats | None) -> NDArray[Any]:
    if weights is None:
        return np.asarray(np.einsum("ij,ij->j", block, block))
    return np.asarray(np.einsum("i,ij,ij->j", weights, block, block))
