"""Files the command line writes: none is replaced unless --overwrite is given, and all of them are whole."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from commands import run
from dropstep.cli.output import output_files


@pytest.mark.parametrize(("option", "file"), [("--output", "few.csv"), ("--report", "wine.html")])
def test_an_existing_file_is_kept_unless_overwrite_is_given(wine, capsys, monkeypatch, option, file):
    Path(file).write_text("precious")
    with monkeypatch.context() as patch:
        patch.setattr("dropstep.cli.select.read_design", lambda *_: pytest.fail("work was done"))
        code, out, err = run(capsys, f"select wine.csv --target class {option} {file}")
    assert (code, out) == (2, "")
    assert (
        err == f"dropstep: {option} {file}: this file exists; add --overwrite to replace it, or choose another name\n"
    )
    assert Path(file).read_text() == "precious"
    assert run(capsys, f"select wine.csv --target class {option} {file} --overwrite")[0] == 0
    assert Path(file).read_text(encoding="utf-8") != "precious"
    assert sorted(os.listdir()) == sorted(["wine.csv", file])


def test_the_file_that_is_read_is_never_replaced(wine, capsys):
    code, _, err = run(capsys, "select wine.csv --target class --output wine.csv --overwrite")
    assert code == 2
    assert "this is the input file" in err


def test_a_missing_input_is_named_although_the_output_exists(folder, capsys):
    Path("few.csv").write_text("precious")
    err = run(capsys, "select none.csv --target y --output few.csv --overwrite")[2]
    assert err == "dropstep: none.csv: no such file\n"


def test_a_file_that_appears_during_the_search_is_kept(wine, capsys, monkeypatch):
    from dropstep.cli import select as module

    search = module._search

    def meanwhile(*args):
        Path("few.csv").write_text("precious")
        return search(*args)

    monkeypatch.setattr(module, "_search", meanwhile)
    code, _, err = run(capsys, "select wine.csv --target class --output few.csv")
    assert code == 2
    assert "--output few.csv: this file exists" in err
    assert Path("few.csv").read_text() == "precious"
    assert sorted(os.listdir()) == ["few.csv", "wine.csv"]


# --- failures while writing ------------------------------------------------------------------------------------------


def limited(line: str, most: int) -> subprocess.CompletedProcess:
    """A command in a process that cannot write files of more than so many bytes."""
    resource = pytest.importorskip("resource")
    return subprocess.run(
        [sys.executable, "-m", "dropstep", *line.split()],
        capture_output=True,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (most, most)),
    )


@pytest.mark.parametrize(
    ("options", "file"),
    [
        ("--output few.csv.gz", "few.csv.gz"),
        ("--output few.parquet", "few.parquet"),
        ("--report wine.html --output few.tsv", "few.tsv"),
    ],
)
def test_a_full_disk_names_the_file_and_leaves_nothing_behind(wine, options, file):
    done = limited(f"select wine.csv --target class {options}", 1000)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr == f"dropstep: {file}: this file cannot be written (File too large); no file was written\n"
    assert os.listdir() == ["wine.csv"]


def test_a_full_disk_keeps_the_file_that_was_there(wine):
    Path("few.csv").write_text("precious")
    done = limited("select wine.csv --target class --output few.csv --overwrite", 1000)
    assert "few.csv: this file cannot be written" in done.stderr
    assert Path("few.csv").read_text() == "precious"
    assert sorted(os.listdir()) == ["few.csv", "wine.csv"]


def test_an_error_while_renaming_names_the_file(folder, monkeypatch):
    def refuse(self, target):
        raise PermissionError(13, "Permission denied", str(self))

    monkeypatch.setattr("pathlib.Path.replace", refuse)
    with (
        pytest.raises(ValueError, match=r"^new\.txt: this file cannot be written \(Permission denied\)"),
        output_files() as temporary,
    ):
        Path(temporary("new.txt")).write_text("new")
    assert os.listdir() == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no device that is always full")
def test_standard_output_that_cannot_be_written_is_named(wine):
    line = "select wine.csv --target class"
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "dropstep", *line.split()], stdout=full, stderr=subprocess.PIPE, text=True
        )
    assert done.returncode == 2
    assert done.stderr == "dropstep: standard output cannot be written (No space left on device)\n"
