"""Metrics of predictions on rows that took no part in a fit: R2, accuracy, explained deviance and concordance."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from dropstep.data.response import Survival
from dropstep.data.sample import Sample
from dropstep.data.target import Categorical
from dropstep.result import Coefficients

Floats = NDArray[np.float64]

METRICS = {
    "linear": "r2",
    "discriminant": "accuracy",
    "logistic": "accuracy",
    "poisson": "explained deviance",
    "gamma": "explained deviance",
    "cox": "concordance",
}


def metric(kind: str, fitted: Coefficients, sample: Sample, columns: list[int]) -> float:
    """How well a fit predicts the target of a sample, by the metric of the model; larger is better."""
    target, n = sample.target, sample.n_rows
    weights = np.ones(n) if sample.weights is None else sample.weights
    scores = fitted.linear_predictor(sample.table.columns(columns).astype(np.float64)).reshape(n, -1)
    if sample.offset is not None:
        scores = scores + np.asarray(sample.offset, dtype=np.float64)[:, None]
    if isinstance(target, Survival):
        return concordance(target, scores[:, 0], weights, sample.strata)
    if isinstance(target, Categorical):
        if fitted.priors is None:  # log odds against the first class
            scores = np.column_stack([np.zeros(n), scores])
        labels = np.array(fitted.classes)[scores.argmax(axis=1)]
        return float(np.average(labels == target.labels[target.codes], weights=weights))
    if kind == "linear":
        centre = np.average(target.values, axis=0, weights=weights)
        squares = [weights @ (target.values - m) ** 2 for m in (scores, centre)]
        return 1 - float(np.mean(squares[0] / squares[1]))
    exposure = np.ones(n) if sample.offset is None else np.exp(np.asarray(sample.offset, dtype=np.float64))
    if kind == "poisson":  # the maximum likelihood without features
        null = exposure * (weights @ target / (weights @ exposure))
    else:
        null = exposure * np.average(target / exposure, weights=weights)
    with np.errstate(over="ignore"):  # of fits that diverge
        means = np.exp(scores[:, 0]), null
        deviances = [float(weights @ _deviance(kind, target, mean)) for mean in means]
    return 1 - deviances[0] / deviances[1]


def _deviance(kind: str, y: Floats, mean: Floats) -> Floats:
    if kind == "poisson":
        return np.asarray(2 * special.kl_div(y, mean))
    return np.asarray(2 * ((y - mean) / mean - np.log(y / mean)))


def concordance(target: Survival, risk: Floats, weights: Floats | None = None, strata: Any = None) -> float:
    """Harrell's c: share of the usable pairs in which the row with the earlier event has the larger risk.

    A row that is censored at the time of an event has outlived it. Pairs of different strata are not usable.
    """
    w = np.ones(len(risk)) if weights is None else weights
    stratum = np.zeros(len(risk), dtype=np.intp)
    if strata is not None:
        stratum = np.unique(np.asarray(strata).astype(str), return_inverse=True)[1].ravel()
    concordant = usable = 0.0
    for i in np.flatnonzero(target.event):
        outlives = (target.time > target.time[i]) | ((target.time == target.time[i]) & ~target.event)
        outlives &= stratum == stratum[i]
        usable += w[i] * w[outlives].sum()
        concordant += w[i] * w[outlives] @ ((risk[outlives] < risk[i]) + 0.5 * (risk[outlives] == risk[i]))
    return float(concordant / usable) if usable else 0.5
