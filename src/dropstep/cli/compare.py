"""dropstep compare: all strategies on the same table, with cross-validated errors."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from dropstep import __version__
from dropstep.cli import facts, output
from dropstep.cli.colour import painted
from dropstep.cli.design import PARAMETERS, Design, read_design
from dropstep.cli.naming import in_options
from dropstep.cli.progress import Progress
from dropstep.resampling.comparison import Comparison, Row, compare
from dropstep.result import ALL, NONE
from dropstep.search.strategies import ONE_MOVE_AT_A_TIME

SCHEMA = "dropstep.compare/3"


def run(args: argparse.Namespace, command: str) -> int:
    """Run the command and return the exit code."""
    output.check_writable("--report", args.report, [args.file], (".html", ".htm"), overwrite=args.overwrite)
    with Progress(quiet=args.quiet) as progress:
        design = read_design(args, progress)
        progress.restart()
        found = compare(
            design.table,
            design.y,
            strategies=args.strategies or ONE_MOVE_AT_A_TIME,
            cv=args.folds,
            random_state=args.seed,
            sample_groups=design.rows.groups,
            sample_weight=design.rows.weights,
            offset=design.rows.offset,
            strata=design.rows.strata,
            svm=args.svm,
            tick=progress.update,
            **{name: getattr(args, name) for name in PARAMETERS} | design.parameters,
        )
    results = [_result(row, design) for row in found.rows]
    refusals = [f"{row['strategy']} did not run: {row['refusal']}" for row in results if row["refusal"]]
    path = next((row.path for row in found.rows if row.path is not None), None)
    notes = design.notes_with(design.sample.notes if path is None else path.notes)
    facts.print_notes([*notes, *refusals], quiet=args.quiet)
    _write(design, found, results, notes, args, command)
    if args.format == "json":
        output.show(_as_json(design, found, results, notes, args, command))
    else:
        output.show(_as_table(design, found, results, args) if args.format == "table" else _as_csv(results))
    facts.print_written([args.report], quiet=args.quiet)
    return 0


def _write(
    design: Design,
    found: Comparison,
    results: list[dict[str, Any]],
    notes: Sequence[str],
    args: argparse.Namespace,
    command: str,
) -> None:
    """Write the report, if one is requested."""
    if not args.report:
        return
    from dropstep.report.comparison_page import Compared, comparison_html

    rows = [
        Compared(
            row["strategy"],
            row["n_features"],
            row["features"] or (),
            next(iter(row["errors"].values()))["folds"] if row["errors"] else (),
            row["n_evaluations"],
            row["refusal"] or "",
        )
        for row in results
    ]
    content = comparison_html(
        rows,
        measure=_measure(found),
        verdict=found.verdict,
        title=f"Strategies on {design.source.shown}",
        command=command,
        data=facts.facts(design),
        notes=notes,
    )
    with output.output_files() as temporary:
        temporary(args.report).write_text(content, encoding="utf-8", newline="\n")


def _result(row: Row, design: Design) -> dict[str, Any]:
    """A row of the comparison."""
    path = row.path
    return {
        "strategy": row.strategy,
        "features": None if path is None else list(path.selected_names),
        "n_features": _size(row, design) if path is None else len(path.selected),
        "score": None if path is None else path.score,
        "n_evaluations": None if path is None else path.n_evaluations,
        "n_fits": None if path is None else path.n_fits,
        "seconds": None if path is None else row.seconds,
        "features_in_folds": [list(names) for names in row.features],
        "errors": {e.model: {"mean": e.mean, "deviation": e.deviation, "folds": list(e.folds)} for e in row.errors},
        "refusal": in_options(row.refusal, "compare") or None,
    }


def _size(row: Row, design: Design) -> int | None:
    return {ALL: len(design.features), NONE: 0}.get(row.strategy)


def _measure(found: Comparison) -> str:
    return {"rmse": "RMSE"}.get(found.measure, found.measure.replace("_", " "))


def _as_table(design: Design, found: Comparison, results: list[dict[str, Any]], args: argparse.Namespace) -> str:
    models = list(dict.fromkeys(model for row in results for model in row["errors"]))
    head = ["strategy", "features", "evaluations", "ms", *(f"{_measure(found)}, {model}" for model in models)]
    rows = []
    for row in results:
        ran = row["n_evaluations"] is not None
        cells = [f"{row['n_evaluations']:,}", f"{row['seconds'] * 1e3:,.1f}"] if ran else ["", ""]
        errors = [_spread(row["errors"].get(model)) for model in models]
        size = "refused" if row["n_features"] is None else str(row["n_features"])
        rows.append([row["strategy"], size, *cells, *errors])
    table = output.as_table(head, rows, "<" + ">" * (len(head) - 1))
    grouped = " of whole groups" if design.rows.groups is not None else ""
    below = (
        f"{_measure(found)}: mean ± standard deviation over {args.folds} folds{grouped} (seed {args.seed}), "
        "selection repeated inside every fold; features, evaluations and time: on all rows."
    )
    verdict = painted(output.wrapped(f"{found.verdict[:1].upper()}{found.verdict[1:]}."), "bold")
    return "\n\n".join([facts.heading(design), verdict, table, output.wrapped(below)])


def _spread(errors: dict[str, Any] | None) -> str:
    return "" if errors is None else f"{errors['mean']:.4g} ± {errors['deviation']:.2g}"


def _as_csv(results: list[dict[str, Any]]) -> str:
    head = ["strategy", "n_features", "features", "score", "n_evaluations", "seconds", "model", "error", "deviation"]
    rows = []
    for row in results:
        known = [row["strategy"], row["n_features"], " + ".join(row["features"] or ()), row["score"]]
        known += [row["n_evaluations"], row["seconds"]]
        errors = row["errors"].items() or [("", {"mean": None, "deviation": None})]
        rows += [[*known, model, e["mean"], e["deviation"]] for model, e in errors]
    return output.as_csv([head, *rows])


def _as_json(
    design: Design,
    found: Comparison,
    results: list[dict[str, Any]],
    notes: Sequence[str],
    args: argparse.Namespace,
    command: str,
) -> str:
    return output.as_json(
        {
            "schema": SCHEMA,
            "dropstep": __version__,
            "command": command,
            **facts.as_data(design, columns=args.columns),
            "measure": found.measure,
            "folds": args.folds,
            "seed": args.seed,
            "strategies": results,
            "verdict": found.verdict,
            "notes": list(notes),
        }
    )
