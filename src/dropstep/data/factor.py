"""Factors: categorical columns as codes and levels, and what Python objects in a column represent."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, time, timedelta
from enum import Enum
from typing import Any

import numpy as np
from numpy.typing import NDArray

# Possessive, so that the time is linear in the length of a text.
_GROUPED = re.compile(
    r"[+-]?(?:\d{1,3}(?:([,.'\s])\d{3})(?:\1\d{3})*+(?:[.,]\d+)?|\d*+,\d+(?:[eE][+-]?\d+)?)", re.ASCII
)
_DATE = re.compile(r"\d{4}-\d\d?-\d\d?(?:[T ].*)?|\d{4}/\d\d?/\d\d?|\d\d?[./-]\d\d?[./-](?:\d\d){1,2}", re.ASCII)

TIMES = (date, time, timedelta, np.datetime64, np.timedelta64)


class Level(Enum):
    """Levels that no value of a column can equal."""

    MISSING = "missing"

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True, eq=False)
class Factor:
    """A categorical column.

    Attributes
    ----------
    codes : ndarray of shape (n_samples,)
        Index into `levels` for each row; -1 where the value is missing.
    levels : tuple
        Distinct values, in order; every one occurs.
    declared : bool
        Whether the type of the column is categorical, rather than text.
    """

    codes: NDArray[np.intp]
    levels: tuple[Any, ...]
    declared: bool = True

    @property
    def missing(self) -> NDArray[np.bool_]:
        """Rows without a value."""
        return self.codes < 0

    def at(self, rows: NDArray[Any]) -> Factor:
        """Some rows of the column, with the levels that occur there."""
        return observed(self.codes[rows], self.levels, declared=self.declared)

    def with_missing_level(self) -> Factor:
        """Missing values as a level of their own, the last one."""
        if not self.missing.any():
            return self
        codes = np.where(self.missing, len(self.levels), self.codes)
        return Factor(codes, (*self.levels, Level.MISSING), self.declared)


@dataclass(frozen=True)
class Unusable:
    """A column that cannot be a feature.

    Attributes
    ----------
    what : str
        What the column contains.
    advice : str
        What to do about it.
    example : object
        One of the values; None if it would not help.
    problem : str
        What the reader of a file says about the column instead; empty if it says nothing.
    """

    what: str
    advice: str
    example: Any = None
    problem: str = ""


DATES = Unusable(
    "dates or times", "convert them to numbers, e.g. days since a reference date, or exclude these columns"
)
OBJECTS = Unusable("lists or other objects", "convert them to numbers or text, or exclude these columns")

Column = NDArray[Any] | Factor | Unusable


def observed(codes: NDArray[np.intp], levels: Sequence[Any], *, declared: bool) -> Factor:
    """A factor with the levels that occur, in the given order."""
    counts = np.bincount(codes[codes >= 0], minlength=len(levels))
    if counts.all():
        return Factor(codes, tuple(levels), declared)
    position = np.append(np.where(counts > 0, np.cumsum(counts > 0) - 1, -1), -1)
    return Factor(position[codes], tuple(level for level, count in zip(levels, counts, strict=True) if count), declared)


def factor_of(values: Iterable[Any], order: Sequence[Any] | None = None, *, declared: bool = True) -> Factor:
    """The factor of a column of hashable values.

    Parameters
    ----------
    values : iterable
        One value per row.
    order : sequence or None, default=None
        All levels in their order; None sorts the values.
    declared : bool, default=True
        See `Factor`.

    Returns
    -------
    Factor
    """
    return _factor(*_distinct(values), order, declared=declared)


def _factor(distinct: list[Any], codes: NDArray[np.intp], order: Sequence[Any] | None, *, declared: bool) -> Factor:
    """The factor of a column from its distinct values, and for each row the index of its value."""
    levels = list(order) if order is not None else sorted_levels([value for value in distinct if not is_missing(value)])
    place = {level: i for i, level in enumerate(levels)}
    position = np.array([-1 if is_missing(value) else place[value] for value in distinct], dtype=np.intp)
    return observed(position[codes], levels, declared=declared)


def joined(parts: Sequence[Column], order: Sequence[Any] | None = None) -> Column:
    """A column from those of consecutive rows: numbers, or a factor with the levels of all parts.

    Parameters
    ----------
    parts : sequence of ndarray, Factor or Unusable
    order : sequence or None, default=None
        All levels in their order; None sorts them.

    Returns
    -------
    ndarray, Factor or Unusable
    """
    if unusable := [part for part in parts if isinstance(part, Unusable)]:
        return unusable[0]
    usable = [part for part in parts if not isinstance(part, Unusable)]
    arrays = [part for part in usable if isinstance(part, np.ndarray)]
    if len(arrays) == len(parts):
        return np.concatenate(arrays)
    factors = [_as_factor(part) for part in usable if isinstance(part, Factor) or part.dtype == bool]
    if len(factors) < len(parts):
        raise ValueError("a column has numbers in some blocks of rows, and text in others; convert it to one type")
    levels = list(dict.fromkeys(level for factor in factors for level in factor.levels))
    levels = in_order(levels, order)
    place = {level: i for i, level in enumerate(levels)}
    codes = [np.array([*(place[level] for level in f.levels), -1], dtype=np.intp)[f.codes] for f in factors]
    return observed(np.concatenate(codes), levels, declared=all(factor.declared for factor in factors))


def _as_factor(column: Factor | NDArray[Any]) -> Factor:
    """A factor as it is; booleans as a factor, because other rows have no value."""
    return column if isinstance(column, Factor) else observed(column.astype(np.intp), (False, True), declared=True)


def column_of(values: Sequence[Any]) -> Column:
    """What the Python objects of a column represent: numbers, or the levels of a factor; raises for other objects."""
    try:
        distinct, codes = _distinct(values)
    except TypeError:  # not hashable, so neither numbers nor text
        return _floats(values)
    present = [value for value in distinct if not is_missing(value)]
    if any(isinstance(value, TIMES) for value in present):
        return DATES
    if text := [value for value in present if isinstance(value, str | bytes)]:
        if len(text) < len(present):
            other = next(value for value in present if not isinstance(value, str | bytes))
            advice = "convert all values of a column to text, or to numbers"
            return Unusable(f"both text and other values (such as {other!r})", advice, text[0])
        return _factor(distinct, codes, None, declared=False)
    if len(present) < len(distinct) and present and all(isinstance(value, bool | np.bool_) for value in present):
        return _factor(distinct, codes, None, declared=True)
    return _floats(values)


def numerals_as_text(numeral: Any, other: Any) -> Unusable:
    """A text column most of whose values are numbers, with examples of both."""
    replace = "" if other is None else f"replace what is not a number (such as {other!r}) and "
    advice = f"{replace}convert them, e.g. with astype(float), or to a categorical type if they are labels"
    return Unusable("numbers stored as text", advice, numeral)


def is_numeral(text: str | bytes) -> bool:
    """Whether a text is a number, with or without separators of thousands or a decimal comma."""
    try:
        float(text)
    except ValueError:
        return _GROUPED.fullmatch(_decoded(text)) is not None
    return True


def is_date(text: str | bytes) -> bool:
    """Whether a text is a date, such as 2020-01-31, 31.1.2020 or 2020-01-31T12:00."""
    return _DATE.fullmatch(_decoded(text)) is not None


def _decoded(text: str | bytes) -> str:
    return text.decode("latin-1") if isinstance(text, bytes) else text


def _floats(values: Sequence[Any]) -> NDArray[np.float64]:
    """Objects as numbers, NaN where missing."""
    return np.array([np.nan if is_missing(value) else float(value) for value in values])


def _distinct(values: Iterable[Any]) -> tuple[list[Any], NDArray[np.intp]]:
    """The distinct values by first occurrence, and for each row the index of its value."""
    place: dict[Any, int] = {}
    codes = [place.setdefault(value, len(place)) for value in values]
    return list(place), np.array(codes, dtype=np.intp)


def in_order(levels: Iterable[Any], order: Sequence[Any] | None) -> list[Any]:
    """Levels in a declared order, those that it lacks last; sorted if there is none."""
    present = set(levels)
    known = [] if order is None else [level for level in order if level in present]
    return [*known, *sorted_levels(present.difference(known))]


def sorted_levels(values: Iterable[Any]) -> list[Any]:
    try:
        return sorted(values)
    except TypeError:  # values of several types
        return sorted(values, key=repr)


def is_missing(value: Any) -> bool:
    """True for None, NaN, NaT and pandas.NA."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return bool(np.isscalar(value) and value != value)
