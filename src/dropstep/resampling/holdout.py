"""Held-out rows: a selection is made without them, and its score and coefficients are computed on them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dropstep.data.division import Observations
from dropstep.data.sample import PerRow, Sample
from dropstep.data.table import Table
from dropstep.resampling.inference import INFERRED, Inference, infer_on
from dropstep.resampling.refits import METRICS, metric, parameters_of
from dropstep.resampling.resampler import Resampler
from dropstep.result import SelectionPath


@dataclass(frozen=True)
class Holdout:
    """A selection on rows that took no part in it.

    Attributes
    ----------
    n_rows : int
        Number of these rows.
    metric : str
        "r2" (linear), "accuracy" (classes), "explained deviance" (poisson, gamma) or "concordance" (cox).
    score : float
        The metric on these rows, with the coefficients of the path.
    baseline : float
        The metric of a prediction without features: the share of the most frequent class, 0.5 for concordance, and 0.
    inference : Inference or None
        Coefficients and intervals fitted on these rows; None where the model has no standard errors.
    """

    n_rows: int
    metric: str
    score: float
    baseline: float
    inference: Inference | None


def score_held_out(path: SelectionPath, X: Any, y: Any, rows: PerRow) -> Holdout:
    """The score of a path on rows that took no part in the selection, and what can be inferred from them."""
    if path.model not in METRICS or path.coefficients is None:
        raise ValueError(
            f"held-out rows are scored for the models {', '.join(METRICS)}; estimators have cross-validation"
        )
    sample = Resampler.of(X, y, rows, parameters_of(path), "holdout", on_parts=False).sample
    inferred = path.model in INFERRED and len(path.coefficients.targets) == 1
    return Holdout(
        sample.n_rows,
        METRICS[path.model],
        metric(path.model, path.coefficients, _encoded(path, sample)),
        _baseline(sample, METRICS[path.model]),
        infer_on(path, sample) if inferred else None,
    )


def _baseline(sample: Sample, metric: str) -> float:
    if metric == "accuracy":
        counts = np.bincount(sample.target.codes, sample.weights)
        return float(counts.max() / counts.sum())
    return 0.5 if metric == "concordance" else 0.0


def _encoded(path: SelectionPath, sample: Sample) -> Sample:
    """A sample with the columns of the path; levels that the path does not know are the baseline."""
    if path.encoding is None:
        return sample
    return replace(sample, table=Table(path.encoding.encode(sample.features), path.encoding.column_names))


def rows_held_out(sample: Sample, share: float, seed: int) -> NDArray[np.bool_]:
    """Which rows of a table to hold out: a random share, the same in each class."""
    chosen = Observations.of(replace(sample, weights=None)).share(share, np.random.default_rng(seed))
    if sample.rows is None:
        return chosen
    inside = np.zeros(len(sample.rows), dtype=bool)
    inside[np.flatnonzero(sample.rows)] = chosen
    return inside
