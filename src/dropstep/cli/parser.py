"""The parser: every word of the command line, and its help."""

from __future__ import annotations

import argparse
import dataclasses
import math
import re
from typing import TYPE_CHECKING, Any, Literal, NoReturn

from dropstep import __version__
from dropstep.cli.naming import brief, printable
from dropstep.data.target import MODELS
from dropstep.models.least_squares.criteria import CRITERIA, Criterion
from dropstep.readers.columns import MISSING
from dropstep.readers.wording import shortened
from dropstep.search.strategies import STRATEGIES

if TYPE_CHECKING:
    from dropstep.search.rules import Significance

_MINUS = re.compile(r"-(?:inf|[\d.][\d.,eE+-]*)")
LONGEST_ERROR = 500  # characters
SHELLS = ("bash", "zsh", "fish")

WINE = """python -c "import numpy as n, sklearn.datasets as d; w = d.load_wine(); n.savetxt(
    'wine.csv', n.c_[w.data, w.target], '%g', ',', comments='',
    header=','.join([*w.feature_names, 'class']))\""""

ABOUT = "Select the features of a table that explain a target."
EXIT_CODES = """\
exit codes:
  0    done
  1    an internal error in dropstep (please report it, with what --traceback shows)
  2    an error in the request or in the file, explained in one sentence
  130  interrupted (Ctrl-C)
  141  the reader of the output closed it (as in: dropstep ... | head -1)
"""
EPILOG = f"""\
in a minute, with a table that scikit-learn ships:
  {WINE}
  dropstep select wine.csv --target class
  dropstep compare wine.csv --target class

dropstep COMMAND --help tells more about a command.

{EXIT_CODES}"""

COLUMNS = """\
columns (COL, COLS):
  A column is given by its name or by its number: 1 is the first, -1 the last.
  COLS are several: by commas, by a range of numbers, or by giving the option
  again, as in --exclude id,date --exclude 7-9. Without a header, columns are
  called c1, c2, ...

  Numbers are used as they are. Text and true/false are categories: such a
  column is chosen as a whole. Dates, and text with more than a thousand values
  or one for every second row, are left out, and a note says so.
"""
SELECT = f"""\
{COLUMNS}
examples (dropstep --help shows how to make wine.csv):
  dropstep select wine.csv --target class
  dropstep select wine.csv --target class --report wine.html --output few.csv
  dropstep select wine.csv --target class --max-features 3 --format json
  dropstep select wine.csv --target alcohol --exclude class --strategy stepwise
  dropstep select wine.csv --target alcohol --criterion ebic:gamma=0.5
  dropstep select wine.csv --target alcohol --criterion cp:sigma2=0.3,per_sample
  gzip -c wine.csv | dropstep select - --target -1 --dry-run

{EXIT_CODES}"""
COMPARE = f"""\
{COLUMNS}
errors:
  The error is cross-validated, with the selection repeated inside every fold,
  on the rows of the other folds only: the share of wrong classes by linear
  discriminant analysis, or the root mean squared error of a linear regression.
  Two more rows show the error with all features and with none. Where rows
  belong together (recordings of one person), name the column that says so with
  --groups-column: such rows stay in one fold, or the errors would be too small.

examples (dropstep --help shows how to make wine.csv):
  dropstep compare wine.csv --target class
  dropstep compare wine.csv --target class --strategies dropping,stepwise --svm
  dropstep compare wine.csv --target alcohol --folds 10 --seed 7 --format csv

{EXIT_CODES}"""
COMPLETION = """\
to switch it on:
  bash:  dropstep completion bash >> ~/.bash_completion
  zsh:   dropstep completion zsh > "${fpath[1]}/_dropstep"
  fish:  dropstep completion fish > ~/.config/fish/completions/dropstep.fish
"""


class Parser(argparse.ArgumentParser):
    """A parser that tells an error in one sentence, and shows the examples as they are."""

    def __init__(self, **words: Any) -> None:
        super().__init__(allow_abbrev=False, formatter_class=_Help, **words)
        self._negative_number_matcher = _MINUS  # what follows an option as its value, and is no option

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Options from words; an option that a command does not have refers to the help of that command."""
        found, unknown = self.parse_known_args(args, namespace)
        if unknown:
            prog = " ".join(filter(None, [self.prog, found.command]))
            self.exit(2, _error(prog, f"unrecognized arguments: {' '.join(unknown)}"))
        return found

    def error(self, message: str) -> NoReturn:
        self.exit(2, _error(self.prog, message))


def _error(prog: str, message: str) -> str:
    return f"{prog}: {printable(shortened(brief(message), LONGEST_ERROR))} (see {prog} --help)\n"


class _Help(argparse.RawDescriptionHelpFormatter):
    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=22)


def build_parser(*, paper: bool = False) -> Parser:
    """The whole command line; the words of `paper` are loaded only when they are asked for."""
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
    _add_table(select)
    _add_select(select)

    compare = commands.add_parser(
        "compare",
        help="compare all strategies on a table, with cross-validated errors",
        usage="dropstep compare FILE --target COLS [options]",
        description="Compare the strategies: features, evaluations, time, and the cross-validated error.",
        epilog=COMPARE,
    )
    _add_table(compare)
    _add_compare(compare)

    tables = commands.add_parser("paper", help="reproduce the tables and figures of the paper", add_help=paper)
    if paper:
        from dropstep.paper import command

        command.add_arguments(tables)
    commands.add_parser(
        "demo", help="the paper's comparison in a minute", description="The paper's comparison in a minute."
    )
    completion = commands.add_parser("completion", help="print a script for completion in the shell", epilog=COMPLETION)
    completion.description = "Print a script that completes the words of dropstep in a shell."
    completion.add_argument("shell", choices=SHELLS)
    return parser


def _add_table(parser: Parser) -> None:
    parser.add_argument("file", metavar="FILE", help="CSV, TSV, Parquet or Arrow, gzipped or not; - is standard input")
    parser.add_argument("--target", required=True, metavar="COLS", help="what is to be explained (required)")
    layout = parser.add_argument_group("the file")
    layout.add_argument("--no-header", action="store_true", help="the first line is a row, not the names of columns")
    layout.add_argument("--skip", type=_from(0), default=0, metavar="N", help="pass over N lines before the header")
    layout.add_argument(
        "--separator", type=_separator, metavar="CHAR", help="a character, tab or space (default: detected)"
    )
    layout.add_argument("--decimal", type=_character, default=".", metavar="CHAR", help="decimal mark (default: .)")
    layout.add_argument(
        "--thousands", type=_character, metavar="CHAR", help="mark between groups of digits (default: none)"
    )
    layout.add_argument("--encoding", metavar="NAME", help="of the text, e.g. latin-1 (default: UTF-8)")
    layout.add_argument(
        "--na",
        action="append",
        metavar="TEXT",
        help=f"stands for a missing value; may be repeated, '' is an empty cell (default: '' {' '.join(MISSING[1:])})",
    )
    layout.add_argument(
        "--missing",
        choices=("fail", "drop-rows", "drop-columns"),
        default="fail",
        help="where values are missing or infinite: leave out those rows, or columns (default: fail and say where)",
    )
    layout.add_argument("--categorical", action="append", metavar="COLS", help="numbers that stand for categories")


def _add_select(parser: Parser) -> None:
    search = parser.add_argument_group("the search")
    search.add_argument(
        "--strategy", choices=tuple(STRATEGIES), default="dropping", help="how to search (default: dropping)"
    )
    _add_words(search)
    search.add_argument("--weights", metavar="COL", help="how many rows each row stands for")
    output = parser.add_argument_group("the output")
    output.add_argument("--report", metavar="FILE", help="write a report to FILE, in HTML")
    output.add_argument(
        "--output",
        metavar="FILE",
        help="write the selected columns and the target to FILE: .csv, .tsv (.gz) or .parquet",
    )
    output.add_argument("--overwrite", action="store_true", help="replace files that exist already")
    output.add_argument(
        "--dry-run", action="store_true", help="say what would be done and what it would cost, and stop"
    )
    _add_common(output)


def _add_compare(parser: Parser) -> None:
    search = parser.add_argument_group("the search")
    search.add_argument(
        "--strategies", type=_strategies, metavar="LIST", help=f"some of {', '.join(STRATEGIES)} (default: all)"
    )
    _add_words(search)
    folds = parser.add_argument_group("cross-validation")
    folds.add_argument("--folds", type=_from(2), default=5, metavar="N", help="cut the rows into N parts (default: 5)")
    folds.add_argument("--seed", type=_from(0), default=0, metavar="N", help="of the folds (default: 0)")
    folds.add_argument("--groups-column", metavar="COL", help="rows with the same value stay in one fold")
    folds.add_argument("--svm", action="store_true", help="for classes: a support vector machine as well")
    _add_common(parser.add_argument_group("the output"))


def _add_words(search: argparse._ArgumentGroup) -> None:
    """The words of Selector."""
    search.add_argument(
        "--model", choices=MODELS, default="auto", help="numbers or classes (default: as the target looks)"
    )
    search.add_argument(
        "--criterion",
        type=criterion_of,
        default="auto",
        metavar="NAME[:KEY=VALUE,...]",
        help=f"for numbers {_names('linear')} (default: ebic), for classes {_names('discriminant')} (default: trace), "
        "with parameters as in cp:sigma2=2 or ebic:gamma=0.5",
    )
    _add_thresholds(search)
    search.add_argument(
        "--max-features",
        type=_from(1),
        metavar="N",
        help="the most columns of the file to select; a category counts once, and so does a group of --groups",
    )
    search.add_argument("--rounds", type=_rounds, default=1, metavar="N", help="of fbed, or inf (default: 1)")
    search.add_argument("--include", action="append", metavar="COLS", help="in from the start, and never removed")
    search.add_argument("--exclude", action="append", metavar="COLS", help="never looked at")
    search.add_argument("--groups", action="append", metavar="COLS", help="chosen as a whole; once for each group")


def _add_thresholds(search: argparse._ArgumentGroup) -> None:
    search.add_argument(
        "--enter",
        type=_threshold,
        default="auto",
        metavar="GAIN|pLEVEL",
        help="a feature enters if its gain is larger, or if it is significant at a level, as in p0.15",
    )
    search.add_argument(
        "--leave",
        type=_threshold,
        default="auto",
        metavar="LOSS|pLEVEL",
        help="a feature leaves if its loss is no larger, or if it is not significant (default: as --enter)",
    )
    search.add_argument(
        "--drop",
        type=_threshold,
        metavar="GAIN|pLEVEL",
        help="a candidate is dropped if its gain is no larger, or if it is not significant (default: as --leave)",
    )


def _names(kind: str) -> str:
    return " ".join(name for name, criterion in CRITERIA.items() if criterion.kind == kind)


def _add_common(output: argparse._ArgumentGroup) -> None:
    output.add_argument(
        "--format", choices=("table", "json", "csv"), default="table", help="of standard output (default: table)"
    )
    output.add_argument("--quiet", action="store_true", help="no notes and no progress on standard error")
    output.add_argument("--traceback", action="store_true", help="with an error, show where in the program it arose")


# --- values ----------------------------------------------------------------------------------------------------------


def _from(least: int) -> Any:
    def whole(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            value = least - 1
        if value < least:
            raise argparse.ArgumentTypeError(f"it must be a whole number from {least}; got {text!r}")
        return value

    return whole


def _threshold(text: str) -> float | Significance | Literal["auto"]:
    """A number in units of the criterion, auto, or a significance level: p0.05."""
    if text == "auto":
        return "auto"
    try:
        value = float(text.removeprefix("p"))
    except ValueError:
        value = math.nan
    if math.isnan(value):
        raise argparse.ArgumentTypeError(
            f"it must be auto, a number, or a significance level such as p0.05; got {text!r}"
        )
    if not text.startswith("p"):
        return value
    if not 0 < value < 1:
        raise argparse.ArgumentTypeError(f"a significance level must lie between 0 and 1; got {text!r}")
    from dropstep.search.rules import Significance

    return Significance(value)


def _rounds(text: str) -> float:
    return math.inf if text == "inf" else int(_from(0)(text))


def _character(text: str) -> str:
    if len(text) != 1:
        raise argparse.ArgumentTypeError(f"it must be one character; got {text!r}")
    return text


def _separator(text: str) -> str:
    words = {"tab": "\t", "\\t": "\t", "space": " ", "comma": ",", "semicolon": ";"}
    return words.get(text) or _character(text)


def _strategies(text: str) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
    unknown = [name for name in names if name not in STRATEGIES]
    if unknown or not names:
        raise argparse.ArgumentTypeError(f"there is no strategy {text!r}; there are {', '.join(STRATEGIES)}")
    return names


def criterion_of(text: str) -> str | Criterion:
    """A criterion by name, or with parameters: cp:sigma2=2,per_sample."""
    name, _, rest = text.partition(":")
    if name != "auto" and name not in CRITERIA:
        raise argparse.ArgumentTypeError(f"there is no {name!r}; there are {', '.join(['auto', *CRITERIA])}")
    if not rest:
        return name
    known = parameters(name)
    words = {}
    for part in rest.split(","):
        key, _, value = part.partition("=")
        if key not in known:
            takes = f"takes {', '.join(known)}" if known else "takes no parameters"
            raise argparse.ArgumentTypeError(f"{name} {takes}; got {key!r}")
        words[key] = _parameter(key, value, known[key])
    try:
        return CRITERIA[name](**words)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def parameters(criterion: str) -> dict[str, str]:
    """Parameters of a criterion that a user may give, and their types."""
    if criterion not in CRITERIA or not dataclasses.is_dataclass(CRITERIA[criterion]):
        return {}
    types = {field.name: str(field.type) for field in dataclasses.fields(CRITERIA[criterion])}
    return {name: kind for name, kind in types.items() if kind.split(" |")[0] in ("float", "int", "bool")}


def _parameter(key: str, value: str, kind: str) -> float | int | bool:
    if kind.startswith("bool"):
        answers = {"": True, "true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
        if value.lower() not in answers:
            raise argparse.ArgumentTypeError(f"{key} must be true or false; got {value!r}")
        return answers[value.lower()]
    try:
        return int(value) if kind.startswith("int") else float(value)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{key} must be a number; got {value!r}") from None
