"""The library in one function: select(X, y) -> SelectionPath."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np

from dropstep.data.groups import Choice, as_choice
from dropstep.data.moments import Moments
from dropstep.models.base import Family, FamilyModel, Problem, Rows, Units
from dropstep.models.families import as_family
from dropstep.models.resampling import Evaluation, Resampled, Resamples, SearchEndedError
from dropstep.parameters import NAMES, RESOURCES, Parameters, non_default, with_parameters
from dropstep.result import SelectionPath, Step, StopReason
from dropstep.search.limits import Limits
from dropstep.search.rules import as_rules, numbers_like_levels
from dropstep.search.search import Search
from dropstep.search.strategies import Steps, Strategy, as_strategy

Callback = Callable[[Step], bool | None]
Progress = Callable[[int, int], bool | None]

SOLVERS = ("auto", "gram", "columns")


@with_parameters
def select(
    X: Any,
    y: Any = None,
    *,
    sample_weight: Any = None,
    offset: Any = None,
    strata: Any = None,
    sample_groups: Any = None,
    metadata: Mapping[str, Any] | None = None,
    callback: Callback | None = None,
    progress: Progress | None = None,
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
    strategy, model, criterion, enter, leave, drop, max_features, include, exclude, groups, solver, cv, n_jobs, \
random_state, max_time, checkpoint
        The parameters of `Selector`.
    sample_weight : array-like of shape (n_samples,), default=None
        Frequency weights: a weight of 2 is equivalent to repeating the row.
    offset : array-like of shape (n_samples,), default=None
        Added to the linear predictor, e.g. the log of an exposure (models "logistic", "poisson", "gamma", "cox").
    strata : array-like of shape (n_samples,), default=None
        Labels of the strata, each with a baseline hazard of its own (model "cox").
    sample_groups : array-like of shape (n_samples,), default=None
        Groups of dependent rows, which stay in one fold (models that are cross-validated).
    metadata : mapping of str to object, default=None
        Passed to the `fit` of an estimator; with metadata routing, to all that request it.
    callback : callable, default=None
        Called with every step of the path; the search stops when it returns True.
    progress : callable, default=None
        Called after each fit with the number of fits done and an estimate of those remaining; the search stops when it
        returns True.
    equivalents : bool, default=False
        Also find candidates that could replace each selected feature (`SelectionPath.equivalents`); not for
        estimators, where that would take many fits.

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
    _check_callable("callback", "a step", callback)
    _check_callable("progress", "the fits done and those remaining", progress)
    rows = Rows(sample_weight, offset, strata, sample_groups, {} if metadata is None else metadata)
    family = as_family(given.model)
    with Limits(given.max_time, interruptible=isinstance(family, Resamples)) as limits:
        report = _FitReport(progress, limits)
        problem = _evaluated(family, given, rows, report).problem(
            X, y, rows, given.solver, given.max_features if given.groups is None else None
        )
        choice = as_choice(problem.n_features, problem.names, given.include, given.exclude, given.groups)
        name, strategy = as_strategy(given.strategy)
        model, search, cautions = _search(problem, choice, given, name)
        report.search = search
        try:
            for caution in cautions:
                warnings.warn(caution, UserWarning, stacklevel=2)
            run = _run(search, strategy, report, callback)
            near = search.equivalents() if equivalents and not isinstance(model, Resampled) else (None, None)
        finally:
            if isinstance(model, Resampled):
                model.close()
    given_as = _Given(non_default(given), sample_weight is not None, isinstance(X, Moments))
    return _path(problem, choice, model, search, run, near, cautions, name, given_as)


class _Run(NamedTuple):
    """A search that has ended: the score and the number of candidates at the start, and the steps."""

    start: float
    n_candidates: int
    steps: tuple[Step, ...]


class _Given(NamedTuple):
    """What the caller passed."""

    params: dict[str, Any]
    weighted: bool
    from_moments: bool


def _evaluated(family: Family, given: Parameters, rows: Rows, report: _FitReport) -> Family:
    """The family with its evaluation, if it has one."""
    if isinstance(family, Resamples):
        identity = {name: value for name, value in non_default(given).items() if name not in (*RESOURCES, "model")}
        return family.evaluated(
            Evaluation(given.cv, given.n_jobs, given.random_state, given.checkpoint, identity, report.reason, report)
        )
    for name, value in (("checkpoint", given.checkpoint), ("sample_groups", rows.groups)):
        if value is not None:
            raise ValueError(f"{name} applies to a scikit-learn estimator; pass model=..., or omit {name}")
    if rows.metadata:
        raise ValueError(f"{next(iter(rows.metadata))} applies to a scikit-learn estimator; pass model=..., or omit it")
    return family


class _FitReport:
    """Reports the number of fits done and an estimate of those remaining, after each fit."""

    def __init__(self, progress: Progress | None, limits: Limits) -> None:
        self._progress, self._limits, self.ended = progress, limits, False
        self.search: Search | None = None

    def __call__(self) -> None:
        """Report a fit; the search ends if the callback returns True."""
        if self._progress is not None and self.search is not None:
            self.ended |= bool(self._progress(self.search.n_fits, _n_fits_remaining(self.search)))

    def reason(self) -> StopReason | None:
        """Why the search is to end now; None if it is to continue."""
        return StopReason.CALLBACK if self.ended else self._limits.reason()


def _n_fits_remaining(search: Search) -> int:
    """An estimate: scans up to `max_features` (the present one if there is no limit), at the average cost of a gain."""
    n_scans = 1 if search.rules.max_features is None else max(search.rules.max_features - len(search.selected), 1)
    n_gains = sum(max(len(search.pool) - i, 0) for i in range(n_scans))
    return round(n_gains * search.n_fits / max(search.n_evaluations, search.units.n))


def _run(search: Search, strategy: Strategy, report: _FitReport, callback: Callback | None) -> _Run:
    start, n_candidates = search.score, len(search.pool)
    return _Run(start, n_candidates, tuple(_until(_steps(search, strategy), search, report, callback)))


def _path(
    problem: Problem,
    choice: Choice,
    model: FamilyModel,
    search: Search,
    run: _Run,
    near: tuple[Any, Any],
    cautions: tuple[str, ...],
    strategy: str,
    given: _Given,
) -> SelectionPath:
    """The result of a search that has ended."""
    score, ranking, excluded = search.score, search.ranking(), choice.features(choice.exclude)
    losses, equivalents = near
    return SelectionPath(
        selected=search.units.features(search.selected),
        steps=run.steps,
        score=score,
        stop=(search.stop or StopReason.LEAVE) if problem.varying.any() else StopReason.CONSTANT,
        n_evaluations=search.n_evaluations,
        start=run.start,
        ranking=ranking,
        n_features=problem.n_features,
        feature_names=problem.names,
        strategy=strategy,
        model=model.kind,
        criterion=model.criterion_info.name,
        solver=model.solver,
        greater_is_better=model.greater_is_better,
        n_candidates=run.n_candidates,
        excluded=tuple(sorted(excluded)),
        groups=choice.members,
        rules=search.rules.in_effect(),
        notes=(*cautions, *problem.notes(model, set(excluded))),
        losses=losses,
        equivalents=equivalents,
        n_fits=search.n_fits,
        fits_saved=search.fits_saved(),
        params=given.params,
        weighted=given.weighted,
        from_moments=given.from_moments,
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


def _check_callable(name: str, argument: str, value: Any) -> None:
    if value is not None and not callable(value):
        raise TypeError(f"{name} must be a function of {argument}; got {value!r}")


def _check_rows(strategy: str, model: FamilyModel, units: Units, choice: Choice) -> None:
    """Refuse to start from more features than the rows can estimate."""
    if (rank := model.rank(choice.include)) > model.max_rank:
        raise ValueError(
            f"include forces in {rank} features, but {model.n:g} rows can estimate {model.max_rank:.0f} at most"
        )
    out = set(choice.exclude)
    rank = model.rank([u for u in range(units.n) if u not in out]) if strategy == "backward" else 0
    if rank > model.max_rank:
        raise ValueError(
            f"backward starts from all {rank} features, which {model.n:g} rows cannot estimate "
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


def _until(steps: Steps, search: Search, report: _FitReport, callback: Callback | None) -> Iterator[Step]:
    """Steps up to the one at which the callback or a limit requests to stop."""
    try:
        for step in steps:
            yield step
            reason = StopReason.CALLBACK if callback is not None and callback(step) else report.reason()
            if reason is not None:
                search.stop = reason
                return
    except SearchEndedError as ended:
        search.stop = ended.reason
