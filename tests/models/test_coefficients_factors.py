"""Coefficients and predictions of tables with factors: those of R's lm, and of scikit-learn on encoded columns."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LinearRegression

from dropstep import select

GOLDEN = Path(__file__).parents[1] / "golden"


def mtcars() -> tuple[pd.DataFrame, dict[str, Any]]:
    """The table of the golden file, with its 0-1 columns joined to the factors that R encoded."""
    golden = json.loads((GOLDEN / "lm_mtcars.json").read_text())
    X = np.array(golden["X"])
    frame = pd.DataFrame(X[:, 4:], columns=golden["columns"][4:])
    frame.insert(0, "gear", np.select([X[:, 2] == 1, X[:, 3] == 1], ["4", "5"], "3"))
    frame.insert(0, "cyl", np.select([X[:, 0] == 1, X[:, 1] == 1], ["6", "8"], "4"))
    return frame.astype({"cyl": "category", "gear": "category"}).assign(mpg=golden["y"]), golden


def table(n: int = 200) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.standard_normal((n, 3)), columns=["a", "b", "c"])
    frame.insert(1, "site", pd.Categorical(rng.choice(["south", "east", "north"], n), ["north", "south", "east"]))
    frame["note"] = rng.choice(["x", "y"], n)
    return frame, 2 * frame["a"].to_numpy() + 3 * (frame["site"] == "east").to_numpy() + rng.standard_normal(n)


def encoded(frame: pd.DataFrame, names: tuple[str, ...]) -> np.ndarray:
    """Columns by their names in the coefficients."""
    columns = [name.split("=") for name in names]
    return np.column_stack([frame[c[0]] == c[1] if len(c) == 2 else frame[c[0]] for c in columns]).astype(float)


def test_coefficients_are_those_of_lm() -> None:
    frame, golden = mtcars()
    fit = select(frame, "mpg", include=[c for c in frame if c != "mpg"]).coefficients
    assert fit is not None
    assert fit.targets == ("mpg",)
    assert [name.replace("=", "") for name in fit.names] == golden["columns"]
    found = fit.to_frame()
    assert found.index[0] == "(intercept)"
    for column, name in (("estimate", "estimate"), ("std_error", "std_error"), ("statistic", "t")):
        np.testing.assert_allclose(found[column], golden[name], rtol=1e-10)
    np.testing.assert_allclose(found["p_value"], golden["p_value"], rtol=1e-8)
    assert (fit.r2, fit.adj_r2) == pytest.approx((golden["r2"], golden["adj_r2"]), rel=1e-12)


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow", "objects"])
def test_predictions_of_every_kind_of_table(library: str) -> None:
    frame, y = table()
    given: Any = {
        "pandas": lambda: frame,
        "polars": lambda: pl.from_pandas(frame),
        "pyarrow": lambda: pa.Table.from_pandas(frame),
        "objects": lambda: frame.astype({"site": object}).to_numpy(),
    }[library]()
    path = select(given, y)
    assert path.coefficients is not None
    assert set(path.selected) == {0, 1}
    names = (
        path.coefficients.names
        if library != "objects"
        else tuple(n.replace("x0", "a").replace("x1", "site") for n in path.coefficients.names)
    )
    X = encoded(frame, names)
    expected = LinearRegression().fit(X, y)
    np.testing.assert_allclose(path.predict(given), expected.predict(X), rtol=1e-10)
    np.testing.assert_allclose(
        path.to_estimator().predict(pd.DataFrame(X, columns=path.coefficients.names) if library != "objects" else X),
        expected.predict(X),
        rtol=1e-10,
    )
    if library != "objects":
        few = frame[["site", "a"]]
        np.testing.assert_allclose(path.predict(few), expected.predict(X), rtol=1e-10)


def test_an_unseen_level_is_the_baseline_and_a_missing_one_is_refused() -> None:
    frame, y = table()
    path = select(frame, y)
    new = pd.DataFrame({"a": [0.0, 0.0], "site": ["north", "west"]})
    predicted = path.predict(new)
    assert predicted[0] == predicted[1]
    with pytest.raises(ValueError, match=r"NaN or infinity in 'site' \(1 row in total\)"):
        path.predict(pd.DataFrame({"a": [0.0], "site": [None]}))
    with pytest.raises(ValueError, match="X has no column 'a', which is selected"):
        path.predict(frame[["site"]])
    with pytest.raises(ValueError, match="'a' must be a number, but X contains text or categories in it"):
        path.predict(new.assign(a=["p", "q"]))


def test_numbers_where_text_is_expected() -> None:
    """None of them would be a known level, and all predictions would be those of the baseline."""
    frame, y = table()
    codes = {"north": "1", "south": "2", "east": "3"}
    coded = frame.assign(site=frame["site"].astype(object).map(codes).astype("category"))
    path = select(coded, y)
    with pytest.raises(ValueError, match="'site' must be text, such as '1', but X contains numbers in it"):
        path.predict(coded.assign(site=coded["site"].astype(int)))
    with pytest.raises(ValueError, match="NaN or infinity in 'site'"):
        path.predict(coded.assign(site=np.nan))


def test_missing_values_that_only_new_rows_have() -> None:
    """Where missing values are levels, they are an unseen level as any other; a missing boolean is a missing number."""
    frame, y = table()
    frame["flag"] = frame["b"] > 0
    new = frame.head(2).assign(site=["north", None], a=0.0, flag=True)
    include = ["site", "flag"]
    predicted = select(frame, y, include=include, missing="level").predict(new)
    assert predicted[0] == predicted[1]
    path = select(frame, y, include=include)
    with pytest.raises(ValueError, match="NaN or infinity in 'site'"):
        path.predict(new)
    flags = pd.array([True, None], dtype="boolean")
    with pytest.raises(ValueError, match="NaN or infinity in 'flag'"):
        path.predict(new.assign(site="north", flag=flags))
    assert path.predict(new.head(1).assign(flag=flags[:1])) == path.predict(new.head(1))


def test_classes_are_those_of_scikit_learn() -> None:
    frame, y = table()
    labels = np.where(y > 1, "high", "low")
    path = select(frame, labels)
    assert path.coefficients is not None
    X = encoded(frame, path.coefficients.names)
    lda = LinearDiscriminantAnalysis().fit(X, labels)
    np.testing.assert_array_equal(path.predict(frame), lda.predict(X))


def test_the_columns_of_an_estimator_are_the_encoded_ones() -> None:
    frame, y = table()
    path = select(frame, y)
    assert path.encoding is not None
    columns = pd.DataFrame(path.encoding.take(path.selected).encode(frame), columns=path.coefficients.names)
    np.testing.assert_allclose(path.to_estimator().predict(columns), path.predict(frame), rtol=1e-12)
