"""Facts about the input file that every command reports, and the plan of a search with its cost, for --dry-run."""

from __future__ import annotations

import argparse
from collections import Counter
from typing import Any

from dropstep import __version__
from dropstep.cli import output
from dropstep.cli.table_input import AnyDesign
from dropstep.data.division import N_FOLDS
from dropstep.data.target import MODELS
from dropstep.models.evaluation import Resamples
from dropstep.models.families import as_family
from dropstep.models.least_squares.problem import choose_solver
from dropstep.report.text import printable
from dropstep.search.strategies import as_strategy
from dropstep.wording import counted, shortened

SCHEMA = "dropstep.plan/2"
MAX_CLASSES = 6  # classes listed by name
MAX_LINES, SHOWN_LINES = 40, 30  # columns of the file in the table: if there are more than 40, the first 30


def facts(design: AnyDesign) -> dict[str, Any]:
    """The file, its rows, its features and its target, as text."""
    used, read = design.shape[0], design.rows_read
    return {
        "File": design.shown,
        "Rows": used if used == read else f"{used:,} of {read:,}",
        "Features": f"{sum(line.role == 'feature' for line in design.listing):,} ({_kinds(design)})",
        "Target": f"{', '.join(map(shortened, design.target_names))}, {_target(design)}",
    }


def _kinds(design: AnyDesign) -> str:
    nouns = {"number": ("number", "numbers"), "text": ("text", "text"), "boolean": ("true or false", "true or false")}
    counts = Counter(line.kind for line in design.listing if line.role == "feature")
    return ", ".join(counted(counts[kind], *forms) for kind, forms in nouns.items() if counts[kind])


def _target(design: AnyDesign) -> str:
    if not (counts := design.class_counts()):
        return design.target_range()
    shown = ", ".join(f"{shortened(label)} ({count:,})" for label, count in list(counts.items())[:MAX_CLASSES])
    return f"{len(counts)} classes: {shown}" + (" and more" if len(counts) > MAX_CLASSES else "")


def heading(design: AnyDesign) -> str:
    """The facts as the lines above a table."""
    known = facts(design)
    n = known["Rows"]
    lines = [
        f"{known['File']}: {n if isinstance(n, str) else f'{n:,}'} row{'' if n == 1 else 's'}",
        f"features: {known['Features']}",
        f"target: {known['Target']}",
    ]
    return "\n".join(output.wrapped(printable(line)) for line in lines)


def as_data(design: AnyDesign, *, columns: bool = True) -> dict[str, Any]:
    """The facts for JSON: the file, its rows, its target and, if requested, its columns."""
    listed = [{"name": line.name, "type": line.kind, "role": line.role} for line in design.listing]
    return {
        "file": design.file,
        "rows": {"read": design.rows_read, "used": design.shape[0]},
        **({"columns": listed} if columns else {}),
        "target": {"names": list(design.target_names), "classes": design.class_counts() or None},
    }


# --- the plan --------------------------------------------------------------------------------------------------------


def planned(design: AnyDesign, args: argparse.Namespace, command: str) -> str:
    """The plan in the requested format."""
    head = ["column", "type", "role", "values"]
    rows = [[*line, values] for line, values in zip(design.listing, design.summaries(), strict=True)]
    if args.format == "csv":
        return output.as_csv([head, *rows])
    cost = _cost(design, args)
    if isinstance(as_family(args.model), Resamples):
        cost |= {"solver": "fits", "max_fits": cost["max_evaluations"] * (args.cv or N_FOLDS), "gram_bytes": 0}
    if args.format == "json":
        document = {"schema": SCHEMA, "dropstep": __version__, "command": command, **as_data(design)}
        notes = design.notes_with(design.known.notes)
        return output.as_json(document | {"strategy": as_strategy(args.strategy)[0]} | cost | {"notes": notes})
    shown = (
        rows if len(rows) <= MAX_LINES else [*rows[:SHOWN_LINES], ["...", f"{len(rows) - SHOWN_LINES} more", "", ""]]
    )
    n, p = design.shape
    lines = [
        f"strategy {as_strategy(args.strategy)[0]}, solver {cost['solver']}",
        f"evaluations: {cost['first_scan']:,} for the first feature, "
        f"at most {cost['max_evaluations']:,} for one forward pass",
        *([f"fits: at most {cost['max_fits']:,} for one forward pass"] if cost["max_fits"] is not None else []),
        _memory(n, p, cost),
        *(f"would write {file}" for file in (args.output, args.report) if file),
    ]
    return "\n\n".join([heading(design), output.as_table(head, shown, "<<<<"), "\n".join(lines)])


def _memory(n: int, p: int, cost: dict[str, Any]) -> str:
    table = f"memory: {_bytes(cost['table_bytes'])} for {n:,} x {p:,} numbers"
    if not cost["table_bytes"]:
        table = f"memory: {n:,} x {p:,} numbers are read in blocks of rows"
    return table + (f", and at most {_bytes(cost['gram_bytes'])} for the Gram matrix" if cost["gram_bytes"] else "")


def _cost(design: AnyDesign, args: argparse.Namespace) -> dict[str, Any]:
    """Evaluations and memory; each scan of a forward pass evaluates every unit that is not selected."""
    (n, p), max_features = design.shape, args.max_features
    included = design.known.choice.include
    candidates = len(design.units) - len(included)
    additions = min(candidates, max((max_features or candidates + len(included)) - len(included), 0), n - 1)
    scans = min(additions + 1, candidates)
    widest = sorted(map(design.width, design.units), reverse=True)
    n_rows = min(p, sum(widest[: len(included) + additions + 1]))  # of the Gram matrix
    in_memory = design.values_bytes > 0
    solver = "columns" if args.model not in MODELS else "gram"
    if solver == "gram" and in_memory:
        solver = choose_solver(n, p, max_features, from_all=as_strategy(args.strategy)[0] == "backward")
    return {
        "solver": solver,
        "first_scan": candidates,
        "max_evaluations": sum(candidates - done for done in range(scans)),
        "max_fits": None,
        "table_bytes": design.values_bytes,
        "gram_bytes": 8 * p * p if solver == "gram" else 8 * p * n_rows,
    }


def _bytes(n: float) -> str:
    for unit in ("bytes", "KB", "MB"):
        if n < 1000:
            return f"{n:.0f} {unit}"
        n /= 1000
    return f"{n:.1f} GB"
