"""Permutation tests and the knockoff+ filter as the papers define them: every model is refitted."""

import numpy as np


def residual_ss(X, Y):
    """Determinant of the residual sums of squares and products of Y on an intercept and X."""
    design = np.column_stack([np.ones(len(Y)), X])
    R = Y - design @ np.linalg.lstsq(design, Y, rcond=None)[0]
    return np.linalg.det(R.T @ R)


def largest_share(X, Y, selected, candidates):
    """1 - partial Wilks' lambda of each candidate."""
    before = residual_ss(X[:, selected], Y)
    return np.array([1 - residual_ss(X[:, [*selected, j]], Y) / before for j in candidates])


def permutation_p_value(X, Y, selected, unit, n_permutations, seed):
    """Freedman and Lane (1983), with the largest statistic of Westfall and Young (1993)."""
    rng, n = np.random.default_rng(seed), len(Y)
    candidates = [j for j in range(X.shape[1]) if j not in selected]
    design = np.column_stack([np.ones(n), X[:, selected]])
    fitted = design @ np.linalg.lstsq(design, Y, rcond=None)[0]
    own = largest_share(X, Y, selected, [unit])[0]
    reached = 1
    for _ in range(n_permutations):
        permuted = fitted + (Y - fitted)[rng.permutation(n)]
        reached += largest_share(X, permuted, selected, candidates).max() >= own * (1 - 1e-9)
    return reached / (1 + n_permutations)


def knockoff_plus(W, fdr):
    """Features with W >= min{t > 0 : (1 + #{W <= -t}) / #{W >= t} <= fdr} (Barber and Candes 2015)."""
    for t in sorted({abs(w) for w in W if w}):
        positive, negative = sum(w >= t for w in W), sum(w <= -t for w in W)
        if (1 + negative) / max(positive, 1) <= fdr + 1e-12:
            return {j for j, w in enumerate(W) if w >= t}
    return set()
