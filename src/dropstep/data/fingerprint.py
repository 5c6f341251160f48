"""Fingerprints of rows: whether rows took part in a selection can be checked later, without keeping them.

An identifier of its exact values recognises a row in any other table. The order of some rows, in the target and in some
columns, recognises the whole table after any increasing transformation of its columns: rounding, another precision,
standardising, another unit.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from dropstep.data.response import Survival
from dropstep.data.table import Table
from dropstep.data.target import Categorical, Continuous

Floats = NDArray[np.float64]

N_COLUMNS = 4  # first columns, and last ones, that identify a row together with its target: adjacent in memory
BLOCK_ROWS = 2**12  # rows that are summed at a time
N_ORDERED = 32  # rows whose order is kept, at equal distances
MAX_KEPT = 2**14  # rows whose fingerprints are kept; of more, those with the smallest ones
IRRATIONAL = 0.6180339887498949  # multiples of it, modulo 1, are spread evenly: weights of the columns
WEIGHTS = 1 + np.arange(1, 2 * N_COLUMNS + 1) * IRRATIONAL % 1
SHIFTS, MULTIPLIER = (np.uint64(31), np.uint64(29)), np.uint64(0x9E3779B97F4A7C15)  # small marks are a random sample


@dataclass(frozen=True, eq=False)
class Fingerprint:
    """Identifiers of the rows of a selection.

    Attributes
    ----------
    marks : ndarray of uint64
        Identifiers of the rows; the smallest ones if there are many rows.
    n_rows : int
        Number of rows.
    order : ndarray of int of shape (n_ordered, n_columns)
        Some of the rows in ascending order of each column; the target is the last one.
    tied : ndarray of bool of shape (n_ordered - 1, n_columns)
        Which values equal the next one in this order.
    """

    marks: NDArray[np.uint64]
    n_rows: int
    order: NDArray[np.intp]
    tied: NDArray[np.bool_]

    @classmethod
    def of(cls, table: Table, target: Any) -> Fingerprint:
        """The fingerprint of the rows of a design matrix and their target."""
        compared = _compared(table)
        found = _marks_of(compared, target)
        if (n := len(found)) > MAX_KEPT:
            found.partition(MAX_KEPT)
            found = found[:MAX_KEPT].copy()
        values = _ordered_rows(compared, target)
        order = values.argsort(axis=0)
        values.sort(axis=0)
        return cls(found, n, order, values[1:] == values[:-1])

    @property
    def is_complete(self) -> bool:
        """Whether all rows are known, not only a random part."""
        return self.n_rows <= MAX_KEPT

    @property
    def _codes(self) -> NDArray[np.intp]:
        """Ranks of the ordered rows in each column, from 0; those of equal values are the same."""
        ranks = np.zeros(self.order.shape, dtype=np.intp)
        ranks[1:] = np.cumsum(~self.tied, axis=0)
        codes = np.empty_like(ranks)
        np.put_along_axis(codes, self.order, ranks, axis=0)
        return codes

    def expected(self, n: int) -> float:
        """Number of n other rows that may equal rows of the selection by coincidence.

        The share of the rows that equal another one is increased by one pair, unless the values exclude it: two rows
        are equal with the product, over the columns, of the probabilities that two values are. Those of columns with
        ties count by their root, because such columns (alleles of neighbouring SNPs) often depend on each other.
        """
        counts, n_rows = np.unique(self.marks, return_counts=True)[1], len(self.marks)
        pairs = max(len(self.order) * (len(self.order) - 1), 1)
        ties = np.array([(np.bincount(codes) ** 2).sum() - len(codes) for codes in self._codes.T])
        chance = np.where(ties, np.sqrt(ties / pairs), 1 / pairs).prod()
        one_more = min(1.0, chance * n_rows * (n_rows - 1) / 2)
        return float(n * (counts[counts > 1].sum() + 2 * one_more) / n_rows)

    def coincidence(self, table: Table, target: Any) -> float | None:
        """Probability that rows have the order of the selection's rows by coincidence; None if they do not have it.

        Orders agree if no two rows are in opposite order, in any column: values may have become equal, or may have been
        equal. The probability is that of a random order of the column in which it is least.
        """
        if table.n_rows != self.n_rows:
            return None
        values = _ordered_rows(_compared(table), target)
        if values.shape != self.order.shape:
            return None
        chances = [_chance(old, new) for old, new in zip(self._codes.T, values.T, strict=True)]
        return None if None in chances else min(chance for chance in chances if chance is not None)

    def is_of(self, table: Table, target: Any) -> bool:
        """Whether rows are those of the selection, in any order."""
        other = Fingerprint.of(table, target)
        return other.n_rows == self.n_rows and np.array_equal(np.sort(other.marks), np.sort(self.marks))

    def count(self, table: Table, target: Any) -> int:
        """Number of rows that equal rows of the selection; an estimate if only a part of it is known."""
        marks = _marks_of(_compared(table), target)
        if not self.is_complete:
            marks = marks[marks <= self.marks.max()]
        found = int(np.isin(marks, self.marks).sum())
        return found if self.is_complete else round(found * self.n_rows / MAX_KEPT)


def _chance(old: NDArray[np.intp], values: NDArray[Any]) -> float | None:
    """Probability that a random order agrees with ranks as these values do; None if the values do not agree."""
    if (np.diff(values[np.lexsort((values, old))]) < 0).any():
        return None
    new = np.unique(values, return_inverse=True)[1].ravel()
    both = np.bincount(old * (new.max() + 1) + new)
    ways = [special.gammaln(count + 1.0).sum() for count in (np.bincount(old), np.bincount(new), both)]
    return float(np.exp(ways[0] + ways[1] - ways[2] - special.gammaln(len(old) + 1.0)))


def _compared(table: Table) -> NDArray[Any]:
    """The first and the last columns of a table, which identify a row together with its target."""
    values, p = table.values, table.n_features
    ends = list(range(p)) if p <= 2 * N_COLUMNS else [*range(N_COLUMNS), *range(p - N_COLUMNS, p)]
    return values[:, ends] if isinstance(values, np.ndarray) else table.columns(ends)


def _marks_of(values: NDArray[Any], target: Any) -> NDArray[np.uint64]:
    """An identifier of each row: a sum of its target and some of its columns with irrational weights, as bits.

    Sums are made column by column, so that a row has the same identifier in every table that contains it.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        total = _numbers(target)
        for start in range(0, total.size, BLOCK_ROWS):  # which stay in the cache
            rows = slice(start, start + BLOCK_ROWS)
            for term in np.multiply(values[rows].T, WEIGHTS[: values.shape[1], None], order="C"):
                total[rows] += term
        bits = (total + 0.0).view(np.uint64)  # no negative zero
        mixed = (bits ^ (bits >> SHIFTS[0])) * MULTIPLIER
        return np.asarray(mixed ^ (mixed >> SHIFTS[1]))


def _ordered_rows(values: NDArray[Any], target: Any) -> NDArray[Any]:
    """Some rows at equal distances: the columns that identify them, and the target."""
    step = max(len(values) // N_ORDERED, 1)
    rows = slice(0, N_ORDERED * step, step)
    y: NDArray[Any]
    if isinstance(target, Continuous):
        y = target.values
    elif isinstance(target, Survival):
        y = np.column_stack([target.time, target.event])
    else:
        y = (target.codes if isinstance(target, Categorical) else target)[:, None]
    return np.concatenate([values[rows], y[rows]], axis=1)


def _numbers(target: Any) -> Floats:
    """One number per row that stands for its target."""
    if isinstance(target, Continuous):
        return np.asarray(target.values[:, 0] * IRRATIONAL)
    if isinstance(target, Survival):
        return np.asarray(target.time * IRRATIONAL + target.event)
    if isinstance(target, Categorical):
        labels = np.array([zlib.crc32(str(label).encode()) for label in target.labels.tolist()], dtype=np.float64)
        return np.asarray(labels[target.codes] / 2**32)
    return np.asarray(target * IRRATIONAL, dtype=np.float64)
