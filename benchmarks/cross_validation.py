"""Criterion "cv" against scikit-learn's SequentialFeatureSelector, and against one selection without cross-validation.

    python -m benchmarks.cross_validation [--problems 200] [--part sets|time|folds]

Prints whether both select the same sets, forward and backward, for 1 to 8 features; the times of both in one run; and
the time of ten folds relative to that of one `Selector().fit`.

Where a column is an exact copy of another, moves tie: scikit-learn decides by rounding errors, dropstep by the lowest
index. The two columns then count as one. Sets of scikit-learn that contain both are counted separately, because
dropstep never selects a column in the span of the others.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn import config_context
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.feature_selection import SequentialFeatureSelector
from sklearn.linear_model import LinearRegression

from benchmarks.data import read
from dropstep import Selector, select

SIZES = range(1, 9)
SCORING = "neg_mean_squared_error"
STRATEGIES = ("forward", "backward")
TABLES = ("different scales", "few rows", "nearly collinear", "repeated rows", "integers", "heavy tails", "large means",
          "copies")  # fmt: skip


def random_table(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """9 or 10 features, four of which matter; the kinds of `TABLES` in turn."""
    rng, kind = np.random.default_rng(seed), TABLES[seed % len(TABLES)]
    p = int(rng.integers(9, 11))
    n = int(rng.integers(p + 5, p + 12) if kind == "few rows" else rng.integers(50, 150))
    X = rng.normal(size=(n, p)) @ (np.eye(p) + 0.5 * rng.normal(size=(p, p)))
    if kind == "different scales":
        X *= 10.0 ** rng.integers(-2, 3, size=p)
    elif kind == "nearly collinear":
        X[:, 5] = X[:, 0] + X[:, 1] + 10.0 ** -rng.integers(1, 4) * rng.normal(size=n)
    elif kind == "repeated rows":
        X = X[rng.integers(n, size=n)]
    elif kind == "integers":
        X = np.rint(X)
    elif kind == "heavy tails":
        X *= rng.standard_t(2, size=(n, 1))
    elif kind == "large means":
        X += 1e4 * rng.normal(size=p)
    elif kind == "copies":
        X[:, -1] = X[:, 0]
    return X, (X / X.std(axis=0))[:, :4].sum(axis=1) + 2 * rng.normal(size=n)


def real_tables() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Five public tables of at most 13 features; of those with classes, a measurement is the target."""
    wine, cancer = load_wine().data, load_breast_cancer().data
    (crime, rate), (genes, riboflavin) = read("communities"), read("riboflavin")
    return {
        "diabetes": load_diabetes(return_X_y=True),
        "wine (alcohol)": (wine[:, 1:], wine[:, 0]),
        "breast cancer (mean area)": (np.delete(cancer[:, :14], 3, axis=1), cancer[:, 3]),
        "communities (12 features)": (crime[:, :12], rate),
        "riboflavin (12 genes)": (genes[:, :12], riboflavin),
    }


def by_library(X: np.ndarray, y: np.ndarray, strategy: str, size: int) -> list[int]:
    """The set of one size, selected by mean held-out error over 5 folds."""
    path = select(X, y, model="linear", criterion="cv", strategy=strategy, max_features=size, enter=-np.inf)
    return sorted(path.selected)


def by_rival(X: np.ndarray, y: np.ndarray, strategy: str, size: int) -> list[int]:
    """The same by scikit-learn, which refits for every candidate and fold."""
    rival = SequentialFeatureSelector(
        LinearRegression(), n_features_to_select=size, direction=strategy, scoring=SCORING, cv=5
    )
    return np.flatnonzero(rival.fit(X, y).get_support()).tolist()


class Recorded(SequentialFeatureSelector):
    """Keeps the feature of every step; as the search is greedy, the first steps are those to a smaller number."""

    def _get_best_new_feature_score(self, *args: Any, **params: Any) -> Any:
        found = super()._get_best_new_feature_score(*args, **params)
        self.order_ = [*getattr(self, "order_", []), int(found[0])]
        return found


def sets_of_rival(X: np.ndarray, y: np.ndarray, strategy: str) -> dict[int, list[int]]:
    """The sets of 1 to 8 features by scikit-learn, from one run."""
    last, every = (8, set()) if strategy == "forward" else (1, set(range(X.shape[1])))
    rival = Recorded(LinearRegression(), n_features_to_select=last, direction=strategy, scoring=SCORING, cv=5)
    with config_context(assume_finite=True, skip_parameter_validation=True):  # a third of the time
        order = rival.fit(X, y).order_
    sets = [sorted(every ^ {*order[: i + 1]}) for i in range(len(order))]
    return {len(found): found for found in sets if len(found) in SIZES}


@dataclass
class Agreement:
    """How many sets are the same, how many of scikit-learn contain a column twice, and which differ otherwise."""

    same: int = 0
    redundant: int = 0
    different: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        total = self.same + self.redundant + len(self.different)
        lines = [f"{self.same} of {total} sets are those of SequentialFeatureSelector, {self.redundant} contain a copy"]
        return "\n  ".join([*lines, *self.different])


def agreement(tables: dict[str, tuple[np.ndarray, np.ndarray]]) -> Agreement:
    """Compare the sets of all sizes, forward and backward."""
    found = Agreement()
    for name, (X, y) in tables.items():
        first = np.array([next(i for i in range(j + 1) if np.array_equal(X[:, i], X[:, j])) for j in range(X.shape[1])])
        for strategy in STRATEGIES:
            for size, theirs in sets_of_rival(X, y, strategy).items():
                if len(set(first[theirs])) < size:
                    found.redundant += 1
                elif set(first[by_library(X, y, strategy, size)]) == set(first[theirs]):
                    found.same += 1
                else:
                    found.different.append(f"{name}, {strategy}, {size}")
    return found


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
            ("5 real tables", real_tables()),
            (
                f"{args.problems} random tables",
                {f"{TABLES[seed % len(TABLES)]} ({seed})": random_table(seed) for seed in range(args.problems)},
            ),
        ):
            print(f"{what}: {agreement(tables)}", flush=True)
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
