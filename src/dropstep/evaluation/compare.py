"""Compare: cross-validated errors of strategies on one table, with the selection repeated inside every fold."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any

import numpy as np

from dropstep.data.sample import Rows as PerRow
from dropstep.data.sample import Sample
from dropstep.data.target import Categorical
from dropstep.evaluation.comparison import ALL, NONE, Comparison, Errors, Row
from dropstep.evaluation.fold_paths import Chosen, Trained, at_the_end, is_cross_validated
from dropstep.models.folds import Fold, check_classes, check_number
from dropstep.parameters import Parameters, checked_parameters
from dropstep.result import SelectionPath, feature_names
from dropstep.search.strategies import ONE_MOVE_AT_A_TIME, as_strategy

Tick = Callable[[str, int, int], None]

MAX_QUICK_SECONDS, MAX_REPEATS = 0.2, 3  # a search quicker than this is repeated, and the best time counts
MODELS = {"linear": "linear regression", "discriminant": "LDA", "logistic": "logistic regression",
          "poisson": "Poisson regression", "gamma": "gamma regression", "cox": "Cox regression"}  # fmt: skip


def compare(
    X: Any,
    y: Any,
    *,
    strategies: Sequence[Any] = ONE_MOVE_AT_A_TIME,
    cv: Any = 5,
    n_jobs: int | None = None,
    sample_weight: Any = None,
    offset: Any = None,
    strata: Any = None,
    sample_groups: Any = None,
    svm: bool = False,
    tick: Tick | None = None,
    **parameters: Any,
) -> Comparison:
    """Compare strategies on the same rows and the same folds.

    The selection is repeated inside every fold, so that the errors are not biased by it. Least squares selects from the
    moments of the folds, and no model is refitted.

    Parameters
    ----------
    X : array-like or frame of shape (n_samples, n_features)
        Features, as in `select`.
    y : array-like of shape (n_samples,) or (n_samples, n_targets), str or list of str
        Target values or class labels, or the columns of X that contain them.
    strategies : sequence of str or strategy, default=all but "beam" and "exhaustive"
        Names of strategies, or objects such as `Beam(width=5)`.
    cv : int, splitter or iterable, default=5
        Folds. An integer is a number of folds of shuffled rows (by `random_state`, 0 if None), stratified by class,
        that keep the rows of one of `sample_groups` together. A selection that is cross-validated itself (criterion
        "cv", estimators) divides the training rows, with their groups, by the same splitter, or into as many folds as
        `Selector` does; a list of folds is then refused.
    n_jobs : int or None, default=None
        Number of threads that run the folds. Results do not depend on it.
    sample_weight, offset, strata, sample_groups : array-like of shape (n_samples,) or str, default=None
        As in `select`.
    svm : bool, default=False
        Whether to fit a support vector machine too, for class labels.
    tick : callable or None, default=None
        Progress callback; called with a description, the number of fits done and their total number.
    **parameters
        Parameters of `select`, other than `strategy`.

    Returns
    -------
    Comparison
        One row per strategy, then one with all features and one with none; `to_frame()`, `plot()`, `verdict`.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from dropstep import compare
    >>> result = compare(*load_diabetes(return_X_y=True), strategies=("dropping", "backward"))
    >>> result.verdict
    'backward has the smallest error of the strategies (dropping within one standard error), as good as all features'
    """
    if "strategy" in parameters:
        raise TypeError("compare has no parameter 'strategy'; use strategies, e.g. strategies=('dropping', 'stepwise')")
    given = checked_parameters("compare", {**parameters, "n_jobs": n_jobs})
    if is_cross_validated(given):
        given = replace(given, cv=cv)
    per_row = PerRow(sample_weight, offset, strata, sample_groups)
    trained = Trained.of(X, y, per_row, given)
    folds = _folds(trained, cv, given.random_state)
    run = _Run(trained, folds, svm, _counted(tick, (len(strategies) + 2) * (len(folds) + 1)))
    found = [run.strategy(strategy, name) for strategy, name in zip(strategies, _names(strategies), strict=True)]
    found += [run.fixed(ALL), run.fixed(NONE)]
    measure = next((row.measure for row in found if row.measure), "")
    return Comparison(tuple(row.row for row in found), measure, len(folds))


def compare_with_baselines(trained: Trained, folds: Sequence[Fold]) -> tuple[tuple[Row, ...], str]:
    """Rows of the selection, of all features and of none over given folds, and what their errors measure."""
    run = _Run(trained, tuple(folds), False, lambda text: None)
    found = run.strategy(trained.given.strategy, "", timed=False), run.fixed(ALL), run.fixed(NONE)
    return tuple(one.row for one in found), next((one.measure for one in found if one.measure), "")


def _names(strategies: Sequence[Any]) -> list[str]:
    """Names of strategies; objects of the same name are shown with their parameters."""
    names = [as_strategy(strategy)[0] for strategy in strategies]
    return [
        name if isinstance(strategy, str) or names.count(name) == 1 else repr(strategy)
        for strategy, name in zip(strategies, names, strict=True)
    ]


@dataclass(frozen=True)
class _Found:
    row: Row
    measure: str = ""


@dataclass(frozen=True, eq=False)
class _Run:
    """One comparison: the data, the folds, further models, and the progress callback."""

    trained: Trained
    folds: tuple[Fold, ...]
    svm: bool
    say: Callable[[str], None]

    def strategy(self, strategy: Any, name: str, *, timed: bool = True) -> _Found:
        """Path on all rows, with its time, if requested; and errors of every fold."""
        given = replace(self.trained.given, strategy=strategy)
        self.say(f"{name}, all rows")
        try:
            path, seconds = self._timed(given) if timed else (None, 0.0)
            chosen = at_the_end(self.trained, self.folds, given, lambda fold: self.say(f"{name}, fold {fold}"))
        except ValueError as error:
            return _Found(Row(name, None, 0.0, (), (), str(error)))
        return self._row(name, path, seconds, chosen)

    def fixed(self, name: str) -> _Found:
        """Errors with all features, or with none."""
        self.say(f"{name}, all rows")
        trained, given = self.trained, self.trained.given
        if name == ALL:
            given = replace(given, strategy="backward", enter=-np.inf, leave=-np.inf, drop=None, max_features=None)
        else:
            trained = trained.without_included()
            given = replace(given, strategy="forward", enter=np.inf, leave="auto", drop=None, max_features=None)
        try:
            chosen = at_the_end(trained, self.folds, given, lambda fold: self.say(f"{name}, fold {fold}"))
        except ValueError as error:
            return _Found(Row(name, None, 0.0, (), (), str(error)))
        if name == ALL:  # those that depend on others have coefficients of 0
            sample = self.trained.sample
            excluded = set(sample.choice.features(sample.choice.exclude))
            names = feature_names(sample.names, [j for j in range(sample.n_features) if j not in excluded])
            chosen = [replace(one, names=names) for one in chosen]
        return self._row(name, None, 0.0, chosen)

    def _row(self, name: str, path: SelectionPath | None, seconds: float, chosen: Sequence[Chosen]) -> _Found:
        measure = list(chosen[0].losses)[-1]
        sample, kind = self.trained.sample, self.trained.kind
        errors = [Errors(MODELS.get(kind, kind), tuple(one.losses[measure] for one in chosen))]
        if self.svm and isinstance(sample, Sample) and isinstance(sample.target, Categorical):
            errors.append(Errors("SVM", tuple(map(self._svm_error, self.folds, chosen))))
        concordance = tuple(one.concordance for one in chosen if one.concordance is not None)
        features = tuple(one.names for one in chosen)
        return _Found(Row(name, path, seconds, features, tuple(errors), concordance=concordance), measure)

    def _svm_error(self, fold: Fold, chosen: Chosen) -> float:
        """Error rate of a support vector machine on the selected columns; without any, of the most frequent class."""
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler
        from sklearn.svm import SVC

        sample, (train, test) = self.trained.sample, fold
        encoding, codes = sample.encoding, sample.target.codes
        columns = [c for j in chosen.selected for c in ([j] if encoding is None else encoding.columns(j))]
        if not columns:
            return float(np.mean(codes[test] != np.bincount(codes[train]).argmax()))
        X = sample.table.columns(columns)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = make_pipeline(StandardScaler(), SVC()).fit(X[train], codes[train])
        return float(np.mean(model.predict(X[test]) != codes[test]))

    def _timed(self, given: Parameters) -> tuple[SelectionPath, float]:
        """Path on all rows, and the best time of a few searches."""
        best = np.inf
        for _ in range(MAX_REPEATS):
            start = time.perf_counter()
            path = self.trained.select(given)
            best = min(best, time.perf_counter() - start)
            if best > MAX_QUICK_SECONDS:
                break
        return path, best


def _counted(tick: Tick | None, total: int) -> Callable[[str], None]:
    done = 0

    def say(text: str) -> None:
        nonlocal done
        if tick is not None:
            tick(text, done, total)
        done += 1

    return say


def _folds(trained: Trained, cv: Any, random_state: Any) -> tuple[Fold, ...]:
    """Folds of the rows; a number of folds is one of shuffled rows."""
    if not isinstance(cv, Integral) or isinstance(cv, bool) or int(cv) < 2:
        return trained.folds(cv)
    seed = 0 if random_state is None else random_state
    return shuffled_folds(trained.n_rows, trained.strata, trained.groups, int(cv), seed)


def shuffled_folds(n: int, labels: Any, groups: Any, n_folds: int, seed: Any, n_repeats: int = 1) -> tuple[Fold, ...]:
    """Folds of shuffled rows, stratified by labels, that keep groups together; as by `RepeatedKFold`."""
    from sklearn.model_selection import GroupKFold, KFold, StratifiedGroupKFold, StratifiedKFold
    from sklearn.utils import check_random_state

    check_number(n_folds, n, groups)
    if labels is not None:
        check_classes(n_folds, labels)
    options = {"n_splits": n_folds, "shuffle": True, "random_state": check_random_state(seed)}
    if groups is None:
        splitter = KFold(**options) if labels is None else StratifiedKFold(**options)
    else:
        splitter = GroupKFold(**options) if labels is None else StratifiedGroupKFold(**options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a class with fewer rows than folds
        splits = [fold for _ in range(n_repeats) for fold in splitter.split(np.zeros(n), labels, groups)]
    return tuple((np.asarray(train), np.asarray(test)) for train, test in splits if len(test))
