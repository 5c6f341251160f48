"""Warnings that name a number: each appears where it should, and not where it should not."""

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_iris

from dropstep import MallowsCp, select


def table(n, p, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, p)), rng


def noted(path, text):
    return [note for note in path.notes if text in note]


def test_few_rows_per_candidate():
    X, rng = table(30, 60)
    path = select(X, X[:, 0] + 0.1 * rng.standard_normal(30))
    assert noted(path, "30 rows for 60 candidates (0.5 per candidate)")
    X, rng = table(70, 60)
    assert not noted(select(X, X[:, 0] + 0.1 * rng.standard_normal(70)), "per candidate")
    X, rng = table(40, 30)
    y = np.column_stack([rng.exponential(np.exp(-X[:, 0])), np.arange(40) < 12])
    assert noted(select(X, y, model="cox"), "12 events for 30 candidates (0.4 per candidate)")


def test_near_ties_at_a_step():
    X, rng = table(100, 5)
    X[:, 3] = X[:, 1] + 1e-3 * rng.standard_normal(100)
    path = select(X, X[:, 1] + rng.standard_normal(100), max_features=1)
    (note,) = noted(path, "is a matter of chance")
    assert {"x1", "x3"} <= set(note.replace(",", "").split())
    assert not noted(select(*load_diabetes(return_X_y=True)), "matter of chance")


def test_the_condition_number_and_aliases():
    X, rng = table(100, 5)
    X[:, 3] = X[:, 1] + 1e-3 * rng.standard_normal(100)
    path = select(X, X[:, 1] + rng.standard_normal(100), include=[1, 3])
    (note,) = noted(path, "nearly collinear (condition number")
    correlations = np.corrcoef(X[:, list(path.selected)].T)
    assert f"condition number {np.sqrt(np.linalg.cond(correlations)):.3g})" in note
    X[:, 4] = X[:, 0] - X[:, 1]
    y = X[:, 0] + X[:, 1] + 0.1 * rng.standard_normal(100)
    path = select(X[:, [0, 1, 2, 4]], y, include=[0, 1])
    assert noted(path, "column 3: linear combinations of the selected features, which could stand in for them")
    assert not noted(select(X[:, [0, 1, 2, 4]], y, include=[0, 1], exclude=[3]), "linear combinations")


@pytest.mark.parametrize("spread", [0.5, 0.1, 0.025, 0.0205, 0.0195, 0.015, 0.001])
def test_the_bound_of_the_condition_number_omits_no_note(spread):
    X, rng = table(400, 6)
    X[:, 3] = X[:, 1] + spread * rng.standard_normal(400)
    path = select(X, X[:, :4].sum(axis=1) + rng.standard_normal(400), include=[0, 1, 2, 3])
    condition = np.sqrt(np.linalg.cond(np.corrcoef(X[:, list(path.selected)].T)))
    assert bool(noted(path, "nearly collinear")) == (condition > 100)


def test_a_trace_near_its_limit():
    X, _ = table(20, 12)
    y = np.arange(20) % 2
    X[:, :10] += 0.8 * y[:, None]
    path = select(X, y, model="discriminant", enter=-np.inf, max_features=11)
    assert noted(path, "11 features are selected with 18 rows more than classes")
    assert not noted(select(*load_iris(return_X_y=True)), "rows more than classes")


def test_cp_with_few_residual_degrees_of_freedom():
    X, rng = table(20, 12)
    y = X[:, 0] + rng.standard_normal(20)
    assert noted(select(X, y, criterion="cp"), "Cp estimates the error variance from 7 residual degrees of freedom")
    assert not noted(select(X, y, criterion=MallowsCp(sigma2=1.0)), "residual degrees of freedom")


@pytest.mark.parametrize(("n_rare", "found"), [(3, True), (5, False)])
def test_classes_with_very_few_rows(n_rare, found):
    X, _ = table(40, 3)
    y = np.array(["common"] * (40 - n_rare) + ["rare"] * n_rare)
    X[y == "rare", 0] += 3
    assert bool(noted(select(X, y), f"class 'rare' has {n_rare} rows; its mean")) == found
