"""A sparse table that does not fit in memory as an array: python -m benchmarks.sparse_table

Rows, features, density and the number of features to select are options. The table is drawn from a seed; the peak of
resident memory is that of the whole process, the table included.
"""

from __future__ import annotations

import argparse
import resource
import time
from typing import Any

import numpy as np
from scipy import sparse

from dropstep import select

N_TRUE = 40  # features with an effect


def table(n: int, p: int, density: float, seed: int = 0) -> tuple[Any, Any]:
    """Positive values at random places, in compressed sparse row format, and a target."""
    rng = np.random.default_rng(seed)
    n_stored = round(n * p * density)
    rows, columns = rng.integers(0, n, n_stored), rng.integers(0, p, n_stored)
    X = sparse.coo_array((rng.exponential(size=n_stored), (rows, columns)), shape=(n, p)).tocsr()
    beta = np.zeros(p)
    beta[rng.choice(p, N_TRUE, replace=False)] = rng.choice([-1.0, 1.0], N_TRUE) * rng.uniform(5, 15, N_TRUE)
    return X, X @ beta + rng.standard_normal(n)


def responses(y: Any, model: str, seed: int = 1) -> Any:
    """The target of a model whose linear predictor is y."""
    rng = np.random.default_rng(seed)
    if model == "cox":
        return np.column_stack([rng.exponential(np.exp(-np.clip(y / 4, -3, 3))), rng.random(len(y)) < 0.7])
    if model == "poisson":
        return rng.poisson(np.exp(np.clip(y / 4, -3, 3)))
    return y if model == "linear" else (y + rng.standard_normal(len(y)) > 0).astype(int)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--features", type=int, default=100_000)
    parser.add_argument("--density", type=float, default=1e-3)
    parser.add_argument("--select", type=int, default=20)
    parser.add_argument("--model", default="linear", choices=["linear", "discriminant", "logistic", "poisson", "cox"])
    args = parser.parse_args()
    X, y = table(args.rows, args.features, args.density)
    dense = args.rows * args.features * 8 / 2**30
    print(f"{args.rows:,} x {args.features:,}, {X.nnz:,} values stored; as an array: {dense:.1f} GB")
    target = responses(y, args.model)
    before, start = _peak(), time.perf_counter()
    path = select(X, target, model=args.model, strategy="dropping", max_features=args.select)
    seconds = time.perf_counter() - start
    print(f"{args.model}, dropping: {len(path.selected)} features in {seconds:.1f} s, {path.n_passes} passes")
    print(f"peak of resident memory: {_peak():.2f} GB ({before:.2f} GB with the table alone)")


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


if __name__ == "__main__":
    main()
