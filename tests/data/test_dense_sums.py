"""A matrix in memory, against NumPy: sums of products and of squares, block by block, and copies of columns."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dropstep.data import threads
from dropstep.data.matrices import dense
from dropstep.data.matrices.dense import LONG_ROWS, MAX_SUMMED, Dense

rng = np.random.default_rng(0)


@pytest.fixture(autouse=True)
def in_threads_and_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small tables are summed in threads as well, in several blocks per thread."""
    monkeypatch.setattr(dense, "MIN_THREADED", 0)
    monkeypatch.setattr(dense, "SUMMED_SIZE", 500)
    monkeypatch.setattr(dense, "LONG", 30)


@pytest.mark.parametrize("dtype", ["float64", "float32", "int16", "float16", "bool"])
@pytest.mark.parametrize("shape", [(1, 1), (3, 700), (40, 30), (20 * LONG_ROWS + 1, 7)])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("n_vectors", [1, 2, MAX_SUMMED, MAX_SUMMED + 1])
def test_sums_of_every_order_and_type(dtype: str, shape: tuple[int, int], order: Any, n_vectors: int) -> None:
    X = np.asarray(100 * rng.normal(size=shape), order=order).astype(dtype)
    V, w = rng.normal(size=(n_vectors, len(X))), rng.uniform(0, 2, size=len(X))
    exact = X.astype(np.float64)
    tolerance = 1e-5 if dtype == "float32" else 1e-12
    for weights in (None, w):
        product, squares = Dense(X).sums(V, weights)
        assert product.dtype == squares.dtype == np.float64
        np.testing.assert_allclose(product, V @ exact, rtol=tolerance, atol=tolerance * np.abs(exact).max() * len(X))
        np.testing.assert_allclose(squares, (np.ones(len(X)) if weights is None else w) @ exact**2, rtol=tolerance)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("size", [500, 2**18])
def test_sums_of_float32_do_not_lose_digits_with_the_number_of_rows(
    order: Any, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dense, "SUMMED_SIZE", size)
    X = np.asarray(rng.uniform(1, 2, size=(100_000, 2)).astype(np.float32), order=order)
    product, squares = Dense(X).sums(np.ones((1, len(X))), None)
    exact = X.astype(np.float64)
    np.testing.assert_allclose(product[0], exact.sum(axis=0), rtol=1e-7)
    np.testing.assert_allclose(squares, (exact**2).sum(axis=0), rtol=1e-7)


@pytest.mark.parametrize("order", ["C", "F"])
def test_sums_that_are_not_finite_do_not_warn(order: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "n_threads", lambda: 2)  # where the state of this thread does not hold
    X = np.asarray([[np.inf, 1e200, np.nan], [-np.inf, 1e200, 1.0]] * 20, order=order)
    with np.errstate(invalid="ignore", over="ignore"):
        product, squares = Dense(X).sums(np.ones((1, len(X))), None)
    assert np.isnan(product[0, [0, 2]]).all()
    assert not np.isfinite(squares).any()


@pytest.mark.parametrize("order", ["C", "F"])
def test_few_vectors_are_summed_in_one_pass(order: Any) -> None:
    X = Dense(np.asarray(rng.normal(size=(50, 20)), order=order))
    X.sums(np.ones((MAX_SUMMED, 50)), None)
    assert X.reads.n_passes == 1
    X.sums(np.ones((MAX_SUMMED + 1, 50)), None)
    assert X.reads.n_passes == 3


def test_columns_that_are_copied_in_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dense, "MIN_TAKEN", 0)
    for dtype in ("float64", "float32", "int16"):
        X = (100 * rng.normal(size=(37, 23))).astype(dtype)
        for features in (np.array([22, 0, 3, 3]), np.arange(23), np.empty(0, dtype=np.intp)):
            taken = Dense(X).take(features)
            assert taken.dtype == X.dtype
            np.testing.assert_array_equal(taken, X[:, features])
