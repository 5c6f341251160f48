"""The table: X as an array of numbers with the names of its features, and the weights of its rows."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import date, time, timedelta
from typing import Any

import numpy as np
from numpy.typing import NDArray

NAMED = 5  # how many offending columns an error names
MOST_ROWS = 1e15  # a sum of weights beyond which it cannot be a count of rows


@dataclass(frozen=True, eq=False)
class Table:
    """Rows of features in their own memory order, and their names if they had any.

    Values are booleans, integers or floats of up to 8 bytes, which are converted to float64 where they are used, a
    block at a time.
    """

    values: NDArray[Any]
    names: tuple[str, ...] | None = None

    def label(self, feature: int) -> str:
        return f"column {feature}" if self.names is None else repr(self.names[feature])


def as_table(X: Any) -> Table:
    """An array or a frame (pandas, polars, pyarrow) as a Table; arrays of numbers are not copied."""
    if isinstance(X, Table):
        return X
    if hasattr(X, "toarray") and hasattr(X, "nnz"):
        raise TypeError("X is sparse; pass X.toarray(), dropstep reads dense arrays and frames")
    if hasattr(X, "collect_schema") and not hasattr(X, "__len__"):
        raise TypeError("X is a lazy frame, which holds no rows yet; pass X.collect()")
    names = frame_names(X)
    _refuse_by_type(X, names)
    values = _as_array(X)
    if values.ndim != 2:
        raise ValueError(
            f"X must be a table of rows and columns; its shape is {values.shape}"
            + (" (reshape your data: X.reshape(-1, 1) is a table of one feature)" if values.ndim == 1 else "")
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
    """The column names of a frame; None when there are none, or when they are not text."""
    columns = getattr(X, "column_names", None)  # pyarrow
    if columns is None:
        columns = getattr(X, "columns", None)
    if columns is None:
        return None
    names = tuple(columns)
    text = [isinstance(name, str) for name in names]
    if not all(text):
        if any(text):
            raise TypeError(
                f"column names of X must be all text or all not; {names[text.index(False)]!r} is no text: "
                "use e.g. X.columns = X.columns.astype(str)"
            )
        return None
    if twice := [name for name, count in Counter(names).items() if count > 1]:
        raise ValueError(f"column names of X must differ; {twice[0]!r} stands more than once")
    return names


# --- what is no number -----------------------------------------------------------------------------------------------

# How the data types of pandas, polars and pyarrow begin, in lower case.
_TEXT = ("string", "large_string", "utf8", "binary", "large_binary")
_CATEGORIES = ("categor", "enum", "dictionary", "interval")
_TIMES = ("date", "time", "duration", "period")

_ENCODE = (
    "encode it as numbers first, e.g. by one-hot columns (and name each block in groups= to select it whole), "
    "or leave those columns out"
)


def _refuse_by_type(X: Any, names: tuple[str, ...] | None) -> None:
    """Name the columns of a frame whose data type is no number, before an array of it would hide which they are."""
    types = _types(X)
    label = Table(np.empty((0, len(types))), names)
    if sparse := [j for j, t in enumerate(types) if t.startswith("sparse")]:
        raise TypeError(f"X has sparse columns: {listed(label, sparse)}; pass X.sparse.to_dense()")
    if times := [j for j, t in enumerate(types) if t.startswith(_TIMES)]:
        raise _times_error(label, times)
    if categories := [j for j, t in enumerate(types) if t.startswith(_CATEGORIES)]:
        raise ValueError(f"X holds categories in {listed(label, categories)}; {_ENCODE}")
    suspects = [j for j, t in enumerate(types) if t in ("str", "object") or t.startswith(_TEXT)]
    _refuse_by_value(label, {j: np.asarray(_column(X, j), dtype=object) for j in suspects})


def _types(X: Any) -> list[str]:
    """The data types of a frame's columns, as text; none for what is no frame."""
    if hasattr(X, "column_names"):  # pyarrow
        return [str(t).lower() for t in X.schema.types]
    if getattr(X, "columns", None) is None or not hasattr(X, "dtypes"):
        return []
    return [str(t).lower() for t in X.dtypes]


def _column(X: Any, j: int) -> Any:
    if hasattr(X, "iloc"):  # pandas
        return X.iloc[:, j]
    return X.to_series(j) if hasattr(X, "to_series") else X.column(j)  # polars, pyarrow


def _refuse_by_value(table: Table, columns: dict[int, NDArray[Any]]) -> None:
    """Refuse text, even if it looks like numbers, and dates among objects."""
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
    if all(_looks_numeric(columns[j]) for j in text):
        raise ValueError(f"X holds numbers written as text in {where}; turn them into numbers, e.g. by astype(float)")
    raise ValueError(f"X holds text in {where}; {_ENCODE}")


def _looks_numeric(column: NDArray[Any]) -> bool:
    try:
        column.astype(np.float64)
    except (TypeError, ValueError):
        return False
    return True


def _times_error(table: Table, features: list[int]) -> ValueError:
    return ValueError(
        f"X holds dates or times in {listed(table, features)}; turn them into numbers first, e.g. days since a "
        "start, or leave those columns out"
    )


def _as_array(X: Any) -> NDArray[Any]:
    """An array of what X holds; what is missing becomes NaN, and is refused by name later."""
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
        raise ValueError("the rows of X differ in length; every row needs one number a feature") from None


def _as_floats(table: Table) -> NDArray[np.float64]:
    values = table.values
    if values.dtype.kind == "c":
        raise ValueError("Complex data not supported: X must be real numbers; take e.g. X.real")
    if values.dtype.kind in "mM":
        raise _times_error(table, list(range(values.shape[1])))
    if values.dtype.kind in "OSU":
        _refuse_by_value(table, {j: values[:, j].astype(object) for j in range(values.shape[1])})
    try:
        return values.astype(np.float64)
    except (TypeError, ValueError) as error:
        bad = next(j for j in range(values.shape[1]) if not _looks_numeric(values[:, j]))
        raise TypeError(f"X holds something that is no number in {table.label(bad)}: {error}") from None


def refuse_missing(table: Table, sums: NDArray[np.float64]) -> None:
    """Refuse NaN and infinity, which any sum over the rows of a column shows: its mean (by class), or its scatter."""
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
        f"X contains NaN or infinity in {listed(table, bad)} ({n_rows} row{'' if n_rows == 1 else 's'} in all); "
        "drop those rows or columns, or fill them in, e.g. with sklearn.impute.SimpleImputer"
    )


def listed(table: Table, features: list[int]) -> str:
    named = ", ".join(table.label(j) for j in features[:NAMED])
    return named + (f" and {len(features) - NAMED} more" if len(features) > NAMED else "")


# --- weights ---------------------------------------------------------------------------------------------------------


def as_weights(sample_weight: Any, n_rows: int) -> NDArray[np.float64] | None:
    """Weights of rows as an array. A weight counts rows: weight 2 is the row twice."""
    if sample_weight is None:
        return None
    given = np.asarray(sample_weight)
    if given.dtype.kind not in "biufO":
        raise ValueError(f"sample_weight must hold one number a row; got {given.ravel()[0]!r}")
    try:
        weights = given.astype(np.float64)
    except (TypeError, ValueError):
        raise ValueError("sample_weight must hold one number a row; it holds something that is no number") from None
    if weights.ndim == 0:
        weights = np.full(n_rows, float(weights))
    if weights.shape != (n_rows,):
        raise ValueError(f"sample_weight must hold one number a row ({n_rows}); its shape is {weights.shape}")
    if not np.isfinite(weights).all():
        raise ValueError("sample_weight contains NaN or infinity; give those rows the weight 0")
    if weights.min() < 0:
        raise ValueError(f"sample_weight must not be negative; its least value is {weights.min():g}")
    if weights.max() == 0:
        raise ValueError("sample_weight is zero for every row: no row is left to select on")
    if weights.sum() > MOST_ROWS:
        raise ValueError(f"sample_weight counts rows, and adds up to {weights.sum():g} of them; rescale it to mean 1")
    return weights
