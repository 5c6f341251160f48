"""Selector on frames with factors and missing values: pipelines, folds without some levels, and columns as they are."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder

from dropstep import Selector, select
from mixed_tables import TABLES, ugly

FRAME = ugly(n=150)
Y = FRAME.pop("y").fillna(0.0)
COMPLETE = FRAME.dropna()
SELECTED = ["dose", "city", "flag"]

LIBRARIES: dict[str, Any] = {
    "pandas": lambda frame: frame,
    "polars": lambda frame: pl.from_arrow(pa.Table.from_pandas(frame, preserve_index=False)),
    "pyarrow": lambda frame: pa.Table.from_pandas(frame, preserve_index=False),
}
TYPES = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.Table}


def as_pandas(table: Any) -> pd.DataFrame:
    return table if isinstance(table, pd.DataFrame) else table.to_pandas()


# --- transform -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("output", ["default", "pandas", "polars"])
@pytest.mark.parametrize("library", LIBRARIES)
def test_transform_returns_the_columns_of_the_frame(library: str, output: str) -> None:
    X = LIBRARIES[library](FRAME)
    selector = Selector(missing="drop").set_output(transform=output).fit(X, Y)
    assert selector.n_features_in_ == 8
    np.testing.assert_array_equal(selector.feature_names_in_, FRAME.columns)
    assert list(selector.get_feature_names_out()) == SELECTED
    assert list(selector.support_) == [name in SELECTED for name in FRAME.columns]
    reduced = selector.transform(X)
    assert isinstance(reduced, TYPES[library if output == "default" else output])
    found = as_pandas(reduced)
    assert list(found.columns) == SELECTED
    assert len(found) == len(FRAME)
    for name in SELECTED:
        same = (found[name] == FRAME[name]).to_numpy() | (found[name].isna() & FRAME[name].isna()).to_numpy()
        assert same.all(), name


def test_transform_keeps_index_types_and_unknown_levels() -> None:
    X = FRAME.astype({"city": "category"}).set_index(np.arange(500, 650))
    selector = Selector(missing="drop").fit(X, Y)
    reduced = selector.transform(X)
    assert reduced.index.equals(X.index)
    assert dict(reduced.dtypes) == {name: X.dtypes[name] for name in SELECTED}
    new = FRAME.head(3).assign(city=["Atlantis", None, "Rome"])
    assert selector.transform(new)["city"].tolist()[::2] == ["Atlantis", "Rome"]
    assert selector.transform(new).shape == (3, 3)


def test_object_arrays() -> None:
    X = COMPLETE.to_numpy(dtype=object)
    y = Y[COMPLETE.index]
    selector = Selector().fit(X, y)
    assert [FRAME.columns[j] for j in np.flatnonzero(selector.support_)] == SELECTED
    np.testing.assert_array_equal(selector.transform(X), X[:, selector.support_])
    assert not hasattr(selector, "feature_names_in_")
    assert selector.path_.encoding.column_names[1] == "x1=Kyiv"
    holes = FRAME[["city", "flag", "noise"]].to_numpy(dtype=object)
    holes[5, 0] = np.nan
    reduced = Selector(missing="level").fit(holes, Y).transform(holes)
    assert reduced.shape == (len(Y), 2)
    assert list(Selector().set_output(transform="pandas").fit_transform(X, y).columns) == ["x0", "x1", "x3"]


def test_names_that_are_numbers() -> None:
    X, y = COMPLETE.set_axis(range(8), axis=1), Y[COMPLETE.index]
    selector = Selector().fit(X, y)
    assert list(selector.transform(X).columns) == [0, 1, 3]
    assert list(Selector().set_output(transform="pandas").fit_transform(X, y).columns) == ["x0", "x1", "x3"]


def test_names_and_counts_are_checked() -> None:
    selector = Selector(missing="drop").fit(FRAME, Y)
    with pytest.raises(ValueError, match="feature names should match"):
        selector.transform(FRAME[FRAME.columns[::-1]])
    with pytest.raises(ValueError, match=r"feature names should match|X has 7 features"):
        selector.transform(FRAME.iloc[:, 1:])
    with pytest.raises(
        ValueError, match=r"y must contain target values, not the name 'y'; pass the column, or use select"
    ):
        Selector().fit(FRAME.assign(y=Y), "y")


def test_nothing_selected() -> None:
    noise = np.random.default_rng(0).normal(size=len(COMPLETE))
    selector = Selector().fit(COMPLETE, noise)
    with pytest.warns(UserWarning, match="No features were selected"):
        assert selector.transform(COMPLETE).shape == (len(COMPLETE), 0)


def test_clone_and_pickle() -> None:
    selector = Selector(missing="level", groups=("dose", "noi"), exclude=["dose"]).fit(FRAME, Y)
    assert clone(selector).get_params() == selector.get_params()
    again = pickle.loads(pickle.dumps(selector))
    assert again.path_ == selector.path_
    assert again.path_.encoding == selector.path_.encoding
    assert again.transform(FRAME).equals(selector.transform(FRAME))


def test_missing_numbers_pass_through_transform() -> None:
    X = FRAME[["dose", "count"]]
    selector = Selector(missing="drop", include="dose").fit(X, Y)
    np.testing.assert_array_equal(selector.transform(X), X.to_numpy()[:, selector.support_])
    with pytest.raises(ValueError, match="NaN"):
        Selector().fit(X.fillna(0), Y).transform(X)


# --- pipelines -------------------------------------------------------------------------------------------------------


def encoder() -> ColumnTransformer:
    """What follows a selection of factors: one-hot columns that ignore levels unknown to a fold."""
    text = make_column_selector(dtype_include=[object, "category", "string"])
    return ColumnTransformer([("text", OneHotEncoder(handle_unknown="ignore"), text)], remainder="passthrough")


def test_cross_validation_with_levels_absent_from_some_folds() -> None:
    X = COMPLETE.assign(rare=np.where(COMPLETE["rare"].eq("once"), "once", COMPLETE["noise"])).sort_values("city")
    y = Y[X.index]
    folds = KFold(6)  # without shuffling, so that every fold lacks a city in training or in test
    trained = [set(X["city"].iloc[train]) for train, _ in folds.split(X)]
    assert any(len(cities) < 6 for cities in trained)
    assert any(set(X["city"].iloc[test]) - trained[i] for i, (_, test) in enumerate(folds.split(X)))
    model = make_pipeline(Selector(), encoder(), LinearRegression())
    scores = cross_val_score(model, X, y, cv=folds)
    assert np.isfinite(scores).all()
    shuffled = cross_val_score(model, X, y, cv=KFold(5, shuffle=True, random_state=0))
    assert shuffled.mean() > 0.8


def test_cross_validation_of_classes_with_missing_values() -> None:
    frame, target = TABLES["penguins"]()
    frame = frame[frame["bill_depth_mm"].notna()].drop(columns="island")
    model = make_pipeline(Selector(missing="level"), encoder(), LinearDiscriminantAnalysis())
    model.set_params(columntransformer__sparse_threshold=0)
    assert cross_val_score(model, frame.drop(columns=target), frame[target], cv=5).mean() > 0.97


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_grid_search(library: str) -> None:
    X = LIBRARIES[library](COMPLETE)
    model = Pipeline([("select", Selector()), ("encode", encoder()), ("fit", LinearRegression())])
    model["select"].set_output(transform="pandas")
    grid = {"select__max_features": [1, 2, 3], "select__strategy": ["forward", "dropping"]}
    search = GridSearchCV(model, grid, cv=KFold(4, shuffle=True, random_state=0)).fit(X, Y[COMPLETE.index].to_numpy())
    assert search.best_params_["select__max_features"] == 3
    assert list(search.best_estimator_["select"].get_feature_names_out()) == SELECTED


@pytest.mark.parametrize(
    "groups", [("city_", "land_", "noise_"), lambda name: name.split("_")[0]], ids=["prefix", "callable"]
)
@pytest.mark.parametrize("drop", [None, "first"])
def test_one_hot_columns_in_a_pipeline_stay_together(groups: Any, drop: str | None) -> None:
    X, y = COMPLETE[["dose", "city", "land", "flag", "noise", "count"]], Y[COMPLETE.index]
    one_hot = OneHotEncoder(drop=drop, sparse_output=False, handle_unknown="ignore")
    encode = ColumnTransformer(
        [("text", one_hot, ["city", "land", "noise"])], remainder="passthrough", verbose_feature_names_out=False
    ).set_output(transform="pandas")
    model = clone(make_pipeline(encode, Selector(groups=groups), LinearRegression())).fit(X, y)
    found = model["selector"]
    assert set(found.get_feature_names_out()) >= {"dose", "flag"}
    cities = [name for name in found.feature_names_in_ if name.startswith("city_")]
    assert len(cities) == (5 if drop else 6)
    assert set(cities) < set(found.get_feature_names_out())
    direct = Selector().fit(X, y).path_
    assert found.path_.score == pytest.approx(direct.score, rel=1e-10)
    assert cross_val_score(model, X, y, cv=KFold(4, shuffle=True, random_state=1)).mean() > 0.8


# --- targets by name -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("library", LIBRARIES)
def test_targets_and_weights_by_name(library: str) -> None:
    rng = np.random.default_rng(5)
    weights, other = rng.integers(1, 4, len(COMPLETE)), rng.normal(size=len(COMPLETE))
    y = Y[COMPLETE.index].to_numpy()
    X = LIBRARIES[library](COMPLETE.assign(y=y, w=weights, z=other).reset_index(drop=True))
    assert select(X, "y", exclude=["w", "z"]).steps == select(COMPLETE, y).steps
    path = select(X, "y", sample_weight="w", exclude="z")
    assert path.feature_names == (*FRAME.columns, "z")
    assert path.weighted
    assert path.score == select(COMPLETE, y, sample_weight=weights).score
    assert (
        select(X, ["y", "z"], sample_weight="w").score == select(COMPLETE, np.c_[y, other], sample_weight=weights).score
    )
    assert select(X, "land", exclude=["city", "w"]).model == "discriminant"
    assert select(X, COMPLETE["land"].tolist(), exclude=["city", "land", "w"]).model == "discriminant"


def test_names_of_targets_are_checked() -> None:
    frame = COMPLETE.assign(income=Y[COMPLETE.index])
    with pytest.raises(
        ValueError, match=r"y names the column 'incomes', which X does not have; did you mean 'income'\?"
    ):
        select(frame, "incomes")
    with pytest.raises(ValueError, match=r"y names the column 'qq', .*; its columns are e.g. 'dose', 'city', 'land'"):
        select(frame, ["income", "qq"])
    with pytest.raises(ValueError, match=r"sample_weight names the column 'balanced', which X does not have"):
        select(frame, "income", sample_weight="balanced")
    with pytest.raises(ValueError, match="include contains 'income', which is not a feature of X"):
        select(frame, "income", include=["income"])
