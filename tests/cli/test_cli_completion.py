"""Completion scripts: generated from the parser by shtab, and tried in the shells that are installed."""

import os
import shlex
import shutil
import subprocess
import sys
from typing import Any

import pytest

from dropstep.cli import main
from dropstep.cli.completion import SUGGESTED
from dropstep.cli.parser import SHELLS, build_parser


@pytest.fixture
def script(capsys):
    def of(shell: str) -> str:
        assert main(["completion", shell]) == 0
        return capsys.readouterr().out

    return of


def in_bash(script: str, words: list[str]) -> list[str]:
    """What bash offers for the last word."""
    line = shlex.join(words)
    call = f"COMP_WORDS=({line}); COMP_CWORD={len(words) - 1}; _shtab_dropstep; printf '%s\\n' \"${{COMPREPLY[@]}}\""
    done = subprocess.run(["bash", "-c", f"{script}\n{call}"], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return [line for line in done.stdout.splitlines() if line]


def in_fish(script: str, words: list[str]) -> list[str]:
    """What fish offers for the last word; each line is a value, a tab and its description."""
    program = f"{script}\ncomplete -C {shlex.quote(' '.join(words))}"
    done = subprocess.run(["fish", "--no-config"], input=program, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return [line.split("\t")[0] for line in done.stdout.splitlines()]


COMPLETE = {"bash": in_bash, "fish": in_fish}


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("dropstep s", ["select"]),
        ("dropstep select x.csv --max", ["--max-features", "--max-time"]),
        ("dropstep select --strategy fo", ["forward", "forward_backward"]),
        ("dropstep select x.csv --target y --criterion eb", ["ebic"]),
        ("dropstep compare --strategies sw", ["swap"]),
        ("dropstep compare --strategy sw", []),
        ("dropstep select --missing le", ["level"]),
        ("dropstep select my", ["my table.csv"]),
        ("dropstep select --report old", ["old.html"]),
        ("dropstep completion z", ["zsh"]),
    ],
)
@pytest.mark.parametrize("shell", COMPLETE)
def test_what_is_offered(script, folder, shell, line, offered):
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    for file in ("my table.csv", "old.html"):
        (folder / file).touch()
    assert sorted(COMPLETE[shell](script(shell), line.split())) == offered


@pytest.mark.parametrize("shell", COMPLETE)
def test_column_names_are_offered(script, wine, shell, tmp_path, monkeypatch):
    """The columns of the table on the line, after any option that takes columns."""
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    program = tmp_path / "bin" / "dropstep"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m dropstep "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    for option in ("--target", "-t", "--exclude"):
        assert sorted(COMPLETE[shell](script(shell), ["dropstep", "select", wine, option, "al"])) == [
            "alcalinity_of_ash",
            "alcohol",
        ]
    assert COMPLETE[shell](script(shell), ["dropstep", "select", "none.csv", "--target", "al"]) == []


@pytest.mark.parametrize("shell", SHELLS)
def test_the_scripts_can_be_read_by_their_shells(script, shell):
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"{shell} is not installed")
    done = subprocess.run([program, "-n"], input=script(shell), capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def commands() -> Any:
    """The parser of each command, by its name."""
    return next(action for action in build_parser()._actions if action.dest == "command").choices


@pytest.mark.parametrize("shell", SHELLS)
def test_every_option_of_every_command_is_known(script, shell):
    text = script(shell)
    assert {"select", "compare", "moments", "columns", "completion"} <= commands().keys()
    for command in commands().values():
        for action in command._actions:
            for name in action.option_strings:
                assert name.lstrip("-") in text


def test_a_metavar_with_a_colon_does_not_end_a_description_of_zsh(script):
    offered = " ".join(SUGGESTED["--criterion"])
    assert f"]:criterion:({offered})" in script("zsh")


def test_suggestions_are_for_options_that_exist():
    actions = [action for command in commands().values() for action in command._actions]
    assert SUGGESTED.keys() <= {name for action in actions for name in action.option_strings}


def test_without_shtab(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "shtab", None)
    assert main(["completion", "bash"]) == 2
    assert capsys.readouterr().err == "dropstep: shell completion needs shtab: pip install 'dropstep[cli]'\n"


def test_unknown_shells(capsys):
    assert main(["completion", "dos"]) == 2
    assert "invalid choice: 'dos'" in capsys.readouterr().err
