"""What must not change the answer: names of classes, order of rows and columns, scale, memory, threads, blocks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path as FilePath
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

import datasets
from dropstep import FBED, Moments, SelectionPath, Significance, select

STRATEGIES = ("dropping", "forward", "backward", "stepwise", "forward_backward", "fbed", "floating", "swap")


@dataclass(frozen=True)
class Case:
    """A table with the words under which it is searched."""

    X: NDArray[Any]
    y: NDArray[Any]
    words: dict[str, Any]

    def path(self, X: Any = None, y: Any = None, **words: Any) -> SelectionPath:
        return select(self.X if X is None else X, self.y if y is None else y, **(self.words | words))


def regression(seed: int, n: int = 150, p: int = 24, **words: Any) -> Case:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) + rng.normal(size=(n, 1))
    y = X[:, :6] @ [3.0, -2.0, 1.5, 1.0, -0.7, 0.5] + rng.normal(size=n)
    return Case(X, y, words)


def classes(seed: int, n: int = 180, p: int = 24, **words: Any) -> Case:
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n) % 4)
    X = rng.normal(size=(n, p)) + 0.7 * rng.normal(size=(n, 1))
    X[:, :5] += 0.8 * rng.normal(size=(4, 5))[y]
    return Case(X, y, words)


CASES: dict[str, Callable[[FilePath], Case]] = {
    "default": lambda _: regression(1),
    "ebic": lambda _: regression(1, criterion="ebic"),
    "aic": lambda _: regression(2, criterion="aic"),
    "cp": lambda _: regression(3, criterion="cp", strategy="stepwise"),
    "r2": lambda _: regression(4, criterion="r2", enter=0.004, leave=0.002, strategy="forward_backward"),
    "rss by a test": lambda _: regression(5, criterion="rss", strategy="floating"),
    "two targets": lambda _: Case(regression(6).X, np.c_[regression(6).y, regression(6).X[:, 8] + regression(7).y], {}),
    "trace by a test": lambda _: classes(1),
    "trace": lambda _: classes(2, enter=0.02, leave=0.02, strategy="stepwise"),
    "wilks": lambda _: classes(3, criterion="wilks", strategy="swap", max_features=6),
    "pillai": lambda _: classes(4, criterion="pillai", strategy=FBED(rounds=2)),
    "roy": lambda _: classes(5, criterion="roy", strategy="backward"),
    "wide": lambda _: classes(6, n=60, p=300),
    "large, classes": lambda _: classes(7, n=600, p=500, enter=0.05, leave=0.05),
    "large, regression": lambda _: regression(8, n=600, p=500, criterion="r2", enter=1e-4, leave=1e-4, max_features=40),
    "digits": lambda folder: Case(*_rows(datasets.optdigits(folder), 900), {"enter": 0.05, "leave": 0.05}),
    "satellite": lambda folder: Case(*_rows(datasets.satellite(folder), 1200), {"enter": 0.05, "leave": 0.05}),
    "satellite by a test": lambda folder: Case(*_rows(datasets.satellite(folder), 4435), {}),
}


def _rows(data: tuple[Any, Any], n: int) -> tuple[Any, Any]:
    keep = np.random.default_rng(0).permutation(len(data[0]))[:n]
    return data[0][keep], data[1][keep]


@pytest.fixture(scope="module", params=CASES)
def case(request: pytest.FixtureRequest) -> Case:
    real = request.param.startswith(("digits", "satellite"))
    return CASES[request.param](request.getfixturevalue("data_dir") if real else FilePath())


@pytest.fixture(scope="module")
def plain(case: Case) -> SelectionPath:
    path = case.path()
    assert 2 <= len(path.selected) < case.X.shape[1]
    return path


def same(a: SelectionPath, b: SelectionPath, *, scale: float = 1.0) -> None:
    """The same features in the same order of entry, and the same score up to rounding."""
    assert a.selected == b.selected
    assert a.stop is b.stop
    np.testing.assert_allclose(a.score * scale, b.score, rtol=1e-7)


def entered(path: SelectionPath) -> list[int]:
    """Selected features in order of entry; backward has them all from the start, in the order of the columns."""
    return sorted(path.selected) if path.strategy == "backward" else list(path.selected)


def moved_back(path: SelectionPath, order: NDArray[np.intp]) -> list[int]:
    """The same by the columns of the table before its columns were put in an order."""
    features = [int(order[j]) for j in path.selected]
    return sorted(features) if path.strategy == "backward" else features


def test_order_of_rows(case: Case, plain: SelectionPath) -> None:
    for seed in range(2):
        order = np.random.default_rng(seed).permutation(len(case.X))
        same(case.path(case.X[order], case.y[order]), plain)


def test_order_of_columns(case: Case, plain: SelectionPath) -> None:
    for seed in range(2):
        order = np.random.default_rng(seed).permutation(case.X.shape[1])
        path = case.path(case.X[:, order])
        assert moved_back(path, order) == entered(plain)
        np.testing.assert_allclose(path.score, plain.score, rtol=1e-7)


@pytest.mark.parametrize("solver", ["columns", "gram"])
def test_scale_and_shift_of_columns(case: Case, plain: SelectionPath, solver: str) -> None:
    p = case.X.shape[1]
    factors = np.where(np.arange(p) % 3 == 0, 1e6, np.where(np.arange(p) % 3 == 1, -1e-6, 1.0))
    spread = np.where(case.X.std(axis=0) > 0, case.X.std(axis=0), 1.0)
    same(case.path(case.X * factors, solver=solver), plain)
    same(case.path(case.X * 1e6, solver=solver), plain)
    same(case.path(case.X + 1e6, solver=solver), plain)
    same(case.path(case.X + 1e6 * spread * np.sign(factors), solver=solver), plain)
    same(case.path((case.X + 1e6) * 1e6, solver=solver), plain)


def test_memory_order_and_views(case: Case, plain: SelectionPath) -> None:
    X = case.X
    frozen = X.copy()
    frozen.flags.writeable = False
    y = case.y.copy()
    y.flags.writeable = False
    views = {
        "C": np.ascontiguousarray(X),
        "F": np.asfortranarray(X),
        "read-only": frozen,
        "read-only F": np.asfortranarray(frozen),
        "every other row": np.repeat(X, 2, axis=0)[::2],
        "every other column": np.repeat(X, 2, axis=1)[:, ::2],
        "reversed": X[::-1, ::-1].copy()[::-1, ::-1],
        "part of a cube": np.stack([X, X], axis=1)[:, 1],
    }
    for view in views.values():
        before = view.copy()
        same(case.path(view, y), plain)
        np.testing.assert_array_equal(view, before)


def test_moments_columns_and_blocks(case: Case, plain: SelectionPath) -> None:
    for solver in ("gram", "columns"):
        path = case.path(solver=solver)
        assert path.solver == solver
        same(path, plain)
    model = plain.model
    order = np.random.default_rng(0).permutation(len(case.X))
    blocks = [Moments.of(case.X[rows], case.y[rows], model=model) for rows in np.array_split(order, 7)]
    total = blocks[0]
    for block in blocks[1:]:
        total = total + block
    same(select(total, **case.words), plain)
    back = blocks[-1]
    for block in blocks[-2::-1]:
        back = block + back
    same(select(back, **case.words), plain)


def test_whole_weights_are_repeated_rows(case: Case) -> None:
    rng = np.random.default_rng(11)
    weights = rng.integers(0, 4, size=len(case.X))
    if case.path().model == "discriminant":
        weights[np.unique(case.y, return_index=True)[1]] = 3  # no class is lost
    words = {"max_features": 12} if case.X.shape[1] > len(case.X) else {}  # repeated rows are fewer than they seem
    repeated = case.path(np.repeat(case.X, weights, axis=0), np.repeat(case.y, weights, axis=0), **words)
    for solver in ("gram", "columns"):
        same(case.path(solver=solver, sample_weight=weights, **words), repeated)
    same(case.path(sample_weight=np.ones(len(case.X))), case.path())
    moments = Moments.of(case.X, case.y, sample_weight=weights, model=repeated.model)
    same(select(moments, **(case.words | words)), repeated)


def test_scaled_weights_keep_what_does_not_count_rows(case: Case, plain: SelectionPath) -> None:
    """Shares of the scatter know no number of rows; tests and penalties do."""
    criterion = "r2" if plain.model == "linear" else "trace"
    words = {"criterion": criterion, "enter": 0.01, "leave": 0.01, "max_features": 8, "strategy": "dropping"}
    weights = np.random.default_rng(12).uniform(0.5, 2.0, size=len(case.X))
    path = case.path(sample_weight=weights, **words)
    for factor in (3.0, 1e4):
        same(case.path(sample_weight=factor * weights, **words), path)


def test_threads(case: Case, plain: SelectionPath) -> None:
    for threads in (1, 2):
        with threadpool_limits(threads):
            same(case.path(), plain)


@pytest.mark.parametrize("solver", ["gram", "columns"])
def test_threads_on_a_table_that_is_worth_them(solver: str) -> None:
    large = classes(9, n=3000, p=220, enter=0.01, leave=0.01)
    with threadpool_limits(1):
        one = large.path(solver=solver)
    with threadpool_limits(2):
        two = large.path(solver=solver)
    same(two, one)
    assert len(one.selected) > 4


def test_names_of_classes(case: Case, plain: SelectionPath) -> None:
    if plain.model == "linear":
        pytest.skip("a regression has no classes")
    labels, codes = np.unique(case.y, return_inverse=True)
    count = len(labels)
    for names in (
        [f"class {chr(97 + c)}" for c in range(count)],
        [f"class {chr(122 - c)}" for c in range(count)],
        np.random.default_rng(3).permutation(count),
        -(10 ** np.arange(count)),
        [f"{c}" for c in range(count)],
        [f"{c / 2}" for c in range(count)],
    ):
        same(case.path(y=np.array(names)[codes]), plain)


def test_scale_and_shift_of_the_target(case: Case, plain: SelectionPath) -> None:
    if plain.model == "discriminant":
        pytest.skip("classes have no scale")
    for y in (case.y * 1e6, case.y * 1e-6, case.y + 1e6, 3 - case.y):
        path = case.path(y=y)
        assert path.selected == plain.selected


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("make", [regression, classes])
def test_every_strategy_on_every_way(strategy: str, make: Callable[..., Case]) -> None:
    for seed in range(20, 24):
        case = make(seed, strategy=strategy)
        plain = case.path(solver="columns")
        order = np.random.default_rng(seed).permutation(24)
        shuffled = case.path(case.X[:, order] * 1e6 + 1e6, solver="gram")
        assert moved_back(shuffled, order) == entered(plain)
        assert shuffled.n_evaluations == plain.n_evaluations
        assert shuffled.sizes() == plain.sizes()


def test_ties_go_to_the_lowest_index() -> None:
    for case in (regression(1), classes(1)):
        first = case.path().selected[0]
        twice = np.c_[case.X, case.X[:, first], case.X]
        same = Significance(0.05)  # does not count the candidates
        path = case.path(twice, enter=same)
        assert path.selected == case.path(enter=same).selected
        moved = case.path(np.c_[case.X[:, first], case.X])
        assert moved.selected[0] == 0
        assert {j - 1 for j in moved.selected[1:]} == set(case.path().selected[1:])
