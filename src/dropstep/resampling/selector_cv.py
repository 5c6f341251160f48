"""SelectorCV: the number of features is chosen by the held-out error of paths that are repeated in every fold."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from dropstep.data.division import is_splitter
from dropstep.data.frame import read
from dropstep.data.sample import PerRow
from dropstep.parameters import NAMES, Parameters, checked_parameters, documented
from dropstep.resampling.resampler import PartSelection, Resampler, select_on_all_rows
from dropstep.result import import_pandas, standard_error
from dropstep.running import checked_max
from dropstep.search.rules import Knockoffs
from dropstep.selector import Selector, path_attributes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Floats = NDArray[np.float64]

CHOICES = ("best", "one_se")
MAX_SIZES = 100  # sizes that are compared if max_features is None


@dataclass(eq=False, repr=False)
class ParametersCV(Parameters):
    """Parameters of a selection whose number of features is chosen; `SelectorCV` documents them."""

    choose: Literal["best", "one_se"] = "best"


@dataclass(frozen=True, eq=False)
class FoldPaths:
    """Held-out losses by number of features, from one path per fold.

    Attributes
    ----------
    sizes : tuple of int
        Numbers of features (or groups).
    loss : str
        Name of the loss: mse, log_loss, mean_deviance, partial_deviance; for an estimator the loss of a scorer such as
        ``neg_log_loss``, or ``negative_`` and the name of another scorer.
    losses : ndarray of shape (n_folds, n_sizes)
        Losses on the test rows of every fold.
    paths : tuple of dict
        The selection of every size on the path of each fold.
    chosen : int
        The number of features that is chosen.
    """

    sizes: tuple[int, ...]
    loss: str
    losses: Floats
    paths: tuple[dict[int, PartSelection], ...]
    chosen: int

    @property
    def mean(self) -> Floats:
        """Mean over the folds, by size."""
        return np.asarray(self.losses.mean(axis=0))

    @property
    def std_error(self) -> Floats:
        """Standard error of the mean, by size; NaN for a single fold."""
        return np.asarray(standard_error(self.losses))

    def to_frame(self) -> Any:
        """Losses as a pandas DataFrame, one row per number of features.

        Returns
        -------
        pandas.DataFrame
            Columns mean, std_error, and one per fold.
        """
        pd = import_pandas()
        folds = {f"fold {k}": row for k, row in enumerate(self.losses, start=1)}
        index = pd.Index(self.sizes, name="n_features")
        return pd.DataFrame({"mean": self.mean, "std_error": self.std_error, **folds}, index=index)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the loss of every fold, and their mean with one standard error, by number of features.

        Parameters
        ----------
        ax : matplotlib.axes.Axes or None, default=None
            Axes to draw on; None creates a figure.

        Returns
        -------
        matplotlib.axes.Axes
            The axes drawn on.
        """
        from dropstep.report.plots import plot_sizes

        return plot_sizes(self.sizes, self.losses, self.std_error, self.loss, self.chosen, ax)


@dataclass(frozen=True, eq=False)
class NestedError:
    """Held-out losses of the whole procedure, the choice of the number of features included.

    Attributes
    ----------
    loss : str
        Name of the loss.
    folds : tuple of float
        Loss of every outer fold.
    sizes : tuple of int
        Number of features chosen in each.
    """

    loss: str
    folds: tuple[float, ...]
    sizes: tuple[int, ...]

    @property
    def mean(self) -> float:
        """Mean over the outer folds."""
        return float(np.mean(self.folds))

    @property
    def std_error(self) -> float:
        """Standard error of the mean; NaN for a single fold."""
        return float(standard_error(self.folds))


@documented
class SelectorCV(ParametersCV, Selector):
    """Feature selection with the number of features chosen by cross-validation.

    The whole path is repeated on the training rows of every fold, and each size is scored on the test rows; then as
    many features as scored best are selected on all rows. Errors are those of models whose features were selected
    without the test rows.

    Parameters
    ----------
    {parameters}
    max_features : int or None, default=None
        Largest number of features that is compared; None compares up to 100, as far as the rows suffice.
    cv : int, splitter or iterable, default=None
        Folds; None is 5. An integer stratifies classes (and events), and keeps the rows of one of `sample_groups`
        together. A selection that is cross-validated itself (criterion "cv", estimators) divides the training rows of
        each fold, with their groups, by the same number or splitter again; a list of folds is then refused.
    n_jobs : int, default=None
        Number of threads that run the folds. Results do not depend on it.
    choose : {"best", "one_se"}, default="best"
        "best" is the number of features with the least mean held-out loss, "one_se" the smallest number within one
        standard error of it.

    Attributes
    ----------
    n_features_ : int
        The number of features (or groups) that was chosen.
    cv_paths_ : FoldPaths
        Held-out losses by number of features, and the selection of every fold; `to_frame()`, `plot()`.
    selected_, support_, ranking_, score_, path_, n_features_in_, feature_names_in_
        Those of `Selector`, for the selection on all rows.

    Notes
    -----
    With `enter` at "auto", paths visit every size up to `max_features`; otherwise they end where no candidate may
    enter. `max_time` limits the selection on all rows; `checkpoint` is not available.

    The loss is the mean squared error of linear regression, the log loss of classes, the mean deviance of counts and of
    positive numbers, the partial-likelihood deviance per event of survival times, and the negative score of an
    estimator. The folds read every size off one path: of several selections of a size the one with the best score.
    Strategy "exhaustive" compares the best set of every size.

    The least mean loss is an optimistic estimate, because the size was chosen by it; `nested_error` is not.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from dropstep import SelectorCV
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> selector = SelectorCV(strategy="forward", choose="one_se").fit(X, y)
    >>> selector.get_feature_names_out()
    array(['sex', 'bmi', 'bp', 's1', 's5'], dtype=object)
    """

    _needs_all_rows = True

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        offset: Any = None,
        strata: Any = None,
        sample_groups: Any = None,
        **metadata: Any,
    ) -> SelectorCV:
        """Choose the number of features, and select as many.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
            An array, or a frame of pandas, polars or pyarrow.
        y, sample_weight, offset, strata, **metadata
            As in `Selector.fit`.
        sample_groups : array-like of shape (n_samples,), default=None
            Groups of dependent rows, which stay in one fold, whatever the model.

        Returns
        -------
        SelectorCV
        """
        with self._refitted() as fitted:
            rows = PerRow(sample_weight, offset, strata, sample_groups, metadata)
            table, resampler = self._resampler(X, y, rows)
            found = self._fold_paths(resampler)
            final = _final(resampler.given, found.chosen)
            fitted |= path_attributes(select_on_all_rows(table, y, rows, final), X)
            fitted |= {"n_features_": found.chosen, "cv_paths_": found}
        return self

    def nested_error(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        offset: Any = None,
        strata: Any = None,
        sample_groups: Any = None,
        **metadata: Any,
    ) -> NestedError:
        """Estimate the held-out loss of the whole procedure by nested cross-validation.

        For every fold, the number of features is chosen by cross-validation of its training rows alone, and the
        selection of that size is scored on its test rows.

        Parameters
        ----------
        X, y, sample_weight, offset, strata, sample_groups, **metadata
            As in `fit`, which need not be called before.

        Returns
        -------
        NestedError
        """
        if not is_splitter(self.cv):
            raise ValueError(
                "nested_error divides the training rows of each fold again, which a list of folds cannot; "
                "pass cv as an integer or a splitter"
            )
        rows = PerRow(sample_weight, offset, strata, sample_groups, metadata)
        _, resampler = self._resampler(X, y, rows)
        folds = resampler.folds(self.cv)
        outer = resampler.select_sizes_in_folds(folds, _in_folds(resampler))
        losses, sizes, name = [], [], ""
        for path, (train, _) in zip(outer, folds, strict=True):
            inner = self._fold_paths(replace(resampler, sample=resampler.sample.at(train)))
            size = max(k for k in path if k <= max(inner.chosen, min(path)))
            name = inner.loss
            losses.append(path[size].loss)
            sizes.append(size)
        return NestedError(name, tuple(losses), tuple(sizes))

    def _resampler(self, X: Any, y: Any, rows: PerRow) -> tuple[Any, Resampler]:
        """The table as it was read, and the selection that is repeated."""
        if self.choose not in CHOICES:
            raise ValueError(f"choose must be 'best' or 'one_se'; got {self.choose!r}")
        if isinstance(self.enter, Knockoffs):
            raise ValueError(f"{self.enter!r} chooses the number of features, as SelectorCV does; use Selector")
        if isinstance(y, str):
            raise ValueError(f"y must contain target values, not the name {y!r}; pass the column, or use select")
        given = checked_parameters("SelectorCV", {name: getattr(self, name) for name in NAMES})
        table = X if self._is_resampled() else read(X)
        return table, Resampler.of(table, y, rows, given, "SelectorCV", limited=True)

    def _fold_paths(self, resampler: Resampler) -> FoldPaths:
        """Losses by size, and the size that is chosen."""
        paths = resampler.select_sizes_in_folds(resampler.folds(self.cv), _in_folds(resampler))
        sizes, losses = carried_forward(paths)
        name = next(iter(next(iter(paths[0].values())).losses))
        return FoldPaths(sizes, name, losses, tuple(paths), choose_size(sizes, losses, self.choose))


def _in_folds(resampler: Resampler) -> Parameters:
    """Parameters of paths that visit every size that is compared."""
    choice, given = resampler.sample.choice, resampler.given
    n_units = resampler.sample.n_features if choice.members is None else len(choice.members)
    n_units -= len(choice.exclude)
    limit = checked_max(given.max_features, len(choice.include))
    most = min(n_units, MAX_SIZES if limit is None else limit)
    return path_parameters(given, max(most, len(choice.include)), in_folds=True)


def _final(given: Parameters, size: int) -> Parameters:
    """Parameters of the selection of one size on all rows; none if that is 0."""
    path = path_parameters(given, size, in_folds=False)
    if size > 0:
        return path
    return replace(path, strategy="forward", enter=math.inf, leave="auto", drop=None)


def path_parameters(given: Parameters, most: int, *, in_folds: bool) -> Parameters:
    """Parameters of a path that visits every size up to `most`, unless `enter` is given.

    Where `enter` is "auto", features enter whatever they gain, and early dropping follows its own "auto" rule; backward
    removes features to the last (in the folds), or down to `most`.
    """
    changes: dict[str, Any] = {"max_features": max(most, 1)}
    if isinstance(given.enter, str) and given.enter == "auto":
        changes["enter"] = -math.inf
        if given.drop is None:
            changes["drop"] = "auto"
        if in_folds and given.strategy == "backward":
            changes["leave"] = math.inf
    return replace(given, **changes)


def carried_forward(paths: Sequence[dict[int, PartSelection]]) -> tuple[tuple[int, ...], Floats]:
    """Sizes, and the losses of every fold by size; a path that ended earlier keeps its last selection."""
    first = max(min(path) for path in paths)
    sizes = sorted({size for path in paths for size in path if size >= first})
    table = [[path[max(k for k in path if k <= size)].loss for size in sizes] for path in paths]
    return tuple(sizes), np.array(table)


def choose_size(sizes: Sequence[int], losses: Floats, choose: str) -> int:
    """The size of least mean loss, or the smallest within one standard error of it."""
    means = losses.mean(axis=0)
    best = int(means.argmin())
    if choose == "one_se" and len(losses) > 1:
        best = int(np.flatnonzero(means <= means[best] + standard_error(losses[:, best]))[0])
    return int(sizes[best])
