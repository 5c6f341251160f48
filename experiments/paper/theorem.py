"""The paper's theorem, numerically: swapping two columns swaps two coefficients, and nothing else."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dropstep import select
from experiments.paper.procedures import PROCEDURES, Record

Floats = NDArray[np.float64]


def swapped(p: int, i: int, j: int) -> NDArray[np.intp]:
    """The indices 0, ..., p - 1 with i and j exchanged."""
    order = np.arange(p)
    order[[i, j]] = j, i
    return order


def theorem_gap(X: Floats, y: Floats, order: NDArray[np.intp]) -> float:
    """Largest difference between the coefficients of reordered columns and the reordered coefficients.

    Relative to the largest coefficient. The theorem says 0 for a swap, and so for any order, a product of swaps.
    """
    beta = np.linalg.lstsq(X, y, rcond=None)[0]
    gamma = np.linalg.lstsq(X[:, order], y, rcond=None)[0]
    return float(np.abs(gamma - beta[order]).max() / np.abs(beta).max())


def remarks_gap(X: Floats, order: NDArray[np.intp]) -> float:
    """The same for the remarks of the proof: inv(Z'Z) is inv(X'X) reordered, and det(Z'Z) = det(X'X)."""
    S, K = X.T @ X, X[:, order].T @ X[:, order]
    inverse = np.linalg.inv(S)
    entries = np.abs(np.linalg.inv(K) - inverse[np.ix_(order, order)]).max() / np.abs(inverse).max()
    determinants = abs(np.expm1(np.linalg.slogdet(K)[1] - np.linalg.slogdet(S)[1]))
    return float(max(entries, determinants))


def same_selection(X: Floats, y: Floats, order: NDArray[np.intp]) -> bool:
    """True if every procedure selects the same features, in the same order, when the columns are reordered."""
    for procedure in PROCEDURES:
        before = select(X, y, strategy=procedure, criterion="bic").selected
        after = select(X[:, order], y, strategy=procedure, criterion="bic").selected
        if before != tuple(int(order[j]) for j in after):
            return False
    return True


def theorem_trial(seed: int, repeat: int) -> Record:
    """One random regression, one random swap, one random order."""
    rng = np.random.default_rng([seed, 6, repeat])
    p = int(rng.integers(2, 21))
    n = p + int(rng.integers(5, 61))
    X = rng.normal(size=(n, p)) * 10.0 ** rng.uniform(-2, 2, size=p)
    y = X @ (rng.normal(size=p) / X.std(axis=0)) + rng.normal(size=n)
    i, j = sorted(rng.choice(p, size=2, replace=False))
    swap, order = swapped(p, i, j), rng.permutation(p)
    return {
        "swap": theorem_gap(X, y, swap),
        "order": theorem_gap(X, y, order),
        "remarks": remarks_gap(X, swap),
        "same": same_selection(X, y, order),
    }
