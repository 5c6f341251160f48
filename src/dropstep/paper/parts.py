"""Cells, parts and the store: experiments are cut into parts that are finished one by one, and kept."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import dropstep
from dropstep.paper.procedures import Record

Records = list[Record]

# The files of this folder whose code makes numbers; the others only show them.
MAKING = ("from_scratch.py", "procedures.py", "real.py", "simulation.py", "theorem.py", "datasets")


@dataclass(frozen=True)
class Cell:
    """One cell of an experiment: the same trial many times, each with random numbers of its own.

    Attributes
    ----------
    experiment : "table-1", ..., "figure-1", "theorem".
    words : what tells this cell from the others; handed to the trial, and the cell's name.
    trial : (seed, repeat, **words) to a record.
    n_trials : how many.
    block : how many trials make a part.
    """

    experiment: str
    words: Mapping[str, Any]
    trial: Callable[..., Record]
    n_trials: int
    block: int = 50

    @property
    def key(self) -> str:
        return cell_key(self.experiment, self.words)

    def parts(self, seed: int) -> Iterator[Part]:
        """Blocks of trials; the same blocks for any number of trials, so that more trials add to what is there."""
        for first in range(0, self.n_trials, self.block):
            yield Part(self, seed, first, min(first + self.block, self.n_trials))


def cell_key(experiment: str, words: Mapping[str, Any]) -> str:
    return " ".join([experiment, *(f"{name}={value}" for name, value in words.items())])


@dataclass(frozen=True)
class Part:
    """Trials `first` up to `last` of a cell."""

    cell: Cell
    seed: int
    first: int
    last: int

    @property
    def name(self) -> str:
        return f"{self.cell.key} seed={self.seed} {self.first}-{self.last - 1}"

    def run(self) -> Records:
        return [self.cell.trial(self.seed, repeat, **self.cell.words) for repeat in range(self.first, self.last)]


@lru_cache(maxsize=1)
def source_digest() -> str:
    """A digest of the code that makes the numbers: results of other code are not mixed in."""
    root = Path(dropstep.__file__).parent
    made_here = [file for name in MAKING for file in sorted((root / "paper" / name).glob("*.py"))]
    made_here += [root / "paper" / name for name in MAKING if name.endswith(".py")]
    digest = hashlib.sha256()
    for file in sorted([*root.glob("*.py"), *made_here]):
        digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


@dataclass(frozen=True)
class Finished:
    """What a part gave: its records, the processor seconds they took, and the seconds that passed for it in a run."""

    records: Records
    worked: float
    passed: float


class Store:
    """Finished parts in a folder, one JSON file each."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def load(self, part: Part) -> Finished | None:
        """A part, if it was finished by this very code."""
        try:
            kept = json.loads(self._file(part).read_text(encoding="utf-8"))
            if kept["source"] == source_digest() and kept["part"] == part.name:
                return Finished(kept["records"], kept["worked"], kept["passed"])
        except (OSError, ValueError, KeyError, TypeError):
            pass  # not there, cut short, or something else: the part is made anew
        return None

    def save(self, part: Part, done: Finished) -> None:
        """Keep a part; a file is either whole or not there."""
        self.folder.mkdir(parents=True, exist_ok=True)
        kept = {"part": part.name, "source": source_digest(), **asdict(done)}
        half = self._file(part).with_suffix(".half")
        half.write_text(json.dumps(kept), encoding="utf-8")
        half.replace(self._file(part))

    def _file(self, part: Part) -> Path:
        return self.folder / (re.sub(r"[^a-z0-9.=-]+", "_", part.name.lower()) + ".json")


class Results:
    """Records of finished cells."""

    def __init__(self, records: Mapping[str, Records]) -> None:
        self._records = records

    def of(self, experiment: str, **words: Any) -> Records:
        """Records of one cell, in order of the trials."""
        return self._records[cell_key(experiment, words)]
