"""Input: what select and Selector read, and what they reject, in one sentence with the value and the way out."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression
from sklearn.utils.validation import check_is_fitted

from dropstep import AIC, BIC, EBIC, MallowsCp, Moments, Selector, Significance, StopReason, Trace, select
from dropstep.data.frame import as_table
from dropstep.data.table import as_weights, refuse_missing
from dropstep.data.target import as_target

NAMES = ("age", "bmi", "blood", "dose", "east")
N = 60
_rng = np.random.default_rng(2019)
X = _rng.normal(size=(N, 5))
Y = 2 * X[:, 1] + X[:, 3] + _rng.normal(size=N)
CLASSES = np.where(X[:, 0] + 0.3 * _rng.normal(size=N) > 0, "ill", "well")
FRAME = pd.DataFrame(X, columns=NAMES)

DATES = pd.date_range("2020-01-01", periods=N)


def with_column(values: Any, name: str = "extra") -> pd.DataFrame:
    return FRAME.assign(**{name: values})


def with_value(value: Any, *places: tuple[int, int], at: Any = FRAME) -> Any:
    changed = at.copy()
    for row, column in places:
        if isinstance(changed, pd.DataFrame):
            changed.iloc[row, column] = value
        else:
            changed[row, column] = value
    return changed


def refused(X: Any, y: Any, sample_weight: Any = None, **params: Any) -> str:
    """The message with which both select and Selector reject the input; the Selector stays unfitted and unchanged."""
    with pytest.raises((ValueError, TypeError)) as by_select:
        select(X, y, sample_weight=sample_weight, **params)
    selector = Selector(**params)
    before = selector.get_params()
    with pytest.raises((ValueError, TypeError)) as by_selector:
        selector.fit(X, y, sample_weight=sample_weight)
    sentence = str(by_select.value)
    assert str(by_selector.value) == sentence
    assert type(by_selector.value) is type(by_select.value)
    after = selector.get_params()
    assert all(after[name] is before[name] for name in before)
    assert set(vars(selector)) == set(before)
    with pytest.raises(NotFittedError):
        check_is_fitted(selector)
    assert "\n" not in sentence
    return sentence


def says(sentence: str, *words: str) -> None:
    for word in words:
        assert word in sentence, f"{word!r} is not in: {sentence}"


# --- X ---------------------------------------------------------------------------------------------------------------

MISSING = {
    "nan": (with_value(np.nan, (3, 1)), ["'bmi' (1 row in total)"]),
    "inf": (with_value(np.inf, (3, 1), (4, 2)), ["'bmi', 'blood' (2 rows in total)"]),
    "minus inf": (with_value(-np.inf, (3, 1), (3, 2)), ["'bmi', 'blood' (1 row in total)"]),
    "both infinities": (pd.concat([with_value(np.inf, (3, 1))[:30], with_value(-np.inf, (33, 1))[30:]]), ["'bmi'"]),
    "array": (with_value(np.nan, (3, 1), at=X), ["column 1 (1 row in total)"]),
    "float32": (with_value(np.nan, (3, 1), at=X).astype(np.float32), ["column 1"]),
    "large": (with_value(np.nan, (7, 2), at=np.random.default_rng(0).normal(size=(N, 6000))), ["column 2 (1 row"]),
    "many columns": (with_value(np.nan, *((1, j) for j in range(9)), at=np.ones((N, 9))), ["column 4 and 4 more"]),
    "polars": (pl.DataFrame(with_value(np.nan, (3, 1))), ["'bmi'"]),
    "polars null": (pl.DataFrame(FRAME).with_columns(extra=pl.Series([1, None] * 30)), ["'extra' (30 rows"]),
    "polars null boolean": (pl.DataFrame(FRAME).with_columns(extra=pl.Series([True, None] * 30)), ["'extra'"]),
    "pyarrow null": (pa.table(FRAME).append_column("extra", pa.array([True, None] * 30)), ["'extra'"]),
    "Int64": (with_column(pd.array([1, None] * 30, dtype="Int64")), ["'extra' (30 rows"]),
    "boolean": (with_column(pd.array([True, None] * 30, dtype="boolean")), ["'extra'"]),
    "Float64": (with_column(pd.array([0.5, None] * 30, dtype="Float64")), ["'extra'"]),
    "int64[pyarrow]": (with_column(pd.array([1, None] * 30, dtype="int64[pyarrow]")), ["'extra'"]),
    "None among objects": (with_column(np.array([1.5, None] * 30, dtype=object)), ["'extra'"]),
    "masked": (np.ma.masked_array(X, mask=np.arange(N * 5).reshape(N, 5) == 6), ["column 1 (1 row in total)"]),
}


@pytest.mark.parametrize("case", MISSING)
@pytest.mark.parametrize("y", [Y, CLASSES], ids=["numbers", "classes"])
def test_missing_values_are_named(case: str, y: Any) -> None:
    table, words = MISSING[case]
    sentence = refused(table, y)
    if "boolean" in case or case == "pyarrow null":
        says(sentence, "missing values", "missing='level'", "missing='drop' to ignore these rows", *words)
    else:
        advice = "remove these rows (select and Selector do with missing='drop') or columns, or impute the values"
        says(sentence, "NaN or infinity", advice, *words)


TEXT = ["low", "high"] * 30
NUMERALS = ["1.5", "2"] * 30
NO_NUMBERS: dict[str, tuple[Any, list[str]]] = {
    "numerals in lists": ([[1.0, text] for text in NUMERALS], ["numbers stored as text in column 1 (such as '1.5')"]),
    "numerals in pandas": (with_column(NUMERALS), ["numbers stored as text in 'extra' (such as '1.5')"]),
    "numerals in polars": (pl.DataFrame(with_column(NUMERALS)), ["numbers stored as text in 'extra'"]),
    "numerals in pyarrow": (pa.table(with_column(NUMERALS)), ["numbers stored as text in 'extra'"]),
    "numerals in an array": (X.astype(str), ["numbers stored as text in column 0", "astype(float)"]),
    "numerals among objects": (X.astype(str).astype(object), ["numbers stored as text in column 0"]),
    "numerals and text": (with_column(TEXT).assign(more=NUMERALS), ["text in 'more' (such as '1.5')", "categorical"]),
    "numerals and a word": (with_column([*NUMERALS[1:], "oh"]), ["text in 'extra' (such as '1.5')", "(such as 'oh')"]),
    "text among numbers": (with_column([1.5, "oh"] * 30), ["text and other values (such as 1.5) in 'extra'"]),
    "complex": (X.astype(complex), ["Complex data not supported", "X.real"]),
    "dict": (with_value({"a": 1}, (0, 2), at=X.astype(object)), ["not a number in column 2", "not 'dict'"]),
}  # fmt: skip


@pytest.mark.parametrize("case", NO_NUMBERS)
def test_what_is_no_number_is_named(case: str) -> None:
    table, words = NO_NUMBERS[case]
    says(refused(table, Y), *words)


NO_FEATURES: dict[str, tuple[Any, str]] = {
    "dicts in cells": (with_column([{"a": 1}] * N), "'extra'"),
    "lists in cells": (pl.DataFrame({"x": X[:, 0], "l": [[1]] * N}), "'l'"),
    "dates": (with_column(DATES), "'extra'"),
    "dates with a zone": (with_column(DATES.tz_localize("UTC")), "'extra'"),
    "date objects": (with_column(np.array(DATES.date, dtype=object)), "'extra'"),
    "dates as text": (with_column(DATES.strftime("%d/%m/%Y")), "'extra'"),
    "durations": (with_column(pd.to_timedelta(range(N), unit="s")), "'extra'"),
    "periods": (with_column(DATES.to_period("D")), "'extra'"),
    "polars dates": (pl.DataFrame(with_column(DATES)), "'extra'"),
    "polars durations": (pl.DataFrame(FRAME).with_columns(long=[timedelta(days=i) for i in range(N)]), "'long'"),
    "pyarrow dates": (pa.table({"x": X[:, 0], "day": [date(2020, 1, 1)] * N}), "'day'"),
}


@pytest.mark.parametrize("case", NO_FEATURES)
def test_dates_and_lists_are_ignored_with_a_note_unless_a_parameter_names_them(case: str) -> None:
    table, name = NO_FEATURES[case]
    path = select(table, Y)
    assert path.notes[0] == f"ignored columns with dates or lists: {name} (derive numbers such as the year)"
    assert path.excluded == (np.shape(table)[1] - 1,)
    says(refused(table, Y, include=name.strip("'")), f"{name} holds dates or lists, which cannot be features; derive")


@pytest.mark.parametrize(
    ("table", "why"),
    [
        (pd.DataFrame({"when": DATES}), "columns with dates or lists: 'when'"),
        (DATES.to_numpy().reshape(-1, 1), "columns with dates or lists: column 0"),
        (FRAME * np.nan, "blank columns: 'age', 'bmi', 'blood', 'dose', 'east'"),
        (np.full((N, 9), np.nan), "blank columns: column 0, column 1, column 2, column 3, column 4 and 4 more"),
        (pd.DataFrame({"id": [f"r{i}" for i in range(N)]}), "probably identifiers: 'id' (60 levels)"),
    ],
    ids=["dates", "array of dates", "blank", "blank array", "identifiers"],
)
def test_without_a_feature_the_reason_is_given(table: Any, why: str) -> None:
    says(refused(table, Y), "no feature remains: every column of X is ignored or excluded; ignored", why)


NO_TABLE: dict[str, tuple[Any, list[str]]] = {
    "no rows": (X[:0], ["empty", "0 sample(s) (shape=(0, 5))", "pass a table with rows"]),
    "no features": (X[:, :0], ["empty", "0 feature(s) (shape=(60, 0))"]),
    "frame without rows": (FRAME[:0], ["empty", "shape=(0, 5)"]),
    "frame without columns": (FRAME[[]], ["empty", "shape=(60, 0)"]),
    "one column": (X[:, 0], ["2D array", "shape is (60,)", "X.reshape(-1, 1)"]),
    "Series": (FRAME["age"], ["2D array", "shape is (60,)"]),
    "cube": (X[None], ["2D array", "shape is (1, 60, 5)"]),
    "None": (None, ["2D array", "shape is ()"]),
    "number": (3.0, ["2D array"]),
    "text": ("table.csv", ["table.csv: no such file"]),
    "ragged": ([[1.0, 2.0], [3.0]], ["different lengths", "one value per feature"]),
    "structured": (np.zeros(N, dtype=[("a", float), ("b", float)]), ["2D array", "shape is (60,)"]),
    "sparse matrix without rows": (sparse.csr_matrix((0, 5)), ["empty", "0 sample(s) (shape=(0, 5))"]),
    "sparse row": (sparse.coo_array(X[0]), ["2D array", "shape is (5,)"]),
    "sparse complex": (sparse.csr_array(X.astype(complex)), ["Complex data not supported", "X.real"]),
    "frame with a sparse column": (
        FRAME.assign(age=FRAME["age"].astype(pd.SparseDtype(float))),
        ["sparse columns next to others", "'age'", "make all of them sparse, or none"],
    ),
    "frame filled with NaN": (
        FRAME.astype(pd.SparseDtype(float)),
        ["fill value is not 0: 'age'", "X.sparse.to_dense()"],
    ),
    "lazy": (pl.DataFrame(FRAME).lazy(), ["y must be the name of a column", "got ndarray"]),
    "same name twice": (FRAME.set_axis(list("abcda"), axis=1), ["must be unique", "'a' appears more than once"]),
    "names and numbers": (
        FRAME.set_axis(["a", 1, "c", "d", "e"], axis=1),
        ["1 is not a string", "astype(str)"],
    ),
}


@pytest.mark.parametrize("case", NO_TABLE)
def test_what_is_no_table_is_refused(case: str) -> None:
    table, words = NO_TABLE[case]
    says(refused(table, Y), *words)


def test_excluded_columns_may_contain_anything() -> None:
    path = select(X, Y)
    for cells in (DATES, NUMERALS, [1.5, "oh"] * 30, [{"a": 1}] * N, [[1]] * N, [None] * N):
        assert select(with_column(cells), Y, exclude="extra").score == path.score


def test_lists_of_numbers_and_text() -> None:
    """NumPy would turn the numbers into text."""
    rows = [[*numbers, text] for numbers, text in zip(X.tolist(), TEXT, strict=True)]
    path = select(rows, Y)
    assert path.encoding is not None
    assert path.encoding.column_names[-1] == "x5=low"
    assert path.selected == select(with_column(TEXT), Y).selected
    np.testing.assert_array_equal(path.predict(rows), path.predict(np.array(rows, dtype=object)))


def test_a_record_batch_is_a_table() -> None:
    table = pa.table(with_column(TEXT))
    (batch,) = table.to_batches()
    assert select(batch, Y) == select(table, Y)
    (numbers,) = pa.table(FRAME).to_batches()
    assert select(numbers, Y) == select(pa.table(FRAME), Y)


def test_values_whose_sums_are_too_large_are_named() -> None:
    table = as_table(FRAME)
    refuse_missing(table, np.ones(5))
    for sums in (np.array([1.0, np.inf, 1, 1, 1]), np.array([[1.0, 1, 1, 1, 1], [1.0, np.inf, 1, 1, 1]])):
        with pytest.raises(ValueError, match="the values of 'bmi' are too large to be summed in float64; rescale them"):
            refuse_missing(table, sums)
    with np.errstate(over="ignore"), pytest.raises(ValueError, match="too large"):
        Moments.of(np.where(np.arange(N) < N // 2, 1.7e308, -1.7e308)[:, None], Y)
    with pytest.raises(ValueError, match=r"the squares of column 0, column 1 .* are out of the range of float64"):
        Moments.of(np.full((N, 2), 1e307), Y)


# What select and Selector read as the same table: the wanted path is that of plain float64 rows.
SAME: dict[str, Callable[[], Any]] = {
    "list of lists": lambda: X.tolist(),
    "list of arrays": lambda: list(X),
    "list of tuples": lambda: [tuple(row) for row in X],
    "Fortran order": lambda: np.asfortranarray(X),
    "every other row": lambda: np.repeat(X, 2, axis=0)[::2],
    "every other column": lambda: np.repeat(X, 2, axis=1)[:, ::2],
    "reversed twice": lambda: X[::-1, ::-1].copy()[::-1, ::-1],
    "objects": lambda: X.astype(object),
    "decimals": lambda: np.array([[Decimal(float(x)) for x in row] for row in X]),
    "longdouble": lambda: X.astype(np.longdouble),
    "the other byte order": lambda: X.astype(">f8"),
    "sparse matrix": lambda: sparse.csr_matrix(X),
    "sparse array": lambda: sparse.csc_array(X),
    "sparse frame": lambda: FRAME.astype(pd.SparseDtype(float, 0)),
    "masked without a mask": lambda: np.ma.masked_array(X),
    "pandas": lambda: FRAME,
    "pandas with an index": lambda: FRAME.set_axis(range(100, 100 + N)),
    "pandas, columns that are numbers": lambda: pd.DataFrame(X),
    "pandas, two levels of columns": lambda: FRAME.set_axis(pd.MultiIndex.from_product([["a"], range(5)]), axis=1),
    "Float64": lambda: FRAME.astype("Float64"),
    "double[pyarrow]": lambda: FRAME.astype("double[pyarrow]"),
    "a column of objects": lambda: FRAME.astype({"age": object}),
    "polars": lambda: pl.DataFrame(FRAME),
    "pyarrow": lambda: pa.table(FRAME),
    "pyarrow in chunks": lambda: pa.concat_tables([pa.table(FRAME[:20]), pa.table(FRAME[20:])]),
}


@pytest.mark.parametrize("case", SAME)
def test_tables_that_are_read_alike(case: str) -> None:
    path = select(X, Y)
    read = SAME[case]()
    again = select(read, Y)
    assert (again.selected, again.ranking) == (path.selected, path.ranking)
    assert math.isclose(again.score, path.score, rel_tol=1e-12)
    selector = Selector().fit(read, Y)
    assert selector.path_ == again
    named = getattr(read, "columns", [0])[0] == "age" or hasattr(read, "column_names")
    assert again.feature_names == (NAMES if named else None)
    assert hasattr(selector, "feature_names_in_") == named


@pytest.mark.parametrize("dtype", [bool, np.int8, np.uint16, np.int64, np.float16, np.float32])
def test_number_types_are_read_as_what_they_hold(dtype: type) -> None:
    table = (3 * X > 0).astype(dtype) if dtype is bool else np.abs(10 * X).astype(dtype)
    path = select(table.astype(np.float64), Y)
    for read in (table, pd.DataFrame(table, columns=NAMES), pl.DataFrame(table.astype(float), schema=NAMES)):
        assert select(read, Y).selected == path.selected


def test_mixed_column_types() -> None:
    mixed = FRAME.assign(
        whole=np.arange(N), yes=X[:, 0] > 0, maybe=pd.array(X[:, 1] > 0, dtype="boolean"), short=X[:, 2].astype("f4")
    )
    path = select(mixed.astype(np.float64), Y)
    for read in (mixed, pl.DataFrame(mixed), pa.table(mixed)):
        again = select(read, Y)
        assert (again.selected, again.feature_names) == (path.selected, path.feature_names)
        assert math.isclose(again.score, path.score, rel_tol=1e-12)


def test_float_arrays_are_not_copied() -> None:
    for array in (X, np.asfortranarray(X), X.astype(np.float32), X[::2], X[:, 1:3]):
        assert np.shares_memory(as_table(array).values, array)
    assert np.shares_memory(as_table(FRAME).values, FRAME.to_numpy())


# --- y ---------------------------------------------------------------------------------------------------------------

BAD_TARGETS: dict[str, tuple[Any, list[str]]] = {
    "none": (None, ["requires y", "y is None"]),
    "short": (Y[:-1], ["same number of rows", "X has 60, y has 59"]),
    "long": (np.r_[Y, 1.0], ["X has 60, y has 61"]),
    "scalar": (3.0, ["one column", "shape is ()"]),
    "dict": ({"a": 1}, ["one column"]),
    "cube": (Y.reshape(-1, 1, 1), ["one column", "shape is (60, 1, 1)"]),
    "no column": (np.empty((N, 0)), ["shape is (60, 0)"]),
    "nan": (np.where(np.arange(N) < 1, np.nan, Y), ["1 missing or infinite value ", "remove these rows from X and y"]),
    "inf": (np.where(np.arange(N) < 2, np.inf, Y), ["2 missing or infinite values"]),
    "None among text": (["a", None] + ["b"] * 58, ["1 missing"]),
    "nan among text": (np.array(["a", np.nan] + ["b"] * 58, dtype=object), ["1 missing"]),
    "NA among text": (pd.array(["a", None] + ["b"] * 58, dtype="string"), ["1 missing"]),
    "NA among numbers": (pd.array([1, None] + [2] * 58, dtype="Int64"), ["1 missing"]),
    "category without a value": (pd.Categorical([None, *CLASSES[1:]]), ["1 missing"]),
    "polars null": (pl.Series([None, *CLASSES[1:]]), ["1 missing"]),
    "masked": (np.ma.masked_array(Y, mask=np.arange(N) == 3), ["1 missing"]),
    "constant number": (np.full(N, 2.5), ["y is constant (2.5)", "a target that varies"]),
    "single class": (["ill"] * N, ["only one class (ill)", "at least 2 classes"]),
    "single whole number": (np.ones(N), ["y is constant (1)", "a target that varies"]),
    "class of one row": (["lone"] + ["a"] * 30 + ["b"] * 29, ["'lone' has 1 row ", "at least 2", "join or remove"]),
    "text and numbers": (np.array(["a", 1] * 30, dtype=object), ["mixes text and numbers ('a' and 1)"]),
    "dates": (DATES, ["dates or times", "days since a reference date"]),
    "date objects": (list(DATES.date), ["dates or times"]),
    "durations": (np.arange(N).astype("timedelta64[D]"), ["dates or times"]),
    "complex": (Y.astype(complex), ["Complex data not supported", "y must be real"]),
    "dependent targets": (np.c_[Y, X[:, 0], Y - X[:, 0]], ["linearly dependent"]),
    "one target twice": (np.c_[Y, Y], ["linearly dependent"]),
    "one constant target": (np.c_[Y, np.ones(N)], ["target 1 of y is constant (1)"]),
    "too large": (Y * 1e200, ["y has values up to", "whose squares are too large for float64; rescale y"]),
    "too small": (Y * 1e-200, ["the range of y is", "whose square is too small for float64; rescale y"]),
    "one target too large": (np.c_[Y, X[:, 0] * 1e200], ["target 1 of y has values up to", "rescale y"]),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD_TARGETS)
def test_targets_that_are_refused(case: str) -> None:
    y, words = BAD_TARGETS[case]
    says(refused(FRAME, y), *words)


def test_targets_that_do_not_fit_the_model() -> None:
    says(refused(X, CLASSES, model="linear"), "text (such as", "requires numbers", "model='discriminant'")
    says(refused(X, Y, model="discriminant"), "continuous values (such as", "model='linear'")
    says(refused(X, np.c_[CLASSES, CLASSES], model="discriminant"), "y has 2 columns", "one column of class labels")
    says(refused(X, np.ones(N), model="linear"), "y is constant (1)")
    says(refused(X, np.full(N, 0.3) + np.tile([0, 5e-17], 30), model="linear"), "y is constant (0.3)")
    says(refused(X, Y, model="ridge"), "'linear'", "'discriminant'", "'ridge'")
    says(refused(X[:1], Y[:1], model="linear"), "X has 1 sample (n_samples=1)", "at least 3")
    says(refused(X[:2], Y[:2]), "at least 3 rows", "there are 2")
    says(refused(X[:3], [0, 0, 1]), "class '1' has 1 row")


SAME_NUMBERS: dict[str, Callable[[], Any]] = {
    "list": lambda: Y.tolist(),
    "column": lambda: Y[:, None],
    "Series": lambda: pd.Series(Y, index=range(100, 100 + N)),
    "frame of one column": lambda: pd.DataFrame({"y": Y}),
    "Float64": lambda: pd.array(Y, dtype="Float64"),
    "polars": lambda: pl.Series(Y),
    "pyarrow": lambda: pa.array(Y),
    "pyarrow in chunks": lambda: pa.chunked_array([Y[:20], Y[20:]]),
    "objects": lambda: Y.astype(object),
    "masked without a mask": lambda: np.ma.masked_array(Y),
}


@pytest.mark.parametrize("case", SAME_NUMBERS)
def test_numbers_that_are_read_alike(case: str) -> None:
    y = SAME_NUMBERS[case]()
    assert select(X, y) == select(X, Y)
    assert Selector().fit(X, y).path_ == select(X, Y)


TWO = np.c_[Y, X[:, 0] - X[:, 2] + _rng.normal(size=N)]
SAME_TARGETS: dict[str, Callable[[], Any]] = {
    "list": lambda: TWO.tolist(),
    "pandas": lambda: pd.DataFrame(TWO, columns=["y", "z"]),
    "polars": lambda: pl.DataFrame(TWO, schema=["y", "z"]),
    "pyarrow": lambda: pa.table({"y": TWO[:, 0], "z": TWO[:, 1]}),
}


@pytest.mark.parametrize("case", SAME_TARGETS)
def test_several_targets_that_are_read_alike(case: str) -> None:
    path = select(X, TWO)
    assert path.model == "linear"
    assert set(path.selected) >= {0, 1, 2}
    for again in (select(X, SAME_TARGETS[case]()), Selector().fit(FRAME, SAME_TARGETS[case]()).path_):
        assert (again.selected, again.ranking) == (path.selected, path.ranking)
        assert math.isclose(again.score, path.score, rel_tol=1e-12)


ILL = CLASSES == "ill"
SAME_CLASSES: dict[str, Callable[[], Any]] = {
    "list": lambda: CLASSES.tolist(),
    "object": lambda: CLASSES.astype(object),
    "bytes": lambda: CLASSES.astype(bytes),
    "column": lambda: CLASSES[:, None],
    "Series": lambda: pd.Series(CLASSES),
    "category": lambda: pd.Categorical(CLASSES),
    "category Series": lambda: pd.Series(CLASSES, dtype="category"),
    "polars": lambda: pl.Series(CLASSES.tolist()),
    "polars category": lambda: pl.Series(CLASSES.tolist()).cast(pl.Categorical),
    "pyarrow": lambda: pa.array(CLASSES.tolist()),
    "boolean": lambda: ILL,
    "pandas boolean": lambda: pd.array(ILL, dtype="boolean"),
    "booleans as objects": lambda: ILL.astype(object),
    "zero and one": lambda: ILL.astype(int),
    "whole floats": lambda: np.where(ILL, -7.0, 3.0),
    "numerals": lambda: np.where(ILL, "10", "9"),
    "numerals with fractions": lambda: np.where(ILL, "1.5", "2.5").astype(object),
    "large numbers": lambda: np.where(ILL, 2**60, 2**60 + 2**12),
}


@pytest.mark.parametrize("case", SAME_CLASSES)
def test_classes_that_are_read_alike(case: str) -> None:
    path = select(X, CLASSES)
    assert path.model == "discriminant"
    for again in (select(X, SAME_CLASSES[case]()), Selector().fit(X, SAME_CLASSES[case]()).path_):
        assert again.model == "discriminant"
        assert again.selected == path.selected
        assert math.isclose(again.score, path.score, rel_tol=1e-12)


def test_what_auto_takes_for_classes() -> None:
    rng = np.random.default_rng(0)

    def model(y: Any, **params: Any) -> str:
        return select(rng.normal(size=(len(y), 3)), y, **params).model

    assert model(rng.permutation(np.arange(200) % 32)) == "discriminant"
    assert model(rng.permutation(np.arange(200) % 33)) == "linear"
    assert model(rng.permutation(np.arange(40) % 10)) == "discriminant"
    assert model(rng.permutation(np.arange(40) % 11)) == "linear"
    assert model(rng.permutation(np.arange(40) % 4) / 2) == "linear"
    assert model([5, 7] * 4) == "discriminant"
    assert model(rng.normal(size=(20, 2)).round()) == "linear"
    counts = np.full(22, 2.0)  # 22 rows of weight 2 are 44 rows
    assert model(np.arange(22) % 11, sample_weight=counts) == model(np.repeat(np.arange(22) % 11, 2)) == "discriminant"


def test_a_part_of_a_table_may_be_of_one_class_or_constant() -> None:
    """Moments are computed from blocks of rows; a block need not satisfy what the whole target must."""
    labels = as_target(["a"] * 5, 5, "discriminant", whole=False)
    assert list(labels.labels) == ["a"]
    numbers = as_target([2.0] * 5, 5, "linear", whole=False)
    assert numbers.values.shape == (5, 1)


# --- weights ---------------------------------------------------------------------------------------------------------

BAD_WEIGHTS: dict[str, tuple[Any, list[str]]] = {
    "negative": (np.where(np.arange(N) == 5, -0.5, 1.0), ["must not be negative", "-0.5"]),
    "zero": (np.zeros(N), ["zero for every row", "at least one weight must be positive"]),
    "short": (np.ones(3), ["one number per row (60)", "shape is (3,)"]),
    "column": (np.ones((N, 1)), ["one number per row (60)", "shape is (60, 1)"]),
    "nan": (np.where(np.arange(N) == 5, np.nan, 1.0), ["NaN or infinity", "set the weight of these rows to 0"]),
    "inf": (np.where(np.arange(N) == 5, np.inf, 1.0), ["NaN or infinity"]),
    "None": ([None] * N, ["NaN or infinity"]),
    "text": (["a"] * N, ["one number per row", "'a'"]),
    "word": ("balanced", ["one number per row", "'balanced'"]),
    "objects": ([{}] * N, ["not a number"]),
    "complex": (np.ones(N, dtype=complex), ["one number per row"]),
    "vast": (np.full(N, 1e300), ["its sum is 6e+301", "rescale"]),
    "few rows": (np.where(np.arange(N) < 2, 1.0, 0.0), ["at least 3 rows", "there are 2"]),
    "tiny": (np.full(N, 1e-9), ["at least 3 rows", "weights count rows"]),
}


@pytest.mark.parametrize("case", BAD_WEIGHTS)
def test_weights_that_are_refused(case: str) -> None:
    weights, words = BAD_WEIGHTS[case]
    says(refused(X, Y, sample_weight=weights), *words)


FRACTIONS = "sample_weight has fractions, but weights count observations: their sum (60) is taken for the number"


@pytest.mark.parametrize("kind", ["table", "blocks", "classes"])
def test_weights_with_fractions_are_noted(kind: str) -> None:
    """Importance weights of mean 1 would select too much: they carry less information than as many rows."""
    weights = np.random.default_rng(0).exponential(size=N)
    weights /= weights.mean()
    frame = pd.DataFrame(X).add_prefix("x").assign(y=Y, w=weights, n=np.arange(N) % 3 + 1.0)

    def notes(name: str, **parameters: Any) -> list[str]:
        if kind == "blocks":
            batches = pa.table(frame.drop(columns={"w": "n", "n": "w"}[name])).to_batches(max_chunksize=25)
            found = select(batches, "y", sample_weight=name, **parameters).notes
        else:
            found = select(X, CLASSES if kind == "classes" else Y, sample_weight=frame[name], **parameters).notes
        return [note for note in found if note.startswith("sample_weight")]

    assert [note.startswith(FRACTIONS) for note in notes("w")] == [True]
    assert notes("n") == []
    if kind == "table":
        assert notes("w", model=LinearRegression()) == notes("w", criterion="cv") == []


def test_weights_that_leave_too_little_of_a_class() -> None:
    says(refused(X, CLASSES, sample_weight=np.where(ILL, 1.0, 0.0)), "only one class (ill)")
    says(refused(X, CLASSES, sample_weight=np.full(N, 0.02)), "weights count rows", "rescale the weights to mean 1")
    says(refused(X, Y, sample_weight=np.arange(N) == 3), "X has 1 sample of positive weight (n_samples=60)")


def test_weights_that_are_read_alike() -> None:
    weights = np.random.default_rng(1).integers(1, 4, size=N)
    path = select(X, Y, sample_weight=weights)
    for given in (weights.tolist(), weights.astype(float), pd.Series(weights), pl.Series(weights), pa.array(weights)):
        assert select(X, Y, sample_weight=given) == path
    assert select(X, Y, sample_weight=2.0).selected == select(np.r_[X, X], np.r_[Y, Y]).selected
    assert select(X, Y, sample_weight=np.ones(N, dtype=bool)) == select(X, Y, sample_weight=1)
    assert as_weights(None, N) is None


# --- parameters ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"strategy": "Dropping"}, ["unknown strategy 'Dropping'", "forward", "dropping", "swap"]),
        ({"strategy": None}, ["unknown strategy None"]),
        ({"model": None}, ["model must be one of", "None"]),
        ({"criterion": "bik"}, ["unknown criterion 'bik'", "bic"]),
        ({"criterion": None}, ["criterion must be a name or a Criterion", "None"]),
        ({"criterion": BIC}, ["criterion must be a name or a Criterion"]),
        ({"criterion": "trace"}, ["'trace' does not fit model 'linear'", "rss, r2, adj_r2, cp, aic"]),
        ({"criterion": Trace()}, ["'trace' does not fit model 'linear'"]),
        ({"max_features": 0}, ["max_features", "from 1", "0"]),
        ({"max_features": -1}, ["max_features", "-1"]),
        ({"max_features": 1.5}, ["max_features", "1.5"]),
        ({"max_features": "3"}, ["max_features", "'3'"]),
        ({"max_features": True}, ["max_features", "True"]),
    ],
)  # fmt: skip
def test_words_that_are_refused(words: dict[str, Any], said: list[str]) -> None:
    says(refused(FRAME, Y, **words), *said)


def test_criteria_of_regression_do_not_fit_classes() -> None:
    for criterion in ("rss", "r2", "adj_r2", "cp", "aic", "aicc", "bic", "ebic", AIC(), MallowsCp(), EBIC(gamma=0.5)):
        says(refused(X, CLASSES, criterion=criterion), "does not fit model 'discriminant'", "trace, pillai, wilks, roy")


def test_unknown_parameters_are_named() -> None:
    with pytest.raises(TypeError, match=r"select has no parameter 'rounds'; use strategy=FBED"):
        select(X, Y, rounds=2)
    with pytest.raises(TypeError, match="rounds"):
        Selector(rounds=2)  # type: ignore[call-arg]


@pytest.mark.parametrize("word", ["enter", "leave", "drop"])
def test_thresholds(word: str) -> None:
    for value in (math.nan, "x", "Auto", "0.05", True, [0.1], 1j, *([] if word == "drop" else [None])):
        sentence = refused(X, Y, **{word: value})
        says(sentence, f"{word} must be 'auto', a number, or a rule such as Significance(0.05)", repr(value))
    for criterion in ("trace", "pillai", "wilks", "roy"):
        says(
            refused(X, CLASSES, criterion=criterion, **{word: -0.1}), f"{word} must not be negative", criterion, "-0.1"
        )
    for criterion in ("rss", "r2"):
        says(refused(X, Y, criterion=criterion, **{word: -1.0}), f"{word} must not be negative", "-1")
        select(X, Y, criterion=criterion, **{word: -math.inf})
    for criterion in (
        "adj_r2",
        "aic",
        "bic",
        "ebic",
        "cp",
    ):  # a feature can worsen these: a negative gain has a meaning
        select(X, Y, criterion=criterion, **{word: -0.1})
    for value in (0, np.float32(0.5), np.int64(1), math.inf):
        select(X, Y, **{word: value})


def test_stepwise_refuses_to_go_round_in_circles() -> None:
    sentence = refused(X, CLASSES, strategy="stepwise", enter=0.01, leave=0.05)
    says(sentence, "leave > enter", "leave=0.05", "enter=0.01", "choose leave <= enter")
    says(refused(X, Y, strategy="stepwise", criterion="bic", enter=-1, leave=0), "leave=0", "enter=-1")
    levels = {"enter": Significance(0.1), "leave": Significance(0.05)}
    says(refused(X, Y, strategy="stepwise", **levels), "could cycle", "enter at 0.1", "leave at 0.05")
    assert select(X, CLASSES, strategy="stepwise", enter=0.05, leave=0.05).selected
    assert select(X, CLASSES, strategy="stepwise", enter="auto", leave=0.05).selected
    for strategy in ("dropping", "forward_backward", "fbed"):
        select(X, CLASSES, strategy=strategy, enter=0.01, leave=0.05)


def test_backward_and_cp_need_rows() -> None:
    says(refused(X[:6], Y[:6], strategy="backward"), "all 5 features", "6 rows", "(4 at most)", "strategy='dropping'")
    few = np.r_[0:3, 57:60]
    says(refused(X[few], [0, 0, 0, 1, 1, 1], strategy="backward"), "all 5 features", "(3 at most)")
    says(refused(X[:6], Y[:6], criterion="cp"), "all 5 features", "6 rows", "MallowsCp(sigma2=...)", "ebic")
    says(refused(np.c_[X, Y], Y, criterion="cp"), "fits y exactly", "MallowsCp(sigma2=...)")
    assert select(X[:6], Y[:6], strategy="backward", exclude=[0, 4]).steps
    assert select(X[:6], Y[:6], criterion=MallowsCp(sigma2=1.0)).criterion == "cp"
    with pytest.raises(ValueError, match=r"sigma2 must be a positive finite number; got 0\.0"):
        MallowsCp(sigma2=0.0)


# --- features --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("word", ["include", "exclude"])
@pytest.mark.parametrize(
    ("features", "said"),
    [
        ("bmj", ["contains 'bmj'", "did you mean 'bmi'?"]),
        (["age", "blod"], ["contains 'blod'", "did you mean 'blood'?"]),
        ("zzz", ["contains 'zzz'", "valid names are e.g. 'age', 'bmi', 'blood'"]),
        (5, ["contains index 5", "5 features (0 to 4)"]),
        ([-1], ["contains index -1", "(0 to 4)"]),
        (["bmi", 1], ["contains 'bmi' more than once"]),
        ([True, False, True, False, False], ["not a boolean mask", "numpy.flatnonzero(mask)"]),
        (True, ["not a boolean mask"]),
        ([1.0], ["contains 1.0", "neither a feature name nor an index"]),
        ([None], ["contains None", "neither a feature name nor an index"]),
        ([["bmi"]], ["contains ['bmi']", "neither a feature name nor an index"]),
        (1.5, ["names or indices", "1.5"]),
        (slice(1, 2), ["names or indices", "slice"]),
        (b"bmi", ["names or indices", "b'bmi'"]),
    ],
)  # fmt: skip
def test_features_that_are_refused(word: str, features: Any, said: list[str]) -> None:
    says(refused(FRAME, Y, **{word: features}), word, *said)


def test_names_need_names() -> None:
    says(refused(X, Y, include=["bmi"]), "include contains the name 'bmi'", "no names", "use indices")
    says(refused(FRAME.set_axis(range(5), axis=1), Y, exclude="bmi"), "no names")


@pytest.mark.parametrize(
    "features",
    ["bmi", 1, ["bmi"], [1], ("bmi",), {"bmi"}, np.array([1]), np.array(["bmi"]), pd.Index(["bmi"]), range(1, 2)],
    ids=["name", "index", "names", "indices", "tuple", "set", "array", "text array", "pandas", "range"],
)
def test_features_that_are_read_alike(features: Any) -> None:
    assert select(FRAME, Y, include=features).selected[0] == 1
    assert 1 not in select(FRAME, Y, exclude=features).selected
    assert Selector(include=features).fit(FRAME, Y).path_ == select(FRAME, Y, include=[1])


def test_include_keeps_its_order_and_a_set_has_one() -> None:
    assert select(FRAME, Y, include=["east", "age"], max_features=2).selected == (4, 0)
    assert select(FRAME, Y, include={"east", "age", "blood"}, max_features=3).selected == (0, 2, 4)


def test_include_and_exclude_must_leave_a_problem() -> None:
    says(refused(FRAME, Y, include=["bmi"], exclude=["dose", 1]), "include and exclude overlap", "'bmi' is in both")
    says(refused(X, Y, include=[1], exclude=[1]), "feature 1 is in both")
    says(refused(X[:5], Y[:5], include=[0, 1, 2, 3]), "include forces in 4 features", "5 rows", "3 at most")
    says(refused(X[:6], [0, 1] * 3, include=[0, 1, 2, 3]), "include forces in 4 features", "6 rows", "3 at most")
    says(refused(X, Y, include=[0, 1, 2], max_features=2), "include forces in 3 features", "max_features=2")
    assert select(X, Y, include=[0, 1], max_features=2).selected == (0, 1)
    path = select(X, Y, exclude=range(5))
    assert (path.selected, path.stop) == ((), StopReason.POOL)


@pytest.mark.parametrize(
    ("groups", "said"),
    [
        ("ab", ["one label per feature", "list of lists", "'ab'"]),
        (3, ["one label per feature", "3"]),
        ([0, 0, 1], ["one label per feature (5)", "it has 3"]),
        ([], ["one label per feature (5)", "it has 0"]),
        ([["age", "bmi"], ["age"]], ["groups overlap", "'age' is in more than one group"]),
        ([["age", "age"]], ["'age' more than once"]),
        ([["age", "bmj"]], ["groups contains 'bmj'", "did you mean 'bmi'?"]),
        ([[0, 9]], ["groups contains index 9"]),
        ([["age", "bmi"], "dose"], ["mixes lists of features and single labels ('dose')", "list of one"]),
        ([None, None, "a", "b", "b"], ["no label for 'age' (it is None)", "unique label"]),
        ([None, {}, "a", "b", "b"], ["the label {} for 'bmi'", "hashable"]),
        ([1.0, math.nan, math.nan, 1.0, 2.0], ["no label for 'bmi' (it is nan)"]),
        ({"age": "g", "bmi": "g"}, ["groups contains 'g'", "not a feature of X"]),
        (["b", "zz"], ["prefixes of names", "no name starts with 'zz'", "one label per feature (5)"]),
        (b"b", ["prefixes of names or a callable", "b'b'"]),
        (lambda name: math.nan, ["no label for 'age' (it is nan)"]),
    ],
)  # fmt: skip
def test_groups_that_are_refused(groups: Any, said: list[str]) -> None:
    says(refused(FRAME, Y, groups=groups), *said)


@pytest.mark.parametrize(
    "groups",
    [
        ["a", "a", "b", "b", "c"],
        [0, 0, 1, 1, 2],
        np.array([7, 7, 3, 3, 1]),
        pd.Series(list("aabbc")),
        [["age", "bmi"], ["blood", "dose"]],
        [("bmi", "age"), {"dose", "blood"}, ["east"]],
        [[3, 2], [0, 1]],
        np.array([[0, 1], [2, 3]]),
        {"body": ["age", "bmi"], "drug": np.array([2, 3]), "place": "east"},
        lambda name: {"age": 1, "bmi": 1, "blood": 2, "dose": 2}.get(name),
        lambda name: NAMES.index(name) // 2,
    ],
    ids=[
        "text",
        "numbers",
        "array",
        "Series",
        "names",
        "tuples and sets",
        "indices",
        "matrix",
        "dict",
        "callable",
        "all",
    ],
)
def test_groups_that_are_read_alike(groups: Any) -> None:
    path = select(FRAME, Y, groups=[[0, 1], [2, 3], [4]])
    assert select(FRAME, Y, groups=groups) == path
    assert Selector(groups=groups).fit(FRAME, Y).path_ == path


def test_groups_by_prefix_or_by_a_function() -> None:
    table = FRAME.set_axis(["color_red", "color_blue", "size_s", "sizes", "color_bluest"], axis=1)
    for groups in ("color_", ["color_"], ("color_",)):
        assert select(table, Y, groups=groups) == select(table, Y, groups=[[0, 1, 4]])
    assert select(table, Y, groups=("color_", "size")).groups == ((0, 1, 4), (2, 3))
    assert select(table, Y, groups=("color_", "color_blue")).groups == ((0,), (1, 4), (2,), (3,))  # the longest counts
    assert select(X, Y, groups=lambda j: j % 2 or None).groups == ((0,), (1, 3), (2,), (4,))
    says(refused(X, Y, groups=("color_", "size_")), "groups contains the prefix 'color_'", "no names", "use indices")


def test_a_group_is_included_or_excluded_as_a_whole() -> None:
    groups = [["age", "bmi"]]
    says(
        refused(FRAME, Y, groups=groups, include="age"),
        "include contains only part of a group",
        "'bmi' belongs to the same",
    )
    says(
        refused(FRAME, Y, groups=groups, exclude="bmi"),
        "exclude contains only part of a group",
        "'age' belongs to the same",
    )
    assert select(FRAME, Y, groups=groups, include=["bmi", "age"]).selected[:2] == (0, 1)
    path = select(FRAME, Y, groups=[list(range(5))], max_features=1)
    assert path.selected == (0, 1, 2, 3, 4)


# --- tables that are legal, and odd ----------------------------------------------------------------------------------


@pytest.mark.parametrize("strategy", ["dropping", "forward", "backward", "stepwise", "floating", "swap", "fbed"])
@pytest.mark.parametrize("y", [Y, CLASSES], ids=["numbers", "classes"])
def test_all_columns_constant(strategy: str, y: Any) -> None:
    constant = np.ones((N, 3)) * [0.1, 0.0, -1e9]
    path = select(constant, y, strategy=strategy)
    assert (path.selected, path.stop, path.notes) == ((), StopReason.CONSTANT, ())
    assert str(path.stop) == "every feature is constant"
    selector = Selector(strategy=strategy).fit(constant, y)
    assert selector.path_ == path
    with pytest.warns(UserWarning, match="No features were selected"):
        assert selector.transform(constant).shape == (N, 0)


def test_constant_columns_never_enter() -> None:
    table = np.c_[np.full(N, 0.1), X, np.full(N, 1e12)]
    assert select(table, Y, enter=0, criterion="rss").selected == tuple(
        j + 1 for j in select(X, Y, enter=0, criterion="rss").selected
    )
    assert select(table, Y, include=[0]).selected[0] == 0


@pytest.mark.parametrize("y", [ILL, CLASSES], ids=["boolean", "text"])
def test_a_column_that_separates_the_classes_is_reported(y: Any) -> None:
    """Trace and Roy's root are infinite then, so there must be a sentence that names the column."""
    for table, name in ((FRAME.assign(copy=ILL), "'copy'"), (np.c_[X, ILL], "column 5")):
        try:
            message = " ".join(select(table, y).notes)
        except ValueError as error:
            message = str(error)
        says(message, name, "separates the classes perfectly", "copy of the target", "exclude")
        path = select(table, y, exclude=[5])
        assert path.selected == select(X, y).selected
        assert not path.notes


def test_an_exact_fit_is_reported() -> None:
    path = select(np.c_[X, Y], Y)
    assert (path.selected, path.stop) == ((5,), StopReason.EXACT)


def test_moments_carry_their_target() -> None:
    moments = Moments.of(X, Y)
    for params in ({"y": Y}, {"sample_weight": np.ones(N)}):
        with pytest.raises(ValueError, match="Moments carry their y and their weights"):
            select(moments, **params)
    with pytest.raises(ValueError, match=r"model 'linear', not 'discriminant'"):
        select(moments, model="discriminant")
    with pytest.raises(ValueError, match="does not fit model"):
        select(moments, criterion="trace")
