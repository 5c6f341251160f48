"""The command line: its commands and options, their help, and what a user probably meant by others."""

from __future__ import annotations

import argparse
import difflib
import os
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NoReturn

from dropstep import __version__
from dropstep.backends.content import MISSING
from dropstep.cli.columns import column_names
from dropstep.cli.naming import brief
from dropstep.cli.output import labelled
from dropstep.cli.values import (
    CHARACTER,
    HALVES,
    SHARE,
    criterion_of,
    model_of,
    rule_of,
    separator,
    strategies_of,
    strategy_of,
)
from dropstep.models.families import MODELS
from dropstep.models.glm.criteria import CRITERIA as OF_LIKELIHOODS
from dropstep.models.least_squares.criteria import CRITERIA
from dropstep.parameters import DEFAULTS, ENTRIES, NUMBER_OF_FOLDS, SEED, Command, whole
from dropstep.report.text import printable
from dropstep.search.strategies import STRATEGIES
from dropstep.wording import listed, shortened

Read = Callable[[str], Any]
Add = Callable[..., None]

MAX_ERROR = 500  # characters
SHELLS = ("bash", "zsh", "fish", "tcsh")
TABLES = (".csv", ".tsv", ".txt", ".parquet", ".arrow", ".feather", ".gz")
# Texts of parameters whose values are objects, and the names in their help.
READERS: dict[str, Read] = {
    "strategy": strategy_of,
    "model": model_of,
    "criterion": criterion_of,
    "enter": rule_of,
    "leave": rule_of,
    "drop": rule_of,
}
KINDS = {kind: [name for name, one in CRITERIA.items() if one.kind == kind] for kind in ("linear", "discriminant")}
VOCABULARY = {
    "strategies": ", ".join(STRATEGIES),
    "models": ", ".join(MODELS),
    "likelihoods": " ".join(OF_LIKELIHOODS),
    **{kind: " ".join(names) for kind, names in KINDS.items()},
}
_MINUS = re.compile(r"-(?:inf|[\d.][\d.,eE+-]*)")


# --- help ------------------------------------------------------------------------------------------------------------

WINE = """python -c "import numpy as n, sklearn.datasets as d; w = d.load_wine(); n.savetxt(
    'wine.csv', n.c_[w.data, w.target], '%g', ',', comments='',
    header=','.join([*w.feature_names, 'class']))\""""

ABOUT = "Select the features of a table that explain a target."
EXIT_CODES = """\
exit codes:
  0    success
  1    an internal error in dropstep (please report it with the output of --traceback)
  2    an error in the request or in the file, explained in one sentence
  130  interrupted (Ctrl-C)
  141  the output pipe was closed (as in: dropstep ... | head -1)
"""
EPILOG = f"""\
quick start, with a table from scikit-learn:
  {WINE}
  dropstep select wine.csv --target class
  dropstep compare wine.csv --target class

dropstep COMMAND --help describes a command.

{EXIT_CODES}"""

COLUMNS = """\
columns (COL, COLS):
  A column is given by its name or by its number: 1 is the first, -1 the last.
  COLS are several columns: separated by commas, a range of numbers, or by
  repeating the option, as in --exclude id,date --exclude 7-9. Without a header,
  the columns are named c1, c2, ...

  Text and true/false columns are categorical and are selected as a whole;
  --missing level makes their missing values a level.
  Dates, and text with more than 1000 levels or with more than one level per two
  rows, are ignored with a note.
"""
SELECT = f"""\
{COLUMNS}
examples (dropstep --help shows how to make wine.csv):
  dropstep select wine.csv --target class
  dropstep select wine.csv --target class --report wine.html --output few.csv
  dropstep select wine.csv --target class --max-features 3 --format json
  dropstep select wine.csv --target alcohol --exclude class --strategy stepwise
  dropstep select wine.csv --target alcohol --criterion ebic:gamma=0.5
  dropstep select wine.csv --target class --model logistic --criterion aic
  dropstep select wine.csv --target alcohol --criterion cp:sigma2=0.3,per_sample
  dropstep select wine.csv --target class --model sklearn.naive_bayes:GaussianNB --cv 5
  gzip -c wine.csv | dropstep select - --target -1 --dry-run

{EXIT_CODES}"""
COMPARE = f"""\
{COLUMNS}
errors:
  Errors are cross-validated, with the selection repeated on the training rows
  of every fold: the error rate of linear discriminant analysis, or the root
  mean squared error of linear regression. Two more rows show the error with all
  features and with none. If rows are dependent (such as several recordings of
  one person), give the column that identifies them with --groups-column: they
  stay in one fold, since errors would be optimistically biased otherwise.

examples (dropstep --help shows how to make wine.csv):
  dropstep compare wine.csv --target class
  dropstep compare wine.csv --target class --strategies dropping,stepwise --svm
  dropstep compare wine.csv --target alcohol --folds 10 --seed 7 --format csv

{EXIT_CODES}"""
COMPLETION = """\
to enable it:
  bash:  dropstep completion bash >> ~/.bash_completion
  zsh:   dropstep completion zsh > "${fpath[1]}/_dropstep"
  fish:  dropstep completion fish > ~/.config/fish/completions/dropstep.fish
  tcsh:  dropstep completion tcsh >> ~/.tcshrc

It needs the package shtab: pip install 'dropstep[cli]'.
"""
MOMENTS = """\
Moments are counts, means and the scatter matrix of the columns. Those of several files can be added, and a selection
from the sum equals that from all rows together, so that sites that may not share rows can share moments.

They are not anonymous: the means of a level or class with few rows are almost the rows themselves. `make` warns below
10 rows. Text columns become one column per level, and levels that only some files have are added as such.

examples (dropstep --help shows how to make wine.csv):
  dropstep moments make wine.csv --target class --output site1.npz
  dropstep moments add site1.npz site2.npz --output all.npz
  dropstep moments select all.npz --strategy stepwise
"""

# --- the parser ------------------------------------------------------------------------------------------------------


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
            own = self.commands()[found.command] if found.command else self
            self.exit(2, _error(prog, _unknown_option(unknown, own)))
        if getattr(found, "target", "") is None and getattr(found.model, "kind", found.model) != "cox":
            self.exit(2, _error(prog, _no_target(found.file)))
        return found

    def commands(self) -> dict[str, Parser]:
        """The parser of each command, by its name."""
        return dict(next(action.choices for action in self._actions if isinstance(action, argparse._SubParsersAction)))

    def error(self, message: str) -> NoReturn:
        self.exit(2, _error(self.prog, message))


class _Help(argparse.RawDescriptionHelpFormatter):
    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=22)


def _error(prog: str, message: str) -> str:
    sentence = f"{printable(shortened(brief(message), MAX_ERROR))} (see {prog} --help)"
    return labelled(f"{prog}:", sentence, "error", sys.stderr) + "\n"


def unknown_command(text: str, commands: Iterable[str]) -> str:
    """The sentence for a command that does not exist."""
    names = list(commands)
    if os.path.isfile(text) or text.lower().endswith(TABLES):
        return f"{text!r} is not a command; to select features of that table: dropstep select {text} --target COLUMN"
    near = difflib.get_close_matches(text.lower(), names, n=1, cutoff=0.5)
    hint = f"did you mean {near[0]!r}?" if near else f"the commands are {', '.join(names)}"
    return f"unknown command {text!r}; {hint}"


def _unknown_option(unknown: Sequence[str], parser: Parser) -> str:
    """The sentence for arguments that a command does not have."""
    first = unknown[0].partition("=")[0]
    names = [name for action in parser._actions for name in action.option_strings if name.startswith("--")]
    near = [name for name in names if len(first) > 3 and name.startswith(first)]
    near = near or (difflib.get_close_matches(first, names, n=1) if first.startswith("-") else [])
    return f"unrecognized arguments: {' '.join(unknown)}" + (f"; did you mean {near[0]}?" if near else "")


def _no_target(file: str) -> str:
    """The sentence for a command line without a target, with the columns of the file if it can be read."""
    sentence = "the following arguments are required: --target, the column to explain"
    try:
        return sentence if file == "-" else f"{sentence}; the columns are {listed(column_names(file), 8)}"
    except (OSError, ValueError):
        return sentence


# --- commands --------------------------------------------------------------------------------------------------------


def build_parser() -> Parser:
    """The whole command line."""
    parser = Parser(prog="dropstep", description=ABOUT, epilog=EPILOG)
    parser.add_argument("--version", action="version", version=f"dropstep {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands")
    usage = "dropstep {} FILE --target COLS [options]".format

    select = commands.add_parser("select", help="select features of a table", usage=usage("select"), epilog=SELECT)
    select.description = ABOUT
    _add_select(select)

    compare = commands.add_parser("compare", help="compare strategies by cross-validation", usage=usage("compare"))
    compare.description = "Compare strategies: selected features, evaluations, time and cross-validated error."
    compare.epilog = COMPARE
    _add_compare(compare)

    columns = commands.add_parser("columns", help="print the names of the columns of a table")
    columns.description = "Print the names of the columns of a table, one per line."
    columns.add_argument("file", metavar="FILE", help="CSV, TSV, Parquet or Arrow, gzipped or not")

    moments = commands.add_parser("moments", help="make, add and select from moments", epilog=MOMENTS)
    moments.description = "Selection without sharing rows: moments of files, their sums, and selections from them."
    _add_moments(moments)

    completion = commands.add_parser("completion", help="print a shell completion script", epilog=COMPLETION)
    completion.description = "Print a script that completes commands and options in a shell."
    completion.add_argument("shell", choices=SHELLS)
    return parser


def _add_select(parser: Parser) -> None:
    _add_table(parser)
    _add_parameters(parser, "select")
    search = _section(parser, "search")
    _add_columns(search)
    search("--weights", "sample weights; a weight of 2 counts the row twice", "COL")

    fits = _section(parser, "estimators")
    fits("--scoring", "the same as --criterion", "NAME", criterion_of, dest="criterion", default=argparse.SUPPRESS)
    fits("--groups-column", "keep rows with the same value in one fold, half-sample or held-out part", "COL")

    sure = _section(parser, "certainty")
    often = "repeat the selection on N random halves of the rows, and report how often each feature is selected"
    sure("--stability", often, "N", HALVES.read)
    on_them = "select without a random SHARE of the rows, such as 0.3, and report scores and coefficients on them"
    sure("--holdout", on_them, "SHARE", SHARE.read)

    output = _section(parser, "output")
    written = "write the selected columns and the target to FILE: .csv, .tsv (.gz) or .parquet"
    output("--output", written, "FILE", short="-o")
    output("--no-check", "omit stability and held-out error, which take about 100 searches")
    output("--dry-run", "show the plan and its cost without searching")
    _add_result(parser)
    output("--columns", "with --format json, also list all columns of the file")


def _add_compare(parser: Parser) -> None:
    _add_table(parser)
    search = _section(parser, "search")
    chosen = "comma-separated, from {strategies} (default: all but beam and exhaustive)"
    search("--strategies", chosen.format(**VOCABULARY), "LIST", strategies_of)
    _add_parameters(parser, "compare")
    _add_columns(search)

    folds = _section(parser, "cross-validation")
    folds("--folds", "number of folds (default: 5)", "N", NUMBER_OF_FOLDS.read, default=5)
    folds("--seed", "random seed of the folds (default: 0)", "N", SEED.read, default=0)
    folds("--groups-column", "keep rows with the same value in one fold", "COL")
    folds("--svm", "for classes, also report a support vector machine")

    _add_result(parser)
    _section(parser, "output")("--columns", "with --format json, also list all columns of the file")


def _add_moments(parser: Parser) -> None:
    actions = parser.add_subparsers(dest="action", metavar="ACTION", title="actions", required=True)

    make = actions.add_parser("make", help="moments of the rows of a file", epilog=MOMENTS)
    _add_table(make)
    make.add_argument("--model", choices=("auto", "linear", "discriminant"), default="auto", help="kind of target")
    option = _section(make, "options")
    option("--weights", "sample weights; a weight of 2 counts the row twice", "COL")
    option("--exclude", "columns to omit", "COLS", action="append")
    _add_parameters(make, "select", ("missing",))
    make.set_defaults(**{name: DEFAULTS[name] for name in ("include", "groups", "solver")})

    total = actions.add_parser("add", help="the moments of all rows of several files", epilog=MOMENTS)
    total.add_argument("files", nargs="+", metavar="FILE", help="files of moments (.npz)")
    for each in (make, total):
        each.add_argument("--output", metavar="FILE", required=True, help="write the moments to FILE (.npz)")
        _add_common(_section(each, "options"))

    chosen = actions.add_parser("select", help="select features from moments", epilog=MOMENTS)
    chosen.add_argument("files", nargs="+", metavar="FILE", help="files of moments (.npz), which are added")
    _add_parameters(chosen, "moments")
    _add_result(chosen)


# --- options ---------------------------------------------------------------------------------------------------------


def _section(parser: argparse.ArgumentParser, title: str) -> Add:
    """Adds options to a section of the help of a command."""
    groups = {group.title: group for group in parser._action_groups}
    group = groups.get(title) or parser.add_argument_group(title)

    def add(flag: str, text: str, metavar: str | None = None, read: Read | None = None, **given: Any) -> None:
        flags = [flag, *filter(None, (given.pop("short", None),))]
        if metavar is not None:
            given["metavar"] = metavar
        if read is not None:
            given["type"] = _as_type(read)
        elif metavar is None and "choices" not in given:
            given["action"] = "store_true"
        group.add_argument(*flags, help=text, **given)

    return add


def _as_type(read: Read) -> Read:
    """A reader of texts whose ValueError is the sentence that argparse prints."""

    def convert(text: str) -> Any:
        try:
            return read(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return convert


def _add_table(parser: argparse.ArgumentParser) -> None:
    """The file, and how to read it."""
    parser.add_argument("file", metavar="FILE", help="CSV, TSV, Parquet or Arrow, gzipped or not; - is standard input")
    target = "target column or columns (required, except with --model cox)"
    parser.add_argument("--target", "-t", metavar="COLS", help=target)
    layout = _section(parser, "input")
    layout("--no-header", "the first line is data, not column names")
    layout("--transpose", "rows are features and columns are samples; names are in column 1")
    layout("--skip", "skip N lines before the header", "N", whole(0).read, default=0)
    layout("--separator", "a character, tab or space (default: detected)", "CHAR", separator)
    layout("--decimal", "decimal separator (default: .)", "CHAR", CHARACTER.read, default=".")
    layout("--thousands", "thousands separator (default: none)", "CHAR", CHARACTER.read)
    layout("--encoding", "text encoding, e.g. latin-1 (default: UTF-8)", "NAME")
    gaps = f"marks a missing value; may be repeated, '' is an empty cell (default: '' {' '.join(MISSING[1:])})"
    layout("--na", gaps, "TEXT", action="append")
    layout("--categorical", "numeric columns to treat as categorical", "COLS", action="append")


def _add_parameters(parser: argparse.ArgumentParser, command: Command, only: Sequence[str] = tuple(ENTRIES)) -> None:
    """The parameters of `select` that a command has."""
    for name in only:
        entry = ENTRIES[name]
        option = entry.option
        if option is None or command not in option.commands:
            continue
        domain = option.domain or entry.domain
        given: dict[str, Any] = {"dest": name, "default": entry.default}
        if option.repeated:
            given["action"] = "append"
        elif domain is not None and domain.choices:
            given["choices"] = domain.choices
        else:
            given["read"] = READERS.get(name) or (str if domain is None else domain.read)
        add = _section(parser, option.section)
        add(entry.flag, option.help.format(**VOCABULARY), option.metavar, **given)


def _add_columns(search: Add) -> None:
    """The columns that are given per row, by the option that names them."""
    search("--time", "time of the event or of censoring, with --model cox", "COL")
    search("--event", "1 (true) for an event, 0 for censoring, with --model cox", "COL")
    search("--offset", "added to the linear predictor, such as a log exposure", "COL")
    search("--strata", "strata with baseline hazards of their own, with --model cox", "COL")


def _add_result(parser: argparse.ArgumentParser) -> None:
    """The report, and the format of what is printed."""
    output = _section(parser, "output")
    output("--report", "write an HTML report to FILE", "FILE", short="-r")
    output("--format", "format of standard output (default: table)", choices=("table", "json", "csv"), default="table")
    _add_common(output)


def _add_common(output: Add) -> None:
    output("--overwrite", "replace existing files")
    output("--quiet", "print no notes and no progress", short="-q")
    output("--traceback", "print the traceback of an error")
