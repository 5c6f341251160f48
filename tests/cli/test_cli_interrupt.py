"""Ctrl-C or SIGTERM at any time, imports included: exit code 130 and one short line, in a real process."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

# What the console script does, with Ctrl-C pressed when a module is about to be imported.
PRESSED = """
import signal, sys
from importlib.metadata import entry_points
(script,) = entry_points(group="console_scripts", name="dropstep")
class Press:
    def find_spec(self, name, path=None, target=None):
        if name == module:
            signal.raise_signal(signal.SIGINT)
module, *sys.argv[1:] = sys.argv[1:]
sys.meta_path.insert(0, Press())
sys.exit(script.load()())
"""


@pytest.mark.parametrize(
    "module",
    [
        "numpy",
        "dropstep.select",
        "dropstep.cli.parser",
        "dropstep.cli.select_command",
        "dropstep.backends.files",
        "dropstep.report",
    ],
)
def test_interrupted_while_importing(wine, module):
    words = ["select", wine, "--target", "class", "--report", "wine.html"]
    done = subprocess.run([sys.executable, "-c", PRESSED, module, *words], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "dropstep: interrupted\n")


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_interrupted_while_reading():
    words = [sys.executable, "-m", "dropstep", "select", "-", "--target", "y"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(words, text=True, **pipes) as process:
        process.stdin.write("a,y\n" * 100_000)  # more than a pipe holds: it returns when the command reads
        process.stdin.flush()
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (130, "", "dropstep: interrupted\n")


# --- a search with an estimator --------------------------------------------------------------------------------------

FOREST = "sklearn.ensemble:RandomForestClassifier:n_estimators=60"


def interrupted(*options: str, number: int = signal.SIGINT, group: bool = False, fits: int = 4) -> tuple[int, str, str]:
    """Exit code and streams of a search that gets a signal after some fits; no process and no copy of rows remains."""
    words = ["select", "wine.csv", "--target", "class", "--model", FOREST, "--checkpoint", "fits", "--quiet", *options]
    Path("tmp").mkdir()
    process = subprocess.Popen(
        [sys.executable, "-m", "dropstep", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env=os.environ | {"TMPDIR": str(Path("tmp").resolve())},
    )
    file = Path("fits")
    while process.poll() is None and (not file.exists() or file.read_bytes().count(b"\n") <= fits):
        time.sleep(0.02)
    os.killpg(process.pid, number) if group else process.send_signal(number)
    out, err = process.communicate(timeout=60)
    assert os.listdir("tmp") == []
    deadline = time.monotonic() + 20
    while _is_running(process.pid) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not _is_running(process.pid)
    return process.returncode, out, err


def _is_running(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


SAID = (
    "dropstep: interrupted: this is the selection so far, and no file was written; the same command continues from the "
    "fits in fits\n"
)


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_search_is_shown_but_replaces_no_file(wine, number):
    Path("few.csv").write_text("precious")
    files = ["--output", "few.csv", "--report", "wine.html", "--overwrite", "--stability", "4"]
    code, out, err = interrupted(*files, number=number)
    assert (code, err) == (130, SAID)
    assert "Stopped because it was interrupted" in out
    assert Path("few.csv").read_text() == "precious"
    assert sorted(os.listdir()) == ["few.csv", "fits", "tmp", "wine.csv"]


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
@pytest.mark.parametrize(
    ("number", "group", "fits"),
    [(signal.SIGINT, True, -1), (signal.SIGTERM, True, -1), (signal.SIGINT, True, 4), (signal.SIGTERM, False, 4)],
)
def test_an_interrupted_search_with_several_processes_leaves_nothing(wine, number, group, fits):
    code, out, err = interrupted("--jobs", "2", number=number, group=group, fits=fits)
    assert (code, err) == (130, SAID)
    assert "Stopped because it was interrupted" in out
