"""The move that came closest to being allowed when a search stopped, and what the rule required of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Quantity = Literal["gain", "loss", "p"]


@dataclass(frozen=True, slots=True)
class NearestMove:
    """The best remaining candidate, or the least useful selected feature, when a search stopped.

    Attributes
    ----------
    action : {"add", "remove"}
        Whether the features would have been added or removed.
    features : tuple of int
        Indices of the features.
    quantity : {"gain", "loss", "p"}
        What the rule compares.
    value : float
        Its value for this move.
    needed : float
        The limit of the rule: to enter, a gain must exceed it, and a p-value must not; to leave, a loss must not exceed
        it, and a p-value must.
    gain : float
        Score after the move minus score before, signed so that larger is better.
    std_error : float or None
        Standard error of the gain, where it is a mean over folds.
    """

    action: Literal["add", "remove"]
    features: tuple[int, ...]
    quantity: Quantity
    value: float
    needed: float
    gain: float
    std_error: float | None = None
