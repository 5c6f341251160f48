"""The library in one function: select(X, y) -> SelectionPath."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, Literal

import numpy as np

from dropstep.data.columns import Columns
from dropstep.data.groups import Choice, as_choice
from dropstep.data.moments import Moments
from dropstep.data.table import Table, as_table, as_weights, listed
from dropstep.data.target import Model, as_target
from dropstep.models.least_squares.criteria import Criterion, as_criterion
from dropstep.models.least_squares.problem import Problem, from_moments, problem_of
from dropstep.models.least_squares.units import Units
from dropstep.result import SelectionPath, Step, StopReason
from dropstep.search.rules import Significance, as_rules, numbers_like_levels
from dropstep.search.search import Search
from dropstep.search.strategies import STRATEGIES, Steps, fbed

Callback = Callable[[Step], bool | None]

SOLVERS = ("auto", "gram", "columns")
MODELS = ("auto", "linear", "discriminant")
DEFAULTS: dict[str, Any] = {
    "strategy": "dropping", "model": "auto", "criterion": "auto", "enter": "auto", "leave": "auto", "drop": None,
    "max_features": None, "rounds": 1, "include": None, "exclude": None, "groups": None, "solver": "auto",
}  # fmt: skip


def select(
    X: Any,
    y: Any = None,
    *,
    strategy: str = "dropping",
    model: Model = "auto",
    criterion: str | Criterion = "auto",
    enter: float | Significance | Literal["auto"] = "auto",
    leave: float | Significance | Literal["auto"] = "auto",
    drop: float | Significance | Literal["auto"] | None = None,
    max_features: int | None = None,
    rounds: float = 1,
    include: Sequence[int | str] | int | str | None = None,
    exclude: Sequence[int | str] | int | str | None = None,
    groups: Any = None,
    sample_weight: Any = None,
    solver: Literal["auto", "gram", "columns"] = "auto",
    callback: Callback | None = None,
    equivalents: bool = False,
) -> SelectionPath:
    """Select features of X that explain y, and return the whole path.

    Parameters
    ----------
    X : an array or frame of rows by features, or `Moments` (which carry their y).
    y : numbers (one column a target), or class labels.
    strategy : "dropping", "forward", "backward", "stepwise", "forward_backward", "fbed", "floating" or "swap".
    model : "linear" (least squares), "discriminant" (separation of classes), or "auto": classes when y is text,
        boolean, two whole numbers, or up to 32 whole numbers seen 4 times each on average.
    criterion : "rss", "r2", "adj_r2", "cp", "aic", "aicc", "bic", "ebic" for a linear model; "trace", "pillai",
        "wilks", "roy" for classes; "auto" is ebic and trace; or an object such as ``MallowsCp(sigma2=2.0)``.
    enter : a gain must exceed it to enter (the paper's alpha). "auto" is 0 where the criterion charges for size, and
        otherwise a partial F test at 0.05 divided by the number of features that could be chosen. `Significance` is a
        test at another level. -inf goes on until `max_features`.
    leave : a loss up to it is accepted in backward steps (the paper's beta); "auto" follows an explicit `enter`.
    drop : a candidate whose gain is up to it is dropped; None follows `leave` where that is a number, and is a test at
        0.05 otherwise; "auto" is 0 or that test.
    max_features : maximum number of features, or of groups, included ones counted. At that size, dropping and fbed
        recall what was dropped and exchange features while the score improves.
    rounds : further rounds of "fbed"; math.inf for as long as a round adds something.
    include, exclude : features (by index or name) that are in from the start, and never looked at.
    groups : one label a feature, or a list of lists; a group is added, removed and dropped whole.
    sample_weight : one number a row; a weight counts rows, so 2 is the same as the row twice.
    solver : "gram" precomputes the Gram matrix in one pass over the rows, "columns" computes its rows on demand; "auto"
        chooses by cost, and changes to columns where the Gram matrix would lose too many digits.
    callback : called with every step; the search stops where it stands when it returns True.
    equivalents : also find candidates that could stand in for each selected feature (`SelectionPath.equivalents`).

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
    words = {
        "strategy": strategy, "model": model, "criterion": criterion, "enter": enter, "leave": leave, "drop": drop,
        "max_features": max_features, "rounds": rounds, "include": include, "exclude": exclude, "groups": groups,
        "solver": solver,
    }  # fmt: skip
    _check_text("solver", solver, SOLVERS)
    _check_text("model", model, MODELS)
    if callback is not None and not callable(callback):
        raise TypeError(f"callback must be a function of a step; got {callback!r}")
    if isinstance(X, Moments):
        if y is not None or sample_weight is not None:
            raise ValueError("Moments carry their y and their weights; leave y and sample_weight out")
        problem, names = from_moments(X), X.feature_names
        if model not in ("auto", problem.kind):
            raise ValueError(f"these Moments are those of model {problem.kind!r}, not {model!r}")
    else:
        table = as_table(X)
        names = table.names
        weights = as_weights(sample_weight, len(table.values))
        target = as_target(y, len(table.values), model, weights)
        problem = problem_of(table, target, weights, solver, max_features if groups is None else None)
    path = _run(problem, names, words, sample_weight is not None, callback, equivalents)
    return replace(path, from_moments=True) if isinstance(X, Moments) else path


def _run(
    problem: Problem,
    names: tuple[str, ...] | None,
    words: dict[str, Any],
    weighted: bool,
    callback: Callback | None,
    equivalents: bool,
) -> SelectionPath:
    """Turn the parameters into a search, and run it."""
    choice = as_choice(problem.n_features, names, words["include"], words["exclude"], words["groups"])
    search = _search(problem, choice, words)
    cautions = tuple(numbers_like_levels(search.criterion, words))
    for caution in cautions:
        warnings.warn(caution, UserWarning, stacklevel=3)
    start = search.score
    steps = tuple(_until(_steps(search, words["strategy"], words["rounds"]), search, callback))
    score, ranking = search.score, search.ranking()
    losses, stand_ins = search.equivalents() if equivalents else ({}, {})
    return SelectionPath(
        selected=tuple(search.projection.selected),
        steps=steps,
        score=score,
        stop=(search.stop or StopReason.LEAVE) if problem.diagonal.any() else StopReason.CONSTANT,
        n_evaluations=search.n_evaluations,
        start=start,
        ranking=ranking,
        n_features=problem.n_features,
        feature_names=names,
        strategy=words["strategy"],
        model=problem.kind,
        criterion=search.criterion.name,
        solver=search.problem.solver,
        notes=(*cautions, *_notes(search.problem, names, choice), *_doubts(search, names)),
        losses=losses,
        equivalents=stand_ins,
        params={word: value for word, value in words.items() if not _same(value, DEFAULTS[word])},
        weighted=weighted,
    )


def _check_text(name: str, value: Any, known: Sequence[str]) -> None:
    if not isinstance(value, str) or value not in known:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, known))}; got {value!r}")


def _same(value: Any, default: Any) -> bool:
    return value is default or (isinstance(value, str | int | float) and value == default)


def _search(problem: Problem, choice: Choice, words: dict[str, Any]) -> Search:
    strategy = words["strategy"]
    units = Units(problem, choice.members)
    varying = problem.diagonal > 0
    varying[choice.features(choice.exclude)] = False
    candidates = np.flatnonzero(varying)
    _check_strategy(strategy, words["rounds"])
    most = _checked_max(words["max_features"], len(choice.include))
    _check_rows(strategy, problem, units, choice)
    criterion = as_criterion(words["criterion"], problem.kind).resolve(problem, candidates, choice.count(varying))
    varying[choice.features(choice.include)] = False
    n_choices = choice.count(varying)
    rules = as_rules(criterion, n_choices, words["enter"], words["leave"], words["drop"], most, strategy)
    return Search(problem, criterion, rules, units, choice.include, choice.exclude)


def _check_strategy(strategy: str, rounds: Any) -> None:
    if not isinstance(strategy, str) or strategy not in STRATEGIES:
        raise ValueError(f"unknown strategy {strategy!r}; there are {', '.join(STRATEGIES)}")
    real = isinstance(rounds, Real) and not isinstance(rounds, bool)
    if not real or rounds < 0 or not (rounds == math.inf or float(rounds).is_integer()):
        raise ValueError(f"rounds must be a whole number from 0, or math.inf; got {rounds!r}")


def _check_rows(strategy: str, problem: Problem, units: Units, choice: Choice) -> None:
    """Refuse to start from more features than the rows can estimate."""
    if (rank := units.rank(choice.include)) > problem.most:
        raise ValueError(
            f"include forces in {rank} features, but {problem.n:g} rows can estimate {problem.most:.0f} at most"
        )
    out = set(choice.exclude)
    rank = units.rank([u for u in range(units.n) if u not in out]) if strategy == "backward" else 0
    if rank > problem.most:
        raise ValueError(
            f"backward starts from all {rank} features, which {problem.n:g} rows cannot estimate "
            f"({problem.most:.0f} at most); use strategy='dropping', or exclude features"
        )


def _checked_max(max_features: Any, n_included: int) -> int | None:
    if max_features is None:
        return None
    if not isinstance(max_features, Integral) or isinstance(max_features, bool) or max_features < 1:
        raise ValueError(f"max_features must be None or a whole number from 1; got {max_features!r}")
    if n_included > max_features:
        raise ValueError(f"include forces in {n_included} features or groups, more than max_features={max_features}")
    return int(max_features)


def _steps(search: Search, strategy: str, rounds: float) -> Steps:
    if search.include:
        yield search.start(search.include)
    yield from fbed(search, rounds) if strategy == "fbed" else STRATEGIES[strategy](search)


def _until(steps: Steps, search: Search, callback: Callback | None) -> Iterator[Step]:
    """Steps up to the one at which the callback asks to stop."""
    for step in steps:
        yield step
        if callback is not None and callback(step):
            search.stop = StopReason.CALLBACK
            return


def _notes(problem: Problem, names: tuple[str, ...] | None, choice: Choice) -> Iterator[str]:
    """What the reader should know about the table."""
    excluded = set(choice.features(choice.exclude))
    if separating := [j for j in problem.separating if j not in excluded]:
        yield (
            f"{_listed(problem, names, separating)}: a single value within every class, which separates the classes "
            "perfectly and makes every criterion infinite; left out of the search: if it is a copy of the target, "
            "exclude it, and if not, it is all that is needed to tell the classes apart"
        )
    if isinstance(problem.scatter, Columns) and problem.scatter.in_double:
        yield (
            "X is float32, and some column has a mean of more than 100 times its standard deviation, or a standard "
            "deviation beyond 1e12; products were made in float64, because float32 would lose too many digits"
        )


def _doubts(search: Search, names: tuple[str, ...] | None) -> Iterator[str]:
    """Where the digits do not suffice, so that the selection may not be the one it should be."""
    problem, projection = search.problem, search.projection
    if doubtful := sorted(projection.doubtful - set(projection.selected)):
        yield (
            f"{_listed(problem, names, doubtful)}: so close to a combination of the selected features that "
            f"{problem.digits} cannot measure the gain; taken for a combination, so the set may lack a feature that "
            "would matter"
        )
    if together := projection.separating():
        yield (
            f"{_listed(problem, names, together)}: with the selected features, separates the classes perfectly, and "
            "makes every criterion infinite; left out of the search"
        )
    left = projection.explained.left
    if problem.sign < 0 and problem.solver == "gram" and left < 1e-8:
        yield (
            f"the residual is {max(left, 0):.1g} of the total sum of squares; moments keep few digits of so small a "
            "difference (select from the rows instead)"
        )


def _listed(problem: Problem, names: tuple[str, ...] | None, features: list[int]) -> str:
    return listed(Table(np.empty((0, problem.n_features)), names), features)
