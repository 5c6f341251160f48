"""The table: numbers with the names of their features, and the weights of the rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

MAX_LISTED = 5  # columns that an error message names
MAX_ROWS = 1e15  # weights with a larger sum are not counts of rows


@dataclass(frozen=True, eq=False)
class Table:
    """Feature values in the memory order of the input, and feature names if there are any.

    Values are booleans, integers or floats of up to 8 bytes; they are converted to float64 where they are used, one
    block at a time.

    Attributes
    ----------
    values : ndarray of shape (n_samples, n_features)
        Feature values.
    names : tuple of str or None
        Feature names.
    """

    values: NDArray[Any]
    names: tuple[str, ...] | None = None

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.values)

    @property
    def n_features(self) -> int:
        """Number of features."""
        return int(self.values.shape[1])

    def label(self, feature: int) -> str:
        """Name of a feature in an error message."""
        return label(feature, self.names)

    def at(self, rows: NDArray[Any]) -> Table:
        """Some rows of the table."""
        return replace(self, values=self.values[rows])


class Labelled(Protocol):
    """Features with names for messages."""

    def label(self, feature: int) -> str:
        """Name of a feature in an error message."""
        ...


def label(feature: int, names: tuple[str, ...] | None) -> str:
    """Name of a feature in an error message."""
    return f"column {feature}" if names is None else repr(names[feature])


def listed(table: Labelled, features: list[int]) -> str:
    """Names of features in an error message; the first few if there are many."""
    names = ", ".join(table.label(j) for j in features[:MAX_LISTED])
    return names + (f" and {len(features) - MAX_LISTED} more" if len(features) > MAX_LISTED else "")


def refuse_missing(table: Table, sums: NDArray[np.float64]) -> None:
    """Raise if X contains NaN or infinity, which make every sum over a column non-finite.

    Parameters
    ----------
    table : Table
        The table.
    sums : ndarray of shape (n_features,) or (n_sums, n_features)
        Sums over the rows: means (by class), or scatter.
    """
    if np.isfinite(sums).all():
        return
    suspects = np.flatnonzero(~np.isfinite(np.atleast_2d(sums)).all(axis=0))
    with np.errstate(over="ignore"):
        bad = [int(j) for j in suspects if not np.isfinite(table.values[:, j]).all()]
    if not bad:
        names = listed(table, [int(j) for j in suspects])
        raise ValueError(f"the values of {names} are too large to be summed in {table.values.dtype}; rescale them")
    n_rows = int((~np.isfinite(table.values[:, bad])).any(axis=1).sum())
    raise missing_error(table, bad, n_rows)


def missing_error(table: Labelled, features: list[int], n_rows: int) -> ValueError:
    """The error for numbers that are missing or infinite."""
    return ValueError(
        f"X contains NaN or infinity in {listed(table, features)} ({n_rows} row{'' if n_rows == 1 else 's'} in total); "
        "remove these rows (select and Selector do with missing='drop') or columns, or impute the values, e.g. with "
        "sklearn.impute.SimpleImputer"
    )


# --- weights ---------------------------------------------------------------------------------------------------------


def as_weights(sample_weight: Any, n_rows: int) -> NDArray[np.float64] | None:
    """Validate row weights. Weights are frequencies: weight 2 is equivalent to repeating the row.

    Parameters
    ----------
    sample_weight : array-like of shape (n_samples,), float or None
        Weights; a single number applies to every row.
    n_rows : int
        Number of rows of X.

    Returns
    -------
    ndarray of shape (n_samples,) or None
    """
    if sample_weight is None:
        return None
    given = np.asarray(sample_weight)
    if given.dtype.kind not in "biufO":
        raise ValueError(f"sample_weight must contain one number per row; got {given.ravel()[0]!r}")
    try:
        weights = given.astype(np.float64)
    except (TypeError, ValueError):
        raise ValueError("sample_weight must contain one number per row; it has a value that is not a number") from None
    if weights.ndim == 0:
        weights = np.full(n_rows, float(weights))
    if weights.shape != (n_rows,):
        raise ValueError(f"sample_weight must contain one number per row ({n_rows}); its shape is {weights.shape}")
    if not np.isfinite(weights).all():
        raise ValueError("sample_weight contains NaN or infinity; set the weight of these rows to 0")
    if weights.min() < 0:
        raise ValueError(f"sample_weight must not be negative; its minimum is {weights.min():g}")
    if weights.max() == 0:
        raise ValueError("sample_weight is zero for every row; at least one weight must be positive")
    if weights.sum() > MAX_ROWS:
        raise ValueError(f"sample_weight counts rows, but its sum is {weights.sum():g}; rescale it to mean 1")
    return weights
