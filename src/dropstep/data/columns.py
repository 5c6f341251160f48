"""Columns: a design matrix that is read in place; rows of its scatter matrix are computed on demand."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import cast

import numpy as np
from numpy.typing import NDArray

from dropstep.data.matrices.dense import Dense
from dropstep.data.matrices.matrix import Blocked, Exponents, Matrix
from dropstep.data.matrices.sparse import Sparse, large_means
from dropstep.data.scale import CONSTANT, rescaled
from dropstep.data.table import Table, refuse_missing
from dropstep.data.target import Categorical, Continuous, Target

Floats = NDArray[np.float64]
Features = NDArray[np.intp]

SMALL = 2**18  # size of X up to which a centred copy is faster than centring on the fly
MAX_CANCELLATION = 1e4  # recompute a scatter about the means if the means' share exceeds it by this factor
MAX_FLOAT32_MEAN = 100.0  # |mean| / sd up to which float32 products have about five correct digits
MAX_FLOAT32_SD = 1e12  # sd up to which, and above whose inverse, float32 represents squares and their sums


@dataclass(frozen=True, eq=False)
class Columns:
    """A design matrix whose columns are centred within classes and weighted, without a copy of X unless it is small.

    Let x~ be column x minus its class means, times the square roots of the row weights. The scatter matrix is
    S_ij = x~_i' x~_j. A vector r that is itself centred within classes satisfies x~' r = x' (root r), so that products
    with X~ are products with X.

    Attributes
    ----------
    X : Matrix of shape (n_samples, n_features)
        Feature values; up to constants that are the same for all rows of a class.
    means : ndarray of shape (n_classes, n_features) or None
        Class means (one class for a regression); None if X is a centred copy.
    codes : ndarray of shape (n_samples,) or None
        Class of each row; None for a regression.
    root : ndarray of shape (n_samples,) or None
        Square roots of the row weights; None if all weights are 1.
    in_double : bool, default=False
        Whether products with a float32 X are computed in float64, because float32 would lose too many digits.
    """

    X: Matrix
    means: Floats | None
    codes: NDArray[np.intp] | None
    root: Floats | None
    in_double: bool = False

    @property
    def copy(self) -> Floats | None:
        """All columns x~, if X is a centred copy."""
        return self.X.values if self.means is None and isinstance(self.X, Dense) else None

    @property
    def unweighted(self) -> bool:
        """True if all rows are one class and have weight 1."""
        return self.codes is None and self.root is None

    def centred(self, features: Features) -> Floats:
        """Columns x~ of the given features, in float64."""
        taken = self.X.take(features).astype(np.float64, order="F", copy=False)
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
        taken = self.X.take(features).astype(np.float64, copy=False)
        return self._class_means(taken - _by_row(self.means[:, features], self.codes))

    def _class_means(self, taken: Floats) -> Floats:
        w = np.ones(len(taken)) if self.root is None else self.root**2
        if self.codes is None:
            return np.asarray(w @ taken / w.sum())[None, :]
        counts = np.bincount(self.codes, w)
        means = np.empty((len(counts), taken.shape[1]))
        for j, column in enumerate(taken.T):
            means[:, j] = np.bincount(self.codes, w * column) / counts
        return means

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
        return self.X.multiply(R.T, out, in_double=self.in_double)

    def take(self, features: Features) -> Columns:
        """A copy of the given columns."""
        means = None if self.means is None else self.means[:, features]
        return Columns(self.X.subset(features), means, self.codes, self.root, self.in_double)


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
    X = table.matrix
    y = _centred_targets(target, weights)
    root = None if weights is None else np.sqrt(weights)
    rows = _Rows(*_classes(target, X.shape[0], weights), weights, root, y)
    with np.errstate(invalid="ignore", over="ignore"):
        columns, sums = _read(X, rows)
        squares = sums.diagonal + sums.counts @ sums.means**2
        targets = np.empty(0) if y is None else np.add.reduce(y * y)
        scaled = rescaled(X, squares, targets, weights)
        if scaled is not None:
            columns, sums = _read(scaled[0], rows)
            sums = replace(sums, exponents=scaled[1])
    refuse_missing(table, sums.means)
    refuse_missing(table, sums.diagonal[None, :])
    return columns, sums


def _read(X: Matrix, rows: _Rows) -> tuple[Columns, Sums]:
    """Columns of X, and their sums."""
    if isinstance(X, Sparse):
        return _implicitly(X, rows)
    if isinstance(X, Dense) and X.size <= SMALL:
        return _centred_copy(X, rows)
    return _in_place(cast(Blocked, X), rows)


def _sums_with_targets(X: Matrix, rows: _Rows) -> tuple[Floats, Floats, Floats | None]:
    """Class means, sums of squares, and products with the targets."""
    if rows.y is None:
        sums, squares = X.sums(rows.member, rows.weights)
        return sums / rows.counts[:, None], squares, None
    weighted = rows.y if rows.root is None else rows.y * rows.root[:, None]
    unit = np.ldexp(1.0, np.frexp(np.abs(weighted).max(axis=0))[1])  # so that float32 can represent the targets
    products, squares = X.sums(np.concatenate([rows.member, (weighted / unit).T]), rows.weights)
    return products[:1] / rows.counts[:, None], squares, products[1:].T * unit


def _in_place(X: Blocked, rows: _Rows) -> tuple[Columns, Sums]:
    """Columns of a large X, which is not copied."""
    means, squares, cross = _sums_with_targets(X, rows)
    diagonal = _scatter(squares, X, means, rows)
    in_double = X.dtype == np.float32 and _exceeds_float32(means, diagonal, rows.counts)
    columns = Columns(X, means, rows.codes, rows.root, in_double)
    if in_double and rows.y is not None:
        cross = columns.products(rows.y).T
    return columns, Sums(rows.counts, means, diagonal, cross, rows.y)


def _implicitly(X: Sparse, rows: _Rows) -> tuple[Columns, Sums]:
    """Columns of a sparse X. Means that are large compared with the scatter are subtracted from nearly full columns.

    So what is subtracted implicitly never exceeds the scatter by far, and no digits are lost.
    """
    means, squares, cross = _sums_with_targets(X, rows)
    shift = large_means(means, rows.counts, squares - rows.counts @ means**2)
    if shift.any() and np.isfinite(shift).all():
        X = X.shifted(shift, rows.codes)
        means, squares, cross = _sums_with_targets(X, rows)
    diagonal = np.maximum(squares - rows.counts @ means**2, 0.0)
    return Columns(X, means, rows.codes, rows.root), Sums(rows.counts, means + shift, diagonal, cross, rows.y)


def _exceeds_float32(means: Floats, diagonal: Floats, counts: Floats) -> bool:
    """True if float32 products would lose too many digits, or overflow, for some column."""
    sd = np.sqrt(diagonal / counts.sum())
    mean = np.abs(means).max(axis=0)
    extreme = (mean > MAX_FLOAT32_MEAN * sd) | (sd > MAX_FLOAT32_SD) | (sd < 1 / MAX_FLOAT32_SD)
    return bool(np.any(extreme, where=sd > CONSTANT * mean))


def _classes(target: Target, n: int, weights: Floats | None) -> tuple[NDArray[np.intp] | None, Floats, Floats]:
    """Class of each row, number of rows of each class, and membership (weights by class and row)."""
    w = np.ones(n) if weights is None else weights
    if isinstance(target, Continuous):
        return None, np.add.reduce(w, keepdims=True), w[None, :]
    member = np.zeros((len(target.labels), n))
    member[target.codes, np.arange(n)] = w
    return target.codes, member.sum(axis=1), member


def _centred_targets(target: Target, weights: Floats | None) -> Floats | None:
    """Targets minus their means, times the square roots of the weights."""
    if isinstance(target, Categorical):
        return None
    y = target.values
    for _ in range(2):  # the second time removes the rounding error of the first
        y = y - (np.add.reduce(y) / y.shape[0] if weights is None else weights @ y / weights.sum())
    return y if weights is None else y * np.sqrt(weights)[:, None]


def _centred_copy(X: Dense, rows: _Rows) -> tuple[Columns, Sums]:
    """Columns of a small X, centred in a copy: cheap, and without loss of digits."""
    values = X.values.astype(np.float64, copy=False)
    means = rows.member @ values / rows.counts[:, None]
    centred = values - _by_row(means, rows.codes)
    X.reads.add(X.size)
    if rows.root is not None:
        centred *= rows.root[:, None]
    diagonal = np.add.reduce(centred * centred)
    cross = None if rows.y is None else centred.T @ rows.y
    columns = Columns(Dense(centred, X.reads), None, rows.codes, rows.root)
    return columns, Sums(rows.counts, means, diagonal, cross, rows.y)


def _scatter(squares: Floats, X: Blocked, means: Floats, rows: _Rows) -> Floats:
    """Diagonal of the scatter matrix: sums of squares minus the share of the class means.

    Where the means account for nearly all of a sum of squares, the difference suffers from cancellation and is
    recomputed from centred values.
    """
    between = rows.counts @ means**2
    diagonal = squares - between
    inaccurate = between > MAX_CANCELLATION * diagonal
    if X.dtype == np.float32:
        inaccurate |= ~np.isfinite(squares) | (squares < rows.counts.sum() / MAX_FLOAT32_SD**2)
    if inaccurate.any():
        at = inaccurate.nonzero()[0]
        diagonal[at] = _centred_squares(X, at, means, rows)
    return np.maximum(diagonal, 0.0)


def _centred_squares(X: Blocked, features: Features, means: Floats, rows: _Rows) -> Floats:
    """Sums of squares about the means; of a regression, about the mean of the centred values (means are rounded)."""
    n = X.shape[0]
    sums, squares = np.zeros((2, len(features)))
    w = np.ones(n) if rows.weights is None else rows.weights
    for here, at, block in X.parts(features):
        codes = None if rows.codes is None else rows.codes[here]
        centred = block.astype(np.float64) - _by_row(means[:, features[at]], codes)
        sums[at] += w[here] @ centred
        squares[at] += w[here] @ centred**2
    return squares if rows.codes is not None else squares - sums**2 / rows.counts.sum()


def _by_row(means: Floats, codes: NDArray[np.intp] | None) -> Floats:
    """Class mean of each row; a single row, to be broadcast, if there is one class."""
    return means if codes is None else means[codes]
