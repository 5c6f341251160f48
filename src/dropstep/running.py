"""One search over a sample: set up from the parameters of a selection, and run step by step."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import NamedTuple

from dropstep.data.groups import Choice
from dropstep.data.sample import Features, PerRow
from dropstep.models.base import Choices, Family, FamilyModel, Problem, Units
from dropstep.models.capabilities import capability
from dropstep.models.evaluation import CrossValidates, Evaluation, Resamples, SearchEndedError, never
from dropstep.parameters import RESOURCES, Parameters, checked_seed, non_default
from dropstep.result import Step, StopReason
from dropstep.search.limits import Limits
from dropstep.search.rules import Knockoffs, Permutation, as_rules, warn_about_thresholds
from dropstep.search.search import Search
from dropstep.search.strategies import Steps, Strategy, as_strategy

Callback = Callable[[Step], bool | None]
Progress = Callable[[int, int], bool | None]


def with_evaluation(family: Family, given: Parameters, rows: PerRow, report: FitReport) -> Family:
    """The family with its evaluation, if it is cross-validated."""
    resamples, validates = capability(family, Resamples), None
    if resamples is None:
        by_cv = isinstance(given.criterion, str) and given.criterion == "cv"
        validates = capability(family, CrossValidates) if by_cv else None
        _refuse_resampling(given, rows, validates is not None)
        if validates is None:
            return family
    identity = {name: value for name, value in non_default(given).items() if name not in (*RESOURCES, "model")}
    evaluation = Evaluation(
        given.cv, given.n_jobs, given.random_state, given.checkpoint, identity, report.reason, report, given.criterion
    )
    if resamples is not None:
        return resamples.evaluated(evaluation)
    assert validates is not None
    return validates.cross_validated(evaluation)


def _refuse_resampling(given: Parameters, rows: PerRow, by_cv: bool) -> None:
    """Refuse what only an estimator can use, and groups of rows where nothing is cross-validated."""
    if given.checkpoint is not None:
        raise ValueError("checkpoint applies to a scikit-learn estimator; pass model=..., or omit checkpoint")
    if rows.groups is not None and not by_cv:
        raise ValueError(
            "sample_groups applies to a scikit-learn estimator and to criterion='cv', because tests take rows for "
            "independent; pass one of them, or pass sample_groups where rows are divided (stability, compare, infer, "
            "report)"
        )
    if rows.metadata:
        raise ValueError(f"{next(iter(rows.metadata))} applies to a scikit-learn estimator; pass model=..., or omit it")


class FitReport:
    """Reports the number of fits done and an estimate of those remaining, after each fit."""

    def __init__(self, progress: Progress | None, limits: Limits) -> None:
        self._progress, self._limits, self.ended = progress, limits, False
        self.may_end = progress is not None or limits.are_set
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


class SearchRun(NamedTuple):
    """A search that has not started.

    Attributes
    ----------
    model : FamilyModel
    search : Search
    strategy : Strategy
    name : str
        Name of the strategy.
    warnings : tuple of str
        Warnings about the parameters.
    notes : tuple of str
        Notes for the path.
    """

    model: FamilyModel
    search: Search
    strategy: Strategy
    name: str
    warnings: tuple[str, ...]
    notes: tuple[str, ...]

    def steps(self) -> Steps:
        """Run the search."""
        search, strategy = self.search, self.strategy
        return _starting_from_included(search, strategy) if search.include else strategy(search)

    def close(self) -> None:
        """Release files and processes."""
        if self.search.resampled is not None:
            self.search.resampled.close()


def _starting_from_included(search: Search, strategy: Strategy) -> Steps:
    yield search.start(search.include)
    yield from strategy(search)


def make_search(
    sample: Features, problem: Problem, given: Parameters, max_features: int | None, make: type[Search] = Search
) -> SearchRun:
    """The search over a problem, of a class that may record more than `Search` does."""
    name, strategy = as_strategy(given.strategy)
    units, choice = _units(sample, problem.n_columns), sample.choice
    varying = problem.varying.copy()
    varying[list(units.columns(choice.exclude))] = False
    candidates, n_candidates = varying.nonzero()[0], units.count(varying)
    varying[list(units.columns(choice.include))] = False
    n_choices = units.count(varying)
    choices = Choices(n_choices, n_candidates - n_choices)
    by_size = name == "exhaustive" and isinstance(given.criterion, str) and given.criterion == "auto"
    model = problem.model(problem.sizes_by if by_size else given.criterion, units, candidates, choices)
    info, enter = model.criterion_info, given.enter
    notes: tuple[str, ...] = ()
    if isinstance(enter, Permutation):
        enter = replace(enter, seed=checked_seed(given.random_state))
    rules = as_rules(info, choices.n, enter, given.leave, given.drop, max_features, name)
    _check_rows(name, model, units, choice)
    search = make(model, rules, units, choice.include, choice.exclude)
    if isinstance(enter, Knockoffs):
        from dropstep.search.knockoffs import knockoff_path

        refused = {"groups": choice.members, "include": choice.include or None, "max_features": given.max_features}
        strategy, notes = knockoff_path(enter, search, problem, refused, checked_seed(given.random_state))
    return SearchRun(model, search, strategy, name, tuple(warn_about_thresholds(info, vars(given))), notes)


def run(started: SearchRun, report: FitReport, callback: Callback | None) -> Iterator[Step]:
    """Run a search; steps up to the one at which the callback or a limit requests to stop."""
    search = started.search
    search.ended = report.reason
    try:
        for step in started.steps():
            yield step
            if callback is not None and callback(step):
                search.stop = StopReason.CALLBACK
                return
            reason = report.reason() if report.may_end else None
            if reason is not None and reason is not search.stop:  # otherwise the strategy ends by itself
                search.stop = reason
                return
    except SearchEndedError as ended:
        search.stop = ended.reason
    finally:
        search.ended = never  # the report knows the search: without this, both would keep the rows until a collection


def _units(sample: Features, n_columns: int) -> Units:
    """The columns and features that are selected together: groups, and the columns that encode a feature."""
    encoding, members = sample.encoding, sample.choice.members
    if encoding is None or (members is None and n_columns == sample.n_features):
        return Units(n_columns, members)
    features = members or tuple((j,) for j in range(sample.n_features))
    return Units(n_columns, [[c for j in unit for c in encoding.columns(j)] for unit in features], features)


def _check_rows(strategy: str, model: FamilyModel, units: Units, choice: Choice) -> None:
    """Refuse to start from more features than the rows can estimate."""
    if choice.include and (rank := model.rank(choice.include)) > model.max_rank:
        raise ValueError(
            f"include forces in {rank} features, but {model.n:g} {model.sample_unit} can estimate "
            f"{model.max_rank:.0f} at most"
        )
    if strategy != "backward":
        return
    out = set(choice.exclude)
    if (rank := model.rank([u for u in range(units.n) if u not in out])) > model.max_rank:
        raise ValueError(
            f"backward starts from all {rank} features, which {model.n:g} {model.sample_unit} cannot estimate "
            f"({model.max_rank:.0f} at most); use strategy='dropping', or exclude features"
        )


def checked_max(max_features: int | None, n_included: int) -> int | None:
    """The limit on the number of features; raises if more are included."""
    if max_features is None:
        return None
    if n_included > max_features:
        raise ValueError(f"include forces in {n_included} features or groups, more than max_features={max_features}")
    return int(max_features)
