"""Backends: tables of other libraries as row sources; each file is the only one that imports its library."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from typing import Any

import numpy as np

from dropstep.data.sample import PerRow
from dropstep.data.source import Source, fits

# Module that opens an object as a row source, by the package and the name of the object's type. Each has a function
# `open_source(X, y, rows)` that returns the source, and y and rows as names of its columns.
BACKENDS: dict[tuple[str, str], str] = {
    ("pyarrow", "Dataset"): "arrow",
    ("pyarrow", "RecordBatchReader"): "arrow",
    ("polars", "LazyFrame"): "arrow",
    ("duckdb", "DuckDBPyRelation"): "arrow",
    ("dask", "DataFrame"): "dask",
    ("dask", "Array"): "dask",
    ("pyspark", "DataFrame"): "spark",
}
FRAMES = ("pyarrow", "pandas", "polars")
# Package and extra that a module needs, if these are not its name.
NEEDS = {"arrow": ("pyarrow", "arrow"), "files": ("pyarrow", "arrow"), "spark": ("pyspark", "spark")}


def opened(X: Any, y: Any, rows: PerRow) -> tuple[Any, Any, PerRow]:
    """A table that is not in memory: its rows if they fit, or else a row source; anything else as it is.

    Parameters
    ----------
    X : object
        Names of files, a dataset, a lazy frame, a relation, an iterable of record batches, a `Source`, or a table.
    y : object
        Names of columns, or values.
    rows : PerRow
        Names of columns, or values.

    Returns
    -------
    tuple
        X, y and rows.
    """
    if isinstance(X, Source):
        return (X.rows() if fits(X) else X), y, rows
    module = _module(X)
    if module is None:
        return X, y, rows
    try:
        backend = import_module(f"dropstep.backends.{module}")
    except ImportError as error:
        needed, extra = NEEDS.get(module, (module, module))
        if error.name is None or error.name.split(".")[0] != needed:
            raise
        what = f"files such as {_shown(X)}" if module == "files" else f"a {type(X).__name__}"
        raise ImportError(f"reading {what} needs {needed}: pip install 'dropstep[{extra}]'") from None
    opener: Callable[[Any, Any, PerRow], tuple[Source, Any, PerRow]] = backend.open_source
    source, y, rows = opener(X, y, rows)
    return (source.rows() if isinstance(source, Source) and fits(source) else source), y, rows


def _module(X: Any) -> str | None:
    """The backend of an object; None for a table in memory."""
    if isinstance(X, np.ndarray):
        return None
    if isinstance(X, str | os.PathLike) or (isinstance(X, list | tuple) and X and _all_paths(X)):
        return "files"
    for kind in type(X).__mro__:
        if backend := BACKENDS.get((kind.__module__.split(".")[0], kind.__name__)):
            return backend
    return "arrow" if _is_stream(X) else None


def _all_paths(items: Iterable[Any]) -> bool:
    return all(isinstance(item, str | os.PathLike) for item in items)


def _is_stream(X: Any) -> bool:
    """True for an iterator, a function that returns one, and a list of frames or record batches."""
    if isinstance(X, list | tuple):
        return bool(X) and type(X[0]).__module__.split(".")[0] in FRAMES and _has_columns(X[0])
    return isinstance(X, Iterator) or (callable(X) and not isinstance(X, type) and not hasattr(X, "shape"))


def _has_columns(X: Any) -> bool:
    return hasattr(X, "schema") or (hasattr(X, "columns") and hasattr(X, "dtypes"))


def _shown(X: Any) -> str:
    return repr(os.fspath(X[0] if isinstance(X, list | tuple) else X))
