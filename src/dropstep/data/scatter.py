"""Class means and scatter of the rows of a design matrix."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import blas

from dropstep.data.matrices.dense import Dense
from dropstep.data.matrices.matrix import Blocked, Matrix
from dropstep.data.matrices.sparse import Sparse, large_means
from dropstep.data.target import Categorical, Continuous, Target

Floats = NDArray[np.float64]

BLOCK_SIZE = 2**17  # values (1 MB) that are centred and weighted at a time, and multiplied while they are in the cache
MIN_BLOCK_ROWS = 512  # of a block: with fewer, the Gram matrix would be read and written too often
CACHED = 2**20  # values of X (8 MB) that stay in the cache: further passes take less time than a copy of its rows
MAX_CANCELLATION = 1e4  # centre by class means if what they add to a sum of squares exceeds the scatter by this factor


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
    counts = _counts(target, X.shape[0], weights)
    if isinstance(X, Dense) and weights is None and X.dtype == np.float64:
        in_place = _in_place(X, target, counts) if isinstance(target, Continuous) or X.size <= CACHED else None
        if in_place is not None:
            return counts, *in_place
    means, scatter, is_accurate = _about(_centre(blocked, target, weights), blocked, target, weights, counts)
    if not is_accurate:
        means, scatter, _ = _about(means, blocked, target, weights, counts)
    return counts, means, scatter


def _counts(target: Target, n: int, weights: Floats | None) -> Floats:
    """Number of rows (sum of weights) of each class."""
    if isinstance(target, Categorical):
        return np.bincount(target.codes, weights, len(target.labels)).astype(np.float64)
    return np.array([n if weights is None else weights.sum()], dtype=np.float64)


def _in_place(X: Dense, target: Target, counts: Floats) -> tuple[Floats, Floats] | None:
    """Means and scatter of rows that need not be copied; None if the means are nearly all of a sum of squares."""
    if isinstance(target, Categorical):
        sums = _class_sums(X, target)
    else:
        target_means = target.values.sum(axis=0, keepdims=True) / counts
        y = target.values - target_means
        sums, products = _sums_and_products(X, y)
    means = sums / np.where(counts > 0, counts, 1.0)[:, None]
    X.reads.add(X.size)
    gram = X.values.T @ X.values  # a symmetric product, in any memory order
    between = counts @ means**2
    if not np.all(between <= MAX_CANCELLATION * (np.diagonal(gram) - between)):
        return None
    weighted = np.sqrt(counts)[:, None] * means
    gram -= weighted.T @ weighted
    if isinstance(target, Categorical):
        return means, gram
    cross = products - np.outer(y.sum(axis=0), means)
    return np.concatenate([means, target_means], axis=1), _bordered(gram, cross, y.T @ y)


def _sums_and_products(X: Dense, y: Floats) -> tuple[Floats, Floats]:
    """Sums of the features, and their products with y: in one pass, or separately, which rounds less, in the cache."""
    ones = np.ones((1, len(y)))
    if X.size <= CACHED:
        return X.multiply(ones), X.multiply(y.T)
    both = X.multiply(np.vstack([ones, y.T]))
    return both[:1], both[1:]


def _class_sums(X: Dense, target: Categorical) -> Floats:
    """Sums of the features by class."""
    n_classes = len(target.labels)
    sums = np.zeros((n_classes, X.shape[1]))
    for rows, values in X.row_parts(max(MIN_BLOCK_ROWS, BLOCK_SIZE // (X.shape[1] + n_classes))):
        sums += _members(target.codes[rows], np.ones(1), np.empty((n_classes, len(values)))) @ values
    return sums


def _members(codes: NDArray[np.intp], weights: Floats, out: Floats) -> Floats:
    """Weights by class and row."""
    out[:] = 0.0
    out[codes, np.arange(len(codes))] = weights
    return out


def _centre(X: Blocked, target: Target, weights: Floats | None) -> Floats:
    """About the means of features and targets: of features the mean of the first rows, exact if they are constant.

    Zeros for a large table of which no mean exceeds the standard deviation: centring would save a bit at most.
    """
    first_rows = cast(Blocked, X.at(np.arange(min(MIN_BLOCK_ROWS, X.shape[0]))))
    _, values = next(first_rows.row_parts(MIN_BLOCK_ROWS))
    w = None if weights is None or not weights[: len(values)].any() else weights[: len(values)]
    first = values[0 if w is None else np.argmax(w > 0)].astype(np.float64)
    difference = values - first
    mean = np.average(difference, axis=0, weights=w)
    features, variance = first + mean, np.average(np.square(difference), axis=0, weights=w) - mean**2
    if np.prod(X.shape) > CACHED and np.all(np.square(features) <= variance):
        features = np.zeros(len(features))
    targets = np.average(target.values, axis=0, weights=weights) if isinstance(target, Continuous) else np.empty(0)
    return np.concatenate([features, targets])[None, :]


def _about(
    centres: Floats, X: Blocked, target: Target, weights: Floats | None, counts: Floats
) -> tuple[Floats, Floats, bool]:
    """Class means and scatter within classes from one pass, and whether the scatter has lost few digits.

    Parameters
    ----------
    centres : ndarray of shape (1 or n_classes, n_features + n_targets)
        What is subtracted from each row, or from each row of a class. With s_c and G the sums and the products of what
        remains, the scatter is G - sum_c s_c s_c' / n_c: accurate unless the second term is nearly all of the first.
    """
    q = centres.shape[1]
    gram, sums = np.zeros((q, q), order="F"), np.zeros((q, len(counts)), order="F")
    for member, block in _centred_blocks(centres, X, target, weights):
        gram = blas.dsyrk(1.0, block.T, beta=1.0, c=gram, overwrite_c=True)
        sums = blas.dgemm(1.0, block.T, member, beta=1.0, c=sums, overwrite_c=True)
    gram += np.triu(gram, 1).T
    divisor = np.where(counts > 0, counts, 1.0)
    between = sums / np.sqrt(divisor)
    share = np.einsum("ij,ij->i", between, between)
    gram -= between @ between.T
    return centres + (sums / divisor).T, gram, bool(np.all(share <= MAX_CANCELLATION * np.diagonal(gram)))


def _centred_blocks(
    centres: Floats, X: Blocked, target: Target, weights: Floats | None
) -> Iterator[tuple[Floats, Floats]]:
    """Blocks of rows, in one buffer: features and targets minus centres, times the square roots of the weights.

    Each with the membership of its rows: the root of the weight in the column of the class.
    """
    p, (n_centres, q) = X.shape[1], centres.shape
    shifted = centres[:, :p].any()
    n_classes = len(target.labels) if isinstance(target, Categorical) else 1
    height = min(X.shape[0], max(MIN_BLOCK_ROWS, BLOCK_SIZE // (q + n_classes)))
    buffer, members = np.empty((height, q)), np.zeros((n_classes, height))
    for rows, values in _row_parts(X, height):
        block, member = buffer[: len(values)], members[:, : len(values)]
        root = np.ones(1) if weights is None else np.sqrt(weights[rows])
        if isinstance(target, Categorical):
            codes = target.codes[rows]
            _members(codes, root, member)
            block[:] = values
            if shifted:
                block -= centres if n_centres == 1 else centres[codes]
        else:
            member[:] = root
            block[:, :p], block[:, p:] = values, target.values[rows] - centres[:, p:]
            if shifted:
                block[:, :p] -= centres[:, :p]
        if weights is not None:
            block *= root[:, None]
        yield member.T, block


def _row_parts(X: Blocked, height: int) -> Iterator[tuple[slice, NDArray[Any]]]:
    """Blocks of rows with at most `height` rows."""
    for rows, values in X.row_parts(height):
        for top in range(0, len(values), height):
            part = values[top : top + height]
            yield slice(rows.start + top, rows.start + top + len(part)), part


def _with_targets(scatter: Floats, X: Matrix, target: Target, means: Floats, w: Floats | None) -> Floats:
    """Scatter of features and targets, from that of the features; `means` are those of both."""
    if isinstance(target, Categorical):
        return scatter
    p = len(scatter)
    y = target.values - means[0, p:]
    weighted = y if w is None else w[:, None] * y
    cross = X.multiply(weighted.T) - np.outer(weighted.sum(axis=0), means[0, :p])
    return _bordered(scatter, cross, y.T @ weighted)


def _bordered(scatter: Floats, cross: Floats, of_targets: Floats) -> Floats:
    """Scatter of features and targets, from its parts."""
    p, q = len(scatter), len(scatter) + len(of_targets)
    bordered = np.empty((q, q))
    bordered[:p, :p], bordered[p:, p:] = scatter, of_targets
    bordered[p:, :p], bordered[:p, p:] = cross, cross.T
    return bordered


def _of_sparse(X: Sparse, target: Target, weights: Floats | None) -> tuple[Floats, Floats, Floats]:
    """Counts, means and scatter of a sparse table: X'X minus the share of the means, of which large ones are shifted.

    See `Sparse.shifted`.
    """
    n = X.shape[0]
    w, codes = np.ones(n) if weights is None else weights, target.codes if isinstance(target, Categorical) else None
    member = (
        w[None, :] if isinstance(target, Continuous) else _members(target.codes, w, np.empty((len(target.labels), n)))
    )
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
