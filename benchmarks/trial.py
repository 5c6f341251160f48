"""One call in a process of its own: it can be stopped when it takes too long, and its memory is its own."""

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
    """The outcome: what the call returned, its seconds and the bytes it needed; or why there is nothing to tell."""

    result: Any = None
    seconds: float = float("nan")
    extra: int | None = None
    failed: str = ""


@contextmanager
def stored(*arrays: NDArray[Any]) -> Iterator[tuple[str, ...]]:
    """Arrays in files, for as long as trials need them."""
    with tempfile.TemporaryDirectory(prefix="benchmarks-") as name:
        paths = tuple(str(Path(name, f"{i}.npy")) for i in range(len(arrays)))
        for path, array in zip(paths, arrays, strict=True):
            np.save(path, array)
        yield paths


def attempt(call: Call, X: NDArray[Any], y: NDArray[Any], k: int) -> Trial:
    """The same in this process: quicker, but nobody stops it and its memory is not measured."""
    try:
        return Trial(*clock(lambda: call(X, y, k)))
    except Exception as error:
        return Trial(failed=_brief(f"{type(error).__name__}: {error}"))


def trial(call: Call, paths: tuple[str, ...], k: int, timeout: float) -> Trial:
    """Run call(X, y, k) once in a process of its own."""
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
    """The other side of `trial`: warm up on a few rows, so that what is loaded once does not count, then run."""
    call, (path_X, path_y), k = pickle.loads(sys.stdin.buffer.read())
    X, y = np.load(path_X), np.load(path_y)
    rng = np.random.default_rng(0)
    few = rng.standard_normal((80, 8))
    classes = np.arange(80) % 2 if y.dtype.kind in "iUb" else few[:, 0] + rng.standard_normal(80)
    call(few.astype(X.dtype), classes.astype(y.dtype), 2)
    few = rng.standard_normal((600, 600))
    few = few @ few  # the BLAS library has made its buffers
    outcome = resident_peak(lambda: call(X, y, k))
    sys.stdout.buffer.write(MARK + pickle.dumps(outcome))


if __name__ == "__main__":
    main()
