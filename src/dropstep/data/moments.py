"""Moments: counts, means and scatter matrix of rows. They can be added, so rows may be read in any blocks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path as FilePath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dropstep.data import exchange
from dropstep.data.encoding import Encoding
from dropstep.data.factor import Factor
from dropstep.data.frame import Frame, frame_names, read
from dropstep.data.matrices.dense import Dense
from dropstep.data.matrices.matrix import Exponents, Matrix
from dropstep.data.rearrange import over_union, with_levels
from dropstep.data.scale import is_extreme, rescaled
from dropstep.data.scatter import statistics
from dropstep.data.table import Table, as_weights, listed, refuse_missing
from dropstep.data.target import MAX_VALUE, MIN_RANGE, Categorical, Model, Target, as_target

Floats = NDArray[np.float64]

MIN_REMAINDER = 1e-6  # relative scatter after a subtraction below which cross products are bounded again
ROUNDING = 1e-14  # relative scatter after a subtraction that is rounding error
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
        Feature names; a factor has one column per level, which is named as in colour=red.
    target_names : tuple of str or None
        Names of the targets, or of the column of class labels.
    factors : tuple of str or None
        The factor that each feature is a level of, empty for a number; None if all features are numbers. Moments whose
        factors have other levels can be added.

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
    target_names: tuple[str, ...] | None = None
    factors: tuple[str, ...] | None = None

    @classmethod
    def of(cls, X: Any, y: Any, *, sample_weight: Any = None, model: Model = "auto") -> Moments:
        """Moments of the rows of a table, in one pass.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            An array, a memory map, a sparse matrix or a frame.
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
        table, encoding, names = *_encoded(read(X)), _names_of(y)
        weights = as_weights(sample_weight, table.n_rows)
        target = as_target(y, table.n_rows, model, weights, whole=False)
        moments = of_matrix(table.matrix, target, weights, table.names)
        refuse_missing(table, moments.means[:, : moments.n_features])
        _check_scale(table, moments, weights)
        moments = replace(moments, target_names=names)
        return moments if encoding is None else with_levels(moments, encoding)

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
        with np.errstate(over="ignore", invalid="ignore"):  # infinite where float64 has no such square
            scatter = a.scatter + b.scatter + between.T @ between
        return replace(a, counts=counts, means=a.means + share[:, None] * difference, scatter=scatter)

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
        return replace(
            whole,
            labels=None if whole.labels is None else whole.labels[kept],
            counts=counts[kept],
            means=(whole.means + factor[:, None] * difference)[kept],
            scatter=_without_rounding(whole.scatter - part.scatter - between.T @ between, whole),
        )

    def _aligned(self, other: Moments) -> tuple[Moments, Moments]:
        """Both moments over the union of their classes, and of the levels of their factors."""
        if not isinstance(other, Moments):
            raise TypeError(f"Moments can be combined only with Moments; got {type(other).__name__}")
        if self.target_names is not None and other.target_names not in (None, self.target_names):
            raise ValueError(
                f"Moments of different targets cannot be combined: {', '.join(self.target_names)} and "
                f"{', '.join(other.target_names or ())}"
            )
        if self._units != other._units:
            raise ValueError("Moments of different tables cannot be combined: their feature names differ")
        if (self.factors or other.factors) and self.feature_names != other.feature_names:
            return Moments._aligned(*over_union(self, other))
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
        return replace(self, labels=labels, counts=counts, means=means)

    @property
    def features(self) -> tuple[str, ...]:
        """Names of the features of the table: of numbers and factors; x0, x1, ... if it has none."""
        if self.feature_names is None:
            return tuple(f"x{j}" for j in range(self.n_features))
        return tuple(name for name, _ in self._units or ())

    @property
    def _units(self) -> list[tuple[str, bool]] | None:
        """Names of the features of the table, and whether they are factors; None if they have no names."""
        if self.feature_names is None:
            return None
        factors = self.factors or ("",) * self.n_features
        pairs = zip(self.feature_names, factors, strict=True)
        return list(dict.fromkeys((factor or name, bool(factor)) for name, factor in pairs))

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
        for name in exchange.NAMES:
            if (names := getattr(self, name)) is not None:
                arrays[name] = np.array(names, dtype=np.str_)
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
        names = {name: tuple(map(str, arrays[name])) for name in exchange.NAMES if name in arrays}
        return cls(**{"labels": None, **arrays, **names})


def _encoded(table: Table | Frame) -> tuple[Table, Encoding | None]:
    """The design matrix of a table, and how it encodes factors; None if all features are numbers."""
    if isinstance(table, Table):
        return table, None
    table.refuse_unusable(())
    if incomplete := [j for j, c in enumerate(table.columns) if isinstance(c, Factor) and c.missing.any()]:
        raise ValueError(f"X contains missing values in {listed(table, incomplete)}; fill them, or drop these rows")
    encoding = Encoding.of(table)
    return Table(encoding.encode(table), encoding.column_names), encoding


def _names_of(y: Any) -> tuple[str, ...] | None:
    name = getattr(y, "name", None)
    return (name,) if isinstance(name, str) else frame_names(y)


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
    X: Matrix, target: Target, weights: Floats | None = None, names: Sequence[str] | None = None
) -> tuple[Moments, Exponents | None]:
    """Moments of validated rows; columns of extreme scale are rescaled.

    Parameters
    ----------
    X : Matrix of shape (n_samples, n_features)
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
    moments = of_matrix(X, target, weights, names)
    scaled = rescaled_like(X, moments, weights)
    if scaled is None:
        return moments, None
    return of_matrix(scaled[0], target, weights, names), scaled[1]


def rescaled_like(X: Matrix, moments: Moments, weights: Floats | None) -> tuple[Matrix, Exponents] | None:
    """X with columns of extreme scale rescaled, and their exponents; None if there are none by its moments."""
    return rescaled(X, *_squares(moments), weights)


def of_matrix(X: Matrix, target: Target, weights: Floats | None = None, names: Sequence[str] | None = None) -> Moments:
    """Moments without a check of their scale: sums by class, and one symmetric product."""
    labels, n_targets = (target.labels, 0) if isinstance(target, Categorical) else (None, target.values.shape[1])
    with np.errstate(invalid="ignore", over="ignore"):  # NaN and infinity are reported later, by column
        counts, means, scatter = statistics(X, target, weights)
    return Moments(labels, counts, means, scatter, n_targets, None if names is None else tuple(names))


def of_block(X: NDArray[Any], target: Target, weights: Floats | None = None) -> Moments:
    """Moments of validated rows, which may be none; the scale of the columns is not checked."""
    if len(X):
        return of_matrix(Dense(X), target, weights, None)
    labels, n_targets = (target.labels, 0) if isinstance(target, Categorical) else (None, target.values.shape[1])
    size, n_classes = X.shape[1] + n_targets, 1 if labels is None else len(labels)
    return Moments(labels, np.zeros(n_classes), np.zeros((n_classes, size)), np.zeros((size, size)), n_targets)


def refuse_extreme(moments: Moments, names: tuple[str, ...] | None) -> None:
    """Raise if float64 cannot represent the squares of a column, other than those of a small constant."""
    squares, targets = _squares(moments)
    diagonal = np.diagonal(moments.scatter)
    extreme = is_extreme(squares, targets) & ((diagonal[: len(squares)] > 0) | ~(squares < 1))
    table = Table(np.empty((0, moments.n_features)), names)
    if extreme.any():
        raise ValueError(
            f"the squares of {listed(table, np.flatnonzero(extreme).tolist())}, or their products with y, are out of "
            "the range of float64, in which moments are stored; rescale these columns"
        )
    if not np.all((targets == 0) | ((targets > MIN_RANGE**2) & (targets < MAX_VALUE**2))):
        raise ValueError("the squares of y are out of the range of float64, in which moments are stored; rescale y")


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
    for j in np.flatnonzero(is_extreme(squares, targets)).tolist():
        column = table.columns([j])[present, 0]
        if not squares[j] < 1 or column.min() < column.max():
            bad.append(int(j))
            largest = max(largest, float(np.abs(column.astype(np.float64)).max()))
    if bad:
        raise ValueError(
            f"the squares of {listed(table, bad)} (values up to {largest:g}), or their products with y, are out of the "
            "range of float64, in which moments are stored; rescale these columns"
        )
