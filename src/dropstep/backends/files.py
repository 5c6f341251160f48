"""Files as row sources: Parquet, Arrow and text files, one or several, by name or glob."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet

from dropstep.backends.arrow import ArrowSource, Batches, DatasetSource, batch_rows, damaged, other_type
from dropstep.backends.text import TextSource
from dropstep.backends.unchanged import Unchanged
from dropstep.data.sample import PerRow
from dropstep.data.source import Origin, SequentialSource
from dropstep.readers.arrow import record_batches
from dropstep.readers.errors import ReadError
from dropstep.readers.files import GZIP, Kind, kind_of
from dropstep.readers.text import Layout

MAX_TEXT = 2**16  # bytes of a value of a Parquet file, on average


def source_of(name: str, layout: Layout) -> ArrowSource:
    """The files that a name, a directory or a glob stands for, as the command line reads them.

    Parameters
    ----------
    name : str
    layout : Layout
        Layout of text files.

    Returns
    -------
    ArrowSource
    """
    return _of_files(_matching(name), layout)


def open_source(X: Any, y: Any, rows: PerRow) -> tuple[SequentialSource, Any, PerRow]:
    """Files as a source; the format is that of the content of the first one."""
    names = [os.fspath(name) for name in (X if isinstance(X, list | tuple) else [X])]
    if any("://" in name for name in names):
        return DatasetSource(pa.dataset.dataset(names[0] if len(names) == 1 else names)), y, rows
    files = [file for name in names for file in _matching(name)]
    return _of_files(files), y, rows


def write_parquet(file: str, batches: Iterator[Any]) -> None:
    """Write record batches to a Parquet file, one after the other."""
    first = next(batches)
    with pyarrow.parquet.ParquetWriter(file, first.schema) as writer:
        writer.write_batch(first)
        for batch in batches:
            writer.write_batch(batch)


def _matching(name: str) -> list[str]:
    """The files that a name, a directory or a glob stands for, sorted."""
    if os.path.isdir(name):
        found = sorted(str(path) for path in Path(name).rglob("*") if path.is_file() and path.name[0] not in "._")
        if not found:
            raise ReadError(f"{name}: this directory has no files")
        return found
    if os.path.exists(name):
        return [name]
    found = sorted(glob.glob(name, recursive=True))
    if not found:
        hint = "; its pattern matches nothing" if glob.has_magic(name) else ""
        raise ReadError(f"{name}: no such file{hint}")
    return found


def _of_files(files: Sequence[str], layout: Layout | None = None) -> ArrowSource:
    kind, compressed = _kind(files[0])
    if kind is Kind.TEXT:
        return TextSource(files, layout, booleans=layout is None)
    if compressed:
        raise ReadError(f"{files[0]}: a gzipped {kind.value} file cannot be read in blocks; decompress it")
    return FileSource(files, kind)


def _kind(file: str) -> tuple[Kind, bool]:
    """Format of a file, and whether it is gzipped."""
    try:
        with open(file, "rb") as stream:
            first = stream.read(16)
            compressed = first.startswith(GZIP)
        if compressed:
            with pa.input_stream(file, compression="gzip") as stream:
                first = stream.read(16)
    except OSError as error:
        raise ReadError(f"{file}: this file cannot be read ({error.strerror or error})") from None
    if not first.strip():
        raise ReadError(f"{file}: this file is empty")
    return kind_of(file, first), compressed


def _refuse_long_texts(file: str, columns: Sequence[str]) -> None:
    """Raise if the texts of a column are too long to be levels: a few kilobytes may be compressed gigabytes."""
    try:
        name = next((name for name in _names_of_long_texts(file) if name in columns), None)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise damaged(file, 0, error) from None
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


class FileSource(DatasetSource):
    """Parquet or Arrow files."""

    def __init__(self, files: Sequence[str], kind: Kind) -> None:
        self._unchanged, self._kind = Unchanged(files), kind
        try:
            if kind is Kind.STREAM:
                with pa.OSFile(files[0]) as stream:
                    dataset = pa.dataset.InMemoryDataset(pa.ipc.open_stream(stream).schema.empty_table())
            else:
                dataset = pa.dataset.dataset(
                    list(files), format="parquet" if kind is Kind.PARQUET else "ipc", partitioning="hive"
                )
            super().__init__(dataset)
        except (pa.ArrowException, OSError) as error:
            raise damaged(files[0], 0, error) from None
        except UnicodeDecodeError:
            raise ReadError(f"{files[0]}: damaged: the name of a column is not UTF-8") from None

    @property
    def shown(self) -> str:
        return self._unchanged.files[0]

    @property
    def n_rows(self) -> int | None:
        return None if self._kind is Kind.STREAM else super().n_rows

    def batches(self, columns: tuple[str, ...]) -> Batches:
        for file, fragment in self._fragments():
            self._unchanged.check(file)
            try:
                if self._kind is Kind.PARQUET:
                    _refuse_long_texts(file, columns)
                    yield from self.fragment(fragment, columns)
                else:
                    yield from self._arrow(file, fragment, columns)
            finally:
                self._unchanged.check(file)

    def _fragments(self) -> Iterator[tuple[str, Any]]:
        """The files with their fragments of the dataset; streams have none."""
        if self._kind is Kind.STREAM:
            return ((file, None) for file in self._unchanged.files)
        return ((fragment.path, fragment) for fragment in self.dataset.get_fragments())

    def _arrow(self, file: str, fragment: Any, columns: tuple[str, ...]) -> Batches:
        """Batches of an Arrow file or stream; the scanner of a dataset would hold many of them."""
        schema, n_rows, done = self.dataset.schema, batch_rows(len(columns)), 0
        constants = {} if fragment is None else pa.dataset.get_partition_keys(fragment.partition_expression)
        try:
            with pa.OSFile(file) as stream:
                for batch in record_batches(stream, self._kind):
                    arrays = [_column(batch, schema.field(name), constants.get(name), file) for name in columns]
                    rows = pa.RecordBatch.from_arrays(arrays, names=list(columns))
                    for start in range(0, batch.num_rows, n_rows):
                        yield Origin(file, done + start), rows.slice(start, n_rows)
                    done += batch.num_rows
        except (pa.ArrowException, OSError) as error:
            raise damaged(file, done, error) from None
