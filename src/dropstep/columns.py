"""Columns: rows of features as they lie in memory, read in place. Scatter is made a row at a time, when asked for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dropstep.table import Table, refuse_missing
from dropstep.target import Classes, Target

Floats = NDArray[np.float64]

SMALL = 2**18  # numbers in X up to which a centred copy is cheaper than centring on the fly
BLOCK = 2**16  # numbers in a block that is centred at a time
FLAT = 100.0  # |mean| / sd up to which a float32 product keeps about five digits


@dataclass(frozen=True, eq=False)
class Columns:
    """Features as columns of rows, seen about their class means and times the root of the row's weight.

    With x~ the column x so seen, the scatter is S_ij = x~_i' x~_j. A vector r that is itself centred
    within classes has x~' r = x' (root r), so X is never centred, and never copied unless it is small.

    Attributes
    ----------
    X : rows by features, float32 or float64, C or Fortran order.
    means : class means, one row a class; None when X is a copy that is centred already.
    codes : the class of each row; None for a regression (one class).
    root : square root of the row weights; None when all are 1 or already in X.
    counts : rows (sum of weights) by class.
    diagonal : S_jj.
    in_double : whether products with a float32 X are made in float64, because a mean is far from zero.
    """

    X: NDArray[Any]
    means: Floats | None
    codes: NDArray[np.intp] | None
    root: Floats | None
    counts: Floats
    diagonal: Floats
    in_double: bool = False

    def centred(self, features: NDArray[np.intp]) -> Floats:
        """Columns x~ of the features, in float64."""
        taken = self.X[:, features].astype(np.float64, order="F")
        if self.means is not None:
            taken -= _by_row(self.means[:, features], self.codes)
            if self.root is not None:
                taken *= self.root[:, None]
        return taken

    def products(self, R: Floats, features: NDArray[np.intp] | None = None) -> Floats:
        """R' X~ for vectors R that are centred within classes: one pass over X (or over the features named)."""
        scaled = R if self.root is None or self.means is None else R * self.root[:, None]
        if self.in_double:
            made = self._products_in_double(scaled, features)
        else:
            cast = scaled.astype(self.X.dtype, copy=False)
            made = (cast.T @ (self.X if features is None else self.X[:, features])).astype(np.float64, copy=False)
        return made

    def _products_in_double(self, R: Floats, features: NDArray[np.intp] | None) -> Floats:
        at = np.arange(self.X.shape[1]) if features is None else features
        made = np.empty((R.shape[1], len(at)))
        step = max(1, BLOCK // len(self.X))
        for start in range(0, len(at), step):
            block = slice(start, start + step)
            made[:, block] = R.T @ self.X[:, at[block]].astype(np.float64)
        return made


def of_table(table: Table, target: Target, weights: Floats | None) -> tuple[Columns, Floats]:
    """Columns of a table, and their class means (which a problem needs)."""
    X = table.values
    codes = target.codes if isinstance(target, Classes) else None
    n_classes = len(target.labels) if isinstance(target, Classes) else 1
    w = np.ones(len(X)) if weights is None else weights
    counts: Floats = np.array([w.sum()]) if codes is None else np.bincount(codes, w, n_classes).astype(np.float64)
    with np.errstate(invalid="ignore", over="ignore"):
        means = _first_means(X, codes, w, counts)
        refuse_missing(table, means)
        root = None if weights is None else np.sqrt(weights)
        if X.size <= SMALL:
            return _small(X, means, codes, root, counts)
        means, diagonal = _about(X, means, codes, w, counts)
    sd = np.sqrt(diagonal / counts.sum())
    far = np.any(np.abs(means).max(axis=0) > FLAT * sd, where=sd > 0)
    return Columns(X, means, codes, root, counts, diagonal, bool(far) and X.dtype == np.float32), means


def _small(
    X: NDArray[Any], means: Floats, codes: NDArray[np.intp] | None, root: Floats | None, counts: Floats
) -> tuple[Columns, Floats]:
    centred = X - _by_row(means, codes)
    if root is not None:
        centred *= root[:, None]
    diagonal = np.einsum("ij,ij->j", centred, centred)
    return Columns(centred, None, codes, root, counts, diagonal), means


def _first_means(X: NDArray[Any], codes: NDArray[np.intp] | None, w: Floats, counts: Floats) -> Floats:
    """Class means, to the precision of X."""
    if codes is None:
        return np.asarray((w / counts[0]).astype(X.dtype) @ X, dtype=np.float64)[None, :]
    member = np.zeros((len(counts), len(X)), dtype=X.dtype)
    member[codes, np.arange(len(X))] = w / counts[codes]
    return np.asarray(member @ X, dtype=np.float64)


def _about(
    X: NDArray[Any], means: Floats, codes: NDArray[np.intp] | None, w: Floats, counts: Floats
) -> tuple[Floats, Floats]:
    """Means mended, and the scatter of each feature about them, from blocks centred at the first means.

    With b = x - m: mean(x) = m + mean(b), and the scatter of x is that of b: sum(b^2) - n mean(b)^2.
    """
    first = np.zeros_like(means)
    second = np.zeros_like(means)
    for rows, features in _blocks(X):
        at = None if codes is None else codes[rows]
        block = X[rows, features] - _by_row(means[:, features], at).astype(X.dtype)
        member = _membership(at, w[rows], len(counts)).astype(X.dtype)
        first[:, features] += member @ block
        second[:, features] += member @ np.square(block, out=block)
    shift = first / counts[:, None]
    return means + shift, np.maximum(second - counts[:, None] * shift**2, 0.0).sum(axis=0)


def _membership(codes: NDArray[np.intp] | None, w: Floats, n_classes: int) -> Floats:
    if codes is None:
        return w[None, :]
    member = np.zeros((n_classes, len(codes)))
    member[codes, np.arange(len(codes))] = w
    return member


def _by_row(means: Floats, codes: NDArray[np.intp] | None) -> Floats:
    """The mean of each row's class: broadcast over rows when there is one class."""
    return means if codes is None else means[codes]


def _blocks(X: NDArray[Any]) -> Iterator[tuple[slice, slice]]:
    """Blocks that lie together in memory: of rows in C order, of features in Fortran order."""
    n, p = X.shape
    if X.flags.f_contiguous and not X.flags.c_contiguous:
        step = max(1, BLOCK // n)
        return ((slice(None), slice(start, start + step)) for start in range(0, p, step))
    step = max(1, BLOCK // p)
    return ((slice(start, start + step), slice(None)) for start in range(0, n, step))
