"""How far a selection can be trusted: its stability, and its cross-validated error next to those of two baselines."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

SELECTION, ALL, NONE = "this selection", "all features", "no features"
STABLE = 0.75  # share of the half-samples from which a feature is called stable


@dataclass(frozen=True)
class HeldOut:
    """Cross-validated error of a model, with the selection repeated in every fold.

    Attributes
    ----------
    name : str
        What is used: "this selection", "all features" or "no features".
    n_features : float
        Number of features, on average over the folds.
    folds : tuple of float
        Error of each fold, of all repetitions.
    model : str
        Name of the model that was fitted, such as "ridge regression".
    concordance : tuple of float
        Harrell's c of each fold, for survival times; empty for other targets.
    """

    name: str
    n_features: float
    folds: tuple[float, ...]
    model: str = ""
    concordance: tuple[float, ...] = ()

    @property
    def mean(self) -> float:
        """Mean over the folds."""
        return sum(self.folds) / len(self.folds)

    @property
    def deviation(self) -> float:
        """Standard deviation over the folds."""
        return math.sqrt(_variance(self.folds))

    @property
    def mean_concordance(self) -> float | None:
        """Mean of Harrell's c over the folds; None if there is none."""
        return sum(self.concordance) / len(self.concordance) if self.concordance else None

    @property
    def compared(self) -> tuple[float, ...]:
        """What verdicts compare: the share of discordant pairs of survival times, and the error of other targets."""
        return tuple(1 - c for c in self.concordance) or self.folds


@dataclass(frozen=True)
class Evidence:
    """What repeating a selection on parts of the rows says about it.

    Attributes
    ----------
    n_rows : int
        Number of rows used.
    frequencies : tuple of float or None
        Share of the half-samples on which each feature is selected; None if not computed.
    n_halves : int
        Number of half-samples.
    errors : tuple of HeldOut
        Errors of the selection, of all features (unless they cannot be fitted) and of none; empty if not computed.
    measure : str
        What the errors are: "RMSE", "error rate", "log loss", "mean deviance" or "partial deviance".
    omitted : tuple of str
        Why something was not computed, one sentence each.
    n_repeats : int
        How often the rows were divided into folds.
    """

    n_rows: int
    frequencies: tuple[float, ...] | None = None
    n_halves: int = 0
    errors: tuple[HeldOut, ...] = ()
    measure: str = ""
    omitted: tuple[str, ...] = ()
    n_repeats: int = 1

    def error_of(self, name: str) -> HeldOut | None:
        """The error by name; None if it was not computed."""
        return next((error for error in self.errors if error.name == name), None)

    @property
    def n_folds(self) -> int:
        """Number of folds of each repetition."""
        return len(self.errors[0].folds) // self.n_repeats if self.errors else 0

    def compare(self, own: HeldOut, other: HeldOut) -> int:
        """-1 if an error is clearly smaller than another, 1 if it is clearly larger, and 0 otherwise."""
        return compare_folds(own.compared, other.compared, self.n_folds)

    def gain(self, own: HeldOut, other: HeldOut) -> float:
        """Share of the loss of another error that this one avoids; the loss of an RMSE is the squared error."""
        power = 2 if self.measure == "RMSE" else 1
        before, after = (sum(e**power for e in error.compared) for error in (other, own))
        return 1 - after / before if before else 0.0


def compare_folds(own: Sequence[float], other: Sequence[float], n_folds: int) -> int:
    """-1 if errors are clearly smaller than others of the same folds, 1 if they are clearly larger, and 0 otherwise.

    Clearly: by more than one standard error of the mean of the paired differences. Training sets overlap, so that the
    variance of a mean over J folds is that of the differences times 1 / J + n_test / n_train (Nadeau and Bengio 2003),
    where n_test / n_train is 1 / (n_folds - 1), however often the rows are divided. With 5 folds this is 1.5 times the
    usual standard error, and 2.4 times if they are repeated 4 times.
    """
    differences = [a - b for a, b in zip(own, other, strict=True)]
    mean = sum(differences) / len(differences)
    error = math.sqrt(_variance(differences) * (1 / len(differences) + 1 / max(1, n_folds - 1)))
    return int(math.copysign(1, mean)) if abs(mean) > error else 0


def _variance(values: Sequence[float]) -> float:
    mean = sum(values) / len(values)
    return sum((value - mean) ** 2 for value in values) / max(1, len(values) - 1)
