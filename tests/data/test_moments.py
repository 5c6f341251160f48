"""Moments are added, subtracted, saved and loaded: the search does not depend on how rows are divided into blocks."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from operator import add
from pathlib import Path as FilePath
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from dropstep import Moments, select


@dataclass(frozen=True)
class Rows:
    X: NDArray[Any]
    y: NDArray[Any]
    weights: NDArray[np.float64] | None
    model: str

    def moments(self, rows: Any = slice(None)) -> Moments:
        weights = None if self.weights is None else self.weights[rows]
        return Moments.of(self.X[rows], self.y[rows], sample_weight=weights, model=self.model)


def rows(seed: int, kind: str, n: int = 90, p: int = 7) -> Rows:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) * 10.0 ** rng.integers(-3, 4, size=p) + 5 * rng.normal(size=p)
    weights = rng.uniform(0.5, 3.0, size=n) if "weights" in kind else None
    if "classes" in kind:
        y: NDArray[Any] = np.array(["ash", "beech", "oak", "yew"])[rng.permutation(np.arange(n) % 4)]
        return Rows(X + 0.3 * (y == "oak")[:, None] * X.std(axis=0), y, weights, "discriminant")
    q = 3 if "targets" in kind else 1
    y = (X / X.std(axis=0))[:, :q] + rng.normal(size=(n, q))
    return Rows(X, y if q > 1 else y[:, 0], weights, "linear")


KINDS = ["numbers", "numbers, weights", "targets", "targets, weights", "classes", "classes, weights"]


def close(a: Moments, b: Moments, tolerance: float = 1e-12) -> None:
    """Equal, relative to the size of each column."""
    assert (a.labels is None) == (b.labels is None)
    if a.labels is not None:
        np.testing.assert_array_equal(a.labels, b.labels)
    assert (a.n_targets, a.feature_names) == (b.n_targets, b.feature_names)
    np.testing.assert_allclose(a.counts, b.counts, rtol=tolerance)
    size = np.sqrt(np.diagonal(b.scatter)) + np.abs(b.means).max(axis=0)
    np.testing.assert_allclose(a.means / size, b.means / size, atol=tolerance)
    np.testing.assert_allclose(a.scatter / np.outer(size, size), b.scatter / np.outer(size, size), atol=tolerance)


@pytest.mark.parametrize("kind", KINDS)
def test_moments_are_what_they_are_called(kind: str) -> None:
    table = rows(1, kind)
    moments = table.moments()
    w = np.ones(90) if table.weights is None else table.weights
    y = table.y if table.y.ndim == 2 else table.y[:, None]
    columns = table.X if table.model == "discriminant" else np.c_[table.X, y]
    groups = [table.y == label for label in np.unique(table.y)] if table.model == "discriminant" else [w > 0]
    scatter = np.zeros((columns.shape[1],) * 2)
    for c, member in enumerate(groups):
        mean = np.average(columns[member], axis=0, weights=w[member])
        np.testing.assert_allclose(moments.means[c], mean, rtol=1e-12)
        np.testing.assert_allclose(moments.counts[c], w[member].sum())
        centred = (columns[member] - mean) * np.sqrt(w[member])[:, None]
        scatter += centred.T @ centred
    size = np.sqrt(np.diagonal(scatter))
    np.testing.assert_allclose(moments.scatter / np.outer(size, size), scatter / np.outer(size, size), atol=1e-13)
    assert moments.n_features == 7
    assert moments.n_rows == pytest.approx(w.sum())


@pytest.mark.parametrize("kind", KINDS)
@settings(deadline=None, max_examples=25, derandomize=True)
@given(seed=st.integers(0, 2**32 - 1), data=st.data())
def test_any_blocks_add_up_to_the_whole(kind: str, seed: int, data: st.DataObject) -> None:
    """Blocks of random rows, in any order, to 1e-12 relative; some lack classes."""
    table = rows(seed % 1000, kind)
    rng = np.random.default_rng(seed)
    count = data.draw(st.integers(1, 6))
    at = rng.permutation(90)
    if table.model == "discriminant":
        parts = [at[np.isin(table.y[at], pair)] for pair in (["ash", "oak"], ["beech", "yew"])]
        parts = [block for part in parts for block in np.array_split(part, count)]
    else:
        parts = np.array_split(at, count)
    blocks = [table.moments(part) for part in parts]
    whole = table.moments()
    close(reduce(add, blocks), whole)
    close(reduce(add, [blocks[i] for i in rng.permutation(len(blocks))]), whole)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("folds", [2, 5])
def test_the_whole_minus_a_fold_is_the_rest(kind: str, folds: int) -> None:
    """Cross-validation without another pass over the rows."""
    table = rows(3, kind, n=200)
    whole = table.moments()
    for fold in np.array_split(np.random.default_rng(0).permutation(200), folds):
        rest = np.setdiff1d(np.arange(200), fold)
        close(whole - table.moments(fold), table.moments(rest), 1e-11)


def test_a_class_that_is_taken_out_is_gone() -> None:
    table = rows(4, "classes")
    pair = np.isin(table.y, ["ash", "oak"])
    rest = table.moments() - table.moments(~pair)
    assert list(rest.labels) == ["ash", "oak"]
    close(rest, table.moments(pair), 1e-11)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("named", [False, True])
def test_save_and_load(kind: str, named: bool, tmp_path: FilePath) -> None:
    table = rows(5, kind)
    X: Any = pd.DataFrame(table.X, columns=["ä", "b c", "c", "d", "e", "<f>", ""]) if named else table.X
    moments = Moments.of(X, table.y, sample_weight=table.weights, model=table.model)
    for file in (tmp_path / "moments.npz", str(tmp_path / "of any name")):
        moments.save(file)
        again = Moments.load(file)
        assert again.feature_names == moments.feature_names
        for field in ("counts", "means", "scatter"):
            np.testing.assert_array_equal(getattr(again, field), getattr(moments, field))
        assert select(again) == select(moments)
        close(again + moments, moments + moments)
    assert (moments.feature_names is not None) == named


@pytest.mark.parametrize("labels", [[1, 2, 10], [True, False], ["b", "a", "ü"], [-1.0, 0.0, 1.0], [b"x", b"y"]])
def test_labels_of_any_kind_are_saved(labels: list[Any], tmp_path: FilePath) -> None:
    y = np.array(labels)[np.arange(30) % len(labels)]
    moments = Moments.of(np.random.default_rng(0).normal(size=(30, 3)), y)
    moments.save(tmp_path / "m.npz")
    again = Moments.load(tmp_path / "m.npz")
    np.testing.assert_array_equal(again.labels, np.unique(y))
    assert again.labels.dtype == moments.labels.dtype


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("strategy", ["dropping", "stepwise", "floating", "backward"])
def test_select_of_moments_is_select_of_rows(kind: str, strategy: str) -> None:
    for seed in range(6, 9):
        table = rows(seed, kind)
        frame = pd.DataFrame(table.X, columns=list("abcdefg"))
        params: dict[str, Any] = {"strategy": strategy, "exclude": ["g"]}
        by_rows = select(frame, table.y, sample_weight=table.weights, model=table.model, solver="columns", **params)
        moments = Moments.of(frame, table.y, sample_weight=table.weights, model=table.model)
        by_moments = select(moments, **params)
        assert by_moments.selected == by_rows.selected
        assert by_moments.selected_names == by_rows.selected_names
        assert by_moments.ranking == by_rows.ranking
        assert (by_moments.stop, by_moments.model, by_moments.solver) == (by_rows.stop, by_rows.model, "gram")
        assert by_moments.n_evaluations == by_rows.n_evaluations
        np.testing.assert_allclose(by_moments.score, by_rows.score, rtol=1e-9)


@pytest.mark.parametrize("kind", ["numbers", "classes"])
@pytest.mark.parametrize("shift", [1e8, -1e8])
def test_large_means_cost_no_digits(kind: str, shift: float) -> None:
    """Means of 1e8: the rows hold 8 digits of a standard deviation then, and the moments keep them, block by block."""
    table = rows(10, kind, n=4000)
    X = table.X / table.X.std(axis=0)
    far = X + shift
    y = table.y
    near = Moments.of(far - shift, y, model=table.model)
    blocks = [Moments.of(far[i::7], y[i::7], model=table.model) for i in range(7)]
    for moments in (
        Moments.of(far, y, model=table.model),
        reduce(add, blocks),
        reduce(add, blocks) + blocks[2] - blocks[2],
    ):
        size = np.sqrt(np.diagonal(near.scatter))
        np.testing.assert_allclose(
            moments.scatter / np.outer(size, size), near.scatter / np.outer(size, size), atol=1e-8
        )
        assert select(moments).selected == select(near).selected


def test_many_small_blocks_lose_no_digits() -> None:
    table = rows(11, "numbers", n=3000)
    blocks = [Moments.of(table.X[i : i + 2], table.y[i : i + 2], model="linear") for i in range(0, 3000, 2)]
    close(reduce(add, blocks), table.moments(), 1e-12)


def test_float32_and_orders_of_memory() -> None:
    table = rows(12, "classes", n=5000, p=30)
    short = table.X.astype(np.float32)
    wanted = Moments.of(short.astype(np.float64), table.y)
    for X in (short, np.asfortranarray(short), np.repeat(short, 2, axis=1)[:, ::2]):
        close(Moments.of(X, table.y), wanted, 1e-6)


def test_moments_that_do_not_belong_together_are_refused() -> None:
    numbers, classes = rows(1, "numbers").moments(), rows(1, "classes").moments()
    fewer = Moments.of(rows(1, "numbers").X[:, :5], rows(1, "numbers").y)
    targets = rows(1, "targets").moments()
    frame = pd.DataFrame(rows(1, "numbers").X, columns=list("abcdefg"))
    named = Moments.of(frame, rows(1, "numbers").y)
    other = Moments.of(frame.rename(columns={"a": "z"}), rows(1, "numbers").y)
    for a, b in ((numbers, classes), (numbers, fewer), (numbers, targets), (classes, numbers)):
        for combine in (Moments.__add__, Moments.__sub__):
            with pytest.raises(ValueError, match="cannot be combined: the number of features and the type of target"):
                combine(a, b)
    for a, b in ((named, other), (named, numbers)):
        with pytest.raises(ValueError, match="feature names differ"):
            a + b
    for odd in (3, None, np.ones(3)):
        with pytest.raises(TypeError, match="can be combined only with Moments; got"):
            numbers + odd


def test_moments_can_be_taken_only_from_those_that_hold_them() -> None:
    table = rows(13, "classes")
    part, whole = table.moments(slice(30)), table.moments()
    with pytest.raises(ValueError, match="contain the same rows"):
        part - whole
    without = table.moments(table.y != "oak")
    with pytest.raises(ValueError, match="contain the same rows"):
        without - whole


def test_moments_of_bad_rows_are_refused() -> None:
    X, y = rows(1, "numbers").X.copy(), rows(1, "numbers").y
    with pytest.raises(ValueError, match="same number of rows"):
        Moments.of(X, y[1:])
    X[4, 2] = np.nan
    with pytest.raises(ValueError, match="NaN or infinity in column 2"):
        Moments.of(X, y)
    with pytest.raises(ValueError, match="NaN or infinity in 'c'"):
        Moments.of(pd.DataFrame(X, columns=list("abcdefg")), y)


@pytest.mark.parametrize("model", ["linear", "discriminant"])
def test_blocks_of_one_class_or_of_constant_numbers(model: str) -> None:
    """Rows sorted by their target are common: a block may hold a single class, or one row."""
    table = rows(14, "classes" if model == "discriminant" else "numbers")
    y = table.y if model == "discriminant" else np.round(table.y)
    at = np.argsort(y, kind="stable")
    blocks = [Moments.of(table.X[rows], y[rows], model=model) for rows in np.array_split(at, 30)]
    ones = [Moments.of(table.X[i : i + 1], y[i : i + 1], model=model) for i in range(90)]
    close(reduce(add, blocks), Moments.of(table.X, y, model=model))
    close(reduce(add, ones), Moments.of(table.X, y, model=model))
    with pytest.raises(ValueError, match=r"at least|one class|constant"):
        select(ones[0])
    with pytest.raises(ValueError, match=r"one class|constant"):
        select(Moments.of(table.X[:20], np.ones(20), model=model))


@pytest.mark.parametrize("kind", KINDS)
def test_differences_can_be_saved(kind: str, tmp_path: FilePath) -> None:
    """A column that varies only in the rows that are subtracted leaves rounding, which no scatter matrix may hold."""
    table = rows(15, kind, n=120)
    X = table.X.copy()
    X[:40, 1:3] = X[0, 1:3]
    X[:40, 4] = 1e9 + 1e-3 * X[:40, 5]
    X[:40, 6] *= 1e-5
    table = Rows(X, table.y, table.weights, table.model)
    rest = table.moments() - table.moments(slice(40, None))
    assert np.diagonal(rest.scatter)[1:3].tolist() == [0.0, 0.0]
    assert not rest.scatter[1:3].any()
    rest.save(tmp_path / "m.npz")
    np.testing.assert_array_equal(Moments.load(tmp_path / "m.npz").scatter, rest.scatter)
