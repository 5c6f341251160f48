"""Criterion "cv": held-out scores of every move equal those of refitted models, without a fit."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.model_selection import KFold, ShuffleSplit, StratifiedKFold, TimeSeriesSplit

from dropstep.data.sample import Rows
from dropstep.models.base import Units
from dropstep.models.families import FAMILIES
from dropstep.models.resampling import Evaluation
from dropstep.parameters import Parameters
from reference.least_squares.cross_validation import fold_errors, fold_log_scores

SPLITTERS = [
    KFold(4, shuffle=True, random_state=0),
    KFold(5),
    ShuffleSplit(3, test_size=0.3, random_state=1),
    TimeSeriesSplit(3),
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
    X = rng.normal(size=(n, p)) @ (np.eye(p) + 0.4 * rng.normal(size=(p, p))) + 3 * rng.normal(size=p)
    solver = ["auto", "gram", "columns"][int(rng.integers(3))]
    if rng.integers(2) and solver != "gram":  # nearly collinear: a Gram matrix alone has too few digits
        X[:, 1] = X[:, 0] + 10.0 ** -rng.integers(1, 5) * rng.normal(size=n)
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
    sample = family.sample(X, y, Rows(weights), Parameters())
    problem = family.problem(sample, solver, None)
    model = problem.model("cv", Units(p, members), np.arange(p), p if members is None else len(members))
    return Case(X, y, weights, members, cv, model, fold_log_scores if classes else fold_errors, 1 if classes else -1)


def close(found: Any, expected: Any, case: Case, scale: float) -> None:
    tolerance = 1e-9 if case.model.solver == "columns" else 1e-7
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance * scale)


@settings(max_examples=40, deadline=None, derandomize=True)
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
        close(model.score, now.mean(), case, scale)
        close(model.score_std_error, now.std(ddof=1) / np.sqrt(len(now)), case, scale)
        pool = [u for u in range(len(members)) if u not in selected]
        _check_additions(case, model.additions(np.array(pool, dtype=int)), expected, selected, now, scale)
        losses = model.removals(np.array(sorted(selected), dtype=int))
        for unit, loss in zip(losses.units, losses.gains, strict=True):
            after = expected([u for u in selected if u != unit])
            close(loss, case.sign * (now - after).mean(), case, scale)
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
        close(gain, differences.mean(), case, scale)
        close(error, differences.std(ddof=1) / np.sqrt(len(now)), case, scale)
