"""Coefficients of a fit in the units of the features, with standard errors from the information matrix."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dropstep.result import Coefficients

if TYPE_CHECKING:
    from dropstep.models.glm.model import GeneralizedLinear

Floats = NDArray[np.float64]


def coefficients(model: GeneralizedLinear, columns: Sequence[int], names: Sequence[str]) -> Coefficients:
    """Coefficients of the present fit of a model; 0 for a column that depends on the others.

    A coefficient that is infinite, because the likelihood has no maximum, has no standard error.

    With x = centre + scale z, coefficients of z become coef = theta / scale, and the intercept is reduced (thresholds
    are increased) by coef' centre; covariances follow by the same linear map. The covariance is that of the expected
    information (the observed one for ordinal models), times the dispersion (Pearson's statistic over its degrees of
    freedom where it is estimated, 1 otherwise), as R's `summary`.
    """
    fitted, likelihood = model.fitted, model.likelihood
    at, q, first, hidden = list(fitted.columns), likelihood.n_outputs, likelihood.n_leading, likelihood.n_nuisance
    M = _rescaling(model)
    covariance = fitted.covariance * likelihood.dispersion(fitted.local, len(at))
    full = np.kron(M, np.eye(q))
    errors = np.sqrt(np.maximum(np.diagonal(full @ covariance @ full.T), 0.0)).reshape(-1, q)
    errors[infinite(model)] = np.nan
    theta = M @ fitted.theta
    place = {j: i for i, j in enumerate(columns)}
    here = [place[j] for j in at]
    has_intercept = first > hidden
    found = Coefficients(
        names=tuple(names),
        columns=tuple(columns),
        targets=("y",) if model.labels is None else model.labels[1:] if q > 1 or not hidden else ("y",),
        intercept=_one(theta[hidden]) if has_intercept else None,
        coef=_spread(theta[first:], here, len(columns), 0.0),
        df_resid=likelihood.df - len(at),
        std_error=_spread(errors[first:], here, len(columns), np.nan),
        intercept_std_error=_one(errors[hidden]) if has_intercept else None,
        statistic="t" if likelihood.has_dispersion else "z",
        classes=model.labels,
        effect=model.family.ratio,
    )
    return replace(found, **likelihood.extras(theta[:hidden, 0], errors[:hidden, 0])) if hidden else found


def _rescaling(model: GeneralizedLinear) -> Floats:
    """The linear map of theta to the units of the features."""
    at, absorbs = list(model.fitted.columns), np.array(model.likelihood.absorbs)
    M = np.diag(np.concatenate([np.ones(len(absorbs)), 1 / model.design.scale[at]]))
    if absorbs.any():
        M[: len(absorbs), len(absorbs) :] = np.outer(absorbs, model.design.centre[0, at] / model.design.scale[at])
    return M


def infinite(model: GeneralizedLinear) -> NDArray[np.bool_]:
    """Which coefficients of the present fit are infinite, of shape (n_terms, n_outputs)."""
    theta, limit = model.fitted.theta, model.fitted.limit
    if limit is None:
        return np.zeros(theta.shape, dtype=bool)
    return limit.infinite(np.kron(_rescaling(model), np.eye(theta.shape[1])).astype(np.float64)).reshape(theta.shape)


def _one(values: Floats) -> Any:
    """A number if there is one function, an array if there are several."""
    return float(values[0]) if len(values) == 1 else values


def _spread(values: Floats, at: Sequence[int], n_columns: int, fill: float) -> Floats:
    """Values of the independent columns, one row per function, as values of all columns."""
    full = np.full((values.shape[1], n_columns), fill)
    full[:, list(at)] = values.T
    return full[0] if len(full) == 1 else full
