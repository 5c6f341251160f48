"""Cells of text files by pyarrow, and Parquet and Arrow files; the only reader that imports pyarrow."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet
from numpy.typing import NDArray

from dropstep.readers.columns import Cells, Column, category
from dropstep.readers.errors import ReadError
from dropstep.readers.files import Kind, free_memory
from dropstep.readers.rows import ragged
from dropstep.wording import counted, quoted

TEXT_TYPES = ("string", "large_string", "string_view")
MAX_BLOCK = 2**31 - 1  # bytes of text
MEMORY_PER_BYTE = 4  # bytes of memory for a byte of an Arrow table, at the most


@dataclass(frozen=True, eq=False)
class ArrowCells:
    """Cells of one column, as an Arrow array."""

    cells: Any

    def floats(self) -> NDArray[np.float64] | None:
        try:
            return _floats(self.cells)
        except pa.ArrowInvalid:
            pass
        try:
            return _floats(pc.utf8_trim_whitespace(self.cells))
        except pa.ArrowInvalid:
            return None

    def distinct(self) -> tuple[list[str | None], NDArray[np.intp]]:
        is_encoded = pa.types.is_dictionary(self.cells.type)  # by indices of which some may be null
        plain = pc.cast(self.cells, self.cells.type.value_type) if is_encoded else self.cells
        encoded = pc.dictionary_encode(plain.combine_chunks(), null_encoding="encode")
        if isinstance(encoded, pa.ChunkedArray):
            encoded = encoded.chunk(0) if encoded.num_chunks else pa.array([]).dictionary_encode()
        texts = [None if value is None else str(value) for value in encoded.dictionary.to_pylist()]
        return texts, encoded.indices.to_numpy(zero_copy_only=False).astype(np.intp)

    def original(self) -> list[Any]:
        try:
            return list(self.cells.to_pylist())
        except (OverflowError, ValueError):  # times beyond the years or the time zones that Python knows
            return [value.value for value in self.cells]


def _floats(cells: Any) -> NDArray[np.float64]:
    return np.asarray(pc.cast(cells, pa.float64(), safe=False).to_numpy(), dtype=np.float64)


def split_cells(text: str, separator: str, width: int, header: bool, file: str) -> Sequence[Cells]:
    """Split a text into cells, column by column; all cells are text."""
    names = [str(j) for j in range(width)]
    found: list[ReadError] = []

    def on_invalid(row: Any) -> str:
        if not row.text.strip():
            return "skip"
        found.append(ragged(file, row.number, row.actual_columns, row.expected_columns))
        return "error"

    data = text.encode("utf-8", "surrogatepass")
    try:
        table = pyarrow.csv.read_csv(
            pa.BufferReader(data),
            # Rows are numbered only with a single thread.
            pyarrow.csv.ReadOptions(use_threads=False, column_names=names, block_size=min(len(data) + 1, MAX_BLOCK)),
            pyarrow.csv.ParseOptions(
                delimiter=separator, newlines_in_values='"' in text, invalid_row_handler=on_invalid
            ),
            pyarrow.csv.ConvertOptions(column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=False),
        )
    except pa.ArrowInvalid as error:
        raise (found[0] if found else ReadError(f"{file}: this is not a table ({error})")) from None
    return [ArrowCells(column) for column in table.slice(int(header)).columns]


def table_size(source: str | bytes, file: str, kind: Kind, limit: int) -> int:
    """Number of bytes of the table in a Parquet or Arrow file, counted up to a limit.

    Parquet files are judged by their metadata: a value has 8 bytes, or what its column has before compression if that
    is more. Batches of Arrow files are read one after the other.

    Parameters
    ----------
    source : str or bytes
        Name, or content.
    file : str
        Name in messages.
    kind : Kind
    limit : int

    Returns
    -------
    int
    """
    size = 0
    with _readable(source, file, kind) as stream:
        if kind is Kind.PARQUET:
            metadata = pyarrow.parquet.read_metadata(stream)
            groups = (metadata.row_group(i) for i in range(metadata.num_row_groups))
            return sum(max(group.total_byte_size, 8 * group.num_rows * group.num_columns) for group in groups)
        for batch in record_batches(stream, kind):
            size += batch.nbytes
            if size >= limit:
                break
    return size


def read_schema(source: str | bytes, file: str, kind: Kind) -> tuple[str, ...]:
    """Names of the columns of a Parquet or Arrow file, a name or its content."""
    with _readable(source, file, kind) as stream:
        schema = pyarrow.parquet.read_schema(stream) if kind is Kind.PARQUET else _opened(stream, kind).schema
        return _checked([str(name) for name in schema.names], file)


def read_arrow(data: bytes, file: str, kind: Kind) -> list[Column]:
    """Read the columns of a Parquet or Arrow file, if its table fits into the free memory."""
    limit = free_memory() // MEMORY_PER_BYTE
    if table_size(data, file, kind, limit + 1) > limit:
        raise ReadError(
            f"{file}: the table in this {kind.value} file has more than {limit >> 20:,} MB, which does not fit into "
            "the free memory; remove columns or rows"
        )
    with _readable(data, file, kind) as stream:
        table = pyarrow.parquet.read_table(stream) if kind is Kind.PARQUET else _opened(stream, kind).read_all()
        table.validate(full=True)
        names = _checked([str(name) for name in table.column_names], file)
    if not names or not table.num_rows:
        raise ReadError(f"{file}: this table has {counted(len(names), 'column')} and {counted(table.num_rows, 'row')}")
    return [_column(name, cells) for name, cells in zip(names, table.columns, strict=True)]


@contextlib.contextmanager
def _readable(source: str | bytes, file: str, kind: Kind) -> Iterator[Any]:
    """A Parquet or Arrow file, open; errors of pyarrow while it is read become sentences."""
    try:
        with pa.OSFile(source) if isinstance(source, str) else pa.BufferReader(source) as stream:
            yield stream
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise ReadError(
            f"{file}: this {kind.value} file is damaged or truncated ({' '.join(str(error).split())[:120]})"
        ) from None


def _opened(stream: Any, kind: Kind) -> Any:
    # One thread allocates and frees: buffers that another thread frees are not reused, until a table is in memory.
    options = pa.ipc.IpcReadOptions(use_threads=False)
    open_arrow = pa.ipc.open_file if kind is Kind.ARROW else pa.ipc.open_stream
    return open_arrow(stream, options=options)


def record_batches(stream: Any, kind: Kind) -> Iterator[Any]:
    """The record batches of an Arrow file or stream, one in memory at a time.

    They are validated: pyarrow trusts buffers that contradict each other, and would read beyond them.

    Parameters
    ----------
    stream : pyarrow.NativeFile
    kind : {Kind.ARROW, Kind.STREAM}

    Yields
    ------
    pyarrow.RecordBatch
    """
    opened = _opened(stream, kind)
    batches = opened if kind is Kind.STREAM else map(opened.get_batch, range(opened.num_record_batches))
    for batch in batches:
        batch.validate(full=True)
        yield batch


def _checked(names: list[str], file: str) -> tuple[str, ...]:
    """The names of columns; raises if one occurs twice."""
    if len(set(names)) < len(names):
        raise ReadError(f"{file}: the column name {quoted(max(names, key=names.count))} occurs more than once")
    return tuple(names)


def _column(name: str, cells: Any) -> Column:
    """A column with the type stored in the file."""
    of, t = ArrowCells(cells), pa.types
    kind = cells.type.value_type if t.is_dictionary(cells.type) else cells.type
    nothing = np.full(len(cells), np.nan)
    if t.is_null(kind):
        return Column(name, "empty", nothing, of)
    if t.is_boolean(kind) or str(kind) in TEXT_TYPES:
        texts, codes = of.distinct()
        found = category(name, texts, codes, of)
        return found if found.levels else Column(name, "empty", nothing, of)
    if t.is_integer(kind) or t.is_floating(kind) or t.is_decimal(kind):
        plain = pc.cast(cells, kind) if t.is_dictionary(cells.type) else cells
        values = _floats(plain)
        return Column(name, "empty" if np.isnan(values).all() else "number", values, of)
    if t.is_temporal(kind):
        try:
            return replace(category(name, *of.distinct(), of), kind="date")
        except (OverflowError, ValueError):  # beyond the years or the time zones that Python knows
            return Column(name, "date", np.zeros(len(cells)), of)
    return Column(name, "other", np.zeros(len(cells)), of)


def write_parquet(file: str, columns: Sequence[Column]) -> None:
    """Write columns to a Parquet file: numbers as numbers, categories as text, Arrow columns unchanged."""
    arrays = {column.name: _stored(column) for column in columns}
    pyarrow.parquet.write_table(pa.table(arrays), file)


def _stored(column: Column) -> Any:
    cells = column.cells
    from_text = not isinstance(cells, ArrowCells) or pa.types.is_string(cells.cells.type)
    if not from_text or column.kind != "number":
        return cells.cells if isinstance(cells, ArrowCells) else pa.array(cells.original())
    if column.loses_digits:
        return _exact(column)
    whole = bool(np.all(np.isnan(column.values) | (np.mod(column.values, 1) == 0)))
    fits = bool(np.nanmax(np.abs(column.values)) < 2**53)
    return pa.array(column.values, pa.int64() if whole and fits else pa.float64(), from_pandas=True)


def _exact(column: Column) -> Any:
    """Numbers of a text file with all their digits: as 64-bit integers if they fit, as text otherwise."""
    cells = zip(column.cells.original(), column.missing, strict=True)
    texts = [None if absent else str(cell).strip() for cell, absent in cells]
    for kind in (pa.int64(), pa.uint64()):
        try:
            return pa.array([None if text is None else int(text) for text in texts], kind)
        except (OverflowError, ValueError, pa.ArrowInvalid):
            continue
    return pa.array(texts, pa.string())
