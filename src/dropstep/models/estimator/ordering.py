"""Ordering: candidates by a cheap linear gain, so that the leader of a race is likely to come early."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class LinearOrdering:
    """Share of the targets that least squares explains by each column in addition to those selected.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
    Y : ndarray of shape (n_samples, n_targets)
    """

    def __init__(self, X: Floats, Y: Floats) -> None:
        self._X, self._Y = _standardised(X), _standardised(Y)

    def gains(self, selected: Sequence[int]) -> Floats:
        """Gain of each column; 0 for those that depend on the selected ones."""
        Q, _ = np.linalg.qr(self._X[:, list(selected)])
        X, Y = self._X - Q @ (Q.T @ self._X), self._Y - Q @ (Q.T @ self._Y)
        own = np.einsum("ij,ij->j", X, X)
        power = ((X.T @ Y) ** 2).sum(axis=1)
        return np.asarray(np.divide(power, own, out=np.zeros_like(own), where=own > 1e-9))


def ordering_of(X: Any, y: Any, *, classes: bool) -> LinearOrdering | None:
    """The ordering of a numeric table without missing values; None for any other."""
    if hasattr(X, "tocsr"):
        return None
    try:
        values = np.asarray(X, dtype=np.float64)
        targets = np.asarray(y)
        if classes:
            labels, codes = np.unique(targets, return_inverse=True)
            targets = np.eye(len(labels))[codes.reshape(len(targets))]
        targets = targets.astype(np.float64).reshape(len(values), -1)
    except (TypeError, ValueError):
        return None
    if not np.isfinite(values).all() or not np.isfinite(targets).all():
        return None
    return LinearOrdering(values, targets)


def _standardised(values: Floats) -> Floats:
    """Columns with mean 0 and sum of squares 1; constant ones are 0."""
    centred = values - values.mean(axis=0)
    size = np.sqrt(np.einsum("ij,ij->j", centred, centred))
    return np.asarray(
        np.divide(centred, size, out=np.zeros_like(centred), where=size > 1e-12 * np.abs(values).max(axis=0))
    )
