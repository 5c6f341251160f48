"""Rows: a text cut into cells by the csv module, every row with as many cells as the first."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence

from dropstep.readers.columns import Cells, Texts
from dropstep.readers.wording import counted


def split_cells(text: str, separator: str, width: int, header: bool, file: str) -> Sequence[Cells]:
    """Cells of a text file column by column."""
    found = []
    for row in rows(text, separator, file):
        found.append(row)
        if len(row) != width:
            raise ragged(file, len(found), len(row), width)
    return [Texts(cells) for cells in zip(*found[header:], strict=True)] or [Texts(())] * width


def rows(text: str, separator: str, file: str) -> Iterator[list[str]]:
    """Rows that are not blank."""
    try:
        for row in csv.reader(io.StringIO(text, newline=""), delimiter=separator):
            if len(row) > 1 or (row and row[0].strip()):
                yield row
    except csv.Error as error:
        raise ValueError(f"{file}: this is no table that can be read ({error})") from None


def ragged(file: str, row: int, found: int, width: int) -> ValueError:
    """The error for a row whose number of cells differs from that of the first row."""
    return ValueError(
        f"{file}: row {row} has {counted(found, 'cell')}, but the first row has {width}; "
        "correct the file, or give its separator with --separator"
    )
