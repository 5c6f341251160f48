"""Class means and scatter of the rows of a design matrix, in one or two passes."""

from __future__ import annotations

from typing import cast

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import blas

from dropstep.data.matrices.base import Blocked, Matrix
from dropstep.data.matrices.dense import Dense
from dropstep.data.matrices.sparse import Sparse, large_means
from dropstep.data.target import Categorical, Continuous, Target

Floats = NDArray[np.float64]

BLOCK_SIZE = 2**20  # values that are copied and centred at a time
MIN_BLOCK_ROWS = 64
MAX_CANCELLATION = 1e4  # centre rows first if the means' share of a sum of squares exceeds the scatter by this factor


def statistics(X: Matrix, target: Target, weights: Floats | None) -> tuple[Floats, Floats, Floats]:
    """Counts by class, class means of features and targets, and the scatter within classes.

    Parameters
    ----------
    X : Matrix of shape (n_samples, n_features)
    target : Continuous or Categorical
    weights : ndarray of shape (n_samples,) or None

    Returns
    -------
    counts : ndarray of shape (n_classes,)
    means : ndarray of shape (n_classes, n_features + n_targets)
    scatter : ndarray of shape (n_features + n_targets, n_features + n_targets)
    """
    if isinstance(X, Sparse):
        return _of_sparse(X, target, weights)
    blocked = cast(Blocked, X)
    counts, means = _class_means(blocked, target, weights)
    return counts, means, _scatter(blocked, target, weights, counts, means)


def _height(X: Matrix) -> int:
    """Number of rows that are copied and centred at a time."""
    return max(MIN_BLOCK_ROWS, BLOCK_SIZE // X.shape[1])


def _class_means(X: Blocked, target: Target, weights: Floats | None) -> tuple[Floats, Floats]:
    """Number of rows, and means of features and targets, by class."""
    w = np.ones(X.shape[0]) if weights is None else weights
    if isinstance(target, Continuous):
        sums = np.concatenate([_sums(w[None, :], X), w[None, :] @ target.values], axis=1)
        return np.array([w.sum()]), sums / w.sum()
    counts = np.bincount(target.codes, w, len(target.labels)).astype(np.float64)
    sums = np.zeros((len(counts), X.shape[1]))
    for rows, block in X.row_parts(_height(X)):
        sums += _member(target, w, rows) @ block.astype(np.float64, copy=False)
    return counts, sums / np.where(counts > 0, counts, 1.0)[:, None]


def _member(target: Categorical, w: Floats, rows: slice) -> Floats:
    """Weights by class and row, of some rows."""
    codes = target.codes[rows]
    member = np.zeros((len(target.labels), len(codes)))
    member[codes, np.arange(len(codes))] = w[rows]
    return member


def _sums(member: Floats, X: Blocked) -> Floats:
    """member @ X, converted to float64 one block at a time."""
    if isinstance(X, Dense) and X.dtype == np.float64:
        return X.multiply(member)
    total = np.zeros((len(member), X.shape[1]))
    for rows, block in X.row_parts(_height(X)):
        total += member[:, rows] @ block.astype(np.float64, copy=False)
    return total


def _scatter(X: Blocked, target: Target, weights: Floats | None, counts: Floats, means: Floats) -> Floats:
    """Scatter about the class means. Rows are copied, one block at a time, only to centre, weight or convert them.

    X'X minus the share of the means is accurate unless the means account for nearly all of the sum of squares.
    """
    p = X.shape[1]
    if isinstance(X, Dense) and weights is None and X.dtype == np.float64:
        X.reads.add(X.size)
        gram = X.values.T @ X.values  # a symmetric product, in any memory order
        between = counts @ means[:, :p] ** 2
        if np.all(between <= MAX_CANCELLATION * (np.diagonal(gram) - between)):
            weighted = np.sqrt(counts)[:, None] * means[:, :p]
            return _with_targets(gram - weighted.T @ weighted, X, target, means)
    y = target.values if isinstance(target, Continuous) else None
    gram = np.zeros((means.shape[1], means.shape[1]), order="F")
    for rows, values in X.row_parts(_height(X)):
        block = np.empty((len(values), means.shape[1]))
        block[:, :p] = values
        if y is not None:
            block[:, p:] = y[rows]
        block -= means if isinstance(target, Continuous) else means[target.codes[rows]]
        if weights is not None:
            block *= np.sqrt(weights[rows])[:, None]
        gram = blas.dsyrk(1.0, block.T, beta=1.0, c=gram, overwrite_c=True)
    return np.asarray(gram + np.triu(gram, 1).T)


def _with_targets(scatter: Floats, X: Matrix, target: Target, means: Floats, w: Floats | None = None) -> Floats:
    """Scatter of features and targets, from that of the features; `means` are those of both."""
    if isinstance(target, Categorical):
        return scatter
    p = len(scatter)
    y = target.values - means[0, p:]
    weighted = y if w is None else w[:, None] * y
    bordered = np.empty((p + y.shape[1], p + y.shape[1]))
    bordered[:p, :p], bordered[p:, p:] = scatter, y.T @ weighted
    bordered[:p, p:] = (X.multiply(weighted.T) - np.outer(weighted.sum(axis=0), means[0, :p])).T
    bordered[p:, :p] = bordered[:p, p:].T
    return bordered


def _of_sparse(X: Sparse, target: Target, weights: Floats | None) -> tuple[Floats, Floats, Floats]:
    """Counts, means and scatter of a sparse table: X'X minus the share of the means, of which large ones are shifted.

    See `Sparse.shifted`.
    """
    n = X.shape[0]
    w, codes = np.ones(n) if weights is None else weights, target.codes if isinstance(target, Categorical) else None
    member = w[None, :] if isinstance(target, Continuous) else _member(target, w, slice(None))
    y = target.values if isinstance(target, Continuous) else np.empty((n, 0))
    counts = member.sum(axis=1)
    divisor = np.where(counts > 0, counts, 1.0)[:, None]
    sums, squares = X.sums(member, weights)
    means = sums / divisor
    shift = large_means(means, counts, squares - counts @ means**2)
    if shift.any() and np.isfinite(shift).all():
        X = X.shifted(shift, codes)
        means = X.multiply(member) / divisor
    weighted = np.sqrt(counts)[:, None] * means
    scatter = X.gram(None if weights is None else np.sqrt(weights)) - weighted.T @ weighted
    of_targets = member @ y / divisor
    full = _with_targets(scatter, X, target, np.concatenate([means, of_targets], axis=1), weights)
    return counts, np.concatenate([means + shift, of_targets], axis=1), full
