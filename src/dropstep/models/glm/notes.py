"""Notes: what the reader of a path should know about the fits."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy import special

from dropstep.data.table import Table, listed
from dropstep.models.glm.coefficients import infinite
from dropstep.models.glm.likelihood import Pointwise
from dropstep.models.glm.model import GeneralizedLinear

OVERDISPERSED = 0.001  # level of the test for overdispersion
MAX_CONDITION = 100.0  # condition number from which coefficients are unstable
MIN_RATIO = 1.5  # Pearson ratio below which overdispersion is not reported


def notes(model: GeneralizedLinear, names: tuple[str, ...] | None) -> Iterator[str]:
    """Notes on a model after a search."""
    table = Table(np.empty((0, model.design.n_columns)), names)
    yield from _infinite(model, table)
    if not model.fit.converged:
        yield "the fit of the selected features did not converge; its deviance and coefficients are not reliable"
    if aside := sorted({u for fit in model.failed for u in fit.changed}):
        yield (
            f"{listed(table, list(model.units.columns(aside)))}: a fit that added or removed it did not converge; "
            "the move was not made"
        )
    yield from _collinearity(model)
    yield from _overdispersion(model)
    yield from model.family.notes(model)
    yield from _too_few_rows(model)


def _infinite(model: GeneralizedLinear, table: Table) -> Iterator[str]:
    """Coefficients that the likelihood drives to infinity."""
    if model.fitted.limit is None:
        return
    found, first = [bool(row.any()) for row in infinite(model)], model.likelihood.n_leading
    columns = [j for j, is_infinite in zip(model.fitted.columns, found[first:], strict=True) if is_infinite]
    intercept = f" and {model.family.leading}" if any(found[:first]) else ""
    yield (
        f"{listed(table, columns)}{intercept}: infinite coefficients, because outcomes are separated or a level has no "
        "events: the likelihood has no maximum and the deviance is its infimum; these coefficients have no standard "
        "error"
    )


def _collinearity(model: GeneralizedLinear) -> Iterator[str]:
    """The condition number of the selected features, in the metric of the fit."""
    if model.likelihood.n_outputs > 1 or model.fit.limit is not None or len(model.fitted.columns) < 2:
        return
    first = model.likelihood.n_leading
    covariance = model.fitted.covariance[first:, first:]
    scale = np.sqrt(covariance.diagonal())
    if not np.isfinite(scale).all() or not scale.all():
        return
    values = np.linalg.eigvalsh(covariance / np.outer(scale, scale))
    condition = np.sqrt(values[-1] / max(values[0], np.finfo(float).tiny))
    if condition > MAX_CONDITION:
        yield (
            f"the selected features are nearly collinear (condition number {condition:.3g}): their coefficients are "
            "uncertain, and other rows may select others"
        )


def _overdispersion(model: GeneralizedLinear) -> Iterator[str]:
    local, like = model.fitted.local, model.likelihood
    room = like.df - len(model.fitted.columns)
    if not (like.may_overdisperse and not like.has_dispersion and model.family.remedy and room > 0):
        return
    assert isinstance(local, Pointwise)
    ratio = local.pearson / room
    if ratio > MIN_RATIO and special.chdtrc(room, local.pearson) < OVERDISPERSED:
        yield (
            f"the counts are overdispersed: Pearson's statistic is {ratio:.3g} times its degrees of freedom; gains "
            "and likelihood-ratio tests are overstated, and standard errors too small by the square root of that; "
            f"{model.family.remedy}"
        )


def _too_few_rows(model: GeneralizedLinear) -> Iterator[str]:
    """An empty selection that no candidate could have changed."""
    if model.fitted.units or not model.criterion.info.penalised or model.likelihood.has_dispersion:
        return
    q = model.likelihood.n_outputs
    charge = model.criterion.score(0.0, q, 1) - model.criterion.score(0.0, 0, 0)
    if charge >= model.null_deviance:
        yield (
            f"{model.n:g} {model.sample_unit} are so few that no candidate could enter: the deviance is "
            f"{model.null_deviance:.3g}, and {model.criterion.name} charges {charge:.3g} for the first feature; use "
            "more rows, or fewer candidates"
        )
