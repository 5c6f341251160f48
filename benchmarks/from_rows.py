"""Textbook implementations to compare the incremental one with: a fit per candidate, everything recomputed from the
data at every step, and a solve per candidate from precomputed scatter matrices.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from examples.from_scratch import FromScratch, Score, least_squares_criterion

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class NegativeRSS:
    """Minus the residual sum of squares: greater is better, without a penalty."""

    n: int
    p: int

    def of(self, rss: Any, size: int) -> Any:
        return -rss


@dataclass(frozen=True)
class NegativeEBIC:
    """Minus EBIC with gamma = 1, up to a constant."""

    n: int
    p: int

    def of(self, rss: Any, size: int) -> Any:
        selections = special.gammaln(self.p + 1) - special.gammaln(size + 1) - special.gammaln(self.p - size + 1)
        return -(self.n * np.log(rss / self.n) + np.log(self.n) * size + 2 * selections)


Fit = NegativeRSS | NegativeEBIC


@dataclass
class Recomputed(FromScratch):
    """The procedures for regression with many features: every step projects all candidates from the data, and keeps
    nothing from the previous step.

    Gains are exact: with Q an orthonormal basis of the centred selected features and r the residual of y, adding j
    reduces the residual sum of squares by (x_j' r)^2 / (|x_j|^2 - |Q' x_j|^2).
    """

    X: NDArray[Any] = field(default_factory=lambda: np.empty((0, 0)), repr=False)
    y: Floats = field(default_factory=lambda: np.empty(0), repr=False)
    fit: Fit = NegativeRSS(0, 0)

    @classmethod
    def of(cls, X: NDArray[Any], y: Floats, fit: type[Fit], max_features: int | None = None) -> Recomputed:
        measured = fit(*X.shape)
        score = least_squares_criterion(X, y, measured.of)
        return cls(score, X.shape[1], 0.0, 0.0, max_features, X=X, y=y, fit=measured)

    def forward_step(self, candidates: set[int]) -> set[int] | None:
        pool = np.array(sorted(candidates - set(self.selected)), dtype=np.intp)
        if not len(pool) or (self.max_features is not None and len(self.selected) >= self.max_features):
            return None
        gains = self.gains()[pool]
        self.n_evaluations += len(pool)
        best = int(np.argmax(gains))
        if not gains[best] > self.alpha:
            return None
        self.selected.append(int(pool[best]))
        return {int(j) for j in pool[gains <= self.beta]}

    def gains(self) -> Floats:
        """The gain of every feature; -inf for those in the span of the selected ones."""
        size = len(self.selected)
        mean, scatter = self._means_and_scatter
        Q = np.linalg.qr(self.X[:, self.selected] - mean[self.selected])[0]
        residual = self.y - self.y.mean()
        residual = residual - Q @ (Q.T @ residual)
        residual_ss = scatter - (np.square(self.X.T @ Q).sum(axis=1) if size else 0.0)
        independent = residual_ss > 1e-10 * scatter
        taken = np.where(independent, np.square(self.X.T @ residual) / np.where(independent, residual_ss, 1.0), 0.0)
        rss = residual @ residual
        after = np.maximum(rss - taken, np.finfo(float).tiny)
        return np.where(independent, self.fit.of(after, size + 1) - self.fit.of(rss, size), -np.inf)

    @cached_property
    def _means_and_scatter(self) -> tuple[Floats, Floats]:
        mean = self.X.mean(axis=0, dtype=np.float64)
        return mean, np.einsum("ij,ij->j", self.X, self.X, dtype=np.float64) - len(self.X) * mean**2


def trace_by_solves(X: Floats, y: NDArray[Any]) -> Score:
    """trace(inv(Sw) Sb) of the features by one solve, from scatter matrices computed once from the data."""
    labels, which = np.unique(y, return_inverse=True)
    centred = X - X.mean(axis=0)
    centres = np.array([centred[which == c].mean(axis=0) for c in range(len(labels))])
    between = (centres.T * np.bincount(which)) @ centres
    within = centred.T @ centred - between

    def score(features: list[int]) -> float:
        if not features:
            return 0.0
        block = np.ix_(features, features)
        try:
            return float(np.trace(np.linalg.solve(within[block], between[block])))
        except np.linalg.LinAlgError:  # a constant column
            return float(np.trace(np.linalg.lstsq(within[block], between[block], rcond=None)[0]))

    return score
