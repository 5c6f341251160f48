"""Compare: every strategy on one table, with the error of a model on what it selects, selection inside the folds."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GroupKFold, KFold, StratifiedGroupKFold, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from dropstep.data.target import Categorical, Target, as_target
from dropstep.result import SelectionPath
from dropstep.search.strategies import STRATEGIES
from dropstep.select import select

Floats = NDArray[np.float64]
Rows = NDArray[np.intp]
Fold = tuple[Rows, Rows]
Tick = Callable[[str, int, int], None]

ALL, NONE = "all features", "no features"
QUICK, TIMES = 0.2, 3  # a search quicker than this many seconds is timed so many times, and the least counts


@dataclass(frozen=True)
class Errors:
    """Errors of one model, one number a fold: root mean squared error, or share of wrong classes."""

    model: str
    folds: tuple[float, ...]

    @property
    def mean(self) -> float:
        return float(np.mean(self.folds))

    @property
    def deviation(self) -> float:
        """Standard deviation over the folds. Folds share rows, so it is no standard error."""
        return float(np.std(self.folds, ddof=1))


@dataclass(frozen=True)
class Row:
    """One strategy.

    Attributes
    ----------
    strategy : its name, or "all features", or "no features".
    path : the path on all rows; None for the last two, and where the strategy refused.
    seconds : how long that took.
    sizes : how many columns were selected in each fold.
    errors : for each model.
    refusal : why the strategy could not run; empty when it could.
    """

    strategy: str
    path: SelectionPath | None
    seconds: float
    sizes: tuple[int, ...]
    errors: tuple[Errors, ...]
    refusal: str = ""


def compare(
    X: Floats,
    y: Any,
    *,
    strategies: Sequence[str] = tuple(STRATEGIES),
    folds: int = 5,
    seed: int = 0,
    row_groups: Any = None,
    svm: bool = False,
    tick: Tick | None = None,
    **words: Any,
) -> list[Row]:
    """Run strategies on the same rows and the same folds.

    Parameters
    ----------
    X, y : as for `select`.
    strategies : names of strategies.
    folds, seed : the rows are shuffled by the seed and cut into so many folds; classes keep their shares.
    row_groups : one label a row; rows with the same label stay in one fold.
    svm : whether a support vector machine is tried as well, for classes.
    tick : called with what is being done, how many fits are done, and how many there are.
    words : the words of `select`, but strategy and sample_weight.

    Returns
    -------
    list of Row
        One for each strategy, then one with all features and one with none.
    """
    X = np.asarray(X)
    target = as_target(y, len(X), words.get("model", "auto"))
    words = {**words, "model": "discriminant" if isinstance(target, Categorical) else "linear"}
    values = target.codes if isinstance(target, Categorical) else target.values
    parts = _folds(X, target, folds, seed, row_groups)
    rows = [*strategies, ALL, NONE]
    done, whole = 0, len(rows) * (len(parts) + 1)

    def say(text: str) -> None:
        nonlocal done
        if tick is not None:
            tick(text, done, whole)
        done += 1

    compared = []
    for name in rows:
        chosen = _fixed(name, X.shape[1]) if name in (ALL, NONE) else {"strategy": name, **words}
        try:
            compared.append(_row(name, X, values, chosen, parts, _models(target, svm), say))
        except ValueError as error:
            compared.append(Row(name, None, 0.0, (), (), str(error)))
    return compared


def _fixed(name: str, n_features: int) -> list[int]:
    return list(range(n_features)) if name == ALL else []


def _folds(X: Floats, target: Target, folds: int, seed: int, row_groups: Any) -> list[Fold]:
    """Rows to learn from and rows to be judged on, for each fold."""
    n_parts = len(X) if row_groups is None else len(np.unique(row_groups))
    if n_parts < folds:
        what = "rows" if row_groups is None else "groups of rows"
        raise ValueError(f"{folds} folds need at least as many {what}; there are {n_parts}")
    classes = isinstance(target, Categorical)
    words = {"n_splits": folds, "shuffle": True, "random_state": seed}
    if row_groups is None:
        splitter = StratifiedKFold(**words) if classes else KFold(**words)
    else:
        splitter = StratifiedGroupKFold(**words) if classes else GroupKFold(**words)
    labels = target.codes if isinstance(target, Categorical) else np.zeros(len(X))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a class with fewer rows than folds: it is absent from some
        parts = [(np.asarray(a), np.asarray(b)) for a, b in splitter.split(X, labels, row_groups)]
    return [(_learnable(train, target), test) for train, test in parts if len(test)]


def _learnable(train: Rows, target: Target) -> Rows:
    """Rows to learn from, without classes of which a single row is left: they have no scatter."""
    if not isinstance(target, Categorical):
        return train
    counts = np.bincount(target.codes[train], minlength=len(target.labels))
    return train[counts[target.codes[train]] > 1]


def _models(target: Target, svm: bool) -> dict[str, Callable[[], Any]]:
    if not isinstance(target, Categorical):
        return {"linear regression": LinearRegression}
    models: dict[str, Callable[[], Any]] = {"LDA": LinearDiscriminantAnalysis}
    return models | {"SVM": lambda: make_pipeline(StandardScaler(), SVC())} if svm else models


def _row(
    name: str,
    X: Floats,
    values: NDArray[Any],
    chosen: dict[str, Any] | list[int],
    parts: list[Fold],
    models: dict[str, Callable[[], Any]],
    say: Callable[[str], None],
) -> Row:
    """One strategy: its path on all rows, and its errors fold by fold, with the selection made anew in each."""
    say(f"{name}, all rows")
    path, seconds = _timed(X, values, chosen) if isinstance(chosen, dict) else (None, 0.0)
    sizes, errors = [], []
    for fold, (train, test) in enumerate(parts, start=1):
        say(f"{name}, fold {fold}")
        selected = chosen if isinstance(chosen, list) else list(select(X[train], values[train], **chosen).selected)
        sizes.append(len(selected))
        errors.append([_error(make, X[:, selected], values, train, test) for make in models.values()])
    by_model = zip(models, zip(*errors, strict=True), strict=True)
    return Row(name, path, seconds, tuple(sizes), tuple(Errors(model, folds) for model, folds in by_model))


def _timed(X: Floats, values: NDArray[Any], words: dict[str, Any]) -> tuple[SelectionPath, float]:
    """The path on all rows, and how long it took."""
    best = np.inf
    for _ in range(TIMES):
        start = time.perf_counter()
        path = select(X, values, **words)
        best = min(best, time.perf_counter() - start)
        if best > QUICK:
            break
    return path, best


def _error(make: Callable[[], Any], X: Floats, values: NDArray[Any], train: Rows, test: Rows) -> float:
    """The error on the rows to be judged on; without a feature, of the mean or of the most frequent class."""
    classes = values.ndim == 1
    if X.shape[1]:
        model = make()
    else:
        model, X = (DummyClassifier() if classes else DummyRegressor()), np.zeros((len(X), 1))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # collinear features, when all of them are taken
        told = model.fit(X[train], values[train]).predict(X[test])
    if classes:
        return float(np.mean(told != values[test]))
    return float(np.sqrt(np.mean((told.reshape(values[test].shape) - values[test]) ** 2)))
