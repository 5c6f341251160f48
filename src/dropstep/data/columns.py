"""Columns: a design matrix that is read in place; rows of its scatter matrix are computed on demand."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dropstep.data.scale import Exponents, rescaled_copy
from dropstep.data.table import Table, refuse_missing
from dropstep.data.target import Categorical, Continuous, Target
from dropstep.data.threads import in_threads

Floats = NDArray[np.float64]
Features = NDArray[np.intp]

SMALL = 2**18  # size of X up to which a centred copy is faster than centring on the fly
BLOCK_SIZE = 2**18  # values that are copied at a time
MAX_BLOCK_SIDE = 2**12  # length of a block along the direction in which X is contiguous
MAX_SEPARATE_PRODUCTS = 3  # vectors up to which float32 products are faster one by one than as a matrix product
FLOAT32_BLOCK_COLUMNS = 2500  # columns of a float32 matrix product, which is faster in blocks than as a whole
MAX_CANCELLATION = 1e4  # recompute a scatter about the means if the means' share exceeds it by this factor
MAX_FLOAT32_MEAN = 100.0  # |mean| / sd up to which float32 products have about five correct digits
MAX_FLOAT32_SD = 1e12  # sd up to which, and above whose inverse, float32 represents squares and their sums


@dataclass(frozen=True, eq=False)
class Columns:
    """A design matrix whose columns are centred within classes and weighted, without a copy of X unless X is small.

    Let x~ be column x minus its class means, times the square roots of the row weights. The scatter matrix is
    S_ij = x~_i' x~_j. A vector r that is itself centred within classes satisfies x~' r = x' (root r), so that products
    with X~ are products with X.

    Attributes
    ----------
    X : ndarray of shape (n_samples, n_features)
        Feature values in C or Fortran order. Products with types other than float32 and float64 are computed in
        float64, one block at a time.
    means : ndarray of shape (n_classes, n_features) or None
        Class means (one class for a regression); None if X is a centred copy.
    codes : ndarray of shape (n_samples,) or None
        Class of each row; None for a regression.
    root : ndarray of shape (n_samples,) or None
        Square roots of the row weights; None if all weights are 1.
    in_double : bool, default=False
        Whether products with a float32 X are computed in float64, because float32 would lose too many digits.
    """

    X: NDArray[Any]
    means: Floats | None
    codes: NDArray[np.intp] | None
    root: Floats | None
    in_double: bool = False

    def centred(self, features: Features) -> Floats:
        """Columns x~ of the given features, in float64."""
        taken = _take(self.X, features).astype(np.float64, order="F")
        if self.means is None:
            return taken
        taken -= _by_row(self.means[:, features], self.codes)
        taken -= _by_row(self._class_means(taken), self.codes)  # remove the rounding error of the first centring
        if self.root is not None:
            taken *= self.root[:, None]
        return taken

    def mean_errors(self, features: Features) -> Floats:
        """What the class means of the given features lack, in float64; a float32 X has means in float32."""
        if self.means is None:
            return np.zeros((1, len(features)))
        taken = _take(self.X, features).astype(np.float64)
        return self._class_means(taken - _by_row(self.means[:, features], self.codes))

    def _class_means(self, taken: Floats) -> Floats:
        w = np.ones(len(taken)) if self.root is None else self.root**2
        if self.codes is None:
            return np.asarray(w @ taken / w.sum())[None, :]
        counts = np.bincount(self.codes, w)
        return np.stack([np.bincount(self.codes, w * column) / counts for column in taken.T], axis=1)

    def products(self, R: Floats, out: Floats | None = None) -> Floats:
        """R' X~ in one pass over X.

        Parameters
        ----------
        R : ndarray of shape (n_samples, n_vectors)
            Vectors that are centred within classes.
        out : ndarray of shape (n_vectors, n_features) or None
            Where to store the result.

        Returns
        -------
        ndarray of shape (n_vectors, n_features)
        """
        if self.root is not None and self.means is not None:
            R = R * self.root[:, None]
        return _multiply(R.T, self.X, out, in_double=self.in_double)

    def take(self, features: Features) -> Columns:
        """A copy of the given columns."""
        means = None if self.means is None else self.means[:, features]
        return Columns(_take(self.X, features), means, self.codes, self.root, self.in_double)


@dataclass(frozen=True, eq=False)
class Sums:
    """Statistics of all columns, from one pass over X.

    Attributes
    ----------
    counts : ndarray of shape (n_classes,)
        Number of rows (sum of weights) of each class.
    means : ndarray of shape (n_classes, n_features)
        Class means.
    diagonal : ndarray of shape (n_features,)
        Diagonal of the scatter matrix.
    cross : ndarray of shape (n_features, n_targets) or None
        Products with the targets; None for class labels.
    targets : ndarray of shape (n_samples, n_targets) or None
        Centred and weighted targets; None for class labels.
    exponents : ndarray of shape (n_features,) or None
        Column j was divided by 2 ** exponents[j]; None if no column was rescaled.
    """

    counts: Floats
    means: Floats
    diagonal: Floats
    cross: Floats | None
    targets: Floats | None
    exponents: Exponents | None = None


def _take(X: NDArray[Any], features: Features) -> NDArray[Any]:
    """A copy of a few columns; np.take reads rows that are contiguous in memory faster than indexing does."""
    return np.take(X, features, axis=1) if X.flags.c_contiguous else X[:, features]


def _float64_blocks(X: NDArray[Any]) -> Iterator[tuple[slice, slice, Floats]]:
    """Blocks of X in float64, with their rows and columns."""
    n, p = X.shape
    if X.flags.c_contiguous:
        width = min(p, MAX_BLOCK_SIDE)
        height = max(1, BLOCK_SIZE // width)
    else:
        height = min(n, MAX_BLOCK_SIDE)
        width = max(1, BLOCK_SIZE // height)
    for top in range(0, n, height):
        rows = slice(top, top + height)
        for start in range(0, p, width):
            columns = slice(start, start + width)
            yield rows, columns, X[rows, columns].astype(np.float64)


def _multiply(vectors: Floats, X: NDArray[Any], out: Floats | None = None, *, in_double: bool = False) -> Floats:
    """vectors @ X as float64; a float32 X is multiplied in float32, unless in_double."""
    if X.dtype == np.float64:
        return np.matmul(vectors, X, out=out)
    product = np.empty((len(vectors), X.shape[1])) if out is None else out
    if X.dtype != np.float32 or in_double:
        product[:] = 0.0
        for rows, columns, block in _float64_blocks(X):
            product[:, columns] += vectors[:, rows] @ block
        return product
    vectors = np.ascontiguousarray(vectors, dtype=np.float32)
    if len(vectors) <= MAX_SEPARATE_PRODUCTS:
        for row, vector in zip(product, vectors, strict=True):
            row[:] = vector @ X
        return product
    for start in range(0, X.shape[1], FLOAT32_BLOCK_COLUMNS):
        columns = slice(start, start + FLOAT32_BLOCK_COLUMNS)
        product[:, columns] = vectors @ X[:, columns]
    return product


@dataclass(frozen=True, eq=False)
class _Rows:
    """Properties of the rows: classes, their counts and membership, weights, and centred targets."""

    codes: NDArray[np.intp] | None
    counts: Floats
    member: Floats
    weights: Floats | None
    root: Floats | None
    y: Floats | None


def columns_of(table: Table, target: Target, weights: Floats | None) -> tuple[Columns, Sums]:
    """Columns of a table, and their sums; columns of extreme scale are rescaled in a copy of the table.

    Parameters
    ----------
    table : Table
        Features.
    target : Continuous or Categorical
        Target values or class labels.
    weights : ndarray of shape (n_samples,) or None
        Row weights.

    Returns
    -------
    columns : Columns
    sums : Sums
    """
    X = table.values
    y = _centred_targets(target, weights)
    root = None if weights is None else np.sqrt(weights)
    rows = _Rows(*_classes(target, len(X), weights), weights, root, y)
    read = _centred_copy if X.size <= SMALL else _in_place
    with np.errstate(invalid="ignore", over="ignore"):
        columns, sums = read(X, rows)
        squares = sums.diagonal + sums.counts @ sums.means**2
        targets = np.empty(0) if y is None else np.einsum("ij,ij->j", y, y)
        rescaled = rescaled_copy(X, squares, targets, weights)
        if rescaled is not None:
            columns, sums = read(rescaled[0], rows)
            sums = replace(sums, exponents=rescaled[1])
    refuse_missing(table, sums.means)
    refuse_missing(table, sums.diagonal[None, :])
    return columns, sums


def _in_place(X: NDArray[Any], rows: _Rows) -> tuple[Columns, Sums]:
    """Columns of a large X, which is not copied."""
    # Before BLAS: its worker threads keep spinning and would compete for cores.
    squares = in_threads(partial(_squares, X, rows.weights), len(X))
    y, cross = rows.y, None
    if y is None:
        sums = _multiply(rows.member, X)
    else:
        weighted = y if rows.root is None else y * rows.root[:, None]
        unit = np.ldexp(1.0, np.frexp(np.abs(weighted).max(axis=0))[1])  # so that float32 can represent the targets
        products = _multiply(np.concatenate([rows.member, (weighted / unit).T]), X)
        sums, cross = products[:1], products[1:].T * unit
    means = sums / rows.counts[:, None]
    diagonal = _scatter(squares, X, means, rows)
    in_double = X.dtype == np.float32 and _exceeds_float32(means, diagonal, rows.counts)
    columns = Columns(X, means, rows.codes, rows.root, in_double)
    if in_double and y is not None:
        cross = columns.products(y).T
    return columns, Sums(rows.counts, means, diagonal, cross, y)


def _exceeds_float32(means: Floats, diagonal: Floats, counts: Floats) -> bool:
    """True if float32 products would lose too many digits, or overflow, for some column."""
    sd = np.sqrt(diagonal / counts.sum())
    mean = np.abs(means).max(axis=0)
    extreme = (mean > MAX_FLOAT32_MEAN * sd) | (sd > MAX_FLOAT32_SD) | (sd < 1 / MAX_FLOAT32_SD)
    return bool(np.any(extreme, where=sd > 0))


def _classes(target: Target, n: int, weights: Floats | None) -> tuple[NDArray[np.intp] | None, Floats, Floats]:
    """Class of each row, number of rows of each class, and membership (weights by class and row)."""
    w = np.ones(n) if weights is None else weights
    if isinstance(target, Continuous):
        return None, np.array([w.sum()]), w[None, :]
    member = np.zeros((len(target.labels), n))
    member[target.codes, np.arange(n)] = w
    return target.codes, member.sum(axis=1), member


def _centred_targets(target: Target, weights: Floats | None) -> Floats | None:
    """Targets minus their means, times the square roots of the weights."""
    if isinstance(target, Categorical):
        return None
    y = target.values
    for _ in range(2):  # the second time removes the rounding error of the first
        y = y - (y.mean(axis=0) if weights is None else weights @ y / weights.sum())
    return y if weights is None else y * np.sqrt(weights)[:, None]


def _centred_copy(X: NDArray[Any], rows: _Rows) -> tuple[Columns, Sums]:
    """Columns of a small X, centred in a copy: cheap, and without loss of digits."""
    X = X.astype(np.float64, copy=False)
    means = rows.member @ X / rows.counts[:, None]
    centred = X - _by_row(means, rows.codes)
    if rows.root is not None:
        centred *= rows.root[:, None]
    diagonal = np.einsum("ij,ij->j", centred, centred)
    cross = None if rows.y is None else centred.T @ rows.y
    return Columns(centred, None, rows.codes, rows.root), Sums(rows.counts, means, diagonal, cross, rows.y)


def _scatter(squares: Floats, X: NDArray[Any], means: Floats, rows: _Rows) -> Floats:
    """Diagonal of the scatter matrix: sums of squares minus the share of the class means.

    Where the means account for nearly all of a sum of squares, the difference suffers from cancellation and is
    recomputed from centred values.
    """
    counts, weights = rows.counts, rows.weights
    between = counts @ means**2
    diagonal = squares - between
    inaccurate = between > MAX_CANCELLATION * diagonal
    if X.dtype == np.float32:
        inaccurate |= ~np.isfinite(squares) | (squares < counts.sum() / MAX_FLOAT32_SD**2)
    recomputed = np.flatnonzero(inaccurate)
    step = max(1, BLOCK_SIZE // len(X))
    for start in range(0, len(recomputed), step):
        at = recomputed[start : start + step]
        block = X[:, at].astype(np.float64) - _by_row(means[:, at], rows.codes)
        w = 1.0 if weights is None else weights[:, None]
        shift = (w * block).sum(axis=0) / counts.sum()
        diagonal[at] = (w * (block - shift) ** 2).sum(axis=0) if rows.codes is None else (w * block**2).sum(axis=0)
    return np.maximum(diagonal, 0.0)


def _squares(X: NDArray[Any], weights: Floats | None, rows: slice) -> Floats:
    """Sums of squares over some rows; float32 is accumulated in blocks, because long sums would lose digits."""
    X, weights = X[rows], None if weights is None else weights[rows]
    total = np.zeros(X.shape[1])
    if X.dtype in (np.float32, np.float64):
        step = max(1, len(X)) if X.dtype == np.float64 else 256
        for start in range(0, len(X), step):
            here = slice(start, start + step)
            total += _sum_of_squares(X[here], None if weights is None else weights[here])
        return total
    for here, columns, block in _float64_blocks(X):
        total[columns] += _sum_of_squares(block, None if weights is None else weights[here])
    return total


def _sum_of_squares(block: NDArray[Any], weights: Floats | None) -> NDArray[Any]:
    if weights is None:
        return np.asarray(np.einsum("ij,ij->j", block, block))
    return np.asarray(np.einsum("i,ij,ij->j", weights, block, block))


def _by_row(means: Floats, codes: NDArray[np.intp] | None) -> Floats:
    """Class mean of each row; a single row, to be broadcast, if there is one class."""
    return means if codes is None else means[codes]
