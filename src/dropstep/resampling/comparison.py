"""Comparison of strategies: cross-validated errors on one table, with the selection repeated inside every fold."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dropstep.data.division import Fold
from dropstep.data.sample import PerRow, Sample
from dropstep.data.target import Categorical
from dropstep.models.estimator.family import Estimator
from dropstep.parameters import Parameters, checked_parameters
from dropstep.resampling.refits import MODELS
from dropstep.resampling.resampler import PartSelection, Resampler, is_cross_validated, select_on_all_rows
from dropstep.result import ALL, NONE, OverFolds, SelectionPath, compare_folds, feature_names, import_pandas
from dropstep.search.strategies import ONE_MOVE_AT_A_TIME, as_strategy

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Tick = Callable[[str, int, int], None]

MAX_QUICK_SECONDS, MAX_REPEATS = 0.2, 3  # a search quicker than this is repeated, and the best time counts


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
    rows = PerRow(sample_weight, offset, strata, sample_groups)
    resampler = Resampler.of(X, y, rows, given, "compare", limited=True)
    folds = resampler.folds(cv, seed=0 if given.random_state is None else given.random_state)
    run = _Strategies(resampler, folds, svm, _counted(tick, (len(strategies) + 2) * (len(folds) + 1)))
    found = [
        run.strategy(strategy, name, lambda given: select_on_all_rows(X, y, rows, given))
        for strategy, name in zip(strategies, _names(strategies), strict=True)
    ]
    found += [run.fixed(ALL), run.fixed(NONE)]
    measure = next((measure for _, measure in found if measure), "")
    return Comparison(tuple(row for row, _ in found), measure, len(folds))


def compare_with_baselines(resampler: Resampler, folds: Sequence[Fold]) -> tuple[tuple[Row, ...], str]:
    """Rows of the selection, of all features and of none over given folds, and what their errors measure."""
    run = _Strategies(resampler, tuple(folds))
    found = run.strategy(resampler.given.strategy, ""), run.fixed(ALL), run.fixed(NONE)
    return tuple(row for row, _ in found), next((measure for _, measure in found if measure), "")


def _names(strategies: Sequence[Any]) -> list[str]:
    """Names of strategies; objects of the same name are shown with their parameters."""
    names = [as_strategy(strategy)[0] for strategy in strategies]
    return [
        name if isinstance(strategy, str) or names.count(name) == 1 else repr(strategy)
        for strategy, name in zip(strategies, names, strict=True)
    ]


@dataclass(frozen=True, eq=False)
class _Strategies:
    """One comparison: the data, the folds, further models, and the progress callback.

    Methods return a row, and what its errors measure; "" if the strategy raised an error.
    """

    resampler: Resampler
    folds: tuple[Fold, ...]
    svm: bool = False
    say: Callable[[str], None] = lambda text: None

    def strategy(
        self, strategy: Any, name: str, select: Callable[[Parameters], SelectionPath] | None = None
    ) -> tuple[Row, str]:
        """Errors of every fold; and the path on all rows by `select`, with its time."""
        given = replace(self.resampler.given, strategy=strategy)
        self.say(f"{name}, all rows")
        try:
            path, seconds = (None, 0.0) if select is None else _timed(select, given)
            return self._row(name, path, seconds, self._in_folds(self.resampler, name, given))
        except ValueError as error:
            return Row(name, None, 0.0, (), (), str(error)), ""

    def fixed(self, name: str) -> tuple[Row, str]:
        """Errors with all features, or with none."""
        self.say(f"{name}, all rows")
        sample, given = self.resampler.sample, replace(self.resampler.given, drop=None, max_features=None)
        if name == ALL:
            given = replace(given, strategy="backward", enter=-np.inf, leave=-np.inf)
        else:
            sample = replace(sample, choice=replace(sample.choice, include=()))
            given = replace(given, strategy="forward", enter=np.inf, leave="auto")
        try:
            found = self._in_folds(replace(self.resampler, sample=sample), name, given)
        except ValueError as error:
            return Row(name, None, 0.0, (), (), str(error)), ""
        if name == ALL:  # those that depend on others have coefficients of 0
            excluded = set(sample.choice.features(sample.choice.exclude))
            names = feature_names(sample.names, [j for j in range(sample.n_features) if j not in excluded])
            found = [replace(one, names=names) for one in found]
        return self._row(name, None, 0.0, found)

    def _in_folds(self, resampler: Resampler, name: str, given: Parameters) -> list[PartSelection]:
        return resampler.select_in_folds(self.folds, given, lambda fold: self.say(f"{name}, fold {fold}"))

    def _row(
        self, name: str, path: SelectionPath | None, seconds: float, found: Sequence[PartSelection]
    ) -> tuple[Row, str]:
        measure, sample = list(found[0].losses)[-1], self.resampler.sample
        errors = [Errors(_model(self.resampler), tuple(one.losses[measure] for one in found))]
        if self.svm and isinstance(sample, Sample) and isinstance(sample.target, Categorical):
            errors.append(
                Errors("SVM", tuple(_svm_error(sample, *each) for each in zip(self.folds, found, strict=True)))
            )
        concordance = tuple(one.concordance for one in found if one.concordance is not None)
        names = tuple(one.names for one in found)
        return Row(name, path, seconds, names, tuple(errors), concordance=concordance), measure


def _model(resampler: Resampler) -> str:
    """Name of the model that is fitted in the folds."""
    family: Any = resampler.family
    if isinstance(family, Estimator):
        return type(family.estimator).__name__
    kind = str(family.kind)
    if kind == "auto":
        kind = "discriminant" if isinstance(resampler.sample.target, Categorical) else "linear"
    return MODELS.get(kind, kind)


def _svm_error(sample: Sample, fold: Fold, found: PartSelection) -> float:
    """Error rate of a support vector machine on the selected columns; without any, of the most frequent class."""
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVC

    (train, test), codes = fold, sample.target.codes
    if not found.columns:
        return float(np.mean(codes[test] != np.bincount(codes[train]).argmax()))
    X = sample.table.columns(found.columns)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = make_pipeline(StandardScaler(), SVC()).fit(X[train], codes[train])
    return float(np.mean(model.predict(X[test]) != codes[test]))


def _timed(select: Callable[[Parameters], SelectionPath], given: Parameters) -> tuple[SelectionPath, float]:
    """Path on all rows, and the best time of a few searches."""
    best = np.inf
    for _ in range(MAX_REPEATS):
        start = time.perf_counter()
        path = select(given)
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


# --- the result -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Errors(OverFolds):
    """Cross-validated errors of one model.

    Attributes
    ----------
    model : str
        Name of the model that is fitted on the selected features.
    folds : tuple of float
        Error of each fold.
    """

    model: str
    folds: tuple[float, ...]


@dataclass(frozen=True)
class Row:
    """Results of one strategy.

    Attributes
    ----------
    strategy : str
        Name of the strategy, "all features" or "no features".
    path : SelectionPath or None
        Path on all rows; None for "all features" and "no features", and if the strategy raised an error.
    seconds : float
        Time of the search on all rows.
    features : tuple of tuple of str
        Names of the features selected in each fold.
    errors : tuple of Errors
        Cross-validated errors, one per model.
    refusal : str
        Message of the error that the strategy raised; empty if there was none.
    concordance : tuple of float
        Harrell's c of each fold, for survival times; empty for other targets.
    """

    strategy: str
    path: SelectionPath | None
    seconds: float
    features: tuple[tuple[str, ...], ...]
    errors: tuple[Errors, ...]
    refusal: str = ""
    concordance: tuple[float, ...] = ()

    @property
    def mean_concordance(self) -> float | None:
        """Mean of Harrell's c over the folds; None if there is none."""
        return sum(self.concordance) / len(self.concordance) if self.concordance else None

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of features selected in each fold."""
        return tuple(len(names) for names in self.features)


@dataclass(frozen=True)
class Comparison:
    """Strategies on the same rows and the same folds.

    Attributes
    ----------
    rows : tuple of Row
        One per strategy, then one with all features and one with none.
    measure : {"rmse", "error_rate", "mean_deviance", "partial_deviance"} or str
        What the errors are; for an estimator the loss of a scorer such as neg_log_loss, or the negative of another.
    n_folds : int
        Number of folds.
    """

    rows: tuple[Row, ...]
    measure: str
    n_folds: int

    def __getitem__(self, strategy: str) -> Row:
        """The results of a strategy by name."""
        return next(row for row in self.rows if row.strategy == strategy)

    @property
    def verdict(self) -> str:
        """What the errors show, in one sentence.

        A strategy beats another if its error, in paired differences over the folds, is smaller by more than one
        standard error, which accounts for training sets that overlap (Nadeau and Bengio 2003).
        """
        ran = [row for row in self.rows if row.errors and row.strategy not in (ALL, NONE)]
        if not ran:
            return "no strategy ran"
        nothing, everything = self[NONE], self[ALL]
        better = [row for row in ran if _beats(row, nothing)]
        if not better:
            return "no strategy beats no features"
        best = min(better, key=lambda row: row.errors[0].mean)
        alike = [row.strategy for row in better if row is not best and not _beats(best, row)]
        with_others = f" ({', '.join(alike)} within one standard error)" if alike else ""
        found = f"{best.strategy} has the smallest error of the strategies{with_others}"
        if not everything.errors:
            return found
        if _beats(best, everything):
            return f"{found}, and beats all features"
        return f"{found}, but all features beat it" if _beats(everything, best) else f"{found}, as good as all features"

    def to_frame(self) -> Any:
        """Results as a pandas DataFrame, one row per strategy and model.

        Returns
        -------
        pandas.DataFrame
            Columns strategy, n_features (on all rows), features, score, n_evaluations, n_fits, seconds, model, error,
            deviation, n_features_in_folds, features_in_folds, refusal and, for survival times, concordance.
        """
        return import_pandas().DataFrame([record for row in self.rows for record in _records(row)])

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the errors of every strategy: a dot per fold, and the mean.

        Parameters
        ----------
        ax : matplotlib.axes.Axes or None, default=None
            Axes to draw on; None creates a figure.

        Returns
        -------
        matplotlib.axes.Axes
            The axes drawn on.
        """
        from dropstep.report.plots import plot_errors

        ran = [row for row in self.rows if row.errors]
        names, folds = [row.strategy for row in ran], [row.errors[0].folds for row in ran]
        return plot_errors(names, folds, f"held-out {self.measure}", f"{self.n_folds} folds", ax)

    def __str__(self) -> str:
        head = f"{self.measure} over {self.n_folds} folds, selection repeated inside every fold"
        lines = [
            f"{row.strategy:<16} {row.errors[0].mean:.6g} ± {row.errors[0].deviation:.2g}{_with_concordance(row)}"
            if row.errors
            else f"{row.strategy:<16} {row.refusal}"
            for row in self.rows
        ]
        return "\n".join([head, *lines, self.verdict])


def _beats(row: Row, other: Row) -> bool:
    """Whether the first errors of a row are clearly smaller."""
    if not row.errors or not other.errors:
        return False
    own, others = row.errors[0].folds, other.errors[0].folds
    return compare_folds(own, others, len(own)) < 0


def _with_concordance(row: Row) -> str:
    c = row.mean_concordance
    return "" if c is None else f", concordance {c:.3f}"


def _records(row: Row) -> list[dict[str, Any]]:
    path = row.path
    known: dict[str, Any] = {
        "strategy": row.strategy,
        "n_features": None if path is None else len(path.selected),
        "features": None if path is None else path.selected_names,
        "score": None if path is None else path.score,
        "n_evaluations": None if path is None else path.n_evaluations,
        "n_fits": None if path is None else path.n_fits,
        "seconds": None if path is None else row.seconds,
    }
    rest: dict[str, Any] = {"n_features_in_folds": row.sizes, "features_in_folds": row.features, "refusal": row.refusal}
    rest |= {"concordance": row.mean_concordance} if row.concordance else {}
    if not row.errors:
        return [{**known, "model": None, "error": None, "deviation": None, **rest}]
    return [{**known, "model": e.model, "error": e.mean, "deviation": e.deviation, **rest} for e in row.errors]
