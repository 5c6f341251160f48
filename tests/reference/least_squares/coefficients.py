"""Coefficients by their textbook formulas: normal equations through the pseudoinverse, and scores of each class."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from reference.least_squares.projection import Floats


class Regression(NamedTuple):
    """One row per target: estimates and standard errors, with the intercept first; mean R2 of the targets."""

    estimate: Floats
    std_error: Floats
    r2: float
    adj_r2: float
    df_resid: float


def regression(X: ArrayLike, y: ArrayLike, columns: Sequence[int], weights: ArrayLike | None = None) -> Regression:
    """Least squares with intercept on linearly independent columns (Draper & Smith). A weight counts its row."""
    features, targets, w = _rows(X, y, weights)
    targets = targets.astype(np.float64).reshape(len(targets), -1)
    root, n = np.sqrt(w)[:, None], w.sum()
    design = root * np.column_stack([np.ones(len(features)), features[:, list(columns)]])
    scale = np.linalg.norm(design, axis=0)
    inverse = np.linalg.pinv(design / scale)
    residual = root * targets - design / scale @ (inverse @ (root * targets))
    estimate = inverse @ (root * targets - residual) / scale[:, None]
    df = n - design.shape[1]
    rss, total = np.sum(residual**2, axis=0), np.sum((root * (targets - w @ targets / n)) ** 2, axis=0)
    spread = np.sqrt(np.sum(inverse**2, axis=1)) / scale
    unexplained = float(np.mean(rss / total))
    return Regression(
        estimate.T, np.outer(np.sqrt(rss / df), spread), 1 - unexplained, 1 - unexplained * (n - 1) / df, float(df)
    )


def posteriors(X: ArrayLike, y: ArrayLike, columns: Sequence[int], weights: ArrayLike | None = None) -> Floats:
    """Posterior probabilities of the classes by Bayes' rule: normal densities with the common covariance Sw / n."""
    features, labels, w = _rows(X, y, weights)
    features = features[:, list(columns)]
    classes, n = np.unique(labels), w.sum()
    means = np.array([np.average(features[labels == c], axis=0, weights=w[labels == c]) for c in classes])
    within = features - means[np.searchsorted(classes, labels)]
    scale = np.sqrt(np.average(within**2, axis=0, weights=w))
    precision = np.linalg.inv((within / scale).T @ (w[:, None] * within / scale) / n)
    log = np.empty((len(np.asarray(X)), len(classes)))
    for c, (label, mean) in enumerate(zip(classes, means, strict=True)):
        away = (np.asarray(X, dtype=np.float64)[:, list(columns)] - mean) / scale
        log[:, c] = np.log(w[labels == label].sum() / n) - np.einsum("ij,jk,ik->i", away, precision, away) / 2
    odds = np.exp(log - log.max(axis=1, keepdims=True))
    return np.asarray(odds / odds.sum(axis=1, keepdims=True))


def _rows(X: ArrayLike, y: ArrayLike, weights: ArrayLike | None) -> tuple[Floats, np.ndarray, Floats]:
    """The rows of positive weight."""
    features, target = np.asarray(X, dtype=np.float64), np.asarray(y)
    w = np.ones(len(features)) if weights is None else np.asarray(weights, dtype=np.float64)
    return features[w > 0], target[w > 0], w[w > 0]
