"""Survival times, and what else likelihoods are given per row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dropstep.data.table import missing_offset

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Survival:
    """Right-censored times.

    Attributes
    ----------
    time : ndarray of shape (n_samples,)
        Time of the event, or of censoring.
    event : ndarray of bool of shape (n_samples,)
        Whether the event happened.
    """

    time: Floats
    event: NDArray[np.bool_]

    def at(self, rows: NDArray[Any]) -> Survival:
        """The times of some rows."""
        return Survival(self.time[rows], self.event[rows])


def as_survival(y: Any, n_rows: int) -> Survival:
    """Validate survival times.

    Parameters
    ----------
    y : structured array with a boolean and a numeric field, or array-like of shape (n_samples, 2)
        Event and time, as scikit-survival's; or columns time and event, the latter 0 or 1.
    n_rows : int
        Number of rows of X.

    Returns
    -------
    Survival
    """
    values = as_columns(y)
    if values is None:
        raise ValueError("y is None, but model='cox' requires survival times; pass two columns, time and event")
    values = np.asarray(values)
    if values.ndim != 2 or values.shape[1] != 2:
        raise ValueError(
            "y must have two columns, time and event, or be a structured array of event and time, for model='cox'; "
            f"its shape is {values.shape}"
        )
    time, event = values.T
    if len(time) != n_rows:
        raise ValueError(f"X and y must have the same number of rows; X has {n_rows}, y has {len(time)}")
    try:
        time, event = time.astype(np.float64), event.astype(np.float64)
    except (TypeError, ValueError):
        raise ValueError("y contains a value that is not a number; time must be numeric, and event 0 or 1") from None
    if not (np.isfinite(time).all() and np.isfinite(event).all()):
        raise ValueError("y has missing or infinite values (NaN or inf); remove these rows from X and y")
    if len(other := event[(event != 0) & (event != 1)]):
        coded = ", and subtract 1 from events that are coded 1 and 2" if set(event) <= {1.0, 2.0} else ""
        raise ValueError(f"event must be 0 (censored) or 1; got {other[0]:g}; pass the columns as (time, event){coded}")
    if time.min() < 0:
        raise ValueError(f"times must not be negative; the minimum is {time.min():g}")
    return Survival(time, event == 1)


def as_columns(y: Any) -> Any:
    """A structured array of event and time as two columns, time and event; anything else as it is.

    Parameters
    ----------
    y : structured array with a boolean and a numeric field, or any other object

    Returns
    -------
    ndarray of shape (n_samples, 2) or object
    """
    names = getattr(getattr(y, "dtype", None), "names", None)
    if not names:
        return y
    events = [name for name in names if y.dtype[name].kind == "b"]
    if len(names) != 2 or len(events) != 1:
        raise ValueError(
            f"a structured y must have a boolean field (event) and a numeric field (time); its fields are {names}"
        )
    (time,) = (name for name in names if name != events[0])
    return np.column_stack([y[time], y[events[0]]])


def as_offset(offset: Any, n_rows: int) -> Floats:
    """Validate an offset: one number per row, added to the linear predictor; zeros for None."""
    if offset is None:
        return np.zeros(n_rows)
    try:
        values = np.asarray(offset, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError("offset must contain one number per row; it has a value that is not a number") from None
    if values.shape != (n_rows,):
        raise ValueError(f"offset must contain one number per row ({n_rows}); its shape is {values.shape}")
    if not (finite := np.isfinite(values)).all():
        raise missing_offset(int((~finite).sum()), f"row {int(np.argmin(finite)) + 1}")
    return values


def as_strata(strata: Any, n_rows: int) -> NDArray[np.intp]:
    """Codes of strata, given as one label per row; zeros for None."""
    if strata is None:
        return np.zeros(n_rows, dtype=np.intp)
    labels = np.asarray(strata)
    if labels.shape != (n_rows,):
        raise ValueError(f"strata must contain one label per row ({n_rows}); its shape is {labels.shape}")
    if labels.dtype == object:
        labels = labels.astype(str)
    return np.unique(labels, return_inverse=True)[1].astype(np.intp)
