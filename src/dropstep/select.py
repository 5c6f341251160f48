"""The library in one function: select(X, y) -> SelectionPath."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np

from dropstep.backends import opened
from dropstep.coefficients import Coefficients
from dropstep.data.fingerprint import Fingerprint
from dropstep.data.groups import Choice
from dropstep.data.moments import Moments
from dropstep.data.sample import Features, Rows, Sample
from dropstep.data.sources import RowSource
from dropstep.data.sources.sample import SourceSample
from dropstep.foreign import unknown_parameter
from dropstep.models.base import Family, FamilyModel, Fitted, Problem, Units, offered
from dropstep.models.families import as_family
from dropstep.models.resampling import CrossValidates, Evaluation, Resamples, SearchEndedError, never
from dropstep.parameters import NAMES, RESOURCES, Parameters, checked_seed, non_default, with_parameters
from dropstep.result import SelectionPath, Step, StopReason, feature_names
from dropstep.search.calibrated import Knockoffs, Permutation
from dropstep.search.equivalents import equivalents as find_equivalents
from dropstep.search.knockoffs import knockoff_path
from dropstep.search.limits import Limits
from dropstep.search.notes import notes as uncertainties
from dropstep.search.rules import as_rules, numbers_like_levels
from dropstep.search.search import Search
from dropstep.search.strategies import Steps, Strategy, as_strategy
from dropstep.stopping import NearestMove
from dropstep.subsets import Subset, Subsets

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
    X : array-like, sparse matrix or frame of shape (n_samples, n_features), Moments, or a table that is not in memory
        An array, a memory map, a sparse matrix or array of SciPy, or a frame of pandas, polars or pyarrow. Text and
        categorical columns are factors, which are selected as a whole. Moments carry their y. Names of files (Parquet,
        CSV, Arrow; a glob, a directory or a list), a pyarrow Dataset, a polars LazyFrame, a DuckDB relation, or an
        iterable of record batches are read in blocks of rows, in bounded memory; y and what is given per row are then
        names of columns.
    y : array-like of shape (n_samples,) or (n_samples, n_targets), str or list of str
        Numbers (one column per target), or class labels; or the names of the columns of X that contain them, which are
        then not features. For model "cox" a structured array (event, time) or two columns (time, event).
    strategy, model, criterion, enter, leave, drop, max_features, include, exclude, groups, missing, solver, cv, \
n_jobs, random_state, max_time, checkpoint
        The parameters of `Selector`.
    sample_weight : array-like of shape (n_samples,) or str, default=None
        Frequency weights, or the column of X that contains them: a weight of 2 is equivalent to repeating the row.
    offset : array-like of shape (n_samples,) or str, default=None
        Added to the linear predictor, e.g. the log of an exposure (models "logistic", "poisson", "gamma", "cox"), or
        the column of X that contains it.
    strata : array-like of shape (n_samples,) or str, default=None
        Labels of the strata, each with a baseline hazard of its own (model "cox"), or the column of X that contains
        them.
    sample_groups : array-like of shape (n_samples,) or str, default=None
        Groups of dependent rows, which stay in one fold (models that are cross-validated).
    metadata : mapping of str to object, default=None
        Passed to the `fit` of an estimator; with metadata routing, to all that request it.
    callback : callable, default=None
        Called with every step of the path; the search stops when it returns True.
    progress : callable, default=None
        Called after each fit with the number of fits done and an estimate of those remaining; the search stops when it
        returns True. Where X is read in blocks of rows, called with the rows of this pass instead (0 remaining if their
        number is unknown); True raises an InterruptedError.
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
        raise unknown_parameter("select", unknown[0], NAMES)
    given = Parameters(**parameters)
    _check_text("solver", given.solver, SOLVERS)
    _check_callable("callback", "a step", callback)
    _check_callable("progress", "the fits done and those remaining", progress)
    rows = Rows(sample_weight, offset, strata, sample_groups, {} if metadata is None else metadata)
    X, y, rows = opened(X, y, rows)
    family = as_family(given.model)
    with Limits(given.max_time, interruptible=offered(Resamples, by=family) is not None) as limits:
        report = FitReport(progress, limits)
        family = evaluated(family, given, rows, report)
        source = X.source if isinstance(X, SourceSample) else X if isinstance(X, RowSource) else None
        if source is not None:
            source.report = report.rows
        sample = X if isinstance(X, SourceSample) else family.sample(X, y, rows, given)
        max_features = checked_max(given.max_features, len(sample.choice.include))
        from_all = as_strategy(given.strategy)[0] == "backward"
        problem = family.problem(sample, given.solver, max_features, from_all=from_all)
        started = searching(sample, problem, given, max_features)
        model, search, cautions, name, strategy = started
        strategy, noted = _calibrated(strategy, search, problem, sample, given)
        units, report.search = search.units, search
        with closing(started):
            for caution in cautions:
                warnings.warn(caution, UserWarning, stacklevel=2)
            run = _run(search, strategy, report, callback)
            near = find_equivalents(search) if equivalents and search.resampled is None else (None, None)
    noted = (*noted, *search.notes, *uncertainties(search, model, len(sample.choice.exclude), sample.names))
    notes = (*cautions, *noted, *sample.notes, *problem.notes(model, set(units.columns(sample.choice.exclude))))
    per_row = tuple(name for name, value in (("offset", offset), ("strata", strata)) if value is not None)
    given_as = _Given(non_default(given), sample_weight is not None, per_row, isinstance(X, Moments))
    varies = bool(problem.varying.any())
    return _path(sample, model, search, run, near, notes, name, given_as, varies=varies)


def prepared(X: Any, y: Any, rows: Rows, given: Parameters) -> tuple[Family, Any]:
    """The family of a model, and the validated sample of a table: for what repeats a selection on parts of the rows."""
    family = as_family(given.model)
    with Limits(None) as limits:  # groups divide rows into parts here, whatever the criterion
        report, alone = FitReport(None, limits), replace(rows, groups=None)
        family = evaluated(family, replace(given, n_jobs=None), alone, report)
    return family, family.sample(X, y, rows, given)


def searched(
    family: Family, sample: Any, given: Parameters, problem: Problem | None = None, make: type[Search] = Search
) -> tuple[Search, dict[int, tuple[int, ...]]]:
    """A search over a sample that has ended, and the last selection of each size that it visited, in order of visit."""
    max_features = checked_max(given.max_features, len(sample.choice.include))
    problem = family.problem(sample, given.solver, max_features) if problem is None else problem
    name, strategy = as_strategy(given.strategy)
    units = _units(sample, problem.n_columns)
    _, search, _ = _search(problem, sample.choice, units, given, name, max_features, make)
    strategy, _ = _calibrated(strategy, search, problem, sample, given)
    visited: dict[int, tuple[int, ...]] = {}
    try:
        for _ in _steps(search, strategy):
            visited.pop(len(search.selected), None)  # kept in the order of the visits
            visited[len(search.selected)] = tuple(search.selected)
    finally:
        if search.resampled is not None:
            search.resampled.close()
    return search, visited


def _calibrated(
    strategy: Strategy, search: Search, problem: Problem, sample: Features, given: Parameters
) -> tuple[Strategy, tuple[str, ...]]:
    """The strategy, or the path that knockoffs choose if `enter` is such a rule, and notes on it."""
    if not isinstance(given.enter, Knockoffs):
        return strategy, ()
    choice = sample.choice
    refused = {"groups": choice.members, "include": choice.include or None, "max_features": given.max_features}
    return knockoff_path(given.enter, search, problem, refused, checked_seed(given.random_state))


class _Run(NamedTuple):
    """A search that has ended: the score and the number of candidates at the start, and the steps."""

    start: float
    n_candidates: int
    steps: tuple[Step, ...]


class _Given(NamedTuple):
    """What the caller passed."""

    params: dict[str, Any]
    weighted: bool
    per_row: tuple[str, ...]
    from_moments: bool


def evaluated(family: Family, given: Parameters, rows: Rows, report: FitReport) -> Family:
    """The family with its evaluation, if it is cross-validated."""
    identity = {name: value for name, value in non_default(given).items() if name not in (*RESOURCES, "model")}
    evaluation = Evaluation(
        given.cv, given.n_jobs, given.random_state, given.checkpoint, identity, report.reason, report, given.criterion
    )
    if isinstance(family, Resamples):
        return family.evaluated(evaluation)
    by_cv = isinstance(family, CrossValidates) and isinstance(given.criterion, str) and given.criterion == "cv"
    _refuse_resampling(given, rows, by_cv)
    return family.cross_validated(evaluation) if by_cv and isinstance(family, CrossValidates) else family


def _refuse_resampling(given: Parameters, rows: Rows, by_cv: bool) -> None:
    """Refuse what only an estimator can use, and groups of rows where nothing is cross-validated."""
    if given.checkpoint is not None:
        raise ValueError("checkpoint applies to a scikit-learn estimator; pass model=..., or omit checkpoint")
    if rows.groups is not None and not by_cv:
        raise ValueError(
            "sample_groups applies to a scikit-learn estimator and to criterion='cv'; pass one of them, or omit "
            "sample_groups"
        )
    if rows.metadata:
        raise ValueError(f"{next(iter(rows.metadata))} applies to a scikit-learn estimator; pass model=..., or omit it")


class FitReport:
    """Reports the number of fits done and an estimate of those remaining, after each fit."""

    def __init__(self, progress: Progress | None, limits: Limits) -> None:
        self._progress, self._limits, self.ended = progress, limits, False
        self.search: Search | None = None

    def __call__(self) -> None:
        """Report a fit; the search ends if the callback returns True."""
        if self._progress is not None and self.search is not None:
            self.ended |= bool(self._progress(self.search.n_fits, _n_fits_remaining(self.search)))

    def rows(self, n_done: int, n_remaining: int | None) -> None:
        """Report rows of a source that were read; raises if the callback returns True, as there is no path yet."""
        if self._progress is not None and self._progress(n_done, n_remaining or 0):
            raise InterruptedError(f"the progress callback returned True after {n_done} rows; nothing was selected")

    def reason(self) -> StopReason | None:
        """Why the search is to end now; None if it is to continue."""
        return StopReason.CALLBACK if self.ended else self._limits.reason()


def _n_fits_remaining(search: Search) -> int:
    """An estimate: scans up to `max_features` (the current one if there is no limit), at the average cost of a gain."""
    n_scans = 1 if search.rules.max_features is None else max(search.rules.max_features - len(search.selected), 1)
    n_gains = sum(max(len(search.pool) - i, 0) for i in range(n_scans))
    return round(n_gains * search.n_fits / max(search.n_evaluations, search.units.n))


def _run(search: Search, strategy: Strategy, report: FitReport, callback: Callback | None) -> _Run:
    start, n_candidates = search.score, len(search.pool)
    search.ended = report.reason
    steps = tuple(_until(_steps(search, strategy), search, report, callback))
    search.ended = never  # the report knows the search: without this, both would keep the rows until a collection
    return _Run(start, n_candidates, steps)


def _path(
    sample: Features,
    model: FamilyModel,
    search: Search,
    run: _Run,
    near: tuple[Any, Any],
    notes: tuple[str, ...],
    strategy: str,
    given: _Given,
    *,
    varies: bool,
) -> SelectionPath:
    """The result of a search that has ended."""
    score, ranking, choice = search.score, search.ranking(), sample.choice
    losses, equivalents = near
    return SelectionPath(
        selected=search.units.features(search.selected),
        steps=run.steps,
        score=score,
        stop=(search.stop or StopReason.LEAVE) if varies else StopReason.CONSTANT,
        n_evaluations=search.n_evaluations,
        start=run.start,
        ranking=ranking,
        n_features=sample.n_features,
        feature_names=sample.names,
        strategy=strategy,
        model=model.kind,
        criterion=model.criterion_info.name,
        solver=model.solver,
        nearest=_nearest(search) if varies else None,
        greater_is_better=model.greater_is_better,
        n_candidates=run.n_candidates,
        excluded=tuple(sorted(choice.features(choice.exclude))),
        groups=choice.members,
        rules=search.rules.in_effect(),
        notes=notes,
        losses=losses,
        equivalents=equivalents,
        n_fits=search.n_fits,
        n_passes=sample.n_passes,
        fits_saved=search.fits_saved(),
        params=given.params,
        weighted=given.weighted,
        per_row=given.per_row,
        from_moments=given.from_moments,
        encoding=sample.encoding,
        fingerprint=Fingerprint.of(sample.table, sample.target) if isinstance(sample, Sample) else None,
        coefficients=_coefficients(model, sample, search.units.columns(search.selected)),
        subsets=_subsets(search, sample, model),
    )


def _subsets(search: Search, sample: Features, model: FamilyModel) -> Subsets | None:
    """The best sets of each size, in features; None if the strategy does not compare sets."""
    if search.optimum is None:
        return None
    sign = 1 if model.greater_is_better else -1
    sets = [
        Subset(tuple(sorted(search.units.features(one.units))), len(one.units), sign * one.value)
        for one in search.optimum.sets
    ]
    return Subsets(tuple(sets), search.optimum.gap, sample.names)


def _nearest(search: Search) -> NearestMove | None:
    """The move that the rules refused last, if that is why the search ended and no exchange has made it since."""
    nearest = search.nearest if search.stop in (None, StopReason.ENTER, StopReason.LEAVE) else None
    selected = set(search.units.features(search.selected))
    return None if nearest is not None and nearest.action == "add" and selected & {*nearest.features} else nearest


def _units(sample: Features, n_columns: int) -> Units:
    """The columns and features that are selected together: groups, and the columns that encode a feature."""
    encoding, members = sample.encoding, sample.choice.members
    if encoding is None or (members is None and n_columns == sample.n_features):
        return Units(n_columns, members)
    features = members or tuple((j,) for j in range(sample.n_features))
    return Units(n_columns, [[c for j in unit for c in encoding.columns(j)] for unit in features], features)


def _coefficients(model: FamilyModel, sample: Features, columns: Sequence[int]) -> Coefficients | None:
    """Coefficients with the names of columns and targets; None if the model has none."""
    fitted = offered(Fitted, by=model)
    if fitted is None:
        return None
    fit, names = fitted.coefficients(columns, feature_names(sample.column_names, columns)), sample.target_names
    if names is None or fit.classes is not None or len(names) != len(fit.targets):
        return fit
    return replace(fit, targets=names)


class Searching(NamedTuple):
    """A search that has not started: its model, warnings about the parameters, and the strategy with its name."""

    model: FamilyModel
    search: Search
    cautions: tuple[str, ...]
    name: str
    strategy: Strategy

    def steps(self) -> Steps:
        """Run the search."""
        return _steps(self.search, self.strategy)

    def close(self) -> None:
        """Release files and processes."""
        if self.search.resampled is not None:
            self.search.resampled.close()


def searching(sample: Features, problem: Problem, given: Parameters, max_features: int | None) -> Searching:
    """The search over a problem."""
    name, strategy = as_strategy(given.strategy)
    units = _units(sample, problem.n_columns)
    return Searching(*_search(problem, sample.choice, units, given, name, max_features), name, strategy)


def _search(
    problem: Problem,
    choice: Choice,
    units: Units,
    given: Parameters,
    strategy: str,
    max_features: int | None = None,
    make: type[Search] = Search,
) -> tuple[FamilyModel, Search, tuple[str, ...]]:
    """The model, the search over it, and warnings about the parameters."""
    varying = problem.varying.copy()
    varying[list(units.columns(choice.exclude))] = False
    candidates, n_candidates = np.flatnonzero(varying), units.count(varying)
    model = problem.model(given.criterion, units, candidates, n_candidates)
    varying[list(units.columns(choice.include))] = False
    n_choices, info = units.count(varying), model.criterion_info
    enter = given.enter
    if isinstance(enter, Permutation):
        enter = replace(enter, seed=checked_seed(given.random_state))
    rules = as_rules(info, n_choices, enter, given.leave, given.drop, max_features, strategy)
    _check_rows(strategy, model, units, choice)
    search = make(model, rules, units, choice.include, choice.exclude)
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


def checked_max(max_features: Any, n_included: int) -> int | None:
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


def _until(steps: Steps, search: Search, report: FitReport, callback: Callback | None) -> Iterator[Step]:
    """Steps up to the one at which the callback or a limit requests to stop."""
    try:
        for step in steps:
            yield step
            if callback is not None and callback(step):
                search.stop = StopReason.CALLBACK
                return
            reason = report.reason()
            if reason is not None and reason is not search.stop:  # otherwise the strategy ends by itself
                search.stop = reason
                return
    except SearchEndedError as ended:
        search.stop = ended.reason
