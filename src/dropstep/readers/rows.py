"""Rows of a text file by the csv module."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence

from dropstep.readers.columns import Cells, Texts
from dropstep.readers.errors import RaggedRowError, ReadError
from dropstep.wording import counted


def split_cells(text: str, separator: str, width: int, header: bool, file: str) -> Sequence[Cells]:
    """Split a text into cells, column by column."""
    found = []
    for row in rows(text, separator, file):
        found.append(row)
        if len(row) != width:
            raise ragged(file, len(found), len(row), width)
    return [Texts(cells) for cells in zip(*found[header:], strict=True)] or [Texts(())] * width


def rows(text: str, separator: str, file: str) -> Iterator[list[str]]:
    """Rows of a text, blank ones omitted."""
    try:
        for row in csv.reader(io.StringIO(text, newline=""), delimiter=separator):
            if len(row) > 1 or (row and row[0].strip()):
                yield row
    except csv.Error as error:
        raise ReadError(f"{file}: this is not a table ({error})") from None


def ragged(file: str, row: int, found: int, width: int) -> RaggedRowError:
    """The error for a row whose number of cells differs from that of the first row."""
    return RaggedRowError(f"{file}: row {row} has {counted(found, 'cell')}, but the first row has {width}")
