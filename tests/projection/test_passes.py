"""How often X is read: counts, not times, on tables large enough for freezing and prefetching."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dropstep import SelectionPath, select
from dropstep.data.columns import Columns
from dropstep.models.least_squares.problem import choose_solver
from dropstep.projection.prefetch import Prefetcher, likely_next

N, P, TRUE = 1000, 2500, 40


@pytest.fixture(scope="module")
def table() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Forty features of the same strength, so that a search needs many of them."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N, P))
    return X, X[:, :TRUE].sum(axis=1) + 0.5 * rng.standard_normal(N)


@pytest.fixture
def passes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The number of vectors in each product with all columns, in turn."""
    made: list[int] = []
    products: Callable[..., Any] = Columns.products

    def counted(self: Columns, R: Any, out: Any = None) -> Any:
        if self.X.shape[1] == P:
            made.append(R.shape[1])
        return products(self, R, out)

    monkeypatch.setattr(Columns, "products", counted)
    return made


def steps_with_passes(path_of: Callable[..., SelectionPath], made: list[int]) -> list[tuple[str, int]]:
    """The action of each step, and how many products were computed for it since the step before."""
    seen: list[tuple[str, int]] = []

    def callback(step: Any) -> None:
        seen.append((step.action, len(made) - sum(count for _, count in seen)))

    path_of(callback=callback)
    return seen


@pytest.mark.parametrize("strategy", ["forward", "stepwise"])
def test_far_fewer_passes_than_steps(strategy: str, table: Any, passes: list[int]) -> None:
    path = select(*table, strategy=strategy, solver="columns")
    assert len(path.selected) >= TRUE
    assert len(passes) <= len(path.selected) / 5
    assert all(m <= 32 for m in passes)


def test_dropped_features_are_read_once_more_when_they_are_recalled(table: Any, passes: list[int]) -> None:
    steps = steps_with_passes(lambda **params: select(*table, strategy="dropping", **params), passes)
    actions = [action for action, _ in steps]
    dropped, recalled = actions.index("drop"), actions.index("recall")
    assert recalled - dropped > 5
    assert not any(made for _, made in steps[dropped + 1 : recalled])
    assert len(passes) <= sum(made for _, made in steps[: dropped + 1]) + 2


def test_removals_need_no_pass_of_their_own(table: Any, passes: list[int]) -> None:
    X, y = table
    mixed = X.copy()
    mixed[:, TRUE] += X[:, :6] @ np.array([3.0, 2.0, 1.0, 1.0, 0.5, 0.5])  # the best at first, redundant in the end
    steps = steps_with_passes(lambda **params: select(mixed, y, strategy="stepwise", **params), passes)
    assert any(action == "remove" for action, _ in steps)
    assert len(passes) <= sum(action == "add" for action, _ in steps) / 4


def test_groups_take_no_more_passes_than_their_features(table: Any, passes: list[int]) -> None:
    """Whole groups are prefetched, and the path is that of a Gram matrix."""
    select(*table, strategy="forward", solver="columns")
    single = len(passes)
    passes.clear()
    groups = [j // 4 for j in range(P)]
    grouped = select(*table, strategy="forward", groups=groups, solver="columns")
    assert len(passes) <= single
    assert grouped.selected == select(*table, strategy="forward", groups=groups, solver="gram").selected


def test_little_is_prefetched_where_little_may_be_added(table: Any, passes: list[int]) -> None:
    params: dict[str, Any] = {"strategy": "forward", "criterion": "rss", "enter": 0}
    select(*table, max_features=1, **params)
    assert passes == [1]
    passes.clear()
    select(*table, max_features=5, **params)
    assert passes[0] <= 16
    assert len(passes) <= 2


def test_what_cannot_be_added_is_not_fetched(passes: list[int]) -> None:
    """One strong feature and noise: the first pass is the last."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((N, P))
    path = select(X, X[:, 7] + 0.1 * rng.standard_normal(N), strategy="forward")
    assert path.selected == (7,)
    assert passes == [16]


@pytest.mark.parametrize("strategy", ["forward", "stepwise", "dropping", "fbed", "floating"])
@pytest.mark.parametrize("kind", ["regression", "several targets", "classes"])
def test_both_solvers_make_the_same_path(strategy: str, kind: str, table: Any) -> None:
    """Far more features than fit in the first room for directions."""
    X, y = table
    words: dict[str, Any] = {"strategy": strategy, "max_features": 45}
    if kind == "several targets":
        words["criterion"] = "bic"
        y = np.column_stack([y, X[:, 20:60].sum(axis=1) + 0.5 * np.random.default_rng(2).standard_normal(N)])
    if kind == "classes":
        y, words["enter"], words["leave"] = np.digitize(y, np.quantile(y, [0.3, 0.7])), 0.01, 0.005
    columns, moments = (select(X, y, solver=solver, **words) for solver in ("columns", "gram"))
    assert len(columns.selected) > 32
    assert [(s.action, s.features, s.pool) for s in columns.steps] == [
        (s.action, s.features, s.pool) for s in moments.steps
    ]
    np.testing.assert_allclose([s.gain for s in columns.steps], [s.gain for s in moments.steps], rtol=1e-6, atol=1e-9)
    assert columns.n_evaluations == moments.n_evaluations
    assert columns.ranking == moments.ranking


def test_unused_prefetches_are_not_repeated_soon() -> None:
    prefetcher = Prefetcher(16, 32)
    fetched = []
    for used in (5, 0, 0, 0, 0, 0, 1, *[0] * 9, 3, 0):
        fetched.append(prefetcher.limits(1))
        for _ in range(used):
            prefetcher.use()
    some, none = (15, 31), (0, 0)
    assert fetched == [some, some, *[none] * 4, some, *[none] * 8, some, none, none]


def test_as_many_features_are_prefetched_as_stand_out_from_noise() -> None:
    power = np.random.default_rng(0).standard_normal(2_000) ** 2
    candidates = np.ones(2_000, dtype=bool)
    assert len(likely_next(power, candidates, (15, 31))) == 15
    power[100:120] += 40.0
    assert sorted(likely_next(power, candidates, (15, 31))) == list(range(100, 120))
    candidates[100:110] = False
    assert set(range(110, 120)) < set(likely_next(power, candidates, (15, 31)))
    power[100:200] += 40.0
    assert len(likely_next(power, candidates, (15, 31))) == 31


def test_whole_units_are_prefetched() -> None:
    power, units = np.ones(2_000), np.arange(2_000) // 5
    candidates = power > 0
    power[[100, 205, 206, 399, 1_000]] = 50.0, 30.0, 30.0, 40.0, 20.0
    assert likely_next(power, candidates, (12, 30), units) == [*range(100, 105), *range(205, 210)]
    candidates[205] = False  # cannot be added, so that its unit explains less
    assert likely_next(power, candidates, (12, 30), units) == [*range(100, 105), *range(395, 400)]
    assert likely_next(power, candidates, (2, 30), units) == list(range(100, 105))  # one, although it is larger
    assert likely_next(power, candidates, (2, 4), units) == []
    power[:] = 0.0
    assert likely_next(power, candidates, (12, 30), units) == []


@pytest.mark.parametrize(
    ("n", "p", "asked", "solver"),
    [
        (200_000, 200, None, "gram"),  # tall
        (52_397, 276, 20, "gram"),
        (80_000, 5_000, 20, "columns"),  # 20 features cost less than X'X
        (5_000, 10_000, None, "columns"),  # square: S would be larger than X
        (500, 20_000, None, "columns"),  # wide
        (80, 80, 4, "columns"),  # tiny: as cheap, and more digits
        (2_000, 2_000, 200, "gram"),  # square: 200 features cost more than X'X
        (2_000, 2_000, 20, "columns"),
        (10_000, 10_000, 1_000, "columns"),  # S would take 800 MB
    ],
)
def test_the_way_is_the_cheaper_one(n: int, p: int, asked: int | None, solver: str) -> None:
    assert choose_solver(n, p, asked) == solver


def test_backward_from_rows_computes_one_product(table: Any) -> None:
    """It needs all of X'X, not a product per feature; wide tables and tiny ones keep their columns."""
    assert choose_solver(3_000, 1_000, from_all=True) == choose_solver(2_000, 2_000, 20, from_all=True) == "gram"
    assert choose_solver(500, 2_000, from_all=True) == choose_solver(80, 80, from_all=True) == "columns"
    X, y = table[0][:, :300], table[1]
    by_gram = select(X, y, strategy="backward", criterion="bic")
    by_columns = select(X, y, strategy="backward", criterion="bic", solver="columns")
    assert by_gram.solver == "gram"
    assert by_gram.selected == by_columns.selected
    assert [step.features for step in by_gram.steps] == [step.features for step in by_columns.steps]


def test_the_way_can_be_forced_and_is_told(table: Any) -> None:
    X, y = table[0][:, :50], table[1]
    assert select(X, y).solver == choose_solver(N, 50)
    assert {select(X, y, solver=solver).solver for solver in ("gram", "columns")} == {"gram", "columns"}
