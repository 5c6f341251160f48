"""What `read` makes of one file: its layout, the types of its cells, Parquet and Arrow, and what cannot be read."""

from __future__ import annotations

import datetime
import gzip
import io
import sys
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from dropstep import read
from dropstep.backends.files import write_parquet
from dropstep.data.factor import Factor
from dropstep.data.source import Source

PLAIN = "a,b,word\n1,2.5,red\n-3,+4e2,blue\n"
Reader = Callable[..., Source]


@pytest.fixture
def reader(tmp_path: Path) -> Reader:
    """Read bytes as a file."""

    def read_bytes(data: bytes | str, **layout: Any) -> Source:
        file = tmp_path / "table.csv"
        file.write_bytes(data.encode() if isinstance(data, str) else data)
        return read(file, **layout)

    return read_bytes


def kinds(source: Source) -> dict[str, str]:
    return {column.name: column.kind for column in source.columns}


def values(source: Source, name: str) -> list[Any]:
    column: Any = source.rows([name]).columns[0]
    if not isinstance(column, Factor):
        return list(column.tolist())
    return [None if code < 0 else column.levels[code] for code in column.codes]


@pytest.mark.parametrize(
    "data",
    [
        PLAIN,
        PLAIN.replace(",", ";"),
        PLAIN.replace(",", "\t"),
        PLAIN.replace(",", "|"),
        PLAIN.replace(",", "  "),
        PLAIN.replace(",", ", "),
        PLAIN.replace("\n", "\r\n"),
        PLAIN.replace("\n", "\r"),
        "\n\n" + PLAIN.replace("\n", "\n   \n"),
        PLAIN.replace("\n", ",\n"),
        PLAIN.removesuffix("\n"),
        PLAIN.replace("red", '"red"'),
        "\ufeff" + PLAIN,
        PLAIN.encode("utf-16"),
        gzip.compress(PLAIN.encode(), mtime=0),
    ],
)
def test_the_same_table_in_many_layouts(reader: Reader, data: bytes | str) -> None:
    source = reader(data)
    assert kinds(source) == {"a": "number", "b": "number", "word": "factor"}
    assert [values(source, name) for name in source.names] == [[1, -3], [2.5, 400], ["red", "blue"]]
    assert source.notes == ()


def test_quotes_hold_separators_newlines_and_quotes(reader: Reader) -> None:
    source = reader('a,word\n1,"x, y"\n2,"two\nlines"\n3,"say ""hi"""\n')
    assert values(source, "word") == ["x, y", "two\nlines", 'say "hi"']


def test_headers(reader: Reader) -> None:
    assert reader("1,2,x\n3,4,y\n", header=False).names == ("c1", "c2", "c3")
    assert reader("made by hand\n\na,b\n1,2\n", skip=2).names == ("a", "b")
    source = reader(",a\n0,5\n1,6\n")
    assert source.names == ("c1", "a")
    assert source.notes == ("columns without a name are named by position: c1",)
    source = reader("400,402\n1,2\n3,4\n")
    assert source.names == ("400", "402")
    assert "header=False) reads it as data" in source.notes[0]


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        (["1", "2.5", "NA", ""], "number"),
        (["1e400", "-inf", "3", "4"], "number"),
        (["1", "2", "3", ".5"], "number"),
        (["true", "False", "TRUE", "?"], "boolean"),
        (["red", "7", "8a", "blue"], "factor"),
        (["2020-01-31", "2020-02-01 12:00", "NA", "1999-1-1"], "date"),
        (["31.12.1999", "1/2/03", "1.1.2000", "5.5.2005"], "date"),
        (["1_000", "0x1F", "one", "two"], "factor"),
    ],
)
def test_types_are_those_of_all_cells(reader: Reader, cells: list[str], kind: str) -> None:
    source = reader("x,y\n" + "\n".join(f"{cell},1" for cell in cells) + "\n")
    assert kinds(source)["x"] == kind
    assert not source.columns[0].problem


@pytest.mark.parametrize(
    ("cells", "problem"),
    [
        (["1,5", "2,25"], "holds numbers written like '1,5'; use dropstep.read(file, decimal=',')"),
        (
            ["1,234", "2,345"],
            "use dropstep.read(file, thousands=',') for thousands, or dropstep.read(file, decimal=','",
        ),
        (["1,234,567", "12"], "holds numbers written like '1,234,567'; use dropstep.read(file, thousands=',')"),
        (["1.234,5", "2.345,6"], "use dropstep.read(file, thousands='.', decimal=',')"),
        (["1 234", "2 345"], "use dropstep.read(file, thousands=' ')"),
        (["1", "2", "3", "n.b.", "NA"], "holds 3 numbers and 1 cell that is not a number (e.g. 'n.b.'); correct"),
    ],
)
def test_numbers_in_another_format_are_recognised(reader: Reader, cells: list[str], problem: str) -> None:
    source = reader("x;y\n" + "\n".join(f"{cell};1" for cell in cells) + "\n")
    assert problem in source.columns[0].problem
    assert "table.csv: column 'x' holds" in source.columns[0].problem


@pytest.mark.parametrize(
    ("cells", "layout", "numbers"),
    [
        (["1,5", "2"], {"decimal": ","}, [1.5, 2]),
        (["1,234", "5"], {"thousands": ","}, [1234, 5]),
        (["1.234,5", "7"], {"decimal": ",", "thousands": "."}, [1234.5, 7]),
        (["-999", "7"], {"na": ["-999"]}, [np.nan, 7]),
    ],
)
def test_arguments_read_numbers_as_they_are_meant(reader: Reader, cells: list[str], layout: Any, numbers: Any) -> None:
    source = reader("x;y\n" + "\n".join(f"{cell};1" for cell in cells) + "\n", **layout)
    np.testing.assert_array_equal(values(source, "x"), numbers)


def test_a_column_may_be_read_as_a_category(reader: Reader) -> None:
    source = reader("x,day\n1,2020-01-01\n2.50,2020-01-02\n1.0,NA\nNA,2020-01-01\n", categorical=["x", "day"])
    assert values(source, "x") == [1, 2.5, 1, None]
    assert values(source, "day") == ["2020-01-01", "2020-01-02", None, "2020-01-01"]


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"", "this file is empty"),
        (b"\xef\xbb\xbf\r\n", "this file is empty"),
        (b"a,b\n", "a header (2 columns) but no row"),
        (b"a,b\n1,2\n3\n", "row 3 has 1 cell, but the first row has 2"),
        (b"a,b\n1,2\n3,4,5\n", "row 3 has 3 cells, but the first row has 2"),
        (b"a,b\n1,\xe9\n", "byte 0xe9 in line 2 is not UTF-8"),
        (b"a,b\n1,\x00\n", "NUL byte in line 2"),
        (b"a,a\n1,2\n", "the column name 'a' occurs 2 times in the header; rename one"),
        (b"1,1\n1,2\n", "the column name '1' occurs 2 times in the header"),
        (b",,x\na,b,c\n1,2,3\n", "2 of 3 columns have no name in the header"),
        (b"PK\x03\x04....", "a zip archive"),
        (b"BZh9....", "bzip2"),
        (b"\x1f\x8b\x08\x00broken", "this gzip file is damaged"),
        (gzip.compress(PLAIN.encode(), mtime=0)[:-9], "this gzip file is damaged or truncated"),
    ],
)
def test_what_cannot_be_read_is_refused_in_one_sentence(reader: Reader, data: bytes, sentence: str) -> None:
    with pytest.raises(ValueError, match=r"table\.csv: ") as error:
        reader(data).rows()
    assert sentence in str(error.value)
    assert "\n" not in str(error.value)
    assert "--" not in str(error.value)


def test_unknown_encodings_are_refused_and_known_ones_used(reader: Reader) -> None:
    with pytest.raises(ValueError, match="unknown encoding 'klingon'"):
        reader("a\n1\n", encoding="klingon")
    assert values(reader("a,b\n1,caf\xe9\n".encode("latin-1"), encoding="latin-1"), "b") == ["café"]


def test_files_that_are_no_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match="no such file"):
        read(tmp_path / "none.csv")
    (tmp_path / "empty").mkdir()
    with pytest.raises(ValueError, match="this directory has no files"):
        read(tmp_path / "empty")
    file = tmp_path / "table.csv"
    file.write_text(PLAIN)
    errors = {"no permission": PermissionError(13, "Permission denied"), "cannot be read": OSError(5, "Input/output")}
    for sentence, error in errors.items():

        def fail(*_: Any, error: OSError = error) -> None:
            raise error

        monkeypatch.setattr("dropstep.backends.content.open", fail, raising=False)
        with pytest.raises(ValueError, match=sentence):
            read(file)


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(PLAIN.encode())))
    source = read("-")
    assert source.shown == "standard input"
    assert values(source, "b") == [2.5, 400]
    assert values(source, "word") == ["red", "blue"]


# --- Parquet and Arrow -----------------------------------------------------------------------------------------------

TYPED = pa.table(
    {
        "whole": pa.array([1, None, 3], pa.int32()),
        "real": pa.array([1.5, float("nan"), 2.5], pa.float32()),
        "money": pa.array([Decimal("1.25"), None, Decimal("3.00")]),
        "word": pa.array(["b", None, "a"]),
        "level": pa.array(["x", "y", "x"]).dictionary_encode(),
        "number_level": pa.array([7, 8, 7]).dictionary_encode(),
        "flag": pa.array([True, False, None]),
        "day": pa.array([datetime.date(2020, 1, 1)] * 3),
        "list": pa.array([[1], [2], [3]]),
    }
)


@pytest.mark.parametrize("form", ["parquet", "arrow", "stream", "parquet.gz", "arrow.gz", "stream.gz"])
def test_typed_files(tmp_path: Path, form: str) -> None:
    buffer = io.BytesIO()
    if form.startswith("parquet"):
        pyarrow.parquet.write_table(TYPED, buffer)
    else:
        opened = pa.ipc.new_file if form.startswith("arrow") else pa.ipc.new_stream
        with opened(buffer, TYPED.schema) as writer:
            writer.write_table(TYPED)
    data = buffer.getvalue()
    file = tmp_path / "table"
    file.write_bytes(gzip.compress(data, mtime=0) if form.endswith("gz") else data)
    source = read(file)
    category = "number" if form.startswith("parquet") else "factor"  # Parquet keeps categories of text only
    expected = ["number", "number", "number", "factor", "factor", category, "boolean", "date", "object"]
    assert list(kinds(source).values()) == expected
    np.testing.assert_array_equal(values(source, "whole"), [1, np.nan, 3])
    np.testing.assert_array_equal(values(source, "money"), [1.25, np.nan, 3])
    assert values(source, "number_level") == [7, 8, 7]
    assert values(source, "word") == ["b", None, "a"]
    assert values(source, "flag") == [True, False, None]


def test_damaged_typed_files_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "table.parquet"
    pyarrow.parquet.write_table(TYPED, file)
    file.write_bytes(file.read_bytes()[:-30])
    with pytest.raises(ValueError, match=r"table.parquet: this file is damaged or truncated"):
        read(file)
    file.write_bytes(b"ARROW1\0\0rubbish")
    with pytest.raises(ValueError, match=r"table.parquet: this file is damaged"):
        read(file)


def test_columns_survive_a_round_trip_through_parquet(reader: Reader, tmp_path: Path) -> None:
    source: Any = reader("whole,real,word,gap\n1,0.5,007,3\n2,1.5,x,NA\n")
    file = str(tmp_path / "out.parquet")
    write_parquet(file, (batch for _, batch in source.batches(source.names)))
    found = pyarrow.parquet.read_table(file)
    assert [str(dtype) for dtype in found.schema.types] == ["int64", "double", "string", "int64"]
    assert found.to_pydict() == {"whole": [1, 2], "real": [0.5, 1.5], "word": ["007", "x"], "gap": [3, None]}
