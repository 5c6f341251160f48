"""Tests in the tails as their definition: every row, every draw of the residual, and a bracketed root."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import optimize, stats

from reference.glm import fits

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
    return math.exp(log_tail(of_sample(g, e, w), z))


def of_sample(g, e, w):
    """Cumulants of sum g_i e_i, where the e_i are drawn from the sample and both are standardised."""
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

    return cumulants


def of_classes(g, mu, w):
    """Cumulants of sum g_i (y_i - mu_i), standardised, where y_i is 1 with probability mu_i and 0 otherwise."""
    g = g / math.sqrt(w @ (g**2 * mu * (1 - mu)))

    def cumulants(t):
        k = k1 = k2 = 0.0
        for x, p, times in zip(t * g, mu, w, strict=True):
            k += times * (math.log(1 - p + p * math.exp(x)) - x * p)
            tilted = p * math.exp(x) / (1 - p + p * math.exp(x))
            k1 += times * x / t * (tilted - p) if t else 0.0
            k2 += times * (x / t) ** 2 * tilted * (1 - tilted) if t else 0.0
        return k, k1, k2

    return cumulants


def log_tail(cumulants, z) -> float:
    """log P(sum > z) for a standardised sum with these cumulants (Barndorff-Nielsen)."""
    high = 2 * z
    while cumulants(high)[1] < z:
        high *= 2
        if high > 1e6:
            return -math.inf
    t = optimize.brentq(lambda t: cumulants(t)[1] - z, 0, high, xtol=1e-14, rtol=1e-14)
    k, _, k2 = cumulants(t)
    r, v = math.sqrt(2 * (t * z - k)), t * math.sqrt(k2)
    return float(stats.norm.logsf(r + math.log(v / r) / r))


# --- likelihoods -----------------------------------------------------------------------------------------------------


def score_log_p_in_tails(data: fits.Data, X, added) -> tuple[float | None, float]:
    """Logarithm of the p-value of one column by its score, None if the plain test holds; the distance of the gates.

    What is close to normal is tested by chi-squared, with the share of the degrees of freedom that is left.
    """
    small = fits.fit(data, X)
    Z, x, w = small.X, fits.design(data, added)[:, -1], data.weights
    mu = root = np.ones(len(x))
    if data.kind == "cox":
        both = fits.cox_derivatives(data, np.column_stack([Z, x]), Z @ small.beta)[1]
        at_risk = sorted({i for _, rows in fits.terms(data) for i in rows})
        g = (x - Z @ np.linalg.solve(both[:-1, :-1], both[:-1, -1]))[at_risk]
        e, w = martingale(data, Z @ small.beta + data.offset)[at_risk], w[at_risk]
    else:
        mu = mean(data, Z @ small.beta + data.offset)
        root = np.sqrt({"logistic": mu * np.abs(1 - mu), "poisson": mu}.get(data.kind, root))
        W = np.sqrt(w) * root
        g = root * (x - Z @ np.linalg.lstsq(W[:, None] * Z, W * x)[0])
        e = (data.y - mu) / (mu if data.kind == "gamma" else root)
    plain, df = fits.score_statistic(data, X, added)[0], w.sum() - len(set(data.strata))
    left, pearson = df - X.shape[1], w @ e**2
    if data.kind == "gamma" or (data.kind == "poisson" and pearson > left):
        plain = statistic = plain / pearson * left
    else:
        statistic = plain * (left / df)
    if data.kind == "cox":
        exchangeable = w.sum() * np.cov(g, aweights=w, ddof=0) * np.cov(e, aweights=w, ddof=0)
        statistic = min(statistic, (w @ (g * e)) ** 2 / exchangeable)
    far, gates = zip(*(far_from_normal(values, w) for values in (g, e)), strict=True)
    if not all(far):
        return (None if statistic >= plain else float(stats.chi2.logsf(statistic, 1))), min(gates)
    z, sides = math.sqrt(statistic), []
    for sign in (1, -1):
        cumulants = of_classes(sign * g / root, mu, w) if data.kind == "logistic" else of_sample(sign * g, e, w)
        sides.append(log_tail(cumulants, z))
    return float(np.logaddexp(*sides)), min(gates)


def mean(data: fits.Data, eta):
    """The mean of classes, counts or positive numbers at a linear predictor."""
    return 1 / (1 + np.exp(-eta)) if data.kind == "logistic" else np.exp(eta)


def martingale(data: fits.Data, eta):
    """Martingale residuals: events minus the cumulative hazard, which tied events share by Efron's fractions."""
    residual = data.y[:, 1].astype(float)
    for events, at_risk in fits.terms(data):
        for f in fits.fractions(data, len(events)):
            risk = np.exp(eta[at_risk]).sum() - f * np.exp(eta[events]).sum()
            for i in set(at_risk):
                residual[i] -= (1 - f * (i in events)) * math.exp(eta[i]) / risk
    return residual


# --- algebra ---------------------------------------------------------------------------------------------------------


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
