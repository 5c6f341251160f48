"""A design matrix on disk: a memory map that is read in blocks, whose pages are released after each block."""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dropstep.data.matrices.dense import FLOAT32_BLOCK_COLUMNS, Dense, squares
from dropstep.data.matrices.matrix import Bools, Exponents, Floats, Indices, MatrixGaps, Part, Reads

MIN_BYTES = 2**26  # of a memory map that is read in blocks; a smaller one is treated as an array
BLOCK_BYTES = 2**26  # of a block, in the type in which it is computed with
COPY_BYTES = 2**28  # of a copy of some columns
AROUND_BYTES = 2**16  # that Linux maps around an address that is read


def is_on_disk(X: Any) -> bool:
    """True for a large memory map of numbers whose pages can be released.

    The pages of a copy-on-write map (mode "c") may contain changes that the file does not.
    """
    return (
        isinstance(X, np.memmap)
        and X.ndim == 2
        and X.nbytes > MIN_BYTES
        and X.dtype.kind in "biuf"
        and X.dtype.itemsize <= 8
        and X.dtype.isnative
        and X.mode != "c"
        and getattr(X, "_mmap", None) is not None
    )


@dataclass(frozen=True, eq=False)
class OnDisk:
    """A memory map, with the changes that are made to its values as they are read.

    Attributes
    ----------
    values : memmap of shape (n_stored_rows, n_features)
        In C or Fortran order, or a part of such a map.
    reads : Reads
    rows : ndarray of int or None
        The rows that are used, in their order; None if all are.
    exponents : ndarray of shape (n_features,) or None
        Column j is divided by 2 ** exponents[j]; None if no column is rescaled.
    zero_rows, zero_columns : ndarray of bool or None
        Rows (of those used) and columns that are read as zeros.
    """

    values: Any
    reads: Reads
    rows: Indices | None = None
    exponents: Exponents | None = None
    zero_rows: Bools | None = None
    zero_columns: Bools | None = None

    @classmethod
    def of(cls, X: Any) -> OnDisk:
        """The matrix of a memory map."""
        return cls(X, Reads(X.size))

    @property
    def shape(self) -> tuple[int, int]:
        return int(self.values.shape[0]) if self.rows is None else len(self.rows), int(self.values.shape[1])

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.dtype(self.values.dtype if self.exponents is None else np.float64)

    @property
    def size(self) -> int:
        return self.shape[0] * self.shape[1]

    @property
    def by_rows(self) -> bool:
        """Whether the values of a row, not those of a column, are stored next to each other."""
        return bool(abs(self.values.strides[0]) >= abs(self.values.strides[1]))

    def _release(self) -> None:
        """Return the pages to the system; those of a shared mapping are read again from the file when needed."""
        if hasattr(mmap, "MADV_DONTNEED"):
            self.values._mmap.madvise(mmap.MADV_DONTNEED)

    # --- blocks ------------------------------------------------------------------------------------------------------

    def parts(
        self, features: Indices | None = None, size: int | None = None, *, all_rows: bool = False
    ) -> Iterator[Part]:
        """Blocks of some columns, over all of them or over all rows, in the direction in which they are stored."""
        p, size = self.shape[1] if features is None else len(features), max(size or 0, self._block_size())
        if self.by_rows and not all_rows:
            read = self._row_parts(features, max(1, size // self.shape[1]))
        else:
            around = 0 if features is None else AROUND_BYTES // self.values.itemsize  # of columns that are not adjacent
            read = self._column_parts(features, p, max(1, size // max(len(self.values), around)))
        for rows, at, block in read:
            yield rows, at, self._changed(block, rows, slice(None) if features is None else features, at)
            self._release()

    def row_parts(self, height: int) -> Iterator[tuple[slice, NDArray[Any]]]:
        """Blocks of rows with all columns; higher ones than requested, because few of them are read faster."""
        height = max(height, self._block_size() // self.shape[1])
        for rows, at, block in self._row_parts(None, height):
            yield rows, self._changed(block, rows, slice(None), at)
            self._release()

    def _block_size(self) -> int:
        return BLOCK_BYTES // (4 if self.dtype == np.float32 else 8)

    def _row_parts(self, features: Indices | None, height: int) -> Iterator[Part]:
        values, (n, p) = np.asarray(self.values), self.shape
        for top in range(0, n, height):
            rows = slice(top, min(top + height, n))
            block = values[rows if self.rows is None else self.rows[rows]]
            self.reads.add(len(block) * (p if features is None else self._touched(len(features))))
            yield rows, slice(0, p if features is None else len(features)), _chosen(block, features)

    def _column_parts(self, features: Indices | None, p: int, width: int) -> Iterator[Part]:
        values, n = np.asarray(self.values), self.shape[0]
        for start in range(0, p, width):
            here = slice(start, min(start + width, p))
            if self.by_rows:
                yield slice(0, n), here, self._gathered(here if features is None else features[here])
                continue
            block = values[:, here if features is None else features[here]]
            self.reads.add(block.size)
            yield slice(0, n), here, block if self.rows is None else block[self.rows]

    def _gathered(self, features: Indices | slice) -> NDArray[Any]:
        """A copy of some columns where rows are stored together, so few rows at a time that few pages are mapped."""
        values, n = np.asarray(self.values), self.shape[0]
        together = isinstance(features, slice)
        k = len(np.arange(self.shape[1])[features])
        self.reads.add(n * self._touched(k, together=together))
        height = max(1, BLOCK_BYTES // max(1, abs(values.strides[0])))  # up to 2 MB are mapped with every value
        taken = np.empty((n, k), dtype=values.dtype)
        for top in range(0, n, height):
            rows = slice(top, min(top + height, n))
            if self.rows is None:
                taken[rows] = values[rows][:, features]
            else:
                taken[rows] = values[self.rows[rows] if together else self.rows[rows, None], features]
            self._release()
        return taken

    def _touched(self, n_features: int, *, together: bool = False) -> int:
        """Values per row that are read with some columns: where rows are stored together, whole pages."""
        if not self.by_rows:
            return n_features
        page = max(1, mmap.PAGESIZE // int(self.values.dtype.itemsize))
        return min(self.shape[1], n_features + page if together else n_features * page)

    def _changed(self, block: NDArray[Any], rows: slice, features: Any, at: slice) -> NDArray[Any]:
        """A block with rescaled columns, and zeros in rows and columns."""
        if self.exponents is None and self.zero_rows is None and self.zero_columns is None:
            return block
        block = np.array(block, dtype=self.dtype)
        if self.zero_rows is not None:
            block[self.zero_rows[rows]] = 0
        if self.zero_columns is not None:
            block[:, self.zero_columns[features][at]] = 0
        return block if self.exponents is None else np.ldexp(block, -self.exponents[features][at], out=block)

    # --- the protocol of a matrix ------------------------------------------------------------------------------------

    def take(self, features: Indices) -> NDArray[Any]:
        """A copy of a few columns."""
        if self.by_rows:
            taken = self._gathered(features)
        else:
            taken = np.asarray(self.values)[:, features]
            self.reads.add(taken.size)
            taken = taken if self.rows is None else taken[self.rows]
            self._release()
        return self._changed(taken, slice(None), features, slice(None))

    def multiply(self, vectors: Floats, out: Floats | None = None, *, in_double: bool = False) -> Floats:
        """vectors @ X in one pass, in float32 if X is, unless `in_double`."""
        product = np.empty((len(vectors), self.shape[1])) if out is None else out
        product[:] = 0.0
        vectors = self._as_computed(vectors, in_double=in_double)
        for rows, at, block in self.parts():
            _add_product(product[:, at], vectors[:, rows], block)
        return product

    def sums(self, vectors: Floats, weights: Floats | None) -> tuple[Floats, Floats]:
        """vectors @ X, and the weighted sum of squares of every column, in one pass."""
        product, total = np.zeros((len(vectors), self.shape[1])), np.zeros(self.shape[1])
        vectors = self._as_computed(vectors)
        for rows, at, block in self.parts():
            _add_product(product[:, at], vectors[:, rows], block)
            total[at] += squares(block, None if weights is None else weights[rows])
        return product, total

    def _as_computed(self, vectors: Floats, *, in_double: bool = False) -> NDArray[Any]:
        single = self.dtype == np.float32 and not in_double
        return np.ascontiguousarray(vectors, dtype=np.float32 if single else np.float64)

    def largest(self, features: Indices, rows: Bools | None) -> Floats:
        """Largest absolute value of some columns, over all rows or some."""
        found = np.zeros(len(features))
        for here, at, block in self.parts(features):
            values = np.abs(block.astype(np.float64))
            values = values if rows is None else values[rows[here]]
            found[at] = np.maximum(found[at], values.max(axis=0, initial=0.0))
        return found

    def gaps(self, features: Indices | None = None) -> MatrixGaps:
        """Where values of some columns are missing or infinite."""
        absent, infinite = np.zeros((2, self.shape[0]), dtype=bool)
        columns = np.zeros(self.shape[1] if features is None else len(features), dtype=bool)
        for rows, at, block in self.parts(features):
            nan, inf = np.isnan(block), np.isinf(block)
            absent[rows] |= nan.any(axis=1)
            infinite[rows] |= inf.any(axis=1)
            columns[at] |= (nan | inf).any(axis=0)
        return MatrixGaps(absent, infinite, columns)

    def subset(self, features: Indices) -> Dense:
        """A copy of some columns in memory."""
        X = np.empty((self.shape[0], len(features)), dtype=self.dtype, order="C" if self.by_rows else "F")
        for rows, at, block in self.parts(features):
            X[rows, at] = block
        return Dense(X)

    def can_copy(self, n_features: int) -> bool:
        """Whether memory suffices for a copy of so many columns."""
        return self.shape[0] * n_features * self.dtype.itemsize <= COPY_BYTES

    def at(self, rows: NDArray[Any]) -> OnDisk:
        """The matrix of some rows, which are not copied."""
        chosen = np.arange(self.shape[0])[rows]
        zero = None if self.zero_rows is None else self.zero_rows[chosen]
        return replace(self, rows=chosen if self.rows is None else self.rows[chosen], zero_rows=zero)

    def native(self) -> Any:
        """The memory map, or a copy of the rows that are used."""
        return self.values if self.rows is None else np.asarray(self.values)[self.rows]

    def zeroed(self, features: Indices) -> OnDisk:
        """The matrix with zeros in some columns."""
        zero = np.zeros(self.shape[1], dtype=bool) if self.zero_columns is None else self.zero_columns.copy()
        zero[features] = True
        return replace(self, zero_columns=zero)

    def rescaled(self, exponents: Exponents, weights: Floats | None) -> OnDisk:
        """The matrix with column j divided by 2 ** exponents[j]; rows of weight zero are read as zeros."""
        total = exponents if self.exponents is None else self.exponents + exponents
        return replace(self, exponents=total, zero_rows=None if weights is None else weights == 0)


def _chosen(block: NDArray[Any], features: Indices | None) -> NDArray[Any]:
    return block if features is None else block.take(features, axis=1)


def _add_product(product: Floats, vectors: NDArray[Any], block: NDArray[Any]) -> None:
    """Add vectors @ block to a product, some columns at a time, in the type of the vectors."""
    for start in range(0, block.shape[1], FLOAT32_BLOCK_COLUMNS):
        at = slice(start, start + FLOAT32_BLOCK_COLUMNS)
        product[:, at] += vectors @ block[:, at].astype(vectors.dtype, copy=False)
