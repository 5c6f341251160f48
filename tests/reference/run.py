"""A whole path: the parameters of a selection become a search, and a strategy runs it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from reference.least_squares.criteria import PENALISED, criterion_of, model_of
from reference.least_squares.problem import Problem, adds_nothing, problem_of
from reference.least_squares.projection import Unit, flat
from reference.least_squares.tests import SIGNIFICANCE_LEVEL
from reference.search import Level, Rules, Search, Step
from reference.strategies import STRATEGIES, Strategy
from reference.tails import rows_of

Threshold = float | Level | Literal["auto"]


@dataclass(frozen=True)
class ReferencePath:
    """The selected features, in order of entry, and the steps that led to them."""

    selected: Unit
    steps: list[Step]
    score: float
    start: float
    n_evaluations: int
    margin: float


def run(
    strategy: str,
    X: ArrayLike,
    y: ArrayLike,
    *,
    criterion: str,
    model: str | None = None,
    enter: Threshold = "auto",
    leave: Threshold = "auto",
    drop: Threshold | None = None,
    max_features: int | None = None,
    rounds: float = 1,
    width: int = 10,
    include: Sequence[int] = (),
    exclude: Sequence[int] = (),
    groups: Sequence[Any] | None = None,
    weights: ArrayLike | None = None,
    exact_fit: float | None = None,
    **criterion_params: Any,
) -> ReferencePath:
    """Select features from the rows. Rules are numbers, Levels or "auto"."""
    problem = problem_of(X, y, weights, model or model_of(criterion), exact_fit)
    units = units_of(problem.features.shape[1], groups)
    included = list(dict.fromkeys(unit for j in include for unit in units if j in unit))
    candidates = [unit for unit in units if not set(unit) & set(exclude)]
    pool = [unit for unit in candidates if unit not in included]
    rules = replace(
        rules_of(problem, criterion, pool, enter, leave, drop),
        max_features=math.inf if max_features is None else max_features,
        rounds=rounds,
        width=width,
    )
    if strategy == "exhaustive" and enter == "auto" and criterion not in PENALISED:
        rules = replace(rules, enter=-math.inf)
    numbers = not isinstance(rules.enter, Level) and not isinstance(rules.leave, Level)
    if strategy == "stepwise" and numbers and rules.leave > rules.enter:
        raise ValueError(f"stepwise could cycle: leave={rules.leave} is above enter={rules.enter}.")
    resolved = criterion_of(problem, criterion, exclude, **criterion_params, units=candidates, include=flat(included))
    search = Search(problem, resolved, rules, pool, included)
    search.rows = rows_of(X, y, weights, model or model_of(criterion))
    start = search.score()
    steps = list(with_included(search, STRATEGIES[strategy]))
    return ReferencePath(in_order_of_entry(steps), steps, search.score(), start, search.n_evaluations, search.margin)


def with_included(search: Search, strategy: Strategy) -> Iterator[Step]:
    """The included features, then the steps of the strategy."""
    if search.include:
        yield search.add(search.include, "start")
    yield from strategy(search)


def in_order_of_entry(steps: Sequence[Step]) -> Unit:
    """The features that were added and not removed since."""
    selected: list[int] = []
    for step in steps:
        if step.action == "add":
            selected += step.features
        if step.action == "remove":
            selected = [j for j in selected if j not in step.features]
    return tuple(selected)


def rules_of(
    problem: Problem,
    criterion: str,
    pool: Sequence[Unit],
    enter: Threshold,
    leave: Threshold,
    drop: Threshold | None,
) -> Rules:
    """The rules that "auto" and None stand for.

    "auto" is 0 for a penalised criterion, and a test for the others: with k units, each is tested at 0.05 k / m to
    enter and to leave, m = the units that could be chosen (neither excluded, included nor constant), and at 0.05 to
    stay in the pool; what enters is confirmed in the tails. An explicit `enter` sets `leave` as well, unless that is
    given. `drop=None` is `leave` where that is a number.
    """
    m = max(1, sum(not adds_nothing(problem, (), unit) for unit in pool))
    if leave == "auto" and enter != "auto":
        leave = enter

    def rule(value: Threshold, test: Level) -> float | Level:
        if isinstance(value, Level):
            return Level(value.level / m) if value.correction == "bonferroni" else value._replace(m=m)
        if value == "auto":
            return 0.0 if criterion in PENALISED else test
        return value

    by_size, plain = Level(SIGNIFICANCE_LEVEL, "fdr", m), Level(SIGNIFICANCE_LEVEL)
    to_leave = rule(leave, by_size)
    if drop is None:
        drop = plain if isinstance(to_leave, Level) else to_leave
    return Rules(rule(enter, by_size._replace(in_tails=True)), to_leave, rule(drop, plain))


def units_of(p: int, groups: Sequence[Any] | None) -> list[Unit]:
    """What can be chosen, lowest index first: features, or groups (labels, or lists of features)."""
    if groups is None:
        return [(j,) for j in range(p)]
    if all(isinstance(group, (list, tuple, set, np.ndarray)) for group in groups):
        grouped = [tuple(sorted(int(j) for j in group)) for group in groups]
        return sorted([*grouped, *((j,) for j in range(p) if j not in set(flat(grouped)))])
    return [tuple(j for j in range(p) if groups[j] == label) for label in dict.fromkeys(groups)]
