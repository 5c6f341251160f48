"""Frames: the columns of a table as numbers and factors, from arrays, pandas, polars and pyarrow."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dropstep.data.factor import DATES, OBJECTS, Column, Factor, Unusable, column_of, factor_of
from dropstep.data.matrices.on_disk import OnDisk, is_on_disk
from dropstep.data.matrices.sparse import Sparse, is_sparse
from dropstep.data.table import Labelled, Table, label, listed
from dropstep.data.target import dates_error

# Prefixes of the data types of pandas, polars and pyarrow, in lower case.
_NUMBERS = ("float", "int", "uint", "double", "half", "decimal", "complex")
_TIMES = ("date", "time", "duration", "period")


@dataclass(frozen=True, eq=False)
class Frame:
    """A table with columns that are not numbers.

    Attributes
    ----------
    columns : tuple of ndarray, Factor or Unusable
        Numbers (NaN where missing), factors, and columns that cannot be features.
    n_rows : int
        Number of rows.
    names : tuple of str or None
        Feature names.
    notes : tuple of str
        Warnings of the reader, one sentence each.
    rounded : frozenset of str
        Columns of integers that double precision does not represent.
    """

    columns: tuple[Column, ...]
    n_rows: int
    names: tuple[str, ...] | None = None
    notes: tuple[str, ...] = ()
    rounded: frozenset[str] = frozenset()

    @property
    def n_features(self) -> int:
        """Number of features."""
        return len(self.columns)

    def label(self, feature: int) -> str:
        """Name of a feature in an error message."""
        return label(feature, self.names)

    def at(self, rows: NDArray[Any]) -> Frame:
        """Some rows of the table; factors with the levels that occur there."""
        columns = tuple(_at(column, rows) for column in self.columns)
        return Frame(columns, len(np.arange(self.n_rows)[rows]), self.names, self.notes)

    def values(self, name: str) -> NDArray[Any]:
        """The values of a column: numbers, or levels by row, None where missing."""
        column = self.columns[(self.names or ()).index(name)]
        if isinstance(column, Unusable):
            raise ValueError(column.problem) if column.problem else dates_error()
        if not isinstance(column, Factor):
            return column
        if column.missing.any():
            return np.array([*column.levels, None], dtype=object)[column.codes]
        return np.array(column.levels)[column.codes]

    def refuse_unusable(self, excluded: Collection[int]) -> None:
        """Raise if a column that is not excluded cannot be a feature."""
        unusable = {j: c for j, c in enumerate(self.columns) if isinstance(c, Unusable) and j not in excluded}
        refuse(self, unusable)


def refuse(names: Labelled, unusable: Mapping[int, Unusable]) -> None:
    """Raise if there are columns that cannot be features."""
    if not unusable:
        return
    first = next(iter(unusable.values()))
    where = listed(names, [j for j, column in unusable.items() if column.what == first.what])
    example = "" if first.example is None else f" (such as {first.example!r})"
    raise ValueError(f"X contains {first.what} in {where}{example}; {first.advice}")


def _at(column: Column, rows: NDArray[Any]) -> Column:
    if isinstance(column, Unusable):
        return column
    return column.at(rows) if isinstance(column, Factor) else column[rows]


def read(X: Any) -> Table | Frame:
    """Read an array or a frame: a Table if all columns are numbers, which are not copied if they are an array.

    Parameters
    ----------
    X : array-like, sparse matrix or frame of shape (n_samples, n_features)
        An array, a memory map, a sparse matrix or array of SciPy, or a frame of pandas, polars or pyarrow.

    Returns
    -------
    Table or Frame
    """
    if isinstance(X, Table | Frame):
        return X
    if type(X) is np.ndarray:
        return _of_array(X, None)
    if is_sparse(X):
        return Table(_sparse(X))
    if is_on_disk(X):
        return Table(OnDisk.of(X))
    if hasattr(X, "collect_schema") and not hasattr(X, "__len__"):
        raise TypeError("X is a lazy frame, which contains no rows yet; pass X.collect()")
    names = frame_names(X)
    types = _types(X)
    if not all(map(_is_plain, types)):
        return _of_frame(X, names, types)
    return _of_array(_as_array(X), names)


def _of_array(values: NDArray[Any], names: tuple[str, ...] | None) -> Table | Frame:
    """The table of an array."""
    _check_shape(values.shape)
    if values.dtype.kind in "OSU":
        return _of_objects(values, names)
    if values.dtype.kind == "c":
        raise ValueError("Complex data not supported: X must be real; use e.g. X.real")
    if values.dtype.kind in "mM":
        return Frame((DATES,) * values.shape[1], len(values), names)
    if values.dtype.kind not in "biuf" or values.dtype.itemsize > 8 or not values.dtype.isnative:
        values = values.astype(np.float64)
    return Table(values, names)


def _sparse(X: Any) -> Sparse:
    """The design matrix of a sparse matrix or array."""
    _check_shape(X.shape)
    if X.dtype.kind == "c":
        raise ValueError("Complex data not supported: X must be real; use e.g. X.real")
    return Sparse.of(X)


def as_table(X: Any) -> Table:
    """Read a table whose columns must all be numbers; raise for factors."""
    table = read(X)
    if isinstance(table, Table):
        return table
    table.refuse_unusable(())
    factors = [j for j, column in enumerate(table.columns) if isinstance(column, Factor)]
    raise ValueError(
        f"X contains text or categories in {listed(table, factors)}; encode them as numbers, e.g. as one-hot columns, "
        "or pass X to select or Selector"
    )


def _check_shape(shape: tuple[int, ...]) -> None:
    if len(shape) != 2:
        raise ValueError(
            f"X must be a 2D array of shape (n_samples, n_features); its shape is {shape}"
            + ("; reshape your data with X.reshape(-1, 1) if it has a single feature" if len(shape) == 1 else "")
        )
    for count, what in zip(shape, ("sample(s)", "feature(s)"), strict=True):
        if count == 0:
            raise ValueError(
                f"X is empty: it has 0 {what} (shape={shape}) while a minimum of 1 is required; "
                "pass a table with rows and features"
            )


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


# --- arrays ----------------------------------------------------------------------------------------------------------


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
        values = np.asarray(X)
        # NumPy turns all values into text if one is; objects keep the numbers.
        return values if values.dtype.kind not in "SU" or hasattr(X, "dtype") else np.asarray(X, dtype=object)
    except ValueError:
        raise ValueError("the rows of X have different lengths; every row must have one value per feature") from None


def _of_objects(values: NDArray[Any], names: tuple[str, ...] | None) -> Table | Frame:
    """The table of an array of Python objects."""
    columns = []
    for j in range(values.shape[1]):
        try:
            columns.append(column_of(values[:, j].tolist()))
        except (TypeError, ValueError, OverflowError) as error:
            raise TypeError(f"X contains a value that is not a number in {label(j, names)}: {error}") from None
    return table_of(columns, len(values), names)


def table_of(columns: Sequence[Column], n_rows: int, names: tuple[str, ...] | None) -> Table | Frame:
    """A table with the given columns: a Table if all of them are numbers."""
    numbers = [column for column in columns if isinstance(column, np.ndarray)]
    if len(numbers) < len(columns):
        return Frame(tuple(columns), n_rows, names)
    values = np.empty((n_rows, len(columns)), order="F")
    for j, column in enumerate(numbers):
        values[:, j] = column
    return Table(values, names)


# --- frames ----------------------------------------------------------------------------------------------------------


def is_frame(X: Any) -> bool:
    """True for a frame of pandas, polars or pyarrow."""
    return hasattr(X, "column_names") or (hasattr(X, "columns") and hasattr(X, "dtypes"))


def has_factors(X: Any) -> bool:
    """True for a frame or an array of objects that may have columns other than numbers, judged by their types."""
    if isinstance(X, np.ndarray):
        return X.dtype == object and X.ndim == 2
    return not all(_is_plain(kind) or kind == "boolean" for kind in _types(X))


def _types(X: Any) -> list[str]:
    """Data types of the columns of a frame, as text; empty if X is not a frame. NumPy's bool has no missing values."""
    if hasattr(X, "column_names"):  # pyarrow
        return [str(t).lower().replace("bool", "boolean") for t in X.schema.types]
    if not is_frame(X) or X.columns is None:
        return []
    return [str(t).lower() for t in X.dtypes]


def _is_plain(kind: str) -> bool:
    """True for data types whose values are numbers, or missing."""
    return (kind.startswith(_NUMBERS) and not kind.startswith("interval")) or kind == "bool"


def _of_frame(X: Any, names: tuple[str, ...] | None, types: list[str]) -> Table | Frame:
    """The table of a frame that has other columns than numbers."""
    import narwhals.stable.v2 as nw

    _check_shape((len(X), len(types)))
    if sparse := [j for j, kind in enumerate(types) if kind.startswith("sparse")]:
        return Table(_sparse_frame(X, names, sparse), names)
    if type(X).__name__ == "RecordBatch":  # which narwhals does not read
        import pyarrow as pa

        X = pa.Table.from_batches([X])
    if names is None:  # narwhals requires names
        X = X.set_axis([str(j) for j in range(len(types))], axis=1)
    columns = []
    for j, (series, kind) in enumerate(zip(nw.from_native(X, eager_only=True).iter_columns(), types, strict=True)):
        try:
            columns.append(_column(series, kind))
        except (TypeError, ValueError, OverflowError) as error:
            raise TypeError(f"X contains a value that is not a number in {label(j, names)}: {error}") from None
    return table_of(columns, len(X), names)


def _sparse_frame(X: Any, names: tuple[str, ...] | None, sparse: list[int]) -> Sparse:
    """The design matrix of a pandas frame with sparse columns."""
    labels = Frame((), 0, names)
    if len(sparse) < X.shape[1]:
        raise TypeError(
            f"X has sparse columns next to others: {listed(labels, sparse)}; make all of them sparse, or none"
        )
    if filled := [j for j, dtype in enumerate(X.dtypes) if not dtype.fill_value == 0]:
        raise TypeError(
            f"X has sparse columns whose fill value is not 0: {listed(labels, filled)}; use e.g. "
            "X.astype(pd.SparseDtype(float, 0)), or X.sparse.to_dense()"
        )
    return _sparse(X.sparse.to_coo())


def _column(series: Any, kind: str) -> Column:
    """A column of a frame."""
    import narwhals.stable.v2 as nw

    dtype = series.dtype
    if kind.startswith(_TIMES) or dtype.is_temporal():
        return DATES
    if dtype.is_numeric():
        native = series.to_native()
        if hasattr(native, "iloc"):  # pandas, some types of which mark missing values by NA
            return np.asarray(native.to_numpy(dtype=np.float64, na_value=np.nan))
        return np.asarray(series.cast(nw.Float64).to_numpy(), dtype=np.float64)
    if dtype == nw.Boolean and not series.is_null().any():
        return np.asarray(series.to_numpy(), dtype=bool)
    if dtype in (nw.Boolean, nw.Categorical, nw.Enum) or kind.startswith("interval"):
        return factor_of(series.to_list(), _levels(series))
    if dtype in (nw.String, nw.Object, nw.Binary, nw.Unknown):
        try:
            return column_of(series.to_list())
        except TypeError:  # neither numbers nor text, which is no error if the column is excluded
            pass
    return OBJECTS


def _levels(series: Any) -> list[Any] | None:
    """The levels of a pandas Categorical or a polars Enum in their order; None if the type has no order."""
    dtype: Any = getattr(series.to_native(), "dtype", None)
    categories: Any = getattr(dtype, "categories", None)
    return list(categories) if hasattr(categories, "__len__") else None


# --- columns by name -------------------------------------------------------------------------------------------------


def take_columns(X: Any, features: list[int]) -> Any:
    """Some columns of a frame or an array, as they are."""
    if isinstance(X, np.ndarray):
        return X[:, features]
    if hasattr(X, "iloc"):  # pandas, whose names need not be strings
        return X.iloc[:, features]
    names = frame_names(X) or ()
    return X.select([names[j] for j in features])  # polars, pyarrow


def as_library(X: Any, library: str) -> Any:
    """A frame as a frame of pandas or polars; unchanged for another library, and for an array."""
    if library not in ("pandas", "polars") or type(X).__module__.split(".")[0] in (library, "numpy"):
        return X
    import narwhals.stable.v2 as nw

    frame = nw.from_native(X, eager_only=True)
    return frame.to_pandas() if library == "pandas" else frame.to_polars()


def split_columns(X: Any, y: Any, others: Mapping[str, Any]) -> tuple[Any, Any, dict[str, Any]]:
    """Replace y and other values per row by the columns of the frame X that they name, and remove these from X.

    Parameters
    ----------
    X : array-like or frame
        The table.
    y : array-like, str or list of str
        Target values, or the names of target columns.
    others : mapping of str to array-like, str or None
        Values per row by the name of their parameter, or the name of their column.

    Returns
    -------
    tuple
        X, y and others.
    """
    if isinstance(X, Frame):
        return _split(X, y, others)
    several = isinstance(y, list | tuple) and is_frame(X) and len(y) != len(X) and all(isinstance(v, str) for v in y)
    named = {parameter: value for parameter, value in others.items() if isinstance(value, str)}
    if not (isinstance(y, str) or several or named) or not is_frame(X):
        return X, y, dict(others)
    names = frame_names(X) or ()
    targets = [y] if isinstance(y, str) else list(y) if several else []
    for parameter, name in (*(("y", name) for name in targets), *named.items()):
        check_name(parameter, name, names)
    if isinstance(y, str):
        y = X[y]
    elif targets:
        y = take_columns(X, [names.index(name) for name in targets])
    taken = {*targets, *named.values()}
    features = take_columns(X, [j for j, name in enumerate(names) if name not in taken])
    return features, y, {**others, **{parameter: X[name] for parameter, name in named.items()}}


def _split(X: Frame, y: Any, others: Mapping[str, Any]) -> tuple[Table | Frame, Any, dict[str, Any]]:
    """The same for a table that was read from a source, whose columns y and other values name."""
    several = isinstance(y, list | tuple) and len(y) > 0 and all(isinstance(name, str) for name in y)
    targets = [y] if isinstance(y, str) else list(y) if several else []
    named = {parameter: value for parameter, value in others.items() if isinstance(value, str)}
    names = X.names or ()
    for parameter, name in (*(("y", name) for name in targets), *named.items()):
        check_name(parameter, name, names)
    if not (taken := {*targets, *named.values()}):
        return X, y, dict(others)
    kept = [j for j, name in enumerate(names) if name not in taken]
    if not kept:
        raise ValueError("X has no feature: every column is a target, weight or offset")
    features = table_of([X.columns[j] for j in kept], X.n_rows, tuple(names[j] for j in kept))
    values = [X.values(name) for name in targets]
    y = values[0] if len(values) == 1 else np.column_stack(values) if values else y
    return features, y, {**others, **{parameter: X.values(name) for parameter, name in named.items()}}


def check_name(parameter: str, name: str, names: tuple[str, ...]) -> None:
    if name not in names:
        near = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
        hint = f"did you mean {near[0]!r}?" if near else f"its columns are e.g. {', '.join(map(repr, names[:3]))}"
        raise ValueError(f"{parameter} names the column {name!r}, which X does not have; {hint}")
