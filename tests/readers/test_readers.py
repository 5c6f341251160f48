"""Readers: what a file is, how it is laid out, and what its columns hold; with and without pyarrow."""

import datetime
import gzip
import io
import sys
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest

from dropstep.readers import Layout, ReadError, Source, errors, read
from dropstep.readers.arrow import write_parquet
from dropstep.readers.columns import MixedCells, NumberFormat, Numerals


@pytest.fixture(params=["pyarrow", "csv"])
def reader(request, monkeypatch, tmp_path):
    """Read bytes as a file, by pyarrow and by the csv module alone."""
    if request.param == "csv":
        monkeypatch.setitem(sys.modules, "dropstep.readers.arrow", None)

    def read_bytes(data: bytes | str, **layout) -> Source:
        file = tmp_path / "table.csv"
        file.write_bytes(data.encode() if isinstance(data, str) else data)
        return read(str(file), Layout(**layout))

    return read_bytes


def kinds(source: Source) -> dict[str, str]:
    return {column.name: column.kind for column in source.columns}


def values(source: Source, name: str) -> list:
    column = source.columns[source.names.index(name)]
    if not column.levels:
        return column.values.tolist()
    return [None if code < 0 else column.levels[code] for code in column.values]


PLAIN = "a,b,word\n1,2.5,red\n-3,+4e2,blue\n"


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
def test_the_same_table_in_many_layouts(reader, data):
    source = reader(data)
    assert kinds(source) == {"a": "number", "b": "number", "word": "text"}
    assert [values(source, name) for name in source.names] == [[1, -3], [2.5, 400], ["red", "blue"]]
    assert source.notes == ()


def test_quotes_hold_separators_newlines_and_quotes(reader):
    source = reader('a,word\n1,"x, y"\n2,"two\nlines"\n3,"say ""hi"""\n')
    assert values(source, "word") == ["x, y", "two\nlines", 'say "hi"']


def test_columns_without_a_header_are_numbered(reader):
    assert reader("1,2,x\n3,4,y\n", header=False).names == ("c1", "c2", "c3")


def test_lines_before_the_header_are_skipped(reader):
    assert reader("made by hand\n\na,b\n1,2\n", skip=2).names == ("a", "b")
    with pytest.raises(ValueError, match="nothing remains after skipping 9 lines"):
        reader("a,b\n1,2\n", skip=9)


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        (["1", "2.5", "NA", ""], "number"),
        (["1e400", "-inf", "3", "4"], "number"),
        (["1", "2", "3", ".5"], "number"),
        (["true", "False", "TRUE", "?"], "boolean"),
        (["red", "7", "8a", "blue"], "text"),
        (["NA", "", "nan", "null"], "empty"),
        (["2020-01-31", "2020-02-01 12:00", "NA", "1999-1-1"], "date"),
        (["31.12.1999", "1/2/03", "1.1.2000", "5.5.2005"], "date"),
        (["1", "2", "3", "unknown"], "mixed"),
        (["1_000", "0x1F", "one", "two"], "text"),
    ],
)
def test_types_are_guessed(reader, cells, kind):
    source = reader("x,y\n" + "\n".join(f"{cell},1" for cell in cells) + "\n")
    assert kinds(source)["x"] == kind


@pytest.mark.parametrize(
    ("cells", "problem"),
    [
        (["1,5", "2,25"], NumberFormat("1,5", decimal=",")),
        (["1,234", "2,345"], NumberFormat("1,234", thousands=",", ambiguous=True)),
        (["1,234,567", "12"], NumberFormat("1,234,567", thousands=",")),
        (["1.234,5", "2.345,6"], NumberFormat("1.234,5", decimal=",", thousands=".")),
        (["1 234", "2 345"], NumberFormat("1 234", thousands=" ")),
        (["1", "2", "3", "n.b.", "NA"], MixedCells("n.b.", 3, 1, ("NA",))),
    ],
)
def test_numbers_in_another_format_are_recognised(reader, cells, problem):
    column = reader("x;y\n" + "\n".join(f"{cell};1" for cell in cells) + "\n").columns[0]
    assert column.kind == "mixed"
    assert column.problem == problem


@pytest.mark.parametrize(
    ("cells", "numerals", "numbers"),
    [
        (["1,5", "2"], Numerals(decimal=","), [1.5, 2]),
        (["1,234", "5"], Numerals(thousands=","), [1234, 5]),
        (["1.234,5", "7"], Numerals(decimal=",", thousands="."), [1234.5, 7]),
        (["-999", "7"], Numerals(missing=("-999",)), [np.nan, 7]),
    ],
)
def test_options_read_numbers_as_they_are_meant(reader, cells, numerals, numbers):
    source = reader("x;y\n" + "\n".join(f"{cell};1" for cell in cells) + "\n", numerals=numerals)
    np.testing.assert_array_equal(values(source, "x"), numbers)


def test_a_column_may_be_read_as_a_category(reader):
    source = reader("x,day\n1,2020-01-01\n2.50,2020-01-02\n1.0,NA\nNA,2020-01-01\n")
    number, day = (column.as_category() for column in source.columns)
    assert number.levels == ("1", "2.5")
    assert number.values.tolist() == [0, 1, 0, -1]
    assert (day.kind, day.values.tolist()) == ("text", [0, 1, -1, 0])


def test_a_missing_name_is_given_by_position(reader):
    source = reader(",a\n0,5\n1,6\n")
    assert source.names == ("c1", "a")
    assert source.notes == ("columns without a name are named by position: c1",)


def test_a_header_of_numbers_is_doubted_but_taken(reader):
    source = reader("400,402\n1,2\n3,4\n")
    assert source.names == ("400", "402")
    assert "header=False reads it as data" in source.notes[0]


@pytest.mark.parametrize(
    ("data", "kind", "sentence"),
    [
        (b"", ReadError, "this file is empty"),
        (b"\xef\xbb\xbf\r\n", ReadError, "this file is empty"),
        (b"a,b\n", ReadError, "a header (2 columns) but no row"),
        (b"a,b\n1,2\n3\n", errors.RaggedRowError, "row 3 has 1 cell, but the first row has 2"),
        (b"a,b\n1,2\n3,4,5\n", errors.RaggedRowError, "row 3 has 3 cells, but the first row has 2"),
        (b"a,b\n1,\xe9\n", errors.DecodingError, "byte 0xe9 in line 2 is not UTF-8"),
        (b"a,b\n1,\x00\n", errors.NulByteError, "NUL byte in line 2"),
        (b"a,a\n1,2\n", ReadError, "the column name 'a' occurs 2 times in the header; rename one"),
        (b"1,1\n1,2\n", errors.NumericHeaderError, "the column name '1' occurs 2 times in the header"),
        (b",,x\na,b,c\n1,2,3\n", errors.UnnamedColumnsError, "2 of 3 columns have no name in the header"),
        (b"PK\x03\x04....", ReadError, "a zip archive"),
        (b"BZh9....", ReadError, "bzip2"),
        (b"\x1f\x8b\x08\x00broken", ReadError, "this gzip file is damaged"),
        (gzip.compress(PLAIN.encode(), mtime=0)[:-9], ReadError, "this gzip file is damaged or truncated"),
    ],
)
def test_what_cannot_be_read_raises_a_typed_error_in_one_sentence(reader, data, kind, sentence):
    with pytest.raises(ReadError, match=r"table\.csv: ") as error:
        reader(data)
    assert type(error.value).__name__ == kind.__name__
    assert sentence in str(error.value)
    assert "\n" not in str(error.value)
    assert "--" not in str(error.value)


def test_unknown_encodings_are_refused_and_known_ones_used(reader):
    with pytest.raises(ValueError, match="unknown encoding 'klingon'"):
        reader("a\n1\n", encoding="klingon")
    assert values(reader("a,b\n1,caf\xe9\n".encode("latin-1"), encoding="latin-1"), "b") == ["café"]


def test_a_cell_too_long_to_be_one(reader):
    with pytest.raises(ValueError, match=r"this is not a table \(field larger than field limit"):
        reader("x" * 200_000 + ',"b"\n1,2\n')


def test_typed_files_need_pyarrow(tmp_path, monkeypatch):
    file = tmp_path / "table.parquet"
    pyarrow.parquet.write_table(TYPED, file)
    monkeypatch.setitem(sys.modules, "dropstep.readers.arrow", None)
    with pytest.raises(ValueError, match=r"reading Parquet files needs pyarrow: pip install 'dropstep\[cli\]'"):
        read(str(file))


def test_files_that_are_no_files(tmp_path, monkeypatch):
    with pytest.raises(ValueError, match="no such file"):
        read(str(tmp_path / "none.csv"))
    with pytest.raises(ValueError, match="this is a directory"):
        read(str(tmp_path))

    def refuse(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("dropstep.readers.files.open", refuse, raising=False)
    with pytest.raises(ValueError, match="no permission"):
        read("secret.csv")

    def fail(*_):
        raise OSError(5, "Input/output error")

    monkeypatch.setattr("dropstep.readers.files.open", fail, raising=False)
    with pytest.raises(ValueError, match=r"cannot be read \(Input/output error\)"):
        read("disk.csv")


def test_standard_input(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(PLAIN.encode())))
    source = read("-")
    assert (source.shown, source.n_rows) == ("standard input", 2)


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
        "nothing": pa.nulls(3),
        "no_word": pa.array([None, None, None], pa.string()),
    }
)


@pytest.mark.parametrize("form", ["parquet", "arrow", "stream", "parquet.gz"])
def test_typed_files(tmp_path, form):
    buffer = io.BytesIO()
    if form.startswith("parquet"):
        pyarrow.parquet.write_table(TYPED, buffer)
    else:
        opened = pa.ipc.new_file if form == "arrow" else pa.ipc.new_stream
        with opened(buffer, TYPED.schema) as writer:
            writer.write_table(TYPED)
    data = buffer.getvalue()
    file = tmp_path / "table"
    file.write_bytes(gzip.compress(data, mtime=0) if form.endswith("gz") else data)
    source = read(str(file))
    assert list(kinds(source).values()) == (
        ["number", "number", "number", "text", "text", "number", "boolean", "date", "other", "empty", "empty"]
    )
    np.testing.assert_array_equal(values(source, "whole"), [1, np.nan, 3])
    np.testing.assert_array_equal(values(source, "money"), [1.25, np.nan, 3])
    assert values(source, "number_level") == [7, 8, 7]
    assert values(source, "word") == ["b", None, "a"]
    assert values(source, "flag") == ["True", "False", None]


def test_damaged_typed_files_are_refused(tmp_path):
    file = tmp_path / "table.parquet"
    pyarrow.parquet.write_table(TYPED, file)
    file.write_bytes(file.read_bytes()[:-30])
    with pytest.raises(ValueError, match=r"this Parquet file is damaged or truncated"):
        read(str(file))
    file.write_bytes(b"ARROW1\0\0rubbish")
    with pytest.raises(ValueError, match=r"this Arrow file is damaged"):
        read(str(file))
    pyarrow.parquet.write_table(TYPED.slice(0, 0), file)
    with pytest.raises(ValueError, match=r"11 columns and 0 rows"):
        read(str(file))
    twice = pa.table([pa.array([1]), pa.array([2])], names=["a", "a"])
    pyarrow.feather.write_feather(twice, str(file), compression="uncompressed")
    with pytest.raises(ValueError, match=r"'a' occurs more than once"):
        read(str(file))


def test_columns_survive_a_round_trip_through_parquet(reader, tmp_path, monkeypatch):
    source = reader("whole,real,word,gap\n1,0.5,007,3\n2,1.5,x,NA\n")
    monkeypatch.delitem(sys.modules, "dropstep.readers.arrow", raising=False)
    file = str(tmp_path / "out.parquet")
    write_parquet(file, source.columns)
    table = pyarrow.parquet.read_table(file)
    assert [str(t) for t in table.schema.types] == ["int64", "double", "string", "int64"]
    assert table.to_pydict() == {"whole": [1, 2], "real": [0.5, 1.5], "word": ["007", "x"], "gap": [3, None]}
