"""Readers: files as columns of numbers and categories."""

from __future__ import annotations

from dataclasses import dataclass

from dropstep.readers.columns import Column
from dropstep.readers.errors import ReadError
from dropstep.readers.files import Kind, kind_of, load, shown_name
from dropstep.readers.text import Layout, read_text

__all__ = ["Column", "Layout", "ReadError", "Source", "read"]


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
        try:
            from dropstep.readers.arrow import read_arrow
        except ImportError:
            raise ReadError(f"{shown}: reading {kind.value} files needs pyarrow: pip install 'dropstep[cli]'") from None
        columns, notes = read_arrow(data, shown, kind), []
    return Source(file, tuple(columns), tuple(notes))
