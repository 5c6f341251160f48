"""Moments: counts, means and scatter matrix of rows. They can be added, so rows may be read in any blocks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path as FilePath
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import blas

from dropstep.data import exchange
from dropstep.data.frame import as_table
from dropstep.data.scale import Exponents, is_extreme, rescaled_copy
from dropstep.data.table import Table, as_weights, listed, refuse_missing
from dropstep.data.target import Categorical, Continuous, Model, Target, as_target

Floats = NDArray[np.float64]

BLOCK_SIZE = 2**20  # values that are copied and centred at a time
MIN_BLOCK_ROWS = 64
MIN_REMAINDER = 1e-6  # relative scatter after a subtraction below which cross products are bounded again
ROUNDING = 1e-14  # relative scatter after a subtraction that is rounding error
MAX_CANCELLATION = 1e4  # centre rows first if the means' share of a sum of squares exceeds the scatter by this factor
COUNT_TOLERANCE = 1e-9  # rounding error of a difference of counts, relative to the count of the whole


@dataclass(frozen=True, eq=False)
class Moments:
    """Counts, means and scatter matrix of the rows of a table: all that least squares and discriminant analysis need.

    A regression has one class, and its targets are the last columns. Class labels have no columns: they enter through
    the counts and means. Moments of disjoint sets of rows can be added, and those of a subset subtracted. Invariant,
    for any disjoint sets of rows a and b of one table: ``of(a) + of(b)`` equals ``of(a and b)``, and
    ``(of(a) + of(b)) - of(b)`` equals ``of(a)``.

    Attributes
    ----------
    labels : ndarray of shape (n_classes,) or None
        Class labels, sorted; None for a regression.
    counts : ndarray of shape (n_classes,)
        Number of rows (sum of weights) of each class.
    means : ndarray of shape (n_classes, n_features + n_targets)
        Mean of every column, by class.
    scatter : ndarray of shape (n_features + n_targets, n_features + n_targets)
        Within-class scatter: sum over rows of the outer product of a row minus its class mean.
    n_targets : int
        Number of targets, which are the last columns; 0 for class labels.
    feature_names : tuple of str or None
        Feature names.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from dropstep import Moments, select
    >>> X, y = load_diabetes(return_X_y=True)
    >>> total = Moments.of(X[:200], y[:200]) + Moments.of(X[200:], y[200:])
    >>> select(total).selected == select(X, y).selected
    True
    """

    labels: NDArray[Any] | None
    counts: Floats
    means: Floats
    scatter: Floats
    n_targets: int
    feature_names: tuple[str, ...] | None = None

    @classmethod
    def of(cls, X: Any, y: Any, *, sample_weight: Any = None, model: Model = "auto") -> Moments:
        """Moments of the rows of a table, in one pass.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            An array or a frame.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Target values or class labels.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Row weights; weight 2 is equivalent to repeating the row.
        model : {"auto", "linear", "discriminant"}, default="auto"
            Whether y holds target values or class labels; "auto" decides from the values of y. Pass the model if the
            rows of a table come in blocks, because "auto" may decide differently from block to block.

        Returns
        -------
        Moments
        """
        table = as_table(X)
        weights = as_weights(sample_weight, len(table.values))
        target = as_target(y, len(table.values), model, weights, whole=False)
        moments = of_rows_as_they_are(table.values, target, weights, table.names)
        refuse_missing(table, moments.means[:, : moments.n_features])
        _check_scale(table, moments, weights)
        return moments

    @property
    def n_features(self) -> int:
        """Number of features."""
        return len(self.scatter) - self.n_targets

    @property
    def n_rows(self) -> float:
        """Number of rows (sum of weights)."""
        return float(self.counts.sum())

    def __add__(self, other: Moments) -> Moments:
        a, b = self._aligned(other)
        counts = a.counts + b.counts
        share = np.divide(b.counts, counts, out=np.zeros_like(counts), where=counts > 0)
        difference = b.means - a.means
        between = np.sqrt(a.counts * share)[:, None] * difference
        return Moments(
            a.labels,
            counts,
            a.means + share[:, None] * difference,
            a.scatter + b.scatter + between.T @ between,
            a.n_targets,
            a.feature_names,
        )

    def __sub__(self, part: Moments) -> Moments:
        whole, part = self._aligned(part)
        counts = whole.counts - part.counts
        if len(counts) != len(self.counts) or np.any(counts < -COUNT_TOLERANCE * whole.counts):
            raise ValueError("Moments can be subtracted only from Moments that contain the same rows")
        kept = counts > COUNT_TOLERANCE * whole.counts
        counts = np.where(kept, counts, 0.0)
        factor = np.divide(part.counts, counts, out=np.zeros_like(counts), where=kept)
        difference = np.where(kept[:, None], whole.means - part.means, 0.0)
        between = np.sqrt(part.counts * (1 + factor))[:, None] * difference
        return Moments(
            None if whole.labels is None else whole.labels[kept],
            counts[kept],
            (whole.means + factor[:, None] * difference)[kept],
            _without_rounding(whole.scatter - part.scatter - between.T @ between, whole),
            whole.n_targets,
            whole.feature_names,
        )

    def _aligned(self, other: Moments) -> tuple[Moments, Moments]:
        """Both moments over the union of their classes."""
        if not isinstance(other, Moments):
            raise TypeError(f"Moments can be combined only with Moments; got {type(other).__name__}")
        if self.scatter.shape != other.scatter.shape or (self.labels is None) != (other.labels is None):
            raise ValueError(
                "Moments of different tables cannot be combined: the number of features and the type of target must be "
                "the same (pass model= to Moments.of if blocks of y could be read differently)"
            )
        if self.feature_names != other.feature_names:
            raise ValueError("Moments of different tables cannot be combined: their feature names differ")
        if self.labels is None or other.labels is None or np.array_equal(self.labels, other.labels):
            return self, other
        labels = np.union1d(self.labels, other.labels)
        return self._over(labels), other._over(labels)

    def _over(self, labels: NDArray[Any]) -> Moments:
        """The same moments with classes that have no rows."""
        assert self.labels is not None
        at = np.searchsorted(labels, self.labels)
        counts = np.zeros(len(labels))
        means = np.zeros((len(labels), self.means.shape[1]))
        counts[at], means[at] = self.counts, self.means
        return Moments(labels, counts, means, self.scatter, self.n_targets, self.feature_names)

    def save(self, file: str | FilePath) -> None:
        """Write the moments to an ``.npz`` file.

        Parameters
        ----------
        file : str or Path
            The file; an existing one is replaced.
        """
        arrays: dict[str, Any] = {
            "counts": self.counts,
            "means": self.means,
            "scatter": self.scatter,
            "n_targets": np.array(self.n_targets),
        }
        if self.labels is not None:
            arrays["labels"] = self.labels
        if self.feature_names is not None:
            arrays["feature_names"] = np.array(self.feature_names, dtype=np.str_)
        exchange.write(file, arrays)

    @classmethod
    def load(cls, file: str | FilePath) -> Moments:
        """Read moments from a file written by `save`.

        Parameters
        ----------
        file : str or Path
            The file.

        Returns
        -------
        Moments

        Raises
        ------
        ValueError
            If the file does not contain valid moments.
        """
        arrays = exchange.read(file)
        names = arrays.pop("feature_names", None)
        return cls(
            **{"labels": None, **arrays}, feature_names=None if names is None else tuple(str(name) for name in names)
        )


def _without_rounding(scatter: Floats, whole: Moments) -> Floats:
    """A difference of scatter matrices, corrected so that it is a scatter matrix.

    Diagonal elements at rounding level are set to 0; where little remains, |S_ij| <= sqrt(S_ii S_jj) is enforced.
    """
    diagonal, before = np.diagonal(scatter), np.diagonal(whole.scatter)
    small = np.flatnonzero(diagonal <= MIN_REMAINDER * before)
    if len(small):
        rounding = ROUNDING * np.sqrt(before) * np.sqrt(before + whole.counts @ whole.means**2)
        sd = np.sqrt(np.where(diagonal > rounding, diagonal, 0.0))
        bound = np.outer(sd[small], sd)
        rows = np.clip(scatter[small], -bound, bound)
        scatter[small], scatter[:, small] = rows, rows.T
        scatter[small, small] = np.square(sd[small])
    return scatter


def of_rows(
    X: NDArray[Any], target: Target, weights: Floats | None = None, names: Sequence[str] | None = None
) -> tuple[Moments, Exponents | None]:
    """Moments of validated rows; columns of extreme scale are rescaled in a copy of X.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Feature values.
    target : Continuous or Categorical
        Target values or class labels.
    weights : ndarray of shape (n_samples,) or None, default=None
        Row weights.
    names : sequence of str or None, default=None
        Feature names.

    Returns
    -------
    moments : Moments
    exponents : ndarray of shape (n_features,) or None
        Column j was divided by 2 ** exponents[j]; None if no column was rescaled.
    """
    moments = of_rows_as_they_are(X, target, weights, names)
    copied = rescaled(X, moments, weights)
    if copied is None:
        return moments, None
    copy, exponents = copied
    return of_rows_as_they_are(copy, target, weights, names), exponents


def rescaled(X: NDArray[Any], moments: Moments, weights: Floats | None) -> tuple[Floats, Exponents] | None:
    """A copy of X whose columns of extreme scale are rescaled, with their exponents; None if there are none."""
    return rescaled_copy(X, *_squares(moments), weights)


def of_rows_as_they_are(
    X: NDArray[Any], target: Target, weights: Floats | None = None, names: Sequence[str] | None = None
) -> Moments:
    """Moments without a check of their scale: sums by class, and one symmetric product."""
    labels, n_targets = (target.labels, 0) if isinstance(target, Categorical) else (None, target.values.shape[1])
    with np.errstate(invalid="ignore", over="ignore"):  # NaN and infinity are reported later, by column
        counts, means = _class_means(X, target, weights)
        scatter = _scatter(X, target, weights, counts, means)
    return Moments(labels, counts, means, scatter, n_targets, None if names is None else tuple(names))


def _squares(moments: Moments) -> tuple[Floats, Floats]:
    """Sums of squares of the features about zero, and of the targets about their means."""
    p, diagonal = moments.n_features, np.diagonal(moments.scatter)
    with np.errstate(invalid="ignore", over="ignore"):
        return diagonal[:p] + moments.counts @ moments.means[:, :p] ** 2, diagonal[p:]


def _check_scale(table: Table, moments: Moments, weights: Floats | None) -> None:
    """Reject columns whose squares float64 cannot represent, other than small constants (moments are not scaled)."""
    squares, targets = _squares(moments)
    present = slice(None) if weights is None else weights > 0
    bad, largest = [], 0.0
    for j in np.flatnonzero(is_extreme(squares, targets)):
        column = table.values[present, j]
        if not squares[j] < 1 or column.min() < column.max():
            bad.append(int(j))
            largest = max(largest, float(np.abs(column.astype(np.float64)).max()))
    if bad:
        raise ValueError(
            f"the squares of {listed(table, bad)} (values up to {largest:g}), or their products with y, are out of the "
            "range of float64, in which moments are stored; rescale these columns"
        )


def _blocks(X: NDArray[Any]) -> Iterator[slice]:
    step = max(MIN_BLOCK_ROWS, BLOCK_SIZE // X.shape[1])
    return (slice(start, start + step) for start in range(0, len(X), step))


def _class_means(X: NDArray[Any], target: Target, weights: Floats | None) -> tuple[Floats, Floats]:
    """Number of rows, and means of features and targets, by class."""
    w = np.ones(len(X)) if weights is None else weights
    if isinstance(target, Continuous):
        sums = np.concatenate([_sums(w[None, :], X), w[None, :] @ target.values], axis=1)
        return np.array([w.sum()]), sums / w.sum()
    counts = np.bincount(target.codes, w, len(target.labels)).astype(np.float64)
    sums = np.zeros((len(counts), X.shape[1]))
    for rows in _blocks(X):
        codes = target.codes[rows]
        member = np.zeros((len(counts), len(codes)))
        member[codes, np.arange(len(codes))] = w[rows]
        sums += _sums(member, X[rows])
    return counts, sums / np.where(counts > 0, counts, 1.0)[:, None]


def _sums(member: Floats, X: NDArray[Any]) -> Floats:
    """member @ X, converted to float64 one block at a time."""
    if X.dtype == np.float64:
        return np.asarray(member @ X)
    total = np.zeros((len(member), X.shape[1]))
    for rows in _blocks(X):
        total += member[:, rows] @ X[rows].astype(np.float64)
    return total


def _scatter(X: NDArray[Any], target: Target, weights: Floats | None, counts: Floats, means: Floats) -> Floats:
    """Scatter about the class means. Rows are copied, one block at a time, only to centre, weight or convert them.

    X'X minus the share of the means is accurate unless the means account for nearly all of the sum of squares.
    """
    p = X.shape[1]
    if weights is None and X.dtype == np.float64:
        gram = X.T @ X  # a symmetric product, in any memory order
        between = counts @ means[:, :p] ** 2
        if np.all(between <= MAX_CANCELLATION * (np.diagonal(gram) - between)):
            weighted = np.sqrt(counts)[:, None] * means[:, :p]
            return _with_targets(gram - weighted.T @ weighted, X, target, means)
    y = target.values if isinstance(target, Continuous) else None
    gram = np.zeros((means.shape[1], means.shape[1]), order="F")
    for rows in _blocks(X):
        block = np.empty((len(X[rows]), means.shape[1]))
        block[:, :p] = X[rows]
        if y is not None:
            block[:, p:] = y[rows]
        block -= means if isinstance(target, Continuous) else means[target.codes[rows]]
        if weights is not None:
            block *= np.sqrt(weights[rows])[:, None]
        gram = blas.dsyrk(1.0, block.T, beta=1.0, c=gram, overwrite_c=True)
    return np.asarray(gram + np.triu(gram, 1).T)


def _with_targets(scatter: Floats, X: NDArray[Any], target: Target, means: Floats) -> Floats:
    """Scatter of features and targets, from that of the features."""
    if isinstance(target, Categorical):
        return scatter
    p = len(scatter)
    y = target.values - means[0, p:]
    bordered = np.empty((p + y.shape[1], p + y.shape[1]))
    bordered[:p, :p], bordered[p:, p:] = scatter, y.T @ y
    bordered[:p, p:] = (y.T @ X - np.outer(y.sum(axis=0), means[0, :p])).T
    bordered[p:, :p] = bordered[:p, p:].T
    return bordered
