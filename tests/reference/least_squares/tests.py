"""Tests: the partial F test of a unit given a subset, by Wilks' lambda."""

from __future__ import annotations

import math
from collections.abc import Sequence

from numpy.typing import ArrayLike
from scipy.special import betaln
from scipy.stats import f as f_distribution

from reference.least_squares.problem import Problem, Regression, problem_of, size
from reference.least_squares.projection import Unit, as_unit

SIGNIFICANCE_LEVEL = 0.05
UNDERFLOW = 1e-290  # below it the logarithm of a p-value is computed from a series


def lambda_partial(
    X: ArrayLike,
    y: ArrayLike,
    subset: Sequence[int],
    j: int | Sequence[int],
    *,
    weights: ArrayLike | None = None,
    model: str = "linear",
) -> float:
    """Partial Wilks' lambda of adding feature (or group) j to the subset: lambda(A + j) / lambda(A)."""
    return lambda_of(problem_of(X, y, weights, model), subset, as_unit(j))


def p_value(
    X: ArrayLike,
    y: ArrayLike,
    subset: Sequence[int],
    j: int | Sequence[int],
    *,
    weights: ArrayLike | None = None,
    model: str = "linear",
) -> float:
    """p-value of the partial Wilks' lambda of adding feature (or group) j to the subset."""
    return p_value_of(problem_of(X, y, weights, model), subset, as_unit(j))


def log_lambda_of(problem: Problem, subset: Sequence[int], unit: Unit) -> float:
    """Logarithm of lambda(A + unit) / lambda(A)."""
    return problem.log_lambda((*subset, *unit)) - problem.log_lambda(subset)


def lambda_of(problem: Problem, subset: Sequence[int], unit: Unit) -> float:
    """lambda(A + unit) / lambda(A); 1 for an exact fit."""
    return math.exp(log_lambda_of(problem, subset, unit))


def p_value_of(problem: Problem, subset: Sequence[int], unit: Unit) -> float:
    """p-value of a unit: the exact partial F for rank 1, Rao's F for a larger rank, and 1 for rank 0."""
    k = size(problem, subset)
    m = size(problem, (*subset, *unit)) - k
    if m == 0:
        return 1.0
    wilks = lambda_of(problem, subset, unit)
    if m == 1:
        return p_value_of_one(problem, wilks, k)
    return rao(wilks, *dimensions(problem, k, m))


def log_p_value_of(problem: Problem, subset: Sequence[int], unit: Unit) -> float:
    """Logarithm of the p-value, also where that underflows.

    There it is computed from the series of the incomplete beta function (Abramowitz & Stegun 26.5.4).
    """
    p = p_value_of(problem, subset, unit)
    if p > UNDERFLOW:
        return math.log(p)
    k = size(problem, subset)
    t, df1, df2 = raos_df(*dimensions(problem, k, size(problem, (*subset, *unit)) - k))
    a, b = df2 / 2, df1 / 2
    log_x = log_lambda_of(problem, subset, unit) / t
    x = math.exp(log_x)
    series, term, i = 0.0, 1.0, 0
    while term > 1e-17 * series:
        series, term, i = series + term, term * (a + b + i) / (a + 1 + i) * x, i + 1
    return float(a * log_x + b * math.log1p(-x) - math.log(a) - betaln(a, b) + math.log(series))


def dimensions(problem: Problem, k: int, m: int) -> tuple[int, int, float]:
    """Variates, degrees of freedom of the hypothesis and of the error, for m features given k others."""
    if isinstance(problem, Regression):
        return problem.q, m, problem.df_null - k - m
    return m, problem.n_classes - 1, problem.df_null - k


def p_value_of_one(problem: Problem, wilks: float, k: int) -> float:
    """Exact test of one feature given k others: F = (1 - L) / L * nu / h on (h, nu) degrees of freedom.

    h is the number of targets and nu = n - 1 - k - h; or h is the number of classes - 1 and nu = n - C - k.
    """
    if isinstance(problem, Regression):
        h = problem.q
        nu = problem.n - 1 - k - h
    else:
        h = problem.n_classes - 1
        nu = problem.n - problem.n_classes - k
    return upper_tail(wilks, h, nu)


def rao(wilks: float, variates: int, hypothesis: int, error: float) -> float:
    """Rao's F approximation (Rencher 6.15); exact if the variates or the hypothesis have 1 or 2 dimensions."""
    t, df1, df2 = raos_df(variates, hypothesis, error)
    return upper_tail(wilks ** (1 / t), df1, df2)


def raos_df(variates: float, hypothesis: float, error: float) -> tuple[float, float, float]:
    """The exponent t of Rao's F, where L = lambda ** (1 / t), and its two degrees of freedom."""
    p, h = variates, hypothesis
    t = math.sqrt((p**2 * h**2 - 4) / (p**2 + h**2 - 5)) if p**2 + h**2 > 5 else 1.0
    w = error + h - (p + h + 1) / 2
    return t, p * h, w * t - (p * h - 2) / 2


def upper_tail(wilks: float, df1: float, df2: float) -> float:
    """P(F > (1 - L) / L * df2 / df1); 1 without degrees of freedom."""
    if df2 <= 0:
        return 1.0
    if wilks == 0:
        return 0.0
    return float(f_distribution.sf((1 - wilks) / wilks * df2 / df1, df1, df2))
