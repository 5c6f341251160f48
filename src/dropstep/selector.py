"""Selector: the search as a scikit-learn estimator. The only file that knows that contract."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import get_tags
from sklearn.utils._set_output import _get_output_config
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from dropstep.backends import opened
from dropstep.data.frame import Frame, as_library, frame_names, has_factors, read, take_columns
from dropstep.data.sample import PerRow
from dropstep.data.source import Source
from dropstep.models.capabilities import capability
from dropstep.models.estimator.family import Estimator, is_estimator
from dropstep.models.evaluation import Resamples
from dropstep.models.families import as_family
from dropstep.models.least_squares.family import LeastSquaresFamily
from dropstep.parameters import NAMES, Parameters, checked_parameters, documented
from dropstep.result import SelectionPath, Step
from dropstep.select import select

try:  # scikit-learn 1.9 and later
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # pragma: no cover

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Stands in where scikit-learn has no callbacks."""

    def with_callbacks(method: Any) -> Any:
        return method


def _keeps_moments(selector: Any) -> bool:
    """Whether moments of the rows suffice: not where rows are held out, or divided at random."""
    if selector._needs_all_rows:
        raise AttributeError(f"{type(selector).__name__} has no partial_fit, because it needs all rows; use fit")
    if isinstance(selector.criterion, str) and selector.criterion == "cv":
        raise AttributeError("criterion 'cv' scores models on held-out rows, which partial_fit does not keep; use fit")
    return True


@documented
class Selector(CallbackSupportMixin, SelectorMixin, Parameters, BaseEstimator):
    """Feature selection by forward, backward, stepwise and dropping search.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    selected_ : ndarray of int
        Indices of the selected features, in order of entry.
    support_ : ndarray of bool of shape (n_features,)
        Mask of the selected features.
    ranking_ : ndarray of int of shape (n_features,)
        1 for the first that entered; features that are not selected follow by the gain they would bring now.
    score_ : float
        The criterion of the selection, in its own sign.
    path_ : SelectionPath
        Every step, and why the search ended.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only if X has feature names.

    Notes
    -----
    Text and categorical columns of a frame or an object array are factors. A factor of k levels is encoded by k - 1
    columns of 0 and 1, and it is one feature: it is selected as a whole, and `max_features` counts it once. `transform`
    returns the columns as they are; levels that did not occur in `fit` make no difference. If X has such columns and
    is a frame, `transform` returns a frame of the same library by default.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> selector = Selector().fit(X, y)
    >>> selector.get_feature_names_out()
    array(['sex', 'bmi', 'bp', 's3', 's5'], dtype=object)
    >>> print(selector.path_.stop)
    no candidate's gain is large enough to enter
    """

    selected_: NDArray[np.intp]
    support_: NDArray[np.bool_]
    ranking_: NDArray[np.intp]
    score_: float
    path_: SelectionPath
    n_features_in_: int

    _needs_all_rows = False  # whether moments of the rows do not suffice

    @with_callbacks
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
    ) -> Selector:
        """Search for the features of X that explain y.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n_samples, n_features)
            An array, a memory map, a sparse matrix or array of SciPy, or a frame of pandas, polars or pyarrow.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Numbers (one column per target), or class labels. For model "cox" a structured array (event, time) or two
            columns (time, event).
        sample_weight : array-like of shape (n_samples,), default=None
            Frequency weights: a weight of 2 is equivalent to repeating the row.
        offset : array-like of shape (n_samples,), default=None
            Added to the linear predictor, e.g. the log of an exposure (models "logistic", "poisson", "gamma", "cox").
        strata : array-like of shape (n_samples,), default=None
            Labels of the strata, each with a baseline hazard of its own (model "cox").
        sample_groups : array-like of shape (n_samples,), default=None
            Groups of dependent rows, which stay in one fold (criterion "cv", estimators).
        **metadata : object
            Passed to the `fit` of an estimator; with metadata routing, to all that request it.

        Returns
        -------
        Selector
        """
        with self._refitted() as fitted:
            X, y, rows = opened(X, y, PerRow(sample_weight, offset, strata, sample_groups))
            if isinstance(X, Source | Frame):
                fitted |= path_attributes(select(X, y, **self._given(), **_per_row(rows), metadata=metadata))
                return self
            if isinstance(y, str):
                raise ValueError(f"y must contain target values, not the name {y!r}; pass the column, or use select")
            table = X if self._is_resampled() else read(X)
            report = _Report(self, X, y, sample_weight) if getattr(self, "_skl_callbacks", None) else None
            path = select(
                table,
                y,
                **self._given(),
                sample_weight=sample_weight,
                offset=offset,
                strata=strata,
                sample_groups=sample_groups,
                metadata=metadata,
                callback=report.step if report else None,
                progress=report.progress if report else None,
            )
            if report:
                report.end(path)
            fitted |= path_attributes(path, X)
        return self

    @contextmanager
    def _refitted(self) -> Iterator[dict[str, Any]]:
        """Yield the attributes of a new fit, which replace those before at once; if the fit fails, none remain.

        So that other threads find either fit complete.
        """
        fitted: dict[str, Any] = {}
        try:
            yield fitted
        except BaseException:
            self._replace({})
            raise
        self._replace(fitted)

    def _replace(self, fitted: dict[str, Any]) -> None:
        """Replace all fitted attributes at once."""
        self.__dict__ = {name: value for name, value in vars(self).items() if not _is_fitted(name)} | fitted

    @available_if(_keeps_moments)
    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Selector:
        """Add a block of rows, and search the features that explain y in all rows so far.

        The moments of the rows are kept, not the rows. After any blocks, in any order, the result is that of `fit` on
        all rows: also for levels and classes that first appear late. For models "linear" and "discriminant"; the others
        need all rows in every step.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
            Rows with the same columns as before.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Numbers (one column per target), or class labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Frequency weights.

        Returns
        -------
        Selector
        """
        family = as_family(self.model)
        if not isinstance(family, LeastSquaresFamily):
            raise ValueError(
                f"partial_fit keeps moments, which suffice for models 'linear' and 'discriminant', but not for "
                f"{self.model!r}; use fit, or select with a file"
            )
        from dropstep.data.accumulated import Accumulated

        given = checked_parameters("Selector", self._given())
        rows = (X, y, sample_weight)
        total = vars(self).get("_total")
        if total is not None:
            validate_data(self, X, skip_check_array=True, reset=False)
        total = Accumulated.of(*rows, given, family.kind) if total is None else total.plus(*rows)
        source = copy(total)
        try:
            path = select(source, source.y, **self._given(), sample_weight=source.weights)
        except BaseException:
            self._replace({"_total": total})
            raise
        self._replace({"_total": total, **path_attributes(path)})
        return self

    def transform(self, X: Any) -> Any:
        """Reduce X to the selected features.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n_samples, n_features)
            A table with the features of `fit`.

        Returns
        -------
        array, sparse matrix or frame of shape (n_samples, n_selected_features)
            The selected columns, unchanged; in compressed sparse row format if X is sparse.
        """
        check_is_fitted(self)
        if not has_factors(X):
            return super().transform(X)
        validate_data(self, X, skip_check_array=True, reset=False)
        if not self.support_.any():
            warnings.warn("No features were selected: the data may be too noisy.", UserWarning, stacklevel=2)
        output = _get_output_config("transform", estimator=self)["dense"]
        return as_library(take_columns(X, np.flatnonzero(self.support_).tolist()), output)

    def _is_resampled(self) -> bool:
        """Whether the model is an estimator, which gets the table as it is."""
        return capability(as_family(self.model), Resamples) is not None

    def _given(self) -> dict[str, Any]:
        """The parameters of the selection; `get_params` inspects the signature each time."""
        return {name: getattr(self, name) for name in NAMES}

    def _get_support_mask(self) -> NDArray[np.bool_]:
        check_is_fitted(self)
        return self.support_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.allow_nan, tags.input_tags.sparse = self.missing == "drop", True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        if isinstance(self.model, Estimator) or is_estimator(self.model):
            inner = get_tags(self.model.estimator if isinstance(self.model, Estimator) else self.model).input_tags
            tags.input_tags.allow_nan, tags.input_tags.sparse = inner.allow_nan, inner.sparse
            tags.input_tags.string = tags.input_tags.categorical = True
        return tags

    def get_metadata_routing(self) -> Any:
        """What this selector requests, and what it passes to its estimator, scorer and splitter.

        Returns
        -------
        MetadataRouter or MetadataRequest
            A router if the model is an estimator.
        """
        if not (isinstance(self.model, Estimator) or is_estimator(self.model)):
            return super().get_metadata_routing()
        from dropstep.models.estimator.scoring import router_of

        estimator = self.model.estimator if isinstance(self.model, Estimator) else self.model
        return router_of(self, estimator, self.criterion, self.cv)


def _is_fitted(name: str) -> bool:
    """Whether an attribute is set by a fit."""
    return name == "_total" or (name.endswith("_") and not name.startswith("_"))


def path_attributes(path: SelectionPath, X: Any = None) -> dict[str, Any]:
    """The fitted attributes of a path, with the names of X if it is a frame."""
    selected, support = _chosen(path.selected, path.n_features)
    fitted: dict[str, Any] = {
        "selected_": selected,
        "support_": support,
        "ranking_": np.array(path.ranking, dtype=np.intp),
        "score_": path.score,
        "path_": path,
    }
    if X is not None and not isinstance(X, np.ndarray):
        return fitted | input_attributes(X)
    fitted["n_features_in_"] = path.n_features
    if path.feature_names is not None:
        fitted["feature_names_in_"] = np.array(path.feature_names, dtype=object)
    return fitted


def input_attributes(X: Any) -> dict[str, Any]:
    """What scikit-learn keeps of a table: n_features_in_ and, if it has names, feature_names_in_."""
    estimator = BaseEstimator()
    validate_data(estimator, X, skip_check_array=True)
    return dict(vars(estimator))


def _per_row(rows: PerRow) -> dict[str, Any]:
    """What is given per row, by the names of the parameters."""
    return {
        "sample_weight": rows.weights,
        "offset": rows.offset,
        "strata": rows.strata,
        "sample_groups": rows.groups,
    }


def _chosen(selected: Sequence[int], n_features: int) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """Selected features as indices, and as a mask."""
    indices, mask = np.array(selected, dtype=np.intp), np.zeros(n_features, dtype=bool)
    mask[indices] = True
    return indices, mask


class _Report:
    """Reports a fit and each of its steps to the callbacks of scikit-learn."""

    def __init__(self, selector: Selector, X: Any, y: Any, sample_weight: Any) -> None:
        self.given = {"estimator": selector, "X": X, "y": y, "metadata": {"sample_weight": sample_weight}}
        self.names, self.n_features, self.score = frame_names(X), np.shape(X)[1], math.nan
        self.selected: list[int] = []
        self.fit = selector._init_callback_context(max_subtasks=None)
        self.fit.call_on_fit_task_begin(**self.given)

    def step(self, step: Step) -> bool:
        """Report a step; True if a callback requests to stop."""
        if step.action == "add":
            self.selected.extend(step.features)
        elif step.action == "remove":
            self.selected = [j for j in self.selected if j not in step.features]
        task = self.fit.subcontext(task_name=f"{step.phase}: {step.action}")
        task.call_on_fit_task_begin(**self.given)
        self.score = step.score
        return self._end(task, self.selected, step.score)

    def progress(self, n_fits: int, n_remaining: int) -> bool:
        """Report a fit of an estimator; True if a callback requests to stop."""
        task = self.fit.subcontext(task_name=f"fit {n_fits} of about {n_fits + n_remaining}")
        task.call_on_fit_task_begin(**self.given)
        return self._end(task, self.selected, self.score)

    def end(self, path: SelectionPath) -> None:
        """Report the end of the fit."""
        self._end(self.fit, path.selected, path.score)

    def _end(self, task: Any, selected: Sequence[int], score: float) -> bool:
        """Report the end of a task, with a selector as if the fit had stopped there."""
        indices, mask = _chosen(selected, self.n_features)
        fitted = {"selected_": indices, "support_": mask, "score_": score, "n_features_in_": self.n_features}
        if self.names is not None:
            fitted["feature_names_in_"] = np.array(self.names, dtype=object)
        return bool(task.call_on_fit_task_end(**self.given, reconstruction_attributes=fitted))
