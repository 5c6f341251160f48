"""dropstep select: read a file, select features, and write a table, JSON, CSV, a report or a smaller file."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from typing import Any

import numpy as np

from dropstep.cli import INTERRUPTED, facts, output
from dropstep.cli.design import Design
from dropstep.cli.formats import Certainty, as_csv, as_data, as_text
from dropstep.cli.naming import in_options, parameters_of
from dropstep.cli.streamed import any_design
from dropstep.cli.table_input import AnyDesign
from dropstep.report.text import printable
from dropstep.result import Evidence, SelectionPath, Step, StopReason
from dropstep.search.strategies import as_strategy
from dropstep.select import select
from dropstep.wording import counted

MIN_ROWS = 3  # of the selection, and of those that are held out


def run(args: argparse.Namespace, command: str) -> int:
    """Run the command and return the exit code; the result of a search that was interrupted is only shown."""
    _check_files(args)
    interrupted = False
    with output.Progress(quiet=args.quiet) as progress:
        design = any_design(args, progress)
        if args.dry_run:
            notes, result = design.notes_with(design.known.notes), facts.planned(design, args, command)
        else:
            inside, outside = _split(design, args)
            path = _search(inside, args, progress)
            interrupted = path.stop is StopReason.INTERRUPTED
            found = Certainty() if interrupted else _certainty(inside, outside, path, args)
            path = replace(path, notes=design.notes_with(path.notes), coefficients=design.named(path.coefficients))
            if not interrupted:
                found = replace(found, evidence=_assessed(inside, path, found, args, progress))
                _write(design, path, found, args, command)
            notes, result = path.notes, _formatted(design, path, found, args, command)
    output.print_notes(notes, quiet=args.quiet)
    output.show(result)
    if interrupted:
        _say_interrupted(args)
        return INTERRUPTED
    if not args.dry_run:
        output.print_written([args.output, args.report], quiet=args.quiet)
        _suggest_report(args)
    return 0


def _say_interrupted(args: argparse.Namespace) -> None:
    """Say that the result is that of an interrupted search, and how to continue."""
    sentence = "interrupted: this is the selection so far, and no file was written"
    if args.checkpoint is not None:
        sentence += f"; the same command continues from the fits in {printable(args.checkpoint)}"
    print(output.labelled("dropstep:", sentence, "error", sys.stderr), file=sys.stderr)


def _suggest_report(args: argparse.Namespace) -> None:
    """On a terminal, say how to see how sure a selection is."""
    if args.report or args.quiet or args.format != "table" or not sys.stderr.isatty():
        return
    hint = "Add --report FILE.html for a report with the stability and the held-out error of this selection."
    print("\n" + output.wrapped(hint, sys.stderr), file=sys.stderr)


def _check_files(args: argparse.Namespace) -> None:
    """Raise if an output file cannot be written, exists already, or is used for something else."""
    output.check_writable("--output", args.output, [args.file], output.TABLE_ENDINGS, overwrite=args.overwrite)
    output.check_writable("--report", args.report, [args.file], output.PAGE_ENDINGS, overwrite=args.overwrite)
    if args.checkpoint is None:
        return
    output.check_no_input("--checkpoint", args.checkpoint, [args.file])
    for option, file in (("--output", args.output), ("--report", args.report)):
        if file is not None and output.same_file(file, args.checkpoint):
            raise ValueError(f"{option} {file}: this is the file of --checkpoint; choose another name")


# --- the search ------------------------------------------------------------------------------------------------------


def _search(design: AnyDesign, args: argparse.Namespace, progress: output.Progress) -> SelectionPath:
    """Select features, and show the progress step by step."""
    bound = min(args.max_features or len(design.units), len(design.units), design.shape[0])
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

    data = design.data()
    divides = args.stability or args.holdout or (args.report and not args.no_check)
    if divides and args.criterion != "cv" and isinstance(args.model, str):
        data.pop("sample_groups", None)  # only parts of the rows keep groups together
    progress.restart()
    progress.update(f"{as_strategy(args.strategy)[0]} over {counted(len(design.names), 'feature')}")
    return select(
        **data,
        **parameters_of(args) | design.parameters,
        equivalents=bool(args.report) or args.format == "json",
        callback=report,
        progress=design.report_rows(progress) or report_fit,
    )


# --- how sure a selection is -----------------------------------------------------------------------------------------


def _split(design: AnyDesign, args: argparse.Namespace) -> tuple[AnyDesign, Design | None]:
    """The rows of the selection, and those that are held out; None without --holdout."""
    if not isinstance(design, Design):
        for option in ("holdout", "stability"):
            if getattr(args, option) is not None:
                raise ValueError(f"--{option} needs all rows in memory, but {design.shown} is read in blocks; omit it")
        return design, None
    if args.holdout is None:
        return design, None
    from dropstep.resampling.holdout import rows_held_out

    outside = rows_held_out(design.sample, args.holdout, args.random_state or 0)
    n = int(outside.sum())
    if min(n, len(outside) - n) < MIN_ROWS:
        raise ValueError(
            f"--holdout {args.holdout:g} holds out {n} of {len(outside)} rows; both parts need at least {MIN_ROWS}"
        )
    return _part(design, ~outside), _part(design, outside)


def _part(design: Design, inside: Any) -> Design:
    return replace(
        design, table=design.table.at(inside), y=design.y[inside], rows=design.rows.at(np.flatnonzero(inside))
    )


def _certainty(design: AnyDesign, outside: Design | None, path: SelectionPath, args: argparse.Namespace) -> Certainty:
    """Stability on the rows of the selection, and the score on the rows that were held out, if requested."""
    repeated = held = None
    if isinstance(design, Design) and args.stability is not None:
        from dropstep.resampling.stability import stability

        given = parameters_of(args) | {"max_time": None, "checkpoint": None} | design.parameters
        repeated = stability(**design.data(), n_pairs=args.stability // 2, **given)
    if outside is not None:
        from dropstep.resampling.holdout import score_held_out

        held = score_held_out(path, outside.table, outside.y, outside.rows)
    return Certainty(repeated, held)


def _assessed(
    design: AnyDesign, path: SelectionPath, found: Certainty, args: argparse.Namespace, progress: output.Progress
) -> Evidence | None:
    """Stability and held-out error for the report; None without a report."""
    if not args.report or args.no_check or not isinstance(design, Design):
        return None
    from dropstep.resampling.assess import assess

    progress.restart()
    evidence = assess(path, **design.data(), tick=progress.update, known=found.stability)
    return replace(evidence, omitted=tuple(map(in_options, evidence.omitted)))


# --- the result ------------------------------------------------------------------------------------------------------


def _write(design: AnyDesign, path: SelectionPath, found: Certainty, args: argparse.Namespace, command: str) -> None:
    """Write the requested files: all of them, or none."""
    _check_files(args)  # again: the search may have taken long
    with output.output_files() as temporary:
        if args.output:
            kept = {*path.selected_names, *design.target_names}
            names = [line.name for line in design.listing if line.name in kept]
            design.write(temporary(args.output), args.output, names)
        if args.report:
            from dropstep.report import report_html

            page = report_html(path, command=command, data=facts.facts(design), **vars(found))
            temporary(args.report).write_text(page, encoding="utf-8", newline="\n")


def _formatted(design: AnyDesign, path: SelectionPath, found: Certainty, args: argparse.Namespace, command: str) -> str:
    if args.format == "json":
        return output.as_json(as_data(facts.as_data(design, columns=args.columns), path, command, found))
    return as_csv(path) if args.format == "csv" else as_text(path, facts.heading(design), found)
