"""The effect of a selected feature in a few characters: a coefficient, a ratio, or class means."""

from __future__ import annotations

import numpy as np

from dropstep.report.coefficient_table import label
from dropstep.report.text import number
from dropstep.result import Coefficients, SelectionPath

Z = 1.96  # of a 95 % interval
MAX_LOG_RATIO = 7.0  # beyond it, the coefficient is easier to read than its exponential
MAX_LISTED = 3  # coefficients of one feature


def effect(path: SelectionPath, features: tuple[int, ...]) -> str:
    """The effect of a feature or group, given the other selected features.

    Parameters
    ----------
    path : SelectionPath
        The path.
    features : tuple of int
        The feature, or the features of a group.

    Returns
    -------
    str
        Empty if the model has no coefficients.
    """
    fit = path.coefficients
    if fit is None:
        return ""
    at = _places(path, fit, features)
    if not at:
        return ""
    if fit.means is not None:
        return _means(fit, at)
    coef = np.atleast_2d(fit.coef)[:, at]
    labels = _labels(path, fit, features, at)
    if coef.size > 1:
        return _several(fit, coef.ravel(), labels)
    error = np.nan if fit.std_error is None else float(np.atleast_2d(fit.std_error)[0, at[0]])
    level = f" for {labels[0]}" if labels and labels[0] else ""
    return f"{_single(fit, float(coef[0, 0]), error)}{level}"


def _places(path: SelectionPath, fit: Coefficients, features: tuple[int, ...]) -> list[int]:
    """Places of the columns of features among the coefficients."""
    columns = set(features)
    if path.encoding is not None:
        columns = {column for j in features for column in path.encoding.columns(j)}
    return [place for place, column in enumerate(fit.columns) if column in columns]


def _means(fit: Coefficients, at: list[int]) -> str:
    """Class means of a number; the number of columns of a factor."""
    if len(at) > 1 or fit.means is None or fit.classes is None:
        return f"{len(at)} columns"
    means = fit.means[:, at[0]]
    if len(means) == 2:
        return "mean " + ", ".join(
            f"{number(float(m), 3)} in {label(c)}" for m, c in zip(means, fit.classes, strict=True)
        )
    low, high = int(means.argmin()), int(means.argmax())
    return (
        f"largest mean in {label(fit.classes[high])} ({number(float(means[high]), 3)}), smallest in "
        f"{label(fit.classes[low])} ({number(float(means[low]), 3)})"
    )


def _labels(path: SelectionPath, fit: Coefficients, features: tuple[int, ...], at: list[int]) -> list[str]:
    """What tells the coefficients of a feature apart: the levels of a factor, the members of a group, or the targets.

    Empty where a group or factor has coefficients for several targets.
    """
    several = np.ndim(fit.coef) > 1 and len(fit.coef) > 1
    if several:
        return [label(target) for target in fit.targets] if len(at) == 1 else []
    own = path.names(features)[0]
    return [fit.names[place].removeprefix(f"{own}=").removeprefix(own) for place in at]


def _single(fit: Coefficients, value: float, error: float) -> str:
    """A coefficient with its standard error, or a ratio with its 95 % interval where one unit is a moderate change."""
    if fit.effect is None or abs(value) > MAX_LOG_RATIO:
        spread = f" ± {number(error, 3)}" if np.isfinite(error) else ""
        return f"coefficient {number(value, 3)}{spread}"
    with np.errstate(over="ignore"):
        ratio, low, high = np.exp([value, value - Z * error, value + Z * error]).tolist()
    interval = f" ({number(low, 3)} to {number(high, 3)})" if np.isfinite(error) else ""
    return f"{fit.effect} {number(ratio, 3)}{interval}"


def _several(fit: Coefficients, values: np.ndarray, labels: list[str]) -> str:
    kind = "coefficients"
    if fit.effect is not None and np.abs(values).max() <= MAX_LOG_RATIO:
        kind, values = f"{fit.effect}s", np.exp(values)
    if len(values) > MAX_LISTED or len(labels) != len(values) or not all(labels):
        return f"{kind} {_range(values)}"
    return f"{kind} " + ", ".join(f"{number(float(v), 3)} ({name})" for v, name in zip(values, labels, strict=True))


def _range(values: np.ndarray) -> str:
    return f"{number(float(values.min()), 3)} to {number(float(values.max()), 3)}"
