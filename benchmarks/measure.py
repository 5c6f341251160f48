"""Times, interleaved so that noise hits all alike, and memory above what there was before."""

from __future__ import annotations

import sys
import time
import tracemalloc
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

QUICK = 0.02  # seconds: a call as short as this is repeated more often, because noise is larger beside it
MOST = 1000  # rounds of calls as short as that
PAUSE = 0.12  # seconds before a longer call: threads of the BLAS in the call before may spin that long
BREATH = 0.001  # seconds before a short one


@dataclass(frozen=True)
class Timing:
    """What a call returned, and how long each of its runs took."""

    result: Any
    seconds: tuple[float, ...]

    @property
    def best(self) -> float:
        return min(self.seconds)


def clock(call: Callable[[], Any]) -> tuple[Any, float]:
    start = time.perf_counter()
    result = call()
    return result, time.perf_counter() - start


def interleaved(
    calls: Mapping[str, Callable[[], Any]],
    repeats: int = 5,
    budget: float = 60.0,
    burst: Mapping[str, int] | None = None,
    settle: float = 1.0,
) -> dict[str, Timing]:
    """Time calls in turn, round after round: `repeats` rounds, and more of short calls, up to `settle` seconds of each.

    A call that has spent its budget of seconds is not run again, but each runs once. `burst` says which calls run
    several times in a row in each round: yardsticks, whose best time should be the best there is.
    """

    def wants_more(times: list[float]) -> bool:
        return min(times) < QUICK and sum(times) < settle

    seconds: dict[str, list[float]] = {name: [] for name in calls}
    results: dict[str, Any] = {}
    for turn in range(MOST):
        for name, call in calls.items():
            spent = sum(seconds[name])
            if seconds[name] and (spent > budget or (turn >= repeats and not wants_more(seconds[name]))):
                continue
            for _ in range((burst or {}).get(name, 1)):
                time.sleep(BREATH if min(seconds[name], default=0.0) < QUICK else PAUSE)
                results[name], elapsed = clock(call)
                seconds[name].append(elapsed)
        if turn + 1 >= repeats and not any(wants_more(times) for times in seconds.values()):
            break
    return {name: Timing(results[name], tuple(seconds[name])) for name in calls}


def yardsticks(X: NDArray[Any], product: bool = False) -> dict[str, Callable[[], Any]]:
    """One pass is X.T @ y; one product is X.T @ X."""
    y = np.random.default_rng(0).standard_normal(len(X)).astype(X.dtype)
    calls: dict[str, Callable[[], Any]] = {"one pass": lambda: X.T @ y}
    return calls | {"one product": lambda: X.T @ X} if product else calls


def traced_peak(call: Callable[[], Any]) -> int:
    """Bytes that NumPy and Python allocated on top of what there was, at the worst moment of a call."""
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        call()
        return tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()


def resident_peak(call: Callable[[], Any]) -> tuple[Any, float, int]:
    """What a call returned, its seconds, and the bytes by which the process grew at its worst moment.

    Sees what a compiled library allocates as well. Meant for a process of its own.
    """
    reset = _forget_peak()
    before = _now() if reset else _peak()
    result, seconds = clock(call)
    return result, seconds, max(0, _peak() - before)


def _forget_peak() -> bool:
    """Linux can set the highest resident size back to the present one; elsewhere it stays what it was."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return False
    return True


def _status(word: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(word):
            return int(line.split()[1]) * 1024
    raise KeyError(word)


def _now() -> int:
    return _status("VmRSS")


def _peak() -> int:
    if sys.platform == "linux":
        return _status("VmHWM")
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # bytes on macOS
