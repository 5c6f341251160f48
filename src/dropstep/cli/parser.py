"""The parser: all commands and options, with their help."""

from __future__ import annotations

import argparse
import re
from typing import Any, NoReturn

from dropstep import __version__
from dropstep.cli.certainty import halves, share
from dropstep.cli.moments import add_parser as add_moments
from dropstep.cli.naming import brief
from dropstep.cli.schema import DOCUMENTS
from dropstep.cli.specs import criterion_of, model_of, strategy_of
from dropstep.cli.suggestions import option_hint, target_hint
from dropstep.cli.values import character, integer_from, jobs_of, seconds_of, separator, strategies, threshold
from dropstep.data.missing import MISSING as MISSING_CHOICES
from dropstep.models.families import MODELS
from dropstep.models.glm.criteria import CRITERIA as OF_LIKELIHOODS
from dropstep.models.least_squares.criteria import CRITERIA
from dropstep.presentation.text import printable
from dropstep.readers.columns import MISSING
from dropstep.readers.wording import shortened
from dropstep.search.strategies import STRATEGIES
from dropstep.select import SOLVERS

_MINUS = re.compile(r"-(?:inf|[\d.][\d.,eE+-]*)")
MAX_ERROR = 500  # characters
SHELLS = ("bash", "zsh", "fish", "tcsh")

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
    return f"{prog}: {printable(shortened(brief(message), MAX_ERROR))} (see {prog} --help)\n"


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
    _add_table(select)
    _add_select(select)

    compare = commands.add_parser(
        "compare",
        help="compare strategies by cross-validation",
        usage="dropstep compare FILE --target COLS [options]",
        description="Compare strategies: selected features, evaluations, time and cross-validated error.",
        epilog=COMPARE,
    )
    _add_table(compare)
    _add_compare(compare)

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
    add_moments(commands, _add_table, _add_search)
    completion = commands.add_parser("completion", help="print a shell completion script", epilog=COMPLETION)
    completion.description = "Print a script that completes commands and options in a shell."
    completion.add_argument("shell", choices=SHELLS)


def _add_table(parser: Parser) -> None:
    parser.add_argument("file", metavar="FILE", help="CSV, TSV, Parquet or Arrow, gzipped or not; - is standard input")
    parser.add_argument(
        "--target", "-t", metavar="COLS", help="target column or columns (required, except with --model cox)"
    )
    layout = parser.add_argument_group("input")
    layout.add_argument("--no-header", action="store_true", help="the first line is data, not column names")
    layout.add_argument(
        "--transpose", action="store_true", help="rows are features and columns are samples; names are in column 1"
    )
    layout.add_argument("--skip", type=integer_from(0), default=0, metavar="N", help="skip N lines before the header")
    layout.add_argument(
        "--separator", type=separator, metavar="CHAR", help="a character, tab or space (default: detected)"
    )
    layout.add_argument("--decimal", type=character, default=".", metavar="CHAR", help="decimal separator (default: .)")
    layout.add_argument("--thousands", type=character, metavar="CHAR", help="thousands separator (default: none)")
    layout.add_argument("--encoding", metavar="NAME", help="text encoding, e.g. latin-1 (default: UTF-8)")
    layout.add_argument(
        "--na",
        action="append",
        metavar="TEXT",
        help=f"marks a missing value; may be repeated, '' is an empty cell (default: '' {' '.join(MISSING[1:])})",
    )
    layout.add_argument(
        "--missing",
        choices=(*MISSING_CHOICES, "drop-columns"),
        default="error",
        help="drop rows or columns with missing or infinite values, or make missing text a level (default: error)",
    )
    layout.add_argument(
        "--categorical", action="append", metavar="COLS", help="numeric columns to treat as categorical"
    )


def _add_search(parser: Parser) -> argparse._ArgumentGroup:
    """The strategy, the model and the parameters of Selector."""
    search = parser.add_argument_group("search")
    search.add_argument(
        "--strategy",
        type=strategy_of,
        default="dropping",
        metavar="NAME",
        help=f"{', '.join(STRATEGIES)}, with parameters as in beam:width=5 or exhaustive:n_best=3 (default: dropping)",
    )
    _add_model(search)
    _add_parameters(search)
    return search


def _add_select(parser: Parser) -> None:
    search = _add_search(parser)
    search.add_argument("--weights", metavar="COL", help="sample weights; a weight of 2 counts the row twice")
    search.add_argument(
        "--max-time", type=seconds_of, metavar="SECONDS", help="end the search after SECONDS with the path so far"
    )
    _add_fits(parser.add_argument_group("estimators"))
    _add_certainty(parser.add_argument_group("certainty"))
    output = parser.add_argument_group("output")
    output.add_argument("--report", "-r", metavar="FILE", help="write an HTML report to FILE")
    output.add_argument(
        "--output",
        "-o",
        metavar="FILE",
        help="write the selected columns and the target to FILE: .csv, .tsv (.gz) or .parquet",
    )
    output.add_argument(
        "--no-check", action="store_true", help="omit stability and held-out error, which take about 100 searches"
    )
    output.add_argument("--overwrite", action="store_true", help="replace existing files")
    output.add_argument("--dry-run", action="store_true", help="show the plan and its cost without searching")
    _add_common(output)


def _add_fits(fits: argparse._ArgumentGroup) -> None:
    fits.add_argument("--cv", type=integer_from(2), metavar="N", help="number of cross-validation folds (default: 5)")
    fits.add_argument(
        "--scoring",
        dest="criterion",
        type=criterion_of,
        default=argparse.SUPPRESS,
        metavar="NAME",
        help="the same as --criterion",
    )
    fits.add_argument(
        "--groups-column", metavar="COL", help="keep rows with the same value in one fold, half-sample or held-out part"
    )
    fits.add_argument(
        "--jobs", dest="n_jobs", type=jobs_of, metavar="N", help="number of processes; -1 is one per core (default: 1)"
    )
    fits.add_argument(
        "--random-state", type=integer_from(0), metavar="N", help="random seed of the folds' order and of the estimator"
    )
    fits.add_argument("--checkpoint", metavar="FILE", help="write every fit to FILE, and resume from it")


def _add_certainty(sure: argparse._ArgumentGroup) -> None:
    sure.add_argument(
        "--stability",
        type=halves,
        metavar="N",
        help="repeat the selection on N random halves of the rows, and report how often each feature is selected",
    )
    sure.add_argument(
        "--holdout",
        type=share,
        metavar="SHARE",
        help="select without a random SHARE of the rows, such as 0.3, and report scores and coefficients on them",
    )


def _add_compare(parser: Parser) -> None:
    search = parser.add_argument_group("search")
    search.add_argument(
        "--strategies",
        type=strategies,
        metavar="LIST",
        help=f"comma-separated, from {', '.join(STRATEGIES)} (default: all but beam and exhaustive)",
    )
    _add_model(search)
    _add_parameters(search)
    folds = parser.add_argument_group("cross-validation")
    folds.add_argument("--folds", type=integer_from(2), default=5, metavar="N", help="number of folds (default: 5)")
    folds.add_argument(
        "--seed", type=integer_from(0), default=0, metavar="N", help="random seed of the folds (default: 0)"
    )
    folds.add_argument("--groups-column", metavar="COL", help="keep rows with the same value in one fold")
    folds.add_argument("--svm", action="store_true", help="for classes, also report a support vector machine")
    output = parser.add_argument_group("output")
    output.add_argument("--report", "-r", metavar="FILE", help="write an HTML report to FILE")
    output.add_argument("--overwrite", action="store_true", help="replace existing files")
    _add_common(output)


def _add_model(search: argparse._ArgumentGroup) -> None:
    search.add_argument(
        "--model",
        type=model_of,
        default="auto",
        metavar="NAME[:KEY=VALUE]|MODULE:CLASS",
        help=f"{', '.join(MODELS)}, with parameters as in logistic:shortlist=16 (default: linear or discriminant, by "
        "the type of the target); or an estimator, as in sklearn.ensemble:RandomForestClassifier:n_estimators=50",
    )
    search.add_argument("--time", metavar="COL", help="time of the event or of censoring, with --model cox")
    search.add_argument("--event", metavar="COL", help="1 (true) for an event, 0 for censoring, with --model cox")
    search.add_argument("--offset", metavar="COL", help="added to the linear predictor, such as a log exposure")
    search.add_argument("--strata", metavar="COL", help="strata with baseline hazards of their own, with --model cox")


def _add_parameters(search: argparse._ArgumentGroup) -> None:
    """The parameters of Selector that all commands have."""
    search.add_argument(
        "--criterion",
        type=criterion_of,
        default="auto",
        metavar="NAME[:KEY=VALUE,...]",
        help=f"linear: {_names('linear')} cv (default: ebic); discriminant: {_names('discriminant')} cv (default: "
        f"trace); other models: {' '.join(OF_LIKELIHOODS)} (default: ebic); estimators: a scorer of scikit-learn such "
        "as roc_auc; with parameters as in cp:sigma2=2 or ebic:gamma=0.5",
    )
    _add_thresholds(search)
    search.add_argument(
        "--max-features",
        type=integer_from(1),
        metavar="N",
        help="maximum number of columns of the file to select; a group of --groups counts once",
    )
    search.add_argument("--include", action="append", metavar="COLS", help="included from the start and never removed")
    search.add_argument("--exclude", action="append", metavar="COLS", help="excluded from the search")
    search.add_argument(
        "--groups", action="append", metavar="COLS", help="selected as a whole; repeat the option for each group"
    )
    search.add_argument(
        "--solver",
        choices=SOLVERS,
        default="auto",
        help="precompute the Gram matrix, or compute its rows on demand (default: by cost)",
    )


def _add_thresholds(search: argparse._ArgumentGroup) -> None:
    search.add_argument(
        "--enter",
        type=threshold,
        default="auto",
        metavar="GAIN|pLEVEL|RULE",
        help="a feature enters if its gain exceeds GAIN, or if it is significant at LEVEL, as in p0.15; or "
        "permutation:0.05, or knockoffs:0.1 (with --strategy forward)",
    )
    search.add_argument(
        "--leave",
        type=threshold,
        default="auto",
        metavar="LOSS|pLEVEL",
        help="a feature leaves if its loss is at most LOSS, or if it is not significant (default: as --enter)",
    )
    search.add_argument(
        "--drop",
        type=threshold,
        metavar="GAIN|pLEVEL",
        help="a candidate is dropped if its gain is at most GAIN, or if it is not significant (default: as --leave)",
    )


def _names(kind: str) -> str:
    return " ".join(name for name, criterion in CRITERIA.items() if criterion.kind == kind)


def _add_common(output: argparse._ArgumentGroup) -> None:
    output.add_argument(
        "--format", choices=("table", "json", "csv"), default="table", help="format of standard output (default: table)"
    )
    output.add_argument("--columns", action="store_true", help="with --format json, also list all columns of the file")
    output.add_argument("--quiet", "-q", action="store_true", help="print no notes and no progress")
    output.add_argument("--traceback", action="store_true", help="print the traceback of an error")


# --- values ----------------------------------------------------------------------------------------------------------
