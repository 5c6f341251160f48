"""The result of a comparison: cross-validated errors of strategies, and what they show."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dropstep.result import SelectionPath, compare_folds, import_pandas

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ALL, NONE = "all features", "no features"


@dataclass(frozen=True)
class Errors:
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

    @property
    def mean(self) -> float:
        """Mean over the folds."""
        return float(np.mean(self.folds))

    @property
    def deviation(self) -> float:
        """Standard deviation over the folds. Training sets overlap, so it does not give a standard error."""
        return float(np.std(self.folds, ddof=1)) if len(self.folds) > 1 else 0.0


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
    known = {
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
