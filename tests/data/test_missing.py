"""Missing values: refused by default, dropped by row, or a level of their own; in every notation of every library."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from dropstep import Selector, select
from dropstep.data.factor import Level, column_of, is_missing
from dropstep.data.frame import read

N = 80
_rng = np.random.default_rng(11)
GROUP = _rng.choice(["a", "b", "c"], N).astype(object)
X = pd.DataFrame({"x": _rng.normal(size=N), "group": GROUP, "z": _rng.normal(size=N)})
Y = X["x"] + 2 * (X["group"] == "b") + 0.3 * _rng.normal(size=N)


def gaps(frame: pd.DataFrame, **places: list[int]) -> pd.DataFrame:
    changed = frame.copy()
    for name, rows in places.items():
        changed.loc[rows, name] = np.nan if name in ("x", "z") else None
    return changed


# --- what is missing -------------------------------------------------------------------------------------------------


def test_every_notation_of_missing() -> None:
    for value in (None, np.nan, float("nan"), pd.NA, pd.NaT, np.datetime64("NaT"), np.float32("nan")):
        assert is_missing(value)
    for other in (0, "", "nan", False, np.inf, (), [], pd.Timestamp("2020"), pd.Interval(0, 1)):
        assert not is_missing(other)


@pytest.mark.parametrize("mark", [None, np.nan, pd.NA, pd.NaT], ids=str)
def test_objects_may_have_any_of_them(mark: Any) -> None:
    text = column_of(["u", mark, "v", "u"])
    assert list(text.codes) == [0, -1, 1, 0]
    np.testing.assert_array_equal(column_of([1, mark, 2.5]), [1, np.nan, 2.5])
    np.testing.assert_array_equal(column_of([mark, mark]), [np.nan, np.nan])


def test_nulls_of_every_library() -> None:
    frame = gaps(X, group=[3, 5], z=[4])
    wanted = select(frame, Y, missing="drop")
    assert wanted.notes == ("ignored 3 of 80 rows, because values are missing",)
    tables = {
        "polars": pl.from_pandas(frame),
        "pyarrow": pa.Table.from_pandas(frame, preserve_index=False),
        "category": frame.astype({"group": "category"}),
        "string": frame.astype({"group": "string", "z": "Float64"}),
        "arrow types": frame.astype({"group": "string[pyarrow]", "z": "double[pyarrow]"}),
        "objects": frame.astype(object),
        "array": frame.to_numpy(dtype=object),
        "polars enum": pl.from_pandas(frame).with_columns(pl.col("group").cast(pl.Enum(["a", "b", "c"]))),
        "dictionary": pa.Table.from_pandas(frame.astype({"group": "category"}), preserve_index=False),
    }
    for name, table in tables.items():
        path = select(table, Y, missing="drop")
        assert (path.selected, path.score, path.notes) == (wanted.selected, wanted.score, wanted.notes), name


# --- drop ------------------------------------------------------------------------------------------------------------


def test_drop_is_the_path_on_complete_rows() -> None:
    frame, y = gaps(X, group=[3, 5], z=[4, 5]), Y.copy()
    y[10] = np.nan
    weights = np.ones(N)
    weights[20] = np.nan
    kept = np.setdiff1d(np.arange(N), [3, 4, 5, 10, 20])
    path = select(frame, y, sample_weight=weights, missing="drop")
    assert path.notes == ("ignored 5 of 80 rows, because values are missing",)
    again = select(X.iloc[kept], Y[kept], sample_weight=np.ones(len(kept)))
    assert (path.selected, path.steps, path.score) == (again.selected, again.steps, again.score)
    assert again.notes == ()
    assert Selector(missing="drop").fit(frame, y, weights).path_ == path


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_drop_on_arrays_of_numbers(dtype: type) -> None:
    rng = np.random.default_rng(0)
    table = rng.normal(size=(60, 4)).astype(dtype)
    y = table[:, 1] + 0.1 * rng.normal(size=60)
    holes = table.copy()
    holes[3, 1], holes[7, 2], holes[9, 3] = np.nan, np.inf, -np.inf
    kept = np.setdiff1d(np.arange(60), [3, 7, 9])
    path = select(holes, y, missing="drop")
    assert path.notes == ("ignored 3 of 60 rows, because values are missing or infinite",)
    assert (path.selected, path.score) == (select(table[kept], y[kept]).selected, select(table[kept], y[kept]).score)
    assert select(table, y, missing="drop") == select(table, y)
    assert select(table.tolist(), y, missing="drop", sample_weight=2.0).notes == ()


def test_missing_targets_of_every_kind() -> None:
    labels = np.where(X["x"] + 0.5 * _rng.normal(size=N) > 0, "p", "q").astype(object)
    labels[[2, 4]] = None, np.nan
    kept = np.setdiff1d(np.arange(N), [2, 4])
    wanted = select(X.iloc[kept], labels[kept])
    absent = [None if is_missing(label) else label for label in labels]
    for y in (
        labels,
        pd.Series(labels, dtype="category"),
        pl.Series(absent),
        pa.array(absent),
        pd.array(labels, "string"),
    ):
        path = select(X, y, missing="drop")
        assert path.notes[0] == "ignored 2 of 80 rows, because values are missing"
        assert (path.selected, path.score) == (wanted.selected, wanted.score)
    for missing in ("error", "level"):
        with pytest.raises(ValueError, match=r"y has 2 missing or infinite values .* as missing='drop' does"):
            select(X, labels, missing=missing)
    two = np.c_[Y, X["z"]]
    two[5, 1] = np.nan
    assert select(X[["x", "group"]], two, missing="drop").notes[0].startswith("ignored 1 of 80")
    masked = np.ma.masked_array(Y, mask=np.arange(N) < 3)
    assert select(X, masked, missing="drop").score == select(X[3:], Y[3:]).score


def test_excluded_features_may_have_missing_values() -> None:
    frame = gaps(X, group=[3], z=[4])
    for missing in ("error", "drop", "level"):
        path = select(frame, Y, exclude=["group", "z"], missing=missing)
        assert path.notes == ()
        assert path.score == select(X, Y, exclude=["group", "z"]).score
    holes = np.random.default_rng(1).normal(size=(40, 3))
    y = holes[:, 0] + np.random.default_rng(2).normal(size=40)
    full = select(holes, y, exclude=[1])
    holes[3, 1] = np.nan
    before = holes.copy()
    assert select(holes, y, exclude=[1]) == full
    assert select(holes, y, exclude=[1], missing="drop").score == full.score
    np.testing.assert_array_equal(holes, before)


def test_no_complete_row() -> None:
    for table in (X.assign(z=np.where(np.arange(N) % 2, 1.0, np.nan), x=np.where(np.arange(N) % 2, np.nan, 1.0)),):
        with pytest.raises(
            ValueError, match="none of the 80 rows is complete, because values are missing; exclude the"
        ):
            select(table, Y, missing="drop")


# --- level -----------------------------------------------------------------------------------------------------------


def test_a_level_of_their_own() -> None:
    frame = gaps(X, group=list(range(0, N, 5)))
    path = select(frame, Y, missing="level")
    assert path.encoding.levels[1] == ("a", "b", "c", Level.MISSING)
    assert path.encoding.column_names == ("x", "group=b", "group=c", "group=missing", "z")
    assert path.notes == ()
    by_hand = select(frame.assign(group=frame["group"].fillna("~")), Y)
    assert (path.selected, path.steps, path.score) == (by_hand.selected, by_hand.steps, by_hand.score)
    assert select(X, Y, missing="level") == select(X, Y)


def test_a_missing_boolean_is_a_level() -> None:
    flags = [True, False, None, True] * 20
    for table in (X.assign(f=pd.array(flags, dtype="boolean")), pl.from_pandas(X).with_columns(f=pl.Series(flags))):
        path = select(table, Y, missing="level")
        assert path.encoding.column_names[-2:] == ("f=True", "f=missing")


def test_numbers_have_no_level() -> None:
    for table in (gaps(X, z=[4, 6], group=[1]), gaps(X, z=[4, 6])[["x", "z"]]):
        with pytest.raises(ValueError, match=r"NaN or infinity in 'z' \(2 rows in total\); .* missing='drop'.* impute"):
            select(table, Y, missing="level")


# --- error -----------------------------------------------------------------------------------------------------------


def test_the_error_names_the_way_out() -> None:
    sentence = (
        r"X contains missing values in 'group' \(2 rows in total\); use missing='level' to make them a level of their "
        "own, or missing='drop' to ignore these rows"
    )
    with pytest.raises(ValueError, match=sentence):
        select(gaps(X, group=[1, 2]), Y)
    with pytest.raises(ValueError, match=r"NaN or infinity in 'x', 'z' \(3 rows in total\)"):
        select(gaps(X, group=[1], x=[2, 3], z=[2, 7]), Y)
    with pytest.raises(ValueError, match=r"missing must be one of 'error', 'drop', 'level'; got 'ignore'"):
        select(X, Y, missing="ignore")


def test_reading_keeps_missing_values() -> None:
    frame: Any = read(gaps(X, group=[1], z=[2]))
    assert frame.columns[1].codes[1] == -1
    assert np.isnan(frame.columns[2][2])
