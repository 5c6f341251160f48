"""Every gain, of additions and removals, equals the textbook difference; every path equals the textbook path."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import reference
from dropstep.data.groups import as_choice
from dropstep.data.table import Table
from dropstep.data.target import as_target
from dropstep.models.least_squares.criteria import CRITERIA
from dropstep.models.least_squares.problem import problem_of
from dropstep.search.search import Move, Search
from dropstep.select import _search
from problems import compare, problem
from tables import RandomTable, tables

LINEAR = [name for name, criterion in CRITERIA.items() if criterion.kind == "linear"]
CLASSES = [name for name, criterion in CRITERIA.items() if criterion.kind == "discriminant"]
PENALISED = [name for name, criterion in CRITERIA.items() if criterion.penalised]
WORDS = {"enter": "auto", "leave": "auto", "drop": None, "max_features": None, "rounds": 1}

# What rounding is relative to, where the score itself may be near zero: M = I + G, R2 = 1 - RSS / TSS.
UNIT = dict.fromkeys(["trace", "pillai", "roy", "r2", "adj_r2"], 1.0)

thorough = settings(deadline=None, max_examples=120, suppress_health_check=[HealthCheck.too_slow])


def search_of(table: RandomTable, solver: str, criterion: str, groups: Any = None, **words: Any) -> Search:
    target = as_target(table.y, len(table.X), table.model, table.weights)
    problem = problem_of(Table(table.X), target, table.weights, solver)
    units = as_choice(problem.n_features, None, None, None, groups)
    return _search(problem, units, WORDS | {"strategy": "forward", "criterion": criterion} | words)


def fitting(table: RandomTable, criterion: str) -> bool:
    """Cp takes its sigma2 from the full model, which p > n does not have."""
    return criterion != "cp" or (table.X.shape[1] + 3 < len(table.X) and table.weights is None)


def close(fast: float, slow: float, rounding: float) -> bool:
    """Equal to 1e-7 relative; a difference of scores has no more digits than they."""
    return fast == slow or abs(fast - slow) <= 1e-7 * abs(slow) + rounding


@thorough
@given(tables(), st.sampled_from(["gram", "columns"]), st.data())
def test_gains_are_the_textbook_differences(table: RandomTable, solver: str, data: st.DataObject) -> None:
    criterion = data.draw(st.sampled_from(LINEAR if table.model == "linear" else CLASSES))
    assume(fitting(table, criterion))
    search = search_of(table, solver, criterion)
    rng = np.random.default_rng(table.seed)
    for _ in range(int(rng.integers(0, 9))):
        wander(search, rng, table.n_rows)
    assume(leaves_room(search, table))
    check_gains(search, table, criterion)


def candidates(search: Search) -> Iterator[tuple[int, float, float, float]]:
    """Unit, gain, rank and partial lambda of each candidate in the pool."""
    moves = search.additions()
    rank = np.where(moves.free, moves.rank, 0.0)
    inside = np.isin(moves.units, search.pool)
    return zip(moves.units[inside].tolist(), moves.gains[inside], rank[inside], moves.partial[inside], strict=True)


def leaves_room(search: Search, table: RandomTable) -> bool:
    """Whether every addition leaves rows to spare: an exact fit has no score but rounding."""
    most = max((rank for _, _, rank, _ in candidates(search)), default=0.0)
    return table.n_rows - search.projection.size - most > table.n_targets + 3


def wander(search: Search, rng: np.random.Generator, rows: float) -> None:
    """One random move: mostly an addition, where half of the rows stay free."""
    if search.selected and rng.random() < 0.35:
        search.remove(Move(int(rng.choice(search.selected))), "backward")
        return
    free = [unit for unit, _, rank, _ in candidates(search) if rank > 0]
    if len(free) and search.projection.size < rows / 2 - 2:
        search.add(Move(int(rng.choice(free))), "forward")


def check_gains(search: Search, table: RandomTable, criterion: str) -> None:
    textbook = reference.problem_of(table.X, table.y, table.weights, table.model)
    units = [search.units.features([u]) for u in range(search.units.n)]
    known = reference.criterion_of(textbook, criterion, units=units)

    def score(selected: list[int]) -> float:
        return reference.score_of(textbook, known, [units[u] for u in selected])

    now = score(search.selected)
    rounding = table.rounding * max(abs(now), abs(search.score), abs(score([])), UNIT.get(criterion, 0.0))
    assert close(search.score, now, rounding)
    for unit, gain, rank, _ in candidates(search):
        features = reference.flat([search.units.features([u]) for u in search.selected])
        assert (rank == 0) == reference.adds_nothing(textbook, features, tuple(search.units.features([unit])))
        slow = reference.improvement(criterion, score([*search.selected, int(unit)]), now) if rank else 0.0
        assert close(gain, slow, rounding), f"adding {unit}"
    moves = search.removals()
    for unit, loss in zip(moves.units, moves.gains, strict=True):
        slow = -reference.improvement(criterion, score([u for u in search.selected if u != unit]), now)
        assert close(loss, slow, rounding), f"removing {unit}"


@thorough
@given(tables(), st.sampled_from(["gram", "columns"]), st.data())
def test_gains_of_groups_are_the_textbook_differences(table: RandomTable, solver: str, data: st.DataObject) -> None:
    criterion = data.draw(st.sampled_from(LINEAR if table.model == "linear" else CLASSES))
    assume(fitting(table, criterion))
    rng = np.random.default_rng(table.seed)
    groups = rng.integers(0, max(1, table.X.shape[1] // 2), size=table.X.shape[1]).tolist()
    search = search_of(table, solver, criterion, groups)
    for _ in range(int(rng.integers(0, 5))):
        wander(search, rng, table.n_rows)
    assume(leaves_room(search, table))
    check_gains(search, table, criterion)


@thorough
@given(tables(), st.sampled_from(["gram", "columns"]), st.booleans())
def test_partial_lambda_and_its_test_are_the_textbook_ones(table: RandomTable, solver: str, grouped: bool) -> None:
    rng = np.random.default_rng(table.seed)
    p = table.X.shape[1]
    groups = rng.integers(0, max(1, p // 2), size=p).tolist() if grouped else None
    search = search_of(table, solver, "rss" if table.model == "linear" else "trace", groups)
    for _ in range(int(rng.integers(0, 4))):
        wander(search, rng, table.n_rows)
    textbook = reference.problem_of(table.X, table.y, table.weights, table.model)
    features = reference.flat([search.units.features([u]) for u in search.selected])
    found = list(candidates(search))
    assume(leaves_room(search, table))
    for unit, _, rank, partial in found:
        added = search.units.features([unit])
        assert math.isclose(partial, reference.lambda_of(textbook, features, added), rel_tol=1e-7)
        p_value = reference.p_value_of(textbook, features, added)
        for level in (0.05, 0.001):
            significant = rank > 0 and partial <= search.problem.critical(level, search.projection.size, rank)
            assert significant == (p_value <= level)


@thorough
@given(tables(), st.sampled_from(["gram", "columns"]))
def test_the_invariant_of_the_projection(table: RandomTable, solver: str) -> None:
    """W = inv(R)' S_A, left = diag(S) - diag(W'W), cross = C - W'Z, M = base + sign Z'Z, after random moves."""
    search = search_of(table, solver, "rss" if table.model == "linear" else "trace")
    rng = np.random.default_rng(table.seed)
    for _ in range(12):
        wander(search, rng, table.n_rows)
        if rng.random() < 0.2 and len(search.pool) > 1:
            search.rest(search.pool[:1])
            search.drop(search.pool[:1], "forward")
        if rng.random() < 0.2:
            search.recall("forward")
    search.recall("forward")
    projection, problem = search.projection, search.problem
    S = problem.block(np.arange(problem.n_features))
    scale = np.sqrt(np.where(problem.diagonal > 0, problem.diagonal, 1.0))
    A = projection.independent
    R = projection.W[:, A]
    unit = np.outer(scale[A], scale)
    np.testing.assert_allclose(projection.inverse @ R * np.divide.outer(scale[A], scale[A]), np.eye(len(A)), atol=1e-7)
    np.testing.assert_allclose(R.T @ projection.W / unit, S[A] / unit, atol=1e-9)
    left = problem.diagonal - (projection.W**2).sum(axis=0)
    np.testing.assert_allclose(projection.left / scale**2, np.maximum(left, 0) / scale**2, atol=1e-9)
    size = np.sqrt(np.diagonal(problem.base))
    cross = problem.cross - projection.W.T @ projection.Z
    np.testing.assert_allclose(projection.cross / scale[:, None] / size, cross / scale[:, None] / size, atol=1e-8)
    M = problem.base + problem.sign * projection.Z.T @ projection.Z
    np.testing.assert_allclose(projection.explained.M / np.outer(size, size), M / np.outer(size, size), atol=1e-9)


@pytest.mark.parametrize("first", range(0, 1200, 150))
def test_paths_are_the_textbook_paths(first: int) -> None:
    """Steps, gains, scores and evaluations, on the problems that `make fuzz` starts with."""
    differences = {seed: compare(problem(seed)) for seed in range(first, first + 150)}
    assert {seed: difference for seed, difference in differences.items() if difference} == {}
