"""Criteria: the score of a subset, in the criterion's own sign."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaln

from reference.least_squares.problem import Discriminant, Problem, Regression, adds_nothing, problem_of, size
from reference.least_squares.projection import Floats, Unit, flat

SEPARABILITY = frozenset({"trace", "pillai", "wilks", "roy"})
PENALISED = frozenset({"cp", "aic", "aicc", "bic", "ebic", "hqc", "sawa", "amemiya", "press"})
LOWER_IS_BETTER = PENALISED | {"rss", "wilks"}


@dataclass(frozen=True)
class Criterion:
    """A criterion with everything that is the same for all subsets."""

    name: str
    sigma: Floats | None = None
    per_sample: bool = False
    gamma: float = 1.0
    n_candidates: float = 0
    n_included: int = 0


def score(
    criterion: str,
    X: ArrayLike,
    y: ArrayLike,
    subset: Sequence[int],
    *,
    weights: ArrayLike | None = None,
    model: str | None = None,
    exclude: Sequence[int] = (),
    sigma2: float | None = None,
    per_sample: bool = False,
    gamma: float = 1.0,
    n_candidates: int | None = None,
    include: Sequence[int] = (),
) -> float:
    """The score of a subset of single features.

    The features in `exclude` belong neither to the full model of Cp nor to the candidates that EBIC counts; those in
    `include` are not counted either.
    """
    problem = problem_of(X, y, weights, model or model_of(criterion))
    resolved = criterion_of(
        problem, criterion, exclude, sigma2, per_sample, gamma, n_candidates, units=None, include=include
    )
    return score_of(problem, resolved, [(j,) for j in subset])


def model_of(criterion: str) -> str:
    """The model that a criterion belongs to."""
    return "discriminant" if criterion in SEPARABILITY else "linear"


def criterion_of(
    problem: Problem,
    name: str,
    exclude: Sequence[int] = (),
    sigma2: float | None = None,
    per_sample: bool = False,
    gamma: float = 1.0,
    n_candidates: int | None = None,
    units: Sequence[Unit] | None = None,
    include: Sequence[int] = (),
) -> Criterion:
    """Compute what is the same for all subsets: Sigma of Cp, the number of candidates of EBIC."""
    if isinstance(problem, Discriminant) != (name in SEPARABILITY):
        raise ValueError(f"criterion={name!r} does not belong to a {type(problem).__name__.lower()} problem.")
    candidates = [j for j in range(problem.features.shape[1]) if j not in set(exclude)]
    units = [(j,) for j in candidates] if units is None else units
    varying = [unit for unit in units if problem.features[:, list(unit)].any()]
    n_included = sum(not set(unit).isdisjoint(include) for unit in varying)
    n_candidates = max(1, len(varying) - n_included) if n_candidates is None else n_candidates
    criterion = Criterion(name, None, per_sample, gamma, n_candidates, n_included)
    if name not in {"cp", "sawa"} or isinstance(problem, Discriminant):
        return criterion
    sigma = full_model_sigma(problem, candidates) if sigma2 is None else sigma2 * np.eye(problem.q)
    return replace(criterion, sigma=sigma)


def full_model_sigma(problem: Regression, candidates: Sequence[int]) -> Floats:
    """Sigma = E_full / (n - k_full - 1), of the model with all candidates."""
    df = problem.n - size(problem, candidates) - 1
    if df <= 0:
        raise ValueError(
            f"the full model of cp and sawa has no residual degrees of freedom (n = {problem.n:g}): pass sigma2."
        )
    return problem.error(candidates) / df


def score_of(problem: Problem, criterion: Criterion, units: Sequence[Unit]) -> float:
    """The score of some units of a problem."""
    subset = flat(units)
    if isinstance(problem, Discriminant):
        return separability(criterion.name, problem.eigenvalues(subset))
    if criterion.name == "press":
        return problem.press(subset)
    if criterion.name in {"rss", "r2", "adj_r2", "cp", "sawa", "amemiya"}:
        return sum_of_squares(problem, criterion, subset)
    return information(problem, criterion, units)


def separability(name: str, eigenvalues: Floats) -> float:
    """The four classical functions of the eigenvalues lambda_i of inv(Sw) Sb."""
    match name:
        case "trace":
            return float(np.sum(eigenvalues))
        case "pillai":
            return float(np.sum(eigenvalues / (1 + eigenvalues)))
        case "wilks":
            return float(np.prod(1 / (1 + eigenvalues)))
        case "roy":
            return float(np.max(eigenvalues))
    raise ValueError(f"criterion={name!r} is unknown.")


def sum_of_squares(problem: Regression, criterion: Criterion, subset: Sequence[int]) -> float:
    """rss, r2, adj_r2, Amemiya's prediction criterion, Sawa's criterion and Mallows' Cp."""
    n, q, k = problem.n, problem.q, size(problem, subset)
    error = problem.error(subset)
    rss, tss = float(np.trace(error)), float(np.trace(problem.error(())))
    unexplained = float(np.mean(np.diagonal(error) / np.diagonal(problem.error(()))))
    match criterion.name:
        case "rss":
            return rss
        case "r2":
            return 1 - unexplained
        case "adj_r2":
            return 1 - unexplained * (n - 1) / (n - k - 1)
        case "amemiya":
            return (n + k + 1) / (n - k - 1) * unexplained
    sigma = criterion.sigma
    if sigma is None:
        raise ValueError("cp and sawa need sigma.")
    if criterion.name == "sawa":
        floored = max(rss, problem.exact_fit * tss)
        ratio = n * float(sigma[0, 0]) / floored
        return n * math.log(floored / n) + 2 * (k + 1 + 2) * ratio - 2 * ratio**2
    if criterion.per_sample:
        return (rss + 2 * k * float(np.trace(sigma))) / n
    return float(np.trace(np.linalg.solve(sigma, error))) - n * q + 2 * q * (k + 1)


def information(problem: Regression, criterion: Criterion, units: Sequence[Unit]) -> float:
    """aic, aicc, bic, ebic and hqc: n log det(E / n) plus a penalty."""
    subset = flat(units)
    n, q, k = problem.n, problem.q, size(problem, subset)
    fit = n * (problem.log_det_error(subset) - q * math.log(n))
    match criterion.name:
        case "aic":
            return fit + 2 * q * (k + 1)
        case "aicc":
            df = n - (k + 1) - q - 1
            return fit + 2 * n * (q * (k + 1) + q * (q + 1) / 2) / df if df > 0 else math.inf
        case "bic":
            return fit + math.log(n) * q * (k + 1)
        case "hqc":
            return fit + 2 * math.log(math.log(n)) * q * (k + 1)
        case "ebic":
            counted = sum(not adds_nothing(problem, flat(units[:i]), unit) for i, unit in enumerate(units))
            m = criterion.n_candidates
            chosen = min(max(counted - criterion.n_included, 0), m // 2)
            return fit + math.log(n) * q * (k + 1) + 2 * criterion.gamma * log_binomial(m, chosen)
    raise ValueError(f"criterion={criterion.name!r} is unknown.")


def log_binomial(n: float, k: float) -> float:
    """Logarithm of the binomial coefficient n over k."""
    return float(gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1))


def improvement(criterion: str, after: float, before: float) -> float:
    """The gain: score after minus score before, signed so that larger is better."""
    if after == before:
        return 0.0
    return before - after if criterion in LOWER_IS_BETTER else after - before
