"""Simulated regressions: standard normal features, few of them true, noise for an R2 of 0.8."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

R2 = 0.8  # of the true features, in the population


@dataclass(frozen=True)
class Simulated:
    """y = X b + noise: k true features at random places, coefficients of random sign and size 1 to 2.

    The values depend only on the seed and the shape, not on the memory order nor, up to rounding, on the dtype.
    """

    n: int
    p: int
    k: int
    dtype: str = "float64"
    order: Literal["C", "F"] = "C"
    seed: int = 0

    def true(self) -> NDArray[np.intp]:
        return np.sort(self._rng().choice(self.p, self.k, replace=False))

    def __call__(self) -> tuple[NDArray[Any], NDArray[np.float64]]:
        rng = self._rng()
        true = np.sort(rng.choice(self.p, self.k, replace=False))
        coefficients = rng.choice([-1.0, 1.0], self.k) * rng.uniform(1, 2, self.k)
        X = np.empty((self.n, self.p), dtype=self.dtype, order=self.order)
        y = np.empty(self.n)
        rows = max(1, 2**20 // self.p)
        for start in range(0, self.n, rows):
            block = rng.standard_normal((min(rows, self.n - start), self.p))
            X[start : start + rows] = block
            y[start : start + rows] = block[:, true] @ coefficients
        noise = np.sqrt(coefficients @ coefficients * (1 - R2) / R2)
        return X, y + noise * rng.standard_normal(self.n)

    def _rng(self) -> np.random.Generator:
        return np.random.default_rng([self.seed, self.n, self.p, self.k])
