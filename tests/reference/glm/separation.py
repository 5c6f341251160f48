"""Separation by linear programming (Konis 2007): directions along which a likelihood never falls."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import null_space
from scipy.optimize import linprog

from reference.glm.fits import Data, terms

Floats = NDArray[np.float64]


def constraints(data: Data, Z: Floats) -> Floats:
    """Rows a such that the likelihood never falls along d if a @ d >= 0 for all of them, and rises where one is > 0."""
    y, present = data.y, np.flatnonzero(data.weights > 0)
    if data.kind == "cox":
        pairs = [Z[e] - Z[j] for events, at_risk in terms(data) for e in set(events) for j in set(at_risk) if e != j]
        return np.array(pairs).reshape(-1, Z.shape[1])
    if data.kind == "multinomial":
        eye = np.eye(data.n_classes)[:, 1:]
        return np.array([np.kron(Z[i], eye[int(y[i])] - eye[c]) for i in present for c in range(data.n_classes)])
    if data.kind == "logistic":
        return (2 * y[present] - 1)[:, None] * Z[present]
    return np.concatenate([-Z[present], Z[present][y[present] > 0]])  # Poisson: the mean of a positive count is held


def infinite(data: Data, X: Floats) -> Any:
    """Coefficients without a finite maximum, by function and column, the intercept first; columns are independent."""
    first, q = int(data.kind != "cox"), data.n_classes - 1 if data.kind == "multinomial" else 1
    scaled = (X - X.mean(axis=0)) / X.std(axis=0)
    A = constraints(data, np.column_stack([np.ones((len(X), first)), scaled]))
    A = np.unique(A.round(12), axis=0)
    m, k = A.shape
    found = linprog(
        np.r_[np.zeros(k), -np.ones(m)],
        A_ub=np.column_stack([-A, np.eye(m)]),
        b_ub=np.zeros(m),
        bounds=[(-1e5, 1e5)] * k + [(0.0, 1.0)] * m,
    )
    held = A[found.x[k:] < 1e-3]
    directions = null_space(held, rcond=1e-9) if len(held) else np.eye(k)
    directions = directions.reshape(k // q, q, directions.shape[1])
    if first:
        directions[0] -= np.einsum("j,jqd->qd", X.mean(axis=0) / X.std(axis=0), directions[1:])
    return (np.abs(directions).max(axis=2, initial=0.0) > 1e-6).T
