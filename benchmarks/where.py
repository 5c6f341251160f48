"""Profile of a selection by its parts, in milliseconds and in passes over X."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial, wraps
from typing import Any
from unittest import mock

from benchmarks import data
from benchmarks.bars import SMALL, SQUARE, TALL, WIDE
from benchmarks.measure import PAUSE, SHORT, clock, interleaved, yardsticks
from dropstep import select
from dropstep.data.columns import Columns
from dropstep.models.least_squares import problem
from dropstep.models.least_squares.model import LeastSquares
from dropstep.projection.projection import Projection
from dropstep.search.search import Search

# Timed functions; the time of a part excludes that of the parts it calls.
PARTS: dict[str, tuple[tuple[Any, str], ...]] = {
    "moments: class sums, X'X": ((problem, "of_rows"),),
    "columns: sums, squares, products with y": ((problem, "columns_of"),),
    "columns: products with features": ((Columns, "products"),),
    "update of the residuals": tuple((Projection, name) for name in ("add", "remove", "update")),
    "gains": tuple((LeastSquares, name) for name in ("additions", "removals")),
    "best move": tuple((Search, name) for name in ("best_addition", "best_removal", "droppable")),
    "steps, pool, score": tuple((Search, name) for name in ("add", "remove", "drop", "recall")),
    "ranking": ((Search, "ranking"),),
}
OTHER = "validation, rules, path"


@dataclass
class Profile:
    """Seconds and calls of each part of one run."""

    seconds: dict[str, float] = field(default_factory=dict)
    calls: dict[str, int] = field(default_factory=dict)
    vectors: list[int] = field(default_factory=list)
    inside: list[float] = field(default_factory=lambda: [0.0])

    def timed(self, part: str, function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def run(*args: Any, **params: Any) -> Any:
            if function.__name__ == "products" and args[1].ndim == 2:
                self.vectors.append(args[1].shape[1])
            self.inside.append(0.0)
            result, seconds = clock(partial(function, *args, **params))
            self.seconds[part] = self.seconds.get(part, 0.0) + seconds - self.inside.pop()
            self.calls[part] = self.calls.get(part, 0) + 1
            self.inside[-1] += seconds
            return result

        return run


@contextmanager
def profiled() -> Iterator[Profile]:
    profile = Profile()
    with ExitStack() as stack:
        for part, functions in PARTS.items():
            for owner, name in functions:
                stack.enter_context(mock.patch.object(owner, name, profile.timed(part, getattr(owner, name))))
        yield profile


def python_calls(call: Callable[[], Any]) -> int:
    """Number of calls of Python and C functions that a call makes."""
    count = 0

    def counted(frame: Any, event: str, arg: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(counted)
    try:
        call()
    finally:
        sys.setprofile(None)
    return count


@dataclass(frozen=True)
class Measured:
    """The profile of the fastest of several runs of a selection."""

    name: str
    nbytes: int
    seconds: float
    one_pass: float
    profile: Profile
    n_calls: int

    def lines(self) -> Iterator[str]:
        """For the terminal."""
        best, seconds, one_pass = self.profile, self.seconds, self.one_pass
        yield f"{self.name}: {seconds * 1e3:.3g} ms, {seconds / one_pass:.1f} passes of {one_pass * 1e3:.3g} ms"
        for part, taken in sorted(best.seconds.items(), key=lambda item: -item[1]):
            calls = f"{best.calls[part]} calls" if part in best.calls else ""
            vectors = f", of {', '.join(map(str, best.vectors))} vectors" if part.endswith("with features") else ""
            share = f"{taken / seconds:6.1%} {taken * 1e3:9.3f} ms {taken / one_pass:7.2f} passes"
            yield f"  {share}  {part}{f' ({calls}{vectors})' if calls else ''}"
        yield f"  {self.n_calls:,} function calls"

    def as_json(self) -> dict[str, Any]:
        passes = {part: self.profile.seconds.get(part, 0.0) / self.one_pass for part in (*PARTS, OTHER)}
        known = {"name": self.name, "nbytes": self.nbytes, "seconds": self.seconds, "n_calls": self.n_calls}
        return known | {"passes": passes, "vectors": self.profile.vectors}


def measured(name: str, X: Any, call: Callable[[], Any], repeats: int) -> Measured:
    """Profile a call several times after one untimed call, and keep the fastest run."""
    best, seconds = Profile(), float("inf")
    call()
    for turn in range(100 * repeats):
        if seconds > SHORT and turn > 2 * repeats:
            break
        time.sleep(PAUSE if seconds > SHORT else 0)
        with profiled() as profile:
            _, taken = clock(call)
        if taken < seconds:
            best, seconds = profile, taken
    one_pass = interleaved(yardsticks(X), repeats, burst={"one pass": 3})["one pass"].best
    best.seconds[OTHER] = seconds - sum(best.seconds.values())
    return Measured(name, X.nbytes, seconds, one_pass, best, python_calls(call))


def selections() -> Iterator[tuple[str, str, Any, Callable[[], Any]]]:
    """The selections of the bars: the name of the bar, a description, X and the call."""
    for bar, table, strategies in (
        ("tall", TALL, ("dropping",)),
        ("square", SQUARE, ("dropping", "forward")),
        ("wide", WIDE, ("dropping", "forward")),
    ):
        X, y = table()
        for strategy in strategies:
            yield bar, f"{bar}, {strategy}", X, partial(select, X, y, strategy=strategy)
    X, y = replace(SQUARE, dtype="float32")()
    yield "single", "square in float32, dropping", X, partial(select, X, y)
    X, y = SMALL()
    yield "small", "small, dropping", X, partial(select, X, y, max_features=SMALL.k)
    X, y = data.read("optdigits")
    X = data.standardised(X)
    yield "digits", "digits, dropping", X, partial(select, X, y, criterion="trace", enter=0.05, leave=0.05)


def show(only: list[str], repeats: int) -> list[Measured]:
    """Print the profile of each selection."""
    profiles = []
    try:
        for bar, name, X, call in selections():
            if not only or bar in only:
                profiles.append(measured(name, X, call, repeats))
                print("\n".join(["", *profiles[-1].lines()]), flush=True)
    except FileNotFoundError as error:
        print(f"\ndigits: skipped, {error}")
    return profiles
