"""Inference after selection in its textbook form."""

import math

import numpy as np


def aggregated(p_values, least=0.05):
    """Meinshausen, Meier and Buehlmann (2009), equation 2.3, by a fine grid of gamma."""
    p_values = np.asarray(p_values)
    best = 1.0
    for gamma in np.linspace(least + 1e-9, 1 - 1e-9, 20_001):
        ordered = np.sort(p_values / gamma)
        best = min(best, ordered[max(math.ceil(gamma * len(ordered) - 1e-9), 1) - 1])
    return min(1.0, (1 - math.log(least)) * best)


def least_squares(X, y):
    """Estimates, standard errors and 95 % limits of a linear regression."""
    from scipy import stats

    design = np.column_stack([np.ones(len(y)), X])
    inverse = np.linalg.inv(design.T @ design)
    beta = inverse @ design.T @ y
    df = len(y) - design.shape[1]
    sigma2 = ((y - design @ beta) ** 2).sum() / df
    errors = np.sqrt(sigma2 * np.diagonal(inverse))
    width = stats.t.ppf(0.975, df) * errors
    p = 2 * stats.t.sf(np.abs(beta / errors), df)
    return np.column_stack([beta, errors, beta - width, beta + width, p])[1:]


def over_splits(X, y, splits, feature, level=0.95):
    """Estimate, standard error, limits and p-value of a feature over splits: pairs of selecting rows and a selection.

    Limits are the last of a fine grid of values that the aggregated one-sided tests do not reject, at least as far
    apart as the middle 90 % of the estimates.
    """
    from scipy import optimize, stats

    found, p_values = [], []
    for inside, selected in splits:
        if feature not in selected:
            p_values.append(1.0)
            continue
        rows = least_squares(X[~inside][:, selected], y[~inside])[selected.index(feature)]
        found.append((rows[0], rows[1], (~inside).sum() - 1 - len(selected)))
        p_values.append(min(1.0, rows[4] * len(selected)))

    def rejection(null, sign):
        own = [stats.t.cdf(sign * (b - null) / s, df) for b, s, df in found]
        ordered = sorted([*own, *[1.0] * (len(splits) - len(own))])
        best = min(p * len(ordered) / k for k, p in enumerate(ordered, start=1) if k / len(ordered) >= 0.05)
        return min(1.0, (1 - math.log(0.05)) * best)

    coefs = np.array([b for b, _, _ in found])
    errors = np.array([s for _, s, _ in found])
    limits = []
    for sign in (-1, 1):
        grid = np.median(coefs) + sign * errors.max() * np.linspace(-10, 40, 101)
        last = max(i for i, null in enumerate(grid) if rejection(null, sign) > (1 - level) / 2)
        ends = sorted(grid[last : last + 2])
        limits.append(optimize.brentq(lambda null, s=sign: rejection(null, s) - (1 - level) / 2, *ends))
    low, high = np.quantile(coefs, [0.05, 0.95])
    p_value = aggregated(p_values)
    return [np.median(coefs), np.median(errors), min(limits[0], low), max(limits[1], high), p_value]


def concordance(time, event, risk, weights, strata):
    """Harrell's c, pair by pair; a row that is censored at the time of an event has outlived it."""
    concordant = usable = 0.0
    for i in range(len(time)):
        for j in range(len(time)):
            outlives = time[j] > time[i] or (time[j] == time[i] and not event[j])
            if event[i] and outlives and strata[i] == strata[j]:
                weight = weights[i] * weights[j]
                usable += weight
                concordant += weight * (1.0 if risk[j] < risk[i] else 0.5 if risk[j] == risk[i] else 0.0)
    return concordant / usable if usable else 0.5


def optimism(X, y, select, n_bootstrap, seed):
    """Harrell's bootstrap, with LinearRegression on the selected columns; `select` returns them."""
    from sklearn.linear_model import LinearRegression

    def score(columns, fit_rows, rows):
        if not columns:
            mean = y[fit_rows].mean()
            return 1 - ((y[rows] - mean) ** 2).sum() / ((y[rows] - y[rows].mean()) ** 2).sum()
        model = LinearRegression().fit(X[fit_rows][:, columns], y[fit_rows])
        return model.score(X[rows][:, columns], y[rows])

    everything, differences = np.arange(len(y)), []
    for stream in np.random.SeedSequence(seed).spawn(n_bootstrap):
        rows = np.sort(np.random.default_rng(stream).integers(0, len(y), len(y)))
        columns = list(select(X[rows], y[rows]))
        differences.append(score(columns, rows, rows) - score(columns, rows, everything))
    return float(np.mean(differences))
