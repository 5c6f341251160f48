"""Backends: tables of other libraries as row sources; each file is the only one that imports its library."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Sequence
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
NEEDS = {"arrow": ("pyarrow", "files"), "files": ("pyarrow", "files"), "spark": ("pyspark", "spark")}


def read(
    file: Any,
    *,
    separator: str | None = None,
    decimal: str = ".",
    thousands: str | None = None,
    encoding: str | None = None,
    header: bool = True,
    skip: int = 0,
    transpose: bool = False,
    na: Sequence[str] | None = None,
    categorical: Collection[str] = (),
) -> Source:
    """Read a file as a table that `select` takes; ``select("a.csv", "y")`` is ``select(read("a.csv"), "y")``.

    The format is detected from the content: text (CSV, TSV and the like), Parquet, or Arrow, gzipped or not. Columns of
    text files are numbers, booleans, dates or text, whichever all of their cells are.

    Parameters
    ----------
    file : str, path or list of them
        A name, a glob, a directory, or several; "-" is standard input.
    separator : str or None, default=None
        The character between the cells of a text file, where " " is any run of blanks; None detects it.
    decimal : str, default="."
        Decimal separator of numbers.
    thousands : str or None, default=None
        Thousands separator of numbers.
    encoding : str or None, default=None
        Encoding of a text file; None is UTF-8, or UTF-16 with a byte-order mark.
    header : bool, default=True
        Whether the first row contains the names of the columns; otherwise they are c1, c2, ...
    skip : int, default=0
        Number of lines before the header.
    transpose : bool, default=False
        Whether the rows of a text file are its columns.
    na : sequence of str or None, default=None
        Texts that mark missing values; None is "", "NA", "NaN", "null", "None", "?", "." and the like.
    categorical : collection of str, default=()
        Columns that are read as categories, even if they contain numbers or dates.

    Returns
    -------
    Source
        The table; its `columns` have names and types, and its `notes` say what was ignored.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> file = Path(tempfile.mkdtemp()) / "table.csv"
    >>> _ = file.write_text("town;size;when\\nRome;1,5;2020-01-31\\nOslo;2;2020-02-29\\n")
    >>> [(column.name, column.kind) for column in read(file, decimal=",").columns]
    [('town', 'factor'), ('size', 'number'), ('when', 'date')]
    """
    source: Source = _backend("files", file).read(
        file, separator, decimal, thousands, encoding, header, skip, transpose, na, categorical
    )
    return source


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
    source: Any
    if module == "files":
        source = read(X)
    else:
        source, y, rows = _backend(module, X).open_source(X, y, rows)
    return (source.rows() if isinstance(source, Source) and fits(source) else source), y, rows


def _backend(module: str, X: Any) -> Any:
    """A module of this package; raises with the command that installs what it needs."""
    try:
        return import_module(f"dropstep.backends.{module}")
    except ImportError as error:
        needed, extra = NEEDS.get(module, (module, module))
        if error.name is None or error.name.split(".")[0] != needed:
            raise
        what = f"files such as {_shown(X)}" if module == "files" else f"a {type(X).__name__}"
        raise ImportError(f"reading {what} needs {needed}: pip install 'dropstep[{extra}]'") from None


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
