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


# Functions that print the columns of the first file on the command line.
COLUMNS = {
    "bash": """
_dropstep_columns() {
  local word name
  for word in "${COMP_WORDS[@]:2}"; do
    if [[ "$word" != -* && -f "$word" ]]; then
      while IFS= read -r name; do
        [[ "$name" == "$1"* ]] && printf '%s\\n' "$name"
      done < <(dropstep columns "$word" 2> /dev/null)
      return
    fi
  done
}
""",
    "zsh": """
_dropstep_columns() {
  local word
  local -a names
  for word in ${words[2,-1]}; do
    if [[ -f $word ]]; then
      names=("${(@f)$(dropstep columns $word 2> /dev/null)}")
      compadd -a names
      return
    fi
  done
}
""",
    "fish": """
function _dropstep_columns
  for word in (commandline -opc)
    if test -f $word
      dropstep columns $word 2> /dev/null
      return
    end
  end
end
""",
}
COMPLETE_COLUMNS = {"bash": "_dropstep_columns", "zsh": "_dropstep_columns", "fish": "(_dropstep_columns)"}


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
        if action.metavar in ("COL", "COLS") and shell in COMPLETE_COLUMNS:
            action.complete = COMPLETE_COLUMNS  # type: ignore[attr-defined]
        for name in SUGGESTED.keys() & set(action.option_strings):
            action.choices = SUGGESTED[name]
            action.metavar = None  # shtab does not escape the colon of NAME[:KEY=VALUE,...], which zsh interprets
    return shtab.complete(parser, shell, preamble=COLUMNS)  # type: ignore[arg-type]


def _actions(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    """All arguments of a parser and of its commands."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                yield from _actions(command)
        else:
            yield action
