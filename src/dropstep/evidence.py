"""How far a selection can be trusted: its stability, and its cross-validated error next to those of two baselines."""

from __future__ import annotations

import math
from dataclasses import dataclass

MIN_DIFFERENCE = 0.05  # of an error, below which two errors are about the same
SELECTION, ALL, NONE = "this selection", "all features", "no features"


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
        Error of each fold.
    """

    name: str
    n_features: float
    folds: tuple[float, ...]

    @property
    def mean(self) -> float:
        """Mean over the folds."""
        return sum(self.folds) / len(self.folds)

    @property
    def deviation(self) -> float:
        """Standard deviation over the folds."""
        return math.sqrt(sum((error - self.mean) ** 2 for error in self.folds) / max(1, len(self.folds) - 1))

    def differs_from(self, other: HeldOut) -> int:
        """-1 if this error is clearly smaller than another, 1 if it is clearly larger, and 0 otherwise.

        Clearly: by more than one standard error of the paired differences of the folds, and by more than 5 %.
        """
        differences = [a - b for a, b in zip(self.folds, other.folds, strict=True)]
        mean = sum(differences) / len(differences)
        spread = sum((d - mean) ** 2 for d in differences) / max(1, len(differences) - 1)
        error = math.sqrt(spread / len(differences))
        clear = abs(mean) > max(error, MIN_DIFFERENCE * abs(other.mean))
        return int(math.copysign(1, mean)) if clear else 0


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
    """

    n_rows: int
    frequencies: tuple[float, ...] | None = None
    n_halves: int = 0
    errors: tuple[HeldOut, ...] = ()
    measure: str = ""
    omitted: tuple[str, ...] = ()

    def error_of(self, name: str) -> HeldOut | None:
        """The error by name; None if it was not computed."""
        return next((error for error in self.errors if error.name == name), None)
