"""Every strategy on a second model family, against brute force: the search knows nothing of least squares."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import combinations, pairwise

import numpy as np
import pytest

from dropstep import FBED, Significance
from dropstep.models.base import CriterionInfo, Units
from dropstep.search.rules import as_rules
from dropstep.search.search import Search
from dropstep.search.strategies import STRATEGIES
from search.lookup import Lookup, Table

INFO = CriterionInfo("lookup", penalised=True, monotone=False, share=True)
RULES = {
    "auto": {},
    "numbers": {"enter": 0.2, "leave": 0.1, "drop": 0.3},
    "reach": {"enter": -math.inf},
    "levels": {"enter": Significance(0.1), "leave": Significance(0.2), "drop": Significance(0.3)},
}


class Brute:
    """Strategies by the definitions, over scores that are looked up for every subset."""

    def __init__(self, table: Table, rules: dict[str, object], cap: int | None) -> None:
        self.table, self.cap = table, math.inf if cap is None else cap
        self.enter = rules.get("enter", 0.0)
        self.leave = rules.get("leave", self.enter)
        self.drop = rules.get("drop", self.leave)
        self.selected: list[int] = []
        self.pool = list(range(table.n))
        self.seen: set[frozenset[int]] = set()

    def gain(self, u: int) -> float:
        return self.table.value([*self.selected, u]) - self.table.value(self.selected)

    def loss(self, u: int) -> float:
        return self.table.value(self.selected) - self.table.value([v for v in self.selected if v != u])

    def p(self, u: int) -> float:
        return self.table.p_value([v for v in self.selected if v != u], u)

    def justified(self, rule: object, gain: float, u: int) -> bool:
        return self.p(u) <= rule.level if isinstance(rule, Significance) else gain > rule

    def best_addition(self) -> int | None:
        if not self.pool or len(self.selected) >= self.cap:
            return None
        key: Callable[[int], float] = (lambda u: -self.p(u)) if isinstance(self.enter, Significance) else self.gain
        u = max(self.pool, key=key)
        return u if self.justified(self.enter, self.gain(u), u) else None

    def best_removal(self) -> int | None:
        if not self.selected:
            return None
        key: Callable[[int], float] = self.p if isinstance(self.leave, Significance) else (lambda u: -self.loss(u))
        u = max(sorted(self.selected), key=key)
        return u if len(self.selected) > self.cap or not self.justified(self.leave, self.loss(u), u) else None

    def new(self) -> bool:
        """Whether this selection grows for the first time."""
        now = frozenset(self.selected)
        fresh, self.seen = now not in self.seen, self.seen | {now}
        return fresh

    def add(self, u: int) -> None:
        self.selected.append(u)
        self.pool.remove(u)

    def remove(self, u: int) -> None:
        self.selected.remove(u)
        self.pool = sorted([*self.pool, u])

    def forward(self, *, dropping: bool = False, once: bool = False) -> int:
        count = 0
        while (u := self.best_addition()) is not None and self.new():
            droppable = {v for v in self.pool if v != u and not self.justified(self.drop, self.gain(v), v)}
            self.add(u)
            self.pool = [v for v in self.pool if not (dropping and v in droppable)]
            count += 1
            if once:
                break
        return count

    def backward(self) -> None:
        while (u := self.best_removal()) is not None:
            self.remove(u)

    def recall(self) -> None:
        self.pool = [u for u in range(self.table.n) if u not in self.selected]

    def exchange(self) -> None:
        while len(self.selected) >= self.cap and self.pool:
            saved, self.cap = self.cap, math.inf
            u, self.cap = self.best_addition(), saved
            if u is None or not self.swap_in([u]):
                return

    def swap_in(self, pool: list[int]) -> bool:
        others = {i: [v for v in self.selected if v != i] for i in sorted(self.selected)}
        pairs = [(i, j) for i in others for j in pool]
        if isinstance(self.enter, Significance):
            pairs = [(i, j) for i, j in pairs if self.table.p_value(others[i], j) <= self.enter.level]
        value = {(i, j): self.table.value([*others[i], j]) for i, j in pairs}
        if not value or max(value.values()) <= self.table.value(self.selected) or not self.new():
            return False
        i, j = max(value, key=lambda pair: value[pair])
        self.remove(i)
        self.add(j)
        return True

    def run(self, strategy: str, rounds: float = 1) -> list[int]:
        getattr(self, f"run_{strategy}")(*([rounds] if strategy == "fbed" else []))
        return self.selected

    def run_forward(self) -> None:
        self.forward()

    def run_backward(self) -> None:
        self.selected, self.pool = list(range(self.table.n)), []
        self.backward()

    def run_stepwise(self) -> None:
        while self.forward(once=True):
            self.backward()

    def run_bidirectional(self) -> None:
        while True:
            addition, removal = self.best_addition(), self.best_removal()
            if (addition is None and removal is None) or not self.new():
                return
            if removal is None or (addition is not None and self.gain(addition) >= -self.loss(removal)):
                self.add(addition)
            else:
                self.remove(removal)

    def run_forward_backward(self) -> None:
        self.forward()
        self.backward()

    def run_dropping(self) -> None:
        self.forward(dropping=True)
        self.recall()
        self.forward()
        self.exchange()
        self.backward()

    def run_fbed(self, rounds: float) -> None:
        self.forward(dropping=True)
        while rounds > 0 and len(self.pool) + len(self.selected) < self.table.n:
            self.recall()
            rounds = rounds - 1 if self.forward(dropping=True) else 0
        if self.cap < math.inf:
            self.recall()
            self.forward()
            self.exchange()
        self.backward()

    def run_floating(self) -> None:
        best = {0: self.table.value([])}
        while self.forward(once=True):
            size = len(self.selected)
            best[size] = max(best.get(size, -math.inf), self.table.value(self.selected))
            while len(self.selected) > 2:
                u = min(sorted(self.selected), key=self.loss)
                rest = [v for v in self.selected if v != u]
                if self.table.value(rest) <= best.get(len(rest), -math.inf):
                    break
                self.remove(u)
                best[len(rest)] = self.table.value(rest)

    def run_beam(self) -> None:
        beam, complete = [[]], []
        while beam:
            children = {}
            for self.selected in beam:
                self.recall()
                allowed = [u for u in self.pool if self.justified(self.enter, self.gain(u), u)]
                allowed = allowed if len(self.selected) < self.cap else []
                children |= {frozenset([*self.selected, u]): [*self.selected, u] for u in reversed(allowed)} | children
                complete += [] if allowed else [self.selected]
            beam = sorted(children.values(), key=lambda units: -self.table.value(units))[:10]
        self.selected = max(complete, key=self.table.value)
        self.recall()
        self.backward()

    def run_exhaustive(self) -> None:
        sets = [list(s) for k in range(1 + min(self.cap, 8)) for s in combinations(range(8), k)]
        if self.enter == -math.inf:
            self.selected = max((s for s in sets if len(s) == len(sets[-1])), key=self.table.value)
        else:
            self.selected = max(sets, key=lambda units: self.table.value(units) - self.enter * len(units))
        remaining, self.selected = self.selected, []
        while remaining:
            u = max(remaining, key=self.gain)
            remaining.remove(u)
            self.selected.append(u)

    def run_swap(self) -> None:
        self.forward()
        while self.swap_in(self.pool):
            pass


def searched(model: Lookup, strategy: str, rules: dict[str, object], cap: int | None, rounds: float) -> Search:
    given = {"enter": "auto", "leave": "auto", "drop": None} | rules
    made = as_rules(INFO, 8, given["enter"], given["leave"], given["drop"], cap, strategy)
    search = Search(model, made, Units(8))
    steps = list((FBED(rounds) if strategy == "fbed" else STRATEGIES[strategy])(search))
    sizes = np.cumsum([{"add": 1, "remove": -1}.get(step.action, 0) * len(step.features) for step in steps])
    assert all(size == len(search.selected) for size in sizes[-1:])
    sign = 1 if model.greater_is_better else -1
    values = [sign * s for s in [model.table.score([]), *(step.score for step in steps)]]
    assert [b - a for a, b in pairwise(values)] == pytest.approx([step.gain for step in steps], abs=1e-9)
    return search


@pytest.mark.parametrize("cap", [None, 3])
@pytest.mark.parametrize("rules", list(RULES))
@pytest.mark.parametrize("strategy", sorted(STRATEGIES))
def test_strategies_are_those_of_brute_force(strategy: str, rules: str, cap: int | None) -> None:
    if strategy == "backward" and rules == "reach":
        pytest.skip("nothing leaves, and backward has nothing to reach")
    if strategy == "exhaustive" and rules == "levels":
        with pytest.raises(ValueError, match=r"exhaustive compares sets by their scores, so that enter must be a num"):
            searched(Lookup(Table.random(0)), strategy, RULES[rules], cap, 1)
        return
    for seed in range(6 if strategy == "exhaustive" else 25):
        table = Table.random(seed, greater_is_better=seed % 2 == 0)
        rounds = [0, 1, 2, math.inf][seed % 4]
        search = searched(Lookup(table), strategy, RULES[rules], cap, rounds)
        assert search.selected == Brute(table, RULES[rules], cap).run(strategy, rounds), f"table {seed}"
        assert search.n_fits >= search.n_evaluations > 0


@pytest.mark.parametrize("strategy", sorted(STRATEGIES))
def test_screening_gains_are_confirmed(strategy: str) -> None:
    """All candidates are confirmed here, so that the path is that of exact gains, unless screening drops another."""
    for seed in range(10):
        table = Table.random(seed)
        exact = searched(Lookup(table), strategy, {}, None, 1)
        screened = searched(Lookup(table, screening=True), strategy, {}, None, 1)
        if strategy not in ("dropping", "fbed", "swap"):  # these decide by screening gains too
            assert screened.selected == exact.selected
        assert screened.n_fits >= exact.n_fits


@pytest.mark.parametrize("strategy", sorted(STRATEGIES))
def test_a_step_has_the_test_of_its_unit(strategy: str) -> None:
    """Additions and removals, exchanges included: the p-value given the other selected units; others have none."""
    for seed in range(10):
        for tests in (True, False):
            table, selected = Table.random(seed), set[int]()
            rules = as_rules(INFO, table.n, "auto", "auto", None, 3, strategy)
            for step in STRATEGIES[strategy](Search(Lookup(table, tests=tests), rules, Units(table.n))):
                moved = step.action in ("add", "remove") and step.phase != "start"
                assert (step.test is not None) == (moved and tests)
                if step.test is not None:
                    (unit,) = step.features
                    assert step.test.p_value == pytest.approx(table.p_value(selected - {unit}, unit), rel=1e-6)
                if step.action in ("add", "remove"):
                    selected ^= set(step.features)


def test_a_model_without_tests_refuses_levels_in_a_sentence() -> None:
    with pytest.raises(
        ValueError, match=r"Significance\(level=0.1.*\) needs a significance test, which this model does"
    ):
        searched(Lookup(Table.random(1), tests=False), "forward", RULES["levels"], None, 1)


def test_units_are_ranked_by_their_last_gain_without_a_fit() -> None:
    search = searched(Lookup(Table.random(2)), "dropping", {}, None, 1)
    fits = search.n_fits
    ranking = search.ranking()
    assert search.n_fits == fits
    assert sorted(ranking) == list(range(1, 9))
    assert [ranking[u] for u in search.selected] == list(range(1, len(search.selected) + 1))


def test_a_copy_is_independent() -> None:
    model = Lookup(Table.random(3))
    model.add([1, 2])
    other = model.copy()
    other.remove([1])
    assert model.score == model.table.score([1, 2])
    assert other.score == model.table.score([2])
