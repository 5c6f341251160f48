"""The library in one function: select(X, y) -> SelectionPath."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from typing import Any, NamedTuple

from dropstep.backends import opened
from dropstep.data.fingerprint import Fingerprint
from dropstep.data.moments import Moments
from dropstep.data.sample import Features, PerRow, Sample
from dropstep.data.source import Source
from dropstep.models.base import FamilyModel, Problem
from dropstep.models.capabilities import WithCoefficients, capability
from dropstep.models.evaluation import Resamples
from dropstep.models.families import as_family
from dropstep.parameters import checked_parameters, non_default, with_parameters
from dropstep.result import Coefficients, NearestMove, SelectionPath, Step, StopReason, Subset, Subsets, feature_names
from dropstep.running import Callback, FitReport, Progress, SearchRun, checked_max, make_search, run, with_evaluation
from dropstep.search.exchanges import equivalents as find_equivalents
from dropstep.search.limits import Limits
from dropstep.search.search import Search
from dropstep.search.strategies import as_strategy
from dropstep.search.uncertainty import notes as uncertainties


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
        iterable of record batches are read in blocks of rows, in bounded memory, unless their size is known and they
        fit into memory; y and what is given per row are then names of columns.
    y : array-like of shape (n_samples,) or (n_samples, n_targets), str or list of str
        Numbers (one column per target), or class labels; or the names of the columns of X that contain them, which are
        then not features. For model "cox" a structured array (event, time) or two columns (time, event).
    {parameters}
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
    given = checked_parameters("select", parameters)
    _check_callable("callback", "a step", callback)
    _check_callable("progress", "the fits done and those remaining", progress)
    rows = PerRow(sample_weight, offset, strata, sample_groups, {} if metadata is None else metadata)
    X, y, rows = opened(X, y, rows)
    family = as_family(given.model)
    with Limits(given.max_time, interruptible=capability(family, Resamples) is not None) as limits:
        report = FitReport(progress, limits)
        family = with_evaluation(family, given, rows, report)
        source = X.source if isinstance(X, Sample) else X if isinstance(X, Source) else None
        if source is not None:
            source.report = report.rows
        sample = X if isinstance(X, Sample) else family.sample(X, y, rows, given)
        max_features = checked_max(given.max_features, len(sample.choice.include))
        from_all = as_strategy(given.strategy)[0] == "backward"
        problem = family.problem(sample, given.solver, max_features, from_all=from_all)
        started = make_search(sample, problem, given, max_features)
        search, report.search = started.search, started.search
        with closing(started):
            for caution in started.warnings:
                warnings.warn(caution, UserWarning, stacklevel=2)
            start, n_candidates = search.score, search.pool.size
            steps = tuple(run(started, report, callback))
            search.release()
            near = find_equivalents(search) if equivalents and search.resampled is None else (None, None)
    notes = (*started.warnings, *started.notes, *_notes(sample, problem, started))
    per_row = tuple(name for name, value in (("offset", offset), ("strata", strata)) if value is not None)
    given_as = _Given(non_default(given), sample_weight is not None, per_row, isinstance(X, Moments))
    varies = bool(problem.varying.any())
    return _path(sample, started, _Run(start, n_candidates, steps, *near), notes, given_as, varies=varies)


class _Run(NamedTuple):
    """A search that has ended.

    Attributes
    ----------
    start : float
        The score at the start.
    n_candidates : int
        Candidates at the start.
    steps : tuple of Step
    losses, equivalents : tuple or None
        What each selected feature contributes, and what could replace it.
    """

    start: float
    n_candidates: int
    steps: tuple[Step, ...]
    losses: Any = None
    equivalents: Any = None


class _Given(NamedTuple):
    """What the caller passed."""

    params: dict[str, Any]
    weighted: bool
    per_row: tuple[str, ...]
    from_moments: bool


def _notes(sample: Features, problem: Problem, started: SearchRun) -> Iterator[str]:
    """What the reader of a path should know about the search, the table and the final fit."""
    model, search, excluded = started.model, started.search, sample.choice.exclude
    yield from search.notes
    yield from uncertainties(search, model, len(excluded), sample.names)
    if not (sample.weights_are_counts or model.criterion_info.resampled):
        yield (
            f"sample_weight has fractions, but weights count observations: their sum ({model.n:,.6g}) is taken for the "
            "number of rows, so that importance or sampling weights select too many features; pass counts, or select "
            "without weights"
        )
    yield from sample.notes
    yield from problem.notes(model, set(search.units.columns(excluded)))


def _path(
    sample: Features, started: SearchRun, run: _Run, notes: tuple[str, ...], given: _Given, *, varies: bool
) -> SelectionPath:
    """The result of a search that has ended."""
    model, search, choice = started.model, started.search, sample.choice
    score, ranking = search.score, search.ranking()
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
        strategy=started.name,
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
        losses=run.losses,
        equivalents=run.equivalents,
        n_fits=search.n_fits,
        n_passes=sample.n_passes,
        fits_saved=search.fits_saved(),
        params=given.params,
        weighted=given.weighted,
        per_row=given.per_row,
        from_moments=given.from_moments,
        encoding=sample.encoding,
        fingerprint=_fingerprint(sample),
        coefficients=_coefficients(model, sample, search.units.columns(search.selected)),
        subsets=_subsets(search, sample, model),
    )


def _fingerprint(sample: Features) -> Fingerprint | None:
    """What the rows of the selection are known by; None if they are not in memory."""
    return Fingerprint.of(sample.table, sample.target) if isinstance(sample, Sample) and sample.in_memory else None


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


def _coefficients(model: FamilyModel, sample: Features, columns: Sequence[int]) -> Coefficients | None:
    """Coefficients with the names of columns and targets; None if the model has none."""
    fitted = capability(model, WithCoefficients)
    if fitted is None:
        return None
    fit, names = fitted.coefficients(columns, feature_names(sample.column_names, columns)), sample.target_names
    if names is None or fit.classes is not None or len(names) != len(fit.targets):
        return fit
    return replace(fit, targets=names)


def _check_callable(name: str, argument: str, value: Any) -> None:
    if value is not None and not callable(value):
        raise TypeError(f"{name} must be a function of {argument}; got {value!r}")
