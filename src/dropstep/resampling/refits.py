"""Fits of given features on given rows, without a selection, and how well they predict other rows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dropstep.data.response import Survival
from dropstep.data.sample import Sample
from dropstep.data.table import Table
from dropstep.data.target import Categorical, Continuous
from dropstep.models.evaluation import predictor, row_weights
from dropstep.models.families import FAMILIES, as_family
from dropstep.models.glm.family import LikelihoodFamily
from dropstep.parameters import RESOURCES, Parameters
from dropstep.result import Coefficients, SelectionPath, feature_names
from dropstep.select import select

Floats = NDArray[np.float64]

MODELS = {
    "linear": "linear regression",
    "discriminant": "LDA",
    "logistic": "logistic regression",
    "poisson": "Poisson regression",
    "negative_binomial": "negative binomial regression",
    "ordinal": "ordinal regression",
    "gamma": "gamma regression",
    "cox": "Cox regression",
}
METRICS = {"linear": "r2", "discriminant": "accuracy"} | {
    name: family.metric for name, family in FAMILIES.items() if isinstance(family, LikelihoodFamily)
}


def model_of(path: SelectionPath) -> Any:
    """The model of a path as a parameter of `select`, with "auto" resolved."""
    given = path.params.get("model", "auto")
    return path.model if isinstance(given, str) else given


def parameters_of(path: SelectionPath) -> Parameters:
    """The parameters of a path that results depend on, with the model that "auto" stood for."""
    kept = {name: value for name, value in path.params.items() if name not in RESOURCES}
    return Parameters(**{**kept, "model": model_of(path)})


def columns_of(sample: Sample, features: Sequence[int]) -> list[int]:
    """Columns of the design matrix that encode features."""
    encoding = sample.encoding
    return list(features) if encoding is None else [c for j in features for c in encoding.columns(j)]


def fit(model: Any, sample: Sample, columns: Sequence[int]) -> Coefficients:
    """Coefficients of columns of the design matrix on all rows of a sample."""
    names = feature_names(sample.column_names, columns)
    values = sample.table.columns(columns)
    include: Any = list(range(len(columns)))
    if not columns:  # a constant column stands in for a table without columns
        values, names, include = np.zeros((sample.n_rows, 1)), ("-",), None
    path = select(
        Table(values, names),
        target_values(sample.target),
        model=model,
        criterion="deviance" if isinstance(as_family(model), LikelihoodFamily) else "auto",
        strategy="forward",
        include=include,
        enter=math.inf,
        sample_weight=sample.weights,
        offset=sample.offset,
        strata=sample.strata,
    )
    assert path.coefficients is not None
    return path.coefficients


def target_values(target: Any) -> NDArray[Any]:
    """A validated target as `select` takes it."""
    if isinstance(target, Categorical):
        return np.asarray(target.labels[target.codes])
    if isinstance(target, Survival):
        return np.column_stack([target.time, target.event])
    values = target.values if isinstance(target, Continuous) else target
    return np.asarray(values[:, 0] if values.ndim == 2 and values.shape[1] == 1 else values)


# --- metrics ----------------------------------------------------------------------------------------------------------


def metric(kind: str, fitted: Coefficients, sample: Sample) -> float:
    """How well a fit predicts the target of a sample, by the metric of the model; larger is better."""
    target, n = sample.target, sample.n_rows
    rows = np.arange(n)
    weights, scores = row_weights(sample, rows), predictor(sample, rows, fitted).reshape(n, -1)
    if sample.offset is not None:
        scores = scores + np.asarray(sample.offset, dtype=np.float64)[:, None]
    family = as_family(kind)
    if isinstance(family, LikelihoodFamily):
        return family.measure(sample, scores, fitted)
    if isinstance(target, Categorical):
        return float(np.average(fitted.classify(scores) == target.labels[target.codes], weights=weights))
    centre = np.average(target.values, axis=0, weights=weights)
    squares = [weights @ (target.values - m) ** 2 for m in (scores, centre)]
    return 1 - float(np.mean(squares[0] / squares[1]))
