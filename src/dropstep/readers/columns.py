"""Columns of a file, with their types inferred from the distinct cells."""

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
MISSING = ("", "NA", "N/A", "NaN", "nan", "null", "NULL", "None", "#N/A", "#NA", "<NA>", "n/a", "?", ".")

# Possessive, so that the time is linear in the length of a text.
_NUMBER = re.compile(r"[+-]?(?:\d++\.?\d*+|\.\d++)(?:[eE][+-]?\d++)?|[+-]?(?:inf|infinity)", re.ASCII | re.IGNORECASE)
_WHOLE = re.compile(r"[+-]?\d{1,309}", re.ASCII)  # no longer than the largest float
_DATE = re.compile(r"\d{4}-\d\d?-\d\d?(?:[T ].*)?|\d{4}/\d\d?/\d\d?|\d\d?[./-]\d\d?[./-](?:\d\d){1,2}", re.ASCII)
_GROUPED = re.compile(r"[+-]?\d{1,3}([,.'\s])\d{3}(?:\1\d{3})*(?:[.,]\d+)?", re.ASCII)
_DECIMAL_COMMA = re.compile(r"[+-]?\d*,\d+(?:[eE][+-]?\d+)?", re.ASCII)


class Cells(Protocol):
    """The cells of one column as they are in the file."""

    def floats(self) -> NDArray[np.float64] | None:
        """All cells as numbers, or None if they cannot be converted at once."""
        ...

    def distinct(self) -> tuple[list[str | None], NDArray[np.intp]]:
        """The distinct texts (None for a null), and for each row the index of its text."""
        ...

    def original(self) -> list[Any]:
        """The values as they are in the file."""
        ...


@dataclass(frozen=True, eq=False)
class Texts:
    """Cells of a text file."""

    cells: Sequence[str]

    def floats(self) -> None:
        return None

    def distinct(self) -> tuple[list[str | None], NDArray[np.intp]]:
        place: dict[str | None, int] = {}
        codes = [place.setdefault(cell, len(place)) for cell in self.cells]
        return list(place), np.array(codes, dtype=np.intp)

    def original(self) -> list[Any]:
        return list(self.cells)


@dataclass(frozen=True)
class NumberFormat:
    """Numbers of a text file that need other separators.

    Attributes
    ----------
    example : str
        A cell.
    decimal, thousands : str or None
        The separators with which the cells are numbers; None is the current one.
    ambiguous : bool
        Whether the comma may be either separator.
    """

    example: str
    decimal: str | None = None
    thousands: str | None = None
    ambiguous: bool = False


@dataclass(frozen=True)
class MixedCells:
    """A column of numbers with a few cells that are neither numbers nor missing.

    Attributes
    ----------
    example : str
        A cell that is not a number.
    n_numbers, n_others : int
        Number of cells that are numbers, and of the others.
    missing : tuple of str
        Texts of the column that mark missing values.
    """

    example: str
    n_numbers: int
    n_others: int
    missing: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Column:
    """One column of a file.

    Attributes
    ----------
    name : str
        Name, distinct from those of the other columns.
    kind : {"number", "text", "boolean", "date", "empty", "mixed", "other"}
        "text" and "boolean" are categorical; "date" and "other" cannot be features; "empty" has missing values only;
        "mixed" is meant as numbers but cannot be read as such, see `problem`.
    values : ndarray
        Numbers, NaN where missing; with `levels`, the index of the level of each row, -1 where missing.
    cells : Cells
        The cells as they are in the file.
    levels : tuple of str
        Sorted distinct values of a column that is not numeric.
    problem : NumberFormat, MixedCells or None
        Why a mixed column is not numeric.
    """

    name: str
    kind: ColumnKind
    values: NDArray[Any]
    cells: Cells
    levels: tuple[str, ...] = ()
    problem: NumberFormat | MixedCells | None = None

    @property
    def is_category(self) -> bool:
        """Whether the column is categorical."""
        return self.kind in ("text", "boolean")

    @property
    def missing(self) -> NDArray[np.bool_]:
        """Rows without a value."""
        return self.values < 0 if self.levels else np.isnan(self.values)

    @property
    def infinite(self) -> NDArray[np.bool_]:
        """Rows whose number is infinite, or too large for double precision."""
        return np.zeros(len(self.values), dtype=bool) if self.levels else np.isinf(self.values)

    @cached_property
    def loses_digits(self) -> bool:
        """Whether an integer of the column is not representable in double precision."""
        if self.kind != "number" or not (np.abs(self.values) > 2**53 - 1).any():
            return False
        texts = (text.strip() for text in self.cells.distinct()[0] if text is not None)
        wholes = (text for text in texts if _WHOLE.fullmatch(text) and math.isfinite(float(text)))
        return any(int(text) != int(float(text)) for text in wholes)

    def at(self, rows: NDArray[np.bool_]) -> Column:
        """Some rows of the column, with the levels that occur there."""
        values = self.values[rows]
        if not self.levels:
            return replace(self, values=values)
        present = np.unique(values[values >= 0])
        codes = np.full(len(self.levels) + 1, -1, dtype=np.intp)
        codes[present] = np.arange(len(present))
        return replace(self, values=codes[values], levels=tuple(self.levels[i] for i in present))

    def as_category(self) -> Column:
        """The column as categories, one level per distinct value."""
        if self.levels:
            return replace(self, kind="text", problem=None)
        if self.kind != "number":
            return self
        if self.loses_digits:
            return self._by_text()
        present = ~np.isnan(self.values)
        numbers, places = np.unique(self.values[present], return_inverse=True)
        codes = np.full(len(self.values), -1, dtype=np.intp)
        codes[present] = places
        return Column(self.name, "text", codes, self.cells, tuple(map(shown_number, numbers.tolist())))

    def _by_text(self) -> Column:
        """The column as categories, one level per distinct text."""
        texts, codes = self.cells.distinct()
        found = category(self.name, [text and text.strip() for text in texts], codes, self.cells)
        values = np.where(self.missing, -1, found.values)
        return replace(found, kind="text", values=values).at(np.ones(len(values), dtype=bool))


@dataclass(frozen=True)
class Numerals:
    """Format of numbers and missing values in a text file.

    Attributes
    ----------
    decimal : str
        Decimal separator.
    thousands : str or None
        Thousands separator.
    missing : tuple of str
        Texts that mark a missing value.
    """

    decimal: str = "."
    thousands: str | None = None
    missing: tuple[str, ...] = MISSING

    @cached_property
    def plain(self) -> bool:
        """Whether the format is the usual one, which pyarrow reads."""
        return self.decimal == "." and self.thousands is None and not any(map(_NUMBER.fullmatch, self.missing))

    def number(self, text: str) -> float | None:
        """Convert a text to a number; None if it is not one."""
        if self.thousands is not None:
            text = text.replace(self.thousands, "")
        if self.decimal != ".":
            if "." in text:
                return None
            text = text.replace(self.decimal, ".")
        return float(text) if _NUMBER.fullmatch(text) else None


def typed(name: str, cells: Cells, numerals: Numerals) -> Column:
    """Make a column of a text file, and infer its type."""
    quick = cells.floats() if numerals.plain else None
    if quick is not None:
        absent = np.isnan(quick)
        if not absent.any() or (numerals.missing == MISSING and not absent.all()):
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
    marks = {text.strip() for text in texts if text is not None and text.strip() in numerals.missing}
    if numerals.decimal != "." and all(map(_NUMBER.fullmatch, present)):
        return replace(column, kind="mixed", problem=NumberFormat(_first_with_point(present), decimal="."))
    problem = _problem(stripped, numbers, np.bincount(codes, minlength=len(texts)), sorted(marks))
    return replace(column, kind="mixed", problem=problem) if problem else column


def _first_with_point(texts: Sequence[str]) -> str:
    """The first text with a decimal point."""
    return next((text for text in texts if "." in text), texts[0])


def category(name: str, texts: Sequence[str | None], codes: NDArray[np.intp], cells: Cells) -> Column:
    """Make a categorical column from distinct texts (None if missing) and, for each row, the index of its text."""
    levels = sorted({text for text in texts if text is not None})
    place: dict[str | None, int] = {text: i for i, text in enumerate(levels)}
    positions = np.array([place.get(text, -1) for text in texts], dtype=np.intp)
    kind: ColumnKind = "boolean" if {text.lower() for text in levels} <= {"true", "false"} else "text"
    return Column(name, kind, positions[codes], cells, tuple(levels))


def shown_number(value: float) -> str:
    """The shortest text that reads back as the number; integers without a decimal point."""
    return f"{value:.0f}" if float(value).is_integer() and abs(value) < 1e15 else repr(float(value))


def _problem(
    texts: Sequence[str | None],
    numbers: Sequence[float | None],
    counts: NDArray[np.intp],
    missing: Sequence[str],
) -> NumberFormat | MixedCells | None:
    """Why a column that seems to be meant as numbers is not numeric; None if it seems to be text."""
    others = [i for i, text in enumerate(texts) if text is not None and numbers[i] is None]
    written = [texts[i] or "" for i in others]
    if all(_DECIMAL_COMMA.fullmatch(text) or _GROUPED.fullmatch(text) for text in written):
        return _number_format(written)
    n_numbers = int(sum(counts[i] for i, number in enumerate(numbers) if number is not None))
    n_others = int(counts[others].sum())
    return MixedCells(written[0], n_numbers, n_others, tuple(missing)) if n_numbers > n_others else None


def _number_format(texts: Sequence[str]) -> NumberFormat:
    """The separators with which numbers can be read."""
    marks = [match[1] for text in texts if (match := _GROUPED.fullmatch(text))]
    if len(marks) < len(texts) and set(marks) <= {","}:
        return NumberFormat(texts[0], decimal=",")
    ambiguous = marks[0] == "," and all(text.count(",") == 1 and "." not in text for text in texts)
    return NumberFormat(texts[0], "," if marks[0] == "." else None, marks[0], ambiguous)
