"""The library in one function: select(X, y) -> SelectionPath."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any

import numpy as np

from dropstep.coefficients import Coefficients
from dropstep.data.encoding import Encoding
from dropstep.data.groups import Choice, as_choice
from dropstep.data.leakage import determining, determining_note
from dropstep.data.moments import Moments
from dropstep.data.sample import Sample, sample_of
from dropstep.data.target import MODELS, Continuous
from dropstep.models.base import Fitted, Units
from dropstep.models.least_squares.criteria import as_criterion
from dropstep.models.least_squares.model import LeastSquares
from dropstep.models.least_squares.notes import notes
from dropstep.models.least_squares.problem import Problem, from_moments, problem_of
from dropstep.parameters import NAMES, Parameters, non_default, with_parameters
from dropstep.result import SelectionPath, Step, StopReason, feature_names
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
    callback: Callback | None = None,
    equivalents: bool = False,
    **parameters: Any,
) -> SelectionPath:
    """Select features of X that explain y, and return the whole path.

    Parameters
    ----------
    X : array-like or frame of shape (n_samples, n_features), or Moments
        An array, or a frame of pandas, polars or pyarrow. Text and categorical columns are factors, which are selected
        as a whole. Moments carry their y.
    y : array-like of shape (n_samples,) or (n_samples, n_targets), str or list of str
        Numbers (one column per target), or class labels; or the names of the columns of X that contain them, which are
        then not features.
    strategy, model, criterion, enter, leave, drop, max_features, include, exclude, groups, missing, solver
        The parameters of `Selector`.
    sample_weight : array-like of shape (n_samples,) or str, default=None
        Frequency weights, or the column of X that contains them: a weight of 2 is equivalent to repeating the row.
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
    _check_text("model", given.model, MODELS)
    if callback is not None and not callable(callback):
        raise TypeError(f"callback must be a function of a step; got {callback!r}")
    data = _data(X, y, sample_weight, given)
    name, strategy = as_strategy(given.strategy)
    model, search, cautions = _search(data.problem, data.choice, data.units, given, name)
    for caution in cautions:
        warnings.warn(caution, UserWarning, stacklevel=2)
    start, n_candidates = search.score, len(search.pool)
    steps = tuple(_until(_steps(search, strategy), search, callback))
    score, ranking = search.score, search.ranking()
    losses, replacements = search.equivalents() if equivalents else (None, None)
    problem, choice, columns = model.problem, data.choice, search.units.columns(search.selected)
    return SelectionPath(
        selected=search.units.features(search.selected),
        steps=steps,
        score=score,
        stop=(search.stop or StopReason.LEAVE) if problem.equations.diagonal.any() else StopReason.CONSTANT,
        n_evaluations=search.n_evaluations,
        start=start,
        ranking=ranking,
        n_features=data.n_features,
        feature_names=data.names,
        strategy=name,
        model=problem.kind,
        criterion=model.criterion.name,
        solver=problem.solver,
        greater_is_better=model.greater_is_better,
        n_candidates=n_candidates,
        excluded=tuple(sorted(choice.features(choice.exclude))),
        groups=choice.members,
        rules=search.rules.in_effect(),
        notes=(*cautions, *_notes(data, model)),
        losses=losses,
        equivalents=replacements,
        n_fits=search.n_fits,
        params=non_default(given),
        weighted=sample_weight is not None,
        from_moments=isinstance(X, Moments),
        encoding=data.encoding,
        coefficients=data.named(model.coefficients(data.column_names(columns))) if isinstance(model, Fitted) else None,
    )


@dataclass(frozen=True, eq=False)
class _Data:
    """The problem, and what is known of its features; `sample` is None for Moments."""

    problem: Problem
    choice: Choice
    names: tuple[str, ...] | None
    sample: Sample | None = None

    @property
    def encoding(self) -> Encoding | None:
        return None if self.sample is None else self.sample.encoding

    @property
    def n_features(self) -> int:
        return self.problem.n_features if self.sample is None else self.sample.n_features

    def named(self, fit: Coefficients) -> Coefficients:
        """Coefficients with the names of the targets, where y has names and the targets are numbers."""
        names = None if self.sample is None or fit.priors is not None else self.sample.target_names
        return fit if names is None else replace(fit, targets=names)

    def column_names(self, columns: Sequence[int]) -> tuple[str, ...]:
        """Names of columns of the design matrix."""
        return feature_names(self.names if self.sample is None else self.sample.table.names, columns)

    @property
    def units(self) -> Units:
        """The columns and features that are selected together: groups, and the columns that encode a feature."""
        encoding, members, n_columns = self.encoding, self.choice.members, self.problem.n_features
        if encoding is None or (members is None and n_columns == self.n_features):
            return Units(n_columns, members)
        features = members or tuple((j,) for j in range(self.n_features))
        return Units(n_columns, [[c for j in unit for c in encoding.columns(j)] for unit in features], features)


def _data(X: Any, y: Any, sample_weight: Any, given: Parameters) -> _Data:
    """The problem that the parameters describe."""
    if isinstance(X, Moments):
        if y is not None or sample_weight is not None:
            raise ValueError("Moments carry their y and their weights; omit y and sample_weight")
        problem = from_moments(X)
        if given.model not in ("auto", problem.kind):
            raise ValueError(f"these Moments are those of model {problem.kind!r}, not {given.model!r}")
        names = X.feature_names
        return _Data(problem, as_choice(X.n_features, names, given.include, given.exclude, given.groups), names)
    sample = sample_of(X, y, sample_weight, given)
    limit = given.max_features if sample.choice.members is None and sample.encoding is None else None
    problem = problem_of(sample.table, sample.target, sample.weights, given.solver, limit)
    return _Data(problem, sample.choice, sample.names, sample)


def _search(
    problem: Problem, choice: Choice, units: Units, given: Parameters, strategy: str
) -> tuple[LeastSquares, Search, tuple[str, ...]]:
    """The model, the search over it, and warnings about the parameters."""
    varying = problem.equations.diagonal > 0
    varying[list(units.columns(choice.exclude))] = False
    candidates, n_candidates = np.flatnonzero(varying), units.count(varying)
    max_features = _checked_max(given.max_features, len(choice.include))
    criterion = as_criterion(given.criterion, problem.kind).resolve(problem, candidates, n_candidates)
    varying[list(units.columns(choice.include))] = False
    n_choices, info = units.count(varying), criterion.info
    rules = as_rules(info, n_choices, given.enter, given.leave, given.drop, max_features, strategy)
    model = LeastSquares(problem, criterion, units, max_features)
    _check_rows(strategy, model, choice)
    search = Search(model, rules, units, choice.include, choice.exclude)
    return model, search, tuple(numbers_like_levels(info, vars(given)))


def _notes(data: _Data, model: LeastSquares) -> Iterator[str]:
    """Notes on the table, on the target and on the precision of the result."""
    sample, excluded = data.sample, set(model.units.columns(data.choice.exclude))
    if sample is None:
        yield from notes(model, data.names, excluded)
        return
    yield from sample.notes
    if isinstance(sample.target, Continuous):
        r2 = data.problem.r2()
        r2[list(excluded)] = 0.0
        if found := determining(sample.table, sample.encoding, sample.target, sample.weights, r2):
            yield determining_note(sample.features, found)
    yield from notes(model, sample.table.names, excluded)


def _check_text(name: str, value: Any, known: Sequence[str]) -> None:
    if not isinstance(value, str) or value not in known:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, known))}; got {value!r}")


def _check_rows(strategy: str, model: LeastSquares, choice: Choice) -> None:
    """Refuse to start from more features than the rows can estimate."""
    problem = model.problem
    if (rank := model.rank(choice.include)) > problem.max_rank:
        raise ValueError(
            f"include forces in {rank} features, but {problem.n:g} rows can estimate {problem.max_rank:.0f} at most"
        )
    out = set(choice.exclude)
    rank = model.rank([u for u in range(model.units.n) if u not in out]) if strategy == "backward" else 0
    if rank > problem.max_rank:
        raise ValueError(
            f"backward starts from all {rank} features, which {problem.n:g} rows cannot estimate "
            f"({problem.max_rank:.0f} at most); use strategy='dropping', or exclude features"
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
