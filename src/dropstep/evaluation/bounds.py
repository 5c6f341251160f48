"""Bounds on the number of false selections of complementary pairs stability selection (Shah and Samworth 2013)."""

from __future__ import annotations

import math
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

Assumption = Literal["none", "unimodal", "r-concave"]
ASSUMPTIONS: tuple[str, ...] = get_args(Assumption)

MAX_UNIMODAL = 1 / math.sqrt(3)  # selection probability up to which the unimodal bound holds
SMALLEST, LARGEST = 1e-5, 1e5  # parameters of the r-concave distributions


def bound(mean_size: float, n_candidates: int, threshold: float, n_pairs: int, assumption: Assumption) -> float:
    """Bound on the expected number of selected units whose selection probability on a half is at most average.

    Parameters
    ----------
    mean_size : float
        Mean number of candidates selected on a half, q.
    n_candidates : int
        Number of candidates, p. Average is a selection probability of q / p.
    threshold : float
        Frequency from which a unit is selected, above 0.5.
    n_pairs : int
        Number of complementary pairs, B.
    assumption : {"none", "unimodal", "r-concave"}
        Shape of the distribution of the share of pairs whose halves both select a unit; "r-concave" also of the
        frequency itself. See Shah and Samworth (2013), theorems 1 and 2, and equation 8.

    Returns
    -------
    float
        At most `mean_size / threshold`, which holds without any theory.
    """
    if assumption not in ASSUMPTIONS:
        raise ValueError(f"assumption must be one of {', '.join(map(repr, ASSUMPTIONS))}; got {assumption!r}")
    if not 0.5 < threshold <= 1:
        raise ValueError(f"the bounds hold for thresholds above 0.5, up to 1; got {threshold:g}")
    if mean_size == 0 or n_candidates == 0:
        return 0.0
    average = min(mean_size / n_candidates, 1.0)
    tau = math.ceil(round(threshold * 2 * n_pairs, 6)) / (2 * n_pairs)  # frequencies are multiples of 1 / (2 B)
    bounds = [mean_size / tau, average * mean_size / (2 * tau - 1)]
    if assumption != "none" and average <= MAX_UNIMODAL:
        bounds.append(_unimodal(tau, average, n_pairs) * average * mean_size)
    if assumption == "r-concave":
        pairs = r_concave_tail(average**2, 2 * tau - 1, n_pairs, -1 / 2)
        halves = r_concave_tail(average, tau, 2 * n_pairs, -1 / 4)
        bounds.append(n_candidates * min(pairs, halves))
    return min(bounds)


def _unimodal(tau: float, theta: float, B: int) -> float:
    """C(tau, B) of theorem 2; infinite where it does not apply."""
    if tau > 3 / 4:
        return 4 * (1 - tau + 1 / (2 * B)) / (1 + 1 / B)
    if tau <= min(1 / 2 + theta**2, 1 / 2 + 1 / (2 * B) + 3 / 4 * theta**2):
        return math.inf
    room = 2 * tau - 1 - 1 / (2 * B)
    return 1 / (2 * room) if room > 0 else math.inf


def r_concave_tail(mean: float, tail: float, n: int, r: float) -> float:
    """The largest P(X >= tail) of r-concave distributions on 0, 1/n, ..., 1 with a mean of at most `mean`.

    The extremal distributions have f(i) proportional to (a + i)^(1/r) up to i = k, and a smaller atom at k + 1.
    """
    from scipy import optimize

    m, t = mean * n, math.ceil(round(tail * n, 6))
    start = math.ceil(2 * m) + 1
    if t < start or t > n:
        return 1.0 if t < start else 0.0

    def weights(a: float, k: int) -> Floats:
        return np.asarray((a + np.arange(k + 1)) ** (1 / r))

    def excess(a: float, k: int) -> float:
        w = weights(a, k)
        return float(np.arange(k + 1) @ w / w.sum()) - m

    def with_atom(a: float, k: int) -> float:
        w = weights(a, k)
        return 1 - (k + 1 - m) * float(w[:t].sum()) / float((k + 1 - np.arange(k + 1)) @ w)

    upper, best = LARGEST, 0.0
    roots: dict[int, float] = {}
    for k in range(start, n + 1):
        upper = roots[k] = optimize.brentq(excess, SMALLEST, upper, args=(k,)) if excess(SMALLEST, k) < 0 else SMALLEST
        if upper == SMALLEST:
            break
    for k in range(max(start, t - 1), max(roots)):
        limits = roots[k + 1], roots[k]
        found = optimize.minimize_scalar(lambda a, k=k: -with_atom(a, k), bounds=limits, method="bounded")
        best = max(best, -float(found.fun), *(with_atom(a, k) for a in limits))
    w = weights(roots[max(roots)], max(roots))
    return min(1.0, max(best, float(w[t:].sum() / w.sum())))
