"""Coefficients of the selected features, in the units of the table, with what can be inferred from them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from dropstep.lazy import CoefficientsText

Floats = NDArray[np.float64]

INTERCEPT = "(intercept)"
CAVEAT = (
    "Coefficients, R² and p-values are computed on the rows used for selection, as if the features had been fixed in "
    "advance, and are optimistically biased; for inference, fit on rows that took no part in the selection."
)


class Coefficient(NamedTuple):
    """One row of a table of coefficients.

    Attributes
    ----------
    target : object
        Name of the target, or class label.
    name : str
        Name of the column, or "(intercept)".
    estimate : float
        The coefficient.
    std_error, statistic, p_value : float or None
        Standard error, t or z statistic and two-sided p-value; None if the model has none, NaN for a column that is a
        linear combination of the others and for an infinite coefficient.
    """

    target: Any
    name: str
    estimate: float
    std_error: float | None
    statistic: float | None
    p_value: float | None


@dataclass(frozen=True, eq=False, repr=False)
class Coefficients(CoefficientsText):
    """Linear functions of the selected columns, in the units of the table.

    A regression has one function per target. Discriminant analysis has one function per class, the linear score of a
    row: the log of its posterior probability, up to a term that is the same for all classes. Logistic regression has
    one per class but the first: the log odds of the class against the first one.

    Standard errors and p-values are computed on the rows used for selection, as if the features had been fixed in
    advance, so they are optimistically biased.

    Attributes
    ----------
    names : tuple of str
        Names of the selected columns of the design matrix, in order of entry; a categorical feature has several.
    columns : tuple of int
        Indices of these columns in the design matrix.
    targets : tuple
        Name of each target, or label of each class: what each function is for.
    intercept : float, ndarray of shape (n_targets,) or None
        A number if there is one target; None if the model has no intercept.
    coef : ndarray of shape (n_columns,) or (n_targets, n_columns)
        One dimension if there is one target. 0 for a column that is a linear combination of the others (R reports NA).
    std_error : ndarray of the shape of `coef`, or None
        Standard errors, NaN for a column that is a linear combination of the others and for a coefficient that is
        infinite, because the likelihood has no maximum; None for classes.
    intercept_std_error : float, ndarray of shape (n_targets,) or None
        Standard error of the intercept.
    df_resid : float
        Residual degrees of freedom.
    statistic : {"t", "z"}
        Whether `coef / std_error` is referred to a t distribution or to the normal distribution.
    r2, adj_r2 : float or None
        Share of the sum of squares that is explained (the mean over several targets), and the same with both sums of
        squares divided by their degrees of freedom; None for models other than least squares regression.
    classes : tuple or None
        Labels of all classes; None for a regression. Discriminant analysis has a function for each of them, logistic
        regression for each but the first, the baseline.
    priors : ndarray of shape (n_classes,) or None
        Shares of the classes in the rows, which are the prior probabilities; None for other models than discriminant
        analysis.
    means : ndarray of shape (n_classes, n_columns) or None
        Class means; None for other models than discriminant analysis.
    effect : {"odds ratio", "rate ratio", "mean ratio", "hazard ratio"} or None
        What the exponential of a coefficient is; None for least squares.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from dropstep import select
    >>> fit = select(*load_diabetes(return_X_y=True, as_frame=True), max_features=2).coefficients
    >>> fit.names, fit.coef.round(1), round(fit.intercept, 2), round(fit.r2, 4)
    (('bmi', 's5'), array([675.1, 614.9]), 152.13, 0.4595)
    """

    names: tuple[str, ...]
    columns: tuple[int, ...]
    targets: tuple[Any, ...]
    intercept: float | Floats | None
    coef: Floats
    df_resid: float
    std_error: Floats | None = None
    intercept_std_error: float | Floats | None = None
    statistic: Literal["t", "z"] = "t"
    r2: float | None = None
    adj_r2: float | None = None
    classes: tuple[Any, ...] | None = None
    priors: Floats | None = None
    means: Floats | None = None
    effect: str | None = None

    def rows(self) -> list[Coefficient]:
        """The table of coefficients: for each target the intercept, then the columns.

        Returns
        -------
        list of Coefficient
            One row per target and coefficient.
        """
        names = self.names if self.intercept is None else (INTERCEPT, *self.names)
        estimates = _bordered(self.intercept, self.coef)
        if self.std_error is None:
            return [
                Coefficient(target, name, value, None, None, None)
                for target, line in zip(self.targets, estimates.tolist(), strict=True)
                for name, value in zip(names, line, strict=True)
            ]
        errors = _bordered(self.intercept_std_error, self.std_error)
        with np.errstate(divide="ignore", invalid="ignore"):
            ratios = estimates / errors
        tables = (estimates, errors, ratios, self._p_values(ratios))
        lines = zip(*(table.tolist() for table in tables), strict=True)
        return [
            Coefficient(target, name, *numbers)
            for target, line in zip(self.targets, lines, strict=True)
            for name, *numbers in zip(names, *line, strict=True)
        ]

    def _p_values(self, ratios: Floats) -> Floats:
        """Two-sided p-values; NaN where the ratio is."""
        tail = special.stdtr(self.df_resid, -np.abs(ratios)) if self.statistic == "t" else special.ndtr(-np.abs(ratios))
        return np.asarray(2 * tail)

    def to_frame(self) -> Any:
        """Convert the table of coefficients to a pandas DataFrame.

        Returns
        -------
        pandas.DataFrame
            Columns estimate, std_error, statistic and p_value (for discriminant analysis the estimate only), indexed by
            name with the intercept first; by target or class and name if there are several functions. Where `effect` is
            not None, columns ratio, lower and upper with 95 % intervals. ``attrs["note"]`` says what they cannot claim.
        """
        try:
            import pandas as pd
        except ImportError:
            raise ImportError("to_frame needs pandas: pip install 'dropstep[frames]'") from None
        kept = ["estimate"] if self.std_error is None else ["estimate", "std_error", "statistic", "p_value"]
        frame = pd.DataFrame(self.rows(), columns=list(Coefficient._fields))
        index = ["name"] if len(self.targets) == 1 else ["target", "name"]
        frame = frame.set_index(index)[kept].astype(float)
        if self.effect is not None:
            frame[["ratio", "lower", "upper"]] = self.ratios()
        frame.attrs["note"] = CAVEAT
        return frame

    def ratios(self, level: float = 0.95) -> Floats | None:
        """Odds, rate, mean or hazard ratios: exponentials of the coefficients, with intervals.

        Parameters
        ----------
        level : float, default=0.95
            Confidence level, as if the features had been fixed in advance.

        Returns
        -------
        ndarray of shape (n_rows, 3) or None
            Ratio, lower and upper limit for each of `rows`; None for least squares.
        """
        if self.effect is None or self.std_error is None:
            return None
        tail = (1 + level) / 2
        z = float(special.ndtri(tail) if self.statistic == "z" else special.stdtrit(self.df_resid, tail))
        estimates = _bordered(self.intercept, self.coef).ravel()
        errors = _bordered(self.intercept_std_error, self.std_error).ravel()
        with np.errstate(over="ignore"):
            return np.exp(np.column_stack([estimates, estimates - z * errors, estimates + z * errors]))

    def linear_predictor(self, values: Floats) -> Floats:
        """Values of the functions for rows.

        Parameters
        ----------
        values : ndarray of shape (n_samples, n_columns)
            The selected columns of the design matrix.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_targets)
        """
        intercept = 0.0 if self.intercept is None else self.intercept
        return np.asarray(values @ self.coef.T + intercept)


def _bordered(first: float | Floats | None, others: Floats) -> Floats:
    """Rows of numbers, one per target, with the number of the intercept in front if there is one."""
    table = np.atleast_2d(others)
    return table if first is None else np.column_stack([np.atleast_1d(first), table])
