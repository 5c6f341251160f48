"""Compare: cross-validated errors of strategies on one table, with the selection repeated inside every fold."""

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

from dropstep.data.frame import Frame
from dropstep.data.sample import Rows as PerRow
from dropstep.data.sample import Sample
from dropstep.data.table import Table
from dropstep.data.target import Categorical, Target
from dropstep.models.families import as_family
from dropstep.models.least_squares.family import LeastSquaresFamily
from dropstep.parameters import NAMES, Parameters
from dropstep.result import SelectionPath
from dropstep.search.strategies import ONE_MOVE_AT_A_TIME
from dropstep.select import select

Floats = NDArray[np.float64]
Rows = NDArray[np.intp]
Fold = tuple[Rows, Rows]
Tick = Callable[[str, int, int], None]

ALL, NONE = "all features", "no features"
MAX_QUICK_SECONDS, MAX_REPEATS = 0.2, 3  # a search quicker than this is repeated, and the best time counts


@dataclass(frozen=True)
class Errors:
    """Cross-validated errors of one model.

    Attributes
    ----------
    model : str
        Name of the model that is fitted on the selected features.
    folds : tuple of float
        Error of each fold: root mean squared error, or error rate.
    """

    model: str
    folds: tuple[float, ...]

    @property
    def mean(self) -> float:
        """Mean over the folds."""
        return float(np.mean(self.folds))

    @property
    def deviation(self) -> float:
        """Standard deviation over the folds. Training sets overlap, so it does not give a standard error."""
        return float(np.std(self.folds, ddof=1))


@dataclass(frozen=True)
class Row:
    """Results of one strategy.

    Attributes
    ----------
    strategy : str
        Name of the strategy, "all features" or "no features".
    path : SelectionPath or None
        Path on all rows; None for "all features" and "no features", and if the strategy raised an error.
    seconds : float
        Time of the search on all rows.
    sizes : tuple of int
        Number of selected columns in each fold; k - 1 for a factor of k levels.
    errors : tuple of Errors
        Cross-validated errors, one per model.
    refusal : str
        Message of the error that the strategy raised; empty if there was none.
    """

    strategy: str
    path: SelectionPath | None
    seconds: float
    sizes: tuple[int, ...]
    errors: tuple[Errors, ...]
    refusal: str = ""


def compare(
    X: Any,
    y: Any,
    *,
    strategies: Sequence[str] = ONE_MOVE_AT_A_TIME,
    folds: int = 5,
    seed: int = 0,
    row_groups: Any = None,
    svm: bool = False,
    tick: Tick | None = None,
    **params: Any,
) -> list[Row]:
    """Compare strategies on the same rows and the same folds.

    The selection is repeated inside every fold, so that the errors are not biased by it.

    Parameters
    ----------
    X : array-like or frame of shape (n_samples, n_features)
        Features, as in `select`.
    y : array-like of shape (n_samples,) or (n_samples, n_targets), str or list of str
        Target values or class labels, or the columns of X that contain them.
    strategies : sequence of str, default=all
        Names of strategies.
    folds : int, default=5
        Number of cross-validation folds, stratified by class.
    seed : int, default=0
        Seed of the shuffling before the rows are split into folds.
    row_groups : array-like of shape (n_samples,) or None, default=None
        One label per row; rows with the same label are in the same fold.
    svm : bool, default=False
        Whether to fit a support vector machine too, for class labels.
    tick : callable or None, default=None
        Progress callback; called with a description, the number of fits done and their total number.
    **params
        Parameters of `select`, other than `strategy` and `sample_weight`.

    Returns
    -------
    list of Row
        One per strategy, then one with all features and one with none.
    """
    given = Parameters(**{name: value for name, value in params.items() if name in NAMES})
    family = as_family(given.model)
    if not isinstance(family, LeastSquaresFamily):
        raise ValueError(f"compare supports the models 'linear' and 'discriminant'; got {given.model!r}")
    sample = family.sample(X, y, PerRow(groups=row_groups), given)
    if not isinstance(sample, Sample):
        raise ValueError("compare repeats the selection on parts of the rows, which Moments do not have; pass X and y")
    target = sample.target
    params = {**params, "model": "discriminant" if isinstance(target, Categorical) else "linear"}
    splits = _splits(target, folds, seed, sample.groups)
    names = [*strategies, ALL, NONE]
    done, total = 0, len(names) * (len(splits) + 1)

    def say(text: str) -> None:
        nonlocal done
        if tick is not None:
            tick(text, done, total)
        done += 1

    rows = []
    for name in names:
        chosen = _fixed(name, sample) if name in (ALL, NONE) else {"strategy": name, **params}
        try:
            rows.append(_row(name, sample, chosen, splits, _models(target, svm), say))
        except ValueError as error:
            rows.append(Row(name, None, 0.0, (), (), str(error)))
    return rows


def _fixed(name: str, sample: Sample) -> list[int]:
    excluded = set(sample.choice.features(sample.choice.exclude))
    return [j for j in range(sample.n_features) if j not in excluded] if name == ALL else []


def _columns(sample: Sample, features: Sequence[int]) -> list[int]:
    """Columns of the design matrix that encode features."""
    encoding = sample.encoding
    return list(features) if encoding is None else [c for j in features for c in encoding.columns(j)]


def _values(target: Target) -> NDArray[Any]:
    return target.codes if isinstance(target, Categorical) else target.values


def _splits(target: Target, folds: int, seed: int, row_groups: Any) -> list[Fold]:
    """Training and test rows of each fold."""
    labels = target.codes if isinstance(target, Categorical) else np.zeros(len(target.values))
    n_units = len(labels) if row_groups is None else len(np.unique(row_groups))
    if n_units < folds:
        unit = "rows" if row_groups is None else "groups of rows"
        raise ValueError(f"{folds} folds require at least {folds} {unit}; there are {n_units}")
    classes = isinstance(target, Categorical)
    options = {"n_splits": folds, "shuffle": True, "random_state": seed}
    if row_groups is None:
        splitter = StratifiedKFold(**options) if classes else KFold(**options)
    else:
        splitter = StratifiedGroupKFold(**options) if classes else GroupKFold(**options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a class with fewer rows than folds
        splits = [(np.asarray(a), np.asarray(b)) for a, b in splitter.split(labels, labels, row_groups)]
    return [(_without_singletons(train, target), test) for train, test in splits if len(test)]


def _without_singletons(train: Rows, target: Target) -> Rows:
    """Training rows without classes of a single row, which have no scatter."""
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
    sample: Sample,
    chosen: dict[str, Any] | list[int],
    splits: list[Fold],
    models: dict[str, Callable[[], Any]],
    say: Callable[[str], None],
) -> Row:
    """Path on all rows, and errors of every fold; `chosen` has the parameters of `select`, or fixed features."""
    say(f"{name}, all rows")
    features, design, values = sample.features, sample.table, _values(sample.target)
    path, seconds = _timed(features, values, chosen) if isinstance(chosen, dict) else (None, 0.0)
    sizes, errors = [], []
    for fold, (train, test) in enumerate(splits, start=1):
        say(f"{name}, fold {fold}")
        selected = chosen if isinstance(chosen, list) else select(features.at(train), values[train], **chosen).selected
        columns = _columns(sample, selected)
        sizes.append(len(columns))
        errors.append([_error(make, design.columns(columns), values, train, test) for make in models.values()])
    by_model = zip(models, zip(*errors, strict=True), strict=True)
    return Row(name, path, seconds, tuple(sizes), tuple(Errors(model, folds) for model, folds in by_model))


def _timed(X: Table | Frame, values: NDArray[Any], params: dict[str, Any]) -> tuple[SelectionPath, float]:
    """Path on all rows, and the best time of a few searches."""
    best = np.inf
    for _ in range(MAX_REPEATS):
        start = time.perf_counter()
        path = select(X, values, **params)
        best = min(best, time.perf_counter() - start)
        if best > MAX_QUICK_SECONDS:
            break
    return path, best


def _error(make: Callable[[], Any], X: Floats, values: NDArray[Any], train: Rows, test: Rows) -> float:
    """Error on the test rows; without features, that of the mean or of the most frequent class."""
    classes = values.ndim == 1
    if X.shape[1]:
        model = make()
    else:
        model, X = (DummyClassifier() if classes else DummyRegressor()), np.zeros((len(X), 1))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # collinear features, if all are used
        predicted = model.fit(X[train], values[train]).predict(X[test])
    if classes:
        return float(np.mean(predicted != values[test]))
    return float(np.sqrt(np.mean((predicted.reshape(values[test].shape) - values[test]) ** 2)))
