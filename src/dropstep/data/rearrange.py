"""Moments of other columns, or of another form of the target, computed from moments alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dropstep.data.encoding import Encoding

if TYPE_CHECKING:
    from dropstep.data.moments import Moments

Floats = NDArray[np.float64]


def placed(moments: Moments, positions: NDArray[np.intp], n_features: int) -> Moments:
    """The moments of a table in which feature j is at positions[j], and the other features are 0.

    Parameters
    ----------
    moments : Moments
    positions : ndarray of shape (n_features,)
        New position of each feature; -1 to omit it.
    n_features : int
        New number of features.

    Returns
    -------
    Moments
        Without feature names.
    """
    kept = np.flatnonzero(positions >= 0)
    before = np.concatenate([kept, np.arange(moments.n_features, len(moments.scatter))])
    at = np.concatenate([positions[kept], np.arange(n_features, n_features + moments.n_targets)])
    means = np.zeros((len(moments.means), n_features + moments.n_targets))
    means[:, at] = moments.means[:, before]
    scatter = np.zeros((means.shape[1], means.shape[1]))
    scatter[np.ix_(at, at)] = moments.scatter[np.ix_(before, before)]
    return replace(moments, means=means, scatter=scatter, feature_names=None, factors=None)


def as_regression(moments: Moments) -> Moments:
    """The moments of a regression on class labels, which must be numbers.

    The total scatter is that within classes plus that between them, where the label is one more column.

    Parameters
    ----------
    moments : Moments

    Returns
    -------
    Moments
        Unchanged if they are those of a regression.
    """
    if moments.labels is None:
        return moments
    n = moments.n_rows
    columns = np.column_stack([moments.means, moments.labels.astype(np.float64)])
    with np.errstate(over="ignore", invalid="ignore"):  # infinite where float64 has no such square
        mean = moments.counts @ columns / n if n else np.zeros(columns.shape[1])
        between = np.sqrt(moments.counts)[:, None] * (columns - mean)
        scatter = between.T @ between
    scatter[:-1, :-1] += moments.scatter
    return replace(moments, labels=None, counts=np.array([n]), means=mean[None, :], scatter=scatter, n_targets=1)


def pooled(moments: Moments) -> Moments:
    """The moments of the features alone, without regard to classes and targets.

    Parameters
    ----------
    moments : Moments

    Returns
    -------
    Moments
        With one class, and no targets.
    """
    p, n = moments.n_features, moments.n_rows
    means = moments.means[:, :p]
    mean = moments.counts @ means / n
    between = np.sqrt(moments.counts)[:, None] * (means - mean)
    scatter = moments.scatter[:p, :p] + between.T @ between
    return replace(moments, labels=None, counts=np.array([n]), means=mean[None, :], scatter=scatter, n_targets=0)


# --- factors ---------------------------------------------------------------------------------------------------------


def with_levels(moments: Moments, encoding: Encoding) -> Moments:
    """The moments with one column per level of every factor, so that those of other levels can be added.

    The column of a baseline is 1 minus the others: its moments follow from theirs. Features that are ignored, which
    have no levels, are omitted.

    Parameters
    ----------
    moments : Moments
        Of the columns of a design matrix.
    encoding : Encoding
        How they encode the features.

    Returns
    -------
    Moments
    """
    rows, offsets = [], []
    names, factors = [], []
    for name, factor, columns, baseline in _levels(encoding):
        row = np.zeros(encoding.n_columns)
        row[columns] = -1.0 if baseline else 1.0
        rows.append(row)
        offsets.append(float(baseline))
        names.append(name)
        factors.append(factor)
    T = np.zeros((len(rows) + moments.n_targets, moments.n_features + moments.n_targets))
    T[: len(rows), : moments.n_features] = np.array(rows).reshape(len(rows), moments.n_features)
    T[len(rows) :, moments.n_features :] = np.eye(moments.n_targets)
    means = moments.means @ T.T
    means[:, : len(rows)] += np.array(offsets)
    return replace(
        moments,
        means=means,
        scatter=T @ moments.scatter @ T.T,
        feature_names=tuple(names),
        factors=tuple(factors) if any(factors) else None,
    )


def _levels(encoding: Encoding) -> Iterator[tuple[str, str, list[int], bool]]:
    """Name, factor and columns of every level (of a baseline those of the others), and whether it is the baseline."""
    for j, (name, levels) in enumerate(zip(encoding.names, encoding.levels, strict=True)):
        columns = list(encoding.columns(j))
        if levels is None:
            yield name, "", columns, False
            continue
        for i, level in enumerate(levels):
            others = columns if len(levels) > 1 else []
            yield f"{name}={level}", name, others if i == 0 else [columns[i - 1]], i == 0


def over_union(a: Moments, b: Moments) -> tuple[Moments, Moments]:
    """Both moments over the union of the levels of their factors, which are sorted; a level without rows is 0.

    Parameters
    ----------
    a, b : Moments
        With the same features.

    Returns
    -------
    a, b : Moments
    """
    columns: dict[str, set[str]] = {}
    for moments in (a, b):
        for name, factor in zip(moments.feature_names or (), moments.factors or (), strict=True):
            columns.setdefault(factor or name, set()).add(name)
    names = [name for found in columns.values() for name in sorted(found)]
    place = {name: i for i, name in enumerate(names)}
    factor_of = dict(zip(a.feature_names or (), a.factors or (), strict=True))
    factor_of |= dict(zip(b.feature_names or (), b.factors or (), strict=True))
    factors = tuple(factor_of[name] for name in names)

    def over(moments: Moments) -> Moments:
        positions = np.array([place[name] for name in moments.feature_names or ()], dtype=np.intp)
        return replace(placed(moments, positions, len(names)), feature_names=tuple(names), factors=factors)

    return over(a), over(b)
