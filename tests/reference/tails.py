"""Tests in the tails as their definition: every row, every draw of the residual, and a bracketed root."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import optimize, stats

KURTOSIS, SKEWNESS = 1.0, 0.8


@dataclass(frozen=True)
class Rows:
    """The rows as they were given: features, targets (indicators of all classes but the first) and weights."""

    X: np.ndarray
    Y: np.ndarray
    w: np.ndarray


def rows_of(X, y, weights, model) -> Rows:
    """The rows of a regression, or of classes."""
    X, y = np.asarray(X, dtype=float), np.asarray(y)
    w = np.ones(len(X)) if weights is None else np.asarray(weights, dtype=float)
    if model == "discriminant":
        labels = np.unique(y[w > 0])
        return Rows(X, (y[:, None] == labels[1:]).astype(float), w)
    return Rows(X, y.reshape(len(X), -1).astype(float), w)


def p_value_in_tails(rows: Rows, selected, unit) -> tuple[float | None, float]:
    """The p-value of a unit given the selected columns, None if the plain test holds; and the distance of the gates.

    The statistic is that of Pillai's trace. If it has several degrees of freedom, the one of the same p-value with one
    degree of freedom is taken, along the first pair of canonical directions.
    """
    root = np.sqrt(rows.w)[:, None]
    A = basis_of(np.column_stack([np.ones(len(rows.X)), standardised(rows.X[:, list(selected)])]) * root)
    E = basis_of(left_of(left_of(standardised(rows.X[:, list(unit)]) * root, A), A), 1e-5)
    R = basis_of(left_of(left_of(rows.Y * root, A), A))
    if not E.shape[1] or not R.shape[1]:
        return None, math.inf
    U, correlations, V = np.linalg.svd(E.T @ R)
    g, e = ((values / root[:, 0])[rows.w > 0] for values in (E @ U[:, 0], R @ V[0]))
    w = rows.w[rows.w > 0]
    far, gates = zip(*(far_from_normal(values, w) for values in (g, e)), strict=True)
    if not all(far):
        return None, min(gates)
    statistic = (w.sum() - A.shape[1]) * float(np.sum(correlations**2))
    z = stats.norm.isf(stats.chi2.sf(statistic, E.shape[1] * R.shape[1]) / 2)
    return saddlepoint(g, e, w, z) + saddlepoint(-g, e, w, z), min(gates)


def far_from_normal(x, w) -> tuple[bool, float]:
    """Whether the kurtosis or the skewness of x is large, and how far they are from the limits."""
    x = x - np.average(x, weights=w)
    sd = math.sqrt(np.average(x**2, weights=w))
    kurtosis, skewness = np.average((x / sd) ** 4, weights=w) - 3, abs(np.average((x / sd) ** 3, weights=w))
    return kurtosis > KURTOSIS or skewness > SKEWNESS, min(abs(kurtosis - KURTOSIS), abs(skewness - SKEWNESS))


def saddlepoint(g, e, w, z) -> float:
    """P(sum g_i e_i > z), where the e_i are drawn from the sample and both are standardised (Barndorff-Nielsen)."""
    e = (e - np.average(e, weights=w)) / math.sqrt(np.cov(e, aweights=w, ddof=0))
    g = g - np.average(g, weights=w)
    g = g / math.sqrt(w @ g**2)

    def cumulants(t):
        k = k1 = k2 = 0.0
        for x, times in zip(g, w, strict=True):
            density = w * np.exp(t * x * e - np.max(t * x * e))
            k += times * (math.log(density.sum() / w.sum()) + np.max(t * x * e))
            mean = density @ e / density.sum()
            k1 += times * x * mean
            k2 += times * x**2 * (density @ e**2 / density.sum() - mean**2)
        return k, k1, k2

    high = 2 * z
    while cumulants(high)[1] < z:
        high *= 2
        if high > 1e6:
            return 0.0
    t = optimize.brentq(lambda t: cumulants(t)[1] - z, 0, high, xtol=1e-14, rtol=1e-14)
    k, _, k2 = cumulants(t)
    r, v = math.sqrt(2 * (t * z - k)), t * math.sqrt(k2)
    return float(stats.norm.sf(r + math.log(v / r) / r))


def standardised(X):
    """Columns with mean 0 and largest value 1, as far as they vary."""
    X = X - X.mean(axis=0)
    scale = np.abs(X).max(axis=0, initial=0.0)
    return X / np.where(scale > 0, scale, 1.0)


def left_of(X, basis):
    """What a basis leaves of columns."""
    return X - basis @ (basis.T @ X)


def basis_of(X, tolerance=1e-9):
    """An orthonormal basis of the span of columns."""
    U, s, _ = np.linalg.svd(X, full_matrices=False)
    return U[:, s > tolerance * s[0]] if len(s) and s[0] > tolerance else U[:, :0]
