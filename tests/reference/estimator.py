"""Sequential selection by cross-validation in its textbook form: one `cross_val_score` per candidate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.model_selection import cross_val_score


@dataclass(frozen=True)
class Sequence:
    """Features in the order they were added or removed, and the score after each."""

    order: tuple[int, ...]
    scores: tuple[float, ...]


def score_of(estimator: Any, X: Any, y: Any, features: list[int], scoring: str | None, cv: Any) -> float:
    """Mean score over folds, with the features in the order of the table."""
    return float(np.mean(cross_val_score(estimator, X[:, sorted(features)], y, scoring=scoring, cv=cv)))


def forward(estimator: Any, X: Any, y: Any, size: int, scoring: str | None = None, cv: Any = 5) -> Sequence:
    """Add the feature with the best score, the first of several, until there are so many."""
    selected: list[int] = []
    scores = []
    while len(selected) < size:
        found = {
            j: score_of(estimator, X, y, [*selected, j], scoring, cv) for j in range(X.shape[1]) if j not in selected
        }
        best = max(found, key=lambda j: found[j])
        selected.append(best)
        scores.append(found[best])
    return Sequence(tuple(selected), tuple(scores))


def backward(estimator: Any, X: Any, y: Any, size: int, scoring: str | None = None, cv: Any = 5) -> Sequence:
    """From all features, remove the one without which the score is best, until there are so few."""
    selected, removed, scores = list(range(X.shape[1])), [], []
    while len(selected) > size:
        found = {j: score_of(estimator, X, y, [k for k in selected if k != j], scoring, cv) for j in selected}
        best = max(found, key=lambda j: found[j])
        selected.remove(best)
        removed.append(best)
        scores.append(found[best])
    return Sequence(tuple(removed), tuple(scores))
