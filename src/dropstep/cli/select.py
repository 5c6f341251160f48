"""dropstep select: read a file, select features, and write a table, JSON, CSV, a report or a smaller file."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from typing import Any

from dropstep.cli import INTERRUPTED, facts, output
from dropstep.cli.certainty import Certainty, as_text, certainty, split
from dropstep.cli.colour import painted
from dropstep.cli.design import FITS, PARAMETERS, Design, read_design
from dropstep.cli.naming import in_options
from dropstep.cli.plan import planned
from dropstep.cli.progress import Progress
from dropstep.cli.select_json import as_data
from dropstep.cli.streamed import is_large, streamed_design
from dropstep.cli.table_input import AnyDesign
from dropstep.report.coefficient_table import columns, sentences
from dropstep.report.quantities import moves, reversals
from dropstep.report.text import MAX_TEXT_WIDTH, count, plain, printable, shortened
from dropstep.report.verdict import next_step, verdict
from dropstep.result import Evidence, SelectionPath, Step, StopReason
from dropstep.search.strategies import as_strategy
from dropstep.select import select
from dropstep.wording import counted

MAX_SHARES = 10  # features whose stability the table shows


def run(args: argparse.Namespace, command: str) -> int:
    """Run the command and return the exit code; the result of a search that was interrupted is only shown."""
    _check_files(args)
    interrupted = False
    with Progress(quiet=args.quiet) as progress:
        design = streamed_design(args, progress) if is_large(args) else read_design(args, progress)
        if args.dry_run:
            notes, result = design.notes_with(design.known.notes), planned(design, args, command)
        else:
            inside, outside = split(design, args)
            path = _search(inside, args, progress)
            interrupted = path.stop is StopReason.INTERRUPTED
            found, evidence = Certainty(), None
            if not interrupted:
                found = certainty(inside, outside, path, args, _parameters(inside, args))
            path = replace(path, notes=design.notes_with(path.notes), coefficients=design.named(path.coefficients))
            if not interrupted:
                evidence = _assessed(inside, path, found, args, progress)
                _write(design, path, found, args, command, evidence)
            notes, result = path.notes, _formatted(design, path, found, args, command, evidence)
    facts.print_notes(notes, quiet=args.quiet)
    output.show(result)
    if interrupted:
        _say_interrupted(args)
        return INTERRUPTED
    if not args.dry_run:
        facts.print_written([args.output, args.report], quiet=args.quiet)
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
    output.check_writable("--report", args.report, [args.file], (".html", ".htm"), overwrite=args.overwrite)
    if args.checkpoint is None:
        return
    output.check_no_input("--checkpoint", args.checkpoint, [args.file])
    for option, file in (("--output", args.output), ("--report", args.report)):
        if file is not None and output.same_file(file, args.checkpoint):
            raise ValueError(f"{option} {file}: this is the file of --checkpoint; choose another name")


def _search(design: AnyDesign, args: argparse.Namespace, progress: Progress) -> SelectionPath:
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

    progress.restart()
    progress.update(f"{as_strategy(args.strategy)[0]} over {counted(len(design.names), 'feature')}")
    parameters = _parameters(design, args) | {"equivalents": bool(args.report) or args.format == "json"}
    return select(
        **_data(design, args), **parameters, callback=report, progress=design.report_rows(progress) or report_fit
    )


def _data(design: AnyDesign, args: argparse.Namespace) -> dict[str, Any]:
    """X, y and what is given per row, without groups of rows that only parts of the rows keep together."""
    data = design.data()
    divides = args.stability or args.holdout or (args.report and not args.no_check)
    if divides and args.criterion != "cv" and isinstance(args.model, str):
        data.pop("sample_groups", None)
    return data


def _parameters(design: AnyDesign, args: argparse.Namespace) -> dict[str, Any]:
    """The parameters of select."""
    return {name: getattr(args, name) for name in ("strategy", *PARAMETERS, *FITS)} | design.parameters


def _assessed(
    design: AnyDesign, path: SelectionPath, found: Certainty, args: argparse.Namespace, progress: Progress
) -> Evidence | None:
    """Stability and held-out error for the report; None without a report."""
    if not args.report or args.no_check:
        return None
    if not isinstance(design, Design):
        return None
    from dropstep.evaluation.assess import assess

    progress.restart()
    rows = design.rows
    evidence = assess(
        path,
        design.table,
        design.y,
        sample_weight=rows.weights,
        offset=rows.offset,
        strata=rows.strata,
        sample_groups=rows.groups,
        tick=progress.update,
        known=found.stability,
    )
    return replace(evidence, omitted=tuple(map(in_options, evidence.omitted)))


def _write(
    design: AnyDesign,
    path: SelectionPath,
    found: Certainty,
    args: argparse.Namespace,
    command: str,
    evidence: Evidence | None,
) -> None:
    """Write the requested files: all of them, or none."""
    _check_files(args)  # again: the search may have taken long
    with output.output_files() as temporary:
        if args.output:
            kept = {*path.selected_names, *design.target_names}
            names = [line.name for line in design.listing if line.name in kept]
            design.write(temporary(args.output), args.output, names)
        if args.report:
            from dropstep.report import report_html

            known: dict[str, Any] = {"stability": found.stability, "holdout": found.holdout, "evidence": evidence}
            page = report_html(path, command=command, data=facts.facts(design), **known)
            temporary(args.report).write_text(page, encoding="utf-8", newline="\n")


# --- formats ---------------------------------------------------------------------------------------------------------


def _formatted(
    design: AnyDesign,
    path: SelectionPath,
    found: Certainty,
    args: argparse.Namespace,
    command: str,
    evidence: Evidence | None,
) -> str:
    if args.format == "json":
        return output.as_json(as_data(facts.as_data(design, columns=args.columns), path, command, evidence, found))
    return as_csv(path) if args.format == "csv" else _as_table(design, path, found, evidence)


def _as_table(design: AnyDesign, path: SelectionPath, found: Certainty, evidence: Evidence | None) -> str:
    """The selected features first; then all additions and removals, the coefficients, and why the search ended."""
    rows, resampled = [], any(step.score_std_error is not None for step in path.steps)
    made = moves(path)
    for i, (step, _, phase) in enumerate(made, start=1):
        certainty = step.score_std_error if resampled else None if step.test is None else step.test.p_value
        shown = "" if certainty is None else f"{certainty:.2g}"
        rows.append([str(i), _features(path, step), plain(step.gain, 5), plain(step.score, 6), shown, phase])
    head = ["#", "feature", "gain", path.criterion, "std. error" if resampled else "p", "phase"]
    gone = [i for i, move in enumerate(made) if len(move.removed) == len(move.step.features)]
    table = [output.as_table(head, rows, "><>>><", gone)] if rows else []
    sure = _sure(path, evidence)
    about = [*_coefficients(path), *_best_subsets(path), *map(output.wrapped, as_text(found, path))]
    return "\n\n".join([facts.heading(design), _selected(path), *sure, *table, *about, _summary(path)])


def _sure(path: SelectionPath, evidence: Evidence | None) -> list[str]:
    """How sure the selection is, where that was computed: stability, verdict, and what to do next."""
    if evidence is None:
        return []
    lines = [verdict(path, evidence), *evidence.omitted, next_step(path, evidence)]
    if evidence.frequencies is not None and path.selected:
        shares = [f"{path.names((j,))[0]} {evidence.frequencies[j]:.0%}" for j in path.selected[:MAX_SHARES]]
        more = f" and {len(path.selected) - MAX_SHARES:,} more" if len(path.selected) > MAX_SHARES else ""
        lines.insert(0, f"Selected again on {evidence.n_halves} half-samples: {', '.join(shares)}{more}.")
    return ["\n".join(output.wrapped(printable(line)) for line in lines if line)]


def _selected(path: SelectionPath) -> str:
    """The answer: which features."""
    names = printable(", ".join(shortened(name, MAX_TEXT_WIDTH) for name in path.selected_names))
    if not path.selected:
        return painted(f"None of the {count(path.n_features, 'feature')} is selected.", "bold")
    lead = f"{len(path.selected):,} of {count(path.n_features, 'feature')} selected: "
    text = output.wrapped(lead + names)
    end = len(lead.rstrip())
    return painted(text[:end], "bold") + text[end:]


def _summary(path: SelectionPath) -> str:
    """How the search went, and why it ended."""
    fits = f", {count(path.n_fits, 'fit')}" if path.n_fits else ""
    found = reversals(path)
    lines = [
        f"{path.strategy} by {path.criterion} ({path.model}): score {plain(path.score, 6)}, "
        f"{count(path.n_evaluations, 'evaluation')}{fits}.",
        f"Stopped because {path.why}.",
    ]
    if found.dropped or found.removed:
        entered = f"{len(found.dropped):,} ({len(found.entered):,} entered later)"
        lines.append(f"Dropped: {entered}; removed: {len(found.removed):,}.")
    return "\n".join(output.wrapped(printable(line)) for line in lines)


def _best_subsets(path: SelectionPath) -> list[str]:
    """The table of the best sets of each size."""
    if path.subsets is None:
        return []
    rows = [[str(one.size), f"{one.score:.6g}", ", ".join(path.names(one.features))] for one in path.subsets.sets]
    return [output.as_table(["size", path.criterion, "best sets"], rows, ">><")]


def _coefficients(path: SelectionPath) -> list[str]:
    """The table of coefficients, and what it shows."""
    if path.coefficients is None or not path.selected:
        return []
    return [output.as_table(*columns(path.coefficients)), output.wrapped(sentences(path.coefficients))]


def _features(path: SelectionPath, step: Step) -> str:
    """The features of a step, or their number if a start step has too many to list."""
    names = " + ".join(path.names(step.features))
    too_long = step.phase == "start" and len(names) > MAX_TEXT_WIDTH
    return f"{len(step.features)} features" if too_long else names


def as_csv(path: SelectionPath) -> str:
    """All additions and removals as CSV."""
    head = ["order", "feature", "phase", "action", "gain", "score"]
    rows = [
        [i, " + ".join(path.names(step.features)), step.phase, step.action, step.gain, step.score]
        for i, (step, _, _) in enumerate(moves(path), start=1)
    ]
    return output.as_csv([head, *rows])
