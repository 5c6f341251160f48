"""Ctrl-C at any time, imports included: exit code 130 and one short line, in a real process."""

import signal
import subprocess
import sys

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
        "dropstep.cli.select",
        "dropstep.readers.arrow",
        "dropstep.presentation.report",
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
