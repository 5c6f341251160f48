"""Selector: the search as a scikit-learn estimator. The only file that knows that contract."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from dropstep.data.table import Table, as_table
from dropstep.data.target import Model
from dropstep.models.least_squares.criteria import Criterion
from dropstep.result import SelectionPath, Step
from dropstep.search.rules import Significance
from dropstep.select import select

try:  # scikit-learn 1.9 and later
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # pragma: no cover

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Stands in where scikit-learn has no callbacks."""

    def with_callbacks(method: Any) -> Any:
        return method


class Selector(CallbackSupportMixin, SelectorMixin, BaseEstimator):
    """Select features by a search that asks a model for the gain of every possible move.

    The default goes forward while dropping hopeless candidates, forward once more over everything, then backward once.

    Parameters
    ----------
    strategy : {"dropping", "forward", "backward", "stepwise", "forward_backward", "fbed", "floating", "swap"}
        How to search; see the functions in ``dropstep.search.strategies``.
    model : {"auto", "linear", "discriminant"}
        Least squares, or separation of classes. "auto" takes y for classes when it is text, boolean, two whole
        numbers, or up to 32 whole numbers seen 4 times each on average.
    criterion : str or Criterion
        linear: rss, r2, adj_r2, cp, aic, aicc, bic, ebic; discriminant: trace, pillai, wilks, roy. "auto" is ebic and
        trace. An object takes parameters, e.g. ``MallowsCp(sigma2=2.0)``.
    enter : float, Significance or "auto"
        A gain must exceed it (the paper's alpha). "auto" is 0 for criteria that charge for size (cp, aic, aicc, bic,
        ebic); for the others it is an exact partial F test at level 0.05 / number of features that could be chosen.
        `Significance` is a test at another level; -inf goes on until `max_features`.
    leave : float, Significance or "auto"
        A loss up to it is accepted in backward steps (the paper's beta). "auto" follows an explicit `enter`.
    drop : float, Significance, "auto" or None
        A candidate whose gain is up to it is dropped until the second forward pass. None follows `leave` where that is
        a number, and is the partial F test at 0.05 otherwise. "auto" is 0 or that test.
    max_features : int or None
        Maximum number of features, or of groups, those of `include` counted.
    rounds : int or math.inf
        Further rounds of "fbed".
    include, exclude : features by index or name
        In from the start and never removed; never looked at.
    groups : one label a feature, or a list of lists of features
        A group is added, removed and dropped whole.

    Attributes
    ----------
    selected_ : indices of the selected features, in order of entry.
    support_ : mask of the selected features.
    ranking_ : 1 for the first that entered; the features that are not selected follow by the gain they would bring now.
    score_ : the criterion of the selection, in its own sign.
    path_ : the whole `SelectionPath`: every step, and why the search ended.
    n_features_in_, feature_names_in_ : as everywhere in scikit-learn.

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

    def __init__(
        self,
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
    ) -> None:
        self.strategy = strategy
        self.model = model
        self.criterion = criterion
        self.enter = enter
        self.leave = leave
        self.drop = drop
        self.max_features = max_features
        self.rounds = rounds
        self.include = include
        self.exclude = exclude
        self.groups = groups

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Selector:
        """Search for the features of X that explain y.

        Parameters
        ----------
        X : array or frame of rows by features.
        y : numbers (one column a target), or class labels.
        sample_weight : one number a row; a weight counts rows, so 2 is the same as the row twice.
        """
        self._forget()
        table = as_table(X)
        report = _Report(self, X, y, sample_weight, table) if getattr(self, "_skl_callbacks", None) else None
        words = self.get_params(deep=False)
        path = select(table, y, **words, sample_weight=sample_weight, callback=report.step if report else None)
        if report:
            report.end(path)
        validate_data(self, X, skip_check_array=True)  # sets n_features_in_ and feature_names_in_
        self.selected_, self.support_ = _chosen(path.selected, path.n_features)
        self.ranking_ = np.array(path.ranking, dtype=np.intp)
        self.score_ = path.score
        self.path_ = path
        return self

    def _forget(self) -> None:
        """Forget what was fitted before, so that a fit that fails leaves nothing behind."""
        for name in [name for name in vars(self) if name.endswith("_") and not name.startswith("_")]:
            delattr(self, name)

    def _get_support_mask(self) -> NDArray[np.bool_]:
        check_is_fitted(self)
        return self.support_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _chosen(selected: Sequence[int], n_features: int) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """Selected features as indices, and as a mask."""
    indices, mask = np.array(selected, dtype=np.intp), np.zeros(n_features, dtype=bool)
    mask[indices] = True
    return indices, mask


class _Report:
    """Tells the callbacks of scikit-learn about a fit and each of its steps."""

    def __init__(self, selector: Selector, X: Any, y: Any, sample_weight: Any, table: Table) -> None:
        self.given = {"estimator": selector, "X": X, "y": y, "metadata": {"sample_weight": sample_weight}}
        self.table = table
        self.selected: list[int] = []
        self.fit = selector._init_callback_context(max_subtasks=None)
        self.fit.call_on_fit_task_begin(**self.given)

    def step(self, step: Step) -> bool:
        """Report a step; True when a callback asks to stop."""
        if step.action == "add":
            self.selected.extend(step.features)
        elif step.action == "remove":
            self.selected = [j for j in self.selected if j not in step.features]
        task = self.fit.subcontext(task_name=f"{step.phase}: {step.action}")
        task.call_on_fit_task_begin(**self.given)
        return self._end(task, self.selected, step.score)

    def end(self, path: SelectionPath) -> None:
        """Report the end of the fit."""
        self._end(self.fit, path.selected, path.score)

    def _end(self, task: Any, selected: Sequence[int], score: float) -> bool:
        """Report the end of a task, with a selector as if the fit had stopped there."""
        n_features = self.table.values.shape[1]
        indices, mask = _chosen(selected, n_features)
        fitted = {"selected_": indices, "support_": mask, "score_": score, "n_features_in_": n_features}
        if self.table.names is not None:
            fitted["feature_names_in_"] = np.array(self.table.names, dtype=object)
        return bool(task.call_on_fit_task_end(**self.given, reconstruction_attributes=fitted))
