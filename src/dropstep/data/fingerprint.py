"""Fingerprints of rows: whether rows took part in a selection can be checked later, without keeping them."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dropstep.data.response import Survival
from dropstep.data.table import Table
from dropstep.data.target import Categorical, Continuous

Floats = NDArray[np.float64]

N_COLUMNS = 4  # first columns, and last ones, that identify a row together with its target: adjacent in memory
BLOCK_ROWS = 2**13
MAX_KEPT = 2**14  # rows whose fingerprints are kept; of more, those with the smallest ones
IRRATIONAL = 0.6180339887498949  # multiples of it, modulo 1, are spread evenly: weights of the columns


@dataclass(frozen=True, eq=False)
class Fingerprint:
    """Identifiers of the rows of a selection.

    Attributes
    ----------
    marks : ndarray of uint64
        Identifiers of the rows; the smallest ones if there are many rows.
    n_rows : int
        Number of rows.
    """

    marks: NDArray[np.uint64]
    n_rows: int

    @classmethod
    def of(cls, table: Table, target: Any) -> Fingerprint:
        """The fingerprint of the rows of a design matrix and their target."""
        found = marks_of(table, target)
        if (n := len(found)) > MAX_KEPT:
            found.partition(MAX_KEPT)
            found = found[:MAX_KEPT].copy()
        return cls(found, n)

    @property
    def is_complete(self) -> bool:
        """Whether all rows are known, not only a random part."""
        return self.n_rows <= MAX_KEPT

    @property
    def repeated(self) -> float:
        """Share of the rows that equal another row: the probability that a new row equals one of them."""
        counts = np.unique(self.marks, return_counts=True)[1]
        return float(counts[counts > 1].sum() / len(self.marks))

    def is_of(self, table: Table, target: Any) -> bool:
        """Whether rows are those of the selection, in any order."""
        other = Fingerprint.of(table, target)
        return other.n_rows == self.n_rows and np.array_equal(np.sort(other.marks), np.sort(self.marks))

    def count(self, table: Table, target: Any) -> int:
        """Number of rows that equal rows of the selection; an estimate if only a part of it is known."""
        marks = marks_of(table, target)
        if not self.is_complete:
            marks = marks[marks <= self.marks.max()]
        found = int(np.isin(marks, self.marks).sum())
        return found if self.is_complete else round(found * self.n_rows / MAX_KEPT)


def marks_of(table: Table, target: Any) -> NDArray[np.uint64]:
    """An identifier of each row: a sum of its target and some of its columns with irrational weights, as bits.

    Sums are made column by column, so that a row has the same identifier in every table that contains it.
    """
    parts = _ends(table)
    numbers, marks = _numbers(target), np.empty(table.n_rows, dtype=np.uint64)
    for start in range(0, len(marks), BLOCK_ROWS):
        rows = slice(start, start + BLOCK_ROWS)
        marks[rows] = _marks([part[rows] for part in parts], numbers(rows))
    return marks


def _ends(table: Table) -> list[NDArray[Any]]:
    """The first and the last columns of a table; those of an array without a copy."""
    values, p = table.values, table.n_features
    if not isinstance(values, np.ndarray):
        ends = range(p) if p <= 2 * N_COLUMNS else [*range(N_COLUMNS), *range(p - N_COLUMNS, p)]
        return [table.columns(ends)]
    return [values] if p <= 2 * N_COLUMNS else [values[:, :N_COLUMNS], values[:, p - N_COLUMNS :]]


def _marks(parts: list[NDArray[Any]], total: Floats) -> NDArray[np.uint64]:
    """Identifiers of a block of rows, which stays in the cache."""
    i = 0
    with np.errstate(over="ignore", invalid="ignore"):
        for part in parts:
            for column in np.asfortranarray(part).T:
                i += 1
                total = total + column * (1 + (i * IRRATIONAL) % 1)
    bits = (total + 0.0).view(np.uint64)  # + 0.0: no negative zero
    with np.errstate(over="ignore"):
        mixed = (bits ^ (bits >> np.uint64(31))) * np.uint64(0x9E3779B97F4A7C15)  # small marks are a random sample
    return np.asarray(mixed ^ (mixed >> np.uint64(29)))


def _numbers(target: Any) -> Callable[[slice], Floats]:
    """A function from rows to one number per row that stands for its target."""
    if isinstance(target, Continuous):
        return lambda rows: np.asarray(target.values[rows, 0] * IRRATIONAL)
    if isinstance(target, Survival):
        return lambda rows: np.asarray(target.time[rows] * IRRATIONAL + target.event[rows])
    if isinstance(target, Categorical):
        labels = np.array([zlib.crc32(str(label).encode()) for label in target.labels.tolist()], dtype=np.float64)
        return lambda rows: np.asarray(labels[target.codes[rows]] / 2**32)
    return lambda rows: np.asarray(target[rows] * IRRATIONAL, dtype=np.float64)
