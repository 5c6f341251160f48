"""Files that are read in blocks of rows give the output of the same file in memory."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow.parquet
import pytest

import dropstep.backends.delimited
from dropstep.cli import main
from sources import arrow, table


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Every file counts as large, and is parsed in small blocks."""
    monkeypatch.setenv("DROPSTEP_LARGE_FILE", "0")
    monkeypatch.setattr(dropstep.backends.delimited, "BLOCK", 2**14)
    return monkeypatch


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    frame = table(9, 400).drop(columns=["y2", "code"])
    frame["id"] = [f"id{i}" for i in range(len(frame))]
    frame["when"] = "2020-01-01"
    frame.to_csv(tmp_path / "table.csv", index=False)
    pyarrow.parquet.write_table(arrow(frame), tmp_path / "table.parquet")
    return tmp_path


def run(capsys: pytest.CaptureFixture[str], *arguments: Any) -> tuple[int, str, str]:
    code = main([str(argument) for argument in arguments])
    return (code, *capsys.readouterr())


@pytest.mark.parametrize("name", ["table.csv", "table.parquet"])
@pytest.mark.parametrize(
    "options",
    [
        ["--target", "y", "--exclude", "label"],
        ["--target", "label", "--exclude", "y", "--weights", "weight"],
        ["--target", "y", "--exclude", "label", "--categorical", "whole", "--groups", "a,b"],
        ["--target", "label", "--exclude", "y", "--model", "logistic", "--max-features", "2"],
    ],
    ids=str,
)
def test_output_is_that_of_memory(
    name: str, options: list[str], folder: Path, capsys: pytest.CaptureFixture[str], large: pytest.MonkeyPatch
) -> None:
    command = ["select", folder / name, *options, "--format", "json", "--columns"]
    code, out, notes = run(capsys, *command)
    large.delenv("DROPSTEP_LARGE_FILE")
    known_code, known_out, known_notes = run(capsys, *command)
    assert (code, notes) == (known_code, known_notes) == (0, known_notes)
    found, known = json.loads(out), json.loads(known_out)
    for key in ("rows", "target", "model", "criterion"):
        assert found[key] == known[key], key
    near, known_near = found["stop"].pop("nearest"), known["stop"].pop("nearest")
    assert found["stop"] == known["stop"]
    if known_near is not None:
        assert near.pop("value") == pytest.approx(known_near.pop("value"), rel=1e-9)
        assert near == known_near
    assert [e["features"] for e in found["selected"]] == [e["features"] for e in known["selected"]]
    assert found["score"] == pytest.approx(known["score"], rel=1e-9)
    assert [line["role"] for line in found["columns"]] == [line["role"] for line in known["columns"]]


@pytest.mark.parametrize("ending", [".csv", ".tsv.gz", ".parquet"])
def test_selected_columns_are_written(
    ending: str, folder: Path, capsys: pytest.CaptureFixture[str], large: pytest.MonkeyPatch
) -> None:
    file, report = folder / f"few{ending}", folder / "report.html"
    command = ["select", folder / "table.csv", "--target", "y", "--exclude", "label", "--report", report]
    code, out, _ = run(capsys, *command, "--output", file)
    assert code == 0
    assert "400 rows" in out
    assert "dropstep" in report.read_text(encoding="utf-8")
    few = pd.read_parquet(file) if ending == ".parquet" else pd.read_csv(file, sep=None, engine="python")
    whole = pd.read_csv(folder / "table.csv")[few.columns]
    assert {"a", "c", "y"} <= {*few.columns} < {*pd.read_csv(folder / "table.csv").columns}
    if ending == ".csv":
        pd.testing.assert_frame_equal(few, whole)
    assert len(few) == 400


def test_dry_run_and_globs(folder: Path, capsys: pytest.CaptureFixture[str], large: pytest.MonkeyPatch) -> None:
    code, out, notes = run(capsys, "select", folder / "*.parquet", "--target", "y", "--exclude", "label", "--dry-run")
    assert code == 0
    assert "400 x 17 numbers are read in blocks of rows" in out
    assert "id" in notes


def failure(capsys: pytest.CaptureFixture[str], *arguments: Any) -> str:
    code, out, error = run(capsys, *arguments)
    assert code == 2
    assert out == ""
    assert error.count("\n") == 1
    return error


def test_bad_files(folder: Path, capsys: pytest.CaptureFixture[str], large: pytest.MonkeyPatch) -> None:
    good, few, options = folder / "table.csv", folder / "few.csv", ["--target", "y", "--exclude", "label"]
    text = good.read_text(encoding="utf-8")
    width = len(text.split("\n", 1)[0].split(","))
    for last, expected in {
        "oops"
        + ",1" * (width - 1): "column 'a' holds 400 numbers and 1 cell that is not a number (e.g. 'oops'); correct",
        "1,2": f"bad.csv: row 402 has 2 cells, but the first row has {width}",
    }.items():
        (folder / "bad.csv").write_text(f"{text}{last}\n", encoding="utf-8")
        assert expected in failure(capsys, "select", folder / "bad.csv", *options, "--output", few)
    row = text.splitlines()[-1].split(",")
    row[0] = ""
    (folder / "gap.csv").write_text(text + ",".join(row) + "\n", encoding="utf-8")
    expected = "gap.csv, row 401: X contains NaN or infinity in 'a' (1 row in total)"
    assert expected in failure(capsys, "select", folder / "gap.csv", *options, "--output", few)
    whole = (folder / "table.parquet").read_bytes()
    (folder / "cut.parquet").write_bytes(whole[: len(whole) // 2])
    assert "cut.parquet: this file is damaged or truncated" in failure(
        capsys, "select", folder / "cut.parquet", *options, "--output", few
    )
    assert not few.exists()
    assert not list(folder.glob(".*"))


def test_options_that_need_memory(folder: Path, capsys: pytest.CaptureFixture[str], large: pytest.MonkeyPatch) -> None:
    command = ["select", folder / "table.csv", "--target", "y"]
    assert "--missing drop-columns needs all rows in memory" in failure(capsys, *command, "--missing", "drop-columns")
    assert "'when' holds dates or lists" in failure(capsys, *command, "--include", "when")
    everything = ["--exclude", "1-11,label,id,when"]
    assert "no feature remains" in failure(capsys, *command, *everything)
    assert "no such file; its pattern matches nothing" in failure(capsys, "select", folder / "*.none", "--target", "y")
