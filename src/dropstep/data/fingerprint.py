"""Fingerprints of rows: whether rows took part in a selection can be checked later, without keeping them."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dropstep.data.response import Survival
from dropstep.data.table import Table
from dropstep.data.target import Categorical, Continuous

Floats = NDArray[np.float64]

N_COLUMNS = 8  # columns that identify a row together with its target, next to each other in the middle of the table
MAX_KEPT = 2**14  # rows whose fingerprints are kept; of more, those with the smallest ones
IRRATIONAL = 0.6180339887498949  # multiples of it, modulo 1, are spread evenly: weights of the columns


@dataclass(frozen=True, eq=False)
class Fingerprint:
    """Identifiers of the rows of a selection.

    Attributes
    ----------
    marks : ndarray of uint64
        Identifiers of the rows, sorted; the smallest ones if there are many rows.
    n_rows : int
        Number of rows.
    """

    marks: NDArray[np.uint64]
    n_rows: int

    @classmethod
    def of(cls, table: Table, target: Any) -> Fingerprint:
        """The fingerprint of the rows of a design matrix and their target."""
        found = marks_of(table, target)
        kept = found if len(found) <= MAX_KEPT else np.partition(found, MAX_KEPT)[:MAX_KEPT]
        return cls(np.sort(kept), len(found))

    @property
    def is_complete(self) -> bool:
        """Whether all rows are known, not only a random part."""
        return self.n_rows <= MAX_KEPT

    def count(self, table: Table, target: Any) -> int:
        """Number of rows that are in the selection; an estimate if only a part of it is known."""
        marks = marks_of(table, target)
        if not self.is_complete:
            marks = marks[marks <= self.marks[-1]]
        found = int(np.isin(marks, self.marks).sum())
        return found if self.is_complete else round(found * self.n_rows / MAX_KEPT)


def marks_of(table: Table, target: Any) -> NDArray[np.uint64]:
    """An identifier of each row: a sum of its target and some of its columns with irrational weights, as bits.

    Sums are made column by column, so that a row has the same identifier in every table that contains it.
    """
    first = max(0, (table.n_features - N_COLUMNS) // 2)
    columns = range(first, min(first + N_COLUMNS, table.n_features))
    values = (
        table.values[:, columns.start : columns.stop]
        if isinstance(table.values, np.ndarray)
        else table.columns(columns)
    )
    total = _numbers(target)
    with np.errstate(over="ignore", invalid="ignore"):
        for i, column in enumerate(values.T, start=1):
            total = total + column * (1 + (i * IRRATIONAL) % 1)
    bits = (total + 0.0).view(np.uint64)  # + 0.0: no negative zero
    with np.errstate(over="ignore"):
        mixed = (bits ^ (bits >> np.uint64(31))) * np.uint64(0x9E3779B97F4A7C15)  # small marks are a random sample
    return np.asarray(mixed ^ (mixed >> np.uint64(29)))


def _numbers(target: Any) -> Floats:
    """A number per row that stands for its target."""
    if isinstance(target, Continuous):
        return np.asarray(target.values[:, 0] * IRRATIONAL)
    if isinstance(target, Survival):
        return np.asarray(target.time * IRRATIONAL + target.event)
    if isinstance(target, Categorical):
        codes = np.array([zlib.crc32(str(label).encode()) for label in target.labels.tolist()], dtype=np.float64)
        return np.asarray(codes[target.codes] / 2**32)
    return np.asarray(target * IRRATIONAL, dtype=np.float64)
