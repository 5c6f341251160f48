"""dropstep compare: all strategies on the same table, with cross-validated errors."""

from __future__ import annotations

import argparse
from typing import Any

from dropstep import __version__
from dropstep.cli import facts, output
from dropstep.cli.design import Design, read_design
from dropstep.cli.naming import in_options, parameters_of
from dropstep.resampling.comparison import Row, compare
from dropstep.result import ALL, NONE
from dropstep.search.strategies import ONE_MOVE_AT_A_TIME

SCHEMA = "dropstep.compare/3"


def run(args: argparse.Namespace, command: str) -> int:
    """Run the command and return the exit code."""
    output.check_writable("--report", args.report, [args.file], output.PAGE_ENDINGS, overwrite=args.overwrite)
    with output.Progress(quiet=args.quiet) as progress:
        design = read_design(args, progress)
        progress.restart()
        found = compare(
            **design.data(),
            **parameters_of(args) | design.parameters,
            strategies=args.strategies or ONE_MOVE_AT_A_TIME,
            cv=args.folds,
            random_state=args.seed,
            svm=args.svm,
            tick=progress.update,
        )
    path = next((row.path for row in found.rows if row.path is not None), None)
    document = {
        "schema": SCHEMA,
        "dropstep": __version__,
        "command": command,
        **facts.as_data(design, columns=args.columns),
        "measure": found.measure,
        "folds": args.folds,
        "seed": args.seed,
        "strategies": [_result(row, len(design.features)) for row in found.rows],
        "verdict": found.verdict,
        "notes": list(design.notes_with(design.sample.notes if path is None else path.notes)),
    }
    refusals = [f"{row['strategy']} did not run: {row['refusal']}" for row in document["strategies"] if row["refusal"]]
    output.print_notes([*document["notes"], *refusals], quiet=args.quiet)
    if args.report:
        with output.output_files() as temporary:
            temporary(args.report).write_text(_page(design, document), encoding="utf-8", newline="\n")
    if args.format == "json":
        output.show(output.as_json(document))
    else:
        output.show(_as_table(design, document) if args.format == "table" else _as_csv(document))
    output.print_written([args.report], quiet=args.quiet)
    return 0


def _result(row: Row, n_features: int) -> dict[str, Any]:
    """A row of the comparison."""
    path = row.path
    return {
        "strategy": row.strategy,
        "features": None if path is None else list(path.selected_names),
        "n_features": {ALL: n_features, NONE: 0}.get(row.strategy) if path is None else len(path.selected),
        "score": None if path is None else path.score,
        "n_evaluations": None if path is None else path.n_evaluations,
        "n_fits": None if path is None else path.n_fits,
        "seconds": None if path is None else row.seconds,
        "features_in_folds": [list(names) for names in row.features],
        "errors": {e.model: {"mean": e.mean, "deviation": e.deviation, "folds": list(e.folds)} for e in row.errors},
        "refusal": in_options(row.refusal, "compare") or None,
    }


def _measure(document: dict[str, Any]) -> str:
    measure: str = document["measure"]
    return {"rmse": "RMSE"}.get(measure, measure.replace("_", " "))


def _page(design: Design, document: dict[str, Any]) -> str:
    """The report."""
    from dropstep.report.comparison_page import ComparisonRow, comparison_html

    rows = [
        ComparisonRow(
            row["strategy"],
            row["n_features"],
            row["features"] or (),
            next(iter(row["errors"].values()))["folds"] if row["errors"] else (),
            row["n_evaluations"],
            row["refusal"] or "",
        )
        for row in document["strategies"]
    ]
    return comparison_html(
        rows,
        measure=_measure(document),
        verdict=document["verdict"],
        title=f"Strategies on {design.source.shown}",
        command=document["command"],
        data=facts.facts(design),
        notes=document["notes"],
    )


def _as_table(design: Design, document: dict[str, Any]) -> str:
    results, measure = document["strategies"], _measure(document)
    models = list(dict.fromkeys(model for row in results for model in row["errors"]))
    head = ["strategy", "features", "evaluations", "ms", *(f"{measure}, {model}" for model in models)]
    rows = []
    for row in results:
        ran = row["n_evaluations"] is not None
        cells = [f"{row['n_evaluations']:,}", f"{row['seconds'] * 1e3:,.1f}"] if ran else ["", ""]
        size = "refused" if row["n_features"] is None else str(row["n_features"])
        rows.append([row["strategy"], size, *cells, *(_spread(row["errors"].get(model)) for model in models)])
    table = output.as_table(head, rows, "<" + ">" * (len(head) - 1))
    grouped = " of whole groups" if design.rows.groups is not None else ""
    below = (
        f"{measure}: mean ± standard deviation over {document['folds']} folds{grouped} (seed {document['seed']}), "
        "selection repeated inside every fold; features, evaluations and time: on all rows."
    )
    verdict = document["verdict"]
    sentence = output.painted(output.wrapped(f"{verdict[:1].upper()}{verdict[1:]}."), "bold")
    return "\n\n".join([facts.heading(design), sentence, table, output.wrapped(below)])


def _spread(errors: dict[str, Any] | None) -> str:
    return "" if errors is None else f"{errors['mean']:.4g} ± {errors['deviation']:.2g}"


def _as_csv(document: dict[str, Any]) -> str:
    head = ["strategy", "n_features", "features", "score", "n_evaluations", "seconds", "model", "error", "deviation"]
    rows = []
    for row in document["strategies"]:
        features = " + ".join(row["features"] or ())
        known = [row["strategy"], row["n_features"], features, row["score"], row["n_evaluations"], row["seconds"]]
        errors = row["errors"].items() or [("", {"mean": None, "deviation": None})]
        rows += [[*known, model, e["mean"], e["deviation"]] for model, e in errors]
    return output.as_csv([head, *rows])
