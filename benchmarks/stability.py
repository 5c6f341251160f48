"""Stability: its cost in selections, and whether the bound on false selections holds.

python -m benchmarks.stability
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from numpy.typing import NDArray

from benchmarks.noise import autoregressive
from dropstep import Selector, stability

Floats = NDArray[np.float64]

# rows, features, true ones, effect, correlation of neighbours, features selected per half
SETTINGS = ((100, 50, 5, 0.5, 0.0, 8), (200, 100, 10, 0.4, 0.5, 15), (80, 200, 5, 0.8, 0.3, 10))
THRESHOLDS = (0.6, 0.75, 0.9)


def cost(n: int, p: int, n_pairs: int, rounds: int) -> tuple[float, float]:
    """Best of alternating rounds: seconds of one Selector().fit, and of stability with 2 n_pairs half-samples."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, p))
    y = X[:, :10] @ np.linspace(0.02, 0.3, 10) + rng.standard_normal(n)
    one, many = [], []
    for _ in range(rounds):
        start = time.perf_counter()
        Selector().fit(X, y)
        one.append(time.perf_counter() - start)
        start = time.perf_counter()
        stability(X, y, n_pairs=n_pairs)
        many.append(time.perf_counter() - start)
    return min(one), min(many)


def false_selections(runs: int, setting: tuple[int, int, int, float, float, int]) -> list[str]:
    """Mean number of features with a selection probability below average that reach a threshold, and the bounds.

    Selection probabilities are those of half-samples of independent tables, estimated from all runs.
    """
    n, p, k, effect, rho, q = setting
    selections, results = [], []
    for seed in range(runs):
        rng = np.random.default_rng([seed, n, p])
        X = autoregressive(rng, n, p, rho)
        y = effect * X[:, :k].sum(axis=1) + rng.standard_normal(n)
        found = stability(
            X, y, n_pairs=25, random_state=seed, strategy="forward", criterion="rss", enter=0.0, max_features=q
        )
        selections.append(found.selections.mean(axis=0))
        results.append(found)
    low = np.mean(selections, axis=0) <= np.mean([found.mean_size for found in results]) / p
    lines = []
    for threshold in THRESHOLDS:
        false = np.mean([sum(low[j] for j in found.selected(threshold)) for found in results])
        bounds = [
            np.mean([found.false_selections(threshold, kind) for found in results])
            for kind in ("none", "unimodal", "r-concave")
        ]
        cells = f"{n} | {p} | {k} | {effect} | {rho} | {threshold} | {false:.3f} | "
        lines.append(f"| {cells}" + " | ".join(f"{bound:.3f}" for bound in bounds) + " |")
    return lines


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args(arguments)
    print("| rows | features | true | effect | correlation | threshold | false | none | unimodal | r-concave |")
    print("|---" * 10 + "|")
    for setting in SETTINGS:
        print("\n".join(false_selections(given.runs, setting)), flush=True)
    one, many = cost(100_000, 100, 50, given.rounds)
    print(f"\n100 half-samples of 100,000 x 100: {many:.3f} s; Selector().fit: {one:.3f} s; ratio {many / one:.1f}")


if __name__ == "__main__":
    main()
