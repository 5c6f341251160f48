"""Files the command line writes: none is replaced unless --overwrite is given, and all of them are whole."""

import os
import shlex
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from commands import run
from dropstep import Moments
from dropstep.cli.output import output_files


@pytest.mark.parametrize(("option", "file"), [("--output", "few.csv"), ("--report", "wine.html")])
def test_an_existing_file_is_kept_unless_overwrite_is_given(wine, capsys, monkeypatch, option, file):
    Path(file).write_text("precious")
    with monkeypatch.context() as patch:
        patch.setattr("dropstep.cli.select_command.any_design", lambda *_: pytest.fail("work was done"))
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


@pytest.mark.parametrize("output", ["d/b.csv", "link.csv"])
def test_no_file_of_a_glob_is_replaced(wine, capsys, output):
    Path("d").mkdir()
    for name in ("a", "b"):
        shutil.copy(wine, f"d/{name}.csv")
    Path("link.csv").symlink_to("d/a.csv")
    code, _, err = run(capsys, f"select 'd/*.csv' --target class --output {output} --overwrite")
    assert code == 2
    assert err.endswith(": this is one of the input files; choose another name\n")
    assert Path("d/a.csv").read_bytes() == Path("d/b.csv").read_bytes() == Path(wine).read_bytes()


def test_no_file_of_moments_that_is_added_is_replaced(wine, capsys):
    for name in ("a", "b"):
        assert run(capsys, f"moments make wine.csv --target class --output {name}.npz")[0] == 0
    code, _, err = run(capsys, "moments add a.npz b.npz --output b.npz --overwrite")
    assert code == 2
    assert err == "dropstep: --output b.npz: this is one of the input files; choose another name\n"


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ("--checkpoint x.csv --output x.csv", "--output x.csv: this is the file of --checkpoint"),
        ("--checkpoint ./x.html --report x.html", "--report x.html: this is the file of --checkpoint"),
        ("--checkpoint wine.csv", "--checkpoint wine.csv: this is the input file"),
    ],
)
def test_a_checkpoint_is_no_other_file(wine, capsys, monkeypatch, options, sentence):
    monkeypatch.setattr("dropstep.cli.select_command.any_design", lambda *_: pytest.fail("work was done"))
    code, _, err = run(capsys, f"select wine.csv --target class --model sklearn.naive_bayes:GaussianNB {options}")
    assert code == 2
    assert err == f"dropstep: {sentence}; choose another name\n"


def test_a_missing_input_is_named_although_the_output_exists(folder, capsys):
    Path("few.csv").write_text("precious")
    err = run(capsys, "select none.csv --target y --output few.csv --overwrite")[2]
    assert err == "dropstep: none.csv: no such file\n"


def test_a_file_that_appears_during_the_search_is_kept(wine, capsys, monkeypatch):
    from dropstep.cli import select_command as module

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


CLOSED = {
    "<&-": (0, ""),
    ">&-": (2, "dropstep: standard output cannot be written (Bad file descriptor)\n"),
    "2>&-": (0, ""),
    "<&- >&- 2>&-": (2, ""),
}


@pytest.mark.skipif(os.name == "nt", reason="the shell of POSIX")
@pytest.mark.parametrize("closed", CLOSED)
def test_closed_streams(wine, closed):
    command = f"{shlex.quote(sys.executable)} -m dropstep select wine.csv --target class --output few.csv {closed}"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True)
    code, err = CLOSED[closed]
    assert (done.returncode, done.stderr) == (code, "wrote few.csv\n" if closed == "<&-" else err)
    assert ("13 features selected" in done.stdout) == (code == 0)
    assert Path("few.csv").read_text().startswith("alcohol,")


@pytest.mark.skipif(os.name == "nt", reason="the shell of POSIX")
def test_closed_standard_input_is_an_empty_file(wine):
    command = f"{shlex.quote(sys.executable)} -m dropstep select - --target class <&-"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (2, "dropstep: standard input: this file is empty\n")


# --- temporary files -------------------------------------------------------------------------------------------------


def test_planted_links_are_not_followed(folder, monkeypatch):
    Path("victim").write_text("precious")
    monkeypatch.setattr("dropstep.atomic.secrets.token_hex", lambda n: "guessed")
    Path(".dropstep-guessed.part").symlink_to("victim")
    with (
        pytest.raises(ValueError, match=r"^new\.txt: this file cannot be written \(File exists\)"),
        output_files() as temporary,
    ):
        temporary("new.txt")
    assert Path("victim").read_text() == "precious"


@pytest.mark.skipif(os.name == "nt", reason="modes of POSIX")
def test_modes_are_kept_and_those_of_new_files_follow_the_mask(wine, capsys):
    Path("few.csv").write_text("old")
    Path("few.csv").chmod(0o640)
    before = os.umask(0o027)
    try:
        assert run(capsys, "select wine.csv --target class --output few.csv --report w.html --overwrite")[0] == 0
    finally:
        os.umask(before)
    assert [Path(name).stat().st_mode & 0o777 for name in ("few.csv", "w.html")] == [0o640, 0o640]
    Path("few.csv").chmod(0o604)
    assert run(capsys, "select wine.csv --target class --output few.csv --overwrite")[0] == 0
    assert Path("few.csv").stat().st_mode & 0o777 == 0o604


def test_names_may_be_as_long_as_the_system_allows(wine, capsys):
    name = "x" * 251 + ".csv"
    assert run(capsys, f"select wine.csv --target class --output {name}")[0] == 0
    assert sorted(os.listdir()) == ["wine.csv", name]


def test_moments_saved_by_several_threads_to_one_file(folder):
    moments = Moments.of(np.arange(12.0).reshape(6, 2), np.arange(6.0))
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: moments.save("m.npz"), range(200)))
    assert Moments.load("m.npz").n_rows == 6
    assert os.listdir() == ["m.npz"]
