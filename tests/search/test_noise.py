"""Pure noise: by default nothing is selected, about 95 times in 100, whatever the table is like."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dropstep import Selector, select

TABLES = {  # rows, features, classes (0: a regression)
    "two classes": (100, 50, 2),
    "five classes, wide": (100, 1000, 5),
    "regression": (100, 80, 0),
    "regression, wide": (200, 1000, 0),
}


def noise(rows: int, features: int, classes: int, repeat: int) -> tuple[Any, Any]:
    rng = np.random.default_rng([rows, features, classes, repeat])
    X = rng.normal(size=(rows, features))
    return X, np.arange(rows) % classes if classes else rng.normal(size=rows)


@pytest.mark.parametrize("table", TABLES)
def test_noise_gives_an_empty_selection(table: str) -> None:
    """At least one feature in no more than 8 of 100 repeats, by the default Selector."""
    found = [repeat for repeat in range(100) if Selector().fit(*noise(*TABLES[table], repeat)).support_.any()]
    assert len(found) <= 8


@pytest.mark.parametrize("table", ["two classes", "regression"])
def test_the_level_is_what_it_says(table: str) -> None:
    """0.05 at most; 33 of 400 is three standard errors more."""
    found = sum(bool(select(*noise(*TABLES[table], 100 + repeat)).selected) for repeat in range(400))
    assert 2 <= found <= 33


@pytest.mark.parametrize("criterion", ["rss", "r2", "adj_r2", "trace", "pillai", "wilks", "roy"])
def test_every_test_keeps_its_level(criterion: str) -> None:
    table = (100, 60, 0) if criterion in ("rss", "r2", "adj_r2") else (100, 60, 3)
    found = sum(bool(select(*noise(*table, 500 + repeat), criterion=criterion).selected) for repeat in range(100))
    assert found <= 10


@pytest.mark.parametrize(
    "strategy", ["forward", "stepwise", "forward_backward", "fbed", "floating", "swap", "backward"]
)
def test_every_strategy_keeps_its_level(strategy: str) -> None:
    found = sum(bool(select(*noise(100, 12, 3, repeat), strategy=strategy).selected) for repeat in range(60))
    assert found <= 7


def test_groups_of_noise_are_not_selected() -> None:
    groups = np.arange(60) // 4
    for classes in (0, 3):
        paths = (select(*noise(100, 60, classes, repeat), groups=groups) for repeat in range(60))
        assert sum(bool(path.selected) for path in paths) <= 7


def test_a_signal_among_noise_is_found() -> None:
    for repeat in range(10):
        X, y = noise(100, 1000, 5, repeat)
        X[:, 700] += 0.9 * y
        assert 700 in select(X, y).selected
        X, y = noise(200, 1000, 0, repeat)
        assert 3 in select(X, y + 0.8 * X[:, 3]).selected
