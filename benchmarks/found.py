"""Found: what a rival hands back."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Found:
    """The selected features, how many gains were computed (if it says so), its own seconds (if it took them itself)."""

    selected: tuple[int, ...]
    n_evaluations: int | None = None
    seconds: tuple[float, ...] = ()
