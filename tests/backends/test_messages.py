"""What cannot be read is refused in a sentence, with file and row where there are any."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest

import dropstep.backends.arrow
import dropstep.backends.delimited
from dropstep import Selector, select
from sources import arrow, table

pytestmark = pytest.mark.usefixtures("read_in_blocks")

FRAME = table(0, 300)[["a", "b", "c", "colour", "whole", "y"]]


def refused(X: Any, y: Any = "y", error: type[Exception] = ValueError, **parameters: Any) -> str:
    with pytest.raises(error) as caught:
        select(X, y, **parameters)
    sentence = str(caught.value)
    assert "\n" not in sentence
    return sentence


def batches(frame: pd.DataFrame, rows: int = 100) -> list[pa.RecordBatch]:
    return arrow(frame).to_batches(max_chunksize=rows)


def test_names_of_columns() -> None:
    given = batches(FRAME)
    assert "y must be the name of a column, or several" in refused(given, None)
    assert "y names the column 'Y', which X does not have" in refused(given, "Y")
    assert "sample_weight must be the name of a column" in refused(given, sample_weight=np.ones(300))
    assert "sample_weight must be a column of numbers; 'colour'" in refused(given, sample_weight="colour")
    assert "include" in refused(given, include=["z"])
    assert "missing must be one of" in refused(given, missing="ignore")
    assert "solver='columns' reads columns, but X is read in blocks of rows" in refused(given, solver="columns")
    assert "offset does not apply" in refused(given, offset="a")
    assert "X has no feature: every column is a target" in refused(batches(FRAME[["y"]]))


def test_values() -> None:
    gap = FRAME.assign(b=FRAME["b"].where(FRAME.index != 250))
    assert "row 251: X contains NaN or infinity in 'b' (1 row in total); remove these rows" in refused(batches(gap))
    gap = FRAME.assign(y=FRAME["y"].where(FRAME.index != 150, np.inf))
    assert "row 151: y has 1 missing or infinite value" in refused(batches(gap))
    gap = FRAME.assign(colour=FRAME["colour"].where(~FRAME.index.isin([120, 250])))
    expected = "row 121: X contains missing values in 'colour' (2 rows in total); use missing='level'"
    assert expected in refused(batches(gap))
    odd = FRAME.index % 2 == 1
    gaps = FRAME.assign(a=FRAME["a"].where(odd), b=FRAME["b"].where(~odd))
    assert "none of the 300 rows is complete" in refused(batches(gaps), missing="drop")
    assert "row 3: sample_weight must not be negative; it is -1" in refused(
        batches(FRAME.assign(c=np.where(FRAME.index == 2, -1.0, 1.0))), sample_weight="c"
    )
    assert "sample_weight is zero for every row" in refused(batches(FRAME.assign(c=0.0)), sample_weight="c")
    assert "the squares of 'a'" in refused(batches(FRAME.assign(a=FRAME["a"] * 1e150)))
    assert "too large to be summed" in refused(batches(FRAME.assign(a=np.where(FRAME.index % 2, 1.7e308, -1.7e308))))
    dates = batches(FRAME.assign(a=pd.Timestamp("2020-01-01")))
    assert "ignored columns with dates or lists: 'a' (derive" in select(dates, "y").notes[0]
    assert "'a' holds dates or lists, which cannot be features" in refused(dates, include="a")
    assert "X contains numbers stored as text in 'a'" in refused(batches(FRAME.assign(a=FRAME["a"].astype(str))))
    assert "y contains text in 'colour'" in refused(batches(FRAME), "colour", model="linear")
    assert "Unknown label type" in refused(batches(FRAME), model="discriminant")
    assert "y has only one class (x)" in refused(batches(FRAME.assign(y="x")))
    assert "y is constant" in refused(batches(FRAME.assign(y=0.5)))
    assert "y is constant" in refused(batches(FRAME.assign(y=1.0)))


def test_identifiers_are_ignored_and_their_gaps_do_not_matter() -> None:
    frame = FRAME.assign(id=[f"r{i}" if i % 7 else None for i in range(300)])
    for missing, passes in (("drop", 3), ("error", 2)):
        path = select(batches(frame), "y", missing=missing)
        expected = select(frame, "y", missing=missing)
        assert path.selected == expected.selected
        assert path.notes == expected.notes
        assert path.n_passes == passes
        np.testing.assert_allclose(path.score, expected.score, rtol=1e-9)
    many = pd.concat([frame] * 10, ignore_index=True)
    many["id"] = [f"r{i}" for i in range(len(many))]
    assert "'id' (more than 1000 levels)" in select(batches(many), "y").notes[0]
    sentence = refused(iter(batches(frame)), missing="drop")
    assert "can be read once, but 2 passes over the rows are needed" in sentence


def test_leakage_notes_are_those_of_memory() -> None:
    frame = FRAME.assign(
        row=np.random.default_rng(0).permutation(300) + 10**6,
        user_id=np.arange(300) % 50,
        fold=np.arange(300) % 5,
        copy=3 - 2 * FRAME["y"],
    )
    path, expected = select(batches(frame), "y"), select(frame, "y")
    digits = re.match(
        r"the residual is (\S+) of the total sum of squares; a Gram matrix keeps few digits", path.notes[-1]
    )
    assert path.notes[:-1] == expected.notes
    assert digits is not None
    assert float(digits[1]) < 1e-14
    assert len(expected.notes) == 4
    frame = FRAME.assign(y=FRAME["colour"].map({"red": 1.5, "green": 2.25, "blue": 4.125}))
    assert select(batches(frame), "y").notes[0] == select(frame, "y").notes[0]
    frame = FRAME.assign(y=np.where(FRAME["colour"] == "red", "p", "q"))
    assert select(batches(frame), "y").notes == select(frame, "y").notes


def test_streams() -> None:
    given = batches(FRAME)
    assert "the iterator is empty" in refused(iter(()))
    assert "must yield record batches or frames; got int" in refused(iter([1]), error=TypeError)
    assert "batch 2 of X has no column 'a'" in refused([given[0], given[1].select(given[1].schema.names[1:])])
    assert "numbers in some blocks of rows, and text in others" in refused([FRAME[:100], FRAME.assign(a="x")])
    schema = arrow(FRAME).schema
    assert "has no rows" in refused(pa.RecordBatchReader.from_batches(schema, []))
    assert "must be unique; 'a' appears more than once" in refused(
        pa.RecordBatchReader.from_batches(pa.schema([("a", pa.int8()), ("a", pa.int8())]), [])
    )
    assert "callback returned True after 100 rows" in refused(
        given, error=InterruptedError, progress=lambda done, remaining: True
    )


def test_functions_and_slices_can_be_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    frame = FRAME.assign(two=FRAME["y"] > FRAME["y"].median()).drop(columns="y")
    expected = select(frame, "two", model="logistic").selected
    assert select(lambda: iter(batches(frame)), "two", model="logistic").selected == expected
    lazy = pl.from_pandas(frame).lazy()
    monkeypatch.delattr(pl.LazyFrame, "collect_batches", raising=False)  # before polars 1.34
    monkeypatch.setattr(dropstep.backends.arrow, "MAX_BLOCK_ROWS", 90)
    assert select(lazy, "two").selected == select(frame, "two").selected


def test_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "table.csv"
    assert refused(file) == f"{file}: no such file"
    assert "its pattern matches nothing" in refused(tmp_path / "*.csv")
    assert "this directory has no files" in refused(tmp_path)
    file.write_bytes(b"")
    assert "this file is empty" in refused(file)
    file.write_text("a,y\n")
    assert "there is a header (2 columns) but no row below it" in refused(file)
    file.write_bytes(b"PK\x03\x04 and more bytes")
    assert "zip archive" in refused(file)
    monkeypatch.setattr(dropstep.backends.delimited, "BLOCK", 2**12)
    text = FRAME.to_csv(index=False)
    file.write_text(text + "1,2,3,red,many,5\n")
    assert refused(file).startswith(
        f"{file}: column 'whole' holds 300 numbers and 1 cell that is not a number (e.g. 'many')"
    )
    file.write_text(text + "1,2\n")
    assert refused(file) == (
        f"{file}: row 302 has 2 cells, but the first row has 6; correct the file, or give its separator, e.g. "
        "dropstep.read(file, separator=';')"
    )


def test_truncated_files(tmp_path: Path) -> None:
    stream, parquet = tmp_path / "table.arrows", tmp_path / "table.parquet"
    with pa.OSFile(str(stream), "wb") as sink, pa.ipc.new_stream(sink, arrow(FRAME).schema) as writer:
        writer.write_table(arrow(FRAME), max_chunksize=100)
    stream.write_bytes(stream.read_bytes()[:-500])
    assert refused(stream).startswith(f"{stream}: this file is damaged or truncated after row 200 (")
    pyarrow.parquet.write_table(arrow(FRAME), parquet, row_group_size=100)
    whole = parquet.read_bytes()
    parquet.write_bytes(whole[:-1000])
    assert refused(parquet).startswith(f"{parquet}: this file is damaged or truncated (")


def write_arrow(file: Path, frame: pd.DataFrame) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    with pa.OSFile(str(file), "wb") as sink, pa.ipc.new_file(sink, arrow(frame).schema) as writer:
        writer.write_table(arrow(frame), max_chunksize=100)


def test_arrow_files_are_read_as_parquet_files_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Partition columns, other types and absent columns; blocks shorter than the batches of the file."""
    monkeypatch.setattr(dropstep.backends.arrow, "MIN_BLOCK_ROWS", 30)
    monkeypatch.setattr(dropstep.backends.arrow, "BLOCK_SIZE", 1)
    parts = {"k=p": FRAME[:140], "k=q": FRAME[140:].astype({"whole": "float32"})}
    for place, frame in parts.items():
        write_arrow(tmp_path / "arrow" / place / "table.arrow", frame)
        folder = tmp_path / "parquet" / place
        folder.mkdir(parents=True)
        pyarrow.parquet.write_table(arrow(frame), folder / "table.parquet")
    found, expected = (select(tmp_path / kind, "y") for kind in ("arrow", "parquet"))
    assert found.feature_names == expected.feature_names
    assert found.feature_names[-1] == "k"
    assert found.selected == expected.selected
    assert found.score == pytest.approx(expected.score, rel=1e-12)
    write_arrow(tmp_path / "arrow" / "k=q" / "table.arrow", FRAME[140:].drop(columns="a"))
    assert "X contains NaN or infinity in 'a'" in refused(tmp_path / "arrow")
    write_arrow(tmp_path / "arrow" / "k=q" / "table.arrow", FRAME[140:].assign(a="many"))
    assert "and its values cannot be converted to double, the type in the first file" in refused(tmp_path / "arrow")


@pytest.mark.parametrize("name", ["table.csv", "table.parquet", "table.arrows"])
def test_a_file_that_changes(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dropstep.backends.delimited, "BLOCK", 2**12)
    file = tmp_path / name
    if name == "table.csv":
        FRAME.to_csv(file, index=False)
    elif name == "table.parquet":
        pyarrow.parquet.write_table(arrow(FRAME), file, row_group_size=100)
    else:
        with pa.OSFile(str(file), "wb") as sink, pa.ipc.new_stream(sink, arrow(FRAME).schema) as writer:
            writer.write_table(arrow(FRAME), max_chunksize=100)

    def change(done: int, remaining: int) -> None:
        os.utime(file, (1, 1))

    assert refused(file, progress=change) == f"{file}: the file changed while it was being read; nothing was selected"


def test_selector_takes_a_source(tmp_path: Path) -> None:
    FRAME.to_parquet(tmp_path / "table.parquet")
    selector, expected = (
        Selector().fit(tmp_path / "table.parquet", "y"),
        Selector().fit(FRAME.drop(columns="y"), FRAME["y"]),
    )
    np.testing.assert_array_equal(selector.selected_, expected.selected_)
    np.testing.assert_array_equal(selector.get_feature_names_out(), expected.get_feature_names_out())
    assert selector.transform(FRAME.drop(columns="y")).equals(expected.transform(FRAME.drop(columns="y")))


def test_memory_is_bounded_by_a_block() -> None:
    """Batches are made when they are needed and freed before the next: at most a few exist at a time."""
    alive: list[int] = []

    def made() -> Iterator[pa.RecordBatch]:
        for seed in range(40):
            X = np.random.default_rng(seed).normal(size=(2**14, 8))
            yield pa.RecordBatch.from_arrays([pa.array(column) for column in X.T], names=list("abcdefgy"))
            alive.append(pa.total_allocated_bytes())

    before = pa.total_allocated_bytes()
    assert select(made, "y").n_passes == 1
    assert max(alive) - before < 4 * 2**14 * 8 * 8


WITHOUT = """
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == "pyarrow":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Absent())
from dropstep import select
try:
    select("table.parquet", "y")
except ImportError as error:
    print(error)
"""


def test_without_pyarrow() -> None:
    ran = subprocess.run([sys.executable, "-c", WITHOUT], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "reading files such as 'table.parquet' needs pyarrow: pip install 'dropstep[files]'"
