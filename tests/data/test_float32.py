"""float32 data is neither copied nor converted where that is safe, and the path has a note where it is not."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dropstep import Selector, select


def table(seed: int, classes: int, n: int, p: int) -> tuple[NDArray[np.float64], NDArray[Any]]:
    """A planted signal with clearly different effects; values that float32 represents exactly."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)).astype(np.float32).astype(np.float64)
    y: NDArray[Any]
    if classes:
        y = rng.permutation(np.arange(n) % classes)
        X[:, : 2 * classes] += rng.normal(size=(classes, 2 * classes))[y].astype(np.float32)
        X = X.astype(np.float32).astype(np.float64)
    else:
        y = X[:, :6] @ [3.0, -2.5, 2.0, -1.5, 1.0, 0.7] + rng.normal(size=n)
    return X, y


SIZES = [(80, 20), (60, 300), (700, 500), (6000, 60)]  # small and large, tall and wide


@pytest.mark.parametrize("classes", [0, 2, 5])
@pytest.mark.parametrize(("n", "p"), SIZES)
@pytest.mark.parametrize("solver", ["columns", "gram"])
def test_the_same_set_as_float64(classes: int, n: int, p: int, solver: str) -> None:
    for seed in range(2):
        X, y = table(seed, classes, n, p)
        double = select(X, y, solver=solver)
        single = select(X.astype(np.float32), y, solver=solver)
        assert single.selected == double.selected
        assert single.stop == double.stop
        assert not [note for note in single.notes if "float" in note or "digits" in note]  # others are on the rows
        np.testing.assert_allclose(single.score, double.score, rtol=1e-4)
        assert double.selected


@pytest.mark.parametrize("strategy", ["stepwise", "forward_backward", "floating", "swap", "backward"])
@pytest.mark.parametrize("classes", [0, 3])
def test_every_strategy(strategy: str, classes: int) -> None:
    X, y = table(3, classes, 2400, 120)
    params = {"strategy": strategy, "max_features": None if strategy == "backward" else 12}
    params |= {"enter": 0.05, "leave": 0.05} if classes else {}
    double = select(X, y, **params)
    assert set(select(X.astype(np.float32), y, **params).selected) == set(double.selected)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize(("dtype", "classes"), [(np.float32, 0), (np.float32, 4), (np.float64, 3)])
def test_nothing_like_a_copy_is_made(dtype: type, classes: int, order: Any) -> None:
    """40 MB of features are read in place: what is allocated in addition is a small fraction of that."""
    rng = np.random.default_rng(0)
    n, p = (2000, 5000) if dtype == np.float32 else (2000, 2500)
    X = np.asarray(rng.standard_normal((n, p), dtype=np.float32), dtype=dtype, order=order)
    signal = X[:, 3] + X[:, 7] + rng.normal(size=n)
    y = np.argsort(np.argsort(signal)) * classes // n if classes else signal
    X.flags.writeable = False
    assert 39e6 < X.nbytes < 41e6
    tracemalloc.start()
    try:
        selector = Selector(max_features=3).fit(X, y)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 0.5 * X.nbytes
    assert {3, 7} <= set(selector.selected_)


@pytest.mark.parametrize("classes", [0, 3])
def test_it_says_so_where_float32_is_not_safe(classes: int) -> None:
    """With a mean far from zero, few digits of a float32 vary: products are then computed in float64."""
    X, y = table(4, classes, 700, 500)
    far = (X + 1000.0).astype(np.float32)
    path = select(far, y)
    assert path.selected == select(far.astype(np.float64), y).selected
    (note,) = path.notes
    for word in ("float32", "mean", "standard deviation", "float64"):
        assert word in note
    assert "note: X is float32" in str(path)
    assert not select(X.astype(np.float32), y).notes
    assert not select(far.astype(np.float64), y).notes


@pytest.mark.parametrize("classes", [0, 3])
@pytest.mark.parametrize("shift", [0.0, 30.0, 3000.0])
def test_shifted_float32_keeps_what_it_holds(classes: int, shift: float) -> None:
    for n, p in SIZES:
        X, y = table(5, classes, n, p)
        far = (X + shift).astype(np.float32)
        assert select(far, y).selected == select(far.astype(np.float64), y).selected


@pytest.mark.parametrize("classes", [0, 3])
def test_large_and_small_float32(classes: int) -> None:
    """float32 cannot represent the squares of 1e30 and 1e-30."""
    for n, p in SIZES:
        X, y = table(6, classes, n, p)
        for factor in (1e15, 1e-15, 1e30, 1e-30):
            scaled = (X * factor).astype(np.float32)
            assert select(scaled, y).selected == select(scaled.astype(np.float64), y).selected


@pytest.mark.parametrize(("n", "p"), [(300, 1000), (250, 4500)])
@pytest.mark.parametrize("constant", [0.1, 1 / 3, 1000.1, 2.2e5])
def test_a_constant_column_needs_no_float64(n: int, p: int, constant: float) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, p)).astype(np.float32)
    X[:, 5] = constant
    path = select(X, X[:, 0] + rng.normal(size=n), max_features=2, solver="columns")
    assert not any("float32" in note for note in path.notes)
