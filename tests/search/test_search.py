"""Every gain, of additions and removals, equals the textbook difference; every path equals the textbook path."""

from __future__ import annotations

import math
from collections.abc import Iterator
from types import SimpleNamespace
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
from dropstep.models.least_squares.family import LeastSquaresProblem
from dropstep.models.least_squares.problem import problem_of
from dropstep.parameters import Parameters
from dropstep.projection import equations as normal_equations
from dropstep.projection.projection import Projection
from dropstep.running import make_search
from dropstep.search.search import Move, Search
from problems import compare, problem
from tables import RandomTable, tables

LINEAR = [name for name, criterion in CRITERIA.items() if criterion.kind == "linear"]
CLASSES = [name for name, criterion in CRITERIA.items() if criterion.kind == "discriminant"]
PENALISED = [name for name, criterion in CRITERIA.items() if criterion.penalised]

# What rounding is relative to, where the score itself may be near zero: M = I + G, R2 = 1 - RSS / TSS.
UNIT = dict.fromkeys(["trace", "pillai", "roy", "r2", "adj_r2"], 1.0)

thorough = settings(deadline=None, max_examples=120, suppress_health_check=[HealthCheck.too_slow])


def search_of(table: RandomTable, solver: str, criterion: str, groups: Any = None, **words: Any) -> Any:
    target = as_target(table.y, len(table.X), table.model, table.weights)
    problem = problem_of(Table(table.X), target, table.weights, solver)
    choice = as_choice(problem.n_features, None, None, None, groups)
    sample = SimpleNamespace(choice=choice, encoding=None, n_features=problem.n_features)
    given = Parameters(strategy="forward", criterion=criterion, **words)
    return make_search(sample, LeastSquaresProblem(problem), given, None).search


def fitting(table: RandomTable, criterion: str) -> bool:
    """Cp and Sawa's take sigma2 from the full model, which p > n does not have; PRESS (test_press) reads the rows."""
    if criterion not in ("cp", "sawa"):
        return criterion != "press"
    one = criterion == "cp" or table.n_targets == 1
    return one and table.X.shape[1] + 3 < len(table.X) and table.weights is None


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


def candidates(search: Any) -> Iterator[tuple[int, float, float, float]]:
    """Unit, gain, rank and partial lambda of each candidate in the pool."""
    scan = search.additions()
    rank = np.where(scan.tests._update.feasible, scan.tests._update.rank, 0.0)
    return zip(scan.units.tolist(), scan.gains, rank, scan.tests._partial(), strict=True)


def leaves_room(search: Any, table: RandomTable) -> bool:
    """Whether every addition leaves rows to spare: an exact fit has no score but rounding."""
    most = max((rank for _, _, rank, _ in candidates(search)), default=0.0)
    return table.n_rows - search.model.projection.size - most > table.n_targets + 3


def wander(search: Any, rng: np.random.Generator, rows: float) -> None:
    """One random move: mostly an addition, where half of the rows stay free."""
    if search.selected and rng.random() < 0.35:
        search.remove(Move(int(rng.choice(search.selected))), "backward")
        return
    free = [unit for unit, _, rank, _ in candidates(search) if rank > 0]
    if len(free) and search.model.projection.size < rows / 2 - 2:
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
            test = search.model.problem.test
            critical = test.critical(level, test.null_distribution(search.model.projection.size, rank))
            significant = rank > 0 and partial <= critical
            assert significant == (p_value <= level)


@thorough
@given(tables(), st.sampled_from(["gram", "columns"]))
def test_the_invariant_of_the_projection(table: RandomTable, solver: str) -> None:
    """W = inv(R)' S_A, residual_ss = diag(S) - diag(W'W), residual_cross = C - W'Z, M = base + sign Z'Z."""
    search = search_of(table, solver, "rss" if table.model == "linear" else "trace")
    rng = np.random.default_rng(table.seed)
    for _ in range(12):
        wander(search, rng, table.n_rows)
        if rng.random() < 0.2 and len(search.pool) > 1:
            search.drop(search.pool[: len(search.pool) // 2 + 1], "forward")
        if rng.random() < 0.2:
            search.recall("forward")
    search.recall("forward")
    search.additions()
    projection, problem = search.model.projection, search.model.problem
    check_invariant(projection)
    size = np.sqrt(np.diagonal(problem.base))
    M = problem.base + problem.sign * projection.Z.T @ projection.Z
    np.testing.assert_allclose(search.model.matrix.M / np.outer(size, size), M / np.outer(size, size), atol=1e-9)


def check_invariant(projection: Projection) -> None:
    equations = projection.equations
    projection.update(np.arange(equations.n_features))
    S = equations.blocks(np.arange(equations.n_features)[None])[0]
    scale = np.sqrt(np.where(equations.diagonal > 0, equations.diagonal, 1.0))
    A = projection.independent
    R = projection.W[:, A]
    unit = np.outer(scale[A], scale)
    np.testing.assert_allclose(projection.inverse @ R * np.divide.outer(scale[A], scale[A]), np.eye(len(A)), atol=1e-7)
    np.testing.assert_allclose(R.T @ projection.W / unit, S[A] / unit, atol=1e-9)
    residual_ss = equations.diagonal - (projection.W**2).sum(axis=0)
    np.testing.assert_allclose(projection.residual_ss / scale**2, np.maximum(residual_ss, 0) / scale**2, atol=1e-9)
    cross = equations.cross - projection.W.T @ projection.Z
    size = np.abs(equations.cross).max(axis=0)
    np.testing.assert_allclose(projection.residual_cross / size, cross / size, atol=1e-8)


@pytest.mark.parametrize("classes", [0, 3])
@pytest.mark.parametrize("solver", ["gram", "columns"])
def test_frozen_features_are_brought_up_to_date(solver: str, classes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A table that is frozen and prefetched like a large one: residuals are exact whichever features were queried."""
    monkeypatch.setattr(normal_equations, "SMALL_TABLE", 0)
    rng = np.random.default_rng(5)
    X = rng.normal(size=(300, 1200)) + rng.normal(size=(300, 1))
    y = X[:, :9].sum(axis=1) + rng.normal(size=300)
    target = as_target(np.digitize(y, [-5, 5]) if classes else y, 300, "discriminant" if classes else "linear")
    projection = Projection(problem_of(Table(X), target, None, solver).equations)
    everything = np.arange(1200)
    for some in (everything, everything[:500], everything[3:120], everything[100:150], everything, everything[::9]):
        projection.update(some)
        residual_ss, cross, _ = projection.residuals(some)
        power = (cross**2).sum(axis=1) / np.where(residual_ss > 1e-9, residual_ss, np.inf)
        projection.add([int(j) for j in some[np.argsort(-power)[:2]]])
        if projection.size > 5:
            projection.remove([projection.independent[2]])
    check_invariant(projection)


@pytest.mark.parametrize("first", range(0, 1200, 150))
def test_paths_are_the_textbook_paths(first: int) -> None:
    """Steps, gains, scores and evaluations, on the problems that `make fuzz` starts with."""
    differences = {seed: compare(problem(seed)) for seed in range(first, first + 150)}
    assert {seed: difference for seed, difference in differences.items() if difference} == {}


@pytest.mark.parametrize("seed", [10568, 12113, 24010, 202738])
def test_problems_that_failed_once(seed: int) -> None:
    assert compare(problem(seed)) is None
