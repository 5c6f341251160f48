"""Random tables for property tests.

Known support, collinear, duplicated and constant columns, p > n, small classes, weights, several targets, columns of
very different scale.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray


@dataclass(frozen=True)
class RandomTable:
    """A table, its target and weights, and the seed that it was drawn from."""

    X: NDArray[np.float64]
    y: NDArray[Any]
    weights: NDArray[np.float64] | None
    model: str
    seed: int

    @property
    def n_rows(self) -> int:
        """Number of rows with a positive weight."""
        return len(self.X) if self.weights is None else int((self.weights > 0).sum())

    @property
    def rounding(self) -> float:
        """Relative error of a score: columns whose mean is many standard deviations lose digits when centred."""
        sd = self.X.std(axis=0)
        shift = np.abs(self.X.mean(axis=0)) / np.where(sd > 1e-9 * np.abs(self.X.mean(axis=0)), sd, np.inf)
        return float(1e-11 + 1e-15 * shift.max())

    @property
    def n_targets(self) -> int:
        """Number of targets."""
        return 1 if self.y.ndim == 1 else self.y.shape[1]


@st.composite
def tables(draw: st.DrawFn, models: tuple[str, ...] = ("linear", "discriminant"), *, wide: bool = True) -> RandomTable:
    """A small random table with many of the defects of real data."""
    seed = draw(st.integers(0, 2**32 - 1))
    model = draw(st.sampled_from(models))
    n = draw(st.integers(14, 40))
    p = draw(st.integers(1, 24 if wide and draw(st.booleans()) else 9))
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    if draw(st.booleans()):  # strong common factor
        X += 2 * rng.normal(size=(n, 1)) * rng.normal(size=p)
    if p > 2 and draw(st.booleans()):  # a sum of two others
        X[:, -1] = X[:, 0] - 2 * X[:, 1]
    if p > 3 and draw(st.booleans()):
        X[:, 2] = X[:, 0]
    if p > 1 and draw(st.booleans()):
        X[:, 1] = 3.25
    if draw(st.booleans()):
        X = X * 10.0 ** rng.integers(-4, 5, size=p) + 100 * rng.normal(size=p)
    support = rng.choice(p, size=min(p, 3), replace=False)
    signal = ((X - X.mean(axis=0)) / np.where(X.std(axis=0) > 1e-9, X.std(axis=0), 1.0))[:, support].sum(axis=1)
    weights = draw(st.sampled_from(["none", "none", "counts", "real"]))
    counts, real = rng.integers(0, 4, size=n).astype(float), rng.uniform(0.2, 2.5, size=n)
    w = {"none": None, "counts": counts, "real": real}[weights]
    if model == "linear":
        q = draw(st.integers(1, 3))
        y: NDArray[Any] = signal[:, None] * rng.normal(size=q) + rng.normal(size=(n, q))
        y = y[:, 0] if q == 1 else y
    else:
        classes = draw(st.integers(2, 4))
        y = np.argsort(np.argsort(signal + rng.normal(size=n))) * classes // n
        y = np.array(["b", "a", "d", "c"])[y]
        if w is not None:
            w = np.maximum(w, 1.0) if weights == "counts" else w + 0.8
    if w is not None and w.sum() < 10:
        w = w + 1.0
    return RandomTable(X, y, w, model, seed)
