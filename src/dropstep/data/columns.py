"""Columns: rows of features as they lie in memory, read in place. Scatter is made a row at a time, when asked for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dropstep.data.scale import rescaled
from dropstep.data.table import Table, refuse_missing
from dropstep.data.target import Categorical, Continuous, Target
from dropstep.data.threads import in_threads

Floats = NDArray[np.float64]
Features = NDArray[np.intp]

SMALL = 2**18  # numbers in X up to which a centred copy is cheaper than centring on the fly
BLOCK = 2**18  # numbers in a block that is copied at a time
SIDE = 2**12  # numbers in a block along the direction in which X is contiguous
FEW = 3  # vectors that are multiplied one by one in float32, which is faster than together
WIDTH = 2500  # columns that are multiplied at a time in float32, which is faster than all of them
CANCELS = 1e4  # part of a sum of squares that is the mean's, above which the difference is made again about the mean
FLAT = 100.0  # |mean| / sd up to which a float32 product keeps about five digits
LARGE = 1e12  # sd up to which, and down to its inverse, squares and their sums are float32 numbers


@dataclass(frozen=True, eq=False)
class Columns:
    """Features as columns of rows, seen about their class means and times the root of the row's weight.

    With x~ the column x so seen, the scatter is S_ij = x~_i' x~_j. A vector r that is itself centred
    within classes has x~' r = x' (root r), so X is never centred, and never copied unless it is small.

    Attributes
    ----------
    X : rows by features, C or Fortran order; products with anything but float32 and float64 are made in float64, a
        block at a time.
    means : class means, one row a class; None when X is a copy that is centred already.
    codes : the class of each row; None for a regression (one class).
    root : square root of the row weights; None when all are 1 or already in X.
    in_double : whether products with a float32 X are made in float64, because a mean is far from zero.
    """

    X: NDArray[Any]
    means: Floats | None
    codes: NDArray[np.intp] | None
    root: Floats | None
    in_double: bool = False

    def centred(self, features: Features) -> Floats:
        """Columns x~ of the features, in float64."""
        taken = _taken(self.X, features).astype(np.float64, order="F")
        if self.means is None:
            return taken
        taken -= _by_row(self.means[:, features], self.codes)
        taken -= _by_row(self._means_of(taken), self.codes)  # once more: the means are exact to rounding only
        if self.root is not None:
            taken *= self.root[:, None]
        return taken

    def _means_of(self, taken: Floats) -> Floats:
        w = np.ones(len(taken)) if self.root is None else self.root**2
        if self.codes is None:
            return np.asarray(w @ taken / w.sum())[None, :]
        counts = np.bincount(self.codes, w)
        return np.stack([np.bincount(self.codes, w * column) / counts for column in taken.T], axis=1)

    def products(self, R: Floats, out: Floats | None = None) -> Floats:
        """R' X~ for vectors R that are centred within classes: one pass over X."""
        if self.root is not None and self.means is not None:
            R = R * self.root[:, None]
        return _multiplied(R.T, self.X, out, in_double=self.in_double)

    def take(self, features: Features) -> Columns:
        """A copy of a few columns, side by side."""
        means = None if self.means is None else self.means[:, features]
        return Columns(_taken(self.X, features), means, self.codes, self.root, self.in_double)


@dataclass(frozen=True, eq=False)
class Sums:
    """What one look at all columns gives: rows and means by class, scatter of each, products with the targets."""

    counts: Floats
    means: Floats
    diagonal: Floats
    cross: Floats | None
    targets: Floats | None


def _taken(X: NDArray[Any], features: Features) -> NDArray[Any]:
    """A copy of a few columns, read along the rows where these lie in one piece."""
    return np.take(X, features, axis=1) if X.flags.c_contiguous else X[:, features]


def _doubles(X: NDArray[Any]) -> Iterator[tuple[slice, slice, Floats]]:
    """Blocks of X in float64, each with its rows and its columns."""
    n, p = X.shape
    if X.flags.c_contiguous:
        width = min(p, SIDE)
        height = max(1, BLOCK // width)
    else:
        height = min(n, SIDE)
        width = max(1, BLOCK // height)
    for top in range(0, n, height):
        rows = slice(top, top + height)
        for start in range(0, p, width):
            columns = slice(start, start + width)
            yield rows, columns, X[rows, columns].astype(np.float64)


def _multiplied(vectors: Floats, X: NDArray[Any], out: Floats | None = None, *, in_double: bool = False) -> Floats:
    """vectors X in float64; float32 is multiplied in float32, unless in_double."""
    if X.dtype == np.float64:
        return np.matmul(vectors, X, out=out)
    made = np.empty((len(vectors), X.shape[1])) if out is None else out
    if X.dtype != np.float32 or in_double:
        made[:] = 0.0
        for rows, columns, block in _doubles(X):
            made[:, columns] += vectors[:, rows] @ block
        return made
    vectors = np.ascontiguousarray(vectors, dtype=np.float32)
    if len(vectors) <= FEW:
        for row, vector in zip(made, vectors, strict=True):
            row[:] = vector @ X
        return made
    for start in range(0, X.shape[1], WIDTH):
        made[:, start : start + WIDTH] = vectors @ X[:, start : start + WIDTH]
    return made


@dataclass(frozen=True, eq=False)
class _Rows:
    """What is known of the rows: classes, their counts and membership, weights, and the centred targets."""

    codes: NDArray[np.intp] | None
    counts: Floats
    member: Floats
    weights: Floats | None
    root: Floats | None
    y: Floats | None


def columns_of(table: Table, target: Target, weights: Floats | None) -> tuple[Columns, Sums]:
    """Columns of a table, and their sums; columns of extreme scale are rescaled in a copy of the table."""
    X = table.values
    y = _centred_targets(target, weights)
    root = None if weights is None else np.sqrt(weights)
    rows = _Rows(*_classes(target, len(X), weights), weights, root, y)
    made = _small if X.size <= SMALL else _large
    with np.errstate(invalid="ignore", over="ignore"):
        columns, sums = made(X, rows)
        squares = sums.diagonal + sums.counts @ sums.means**2
        targets = np.empty(0) if y is None else np.einsum("ij,ij->j", y, y)
        copy = rescaled(X, squares, targets, weights)
        if copy is not None:
            columns, sums = made(copy, rows)
    refuse_missing(table, sums.means)
    refuse_missing(table, sums.diagonal[None, :])
    return columns, sums


def _large(X: NDArray[Any], rows: _Rows) -> tuple[Columns, Sums]:
    """A large table is read in place."""
    # Before BLAS: its worker threads keep spinning and would compete for cores.
    squares = in_threads(partial(_squares, X, rows.weights), len(X))
    y, cross = rows.y, None
    if y is None:
        sums = _multiplied(rows.member, X)
    else:
        seen = y if rows.root is None else y * rows.root[:, None]
        unit = np.ldexp(1.0, np.frexp(np.abs(seen).max(axis=0))[1])  # so that float32 can represent the targets
        made = _multiplied(np.concatenate([rows.member, (seen / unit).T]), X)
        sums, cross = made[:1], made[1:].T * unit
    means = sums / rows.counts[:, None]
    diagonal = _scatter(squares, X, means, rows)
    in_double = X.dtype == np.float32 and _beyond_float32(means, diagonal, rows.counts)
    columns = Columns(X, means, rows.codes, rows.root, in_double)
    if in_double and y is not None:
        cross = columns.products(y).T
    return columns, Sums(rows.counts, means, diagonal, cross, y)


def _beyond_float32(means: Floats, diagonal: Floats, counts: Floats) -> bool:
    """Whether products in float32 would lose too many digits, or overflow, for some column."""
    sd = np.sqrt(diagonal / counts.sum())
    extreme = (np.abs(means).max(axis=0) > FLAT * sd) | (sd > LARGE) | (sd < 1 / LARGE)
    return bool(np.any(extreme, where=sd > 0))


def _classes(target: Target, n: int, weights: Floats | None) -> tuple[NDArray[np.intp] | None, Floats, Floats]:
    """The class of each row, the rows of each class, and their membership (weights by class and row)."""
    w = np.ones(n) if weights is None else weights
    if isinstance(target, Continuous):
        return None, np.array([w.sum()]), w[None, :]
    member = np.zeros((len(target.labels), n))
    member[target.codes, np.arange(n)] = w
    return target.codes, member.sum(axis=1), member


def _centred_targets(target: Target, weights: Floats | None) -> Floats | None:
    """Targets about their mean, times the root of the weights; the second round takes the rounding of the first."""
    if isinstance(target, Categorical):
        return None
    y = target.values
    for _ in range(2):
        y = y - (y.mean(axis=0) if weights is None else weights @ y / weights.sum())
    return y if weights is None else y * np.sqrt(weights)[:, None]


def _small(X: NDArray[Any], rows: _Rows) -> tuple[Columns, Sums]:
    """A small table is centred in a copy, which costs nothing and keeps every digit."""
    X = X.astype(np.float64, copy=False)
    means = rows.member @ X / rows.counts[:, None]
    centred = X - _by_row(means, rows.codes)
    if rows.root is not None:
        centred *= rows.root[:, None]
    diagonal = np.einsum("ij,ij->j", centred, centred)
    cross = None if rows.y is None else centred.T @ rows.y
    return Columns(centred, None, rows.codes, rows.root), Sums(rows.counts, means, diagonal, cross, rows.y)


def _scatter(squares: Floats, X: NDArray[Any], means: Floats, rows: _Rows) -> Floats:
    """Scatter of each feature about its class means: sum of squares minus the part of the means.

    Where the means have nearly all of it, the difference has few digits, and is made again about the means.
    """
    counts, weights = rows.counts, rows.weights
    between = counts @ means**2
    diagonal = squares - between
    doubtful = between > CANCELS * diagonal
    if X.dtype == np.float32:
        doubtful |= ~np.isfinite(squares) | (squares < counts.sum() / LARGE**2)
    again = np.flatnonzero(doubtful)
    step = max(1, BLOCK // len(X))
    for start in range(0, len(again), step):
        at = again[start : start + step]
        block = X[:, at].astype(np.float64) - _by_row(means[:, at], rows.codes)
        w = 1.0 if weights is None else weights[:, None]
        shift = (w * block).sum(axis=0) / counts.sum()
        diagonal[at] = (w * (block - shift) ** 2).sum(axis=0) if rows.codes is None else (w * block**2).sum(axis=0)
    return np.maximum(diagonal, 0.0)


def _squares(X: NDArray[Any], weights: Floats | None, rows: slice) -> Floats:
    """Sums of squares over some rows; in float32 a block at a time, so that long sums lose no digits."""
    X, weights = X[rows], None if weights is None else weights[rows]
    total = np.zeros(X.shape[1])
    if X.dtype in (np.float32, np.float64):
        step = max(1, len(X)) if X.dtype == np.float64 else 256
        for start in range(0, len(X), step):
            here = slice(start, start + step)
            total += _sum_of_squares(X[here], None if weights is None else weights[here])
        return total
    for here, columns, block in _doubles(X):
        total[columns] += _sum_of_squares(block, None if weights is None else weights[here])
    return total


def _sum_of_squares(block: NDArray[Any], weights: Floats | None) -> NDArray[Any]:
    if weights is None:
        return np.asarray(np.einsum("ij,ij->j", block, block))
    return np.asarray(np.einsum("i,ij,ij->j", weights, block, block))


def _by_row(means: Floats, codes: NDArray[np.intp] | None) -> Floats:
    """The mean of each row's class: broadcast over rows when there is one class."""
    return means if codes is None else means[codes]
