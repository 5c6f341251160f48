"""The paper's procedures the paper's way: the criterion is evaluated from the rows for every candidate set.

Slow on purpose, and kept to be timed beside the incremental search: it is the only fair way to say how much faster
that is. A `Score` maps a list of features to a number of which more is better.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Score = Callable[[list[int]], float]
Procedure = Literal["dropping", "forward_backward", "stepwise"]


def trace_criterion(X: Floats, y: NDArray[np.generic]) -> Score:
    """trace(inv(Sw) Sb) of the features, from the rows."""
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


def per_sample_cp(X: Floats, y: Floats, sigma2: float) -> Score:
    """Minus (RSS + 2 size sigma2) / n of a least squares fit with intercept, from the rows."""
    n = len(y)

    def score(features: list[int]) -> float:
        design = np.column_stack([np.ones(n), X[:, features]])
        residual = y - design @ np.linalg.lstsq(design, y, rcond=None)[0]
        return -(float(residual @ residual) + 2 * len(features) * sigma2) / n

    return score


@dataclass
class FromScratch:
    """A selection R from candidates C, with every set evaluated anew."""

    score: Score
    n_features: int
    alpha: float
    beta: float
    selected: list[int] = field(default_factory=list)
    n_evaluations: int = 0

    def run(self, procedure: Procedure) -> list[int]:
        """Run a procedure of the paper and return the selected features in order of entry."""
        everything = set(range(self.n_features))
        if procedure == "stepwise":
            while self.forward_step(everything) is not None:
                self.backward()
        elif procedure == "forward_backward":
            while self.forward_step(everything) is not None:
                pass
            self.backward()
        else:
            candidates = set(everything)
            while (useless := self.forward_step(candidates)) is not None:
                candidates -= useless
            while self.forward_step(everything) is not None:
                pass
            self.backward()
        return self.selected

    def gain(self, features: list[int], before: float) -> float:
        self.n_evaluations += 1
        return self.score(features) - before

    def forward_step(self, candidates: set[int]) -> set[int] | None:
        """Add the best candidate if it improves the fit by more than alpha; who did not by more than beta."""
        before = self.score(self.selected)
        gains = {j: self.gain([*self.selected, j], before) for j in sorted(candidates - set(self.selected))}
        best = max(gains, key=gains.__getitem__, default=None)
        if best is None or gains[best] <= self.alpha:
            return None
        self.selected.append(best)
        return {j for j, gain in gains.items() if gain <= self.beta}

    def backward(self) -> None:
        """Remove the least useful feature while that worsens the fit by no more than beta."""
        while self.selected:
            before = self.score(self.selected)
            losses = {j: -self.gain([i for i in self.selected if i != j], before) for j in self.selected}
            least = min(losses, key=losses.__getitem__)
            if losses[least] > self.beta:
                return
            self.selected.remove(least)
