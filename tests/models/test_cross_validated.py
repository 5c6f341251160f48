"""Criterion "cv": held-out scores of every move equal those of refitted models, without a fit."""

from __future__ import annotations

import math
import tracemalloc
from functools import cache
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_diabetes
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    RepeatedKFold,
    ShuffleSplit,
    StratifiedKFold,
    TimeSeriesSplit,
    cross_val_score,
)

from benchmarks.cross_validation import agreement, by_rival, random_table, sets_of_rival
from dropstep import Estimator, Moments, Significance, StandardErrors, select
from dropstep.data.sample import PerRow
from dropstep.models.base import CriterionInfo, Units
from dropstep.models.evaluation import Evaluation
from dropstep.models.families import FAMILIES
from dropstep.parameters import Parameters
from dropstep.search.rules import as_rules
from dropstep.search.search import Search
from dropstep.search.strategies import STRATEGIES
from mixed_tables import ugly
from reference.least_squares.cross_validation import fold_errors, fold_log_scores
from search.lookup import Lookup, Table

SPLITTERS = [
    KFold(4, shuffle=True, random_state=0),
    KFold(5),
    ShuffleSplit(3, test_size=0.3, random_state=1),
    TimeSeriesSplit(3),
    RepeatedKFold(n_splits=3, n_repeats=2, random_state=2),
    ShuffleSplit(2, test_size=0.6, random_state=3),
    KFold(30),
]


class Case(NamedTuple):
    """A table with collinear, constant and rare columns, and the parts of a model of it."""

    X: np.ndarray
    y: np.ndarray
    weights: np.ndarray | None
    members: list[list[int]] | None
    folds: list[Any]
    model: Any
    fold_scores: Any
    sign: int


def case_of(seed: int) -> Case:
    rng = np.random.default_rng(seed)
    n, p, classes = int(rng.integers(40, 90)), int(rng.integers(4, 9)), bool(rng.integers(2))
    X = rng.normal(size=(n, p)) @ (np.eye(p) + 0.4 * rng.normal(size=(p, p)))
    if rng.integers(3) == 0:
        X[n // 2 : n // 2 + n // 4] = X[: n // 4]  # repeated rows
    solver = ["auto", "gram", "columns"][int(rng.integers(3))]
    if rng.integers(2) and solver != "gram":  # nearly collinear: a Gram matrix alone has too few digits
        X[:, 1] = X[:, 0] + 10.0 ** -rng.integers(1, 5) * rng.normal(size=n)
        X += 3 * rng.normal(size=p)
    else:
        X += 10.0 ** rng.integers(-1, 6) * rng.normal(size=p)  # means that exceed the standard deviation
    if rng.integers(2):
        X[:, 2] = 2 * X[:, 0] - X[:, 1]  # collinear
    if rng.integers(2) and not classes:
        X[:, 3] = 0.0
        X[int(rng.integers(n)), 3] = 1.0  # constant in the training rows of one fold
    if rng.integers(3) == 0:
        X *= 10.0 ** rng.integers(-3, 4, size=p)
    signal = X[:, :2] @ rng.normal(size=2) / X[:, :2].std()
    if classes:
        noisy = signal + rng.normal(size=n)
        y = np.digitize(noisy, np.quantile(noisy, [0.3, 0.6][: int(rng.integers(1, 3))]))
    else:
        y = signal[:, None] + rng.normal(size=(n, int(rng.integers(1, 3))))
    weights = rng.integers(1, 4, size=n).astype(float) if rng.integers(2) else None
    members = None
    if rng.integers(2):
        cut = np.sort(rng.choice(np.arange(1, p), size=min(3, p - 1), replace=False))
        members = [part.tolist() for part in np.split(np.arange(p), cut)]
    splitter = SPLITTERS[seed % len(SPLITTERS)]
    family: Any = FAMILIES["discriminant" if classes else "linear"]
    cv = list(StratifiedKFold(4, shuffle=True, random_state=seed).split(X, y) if classes else splitter.split(X))
    family = family.cross_validated(Evaluation(cv=cv))
    sample = family.sample(X, y, PerRow(weights), Parameters())
    problem = family.problem(sample, solver, None)
    model = problem.model("cv", Units(p, members), np.arange(p), p if members is None else len(members))
    return Case(X, y, weights, members, cv, model, fold_log_scores if classes else fold_errors, 1 if classes else -1)


def close(found: Any, expected: Any, scale: float) -> None:
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9 * scale)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(seed=st.integers(0, 10**6))
def test_scores_and_gains_are_those_of_refitted_models(seed: int) -> None:
    case = case_of(seed)
    rng, model = np.random.default_rng(seed), case.model
    members = case.members or [[j] for j in range(case.X.shape[1])]

    @cache
    def fold_scores(*units: int) -> np.ndarray:
        columns = [j for u in units for j in members[u]]
        return case.fold_scores(case.X, case.y, case.weights, case.folds, columns)

    def expected(units: list[int]) -> np.ndarray:
        return fold_scores(*units)

    selected: list[int] = []
    for _ in range(6):
        now = expected(selected)
        scale = float(np.abs(now).mean())
        close(model.score, now.mean(), scale)
        close(model.score_std_error, now.std(ddof=1) / np.sqrt(len(now)), scale)
        pool = [u for u in range(len(members)) if u not in selected]
        _check_additions(case, model.additions(np.array(pool, dtype=int)), expected, selected, now, scale)
        losses = model.removals(np.array(sorted(selected), dtype=int))
        for unit, loss in zip(losses.units, losses.gains, strict=True):
            after = expected([u for u in selected if u != unit])
            close(loss, case.sign * (now - after).mean(), scale)
        if selected and pool:
            gone = int(rng.choice(selected))
            kept = [u for u in selected if u != gone]
            scan = model.additions(np.array(pool, dtype=int), without=gone)
            _check_additions(case, scan, expected, kept, expected(kept), scale)
        if pool and (not selected or rng.random() < 0.7):
            unit = int(rng.choice(pool))
            model.add([unit])
            selected.append(unit)
        else:
            unit = int(rng.choice(selected))
            model.remove([unit])
            selected.remove(unit)


def _check_additions(case: Case, scan: Any, expected: Any, selected: list[int], now: np.ndarray, scale: float) -> None:
    for unit, gain, feasible, error in zip(scan.units, scan.gains, scan.feasible, scan.std_errors, strict=True):
        if not feasible:
            assert gain == 0
            continue
        differences = case.sign * (expected([*selected, unit]) - now)
        close(gain, differences.mean(), scale)
        close(error, differences.std(ddof=1) / np.sqrt(len(now)), scale)


# --- every strategy, against the scores of all sets -------------------------------------------------------------------


@pytest.mark.parametrize("strategy", sorted(STRATEGIES))
@settings(max_examples=6, deadline=None, derandomize=True)
@given(seed=st.integers(0, 10**6))
def test_strategies_make_the_steps_of_refitted_models(strategy: str, seed: int) -> None:
    """Groups, included units, several targets, weights, classes, and limits on the number of units."""
    rng = np.random.default_rng(seed)
    n, p, classes = int(rng.integers(40, 80)), 8, bool(rng.integers(3) == 0)
    X = rng.normal(size=(n, p)) @ (np.eye(p) + 0.4 * rng.normal(size=(p, p)))
    y: Any = X[:, :3] @ rng.normal(size=(3, 1 + seed % 2)) + 2 * rng.normal(size=(n, 1 + seed % 2))
    y = np.digitize(y[:, 0], np.quantile(y[:, 0], [0.3, 0.6])) if classes else y
    weights = rng.integers(1, 3, size=n).astype(float) if rng.integers(2) else None
    members = [[0], [1, 2], [3], [4], [5, 6, 7]] if rng.integers(2) else [[j] for j in range(6)]
    X = X[:, : sum(map(len, members))]
    include = [int(rng.integers(len(members)))] if rng.integers(2) else []
    folds = list(
        (StratifiedKFold if classes else KFold)(4, shuffle=True, random_state=seed).split(X, y if classes else None)
    )
    limit = int(rng.integers(2, len(members))) if rng.integers(2) else None
    path = select(
        X, y, model="discriminant" if classes else "linear", criterion="cv", cv=folds, strategy=strategy, enter=0.0,
        leave=0.0, drop=0.0, groups=members, include=[j for u in include for j in members[u]], max_features=limit,
        sample_weight=weights, solver=["auto", "gram", "columns"][seed % 3],
    )  # fmt: skip

    scores = np.empty(2 ** len(members))
    for bits in range(len(scores)):
        columns = [j for u, unit in enumerate(members) if bits >> u & 1 for j in unit]
        scores[bits] = (fold_log_scores if classes else fold_errors)(X, y, weights, folds, columns).mean()
    table = Table(scores, np.ones((len(scores), len(members))), greater_is_better=classes)
    info = CriterionInfo("cv", penalised=True, monotone=False, share=True)
    rules = as_rules(info, len(members) - len(include), 0.0, 0.0, 0.0, limit, strategy)
    search = Search(Lookup(table, tests=False), rules, Units(X.shape[1], members), include)
    steps = [search.start(include)] if include else []
    steps += list(STRATEGIES[strategy](search))
    assert [(s.action, s.phase, s.features) for s in path.steps] == [(s.action, s.phase, s.features) for s in steps]
    np.testing.assert_allclose([s.score for s in path.steps], [s.score for s in steps], rtol=1e-9)
    if strategy == "exhaustive":
        open_units = [u for u in range(len(members)) if u not in include]
        sets = [{*include, *some} for k in range(len(open_units) + 1) for some in combinations(open_units, k)]
        best = max(table.value(s) for s in sets if limit is None or len(s) <= limit)
        assert path.score == pytest.approx(best if classes else -best, rel=1e-9)


# --- as users call it ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [1, 2, 7, None])
def test_sets_of_sequential_feature_selector(seed: int | None) -> None:
    """Few rows, nearly collinear columns, copies, and diabetes; all tables: benchmarks/cross_validation.py."""
    X, y = load_diabetes(return_X_y=True) if seed is None else random_table(seed)
    found = agreement({"table": (X, y)})
    assert found.different == []
    assert found.same + found.redundant == 16
    assert (found.redundant > 0) == (seed == 7)
    if seed == 1:
        for strategy, size in (("forward", 3), ("backward", 7)):
            assert sets_of_rival(X, y, strategy)[size] == by_rival(X, y, strategy, size)


@pytest.mark.parametrize("strategy", ["dropping", "stepwise", "floating", "swap", "fbed", "bidirectional"])
def test_a_strategy_makes_the_steps_of_the_estimator_family(strategy: str) -> None:
    X, y = load_diabetes(return_X_y=True)
    fast = select(X, y, criterion="cv", cv=KFold(4), strategy=strategy, max_features=5)
    slow = select(
        X, y, model=Estimator(LinearRegression(), racing=False), criterion="neg_mean_squared_error", cv=KFold(4),
        strategy=strategy, max_features=5,
    )  # fmt: skip
    assert [(s.action, s.features) for s in fast.steps] == [(s.action, s.features) for s in slow.steps]
    np.testing.assert_allclose([s.score for s in fast.steps], [-s.score for s in slow.steps], rtol=1e-9)
    errors = [s.score_std_error for s in fast.steps], [s.score_std_error for s in slow.steps]
    np.testing.assert_allclose(*errors, rtol=1e-8)
    assert fast.n_fits == 0
    assert fast.rules["enter"] == StandardErrors(1.0)


def test_factors_groups_of_rows_and_coefficients_of_all_rows() -> None:
    frame = ugly(n=160).dropna()
    y, X = frame["y"].to_numpy(), frame.drop(columns="y")
    groups = np.arange(len(y)) // 5
    path = select(X, y, criterion="cv", cv=4, sample_groups=groups, include=["count"])
    assert {"city", "dose", "count"} <= set(path.selected_names)
    again = select(X, y, criterion="cv", cv=list(GroupKFold(4).split(X, y, groups)), include=["count"])
    assert path.score == again.score
    plain = select(X, y, include=path.selected, max_features=len(path.selected))
    coefficients = dict(zip(plain.coefficients.names, plain.coefficients.coef, strict=True))
    found = dict(zip(path.coefficients.names, path.coefficients.coef, strict=True))
    assert found == pytest.approx(coefficients)


def test_many_features_do_not_need_a_square_matrix() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 6000)).astype(np.float32)
    y = X[:, 7] - X[:, 40] + 0.3 * rng.normal(size=60)
    tracemalloc.start()
    path = select(X, y, criterion="cv", strategy="forward", max_features=4)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert {7, 40} <= set(path.selected)
    assert peak < 8 * 6000**2 / 4
    errors = cross_val_score(
        LinearRegression(), X[:, path.selected].astype(float), y.astype(float), scoring="neg_mean_squared_error"
    )
    assert path.score == pytest.approx(-errors.mean(), rel=1e-5)


def test_moments_switch_to_rows_where_digits_are_lost() -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(2000, 12))
    X[:, 1] = X[:, 0] + 1e-6 * rng.normal(size=2000)
    y = 2 * X[:, 0] + 1e6 * (X[:, 1] - X[:, 0]) + X[:, 2] + 0.1 * rng.normal(size=2000)
    path = select(X, y, criterion="cv", strategy="forward", max_features=3, enter=-math.inf)
    assert path.solver == "columns"
    assert set(path.selected) == {0, 1, 2}
    errors = fold_errors(X, y, None, list(KFold(5).split(X)), path.selected)
    assert path.score == pytest.approx(errors.mean(), rel=1e-6)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"cv": 1}, "cv must be None or an integer from 2"),
        ({"enter": Significance(0.05)}, "needs a significance test, which this model does not have"),
        ({"checkpoint": "fits"}, "checkpoint applies to a scikit-learn estimator"),
        ({"sample_groups": [1, 2]}, r"sample_groups must have one label per row \(40\)"),
        ({"cv": [(np.arange(20), np.array([], dtype=int))]}, "fold 1 has no test rows"),
        ({"cv": [(np.arange(2), np.arange(2, 40))]}, "the training rows of fold 1 do not suffice: a regression needs"),
    ],
)
def test_messages(parameters: Any, message: str) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 3)), rng.normal(size=40)
    with pytest.raises(ValueError, match=message):
        select(X, y, criterion="cv", **parameters)


def test_messages_about_data() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 3)), rng.normal(size=40)
    with pytest.raises(ValueError, match="criterion 'cv' scores models on held-out rows, which Moments do not contain"):
        select(Moments.of(X, y), criterion="cv")
    with pytest.raises(ValueError, match="fold 1 has 0 training rows of class 'a'; at least 2 are required"):
        select(X, ["a"] * 10 + ["b"] * 30, criterion="cv", cv=KFold(4))
    with pytest.raises(ValueError, match="sample_groups applies to a scikit-learn estimator and to criterion='cv'"):
        select(X, y, sample_groups=np.arange(40))
    single = select(X, X[:, 0] + 0.1 * y, criterion="cv", cv=[(np.arange(30), np.arange(30, 40))])
    assert single.selected[0] == 0
    assert single.steps[0].score_std_error is None
