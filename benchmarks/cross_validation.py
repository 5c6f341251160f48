"""Criterion "cv" against scikit-learn's SequentialFeatureSelector, and against one selection without cross-validation.

    python -m benchmarks.cross_validation [--problems 200] [--part sets|time|folds]

Prints whether both select the same sets, forward and backward, for 1 to 8 features; the times of both in one run; and
the time of ten folds relative to that of one `Selector().fit`.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, load_linnerud, load_wine
from sklearn.feature_selection import SequentialFeatureSelector
from sklearn.linear_model import LinearRegression

from dropstep import Selector, select

SIZES = range(1, 9)
SCORING = "neg_mean_squared_error"
STRATEGIES = ("forward", "backward")


def random_table(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Correlated features of different scale, some of which matter."""
    rng = np.random.default_rng(seed)
    n, p = int(rng.integers(50, 150)), int(rng.integers(9, 11))
    X = rng.normal(size=(n, p)) @ (np.eye(p) + 0.5 * rng.normal(size=(p, p))) * 10.0 ** rng.integers(-2, 3, size=p)
    return X, (X / X.std(axis=0))[:, :4].sum(axis=1) + 2 * rng.normal(size=n)


def real_tables() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Five tables of scikit-learn; of those with classes, a measurement is the target."""
    wine, cancer, iris = (load(return_X_y=True) for load in (load_wine, load_breast_cancer, load_iris))
    linnerud = load_linnerud()
    return {
        "diabetes": load_diabetes(return_X_y=True),
        "wine (alcohol)": (wine[0][:, 1:], wine[0][:, 0]),
        "breast cancer (mean area)": (np.delete(cancer[0][:, :14], 3, axis=1), cancer[0][:, 3]),
        "iris (sepal length)": (iris[0][:, 1:], iris[0][:, 0]),
        "linnerud (weight)": (
            np.hstack([linnerud.data, linnerud.target[:, 1:]]),
            linnerud.target[:, 0],
        ),
    }


def by_library(X: np.ndarray, y: np.ndarray, strategy: str, size: int) -> set[int]:
    """The set of one size, selected by mean held-out error over 5 folds."""
    path = select(X, y, model="linear", criterion="cv", strategy=strategy, max_features=size, enter=-np.inf)
    return set(path.selected)


def by_rival(X: np.ndarray, y: np.ndarray, strategy: str, size: int) -> set[int]:
    """The same by scikit-learn, which refits for every candidate and fold."""
    rival = SequentialFeatureSelector(
        LinearRegression(), n_features_to_select=size, direction=strategy, scoring=SCORING, cv=5
    )
    return set(np.flatnonzero(rival.fit(X, y).get_support()).tolist())


def agreement(tables: dict[str, tuple[np.ndarray, np.ndarray]]) -> tuple[int, int, list[str]]:
    """How many sets are the same, how many there are, and which are not."""
    same, total, different = 0, 0, []
    for name, (X, y) in tables.items():
        for strategy in STRATEGIES:
            for size in (k for k in SIZES if k < X.shape[1]):
                equal = by_library(X, y, strategy, size) == by_rival(X, y, strategy, size)
                same, total = same + equal, total + 1
                if not equal:
                    different.append(f"{name}, {strategy}, {size}")
    return same, total, different


def _best(run: Callable[[], Any], rounds: int) -> float:
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times)


def speed() -> tuple[float, float]:
    """Seconds of both for 20 of 200 features of 2,000 rows, forward, with 5 folds."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(2000, 200))
    y = X[:, :20].sum(axis=1) + 3 * rng.normal(size=2000)
    ours = _best(lambda: by_library(X, y, "forward", 20), 5)
    start = time.perf_counter()
    theirs = by_rival(X, y, "forward", 20)
    seconds = time.perf_counter() - start
    assert theirs == by_library(X, y, "forward", 20)
    return ours, seconds


def ten_folds() -> tuple[float, float]:
    """Seconds of criterion "cv" with ten folds, and of the default criterion, on 100,000 rows of 100 features."""
    rng = np.random.default_rng(6)
    X = rng.normal(size=(100_000, 100))
    y = X[:, :10] @ np.full(10, 0.1) + rng.normal(size=100_000)
    pairs = [(_best(lambda: Selector(criterion="cv", cv=10).fit(X, y), 1), _best(lambda: Selector().fit(X, y), 1))
             for _ in range(5)]  # fmt: skip
    return min(a for a, _ in pairs), min(b for _, b in pairs)


def main(arguments: list[str] | None = None) -> int:
    """Run the parts, and print one line for each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--problems", type=int, default=200, help="number of random tables")
    parser.add_argument("--part", choices=("all", "sets", "time", "folds"), default="all")
    args = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    if args.part in ("all", "sets"):
        for what, tables in (
            (f"{args.problems} random tables", {str(seed): random_table(seed) for seed in range(args.problems)}),
            ("5 real tables", real_tables()),
        ):
            same, total, different = agreement(tables)
            print(f"{what}: {same} of {total} sets are those of SequentialFeatureSelector", *different, sep="\n  ")
    if args.part in ("all", "time"):
        ours, theirs = speed()
        print(
            f"2,000 x 200, 20 features: {ours:.4f} s; SequentialFeatureSelector {theirs:.1f} s: {theirs / ours:.0f} x"
        )
    if args.part in ("all", "folds"):
        folds, plain = ten_folds()
        print(f"100,000 x 100: ten folds {folds:.3f} s; Selector().fit {plain:.3f} s: {folds / plain:.2f} x")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
