"""Dask: the partitions of a dataframe, or the row chunks of arrays, as blocks; sums by a tree of tasks.

Tasks run on the client that the user has connected, or else on the scheduler that Dask is configured for. No cluster is
started here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, TypeVar

import dask
import dask.array as da
import numpy as np
import pyarrow as pa
from dask.delayed import Delayed, delayed
from numpy.typing import NDArray

from dropstep.backends.arrow import block_of, kind_of
from dropstep.data.frame import Frame
from dropstep.data.matrices.base import Bools, Exponents, Floats, Gaps, Indices, Part, Reads
from dropstep.data.matrices.dense import Dense, squares
from dropstep.data.sample import Rows
from dropstep.data.sources import Block, ColumnType, Partial, Place, RowSource
from dropstep.data.sources.source import Sum
from dropstep.data.table import Table

T = TypeVar("T", bound=Sum)

FAN_IN = 8  # partial results that a task adds
MIN_WIDE = 1000  # columns up to which an array is read by rows, and a Gram matrix is formed, whatever its shape
COPY_BYTES = 2**28  # of a copy of some columns


def open_source(X: Any, y: Any, rows: Rows) -> tuple[RowSource | Table, Any, Rows]:
    """A dataframe, with names of its columns; or an array, with y and rows as arrays.

    A wide array is a table whose products are computed where the chunks are; any other is read by rows.
    """
    if hasattr(X, "columns"):
        return FrameSource(X), y, rows
    if X.ndim != 2:
        raise ValueError(f"X must be a 2D array of shape (n_samples, n_features); its shape is {X.shape}")
    if X.shape[1] > MIN_WIDE and not X.shape[0] >= 8 * X.shape[1]:
        return _by_columns(X, y, rows)
    return _by_rows(X.rechunk({1: -1}), y, rows)


def added(parts: Sequence[T | None]) -> T | None:
    """The sum of partial results; None stands for no rows."""
    total = None
    for part in parts:
        if part is not None:
            total = part if total is None else total + part
    return total


def _tree_sum(parts: list[Delayed]) -> Any:
    """The sum of the results of tasks, which are added where they are, a few at a time."""
    while len(parts) > 1:
        parts = [_added(parts[at : at + FAN_IN]) for at in range(0, len(parts), FAN_IN)]
    (total,) = dask.compute(parts[0], traverse=False)
    return total


_added = delayed(added, pure=False)


# --- dataframes ------------------------------------------------------------------------------------------------------


class FrameSource(RowSource):
    """A Dask dataframe, computed in every pass.

    Parameters
    ----------
    frame : dask.dataframe.DataFrame
        Persist it (`frame.persist()`) if it fits into the memory of the cluster and several passes are needed.
    """

    def __init__(self, frame: Any) -> None:
        super().__init__()
        self._frame = frame
        self._columns = tuple(_type_of(str(name), dtype) for name, dtype in frame.dtypes.items())
        if len(set(self.names)) < len(self.names):
            name = max(self.names, key=self.names.count)
            raise ValueError(f"column names of X must be unique; {name!r} appears more than once")

    @property
    def columns(self) -> tuple[ColumnType, ...]:
        return self._columns

    def reduce(self, partial: Partial[T], columns: tuple[str, ...]) -> T | None:
        function, parts = delayed(partial, pure=False), self._frame[list(columns)].to_delayed()
        total: T | None = _tree_sum([_of_partition(function, part, number) for number, part in enumerate(parts)])
        return total

    @property
    def shown(self) -> str:
        return "the Dask dataframe"


def _type_of(name: str, dtype: Any) -> ColumnType:
    """The type of a column of a dataframe; objects are text, as far as is known before they are computed."""
    categories = getattr(dtype, "categories", None)
    if categories is not None:
        known = None if "__UNKNOWN_CATEGORIES__" in set(categories) else tuple(categories)
        return ColumnType(name, "factor", order=known)
    if dtype.kind == "O" and str(dtype) == "object":
        return ColumnType(name, "factor")
    arrow = pa.Schema.from_pandas(_empty(dtype), preserve_index=False).types[0]
    return ColumnType(name, kind_of(arrow), pa.types.is_integer(arrow))


def _empty(dtype: Any) -> Any:
    import pandas as pd

    return pd.DataFrame({"column": pd.Series([], dtype=dtype)})


@delayed(pure=False)
def _of_partition(partial: Partial[T], frame: Any, number: int) -> T | None:
    """The function of the rows of a partition; None if it has none."""
    if not len(frame):
        return None
    batch = pa.RecordBatch.from_pandas(frame, preserve_index=False)
    return partial(block_of(batch, Place(f"partition {number}")))


# --- arrays, by rows --------------------------------------------------------------------------------------------------


class ArraySource(RowSource):
    """Dask arrays with one chunk per block of rows.

    Parameters
    ----------
    arrays : dict of str to dask.array.Array
        X first, then targets, weights and offset; all with the same row chunks, and with one chunk of columns.
    names : dict of str to tuple of str
        Names of the columns of each array.
    """

    named = False

    def __init__(self, arrays: dict[str, Any], names: dict[str, tuple[str, ...]]) -> None:
        super().__init__()
        self._arrays, self._names = arrays, names
        self._columns = tuple(
            _array_type(name, arrays[array].dtype) for array, columns in names.items() for name in columns
        )

    @property
    def columns(self) -> tuple[ColumnType, ...]:
        return self._columns

    def reduce(self, partial: Partial[T], columns: tuple[str, ...]) -> T | None:
        wanted = {array: [names.index(c) for c in columns if c in names] for array, names in self._names.items()}
        order = [columns.index(names[j]) for array, names in self._names.items() for j in wanted[array]]
        read = {array: at for array, at in wanted.items() if at}
        chunks = zip(*(self._arrays[array].to_delayed().ravel() for array in read), strict=True)
        function, at = delayed(partial, pure=False), delayed((list(read.values()), order, columns), pure=False)
        total: T | None = _tree_sum([_of_chunks(function, at, number, *parts) for number, parts in enumerate(chunks)])
        return total

    @property
    def shown(self) -> str:
        return "the Dask array"


def _array_type(name: str, dtype: Any) -> ColumnType:
    kinds: dict[str, Any] = {"b": "boolean", "M": "date", "m": "date", "O": "factor", "U": "factor", "S": "factor"}
    return ColumnType(name, kinds.get(dtype.kind, "number"), dtype.kind in "iu")


@delayed(pure=False)
def _of_chunks(partial: Partial[T], at: Any, number: int, *chunks: Any) -> T | None:
    """The function of the rows of some chunks; None if there are none."""
    positions, order, names = at
    tables = [np.asarray(chunk).reshape(len(chunk), -1) for chunk in chunks]
    if not len(tables[0]):
        return None
    if len({len(table) for table in tables}) > 1:
        raise ValueError(f"X and y have chunks of different numbers of rows (chunk {number}); rechunk them alike")
    read = [_column(table[:, j]) for table, here in zip(tables, positions, strict=True) for j in here]
    columns = tuple(read[i] for i in np.argsort(order))
    return partial(Block(Frame(columns, len(tables[0]), tuple(names)), Place(f"chunk {number}")))


def _column(values: Any) -> Any:
    return values if values.dtype.kind in "biuf" else _factor_of(values)


def _factor_of(values: Any) -> Any:
    from dropstep.data.factor import column_of

    return column_of(values.tolist())


def _by_rows(X: Any, y: Any, rows: Rows) -> tuple[RowSource, Any, Rows]:
    """Arrays with the row chunks of X, and the names of their columns."""
    named = {"y": y, "sample_weight": rows.weights, "offset": rows.offset}
    arrays, names = {"X": X}, {"X": tuple(f"x{j}" for j in range(X.shape[1]))}
    for name, values in named.items():
        if values is None and name != "y":
            continue
        arrays[name] = _aligned(name, values, X)
        several = arrays[name].ndim == 2 and arrays[name].shape[1] > 1
        names[name] = tuple(f"{name}{j}" for j in range(arrays[name].shape[1])) if several else (name,)
    source = ArraySource(arrays, names)
    target = names["y"][0] if len(names["y"]) == 1 else list(names["y"])
    present = {name: name if name in names else None for name in ("sample_weight", "offset")}
    return source, target, Rows(present["sample_weight"], present["offset"], rows.strata, rows.groups, rows.metadata)


def _aligned(name: str, values: Any, X: Any) -> Any:
    """An array with the row chunks of X."""
    if not (hasattr(values, "dask") and hasattr(values, "rechunk")):
        raise TypeError(
            f"{name} must be a Dask array, as X is; got {type(values).__name__}: pass da.from_array({name})"
        )
    unknown = np.isnan([*X.chunks[0], *values.chunks[0]]).any()
    if unknown and X.numblocks[0] != values.numblocks[0]:
        raise ValueError(
            f"X and {name} have {X.numblocks[0]} and {values.numblocks[0]} chunks of unknown numbers of rows; call "
            "compute_chunk_sizes() on both"
        )
    if not unknown and X.shape[0] != values.shape[0]:
        raise ValueError(f"X has {X.shape[0]} rows, but {name} has {values.shape[0]}")
    values = values if unknown else values.rechunk({0: X.chunks[0]})
    return values.rechunk({1: -1}) if values.ndim == 2 else values


# --- wide arrays ------------------------------------------------------------------------------------------------------


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
        sums = [_added([_product(v, blocks[i, j]) for i, v in enumerate(sent)]) for j in range(blocks.shape[1])]
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

    def gaps(self, features: Indices | None = None) -> Gaps:
        """Where values of some columns are missing or infinite."""
        chosen = self.values if features is None else self.values[:, features]
        self.reads.add(int(np.prod(chosen.shape)))
        nan, inf = da.isnan(chosen), da.isinf(chosen)
        return Gaps(*dask.compute(nan.any(axis=1), inf.any(axis=1), (nan | inf).any(axis=0)))

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


def _by_columns(X: Any, y: Any, rows: Rows) -> tuple[Table, Any, Rows]:
    """A table of distributed chunks, and what is given per row in memory."""
    if np.isnan(X.shape[0]):
        raise ValueError("X has chunks of unknown numbers of rows; call X.compute_chunk_sizes()")
    table = Table(DaskMatrix(X, Reads(X.shape[0] * X.shape[1])))
    y, weights, offset, strata = dask.compute(y, rows.weights, rows.offset, rows.strata)
    return table, y, replace(rows, weights=weights, offset=offset, strata=strata)


def _shared(value: Any) -> Any:
    """A value that many tasks read: sent once to every worker of a cluster, and in place otherwise."""
    try:
        from distributed import default_client

        return default_client().scatter(value, broadcast=True)
    except (ImportError, ValueError):  # no client
        return delayed(value, traverse=False, pure=False)


@delayed(pure=False)
def _product(sent: tuple[NDArray[Any], Floats | None], block: NDArray[Any]) -> Floats:
    """vectors @ block, and the sums of squares as a last row, in float64."""
    vectors, weights = sent
    product = np.asarray(vectors @ block.astype(vectors.dtype, copy=False), dtype=np.float64)
    return product if weights is None else np.vstack([product, squares(block, weights)])
