"""With racing and dropping off, forward and backward are scikit-learn's SequentialFeatureSelector, score by score."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_diabetes
from sklearn.feature_selection import SequentialFeatureSelector
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import cross_val_score
from sklearn.naive_bayes import GaussianNB

from dropstep import Estimator, StopReason, select
from models.estimator.problems import Problem, problem, signal
from reference import estimator as reference

SIZES = range(1, 9)


def searched(given: Problem, strategy: str, **parameters: Any) -> Any:
    model = Estimator(given.estimator, racing=False)
    criterion = given.scoring or "auto"
    return select(given.X, given.y, model=model, criterion=criterion, cv=given.cv, strategy=strategy, **parameters)


@pytest.fixture
def each_set_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """SequentialFeatureSelector starts from nothing for every size; cross_val_score need not score a set again."""
    known: dict[tuple[Any, ...], Any] = {}

    def remembered(estimator: Any, X: Any, *others: Any, **given: Any) -> Any:
        key = (X.shape, X.tobytes())
        if key not in known:
            known[key] = cross_val_score(estimator, X, *others, **given)
        return known[key]

    monkeypatch.setattr("sklearn.feature_selection._sequential.cross_val_score", remembered)
    monkeypatch.setattr(reference, "cross_val_score", remembered)


def sequential(given: Problem, direction: str, size: int) -> set[int]:
    found = SequentialFeatureSelector(
        given.estimator, n_features_to_select=size, direction=direction, scoring=given.scoring, cv=given.cv
    )
    return set(np.flatnonzero(found.fit(given.X, given.y).get_support()).tolist())


@pytest.mark.usefixtures("each_set_once")
@pytest.mark.parametrize("seed", range(20))
def test_forward_equals_sequential_feature_selector(seed: int) -> None:
    given = problem(seed)
    path = searched(given, "forward", enter=-math.inf, max_features=8)
    slow = reference.forward(given.estimator, given.X, given.y, 8, given.scoring, given.cv)
    assert path.selected == slow.order
    np.testing.assert_allclose([step.score for step in path.steps], slow.scores, rtol=1e-12)
    for size in SIZES:
        assert set(path.selected[:size]) == sequential(given, "forward", size)


@pytest.mark.usefixtures("each_set_once")
@pytest.mark.parametrize("seed", range(20))
def test_backward_equals_sequential_feature_selector(seed: int) -> None:
    given = problem(seed)
    path = searched(given, "backward", enter=-math.inf, max_features=1)
    slow = reference.backward(given.estimator, given.X, given.y, 1, given.scoring, given.cv)
    removed = [step for step in path.steps if step.action == "remove"]
    assert tuple(step.features[0] for step in removed) == slow.order
    np.testing.assert_allclose([step.score for step in removed], slow.scores, rtol=1e-12)
    for size in SIZES:
        kept = set(range(9)) - {step.features[0] for step in removed[: 9 - size]}
        assert kept == sequential(given, "backward", size)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_gains_and_standard_errors_are_those_of_paired_fold_differences(seed: int) -> None:
    given = problem(seed)
    path = searched(given, "forward", enter=-math.inf, max_features=3)
    before = None
    for i, step in enumerate(path.steps, start=1):
        columns = sorted(path.selected[:i])
        scores = cross_val_score(given.estimator, given.X[:, columns], given.y, scoring=given.scoring, cv=given.cv)
        assert step.score_std_error == pytest.approx(scores.std(ddof=1) / math.sqrt(len(scores)), rel=1e-12)
        if before is not None:
            assert step.gain == pytest.approx((scores - before).mean(), rel=1e-9, abs=1e-12)
        before = scores


def test_fits_are_those_of_the_textbook_without_racing_and_dropping() -> None:
    X, y = signal(p=8)
    path = select(X, y, model=Estimator(LinearRegression(), racing=False), strategy="forward", enter=-math.inf,
                  max_features=3, cv=4)  # fmt: skip
    assert path.n_fits == 4 * (8 + 7 + 6)
    assert path.n_evaluations == 8 + 7 + 6
    assert path.fits_saved == {"dropping": 0, "racing": 0, "cache": 0}


def test_backward_judges_a_removal_by_its_own_loss() -> None:
    """scikit-learn issue 26369: backward with `tol` compares with a score of minus infinity and removes at once."""
    X, y = load_diabetes(return_X_y=True)
    model = Estimator(LinearRegression(), racing=False)
    path = select(X, y, model=model, strategy="backward", leave=1e-9)
    start = path.steps[0]
    assert path.stop is StopReason.LEAVE
    for step, before in zip(path.steps[1:], path.steps, strict=False):
        assert step.gain >= -1e-9
        assert step.score >= before.score - 1e-9
    # All features matter here: nothing may leave, while the defect removes one feature whatever its loss.
    strong = X[:, :3] @ np.array([1.0, 2.0, 3.0])
    kept = select(X[:, :3], strong, model=model, strategy="backward", leave=1e-9)
    assert kept.selected == (0, 1, 2)
    assert start.phase == "start"
    defect = SequentialFeatureSelector(
        LinearRegression(), direction="backward", n_features_to_select="auto", tol=-1e-9, cv=5
    ).fit(X[:, :3], strong)
    assert defect.get_support().sum() < 3


def test_an_undefined_score_is_an_error_with_its_cause() -> None:
    """mlxtend returns NaN scores silently, and then selects by them."""
    X = signal(20)[0][:, :3]
    y = np.repeat([0, 1], 10)
    folds = [(np.r_[0:5, 10:20], np.arange(5, 10)), (np.r_[0:10, 10:15], np.arange(15, 20))]
    with pytest.raises(ValueError, match=r"columns \[0\] on fold \d is nan \(UndefinedMetricWarning: Only one"):
        select(X, y, model=Estimator(GaussianNB(), racing=False), criterion="roc_auc", cv=folds)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mlxtend = pytest.importorskip("mlxtend.feature_selection")
        found = mlxtend.SequentialFeatureSelector(GaussianNB(), k_features=2, scoring="roc_auc", cv=folds).fit(X, y)
    assert math.isnan(found.k_score_)
