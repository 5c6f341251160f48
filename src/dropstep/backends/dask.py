"""Dask: the partitions of a dataframe, or the row chunks of arrays, as blocks; sums by a tree of tasks.

Tasks run on the client that the user has connected, or else on the scheduler that Dask is configured for. No cluster is
started here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import dask
import numpy as np
import pyarrow as pa
from dask.delayed import Delayed, delayed
from dask.utils import parse_bytes

from dropstep.backends.arrow import block_of, kind_of
from dropstep.backends.dask_matrix import by_columns
from dropstep.data.factor import column_of
from dropstep.data.frame import Frame
from dropstep.data.sample import PerRow
from dropstep.data.source import Block, ColumnType, Origin, Partial, Source, Sum
from dropstep.data.table import Table

T = TypeVar("T", bound=Sum)

FAN_IN = 8  # partial results that a task adds
MIN_WIDE = 1000  # columns up to which an array is read by rows, and a Gram matrix is formed, whatever its shape


def open_source(X: Any, y: Any, rows: PerRow) -> tuple[Source | Table, Any, PerRow]:
    """A dataframe, with names of its columns; or an array, with y and rows as arrays.

    A wide array is a table whose products are computed where the chunks are; any other is read by rows.
    """
    if hasattr(X, "columns"):
        return FrameSource(X), y, rows
    if X.ndim != 2:
        raise ValueError(f"X must be a 2D array of shape (n_samples, n_features); its shape is {X.shape}")
    if X.shape[1] > MIN_WIDE and not X.shape[0] >= 8 * X.shape[1]:
        return by_columns(X, y, rows)
    return _by_rows(_in_rows(X), y, rows)


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


class FrameSource(Source):
    """A Dask dataframe, computed in every pass.

    Parameters
    ----------
    frame : dask.dataframe.DataFrame
        Persist it (`frame.persist()`) if it fits into the memory of the cluster and several passes are needed.
    """

    def __init__(self, frame: Any) -> None:
        super().__init__()
        if other := [name for name in frame.columns if not isinstance(name, str)]:
            raise TypeError(f"column names of X must be strings; {other[0]!r} is not: use X.rename(columns=str)")
        self._frame = frame
        self._columns = tuple(_type_of(name, dtype) for name, dtype in frame.dtypes.items())
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
        # Dask has no categories, or this one, where they are not known before they are computed.
        unknown = not len(categories) or "__UNKNOWN_CATEGORIES__" in set(categories)
        return ColumnType(name, "factor", order=None if unknown else tuple(categories))
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
    try:
        table = pa.Table.from_pandas(frame, preserve_index=False)
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise ValueError(f"partition {number}: a column has values of several types ({error.args[-1]})") from None
    parts, done = list[T](), 0
    for batch in table.combine_chunks().to_batches():  # one, unless the text of a column exceeds what an array holds
        block = block_of(batch, Origin(f"partition {number}", done))
        block.frame.refuse_unusable(())  # objects are text as far as is known before they are computed
        parts.append(partial(block))
        done += batch.num_rows
    return added(parts)


# --- arrays, by rows --------------------------------------------------------------------------------------------------


class ArraySource(Source):
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


def _in_rows(X: Any) -> Any:
    """The array with all columns in every chunk; chunks that would exceed Dask's chunk size are divided by rows."""
    rows = max(1, parse_bytes(dask.config.get("array.chunk-size")) // max(X.shape[1] * X.dtype.itemsize, 1))
    if X.numblocks[1] == 1 or not max(X.chunks[0]) > rows:  # NaN: an unknown number of rows
        return X.rechunk({1: -1})
    return X.rechunk({0: rows, 1: -1})


def _array_type(name: str, dtype: Any) -> ColumnType:
    kinds: dict[str, Any] = {
        "b": "boolean",
        "M": "date",
        "m": "date",
        "O": "factor",
        "U": "factor",
        "S": "factor",
        "c": "object",
    }
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
    return partial(Block(Frame(columns, len(tables[0]), tuple(names)), Origin(f"chunk {number}")))


def _column(values: Any) -> Any:
    return values if values.dtype.kind in "biuf" else column_of(values.tolist())


def _by_rows(X: Any, y: Any, rows: PerRow) -> tuple[Source, Any, PerRow]:
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
    return source, target, PerRow(present["sample_weight"], present["offset"], rows.strata, rows.groups, rows.metadata)


def _aligned(name: str, values: Any, X: Any) -> Any:
    """An array with the row chunks of X."""
    if not (hasattr(values, "dask") and hasattr(values, "rechunk")):
        raise TypeError(
            f"{name} must be a Dask array, as X is; got {type(values).__name__}: pass da.from_array({name})"
        )
    if values.ndim not in (1, 2):
        raise ValueError(f"{name} must have one or two dimensions; its shape is {values.shape}")
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
