"""Shell completion scripts, generated from the parser."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from dropstep.models.least_squares.criteria import CRITERIA
from dropstep.search.strategies import STRATEGIES

# Values to suggest for options that take more than a fixed choice.
SUGGESTED = {
    "--criterion": ("auto", *CRITERIA),
    "--strategy": tuple(STRATEGIES),
    "--strategies": tuple(STRATEGIES),
}


@dataclass(frozen=True)
class Option:
    """An option of a command.

    Attributes
    ----------
    names : tuple of str
        Its names.
    help : str
        Its help text.
    takes : {"nothing", "file", "value"}
        Kind of its argument.
    values : tuple of str
        Values to suggest.
    """

    names: tuple[str, ...]
    help: str
    takes: Literal["nothing", "file", "value"]
    values: tuple[str, ...]


@dataclass(frozen=True)
class Command:
    """A command.

    Attributes
    ----------
    name : str
        Its name.
    help : str
        Its help text.
    options : tuple of Option
        Its options.
    choices : tuple of str
        Values of its positional argument, if that is a fixed choice.
    """

    name: str
    help: str
    options: tuple[Option, ...]
    choices: tuple[str, ...]


def script(parser: argparse.ArgumentParser, shell: str) -> str:
    """Generate the completion script of a shell."""
    return {"bash": _bash, "zsh": _zsh, "fish": _fish}[shell](parser.prog, list(_commands(parser)))


def _commands(parser: argparse.ArgumentParser) -> Iterator[Command]:
    of_commands = next(a for a in parser._actions if isinstance(a, argparse._SubParsersAction))
    helps = {choice.dest: choice.help or "" for choice in of_commands._choices_actions}
    for name, command in of_commands.choices.items():
        options = tuple(_option(action) for action in command._actions if action.option_strings)
        choices = [str(c) for action in command._actions if not action.option_strings for c in action.choices or ()]
        yield Command(name, helps.get(name, ""), options, tuple(choices))


def _option(action: argparse.Action) -> Option:
    names = tuple(action.option_strings)
    values = tuple(map(str, action.choices or SUGGESTED.get(names[-1], ())))
    takes: Literal["nothing", "file", "value"] = "file" if action.metavar in ("FILE", "DIR") else "value"
    return Option(names, (action.help or "").replace("%%", "%"), "nothing" if action.nargs == 0 else takes, values)


def _bash(program: str, commands: list[Command]) -> str:
    lines = [
        f"# Completion of {program} in bash.",
        f"_{program}() {{",
        '    local cur="${COMP_WORDS[COMP_CWORD]}" prev="${COMP_WORDS[COMP_CWORD-1]}" words=""',
        "    COMPREPLY=()",
        '    if [ "$COMP_CWORD" -eq 1 ]; then',
        f'        words="{" ".join([*(c.name for c in commands), "--help", "--version"])}"',
        "    else",
        '        case "${COMP_WORDS[1]} $prev" in',
    ]
    for command in commands:
        for option in command.options:
            if option.takes != "nothing":
                names = "|".join(f'"{command.name} {name}"' for name in option.names)
                lines.append(f'            {names}) words="{" ".join(option.values)}" ;;')
    lines += ["            *)", '                case "${COMP_WORDS[1]} $cur" in']
    for command in commands:
        names = " ".join(name for option in command.options for name in option.names)
        lines.append(f'                    "{command.name} -"*) words="{names}" ;;')
        if command.choices:
            lines.append(f'                    "{command.name} "*) words="{" ".join(command.choices)}" ;;')
    lines += [
        "                esac ;;",
        "        esac",
        "    fi",
        '    if [ -n "$words" ]; then COMPREPLY=($(compgen -W "$words" -- "$cur")); fi',
        "}",
        f"complete -o default -F _{program} {program}",  # files where no value is known
    ]
    return "\n".join(lines)


def _zsh(program: str, commands: list[Command]) -> str:
    lines = [f"#compdef {program}", f"_{program}() {{", "    local -a commands=("]
    lines += [f"        {_quoted(f'{c.name}:{c.help}')}" for c in commands]
    lines += [
        "    )",
        "    if (( CURRENT == 2 )); then _describe command commands; return; fi",
        "    case $words[2] in",
    ]
    for command in commands:
        lines.append(f"        {command.name}) shift words; (( CURRENT-- )); _arguments \\")
        for option in command.options:
            about = re.sub(r"([\[\]:\\])", r"\\\1", option.help)
            takes = {"nothing": "", "file": ":file:_files", "value": f":value:({' '.join(option.values)})"}[
                option.takes
            ]
            lines += [f"            {_quoted(f'*{name}[{about}]{takes}')} \\" for name in option.names]
        last = f"*:choice:({' '.join(command.choices)})" if command.choices else "*:file:_files"
        lines.append(f"            {_quoted(last)} ;;")
    lines += [
        "    esac",
        "}",
        f'if [ "$funcstack[1]" = "_{program}" ]; then _{program} "$@"; else compdef _{program} {program}; fi',
    ]
    return "\n".join(lines)


def _fish(program: str, commands: list[Command]) -> str:
    first = f"complete -c {program} -n __fish_use_subcommand -f"
    lines = [f"# Completion of {program} in fish."]
    lines += [f"{first} -a {c.name} -d {_quoted(c.help)}" for c in commands]
    lines += [f"{first} -l help -d 'show help'", f"{first} -l version -d 'show the version'"]
    for command in commands:
        here = f"complete -c {program} -n '__fish_seen_subcommand_from {command.name}'"
        if command.choices:
            lines.append(f"{here} -f -a {_quoted(' '.join(command.choices))}")
        for option in command.options:
            names = " ".join(f"-l {n[2:]}" if n.startswith("--") else f"-s {n[1:]}" for n in option.names)
            takes = {"nothing": "", "file": " -r -F", "value": f" -x -a {_quoted(' '.join(option.values))}"}[
                option.takes
            ]
            lines.append(f"{here} {names}{takes} -d {_quoted(option.help)}")
    return "\n".join(lines)


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"
