"""The functions that Spark calls on its workers, called here: no cluster and no Java are needed."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from dropstep.data.source import Block

pytest.importorskip("pyspark")

from dropstep.backends.spark import PartOfPartition, add_parts


def sums(block: Block) -> Any:
    """Sums of the columns of a block, and its number of rows; negative numbers are errors."""
    values = np.column_stack([np.asarray(column, dtype=float) for column in block.frame.columns])
    if (values < 0).any():
        raise ValueError(f"{block.origin.row(int(np.argmax((values < 0).any(axis=1))))}: negative")
    return np.append(np.nansum(values, axis=0), len(values))


def batch(a: list[float], v: list[list[float] | None]) -> Any:
    columns = [pa.array(a, pa.float64()), pa.array(v, pa.list_(pa.float64()))]
    return pa.RecordBatch.from_arrays(columns, ["a", "v"])


def results(given: Any) -> list[Any]:
    """Partial results and messages that a task yields."""
    rows = [row for part in given for row in part.to_pylist()]
    return [row["error"] or pickle.loads(row["part"]) for row in rows]


TASK = PartOfPartition(sums, ("v1", "a", "v0"), {"v": ((0, "v0"), (1, "v1"))})


def test_a_partition_becomes_one_sum() -> None:
    """Columns come in the order of the request; a missing vector is NaN, and empty batches are skipped."""
    batches = [batch([1.0, 2.0], [[10, 100], None]), batch([], []), batch([4.0], [[30, 500]])]
    (total,) = results(TASK(batches))
    np.testing.assert_array_equal(total, [600, 7, 40, 3])
    assert results(TASK([])) == []
    assert results(TASK([batch([], [])])) == []


def test_errors_in_the_data_are_results() -> None:
    batches = [batch([1.0, 2.0], [[1, 2], [3, 4]]), batch([3.0, -1.0], [[1, 2], [3, 4]])]
    assert results(TASK(batches)) == ["row 4: negative"]
    (message,) = results(TASK([batch([1.0, 2.0], [[1, 2], [3]])]))
    assert message == "row 2: a vector has 1 elements, but another row has 2"


def test_sums_are_added_by_a_task() -> None:
    parts = [*TASK([batch([1.0], [[10, 100]])]), *TASK([batch([2.0], [[20, 200]])])]
    (total,) = results(add_parts(parts))
    np.testing.assert_array_equal(total, [300, 3, 30, 2])
    failed = [*parts, *TASK([batch([-1.0], [[1, 2]])])]
    assert results(add_parts(failed)) == ["row 1: negative"]
    assert results(add_parts([])) == []
