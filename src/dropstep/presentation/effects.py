"""The effect of a selected feature in a few characters: a coefficient, a ratio, or class means."""

from __future__ import annotations

import numpy as np

from dropstep.coefficients import Coefficients
from dropstep.presentation.coefficients import label
from dropstep.presentation.text import number
from dropstep.result import SelectionPath

Z = 1.96  # of a 95 % interval


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
    if fit.effect is not None:
        return _ratio(fit, coef, at)
    if coef.size == 1:
        error = np.atleast_2d(fit.std_error)[:, at] if fit.std_error is not None else None
        spread = "" if error is None or not np.isfinite(error).all() else f" ± {number(float(error[0, 0]), 3)}"
        return f"coefficient {number(float(coef[0, 0]), 3)}{spread}"
    return f"coefficients {_range(coef)}"


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
        return ", ".join(f"mean {number(float(m), 3)} in {label(c)}" for m, c in zip(means, fit.classes, strict=True))
    low, high = int(means.argmin()), int(means.argmax())
    return (
        f"largest mean in {label(fit.classes[high])} ({number(float(means[high]), 3)}), smallest in "
        f"{label(fit.classes[low])} ({number(float(means[low]), 3)})"
    )


def _ratio(fit: Coefficients, coef: np.ndarray, at: list[int]) -> str:
    if coef.size > 1:
        return f"{fit.effect}s {_range(np.exp(np.clip(coef, -700, 700)))}"
    value = float(coef[0, 0])
    error = np.nan if fit.std_error is None else float(np.atleast_2d(fit.std_error)[0, at[0]])
    with np.errstate(over="ignore"):
        ratio, low, high = np.exp([value, value - Z * error, value + Z * error]).tolist()
    interval = f" ({number(low, 3)} to {number(high, 3)})" if np.isfinite(error) else ""
    return f"{fit.effect} {number(ratio, 3)}{interval}"


def _range(values: np.ndarray) -> str:
    return f"{number(float(values.min()), 3)} to {number(float(values.max()), 3)}"
