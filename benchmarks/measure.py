"""Run times in alternating rounds after a warm-up, and peak memory above a baseline."""

from __future__ import annotations

import sys
import time
import tracemalloc
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.found import Found

SHORT = 0.02  # seconds: shorter calls run more rounds, because timer and scheduler noise is relatively larger
MAX_ROUNDS = 1000  # of short calls
PAUSE = 0.12  # seconds before a longer call: worker threads of the BLAS used by the previous call may spin that long
SHORT_PAUSE = 0.001  # seconds before a short call


@dataclass(frozen=True)
class Timing:
    """Last result of a call, and the seconds of each timed run."""

    result: Any
    seconds: tuple[float, ...]

    @property
    def best(self) -> float:
        return min(self.seconds)


def clock(call: Callable[[], Any]) -> tuple[Any, float]:
    """Result and seconds of a call."""
    start = time.perf_counter()
    result = call()
    return result, time.perf_counter() - start


@dataclass
class _Runs:
    """Runs of one call; the first is the warm-up and is not timed."""

    call: Callable[[], Any]
    burst: int
    seconds: list[float] = field(default_factory=list)
    spent: float = 0.0

    def __post_init__(self) -> None:
        self.result, self.shortest = clock(self.call)

    @property
    def short(self) -> bool:
        return self.shortest < SHORT

    def round(self) -> None:
        for _ in range(self.burst):
            time.sleep(SHORT_PAUSE if self.short else PAUSE)
            self.result, elapsed = clock(self.call)
            self.shortest = min(self.shortest, elapsed)
            self.spent += elapsed
            # A program outside Python reports its own seconds, without those of starting it and passing the data.
            outside = isinstance(self.result, Found) and self.result.seconds
            self.seconds.extend(self.result.seconds if outside else [elapsed])


def interleaved(
    calls: Mapping[Any, Callable[[], Any]],
    repeats: int = 5,
    budget: float = 60.0,
    burst: Mapping[str, int] | None = None,
    short_budget: float = 1.0,
) -> dict[Any, Timing]:
    """Time calls in alternating rounds (a, b, c, a, b, c, ...), after one untimed call of each.

    Parameters
    ----------
    calls : what is timed, by name. Every run of a call, the warm-up included, has the same data and parameters.
    repeats : number of rounds.
    budget : seconds; a call that has spent more takes no part in further rounds, but each is timed once.
    burst : how many times in a row a call runs in each round, where that is not once: for the units of measurement.
    short_budget : seconds; if some calls are short, there are further rounds until each of those has spent as much.
        All calls take part, each until it has spent 10 times as much: one that only seems long, because of noise in its
        first rounds, gets as many runs as the others.
    """
    runs = {name: _Runs(call, (burst or {}).get(name, 1)) for name, call in calls.items()}
    for _ in range(repeats):
        _round(one for one in runs.values() if not one.seconds or one.spent <= budget)
    short = [one for one in runs.values() if one.short]
    for _ in range(MAX_ROUNDS - repeats):
        if all(one.spent >= short_budget for one in short):
            break
        _round(one for one in runs.values() if one.spent < min(budget, 10 * short_budget))
    return {name: Timing(one.result, tuple(one.seconds)) for name, one in runs.items()}


def _round(runs: Iterable[_Runs]) -> None:
    for one in runs:
        one.round()


def yardsticks(X: NDArray[Any], product: bool = False) -> dict[str, Callable[[], Any]]:
    """Units of measurement: one pass is X.T @ y, one product is X.T @ X."""
    y = np.random.default_rng(0).standard_normal(len(X)).astype(X.dtype)
    calls: dict[str, Callable[[], Any]] = {"one pass": lambda: X.T @ y}
    return calls | {"one product": lambda: X.T @ X} if product else calls


def traced_peak(call: Callable[[], Any]) -> int:
    """Peak bytes that NumPy and Python allocate during a call (tracemalloc)."""
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        call()
        return tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()


def resident_peak(call: Callable[[], Any]) -> tuple[Any, float, int]:
    """Result and seconds of a call, and the peak growth of the resident set size in bytes.

    This includes the allocations of compiled libraries. Meant for a separate process.
    """
    reset = _reset_peak()
    before = _now() if reset else _peak()
    result, seconds = clock(call)
    return result, seconds, max(0, _peak() - before)


def _reset_peak() -> bool:
    """Reset the peak resident set size to the current one, which only Linux supports."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return False
    return True


def _status(field: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field):
            return int(line.split()[1]) * 1024
    raise KeyError(field)


def _now() -> int:
    return _status("VmRSS")


def _peak() -> int:
    if sys.platform == "linux":
        return _status("VmHWM")
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # bytes on macOS
