"""The library in one function: select(X, y) -> SelectionPath."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from numbers import Integral
from typing import Any

import numpy as np

from dropstep.data.groups import Choice, as_choice
from dropstep.data.moments import Moments
from dropstep.models.base import FamilyModel, Problem, Rows, Units
from dropstep.models.families import as_family
from dropstep.parameters import NAMES, Parameters, non_default, with_parameters
from dropstep.result import SelectionPath, Step, StopReason
from dropstep.search.rules import as_rules, numbers_like_levels
from dropstep.search.search import Search
from dropstep.search.strategies import Steps, Strategy, as_strategy

Callback = Callable[[Step], bool | None]

SOLVERS = ("auto", "gram", "columns")


@with_parameters
def select(
    X: Any,
    y: Any = None,
    *,
    sample_weight: Any = None,
    offset: Any = None,
    strata: Any = None,
    callback: Callback | None = None,
    equivalents: bool = False,
    **parameters: Any,
) -> SelectionPath:
    """Select features of X that explain y, and return the whole path.

    Parameters
    ----------
    X : array-like or frame of shape (n_samples, n_features), or Moments
        Moments carry their y.
    y : array-like of shape (n_samples,) or (n_samples, n_targets)
        Numbers (one column per target), or class labels. For model "cox" a structured array (event, time) or two
        columns (time, event).
    strategy, model, criterion, enter, leave, drop, max_features, include, exclude, groups, solver
        The parameters of `Selector`.
    sample_weight : array-like of shape (n_samples,), default=None
        Frequency weights: a weight of 2 is equivalent to repeating the row.
    offset : array-like of shape (n_samples,), default=None
        Added to the linear predictor, e.g. the log of an exposure (models "logistic", "poisson", "gamma", "cox").
    strata : array-like of shape (n_samples,), default=None
        Labels of the strata, each with a baseline hazard of its own (model "cox").
    callback : callable, default=None
        Called with every step of the path; the search stops when it returns True.
    equivalents : bool, default=False
        Also find candidates that could replace each selected feature (`SelectionPath.equivalents`).

    Returns
    -------
    SelectionPath
        Selected features in order of entry, every step with its gain and score, and why the search ended.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> path = select(*load_iris(return_X_y=True), enter=0.05, leave=0.05)
    >>> path.selected, round(path.score, 4)
    ((2, 0, 3, 1), 32.4773)
    """
    if unknown := [name for name in parameters if name not in NAMES]:
        raise TypeError(f"select has no parameter {unknown[0]!r}; its parameters are {', '.join(NAMES)}")
    given = Parameters(**parameters)
    _check_text("solver", given.solver, SOLVERS)
    family = as_family(given.model)
    if callback is not None and not callable(callback):
        raise TypeError(f"callback must be a function of a step; got {callback!r}")
    limit = given.max_features if given.groups is None else None
    problem = family.problem(X, y, Rows(sample_weight, offset, strata), given.solver, limit)
    choice = as_choice(problem.n_features, problem.names, given.include, given.exclude, given.groups)
    name, strategy = as_strategy(given.strategy)
    model, search, cautions = _search(problem, choice, given, name)
    for caution in cautions:
        warnings.warn(caution, UserWarning, stacklevel=2)
    start, n_candidates = search.score, len(search.pool)
    steps = tuple(_until(_steps(search, strategy), search, callback))
    score, ranking = search.score, search.ranking()
    losses, replacements = search.equivalents() if equivalents else (None, None)
    excluded = choice.features(choice.exclude)
    return SelectionPath(
        selected=search.units.features(search.selected),
        steps=steps,
        score=score,
        stop=(search.stop or StopReason.LEAVE) if problem.varying.any() else StopReason.CONSTANT,
        n_evaluations=search.n_evaluations,
        start=start,
        ranking=ranking,
        n_features=problem.n_features,
        feature_names=problem.names,
        strategy=name,
        model=model.kind,
        criterion=model.criterion_info.name,
        solver=model.solver,
        greater_is_better=model.greater_is_better,
        n_candidates=n_candidates,
        excluded=tuple(sorted(excluded)),
        groups=choice.members,
        rules=search.rules.in_effect(),
        notes=(*cautions, *problem.notes(model, set(excluded))),
        losses=losses,
        equivalents=replacements,
        n_fits=search.n_fits,
        params=non_default(given),
        weighted=sample_weight is not None,
        per_row=tuple(name for name, value in (("offset", offset), ("strata", strata)) if value is not None),
        from_moments=isinstance(X, Moments),
    )


def _search(
    problem: Problem, choice: Choice, given: Parameters, strategy: str
) -> tuple[FamilyModel, Search, tuple[str, ...]]:
    """The model, the search over it, and warnings about the parameters."""
    units = Units(problem.n_features, choice.members)
    varying = problem.varying.copy()
    varying[choice.features(choice.exclude)] = False
    candidates, n_candidates = np.flatnonzero(varying), choice.count(varying)
    max_features = _checked_max(given.max_features, len(choice.include))
    model = problem.model(given.criterion, units, candidates, n_candidates)
    varying[choice.features(choice.include)] = False
    n_choices, info = choice.count(varying), model.criterion_info
    rules = as_rules(info, n_choices, given.enter, given.leave, given.drop, max_features, strategy)
    _check_rows(strategy, model, units, choice)
    search = Search(model, rules, units, choice.include, choice.exclude)
    return model, search, tuple(numbers_like_levels(info, vars(given)))


def _check_text(name: str, value: Any, known: Sequence[str]) -> None:
    if not isinstance(value, str) or value not in known:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, known))}; got {value!r}")


def _check_rows(strategy: str, model: FamilyModel, units: Units, choice: Choice) -> None:
    """Refuse to start from more features than the rows can estimate."""
    if (rank := model.rank(choice.include)) > model.max_rank:
        raise ValueError(
            f"include forces in {rank} features, but {model.n:g} {model.sample_unit} can estimate "
            f"{model.max_rank:.0f} at most"
        )
    out = set(choice.exclude)
    rank = model.rank([u for u in range(units.n) if u not in out]) if strategy == "backward" else 0
    if rank > model.max_rank:
        raise ValueError(
            f"backward starts from all {rank} features, which {model.n:g} {model.sample_unit} cannot estimate "
            f"({model.max_rank:.0f} at most); use strategy='dropping', or exclude features"
        )


def _checked_max(max_features: Any, n_included: int) -> int | None:
    if max_features is None:
        return None
    if not isinstance(max_features, Integral) or isinstance(max_features, bool) or max_features < 1:
        raise ValueError(f"max_features must be None or a whole number from 1; got {max_features!r}")
    if n_included > max_features:
        raise ValueError(f"include forces in {n_included} features or groups, more than max_features={max_features}")
    return int(max_features)


def _steps(search: Search, strategy: Strategy) -> Steps:
    if search.include:
        yield search.start(search.include)
    yield from strategy(search)


def _until(steps: Steps, search: Search, callback: Callback | None) -> Iterator[Step]:
    """Steps up to the one at which the callback requests to stop."""
    for step in steps:
        yield step
        if callback is not None and callback(step):
            search.stop = StopReason.CALLBACK
            return
