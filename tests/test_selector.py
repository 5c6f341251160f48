"""Selector is a scikit-learn citizen."""

from __future__ import annotations

import math
import pickle
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import sklearn
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression
from sklearn.metrics import get_scorer
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from dropstep import AIC, EBIC, FBED, R2, MallowsCp, Selector, SelectorCV, StabilitySelector, StopReason, Trace, select
from dropstep.data.fingerprint import MAX_KEPT

STRATEGIES = ("dropping", "forward", "backward", "stepwise", "forward_backward", "fbed", "floating", "swap")


@pytest.fixture(scope="module")
def diabetes() -> tuple[pd.DataFrame, pd.Series]:
    return load_diabetes(return_X_y=True, as_frame=True)


@pytest.fixture(scope="module")
def cancer() -> tuple[pd.DataFrame, pd.Series]:
    return load_breast_cancer(return_X_y=True, as_frame=True)


# --- the checks of scikit-learn --------------------------------------------------------------------------------------


@parametrize_with_checks(
    [
        Selector(),
        Selector(model="linear"),
        Selector(model="linear", strategy="stepwise", criterion="bic"),
        Selector(model="linear", missing="drop"),
        Selector(model="linear", missing="level"),
        Selector(model="linear", strategy="floating", criterion=R2(), enter=0.01, leave=0.01, max_features=2),
        Selector(model="linear", strategy="swap", criterion=MallowsCp(sigma2=1.0, per_sample=True)),
        Selector(model="linear", strategy=FBED(rounds=math.inf), criterion="aicc"),
        Selector(model="discriminant", strategy="forward_backward", criterion="wilks"),
        Selector(model="discriminant", strategy="stepwise", enter=0.05, leave=0.05, max_features=3),
        Selector(model="discriminant", strategy="swap", criterion="pillai", max_features=1),
        Selector(model="discriminant", strategy="floating", criterion="roy", drop=0.1, max_features=2),
    ]
)
@pytest.mark.filterwarnings("ignore:No features were selected:UserWarning")  # some of the checks fit noise
def test_the_checks_of_scikit_learn(estimator: Selector, check: Any) -> None:
    check(estimator)


# --- fitting ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_fitted_attributes(strategy: str, diabetes: Any) -> None:
    X, y = diabetes
    selector = Selector(strategy=strategy).fit(X, y)
    path = select(X, y, strategy=strategy)
    assert selector.path_ == path
    assert tuple(selector.selected_) == path.selected
    assert tuple(selector.ranking_) == path.ranking
    assert selector.score_ == path.score
    assert selector.n_features_in_ == 10
    np.testing.assert_array_equal(selector.feature_names_in_, X.columns)
    np.testing.assert_array_equal(selector.support_, np.isin(np.arange(10), path.selected))
    np.testing.assert_array_equal(selector.get_support(), selector.support_)
    np.testing.assert_array_equal(selector.get_support(indices=True), np.sort(selector.selected_))
    np.testing.assert_array_equal(selector.get_feature_names_out(), X.columns[selector.support_])
    assert sorted(selector.ranking_) == list(range(1, 11))
    np.testing.assert_array_equal(np.argsort(selector.ranking_)[: len(selector.selected_)], selector.selected_)


def test_fit_returns_itself_and_a_refit_gives_the_same(diabetes: Any, cancer: Any) -> None:
    selector = Selector()
    assert selector.fit(*diabetes) is selector
    path = selector.path_
    assert selector.fit(*diabetes).path_ == path
    selector.fit(*cancer)
    assert selector.n_features_in_ == 30
    assert selector.fit(diabetes[0].to_numpy(), diabetes[1]).path_.selected == path.selected
    assert not hasattr(selector, "feature_names_in_")


def test_parameters_are_never_rewritten(diabetes: Any) -> None:
    words: dict[str, Any] = {
        "strategy": FBED(rounds=math.inf), "model": "linear", "criterion": EBIC(gamma=0.5), "enter": np.float64(1.0),
        "leave": 0, "drop": "auto", "max_features": np.int64(6), "include": ["bmi"], "exclude": np.array([0]),
        "groups": [["s1", "s2"], ["s3", "s4"]],
    }  # fmt: skip
    selector = Selector(**words).fit(*diabetes)
    after = selector.get_params()
    assert all(after[word] is words[word] for word in words)
    assert words["criterion"] == EBIC(gamma=0.5)
    assert words["include"] == ["bmi"]
    assert words["groups"] == [["s1", "s2"], ["s3", "s4"]]
    assert "MallowsCp(sigma2=None, per_sample=True" in repr(Selector(criterion=MallowsCp(per_sample=True)))
    assert "FBED(rounds=inf)" in repr(selector)


def test_a_failed_fit_leaves_nothing(diabetes: Any) -> None:
    X, y = diabetes
    for selector in (Selector(), Selector().fit(X, y)):
        with pytest.raises(ValueError, match="same number of rows"):
            selector.fit(X.iloc[:, :4], y[:-1])
        assert set(vars(selector)) == set(selector.get_params())
        with pytest.raises(NotFittedError):
            selector.transform(X.to_numpy())
        with pytest.raises(NotFittedError):
            selector.get_feature_names_out()
        assert selector.fit(X, y).path_ == select(X, y)


@pytest.mark.parametrize("make", [Selector, lambda: StabilitySelector(n_pairs=2), SelectorCV])
def test_a_shared_selector_transforms_while_it_is_fitted_again(make: Any, diabetes: Any) -> None:
    X, y = diabetes
    selector = make().fit(X, y)
    expected, ended = selector.transform(X), threading.Event()

    def transform() -> int:
        n = 0
        while not ended.is_set():
            np.testing.assert_array_equal(selector.transform(X), expected)
            n += 1
        return n

    with ThreadPoolExecutor(2) as pool:
        running = pool.submit(transform)
        for _ in range(20):
            selector.fit(X, y)
        ended.set()
        assert running.result() > 0


def test_a_bad_word_is_found_at_fit_only() -> None:
    selector = Selector(strategy="none", enter=-1, max_features=0)
    assert clone(selector).get_params() == selector.get_params()
    assert selector.set_params(strategy="forward").strategy == "forward"
    with pytest.raises(ValueError, match="Invalid parameter 'gain'"):
        selector.set_params(gain=1)


# --- transforming ----------------------------------------------------------------------------------------------------


def test_transform_and_back(diabetes: Any) -> None:
    X, y = diabetes
    selector = Selector().fit(X.to_numpy(), y)
    reduced = selector.transform(X.to_numpy())
    np.testing.assert_array_equal(reduced, X.to_numpy()[:, selector.support_])
    back = selector.inverse_transform(reduced)
    np.testing.assert_array_equal(back[:, selector.support_], reduced)
    assert not back[:, ~selector.support_].any()
    np.testing.assert_array_equal(Selector().fit_transform(X.to_numpy(), y), reduced)
    with pytest.raises(ValueError, match="X has 9 features, but Selector is expecting 10"):
        selector.transform(X.to_numpy()[:, 1:])


def test_names_are_checked_at_transform(diabetes: Any) -> None:
    X, y = diabetes
    selector = Selector().fit(X, y)
    with pytest.raises(ValueError, match="feature names should match"):
        selector.transform(X[X.columns[::-1]])
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        selector.transform(X.to_numpy())


@pytest.mark.parametrize("container", ["pandas", "polars", "pyarrow"])
@pytest.mark.parametrize("output", ["default", "pandas", "polars"])
def test_names_in_and_out(container: str, output: str, diabetes: Any) -> None:
    X, y = diabetes
    table = {"pandas": lambda: X, "polars": lambda: pl.DataFrame(X), "pyarrow": lambda: pa.table(X)}[container]()
    selector = Selector().set_output(transform=output).fit(table, y)
    np.testing.assert_array_equal(selector.feature_names_in_, X.columns)
    assert selector.path_.feature_names == tuple(X.columns)
    reduced = selector.transform(table)
    wanted = ["sex", "bmi", "bp", "s3", "s5"]
    assert list(selector.get_feature_names_out()) == wanted
    if output == "default":
        assert isinstance(reduced, np.ndarray)
    else:
        frames: dict[str, Any] = {"pandas": pd.DataFrame, "polars": pl.DataFrame}
        assert isinstance(reduced, frames[output])
        assert list(reduced.columns) == wanted
    if container == output == "pandas":
        assert reduced.index.equals(X.index)
    np.testing.assert_allclose(np.asarray(reduced, dtype=float), X[wanted].to_numpy())


def test_set_output_keeps_the_types_of_columns(diabetes: Any) -> None:
    X, y = diabetes
    mixed = X.astype({"bmi": np.float32}).assign(male=X["sex"] > 0, count=np.arange(len(X))).drop(columns="sex")
    selector = Selector(include=["male", "count"]).set_output(transform="pandas").fit(mixed, y)
    reduced = selector.transform(mixed)
    assert dict(reduced.dtypes) == {name: mixed.dtypes[name] for name in reduced.columns}


def test_nothing_selected_is_an_empty_table(diabetes: Any) -> None:
    X, _ = diabetes
    noise = np.random.default_rng(0).normal(size=len(X))
    selector = Selector().set_output(transform="pandas").fit(X, noise)
    assert selector.path_.stop is StopReason.ENTER
    with pytest.warns(UserWarning, match="No features were selected"):
        assert selector.transform(X).shape == (442, 0)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_transform_keeps_the_type(dtype: type, diabetes: Any) -> None:
    X = diabetes[0].to_numpy(dtype)
    assert Selector().fit_transform(X, diabetes[1]).dtype == dtype


# --- with the rest of scikit-learn -----------------------------------------------------------------------------------


def test_clone_and_pickle(cancer: Any) -> None:
    X, y = cancer
    selector = Selector(strategy="stepwise", criterion=Trace(), enter=0.05, leave=0.05).fit(X, y)
    fresh = clone(selector)
    assert fresh.get_params() == selector.get_params()
    assert not hasattr(fresh, "path_")
    again = pickle.loads(pickle.dumps(selector))
    assert again.path_ == selector.path_
    np.testing.assert_array_equal(again.transform(X), selector.transform(X))
    assert pickle.loads(pickle.dumps(Selector(criterion=MallowsCp(sigma2=2.0)))).criterion == MallowsCp(sigma2=2.0)


def arrays_in(value: Any, seen: set[int]) -> list[NDArray[Any]]:
    """Every array that can be reached from an object."""
    if id(value) in seen or isinstance(value, str | bytes | int | float | type | None):
        return []
    seen.add(id(value))
    if isinstance(value, np.ndarray):
        return [value, *arrays_in(value.base, seen)] if value.base is not None else [value]
    parts = list(value.values()) if isinstance(value, dict) else []
    parts += list(value) if isinstance(value, list | tuple | set) else []
    parts += list(getattr(value, "__dict__", {}).values())
    parts += [getattr(value, slot) for slot in getattr(value, "__slots__", ()) if hasattr(value, slot)]
    return [array for part in parts for array in arrays_in(part, seen)]


@pytest.mark.parametrize("named", [False, True])
def test_no_data_is_kept(named: bool) -> None:
    rng = np.random.default_rng(0)

    def fitted(n: int) -> Selector:
        X = rng.normal(size=(n, 6))
        y = X[:, 0] - X[:, 1] + rng.normal(size=n)
        table: Any = pd.DataFrame(X, columns=list("abcdef")) if named else X
        return Selector(enter=1.0).fit(table, y, sample_weight=np.ones(n))

    small, large = fitted(101), fitted(50021)
    known = large.path_.fingerprint  # marks of the rows and the order of some, not their values
    assert len(known.marks) == MAX_KEPT
    assert known.order.size + known.tied.size < 500
    for array in arrays_in(large, set()):
        assert array.size <= 6 or any(array is own for own in (known.marks, known.order, known.tied))
    assert abs(len(pickle.dumps(large)) - len(pickle.dumps(small))) < 8 * MAX_KEPT + 200


def test_pipeline_and_cross_validation(cancer: Any) -> None:
    X, y = cancer
    pipeline = make_pipeline(StandardScaler(), Selector(max_features=8), LinearDiscriminantAnalysis())
    assert cross_val_score(pipeline, X, y, cv=3).mean() > 0.93
    pipeline.set_output(transform="pandas").fit(X, y)
    assert pipeline[:-1].get_feature_names_out().tolist() == list(pipeline[-1].feature_names_in_)
    assert 1 <= pipeline["selector"].selected_.size <= 8
    both = FeatureUnion([("few", Selector(max_features=2)), ("more", Selector(max_features=4))]).fit(X, y)
    assert both.transform(X).shape[1] == 6


def test_grid_search_over_strategies_criteria_and_thresholds(diabetes: Any) -> None:
    pipeline = Pipeline([("select", Selector()), ("fit", LinearRegression())])
    grid = [
        {"select__strategy": STRATEGIES, "select__criterion": ["bic", EBIC(gamma=0.5)]},
        {"select__criterion": [R2()], "select__enter": [0.1, 0.01], "select__leave": [0.0, "auto"]},
        {"select__criterion": [AIC(), MallowsCp(), MallowsCp(per_sample=True)], "select__max_features": [1, None]},
    ]
    search = GridSearchCV(pipeline, grid, cv=3, error_score="raise").fit(*diabetes)
    assert len(search.cv_results_["params"]) == 16 + 4 + 6
    assert search.best_score_ > 0.4
    assert search.best_estimator_["select"].selected_.size > 1


def test_grid_search_for_classes(cancer: Any) -> None:
    pipeline = make_pipeline(Selector(), LinearDiscriminantAnalysis())
    grid = {"selector__criterion": ["trace", "wilks", "pillai", "roy"], "selector__enter": ["auto", 0.05]}
    search = GridSearchCV(pipeline, grid, cv=3, error_score="raise").fit(*cancer)
    assert search.best_score_ > 0.93


def test_sample_weight_is_routed(diabetes: Any) -> None:
    X, y = diabetes
    weights = np.random.default_rng(3).integers(0, 3, size=len(X)).astype(float)
    wanted = select(X, y, sample_weight=weights)
    assert wanted.selected != select(X, y).selected or wanted.score != select(X, y).score
    with sklearn.config_context(enable_metadata_routing=True):
        weighted = make_pipeline(Selector().set_fit_request(sample_weight=True), LinearRegression())
        weighted[-1].set_fit_request(sample_weight=False)
        assert weighted.fit(X, y, sample_weight=weights)["selector"].path_ == wanted
        ignored = make_pipeline(Selector().set_fit_request(sample_weight=False), LinearRegression())
        ignored[-1].set_fit_request(sample_weight=True)
        assert ignored.fit(X, y, sample_weight=weights)["selector"].path_ == select(X, y)
        unasked = make_pipeline(Selector(), LinearRegression().set_fit_request(sample_weight=True))
        with pytest.raises(ValueError, match="not explicitly set as requested or not requested"):
            unasked.fit(X, y, sample_weight=weights)
        grid = GridSearchCV(weighted, {"selector__criterion": ["bic", "ebic"]}, cv=3, error_score="raise")
        grid.scoring = get_scorer("r2").set_score_request(sample_weight=True)
        grid.fit(X, y, sample_weight=weights)
    assert Selector().fit(X, y, sample_weight=weights).path_ == wanted
    old_style = make_pipeline(Selector(), LinearRegression()).fit(X, y, selector__sample_weight=weights)
    assert old_style["selector"].path_ == wanted


def test_tags_and_html() -> None:
    tags = sklearn.utils.get_tags(Selector())
    assert tags.target_tags.required
    assert tags.input_tags.sparse
    assert not tags.input_tags.allow_nan
    assert "Selector" in Selector()._repr_html_()


def test_without_the_callbacks_of_scikit_learn() -> None:
    """An older scikit-learn has no sklearn.callback: everything but callbacks works."""
    program = """
import sys
import sklearn.feature_selection, sklearn.pipeline, sklearn.datasets, sklearn.linear_model
sys.modules["sklearn.callback"] = None
from dropstep import Selector
assert Selector.__mro__[1].__module__ == "dropstep.selector"
assert not hasattr(Selector(), "set_callbacks")
X, y = sklearn.datasets.load_iris(return_X_y=True)
selector = Selector(enter=0.05, leave=0.05).fit(X, y)
print(selector.selected_.tolist(), selector.transform(X).shape)
"""
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert ran.stdout.strip() == "[2, 0, 3, 1] (150, 4)", ran.stderr


def test_it_can_be_subclassed() -> None:
    class Few(Selector):
        def __init__(self, max_features: int = 1) -> None:
            super().__init__(max_features=max_features)

        def get_params(self, deep: bool = True) -> dict[str, Any]:
            return BaseEstimator.get_params(self, deep)

    few = Few(2)
    assert few.get_params() == {"max_features": 2}
    few.fit(*load_iris(return_X_y=True))
    assert few.selected_.size == 2
