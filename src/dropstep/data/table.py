"""The table: numbers with the names of their features, and the weights of the rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dropstep.data.matrices.dense import Dense
from dropstep.data.matrices.matrix import Matrix

MAX_LISTED = 5  # columns that an error message names
MAX_ROWS = 1e15  # weights with a larger sum are not counts of rows


@dataclass(frozen=True, eq=False)
class Table:
    """Feature values in the memory order of the input, and feature names if there are any.

    Values are booleans, integers or floats of up to 8 bytes; they are converted to float64 where they are used, one
    block at a time.

    Attributes
    ----------
    values : ndarray of shape (n_samples, n_features), or Matrix
        Feature values: an array, or a sparse matrix or one on disk.
    names : tuple of str or None
        Feature names.
    """

    values: Any
    names: tuple[str, ...] | None = None

    @cached_property
    def matrix(self) -> Matrix:
        """The values as a design matrix, which counts how often they are read."""
        return Dense(self.values) if isinstance(self.values, np.ndarray) else self.values

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.values.shape[0])

    @property
    def n_features(self) -> int:
        """Number of features."""
        return int(self.values.shape[1])

    def label(self, feature: int) -> str:
        """Name of a feature in an error message."""
        return label(feature, self.names)

    def at(self, rows: NDArray[Any]) -> Table:
        """Some rows of the table."""
        values = self.values
        return replace(self, values=values[rows] if isinstance(values, np.ndarray) else values.at(rows))

    def columns(self, features: Sequence[int], rows: NDArray[np.intp] | None = None) -> NDArray[Any]:
        """A dense copy of a few columns, of all rows or some."""
        at = np.array(features, dtype=np.intp)
        if rows is None:
            return self.matrix.take(at)
        if isinstance(self.values, np.ndarray):
            self.matrix.reads.add(len(rows) * len(at))
            return np.asarray(self.values[rows[:, None], at])
        return self.matrix.take(at)[rows]


class Labelled(Protocol):
    """Features with names for messages."""

    def label(self, feature: int) -> str:
        """Name of a feature in an error message."""
        ...


@dataclass(frozen=True)
class Names:
    """Names of features for messages; without names, their positions.

    Attributes
    ----------
    names : tuple of str or None
    """

    names: tuple[str, ...] | None

    def label(self, feature: int) -> str:
        """Name of a feature in a message."""
        return label(feature, self.names)

    def listed(self, features: Sequence[int]) -> str:
        """Names of features in a message; the first few if there are many."""
        return listed(self, list(features))

    def exclude(self, features: Sequence[int]) -> str:
        """The parameter that excludes features."""
        chosen = [j if self.names is None else self.names[j] for j in features]
        return f"exclude={chosen!r}" if len(chosen) <= MAX_LISTED else "exclude"


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
    gaps = table.matrix.gaps(suspects)
    if not gaps.columns.any():
        names = listed(table, suspects.tolist())
        raise ValueError(f"the values of {names} are too large to be summed in {table.values.dtype}; rescale them")
    rows = gaps.absent | gaps.infinite
    raise missing_error(table, suspects[gaps.columns].tolist(), int(rows.sum()), f"row {int(np.argmax(rows)) + 1}")


def missing_error(table: Labelled, features: list[int], n_rows: int, first: str) -> ValueError:
    """The error for numbers that are missing or infinite, in some rows of which the first is known."""
    rows = f"{n_rows} row{'' if n_rows == 1 else 's'}"
    return ValueError(
        f"{first}: X contains NaN or infinity in {listed(table, features)} ({rows} in total); "
        "remove these rows (select and Selector do with missing='drop') or columns, or impute the values, e.g. with "
        "sklearn.impute.SimpleImputer"
    )


# --- weights ---------------------------------------------------------------------------------------------------------


def are_counts(weights: NDArray[np.float64] | None) -> bool:
    """Whether weights are integers, up to the rounding of a division by their mean; True for None."""
    return weights is None or bool((np.abs(weights - np.rint(weights)) <= 1e-6).all())


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
    if not (finite := np.isfinite(weights)).all():
        raise missing_weights(int((~finite).sum()), f"row {int(np.argmin(finite)) + 1}")
    check_weights(weights, lambda row: f"row {row + 1}")
    if weights.max() == 0:
        raise no_weights()
    return weights


def check_weights(weights: NDArray[np.float64] | None, row: Callable[[int], str]) -> None:
    """Raise for weights that do not count rows; `row` names a row."""
    if weights is None or not len(weights):
        return
    if weights.min() < 0:
        first = int(np.argmax(weights < 0))
        raise ValueError(f"{row(first)}: sample_weight must not be negative; it is {weights[first]:g}")
    if weights.sum() > MAX_ROWS:
        raise ValueError(f"sample_weight counts rows, but its sum is {weights.sum():g}; rescale it to mean 1")


def missing_weights(n: int, first: str) -> ValueError:
    """The error for weights that are missing or infinite in n rows, the first of which is known."""
    return ValueError(
        f"{first}: sample_weight contains NaN or infinity ({n} row{'' if n == 1 else 's'} in total); set the weight of "
        "these rows to 0, or use missing='drop' to ignore them"
    )


def missing_offset(n: int, first: str) -> ValueError:
    """The error for an offset that is missing or infinite in n rows, the first of which is known."""
    return ValueError(
        f"{first}: offset contains NaN or infinity ({n} row{'' if n == 1 else 's'} in total); remove these rows, as "
        "missing='drop' does"
    )


def no_weights() -> ValueError:
    """The error for weights that are all zero."""
    return ValueError("sample_weight is zero for every row; at least one weight must be positive")
