"""Columns that repeat an earlier one: found exactly, whatever the table, and named in a note."""

import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_diabetes

from dropstep import SelectionPath, select
from dropstep.data import duplicates
from dropstep.data.duplicates import repeated


def slow(values: np.ndarray) -> dict[int, int]:
    """Every pair of columns is compared."""
    found = {}
    for j, k in itertools.combinations(range(values.shape[1]), 2):
        varies = (values[:, j] != values[0, j]).any()
        if k not in found and varies and (values[:, j] == values[:, k]).all():
            found[k] = j
    return found


@settings(max_examples=60, deadline=None)
@given(st.integers(2, 90), st.integers(1, 12), st.integers(0, 10**6), st.sampled_from(["normal", "binary", "tiny"]))
def test_as_by_comparing_every_pair(n, p, seed, kind):
    as_by_comparing_every_pair(n, p, seed, kind)


@pytest.mark.parametrize("seed", range(20))
def test_blocks_of_few_rows(seed, monkeypatch):
    monkeypatch.setattr(duplicates, "BLOCK_SIZE", 100)
    as_by_comparing_every_pair(90, 12, seed, ["normal", "binary"][seed % 2])


def as_by_comparing_every_pair(n, p, seed, kind):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) if kind != "binary" else rng.integers(0, 2, size=(n, p)).astype(float)
    X = X[:, rng.integers(0, p, size=p)] * (1e-200 if kind == "tiny" else 1)
    if n > 70 and p > 1:
        X[-1, -1] += 1  # equal but for the last row
    assert repeated(X) == slow(X)


def test_zeros_of_both_signs_are_equal():
    assert repeated(np.array([[0.0, -0.0], [1.0, 1.0], [2.0, 2.0]])) == {1: 0}


def repeats(path: SelectionPath) -> list[str]:
    """The notes on duplicates."""
    return [note for note in path.notes if "repeat" in note]


def test_one_duplicate_is_named_with_what_it_repeats():
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    assert repeats(select(X.assign(bmi2=X["bmi"], c=1.0, d=1.0), y)) == [
        "'bmi2' repeats 'bmi' exactly and counts as a candidate of its own, which makes tests and penalties stricter; "
        "to ignore it, use exclude=['bmi2']",
    ]
    assert repeats(select(X.assign(bmi2=X["bmi"]), y, exclude=["bmi2"])) == []


def test_several_duplicates_and_factors():
    X, y = load_diabetes(return_X_y=True)
    X = np.column_stack([X, X[:, :8]])
    (note,) = repeats(select(X, y))
    assert note.startswith("8 columns repeat an earlier one exactly (column 10 repeats column 0) and count as")
    assert note.endswith("to ignore them, use exclude")
    town = np.array(["a", "b", "c"])[np.arange(442) % 3]
    frame = pd.DataFrame({"x": X[:, 2], "town": town, "city": town})
    assert "'city' repeats 'town' exactly" in repeats(select(frame, y))[0]


@pytest.mark.filterwarnings("error")
def test_missing_values_make_no_noise():
    X = np.array([[np.nan, 1.0, np.inf], [2.0, 2.0, 1.0], [3.0, 3.0, 1.0]])
    assert repeated(X) == {}
