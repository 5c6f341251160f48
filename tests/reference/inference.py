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
