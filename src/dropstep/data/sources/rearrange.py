"""Moments of other columns, or of another form of the target, computed from moments alone."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dropstep.data.moments import Moments


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
    return Moments(moments.labels, moments.counts, means, scatter, moments.n_targets)


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
    mean = moments.counts @ columns / n if n else np.zeros(columns.shape[1])
    between = np.sqrt(moments.counts)[:, None] * (columns - mean)
    scatter = between.T @ between
    scatter[:-1, :-1] += moments.scatter
    return Moments(None, np.array([n]), mean[None, :], scatter, 1, moments.feature_names)


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
    return Moments(None, np.array([n]), mean[None, :], scatter, 0, moments.feature_names)
