"""SelectorCV: losses are those of pipelines that select inside the folds, and the size is chosen by them."""

from __future__ import annotations

import math
from itertools import pairwise

import matplotlib as mpl
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_wine
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    PredefinedSplit,
    StratifiedKFold,
    TimeSeriesSplit,
    cross_val_score,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from dropstep import Knockoffs, Moments, Permutation, Selector, SelectorCV, compare, select
from mixed_tables import ugly

mpl.use("Agg")


@pytest.mark.filterwarnings("ignore:No features were selected")
@pytest.mark.filterwarnings("ignore:The least populated class in y has only 4 members")  # of scikit-learn 1.6
@parametrize_with_checks(
    [
        SelectorCV(),
        SelectorCV(strategy="forward", cv=3, choose="one_se"),
        Selector(model="linear", criterion="cv", cv=3),
    ]
)
def test_scikit_learn_checks(estimator, check) -> None:
    check(estimator)


@pytest.mark.parametrize("strategy", ["forward", "backward"])
@pytest.mark.parametrize("solver", ["gram", "columns"])
def test_losses_are_those_of_a_pipeline(strategy: str, solver: str) -> None:
    X, y = load_diabetes(return_X_y=True)
    folds = KFold(4, shuffle=True, random_state=0)
    found = SelectorCV(strategy=strategy, solver=solver, cv=folds).fit(X, y)
    assert found.cv_paths_.loss == "mse"
    for size in (1, 3, 6):
        selector = Selector(strategy=strategy, max_features=size, enter=-math.inf)
        scores = cross_val_score(
            make_pipeline(selector, LinearRegression()), X, y, cv=folds, scoring="neg_mean_squared_error"
        )
        at = found.cv_paths_.sizes.index(size)
        np.testing.assert_allclose(found.cv_paths_.losses[:, at], -scores, rtol=1e-9)
    assert found.cv_paths_.losses[:, 0].mean() == pytest.approx(y.var(), rel=0.02)  # no features
    best = int(found.cv_paths_.mean.argmin())
    assert found.n_features_ == found.cv_paths_.sizes[best] == len(found.selected_)
    again = Selector(strategy=strategy, max_features=found.n_features_, enter=-math.inf).fit(X, y)
    assert set(found.selected_) == set(again.selected_)


@pytest.mark.parametrize("parameters", [{}, {"criterion": "cv"}, {"include": [5]}])
def test_exhaustive_compares_the_best_set_of_every_size(parameters) -> None:
    rng = np.random.default_rng(60)
    X = rng.normal(size=(60, 3)) @ rng.normal(size=(3, 6)) + 0.5 * rng.normal(size=(60, 6))
    y = X @ rng.normal(size=6) + 2 * rng.normal(size=60)
    given = {"strategy": "exhaustive", "cv": KFold(3), **parameters}
    found = SelectorCV(**given, max_features=4).fit(X, y)
    n_nested = 0
    for (train, _), path in zip(KFold(3).split(X), found.cv_paths_.paths, strict=True):
        chosen = [
            select(X[train], y[train], **given, max_features=size, enter=-math.inf).selected for size in range(2, 5)
        ]
        assert [set(path[size].selected) for size in range(2, 5)] == list(map(set, chosen))
        n_nested += sum(set(a) < set(b) for a, b in pairwise(chosen))
    assert n_nested < 6  # of 6: sets of one path would be nested


def test_classes_are_stratified_and_scored_by_log_loss() -> None:
    X, y = load_wine(return_X_y=True)
    found = SelectorCV(strategy="forward", max_features=3).fit(X, y)
    assert found.cv_paths_.loss == "log_loss"
    pipeline = make_pipeline(
        Selector(strategy="forward", max_features=3, enter=-math.inf), LinearDiscriminantAnalysis(solver="lsqr")
    )
    scores = cross_val_score(pipeline, X, y, cv=StratifiedKFold(5), scoring="neg_log_loss")
    np.testing.assert_allclose(found.cv_paths_.losses[:, -1], -scores, rtol=1e-8)


@pytest.mark.parametrize("parameters", [{"criterion": "press"}, {"enter": Permutation(0.2), "max_features": 3}])
@pytest.mark.parametrize("solver", ["gram", "columns"])
def test_criteria_and_rules_that_read_rows(parameters, solver: str) -> None:
    rng = np.random.default_rng(8)
    X = rng.normal(size=(90, 5))
    y = X[:, 0] - 0.5 * X[:, 1] + 0.3 * X[:, 2] + rng.normal(size=90)
    found = SelectorCV(strategy="forward", solver=solver, cv=KFold(3), **parameters).fit(X, y)
    compared = compare(X, y, strategies=("forward",), solver=solver, cv=KFold(3), **parameters)["forward"]
    reach = {} if "enter" in parameters else {"enter": -math.inf, "max_features": 5}
    for k, (train, _) in enumerate(KFold(3).split(X)):
        path = select(X[train], y[train], strategy="forward", **parameters, **reach)
        assert found.cv_paths_.paths[k][len(path.selected)].selected == path.selected
        assert compared.features[k] == select(X[train], y[train], strategy="forward", **parameters).selected_names


def test_included_features_are_in_every_size() -> None:
    rng = np.random.default_rng(9)
    X, y = rng.normal(size=(60, 4)), rng.normal(size=60)
    found = SelectorCV(strategy="forward", include=[1, 3]).fit(X, y)
    assert found.cv_paths_.sizes == (2, 3, 4)
    assert found.n_features_ == len(found.selected_) >= 2
    assert {1, 3} <= set(found.selected_)


def test_one_standard_error_selects_fewer_features() -> None:
    X, y = load_diabetes(return_X_y=True)
    best, fewer = (SelectorCV(strategy="forward", choose=c).fit(X, y) for c in ("best", "one_se"))
    assert fewer.n_features_ < best.n_features_
    paths = fewer.cv_paths_
    at, least = paths.sizes.index(fewer.n_features_), int(paths.mean.argmin())
    limit = paths.mean[least] + paths.std_error[least]
    assert paths.mean[at] <= limit < paths.mean[at - 1]


def test_noise_selects_nothing_and_transforms_to_nothing() -> None:
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(80, 5)), rng.normal(size=80)
    found = SelectorCV(choose="one_se").fit(X, y)
    assert found.n_features_ == 0
    assert found.path_.selected == ()


def test_rows_that_belong_together_and_time() -> None:
    X, y = load_diabetes(return_X_y=True)
    groups = np.arange(len(y)) // 10
    found = SelectorCV(strategy="forward", cv=4, max_features=3).fit(X, y, sample_groups=groups)
    pipeline = make_pipeline(Selector(strategy="forward", max_features=3, enter=-math.inf), LinearRegression())
    scores = cross_val_score(pipeline, X, y, groups=groups, cv=GroupKFold(4), scoring="neg_mean_squared_error")
    np.testing.assert_allclose(found.cv_paths_.losses[:, -1], -scores, rtol=1e-9)
    found = SelectorCV(strategy="forward", cv=TimeSeriesSplit(3), max_features=2).fit(X, y)
    scores = cross_val_score(
        clone(pipeline).set_params(selector__max_features=2),
        X,
        y,
        cv=TimeSeriesSplit(3),
        scoring="neg_mean_squared_error",
    )
    np.testing.assert_allclose(found.cv_paths_.losses[:, -1], -scores, rtol=1e-9)


@pytest.mark.parametrize("criterion", ["auto", "cv"])
def test_the_nested_error_is_that_of_selectors_fitted_in_the_folds(criterion: str) -> None:
    X, y = load_diabetes(return_X_y=True)
    selector = SelectorCV(strategy="forward", criterion=criterion, cv=3, max_features=5)
    found = selector.nested_error(X, y)
    expected, sizes = [], []
    for train, test in KFold(3).split(X):
        inner = clone(selector).fit(X[train], y[train])
        fit = LinearRegression().fit(X[train][:, inner.support_], y[train])
        expected.append(np.mean((fit.predict(X[test][:, inner.support_]) - y[test]) ** 2))
        sizes.append(inner.n_features_)
    assert found.sizes == tuple(sizes)
    np.testing.assert_allclose(found.folds, expected, rtol=1e-9)
    assert found.mean == pytest.approx(np.mean(expected))
    assert found.std_error == pytest.approx(np.std(expected, ddof=1) / math.sqrt(3))
    with pytest.raises(ValueError, match="nested_error divides the training rows of each fold again"):
        SelectorCV(cv=list(KFold(3).split(X))).nested_error(X, y)


def test_likelihoods() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 4))
    eta = X[:, 0] - 0.7 * X[:, 1]
    time, event = rng.exponential(np.exp(-eta)), rng.random(200) < 0.7
    for model, y, loss in (
        ("logistic", (eta + rng.logistic(size=200) > 0).astype(int), "log_loss"),
        ("poisson", rng.poisson(np.exp(eta)), "mean_deviance"),
        ("gamma", rng.gamma(2, np.exp(eta)), "mean_deviance"),
        ("cox", np.column_stack([time, event]), "partial_deviance"),
    ):
        found = SelectorCV(model=model, cv=3).fit(X, y)
        assert found.cv_paths_.loss == loss
        assert found.cv_paths_.mean[2] < found.cv_paths_.mean[0]
        assert {0, 1} <= set(found.selected_)


def test_poisson_deviance_is_that_of_scikit_learn() -> None:
    from sklearn.linear_model import PoissonRegressor

    rng = np.random.default_rng(1)
    X = rng.normal(size=(150, 3))
    y = rng.poisson(np.exp(0.5 * X[:, 0]))
    found = SelectorCV(model="poisson", strategy="forward", cv=3).fit(X, y)
    model = PoissonRegressor(alpha=0, tol=1e-10, max_iter=1000)
    scores = cross_val_score(model, X, y, cv=3, scoring="neg_mean_poisson_deviance")
    np.testing.assert_allclose(found.cv_paths_.losses[:, -1], -scores, rtol=1e-6)


def test_estimators_with_their_scorer() -> None:
    X, y = load_wine(return_X_y=True)
    found = SelectorCV(model=GaussianNB(), strategy="forward", max_features=2, cv=3).fit(X[:, :5], y)
    assert found.cv_paths_.loss == "negative_accuracy"
    assert found.n_features_ == 2
    assert found.cv_paths_.mean[0] == pytest.approx(-np.mean(y == 1), abs=0.02)
    found = SelectorCV(model=GaussianNB(), criterion="neg_log_loss", max_features=1, cv=3).fit(X[:, :3], y)
    assert found.cv_paths_.loss == "log_loss"
    assert 0 < found.cv_paths_.mean[1] < found.cv_paths_.mean[0]


def test_factors_weights_frames_and_the_plot() -> None:
    frame = ugly(n=160).dropna()
    y, X = frame["y"], frame.drop(columns="y")
    weights = np.ones(len(y))
    found = SelectorCV(strategy="forward", max_features=4).fit(X, y, sample_weight=weights)
    assert {"city", "dose", "flag"} <= set(found.get_feature_names_out())
    table = found.cv_paths_.to_frame()
    assert list(table.columns[:3]) == ["mean", "std_error", "fold 1"]
    assert table.loc[found.n_features_, "mean"] == table["mean"].min()
    axes = found.cv_paths_.plot()
    assert len(axes.lines) >= 6  # five folds, and the mean
    assert axes.get_xlabel() == "number of features"


# --- selections that are cross-validated themselves ------------------------------------------------------------------


def grouped() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows of 12 groups, in random order, with an effect of the group that features 3 and 4 identify."""
    rng = np.random.default_rng(11)
    groups = rng.permutation(np.repeat(np.arange(12), 8))
    X, effect = rng.normal(size=(96, 6)), rng.normal(size=(12, 3))
    X[:, 3:5] += 2 * effect[groups, :2]
    return X, 3 * X[:, 0] + 2 * X[:, 1] + 2 * effect[groups, 2] + rng.normal(size=96), groups


@pytest.mark.parametrize(
    ("cv", "with_groups"),
    [
        (3, False),
        (3, True),
        (np.int64(4), True),
        (GroupKFold(4), True),
        (KFold(4, shuffle=True, random_state=5), False),
    ],
)
@pytest.mark.parametrize("model", ["linear", LinearRegression()])
def test_the_same_splitter_divides_the_training_rows(cv, with_groups: bool, model) -> None:
    X, y, groups = grouped()
    criterion = "cv" if model == "linear" else "neg_mean_squared_error"
    given = {"model": model, "criterion": criterion, "cv": cv, "strategy": "forward", "max_features": 3}
    per_row = {"sample_groups": groups} if with_groups else {}
    found = SelectorCV(**given).fit(X, y, **per_row)
    splitter = cv if hasattr(cv, "split") else GroupKFold(int(cv)) if with_groups else KFold(int(cv))
    labels = groups if with_groups else None
    folds = list(splitter.split(X, y, labels))
    assert len(found.cv_paths_.paths) == len(folds)
    for (train, test), path in zip(folds, found.cv_paths_.paths, strict=True):
        inner = list(splitter.split(X[train], y[train], None if labels is None else labels[train]))
        expected = select(X[train], y[train], **given | {"cv": inner}, enter=-math.inf)
        assert path[3].selected == expected.selected
        fit = LinearRegression().fit(X[train][:, expected.selected], y[train])
        error = np.mean((fit.predict(X[test][:, expected.selected]) - y[test]) ** 2)
        assert path[3].loss == pytest.approx(error, rel=1e-9)
    final = select(X, y, **given | {"cv": folds, "max_features": found.n_features_}, enter=-math.inf)
    assert found.path_.selected == final.selected


def test_groups_of_rows_change_what_is_selected_inside() -> None:
    X, y, groups = grouped()
    selector = SelectorCV(criterion="cv", cv=4, strategy="forward", max_features=3)
    together, apart = clone(selector).fit(X, y, sample_groups=groups), clone(selector).fit(X, y)
    assert [path[3].selected for path in together.cv_paths_.paths] != [
        path[3].selected for path in apart.cv_paths_.paths
    ]


@pytest.mark.parametrize("model", ["linear", LinearRegression()])
def test_a_list_of_folds_cannot_divide_the_training_rows(model) -> None:
    X, y, _ = grouped()
    criterion, folds = "cv" if model == "linear" else "r2", list(KFold(3).split(X))
    message = "the selection is itself cross-validated, and divides each part of the rows again, which a list"
    with pytest.raises(ValueError, match=message):
        SelectorCV(model=model, criterion=criterion, cv=folds).fit(X, y)
    with pytest.raises(ValueError, match=message):
        compare(X, y, model=model, criterion=criterion, cv=folds)
    assert SelectorCV(cv=folds).fit(X, y).cv_paths_.losses.shape[0] == 3
    predefined = PredefinedSplit(np.arange(96) % 3)
    with pytest.raises(ValueError, match=r"cv yields row 9\d, but there are 64 rows"):
        SelectorCV(model=model, criterion=criterion, cv=predefined).fit(X, y)
    few = SelectorCV(model=model, criterion=criterion, cv=GroupKFold(3))
    with pytest.raises(ValueError, match=r"the training rows of fold 1 are divided again: .* number of groups: 2"):
        few.fit(X, y, sample_groups=np.arange(96) % 3)


def test_compare_divides_the_training_rows_by_the_same_splitter() -> None:
    X, y, groups = grouped()
    splitter = GroupKFold(4)
    given = {"model": "linear", "criterion": "cv"}
    row = compare(X, y, **given, strategies=("forward",), cv=splitter, sample_groups=groups)["forward"]
    for (train, _), features in zip(splitter.split(X, y, groups), row.features, strict=True):
        inner = list(splitter.split(X[train], y[train], groups[train]))
        assert features == select(X[train], y[train], **given, strategy="forward", cv=inner).selected_names
    assert row.path.score == select(X, y, **given, strategy="forward", cv=4, sample_groups=groups).score
    assert compare(X, y, strategies=("forward",), cv=4)["forward"].path.params == {"strategy": "forward"}


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"choose": "median"}, "choose must be 'best' or 'one_se'; got 'median'"),
        (
            {"checkpoint": "fits"},
            "checkpoint does not apply to SelectorCV, which repeats the selection; omit",
        ),
        ({"cv": 1}, "cv must be None or an integer from 2"),
        ({"enter": Knockoffs(0.2)}, "Knockoffs.* chooses the number of features, as SelectorCV does; use Selector"),
    ],
)
def test_messages(parameters, message: str) -> None:
    X, y = load_diabetes(return_X_y=True)
    with pytest.raises(ValueError, match=message):
        SelectorCV(**parameters).fit(X, y)
    with pytest.raises(ValueError, match="y must contain target values, not the name 'y'"):
        SelectorCV().fit(X, "y")


def test_moments_have_no_rows() -> None:
    X, y = load_diabetes(return_X_y=True)
    with pytest.raises(
        ValueError, match="compare repeats the selection on parts of the rows, which Moments do not have"
    ):
        compare(Moments.of(X, y), None)
