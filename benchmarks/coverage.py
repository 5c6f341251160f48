"""Five true effects: coverage of 95 % intervals by `infer`, and of those on the rows of the selection.

python -m benchmarks.coverage --runs 2000
"""

from __future__ import annotations

import argparse

import numpy as np
from numpy.typing import NDArray

from dropstep import infer, select

Floats = NDArray[np.float64]

N, P, N_TRUE, EFFECT = 100, 50, 5, 0.5


def draw(seed: int, n: int = N) -> tuple[Floats, Floats, Floats]:
    """Independent normal features, five of which have an effect."""
    rng = np.random.default_rng([seed, n])
    X, beta = rng.standard_normal((n, P)), np.zeros(P)
    beta[:N_TRUE] = EFFECT
    return X, X @ beta + rng.standard_normal(n), beta


def covered(frame: NDArray[np.float64], true: Floats) -> tuple[int, int]:
    """How many intervals (lower, upper) contain the true coefficients, and how many there are."""
    return int(((frame[:, 0] <= true) & (true <= frame[:, 1])).sum()), len(frame)


def run(seed: int, criterion: str) -> dict[str, tuple[int, int]]:
    """Counts of intervals that cover, by method; features are independent, so that submodels share coefficients."""
    X, y, beta = draw(seed)
    path = select(X, y, criterion=criterion)
    fit, found = path.coefficients, {}
    assert fit is not None
    assert fit.std_error is not None
    if path.selected:
        width = 1.985 * fit.std_error  # t with about 95 degrees of freedom
        naive = np.column_stack([fit.coef - width, fit.coef + width])
        found["naive, all 100 rows"] = covered(naive, beta[list(path.selected)])
    half = select(X[:50], y[:50], criterion=criterion)
    if half.selected:
        table = infer(half, X[50:], y[50:])
        limits = np.array([(row.lower, row.upper) for row in table.rows])
        found["infer, 50 rows held out"] = covered(limits, beta[list(half.selected)])
    return found


def run_splits(seed: int, criterion: str) -> dict[str, tuple[int, int]]:
    """The same for 20 aggregated splits."""
    X, y, beta = draw(seed)
    path = select(X, y, criterion=criterion)
    if not path.selected:
        return {}
    table = infer(path, X, y, split=0.5, n_splits=20, random_state=seed)
    limits = np.array([(row.lower, row.upper) for row in table.rows])
    return {"infer, 20 splits": covered(limits, beta[list(path.selected)])}


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument("--splits-runs", type=int, default=100)
    given = parser.parse_args(arguments)
    print("| criterion | method | runs | intervals | coverage |")
    print("|---|---|---|---|---|")
    for criterion in ("ebic", "bic", "aic"):
        for job, runs in ((run, given.runs), (run_splits, given.splits_runs)):
            totals: dict[str, list[int]] = {}
            for seed in range(runs):
                for method, (inside, count) in job(seed, criterion).items():
                    total = totals.setdefault(method, [0, 0])
                    total[0], total[1] = total[0] + inside, total[1] + count
            for method, (inside, count) in totals.items():
                print(f"| {criterion} | {method} | {runs} | {count} | {inside / count:.1%} |", flush=True)


if __name__ == "__main__":
    main()
