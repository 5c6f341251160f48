"""Compare times with those of another checkout: python -m benchmarks.before_after --before FOLDER

Two processes, one per checkout, hold the same data; each workload is timed in alternating rounds, and the best of each
side is printed with their ratio. With one thread (OMP_NUM_THREADS=1) and processor time, other programs on the machine
matter little. With --search, what a path reports besides the search is left out: coefficients, the fingerprint of the
rows, notes, repeated columns, the tests of steps and the nearest alternatives.
"""

from __future__ import annotations

import argparse
import importlib
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parents[1]
# What a path reports: modules and names, and what they return instead.
REPORTS: tuple[tuple[str, str, Any], ...] = (
    ("dropstep.select", "_coefficients", None),
    ("dropstep.select", "Fingerprint.of", None),
    ("dropstep.select", "_notes", ()),
    ("dropstep.data.sample", "duplicates_note", ()),
    ("dropstep.models.least_squares.model", "PartialTests.one", None),
    ("dropstep.search.search", "near_tie", None),
    ("dropstep.search.search", "nearest_move", None),
)
OLDER = (("dropstep.search.search", "refused", None),)  # names that these had in older checkouts
WORKLOADS = {  # rows, features, features with an effect, calls per round, parameters
    "small, 80 x 80": (80, 80, 4, 40, {}),
    "small, 500 x 50": (500, 50, 5, 20, {}),
    "small, 442 x 10": (442, 10, 5, 40, {}),
    "middle, 1,000 x 100": (1_000, 100, 10, 10, {}),
    "middle, floating": (1_000, 100, 10, 5, {"strategy": "floating"}),
    "middle, backward": (1_000, 100, 10, 3, {"strategy": "backward"}),
    "middle, groups of 4": (1_000, 100, 10, 5, {"groups": [j // 4 for j in range(100)]}),
    "tall, 100,000 x 50": (100_000, 50, 10, 1, {}),
    "square, 2,000 x 2,000, forward": (2_000, 2_000, 20, 1, {"strategy": "forward"}),
    "square, stepwise": (2_000, 2_000, 20, 1, {"strategy": "stepwise"}),
    "square, dropping": (2_000, 2_000, 20, 1, {"strategy": "dropping"}),
    "wide, 500 x 20,000, forward": (500, 20_000, 20, 1, {"strategy": "forward", "max_features": 20}),
    "wide, dropping": (500, 20_000, 20, 1, {"strategy": "dropping", "max_features": 20}),
    "digits, thresholds": (0, 0, 0, 3, {"enter": 0.05, "leave": 0.05}),
    "digits, tests": (0, 0, 0, 2, {}),
}


def workload(name: str) -> tuple[Callable[[], Any], int]:
    """A selection to time, and how often to repeat it in a round."""
    from sklearn.datasets import load_digits

    from dropstep import select

    n, p, k, repeats, params = WORKLOADS[name]
    if not n:
        X, y = load_digits(return_X_y=True)
    else:
        rng = np.random.default_rng(0)
        X, beta = rng.standard_normal((n, p)), np.zeros(p)
        beta[rng.choice(p, k, replace=False)] = 2 * rng.standard_normal(k)
        y = X @ beta + rng.standard_normal(n)
    return lambda: select(X, y, **params), repeats


def reports() -> Iterator[tuple[Any, str, Any]]:
    """What this checkout reports: the module or class, the name of its function, and what it returns instead."""
    for module, name, nothing in (*REPORTS, *OLDER):
        try:
            holder = importlib.import_module(module)
        except ImportError:
            continue
        *owner, function = name.split(".")
        holder = getattr(holder, owner[0], None) if owner else holder
        if hasattr(holder, function):
            yield holder, function, nothing


def serve(*, search_only: bool) -> None:
    """Time the workload that each line of the input names, and print the best time."""
    warnings.simplefilter("ignore")
    if search_only:
        for holder, function, nothing in reports():
            setattr(holder, function, lambda *_, nothing=nothing: nothing)
    made: dict[str, tuple[Callable[[], Any], int]] = {}
    for line in sys.stdin:
        name = line.rstrip("\n")
        if name not in made:
            made = {name: workload(name)}  # one at a time, to save memory
            made[name][0]()
        run, repeats = made[name]
        best = float("inf")
        for _ in range(repeats):
            started = time.process_time()
            run()
            best = min(best, time.process_time() - started)
        print(best, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--before", metavar="FOLDER", type=Path, help="the other checkout")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--only", nargs="*", default=[], help="workloads whose name contains one of these")
    parser.add_argument("--search", action="store_true", help="without what a path reports")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.serve:
        return serve(search_only=args.search)
    if args.before is None:
        parser.error("--before is required")
    command = [sys.executable, "-m", "benchmarks.before_after", "--serve", *(["--search"] if args.search else [])]
    sides = [
        subprocess.Popen(
            command, stdin=-1, stdout=-1, text=True, cwd=HERE, env=os.environ | {"PYTHONPATH": str(root / "src")}
        )
        for root in (args.before.resolve(), HERE)
    ]
    print(f"{'milliseconds':<34}{'before':>10}{'now':>10}{'ratio':>8}")
    for name in WORKLOADS:
        if args.only and not any(text in name for text in args.only):
            continue
        best = [float("inf")] * 2
        for number in range(args.rounds):
            for i in (0, 1) if number % 2 else (1, 0):
                best[i] = min(best[i], _timed(sides[i], name))
        print(f"{name:<34}{1e3 * best[0]:>10.3f}{1e3 * best[1]:>10.3f}{best[1] / best[0]:>8.2f}", flush=True)
    for side in sides:
        side.terminate()
    return None


def _timed(side: subprocess.Popen[str], name: str) -> float:
    assert side.stdin is not None
    assert side.stdout is not None
    side.stdin.write(name + "\n")
    side.stdin.flush()
    return float(side.stdout.readline())


if __name__ == "__main__":
    main()
