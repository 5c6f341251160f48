"""Selecting 10 features for an estimator by cross-validation: fits, time and held-out score of three packages.

    python -m benchmarks.estimators [--rows N] [--splits N] [--only NAME ...] [--tools NAME ...]

Each search sees 70 % of the rows. The estimator is then fitted on them with the selected features, and scored on the
other 30 %; numbers are means over several such splits. A fit is a call of the estimator's `fit`, whoever makes it.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.feature_selection import SequentialFeatureSelector
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from dropstep import select

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT.parent / "shared" / "data"
N_FEATURES, CV, SEED = 10, 5, 0


@dataclass(frozen=True)
class Workload:
    """A table and an estimator."""

    name: str
    load: Callable[[], tuple[Any, Any]]
    estimator: Any


def _file(name: str) -> Callable[[], tuple[Any, Any]]:
    def load() -> tuple[Any, Any]:
        table = np.loadtxt(DATA / name, delimiter=",")
        X, y = table[:, :-1], table[:, -1].astype(int)
        return X[:, (np.median(X, axis=0) != X).mean(axis=0) > 0.02], y  # LDA cannot be fitted on a constant column

    return load


def _cancer() -> tuple[Any, Any]:
    return load_breast_cancer(return_X_y=True)


WORKLOADS = [
    Workload(
        "breast cancer, logistic regression",
        _cancer,
        Pipeline([("scale", StandardScaler()), ("fit", LogisticRegression())]),
    ),
    Workload("optdigits, LDA", _file("optdigits.tra"), LinearDiscriminantAnalysis()),
    Workload(
        "breast cancer, gradient boosting",
        _cancer,
        HistGradientBoostingClassifier(max_iter=30, random_state=SEED),
    ),
    Workload(
        "spambase, random forest",
        _file("spambase.data"),
        RandomForestClassifier(n_estimators=10, random_state=SEED),
    ),
]


# --- tools -----------------------------------------------------------------------------------------------------------


def _dropstep(estimator: Any, X: Any, y: Any) -> list[int]:
    path = select(X, y, model=estimator, cv=CV, max_features=N_FEATURES, enter=-math.inf, drop=0)
    return sorted(path.selected)


def _sklearn(estimator: Any, X: Any, y: Any) -> list[int]:
    found = SequentialFeatureSelector(estimator, n_features_to_select=N_FEATURES, cv=CV).fit(X, y)
    return [int(j) for j in np.flatnonzero(found.get_support())]


def _mlxtend(estimator: Any, X: Any, y: Any) -> list[int]:
    from mlxtend.feature_selection import SequentialFeatureSelector as Mlxtend

    found = Mlxtend(estimator, k_features=N_FEATURES, forward=True, floating=False, cv=CV).fit(X, y)
    return sorted(found.k_feature_idx_)


TOOLS: dict[str, Callable[[Any, Any, Any], list[int]]] = {
    "dropstep": _dropstep,
    "scikit-learn": _sklearn,
    "mlxtend": _mlxtend,
}


class Counter:
    """Makes estimators whose fits are counted."""

    def __init__(self) -> None:
        self.n_fits = 0

    def counted(self, estimator: Any) -> Any:
        """The same estimator, of a subclass that counts."""
        counter, kind = self, type(estimator)

        class Counted(kind):  # type: ignore[misc, valid-type]
            def fit(self, *args: Any, **kwargs: Any) -> Any:
                counter.n_fits += 1
                return super().fit(*args, **kwargs)

        Counted.__name__ = kind.__name__
        return Counted(**clone(estimator).get_params(deep=False))


@dataclass(frozen=True)
class Measurement:
    """One search: its fits and seconds, and the accuracy on held-out rows with its variance."""

    shape: str
    fits: int
    seconds: float
    score: float
    variance: float


def measured(workload: Workload, tool: str, n_rows: int | None, seed: int) -> Measurement:
    """Search on 70 % of the rows, and score on the others."""
    X, y = workload.load()
    if n_rows is not None and len(X) > n_rows:
        X, _, y, _ = train_test_split(X, y, train_size=n_rows, random_state=seed, stratify=y)
    X, X_held_out, y, y_held_out = train_test_split(X, y, test_size=0.3, random_state=seed, stratify=y)
    counter = Counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        start = time.perf_counter()
        selected = TOOLS[tool](counter.counted(workload.estimator), X, y)
        seconds = time.perf_counter() - start
        fitted = clone(workload.estimator).fit(X[:, selected], y)
        score = float(fitted.score(X_held_out[:, selected], y_held_out))
    variance = score * (1 - score) / len(y_held_out)
    return Measurement(f"{len(X)} x {X.shape[1]}", counter.n_fits, seconds, score, variance)


def table(names: list[str], tools: list[str], n_rows: int | None, n_splits: int) -> Iterator[str]:
    """The lines of a Markdown table, as they are measured."""
    yield "| | rows searched | tool | fits | share | seconds | held-out accuracy |"
    yield "|---|---|---|---|---|---|---|"
    for workload in WORKLOADS:
        if names and workload.name not in names:
            continue
        full = 0.0
        for tool in sorted(tools, key=lambda name: name == "dropstep"):
            found = [measured(workload, tool, n_rows, seed) for seed in range(n_splits)]
            fits, seconds, score = (
                float(np.mean([getattr(m, x) for m in found])) for x in ("fits", "seconds", "score")
            )
            std_error = math.sqrt(sum(m.variance for m in found)) / n_splits
            full = max(full, fits)
            yield (
                f"| {workload.name} | {found[0].shape} | {tool} | {fits:,.0f} | {fits / full:.0%} "
                f"| {seconds:.0f} | {score:.3f} ± {std_error:.3f} |"
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, help="use at most so many rows of each table, stratified")
    parser.add_argument("--splits", type=int, default=1, help="number of splits into searched and held-out rows")
    parser.add_argument("--only", nargs="*", default=[], help="names of workloads")
    parser.add_argument("--tools", nargs="*", default=list(TOOLS), choices=list(TOOLS))
    args = parser.parse_args()
    for line in table(args.only, args.tools, args.rows, args.splits):
        print(line)
        sys.stdout.flush()


if __name__ == "__main__":
    main()
