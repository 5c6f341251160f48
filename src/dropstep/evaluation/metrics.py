"""Metrics of predictions on rows that took no part in a fit: R2, accuracy, explained deviance and concordance."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dropstep.data.sample import Sample
from dropstep.data.target import Categorical
from dropstep.models.families import FAMILIES, as_family
from dropstep.models.glm.family import LikelihoodFamily
from dropstep.result import Coefficients

Floats = NDArray[np.float64]

METRICS = {"linear": "r2", "discriminant": "accuracy"} | {
    name: family.metric for name, family in FAMILIES.items() if isinstance(family, LikelihoodFamily)
}


def metric(kind: str, fitted: Coefficients, sample: Sample, columns: list[int]) -> float:
    """How well a fit predicts the target of a sample, by the metric of the model; larger is better."""
    target, n = sample.target, sample.n_rows
    weights = np.ones(n) if sample.weights is None else sample.weights
    scores = fitted.linear_predictor(sample.table.columns(columns).astype(np.float64)).reshape(n, -1)
    if sample.offset is not None:
        scores = scores + np.asarray(sample.offset, dtype=np.float64)[:, None]
    family = as_family(kind)
    if isinstance(family, LikelihoodFamily):
        return family.measure(sample, scores, fitted)
    if isinstance(target, Categorical):
        labels = np.array(fitted.classes)[scores.argmax(axis=1)]
        return float(np.average(labels == target.labels[target.codes], weights=weights))
    centre = np.average(target.values, axis=0, weights=weights)
    squares = [weights @ (target.values - m) ** 2 for m in (scores, centre)]
    return 1 - float(np.mean(squares[0] / squares[1]))
