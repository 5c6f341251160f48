"""Small random tables with an estimator and a scorer, and estimators that misbehave."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.model_selection import KFold, ShuffleSplit
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsRegressor


class Problem(NamedTuple):
    """A table, a target, an estimator, a scorer and folds."""

    X: Any
    y: Any
    estimator: Any
    scoring: str | None
    cv: Any


def problem(seed: int) -> Problem:
    """Correlated features, some of which matter; regression for even seeds, classes for odd ones."""
    rng = np.random.default_rng([13, seed])
    n, p = int(rng.integers(40, 70)), 9
    X = rng.normal(size=(n, p)) + rng.normal(size=(n, 1))
    y = X @ (rng.normal(size=p) * (rng.uniform(size=p) < 0.5)) + rng.normal(size=n)
    if seed % 2:
        scoring = [None, "balanced_accuracy", "neg_log_loss", "roc_auc"][seed // 2 % 4]
        return Problem(X, (y > np.median(y)).astype(int), GaussianNB(), scoring, 3 + seed % 3)
    estimator = [LinearRegression(), Ridge(2.0), KNeighborsRegressor(3)][seed // 2 % 3]
    scoring = [None, "neg_mean_squared_error", "neg_median_absolute_error"][seed // 2 % 3]
    cv = [4, KFold(3, shuffle=True, random_state=seed), ShuffleSplit(3, random_state=seed)][seed // 2 % 3]
    return Problem(X, y, estimator, scoring, cv)


def signal(n: int = 80, p: int = 6, seed: int = 0) -> tuple[Any, Any]:
    """Features 0, 2 and 5 matter, in that order; the others are noise."""
    rng = np.random.default_rng([14, seed])
    X = rng.normal(size=(n, p))
    return X, 3 * X[:, 0] + 2 * X[:, 2] + X[:, 5] + rng.normal(size=n)


class Fails(LinearRegression):
    """Raises if a column has a negative minimum below -100."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Fails:
        if np.min(X) < -100:
            raise ValueError("cannot digest this column\nand more")
        return super().fit(X, y, sample_weight)


class Majority(ClassifierMixin, BaseEstimator):
    """Predicts the more frequent class, by weight."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Majority:
        self.classes_ = np.unique(y)
        weights = np.ones(len(y)) if sample_weight is None else sample_weight
        self.class_ = max(self.classes_, key=lambda label: weights[y == label].sum())
        return self

    def predict(self, X: Any) -> Any:
        return np.full(len(X), self.class_)
