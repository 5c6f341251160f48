"""Cells that need care: infinite or too large numbers, long cells and identifiers, and marks of missing values."""

import csv
import json
import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from commands import answer, chosen, run

N = 40
RNG = np.random.default_rng(5)
A, B = RNG.normal(size=N).round(3), RNG.normal(size=N).round(3)
Y = (3 * A + 0.1 * RNG.normal(size=N)).round(3)
LONG = "x" * 300_000


def write(name: str, head: str, *columns) -> None:
    rows = zip(*columns, strict=True)
    Path(name).write_text("\n".join([head, *(",".join(map(str, row)) for row in rows), ""]))


def with_cells(cells: dict[int, str], values=B) -> list[str]:
    return [cells.get(i, str(value)) for i, value in enumerate(values)]


# --- infinite and too large ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cells", "sentence"),
    [
        ({5: "inf"}, "column 'b' has an infinite value in data row 6 ('inf'); "),
        ({5: "-Infinity", 9: "inf"}, "column 'b' has infinite values in 2 rows, the first in data row 6 ('-Infinity')"),
        ({7: "1e400"}, "column 'b' has a number too large for double precision in data row 8 ('1e400')"),
        (
            {7: "1" * 400},
            f"a number too large for double precision in data row 8 ('{'1' * 40}…' (400 characters))",
        ),
    ],
)
@pytest.mark.parametrize("decimal", ["", " --decimal ,"])
def test_infinite_values_are_not_called_missing(folder, capsys, cells, sentence, decimal):
    write("table.csv", "a;b;y", A, with_cells(cells), Y)
    text = Path("table.csv").read_text().replace(",", ";")
    Path("table.csv").write_text(text.replace(".", ",") if decimal else text)
    code, out, err = run(capsys, f"select table.csv --target y{decimal}")
    assert (code, out) == (2, "")
    assert sentence in err
    assert "missing in" not in err
    assert "choose --missing drop or --missing drop-columns, or --exclude b" in err


def test_rows_with_infinite_values_may_be_left_out(folder, capsys):
    write("table.csv", "a,b,y", A, with_cells({5: "inf", 7: "NA"}), Y)
    told = answer(capsys, "select table.csv --target y --missing drop")
    assert told["rows"] == {"read": N, "used": N - 2}
    assert told["notes"] == ["ignored 2 of 40 rows, because values are missing or infinite"]
    told = answer(capsys, "select table.csv --target y --missing drop-columns")
    assert told["notes"] == ["ignored columns, because values are missing or infinite: 'b'"]
    told = answer(capsys, "select table.csv --target y --missing drop --na inf --na NA")
    assert told["notes"] == ["ignored 2 of 40 rows, because values are missing"]
    assert "1 missing, 1 infinite" in run(capsys, "select table.csv --target y --missing drop --dry-run")[1]


def test_an_infinite_value_in_parquet(folder, capsys):
    b = B.copy()
    b[3] = np.inf
    pyarrow.parquet.write_table(pa.table({"a": A, "b": b, "y": Y}), "table.parquet")
    assert "column 'b' has an infinite value in data row 4 ('inf')" in run(capsys, "select table.parquet --target y")[2]


# --- what stands for a missing value ---------------------------------------------------------------------------------


@pytest.mark.parametrize("cell", ["None", "nan", "?"])
def test_only_what_na_gives_is_missing(folder, capsys, cell):
    words = RNG.choice(["Some", "Other", cell], N)
    words[:3] = "Some", "Other", cell
    write("table.csv", "a,word,y", A, words, Y)
    assert "missing in 'word'" in run(capsys, "select table.csv --target y")[2]
    assert answer(capsys, "select table.csv --target y --na ''")["rows"] == {"read": N, "used": N}
    write("numbers.csv", "a,b,y", A, with_cells({4: cell}), Y)
    err = run(capsys, "select numbers.csv --target y --na ''")[2]
    assert f"column 'b' holds 39 numbers and 1 cell that is not a number (e.g. '{cell}')" in err


def test_the_advice_to_use_na_keeps_what_is_missing_already(folder, capsys):
    write("table.csv", "a,b,y", A, with_cells({4: "not known", 5: "NA"}), Y)
    err = run(capsys, "select table.csv --target y")[2]
    advice = re.search(r"mark it as missing \((--na .*?)\)", err)[1]
    assert advice == "--na 'not known' --na NA"
    told = answer(capsys, f"select table.csv --target y --missing drop {advice}")
    assert told["rows"]["used"] == N - 2


def test_the_advice_never_excludes_the_target(folder, capsys):
    write("table.csv", "a,b,y", A, with_cells({4: "oh"}), with_cells({4: "oh"}, Y))
    err = run(capsys, "select table.csv --target y")[2]
    assert "column 'y' holds 39 numbers and 1 cell that is not a number (e.g. 'oh')" in err
    assert "--exclude" not in err
    assert "or exclude it (--exclude b)" in run(capsys, "select table.csv --target a --exclude y")[2]


# --- long cells ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("columns", "options"),
    [
        ((A, with_cells({4: LONG}), Y), ""),
        ((A, with_cells({4: "1" * 300_000}), Y), ""),
        ((A, [LONG, "blue"] * 20, Y), ""),
        ((A, [LONG, "blue"] * 20, Y), "--dry-run"),
        ((A, [LONG, "blue"] * 20, Y), "--dry-run --format csv"),
        ((A, B, [LONG, "blue"] * 20), ""),
        ((A, B, [LONG, "blue"] * 20), "--model linear"),
        ((A, B, [LONG] * 40), ""),
        ((A, B, [LONG, *["blue", "red", "blue"] * 13]), ""),
        ((A, [f"{LONG}{i % 25}" for i in range(N)], Y), ""),
        ((A, [f"{LONG}{i % 3}" for i in range(N)], [f"{LONG}{i % 3}" for i in range(N)]), ""),
        ((A, B, Y), f"--exclude {LONG[:100_000]}"),
        ((A, B, Y), f"--weights {LONG[:100_000]}"),
        ((A, B, Y), f"--enter {LONG[:100_000]}"),
        ((A, B, Y), f"--criterion {LONG[:100_000]}"),
        ((A, B, Y), f"--strategy {LONG[:100_000]}"),
        ((A, B, Y), f"--{LONG[:100_000]}"),
    ],
)
def test_long_cells_are_shortened(folder, capsys, columns, options):
    write("table.csv", "a,b,y", *columns)
    _, out, err = run(capsys, f"select table.csv --target y {options}")
    assert max(map(len, (out + err).splitlines())) < 1000


def test_long_names_are_shortened(folder, capsys):
    name = "n" * 100_000
    write("table.csv", f"{name},b,y", range(N), with_cells({3: "NA"}), Y)
    for options in "", "--missing drop", "--missing drop --dry-run", "--exclude 1,2", f"--weights {name}x":
        _, out, err = run(capsys, f"select table.csv --target y {options}")
        assert max(map(len, (out + err).splitlines())) < 1000
    write("table.csv", f"{name},{name},y", A, B, Y)
    assert len(run(capsys, "select table.csv --target y")[2]) < 1000


# --- identifiers -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("first", [2**53 + 1, 2**63 + 1, 2**64 + 1, 10**30])
@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_large_identifiers_keep_their_digits(folder, capsys, first, form):
    ids = [first + 2 * i for i in range(N)]
    write("table.csv", "who,a,y", ids, A, Y)
    told = answer(capsys, f"select table.csv --target y --include who --output few.{form}")
    assert "'who' holds integers that lose digits in double precision" in told["notes"][0]
    assert "--exclude who" in told["notes"][0]
    if form == "csv":
        written = [row["who"] for row in csv.DictReader(Path("few.csv").read_text().splitlines())]
    else:
        written = pyarrow.parquet.read_table("few.parquet")["who"].to_pylist()
    assert list(map(int, written)) == ids
    exact = answer(capsys, "select table.csv --target y --exclude who")
    assert exact["notes"] == []


def test_large_identifiers_are_distinct_as_categories_and_as_groups_of_rows(folder, capsys):
    level = RNG.integers(0, 3, N)
    ids = [2**64 + int(i) for i in level]
    write("table.csv", "who,a,y", ids, A, (level * 3 + 0.1 * A).round(3))
    assert chosen(answer(capsys, "select table.csv --target y --categorical who"))[0] == "who"
    code, out, err = run(capsys, "compare table.csv --target y --groups-column who --folds 3 --format json")
    assert code == 0, err
    assert json.loads(out)["folds"] == 3
    code, out, _ = run(capsys, "select table.csv --target who --categorical who --dry-run")
    assert code == 0
    assert "3 classes: 18446744073709551616" in out
