"""The table: X as an array of numbers with the names of its features, and the weights of its rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

NAMED = 5  # how many offending columns an error names


@dataclass(frozen=True, eq=False)
class Table:
    """Rows of features: float32 or float64 in the memory order they came in, and their names if they had any."""

    values: NDArray[Any]
    names: tuple[str, ...] | None = None

    def label(self, feature: int) -> str:
        return f"column {feature}" if self.names is None else repr(self.names[feature])


def as_table(X: Any) -> Table:
    """An array or a frame (pandas, polars, pyarrow) as a Table; float arrays are not copied."""
    if isinstance(X, Table):
        return X
    if hasattr(X, "toarray") and hasattr(X, "nnz"):
        raise TypeError("X is sparse; pass X.toarray(), dropstep reads dense arrays and frames")
    names = frame_names(X)
    refuse_text(X)
    if hasattr(X, "to_numpy") and not hasattr(X, "__array__"):
        X = X.to_numpy()
    values = np.asarray(X)
    if values.ndim != 2:
        raise ValueError(f"X must be a table of rows and columns; its shape is {values.shape}")
    if values.dtype.kind == "c":
        raise ValueError("Complex data not supported: X must be real numbers")
    if values.dtype not in (np.float32, np.float64):
        try:
            values = values.astype(np.float64)
        except (TypeError, ValueError):
            text = [j for j in range(values.shape[1]) if not _is_numeric(values[:, j])]
            raise _text_error(Table(values, names), text) from None
    if values.shape[0] == 0 or values.shape[1] == 0:
        raise ValueError(f"X is empty: it has {values.shape[0]} rows and {values.shape[1]} features")
    return Table(values, names)


def frame_names(X: Any) -> tuple[str, ...] | None:
    """The column names of a frame; None when there are none, or when they are not text."""
    columns = getattr(X, "column_names", None)  # pyarrow
    if columns is None:
        columns = getattr(X, "columns", None)
    if columns is None:
        return None
    names = tuple(columns)
    if not all(isinstance(name, str) for name in names):
        return None
    if len(set(names)) < len(names):
        twice = sorted({name for name in names if names.count(name) > 1})
        raise ValueError(f"column names of X must differ; {twice[0]!r} stands more than once")
    return names


def refuse_text(X: Any) -> None:
    """Name the text columns of a frame, before an array of it would hide which they are."""
    dtypes = getattr(X, "dtypes", None)
    names = frame_names(X)
    if dtypes is None or names is None:
        return
    suspects = [j for j, dtype in enumerate(dtypes) if str(dtype).lower().startswith(_TEXT)]
    text = [j for j in suspects if not _is_numeric(X[names[j]])]
    if text:
        raise _text_error(Table(np.empty((0, len(names))), names), text)


_TEXT = ("object", "str", "utf8", "category", "categorical", "enum", "large_string")


def _is_numeric(column: Any) -> bool:
    try:
        np.asarray(column).astype(np.float64)
    except (TypeError, ValueError):
        return False
    return True


def _text_error(table: Table, features: list[int]) -> ValueError:
    return ValueError(
        f"X holds text in {_listed(table, features)}; encode text as numbers first, e.g. by one-hot columns "
        "(and name each block in groups= to select it whole), or leave those columns out"
    )


def refuse_missing(table: Table, means: NDArray[np.float64]) -> None:
    """Refuse NaN and infinity, which any mean over a column shows."""
    if np.isfinite(means.sum()):
        return
    suspects = np.flatnonzero(~np.isfinite(means).all(axis=0))
    with np.errstate(over="ignore"):
        bad = [int(j) for j in suspects if not np.isfinite(table.values[:, j]).all()]
    if not bad:
        names = _listed(table, [int(j) for j in suspects])
        raise ValueError(f"the values of {names} are too large to be summed in {table.values.dtype}; rescale them")
    n_rows = int((~np.isfinite(table.values[:, bad])).any(axis=1).sum())
    raise ValueError(
        f"X contains NaN or infinity in {_listed(table, bad)} ({n_rows} rows in all); "
        "drop those rows or columns, or fill them in, e.g. with sklearn.impute.SimpleImputer"
    )


def _listed(table: Table, features: list[int]) -> str:
    named = ", ".join(table.label(j) for j in features[:NAMED])
    return named + (f" and {len(features) - NAMED} more" if len(features) > NAMED else "")


def as_weights(sample_weight: Any, n_rows: int) -> NDArray[np.float64] | None:
    """Weights of rows as an array. A weight counts rows: weight 2 is the row twice."""
    if sample_weight is None:
        return None
    weights = np.asarray(sample_weight, dtype=np.float64)
    if weights.ndim == 0:
        weights = np.full(n_rows, float(weights))
    if weights.shape != (n_rows,):
        raise ValueError(f"sample_weight must hold one number a row ({n_rows}); its shape is {weights.shape}")
    if not np.isfinite(weights).all():
        raise ValueError("sample_weight contains NaN or infinity")
    if weights.min() < 0:
        raise ValueError(f"sample_weight must not be negative; its least value is {weights.min():g}")
    if weights.max() == 0:
        raise ValueError("sample_weight is zero for every row: no row is left to select on")
    return weights
