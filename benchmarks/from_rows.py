"""The textbook's ways to search, to be timed beside the incremental one: a fit for each candidate, everything anew from
the rows at each step, and a solve for each candidate from ready scatter matrices.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from dropstep.paper.from_scratch import FromScratch, Score

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class NegativeRSS:
    """Minus the residual sum of squares: more is better, size costs nothing."""

    n: int
    p: int

    def of(self, rss: Any, size: int) -> Any:
        return -rss


@dataclass(frozen=True)
class NegativeEBIC:
    """Minus EBIC with gamma = 1, without what is the same for all sets."""

    n: int
    p: int

    def of(self, rss: Any, size: int) -> Any:
        selections = special.gammaln(self.p + 1) - special.gammaln(size + 1) - special.gammaln(self.p - size + 1)
        return -(self.n * np.log(rss / self.n) + np.log(self.n) * size + 2 * selections)


Fit = NegativeRSS | NegativeEBIC


def fit_criterion(X: NDArray[Any], y: Floats, fit: Fit) -> Score:
    """The criterion of a least squares fit with intercept, from the rows."""

    def score(features: list[int]) -> float:
        design = np.column_stack([np.ones(len(y)), X[:, features]])
        residual = y - design @ np.linalg.lstsq(design, y, rcond=None)[0]
        return float(fit.of(np.square(residual).sum(), len(features)))

    return score


@dataclass
class Limited(FromScratch):
    """The paper's procedures, and forward alone, with at most so many features."""

    most: int | None = None

    def run(self, procedure: str) -> list[int]:
        if procedure != "forward":
            return super().run(procedure)
        while self.forward_step(set(range(self.n_features))) is not None:
            pass
        return self.selected

    def forward_step(self, candidates: set[int]) -> set[int] | None:
        full = self.most is not None and len(self.selected) >= self.most
        return None if full else super().forward_step(candidates)


@dataclass
class AnewFromRows(Limited):
    """The same for a regression of any width: at each step every candidate is projected off the selected features anew,
    from the rows, with nothing kept from the step before.

    The gain of each candidate is exact: with Q an orthonormal basis of the centred selected features and r the residual
    of y, adding j takes (x_j' r)^2 / (|x_j|^2 - |Q' x_j|^2) off the residual sum of squares.
    """

    X: NDArray[Any] = field(default_factory=lambda: np.empty((0, 0)), repr=False)
    y: Floats = field(default_factory=lambda: np.empty(0), repr=False)
    fit: Fit = NegativeRSS(0, 0)

    @classmethod
    def of(cls, X: NDArray[Any], y: Floats, fit: type[Fit], most: int | None = None) -> AnewFromRows:
        measured = fit(*X.shape)
        return cls(fit_criterion(X, y, measured), X.shape[1], 0.0, 0.0, most=most, X=X, y=y, fit=measured)

    def forward_step(self, candidates: set[int]) -> set[int] | None:
        pool = np.array(sorted(candidates - set(self.selected)), dtype=np.intp)
        if not len(pool) or (self.most is not None and len(self.selected) >= self.most):
            return None
        gains = self.gains()[pool]
        self.n_evaluations += len(pool)
        best = int(np.argmax(gains))
        if not gains[best] > self.alpha:
            return None
        self.selected.append(int(pool[best]))
        return {int(j) for j in pool[gains <= self.beta]}

    def gains(self) -> Floats:
        """The gain of every feature; -inf for those in the span of the selected."""
        size = len(self.selected)
        mean, scatter = self._means_and_scatter
        Q = np.linalg.qr(self.X[:, self.selected] - mean[self.selected])[0]
        residual = self.y - self.y.mean()
        residual = residual - Q @ (Q.T @ residual)
        left = scatter - (np.square(self.X.T @ Q).sum(axis=1) if size else 0.0)
        independent = left > 1e-10 * scatter
        taken = np.where(independent, np.square(self.X.T @ residual) / np.where(independent, left, 1.0), 0.0)
        rss = residual @ residual
        after = np.maximum(rss - taken, np.finfo(float).tiny)
        return np.where(independent, self.fit.of(after, size + 1) - self.fit.of(rss, size), -np.inf)

    @cached_property
    def _means_and_scatter(self) -> tuple[Floats, Floats]:
        mean = self.X.mean(axis=0, dtype=np.float64)
        return mean, np.einsum("ij,ij->j", self.X, self.X, dtype=np.float64) - len(self.X) * mean**2


def trace_by_solves(X: Floats, y: NDArray[Any]) -> Score:
    """trace(inv(Sw) Sb) of the features by one solve, from scatter matrices that are made once from the rows."""
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
