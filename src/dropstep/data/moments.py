"""Moments: counts, means and scatter of rows. They add up, so rows may come in any blocks, from anywhere."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path as FilePath
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import blas

from dropstep.data import exchange
from dropstep.data.scale import is_extreme, rescaled
from dropstep.data.table import Table, as_table, as_weights, listed, refuse_missing
from dropstep.data.target import Categorical, Continuous, Model, Target, as_target

Floats = NDArray[np.float64]

BLOCK = 2**20  # numbers in a block of rows that is copied to be centred
LITTLE = 1e-6  # part of a scatter that a difference may leave before its cross products are checked,
ROUNDING = 1e-14  # and before it is nothing but rounding
CANCELS = 1e4  # part of a sum of squares that is the means', above which rows are centred before they are multiplied


@dataclass(frozen=True, eq=False)
class Moments:
    """Counts and means by class, and the scatter about the class means, of features and targets.

    A regression is the case of one class, with the targets as the last columns. Class labels need no
    columns: their counts and means say it all. Invariant, for any rows a and b of one table:
    ``of(a) + of(b)`` equals ``of(a and b)``, and ``(of(a) + of(b)) - of(b)`` equals ``of(a)``.

    Attributes
    ----------
    labels : the class labels, sorted; None for a regression.
    counts : rows (sum of weights) by class.
    means : mean of every column by class.
    scatter : sum over rows of the outer product of a row's difference from its class mean.
    n_targets : how many of the last columns are targets; 0 for classes.
    feature_names : names of the features, if the rows had names.
    """

    labels: NDArray[Any] | None
    counts: Floats
    means: Floats
    scatter: Floats
    n_targets: int
    feature_names: tuple[str, ...] | None = None

    @classmethod
    def of(cls, X: Any, y: Any, *, sample_weight: Any = None, model: Model = "auto") -> Moments:
        """Moments of the rows of a table, in one pass over blocks of rows.

        When the rows of one table come in parts, name the model: what ``"auto"`` makes of y may differ between parts.
        """
        table = as_table(X)
        weights = as_weights(sample_weight, len(table.values))
        target = as_target(y, len(table.values), model, weights, whole=False)
        moments = _of_rows(table.values, target, weights, table.names)
        refuse_missing(table, moments.means[:, : moments.n_features])
        _refuse_scale(table, moments, weights)
        return moments

    @property
    def n_features(self) -> int:
        return len(self.scatter) - self.n_targets

    @property
    def n_rows(self) -> float:
        return float(self.counts.sum())

    def __add__(self, other: Moments) -> Moments:
        a, b = self._aligned(other)
        counts = a.counts + b.counts
        share = np.divide(b.counts, counts, out=np.zeros_like(counts), where=counts > 0)
        apart = b.means - a.means
        between = np.sqrt(a.counts * share)[:, None] * apart
        return Moments(
            a.labels,
            counts,
            a.means + share[:, None] * apart,
            a.scatter + b.scatter + between.T @ between,
            a.n_targets,
            a.feature_names,
        )

    def __sub__(self, part: Moments) -> Moments:
        whole, part = self._aligned(part)
        counts = whole.counts - part.counts
        if len(counts) != len(self.counts) or np.any(counts < -1e-9 * whole.counts):
            raise ValueError("moments can be subtracted only from moments that contain the same rows")
        kept = counts > 1e-9 * whole.counts
        counts = np.where(kept, counts, 0.0)
        factor = np.divide(part.counts, counts, out=np.zeros_like(counts), where=kept)
        apart = np.where(kept[:, None], whole.means - part.means, 0.0)
        between = np.sqrt(part.counts * (1 + factor))[:, None] * apart
        return Moments(
            None if whole.labels is None else whole.labels[kept],
            counts[kept],
            (whole.means + factor[:, None] * apart)[kept],
            _cleared(whole.scatter - part.scatter - between.T @ between, whole),
            whole.n_targets,
            whole.feature_names,
        )

    def _aligned(self, other: Moments) -> tuple[Moments, Moments]:
        """Both moments over the union of their classes."""
        if not isinstance(other, Moments):
            raise TypeError(f"moments add up with moments only, not with {type(other).__name__}")
        if self.scatter.shape != other.scatter.shape or (self.labels is None) != (other.labels is None):
            raise ValueError(
                "moments of different tables do not add up: they must have the same features and the same kind of "
                "target (name the model in Moments.of when blocks could look different)"
            )
        if self.feature_names != other.feature_names:
            raise ValueError("moments of different tables do not add up: their feature names differ")
        if self.labels is None or other.labels is None or np.array_equal(self.labels, other.labels):
            return self, other
        labels = np.union1d(self.labels, other.labels)
        return self._over(labels), other._over(labels)

    def _over(self, labels: NDArray[Any]) -> Moments:
        assert self.labels is not None
        at = np.searchsorted(labels, self.labels)
        counts = np.zeros(len(labels))
        means = np.zeros((len(labels), self.means.shape[1]))
        counts[at], means[at] = self.counts, self.means
        return Moments(labels, counts, means, self.scatter, self.n_targets, self.feature_names)

    def save(self, file: str | FilePath) -> None:
        """Write the moments to an ``.npz`` file."""
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
        """Read moments that `save` wrote; a file that holds no valid moments raises ValueError."""
        arrays = exchange.read(file)
        names = arrays.pop("feature_names", None)
        return cls(
            **{"labels": None, **arrays}, feature_names=None if names is None else tuple(str(name) for name in names)
        )


def _cleared(scatter: Floats, whole: Moments) -> Floats:
    """A difference from the scatter of the whole, without the rounding errors that no scatter matrix has.

    A diagonal within rounding of the whole is 0; where little remains of it, |S_ij| <= sqrt(S_ii S_jj) is restored.
    """
    diagonal, before = np.diagonal(scatter), np.diagonal(whole.scatter)
    few = np.flatnonzero(diagonal <= LITTLE * before)
    if len(few):
        rounding = ROUNDING * np.sqrt(before) * np.sqrt(before + whole.counts @ whole.means**2)
        sd = np.sqrt(np.where(diagonal > rounding, diagonal, 0.0))
        bound = np.outer(sd[few], sd)
        rows = np.clip(scatter[few], -bound, bound)
        scatter[few], scatter[:, few] = rows, rows.T
        scatter[few, few] = np.square(sd[few])
    return scatter


def of_rows(
    X: NDArray[Any], target: Target, weights: Floats | None = None, names: Sequence[str] | None = None
) -> Moments:
    """Moments of checked rows; columns of extreme scale are rescaled in a copy of X."""
    moments = _of_rows(X, target, weights, names)
    copy = rescaled(X, *_squares(moments), weights)
    return moments if copy is None else _of_rows(copy, target, weights, names)


def _of_rows(X: NDArray[Any], target: Target, weights: Floats | None, names: Sequence[str] | None) -> Moments:
    """Moments in one pass: sums by class, and one symmetric product."""
    labels, n_targets = (target.labels, 0) if isinstance(target, Categorical) else (None, target.values.shape[1])
    with np.errstate(invalid="ignore", over="ignore"):  # NaN and infinity show in the means and are refused by name
        counts, means = _class_means(X, target, weights)
        scatter = _scatter(X, target, weights, counts, means)
    return Moments(labels, counts, means, scatter, n_targets, None if names is None else tuple(names))


def _squares(moments: Moments) -> tuple[Floats, Floats]:
    """Sums of squares of the features about zero, and of the targets about their means."""
    p, diagonal = moments.n_features, np.diagonal(moments.scatter)
    with np.errstate(invalid="ignore", over="ignore"):
        return diagonal[:p] + moments.counts @ moments.means[:, :p] ** 2, diagonal[p:]


def _refuse_scale(table: Table, moments: Moments, weights: Floats | None) -> None:
    """Moments store absolute numbers, so squares must be representable, unless they are of a small constant."""
    squares, targets = _squares(moments)
    present = slice(None) if weights is None else weights > 0
    bad, most = [], 0.0
    for j in np.flatnonzero(is_extreme(squares, targets)):
        column = table.values[present, j]
        if not squares[j] < 1 or column.min() < column.max():
            bad.append(int(j))
            most = max(most, float(np.abs(column.astype(np.float64)).max()))
    if bad:
        raise ValueError(
            f"the squares of {listed(table, bad)} (values up to {most:g}), or their products with y, are out of the "
            "range of float64, in which moments are stored; rescale these columns"
        )


def _blocks(X: NDArray[Any]) -> Iterator[slice]:
    step = max(64, BLOCK // X.shape[1])
    return (slice(start, start + step) for start in range(0, len(X), step))


def _class_means(X: NDArray[Any], target: Target, weights: Floats | None) -> tuple[Floats, Floats]:
    """Rows and means of features and targets, by class."""
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
    if X.dtype == np.float64:
        return np.asarray(member @ X)
    total = np.zeros((len(member), X.shape[1]))
    for rows in _blocks(X):
        total += member[:, rows] @ X[rows].astype(np.float64)
    return total


def _scatter(X: NDArray[Any], target: Target, weights: Floats | None, counts: Floats, means: Floats) -> Floats:
    """Scatter about the class means. Rows are copied, a block at a time, only to centre, weigh or convert them.

    X'X minus the part of the means has all its digits unless the means have nearly all of the sum of squares.
    """
    p = X.shape[1]
    if weights is None and X.dtype == np.float64:
        gram = X.T @ X  # a symmetric product, in any memory order
        between = counts @ means[:, :p] ** 2
        if np.all(between <= CANCELS * (np.diagonal(gram) - between)):
            weighed = np.sqrt(counts)[:, None] * means[:, :p]
            return _with_targets(gram - weighed.T @ weighed, X, target, means)
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
    """The scatter of the features, bordered by the products of the targets."""
    if isinstance(target, Categorical):
        return scatter
    p = len(scatter)
    y = target.values - means[0, p:]
    bordered = np.empty((p + y.shape[1], p + y.shape[1]))
    bordered[:p, :p], bordered[p:, p:] = scatter, y.T @ y
    bordered[:p, p:] = (y.T @ X - np.outer(y.sum(axis=0), means[0, :p])).T
    bordered[p:, :p] = bordered[:p, p:].T
    return bordered
