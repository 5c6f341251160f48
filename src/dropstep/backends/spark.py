"""Spark: the partitions of a DataFrame, classic or Connect, as blocks; sums by a tree of two levels.

Every partition becomes one partial result (`mapInArrow`). Several tasks add these, one task adds their sums, and the
driver receives the total alone. Only DataFrame operations are used, so that Spark Connect works as well. The workers
need dropstep with its extra `spark`, as the driver does.
"""

from __future__ import annotations

import pickle
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
from pyspark.errors import PythonException
from pyspark.sql import functions as sf
from pyspark.sql import types as st

from dropstep.backends.arrow import block_of
from dropstep.data.frame import Frame
from dropstep.data.sample import PerRow
from dropstep.data.source import Block, ColumnType, Origin, Partial, Source, Sum
from dropstep.result import SelectionPath

T = TypeVar("T", bound=Sum)

SCHEMA = "part binary, error string"
WHOLE = (st.ByteType, st.ShortType, st.IntegerType, st.LongType)
NUMBERS = (*WHOLE, st.FloatType, st.DoubleType, st.DecimalType)
DATES = (st.DateType, st.TimestampType, st.TimestampNTZType, st.DayTimeIntervalType, st.YearMonthIntervalType)
ABSENT = re.compile(r"^ModuleNotFoundError: No module named '((?:dropstep|numpy|pyarrow|scipy)(?:\.[\w.]+)?)'", re.M)
OTHER_VERSION = re.compile(r"\[PYTHON_VERSION_MISMATCH\].* version: ([\d.]+) than that in driver: ([\d.]+)")


def open_source(X: Any, y: Any, rows: PerRow) -> tuple[Source, Any, PerRow]:
    """A DataFrame of Spark, with names of its columns."""
    return SparkSource(X), y, rows


class SparkSource(Source):
    """A DataFrame, computed in every pass.

    A column of vectors (Spark ML) contributes one feature per element: by the names in its metadata if it has them, as
    `VectorAssembler` writes them, and as column[0], column[1], ... otherwise.

    Parameters
    ----------
    frame : pyspark.sql.DataFrame
        Cache it (`frame.cache()`) if it fits into the memory of the cluster and several passes are needed.
    """

    def __init__(self, frame: Any) -> None:
        super().__init__()
        self._frame = frame
        self._vectors = {field.name: _elements(frame, field) for field in frame.schema if _is_vector(field)}
        columns: list[ColumnType] = []
        for field in frame.schema:
            if field.name in self._vectors:
                columns += (ColumnType(name, "number") for name in self._vectors[field.name])
            else:
                columns.append(_type_of(field))
        self._columns = tuple(columns)
        if len(set(self.names)) < len(self.names):
            name = max(self.names, key=self.names.count)
            raise ValueError(f"column names of X must be unique; {name!r} appears more than once")

    @property
    def columns(self) -> tuple[ColumnType, ...]:
        return self._columns

    def reduce(self, partial: Partial[T], columns: tuple[str, ...]) -> T | None:
        wanted = set(columns)
        elements = {
            vector: tuple((i, name) for i, name in enumerate(names) if name in wanted)
            for vector, names in self._vectors.items()
            if not wanted.isdisjoint(names)
        }
        scalars = wanted.difference(*(self._vectors[vector] for vector in elements))
        read = self._frame.select(
            *(sf.col(_quoted(name)).alias(name) for name in columns if name in scalars), *map(_as_array, elements)
        )
        parts = read.mapInArrow(PartOfPartition(partial, columns, elements), SCHEMA)
        # Without a number of partitions, Spark joins small ones (adaptive execution), so that few tasks add small sums.
        sums = parts.repartition(sf.spark_partition_id()).mapInArrow(add_parts, SCHEMA)
        total: T | None = _sum_of(_collect(sums.repartition(1).mapInArrow(add_parts, SCHEMA)))
        return total

    @property
    def shown(self) -> str:
        return "the Spark DataFrame"


def _collect(frame: Any) -> Any:
    """The rows of a DataFrame; raises in one sentence if the Python of the workers is not the one that is needed."""
    try:
        return frame.collect()
    except PythonException as error:
        if absent := ABSENT.search(str(error)):
            found = f"a Python that has no module {absent[1]!r}"
        elif other := OTHER_VERSION.search(str(error)):
            found = f"Python {other[1]}, but the driver runs Python {other[2]}"
        else:
            raise
        needed = f"Python {sys.version_info.major}.{sys.version_info.minor} with dropstep[spark]"
        raise ValueError(
            f"the Spark workers run {found}; set the environment variable PYSPARK_PYTHON to {sys.executable} before "
            f"the session is created, or, on other machines, to a {needed}"
        ) from None


def vector_slicer(path: SelectionPath, inputCol: str, outputCol: str = "selected") -> Any:
    """The transformer of Spark ML that keeps the selected elements of a vector column.

    Parameters
    ----------
    path : SelectionPath
        Of a DataFrame whose selected features are elements of one vector column.
    inputCol : str
        The vector column.
    outputCol : str, default="selected"
        The column of the selected elements, in order of entry.

    Returns
    -------
    pyspark.ml.feature.VectorSlicer
        It finds elements by name if the vector column has names in its metadata, as `VectorAssembler` writes them, and
        raises if an element does not exist; otherwise by index.
    """
    from pyspark.ml.feature import VectorSlicer

    if not path.selected:
        raise ValueError("path has no selected feature, and a VectorSlicer needs one; use a column list")
    position = re.compile(re.escape(inputCol) + r"\[(\d+)\]")
    found = [position.fullmatch(name) for name in path.selected_names]
    indices = [int(match[1]) for match in found if match]
    names = [name for name, match in zip(path.selected_names, found, strict=True) if match is None]
    if indices and names:
        raise ValueError(f"{names[0]!r} is selected, but is not an element of {inputCol!r}; use a column list")
    return VectorSlicer(
        inputCol=inputCol, outputCol=outputCol, **({"indices": indices} if indices else {"names": names})
    )


# --- types -----------------------------------------------------------------------------------------------------------


def _is_vector(field: Any) -> bool:
    return type(field.dataType).__name__ == "VectorUDT"


def _type_of(field: Any) -> ColumnType:
    kind = field.dataType
    if isinstance(kind, NUMBERS):
        return ColumnType(field.name, "number", isinstance(kind, WHOLE))
    if isinstance(kind, st.BooleanType):
        return ColumnType(field.name, "boolean")
    if isinstance(kind, st.StringType | st.CharType | st.VarcharType):
        return ColumnType(field.name, "factor")
    return ColumnType(field.name, "date" if isinstance(kind, DATES) else "object")


def _elements(frame: Any, field: Any) -> tuple[str, ...]:
    """Names of the elements of a vector column; the size is that of its metadata, or of the first row."""
    attributes = (field.metadata or {}).get("ml_attr", {})
    found = [attribute for kind in attributes.get("attrs", {}).values() for attribute in kind]
    if found and all("name" in attribute for attribute in found):
        return tuple(str(attribute["name"]) for attribute in sorted(found, key=lambda attribute: attribute["idx"]))
    size = attributes.get("num_attrs")
    if size is None:
        row = frame.select(sf.size(_as_array(field.name))).where(sf.col(_quoted(field.name)).isNotNull()).first()
        size = 0 if row is None else row[0]
    return tuple(f"{field.name}[{i}]" for i in range(size))


def _as_array(name: str) -> Any:
    from pyspark.ml.functions import vector_to_array

    return vector_to_array(sf.col(_quoted(name))).alias(name)


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


# --- on the workers --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PartOfPartition:
    """Applies a function to the record batches of a partition, and yields the sum of its results, pickled.

    An error in the data is yielded as its message, so that the driver raises it as it is.

    Attributes
    ----------
    partial : callable
        Function of a `Block`.
    columns : tuple of str
        Columns of the blocks.
    elements : dict of str to tuple of (int, str)
        Positions and names of the elements that are read of each vector column.
    """

    partial: Any
    columns: tuple[str, ...]
    elements: dict[str, tuple[tuple[int, str], ...]]

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        total, done = None, 0
        try:
            for batch in batches:
                if batch.num_rows:
                    part = self.partial(self._block(batch, Origin(_partition(), done)))
                    total = part if total is None else total + part
                    done += batch.num_rows
        except ValueError as error:
            yield _part(None, str(error))
            return
        if total is not None:
            yield _part(total, None)

    def _block(self, batch: Any, origin: Origin) -> Block:
        frame = block_of(batch.select([name for name in batch.schema.names if name not in self.elements]), origin).frame
        found = dict(zip(frame.names or (), frame.columns, strict=True))
        for name, elements in self.elements.items():
            values = _dense(batch.column(name), origin)
            found |= {element: values[:, i] for i, element in elements}
        return Block(Frame(tuple(found[name] for name in self.columns), batch.num_rows, self.columns), origin)


def _dense(lists: Any, origin: Origin) -> Any:
    """An Arrow column of lists of equal length as a matrix; NaN where a list is missing."""
    lengths = np.asarray(lists.value_lengths().fill_null(-1))
    size = int(lengths.max(initial=0))
    if (other := (lengths != size) & (lengths >= 0)).any():
        at = int(np.argmax(other))
        raise ValueError(f"{origin.row(at)}: a vector has {lengths[at]} elements, but another row has {size}")
    matrix = np.full((len(lists), size), np.nan)
    matrix[lengths >= 0] = np.asarray(lists.flatten()).reshape(-1, size)
    return matrix


def _partition() -> str:
    from pyspark import TaskContext

    context = TaskContext.get()
    return "" if context is None else f"partition {context.partitionId()}"


def _part(total: Any, error: str | None) -> Any:
    part = None if total is None else pickle.dumps(total, protocol=pickle.HIGHEST_PROTOCOL)
    return pa.RecordBatch.from_pylist(
        [{"part": part, "error": error}], schema=pa.schema([("part", pa.binary()), ("error", pa.string())])
    )


def add_parts(batches: Iterable[Any]) -> Iterator[Any]:
    """The sum of partial results, on a worker."""
    try:
        total: Any = _sum_of(row for batch in batches for row in batch.to_pylist())
    except ValueError as error:
        yield _part(None, str(error))
        return
    if total is not None:
        yield _part(total, None)


def _sum_of(rows: Iterable[Any]) -> Any:
    """The sum of pickled partial results, which this library has written; raises the first error among them."""
    total = None
    for row in rows:
        if row["error"] is not None:
            raise ValueError(row["error"])
        part = pickle.loads(row["part"])
        total = part if total is None else total + part
    return total
