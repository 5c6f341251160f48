"""dropstep select: read a file, select features, and tell it as a table, JSON, CSV, a report or a smaller file."""

from __future__ import annotations

import argparse
import warnings
from typing import Any

from dropstep import __version__
from dropstep.cli import facts, output, screen
from dropstep.cli.design import WORDS, Design, read_design
from dropstep.cli.naming import printable
from dropstep.cli.plan import planned
from dropstep.cli.progress import Progress
from dropstep.presentation.plots import moves
from dropstep.readers.wording import counted
from dropstep.result import SelectionPath, Step
from dropstep.select import select

SCHEMA = "dropstep.select/1"


def run(args: argparse.Namespace, command: str) -> int:
    """The whole command; returns the exit code."""
    _check_files(args)
    with Progress(quiet=args.quiet) as progress:
        design = read_design(args, progress)
        if args.dry_run:
            notes, told = design.notes, planned(design, args, command)
        else:
            path = design.by_feature(_searched(design, args, progress))
            _write(design, path, args, command)
            notes, told = path.notes, _told(design, path, args.format, command)
    facts.tell(notes, quiet=args.quiet)
    output.show(told)
    return 0


def _check_files(args: argparse.Namespace) -> None:
    """Refuse files that cannot be written, or that exist already."""
    output.check_writable("--output", args.output, args.file, output.TABLES, overwrite=args.overwrite)
    output.check_writable("--report", args.report, args.file, (".html", ".htm"), overwrite=args.overwrite)


def _searched(design: Design, args: argparse.Namespace, progress: Progress) -> SelectionPath:
    words = {"strategy": args.strategy, **{word: getattr(args, word) for word in WORDS}}
    bound = min(args.max_features or len(design.units), len(design.units), len(design.X))
    selected = 0

    def report(step: Step) -> None:
        nonlocal selected
        selected += {"add": 1, "remove": -1}.get(step.action, 0) * design.n_units(step.features)
        done = selected if step.phase in ("forward", "re-forward") else 0
        progress.say(f"{step.phase}: {selected} selected, {counted(step.pool, 'candidate')}", done, bound, bound=True)

    progress.restart()
    progress.say(f"{args.strategy} over {counted(len(design.features), 'feature')}")
    equivalents = bool(args.report) or args.format == "json"
    words |= {**design.words, "sample_weight": design.weights, "callback": report, "equivalents": equivalents}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # they are notes of the path, which are shown
        return select(design.table, design.y, **words)


def _write(design: Design, path: SelectionPath, args: argparse.Namespace, command: str) -> None:
    """Write the files that the options name: all of them, or none."""
    _check_files(args)  # once more: the search may have taken long
    with output.whole_files() as part_of:
        if args.output:
            kept = {*path.selected_names, *(column.name for column in design.targets)}
            columns = [column for column in design.columns if column.name in kept]
            output.write_columns(part_of(args.output), args.output, columns)
        if args.report:
            from dropstep.presentation.report import report_html

            page = report_html(path, command=command, data=facts.facts(design))
            with open(part_of(args.report), "w", encoding="utf-8", newline="\n") as stream:
                stream.write(page)


# --- what is told ----------------------------------------------------------------------------------------------------


def _told(design: Design, path: SelectionPath, form: str, command: str) -> str:
    if form == "json":
        return output.as_json(_as_data(design, path, command))
    return _as_csv(path) if form == "csv" else _as_table(design, path)


def _entries(path: SelectionPath) -> list[tuple[tuple[int, ...], Step]]:
    """The selected features (or groups) in order of entry, each with the step that brought it in for good."""
    came = {j: step for step in path.steps if step.action == "add" for j in step.features}
    found: dict[tuple[int, ...], Step] = {}
    for j in path.selected:
        step = came[j]
        found.setdefault((j,) if step.phase == "start" else step.features, step)
    return list(found.items())


def _as_table(design: Design, path: SelectionPath) -> str:
    """Every addition and removal, then the summary; the selected features too where the table does not list them."""
    rows = []
    for i, (step, _, label) in enumerate(moves(path), start=1):
        rows.append([str(i), _shown(path, step), f"{step.gain:.5g}", f"{step.score:.6g}", label])
    table = [screen.aligned(["#", "feature", "gain", path.criterion, "phase"], rows, "><>><")] if rows else []
    nothing = [] if path.selected else ["Nothing is selected."]
    summary = [printable(str(path).split("\n", 1)[0]), *_selected(path), *_turns(path)]
    return "\n\n".join([facts.heading(design), *table, *nothing, "\n".join(summary)])


def _shown(path: SelectionPath, step: Step) -> str:
    """The features of a step; how many they are where their names do not fit, as at the start of backward."""
    names = " + ".join(path.names(step.features))
    long = step.phase == "start" and len(names) > screen.WIDEST
    return f"{len(step.features)} features" if long else names


def _selected(path: SelectionPath) -> list[str]:
    """The selected features in one line, where removals or a start with several make the table another list."""
    several = any(step.phase == "start" and len(step.features) > 1 for step in path.steps)
    removed = any(step.action == "remove" for step in path.steps)
    if not path.selected or not (several or removed):
        return []
    return [printable(f"selected: {', '.join(path.selected_names)}")]


def _turns(path: SelectionPath) -> list[str]:
    """What was dropped and what came back, in one sentence."""
    dropped = {j for step in path.steps if step.action == "drop" for j in step.features}
    back = dropped & {j for step in path.steps if step.action == "add" for j in step.features}
    removed = sum(len(step.features) for step in path.steps if step.action == "remove")
    if not dropped and not removed:
        return []
    return [f"dropped on the way: {len(dropped)}, of which entered later: {len(back)}; removed again: {removed}"]


def _as_csv(path: SelectionPath) -> str:
    head = ["order", "feature", "phase", "action", "gain", "score"]
    rows = [
        [i, " + ".join(path.names(step.features)), step.phase, step.action, step.gain, step.score]
        for i, (step, _, _) in enumerate(moves(path), start=1)
    ]
    return output.as_csv([head, *rows])


def _as_data(design: Design, path: SelectionPath, command: str) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "dropstep": __version__,
        "command": command,
        **facts.as_data(design),
        "strategy": path.strategy,
        "model": path.model,
        "criterion": path.criterion,
        "solver": path.solver,
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


def _entry(path: SelectionPath, features: tuple[int, ...], step: Step) -> dict[str, Any]:
    near = path.equivalents.get(features[0], ())
    return {
        "features": path.names(features),
        "phase": step.phase,
        "gain": step.gain,
        "score": step.score,
        "loss": path.losses.get(features[0]),
        "equivalents": [{"feature": path.names((j,))[0], "loss": loss} for j, loss in near],
    }
