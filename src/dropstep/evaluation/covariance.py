"""Robust standard errors of coefficients, from what each observation contributes to them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dropstep.data.response import as_offset
from dropstep.data.sample import Sample
from dropstep.evaluation.observations import are_counts
from dropstep.models.families import as_family
from dropstep.models.glm.family import LikelihoodFamily
from dropstep.models.glm.likelihood import Pointwise
from dropstep.result import Coefficients

Floats = NDArray[np.float64]

NAMES = {"cox": "Lin-Wei"}  # of the robust covariance, where it is not HC3
SINGULAR = 1e-13  # relative eigenvalue of the information below which a direction has no finite maximum
DETERMINED = 1e-10  # 1 - leverage of a row that alone determines a coefficient
NEGLIGIBLE = 1e-8  # contribution of such a row, relative to the largest, that is rounding


def robust(found: Coefficients, model: Any, sample: Sample, columns: Sequence[int]) -> Coefficients:
    """The same coefficients with standard errors that do not assume the variance, or the hazard, of the model.

    The covariance is the sum of d d' over the observations, where d is the change of the coefficients, to first order,
    if the observation is omitted: HC3 of MacKinnon and White (1985) for least squares and generalized linear models,
    and the sum over dfbeta residuals of Lin and Wei (1989) for Cox regression. Weights that are whole numbers count
    observations; a row of another weight is one observation.

    Parameters
    ----------
    found : Coefficients
        Coefficients of one target; what has no standard error there has none here.
    model : str or LikelihoodFamily
    sample : Sample
        The rows of the fit.
    columns : sequence of int
        Columns of the design matrix that were fitted.

    Returns
    -------
    Coefficients
    """
    errors, coef = np.full(len(columns), np.nan), np.atleast_1d(found.coef)
    assert found.std_error is not None
    known = np.isfinite(np.atleast_1d(found.std_error))
    used = np.flatnonzero(known | (coef != 0))  # without columns that are linear combinations of others
    values = sample.table.columns([columns[i] for i in used.tolist()]).astype(np.float64)
    with np.errstate(invalid="ignore", over="ignore"):
        changes = _changes(found, model, sample, values, coef[used])
        errors[used] = np.sqrt(np.square(changes).sum(axis=0))
    return replace(found, std_error=np.where(known, errors, np.nan))


def _changes(found: Coefficients, model: Any, sample: Sample, values: Floats, coef: Floats) -> Floats:
    """The changes of coefficients if an observation is omitted, of shape (n_rows, n_columns).

    A row that is several observations has the root of the sum of their squares.
    """
    weights = np.ones(len(values)) if sample.weights is None else sample.weights
    family, first = as_family(model), int(found.intercept is not None)
    eta, scale = values @ coef + (0.0 if found.intercept is None else found.intercept), values.std(axis=0)
    Z = np.column_stack([np.ones((len(values), first)), (values - values.mean(axis=0)) / scale])
    if isinstance(family, LikelihoodFamily):
        local, rows = family.local(sample, eta + as_offset(sample.offset, len(eta)), found)
        Z = Z[rows]
        scores, information = local.scores(Z), local.gram(Z)
        variances = local.weights[:, 0, 0] if isinstance(local, Pointwise) else np.zeros(len(rows))
    else:
        rows = np.flatnonzero(weights > 0)
        Z, variances = Z[rows], weights[rows]
        scores = (variances * (sample.target.values[rows, 0] - eta[rows]))[:, None] * Z
        information = Z.T @ (variances[:, None] * Z)
    copies = weights[rows] if are_counts(weights) else np.ones(len(rows))
    inverse = _inverse(information)
    leverage = variances / copies * np.einsum("ij,jk,ik->i", Z, inverse, Z)
    alone, pull = 1 - leverage < DETERMINED, np.abs(Z @ inverse)
    changes = scores @ inverse / (np.where(alone, 1.0, 1 - leverage) * np.sqrt(copies))[:, None]
    changes[alone[:, None] & (pull > NEGLIGIBLE * pull.max(axis=0))] = np.nan
    return np.asarray(changes[:, first:] / scale)


def _inverse(information: Floats) -> Floats:
    """The inverse; a direction without information adds nothing to the coefficients that do not vary along it."""
    values, vectors = np.linalg.eigh(information)
    kept = values > SINGULAR * values[-1]
    return np.asarray((vectors[:, kept] / values[kept]) @ vectors[:, kept].T)
