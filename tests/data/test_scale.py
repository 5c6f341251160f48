"""Results do not depend on the scale of X, even where float64 cannot represent its squares, nor on that of y."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

from dropstep import Moments, SelectionPath, select
from dropstep.data.columns import columns_of
from dropstep.data.frame import as_table
from dropstep.data.matrices.dense import Dense
from dropstep.data.scale import is_extreme
from dropstep.data.target import as_target

SHAPES = [(80, 12), (700, 500)]  # centred in a copy, and read in place
EXTREMES = [1e-300, 1e-200, 1e-160, 1e-120, 1e120, 1e155, 1e200, 1e300]


def table(kind: str, n: int, p: int) -> tuple[NDArray[np.float64], NDArray[Any]]:
    rng = np.random.default_rng(7)
    X = rng.normal(size=(n, p)) + rng.normal(size=p)
    signal = X[:, :4] @ [2.0, -1.5, 1.0, 0.7] + rng.normal(size=n)
    if kind == "classes":
        return X, np.digitize(signal, np.quantile(signal, [0.3, 0.7]))
    if kind == "targets":
        return X, np.column_stack([signal, X[:, 4] + rng.normal(size=n)])
    return X, signal


def same(path: SelectionPath, plain: SelectionPath) -> None:
    assert plain.selected
    assert path.selected == plain.selected
    assert path.ranking == plain.ranking
    steps = [[(s.action, s.features, s.pool) for s in one.steps] for one in (path, plain)]
    assert steps[0] == steps[1]
    assert (path.stop, path.n_evaluations) == (plain.stop, plain.n_evaluations)


@pytest.mark.parametrize(("n", "p"), SHAPES)
@pytest.mark.parametrize("solver", ["columns", "gram"])
@pytest.mark.parametrize("kind", ["numbers", "targets", "classes"])
def test_scale_of_the_features(kind: str, solver: str, n: int, p: int) -> None:
    X, y = table(kind, n, p)
    plain = select(X, y, solver=solver)
    for factor in EXTREMES:
        path = select(X * factor, y, solver=solver)
        same(path, plain)
        np.testing.assert_allclose(path.score, plain.score, rtol=1e-9)
    mixed = X * np.resize(np.array([1.0, 1e-200, 1e200, 1e5, 1e-308, 1e307]), p)
    for order in "CF":
        path = select(np.asarray(mixed, order=order), y, solver=solver)
        assert path.selected == plain.selected
        np.testing.assert_allclose(path.score, plain.score, rtol=1e-9)


@pytest.mark.parametrize(("n", "p"), SHAPES)
@pytest.mark.parametrize("solver", ["columns", "gram"])
@pytest.mark.parametrize("strategy", ["dropping", "stepwise", "backward"])
def test_weights_and_strategies(strategy: str, solver: str, n: int, p: int) -> None:
    for kind in ("numbers", "classes"):
        X, y = table(kind, n, p)
        params: dict[str, Any] = {"sample_weight": np.random.default_rng(0).integers(0, 4, n), "strategy": strategy}
        params |= {"solver": solver, "max_features": 8, "exclude": range(40, p) if strategy == "backward" else None}
        plain = select(X, y, **params)
        for factor in (1e-200, 1e200):
            same(select(X * factor, y, **params), plain)


@pytest.mark.parametrize(("n", "p"), SHAPES)
@pytest.mark.parametrize("solver", ["columns", "gram"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_scale_of_the_targets(dtype: type, solver: str, n: int, p: int) -> None:
    for kind in ("numbers", "targets"):
        X, y = table(kind, n, p)
        X = X.astype(dtype)
        plain = select(X, y, solver=solver)
        for factor in (1e-139, 1e-120, 1e-60, 1e-30, 1e30, 1e60, 1e120, 1e138):
            same(select(X, y * factor, solver=solver), plain)
        if kind == "targets":
            both = select(X, y * [1e-120, 1e120], solver=solver)
            assert both.selected == plain.selected


@pytest.mark.parametrize(("n", "p"), SHAPES)
@pytest.mark.parametrize("solver", ["columns", "gram"])
def test_scale_of_both(solver: str, n: int, p: int) -> None:
    X, y = table("numbers", n, p)
    plain = select(X, y, solver=solver)
    for a in (1e-300, 1e-130, 1e-80, 1e80, 1e130, 1e300):
        for b in (1e-138, 1e-100, 1e-80, 1e80, 1e100, 1e138):
            same(select(X * a, y * b, solver=solver), plain)


@pytest.mark.parametrize(("n", "p"), SHAPES)
@pytest.mark.parametrize("solver", ["columns", "gram"])
@pytest.mark.parametrize("kind", ["numbers", "classes"])
def test_extremes_of_float32(kind: str, solver: str, n: int, p: int) -> None:
    X, y = table(kind, n, p)
    for factor in (1e-36, 1e-30, 1e30, 3e37):
        short = (X * factor).astype(np.float32)
        same(select(short, y, solver=solver), select(short.astype(np.float64) / factor, y, solver=solver))


@pytest.mark.parametrize("solver", ["columns", "gram"])
def test_constant_columns_stay_constant(solver: str) -> None:
    X, y = table("numbers", 700, 500)
    flat = np.c_[np.zeros(700), X, np.full(700, 1e-200), np.full(700, 1e300), np.full(700, 1e308)]
    path = select(flat, y, solver=solver)
    assert path.selected == tuple(j + 1 for j in select(X, y, solver=solver).selected)


@pytest.mark.parametrize(("n", "p"), SHAPES)
@pytest.mark.parametrize("solver", ["columns", "gram"])
def test_rows_of_weight_zero_have_no_scale(solver: str, n: int, p: int) -> None:
    X, y = table("numbers", n, p)
    weights = np.r_[0.0, np.ones(n - 1)]
    plain = select(X, y, solver=solver, sample_weight=weights)
    for factor in (1.0, 1e-200):
        scaled, target = X * factor, y * 1e-100
        scaled[0], target[0] = 1e300, 1e300
        same(select(scaled, target, solver=solver, sample_weight=weights), plain)


def test_columns_of_ordinary_scale_are_read_in_place() -> None:
    """No copy is made; a column of zeros, or of large integers, is ordinary too."""
    X, y = table("numbers", 700, 500)
    X[:, 3], X[:, 4] = 0.0, 1e15
    for scale in (1.0, 1e-100, 1e100):
        scaled = X * scale
        columns, _ = columns_of(as_table(scaled), as_target(y, 700, "linear"), None)
        assert isinstance(columns.X, Dense)
        assert np.shares_memory(columns.X.values, scaled)


def test_only_columns_of_extreme_scale_are_rescaled() -> None:
    X, y = table("numbers", 700, 500)
    mixed = X.copy()
    mixed[:, 7] *= 1e-200
    columns, sums = columns_of(as_table(mixed), as_target(y, 700, "linear"), None)
    assert isinstance(columns.X, Dense)
    np.testing.assert_array_equal(np.delete(columns.X.values, 7, axis=1), np.delete(X, 7, axis=1))
    assert 0.5 <= np.abs(columns.X.values[:, 7]).max() < 1
    np.testing.assert_allclose(sums.diagonal, 700 * columns.X.values.var(axis=0))


def test_moments_that_are_not_representable_are_refused() -> None:
    X, y = table("numbers", 80, 5)
    for factor, word in ((1e200, "large"), (1e-200, "small")):
        scaled = X.copy()
        scaled[:, 2] *= factor
        with pytest.raises(
            ValueError, match=r"squares of column 2 \(values up to .*out of the range .*rescale these columns"
        ):
            Moments.of(scaled, y)
        with pytest.raises(ValueError, match=r"squares of 'c' .*out of the range"):
            Moments.of(pd.DataFrame(scaled, columns=list("abcde")), y > 0)
        with pytest.raises(ValueError, match=rf"y .*too {word} .*rescale y"):
            Moments.of(X, y * factor)
        with pytest.raises(ValueError, match=rf"target 1 of y .*too {word} .*rescale y"):
            Moments.of(X, np.c_[y, X[:, 0] * factor], model="linear")
    with pytest.raises(ValueError, match="products with y, are out of the range of float64"):
        Moments.of(X * 1e-100, y * 1e-100)
    X[:, 0], X[:, 1] = 0.0, 1e-200  # constant
    assert Moments.of(X, y).scatter[1, 1] == 0
    X[0, :2] = 1.0
    assert Moments.of(X, y, sample_weight=np.arange(80) > 0).scatter[1, 1] == 0
    X[:, 1] = 1e200
    with pytest.raises(ValueError, match="squares of column 1 "):
        Moments.of(X, y)


def test_sums_of_squares_are_extreme_by_their_products_with_those_of_a_target() -> None:
    squares = np.array([0.0, 1e-260, 1e-240, 1.0, 1e240, 1e260, np.inf, np.nan])
    moderate = [True, True, False, False, False, True, True, True]
    assert is_extreme(squares, np.empty(0)).tolist() == moderate
    assert is_extreme(squares, np.array([1.0, 0.0, 1e-39])).tolist() == moderate
    assert is_extreme(squares, np.array([1e100])).tolist() == [True, True, True, False, True, True, True, True]
    assert is_extreme(squares, np.array([1e300])).all()
    assert is_extreme(squares, np.array([np.inf])).all()
