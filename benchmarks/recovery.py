"""Recovery of true features: misses and false selections of strategies, abess and LassoCV on a grid.

python -m benchmarks.recovery
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LassoCV

from benchmarks.noise_rules import correlated
from dropstep import select
from dropstep.search.strategies import STRATEGIES

Floats = NDArray[np.float64]

ROWS, FEATURES, CORRELATIONS, EFFECTS = (60, 200), (20, 100), (0.0, 0.7), (0.3, 0.8)
N_TRUE = 5
COMPARED = ("dropping", "stepwise", "swap", "exhaustive")  # those that exist
MAX_EXHAUSTIVE = 20  # features up to which an exhaustive search is run


def methods() -> dict[str, Callable[[Floats, Floats], list[int]]]:
    """Functions that return the selected columns."""
    found: dict[str, Callable[[Floats, Floats], list[int]]] = {}
    for name in COMPARED:
        if name in STRATEGIES:
            found[name] = _strategy(name)
    try:
        from abess import LinearRegression as Abess
    except ImportError:
        pass
    else:
        found["abess"] = lambda X, y: np.flatnonzero(Abess(cv=1, ic_type="ebic").fit(X, y).coef_).tolist()
    found["LassoCV"] = lambda X, y: np.flatnonzero(LassoCV(cv=5).fit(X, y).coef_).tolist()
    return found


def _strategy(name: str) -> Callable[[Floats, Floats], list[int]]:
    parameters: dict[str, Any] = {"strategy": name}
    return lambda X, y: list(select(X, y, model="linear", **parameters).selected)


def draw(seed: int, n: int, p: int, rho: float, effect: float) -> tuple[Floats, Floats, set[int]]:
    """Correlated features; five random ones have effects of alternating sign."""
    rng = np.random.default_rng([seed, n, p, round(100 * rho), round(100 * effect)])
    X = correlated(rng, n, p, rho)
    true = rng.permutation(p)[:N_TRUE]
    signs = np.resize([1.0, -1.0], N_TRUE)
    return X, X[:, true] @ (effect * signs) + rng.standard_normal(n), set(true.tolist())


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=40)
    given = parser.parse_args(arguments)
    compared, seconds = methods(), dict.fromkeys(methods(), 0.0)
    print("| rows | features | correlation | effect | " + " | ".join(compared) + " |")
    print("|---" * (4 + len(compared)) + "|")
    for n, p, rho, effect in product(ROWS, FEATURES, CORRELATIONS, EFFECTS):
        cells = []
        for name, method in compared.items():
            if name == "exhaustive" and p > MAX_EXHAUSTIVE:
                cells.append("-")
                continue
            counts = []
            for seed in range(given.runs):
                X, y, true = draw(seed, n, p, rho, effect)
                start = time.perf_counter()
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # convergence of the lasso
                    chosen = set(method(X, y))
                seconds[name] += time.perf_counter() - start
                counts.append((len(true - chosen), len(chosen - true)))
            missed, false = np.mean(counts, axis=0)
            cells.append(f"{missed:.1f} + {false:.1f}")
        print(f"| {n} | {p} | {rho} | {effect} | " + " | ".join(cells) + " |", flush=True)
    print("\nseconds:", ", ".join(f"{name} {total:.1f}" for name, total in seconds.items()))


if __name__ == "__main__":
    main()
