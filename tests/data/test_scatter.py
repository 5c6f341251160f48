"""Class means and scatter from blocks of rows: as by the definition in extended precision, in one pass if possible."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dropstep.data import scatter
from dropstep.data.matrices.dense import Dense
from dropstep.data.scatter import MIN_BLOCK_ROWS, statistics
from dropstep.data.target import BLOCK_ROWS, Categorical, Continuous, Target, as_target

N = 2 * MIN_BLOCK_ROWS + 300
KINDS = ["numbers", "numbers, weights", "classes", "classes, weights"]


def table(kind: str, seed: int = 0) -> tuple[NDArray[Any], Target, NDArray[np.float64] | None]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, 5)) @ rng.normal(size=(5, 6)) + 0.1 * rng.normal(size=(N, 6))
    weights = rng.uniform(0.0, 3.0, size=N) if "weights" in kind else None
    if "numbers" in kind:
        return X, Continuous(X[:, :2] + rng.normal(size=(N, 2)) + 1e5), weights
    codes = rng.permutation(np.arange(N) % 3)
    return X + codes[:, None], Categorical(np.array(["a", "b", "c"]), codes), weights


def expected(X: Any, target: Target, weights: Any) -> tuple[Any, Any, Any]:
    """The definition, in extended precision."""
    w = np.ones(N, dtype=np.longdouble) if weights is None else weights.astype(np.longdouble)
    columns, codes = X.astype(np.longdouble), np.zeros(N, dtype=int)
    if isinstance(target, Continuous):
        columns = np.c_[columns, target.values.astype(np.longdouble)]
    else:
        codes = target.codes
    classes = [codes == c for c in range(codes.max() + 1)]
    means = np.array([w[own] @ columns[own] / w[own].sum() for own in classes])
    centred = columns - means[codes]
    return np.array([w[own].sum() for own in classes]), means, (centred * w[:, None]).T @ centred


def is_copied(X: Any, target: Target, weights: Any) -> bool:
    """Whether blocks are copied, to convert, weight or centre them; otherwise X is read in place."""
    in_place = isinstance(target, Continuous) or X.size <= scatter.CACHED
    return X.dtype != np.float64 or weights is not None or not in_place


@pytest.fixture(params=[0, scatter.CACHED], ids=["large", "small"], autouse=True)
def cached(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables with classes are large, and copied in blocks, or small enough to be read in place."""
    monkeypatch.setattr(scatter, "CACHED", request.param)


def check(X: Any, target: Target, weights: Any, n_passes: int) -> None:
    """Correct to 12 digits, relative to the spread of the columns; `n_passes` counts the first rows as one."""
    matrix = Dense(X)
    counts, means, within = statistics(matrix, target, weights)
    wanted = expected(X, target, weights)
    size = np.sqrt(np.diagonal(wanted[2])).astype(float)
    np.testing.assert_allclose(counts, wanted[0].astype(float), rtol=1e-14)
    spread = size / np.sqrt(counts.sum())
    np.testing.assert_allclose((means - wanted[1]) / (spread + np.abs(means)), 0.0, atol=1e-14)
    np.testing.assert_allclose((within - wanted[2]) / np.outer(size, size), 0.0, atol=1e-12)
    np.testing.assert_array_equal(within, within.T)
    assert matrix.reads.n_passes == n_passes or not is_copied(X, target, weights)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int16])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("shift", [0.0, 3e4])
def test_of_every_kind_of_rows_in_one_pass(kind: str, dtype: type, order: Any, shift: float) -> None:
    X, target, weights = table(kind)
    check(np.asarray((10 * X if dtype == np.int16 else X) + shift, dtype=dtype, order=order), target, weights, 2)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("kind", KINDS)
def test_rows_in_any_order(kind: str, dtype: type) -> None:
    """The first rows may be far from the others: outliers that they are, or rows of a trend."""
    X, target, weights = table(kind)
    for far in (np.arange(N) < MIN_BLOCK_ROWS, np.arange(N) == 0, np.linspace(0, 1, N)):
        check((X + 1e4 * far[:, None]).astype(dtype), target, weights, 2)


@pytest.mark.parametrize("kind", ["classes", "classes, weights"])
def test_classes_that_are_far_apart_take_a_second_pass(kind: str) -> None:
    X, target, weights = table(kind)
    assert isinstance(target, Categorical)
    check(X + 1e6 * target.codes[:, None], target, weights, 3)


def test_first_rows_of_weight_zero_have_no_influence() -> None:
    X, target, weights = table("numbers, weights")
    assert weights is not None
    for n_zeros, n_passes in ((3, 2), (MIN_BLOCK_ROWS + 1, 3)):
        weights[:n_zeros], X[:n_zeros] = 0.0, 1e3
        check(X, target, weights, n_passes)


@pytest.mark.parametrize("kind", KINDS)
def test_constants_have_no_scatter_and_cost_no_second_pass(kind: str) -> None:
    X, target, weights = table(kind)
    X[:, :2] = 0.1, 1e15
    matrix = Dense(X)
    _, means, within = statistics(matrix, target, weights)
    np.testing.assert_array_equal(within[:2], 0.0)
    np.testing.assert_array_equal(means[:, :2], [[0.1, 1e15]] * len(means))
    assert matrix.reads.n_passes == 2 or not is_copied(X, target, weights)


@pytest.mark.parametrize("kind", KINDS)
def test_blocks_take_little_memory(kind: str) -> None:
    """20 MB of float32 are converted, centred and weighted, a few MB at a time."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((50_000, 100), dtype=np.float32)
    codes = np.arange(len(X)) % 23
    target: Target = Continuous(rng.normal(size=(len(X), 1)))
    if "classes" in kind:
        target = Categorical(np.arange(23), codes)
    weights = rng.uniform(size=len(X)) if "weights" in kind else None
    tracemalloc.start()
    try:
        statistics(Dense(X), target, weights)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 0.2 * X.nbytes


@pytest.mark.parametrize("dtype", ["U15", "S15", object, np.int64, np.float64])
def test_classes_of_many_rows(dtype: Any) -> None:
    """Labels take as much memory as features: a sorted copy of them is not made."""
    rng = np.random.default_rng(0)
    numbers = rng.integers(0, 20, size=2 * BLOCK_ROWS + 5)
    names = [f"a long label {i:2}" for i in range(20)]
    y = np.array(names, dtype=dtype)[numbers] if dtype in ("U15", "S15", object) else numbers.astype(dtype)
    tracemalloc.start()
    try:
        target = as_target(y, len(y), "auto")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert isinstance(target, Categorical)
    labels, codes = np.unique(y.astype(str) if dtype is object else y, return_inverse=True)
    np.testing.assert_array_equal(target.labels, labels)
    np.testing.assert_array_equal(target.codes, codes)
    if dtype == "U15":
        assert peak < 0.6 * y.nbytes
