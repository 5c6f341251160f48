"""Cross-validation in its textbook form: refit on the training rows of every fold, and score its test rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

RANK_TOLERANCE = 1e-7  # relative length of a residual below which a column depends on the ones before
SMALLEST = np.log(np.finfo(float).eps)


def independent(X: np.ndarray, columns: Sequence[int]) -> list[int]:
    """Columns that are not constant and do not depend on earlier ones, as R's `lm` finds them."""
    kept: list[int] = []
    basis = np.ones((len(X), 1)) / np.sqrt(len(X))
    for j in columns:
        residual = X[:, j]
        for _ in range(3):
            residual = residual - basis @ (basis.T @ residual)
        spread = np.linalg.norm(X[:, j] - X[:, j].mean())
        if spread > 1e-12 * np.linalg.norm(X[:, j]) and np.linalg.norm(residual) > RANK_TOLERANCE * spread:
            basis = np.column_stack([basis, residual / np.linalg.norm(residual)])
            kept.append(j)
    return kept


def fold_errors(X: Any, y: Any, weights: Any, folds: Any, columns: Sequence[int]) -> np.ndarray:
    """Mean squared error of the test rows of every fold, averaged over targets."""
    X, y = np.asarray(X, dtype=float), np.asarray(y, dtype=float).reshape(len(X), -1)
    w = np.ones(len(X)) if weights is None else np.asarray(weights, dtype=float)
    errors = []
    for train, test in folds:
        train = train[w[train] > 0]
        kept = independent(X[train], columns)
        centre = X[train].mean(axis=0)
        design, root = np.column_stack([np.ones(len(train)), (X[train] - centre)[:, kept]]), np.sqrt(w[train])[:, None]
        scale = np.sqrt((design**2).mean(axis=0))
        coef = np.linalg.lstsq(root * design / scale, root * y[train], rcond=None)[0] / scale[:, None]
        predicted = np.column_stack([np.ones(len(test)), (X[test] - centre)[:, kept]]) @ coef
        errors.append((w[test] @ (predicted - y[test]) ** 2).mean() / w[test].sum())
    return np.array(errors)


def fold_log_scores(X: Any, codes: Any, weights: Any, folds: Any, columns: Sequence[int]) -> np.ndarray:
    """Mean log probability of the true class of the test rows of every fold, by linear discriminant analysis."""
    X, codes = np.asarray(X, dtype=float), np.asarray(codes)
    w = np.ones(len(X)) if weights is None else np.asarray(weights, dtype=float)
    scores = []
    for train, test in folds:
        train = train[w[train] > 0]
        classes = np.unique(codes)
        prior = np.array([w[train][codes[train] == c].sum() for c in classes])
        means = np.array([np.average(X[train][codes[train] == c], axis=0, weights=w[train][codes[train] == c])
                          for c in classes])  # fmt: skip
        within = X[train] - means[codes[train]]
        kept = independent(np.vstack([within, -within]), columns)
        logits = np.tile(np.log(prior / prior.sum()), (len(test), 1))
        if kept:
            root: Any = np.linalg.qr(np.sqrt(w[train] / prior.sum())[:, None] * within[:, kept], mode="r")
            for c in classes:
                coordinates = np.linalg.solve(root.T, (X[test] - means[c])[:, kept].T)
                logits[:, c] -= (coordinates**2).sum(axis=0) / 2
        top = logits.max(axis=1, keepdims=True)
        log_p = logits - top - np.log(np.exp(logits - top).sum(axis=1, keepdims=True))
        true = np.clip(log_p[np.arange(len(test)), codes[test]], SMALLEST, 0)
        scores.append(w[test] @ true / w[test].sum())
    return np.array(scores)
