"""Readers: a file on disk becomes columns of numbers and of categories, with what was found on the way."""

from __future__ import annotations

from dataclasses import dataclass

from dropstep.readers.columns import Column
from dropstep.readers.files import Kind, kind_of, load, shown_name
from dropstep.readers.text import Layout, read_text

__all__ = ["Column", "Layout", "Source", "read"]


@dataclass(frozen=True, eq=False)
class Source:
    """A file that was read.

    Attributes
    ----------
    file : its name, as it was given.
    columns : one `Column` each, with names that differ.
    notes : what the reader should know, in sentences.
    """

    file: str
    columns: tuple[Column, ...]
    notes: tuple[str, ...] = ()

    @property
    def shown(self) -> str:
        """The name of the file, for people."""
        return shown_name(self.file)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)

    @property
    def n_rows(self) -> int:
        return len(self.columns[0].values)


def read(file: str, layout: Layout | None = None) -> Source:
    """Read CSV, TSV, Parquet or Arrow, gzipped or not; "-" is standard input.

    What a file is follows from its bytes, not from its name. Every refusal is one sentence that names the file.
    """
    data = load(file)
    shown = shown_name(file)
    kind = kind_of(shown, data)
    if kind is Kind.TEXT:
        columns, notes = read_text(data, shown, layout or Layout())
    else:
        try:
            from dropstep.readers.arrow import read_arrow
        except ImportError:
            raise ValueError(f"{shown}: to read {kind.value} files, pip install 'dropstep[cli]'") from None
        columns, notes = read_arrow(data, shown, kind), []
    return Source(file, tuple(columns), tuple(notes))
