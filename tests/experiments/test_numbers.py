"""The paper's numbers that can be reproduced exactly, and its Parkinson halves, on which the trace diverges."""

from __future__ import annotations

from pathlib import Path as FilePath
from typing import Any

import numpy as np
import pytest

import datasets
from dropstep import Moments, Selector, StopReason, select

PAPER = ("dropping", "forward_backward", "stepwise")
HALVES = 3


@pytest.mark.parametrize("strategy", PAPER)
@pytest.mark.parametrize("solver", ["auto", "gram", "columns"])
def test_optic(strategy: str, solver: str, data_dir: FilePath) -> None:
    path = select(*datasets.optdigits(data_dir), strategy=strategy, enter=0.05, leave=0.05, solver=solver)
    assert len(path.selected) == 49
    assert round(path.score, 4) == 26.0313
    assert path.stop is StopReason.ENTER
    assert not path.notes


@pytest.mark.parametrize("strategy", PAPER)
@pytest.mark.parametrize("solver", ["auto", "gram", "columns"])
def test_satellite(strategy: str, solver: str, data_dir: FilePath) -> None:
    path = select(*datasets.satellite(data_dir), strategy=strategy, enter=0.05, leave=0.05, solver=solver)
    assert len(path.selected) == 18
    assert round(path.score, 4) == 15.1458
    assert path.stop is StopReason.ENTER
    (note,) = path.notes
    assert note.startswith("x17 entered with a gain of 3.516, and x16 would have brought 3.509")


def test_the_same_by_a_selector_and_by_moments(data_dir: FilePath) -> None:
    X, y = datasets.optdigits(data_dir)
    params: dict[str, Any] = {"enter": 0.05, "leave": 0.05}
    selector = Selector(**params).fit(X, y)
    assert (selector.support_.sum(), round(selector.score_, 4)) == (49, 26.0313)
    standard = (X - X.mean(axis=0)) / np.where(X.std(axis=0) > 0, X.std(axis=0), 1.0)
    assert set(select(standard, y, **params).selected) == set(selector.selected_)
    blocks = [Moments.of(X[i::5], y[i::5], model="discriminant") for i in range(5)]
    path = select(sum(blocks[1:], blocks[0]), **params)
    assert (set(path.selected), round(path.score, 4)) == (set(selector.selected_), 26.0313)


def test_dropping_saves_evaluations(data_dir: FilePath) -> None:
    X, y = datasets.optdigits(data_dir)
    evaluations = {s: select(X, y, strategy=s, enter=0.05, leave=0.05).n_evaluations for s in PAPER}
    assert evaluations["dropping"] < evaluations["forward_backward"] < evaluations["stepwise"]


@pytest.fixture(scope="module")
def halves(data_dir: FilePath) -> list[tuple[Any, Any]]:
    """Random halves of the Parkinson rows: 378 rows and 753 features each, two classes."""
    X, y, _ = datasets.parkinson(data_dir)
    return [
        (X[rows], y[rows])
        for seed in range(HALVES)
        for rows in [np.sort(np.random.default_rng(seed).permutation(len(X))[:378])]
    ]


@pytest.mark.parametrize("strategy", PAPER)
@pytest.mark.parametrize("half", range(HALVES))
def test_parkinson_diverges_with_finite_numbers(strategy: str, half: int, halves: list[tuple[Any, Any]]) -> None:
    """enter = leave = 0.01 adds features until no residual degrees of freedom are left; every number stays finite."""
    X, y = halves[half]
    path = select(X, y, strategy=strategy, enter=0.01, leave=0.01)
    assert len(path.selected) <= 378 - 2 - 1
    assert max(path.sizes()) <= 378 - 2 - 1
    assert path.stop in (StopReason.ROWS, StopReason.SPAN, StopReason.ENTER, StopReason.EXACT)
    if len(path.selected) > 300:
        assert path.stop in (StopReason.ROWS, StopReason.SPAN, StopReason.EXACT)
    score = path.start
    for step in path.steps:
        assert np.isfinite([step.gain, step.score]).all()
        assert step.score >= 0
        if step.action == "add":  # the trace never decreases when a feature is added
            assert step.gain > 0.01
            assert step.score > score
        elif step.action == "remove":
            assert -0.01 <= step.gain <= 0
        if score < 100:  # where the trace diverges, residuals are small and lose digits
            np.testing.assert_allclose(step.score - score, step.gain, rtol=1e-7, atol=1e-10)
        score = step.score


@pytest.mark.parametrize("half", range(HALVES))
def test_parkinson_by_the_papers_thresholds_and_by_a_test(half: int, halves: list[tuple[Any, Any]]) -> None:
    X, y = halves[half]
    paper = select(X, y, enter=0.05, leave=0.01, drop=0.01)
    assert 4 <= len(paper.selected) <= 375
    tested = select(X, y)
    assert 2 <= len(tested.selected) <= 30
    assert tested.stop is StopReason.ENTER


def test_parkinson_scores_are_those_of_the_definition(halves: list[tuple[Any, Any]]) -> None:
    """trace(inv(Sw) Sb) of the features that enter, by a QR of the rows about their class means.

    Some of the features have means thousands of times their standard deviation; that must not cost digits.
    """
    X, y = halves[0]
    path = select(X, y, strategy="forward", enter=0.01, max_features=320)
    for size in (1, 10, 60, 200, 280, 320):
        features = list(path.selected[:size])
        taken = (X[:, features] - X[:, features].mean(axis=0)) / X[:, features].std(axis=0)
        within = taken - np.stack([taken[y == c].mean(axis=0) for c in (0, 1)])[y]
        between = np.stack([np.sqrt((y == c).sum()) * (taken[y == c].mean(0) - taken.mean(0)) for c in (0, 1)])
        r = np.asarray(np.linalg.qr(within, mode="r"))
        trace = (np.linalg.solve(r.T, between.T) ** 2).sum()
        np.testing.assert_allclose(path.steps[size - 1].score, trace, rtol=1e-6)
