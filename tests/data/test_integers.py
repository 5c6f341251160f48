"""Integers and booleans are converted one block at a time: no float64 copy of X, and the same path as with one."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

from dropstep import Moments, select
from dropstep.data.frame import as_table

TYPES = [bool, np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64, np.float16]
SHAPES = [(80, 12), (700, 500), (6000, 60)]  # small, wide and tall


def table(dtype: Any, n: int, p: int, kind: str) -> tuple[NDArray[Any], NDArray[Any]]:
    rng = np.random.default_rng(3)
    low = 0 if np.dtype(dtype).kind in "bu" else -100
    X = rng.integers(0, 2, (n, p)).astype(bool) if dtype is bool else rng.integers(low, 101, (n, p)).astype(dtype)
    Z = (X - X.mean(axis=0, dtype=np.float64)) / X.std(axis=0, dtype=np.float64)
    y = Z[:, :4] @ [2.0, -1.5, 1.0, 0.7] + rng.normal(size=n)
    return X, np.digitize(y, np.quantile(y, [0.3, 0.7])) if kind == "classes" else y


@pytest.mark.parametrize(("n", "p"), SHAPES)
@pytest.mark.parametrize("solver", ["columns", "gram"])
@pytest.mark.parametrize("dtype", TYPES)
def test_the_same_path_as_float64(dtype: Any, solver: str, n: int, p: int) -> None:
    for kind in ("numbers", "classes"):
        X, y = table(dtype, n, p, kind)
        weights = np.random.default_rng(0).integers(0, 3, n)
        for params in ({}, {"sample_weight": weights}):
            double = select(X.astype(np.float64), y, solver=solver, max_features=6, **params)
            for order in "CF":
                path = select(np.asarray(X, order=order), y, solver=solver, max_features=6, **params)
                assert double.selected
                assert (path.selected, path.ranking, path.stop) == (double.selected, double.ranking, double.stop)
                assert path.n_evaluations == double.n_evaluations
                assert [s.features for s in path.steps] == [s.features for s in double.steps]
                np.testing.assert_allclose(path.score, double.score, rtol=1e-12)
                assert path.notes == double.notes


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("solver", ["columns", "gram"])
@pytest.mark.parametrize("kind", ["numbers", "classes"])
def test_nothing_like_a_copy_in_float64(kind: str, solver: str, order: Any) -> None:
    """50 MB of int8 would be 400 MB of float64; what is allocated is less than the table itself."""
    n, p = (2000, 25000) if solver == "columns" else (100_000, 500)
    X = np.asarray(np.random.default_rng(0).integers(-100, 101, (n, p), dtype=np.int8), order=order)
    signal = X[:, 3].astype(np.float64) + X[:, 7]
    signal += 10 * np.random.default_rng(1).normal(size=n)
    y = np.digitize(signal, [-50, 50]) if kind == "classes" else signal
    tracemalloc.start()
    try:
        path = select(X, y, max_features=3, solver=solver)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < X.nbytes
    assert {3, 7} <= set(path.selected)


@pytest.mark.parametrize("solver", ["columns", "gram"])
def test_integers_beyond_2_to_the_53rd_are_rounded_as_float64(solver: str) -> None:
    rng = np.random.default_rng(5)
    for n, p in SHAPES:
        X = rng.integers(-(2**62), 2**62, (n, p))
        y = X[:, 2] * 1e-18 + rng.normal(size=n)
        double = select(X.astype(np.float64), y, solver=solver)
        path = select(X, y, solver=solver)
        assert path.selected == double.selected == (2,)
        np.testing.assert_allclose(path.score, double.score, rtol=1e-12)
        large = X.astype(np.uint64)
        assert select(large, y, solver=solver).ranking == select(large.astype(np.float64), y, solver=solver).ranking


def test_arrays_of_numbers_are_not_copied() -> None:
    for dtype in TYPES:
        X = np.ones((20, 3), dtype=dtype)
        for array in (X, np.asfortranarray(X), X[::2], X[:, 1:]):
            assert np.shares_memory(as_table(array).values, array)
        assert as_table(pd.DataFrame(X)).values.dtype == dtype
    for odd in (np.ones((20, 3), dtype=">i4"), np.ones((20, 3), dtype=np.longdouble)):
        assert as_table(odd).values.dtype == np.float64


@pytest.mark.parametrize("kind", ["numbers", "classes"])
def test_moments_of_integers(kind: str) -> None:
    X, y = table(np.int8, 6000, 60, kind)
    wanted, made = Moments.of(X.astype(np.float64), y), Moments.of(X, y)
    np.testing.assert_allclose(made.means, wanted.means, rtol=1e-12)
    np.testing.assert_allclose(made.scatter, wanted.scatter, rtol=1e-12, atol=1e-12 * wanted.scatter.max())
