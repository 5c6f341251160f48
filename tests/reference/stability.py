"""Stability selection in its textbook form, and the tails behind the r-concave bound by direct optimisation."""

import numpy as np
from scipy import optimize

from dropstep import select


def frequencies(X, y, halves, **parameters):
    """Share of the half-samples, given as arrays of rows, on which each feature is selected."""
    counts = np.zeros(X.shape[1])
    for rows in halves:
        counts[list(select(X[rows], y[rows], **parameters).selected)] += 1
    return counts / len(halves)


def r_concave_tail(mean, tail, n, r, starts=20, seed=0):
    """The largest P(X >= tail) over f on 0, 1/n, ..., 1 with f^r convex on its support, by SLSQP from many starts."""
    rng, t = np.random.default_rng(seed), round(tail * n)
    best = 0.0
    for k in range(t, n + 1):
        i = np.arange(k + 1)

        def pmf(u, k=k):
            g = np.exp(u - u.max())
            return g / g.sum()

        def convex(u):
            # f^r convex up to scale; u = log f
            g = np.exp(r * (u - u.mean()))
            return (g[2:] - 2 * g[1:-1] + g[:-2]) / g[1:-1]

        constraints = [
            {"type": "ineq", "fun": convex},
            {"type": "ineq", "fun": lambda u, i=i: mean * n - i @ pmf(u)},
        ]
        for _ in range(starts):
            a = rng.uniform(0.05, 3)
            start = np.log((a + i) ** (1 / r))
            found = optimize.minimize(
                lambda u: -pmf(u)[t:].sum(), start, constraints=constraints, method="SLSQP", options={"maxiter": 500}
            )
            feasible = convex(found.x).min(initial=0) > -1e-6 and i @ pmf(found.x) <= mean * n + 1e-6
            if feasible:
                best = max(best, -found.fun)
    return best
