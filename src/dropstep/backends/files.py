"""Files as sources: Parquet, Arrow and text files, one or several, by name, directory or glob."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Collection, Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet

from dropstep.atomic import free_memory
from dropstep.backends.arrow import ArrowSource, Batches, DatasetSource, batch_rows, damaged, other_type
from dropstep.backends.cells import Notation
from dropstep.backends.content import MISSING, Content, Kind, ReadError, files_of
from dropstep.backends.delimited import TextFormat, TextSource
from dropstep.data.frame import Frame
from dropstep.data.source import Origin

MAX_TEXT = 2**16  # bytes of a value of a Parquet file, on average
MEMORY_PER_BYTE = 4  # bytes of memory for a byte of an Arrow table, at the most


def read(
    file: Any,
    separator: str | None,
    decimal: str,
    thousands: str | None,
    encoding: str | None,
    header: bool,
    skip: int,
    transpose: bool,
    na: Sequence[str] | None,
    categorical: Collection[str],
) -> ArrowSource:
    """Files as a source; see `dropstep.read`, which has the defaults."""
    names = [os.fspath(name) for name in (file if isinstance(file, list | tuple) else [file])]
    if any("://" in name for name in names):
        return DatasetSource(pa.dataset.dataset(names[0] if len(names) == 1 else names))
    files = [Content(found) for name in names for found in files_of(name)]
    if other := next((content for content in files if content.kind is not files[0].kind), None):
        raise ReadError(
            f"{other.shown}: this is a {other.kind.value} file, but {files[0].shown} is a {files[0].kind.value} file"
        )
    if files[0].kind is Kind.TEXT:
        notation = Notation(decimal, thousands, MISSING if na is None else tuple(na))
        return TextSource(files, TextFormat(separator, notation, encoding, header, skip, transpose), categorical)
    if transpose:
        raise ReadError(f"{files[0].shown}: only text files can be transposed; write it as CSV first")
    source = FileSource(files)
    source.restrict(source.names, categorical)
    return source


def write_parquet(file: str, batches: Iterator[Any]) -> None:
    """Write record batches to a Parquet file, one after the other."""
    first = next(batches)
    with pyarrow.parquet.ParquetWriter(file, first.schema) as writer:
        writer.write_batch(first)
        for batch in batches:
            writer.write_batch(batch)


class FileSource(DatasetSource):
    """Parquet or Arrow files; those that are compressed as a whole, and standard input, are held in memory.

    Parameters
    ----------
    files : sequence of Content
        Files of one format.
    """

    def __init__(self, files: Sequence[Content]) -> None:
        self._files, self._kind = {content.name: content for content in files}, files[0].kind
        first = files[0]
        try:
            super().__init__(self._dataset())
        except (pa.ArrowException, OSError) as error:
            raise damaged(first.shown, error) from None
        except UnicodeDecodeError:
            raise ReadError(f"{first.shown}: damaged: the name of a column is not UTF-8") from None
        if not self.dataset.schema.names:
            raise ReadError(f"{first.shown}: this table has no columns")
        parts = [name for name in self.dataset.schema.names if name not in self._names_in_file()]
        if parts:
            which = ", ".join(map(repr, parts))
            self.notes = (
                f"the names of the directories are read as {'columns' if len(parts) > 1 else 'a column'}: {which}",
            )

    def _dataset(self) -> Any:
        first = next(iter(self._files.values()))
        if first.compressed or first.name == "-":
            tables = [_in_memory(content) for content in self._files.values()]
            return pa.dataset.InMemoryDataset(pa.concat_tables(tables))
        if self._kind is Kind.STREAM:
            with pa.OSFile(first.name) as stream:
                return pa.dataset.InMemoryDataset(pa.ipc.open_stream(stream).schema.empty_table())
        form = "parquet" if self._kind is Kind.PARQUET else "ipc"
        return pa.dataset.dataset(list(self._files), format=form, partitioning="hive")

    def _names_in_file(self) -> list[str]:
        """The columns that the first file has itself."""
        fragment = next(iter(self.dataset.get_fragments()), None)
        return list((self.dataset.schema if fragment is None else fragment.physical_schema).names)

    @property
    def shown(self) -> str:
        return next(iter(self._files.values())).shown

    @property
    def n_rows(self) -> int | None:
        return None if self._kind is Kind.STREAM else super().n_rows

    @property
    def n_bytes(self) -> int:
        limit = free_memory()
        return sum(table_size(content, limit) for content in self._files.values())

    def rows(self, columns: Sequence[str] | None = None) -> Frame:
        for content in self._files.values():
            _refuse_large(content)
        return super().rows(columns)

    def batches(self, columns: tuple[str, ...]) -> Batches:
        for file, fragment in self._fragments():
            content = self._files.get(file)
            if content is None:  # in memory
                yield from self.fragment(fragment, columns)
                continue
            content.check()
            try:
                if self._kind is Kind.PARQUET:
                    _refuse_long_texts(file, columns)
                    yield from self.fragment(fragment, columns)
                else:
                    yield from self._arrow(file, fragment, columns)
            finally:
                content.check()

    def _fragments(self) -> Iterator[tuple[str, Any]]:
        """The files with their fragments of the dataset; streams have none."""
        first = next(iter(self._files.values()))
        if self._kind is Kind.STREAM and not (first.compressed or first.name == "-"):
            return ((file, None) for file in self._files)
        return ((getattr(fragment, "path", ""), fragment) for fragment in self.dataset.get_fragments())

    def _arrow(self, file: str, fragment: Any, columns: tuple[str, ...]) -> Batches:
        """Batches of an Arrow file or stream; the scanner of a dataset would hold many of them."""
        schema, n_rows, done = self.dataset.schema, batch_rows(len(columns)), 0
        constants = {} if fragment is None else pa.dataset.get_partition_keys(fragment.partition_expression)
        try:
            with pa.OSFile(file) as stream:
                for batch in _record_batches(stream, self._kind):
                    arrays = [_column(batch, schema.field(name), constants.get(name), file) for name in columns]
                    rows = pa.RecordBatch.from_arrays(arrays, names=list(columns))
                    for start in range(0, batch.num_rows, n_rows):
                        yield Origin(file, done + start), rows.slice(start, n_rows)
                    done += batch.num_rows
        except (pa.ArrowException, OSError) as error:
            raise damaged(file, error, done) from None


def _in_memory(content: Content) -> Any:
    """The table of a compressed file or of standard input, if it fits into the free memory."""
    _refuse_large(content)
    with _readable(content) as stream:
        if content.kind is Kind.PARQUET:
            table = pyarrow.parquet.read_table(stream)
        else:
            table = pa.Table.from_batches(_record_batches(stream, content.kind), _opened(stream, content.kind).schema)
        table.validate(full=True)
        return table


def _refuse_large(content: Content) -> None:
    """Raise if the table of a file does not fit into the free memory."""
    limit = free_memory() // MEMORY_PER_BYTE
    if table_size(content, limit + 1) > limit:
        raise ReadError(
            f"{content.shown}: the table in this {content.kind.value} file has more than {limit >> 20:,} MB, which "
            "does not fit into the free memory; remove columns or rows"
        )


def table_size(content: Content, limit: int) -> int:
    """Number of bytes of the table in a Parquet or Arrow file, counted up to a limit or to where the file is damaged.

    Parquet files are judged by their metadata: a value has 8 bytes, or what its column has before compression if that
    is more. Batches of Arrow files are read one after the other.
    """
    size = 0
    with _readable(content) as stream:
        if content.kind is Kind.PARQUET:
            metadata = pyarrow.parquet.read_metadata(stream)
            groups = (metadata.row_group(i) for i in range(metadata.num_row_groups))
            return sum(max(group.total_byte_size, 8 * group.num_rows * group.num_columns) for group in groups)
        with contextlib.suppress(pa.ArrowException, OSError):
            for batch in _record_batches(stream, content.kind):
                size += batch.nbytes
                if size >= limit:
                    break
    return size


@contextlib.contextmanager
def _readable(content: Content) -> Iterator[Any]:
    """A Parquet or Arrow file, open; errors of pyarrow while it is read become sentences."""
    in_memory = content.compressed or content.name == "-"
    try:
        with pa.BufferReader(content.load()) if in_memory else pa.OSFile(content.name) as stream:
            yield stream
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise damaged(content.shown, error) from None


def _opened(stream: Any, kind: Kind) -> Any:
    stream.seek(0)
    # One thread allocates and frees: buffers that another thread frees are not reused, until a table is in memory.
    options = pa.ipc.IpcReadOptions(use_threads=False)
    return (pa.ipc.open_file if kind is Kind.ARROW else pa.ipc.open_stream)(stream, options=options)


def _record_batches(stream: Any, kind: Kind) -> Iterator[Any]:
    """The record batches of an Arrow file or stream, one in memory at a time.

    They are validated: pyarrow trusts buffers that contradict each other, and would read beyond them.
    """
    opened = _opened(stream, kind)
    batches = opened if kind is Kind.STREAM else map(opened.get_batch, range(opened.num_record_batches))
    for batch in batches:
        batch.validate(full=True)
        yield batch


def _refuse_long_texts(file: str, columns: Sequence[str]) -> None:
    """Raise if the texts of a column are too long to be levels: a few kilobytes may be compressed gigabytes."""
    try:
        name = next((name for name in _names_of_long_texts(file) if name in columns), None)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise damaged(file, error, 0) from None
    if name is not None:
        raise ReadError(
            f"{file}: the values of column {name!r} have more than {MAX_TEXT >> 10} kB each, so they cannot be "
            f"features; use exclude=[{name!r}]"
        )


def _names_of_long_texts(file: str) -> Iterator[str]:
    metadata = pyarrow.parquet.read_metadata(file)
    for group in map(metadata.row_group, range(metadata.num_row_groups)):
        limit = MAX_TEXT * max(group.num_rows, 1)
        if group.total_byte_size <= limit:  # pyarrow ends the process where the metadata of a column are damaged
            continue
        for chunk in map(group.column, range(group.num_columns)):
            if chunk.total_uncompressed_size > limit:
                yield chunk.path_in_schema


def _column(batch: Any, field: Any, constant: Any, file: str) -> Any:
    """A column of a batch with the type of a field; constant, or missing, if the batch does not have it."""
    if field.name not in batch.schema.names:
        return pa.repeat(pa.scalar(constant, field.type), batch.num_rows)
    found = batch.column(field.name)
    try:
        return found.cast(field.type)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise other_type(file, field, found.type) from None
