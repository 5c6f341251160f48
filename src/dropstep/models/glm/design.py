"""The design matrix: standardised columns, in a copy or, where X is large, in place one block at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, cast

import numpy as np
from numpy.typing import NDArray

from dropstep.data.matrices.dense import Dense
from dropstep.data.matrices.matrix import Blocked, Exponents, Matrix
from dropstep.data.matrices.sparse import Sparse
from dropstep.data.scale import CONSTANT
from dropstep.data.table import Table, refuse_missing
from dropstep.models.glm.likelihood import Local
from dropstep.models.glm.sparse_design import sparse_design

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]

BLOCK_SIZE = 2**17  # values that are standardised at a time: they stay in the cache for the products
COPY_UP_TO = 2**24  # values (128 MB) of which a standardised copy is made; more are standardised block by block
DEPENDENT = 1e-11  # relative residual sum of squares below which a column counts as linearly dependent


class Design(Protocol):
    """Columns (x - centre) / scale of a table.

    A likelihood with an intercept depends on centred columns alone, and a partial likelihood on columns centred within
    strata; products of centred columns keep their digits however large the means are.

    Attributes
    ----------
    centre : ndarray of shape (n_strata, n_columns)
    scale : ndarray of shape (n_columns,)
        Standard deviations; infinite for constant columns, which become zero.
    """

    @property
    def centre(self) -> Floats: ...

    @property
    def scale(self) -> Floats: ...

    @property
    def n_columns(self) -> int: ...

    @property
    def varying(self) -> NDArray[np.bool_]: ...

    def columns(self, columns: Sequence[int] | Indices) -> Floats:
        """Some columns, in Fortran order."""
        ...

    def products(self, columns: Indices, V: Floats, local: Local) -> tuple[Floats, Floats]:
        """x' V and x' W x of columns x, in one pass."""
        ...


@dataclass(frozen=True, eq=False)
class StoredDesign:
    """The design of a matrix whose values are all stored.

    Attributes
    ----------
    X : Blocked
        Values, in memory or on disk.
    centre, scale : ndarray
        See `Design`.
    stratum : ndarray of shape (n_rows,) or None
        Stratum of each row; None if there is one.
    standardised : bool
        Whether X already contains the standardised columns, in Fortran order.
    """

    X: Blocked
    centre: Floats
    scale: Floats
    stratum: Indices | None = None
    standardised: bool = False

    @property
    def n_columns(self) -> int:
        return self.X.shape[1]

    @property
    def varying(self) -> NDArray[np.bool_]:
        return np.isfinite(self.scale)

    def columns(self, columns: Sequence[int] | Indices) -> Floats:
        """Some columns, in Fortran order."""
        at = np.asarray(columns, dtype=np.intp)
        taken = np.asfortranarray(self.X.take(at), dtype=np.float64)
        return taken if self.standardised else self._standardised(taken, slice(None), at)

    def products(self, columns: Indices, V: Floats, local: Local) -> tuple[Floats, Floats]:
        """x' V and x' W x of columns x, in one pass. Blocks of all columns need no copy, where most are wanted."""
        q, most = local.residual.shape[1], self.standardised and 2 * len(columns) > self.n_columns
        read = np.arange(self.n_columns) if most else columns
        products, squares = np.zeros((len(read), V.shape[1])), np.zeros((len(read), q, q))
        for rows, at, block in self.blocks(read):
            products[at] += block.T @ V[rows]
            squares[at] += local.squares(block, rows)
        return (products[columns], squares[columns]) if most else (products, squares)

    def blocks(self, columns: Indices) -> Iterator[tuple[slice, slice, Floats]]:
        """Blocks of some columns: rows, positions among the columns, values.

        Blocks extend in the direction in which X is stored: over all columns, or over all rows. With strata they have
        all rows, which the sums over risk sets need.
        """
        every = len(columns) == self.n_columns
        for rows, at, block in self.X.parts(None if every else columns, BLOCK_SIZE, all_rows=self.stratum is not None):
            if self.standardised:
                yield rows, at, np.asfortranarray(block)
            else:
                yield rows, at, self._standardised(block.astype(np.float64), rows, columns[at])

    def _standardised(self, block: Floats, rows: slice, columns: Indices) -> Floats:
        centre = self.centre[:, columns]
        if centre.any():
            block -= centre if self.stratum is None else centre[self.stratum[rows]]
        block *= 1 / self.scale[columns]
        return block

    def copied(self) -> StoredDesign:
        """The same design with its columns standardised in a copy."""
        X = np.empty(self.X.shape, order="F")
        for rows, at, block in self.blocks(np.arange(self.n_columns)):  # a copy in blocks is several times faster
            X[rows, at] = block
        copy = Dense(X, self.X.reads if isinstance(self.X, Dense) else None)
        return StoredDesign(copy, self.centre, self.scale, self.stratum, standardised=True)


def design_of(X: Matrix, table: Table, weights: Floats, stratum: Indices | None = None) -> Design:
    """The design matrix of some rows of a table, with a standardised copy if it is not large.

    Parameters
    ----------
    X : Matrix
        Values of the rows that are used.
    table : Table
        The table, for error messages.
    weights : ndarray of shape (n_rows,)
    stratum : ndarray of shape (n_rows,) or None, default=None
        Stratum of each row; rows are sorted by it.

    Returns
    -------
    Design
    """
    codes = np.zeros(X.shape[0], dtype=np.intp) if stratum is None else stratum
    counts = np.bincount(codes, weights).astype(np.float64)
    with np.errstate(invalid="ignore", over="ignore"):
        exponents = _exponents(X)
        if isinstance(X, Sparse):
            design, sums = sparse_design(X, exponents, weights, counts, stratum)
            refuse_missing(table, sums)
            return design
        return _stored_design(cast(Blocked, X), table, exponents, weights, counts[:, None], stratum)


def _stored_design(
    X: Blocked, table: Table, exponents: Exponents, weights: Floats, counts: Floats, stratum: Indices | None
) -> StoredDesign:
    rough = StoredDesign(X, np.zeros((len(counts), X.shape[1])), np.ldexp(1.0, exponents), stratum)
    everything = np.arange(X.shape[1])
    sums = np.zeros((len(counts), X.shape[1]))
    for rows, at, block in rough.blocks(everything):
        sums[:, at] += _sums(block, weights[rows], None if stratum is None else stratum[rows], len(counts))
    refuse_missing(table, sums)
    means = sums / counts
    centred = StoredDesign(X, means * rough.scale, rough.scale, stratum)
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


def _sums(block: Floats, weights: Floats, stratum: Indices | None, n_strata: int) -> Floats:
    """Sums over the rows of a block, by stratum."""
    if stratum is None:
        return np.asarray(weights @ block)
    sums = np.zeros((n_strata, block.shape[1]))
    present, first = np.unique(stratum, return_index=True)  # rows are sorted by stratum
    sums[present] = np.add.reduceat(weights[:, None] * block, first, axis=0)
    return sums


def _exponents(X: Matrix) -> Exponents:
    """Binary exponents of the largest absolute values, so that no square overflows; 0 for zeros and non-numbers."""
    if isinstance(X, Dense):
        ends = (X.values.max(axis=0), X.values.min(axis=0))
        largest = np.maximum(*(np.abs(values.astype(np.float64)) for values in ends))
    else:
        largest = X.largest(np.arange(X.shape[1]), None)
    return np.frexp(np.where(np.isfinite(largest), largest, 0.0))[1].astype(np.intc)


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
