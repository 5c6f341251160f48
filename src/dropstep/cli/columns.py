"""The columns of a file as commands use them: with their types, values, and cells as they are in the file."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from dropstep.backends import read
from dropstep.backends.content import ReadError
from dropstep.cli.naming import in_options
from dropstep.data.factor import Column as AnyColumn
from dropstep.data.factor import Factor, Unusable
from dropstep.data.frame import Frame
from dropstep.data.source import ColumnType

ColumnKind = Literal["number", "text", "boolean", "date", "empty", "mixed", "other"]
KINDS: dict[str, ColumnKind] = {
    "number": "number",
    "boolean": "boolean",
    "factor": "text",
    "date": "date",
    "object": "other",
}


@dataclass(frozen=True, eq=False)
class Column:
    """One column of a file.

    Attributes
    ----------
    name : str
        Name, distinct from those of the other columns.
    kind : {"number", "text", "boolean", "date", "empty", "mixed", "other"}
        "text" and "boolean" are categorical; "date" and "other" cannot be features; "empty" has missing values only;
        "mixed" is meant as numbers but cannot be read as such.
    values : ndarray
        Numbers, NaN where missing; with `levels`, the index of the level of each row, -1 where missing.
    source : ArrowSource
        The file.
    levels : tuple of str
        Sorted distinct values of a column that is not numeric.
    """

    name: str
    kind: ColumnKind
    values: NDArray[Any]
    source: Any = field(repr=False)
    levels: tuple[str, ...] = ()

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

    def original(self) -> list[Any]:
        """The values as they are in the file."""
        return [row[0] for row in original_rows(self.source, (self.name,))]


def open_source(args: argparse.Namespace) -> Any:
    """The file that the options describe, as a source."""
    try:
        return read(
            args.file,
            separator=args.separator,
            decimal=args.decimal,
            thousands=args.thousands,
            encoding=args.encoding,
            header=not args.no_header,
            skip=args.skip,
            transpose=args.transpose,
            na=args.na,
        )
    except (ReadError, ImportError) as error:
        raise ValueError(in_options(str(error))) from error


def column_names(file: str) -> tuple[str, ...]:
    """Names of the columns of a file."""
    try:
        return read(file).names
    except (ReadError, ImportError) as error:
        raise ValueError(in_options(str(error))) from error


def columns_of(
    source: Any, types: Sequence[ColumnType], used: Sequence[int], categorical: Sequence[int]
) -> list[Column]:
    """The columns of a source, with the values of those that are used; `categorical` are read as categories."""
    names = tuple(column.name for column in types)
    source.restrict(names, [names[j] for j in categorical])
    frame = source.rows([names[j] for j in used]) if used else Frame((), 0, ())
    columns = frame.columns if isinstance(frame, Frame) else frame.values.T
    values: dict[int, AnyColumn] = dict(zip(used, columns, strict=True))
    return [_column(source, column, values.get(j), j in categorical) for j, column in enumerate(types)]


def _column(source: Any, column: ColumnType, values: AnyColumn | None, is_category: bool) -> Column:
    kind: ColumnKind = "text" if is_category else "mixed" if column.problem else KINDS[column.kind]
    if values is None or isinstance(values, Unusable):
        return Column(column.name, kind, np.zeros(0), source)
    if isinstance(values, Factor):
        if not values.levels:
            return Column(column.name, "empty", np.full(len(values.codes), np.nan), source)
        return Column(column.name, kind, values.codes, source, tuple(map(shown_level, values.levels)))
    if kind == "boolean":
        found, codes = np.unique(values.astype(bool), return_inverse=True)
        return Column(column.name, kind, codes, source, tuple(map(str, found.tolist())))
    numbers = values if values.dtype.kind == "i" else np.asarray(values, dtype=np.float64)
    return Column(column.name, "empty" if np.isnan(numbers).all() else kind, numbers, source)


def shown_level(value: Any) -> str:
    """A level in words."""
    return shown_number(value) if isinstance(value, float) else str(value)


def shown_number(value: float) -> str:
    """The shortest text that reads back as the number; integers without a decimal point."""
    return f"{value:.0f}" if float(value).is_integer() and abs(value) < 1e15 else repr(float(value))


def original_rows(source: Any, names: Sequence[str]) -> Iterator[tuple[Any, ...]]:
    """The rows of some columns as they are in the file."""
    for batch in source.originals(tuple(names)):
        yield from zip(*map(_objects, batch.columns), strict=True)


def _objects(cells: Any) -> list[Any]:
    try:
        return list(cells.to_pylist())
    except (OverflowError, ValueError):  # times beyond the years or the time zones that Python knows
        return [value.value for value in cells]
