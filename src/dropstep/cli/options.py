"""The options of the commands that read a table."""

from __future__ import annotations

import argparse

from dropstep.backends.content import MISSING
from dropstep.cli.certainty import halves, share
from dropstep.cli.specs import criterion_of, model_of, strategy_of
from dropstep.cli.values import character, integer_from, jobs_of, seconds_of, separator, strategies, threshold
from dropstep.data.missing import MISSING as MISSING_CHOICES
from dropstep.models.families import MODELS
from dropstep.models.glm.criteria import CRITERIA as OF_LIKELIHOODS
from dropstep.models.least_squares.criteria import CRITERIA
from dropstep.search.strategies import STRATEGIES
from dropstep.select import SOLVERS


def add_table(parser: argparse.ArgumentParser) -> None:
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


def add_search(parser: argparse.ArgumentParser) -> argparse._ArgumentGroup:
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


def add_select(parser: argparse.ArgumentParser) -> None:
    search = add_search(parser)
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


def add_compare(parser: argparse.ArgumentParser) -> None:
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
        help=f"linear: {_names('linear')} cv (default: r2); discriminant: {_names('discriminant')} cv (default: "
        f"trace); other models: {' '.join(OF_LIKELIHOODS)} (default: deviance); estimators: a scorer of scikit-learn, "
        "such as roc_auc; with parameters as in cp:sigma2=2 or ebic:gamma=0.5",
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
