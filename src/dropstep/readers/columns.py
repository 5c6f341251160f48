"""Columns: the type of each is guessed from its cells, by looking at every distinct text once."""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from dropstep.readers.wording import counted, quoted

ColumnKind = Literal["number", "text", "boolean", "date", "empty", "mixed", "other"]
MOST_ADVICE = 100  # characters of options in a hint
MISSING = ("", "NA", "N/A", "NaN", "nan", "null", "NULL", "None", "?", ".")

_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|[+-]?(?:inf|infinity)", re.ASCII | re.IGNORECASE)
_WHOLE = re.compile(r"[+-]?\d{1,309}", re.ASCII)  # no longer than the largest float
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
        """Rows without a value."""
        return self.values < 0 if self.levels else np.isnan(self.values)

    @property
    def infinite(self) -> NDArray[np.bool_]:
        """Rows whose number is infinite, or too large for a float."""
        return np.zeros(len(self.values), dtype=bool) if self.levels else np.isinf(self.values)

    @cached_property
    def loses_digits(self) -> bool:
        """Whether a whole number of the column differs from its float, as long identifiers do."""
        if self.kind != "number" or not (np.abs(self.values) > 2**53 - 1).any():
            return False
        texts = (text.strip() for text in self.cells.distinct()[0] if text is not None)
        wholes = (text for text in texts if _WHOLE.fullmatch(text) and math.isfinite(float(text)))
        return any(int(text) != int(float(text)) for text in wholes)

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
        if self.loses_digits:
            return self._by_text()
        present = ~np.isnan(self.values)
        numbers, places = np.unique(self.values[present], return_inverse=True)
        codes = np.full(len(self.values), -1, dtype=np.intp)
        codes[present] = places
        return Column(self.name, "text", codes, self.cells, tuple(map(shown_number, numbers.tolist())))

    def _by_text(self) -> Column:
        """The same column with every distinct text a category."""
        texts, codes = self.cells.distinct()
        found = category(self.name, [text and text.strip() for text in texts], codes, self.cells)
        values = np.where(self.missing, -1, found.values)
        return replace(found, kind="text", values=values).at(np.ones(len(values), dtype=bool))


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
        written = f"holds numbers written like {quoted(_pointed(present))}"
        return replace(column, kind="mixed", odd=f"{written}, but --decimal is {numerals.decimal!r}; omit --decimal")
    odd = _odd(stripped, numbers, np.bincount(codes, minlength=len(texts)), sorted(marks))
    return replace(column, kind="mixed", odd=odd) if odd else column


def _pointed(texts: Sequence[str]) -> str:
    """The first text with a decimal point."""
    return next((text for text in texts if "." in text), texts[0])


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


def _odd(
    texts: Sequence[str | None],
    numbers: Sequence[float | None],
    counts: NDArray[np.intp],
    absent: Sequence[str],
) -> str:
    """What keeps a column from being numbers, if it seems to be meant as numbers; otherwise nothing.

    The advice to use --na names what stands for a missing value already (`absent`), because --na replaces it.
    """
    others = [i for i, text in enumerate(texts) if text is not None and numbers[i] is None]
    written = [texts[i] or "" for i in others]
    if all(_DECIMAL_COMMA.fullmatch(text) or _GROUPED.fullmatch(text) for text in written):
        return _separated(written)
    n_numbers = int(sum(counts[i] for i, number in enumerate(numbers) if number is not None))
    n_others = int(counts[others].sum())
    if n_numbers <= n_others:
        return ""
    marks = " ".join(f"--na {shlex.quote(text)}" for text in (written[0], *absent))
    return (
        f"holds {counted(n_numbers, 'number')} and "
        f"{counted(n_others, 'cell that is not a number', 'cells that are not numbers')} (e.g. {quoted(written[0])}); "
        f"correct the file, mark it as missing ({marks if len(marks) <= MOST_ADVICE else '--na TEXT'}), "
        "or use --categorical to read the column as text"
    )


def _separated(texts: Sequence[str]) -> str:
    """Numbers with separators: which options would read them."""
    example = f"holds numbers written like {quoted(texts[0])}; "
    marks = [match[1] for text in texts if (match := _GROUPED.fullmatch(text))]
    if len(marks) < len(texts) and set(marks) <= {","}:
        return example + "add --decimal , for a decimal comma"
    mark = repr(marks[0]) if marks[0].isspace() or marks[0] == "'" else marks[0]
    thousands = f"add --thousands {mark}" + (" --decimal ," if mark == "." else "")
    if mark == "," and all(text.count(",") == 1 and "." not in text for text in texts):
        return f"{example}{thousands} for thousands, or --decimal , for a decimal comma"
    return f"{example}{thousands}"
