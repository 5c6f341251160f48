"""Methods of results that import other parts of the library when they are called."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Literal, cast

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from dropstep.coefficients import Coefficients
    from dropstep.result import SelectionPath


class PathMethods:
    """Text, plots, report and predictions of a path."""

    @property
    def why(self) -> str:
        """Why the search ended, with the numbers that the rule compared, as a sentence without its full stop."""
        from dropstep.presentation.stop import why

        return why(self._path)

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the target of rows by the coefficients.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
            All features of the table, or a frame that contains the selected ones by name.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_targets)
            Values of the targets, or class labels.
        """
        from dropstep.evaluation.estimators import predict

        return predict(self._path, X)

    def to_estimator(self) -> Any:
        """Convert the coefficients to a fitted scikit-learn estimator of the selected features, in order of entry.

        Returns
        -------
        LinearRegression, LinearDiscriminantAnalysis, LogisticRegression, PoissonRegressor or GammaRegressor
            Fitted, with the coefficients of this path; its X consists of the selected columns.
        """
        from dropstep.evaluation.estimators import to_estimator

        return to_estimator(self._path)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        kind: Literal["path", "steps", "gains", "ranking", "dropping"] = "path",
    ) -> Axes:
        """Plot the path; requires matplotlib.

        Parameters
        ----------
        ax : matplotlib.axes.Axes or None, default=None
            Axes to draw on; None creates a figure.
        kind : {"path", "steps", "gains", "ranking", "dropping"}, default="path"
            "path": the score by number of features, with the names, and with a band of one standard error where it is
            cross-validated; "steps": the score by step; "gains": the gains in order of entry; "ranking": what became of
            each feature; "dropping": the number of candidates by step.

        Returns
        -------
        matplotlib.axes.Axes
            The axes drawn on.
        """
        from dropstep.presentation.plots import PLOTS

        if kind not in PLOTS:
            raise ValueError(f"kind must be one of {', '.join(map(repr, PLOTS))}; got {kind!r}")
        return PLOTS[kind](self._path, ax)

    def report(self, file: str | os.PathLike[str] | None = None, X: Any = None, y: Any = None, **context: Any) -> Any:
        """Write the path as a self-contained HTML page.

        Parameters
        ----------
        file : str, path-like or None, default=None
            File to write; None returns the page as text.
        X, y : array-like or frame, default=None
            The data of the selection: with them, the page shows the stability of each feature (on 100 half-samples)
            and the cross-validated error, and features that could stand in for each other.
        **context : object
            `sample_weight`, `offset`, `strata` and `sample_groups`, as for `select`; `title`, the heading of the page;
            `command`, the shell command that made the path; `data`, a mapping of facts about the table.

        Returns
        -------
        str or None
            The page if `file` is None.
        """
        from dropstep.presentation.report import report_html, save_report

        path, evidence = self._path, context.pop("evidence", None)
        per_row = {name: context.pop(name, None) for name in ("sample_weight", "offset", "strata", "sample_groups")}
        if X is not None and evidence is None:
            from dropstep.evaluation.assess import assess, with_equivalents

            evidence = assess(path, X, y, **per_row)
            path = with_equivalents(path, X, y, **per_row)
        if file is None:
            return report_html(path, evidence=evidence, **context)
        save_report(path, file, evidence=evidence, **context)
        return None

    def methods(self, form: Literal["text", "markdown", "latex"] = "text", **context: Any) -> str:
        """The paragraph for the methods section of a paper: model, criterion, strategy, rules and result.

        Parameters
        ----------
        form : {"text", "markdown", "latex"}, default="text"
            Markup of the paragraph.
        **context : object
            `evidence`, what `assess` returned; `n_rows`, the number of rows.

        Returns
        -------
        str
        """
        from dropstep.presentation.methods import methods

        return methods(self._path, form, **context)

    @property
    def _path(self) -> SelectionPath:
        return cast("SelectionPath", self)

    def __str__(self) -> str:
        from dropstep.presentation.stop import as_text

        return as_text(self._path)

    def __repr__(self) -> str:
        from dropstep.presentation.stop import as_repr

        return as_repr(self._path)

    def _repr_html_(self) -> str:
        from dropstep.presentation.report import path_html

        return path_html(self._path)


class CoefficientsText:
    """The text of coefficients."""

    def __repr__(self) -> str:
        from dropstep.presentation.coefficients import as_text

        return as_text(cast("Coefficients", self))
