"""Fits of given features on parts of the rows, without a selection."""

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
from dropstep.models.families import as_family
from dropstep.models.glm.family import LikelihoodFamily
from dropstep.result import Coefficients, SelectionPath
from dropstep.select import select

Indices = NDArray[np.intp]


def model_of(path: SelectionPath) -> Any:
    """The model of a path as a parameter of `select`, with "auto" resolved."""
    given = path.params.get("model", "auto")
    return path.model if isinstance(given, str) else given


def columns_of(sample: Sample, features: Sequence[int]) -> list[int]:
    """Columns of the design matrix that encode features."""
    encoding = sample.encoding
    return list(features) if encoding is None else [c for j in features for c in encoding.columns(j)]


def names_of(sample: Sample, columns: Sequence[int]) -> tuple[str, ...]:
    """Names of columns of the design matrix; x0, x1, ... if there are none."""
    names = sample.column_names
    return tuple(f"x{j}" if names is None else names[j] for j in columns)


def fit(model: Any, sample: Sample, columns: Sequence[int]) -> Coefficients:
    """Coefficients of columns of the design matrix on all rows of a sample."""
    values, names = sample.table.columns(columns), names_of(sample, columns)
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
