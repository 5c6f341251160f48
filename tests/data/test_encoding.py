"""Factors: treatment coding, the levels of every library, and the path of grouped one-hot columns made by hand."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dropstep import SelectionPath, Significance, select
from dropstep.data.encoding import Encoding
from dropstep.data.factor import Factor, Level, factor_of
from dropstep.data.frame import Frame, read
from mixed_tables import ugly

SIZES = pd.Categorical(["small", "large", "medium", "small"], categories=["small", "medium", "large", "huge"])


def encoding_of(X: Any) -> tuple[Encoding, np.ndarray]:
    frame = read(X)
    assert isinstance(frame, Frame)
    encoding = Encoding.of(frame)
    return encoding, encoding.encode(frame)


# --- coding ----------------------------------------------------------------------------------------------------------


def test_treatment_coding() -> None:
    frame = pd.DataFrame({"x": [1.5, 2.0, 3.0, 4.0], "colour": ["red", "blue", "red", "green"], "size": SIZES})
    encoding, values = encoding_of(frame)
    assert encoding.names == ("x", "colour", "size")
    assert encoding.levels == (None, ("blue", "green", "red"), ("small", "medium", "large"))
    assert encoding.column_names == ("x", "colour=green", "colour=red", "size=medium", "size=large")
    assert [list(encoding.columns(j)) for j in range(3)] == [[0], [1, 2], [3, 4]]
    assert encoding.owners == (0, 1, 1, 2, 2)
    wanted = [[1.5, 0, 1, 0, 0], [2, 0, 0, 0, 1], [3, 0, 1, 1, 0], [4, 1, 0, 0, 0]]
    np.testing.assert_array_equal(values, wanted)


def test_one_column_for_booleans_and_for_two_levels_or_fewer() -> None:
    frame = pd.DataFrame({"flag": [True, False, True], "sex": ["m", "f", "f"], "same": ["a", "a", "a"]})
    encoding, values = encoding_of(frame)
    assert encoding.column_names == ("flag", "sex=m", "same")
    np.testing.assert_array_equal(values, [[1, 1, 0], [0, 0, 0], [1, 0, 0]])


@pytest.mark.parametrize("ordered", [False, True])
def test_levels_keep_the_order_of_a_categorical_type(ordered: bool) -> None:
    text = ["b", "c", "a", "b"]
    order = ["c", "z", "a", "b"]
    made = {
        "pandas": pd.DataFrame({"t": pd.Categorical(text, categories=order, ordered=ordered)}),
        "polars": pl.DataFrame({"t": pl.Series(text).cast(pl.Enum(order))}),
    }
    for X in made.values():
        assert encoding_of(X)[0].levels == (("c", "a", "b"),)
    unordered = [
        pd.DataFrame({"t": text}),
        pl.DataFrame({"t": text}),
        pl.DataFrame({"t": pl.Series(text).cast(pl.Categorical)}),
        pa.table({"t": text}),
        pa.table({"t": pa.array(text).dictionary_encode()}),
        pd.DataFrame({"t": pd.array(text, dtype=pd.ArrowDtype(pa.string()))}),
        np.array(text, dtype=object)[:, None],
        np.array(text)[:, None],
    ]
    for X in unordered:
        assert encoding_of(X)[0].levels == (("a", "b", "c"),)


def test_categories_that_are_no_text() -> None:
    frame = pd.DataFrame({"n": pd.Categorical([3, 1, 3, 10]), "cut": pd.cut([0.1, 0.5, 0.9, 0.2], [0, 0.3, 0.6, 1])})
    encoding, values = encoding_of(frame)
    assert encoding.column_names == ("n=3", "n=10", "cut=(0.3, 0.6]", "cut=(0.6, 1.0]")
    np.testing.assert_array_equal(values, [[1, 0, 0, 0], [0, 0, 1, 0], [1, 0, 0, 1], [0, 1, 0, 0]])
    assert encoding_of(np.array([[b"x"], [b"y"], [b"x"]]))[0].column_names == ("x0=b'y'",)


def test_numbers_and_factors_of_every_library_are_read_alike() -> None:
    frame = ugly().drop(columns="y").dropna().reset_index(drop=True)
    names, wanted = encoding_of(frame)[0].column_names, encoding_of(frame)[1]
    for X in (
        pl.from_pandas(frame),
        pa.Table.from_pandas(frame, preserve_index=False),
        frame.astype({"city": "category"}),
    ):
        encoding, values = encoding_of(X)
        assert encoding.column_names == names
        np.testing.assert_array_equal(values, wanted)
    np.testing.assert_array_equal(encoding_of(frame.to_numpy(dtype=object))[1], wanted)
    unnamed = frame.set_axis(range(frame.shape[1]), axis=1)
    np.testing.assert_array_equal(encoding_of(unnamed)[1], wanted)
    assert read(unnamed).names is None


# --- other tables ----------------------------------------------------------------------------------------------------


@pytest.fixture
def encoding() -> Encoding:
    return encoding_of(pd.DataFrame({"x": [1.0, 2.0], "t": ["a", "b"], "u": ["p", "q"]}).loc[[0, 1, 0, 1]].assign(
        t=["a", "b", "c", "a"]
    ))[0]  # fmt: skip


def test_unknown_levels_are_the_baseline(encoding: Encoding) -> None:
    new = pd.DataFrame({"x": [5.0, 6.0, 7.0], "t": ["c", "new", "a"], "u": ["q", "p", "other"]})
    np.testing.assert_array_equal(encoding.encode(new), [[5, 0, 1, 1], [6, 0, 0, 0], [7, 0, 0, 0]])
    for X in (
        pl.from_pandas(new),
        pa.Table.from_pandas(new, preserve_index=False),
        new.to_numpy(),
        new.astype("category"),
    ):
        if isinstance(X, pd.DataFrame):
            X = X.astype({"x": float})
        np.testing.assert_array_equal(encoding.encode(X), encoding.encode(new))


def test_missing_values_stay_missing_unless_they_are_a_level(encoding: Encoding) -> None:
    new = pd.DataFrame({"x": [np.nan, 6.0], "t": [None, "c"], "u": ["q", None]})
    np.testing.assert_array_equal(encoding.encode(new), [[np.nan, np.nan, np.nan, 1], [6, 0, 1, np.nan]])
    as_level = Encoding(("x", "t"), (None, ("a", "b", Level.MISSING)))
    assert as_level.column_names == ("x", "t=b", "t=missing")
    np.testing.assert_array_equal(as_level.encode(new[["x", "t"]]), [[np.nan, 0, 1], [6, 0, 0]])
    np.testing.assert_array_equal(as_level.encode(new[["x", "t"]].assign(t=None))[:, 1:], [[0, 1], [0, 1]])
    assert pickle.loads(pickle.dumps(as_level)) == as_level


def test_a_level_called_missing_is_not_the_missing_level() -> None:
    factor = factor_of(["missing", None, "a"]).with_missing_level()
    assert factor.levels == ("a", "missing", Level.MISSING)
    assert list(factor.codes) == [1, 2, 0]
    assert str(Level.MISSING) == "missing"


def test_features_are_found_by_name(encoding: Encoding) -> None:
    new = pd.DataFrame({"u": ["q"], "more": ["?"], "t": ["b"], "day": pd.to_datetime(["2020-01-01"]), "x": [3.0]})
    np.testing.assert_array_equal(encoding.encode(new), [[3, 1, 0, 1]])
    with pytest.raises(ValueError, match="X has 2 features, but 3 are expected"):
        encoding.encode(new[["u", "t"]])
    with pytest.raises(ValueError, match="'x' must be a number, but X contains text or categories in it"):
        encoding.encode(new.assign(x="much"))
    with pytest.raises(ValueError, match="X contains dates or times in 't'"):
        encoding.encode(new.assign(t=new["day"]))


def test_a_boolean_with_missing_values_is_a_factor() -> None:
    flags = pd.array([True, None, False, True], dtype="boolean")
    cells = [True, None, False, True]
    objects = np.array(cells, dtype=object)[:, None]
    for X in (pd.DataFrame({"f": flags}), pl.DataFrame({"f": cells}), pa.table({"f": cells}), objects):
        encoding, values = encoding_of(X)
        assert encoding.levels == ((False, True),)
        np.testing.assert_array_equal(values[:, 0], [1, np.nan, 0, 1])
        np.testing.assert_array_equal(encoding.encode(pd.DataFrame({"f": [True, False]}))[:, 0], [1, 0])


# --- by hand ---------------------------------------------------------------------------------------------------------


def by_hand(frame: pd.DataFrame, y: Any, first: bool, **params: Any) -> tuple[SelectionPath, dict[str, str]]:
    """The path over one-hot columns of pandas, grouped by feature; and the feature of each column."""
    X = pd.get_dummies(frame, drop_first=first, prefix_sep="=").astype(float)
    owner = {str(column): str(column).split("=")[0] for column in X.columns}
    for parameter in ("include", "exclude"):
        if parameter in params:
            params[parameter] = [column for column in owner if owner[column] in params[parameter]]
    order: dict[Any, int] = {name: j for j, name in enumerate(frame.columns)}
    X = X[sorted(owner, key=lambda column: order[owner[str(column)]])]
    return select(X, y, groups=[owner[str(column)] for column in X.columns], **params), owner


def steps_of(path: SelectionPath, owner: dict[str, str] | None = None) -> list[tuple[Any, ...]]:
    def features(step: Any) -> tuple[str, ...]:
        names = path.names(step.features)
        return tuple(dict.fromkeys(owner[name] for name in names)) if owner else names

    return [(step.phase, step.action, features(step), step.pool) for step in path.steps]


STRATEGIES = ("dropping", "forward", "backward", "stepwise", "bidirectional", "floating", "swap", "fbed")


@given(
    seed=st.integers(0, 10_000),
    strategy=st.sampled_from(STRATEGIES),
    model=st.sampled_from(["linear", "discriminant"]),
    weighted=st.booleans(),
    first=st.booleans(),
    data=st.data(),
)
def test_the_path_is_that_of_grouped_one_hot_columns(
    seed: int, strategy: str, model: str, weighted: bool, first: bool, data: st.DataObject
) -> None:
    frame = ugly(seed).dropna().reset_index(drop=True)
    frame = frame[[name for name in frame if frame[name].nunique() > 1]].astype({"flag": float})
    y, rng = frame.pop("y"), np.random.default_rng(seed)
    target = y if model == "linear" else pd.qcut(y + rng.normal(size=len(y)), 3, labels=["a", "b", "c"])
    params: dict[str, Any] = {"strategy": strategy, "model": model}
    if strategy in ("floating", "swap", "stepwise"):
        params |= {"enter": Significance(0.1), "leave": Significance(0.1)}
    params["max_features"] = data.draw(st.sampled_from([None, 3]))
    params |= data.draw(st.sampled_from([{}, {"include": ["noise"]}, {"exclude": ["city"]}]))
    if weighted:
        params["sample_weight"] = rng.integers(1, 3, len(y))
    path = select(frame, target, **params)
    if any("separate some classes" in note for note in path.notes):
        return  # by hand, such a factor is considered in part
    slow, owner = by_hand(frame, target, first, **params)
    assert steps_of(path) == steps_of(slow, owner)
    assert path.score == pytest.approx(slow.score, rel=1e-8)
    np.testing.assert_allclose([s.gain for s in path.steps], [s.gain for s in slow.steps], rtol=1e-6, atol=1e-8)
    ranks = {owner[name]: rank for name, rank in zip(slow.feature_names, slow.ranking, strict=True)}
    assert dict(zip(path.feature_names, path.ranking, strict=True)) == ranks
    assert path.n_candidates == slow.n_candidates
    assert path.n_evaluations == slow.n_evaluations


@pytest.mark.parametrize("solver", ["gram", "columns"])
def test_results_count_features_of_the_table(solver: str) -> None:
    frame = ugly(n=400).dropna()
    path = select(frame, "y", solver=solver, equivalents=True)
    assert path.n_features == 8
    assert path.feature_names == tuple(frame.columns[:-1])
    assert set(path.selected_names) == {"dose", "city", "flag"}
    assert sorted(path.ranking)[:3] == [1, 2, 3]
    assert path.groups is None
    assert set(path.losses) == set(path.selected)
    assert path.encoding.n_columns == 14
    assert len(select(frame, "y", max_features=2, solver=solver).selected) == 2
    assert select(frame, "y", include="noise", solver=solver).selected_names[0] == "noise"
    assert 1 not in select(frame, "y", exclude="city", solver=solver).selected
    grouped = select(frame, "y", groups=[["city", "dose"]], solver=solver)
    assert {"city", "dose"} <= set(grouped.selected_names)
    assert grouped.ranking[0] == grouped.ranking[1]
    assert (0, 1) in grouped.groups


def test_all_numbers_have_no_encoding() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 3)), rng.normal(size=40)
    for table in (X, pd.DataFrame(X), pl.DataFrame(X), pd.DataFrame(X, columns=list("abc")).assign(a=X[:, 0] > 0)):
        assert select(table, y).encoding is None


def test_factors_keep_the_levels_that_occur() -> None:
    factor = Factor(np.array([2, 0, -1, 2]), ("a", "b", "c"))
    part = factor.at(np.array([True, False, True, True]))
    assert part.levels == ("c",)
    assert list(part.codes) == [0, -1, 0]
