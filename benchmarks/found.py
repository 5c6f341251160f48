"""Found: the result of one tool."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Found:
    """Selected features, number of evaluations (None if not reported), seconds (if the tool measures its own time)."""

    selected: tuple[int, ...]
    n_evaluations: int | None = None
    seconds: tuple[float, ...] = ()
