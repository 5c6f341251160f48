"""The procedures from scratch select what the search selects."""

from __future__ import annotations

from typing import get_args

import numpy as np
import pytest
from sklearn.datasets import load_iris

from dropstep import select
from examples.from_scratch import FromScratch, Procedure, least_squares_criterion, trace_criterion


@pytest.fixture
def regression() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(60, 10)) @ (np.eye(10) + 0.3)
    return X, 3 * X[:, 1] - 2 * X[:, 4] + X[:, 6] + rng.normal(size=60)


@pytest.mark.parametrize("procedure", get_args(Procedure))
def test_classes_by_the_trace(procedure: Procedure) -> None:
    X, y = load_iris(return_X_y=True)
    scratch = FromScratch(trace_criterion(X, y), 4, 0.5, 0.5)
    path = select(X, y, strategy=procedure, criterion="trace", enter=0.5, leave=0.5)
    assert scratch.run(procedure) == list(path.selected)
    assert scratch.score(scratch.selected) == pytest.approx(path.score)
    assert scratch.n_evaluations >= path.n_evaluations  # the search does not repeat an evaluation


@pytest.mark.parametrize("procedure", [*get_args(Procedure), "forward"])
def test_regression_by_bic(procedure, regression) -> None:
    X, y = regression
    bic = least_squares_criterion(X, y, lambda rss, size: -(60 * np.log(rss / 60) + np.log(60) * (size + 1)))
    path = select(X, y, strategy=procedure, criterion="bic", enter=0.0, leave=0.0)
    assert FromScratch(bic, 10, 0.0, 0.0).run(procedure) == list(path.selected)
    assert bic(list(path.selected)) == pytest.approx(-path.score)


def test_forward_stops_at_max_features(regression) -> None:
    X, y = regression
    scratch = FromScratch(least_squares_criterion(X, y, lambda rss, size: -rss), 10, 0.0, 0.0, max_features=3)
    path = select(X, y, strategy="forward", criterion="rss", enter=0.0, max_features=3)
    assert scratch.run("forward") == list(path.selected)
    assert scratch.n_evaluations == path.n_evaluations == 10 + 9 + 8
