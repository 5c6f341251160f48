"""Predictions of a path, and its conversion to scikit-learn, against scikit-learn's own fits."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, load_wine
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LinearRegression
from sklearn.utils.validation import check_is_fitted

from dropstep import SelectionPath, select

CLASSES = {"iris": load_iris, "wine": load_wine, "breast_cancer": load_breast_cancer}


@pytest.fixture
def diabetes() -> tuple[pd.DataFrame, pd.Series]:
    return load_diabetes(return_X_y=True, as_frame=True)


def names_of(data: Any) -> np.ndarray:
    return data.target_names[data.target]


# --- regression ------------------------------------------------------------------------------------------------------


def test_a_regression_is_that_of_sklearn(diabetes: tuple[pd.DataFrame, pd.Series]) -> None:
    X, y = diabetes
    path = select(X, y)
    chosen = X[list(path.selected_names)]
    theirs, ours = LinearRegression().fit(chosen, y), path.to_estimator()
    check_is_fitted(ours)
    assert type(ours) is LinearRegression
    assert ours.coef_ is path.coefficients.coef
    assert ours.intercept_ == path.coefficients.intercept
    assert ours.n_features_in_ == len(path.selected)
    assert list(ours.feature_names_in_) == list(path.selected_names)
    np.testing.assert_allclose(ours.predict(chosen), theirs.predict(chosen), rtol=1e-11)
    np.testing.assert_allclose(path.predict(X), theirs.predict(chosen), rtol=1e-11)
    assert ours.score(chosen, y) == pytest.approx(path.r2)
    with pytest.raises(ValueError, match="feature names should match"):
        ours.predict(X)


def test_several_targets_and_weights(diabetes: tuple[pd.DataFrame, pd.Series]) -> None:
    X, y = diabetes[0].to_numpy(), diabetes[1].to_numpy()
    Y = np.c_[y, y**2 + 100 * X[:, 0]]
    weights = np.random.default_rng(0).uniform(0.5, 3, size=len(X))
    path = select(X, Y, sample_weight=weights)
    chosen = X[:, list(path.selected)]
    theirs, ours = LinearRegression().fit(chosen, Y, sample_weight=weights), path.to_estimator()
    assert not hasattr(ours, "feature_names_in_")
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-9)
    np.testing.assert_allclose(ours.predict(chosen), theirs.predict(chosen), rtol=1e-10)
    np.testing.assert_allclose(path.predict(X), theirs.predict(chosen), rtol=1e-10)


# --- classes ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", ["gram", "columns"])
@pytest.mark.parametrize("name", CLASSES)
def test_predictions_of_classes_are_those_of_sklearn(name: str, solver: str) -> None:
    data = CLASSES[name]()
    X, y = data.data, names_of(data)
    path = select(X, y, solver=solver)
    chosen = X[:, list(path.selected)]
    theirs, ours = LinearDiscriminantAnalysis(solver="lsqr").fit(chosen, y), path.to_estimator()
    check_is_fitted(ours)
    assert type(ours) is LinearDiscriminantAnalysis
    np.testing.assert_array_equal(ours.predict(chosen), theirs.predict(chosen))
    np.testing.assert_array_equal(path.predict(X), theirs.predict(chosen))
    np.testing.assert_allclose(ours.predict_proba(chosen), theirs.predict_proba(chosen), atol=1e-10)
    np.testing.assert_allclose(ours.priors_, theirs.priors_)
    np.testing.assert_allclose(ours.means_, theirs.means_)
    np.testing.assert_array_equal(ours.classes_, theirs.classes_)
    assert (path.predict(X) != y).any() or name == "wine"


@pytest.mark.parametrize("name", CLASSES)
def test_canonical_variates_are_those_of_sklearn(name: str) -> None:
    """Up to their sign; before version 1.8 scikit-learn divided by n - n_classes."""
    data = CLASSES[name]()
    path = select(data.data, names_of(data))
    chosen = data.data[:, list(path.selected)]
    theirs, ours = LinearDiscriminantAnalysis().fit(chosen, names_of(data)), path.to_estimator()
    a, b = ours.transform(chosen), theirs.transform(chosen)
    assert a.shape == b.shape
    for mine, other in zip(a.T, b.T, strict=True):
        assert abs(np.corrcoef(mine, other)[0, 1]) == pytest.approx(1, abs=1e-9)
    np.testing.assert_allclose(ours.explained_variance_ratio_, theirs.explained_variance_ratio_, rtol=1e-9)
    within = a - np.array([a[data.target == c].mean(axis=0) for c in range(len(data.target_names))])[data.target]
    np.testing.assert_allclose(within.T @ within / len(a), np.eye(a.shape[1]), atol=1e-9)
    assert list(ours.get_feature_names_out()) == list(theirs.get_feature_names_out())


def test_priors_count_weights() -> None:
    data = load_iris()
    X, y = data.data, names_of(data)
    weights = np.random.default_rng(1).integers(1, 4, size=len(X))
    path, rows = select(X, y, sample_weight=weights), np.repeat(np.arange(len(X)), weights)
    theirs = LinearDiscriminantAnalysis(solver="lsqr").fit(X[rows][:, list(path.selected)], y[rows])
    ours = path.to_estimator()
    np.testing.assert_allclose(ours.priors_, theirs.priors_)
    chosen = X[:, list(path.selected)]
    np.testing.assert_allclose(ours.predict_proba(chosen), theirs.predict_proba(chosen), atol=1e-11)


def test_a_column_that_depends_on_others_within_classes() -> None:
    """The group of a full one-hot encoding: predictions are those without the redundant column."""
    rng = np.random.default_rng(2)
    codes, y = rng.integers(0, 3, size=300), rng.integers(0, 2, size=300)
    codes = np.where(rng.random(300) < 0.5, y, codes)
    X = np.column_stack([codes == level for level in range(3)]).astype(float)
    path = select(X, y, groups=[[0, 1, 2]])
    theirs = LinearDiscriminantAnalysis(solver="lsqr").fit(X[:, :2], y)
    assert path.selected == (0, 1, 2)
    np.testing.assert_array_equal(path.predict(X), theirs.predict(X[:, :2]))
    np.testing.assert_allclose(path.to_estimator().predict_proba(X), theirs.predict_proba(X[:, :2]), atol=1e-12)


def test_labels_keep_their_type() -> None:
    X, y = load_iris(return_X_y=True)
    assert select(X, y).predict(X).dtype.kind == "i"
    assert select(X, y == 1).predict(X).dtype == bool
    assert set(select(X, y.astype(float)).predict(X).tolist()) == {0.0, 1.0, 2.0}


def test_an_estimator_can_be_cloned_and_fitted_again() -> None:
    X, y = load_wine(return_X_y=True)
    path = select(X, y)
    chosen = X[:, list(path.selected)]
    again = clone(path.to_estimator()).fit(chosen, y)
    np.testing.assert_array_equal(again.predict(chosen), path.predict(X))


# --- X ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame, pa.table])
def test_a_frame_needs_the_selected_columns_only(library: Any, diabetes: tuple[pd.DataFrame, pd.Series]) -> None:
    X, y = diabetes
    path = select(X, y)
    columns = {name: X[name].to_numpy() for name in reversed(path.selected_names)}
    np.testing.assert_allclose(path.predict(library({"id": ["text"] * len(X), **columns})), path.predict(X), rtol=1e-14)


def test_arrays_go_by_position(diabetes: tuple[pd.DataFrame, pd.Series]) -> None:
    X, y = diabetes
    named, unnamed = select(X, y), select(X.to_numpy(), y)
    np.testing.assert_allclose(named.predict(X.to_numpy()), named.predict(X), rtol=1e-14)
    np.testing.assert_allclose(unnamed.predict(X), unnamed.predict(X.to_numpy()), rtol=1e-14)
    with pytest.raises(ValueError, match=r"X has shape \(\d+, 9\), but the features were selected among 10; pass all"):
        named.predict(X.to_numpy()[:, :9])


def test_a_selected_column_that_is_missing(diabetes: tuple[pd.DataFrame, pd.Series]) -> None:
    X, y = diabetes
    with pytest.raises(ValueError, match="X has no column 'bmi', which is selected; pass a frame that contains it"):
        select(X, y).predict(X.drop(columns="bmi"))


def test_missing_values_are_refused_in_selected_columns_only(diabetes: tuple[pd.DataFrame, pd.Series]) -> None:
    X, y = diabetes
    path = select(X, y)
    assert "age" not in path.selected_names
    X = X.copy()
    X.loc[3, "age"] = np.nan
    assert len(path.predict(X)) == len(X)
    X.loc[3, "bmi"] = np.nan
    for given in (X, X.to_numpy()):
        with pytest.raises(ValueError, match="X contains NaN or infinity in 'bmi'"):
            path.predict(given)


def test_nothing_selected() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(50, 4)), rng.normal(size=50)
    path = select(X, y)
    assert path.selected == ()
    np.testing.assert_allclose(path.predict(X[:3]), [y.mean()] * 3)
    with pytest.raises(ValueError, match="no feature is selected, and scikit-learn has no estimator without features"):
        path.to_estimator()


def test_a_model_without_coefficients() -> None:
    path: SelectionPath = replace(select(*load_iris(return_X_y=True)), coefficients=None, model="forest")
    assert path.r2 is None
    assert path.adj_r2 is None
    for method in (lambda: path.predict(np.zeros((2, 4))), path.to_estimator):
        with pytest.raises(ValueError, match="model 'forest' has no coefficients; fit an estimator on the selected"):
            method()
