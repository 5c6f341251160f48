"""Forward selection by the R package leaps, through Rscript; only the call of regsubsets is timed, inside R."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.found import Found

SCRIPT = Path(__file__).with_name("leaps.R")


@cache
def missing() -> str:
    """Why leaps is unavailable; empty if it is available."""
    if shutil.which("Rscript") is None:
        return "R is not installed"
    done = subprocess.run(["Rscript", "-e", "library(leaps)"], capture_output=True, check=False)
    return "R has no package leaps" if done.returncode else ""


@cache
def version() -> str:
    """Versions of leaps and R, or why they are missing."""
    if missing():
        return missing()
    said = 'cat(as.character(packageVersion("leaps")), "of R", as.character(getRversion()))'
    return subprocess.run(["Rscript", "-e", said], capture_output=True, text=True, check=True).stdout


def forward(X: NDArray[Any], y: NDArray[Any], k: int, repeats: int = 1, timeout: float = 300.0) -> Found:
    """The best k features by regsubsets(method = "forward"), timed at least `repeats` times after one untimed call."""
    with tempfile.TemporaryDirectory(prefix="benchmarks-") as folder:
        paths = Path(folder, "X.bin"), Path(folder, "y.bin")
        np.ascontiguousarray(X.T, dtype=np.float64).tofile(paths[0])
        np.asarray(y, dtype=np.float64).tofile(paths[1])
        command = ["Rscript", str(SCRIPT), *map(str, paths), *map(str, (*X.shape, k, repeats))]
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=False)
    if done.returncode:
        error = done.stderr.partition("Error in ")[2].partition("Calls:")[0]
        raise RuntimeError(" ".join(error.split()) or "Rscript ended with an error")
    seconds, chosen = done.stdout.strip().splitlines()[-2:]
    return Found(tuple(int(j) - 1 for j in chosen.split()), seconds=tuple(map(float, seconds.split())))
