"""The command line as people type it: aliases, misspellings, transposed tables, blank cells, terminals and pipes."""

import csv
import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from commands import answer, chosen, run, write_people, write_wine


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_wine("wine.csv")


# --- what is meant ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("selct wine.csv", "dropstep: unknown command 'selct'; did you mean 'select'?\n"),
        ("help", "dropstep: unknown command 'help'; the commands are select, compare, columns, moments"),
        ("wine.csv", "to select features of that table: dropstep select wine.csv --target COLUMN\n"),
        ("select wine.csv --taget class", "unrecognized arguments: --taget class; did you mean --target?"),
        ("select wine.csv", "--target, the column to explain; the columns are 'alcohol', 'malic_acid'"),
        ("select - ", "--target, the column to explain (see"),
        ("select none.csv", "--target, the column to explain (see"),
        ("select wine.csv -t class --strategy forwrd", "unknown strategy 'forwrd'; did you mean 'forward'? choose"),
        ("compare wine.csv -t class --strategies forwrd", "did you mean 'forward'?"),
    ],
)
def test_a_hint_instead_of_a_list(line, sentence, capsys):
    code, out, err = run(capsys, line)
    assert (code, out) == (2, "")
    assert sentence in err


@pytest.mark.parametrize(
    ("options", "plain"),
    [
        ("--strategy both", "--strategy bidirectional"),
        ("--strategy SFFS", "--strategy floating"),
        ("--criterion AIC --model linear", "--criterion aic --model linear"),
        ("--criterion EBIC:gamma=0.5 --model linear", "--criterion ebic:gamma=0.5 --model linear"),
        ("--model Logit --criterion BIC", "--model logistic --criterion bic"),
    ],
)
def test_names_of_other_programs(options, plain, capsys):
    given = answer(capsys, f"select wine.csv -t class {options}")
    assert chosen(given) == chosen(answer(capsys, f"select wine.csv --target class {plain}"))


def test_short_options(capsys):
    code, _, err = run(capsys, "select wine.csv -t class -r wine.html -o few.csv --no-check -q")
    assert (code, err) == (0, "")
    assert os.path.exists("wine.html")
    code, out, err = run(capsys, "select wine.csv -t class -r wine.html -o few.csv --no-check --overwrite")
    assert err == "wrote few.csv\nwrote wine.html\n"
    assert "wrote" not in out
    _, out, _ = run(capsys, "select wine.csv -t class --dry-run -r other.html")
    assert "would write other.html" in out


def test_columns_of_a_table(capsys):
    assert run(capsys, "columns wine.csv")[1].splitlines()[:2] == ["alcohol", "malic_acid"]
    assert run(capsys, "columns none.csv")[0] == 2


# --- tables ----------------------------------------------------------------------------------------------------------


def write_transposed(file: str, blank: str = "") -> None:
    with open("wine.csv") as stream:
        rows = list(zip(*csv.reader(stream), strict=True))
    with open(file, "w", newline="") as stream:
        csv.writer(stream).writerows([["gene", *(f"s{i}" for i in range(178))], *rows])
        stream.write(blank)


def test_a_transposed_table(capsys):
    write_transposed("t.csv", "," * 178 + "\r\n")
    code, _, err = run(capsys, "select t.csv -t class")
    assert code == 2
    assert "no such column, but a row of the first column has that name; if rows are features and columns are" in err
    given = answer(capsys, "select t.csv -t class --transpose")
    assert chosen(given) == chosen(answer(capsys, "select wine.csv -t class"))
    assert given["rows"] == {"read": 178, "used": 178}
    assert given["notes"][0] == "ignored 1 blank row"
    with open("t.csv", "a") as stream:
        stream.write("x,1\n")
    assert "row 16 has 2 cells, but the first row has 179" in run(capsys, "select t.csv -t class --transpose")[2]


def test_only_text_can_be_transposed(capsys):
    pytest.importorskip("pyarrow")
    run(capsys, "select wine.csv -t class -o few.parquet")
    assert "only text files can be transposed" in run(capsys, "select few.parquet -t class --transpose")[2]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_blank_rows_and_columns(end, capsys):
    rng = np.random.default_rng(0)
    cells = rng.normal(size=(40, 3)).round(3).tolist()
    lines = [f"{a},,{b},{a + c}" for a, b, c in cells]
    lines[3:3] = [",,,", " , , ,"]
    lines[9] = lines[9].replace(lines[9].split(",")[2], "#N/A")
    with open("b.csv", "w", newline="") as stream:
        stream.write(end.join(["a,empty,b,y", *lines, ",,,", '"x', ',,,"'][:-2]) + end)
    given = answer(capsys, "select b.csv -t y --missing drop")
    assert given["notes"] == [
        "ignored 3 blank rows",
        "ignored blank column: 'empty'",
        "ignored 1 of 40 rows, because values are missing",
    ]
    assert run(capsys, "select b.csv -t empty")[2].endswith("column 'empty' has no value in any row\n")


def test_a_quoted_cell_keeps_its_lines(capsys):
    with open("q.csv", "w", newline="") as stream:
        stream.write("a,b,y\n" + "".join(f'{i},"u\n,,\nv{i % 3}",{i * i}\n' for i in range(30)))
    given = answer(capsys, "select q.csv -t y --columns")
    assert given["rows"]["read"] == 30
    assert "ignored" not in " ".join(given["notes"])


def test_one_is_singular(capsys):
    with open("one.csv", "w") as stream:
        stream.write("x,y\n" + "".join(f"{i},{i + i % 3}\n" for i in range(30)))
    out = run(capsys, "select one.csv -t y --model linear")[1]
    assert "features: 1 (1 number)" in out
    assert "1 of 1 feature selected: x" in out
    assert "1 features" not in out


def test_thousands_have_commas(capsys):
    rng = np.random.default_rng(0)
    np.savetxt(
        "wide.csv", rng.normal(size=(12, 1200)), "%.3f", ",", header=",".join(f"v{i}" for i in range(1200)), comments=""
    )
    out = run(capsys, "select wide.csv -t v0")[1]
    assert "features: 1,199 (1,199 numbers)" in out
    assert "None of the 1,199 features is selected." in out


# --- JSON ------------------------------------------------------------------------------------------------------------


def test_the_selected_features_come_first(capsys):
    code, out, _ = run(capsys, "select wine.csv -t class --format json")
    assert code == 0
    assert out.startswith('{\n  "selected": [\n    {\n      "features": [\n        "flavanoids"\n')
    document = json.loads(out)
    assert "columns" not in document
    assert document["evidence"] is None
    assert document["stop"]["nearest"]["quantity"] == "p"
    assert len(answer(capsys, "select wine.csv -t class --columns")["columns"]) == 14


def test_evidence_with_a_report(capsys):
    document = answer(capsys, "select wine.csv -t class --report wine.html")
    found = document["evidence"]
    assert found["verdict"].startswith("Better than using no features: error rate ")
    assert set(found["errors"]) == {"this selection", "all features", "no features"}
    assert 0 <= document["selected"][0]["stability"] <= 1
    out = run(capsys, "select wine.csv -t class --report wine.html --overwrite")[1]
    assert "Selected again on 100 half-samples: flavanoids " in out
    assert found["verdict"] in out


# --- comparisons -----------------------------------------------------------------------------------------------------


def test_a_comparison_starts_with_its_verdict_and_writes_a_report(capsys):
    line = "compare wine.csv -t class --strategies dropping,both --report cmp.html"
    code, out, err = run(capsys, line)
    assert code == 0
    verdict = out.split("\n\n")[1]
    assert re.match(r"(Dropping|Bidirectional) has the smallest error of the strategies", verdict)
    assert err.endswith("wrote cmp.html\n")
    html = Path("cmp.html").read_text(encoding="utf-8")
    assert f'<p class="verdict">{verdict}</p>' in html
    for part in ("all features", "no features", "flavanoids", line):
        assert part in html
    assert "this file exists; add --overwrite" in run(capsys, line)[2]
    refused = "compare wine.csv -t alcohol --strategies stepwise --enter 1 --leave 2 --report refused.html"
    assert run(capsys, refused)[0] == 0
    assert "stepwise could cycle" in Path("refused.html").read_text(encoding="utf-8")


# --- terminals -------------------------------------------------------------------------------------------------------


def in_terminal(arguments: str, columns: int, **env: str) -> str:
    """What a terminal of some columns shows."""
    main, other = pty.openpty()
    environment = {**os.environ, "COLUMNS": str(columns), "TERM": "xterm", **env}
    environment = {name: value for name, value in environment.items() if value}
    command = [sys.executable, "-m", "dropstep", *arguments.split()]
    process = subprocess.Popen(command, stdin=other, stdout=other, stderr=other, env=environment, close_fds=True)
    os.close(other)
    found = b""
    while True:
        try:
            chunk = os.read(main, 65536)
        except OSError:
            break
        if not chunk:
            break
        found += chunk
    process.wait(60)
    os.close(main)
    return found.decode().replace("\r\n", "\n")


def test_everything_fits_the_terminal_in_colour():
    write_people("people.csv")
    shown = in_terminal("select people.csv -t income --strategy stepwise", 60, NO_COLOR="")
    assert "\x1b[1m" in shown
    assert "\x1b[33mnote:\x1b[0m" in shown
    plain = in_terminal("select people.csv -t income --strategy stepwise -q", 60, NO_COLOR="1")
    assert "\x1b" not in plain
    assert max(map(len, plain.splitlines())) <= 60
    assert "\x1b[31mdropstep:\x1b[0m" in in_terminal("select none.csv -t y", 60, NO_COLOR="")
    assert "\x1b[1m" not in in_terminal("select people.csv -t income -q", 60, NO_COLOR="", TERM="dumb")


@pytest.mark.parametrize(
    "arguments",
    [
        "select people.csv -t income --strategy stepwise",
        "compare people.csv -t income --strategies forward,dropping,stepwise,swap",
        "select wide.csv -t y",
        "select people.csv -t incme",
        "select people.csv --taget income",
        "selct people.csv",
    ],
)
@pytest.mark.parametrize("columns", [50, 80])
def test_notes_errors_and_verdicts_fit_the_terminal(arguments, columns):
    write_people("people.csv")
    rng = np.random.default_rng(0)
    header = ",".join(["y", *(f"v{i}" for i in range(60))])
    np.savetxt("wide.csv", rng.normal(size=(30, 61)), "%.3f", ",", header=header, comments="")
    shown = re.sub(r".*\r\x1b\[K", "", in_terminal(arguments, columns, NO_COLOR="1"))  # without the line of progress
    assert len(shown) > 50
    assert max(map(len, shown.splitlines())) <= columns


def test_a_terminal_says_how_to_get_a_report(capsys):
    hint = "Add --report FILE.html for a report"
    assert hint in in_terminal("select wine.csv -t class", 200)
    assert hint not in in_terminal("select wine.csv -t class -q", 200)
    assert hint not in in_terminal("select wine.csv -t class --report wine.html --no-check", 200)
    assert hint not in "".join(run(capsys, "select wine.csv -t class")[1:])


def test_messages_name_options(capsys):
    """Notes and sentences of the library, which name parameters, name options on the command line."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 8))
    names = ",".join(["y", *"abcdefgh", *(f"{c}2" for c in "abcdefgh")])
    np.savetxt("twice.csv", np.c_[X[:, 0] + rng.normal(size=40), X, X], "%.4f", ",", header=names, comments="")
    code, _, err = run(capsys, "select twice.csv -t y")
    assert code == 0
    assert "to ignore them, use --exclude\n" in err
    line = "select wine.csv -t class --model sklearn.naive_bayes:GaussianNB --max-features 1 --report nb.html"
    code, out, _ = run(capsys, line)
    assert code == 0
    assert re.search(r"Cross-validated accuracy 0\.\d+ with these features, 0\.399 with none\.", out)
    assert "use --stability, and cross-validate a pipeline with Selector." in out


def test_counts_and_ranges_have_separators(capsys):
    rows = [f"{i % 7},{i},{'yes' if i % 3 else 'no'}\n" for i in range(4000)]
    Path("long.csv").write_text("x,y,z\n" + "".join(rows))
    assert "target: z, 2 classes: no (1,334), yes (2,666)" in run(capsys, "select long.csv -t z")[1]
    assert "target: y, numbers from 0 to 3,999" in run(capsys, "select long.csv -t y")[1]


def test_many_classes_are_shown_in_several_tables():
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(12), 20)
    X = rng.normal(size=(240, 3)) + y[:, None] * [1.0, 0.5, 0.2]
    np.savetxt("many.csv", np.c_[X, y], "%.4f", ",", header="a,b,c,class", comments="")
    shown = in_terminal("select many.csv -t class --model discriminant -q", 60, NO_COLOR="1")
    assert max(map(len, shown.splitlines())) <= 60
    assert shown.count("(intercept)") >= 3


def test_pipes_have_no_colours(capsys):
    assert "\x1b" not in "".join(run(capsys, "select wine.csv -t class")[1:])
