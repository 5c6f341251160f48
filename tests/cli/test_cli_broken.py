"""Twenty kinds of broken or odd files, each as a user would meet it: one sentence and exit code 2, or the right answer.

Every command asks for a report and for a smaller table as well: nothing is left behind when it fails, and nothing in
them can be executed when it works.
"""

import csv
import gzip
import io
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from dropstep.cli import main

N = 40
RNG = np.random.default_rng(21)
A, B = RNG.normal(size=N).round(3), RNG.normal(size=N).round(3)
Y = (3 * A + 0.1 * RNG.normal(size=N)).round(3)


def table(head: str = "a,b,y", columns=(A, B, Y), separator: str = ",") -> str:
    """A table in which y follows from the first column."""
    return "\n".join([head, *(separator.join(map(str, row)) for row in zip(*columns, strict=True)), ""])


def parquet() -> bytes:
    buffer = io.BytesIO()
    pyarrow.parquet.write_table(pa.table({"a": A, "b": B, "y": Y}), buffer)
    return buffer.getvalue()


def with_line(line: str, at: int = 5) -> str:
    lines = table().splitlines()
    return "\n".join([*lines[:at], line, *lines[at:]])


def comma(values) -> list[str]:
    return [str(value).replace(".", ",") for value in values]


def grouped(values) -> list[str]:
    return [f'"{1e6 * value:,.0f}"' for value in values]


REFUSED = {
    "empty": ("", "this file is empty"),
    "header only": ("a,b,y\n", "there is a header (3 columns) but no row below it"),
    "ragged rows": (with_line("1,2"), "row 6 has 2 cells, but the first row has 3"),
    "wrong encoding": (
        table("a,b\xe9,y").encode("latin-1"),
        "byte 0xe9 in line 1 is not UTF-8; use another --encoding, e.g. --encoding latin-1",
    ),
    "duplicate names": (table("a,a,y"), "the column name 'a' occurs 2 times in the header; rename one of them"),
    "no names": (table(",,y"), "2 of 3 columns have no name in the header"),
    "NUL bytes": (with_line("1,\0,2"), "there is a NUL byte in line 6"),
    "mixed types": (
        with_line("1,none,2"),
        "column 'b' holds 40 numbers and 1 cell that is not a number (e.g. 'none')",
    ),
    "thousands": (table(columns=(A, grouped(B), Y)), "column 'b' holds numbers written like"),
    "decimal comma": (table("a;b;y", map(comma, (A, B, Y)), ";"), "add --decimal , for a decimal comma"),
    "truncated gzip": (gzip.compress(table().encode())[:-20], "this gzip file is damaged or truncated"),
    "truncated Parquet": (parquet()[:-50], "this file is damaged or truncated"),
    "a zip archive": (b"PK\x03\x04", "this is a zip archive"),
    "unknown target": (table("a,b,z"), "--target y: no such column; the columns are 'a', 'b', 'z'"),
    "constant target": (table(columns=(A, B, [7] * N)), "y has only one class (7); at least 2 classes are required"),
    "target all missing": (table(columns=(A, B, ["NA"] * N)), "column 'y' has no value in any row"),
    "one row": ("a,b,y\n1,2,3\n", "X has 1 sample"),
    "two rows": ("a,b,y\n1,2,3\n4,5,6\n", "every class needs at least 2"),
    "only a target": (table("y", (Y,)), "no feature remains; every column except the target is ignored"),
    "only ids": (
        table("who,y", ([f"p{i}" for i in range(N)], Y)),
        "no feature remains; every column except the target is ignored",
    ),
    "dates for a target": (
        table(columns=(A, B, [f"2020-01-{i % 28 + 1:02d}" for i in range(N)])),
        "y contains dates or times",
    ),
    "a picture": (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "is not UTF-8"),
}


def command(file: str) -> list[str]:
    return ["select", file, "--target", "y", "--report", "out.html", "--output", "out.csv"]


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def refused(code: int, printed: tuple[str, str], sentence: str) -> None:
    out, err = printed
    assert code == 2
    assert out == ""
    assert sentence in err
    assert err.startswith("dropstep: ")
    assert err.count("\n") == 1
    assert "Traceback" not in err


@pytest.mark.parametrize("kind", REFUSED)
def test_broken_files_are_refused_in_one_sentence(folder, capsys, kind):
    data, sentence = REFUSED[kind]
    Path("broken.csv").write_bytes(data.encode() if isinstance(data, str) else data)
    code = main(command("broken.csv"))
    refused(code, capsys.readouterr(), sentence)
    assert os.listdir() == ["broken.csv"]


def test_a_broken_file_in_a_real_process(folder):
    data, sentence = REFUSED["truncated gzip"]
    done = subprocess.run([sys.executable, "-m", "dropstep", *command("-")], input=data, capture_output=True)
    refused(done.returncode, (done.stdout.decode(), done.stderr.decode()), sentence)
    assert os.listdir() == []


def test_a_directory_and_a_missing_file(folder, capsys):
    Path("folder.csv").mkdir()
    refused(main(command("folder.csv")), capsys.readouterr(), "folder.csv: this directory has no files")
    refused(main(command("none.csv")), capsys.readouterr(), "none.csv: no such file")


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="the superuser may read everything")
def test_no_permission(folder, capsys):
    Path("secret.csv").write_text(table())
    Path("secret.csv").chmod(0)
    refused(main(command("secret.csv")), capsys.readouterr(), "no permission to read this file")


# --- odd, but right --------------------------------------------------------------------------------------------------


def answer(capsys, file: str, *options: str) -> dict:
    code = main([*command(file), *options, "--format", "json"])
    out, err = capsys.readouterr()
    assert code == 0, err
    return json.loads(out)


def chosen(told: dict) -> list[str]:
    return [name for entry in told["selected"] for name in entry["features"]]


ODD = {
    "byte-order mark": (table().encode("utf-8-sig"), ()),
    "UTF-16": (table().encode("utf-16"), ()),
    "latin-1, said so": (table("a,b\xe9,y").encode("latin-1"), ("--encoding", "latin-1")),
    "decimal comma, said so": (table("a;b;y", map(comma, (A, B, Y)), ";").encode(), ("--decimal", ",")),
    "thousands, said so": (table(columns=(A, grouped(B), Y)).encode(), ("--thousands", ",")),
    "text in numbers, said so": (with_line("1,none,2.9").encode(), ("--na", "none", "--missing", "drop")),
    "a column all missing": (table(columns=(A, ["?"] * N, Y)).encode(), ()),
    "a column all missing, left out": (table(columns=(A, ["?"] * N, Y)).encode(), ("--missing", "drop-columns")),
    "blank lines": (table().replace("\n", "\n\n").encode(), ()),
    "Parquet": (parquet(), ()),
    "gzip": (gzip.compress(table().encode()), ()),
}


@pytest.mark.parametrize("kind", ODD)
def test_odd_files_give_the_right_answer(folder, capsys, kind):
    data, options = ODD[kind]
    Path("odd.csv").write_bytes(data)
    assert chosen(answer(capsys, "odd.csv", *options)) == ["a"]
    assert sorted(os.listdir()) == ["odd.csv", "out.csv", "out.html"]


def test_one_name_that_is_empty(folder, capsys):
    Path("unnamed.csv").write_text(table("a,,y"))
    told = answer(capsys, "unnamed.csv")
    assert chosen(told) == ["a"]
    assert told["notes"] == ["columns without a name are named by position: c2"]


@pytest.mark.no_cover  # the same lines for every column
def test_a_hundred_thousand_columns(folder, capsys):
    p, n = 100_000, 6
    names = ",".join(["y", *(f"x{j}" for j in range(1, p))])
    rng = np.random.default_rng(0)
    cells = rng.integers(0, 100, (n, p)).astype(str)
    Path("wide.csv").write_text("\n".join([names, *map(",".join, cells)]))
    assert main(["select", "wide.csv", "--target", "y", "--max-features", "1", "--model", "linear", "--quiet"]) == 0
    assert "features: 99,999 (99,999 numbers)" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["<script>alert(1)</script>", "=cmd()", "@sum(1)", "+1+cmd|' /C calc'!A0", "-2+3"])
def test_nothing_is_executed_whatever_a_feature_is_called(folder, capsys, name):
    Path("names.csv").write_text(table(f'"{name}",b,y'))
    assert chosen(answer(capsys, "names.csv")) == [name]
    assert "<script" not in Path("out.html").read_text(encoding="utf-8").lower()
    assert main(["select", "names.csv", "--target", "y", "--format", "csv"]) == 0
    for text in capsys.readouterr().out, Path("out.csv").read_text():
        cells = [cell for row in csv.reader(io.StringIO(text)) for cell in row]
        assert name in {cell.removeprefix("'") for cell in cells}
        assert not [cell for cell in cells if cell[:1] in "=+@-" and cell and not is_number(cell)]


def is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def test_text_cells_are_safe_for_spreadsheets_and_numbers_stay(folder, capsys):
    words = ["=1+1", "-", "@x", "+49 123", "plain", "-5"] * 7
    Path("cells.csv").write_text(table("a,word,y", (A, words[:N], Y)))
    answer(capsys, "cells.csv", "--include", "word", "--model", "linear")
    rows = list(csv.DictReader(io.StringIO(Path("out.csv").read_text())))
    assert [row["word"] for row in rows[:6]] == ["'=1+1", "'-", "'@x", "'+49 123", "plain", "-5"]
    assert [row["a"] for row in rows] == [str(a) for a in A]
