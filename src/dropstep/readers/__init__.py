"""Readers: files as columns of numbers and categories."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any

from dropstep.readers.columns import Column
from dropstep.readers.errors import ReadError
from dropstep.readers.files import Kind, is_gzipped, kind_of, load, shown_name, text_size
from dropstep.readers.text import Layout, complete_rows, read_text

__all__ = ["Column", "Layout", "ReadError", "Source", "read", "read_names", "size_of"]

HEAD = 2**23  # bytes of a text file that are read for the names of its columns


@dataclass(frozen=True, eq=False)
class Source:
    """The content of a file.

    Attributes
    ----------
    file : str
        Name of the file, as it was given.
    columns : tuple of Column
        Its columns, with distinct names.
    notes : tuple of str
        Warnings, one sentence each.
    """

    file: str
    columns: tuple[Column, ...]
    notes: tuple[str, ...] = ()

    @property
    def shown(self) -> str:
        """Name of the file in messages."""
        return shown_name(self.file)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(column.name for column in self.columns)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.columns[0].values)


def read(file: str, layout: Layout | None = None) -> Source:
    """Read a CSV, TSV, Parquet or Arrow file, gzipped or not.

    The format is detected from the content, not from the name.

    Parameters
    ----------
    file : str
        Name of the file; "-" is standard input.
    layout : Layout or None, default=None
        Layout of a text file; None detects it.

    Returns
    -------
    Source
        The columns of the file.

    Raises
    ------
    ReadError
        If the file cannot be read as a table.
    """
    data = load(file)
    shown = shown_name(file)
    kind = kind_of(shown, data)
    if kind is Kind.TEXT:
        columns, notes = read_text(data, shown, layout or Layout())
    else:
        if layout is not None and layout.transpose:
            raise ReadError(f"{shown}: only text files can be transposed; write it as CSV first")
        columns, notes = _arrow(shown, kind).read_arrow(data, shown, kind), []
    return Source(file, tuple(columns), tuple(notes))


def read_names(file: str) -> tuple[str, ...]:
    """Names of the columns of a file, from its beginning or its metadata; "-" is standard input."""
    if file == "-":
        return read(file).names
    head = load(file, HEAD)
    kind = kind_of(file, head)
    if kind is not Kind.TEXT:
        names: tuple[str, ...] = _arrow(file, kind).read_schema(load(file) if is_gzipped(file) else file, file, kind)
        return names
    columns, _ = read_text(complete_rows(head, file) if len(head) == HEAD else head, file, Layout())
    return tuple(column.name for column in columns)


def size_of(file: str, limit: int) -> int:
    """Number of bytes of the table in a file, not those that compression left of it, counted up to a limit."""
    kind, size = kind_of(file, load(file, HEAD)), text_size(file, limit)
    if kind is Kind.TEXT or size >= limit:
        return size
    found: int = _arrow(file, kind).table_size(load(file) if is_gzipped(file) else file, file, kind, limit)
    return found


def _arrow(shown: str, kind: Kind) -> Any:
    try:
        return import_module("dropstep.readers.arrow")
    except ImportError:
        raise ReadError(f"{shown}: reading {kind.value} files needs pyarrow: pip install 'dropstep[cli]'") from None
