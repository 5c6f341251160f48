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


def least_squares(X, y, robust=False):
    """Estimates, standard errors and 95 % limits of a linear regression; robust ones refit without each row (HC3)."""
    from scipy import stats

    design = np.column_stack([np.ones(len(y)), X])
    inverse = np.linalg.inv(design.T @ design)
    beta = inverse @ design.T @ y
    df = len(y) - design.shape[1]
    sigma2 = ((y - design @ beta) ** 2).sum() / df
    errors = np.sqrt(sigma2 * np.diagonal(inverse))
    if robust:
        without = [np.linalg.lstsq(np.delete(design, i, 0), np.delete(y, i), rcond=None)[0] for i in range(len(y))]
        errors = np.sqrt(((np.array(without) - beta) ** 2).sum(axis=0))
    width = stats.t.ppf(0.975, df) * errors
    p = 2 * stats.t.sf(np.abs(beta / errors), df)
    return np.column_stack([beta, errors, beta - width, beta + width, p])[1:]


def over_splits(X, y, splits, selected, feature):
    """Estimate, standard error, limits and p-value of a selected feature over splits.

    A split is a pair of selecting rows and their selection; the other rows of a split that selected the feature fit the
    model of all selected features.
    """
    found, p_values = [], [1.0] * len(splits)
    for i, (inside, again) in enumerate(splits):
        if feature in again:
            *numbers, p = least_squares(X[~inside][:, selected], y[~inside], robust=True)[selected.index(feature)]
            found.append(numbers)
            p_values[i] = min(1.0, p * len(again))
    return [*np.mean(found, axis=0), aggregated(p_values)]


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
