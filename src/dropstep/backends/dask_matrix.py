"""Wide Dask arrays: design matrices whose products are computed where the chunks are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import dask
import dask.array as da
import numpy as np
from dask.base import get_scheduler
from dask.delayed import delayed
from numpy.typing import NDArray

from dropstep.data.matrices.dense import Dense, squares
from dropstep.data.matrices.matrix import Bools, Exponents, Floats, Indices, MatrixGaps, Part, Reads
from dropstep.data.sample import PerRow
from dropstep.data.table import Table

COPY_BYTES = 2**28  # of a copy of some columns


@dataclass(frozen=True, eq=False)
class DaskMatrix:
    """A design matrix whose chunks stay where they are: vectors are sent to them, and products are returned.

    Attributes
    ----------
    values : dask.array.Array of shape (n_samples, n_features)
    reads : Reads
    """

    values: Any
    reads: Reads

    @property
    def shape(self) -> tuple[int, int]:
        return int(self.values.shape[0]), int(self.values.shape[1])

    @property
    def dtype(self) -> np.dtype[Any]:
        dtype: np.dtype[Any] = self.values.dtype
        return dtype

    @property
    def size(self) -> int:
        return self.shape[0] * self.shape[1]

    def take(self, features: Indices) -> NDArray[Any]:
        """A dense copy of a few columns."""
        self.reads.add(self.shape[0] * len(features))
        return np.asarray(self.values[:, features].compute())

    def multiply(self, vectors: Floats, out: Floats | None = None, *, in_double: bool = False) -> Floats:
        """vectors @ X in one pass, in float32 if X is, unless `in_double`."""
        product = self._products(vectors, None, in_double=in_double)[: len(vectors)]
        if out is None:
            return product
        out[:] = product
        return out

    def sums(self, vectors: Floats, weights: Floats | None) -> tuple[Floats, Floats]:
        """vectors @ X, and the weighted sum of squares of every column, in one pass."""
        product = self._products(vectors, np.ones(self.shape[0]) if weights is None else weights)
        return product[:-1], product[-1]

    def _products(self, vectors: Floats, weights: Floats | None, *, in_double: bool = False) -> Floats:
        """vectors @ X, and, if weights are given, sums of squares as a last row: one task per chunk."""
        self.reads.add(self.size)
        single = self.dtype == np.float32 and not in_double
        rows = _slices(self.values.chunks[0])
        typed = np.ascontiguousarray(vectors, dtype=np.float32 if single else np.float64)
        sent = [_shared((typed[:, here], None if weights is None else weights[here])) for here in rows]
        blocks = self.values.to_delayed()
        sums = [_sum([_product(v, blocks[i, j]) for i, v in enumerate(sent)]) for j in range(blocks.shape[1])]
        return np.concatenate(dask.compute(*sums, traverse=False), axis=1)

    def parts(
        self, features: Indices | None = None, size: int | None = None, *, all_rows: bool = False
    ) -> Iterator[Part]:
        """Chunks of some columns, which are brought to this process one after the other."""
        chosen = self.values if features is None else self.values[:, features]
        chosen = chosen.rechunk({0: -1}) if all_rows else chosen
        self.reads.add(int(np.prod(chosen.shape)))
        rows, columns = (_slices(chunks) for chunks in chosen.chunks)
        for j, at in enumerate(columns):
            for i, here in enumerate(rows):
                yield here, at, np.asarray(chosen.blocks[i, j].compute())

    def row_parts(self, height: int) -> Iterator[tuple[slice, NDArray[Any]]]:
        """Blocks of rows with all columns."""
        self.reads.add(self.size)
        for start in range(0, self.shape[0], height):
            rows = slice(start, min(start + height, self.shape[0]))
            yield rows, np.asarray(self.values[rows].compute())

    def largest(self, features: Indices, rows: Bools | None) -> Floats:
        """Largest absolute value of some columns, over all rows or some."""
        self.reads.add(self.shape[0] * len(features))
        chosen = self.values[:, features]
        return np.asarray(abs(chosen if rows is None else chosen[rows]).max(axis=0).compute(), dtype=np.float64)

    def gaps(self, features: Indices | None = None) -> MatrixGaps:
        """Where values of some columns are missing or infinite."""
        chosen = self.values if features is None else self.values[:, features]
        self.reads.add(int(np.prod(chosen.shape)))
        nan, inf = da.isnan(chosen), da.isinf(chosen)
        return MatrixGaps(*dask.compute(nan.any(axis=1), inf.any(axis=1), (nan | inf).any(axis=0)))

    def subset(self, features: Indices) -> Dense:
        """A copy of some columns in memory."""
        return Dense(self.take(features))

    def can_copy(self, n_features: int) -> bool:
        """Whether memory suffices for a copy of so many columns."""
        return self.shape[0] * n_features * self.dtype.itemsize <= COPY_BYTES

    def at(self, rows: NDArray[Any]) -> DaskMatrix:
        """The matrix of some rows."""
        return replace(self, values=self.values[np.arange(self.shape[0])[rows]])

    def native(self) -> Any:
        """The array of Dask."""
        return self.values

    def zeroed(self, features: Indices) -> DaskMatrix:
        """The matrix with zeros in some columns."""
        zero = np.zeros(self.shape[1], dtype=bool)
        zero[features] = True
        return replace(self, values=da.where(zero, 0, self.values).astype(self.dtype))

    def rescaled(self, exponents: Exponents, weights: Floats | None) -> DaskMatrix:
        """The matrix with column j divided by 2 ** exponents[j]; rows of weight zero are read as zeros."""
        values = self.values.astype(np.float64)
        if weights is not None:
            values = da.where((weights == 0)[:, None], 0.0, values)
        return replace(self, values=values * np.ldexp(1.0, -exponents))


def _slices(chunks: Sequence[int]) -> list[slice]:
    """The ranges of chunks along an axis."""
    return [slice(*pair) for pair in pairwise(np.cumsum([0, *chunks]).tolist())]


def by_columns(X: Any, y: Any, rows: PerRow) -> tuple[Table, Any, PerRow]:
    """A table of distributed chunks, and what is given per row in memory."""
    if np.isnan(X.shape[0]):
        raise ValueError("X has chunks of unknown numbers of rows; call X.compute_chunk_sizes()")
    table = Table(DaskMatrix(X, Reads(X.shape[0] * X.shape[1])))
    y, weights, offset, strata = dask.compute(y, rows.weights, rows.offset, rows.strata)
    return table, y, replace(rows, weights=weights, offset=offset, strata=strata)


def _shared(value: Any) -> Any:
    """A value that many tasks read: sent once to every worker if a client runs the tasks, and in place otherwise."""
    client: Any = getattr(get_scheduler(), "__self__", None)
    if hasattr(client, "scatter"):
        return client.scatter(value, broadcast=True)
    return delayed(value, traverse=False, pure=False)


def products_of(sent: tuple[NDArray[Any], Floats | None], block: NDArray[Any]) -> Floats:
    """vectors @ block, and the sums of squares as a last row, in float64."""
    vectors, weights = sent
    product = np.asarray(vectors @ block.astype(vectors.dtype, copy=False), dtype=np.float64)
    return product if weights is None else np.vstack([product, squares(block, weights)])


_product, _sum = delayed(products_of, pure=False), delayed(sum, pure=False)
