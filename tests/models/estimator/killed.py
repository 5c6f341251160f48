"""Searches that are killed and resumed, in child processes: python killed.py FOLDER N_JOBS N_TRIALS.

Prints one line of JSON per trial: whether the resumed path is that of an uninterrupted search, how many fits were made
more than once, and how many were made before the process was killed.
"""

from __future__ import annotations

import json
import math
import os
import random
import signal
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import Ridge

from dropstep import select


class Logged(Ridge):
    """Writes a line per fit: columns and rows are identified by their sums."""

    def __init__(self, log: str = "", alpha: float = 1.0) -> None:
        super().__init__(alpha=alpha)
        self.log = log

    def fit(self, X: Any, y: Any) -> Logged:
        super().fit(X, y)
        time.sleep(0.002)
        with open(self.log, "a") as file:
            file.write(f"{X.shape[1]} {X.sum()!r}\n")
        return self


def searched(log: str, checkpoint: str | None, n_jobs: int) -> Any:
    rng = np.random.default_rng(5)
    X = rng.normal(size=(60, 12))
    y = X[:, :4] @ np.array([3.0, 2.0, 2.0, 1.0]) + rng.normal(size=60)
    words: dict[str, Any] = {"max_features": 4, "enter": -math.inf, "drop": 0, "checkpoint": checkpoint}
    return select(X, y, model=Logged(log), n_jobs=n_jobs, **words)


def lines(file: Path) -> list[str]:
    return file.read_text().splitlines() if file.exists() else []


def trial(folder: Path, n_jobs: int, wanted: Any, rng: random.Random) -> dict[str, Any]:
    log, checkpoint = folder / "log", str(folder / "checkpoint")
    moment = rng.randint(1, wanted.n_fits - n_jobs - 1)
    child = os.fork()
    if child == 0:
        os.setsid()
        searched(str(log), checkpoint, n_jobs)
        os._exit(0)
    while len(lines(log)) < moment:
        time.sleep(0.0005)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    made = len(lines(log))
    if rng.random() < 0.5:  # a record that was not written to its end
        with open(checkpoint, "ab") as file:
            file.write(b'0123abcd {"columns":[1,')
    path = searched(str(log), checkpoint, 1)
    repeated = len(lines(log)) - len(set(lines(log)))
    return {"equal": path == wanted, "repeated": repeated, "made": made, "fits": len(set(lines(log)))}


def main() -> None:
    root, n_jobs, n_trials = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    wanted = searched(str(root / "log"), None, 1)
    rng = random.Random(n_jobs)
    for number in range(n_trials):
        folder = root / f"trial{number}"
        folder.mkdir()
        print(json.dumps(trial(folder, n_jobs, wanted, rng) | {"wanted": wanted.n_fits}))


if __name__ == "__main__":
    main()
