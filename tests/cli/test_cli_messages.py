"""Messages of the command line: the options they advise exist, nouns agree with their counts, tables fit the screen."""

import argparse
import ast
import inspect
import os
import re
import sys
from pathlib import Path

import numpy as np
import pytest

import dropstep.backends
import dropstep.cli
from commands import run, write_people
from dropstep.cli import naming, output
from dropstep.cli.parser import build_parser
from dropstep.wording import counted, quoted, shortened

OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*[a-z]")


def options_of(command: str) -> set[str]:
    commands = next(a for a in build_parser()._actions if isinstance(a, argparse._SubParsersAction))
    return {name for action in commands.choices[command]._actions for name in action.option_strings}


# Modules that serve one command; every other module serves both.
ALONE = {
    "select_command.py": "select",
    "facts.py": "select",
    "output.py": "select",
    "compare_command.py": "compare",
}
# Options that a shared module mentions only where they were given, or only for the command that has them.
GIVEN = {
    ("roles.py", "--weights"),
    ("roles.py", "--groups-column"),
    ("design.py", "--weights"),
    ("design.py", "--offset"),
    ("design.py", "--time"),
    ("design.py", "--event"),
    ("roles.py", "--offset"),
    ("roles.py", "--strata"),
    ("roles.py", "--time"),
    ("roles.py", "--event"),
    ("__init__.py", "--dry-run"),
    ("naming.py", "--weights"),
    ("naming.py", "--strategy"),
    ("naming.py", "--strategies"),
    ("naming.py", "--stability"),
}


def mentioned(file: Path) -> set[str]:
    """Options in the texts of a file, docstrings left out."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    documented = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    texts = (node for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str))
    return {option for node in texts if id(node) not in documented for option in OPTION.findall(node.value)}


@pytest.mark.parametrize("command", ["select", "compare"])
def test_every_option_that_a_message_may_advise_exists(command):
    folders = [Path(inspect.getfile(package)).parent for package in (dropstep.cli, dropstep.backends)]
    files = [
        file
        for folder in folders
        for file in folder.glob("*.py")
        if file.name not in ("parser.py", "completion.py", "moments_command.py")
    ]
    assert len(files) > 12
    known = options_of(command)
    for file in files:
        if ALONE.get(file.name, command) == command:
            unknown = {option for option in mentioned(file) - known if (file.name, option) not in GIVEN}
            assert not unknown, file


def test_backends_name_no_option():
    """Only the command line knows options."""
    assert not {o for file in Path(inspect.getfile(dropstep.backends)).parent.glob("*.py") for o in mentioned(file)}


@pytest.mark.parametrize("command", ["select", "compare"])
def test_the_library_speaks_in_options_of_the_command(command):
    said = (
        "give it as MallowsCp(sigma2=...), use strategy='dropping', model='linear', criterion='ebic' or max_features=3"
    )
    found = OPTION.findall(naming.in_options(said, command))
    assert len(found) == 5
    assert set(found) <= options_of(command)


@pytest.mark.parametrize("command", ["select", "compare"])
def test_too_little_memory_advises_options_of_the_command(wine, capsys, monkeypatch, command):
    def fail(*_, **__):
        raise MemoryError

    monkeypatch.setattr(f"dropstep.cli.{command}_command.{command}", fail)
    code, _, err = run(capsys, f"{command} wine.csv --target class")
    assert code == 2
    assert "not enough memory" in err
    assert set(OPTION.findall(err)) <= options_of(command)


@pytest.mark.parametrize(
    ("cells", "advice"),
    [
        (["1,5", "2,25"], "holds numbers written like '1,5'; add --decimal , for a decimal comma"),
        (["1,234", "2,345"], "add --thousands , for thousands, or --decimal , for a decimal comma"),
        (["1,234,567", "12"], "add --thousands ,"),
        (["1.234,5", "2.345,6"], "add --thousands . --decimal ,"),
        (["1 234", "2 345"], "add --thousands ' '"),
        (["1", "2", "3", "n.b."], "mark it as missing (--na n.b.)"),
    ],
)
def test_numbers_in_another_format_advise_an_option(folder, capsys, cells, advice):
    Path("table.csv").write_text("x;y\n" + "\n".join(f"{cell};{i}" for i, cell in enumerate(cells)))
    code, _, err = run(capsys, "select table.csv --target y --separator ;")
    assert code == 2
    assert advice in err


@pytest.mark.parametrize(
    ("data", "advice"),
    [
        (b"a,b\n1,2\n3\n", "but the first row has 2; correct the file, or give its separator, e.g. --separator ';'"),
        (b"a,b\n1,\xe9\n", "is not UTF-8; use another --encoding, e.g. --encoding latin-1"),
        (b"a,b\n1,\x00\n", "or UTF-16; for UTF-16, add --encoding utf-16"),
        (b"1,1\n1,2\n", "2 times in the header; if the file has no header, add --no-header"),
        (b",,x\na,b,c\n1,2,3\n", "no name in the header; if the names are in the next line, add --skip 1"),
    ],
)
def test_files_that_cannot_be_read_advise_an_option(folder, capsys, data, advice):
    Path("table.csv").write_bytes(data)
    code, _, err = run(capsys, "select table.csv --target 1")
    assert (code, err.count("\n")) == (2, 1)
    assert advice in err


def test_an_unknown_encoding_advises_others(wine, capsys):
    err = run(capsys, "select wine.csv --target class --encoding klingon")[2]
    assert err.endswith("unknown encoding 'klingon'; choose another --encoding, such as utf-8, latin-1 or cp1252\n")


# --- nouns -----------------------------------------------------------------------------------------------------------


def test_nouns_agree_with_their_counts():
    assert [counted(n, "row") for n in (0, 1, 2)] == ["0 rows", "1 row", "2 rows"]
    assert counted(1, "class", "classes") == "1 class"
    assert counted(3, "class", "classes") == "3 classes"
    assert quoted("it") == "'it'"
    assert quoted("x" * 50) == f"'{'x' * 40}…' (50 characters)"
    assert shortened("x" * 1234) == "x" * 40 + "… (1,234 characters)"


@pytest.mark.parametrize("line", ["", "--missing drop", "--missing drop-columns", "--dry-run --missing drop"])
@pytest.mark.parametrize("table", ["holes", "odd", "texts", "dates"])
def test_one_is_never_several(folder, capsys, line, table):
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, 20)).round(3).astype(str)
    other = {
        "holes": ["", *x[1:]],
        "odd": ["oh", *x[1:]],
        "texts": ["red", "blue"] * 10,
        "dates": ["2020-01-01", "2020-01-02"] * 10,
    }[table]
    rows = zip(x, other, y, strict=True)
    Path("table.csv").write_text("\n".join(["x,other,y", *(",".join(row) for row in rows)]))
    _, out, err = run(capsys, f"select table.csv --target y {line}")
    said = "\n".join(line for line in (out + err).splitlines() if not line.startswith("dropping by"))  # str(path)
    said = re.sub(r"\bof \d+ \w+|\d+ x \d+ \w+", "", said)
    assert re.findall(r"(?<![\d.,])1 \w+s\b", said) == []


def test_several_columns_take_a_plural(folder, capsys):
    rng = np.random.default_rng(0)
    table = np.c_[np.arange(30), 30 - np.arange(30), rng.normal(size=(30, 2))]
    np.savetxt("table.csv", table, "%.6g", ",", header="one,two,x,y", comments="")
    err = run(capsys, "select table.csv --target y")[2]
    assert "probable identifiers: 'one', 'two' (to ignore them, use --exclude one,two)" in err
    err = run(capsys, "select table.csv --target y --exclude one")[2]
    assert "probable identifier: 'two' (to ignore it, use --exclude two)" in err


# --- tables ----------------------------------------------------------------------------------------------------------


def screen(monkeypatch, width: int | None) -> None:
    """Standard output is a terminal of a width, or none."""
    monkeypatch.setattr("sys.stdout.isatty", lambda: width is not None, raising=False)
    monkeypatch.setattr("shutil.get_terminal_size", lambda *_: os.terminal_size((width or 80, 24)))


def test_tables_fit_the_terminal(monkeypatch):
    head, rows = ["#", "feature", "gain", "phase"], [["1", "n" * 70, "12.5", "forward"], ["2", "short", "3", "forward"]]
    screen(monkeypatch, 40)
    monkeypatch.setenv("NO_COLOR", "1")
    lines = output.as_table(head, rows, "><><").splitlines()
    assert {len(lines[0].rstrip()), len(lines[1])} == {40} | {len(lines[0].rstrip())}
    assert max(map(len, lines)) == 40
    assert "n…  12.5  forward" in lines[2]
    assert "short" in lines[3]
    screen(monkeypatch, None)
    assert max(map(len, output.as_table(head, rows, "><><").splitlines())) > 70


def test_numbers_are_never_cut(monkeypatch):
    screen(monkeypatch, 20)
    table = output.as_table(["feature", "gain"], [["n" * 30, "123456789.123456789"]], "<>")
    assert "123456789.123456789" in table
    assert "nn…" in table


def test_wide_characters_count_twice(monkeypatch):
    screen(monkeypatch, None)
    lines = output.as_table(["name", "n"], [["日本語", "1"], ["abcdef", "2"]], "<>").splitlines()
    assert lines[2] == "日本語  1"
    assert lines[3] == "abcdef  2"
    assert lines[1] == "-" * 9


@pytest.mark.parametrize("width", [60, 80, 120])
@pytest.mark.parametrize("line", ["select people.csv", "select people.csv --dry-run", "compare people.csv --folds 2"])
def test_tables_of_the_commands_fit_an_ordinary_terminal(folder, capsys, monkeypatch, width, line):
    write_people("people.csv")
    text = Path("people.csv").read_text().replace("work", "hours of work in a week, " + "on average " * 9, 1)
    Path("people.csv").write_text(text.replace("hours", '"hours', 1).replace("average ,", 'average",', 1))
    screen(monkeypatch, width)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: False, raising=False)
    code, out, err = run(capsys, f"{line} --target income --exclude weight,code")
    assert code == 0, err
    table = re.search(r"^.*\n-{20,}\n(?:.+\n)+", re.sub("\x1b[^m]*m", "", out), re.MULTILINE)[0]
    assert max(map(len, table.splitlines())) <= width
