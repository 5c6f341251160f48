"""The settings of a run."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Settings:
    """The number of trials, the seed and the data.

    Attributes
    ----------
    repeats : int
        Draws per simulation (the paper: 1000).
    splits : int
        Random splits into training and test rows, per dataset that UCI does not split.
    seed : int
        Seed of all random numbers.
    data : Path or None
        Folder with the datasets; None fetches them from UCI into the user's cache.
    """

    repeats: int = 1000
    splits: int = 100
    seed: int = 0
    data: Path | None = None

    def __post_init__(self) -> None:
        for name, least in (("repeats", 1), ("splits", 1), ("seed", 0)):
            if getattr(self, name) < least:
                raise ValueError(f"--{name} must be at least {least}; got {getattr(self, name)}")
