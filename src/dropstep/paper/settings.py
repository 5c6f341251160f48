"""What a run of the experiments is asked to do."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Settings:
    """How often, from which seed, and with which data.

    Attributes
    ----------
    repeats : draws of each simulation (the paper: 1000).
    splits : random splits into training and test rows of each dataset that UCI does not split itself.
    seed : where all random numbers come from.
    data : a folder with the datasets; None fetches them from UCI into the user's cache.
    """

    repeats: int = 1000
    splits: int = 100
    seed: int = 0
    data: Path | None = None

    def __post_init__(self) -> None:
        for name, least in (("repeats", 1), ("splits", 1), ("seed", 0)):
            if getattr(self, name) < least:
                raise ValueError(f"--{name} must be a whole number from {least}; got {getattr(self, name)}")
