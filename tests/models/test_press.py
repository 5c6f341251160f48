"""PRESS: the squared errors of leave-one-out predictions, without a fit per row."""

from __future__ import annotations

import math

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import LeaveOneOut, cross_val_predict

import reference
from dropstep import select
from dropstep.search.strategies import STRATEGIES


@pytest.fixture
def table() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(40)
    X = rng.normal(size=(40, 7)) @ (np.eye(7) + 0.4) + 100
    return X, np.column_stack([X[:, 1] - 2 * X[:, 4], X[:, 2] + X[:, 5]]) + rng.normal(size=(40, 2))


def left_out(X: np.ndarray, y: np.ndarray) -> float:
    return float(np.sum((y - cross_val_predict(LinearRegression(), X, y, cv=LeaveOneOut())) ** 2))


@pytest.mark.parametrize("solver", ["gram", "columns"])
@pytest.mark.parametrize("targets", [slice(0, 1), slice(0, 2)])
def test_press_is_the_error_of_leave_one_out_predictions(table, solver, targets):
    X, Y = table
    y = Y[:, targets]
    path = select(X, y, model="linear", criterion="press", strategy="bidirectional", solver=solver)
    assert path.solver == solver
    assert path.selected
    kept: list[int] = []
    for step in path.steps:
        before = left_out(X[:, kept], y) if kept else left_out(np.zeros((40, 1)), y)
        kept = [*kept, *step.features] if step.action == "add" else [j for j in kept if j not in step.features]
        assert step.score == pytest.approx(left_out(X[:, kept], y), rel=1e-9)
        assert step.gain == pytest.approx(before - step.score, rel=1e-7)


@pytest.mark.parametrize("solver", ["gram", "columns"])
def test_a_weight_counts_its_row(table, solver):
    X, Y = table
    w = np.random.default_rng(1).integers(1, 4, size=40)
    repeated = select(np.repeat(X, w, axis=0), np.repeat(Y, w, axis=0), criterion="press", solver=solver)
    weighted = select(X, Y, sample_weight=w, criterion="press", solver=solver)
    assert weighted.selected == repeated.selected
    assert [s.score for s in weighted.steps] == pytest.approx([s.score for s in repeated.steps], rel=1e-10)


@pytest.mark.parametrize("strategy", [name for name in STRATEGIES if name != "exhaustive"])
def test_every_strategy_follows_the_reference(table, strategy):
    """Groups, weights, a copy and a constant."""
    X, Y = table
    X = np.column_stack([X, X[:, 4], np.ones(40)])
    w, groups = np.random.default_rng(2).uniform(0.5, 2, size=40), [[0, 1, 2]]
    fast = select(X, Y, model="linear", criterion="press", strategy=strategy, groups=groups, sample_weight=w)
    slow = reference.run(strategy, X, Y, criterion="press", groups=groups, weights=w)
    assert fast.selected == slow.selected
    assert [s.score for s in fast.steps] == pytest.approx([s.score for s in slow.steps], rel=1e-8)


def test_a_row_that_the_others_cannot_predict_makes_it_infinite(table):
    """An indicator of one row has leverage 1 there, and never enters."""
    X, Y = table
    y = Y[:, 0] + 50 * (np.arange(40) == 3)
    X = np.column_stack([X, np.arange(40) == 3])
    assert 7 in select(X, y, criterion="bic").selected
    assert 7 not in select(X, y, criterion="press").selected
    forced = select(X, y, criterion="press", include=[7])
    assert math.isinf(forced.score)
    assert math.isinf(reference.score("press", X, y, [7]))
