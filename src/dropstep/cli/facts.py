"""Facts about the input file that every command reports."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from dropstep.cli import output
from dropstep.cli.colour import painted
from dropstep.cli.design import Design
from dropstep.data.response import Survival
from dropstep.data.target import Categorical
from dropstep.presentation.text import printable
from dropstep.readers.columns import shown_number
from dropstep.readers.wording import counted, shortened

MAX_CLASSES = 6  # classes listed by name


def facts(design: Design) -> dict[str, Any]:
    """The file, its rows, its features and its target, as text."""
    used = int(design.kept.sum())
    return {
        "File": design.source.shown,
        "Rows": used if design.kept.all() else f"{used:,} of {len(design.kept):,}",
        "Features": f"{len(design.features):,} ({_kinds(design)})",
        "Target": f"{', '.join(shortened(column.name) for column in design.targets)}, {_target(design)}",
    }


def _kinds(design: Design) -> str:
    nouns = {"number": ("number", "numbers"), "text": ("text", "text"), "boolean": ("true or false", "true or false")}
    counts = Counter(str(column.kind) for column in design.features)
    return ", ".join(counted(counts[kind], *forms) for kind, forms in nouns.items() if counts[kind])


def _target(design: Design) -> str:
    if isinstance(design.target, Survival):
        time, event = design.target.time, design.target.event
        return f"{counted(int(event.sum()), 'event')}, times from {time.min():g} to {time.max():g}"
    if not isinstance(design.target, Categorical):
        ranges = (column.values[design.kept] for column in design.targets)
        return "numbers from " + ", ".join(f"{values.min():g} to {values.max():g}" for values in ranges)
    counts = class_counts(design)
    shown = ", ".join(f"{shortened(label)} ({count})" for label, count in list(counts.items())[:MAX_CLASSES])
    return f"{len(counts)} classes: {shown}" + (" and more" if len(counts) > MAX_CLASSES else "")


def class_counts(design: Design) -> dict[str, int]:
    """Number of rows per class; empty for a continuous target."""
    if not isinstance(design.target, Categorical):
        return {}
    counts = np.bincount(design.target.codes, minlength=len(design.target.labels))
    return {_label(label): int(count) for label, count in zip(design.target.labels, counts, strict=True)}


def _label(label: Any) -> str:
    return shown_number(float(label)) if isinstance(label, float) else str(label)


def heading(design: Design) -> str:
    """The facts as the lines above a table."""
    known = facts(design)
    n = known["Rows"]
    lines = [
        f"{known['File']}: {n if isinstance(n, str) else f'{n:,}'} row{'' if n == 1 else 's'}",
        f"features: {known['Features']}",
        f"target: {known['Target']}",
    ]
    return "\n".join(output.wrapped(printable(line)) for line in lines)


def as_data(design: Design, *, columns: bool = True) -> dict[str, Any]:
    """The facts for JSON: the file, its rows, its target and, if requested, its columns."""
    listed = [
        {"name": column.name, "type": column.kind, "role": role}
        for column, role in zip(design.columns, design.roles, strict=True)
    ]
    return {
        "file": design.source.file,
        "rows": {"read": len(design.kept), "used": int(design.kept.sum())},
        **({"columns": listed} if columns else {}),
        "target": {"names": [column.name for column in design.targets], "classes": class_counts(design) or None},
    }


def print_notes(notes: Sequence[str], *, quiet: bool) -> None:
    """Print notes to standard error, one line each."""
    for note in () if quiet else notes:
        print(f"{painted('note:', 'warning', sys.stderr)} {printable(note)}", file=sys.stderr)


def print_written(files: Sequence[str | None], *, quiet: bool) -> None:
    """Print the names of the files that were written to standard error."""
    for file in () if quiet else filter(None, files):
        print(f"wrote {printable(file)}", file=sys.stderr)
