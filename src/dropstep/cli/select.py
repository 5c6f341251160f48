"""dropstep select: read a file, select features, and tell it as a table, JSON, CSV, a report or a smaller file."""

from __future__ import annotations

import argparse
from typing import Any

from dropstep import __version__
from dropstep.cli import facts, output
from dropstep.cli.design import WORDS, Design, read_design
from dropstep.cli.naming import printable
from dropstep.cli.plan import planned
from dropstep.cli.progress import Progress
from dropstep.path import Path, Step
from dropstep.select import select

SCHEMA = "dropstep.select/1"


def run(args: argparse.Namespace, command: str) -> int:
    """The whole command; returns the exit code."""
    output.check_writable("--output", args.output, args.file, output.TABLES)
    output.check_writable("--report", args.report, args.file, (".html", ".htm"))
    with Progress(quiet=args.quiet) as progress:
        design = read_design(args, progress)
        if args.dry_run:
            notes, told = design.notes, planned(design, args, command)
        else:
            path = design.by_feature(_searched(design, args, progress))
            _write(design, path, args, command)
            notes, told = path.notes, _told(design, path, args.format, command)
    facts.tell(notes, quiet=args.quiet)
    print(told)
    return 0


def _searched(design: Design, args: argparse.Namespace, progress: Progress) -> Path:
    words = {"strategy": args.strategy, **{word: getattr(args, word) for word in WORDS}}
    bound = args.max_features or min(len(design.features), len(design.X))
    selected = 0

    def report(step: Step) -> None:
        nonlocal selected
        selected += {"add": 1, "remove": -1}.get(step.action, 0)
        done = selected if step.phase in ("forward", "re-forward") else 0
        progress.say(f"{step.phase}: {selected} selected, {step.pool} candidates", done, bound, bound=True)

    progress.restart()
    progress.say(f"{args.strategy} over {len(design.features)} features")
    equivalents = bool(args.report) or args.format == "json"
    words |= {**design.words, "sample_weight": design.weights, "callback": report, "equivalents": equivalents}
    return select(design.table, design.y, **words)


def _write(design: Design, path: Path, args: argparse.Namespace, command: str) -> None:
    """Write the files that were asked for: all of them, or none."""
    with output.whole_files() as part_of:
        if args.output:
            kept = {*path.selected_names, *(column.name for column in design.targets)}
            columns = [column for column in design.columns if column.name in kept]
            output.write_columns(part_of(args.output), args.output, columns)
        if args.report:
            from dropstep.report import report_html

            page = report_html(path, command=command, data=facts.facts(design))
            with open(part_of(args.report), "w", encoding="utf-8", newline="\n") as stream:
                stream.write(page)


# --- what is told ----------------------------------------------------------------------------------------------------


def _told(design: Design, path: Path, form: str, command: str) -> str:
    if form == "json":
        return output.as_json(_as_data(design, path, command))
    return _as_csv(path) if form == "csv" else _as_table(design, path)


def _entries(path: Path) -> list[tuple[tuple[int, ...], Step]]:
    """The selected features (or groups) in order of entry, each with the step that brought it in for good."""
    came = {j: step for step in path.steps if step.action == "add" for j in step.features}
    found: dict[tuple[int, ...], Step] = {}
    for j in path.selected:
        step = came[j]
        found.setdefault((j,) if step.phase == "start" else step.features, step)
    return list(found.items())


def _as_table(design: Design, path: Path) -> str:
    rows = []
    for i, (features, step) in enumerate(_entries(path), start=1):
        gain = "" if step.phase == "start" else f"{step.gain:.5g}"
        rows.append([str(i), " + ".join(path.names(features)), gain, f"{step.score:.6g}", step.phase])
    table = output.aligned(["#", "feature", "gain", path.criterion, "phase"], rows, "><>><")
    summary = [printable(str(path).split("\n", 1)[0]), *_turns(path)]
    return "\n\n".join([facts.heading(design), table if rows else "Nothing is selected.", "\n".join(summary)])


def _turns(path: Path) -> list[str]:
    """What was dropped and what came back, in one sentence."""
    dropped = {j for step in path.steps if step.action == "drop" for j in step.features}
    back = dropped & {j for step in path.steps if step.action == "add" for j in step.features}
    removed = sum(len(step.features) for step in path.steps if step.action == "remove")
    if not dropped and not removed:
        return []
    return [f"dropped on the way: {len(dropped)}, of which entered later: {len(back)}; removed again: {removed}"]


def _as_csv(path: Path) -> str:
    head = ["order", "feature", "phase", "gain", "score"]
    rows = [[" + ".join(path.names(features)), step.phase, step.gain, step.score] for features, step in _entries(path)]
    return output.as_csv([head, *([i, *row] for i, row in enumerate(rows, start=1))])


def _as_data(design: Design, path: Path, command: str) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "dropstep": __version__,
        "command": command,
        **facts.as_data(design),
        "strategy": path.strategy,
        "model": path.model,
        "criterion": path.criterion,
        "way": path.way,
        "selected": [_entry(path, features, step) for features, step in _entries(path)],
        "score": path.score,
        "start": path.start,
        "stop": {"reason": path.stop.name.lower(), "text": str(path.stop)},
        "n_evaluations": path.n_evaluations,
        "steps": [
            {
                "phase": step.phase,
                "action": step.action,
                "features": path.names(step.features),
                "gain": step.gain,
                "score": step.score,
                "pool": step.pool,
            }
            for step in path.steps
        ],
        "ranking": dict(zip(design.names, path.ranking, strict=True)),
        "notes": path.notes,
    }


def _entry(path: Path, features: tuple[int, ...], step: Step) -> dict[str, Any]:
    near = path.equivalents.get(features[0], ())
    return {
        "features": path.names(features),
        "phase": step.phase,
        "gain": step.gain,
        "score": step.score,
        "loss": path.losses.get(features[0]),
        "equivalents": [{"feature": path.names((j,))[0], "loss": loss} for j, loss in near],
    }
