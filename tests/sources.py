"""The sources that one table can be read from, for the tests that run over all of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.dataset
import pyarrow.parquet

from dropstep import SelectionPath

Target = str | list[str]
Opened = tuple[Any, Any]


@dataclass(frozen=True)
class Source:
    """A kind of source.

    Attributes
    ----------
    name : str
    make : callable
        Function of a frame, the names of its targets, a folder for files, and the number of rows of a block, which
        returns X and y as `select` takes them.
    factors : bool, default=True
        Whether it can hold text and missing values; otherwise y consists of values, and X of numbers.
    can_reread : bool, default=True
        Whether rows can be read twice; otherwise a note says that the tails were not tested.
    """

    name: str
    make: Callable[[pd.DataFrame, Target, Path, int], Opened]
    factors: bool = True
    can_reread: bool = True


def arrow(frame: pd.DataFrame) -> pa.Table:
    """The frame as an Arrow table, without its index."""
    return pa.Table.from_pandas(frame, preserve_index=False)


def _numpy(frame: pd.DataFrame, y: Target, folder: Path, rows: int) -> Opened:
    targets = [y] if isinstance(y, str) else y
    return frame.drop(columns=targets).to_numpy(), frame[y].to_numpy()


def _csv(frame: pd.DataFrame, y: Target, folder: Path, rows: int) -> Opened:
    file = folder / "table.csv"
    frame.to_csv(file, index=False)
    return file, y


def _several_csv(frame: pd.DataFrame, y: Target, folder: Path, rows: int) -> Opened:
    half = len(frame) // 2
    frame[:half].to_csv(folder / "part-0.csv", index=False)
    frame[half:].to_csv(folder / "part-1.csv", index=False)
    return str(folder / "part-*.csv"), y


def _parquet(frame: pd.DataFrame, y: Target, folder: Path, rows: int) -> Opened:
    file = str(folder / "table.parquet")
    pyarrow.parquet.write_table(arrow(frame), file, row_group_size=rows)
    return file, y


def _dataset(frame: pd.DataFrame, y: Target, folder: Path, rows: int) -> Opened:
    pyarrow.dataset.write_dataset(
        arrow(frame), folder / "dataset", format="parquet", max_rows_per_file=4 * rows, max_rows_per_group=rows
    )
    return pyarrow.dataset.dataset(folder / "dataset"), y


def _ipc(frame: pd.DataFrame, y: Target, folder: Path, rows: int) -> Opened:
    file = str(folder / "table.arrow")
    table = arrow(frame)
    with pa.OSFile(file, "wb") as stream, pa.ipc.new_file(stream, table.schema) as writer:
        writer.write_table(table, max_chunksize=rows)
    return file, y


def _ipc_stream(frame: pd.DataFrame, y: Target, folder: Path, rows: int) -> Opened:
    file = str(folder / "table.arrows")
    table = arrow(frame)
    with pa.OSFile(file, "wb") as stream, pa.ipc.new_stream(stream, table.schema) as writer:
        writer.write_table(table, max_chunksize=rows)
    return file, y


def _duckdb(frame: pd.DataFrame, y: Target, folder: Path, rows: int) -> Opened:
    connection = duckdb.connect()
    connection.register("given", arrow(frame))
    return connection.sql("select * from given"), y


def _batches(frame: pd.DataFrame, rows: int) -> list[pa.RecordBatch]:
    return arrow(frame).to_batches(max_chunksize=rows)


SOURCES = (
    Source("numpy", _numpy, factors=False),
    Source("csv", _csv),
    Source("csv glob", _several_csv),
    Source("parquet", _parquet),
    Source("dataset", _dataset),
    Source("ipc", _ipc),
    Source("ipc stream", _ipc_stream),
    Source("polars lazy", lambda frame, y, folder, rows: (pl.from_pandas(frame).lazy(), y)),
    Source("duckdb", _duckdb),
    Source("batches", lambda frame, y, folder, rows: (_batches(frame, rows), y)),
    Source("iterator", lambda frame, y, folder, rows: (iter(_batches(frame, rows)), y), can_reread=False),
    Source("reader", lambda frame, y, folder, rows: (arrow(frame).to_reader(max_chunksize=rows), y), can_reread=False),
    Source(
        "frames",
        lambda frame, y, folder, rows: ([frame[i : i + rows] for i in range(0, len(frame), rows)], y),
    ),
)


def table(seed: int = 0, n: int = 900) -> pd.DataFrame:
    """A table with numbers, factors with rare levels that appear late, booleans, counts, classes and weights."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.normal(size=(n, 5)) + 3, columns=list("abcde"))
    frame["f"] = frame["a"] + frame["b"] + 0.3 * rng.normal(size=n)
    frame["colour"] = rng.choice(["red", "green", "blue"], size=n)
    frame["size"] = rng.choice(["s", "m", "l", "xl"], size=n)
    frame.loc[n - 30 :, "size"] = "late"
    frame["flag"] = rng.random(n) < 0.4
    frame["whole"] = rng.integers(0, 9, n)
    frame["weight"] = rng.integers(0, 4, n).astype(float)
    signal = 2 * frame["a"] - frame["c"] + 1.5 * (frame["colour"] == "red") + frame["flag"] + 0.4 * frame["whole"]
    frame["y"] = signal + rng.normal(size=n)
    frame["y2"] = frame["d"] - 0.5 * frame["y"] + rng.normal(size=n)
    cuts = np.quantile(frame["y"], [0.4, 0.8])
    frame["label"] = np.array(["low", "middle", "top"])[np.searchsorted(cuts, frame["y"])]
    frame["code"] = np.searchsorted(cuts, frame["y"])
    return frame


TARGETS = ("y", "y2", "label", "code")


def with_gaps(frame: pd.DataFrame, seed: int = 1) -> pd.DataFrame:
    """The table with missing values: numbers, text and targets."""
    rng, out = np.random.default_rng(seed), frame.copy()
    for name in ("b", "colour", "y"):
        out.loc[rng.random(len(out)) < 0.03, name] = None
    return out


def check(path: SelectionPath, expected: SelectionPath, X: Any = None, *, can_reread: bool = True) -> None:
    """The same selection, scores to 1e-9, coefficients, notes, names and predictions."""
    assert path.selected == expected.selected
    assert [(s.phase, s.action, s.features) for s in path.steps] == [
        (s.phase, s.action, s.features) for s in expected.steps
    ]
    np.testing.assert_allclose([s.score for s in path.steps], [s.score for s in expected.steps], rtol=1e-9)
    np.testing.assert_allclose(path.start, expected.start, rtol=1e-9)
    assert path.ranking == expected.ranking
    assert path.stop == expected.stop
    assert path.model == expected.model
    untested = [note for note in path.notes if "could not be checked without the rows" in note]
    assert len(untested) == (not can_reread and bool(path.selected))
    assert tuple(note for note in path.notes if note not in untested) == expected.notes
    fit, known = path.coefficients, expected.coefficients
    assert fit is not None
    assert known is not None
    np.testing.assert_allclose(fit.coef, known.coef, rtol=1e-7)
    np.testing.assert_allclose(fit.intercept, known.intercept, rtol=1e-7)
    if known.std_error is not None:
        np.testing.assert_allclose(fit.std_error, known.std_error, rtol=1e-7)
    assert fit.classes == known.classes
    if X is not None:
        assert path.selected_names == expected.selected_names
        assert path.encoding == expected.encoding
        assert fit.names == known.names
        assert fit.targets == known.targets
        predicted, right = path.predict(X), expected.predict(X)
        if right.dtype.kind == "f":
            np.testing.assert_allclose(predicted, right, rtol=1e-8, atol=1e-8)
        else:
            assert (predicted == right).all()
