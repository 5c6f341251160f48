"""Held-out losses: what the evaluation needs of a family, to train it on some rows and to score it on others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from dropstep.data.sample import Features, Sample
from dropstep.data.target import Categorical
from dropstep.models.base import Floats, Problem
from dropstep.models.folds import Fold
from dropstep.result import Coefficients

SMALLEST = float(np.log(np.finfo(np.float64).eps))  # log probabilities are clipped here, as in log_loss

Losses = dict[str, float]


@runtime_checkable
class Trainable(Protocol):
    """A family that can be trained on the training rows of folds, and scored on their test rows."""

    def folds(self, sample: Any, cv: Any) -> tuple[Fold, ...]:
        """The folds of a sample."""
        ...

    def training(
        self, sample: Any, folds: Sequence[Fold], solver: str, max_features: int | None
    ) -> Iterator[tuple[Features, Problem]]:
        """The sample and the problem of the training rows of each fold."""
        ...

    def losses(self, sample: Any, fold: Fold, columns: Sequence[int], fit: Coefficients | None) -> Losses:
        """Losses on the test rows of a fold by name: the one that is minimised, then others.

        `columns` were selected on the training rows, where `fit` are their coefficients; None if the model has none.
        """
        ...

    def at(self, sample: Any, rows: NDArray[np.intp]) -> Any:
        """The sample of some rows."""
        ...


def predictor(sample: Sample, rows: NDArray[np.intp], fit: Coefficients) -> Floats:
    """Values of the functions of a fit for some rows."""
    values = sample.table.columns(fit.columns)[rows]
    return fit.linear_predictor(values.astype(np.float64))


def row_weights(sample: Sample, rows: NDArray[np.intp]) -> Floats:
    """Weights of some rows."""
    return np.ones(len(rows)) if sample.weights is None else sample.weights[rows]


def class_losses(sample: Sample, test: NDArray[np.intp], scores: Floats, labels: Sequence[Any]) -> Losses:
    """Log loss and error rate of linear scores, one column per label; a class without a label has probability 0."""
    target, weights = sample.target, row_weights(sample, test)
    assert isinstance(target, Categorical)
    place = {label: i for i, label in enumerate(labels)}
    at = np.array([place.get(label, -1) for label in target.labels.tolist()])[target.codes[test]]
    top = scores.max(axis=1)
    with np.errstate(over="ignore"):  # differences beyond float64 are infinite
        log_p = scores[np.arange(len(at)), at] - top - np.log(np.exp(scores - top[:, None]).sum(axis=1))
    log_p = np.where(at < 0, SMALLEST, np.clip(log_p, SMALLEST, 0.0))
    wrong = scores.argmax(axis=1) != at
    return {
        "log_loss": float(-np.average(log_p, weights=weights)),
        "error_rate": float(np.average(wrong, weights=weights)),
    }
