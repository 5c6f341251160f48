"""Columns: the type of each is guessed from its cells, by looking at every distinct text once."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

ColumnKind = Literal["number", "text", "boolean", "date", "empty", "mixed", "other"]
MISSING = ("", "NA", "N/A", "NaN", "nan", "null", "NULL", "None", "?", ".")

_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|[+-]?(?:inf|infinity)", re.ASCII | re.IGNORECASE)
_DATE = re.compile(r"\d{4}-\d\d?-\d\d?(?:[T ].*)?|\d{4}/\d\d?/\d\d?|\d\d?[./-]\d\d?[./-](?:\d\d){1,2}", re.ASCII)
_GROUPED = re.compile(r"[+-]?\d{1,3}([,.'\s])\d{3}(?:\1\d{3})*(?:[.,]\d+)?", re.ASCII)
_DECIMAL_COMMA = re.compile(r"[+-]?\d*,\d+(?:[eE][+-]?\d+)?", re.ASCII)


class Cells(Protocol):
    """The cells of one column as they stand in the file."""

    def floats(self) -> NDArray[np.float64] | None:
        """All cells as numbers, if that is quick to see; None otherwise."""
        ...

    def distinct(self) -> tuple[list[str | None], NDArray[np.intp]]:
        """Every distinct text (None for a null), and for each row its position among them."""
        ...

    def original(self) -> list[Any]:
        """The values as they stand in the file."""
        ...


@dataclass(frozen=True, eq=False)
class Texts:
    """Cells of a text file, as a list."""

    cells: Sequence[str]

    def floats(self) -> None:
        return None

    def distinct(self) -> tuple[list[str | None], NDArray[np.intp]]:
        place: dict[str | None, int] = {}
        codes = [place.setdefault(cell, len(place)) for cell in self.cells]
        return list(place), np.array(codes, dtype=np.intp)

    def original(self) -> list[Any]:
        return list(self.cells)


@dataclass(frozen=True, eq=False)
class Column:
    """One column of a file.

    Attributes
    ----------
    name : differs from the names of the other columns.
    kind : "number"; "text" or "boolean" (categories); "date", "other" (not usable); "empty" (all missing);
        "mixed" (numbers beside text, or numbers that need --decimal or --thousands; `odd` says what).
    values : numbers with NaN where missing; with `levels`, the position of each value among them, -1 where missing.
    levels : the distinct values, sorted, of what is no number.
    cells : the cells as they stand in the file.
    odd : for a mixed column, what is wrong with it.
    """

    name: str
    kind: ColumnKind
    values: NDArray[Any]
    cells: Cells
    levels: tuple[str, ...] = ()
    odd: str = ""

    @property
    def is_category(self) -> bool:
        return self.kind in ("text", "boolean")

    @property
    def missing(self) -> NDArray[np.bool_]:
        """Rows without a value; infinity is none either."""
        return self.values < 0 if self.levels else ~np.isfinite(self.values)

    def at(self, rows: NDArray[np.bool_]) -> Column:
        """Some rows of the column, with the levels that are left there."""
        values = self.values[rows]
        if not self.levels:
            return replace(self, values=values)
        left = np.unique(values[values >= 0])
        places = np.full(len(self.levels) + 1, -1, dtype=np.intp)
        places[left] = np.arange(len(left))
        return replace(self, values=places[values], levels=tuple(self.levels[i] for i in left))

    def as_category(self) -> Column:
        """The same column with every distinct value a category."""
        if self.levels:
            return replace(self, kind="text", odd="")
        if self.kind != "number":
            return self
        present = np.isfinite(self.values)
        numbers, places = np.unique(self.values[present], return_inverse=True)
        codes = np.full(len(self.values), -1, dtype=np.intp)
        codes[present] = places
        return Column(self.name, "text", codes, self.cells, tuple(map(shown_number, numbers.tolist())))


@dataclass(frozen=True)
class Numerals:
    """How numbers and missing values are written in a text file."""

    decimal: str = "."
    thousands: str | None = None
    missing: tuple[str, ...] = MISSING

    @cached_property
    def plain(self) -> bool:
        """Whether any program would read these numbers alike, so that the quick way is right."""
        return self.decimal == "." and self.thousands is None and not any(map(_NUMBER.fullmatch, self.missing))

    def number(self, text: str) -> float | None:
        """The number that a text is, if it is one."""
        if self.thousands is not None:
            text = text.replace(self.thousands, "")
        if self.decimal != ".":
            if "." in text:
                return None
            text = text.replace(self.decimal, ".")
        return float(text) if _NUMBER.fullmatch(text) else None


def typed(name: str, cells: Cells, numerals: Numerals) -> Column:
    """A column of a text file, with its type guessed."""
    quick = cells.floats() if numerals.plain else None
    if quick is not None and not np.isnan(quick).all():
        return Column(name, "number", quick, cells)
    texts, codes = cells.distinct()
    stripped = [None if text is None or text.strip() in numerals.missing else text.strip() for text in texts]
    present = [text for text in stripped if text is not None]
    if not present:
        return Column(name, "empty", np.full(len(codes), np.nan), cells)
    numbers = [None if text is None else numerals.number(text) for text in stripped]
    n_numbers = len(numbers) - numbers.count(None)
    if n_numbers == len(present):
        values = np.array([math.nan if number is None else number for number in numbers])
        return Column(name, "number", values[codes], cells)
    column = category(name, stripped, codes, cells)
    if all(map(_DATE.fullmatch, present)):
        return replace(column, kind="date")
    odd = _odd(stripped, numbers, np.bincount(codes, minlength=len(texts)))
    return replace(column, kind="mixed", odd=odd) if odd else column


def category(name: str, texts: Sequence[str | None], codes: NDArray[np.intp], cells: Cells) -> Column:
    """A column of categories: distinct texts (None is a missing value), and for each row the position of its text."""
    levels = sorted({text for text in texts if text is not None})
    place: dict[str | None, int] = {text: i for i, text in enumerate(levels)}
    positions = np.array([place.get(text, -1) for text in texts], dtype=np.intp)
    kind: ColumnKind = "boolean" if {text.lower() for text in levels} <= {"true", "false"} else "text"
    return Column(name, kind, positions[codes], cells, tuple(levels))


def shown_number(value: float) -> str:
    """A number as short as it can be read back; a whole one without a point."""
    return f"{value:.0f}" if float(value).is_integer() and abs(value) < 1e15 else repr(float(value))


def _odd(texts: Sequence[str | None], numbers: Sequence[float | None], counts: NDArray[np.intp]) -> str:
    """What keeps a column from being numbers, if it seems to be meant as numbers; otherwise nothing."""
    others = [i for i, text in enumerate(texts) if text is not None and numbers[i] is None]
    written = [texts[i] or "" for i in others]
    if all(_DECIMAL_COMMA.fullmatch(text) or _GROUPED.fullmatch(text) for text in written):
        return _separated(written)
    n_numbers = int(sum(counts[i] for i, number in enumerate(numbers) if number is not None))
    n_others = int(counts[others].sum())
    if n_numbers <= n_others:
        return ""
    return (
        f"holds {n_numbers} numbers, and {n_others} cells that are no numbers (e.g. {written[0]!r}): correct them, "
        f"or say that {written[0]!r} means missing (--na), or that the column is text (--categorical)"
    )


def _separated(texts: Sequence[str]) -> str:
    """Numbers with separators: which options would read them."""
    example = f"holds numbers written like {texts[0]!r}: "
    marks = [match[1] for text in texts if (match := _GROUPED.fullmatch(text))]
    if len(marks) < len(texts) and set(marks) <= {","}:
        return example + "add --decimal , for a decimal comma"
    mark = repr(marks[0]) if marks[0].isspace() or marks[0] == "'" else marks[0]
    thousands = f"add --thousands {mark}" + (" --decimal ," if mark == "." else "")
    if mark == "," and all(text.count(",") == 1 and "." not in text for text in texts):
        return f"{example}{thousands} for thousands, or --decimal , for a decimal comma"
    return f"{example}{thousands}"
