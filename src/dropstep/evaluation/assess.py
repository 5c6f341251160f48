"""Assess: stability and cross-validated error of a selection, each by repeating it on parts of the rows."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.linear_model import GammaRegressor, LinearRegression, LogisticRegression, PoissonRegressor
from sklearn.metrics import log_loss
from sklearn.model_selection import GroupKFold, KFold, StratifiedGroupKFold, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from dropstep.data.sample import Rows
from dropstep.data.target import Categorical
from dropstep.evaluation.compare import compare
from dropstep.evaluation.halves import Repeated, repeated
from dropstep.evaluation.stability import Stability, stability
from dropstep.evidence import ALL, NONE, SELECTION, Evidence, HeldOut
from dropstep.parameters import RESOURCES, Parameters
from dropstep.result import SelectionPath
from dropstep.running import searched
from dropstep.select import select

Indices = NDArray[np.intp]
Tick = Callable[[str], None]

Errors = tuple[tuple[HeldOut, ...], str, str | None]

N_PAIRS, N_FOLDS = 50, 5
MEASURES = {"rmse": "RMSE"}
RARE = 0.2  # share of rows outside the most frequent class below which the error rate says little
MODELS: dict[str, Callable[[], Any]] = {
    "linear": LinearRegression,
    "discriminant": LinearDiscriminantAnalysis,
    "logistic": lambda: make_pipeline(StandardScaler(), LogisticRegression(C=1e6, max_iter=2000)),
    "poisson": lambda: make_pipeline(StandardScaler(), PoissonRegressor(alpha=1e-6, max_iter=2000)),
    "gamma": lambda: make_pipeline(StandardScaler(), GammaRegressor(alpha=1e-6, max_iter=2000)),
}


def assess(
    path: SelectionPath,
    X: Any,
    y: Any,
    *,
    sample_weight: Any = None,
    offset: Any = None,
    strata: Any = None,
    sample_groups: Any = None,
    n_pairs: int = N_PAIRS,
    cv: int = N_FOLDS,
    random_state: int = 0,
    tick: Tick | None = None,
    known: Stability | None = None,
) -> Evidence:
    """Repeat a selection on half-samples and on the training rows of folds.

    Parameters
    ----------
    path : SelectionPath
        The selection; its parameters are used.
    X, y, sample_weight, offset, strata, sample_groups
        The data of the selection, as for `select`.
    n_pairs : int, default=50
        Number of complementary pairs of half-samples.
    cv : int, default=5
        Number of folds, stratified by class; the rows of one of `sample_groups` stay in one fold.
    random_state : int, default=0
        Seed of the half-samples and of the folds.
    tick : callable or None, default=None
        Called with a description before each task.
    known : Stability or None, default=None
        Stability of the selection, if it was computed already.

    Returns
    -------
    Evidence
    """
    params = {name: value for name, value in path.params.items() if name not in (*RESOURCES, "random_state")}
    per_row = {"sample_weight": sample_weight, "offset": offset, "strata": strata, "sample_groups": sample_groups}
    work = repeated(X, y, Rows(sample_weight, offset, strata, sample_groups), params, "report")
    if path.solver == "fits":
        return Evidence(work.sample.n_rows, omitted=(_too_many_fits(path),))
    tick = tick or (lambda text: None)
    tick(f"stability on {2 * n_pairs} half-samples" if known is None else "stability")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # they are among the notes of the path
        found = stability(X, y, n_pairs, random_state, **per_row, **params) if known is None else known
        tick(f"cross-validated error, {cv} folds")
        if path.model in MODELS and sample_weight is None and offset is None:
            errors, measure, why = _errors(path, work, cv, random_state)
        else:
            errors, measure, why = _compared(X, y, per_row, params, cv, random_state)
    frequencies = tuple(float(f) for f in found.frequencies)
    return Evidence(work.sample.n_rows, frequencies, 2 * found.n_pairs, errors, measure, () if why is None else (why,))


def _too_many_fits(path: SelectionPath) -> str:
    return (
        "Stability and held-out error were not computed, because every repetition would take about "
        f"{path.n_fits:,} fits; use dropstep.stability, and cross-validate a pipeline with Selector."
    )


def _compared(X: Any, y: Any, per_row: dict[str, Any], params: dict[str, Any], cv: int, seed: int) -> Errors:
    """The errors by `compare`, which has all models, weights and offsets; without all features if these do not fit."""
    strategy = params.get("strategy", Parameters.strategy)
    others = {name: value for name, value in params.items() if name != "strategy"}
    found = compare(X, y, strategies=(strategy,), cv=cv, random_state=seed, **per_row, **others)
    if not found.rows[0].errors:
        return (), "", f"The held-out error was not computed: {found.rows[0].refusal}."
    named = zip((SELECTION, ALL, NONE), found.rows, strict=True)
    errors = [HeldOut(name, float(np.mean(row.sizes)), row.errors[0].folds) for name, row in named if row.errors]
    return tuple(errors), MEASURES.get(found.measure, found.measure.replace("_", " ")), None


def _errors(path: SelectionPath, work: Repeated, cv: int, seed: int) -> Errors:
    """Errors of the selection, of all features and of none; what they measure; or why there are none.

    All features are used even where there are more than rows: least squares takes the solution of smallest norm.
    """
    sample = work.sample
    values, classes = _values(sample), isinstance(sample.target, Categorical)
    smallest = np.bincount(values).min() if classes else len(values)
    if smallest < cv:
        return (), "", f"The held-out error was not computed: {cv} folds need at least {cv} rows of every class."
    rare = classes and 1 - np.bincount(values).max() / len(values) < RARE
    measure = "log loss" if rare else "error rate" if classes else "RMSE"
    kept = [u for u in range(_n_units(sample)) if u not in set(sample.choice.exclude)]
    folds: dict[str, list[tuple[float, float]]] = {SELECTION: [], ALL: [], NONE: []}
    for train, test in _splits(values, classes, cv, seed, sample.groups):
        search, _ = searched(work.family, sample.at(train), work.given)
        chosen = {SELECTION: list(search.selected), ALL: kept, NONE: []}
        for name, units in chosen.items():
            columns = list(search.units.columns(units))
            error = _error(MODELS[path.model], sample.table.columns(columns), values, train, test, measure)
            folds[name].append((error, len(search.units.features(units))))
    return tuple(_held_out(name, pairs) for name, pairs in folds.items()), measure, None


def _held_out(name: str, pairs: list[tuple[float, float]]) -> HeldOut:
    return HeldOut(name, float(np.mean([size for _, size in pairs])), tuple(error for error, _ in pairs))


def _values(sample: Any) -> NDArray[Any]:
    target = sample.target
    if isinstance(target, Categorical):
        return target.codes
    values = np.asarray(getattr(target, "values", target))
    return values.reshape(len(values), -1)


def _n_units(sample: Any) -> int:
    members = sample.choice.members
    return sample.n_features if members is None else len(members)


def _splits(values: NDArray[Any], classes: bool, cv: int, seed: int, groups: Any) -> list[tuple[Indices, Indices]]:
    options = {"n_splits": cv, "shuffle": True, "random_state": seed}
    if groups is None:
        splitter = StratifiedKFold(**options) if classes else KFold(**options)
    else:
        splitter = StratifiedGroupKFold(**options) if classes else GroupKFold(**options)
    return list(splitter.split(np.zeros(len(values)), values if classes else None, groups))


def _error(
    make: Callable[[], Any], X: NDArray[Any], values: NDArray[Any], train: Indices, test: Indices, measure: str
) -> float:
    """Error on the test rows; without features, that of the mean or of the class frequencies."""
    classes = values.ndim == 1
    if X.shape[1]:
        model = make()
    else:
        model, X = (DummyClassifier(strategy="prior") if classes else DummyRegressor()), np.zeros((len(X), 1))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # collinear features, and fits that do not converge, if all are used
        targets = values if classes or values.shape[1] > 1 else values[:, 0]
        model.fit(X[train], targets[train])
        if measure == "log loss":
            return float(log_loss(targets[test], model.predict_proba(X[test]), labels=np.unique(targets)))
        predicted = model.predict(X[test])
    if classes:
        return float(np.mean(predicted != targets[test]))
    return float(np.sqrt(np.mean((predicted - targets[test]) ** 2)))


def with_equivalents(path: SelectionPath, X: Any, y: Any, **per_row: Any) -> SelectionPath:
    """The path with the candidates that could replace each selected feature, where that costs no fits of estimators."""
    if path.equivalents is not None or path.solver == "fits" or not path.selected:
        return path
    params = {name: value for name, value in path.params.items() if name not in RESOURCES}
    if per_row.get("sample_groups") is not None and path.criterion != "cv":  # nothing is divided by groups here
        weights, offset, strata, groups = map(per_row.get, ("sample_weight", "offset", "strata", "sample_groups"))
        X, y, others = Rows(weights, offset, strata, groups).split_from(X, y)
        per_row = {**others, "sample_groups": None}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # they are among the notes of the path
        again = select(X, y, equivalents=True, **per_row, **params)
    return (
        replace(path, losses=again.losses, equivalents=again.equivalents) if again.selected == path.selected else path
    )
