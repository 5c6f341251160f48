"""Completion scripts: made from the parser, and tried in a shell."""

import shlex
import shutil
import subprocess

import pytest

from dropstep.cli import main
from dropstep.cli.parser import SHELLS, build_parser


@pytest.fixture
def script(capsys):
    def of(shell: str) -> str:
        assert main(["completion", shell]) == 0
        return capsys.readouterr().out

    return of


def completed(script: str, *words: str) -> list[str]:
    """What bash would offer for the last word."""
    line = " ".join(map(shlex.quote, words))
    ask = f"COMP_WORDS=({line}); COMP_CWORD={len(words) - 1}; _dropstep; printf '%s\\n' \"${{COMPREPLY[@]}}\""
    done = subprocess.run(["bash", "-c", f"{script}\n{ask}"], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return done.stdout.split()


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_bash(script):
    text = script("bash")
    assert completed(text, "dropstep", "s") == ["select"]
    assert completed(text, "dropstep", "select", "x.csv", "--max-f") == ["--max-features"]
    assert completed(text, "dropstep", "select", "--strategy", "fo") == ["forward", "forward_backward"]
    assert completed(text, "dropstep", "compare", "--criterion", "eb") == ["ebic"]
    assert completed(text, "dropstep", "compare", "--strategy", "f") == []
    assert completed(text, "dropstep", "select", "--report", "") == []  # files, which bash finds itself
    assert completed(text, "dropstep", "completion", "z") == ["zsh"]


@pytest.mark.parametrize("shell", SHELLS)
def test_every_option_of_every_command_is_known(script, shell):
    text = script(shell)
    commands = next(a for a in build_parser()._actions if a.dest == "command").choices
    assert {"select", "compare", "demo", "completion"} <= commands.keys()
    for command in commands.values():
        for action in command._actions:
            for name in action.option_strings:
                assert (f"-l {name[2:]}" if shell == "fish" and name[:2] == "--" else name[-3:]) in text


@pytest.mark.parametrize("shell", SHELLS)
def test_the_scripts_can_be_read_by_their_shells(script, shell):
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"{shell} is not installed")
    subprocess.run([program, "-n"], input=script(shell), text=True, check=True)


def test_unknown_shells(capsys):
    assert main(["completion", "dos"]) == 2
    assert "invalid choice: 'dos'" in capsys.readouterr().err
