"""audit: what was dropped and by how much, and the same search without dropping."""

import numpy as np
import pytest
from sklearn.datasets import load_diabetes
from sklearn.linear_model import LinearRegression

from dropstep import FBED, Significance, audit, select


@pytest.fixture(scope="module")
def diabetes():
    return load_diabetes(return_X_y=True, as_frame=True)


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"criterion": "aic"},
        {"criterion": "rss"},
        {"strategy": FBED(rounds=2), "drop": Significance(0.2)},
        {"groups": [["age", "sex"], ["s1", "s2"]], "max_features": 3},
    ],
)
def test_every_drop_of_the_path_is_audited(parameters, diabetes):
    X, y = diabetes
    path = select(X, y, **parameters)
    found = audit(path, X, y)
    steps = [j for step in path.steps if step.action == "drop" for j in step.features]
    assert sorted(j for drop in found.drops for j in drop.features) == sorted(steps)
    for drop in found.drops:
        assert drop.missed_by >= 0
        assert drop.came_back == (drop.features[0] in path.selected)
    without = select(X, y, **{**parameters, "drop": -np.inf})
    assert not [step for step in without.steps if step.action == "drop"]
    assert found.selected == path.selected
    assert found.selected_without == without.selected
    assert found.n_evaluations == path.n_evaluations
    assert found.n_evaluations_without == without.n_evaluations
    sign = 1 if path.greater_is_better else -1
    assert found.better_by == pytest.approx(sign * (without.score - path.score))
    assert found.same == (set(path.selected) == set(without.selected))


def test_the_gains_are_those_of_the_scan_that_dropped():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((50, 4))
    y = 3 * X[:, 0] + X[:, 1] + rng.standard_normal(50)
    path = select(X, y, criterion="bic")
    found = audit(path, X, y)
    first = next(drop for drop in found.drops if drop.size == 0)
    alone = select(X, y, criterion="bic", include=first.features, enter=np.inf).score
    empty = select(X, y, criterion="bic", enter=np.inf).score
    assert first.gain == pytest.approx(empty - alone)
    assert first.missed_by == pytest.approx(-first.gain)


def test_the_frame_and_the_sentence(diabetes):
    X, y = diabetes
    found = audit(select(X, y, criterion="rss"), X, y)
    table = found.to_frame()
    assert table.columns.tolist() == ["size", "gain", "p_value", "missed_by", "came_back"]
    assert (table["p_value"] - 0.05).round(12).equals(table["missed_by"].round(12))
    assert "candidates were dropped" in str(found)
    assert 0 <= found.saved < 1


def test_an_estimator_is_audited_in_fits(diabetes):
    X, y = diabetes
    path = select(X, y, model=LinearRegression(), max_features=2, cv=3)
    found = audit(path, X, y)
    assert found.n_fits < found.n_fits_without
    assert "of the fits" in str(found)


def test_what_is_refused(diabetes):
    X, y = diabetes
    with pytest.raises(ValueError, match="strategy 'forward' drops nothing; audit a path of 'dropping' or 'fbed'"):
        audit(select(X, y, strategy="forward"), X, y)
    with pytest.raises(ValueError, match="X and y do not reproduce the path; pass the rows of the selection"):
        audit(select(X, y), X, -y + 50 * X["age"] * 100)
