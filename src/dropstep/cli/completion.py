"""Shell completion scripts: shtab generates them from the parser; the values to suggest are ours."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from dropstep.models.least_squares.criteria import CRITERIA
from dropstep.search.strategies import STRATEGIES

# Suggestions for options whose values are not a fixed choice: names may be followed by parameters, or form a list.
SUGGESTED = {
    "--criterion": ("auto", *CRITERIA, "cv"),
    "--strategy": tuple(STRATEGIES),
    "--strategies": tuple(STRATEGIES),
}


def script(parser: argparse.ArgumentParser, shell: str) -> str:
    """Generate the completion script of a shell.

    The actions of the parser are annotated in place, so it must not parse another command line.
    """
    try:
        import shtab
    except ImportError:
        raise ImportError("shell completion needs shtab: pip install 'dropstep[cli]'") from None
    for action in _actions(parser):
        if action.metavar == "FILE":
            action.complete = shtab.FILE  # type: ignore[attr-defined]
        for name in SUGGESTED.keys() & set(action.option_strings):
            action.choices = SUGGESTED[name]
            action.metavar = None  # shtab does not escape the colon of NAME[:KEY=VALUE,...], which zsh interprets
    return shtab.complete(parser, shell)


def _actions(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    """All arguments of a parser and of its commands."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                yield from _actions(command)
        else:
            yield action
