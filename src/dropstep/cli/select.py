"""dropstep select: read a file, select features, and write a table, JSON, CSV, a report or a smaller file."""

from __future__ import annotations

import argparse
import warnings
from dataclasses import replace
from typing import Any

from dropstep import __version__
from dropstep.cli import INTERRUPTED, facts, output
from dropstep.cli.certainty import Certainty, as_data, as_text, certainty, split
from dropstep.cli.design import FITS, PARAMETERS, Design, read_design
from dropstep.cli.plan import planned
from dropstep.cli.progress import Progress
from dropstep.coefficients import Coefficients
from dropstep.presentation.coefficients import heads, label, sentences
from dropstep.presentation.coefficients import lines as coefficient_lines
from dropstep.presentation.summary import Entry, entries, moves, reversals
from dropstep.presentation.text import MAX_TEXT_WIDTH, printable
from dropstep.readers.wording import counted
from dropstep.result import PartialTest, SelectionPath, Step, StopReason
from dropstep.search.strategies import as_strategy
from dropstep.select import select

SCHEMA = "dropstep.select/2"


def run(args: argparse.Namespace, command: str) -> int:
    """Run the command and return the exit code; a search that was interrupted has a result, too."""
    _check_files(args)
    interrupted = False
    with Progress(quiet=args.quiet) as progress:
        design = read_design(args, progress)
        if args.dry_run:
            notes, result = design.notes_with(design.sample.notes), planned(design, args, command)
        else:
            inside, outside = split(design, args)
            path = _search(inside, args, progress)
            found = certainty(inside, outside, path, args, _parameters(inside, args))
            path = replace(path, notes=design.notes_with(path.notes), coefficients=design.named(path.coefficients))
            _write(design, path, found, args, command)
            notes, result = path.notes, _formatted(design, path, found, args.format, command)
            interrupted = path.stop is StopReason.INTERRUPTED
    facts.print_notes(notes, quiet=args.quiet)
    output.show(result)
    return INTERRUPTED if interrupted else 0


def _check_files(args: argparse.Namespace) -> None:
    """Raise if an output file cannot be written, or exists already."""
    output.check_writable("--output", args.output, args.file, output.TABLE_ENDINGS, overwrite=args.overwrite)
    output.check_writable("--report", args.report, args.file, (".html", ".htm"), overwrite=args.overwrite)


def _search(design: Design, args: argparse.Namespace, progress: Progress) -> SelectionPath:
    """Select features, and show the progress step by step."""
    bound = min(args.max_features or len(design.units), len(design.units), design.sample.table.n_rows)
    selected = 0

    def report(step: Step) -> None:
        nonlocal selected
        selected += {"add": 1, "remove": -1}.get(step.action, 0) * design.n_units(step.features)
        done = selected if step.phase in ("forward", "re-forward") else 0
        text = f"{step.phase}: {selected} selected, {counted(step.pool, 'candidate')}"
        progress.update(text, done, bound, bound=True)

    def report_fit(done: int, remaining: int) -> None:
        text = f"{selected} selected, {counted(done, 'fit')} done, about {remaining:,} remaining"
        progress.update(text, done, done + remaining)

    progress.restart()
    progress.update(f"{as_strategy(args.strategy)[0]} over {counted(len(design.features), 'feature')}")
    parameters = _parameters(design, args) | {"equivalents": bool(args.report) or args.format == "json"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # they are among the notes of the path
        return select(
            design.table,
            design.y,
            **parameters,
            sample_weight=design.rows.weights,
            offset=design.rows.offset,
            strata=design.rows.strata,
            sample_groups=design.rows.groups,
            callback=report,
            progress=report_fit,
        )


def _parameters(design: Design, args: argparse.Namespace) -> dict[str, Any]:
    """The parameters of select."""
    return {name: getattr(args, name) for name in ("strategy", *PARAMETERS, *FITS)} | design.parameters


def _write(design: Design, path: SelectionPath, found: Certainty, args: argparse.Namespace, command: str) -> None:
    """Write the requested files: all of them, or none."""
    _check_files(args)  # again: the search may have taken long
    with output.output_files() as temporary:
        if args.output:
            kept = {*path.selected_names, *(column.name for column in design.targets)}
            columns = [column for column in design.columns if column.name in kept]
            output.write_columns(temporary(args.output), args.output, columns)
        if args.report:
            from dropstep.presentation.report import report_html

            data = facts.facts(design)
            page = report_html(path, command=command, data=data, stability=found.stability, holdout=found.holdout)
            temporary(args.report).write_text(page, encoding="utf-8", newline="\n")


# --- formats ---------------------------------------------------------------------------------------------------------


def _formatted(design: Design, path: SelectionPath, found: Certainty, form: str, command: str) -> str:
    if form == "json":
        return output.as_json(_as_data(design, path, found, command))
    return _as_csv(path) if form == "csv" else _as_table(design, path, found)


def _as_table(design: Design, path: SelectionPath, found: Certainty) -> str:
    """All additions and removals, then a summary, with the selected features if the table does not list them."""
    rows, resampled = [], any(step.score_std_error is not None for step in path.steps)
    for i, (step, _, phase) in enumerate(moves(path), start=1):
        certainty = step.score_std_error if resampled else None if step.test is None else step.test.p_value
        shown = "" if certainty is None else f"{certainty:.2g}"
        rows.append([str(i), _features(path, step), f"{step.gain:.5g}", f"{step.score:.6g}", shown, phase])
    head = ["#", "feature", "gain", path.criterion, "std. error" if resampled else "p", "phase"]
    table = [output.as_table(head, rows, "><>>><")] if rows else []
    nothing = [] if path.selected else ["No feature is selected."]
    summary = [printable(str(path).split("\n", 1)[0]), *_selected(path), *_reversals(path)]
    about = [*_coefficients(path), *as_text(found, path)]
    return "\n\n".join([facts.heading(design), *table, *nothing, *about, "\n".join(summary)])


def _coefficients(path: SelectionPath) -> list[str]:
    """The table of coefficients, and what it shows."""
    if path.coefficients is None or not path.selected:
        return []
    fit = path.coefficients
    rows = [
        [*filter(None, (line.target,)), line.name, *line.numbers]
        for line in coefficient_lines(fit, "{:.5g}".format, "{:.2g}".format)
    ]
    n_texts = len(rows[0]) - len(heads(fit))
    head = [*("target", "coefficient")[-n_texts:], *heads(fit)]
    return [output.as_table(head, rows, "<" * n_texts + ">" * len(heads(fit))), sentences(fit)]


def _features(path: SelectionPath, step: Step) -> str:
    """The features of a step, or their number if a start step has too many to list."""
    names = " + ".join(path.names(step.features))
    too_long = step.phase == "start" and len(names) > MAX_TEXT_WIDTH
    return f"{len(step.features)} features" if too_long else names


def _selected(path: SelectionPath) -> list[str]:
    """The selected features in one line, if removals or a start step make the table differ from the selection."""
    several = any(step.phase == "start" and len(step.features) > 1 for step in path.steps)
    removed = any(step.action == "remove" for step in path.steps)
    if not path.selected or not (several or removed):
        return []
    return [printable(f"selected: {', '.join(path.selected_names)}")]


def _reversals(path: SelectionPath) -> list[str]:
    """Numbers of features that were dropped, entered after that, and removed."""
    found = reversals(path)
    if not found.dropped and not found.removed:
        return []
    return [f"dropped: {len(found.dropped)} ({len(found.entered)} entered later); removed: {len(found.removed)}"]


def _as_csv(path: SelectionPath) -> str:
    head = ["order", "feature", "phase", "action", "gain", "score"]
    rows = [
        [i, " + ".join(path.names(step.features)), step.phase, step.action, step.gain, step.score]
        for i, (step, _, _) in enumerate(moves(path), start=1)
    ]
    return output.as_csv([head, *rows])


def _as_data(design: Design, path: SelectionPath, found: Certainty, command: str) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "dropstep": __version__,
        "command": command,
        **facts.as_data(design),
        "strategy": path.strategy,
        "model": path.model,
        "criterion": path.criterion,
        "greater_is_better": path.greater_is_better,
        "solver": path.solver,
        "n_candidates": path.n_candidates,
        "selected": [_entry(path, entry) for entry in entries(path)],
        "score": path.score,
        "start": path.start,
        "stop": {"reason": path.stop.name.lower(), "text": str(path.stop)},
        "n_evaluations": path.n_evaluations,
        "n_fits": path.n_fits,
        "fits_saved": path.fits_saved,
        "r2": path.r2,
        "adj_r2": path.adj_r2,
        "df_resid": None if path.coefficients is None else path.coefficients.df_resid,
        "effect": None if path.coefficients is None else path.coefficients.effect,
        "coefficients": [] if path.coefficients is None else _coefficient_rows(path.coefficients),
        "steps": [
            {
                "phase": step.phase,
                "action": step.action,
                "features": path.names(step.features),
                "gain": step.gain,
                "score": step.score,
                "score_std_error": step.score_std_error,
                "pool": step.pool,
                "test": _test(step.test),
            }
            for step in path.steps
        ],
        "ranking": dict(zip(design.names, path.ranking, strict=True)),
        **as_data(found),
        "notes": path.notes,
    }


def _coefficient_rows(fit: Coefficients) -> list[dict[str, Any]]:
    rows, ratios = fit.rows(), fit.ratios()
    limits = [(None,) * 3] * len(rows) if ratios is None else ratios.tolist()
    return [
        {**row._asdict(), "target": label(row.target), "ratio": ratio, "lower": lower, "upper": upper}
        for row, (ratio, lower, upper) in zip(rows, limits, strict=True)
    ]


def _test(test: PartialTest | None) -> dict[str, Any] | None:
    return None if test is None else {"statistic": test.statistic, "df": test.df, "p_value": test.p_value}


def _entry(path: SelectionPath, entry: Entry) -> dict[str, Any]:
    first = entry.features[0]
    near = (path.equivalents or {}).get(first, ())
    return {
        "features": path.names(entry.features),
        "phase": entry.step.phase,
        "gain": entry.step.gain,
        "score": entry.step.score,
        "loss": (path.losses or {}).get(first),
        "equivalents": [{"feature": path.names((j,))[0], "loss": loss} for j, loss in near],
    }
