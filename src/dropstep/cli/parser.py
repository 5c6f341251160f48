"""The parser: all commands, with their help."""

from __future__ import annotations

import argparse
import re
import sys
from typing import Any, NoReturn

from dropstep import __version__
from dropstep.cli.help import ABOUT, COMPARE, COMPLETION, EPILOG, SELECT
from dropstep.cli.moments import add_parser as add_moments
from dropstep.cli.naming import brief
from dropstep.cli.options import add_compare, add_search, add_select, add_table
from dropstep.cli.output import labelled
from dropstep.cli.schema import DOCUMENTS
from dropstep.cli.suggestions import option_hint, target_hint
from dropstep.report.text import printable
from dropstep.wording import shortened

_MINUS = re.compile(r"-(?:inf|[\d.][\d.,eE+-]*)")
MAX_ERROR = 500  # characters
SHELLS = ("bash", "zsh", "fish", "tcsh")


class Parser(argparse.ArgumentParser):
    """A parser that prints errors as one sentence, and help texts without rewrapping."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(allow_abbrev=False, formatter_class=_Help, **kwargs)
        self._negative_number_matcher = _MINUS  # values with a minus sign, not options

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse the arguments; an unknown option refers to the help of its command."""
        found, unknown = self.parse_known_args(args, namespace)
        prog = " ".join(filter(None, [self.prog, found.command]))
        if unknown:
            self.exit(2, _error(prog, option_hint(unknown, self._options(found.command))))
        if getattr(found, "target", "") is None and getattr(found.model, "kind", found.model) != "cox":
            self.exit(2, _error(prog, target_hint(found.file)))
        return found

    def _options(self, command: str | None) -> list[str]:
        """The options of a command."""
        commands = next(action for action in self._actions if isinstance(action, argparse._SubParsersAction))
        own = commands.choices[command] if command else self
        return [name for action in own._actions for name in action.option_strings]

    def error(self, message: str) -> NoReturn:
        self.exit(2, _error(self.prog, message))


def _error(prog: str, message: str) -> str:
    sentence = f"{printable(shortened(brief(message), MAX_ERROR))} (see {prog} --help)"
    return labelled(f"{prog}:", sentence, "error", sys.stderr) + "\n"


class _Help(argparse.RawDescriptionHelpFormatter):
    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=22)


def build_parser() -> Parser:
    """The whole command line."""
    parser = Parser(prog="dropstep", description=ABOUT, epilog=EPILOG)
    parser.add_argument("--version", action="version", version=f"dropstep {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands")

    select = commands.add_parser(
        "select",
        help="select features of a table",
        usage="dropstep select FILE --target COLS [options]",
        description=ABOUT,
        epilog=SELECT,
    )
    add_table(select)
    add_select(select)

    compare = commands.add_parser(
        "compare",
        help="compare strategies by cross-validation",
        usage="dropstep compare FILE --target COLS [options]",
        description="Compare strategies: selected features, evaluations, time and cross-validated error.",
        epilog=COMPARE,
    )
    add_table(compare)
    add_compare(compare)

    _add_others(commands)
    return parser


def _add_others(commands: argparse._SubParsersAction[Parser]) -> None:
    """The commands that read no table."""
    commands.add_parser(
        "demo",
        help="a selection with its report, and the paper's comparison",
        description="A selection on real data with its report, then the paper's comparison, in a minute.",
    )
    columns = commands.add_parser("columns", help="print the names of the columns of a table")
    columns.description = "Print the names of the columns of a table, one per line."
    columns.add_argument("file", metavar="FILE", help="CSV, TSV, Parquet or Arrow, gzipped or not")
    schema = commands.add_parser("schema", help="print the JSON Schema of a document")
    schema.description = "Print the JSON Schema of the output of --format json; plan is that of select --dry-run."
    schema.add_argument("document", choices=DOCUMENTS)
    add_moments(commands, add_table, add_search)
    completion = commands.add_parser("completion", help="print a shell completion script", epilog=COMPLETION)
    completion.description = "Print a script that completes commands and options in a shell."
    completion.add_argument("shell", choices=SHELLS)
