"""How often early dropping changes the selection: the public datasets, and simulations.

python -m benchmarks.audited
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np

from benchmarks.data import read
from benchmarks.noise import autoregressive
from benchmarks.recovery import draw
from dropstep import audit, select

CRITERIA = {"linear": ("r2", "bic", "aic"), "discriminant": ("trace", "wilks")}


def tables() -> Iterator[tuple[str, Any, Any, str]]:
    """Public datasets, with their model."""
    for name in ("diabetes64", "communities", "riboflavin", "wheat"):
        yield name, *read(name), "linear"
    for name in ("biodeg", "ionosphere", "optdigits", "satellite", "spambase", "golub", "colon"):
        yield name, *read(name), "discriminant"


def line(name: str, found: list[Any]) -> str:
    """One row of the table: a list of audits."""
    n = len(found)
    back = sum(drop.came_back for one in found for drop in one.drops)
    worse = sum(one.better_by > 1e-9 * abs(one.score) for one in found)
    better = sum(one.better_by < -1e-9 * abs(one.score) for one in found)
    saved = np.mean([one.saved for one in found])
    differ, drops = sum(not one.same for one in found), sum(len(one.drops) for one in found)
    counts = f"{drops / n:.1f} | {back / n:.2f} | {differ} | {worse} | {better}"
    return f"| {name} | {n} | {counts} | {saved:.0%} |"


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=30)
    given = parser.parse_args(arguments)
    print("| data, criterion | searches | dropped | came back | differ | worse | better | evaluations saved |")
    print("|---" * 8 + "|")
    for name, X, y, model in tables():
        for criterion in CRITERIA[model]:
            path = select(X, y, model=model, criterion=criterion)
            print(line(f"{name}, {criterion}", [audit(path, X, y)]), flush=True)
    for criterion, (n, p), rho in product(("r2", "aic"), ((100, 20), (100, 60), (400, 60)), (0.0, 0.7)):
        found = []
        for seed in range(given.runs):
            X, y, _ = draw(seed, n, p, rho, 0.4)
            found.append(audit(select(X, y, criterion=criterion, model="linear"), X, y))
        print(line(f"simulated {n} x {p}, correlation {rho}, {criterion}", found), flush=True)
    suppressed = []
    for seed in range(given.runs):  # a feature that matters only once another is selected
        rng = np.random.default_rng(seed)
        X = autoregressive(rng, 200, 20, 0.0)
        X[:, 1] = X[:, 0] + 0.3 * X[:, 1]
        y = 2 * (X[:, 0] - X[:, 1]) + 0.5 * X[:, 2] + rng.standard_normal(200)
        suppressed.append(audit(select(X, y, model="linear"), X, y))
    print(line("suppressor 200 x 20, r2", suppressed), flush=True)


if __name__ == "__main__":
    main()
