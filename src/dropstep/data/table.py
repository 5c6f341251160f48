"""The table: X as a numeric array with the names of its features, and the weights of its rows."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import date, time, timedelta
from typing import Any

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

    def label(self, feature: int) -> str:
        """Name of a feature in an error message."""
        return f"column {feature}" if self.names is None else repr(self.names[feature])


def as_table(X: Any) -> Table:
    """Convert an array or a frame (pandas, polars, pyarrow) to a Table; numeric arrays are not copied."""
    if isinstance(X, Table):
        return X
    if hasattr(X, "toarray") and hasattr(X, "nnz"):
        raise TypeError("X is sparse, but dense data is required; pass X.toarray()")
    if hasattr(X, "collect_schema") and not hasattr(X, "__len__"):
        raise TypeError("X is a lazy frame, which contains no rows yet; pass X.collect()")
    names = frame_names(X)
    _check_dtypes(X, names)
    values = _as_array(X)
    if values.ndim != 2:
        raise ValueError(
            f"X must be a 2D array of shape (n_samples, n_features); its shape is {values.shape}"
            + ("; reshape your data with X.reshape(-1, 1) if it has a single feature" if values.ndim == 1 else "")
        )
    for count, what in zip(values.shape, ("sample(s)", "feature(s)"), strict=True):
        if count == 0:
            raise ValueError(
                f"X is empty: it has 0 {what} (shape={values.shape}) while a minimum of 1 is required; "
                "pass a table with rows and features"
            )
    if values.dtype.kind not in "biuf" or values.dtype.itemsize > 8 or not values.dtype.isnative:
        values = _as_floats(Table(values, names))
    return Table(values, names)


def frame_names(X: Any) -> tuple[str, ...] | None:
    """Column names of a frame; None if there are none, or if they are not strings."""
    columns = getattr(X, "column_names", None)  # pyarrow
    if columns is None:
        columns = getattr(X, "columns", None)
    if columns is None:
        return None
    names = tuple(columns)
    is_text = [isinstance(name, str) for name in names]
    if not all(is_text):
        if any(is_text):
            raise TypeError(
                f"column names of X must be all strings or all non-strings; {names[is_text.index(False)]!r} is not a "
                "string: use e.g. X.columns = X.columns.astype(str)"
            )
        return None
    if duplicates := [name for name, count in Counter(names).items() if count > 1]:
        raise ValueError(f"column names of X must be unique; {duplicates[0]!r} appears more than once")
    return names


# --- non-numeric columns ---------------------------------------------------------------------------------------------

# Prefixes of the data types of pandas, polars and pyarrow, in lower case.
_TEXT = ("string", "large_string", "utf8", "binary", "large_binary")
_CATEGORIES = ("categor", "enum", "dictionary", "interval")
_TIMES = ("date", "time", "duration", "period")

_ENCODE = (
    "encode it as numbers, e.g. as one-hot columns (with groups= to select the columns of a category together), "
    "or remove these columns"
)


def _check_dtypes(X: Any, names: tuple[str, ...] | None) -> None:
    """Reject non-numeric columns of a frame by name, which an array of its values would not have."""
    types = _types(X)
    label = Table(np.empty((0, len(types))), names)
    if sparse := [j for j, t in enumerate(types) if t.startswith("sparse")]:
        raise TypeError(f"X has sparse columns: {listed(label, sparse)}; pass X.sparse.to_dense()")
    if times := [j for j, t in enumerate(types) if t.startswith(_TIMES)]:
        raise _times_error(label, times)
    if categories := [j for j, t in enumerate(types) if t.startswith(_CATEGORIES)]:
        raise ValueError(f"X contains categories in {listed(label, categories)}; {_ENCODE}")
    suspects = [j for j, t in enumerate(types) if t in ("str", "object") or t.startswith(_TEXT)]
    _check_objects(label, {j: np.asarray(_column(X, j), dtype=object) for j in suspects})


def _types(X: Any) -> list[str]:
    """Data types of the columns of a frame, as text; empty if X is not a frame."""
    if hasattr(X, "column_names"):  # pyarrow
        return [str(t).lower() for t in X.schema.types]
    if getattr(X, "columns", None) is None or not hasattr(X, "dtypes"):
        return []
    return [str(t).lower() for t in X.dtypes]


def _column(X: Any, j: int) -> Any:
    if hasattr(X, "iloc"):  # pandas
        return X.iloc[:, j]
    return X.to_series(j) if hasattr(X, "to_series") else X.column(j)  # polars, pyarrow


def _check_objects(table: Table, columns: dict[int, NDArray[Any]]) -> None:
    """Reject text, even if it represents numbers, and dates among Python objects."""
    text: dict[int, Any] = {}
    for j, column in columns.items():
        for value in column:
            if isinstance(value, str | bytes):
                text[j] = value
                break
            if isinstance(value, date | time | timedelta | np.datetime64 | np.timedelta64):
                raise _times_error(table, [j])
    if not text:
        return
    where = f"{listed(table, list(text))} (such as {next(iter(text.values()))!r})"
    if all(_is_numeric(columns[j]) for j in text):
        raise ValueError(f"X contains numbers stored as text in {where}; convert them, e.g. with astype(float)")
    raise ValueError(f"X contains text in {where}; {_ENCODE}")


def _is_numeric(column: NDArray[Any]) -> bool:
    try:
        column.astype(np.float64)
    except (TypeError, ValueError):
        return False
    return True


def _times_error(table: Table, features: list[int]) -> ValueError:
    return ValueError(
        f"X contains dates or times in {listed(table, features)}; convert them to numbers, e.g. days since a "
        "reference date, or remove these columns"
    )


def _as_array(X: Any) -> NDArray[Any]:
    """Values of X as an array, with NaN for missing values."""
    if np.ma.isMaskedArray(X):
        return np.asarray(np.ma.filled(X.astype(np.float64), np.nan) if np.ma.is_masked(X) else X)
    if hasattr(X, "iloc") and getattr(X, "ndim", 0) == 2:  # pandas
        kinds = {t.kind if isinstance(t, np.dtype) else "O" for t in X.dtypes}
        plain = kinds <= set("fiuc") or kinds == {"b"}
        return np.asarray(X if plain else X.to_numpy(dtype=np.float64, na_value=np.nan))
    if hasattr(X, "to_numpy") and not hasattr(X, "__array__"):
        X = X.to_numpy()
    try:
        return np.asarray(X)
    except ValueError:
        raise ValueError("the rows of X have different lengths; every row must have one value per feature") from None


def _as_floats(table: Table) -> NDArray[np.float64]:
    values = table.values
    if values.dtype.kind == "c":
        raise ValueError("Complex data not supported: X must be real; use e.g. X.real")
    if values.dtype.kind in "mM":
        raise _times_error(table, list(range(values.shape[1])))
    if values.dtype.kind in "OSU":
        _check_objects(table, {j: values[:, j].astype(object) for j in range(values.shape[1])})
    try:
        return values.astype(np.float64)
    except (TypeError, ValueError) as error:
        bad = next(j for j in range(values.shape[1]) if not _is_numeric(values[:, j]))
        raise TypeError(f"X contains a value that is not a number in {table.label(bad)}: {error}") from None


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
    raise ValueError(
        f"X contains NaN or infinity in {listed(table, bad)} ({n_rows} row{'' if n_rows == 1 else 's'} in total); "
        "remove these rows or columns, or impute the values, e.g. with sklearn.impute.SimpleImputer"
    )


def listed(table: Table, features: list[int]) -> str:
    """Names of features in an error message; the first few if there are many."""
    names = ", ".join(table.label(j) for j in features[:MAX_LISTED])
    return names + (f" and {len(features) - MAX_LISTED} more" if len(features) > MAX_LISTED else "")


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
