"""Arrow: record batches as blocks, from datasets, readers, polars, DuckDB and iterables."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dropstep.data.factor import DATES, OBJECTS, Column, Factor, observed
from dropstep.data.frame import Frame
from dropstep.data.sample import PerRow
from dropstep.data.source import UNKNOWN, Block, ColumnType, Origin, SequentialSource

BLOCK_SIZE = 2**20  # numbers in a block of rows
MIN_BLOCK_ROWS, MAX_BLOCK_ROWS = 2**11, 2**17
READAHEAD = 1  # batches, and files, that are read in advance

Batches = Iterator["tuple[Origin, Any]"]


def open_source(X: Any, y: Any, rows: PerRow) -> tuple[SequentialSource, Any, PerRow]:
    """A dataset, reader, lazy frame, relation or iterable as a source."""
    package, name = type(X).__module__.split(".")[0], type(X).__name__
    if hasattr(X, "get_fragments"):
        return DatasetSource(X), y, rows
    if package == "polars":
        return PolarsSource(X), y, rows
    if package == "duckdb":
        return DuckDBSource(X), y, rows
    if name == "RecordBatchReader":
        return BatchSource(X.schema, X, once="a RecordBatchReader"), y, rows
    return _of_iterable(X), y, rows


# --- blocks ----------------------------------------------------------------------------------------------------------


def block_of(batch: Any, origin: Origin = UNKNOWN) -> Block:
    """A record batch as a block.

    Parameters
    ----------
    batch : pyarrow.RecordBatch
    origin : Origin, default=UNKNOWN
        Where it comes from.

    Returns
    -------
    Block
    """
    names = tuple(str(name) for name in batch.schema.names)
    return Block(Frame(tuple(map(column_of, batch.columns)), batch.num_rows, names), origin)


def column_of(values: Any) -> Column:
    """A column of a record batch: numbers, booleans, or a factor with the levels that occur."""
    kind = kind_of(values.type)
    if kind == "date":
        return DATES
    if kind == "object":
        return OBJECTS
    if kind == "factor" or (kind == "boolean" and values.null_count):
        return _factor(values)
    if kind == "boolean":
        return np.asarray(values.to_numpy(zero_copy_only=False), dtype=bool)
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    if not (pa.types.is_integer(values.type) or pa.types.is_floating(values.type)):
        values = pc.cast(values, pa.float64(), safe=False)
    return np.asarray(values.to_numpy(zero_copy_only=False))


def _factor(values: Any) -> Factor:
    """A column of text, categories or booleans."""
    declared = pa.types.is_dictionary(values.type) or pa.types.is_boolean(values.type)
    encoded = values if pa.types.is_dictionary(values.type) else values.dictionary_encode()
    indices = np.asarray(encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False), dtype=np.intp)
    levels = encoded.dictionary.to_pylist()
    place: dict[Any, int] = {}
    codes = [-1 if level is None else place.setdefault(level, len(place)) for level in levels]
    return observed(np.array([*codes, -1], dtype=np.intp)[indices], list(place), declared=declared)


def _category(column: Column) -> Column:
    """Numbers as categories, integers without a decimal point; text as declared categories."""
    if isinstance(column, Factor):
        return replace(column, declared=True)
    if not isinstance(column, np.ndarray):
        return column
    present = np.isfinite(column)
    numbers, places = np.unique(column[present], return_inverse=True)
    codes = np.full(len(column), -1, dtype=np.intp)
    codes[present] = places
    return Factor(codes, tuple(int(v) if float(v).is_integer() else float(v) for v in numbers.tolist()))


def kind_of(dtype: Any) -> Any:
    """The kind of a column of an Arrow type; see `ColumnType`."""
    t = pa.types
    if t.is_dictionary(dtype):
        return "factor"
    if t.is_boolean(dtype):
        return "boolean"
    if t.is_integer(dtype) or t.is_floating(dtype) or t.is_decimal(dtype) or t.is_null(dtype):
        return "number"
    if t.is_string(dtype) or t.is_large_string(dtype) or str(dtype) == "string_view":
        return "factor"
    return "date" if t.is_temporal(dtype) else "object"


def types_of(schema: Any, orders: dict[str, tuple[Any, ...]] | None = None) -> tuple[ColumnType, ...]:
    """Names and types of the columns of a schema; `orders` are levels in order, by column."""
    names = [str(name) for name in schema.names]
    if len(set(names)) < len(names):
        raise ValueError(f"column names of X must be unique; {max(names, key=names.count)!r} appears more than once")
    return tuple(
        ColumnType(name, kind_of(dtype), pa.types.is_integer(dtype), (orders or {}).get(name))
        for name, dtype in zip(names, schema.types, strict=True)
    )


# --- sources ---------------------------------------------------------------------------------------------------------


class ArrowSource(SequentialSource):
    """A source of record batches of one schema."""

    def __init__(self, columns: tuple[ColumnType, ...]) -> None:
        super().__init__()
        self._columns = columns
        self._categorical: frozenset[str] = frozenset()

    @property
    def columns(self) -> tuple[ColumnType, ...]:
        return self._columns

    def restrict(self, columns: Sequence[str], categorical: Collection[str] = ()) -> None:
        """Offer only some columns, and read numbers in some of them as categories."""
        self._categorical = frozenset(categorical)
        kept = set(columns)
        self._columns = tuple(
            replace(column, kind="factor") if column.name in self._categorical else column
            for column in self._columns
            if column.name in kept
        )

    def confirm(self, columns: Sequence[str]) -> None:
        """Find the types of all rows if one of the columns seems to be meant as numbers, but has other cells."""

    def blocks(self, columns: tuple[str, ...]) -> Iterator[Block]:
        for origin, batch in self.batches(columns):
            try:
                block = block_of(batch, origin)
            except UnicodeDecodeError as error:
                raise damaged(origin.name or "X", error, origin.first) from None
            yield self._with_categories(block) if self._categorical.intersection(columns) else block

    def _with_categories(self, block: Block) -> Block:
        """The block with numbers as categories where that is requested."""
        frame = block.frame
        pairs = zip(frame.names or (), frame.columns, strict=True)
        columns = tuple(_category(column) if name in self._categorical else column for name, column in pairs)
        return replace(block, frame=replace(frame, columns=columns))

    def originals(self, columns: tuple[str, ...]) -> Iterator[Any]:
        """Record batches of some columns, as they are in the source."""
        return (batch for _, batch in self.batches(columns))

    def batches(self, columns: tuple[str, ...]) -> Batches:
        """Record batches of some columns, with their origins."""
        raise NotImplementedError


def batch_rows(n_columns: int) -> int:
    """Number of rows of a batch."""
    return int(np.clip(BLOCK_SIZE // max(n_columns, 1), MIN_BLOCK_ROWS, MAX_BLOCK_ROWS))


class DatasetSource(ArrowSource):
    """A dataset: Parquet and Arrow files.

    Parameters
    ----------
    dataset : pyarrow.dataset.Dataset
    """

    def __init__(self, dataset: Any) -> None:
        super().__init__(types_of(dataset.schema))
        self.dataset = dataset
        self._n_rows: int | None = None

    @property
    def n_rows(self) -> int | None:
        if self._n_rows is None:
            try:
                self._n_rows = int(self.dataset.count_rows())
            except (pa.ArrowException, OSError):  # a damaged file: reading says where
                return None
        return self._n_rows

    def batches(self, columns: tuple[str, ...]) -> Batches:
        for fragment in self.dataset.get_fragments():
            yield from self.fragment(fragment, columns)

    def fragment(self, fragment: Any, columns: tuple[str, ...]) -> Batches:
        """Batches of one file."""
        origin, done = getattr(fragment, "path", ""), 0
        scanner = fragment.scanner(
            schema=self.dataset.schema,
            columns=list(columns),
            batch_size=batch_rows(len(columns)),
            batch_readahead=READAHEAD,
            fragment_readahead=READAHEAD,
            fragment_scan_options=scan_options(fragment),
        )
        try:
            for batch in scanner.to_batches():
                yield Origin(origin, done), batch
                done += batch.num_rows
        except (pa.ArrowException, OSError) as error:
            self._refuse_other_types(fragment, columns)
            raise damaged(origin or "X", error, done) from None

    def _refuse_other_types(self, fragment: Any, columns: tuple[str, ...]) -> None:
        """Raise if a column of a file cannot be converted to the type that it has in the first file."""
        types = dict(zip(fragment.physical_schema.names, fragment.physical_schema.types, strict=True))
        for field in map(self.dataset.schema.field, columns):
            if types.get(field.name, field.type) != field.type:
                raise other_type(getattr(fragment, "path", "X"), field, types[field.name]) from None


def other_type(origin: str, field: Any, found: Any) -> ValueError:
    """The error for a column of a file that cannot be converted to the type that it has in the first file."""
    return ValueError(
        f"{origin}: column {field.name!r} has the type {found}, and its values cannot be converted to {field.type}, "
        f"the type in the first file; convert them, or use exclude=[{field.name!r}]"
    )


def scan_options(fragment: Any) -> Any:
    """Options that keep the memory of a Parquet scan to a few batches, however large its row groups are."""
    if type(fragment).__name__ != "ParquetFileFragment":
        return None
    import pyarrow.dataset as ds

    return ds.ParquetFragmentScanOptions(pre_buffer=False, use_buffered_stream=True, buffer_size=2**18)


def damaged(origin: str, error: Exception, done: int | None = None) -> ValueError:
    """The error for a file that cannot be read to its end."""
    reason = " ".join(str(error).split())[:160]
    after = "" if done is None else f" after row {done}"
    return ValueError(f"{origin}: this file is damaged or truncated{after} ({reason})")


class PolarsSource(ArrowSource):
    """A polars LazyFrame, evaluated in batches in every pass."""

    def __init__(self, frame: Any) -> None:
        schema = frame.collect_schema()
        orders = {
            name: tuple(dtype.categories.to_list()) for name, dtype in schema.items() if str(dtype).startswith("Enum")
        }
        super().__init__(types_of(frame.clear().collect().to_arrow().schema, orders))
        self.frame = frame

    @property
    def shown(self) -> str:
        return "the LazyFrame"

    def batches(self, columns: tuple[str, ...]) -> Batches:
        done = 0
        for frame in self._frames(self.frame.select(columns), batch_rows(len(columns))):
            for batch in frame.to_arrow().to_batches(max_chunksize=MAX_BLOCK_ROWS):
                yield Origin("", done), batch
                done += batch.num_rows

    def _frames(self, frame: Any, n_rows: int) -> Iterator[Any]:
        """Frames of some rows; before polars 1.34 one slice after the other."""
        if hasattr(frame, "collect_batches"):
            yield from frame.collect_batches(chunk_size=n_rows)
            return
        start = 0
        while len(part := frame.slice(start, n_rows).collect()):
            yield part
            start += n_rows


class DuckDBSource(ArrowSource):
    """A DuckDB relation, evaluated in every pass."""

    def __init__(self, relation: Any) -> None:
        super().__init__(types_of(_reader(relation.limit(0), 1).schema))
        self.relation = relation

    @property
    def shown(self) -> str:
        return "the relation"

    def batches(self, columns: tuple[str, ...]) -> Batches:
        quoted = ", ".join('"' + name.replace('"', '""') + '"' for name in columns)
        done = 0
        for batch in _reader(self.relation.project(quoted), batch_rows(len(columns))):
            yield Origin("", done), batch
            done += batch.num_rows


def _reader(relation: Any, n_rows: int) -> Any:
    """Record batches of a relation."""
    read = getattr(relation, "to_arrow_reader", None) or relation.fetch_record_batch
    return read(n_rows)


class BatchSource(ArrowSource):
    """Record batches of an iterable, or of a function that returns one.

    Parameters
    ----------
    schema : pyarrow.Schema
    batches : iterable of pyarrow.RecordBatch or tables, or callable
    once : str, default=""
        What the iterable is, if it can be read only once.
    orders : dict of str to tuple or None, default=None
        Levels in order, of the columns that have them.
    """

    def __init__(
        self,
        schema: Any,
        batches: Iterable[Any] | Callable[[], Iterable[Any]],
        *,
        once: str = "",
        orders: dict[str, tuple[Any, ...]] | None = None,
    ) -> None:
        super().__init__(types_of(schema, orders))
        self._schema, self._batches, self._once = schema, batches, once
        self.can_reread = not once

    @property
    def shown(self) -> str:
        return self._once or "X"

    def batches(self, columns: tuple[str, ...]) -> Batches:
        if self._once and self.n_passes > 1:
            raise ValueError(
                f"X is {self._once}, which can be read once, but {self.n_passes} passes over the rows are needed; pass "
                "a list of record batches, a function that returns an iterator of them, or a file"
            )
        done = 0
        for number, item in enumerate(self._batches() if callable(self._batches) else self._batches, start=1):
            for batch in _record_batches(item):
                missing = [name for name in columns if name not in batch.schema.names]
                if missing:
                    raise ValueError(f"batch {number} of X has no column {missing[0]!r}, which the first one has")
                yield Origin("", done), batch.select(list(columns))
                done += batch.num_rows


def _record_batches(item: Any) -> list[Any]:
    """Record batches of a record batch, a table or a frame."""
    if isinstance(item, pa.RecordBatch):
        return [item]
    if not isinstance(item, pa.Table):
        has_rows = hasattr(item, "iloc") or hasattr(item, "__arrow_c_stream__")
        if not has_rows:
            raise TypeError(f"X must yield record batches or frames; got {type(item).__name__}")
        item = pa.Table.from_pandas(item, preserve_index=False) if hasattr(item, "iloc") else pa.table(item)
    return list(item.to_batches(max_chunksize=MAX_BLOCK_ROWS))


def _of_iterable(X: Any) -> BatchSource:
    """The source of a list, an iterator, or a function that returns one."""
    iterator = iter(X() if callable(X) else X)
    first = next(iterator, None)
    if first is None:
        raise ValueError("X has no rows: the iterator is empty; pass record batches")
    batches = _record_batches(first)
    schema = batches[0].schema if batches else pa.table(first).schema
    orders = orders_of(batches[0]) if batches else {}
    if callable(X) or isinstance(X, list | tuple):
        return BatchSource(schema, X, orders=orders)

    def chained() -> Iterator[Any]:
        yield first
        yield from iterator

    return BatchSource(schema, chained, once="an iterator", orders=orders)


def orders_of(batch: Any) -> dict[str, tuple[Any, ...]]:
    """The levels of ordered categories, by the name of their column."""
    types = zip(batch.schema.names, batch.schema.types, batch.columns, strict=True)
    return {
        name: tuple(values.dictionary.to_pylist())
        for name, kind, values in types
        if pa.types.is_dictionary(kind) and kind.ordered
    }
