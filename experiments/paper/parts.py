"""Cells, parts and the store: experiments are divided into parts, whose results are stored one by one."""

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
from experiments.paper.procedures import Record

Records = list[Record]

# The files of this folder that compute results, and the folders of the library that do not.
COMPUTING = ("procedures.py", "real.py", "simulation.py", "theorem.py", "datasets/*.py")
SHOWING = ("cli", "report", "readers")


@dataclass(frozen=True)
class Cell:
    """One cell of an experiment: independent trials with the same parameters.

    Attributes
    ----------
    experiment : str
        "table-1", ..., "figure-1", "theorem".
    params : mapping of str to Any
        Parameters of the trial, which also name the cell.
    trial : callable
        Maps (seed, repeat, **params) to a record.
    n_trials : int
        Number of trials.
    block : int
        Number of trials per part.
    """

    experiment: str
    params: Mapping[str, Any]
    trial: Callable[..., Record]
    n_trials: int
    block: int = 50

    @property
    def key(self) -> str:
        return cell_key(self.experiment, self.params)

    def parts(self, seed: int) -> Iterator[Part]:
        """Blocks of trials; they do not depend on the number of trials, so that stored parts serve a longer run."""
        for first in range(0, self.n_trials, self.block):
            yield Part(self, seed, first, min(first + self.block, self.n_trials))


def cell_key(experiment: str, params: Mapping[str, Any]) -> str:
    return " ".join([experiment, *(f"{name}={value}" for name, value in params.items())])


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
        return [self.cell.trial(self.seed, repeat, **self.cell.params) for repeat in range(self.first, self.last)]


@lru_cache(maxsize=1)
def source_digest() -> str:
    """A digest of the code that computes the results: those of other code are not reused."""
    library, here = Path(dropstep.__file__).parent, Path(__file__).parent
    files = {file for pattern in COMPUTING for file in here.glob(pattern)}
    files |= {file for file in library.rglob("*.py") if file.relative_to(library).parts[0] not in SHOWING}
    digest = hashlib.sha256()
    for file in sorted(files):
        digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


@dataclass(frozen=True)
class Finished:
    """The result of a part.

    Attributes
    ----------
    records : list of dict
        One record per trial.
    worked : float
        Processor time, in seconds.
    passed : float
        Elapsed time since the previous part was finished, in seconds.
    """

    records: Records
    worked: float
    passed: float


class Store:
    """Finished parts in a folder, one JSON file per part."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def load(self, part: Part) -> Finished | None:
        """The result of a part, or None if this code has not computed it yet."""
        try:
            kept = json.loads(self._file(part).read_text(encoding="utf-8"))
            if kept["source"] == source_digest() and kept["part"] == part.name:
                return Finished(kept["records"], kept["worked"], kept["passed"])
        except (OSError, ValueError, KeyError, TypeError):
            pass  # absent, truncated or unrelated: compute the part again
        return None

    def save(self, part: Part, done: Finished) -> None:
        """Store a part; its file is either complete or absent."""
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

    def of(self, experiment: str, **params: Any) -> Records:
        """Records of one cell, in order of the trials."""
        return self._records[cell_key(experiment, params)]
