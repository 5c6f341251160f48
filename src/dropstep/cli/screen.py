"""Screen: tables for people, aligned, and no wider than their terminal."""

from __future__ import annotations

import shutil
import sys
import unicodedata
from collections.abc import Sequence

from dropstep.cli.naming import printable

WIDEST, NARROWEST = 60, 8  # of a column of text
GAP = 2  # between columns


def aligned(head: Sequence[str], rows: Sequence[Sequence[str]], sides: str) -> str:
    """Rows under a head, with text left (<) and numbers right (>) aligned.

    On a terminal the widest columns are cut until the table fits: text to no less than 8 characters, of numbers the
    head only.
    """
    lines = [[printable(cell) for cell in line] for line in (head, *rows)]
    widths = [max(width(line[j]) for line in lines) for j in range(len(head))]
    numbers = [max((width(line[j]) for line in lines[1:]), default=NARROWEST) for j in range(len(head))]
    least = [number if side == ">" else NARROWEST for side, number in zip(sides, numbers, strict=True)]
    widths = _fitted([min(w, WIDEST) if side == "<" else w for w, side in zip(widths, sides, strict=True)], least)
    first, *below = (_line(line, sides, widths) for line in lines)
    return "\n".join([first, "-" * (sum(widths) + GAP * (len(widths) - 1)), *below])


def _line(cells: Sequence[str], sides: str, widths: Sequence[int]) -> str:
    shown = [_padded(_cut(c, w), side, w) for c, side, w in zip(cells, sides, widths, strict=True)]
    return (" " * GAP).join(shown).rstrip()


def _fitted(widths: list[int], least: Sequence[int]) -> list[int]:
    """Widths that fit the terminal, if standard output is one: the widest column that may be cut is cut first."""
    if not sys.stdout.isatty():
        return widths
    room = shutil.get_terminal_size().columns - GAP * (len(widths) - 1)
    while sum(widths) > room and (wide := [j for j, w in enumerate(widths) if w > least[j]]):
        widths[max(wide, key=lambda j: widths[j])] -= 1
    return widths


def width(text: str) -> int:
    """Columns of a terminal that a text takes: two for a wide character, none for a mark on the one before."""
    if text.isascii():
        return len(text)
    return sum(0 if unicodedata.combining(c) else 1 + (unicodedata.east_asian_width(c) in "WF") for c in text)


def _cut(text: str, most: int) -> str:
    if width(text) <= most:
        return text
    while width(text) > most - 1:
        text = text[: min(len(text) - 1, most)]
    return text + "…"


def _padded(text: str, side: str, most: int) -> str:
    blanks = " " * (most - width(text))
    return blanks + text if side == ">" else text + blanks
