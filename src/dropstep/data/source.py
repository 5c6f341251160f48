"""The seam between where a table is and the library: a source, which has typed columns and blocks of rows.

A table in memory is a source of one block, which is not copied.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from dropstep.atomic import free_memory
from dropstep.data.factor import DATES, Column, Factor, Unusable, joined
from dropstep.data.frame import Frame
from dropstep.data.threads import one_thread

Kind = Literal["number", "boolean", "factor", "date", "object"]
SIZE_VARIABLE = "DROPSTEP_LARGE_FILE"  # environment variable: bytes of a table from which on it is read in blocks
MEMORY_SHARE = 1 / 32  # of the free memory that a table may take: text that is read takes up to eight times its size
MAX_EXACT = 2.0**53  # integers up to which double precision represents all
WIDE = 256  # columns from which on the products of a block justify several threads

RowReport = Callable[[int, "int | None"], object]


class TypesChangedError(ValueError):
    """Rows contradict the types that the first ones suggest; now `Source.columns` are those of all rows: read again."""


@dataclass(frozen=True)
class ColumnType:
    """Name and type of a column of a source.

    Attributes
    ----------
    name : str
    kind : {"number", "boolean", "factor", "date", "object"}
        "factor" is text or categories; "date" (dates and times) and "object" (lists and the like) cannot be features.
    whole : bool, default=False
        Whether the numbers are integers by their type, so that class labels are.
    order : tuple or None, default=None
        All levels in their order, where the type has one; None sorts the levels.
    problem : str, default=""
        Why a column of text seems to be meant as numbers, and what to do about it, in a sentence without its end; empty
        if it does not.
    """

    name: str
    kind: Kind
    whole: bool = False
    order: tuple[Any, ...] | None = None
    problem: str = ""


@dataclass(frozen=True)
class Origin:
    """Where a block comes from, for messages.

    Attributes
    ----------
    name : str
        A file, a partition or the like; may be empty.
    first : int
        Number of rows of it before the block.
    """

    name: str = ""
    first: int = 0

    def row(self, index: int) -> str:
        """A row of the block in words, counted from 1."""
        return f"{self.name}{', ' if self.name else ''}row {self.first + index + 1}"


UNKNOWN = Origin()


@dataclass(frozen=True, eq=False)
class Block:
    """Some rows of a source.

    Attributes
    ----------
    frame : Frame
        The columns that were requested, in that order: numbers (NaN where missing), booleans, and factors with the
        levels that occur in the block.
    origin : Origin
    incomplete : ndarray of bool of shape (n_rows,) or None
        Rows that lack a value which is not in a column, such as a target that was passed as an array.
    """

    frame: Frame
    origin: Origin = UNKNOWN
    incomplete: NDArray[np.bool_] | None = None


class Sum(Protocol):
    """A partial result: the sum of those of two sets of rows is that of their union, in any order."""

    def __add__(self, other: Any) -> Any: ...


T = TypeVar("T", bound=Sum)
Found = TypeVar("Found")
Partial = Callable[[Block], T]


class Source(ABC):
    """A table that is read in blocks of rows.

    A backend implements `columns` and `reduce`. The functions that are applied to blocks are frozen dataclasses of this
    package with ``__call__``, and their results have ``+``; both can be pickled, so that they can be sent to workers.
    Results do not depend on how the rows are divided into blocks, or on the order of additions.

    Attributes
    ----------
    named : bool
        Whether the columns have names of their own; otherwise those of features are not shown.
    can_reread : bool
        Whether the rows can be read more than once.
    notes : tuple of str
        Warnings of the reader, one sentence each.
    rounded : frozenset of str
        Columns of integers that double precision does not represent, as far as they were read.
    n_passes : int
        Number of passes over the rows so far.
    report : callable or None
        Called while rows are read with the number of rows of this pass so far, and an estimate of those remaining
        (None if it is unknown).
    """

    named: bool = True
    can_reread: bool = True
    notes: tuple[str, ...] = ()
    rounded: frozenset[str] = frozenset()

    def __init__(self) -> None:
        self.n_passes = 0
        self.report: RowReport | None = None

    @property
    @abstractmethod
    def columns(self) -> tuple[ColumnType, ...]:
        """Names and types of all columns."""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all columns."""
        return tuple(column.name for column in self.columns)

    @property
    def n_bytes(self) -> int | None:
        """Size of the rows, uncompressed; None if it is unknown, so that they are read in blocks."""
        return None

    @property
    def shown(self) -> str:
        """What the source is, in messages."""
        return "X"

    def confirm(self, columns: Sequence[str]) -> None:  # noqa: B027 - most sources know their types
        """Find the types of all rows where one of the columns seems to be meant as numbers, but has other cells."""

    def total(self, partial: Partial[T], columns: Sequence[str]) -> T:
        """Apply a function to every block of rows, and add the results: one pass.

        Parameters
        ----------
        partial : callable
            Function of a `Block` whose results can be added.
        columns : sequence of str
            Columns of the blocks, in this order; others are not read.

        Returns
        -------
        object
            The sum of the results.
        """
        self.n_passes += 1
        total = self.reduce(partial, tuple(columns))
        if total is None:
            raise ValueError(f"{self.shown} has no rows; pass a table with rows and features")
        return total

    @abstractmethod
    def reduce(self, partial: Partial[T], columns: tuple[str, ...]) -> T | None:
        """The sum of a function over all blocks, by the reduction of the backend; None if there are no rows."""

    def rows(self, columns: Sequence[str] | None = None) -> Frame:
        """All rows in memory: the blocks one after the other, with the levels of all of them.

        Parameters
        ----------
        columns : sequence of str or None, default=None
            The columns, in this order; None reads all.

        Returns
        -------
        Frame
        """
        return settled(lambda: self._rows(columns))

    def _rows(self, columns: Sequence[str] | None) -> Frame:
        names = self.names if columns is None else tuple(columns)
        orders = {column.name: column.order for column in self.columns}
        parts = self.total(_keep, names).parts
        types = {column.name: column for column in self.columns}
        found = (
            Unusable("text", "", problem=types[name].problem)
            if types[name].problem
            else _integers(joined([part.columns[j] for part in parts], orders[name]), whole=types[name].whole)
            for j, name in enumerate(names)
        )
        return Frame(tuple(found), sum(part.n_rows for part in parts), names, self.notes, self.rounded)


@dataclass(frozen=True, eq=False)
class _Kept:
    """Frames in the order in which they were read."""

    parts: tuple[Frame, ...]

    def __add__(self, other: _Kept) -> _Kept:
        return _Kept(self.parts + other.parts)


def _integers(column: Column, *, whole: bool) -> Column:
    """A column of numbers as integers, if these are all that it has."""
    if not (whole and isinstance(column, np.ndarray) and column.dtype.kind == "f" and len(column)):
        return column
    return column.astype(np.int64) if bool(np.abs(column).max() < MAX_EXACT) else column


def _keep(block: Block) -> _Kept:
    return _Kept((block.frame,))


def settled(read: Callable[[], Found]) -> Found:
    """What is read of a source, from the start again where rows contradict the types that the first ones suggest."""
    try:
        return read()
    except TypesChangedError:
        return read()


def fits(source: Source) -> bool:
    """Whether a source is held in memory, rather than read in blocks: by its size, for every caller.

    It is if it takes at most MEMORY_SHARE of the free memory, or less than the number of bytes in the environment
    variable DROPSTEP_LARGE_FILE. A source whose size is unknown is read in blocks.
    """
    size, limit = source.n_bytes, os.environ.get(SIZE_VARIABLE)
    if size is None:
        return False
    return size < int(limit) if limit is not None else size <= MEMORY_SHARE * free_memory()


class SequentialSource(Source):
    """A source that yields its blocks one after the other; memory is that of a block and of the sum."""

    @abstractmethod
    def blocks(self, columns: tuple[str, ...]) -> Iterator[Block]:
        """The blocks of one pass."""

    @property
    def n_rows(self) -> int | None:
        """Number of rows, or an estimate of it; None if it is unknown."""
        return None

    def reduce(self, partial: Partial[T], columns: tuple[str, ...]) -> T | None:
        total, done = None, 0
        with one_thread() if len(columns) < WIDE else nullcontext():
            for block in self.blocks(columns):
                if not block.frame.n_rows:
                    continue
                part = partial(block)
                total = part if total is None else total + part
                done += block.frame.n_rows
                if self.report is not None:
                    n = self.n_rows
                    self.report(done, None if n is None else max(n - done, 0))
        return total


class Held(Source):
    """A table in memory: one block, which is not copied.

    Parameters
    ----------
    block : Block
        Its columns are those of the source; without names they are called x0, x1, ...
    """

    def __init__(self, block: Block) -> None:
        super().__init__()
        self.block, self.named = block, block.frame.names is not None
        names = block.frame.names or tuple(f"x{j}" for j in range(block.frame.n_features))
        self._columns = tuple(map(type_of, names, block.frame.columns))

    @property
    def columns(self) -> tuple[ColumnType, ...]:
        return self._columns

    def reduce(self, partial: Partial[T], columns: tuple[str, ...]) -> T | None:
        return partial(self.block_of(columns))

    def block_of(self, columns: Sequence[str]) -> Block:
        """The block with some columns."""
        place = {name: j for j, name in enumerate(self.names)}
        taken = tuple(self.block.frame.columns[place[name]] for name in columns)
        return replace(self.block, frame=Frame(taken, self.block.frame.n_rows, tuple(columns)))


def type_of(name: str, column: Column) -> ColumnType:
    """Name and type of a column in memory."""
    if isinstance(column, Unusable):
        return ColumnType(name, "date" if column is DATES else "object", problem=column.problem)
    if isinstance(column, Factor):
        return ColumnType(name, "factor", order=column.levels)
    return ColumnType(name, "boolean" if column.dtype == bool else "number", column.dtype.kind in "iu")
