"""Knockoffs from moments: no rows are needed, because forward selection reads nothing but products of columns."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from dropstep.data.moments import Moments
from dropstep.models.least_squares.problem import ScatterProblem, from_moments

Floats = NDArray[np.float64]

N_SWEEPS = 50  # of the coordinate descent, at most
CONVERGED = 1e-4  # relative change of s at which it stops
DEPENDENT = 1e-9  # smallest eigenvalue of a correlation matrix that counts as positive definite
DIGITS = 6  # of correlations that identify a table: sums of blocks, in any order, agree in more


def with_knockoffs(problem: ScatterProblem, columns: NDArray[np.intp], seed: int) -> ScatterProblem:
    """The problem of some columns, followed by their knockoffs; classes are orthonormal contrasts.

    With U = X - X inv(Sigma) S and noise Z, the knockoffs are U + Z F with F'F = 2 S - S inv(Sigma) S. If there are
    enough rows, Z has orthonormal columns orthogonal to X, so that products of knockoffs are exactly those of the
    features, and Z'y is a random direction of the residual of y on X; otherwise Z is normal. The noise depends on the
    seed and on the table: one direction for all tables of a shape would favour the same features in each.
    """
    n, p, base = problem.n, len(columns), problem.base
    cross = problem.equations.cross[columns]
    scatter = problem.equations.block(columns)
    if problem.kind == "discriminant":
        scatter = scatter + cross @ cross.T
    if n < p + base.shape[1] + 2:
        raise ValueError(
            f"Knockoffs estimate the covariance of {p} features, which {n:g} rows cannot; use Permutation, or exclude "
            "features"
        )
    scale = np.sqrt(np.diagonal(scatter))
    correlation, cross = scatter / np.outer(scale, scale), cross / scale[:, None]
    if np.linalg.eigvalsh(correlation)[0] < DEPENDENT:
        raise ValueError("Knockoffs need linearly independent features; exclude those that depend on others")
    rng = np.random.default_rng([seed, *_identity(cross, base)])
    G = _products(correlation, cross, base, n, rng)
    moments = Moments(None, np.array([n]), np.zeros((1, len(G))), G, len(base))
    return from_moments(moments)


def _identity(cross: Floats, base: Floats) -> list[int]:
    """Rounded correlations of features and targets as whole numbers from 0: they do not depend on scale or blocks."""
    correlations = cross / np.sqrt(np.diagonal(base))
    return [int(r) for r in np.rint((correlations.ravel() + 1) * 10**DIGITS)]


def _products(S: Floats, C: Floats, Y: Floats, n: float, rng: np.random.Generator) -> Floats:
    """Products of features, knockoffs and targets, all centred; features have unit sums of squares."""
    p, q = C.shape
    s = mvr(S)
    inverse = linalg.cho_solve(linalg.cho_factor(S, lower=True), np.eye(p))
    keep = np.eye(p) - inverse * s  # U = X keep
    F = _root(2 * np.diag(s) - s[:, None] * inverse * s)
    ZX, ZY, ZZ = _noise(S, C, Y, n, rng)
    G = np.empty((2 * p + q, 2 * p + q))
    G[:p, :p] = S
    G[:p, p : 2 * p] = S @ keep + ZX.T @ F
    G[p : 2 * p, p : 2 * p] = keep.T @ S @ keep + keep.T @ ZX.T @ F + F.T @ ZX @ keep + F.T @ ZZ @ F
    G[:p, 2 * p :], G[p : 2 * p, 2 * p :] = C, keep.T @ C + F.T @ ZY
    G[2 * p :, 2 * p :] = Y
    return np.asarray(np.triu(G) + np.triu(G, 1).T)


def _noise(S: Floats, C: Floats, Y: Floats, n: float, rng: np.random.Generator) -> tuple[Floats, Floats, Floats]:
    """Products Z'X, Z'y and Z'Z of p columns of noise, of which nothing else is needed."""
    p, q = C.shape
    room = int(n) - 1 - p
    residual = Y - C.T @ linalg.solve(S, C, assume_a="pos")
    if room >= p + q:
        Q, R = np.linalg.qr(rng.standard_normal((room, q)))
        directions = Q * np.sign(np.diagonal(R))  # uniformly distributed
        return np.zeros((p, p)), directions[:p] @ _root(residual), np.eye(p)
    N, M = rng.standard_normal((p, p)), rng.standard_normal((p, q))
    extra = rng.standard_normal((p, max(room - q, 0)))
    ZX, ZY = N @ _root(S), N @ linalg.solve(_root(S).T, C) + M @ _root(residual)
    norm = n - 1
    return ZX / np.sqrt(norm), ZY / np.sqrt(norm), (N @ N.T + M @ M.T + extra @ extra.T) / norm


def _root(A: Floats) -> Floats:
    """R with R'R = A, symmetric, where A is positive semidefinite up to rounding."""
    values, vectors = np.linalg.eigh(A)
    return np.asarray((vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T)


def mvr(correlation: Floats) -> Floats:
    """The s that minimises the trace of inv([[S, S - diag(s)], [S - diag(s), S]]): minimal reconstructability.

    Coordinate descent with an exact line search (Spector and Janson 2022). With D = 2 Sigma - diag(s), the objective is
    the sum of 1 / s_j and of the trace of inv(D), and a change of s_j is a rank-one update of D.
    """
    p = len(correlation)
    least = float(np.linalg.eigvalsh(correlation)[0])
    s = np.full(p, min(1.0, least))
    inverse = linalg.inv(2 * correlation - np.diag(s))
    for _ in range(N_SWEEPS):
        change = 0.0
        for j in range(p):
            column = inverse[:, j].copy()
            length = float(np.sqrt(column @ column))
            step = (1 - s[j] * length) / (column[j] + length)
            inverse += np.outer(column, column * (step / (1 - step * column[j])))
            s[j] += step
            change = max(change, abs(step) / s[j])
        if change < CONVERGED:
            break
    return s
