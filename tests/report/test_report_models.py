"""What the report says about likelihoods and estimators: fits, solver and the candidates that would come next."""

from __future__ import annotations

import math
from typing import Any

import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.naive_bayes import GaussianNB

from dropstep import select
from dropstep.report.text import number


@pytest.fixture(scope="module")
def cancer() -> Any:
    return load_breast_cancer(return_X_y=True, as_frame=True)


def test_fits_of_a_likelihood_are_part_of_the_cost(cancer: Any) -> None:
    path = select(*cancer, model="logistic")
    page = path.report()
    assert f"The search computed {path.n_evaluations} gains and fitted {path.n_fits} models." in page
    assert "Next candidates, by the gain they would bring now: " in page
    assert "columns read as they are needed; no Gram matrix is precomputed" in page
    assert "The odds ratio of 1 against 0 is the exponential of the estimate." in page


def test_candidates_of_an_estimator_are_ranked_by_their_last_gain(cancer: Any) -> None:
    page = select(*cancer, model=GaussianNB(), max_features=2, enter=-math.inf).report()
    assert "Next candidates, by their last computed gain: " in page
    assert "would bring now" not in page
    assert "and fitted" not in page


def test_the_first_screen_of_an_estimator(cancer: Any) -> None:
    """The score that was maximised, and that of no features; no columns for what an estimator does not have."""
    X, y = cancer
    path = select(X.iloc[:, :4], y, model=GaussianNB(), max_features=2)
    first = path.report(X=X.iloc[:, :4], y=y).split("<nav")[0]
    said = f"Cross-validated accuracy {number(path.score, 3)} with these features, {number(path.start, 3)} with none."
    assert said in first
    assert "the score was maximised over candidates and is optimistically biased" in first
    assert "Effect" not in first
    assert "Stand-ins" not in first
    assert "p-values" not in first


def test_a_strategy_without_dropping_has_no_drop_rule(cancer: Any) -> None:
    X, y = cancer
    assert "Dropping saved none" not in (page := select(X, y, strategy="stepwise").report())
    assert "<dt>leave</dt>" in page
    assert "<dt>drop</dt>" not in page
    assert "<dt>drop</dt>" in select(X, y).report()
