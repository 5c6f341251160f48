"""Cells of text files: one rule says what a numeral, a gap, a boolean and a date is, in terms of distinct cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from dropstep.backends.content import MISSING
from dropstep.data.factor import DATES, Column, observed
from dropstep.wording import counted, quoted

MAX_MARKS = 100  # characters of the texts that a message suggests to read as missing
LAST_DOUBLE = 2**53 - 1  # the last integer up to which all are doubles
LONGEST_WHOLE = 309  # digits of the largest float

# Regular expressions of RE2, whose time is linear in the length of a text.
_NUMBER = r"(?i)\A[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?\z|\A[+-]?(?:inf|infinity)\z"
_NAN = r"(?i)\A[+-]?nan\z"
_BOOLEAN = r"(?i)\A(?:true|false)\z"
_FORM = r"\A[+-]?,?\d"  # of dates, and of numbers with other separators
_DATE = r"\A(?:\d{4}-\d\d?-\d\d?(?:[T ].*)?|\d{4}/\d\d?/\d\d?|\d\d?[./-]\d\d?[./-](?:\d\d){1,2})\z"
_DECIMAL_COMMA = r"(?i)\A[+-]?\d*,\d+(?:e[+-]?\d+)?\z"
_ONE_COMMA = r"\A[^,.]*,[^,.]*\z"
_GROUPED = {
    mark: rf"\A[+-]?\d{{1,3}}(?:{written}\d{{3}})+(?:[.,]\d+)?\z"
    for mark, written in {",": ",", ".": r"\.", "'": "'", " ": " ", "\u00a0": "\u00a0", "\u202f": "\u202f"}.items()
}

Kind = Literal["empty", "number", "boolean", "date", "text"]


@dataclass(frozen=True)
class Notation:
    """How numbers and missing values are written in a text file.

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
    def marks(self) -> list[str]:
        """The texts that mark a missing value, without bytes of the command line that no file contains."""
        return [mark for mark in self.missing if mark.encode(errors="ignore").decode() == mark]

    @cached_property
    def plain(self) -> bool:
        """Whether pyarrow can convert numbers by itself."""
        return self.thousands is None and not bool(_matches(pa.array(self.marks, pa.string()), _NUMBER).any())

    @cached_property
    def has_nan(self) -> bool:
        """Whether NaN marks a missing value, however it is written."""
        return "nan" in self.missing

    def numerals(self, texts: Any) -> Any:
        """Texts with the separators of Python; null where they are not those of the notation."""
        if self.thousands is not None:
            texts = pc.replace_substring(texts, self.thousands, "")
        if self.decimal == ".":
            return texts
        pointed = pc.match_substring(texts, ".")
        return pc.if_else(pointed, pa.scalar(None, pa.string()), pc.replace_substring(texts, self.decimal, "."))


@dataclass(frozen=True)
class Facts:
    """What is known of the cells of a column; the facts of all rows are the sum of those of their blocks.

    Attributes
    ----------
    n_values, n_numbers, n_whole, n_booleans, n_dates : int
        Number of cells that are not missing, and of those that are numbers, integers, true or false, and dates.
    n_plain : int
        Number of cells that are numbers with a decimal point.
    n_commas, n_grouped, n_single : int
        Number of cells that are numbers only with a decimal comma or a thousands separator, of those with a thousands
        separator, and of those with one comma and no point, which may be either.
    separators : tuple of str
        The thousands separators, in order.
    other, pointed : str
        The first cell that is not a number, and the first one with a decimal point.
    marks : frozenset of str
        Marks of missing values that occur.
    """

    n_values: int = 0
    n_numbers: int = 0
    n_whole: int = 0
    n_booleans: int = 0
    n_dates: int = 0
    n_plain: int = 0
    n_commas: int = 0
    n_grouped: int = 0
    n_single: int = 0
    separators: tuple[str, ...] = ()
    other: str = ""
    pointed: str = ""
    marks: frozenset[str] = frozenset()

    def __add__(self, after: Facts) -> Facts:
        counts: dict[str, Any] = {name: getattr(self, name) + getattr(after, name) for name in _COUNTS}
        return Facts(
            **counts,
            separators=tuple(dict.fromkeys(self.separators + after.separators)),
            other=self.other or after.other,
            pointed=self.pointed or after.pointed,
            marks=self.marks | after.marks,
        )

    @cached_property
    def kind(self) -> Kind:
        """The type of the column."""
        counts = {"empty": 0, "number": self.n_numbers, "boolean": self.n_booleans, "date": self.n_dates}
        kinds: list[Any] = [kind for kind, count in counts.items() if count == self.n_values]
        return kinds[0] if kinds else "text"

    def problem(self, name: str, notation: Notation) -> str:
        """Why a column of text seems to be meant as numbers, and what to do about it; empty if it is not."""
        if self.kind != "text":
            return ""
        n_others = self.n_values - self.n_numbers
        if notation.decimal != "." and self.n_plain == self.n_values:
            return f"holds numbers written like {quoted(self.pointed or self.other)}; omit decimal"
        if self.n_commas == n_others:
            return f"holds numbers written like {quoted(self.other)}; {self._separators()}"
        if self.n_numbers <= n_others:
            return ""
        marks = repr([self.other, *sorted(self.marks)])
        return (
            f"holds {counted(self.n_numbers, 'number')} and "
            f"{counted(n_others, 'cell that is not a number', 'cells that are not numbers')} (e.g. "
            f"{quoted(self.other)}); correct the file, mark it as missing (dropstep.read(file, na="
            f"{marks if len(marks) <= MAX_MARKS else '[...]'})), or use dropstep.read(file, categorical=[{name!r}]) to "
            "read the column as text"
        )

    def _separators(self) -> str:
        """The arguments with which the numbers can be read."""
        if self.n_grouped < self.n_commas and set(self.separators) <= {","}:
            return "use dropstep.read(file, decimal=',') for a decimal comma"
        thousands = self.separators[0]
        if thousands == "," and self.n_single == self.n_commas:
            return (
                "use dropstep.read(file, thousands=',') for thousands, or dropstep.read(file, decimal=',') for a "
                "decimal comma"
            )
        decimal = ", decimal=','" if thousands == "." else ""
        return f"use dropstep.read(file, thousands={thousands!r}{decimal})"


_COUNTS = tuple(name for name in Facts.__dataclass_fields__ if name.startswith("n_"))


class Texts:
    """Distinct texts, and what they represent.

    Parameters
    ----------
    raw : pyarrow.Array
        The texts.
    notation : Notation

    Attributes
    ----------
    is_gap, is_number, is_boolean : ndarray of bool
        Which texts mark a missing value, which are numbers, and which are true or false.
    values : ndarray
        The numbers, NaN where a text is none.
    """

    def __init__(self, raw: Any, notation: Notation) -> None:
        self._raw, self._notation = raw, notation
        self.trimmed = pc.utf8_trim_whitespace(raw)
        self.is_gap = _in(self.trimmed, notation.marks)
        if notation.has_nan:
            self.is_gap |= _matches(self.trimmed, _NAN)
        self._numerals = notation.numerals(self.trimmed)
        self.is_number = _matches(self._numerals, _NUMBER) & ~self.is_gap
        self.values = self._values()
        self.is_boolean = _matches(self.trimmed, _BOOLEAN) & ~self.is_gap

    def _values(self) -> NDArray[np.float64]:
        values = np.full(len(self.is_gap), np.nan)
        written = self._numerals.filter(pa.array(self.is_number))
        try:
            values[self.is_number] = pc.cast(written, pa.float64()).to_numpy(zero_copy_only=False)
        except pa.ArrowInvalid:
            values[self.is_number] = [float(text) for text in written.to_pylist()]
        return values

    @cached_property
    def is_whole(self) -> NDArray[np.bool_]:
        """Which texts are integers."""
        return is_whole(self.values)

    @cached_property
    def is_plain(self) -> NDArray[np.bool_]:
        """Which texts pyarrow reads as numbers or missing values."""
        return (self.is_number | _in(self._raw, self._notation.marks)) & ~_matches(self._raw, r"[^ -~]")

    @cached_property
    def forms(self) -> dict[str, NDArray[np.bool_]]:
        """Which texts are dates, and which are numbers with other separators, by the name of the count in `Facts`."""
        begins = np.flatnonzero(_matches(self.trimmed, _FORM) & ~self.is_gap)
        texts, number = self.trimmed.take(pa.array(begins)), self.is_number[begins]
        grouped = ~number & (self.separator[begins] >= 0)
        commas = grouped | (~number & _matches(texts, _DECIMAL_COMMA))
        found = {
            "n_dates": ~number & _matches(texts, _DATE),
            "n_plain": _matches(texts, _NUMBER),
            "n_commas": commas,
            "n_grouped": grouped,
            "n_single": commas & _matches(texts, _ONE_COMMA),
        }
        masks = {name: np.zeros(len(self.is_gap), dtype=bool) for name in found}
        for name, mask in found.items():
            masks[name][begins] = mask
        return masks

    @cached_property
    def separator(self) -> NDArray[np.intp]:
        """Which of the thousands separators a text has; -1 if it has none."""
        separator = np.full(len(self.is_gap), -1, dtype=np.intp)
        for place, pattern in enumerate(_GROUPED.values()):
            separator[_matches(self.trimmed, pattern)] = place
        return separator

    def text(self, place: int) -> str:
        """One of the texts, without blanks at its ends."""
        return str(self.trimmed[place].as_py())

    def level(self, place: int) -> int | float:
        """One of the numbers, an integer with all its digits."""
        text, value = str(self._numerals[place].as_py()), float(self.values[place])
        if not value.is_integer():
            return value
        return int(text) if len(text) <= LONGEST_WHOLE and text.lstrip("+-").isdecimal() else int(value)

    def stored(self, places: Any, dtype: Any) -> Any:
        """Some texts as an Arrow array; null where the place is."""
        return (self.trimmed if pa.types.is_string(dtype) else self._numerals).take(places).cast(dtype)


@dataclass(frozen=True, eq=False)
class Cells:
    """The cells of a column in a block of rows.

    Attributes
    ----------
    texts : Texts
        The distinct texts of the block.
    places : ndarray of int
        Those of the column.
    codes : ndarray of int
        For each row the index into `places`.
    """

    texts: Texts
    places: NDArray[np.intp]
    codes: NDArray[np.intp]

    @classmethod
    def of(cls, table: Any, notation: Notation) -> dict[str, Cells]:
        """The columns of a table of text, dictionary-encoded: each text of the table is looked at once."""
        encoded = {
            name: column.combine_chunks() for name, column in zip(table.column_names, table.columns, strict=True)
        }
        if not encoded:
            return {}
        together = pa.concat_arrays([column.dictionary for column in encoded.values()]).dictionary_encode()
        texts, places = Texts(together.dictionary, notation), together.indices.to_numpy().astype(np.intp)
        ends = np.cumsum([len(column.dictionary) for column in encoded.values()]).tolist()
        return {
            name: cls(texts, places[end - len(column.dictionary) : end], column.indices.to_numpy().astype(np.intp))
            for (name, column), end in zip(encoded.items(), ends, strict=True)
        }

    def facts(self) -> Facts:
        """What is known of the cells."""
        texts, at, counts = self.texts, self.places, np.bincount(self.codes, minlength=len(self.places))

        def n(mask: NDArray[np.bool_]) -> int:
            return int(counts[mask].sum())

        gap, number = texts.is_gap[at], texts.is_number[at]
        other = ~(gap | number)
        marks = frozenset(map(texts.text, at[gap].tolist()))
        found: dict[str, Any] = {
            "n_values": n(~gap),
            "n_numbers": n(number),
            "n_whole": n(texts.is_whole[at]),
            "marks": marks,
        }
        if not other.any():
            return Facts(**found)
        found |= {name: n(mask[at]) for name, mask in texts.forms.items()}
        separators = dict.fromkeys(texts.separator[at[other]].tolist()) if found["n_grouped"] else {}
        pointed = np.flatnonzero(texts.forms["n_plain"][at] & other)
        return Facts(
            **found,
            n_booleans=n(texts.is_boolean[at]),
            separators=tuple(list(_GROUPED)[place] for place in separators if place >= 0),
            other=texts.text(int(at[np.argmax(other)])),
            pointed=next((text for text in map(texts.text, at[pointed].tolist()) if "." in text), ""),
        )

    @property
    def numbers(self) -> NDArray[np.float64]:
        """The cells as numbers, NaN where they are none."""
        return self.texts.values[self.places][self.codes]

    @property
    def are_plain(self) -> bool:
        """Whether pyarrow reads the cells as numbers and missing values."""
        return bool(self.texts.is_plain[self.places].all())

    def loses_digits(self) -> bool:
        """Whether an integer is not representable in double precision."""
        long = self.places[np.abs(self.texts.values[self.places]) > LAST_DOUBLE]
        levels = map(self.texts.level, long[np.isfinite(self.texts.values[long])].tolist())
        return any(isinstance(level, int) and level != float(level) for level in levels)

    def column(self, kind: str, *, declared: bool) -> Column:
        """The cells as a column of a type; `declared` makes categories of numbers and dates."""
        if kind in ("number", "empty") and not declared:
            return self.numbers
        if kind == "date" and not declared:
            return DATES
        gap = self.texts.is_gap[self.places]
        if kind == "boolean":
            truth = _matches(self.texts.trimmed.take(pa.array(self.places)), "(?i)true")
            values = np.where(gap, -1, truth)[self.codes]
            return values.astype(bool) if (values >= 0).all() else observed(values, (False, True), declared=True)
        level = self.texts.level if kind == "number" else self.texts.text
        place: dict[Any, int] = {}
        merged = [
            -1 if absent else place.setdefault(level(at), len(place))
            for at, absent in zip(self.places.tolist(), gap.tolist(), strict=True)
        ]
        return observed(np.array(merged, dtype=np.intp)[self.codes], list(place), declared=declared)

    def stored(self, dtype: Any) -> Any:
        """The cells as an Arrow array: numbers, or text without blanks at its ends."""
        if pa.types.is_floating(dtype):
            return pa.array(self.numbers, dtype, from_pandas=True)
        places = self.places[self.codes]
        return self.texts.stored(pa.array(places, mask=self.texts.is_gap[places]), dtype)


def is_whole(values: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which numbers are integers."""
    return np.asarray(np.isfinite(values) & (values == np.floor(values)), dtype=bool)


def n_numerals(texts: Sequence[str]) -> int:
    """How many texts are numbers."""
    return int(_matches(pa.array(texts, pa.string()), _NUMBER).sum())


def _matches(texts: Any, pattern: str) -> NDArray[np.bool_]:
    """Whether texts match a regular expression; false where they are null."""
    found = pc.match_substring_regex(texts, pattern).fill_null(False)
    return np.asarray(found.to_numpy(zero_copy_only=False), dtype=bool)


def _in(texts: Any, marks: Sequence[str]) -> NDArray[np.bool_]:
    found = pc.is_in(texts, value_set=pa.array(marks, pa.string()))
    return np.asarray(found.to_numpy(zero_copy_only=False), dtype=bool)
