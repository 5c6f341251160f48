"""Evaluation on held-out rows: models whose scores are means over folds, and the losses of a fit on other rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from dropstep.data.division import Fold
from dropstep.data.sample import Features, Sample
from dropstep.data.target import Categorical
from dropstep.models.base import Family, Floats, Indices, Problem, Scan
from dropstep.result import Coefficients, StopReason

SMALLEST = float(np.log(np.finfo(np.float64).eps))  # log probabilities are clipped here, as in log_loss

Losses = dict[str, float]


def never() -> StopReason | None:
    """No reason to end a search early."""
    return None


@dataclass(frozen=True, eq=False)
class Evaluation:
    """How models are evaluated where they are cross-validated.

    Attributes
    ----------
    cv : int, splitter, iterable or None
        Folds; None is 5.
    n_jobs, random_state : int or None
        Number of processes, and seed.
    checkpoint : str, path-like or None
        File to which every fit is written.
    identity : mapping of str to object
        Parameters that a checkpoint must agree with.
    ended : callable
        Why the search is to end now; None if it is to continue.
    on_fit : callable
        Called after each fit.
    criterion : str or callable
        The criterion of the selection.
    """

    cv: Any = None
    n_jobs: int | None = None
    random_state: Any = None
    checkpoint: Any = None
    identity: Mapping[str, Any] = field(default_factory=dict)
    ended: Callable[[], StopReason | None] = never
    on_fit: Callable[[], object] = never
    criterion: Any = "auto"


class SearchEndedError(Exception):
    """A scan was ended early, by a time limit or an interrupt.

    Attributes
    ----------
    reason : StopReason
    """

    def __init__(self, reason: StopReason) -> None:
        super().__init__(str(reason))
        self.reason = reason


@runtime_checkable
class CrossValidates(Protocol):
    """A family that has the criterion "cv"."""

    def cross_validated(self, evaluation: Evaluation) -> Family:
        """The family under criterion "cv"."""
        ...


@runtime_checkable
class Resamples(Protocol):
    """A family whose models are always evaluated by cross-validation, with fits."""

    def evaluated(self, evaluation: Evaluation) -> Family:
        """The family with its evaluation."""
        ...


@runtime_checkable
class FoldMeans(Protocol):
    """A model whose scores are means over folds."""

    @property
    def score_std_error(self) -> float | None:
        """Standard error of the score; None for a single fold."""
        ...

    @property
    def n_folds(self) -> int: ...


@runtime_checkable
class Resampled(FoldMeans, Protocol):
    """A model whose scores are means over folds, and whose evaluations cost fits."""

    @property
    def n_fits(self) -> int:
        """Models fitted so far, in scans and in moves."""
        ...

    @property
    def fits_saved(self) -> dict[str, int]:
        """Fits that were not necessary, by what saved them."""
        ...

    def exchanges(self, removals: Indices, additions: Indices) -> Scan:
        """Gains of all exchanges, a removal with each of the additions in turn; an exchange is evaluated as one move.

        Units are numbers of pairs: those of the first removal, then those of the second, and so on.
        """
        ...

    def close(self) -> None:
        """Release files and processes."""
        ...


# --- training on some rows, and losses on others ---------------------------------------------------------------------


class Scored(Family, Protocol):
    """A family that is scored on rows other than those of the fit."""

    def losses(self, sample: Any, fold: Fold, columns: Sequence[int], fit: Coefficients | None) -> Losses:
        """Losses on the test rows of a fold by name: the one that is minimised, then others.

        `columns` were selected on the training rows, where `fit` are their coefficients; None if the model has none.
        """
        ...


@runtime_checkable
class SharesFolds(Protocol):
    """A family that makes the problems of all folds at less than the cost of one after the other."""

    def training(
        self, sample: Any, folds: Sequence[Fold], solver: str, max_features: int | None
    ) -> Iterator[tuple[Features, Problem]]:
        """The sample and the problem of the training rows of each fold."""
        ...


def training_problems(
    family: Family, sample: Any, folds: Sequence[Fold], solver: str, max_features: int | None
) -> Iterator[tuple[Features, Problem]]:
    """The sample and the problem of the training rows of each fold."""
    if isinstance(family, SharesFolds):
        return family.training(sample, folds, solver, max_features)
    return problems_one_by_one(family, sample, folds, solver, max_features)


def problems_one_by_one(
    family: Family, sample: Any, folds: Sequence[Fold], solver: str, max_features: int | None
) -> Iterator[tuple[Features, Problem]]:
    """The training rows of each fold as a sample, and its problem."""
    for train, _ in folds:
        part = sample.at(train)
        yield part, family.problem(part, solver, max_features)


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
