"""One call in a separate process, with a timeout and a measurement of its memory."""

from __future__ import annotations

import pickle
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.data import ROOT
from benchmarks.measure import clock, resident_peak

Call = Callable[[NDArray[Any], NDArray[Any], int], Any]


@dataclass(frozen=True)
class Trial:
    """Result, seconds and memory of the call, or why it failed."""

    result: Any = None
    seconds: float = float("nan")
    extra: int | None = None
    failed: str = ""


@contextmanager
def stored(*arrays: NDArray[Any]) -> Iterator[tuple[str, ...]]:
    """Arrays in temporary files."""
    with tempfile.TemporaryDirectory(prefix="benchmarks-") as name:
        paths = tuple(str(Path(name, f"{i}.npy")) for i in range(len(arrays)))
        for path, array in zip(paths, arrays, strict=True):
            np.save(path, array)
        yield paths


def attempt(call: Call, X: NDArray[Any], y: NDArray[Any], k: int) -> Trial:
    """The same in this process, without a timeout and without a measurement of memory."""
    try:
        return Trial(*clock(lambda: call(X, y, k)))
    except Exception as error:
        return Trial(failed=_brief(f"{type(error).__name__}: {error}"))


def trial(call: Call, paths: tuple[str, ...], k: int, timeout: float) -> Trial:
    """Run call(X, y, k) once in a separate process."""
    request = pickle.dumps((call, paths, k))
    command = [sys.executable, "-m", "benchmarks.trial"]
    try:
        done = subprocess.run(command, input=request, capture_output=True, timeout=timeout, cwd=ROOT, check=False)
    except subprocess.TimeoutExpired:
        return Trial(failed=f"not finished after {timeout:.0f} s")
    if done.returncode:
        last = done.stderr.decode(errors="replace").strip().splitlines()[-1:]
        return Trial(failed=_brief(last[0]) if last else f"ended with code {done.returncode}")
    return Trial(*pickle.loads(done.stdout[done.stdout.rindex(MARK) + len(MARK) :]))


def _brief(message: str) -> str:
    return message if len(message) <= 120 else f"{message[:117]}..."


MARK = b"\n--- trial ---\n"


def main() -> None:
    """The separate process of `trial`: warm up on a small table, so that imports and buffers do not count, then run."""
    call, (path_X, path_y), k = pickle.loads(sys.stdin.buffer.read())
    X, y = np.load(path_X), np.load(path_y)
    rng = np.random.default_rng(0)
    few = rng.standard_normal((80, 8))
    classes = np.arange(80) % 2 if y.dtype.kind in "iUb" else few[:, 0] + rng.standard_normal(80)
    call(few.astype(X.dtype), classes.astype(y.dtype), 2)
    few = rng.standard_normal((600, 600))
    few = few @ few  # allocates the buffers of the BLAS library
    outcome = resident_peak(lambda: call(X, y, k))
    sys.stdout.buffer.write(MARK + pickle.dumps(outcome))


if __name__ == "__main__":
    main()
