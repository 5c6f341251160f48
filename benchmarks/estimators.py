"""Selecting 10 features for an estimator by cross-validation: fits, time and held-out score of three packages.

    python -m benchmarks.estimators [--rows N] [--only NAME ...] [--tools NAME ...]

Each search sees 70 % of the rows. The estimator is then fitted on them with the selected features, and scored on the
other 30 %. A fit is a call of the estimator's `fit`, whoever makes it.
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
        return X[:, (X != np.median(X, axis=0)).mean(axis=0) > 0.02], y  # LDA cannot be fitted on a constant column

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
        RandomForestClassifier(n_estimators=20, random_state=SEED),
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


def measured(workload: Workload, tool: str, n_rows: int | None) -> dict[str, Any]:
    """Fits, seconds and held-out accuracy of one tool."""
    X, y = workload.load()
    if n_rows is not None and len(X) > n_rows:
        X, _, y, _ = train_test_split(X, y, train_size=n_rows, random_state=SEED, stratify=y)
    X, X_held_out, y, y_held_out = train_test_split(X, y, test_size=0.3, random_state=SEED, stratify=y)
    counter = Counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        start = time.perf_counter()
        selected = TOOLS[tool](counter.counted(workload.estimator), X, y)
        seconds = time.perf_counter() - start
        fitted = clone(workload.estimator).fit(X[:, selected], y)
        score = float(fitted.score(X_held_out[:, selected], y_held_out))
    std_error = math.sqrt(score * (1 - score) / len(y_held_out))
    shape = f"{len(X)} x {X.shape[1]}"
    return {"fits": counter.n_fits, "seconds": seconds, "score": score, "std_error": std_error, "shape": shape}


def table(names: list[str], tools: list[str], n_rows: int | None) -> Iterator[str]:
    """The lines of a Markdown table, as they are measured."""
    yield "| | rows searched | tool | fits | share | seconds | held-out accuracy |"
    yield "|---|---|---|---|---|---|---|"
    for workload in WORKLOADS:
        if names and workload.name not in names:
            continue
        full = 0
        for tool in sorted(tools, key=lambda name: name == "dropstep"):
            found = measured(workload, tool, n_rows)
            full = max(full, found["fits"])
            yield (
                f"| {workload.name} | {found['shape']} | {tool} | {found['fits']:,} | {found['fits'] / full:.0%} "
                f"| {found['seconds']:.0f} | {found['score']:.3f} ± {found['std_error']:.3f} |"
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, help="use at most so many rows of each table, stratified")
    parser.add_argument("--only", nargs="*", default=[], help="names of workloads")
    parser.add_argument("--tools", nargs="*", default=list(TOOLS), choices=list(TOOLS))
    args = parser.parse_args()
    for line in table(args.only, args.tools, args.rows):
        print(line)
        sys.stdout.flush()


if __name__ == "__main__":
    main()
