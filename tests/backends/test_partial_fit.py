"""partial_fit after any blocks of rows equals fit on all of them."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from dropstep import Selector
from sources import TARGETS, table

CUTS = (0, 40, 300, 301, 870, 900)


def fitted_in_blocks(selector: Selector, X: Any, y: Any, weights: Any = None) -> Selector:
    for a, b in itertools.pairwise(CUTS):
        selector.partial_fit(X[a:b], y[a:b], None if weights is None else weights[a:b])
    return selector


def same(a: Selector, b: Selector) -> None:
    np.testing.assert_array_equal(a.selected_, b.selected_)
    np.testing.assert_array_equal(a.ranking_, b.ranking_)
    np.testing.assert_allclose(a.score_, b.score_, rtol=1e-9)
    assert a.n_features_in_ == b.n_features_in_
    assert a.path_.coefficients.names == b.path_.coefficients.names
    assert a.path_.coefficients.classes == b.path_.coefficients.classes
    np.testing.assert_allclose(a.path_.coefficients.coef, b.path_.coefficients.coef, rtol=1e-7)


@pytest.mark.parametrize("y", ["y", "label", "code", ["y", "y2"]], ids=str)
@pytest.mark.parametrize("weighted", [False, True])
def test_blocks_equal_fit(y: Any, weighted: bool) -> None:
    frame = table(5)
    X, weights = frame.drop(columns=[*TARGETS, "weight"]), frame["weight"] if weighted else None
    blocks = fitted_in_blocks(Selector(exclude=["whole"]), X, frame[y], weights)
    whole = Selector(exclude=["whole"]).fit(X, frame[y], weights)
    same(blocks, whole)
    np.testing.assert_array_equal(blocks.feature_names_in_, whole.feature_names_in_)
    assert blocks.transform(X).equals(whole.transform(X))


def test_arrays_without_names() -> None:
    frame = table(6)
    X, y = frame[list("abcdef")].to_numpy(), frame["y"].to_numpy()
    blocks = fitted_in_blocks(Selector(), X, y)
    same(blocks, Selector().fit(X, y))
    assert not hasattr(blocks, "feature_names_in_")
    assert blocks.path_.feature_names is None


def test_fit_forgets_blocks() -> None:
    frame = table(7)
    X, y = frame[list("abcdef")], frame["y"]
    selector = fitted_in_blocks(Selector(), X, frame["y2"]).fit(X, y)
    same(selector, Selector().fit(X, y))
    same(selector.partial_fit(X, y), Selector().fit(X, y))


def test_messages() -> None:
    frame = table(8)
    X, y = frame[list("abc")], frame["y"]
    with pytest.raises(ValueError, match="partial_fit keeps moments, which suffice for models 'linear' and"):
        Selector(model="logistic").partial_fit(X, y > 0)
    selector = Selector().partial_fit(X, y)
    with pytest.raises(ValueError, match="feature names should match"):
        selector.partial_fit(X[["a", "b"]], y)
    with pytest.raises(ValueError, match="block 2 has other columns than the blocks before: 5 instead of 4"):
        selector.partial_fit(X, np.column_stack([y, y]))
    with pytest.raises(ValueError, match="X and y must have the same number of rows; X has 900, y has 10"):
        selector.partial_fit(X, y[:10])
    with pytest.raises(ValueError, match="block 2, row 4: X contains NaN or infinity in 'b'"):
        selector.partial_fit(X.assign(b=np.where(np.arange(900) == 3, np.nan, X["b"])), y)
