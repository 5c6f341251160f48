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
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from dropstep.data.sample import PerRow
from dropstep.data.target import Categorical
from dropstep.evaluation.compare import MODELS, compare_with_baselines, shuffled_folds
from dropstep.evaluation.fold_paths import Trained, is_cross_validated
from dropstep.evaluation.halves import Repeated, repeated
from dropstep.evaluation.refits import columns_of
from dropstep.evaluation.regularised import PENALTY_SEED, REGULARISED, as_components, choose_penalty, few_rows
from dropstep.evaluation.stability import Stability, stability
from dropstep.parameters import RESOURCES, Parameters
from dropstep.result import ALL, NONE, SELECTION, Evidence, HeldOut, SelectionPath
from dropstep.running import searched
from dropstep.select import select

Indices = NDArray[np.intp]
Tick = Callable[[str], None]

Errors = tuple[tuple[HeldOut, ...], str]
Fit = tuple[NDArray[Any], list[int], Callable[[], Any]]

NO_ERRORS: tuple[tuple[HeldOut, ...], str, tuple[str, ...]] = ((), "", ())
N_PAIRS, N_FOLDS, N_REPEATS = 50, 5, 4
MAX_REPEATED = 10_000  # rows up to which the folds are repeated; with more of them, one division into folds decides
MEASURES = {"rmse": "RMSE"}
RARE = 0.2  # share of rows outside the most frequent class below which the error rate says little
FITS: dict[str, Callable[[], Any]] = {
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
    n_repeats: int | None = None,
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
    n_repeats : int or None, default=None
        Number of divisions of the rows into folds; None is 4 up to 10,000 rows, and 1 for more.
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
    work = repeated(X, y, PerRow(sample_weight, offset, strata, sample_groups), params, "report")
    if path.solver == "fits":
        return Evidence(work.sample.n_rows, omitted=(_too_many_fits(path),))
    tick = tick or (lambda text: None)
    tick(f"stability on {2 * n_pairs} half-samples" if known is None else "stability")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # they are among the notes of the path
        found = stability(X, y, n_pairs, random_state, **per_row, **params) if known is None else known
        repeats = n_repeats or (N_REPEATS if work.sample.n_rows <= MAX_REPEATED else 1)
        tick(f"cross-validated error, {cv} folds" + (f", {repeats} times" if repeats > 1 else ""))
        errors, measure, omitted = NO_ERRORS
        try:
            if path.model in FITS and sample_weight is None and offset is None:
                errors, measure = _errors(path, work, cv, repeats, random_state)
            else:
                trained = Trained.of(
                    X, y, PerRow(sample_weight, offset, strata, sample_groups), _parameters(params, cv)
                )
                errors, measure = _compared(trained, cv, repeats, random_state)
        except ValueError as error:
            omitted = (f"The held-out error was not computed: {error}.",)
    frequencies = tuple(float(f) for f in found.frequencies)
    return Evidence(work.sample.n_rows, frequencies, 2 * found.n_pairs, errors, measure, omitted, repeats)


def _parameters(params: dict[str, Any], cv: int) -> Parameters:
    """The parameters of the selection, whose own folds, if it has any, are as many as those of the errors."""
    given = Parameters(**params)
    return replace(given, cv=cv) if is_cross_validated(given) else given


def _too_many_fits(path: SelectionPath) -> str:
    return (
        "Stability and held-out error were not computed, because every repetition would take about "
        f"{path.n_fits:,} fits; use dropstep.stability, and cross-validate a pipeline with Selector."
    )


def _compared(trained: Trained, cv: int, n_repeats: int, seed: int) -> Errors:
    """The errors as by `compare`, which has all models, weights and offsets.

    All features are fitted without a penalty; their error is left out if they cannot be fitted.
    """
    folds = shuffled_folds(trained.n_rows, trained.strata, trained.groups, cv, seed, n_repeats)
    rows, measure = compare_with_baselines(trained, folds)
    if not rows[0].errors:
        raise ValueError(rows[0].refusal)
    errors = [
        HeldOut(
            name,
            float(np.mean(row.sizes)),
            row.errors[0].folds,
            {ALL: f"unpenalised {row.errors[0].model}", NONE: ""}.get(name, row.errors[0].model),
            row.concordance,
        )
        for name, row in zip((SELECTION, ALL, NONE), rows, strict=True)
        if row.errors
    ]
    return tuple(errors), MEASURES.get(measure, measure.replace("_", " "))


def _errors(path: SelectionPath, work: Repeated, cv: int, n_repeats: int, seed: int) -> Errors:
    """Errors of the selection, of a regularised fit of all features and of none, and what they measure."""
    sample = work.sample
    values, classes = _values(sample), isinstance(sample.target, Categorical)
    labels = values if classes else None
    smallest = np.bincount(values).min() if classes else len(values)
    if smallest < cv:
        raise ValueError(f"{cv} folds need at least {cv} rows of every class")
    rare = classes and 1 - np.bincount(values).max() / len(values) < RARE
    measure = "log loss" if rare else "error rate" if classes else "RMSE"
    every, features, make = _fit_of_all(path, sample, values, cv)
    shared = {ALL: (every, features, make), NONE: (np.zeros((len(values), 0)), [], make)}
    found: dict[str, list[tuple[float, int]]] = {SELECTION: [], ALL: [], NONE: []}
    for train, test in shuffled_folds(len(values), labels, sample.groups, cv, seed, n_repeats):
        search, _ = searched(work.family, sample.at(train), work.given)
        chosen = list(search.units.features(search.selected))
        own = sample.table.columns(list(search.units.columns(search.selected))), chosen, FITS[path.model]
        for name, (X, used, fit) in {SELECTION: own, **shared}.items():
            found[name].append((_error(fit, X, values, train, test, measure), len(used)))
    models = {SELECTION: MODELS[path.model], ALL: REGULARISED[path.model].name, NONE: ""}
    return tuple(_held_out(name, pairs, models[name]) for name, pairs in found.items()), measure


def _fit_of_all(path: SelectionPath, sample: Any, values: NDArray[Any], cv: int) -> Fit:
    """Components of the columns of all features, these features, and how a regularised model is fitted."""
    excluded = set(sample.choice.exclude)
    units = tuple(u for u in range(_n_units(sample)) if u not in excluded)
    features, fit = sample.choice.features(units), REGULARISED[path.model]
    if not features:
        return np.zeros((len(values), 0)), [], DummyRegressor
    Z, y, classes = as_components(sample.table.columns(columns_of(sample, features))), _fitted(values), values.ndim == 1
    rows = few_rows(y, classes)
    groups = None if sample.groups is None else np.asarray(sample.groups)[rows]
    folds = shuffled_folds(len(rows), y[rows] if classes else None, groups, cv, PENALTY_SEED)
    penalty, n_train = choose_penalty(fit, Z[rows], y[rows], folds), len(values) * (cv - 1) // cv
    return Z, features, lambda: fit.make(penalty, n_train)


def _held_out(name: str, pairs: list[tuple[float, int]], model: str) -> HeldOut:
    return HeldOut(name, float(np.mean([size for _, size in pairs])), tuple(error for error, _ in pairs), model)


def _fitted(values: NDArray[Any]) -> NDArray[Any]:
    """The target as scikit-learn fits it: a single column of numbers is a vector."""
    return values if values.ndim == 1 or values.shape[1] > 1 else values[:, 0]


def _values(sample: Any) -> NDArray[Any]:
    target = sample.target
    if isinstance(target, Categorical):
        return target.codes
    values = np.asarray(getattr(target, "values", target))
    values = values.reshape(len(values), -1)
    return values if values.shape[1] == 1 else values / values.std(axis=0)  # errors of several targets are averaged


def _n_units(sample: Any) -> int:
    members = sample.choice.members
    return sample.n_features if members is None else len(members)


def _error(
    make: Callable[[], Any], X: NDArray[Any], values: NDArray[Any], train: Indices, test: Indices, measure: str
) -> float:
    """Error on the test rows; without features, that of the mean or of the class frequencies."""
    classes = values.ndim == 1
    if X.shape[1] and np.any(X[train] != X[train[0]]):
        model = make()
    else:
        model, X = (DummyClassifier(strategy="prior") if classes else DummyRegressor()), np.zeros((len(X), 1))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # collinear features, and fits that do not converge, if all are used
        targets = _fitted(values)
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
        X, y, others = PerRow(weights, offset, strata, groups).split_from(X, y)
        per_row = {**others, "sample_groups": None}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # they are among the notes of the path
        again = select(X, y, equivalents=True, **per_row, **params)
    return (
        replace(path, losses=again.losses, equivalents=again.equivalents) if again.selected == path.selected else path
    )
