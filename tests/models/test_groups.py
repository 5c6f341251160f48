"""Groups: collinear members, exact fits, units of unequal rank, and how many may be selected."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from dropstep import BIC, EBIC, Significance, StopReason, select
from dropstep.data.table import Table
from dropstep.data.target import as_target
from dropstep.models.base import Units
from dropstep.models.least_squares.criteria import RSS
from dropstep.models.least_squares.model import LeastSquares
from dropstep.models.least_squares.moves import ResidualBlocks
from dropstep.models.least_squares.problem import problem_of
from dropstep.projection.projection import Projection
from dropstep.search.strategies import STRATEGIES
from problems import Problem, by_library, false_zeros

SOLVERS = ["columns", "gram"]


@pytest.mark.parametrize("solver", SOLVERS)
def test_full_one_hot_coding_has_the_rank_of_its_contrasts(solver: str) -> None:
    X, y = np.eye(3)[np.arange(38) % 3], np.sin(np.arange(38))
    path = select(
        X, y, model="linear", criterion="aic", groups=[0, 0, 0], enter=-math.inf, max_features=1, solver=solver
    )
    contrasts = select(X[:, 1:], y, model="linear", criterion="aic", groups=[0, 0], enter=-math.inf, solver=solver)
    assert path.steps[0].gain == pytest.approx(contrasts.steps[0].gain)
    assert path.steps[0].gain == pytest.approx(-3.956, abs=1e-3)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("model", ["linear", "discriminant"])
def test_nested_factors_add_what_the_outer_one_left(model: str, dtype: type) -> None:
    """Cities within states: given the state, a city factor has as many features less as there are states."""
    rng = np.random.default_rng(3)
    city = rng.integers(0, 6, size=120)
    X = np.c_[np.eye(2)[city % 2], np.eye(6)[city], rng.normal(size=(120, 2))].astype(dtype)
    y: Any = 2.0 * (city % 2) + 0.5 * (city == 4) + 0.3 * rng.normal(size=120)
    y = y if model == "linear" else np.digitize(y, [0.5, 1.5])
    criterion = "bic" if model == "linear" else "wilks"
    common = {"model": model, "criterion": criterion, "strategy": "forward", "enter": -math.inf}
    contrasts = select(X[:, [1, *range(4, 10)]], y, include=[0], groups=[0, 1, 1, 1, 1, 2, 3], **common)
    for solver in SOLVERS:
        path = select(X, y, include=[0, 1], groups=[0] * 2 + [1] * 6 + [2, 3], solver=solver, **common)
        assert len(path.steps) == 4
        assert [s.gain for s in path.steps] == pytest.approx([s.gain for s in contrasts.steps], rel=1e-5)
        assert path.score == pytest.approx(contrasts.score, rel=1e-5)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("strategy", sorted(STRATEGIES))
def test_a_group_that_explains_the_target_exactly_stays(strategy: str, solver: str) -> None:
    c, noise = np.arange(60) % 4, np.random.default_rng(0).normal(size=(60, 2))
    X, y = np.c_[np.eye(4)[c][:, 1:], noise], np.array([0, 1.3, -2.1, 5.7])[c]
    path = select(X, y, model="linear", strategy=strategy, groups=[0, 0, 0, 1, 2], solver=solver)
    assert path.selected == (0, 1, 2)
    expected = {"backward": StopReason.LEAVE, "exhaustive": StopReason.OPTIMAL}.get(strategy, StopReason.EXACT)
    assert path.stop is expected


def with_a_noise_factor(seed: int) -> tuple[np.ndarray, np.ndarray, list[int]]:
    """One feature with an effect, and a factor of 25 levels without one."""
    rng = np.random.default_rng([7, seed])
    levels = np.eye(25)[rng.integers(0, 25, size=200)]
    x = rng.normal(size=(200, 1))
    return np.c_[levels, x], 0.35 * x[:, 0] + rng.normal(size=200), [0] * 25 + [1]


def test_a_large_noise_factor_does_not_block_a_significant_feature() -> None:
    found = 0
    for seed in range(40):
        X, y, groups = with_a_noise_factor(seed)
        path = select(X, y, criterion="rss", strategy="forward", groups=groups)
        single = select(X[:, -1:], y, criterion="rss", enter=Significance(0.05 / 2), strategy="forward")
        assert (25 in path.selected) >= (single.selected == (0,))
        found += 25 in path.selected
    assert found >= 35


def test_the_least_significant_unit_leaves_first() -> None:
    X, y, groups = with_a_noise_factor(1)
    path = select(X, y, criterion="rss", strategy="backward", groups=groups, leave=Significance(0.05))
    assert [s.action for s in path.steps] == ["add", "remove"]
    assert path.selected == (25,)


def test_ebic_counts_units_where_bic_counts_rank() -> None:
    """A real factor of 8 levels is found nearly as often as BIC finds it, not as 7 features out of many."""
    found = {"bic": 0, "ebic": 0}
    for seed in range(60):
        rng = np.random.default_rng([8, seed])
        level = rng.integers(0, 8, size=150)
        X = np.c_[np.eye(8)[level], rng.normal(size=(150, 9))]
        y = rng.permutation(np.linspace(-0.9, 0.9, 8))[level] + rng.normal(size=150)
        for name in found:
            path = select(X, y, criterion=name, groups=[0] * 8 + list(range(1, 10)), strategy="forward")
            found[name] += 0 in path.selected
    assert found["bic"] >= 30
    assert found["ebic"] >= 0.6 * found["bic"]


def test_the_penalty_of_ebic_is_by_units_and_rank() -> None:
    X = np.random.default_rng(1).normal(size=(5000, 12))
    y = X[:, :6].sum(axis=1) + 0.1 * np.random.default_rng(2).normal(size=5000)
    groups = [0, 0, 0, 1, 1, 1, *range(2, 8)]
    given = {"groups": groups, "strategy": "forward"}
    path, bic = select(X, y, criterion=EBIC(), **given), select(X, y, criterion=BIC(), **given)
    assert set(path.selected) == set(bic.selected) == set(range(6))
    assert path.score - bic.score == pytest.approx(2 * math.log(math.comb(8, 2)))


@pytest.mark.parametrize("strategy", sorted(STRATEGIES))
def test_max_features_counts_groups(strategy: str) -> None:
    rng = np.random.default_rng(5)
    X = rng.normal(size=(200, 20))
    y = X.sum(axis=1) + rng.normal(size=200)
    groups = np.repeat(np.arange(5), 4)
    path = select(X, y, strategy=strategy, groups=groups, max_features=3)
    assert len(path.selected) == 12
    assert len({groups[j] for j in path.selected}) == 3
    with pytest.raises(ValueError, match="include forces in 2 features or groups, more than max_features=1"):
        select(X, y, strategy=strategy, groups=groups, include=list(range(8)), max_features=1)


def test_units_count_columns_and_features() -> None:
    """A factor of three columns and a number, grouped; another number."""
    units = Units(6, [[0, 3, 4, 5], [1], [2]], [[0, 3], [1], [2]])
    assert units.of_column.tolist() == [0, 1, 2, 0, 0, 0]
    assert units.having(np.array([False, True, False, False, True, True])).tolist() == [True, True, False]
    assert units.count(np.array([False, True, False, False, True, True])) == 2
    assert units.count(np.zeros(6, dtype=bool)) == 0
    assert units.to_features(np.array([7, 8, 9])) == (7, 8, 9, 7)
    single = Units(3)
    assert single.of_column.tolist() == [0, 1, 2]
    assert single.count(np.array([True, False, True])) == 2
    assert single.to_features(np.array([7, 8, 9])) == (7, 8, 9)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("seed", range(8))
def test_residual_blocks_are_those_of_residual_columns(seed: int, solver: Any) -> None:
    """After random additions, removals, and queries of some units or of all; some features are linearly dependent."""
    rng = np.random.default_rng([9, seed])
    X = rng.normal(size=(60, 24)) + rng.normal(size=24)
    X[:, 5] = X[:, 0] - X[:, 9]
    X[:, 7] = X[:, 6] + 1e-3 * X[:, 7]
    target = as_target(X[:, 0] + rng.normal(size=60), 60, "linear")
    equations = problem_of(Table(X), target, None, solver).equations
    members = rng.permutation(24).reshape(8, 3)
    blocks, projection = ResidualBlocks(members, equations.blocks(members)), Projection(equations)
    centred, chosen = X - X.mean(axis=0), list[int]()
    for _ in range(25):
        action = rng.random()
        if action < 0.5 and len(chosen) < 12:
            new = [j for j in rng.choice(24, int(rng.integers(1, 4)), replace=False).tolist() if j not in chosen]
            projection.add(new)
            chosen += new
        elif action < 0.7 and chosen:
            gone = [
                chosen.pop(int(rng.integers(len(chosen)))) for _ in range(min(len(chosen), int(rng.integers(1, 3))))
            ]
            projection.remove(gone)
        places = np.arange(8) if rng.random() < 0.3 else rng.permutation(8)[: int(rng.integers(1, 8))]
        projection.update(np.sort(members[places].ravel()))
        A = centred[:, chosen]
        residuals = centred - A @ np.linalg.lstsq(A, centred, rcond=1e-10)[0] if chosen else centred
        expected = [residuals[:, unit].T @ residuals[:, unit] for unit in members[places]]
        np.testing.assert_allclose(blocks.given(projection, places), expected, atol=1e-9 * (centred**2).sum())


def test_removals_next_to_nearly_dependent_members_are_exact() -> None:
    """Features lose their digits to others of their group that are added in the same step."""
    rng = np.random.default_rng(1)
    X, small = rng.normal(size=(400, 3_000)), 1e-6  # too large for a centred copy
    X[:, 1], X[:, 2] = X[:, 0] + small * rng.normal(size=400), X[:, 0] - X[:, 3] + small * rng.normal(size=400)
    X[:, 4] += X[:, 3] + X[:, 0]
    y = (X[:, 1] - X[:, 0]) / (2 * small) + X[:, 2] + X[:, 4] + X[:, 5] + rng.normal(size=400)
    problem = problem_of(Table(X), as_target(y, 400, "linear"), None, "columns")
    model = LeastSquares(problem, RSS(), Units(3_000, [[0, 1, 2], [3, 4, 5], *([j] for j in range(6, 3_000))]))
    for unit in (1, 0):
        model.additions(np.arange(unit + 1))
        model.add([unit])
    expected = [_rss(X, y, rest) - _rss(X, y, list(range(6))) for rest in ([3, 4, 5], [0, 1, 2])]
    assert model.removals(np.array([0, 1])).gains == pytest.approx(expected, rel=1e-8)


def _rss(X: Any, y: Any, columns: list[int]) -> float:
    """Residual sum of squares, from orthogonalised columns, which are centred in extended precision."""
    A = X[:, columns].astype(np.longdouble)
    A, t = np.asarray(A - A.mean(axis=0), dtype=np.float64), y - y.mean()
    Q = np.linalg.qr(A / np.linalg.norm(A, axis=0))[0]
    residual = t - Q @ (Q.T @ t)
    return float(np.sum(np.square(residual - Q @ (Q.T @ residual))))


TYPES_AND_MEANS = [
    (np.float32, 0.0), (np.float32, 90.0), (np.float64, 0.0), (np.float64, 90.0), (np.float64, 1e3), (np.float64, 1e6)
]  # fmt: skip


@pytest.mark.parametrize(("dtype", "mean"), TYPES_AND_MEANS)
def test_features_that_are_selected_at_once_keep_their_digits(dtype: type, mean: float) -> None:
    """Backward from rows, with products that have few digits: of float32, or of columns that are not centred."""
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(3_500, 80)) + mean).astype(dtype)
    y = X[:, :20].astype(np.float64).sum(axis=1) + rng.normal(size=3_500)
    for weight in (1.0, 1e8):
        weights = None if weight == 1 else np.full(3_500, weight)
        path = select(
            X, y, strategy="backward", solver="columns", criterion="rss", max_features=15, sample_weight=weights
        )
        assert path.score == pytest.approx(weight * _rss(X, y, list(path.selected)), rel=1e-13)


@pytest.mark.parametrize(("dtype", "mean"), TYPES_AND_MEANS)
@pytest.mark.parametrize("small", [0.1, 0.01])
def test_gains_of_groups_with_similar_members_are_exact(small: float, dtype: type, mean: float) -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(3_000, 120))
    X[:, 2::3] = X[:, ::3] + small * X[:, 2::3]
    X = (X + mean * rng.normal(size=120)).astype(dtype)
    y = (X[:, 2].astype(np.float64) - X[:, 0]) / small + rng.normal(size=3_000)
    units = Units(120, [[j, j + 1, j + 2] for j in range(0, 120, 3)])
    model = LeastSquares(problem_of(Table(X), as_target(y, 3_000, "linear"), None, "columns"), RSS(), units)
    expected = [np.sum(np.square(y - y.mean())) - _rss(X, y, [j, j + 1, j + 2]) for j in range(0, 120, 3)]
    assert model.additions(np.arange(40)).gains == pytest.approx(expected, abs=1e-7 * max(expected))


@pytest.mark.parametrize(("dtype", "mean"), TYPES_AND_MEANS)
def test_members_that_repeat_each_other_have_rank_one(dtype: type, mean: float) -> None:
    """Also the last ones of those that are multiplied together; of equal groups the first is selected."""
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(3_000, 120)) + mean).astype(dtype)
    X[:, 1::2] = X[:, ::2]
    X[:, 22:24] = X[:, :2]
    y = X[:, 0].astype(np.float64) + rng.normal(size=3_000)
    groups = [j // 2 for j in range(120)]
    path = select(X, y, groups=groups, criterion="bic", solver="columns", max_features=1)
    assert path.selected == (0, 1)
    model = LeastSquares(
        problem_of(Table(X), as_target(y, 3_000, "linear"), None, "columns"),
        RSS(),
        Units(120, [[j, j + 1] for j in range(0, 120, 2)]),
    )
    assert [model.rank([u]) for u in range(60)] == [1] * 60


def test_members_that_repeat_others_are_no_directions_of_their_own() -> None:
    """Means of 1e10 standard deviations: products with columns that are not centred have no digits."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(1_500, 180))
    X[:, 1] += X[:, 0]
    X[:, 4] += X[:, 1]
    X += 1e10 * rng.uniform(0.5, 1, size=180)
    X[:, 3] = X[:, 0]
    centred = np.asarray(X - X.astype(np.longdouble).mean(axis=0), dtype=np.float64)
    y = centred[:, [0, 1, 2, 4, 5]].sum(axis=1) + rng.normal(size=1_500)
    groups, out = [0, 0, 1, 1, 2, 2, *range(3, 177)], list(range(6, 180))
    path = select(
        X, y, strategy="backward", solver="columns", groups=groups, criterion="rss", max_features=2, exclude=out
    )
    assert path.selected == (2, 3, 4, 5)
    assert path.score == pytest.approx(_rss(X, y, [2, 3, 4, 5]), rel=1e-9)


@pytest.mark.parametrize("seed", [1551, 8446, 8678, 9821, 11079, 11524])
def test_a_nearly_collinear_column_does_not_replace_an_independent_one(seed: int) -> None:
    """Rounding errors of its coordinates, or the residual that it is not allowed, would pass for its direction."""
    rng, n = np.random.default_rng([21, seed]), 14
    Z = rng.standard_normal((n, int(rng.integers(3, 6))))
    near = 10.0 ** -rng.uniform(2, 6.5, size=2) * rng.standard_normal((2, n)).T
    X = np.column_stack([Z, Z[:, :2] + near])[:, rng.permutation(Z.shape[1] + 2)]
    p = X.shape[1]
    groups = rng.integers(0, max(2, p - 2), size=p).tolist()
    y = X @ rng.standard_normal(p) + rng.standard_normal(n) * rng.choice([0.1, 1])
    for strategy in ("backward", "forward_backward"):
        parameters = {"strategy": strategy, "solver": "gram", "groups": groups, "leave": 1e-3}
        given = Problem(
            X, y, "linear", "r2", parameters=parameters | {"enter": 0 if strategy != "backward" else "auto"}
        )
        path = by_library(given)
        assert not isinstance(path, str)
        assert list(false_zeros(given, path)) == []


@pytest.mark.parametrize("seed", [445, 4100])
def test_an_independent_column_does_not_leave_at_no_loss(seed: int) -> None:
    """Two nearly collinear pairs in different groups: a Gram matrix lost the digits of all directions."""
    rng = np.random.default_rng([21, seed])
    X = rng.normal(size=(14, 6))
    X[:, 1] = X[:, 0] + 10 ** -rng.uniform(2, 7) * X[:, 1]
    X[:, 3] = X[:, 2] + 10 ** -rng.uniform(2, 7) * X[:, 3]
    y = X[:, 4] + X @ rng.normal(size=6) * 0.3 + 0.3 * rng.normal(size=14)
    groups = [[0, 2], [1, 3], [4], [5]]
    path = select(X, y, solver="gram", groups=groups, strategy="backward", criterion="rss", enter=1.0)
    left = [step for step in path.steps if step.action == "remove" and step.features in ((4,), (5,))]
    assert left
    assert all(step.gain < -0.1 for step in left)
    assert any("cannot resolve the gain" in note for note in path.notes)
