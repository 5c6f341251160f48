"""The paper's procedures from scratch: the criterion is evaluated from the rows for every candidate set.

Slow by design. It is the reference that the incremental search is compared with, in selections and in time, by the
demo, the experiments, the benchmarks and the tests.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Score = Callable[[list[int]], float]  # features -> criterion, greater is better
Procedure = Literal["dropping", "forward_backward", "stepwise"]


def trace_criterion(X: NDArray[Any], y: NDArray[Any]) -> Score:
    """trace(inv(Sw) Sb) of the features, from the rows.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
    y : ndarray of shape (n_samples,)
        Classes.

    Returns
    -------
    score : callable
        Maps a list of features to the criterion.
    """
    classes = [np.flatnonzero(y == label) for label in np.unique(y)]

    def score(features: list[int]) -> float:
        if not features:
            return 0.0
        Z = X[:, features]
        mean = Z.mean(axis=0)
        within, between = np.zeros((len(features), len(features))), np.zeros((len(features), len(features)))
        for rows in classes:
            centre = Z[rows].mean(axis=0)
            within += (Z[rows] - centre).T @ (Z[rows] - centre)
            between += len(rows) * np.outer(centre - mean, centre - mean)
        return float(np.trace(np.linalg.lstsq(within, between, rcond=None)[0]))

    return score


def least_squares_criterion(X: NDArray[Any], y: Floats, formula: Callable[[Any, int], Any]) -> Score:
    """A criterion of the least-squares fit with intercept, from the rows.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
    y : ndarray of shape (n_samples,) or (n_samples, n_targets)
    formula : callable
        Maps the residual sum of squares and the number of features to the criterion, greater is better.

    Returns
    -------
    score : callable
        Maps a list of features to the criterion.
    """

    def score(features: list[int]) -> float:
        design = np.column_stack([np.ones(len(y)), X[:, features]])
        residual = y - design @ np.linalg.lstsq(design, y, rcond=None)[0]
        return float(formula(np.square(residual).sum(), len(features)))

    return score


def per_sample_cp(X: NDArray[Any], y: Floats, sigma2: float) -> Score:
    """Minus (RSS + 2 size sigma2) / n of the least-squares fit with intercept, from the rows."""
    return least_squares_criterion(X, y, lambda rss, size: -(rss + 2 * size * sigma2) / len(y))


@dataclass
class FromScratch:
    """A selection R from candidates C, every set evaluated from scratch.

    Attributes
    ----------
    score : callable
        Maps a list of features to the criterion, greater is better.
    n_features : int
        Number of features of the table.
    alpha : float
        A feature enters if its gain exceeds it.
    beta : float
        A feature leaves if its loss, and a candidate is dropped if its gain, does not exceed it.
    max_features : int or None
        Forward steps stop at this size.
    selected : list of int
        R, in order of entry.
    n_evaluations : int
        Candidate sets evaluated so far.
    """

    score: Score
    n_features: int
    alpha: float
    beta: float
    max_features: int | None = None
    selected: list[int] = field(default_factory=list)
    n_evaluations: int = 0

    def run(self, procedure: Procedure | Literal["forward"]) -> list[int]:
        """Run a procedure of the paper, or forward selection alone, and return the selected features."""
        if procedure == "stepwise":
            self.stepwise()
        else:
            if procedure == "dropping":
                self.forward(drop=True)
            self.forward()
            if procedure != "forward":
                self.backward()
        return self.selected

    def stepwise(self) -> None:
        """Backward steps after every forward step."""
        while self.forward_step(set(range(self.n_features))) is not None:
            self.backward()

    def forward(self, *, drop: bool = False) -> None:
        """Forward steps over all features; with `drop`, those that gained no more than beta are not tried again."""
        candidates = set(range(self.n_features))
        while (weak := self.forward_step(candidates)) is not None:
            if drop:
                candidates -= weak

    def forward_step(self, candidates: set[int]) -> set[int] | None:
        """Add the best candidate if its gain exceeds alpha, and return those whose gain does not exceed beta."""
        if self.max_features is not None and len(self.selected) >= self.max_features:
            return None
        before = self.score(self.selected)
        gains = {j: self._gain([*self.selected, j], before) for j in sorted(candidates - set(self.selected))}
        best = max(gains, key=gains.__getitem__, default=None)
        if best is None or gains[best] <= self.alpha:
            return None
        self.selected.append(best)
        return {j for j, gain in gains.items() if gain <= self.beta}

    def backward(self) -> None:
        """Remove the least useful feature while its loss does not exceed beta."""
        while self.selected:
            before = self.score(self.selected)
            losses = {j: -self._gain([i for i in self.selected if i != j], before) for j in self.selected}
            least = min(losses, key=losses.__getitem__)
            if losses[least] > self.beta:
                return
            self.selected.remove(least)

    def _gain(self, features: list[int], before: float) -> float:
        self.n_evaluations += 1
        return self.score(features) - before
