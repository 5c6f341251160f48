"""Facts about the input file that every command reports."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from typing import Any

from dropstep.cli import output
from dropstep.cli.table_input import AnyDesign
from dropstep.report.text import printable
from dropstep.wording import counted, shortened

MAX_CLASSES = 6  # classes listed by name


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


def print_notes(notes: Sequence[str], *, quiet: bool) -> None:
    """Print notes to standard error: one line each, or several where the terminal is narrower."""
    for note in () if quiet else notes:
        print(output.labelled("note:", printable(note), "warning", sys.stderr), file=sys.stderr)


def print_written(files: Sequence[str | None], *, quiet: bool) -> None:
    """Print the names of the files that were written to standard error."""
    for file in () if quiet else filter(None, files):
        print(f"wrote {printable(file)}", file=sys.stderr)
