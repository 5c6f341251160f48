"""What the search knows of models whose scores are means over folds, and of those whose evaluations cost fits."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from dropstep.models.base import Family, Indices, Scan
from dropstep.result import StopReason


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
