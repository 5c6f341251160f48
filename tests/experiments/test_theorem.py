"""The paper's theorem as a property: the order of columns changes no coefficient, and no selection."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from experiments.paper.theorem import remarks_gap, same_selection, swapped, theorem_gap, theorem_trial


@st.composite
def regressions(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, np.random.Generator]:
    p = draw(st.integers(2, 12))
    n = p + draw(st.integers(4, 40))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    scale = 10.0 ** rng.uniform(-draw(st.integers(0, 3)), draw(st.integers(0, 3)), size=p)
    X = rng.normal(size=(n, p)) * scale
    y = X @ (rng.normal(size=p) / scale) + rng.normal(size=n)
    return X, y, rng


@settings(max_examples=60, deadline=None)
@given(regressions())
def test_swapping_two_columns_swaps_two_coefficients(regression) -> None:
    X, y, rng = regression
    order = swapped(X.shape[1], *rng.choice(X.shape[1], size=2, replace=False))
    assert theorem_gap(X, y, order) < 1e-9
    assert remarks_gap(X, order) < 1e-9


@settings(max_examples=40, deadline=None)
@given(regressions())
def test_any_order_of_columns_gives_the_same_selection(regression) -> None:
    X, y, rng = regression
    order = rng.permutation(X.shape[1])
    assert theorem_gap(X, y, order) < 1e-9
    assert same_selection(X, y, order)


def test_the_gap_sees_a_difference() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 3))
    y = X @ np.array([1.0, 2.0, 3.0])
    beta = np.linalg.lstsq(X, y, rcond=None)[0]
    assert np.abs(beta - beta[swapped(3, 0, 2)]).max() / np.abs(beta).max() > 0.5


def test_a_trial_shows_all_of_it() -> None:
    record = theorem_trial(0, 0)
    assert max(record["swap"], record["order"], record["remarks"]) < 1e-9
    assert record["same"]
