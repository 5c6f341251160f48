"""Every code block of the README and the documentation is executed, and its output compared with the output shown.

The blocks of a page run in order, in one empty folder: `python` blocks share a namespace, `sh` blocks find the commands
of this environment, and `r` blocks run if R is installed. A `text` block immediately after one of them, or after a
script that a `literalinclude` shows, is the expected output. Any other kind of block is an error.
"""

import contextlib
import doctest
import importlib.util
import io
import os
import re
import runpy
import shutil
import subprocess
import sys
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from unittest.mock import patch

import pytest

from dropstep.search.strategies import STRATEGIES

ROOT = Path(__file__).resolve().parents[1]
DEMONSTRATION = {"demo.py", "from_scratch.py"}  # make demo: longer than an example
EXAMPLES = sorted(script for script in (ROOT / "examples").glob("*.py") if script.name not in DEMONSTRATION)
GENERATED = {"paper.md"}  # written by a command, with results and no code
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md")),
    *(page for page in sorted((ROOT / "docs").glob("*.md")) if page.name not in GENERATED),
]
FENCE = re.compile(r"^```(?P<kind>[^\n]*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
NOT_CODE = {"text", "sas", "{toctree}", "{eval-rst}", "{math}"}  # SAS is not available
OPTIONAL = ("mlxtend", "sklearn.callback")  # a block that imports one of them is skipped if it is not installed
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@dataclass(frozen=True)
class Block:
    kind: str
    text: str
    shown: str | None  # the expected output
    line: int


def blocks(page: Path) -> list[Block]:
    source = page.read_text(encoding="utf-8")
    found = list(FENCE.finditer(source))
    made = []
    for block, after in zip_longest(found, found[1:]):
        close = after is not None and after["kind"] == "text" and not source[block.end() : after.start()].strip()
        line = source.count("\n", 0, block.start()) + 1
        made.append(Block(block["kind"].strip(), block["text"], after["text"] if close else None, line))
    return made


def of_python(block: Block, names: dict) -> str:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(block.text, f"line {block.line}", "exec"), names)
    return printed.getvalue()


def of_script(path: Path) -> str | None:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        try:
            runpy.run_path(str(path), run_name="__main__")
        except SystemExit:  # its data is not available
            return None
    return printed.getvalue()


def of_program(command: list[str], folder: Path) -> str:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    env = {**os.environ, "PATH": path, "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


def has_r(code: str) -> bool:
    """True if R is installed, with the packages that the code loads."""
    wanted = re.findall(r"library\((\w+)\)", code)
    check = [f'stopifnot(requireNamespace("{name}", quietly = TRUE))' for name in wanted]
    command = ["Rscript", "--vanilla", "-e", "; ".join([*check, "invisible()"])]
    return shutil.which("Rscript") is not None and subprocess.run(command, capture_output=True).returncode == 0


def printed(block: Block, names: dict, folder: Path) -> str | None:
    """Output of a block; None if it cannot run here."""
    match block.kind.split():
        case ["python"]:
            missing = [name for name in OPTIONAL if name in block.text and importlib.util.find_spec(name) is None]
            return None if missing else of_python(block, names)
        case ["sh"]:
            return of_program(["bash", "-eu", "-o", "pipefail", "-c", block.text], folder)
        case ["r"]:
            return of_program(["Rscript", "--vanilla", "-e", block.text], folder) if has_r(block.text) else None
        case ["{literalinclude}", script] if script.startswith("../src/"):
            return None  # the library itself
        case ["{literalinclude}", script]:
            return of_script((ROOT / "docs" / script).resolve())
        case [kind] if kind in NOT_CODE:
            return None
    raise AssertionError(f"a block that nothing runs: {block.kind!r}")


@pytest.fixture(autouse=True)
def _restored(tmp_path, monkeypatch):
    """An empty folder and no windows; the strategies are restored afterwards."""
    plt = pytest.importorskip("matplotlib.pyplot")
    plt.switch_backend("agg")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["example.py"])
    before = dict(STRATEGIES)
    with plt.rc_context():
        yield
    STRATEGIES.clear()
    STRATEGIES.update(before)
    plt.close("all")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
@pytest.mark.no_cover  # other tests cover what the pages show
@patch.dict("os.environ")  # what a page sets is restored
def test_every_block_prints_what_the_page_shows(page, tmp_path):
    names: dict = {"__name__": "__page__"}
    for block in blocks(page):
        got = printed(block, names, tmp_path)
        if got is not None and block.shown is not None:
            right = doctest.OutputChecker().check_output(block.shown, got, FLAGS)
            assert right, f"{page.name}, line {block.line}: shown\n{block.shown}\nprinted\n{got}"


@pytest.mark.parametrize("script", EXAMPLES, ids=lambda script: script.name)
def test_an_example_is_short_and_in_the_gallery(script):
    assert len(script.read_text(encoding="utf-8").splitlines()) < 100
    gallery = [block.kind for block in blocks(ROOT / "docs" / "gallery.md")]
    assert f"{{literalinclude}} ../examples/{script.name}" in gallery


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_the_commands_of_make_that_the_pages_name_exist():
    made = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    for page in PAGES:
        assert set(re.findall(r"`make ([a-z-]+)`", page.read_text(encoding="utf-8"))) <= made
