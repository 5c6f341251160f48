"""The design matrix: standardised columns, in a copy or, where X is large, in place one block at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dropstep.data.table import Table, refuse_missing

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]

BLOCK_SIZE = 2**17  # values that are standardised at a time: they stay in the cache for the products
COPY_UP_TO = 2**24  # values (128 MB) of which a standardised copy is made; more are standardised block by block
CONSTANT = 1e-12  # a column whose standard deviation is below this share of its mean is constant up to rounding
DEPENDENT = 1e-11  # relative residual sum of squares below which a column counts as linearly dependent


@dataclass(frozen=True, eq=False)
class Design:
    """Columns (x - centre) / scale of a table.

    A likelihood with an intercept depends on centred columns alone, and a partial likelihood on columns centred within
    strata; products of centred columns keep their digits however large the means are.

    Attributes
    ----------
    X : ndarray of shape (n_rows, n_columns)
        Values in C or Fortran order.
    centre : ndarray of shape (n_strata, n_columns)
    scale : ndarray of shape (n_columns,)
        Standard deviations; infinite for constant columns, which become zero.
    stratum : ndarray of shape (n_rows,) or None
        Stratum of each row; None if there is one.
    standardised : bool
        Whether X already contains the standardised columns, in Fortran order.
    """

    X: NDArray[Any]
    centre: Floats
    scale: Floats
    stratum: Indices | None = None
    standardised: bool = False

    @property
    def n_columns(self) -> int:
        return int(self.X.shape[1])

    @property
    def varying(self) -> NDArray[np.bool_]:
        return np.isfinite(self.scale)

    def columns(self, columns: Sequence[int] | Indices) -> Floats:
        """Some columns, in Fortran order."""
        at = np.asarray(columns, dtype=np.intp)
        taken = np.asfortranarray(self.X[:, at], dtype=np.float64)
        return taken if self.standardised else self._standardised(taken, slice(None), at)

    def blocks(self, columns: Indices) -> Iterator[tuple[slice, slice, Floats]]:
        """Blocks of some columns: rows, positions among the columns, values.

        Blocks extend in the direction in which X is contiguous: over all columns, or over all rows.
        """
        n, p, every = len(self.X), len(columns), len(columns) == self.n_columns
        if self.X.flags.c_contiguous and not self.X.flags.f_contiguous:
            height = max(1, BLOCK_SIZE // p)
            for top in range(0, n, height):
                rows = slice(top, top + height)
                block = self.X[rows] if every else self.X[rows].take(columns, axis=1)
                yield rows, slice(0, p), self._standardised(block.astype(np.float64), rows, columns)
            return
        width = max(1, BLOCK_SIZE // n)
        for start in range(0, p, width):
            here = slice(start, start + width)
            ready = every and self.standardised
            yield slice(0, n), here, self.X[:, here] if ready else self.columns(columns[here])

    def _standardised(self, block: Floats, rows: slice, columns: Indices) -> Floats:
        centre = self.centre[:, columns]
        if centre.any():
            block -= centre if self.stratum is None else centre[self.stratum[rows]]
        block *= 1 / self.scale[columns]
        return block

    def copied(self) -> Design:
        """The same design with its columns standardised in a copy."""
        X = np.empty(self.X.shape, order="F")
        for rows, at, block in self.blocks(np.arange(self.n_columns)):  # a copy in blocks is several times faster
            X[rows, at] = block
        return Design(X, self.centre, self.scale, self.stratum, standardised=True)


def design_of(table: Table, weights: Floats, stratum: Indices | None = None) -> Design:
    """The design matrix of a table, with a standardised copy if it is not large; strata are those of sorted rows."""
    X = table.values
    if not (X.flags.c_contiguous or X.flags.f_contiguous):
        X = np.ascontiguousarray(X)
    n_strata = 1 if stratum is None else int(stratum.max()) + 1
    counts = np.bincount(np.zeros(len(X), dtype=np.intp) if stratum is None else stratum, weights)[:, None]
    with np.errstate(invalid="ignore", over="ignore"):
        exponents = _exponents(X)
        rough = Design(X, np.zeros((n_strata, X.shape[1])), np.ldexp(1.0, exponents), stratum)
        everything = np.arange(X.shape[1])
        sums = np.zeros((n_strata, X.shape[1]))
        for rows, at, block in rough.blocks(everything):
            sums[:, at] += _sums(block, weights[rows], stratum)
        refuse_missing(table, sums)
        means = sums / counts
        centred = Design(X, means * rough.scale, rough.scale, stratum)
        if X.size <= COPY_UP_TO:
            centred = centred.copied()
        squares = np.zeros(X.shape[1])
        for rows, at, block in centred.blocks(everything):
            squares[at] += weights[rows] @ (block * block)
    sd = np.sqrt(squares / weights.sum())
    constant = sd <= CONSTANT * np.abs(means).max(axis=0)
    scale = np.where(constant, np.inf, sd)
    if centred.standardised:
        for _, at, block in centred.blocks(everything):
            block *= 1 / scale[at]
    return replace(centred, scale=scale * rough.scale)


def _sums(block: Floats, weights: Floats, stratum: Indices | None) -> Floats:
    """Sums over the rows of a block; by stratum, if there are strata, by which rows are sorted (a block has all)."""
    if stratum is None:
        return np.asarray(weights @ block)
    weighted = weights[:, None] * block
    return np.asarray(np.add.reduceat(weighted, np.searchsorted(stratum, np.arange(stratum[-1] + 1)), axis=0))


def _exponents(X: NDArray[Any]) -> NDArray[np.intc]:
    """Binary exponents of the largest absolute values, so that no square overflows; 0 for zeros and non-numbers."""
    largest = np.maximum(np.abs(X.max(axis=0).astype(np.float64)), np.abs(X.min(axis=0).astype(np.float64)))
    return np.frexp(np.where(np.isfinite(largest), largest, 0.0))[1]


def independent_columns(gram: Floats) -> list[int]:
    """Columns, in order, that do not depend on the ones before, from their Gram matrix (Cholesky's pivots)."""
    size = len(gram)
    factor = np.zeros((size, size))
    found: list[int] = []
    for j in range(size):
        k = len(found)
        row = factor[:k, j]
        pivot = gram[j, j] - row @ row
        if gram[j, j] <= 0 or pivot <= DEPENDENT * gram[j, j]:
            continue
        factor[k] = (gram[j] - row @ factor[:k]) / np.sqrt(pivot)
        found.append(j)
    return found
