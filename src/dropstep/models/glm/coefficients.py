"""Coefficients of a fit in the units of the features, with standard errors from the information matrix."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dropstep.models.glm.model import GeneralizedLinear

Floats = NDArray[np.float64]

EFFECTS = {"logistic": "odds ratio", "poisson": "rate ratio", "gamma": "mean ratio", "cox": "hazard ratio"}


class Coefficients(NamedTuple):
    """Maximum likelihood estimates.

    Attributes
    ----------
    columns : tuple of int
        Columns of the design matrix, ascending; linearly dependent ones are left out.
    intercept, intercept_std_error : ndarray of shape (n_outputs,)
        Empty for Cox regression. Outputs are the classes but the first, for a multinomial model.
    coef, std_error : ndarray of shape (n_columns, n_outputs)
        Log of the odds, rate, mean or hazard ratio of one unit of a feature.
    effect : str
        What exp(coef) is.
    """

    columns: tuple[int, ...]
    intercept: Floats
    intercept_std_error: Floats
    coef: Floats
    std_error: Floats
    effect: str


def coefficients(model: GeneralizedLinear) -> Coefficients:
    """Coefficients of the present fit of a model.

    With x = centre + scale z, coefficients of z become coef = theta / scale, and the intercept is reduced by
    coef' centre; covariances follow by the same linear map. The covariance is that of the expected information, times
    the dispersion (Pearson's statistic over its degrees of freedom for gamma, 1 otherwise), as R's `summary`.
    """
    fitted, likelihood = model.fitted, model.likelihood
    at, q, first = list(fitted.columns), likelihood.n_outputs, int(likelihood.has_intercept)
    M = np.diag(np.concatenate([np.ones(first), 1 / model.design.scale[at]]))
    if first:
        M[0, 1:] = -model.design.centre[0, at] / model.design.scale[at]
    covariance = fitted.covariance * likelihood.dispersion(fitted.local, len(at))
    full = np.kron(M, np.eye(q))
    errors = np.sqrt(np.maximum(np.diagonal(full @ covariance @ full.T), 0.0)).reshape(-1, q)
    theta = M @ fitted.theta
    return Coefficients(
        fitted.columns,
        theta[:first].ravel(),
        errors[:first].ravel(),
        theta[first:],
        errors[first:],
        EFFECTS[likelihood.name],
    )
