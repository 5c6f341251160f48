"""Tables for the terminal, and JSON with everything that was measured."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.bars import Bar
from benchmarks.growth import Grown
from benchmarks.machine import machine, versions
from benchmarks.runner import Outcome, Row

MEGA = 1e6
OURS = {"dropping": "dropstep dropping", "forward": "dropstep forward"}  # the rows that the others are divided by


def table(outcome: Outcome) -> str:
    """One workload: a line per tool."""
    score = "R2" if outcome.workload.kind == "regression" else "trace"
    head = ["", "time", "runs", *(f"/ {name}" for name in OURS), "passes", "products", "evaluations"]
    head += ["memory", "of X", "features", "shared", score]
    ran = [_cells(row, outcome) for row in outcome.rows if row.seconds is not None]
    if outcome.one_product is None:
        head, ran = _without(head.index("products"), head, ran)
    lines = [head, *ran]
    widths = [max(len(line[i]) for line in lines) for i in range(len(head))]
    aligned = ["  ".join(_aligned(line, widths)).rstrip() for line in lines]
    absent = [f"{row.rival}: {row.why}" for row in outcome.rows if row.seconds is None]
    return "\n".join([_title(outcome), aligned[0], "-" * len(aligned[0]), *aligned[1:], *absent])


def _title(outcome: Outcome) -> str:
    w = outcome.workload
    stored = "" if (outcome.dtype, outcome.order) == ("float64", "C") else f", {outcome.dtype}, order {outcome.order}"
    product = "" if outcome.one_product is None else f", one product {seconds(outcome.one_product)}"
    return (
        f"{w.name}: {w.about}; n = {outcome.n:,}, p = {outcome.p:,}{stored}, {outcome.nbytes / MEGA:,.3g} MB; "
        f"{w.k} features requested; one pass {seconds(outcome.one_pass)}{product}"
    )


def _cells(row: Row, outcome: Outcome) -> list[str]:
    assert row.seconds is not None
    times = {one.rival: one.seconds for one in outcome.rows}
    ours = [times.get(name) for name in OURS.values()]
    extra = row.extra
    return [
        row.rival,
        seconds(row.seconds),
        str(row.runs),
        *(number(row.seconds / time) if time else "" for time in ours),
        number(row.seconds / outcome.one_pass),
        number(row.seconds / outcome.one_product) if outcome.one_product else "",
        f"{row.n_evaluations:,}" if row.n_evaluations is not None else "",
        "" if extra is None else "< 1 MB" if extra < MEGA else f"{extra / MEGA:,.0f} MB",
        "" if extra is None or outcome.nbytes < 10 * MEGA else f"{extra / outcome.nbytes:.0%}",
        str(len(row.selected)),
        "all" if set(row.selected) == set(outcome.ours.selected) else str(row.shared),
        f"{row.score:.4f}",
    ]


def _without(column: int, head: list[str], lines: list[list[str]]) -> tuple[list[str], list[list[str]]]:
    kept = [i for i in range(len(head)) if i != column]
    return [head[i] for i in kept], [[line[i] for i in kept] for line in lines]


def _aligned(line: list[str], widths: list[int]) -> list[str]:
    return [f"{cell:<{w}}" if i == 0 else f"{cell:>{w}}" for i, (cell, w) in enumerate(zip(line, widths, strict=True))]


def seconds(value: float) -> str:
    """A time with three digits and its unit."""
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if value >= size:
            return f"{value / size:,.3g} {unit}"
    return f"{value * 1e6:,.3g} µs"


def number(value: float) -> str:
    """A ratio with three digits."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


LEGEND = """time        the best of so many runs, in alternating rounds after one untimed call of every tool
/ dropping  time divided by that of dropstep dropping, the default strategy, timed in the same rounds
/ forward   the same for dropstep forward, which performs the same search as the other tools
passes      time divided by the best time of one X.T @ y on the same array; products: of one X.T @ X
memory      peak growth of the resident set size above X, in a separate process
shared      selected features in common with dropstep forward (optdigits: dropping); all: the same set
Selector() has its default parameters and determines the number of features; all others select a fixed number."""


def growth_lines(grown: Grown) -> str:
    """Best time at every size, and the slope on log-log axes."""
    growth = grown.growth
    head = [growth.axis, *(f"{size:,}" for size in growth.sizes), "slope"]
    lines = [head] + [
        [name, *(seconds(value) for value in values), f"{grown.slope(name):.2f}"]
        for name, values in grown.seconds.items()
        if len(values) == len(growth.sizes)
    ]
    widths = [max(len(line[i]) for line in lines) for i in range(len(head))]
    aligned = ["  ".join(_aligned(line, widths)) for line in lines]
    return "\n".join([f"time by {growth.name} ({growth.shape})", aligned[0], "-" * len(aligned[0]), *aligned[1:]])


def as_json(
    outcomes: Sequence[Outcome], grown: Sequence[Grown], bars: Sequence[Bar], quick: bool = False
) -> dict[str, Any]:
    """Everything that was measured, with versions and machine."""
    return {
        "quick": quick,
        "versions": versions(),
        "machine": machine(),
        "workloads": [_outcome(outcome) for outcome in outcomes],
        "growth": [_grown(one) for one in grown],
        "bars": [asdict(bar) | {"met": bar.met} for bar in bars],
    }


def write_json(path: Path, content: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content, indent=1) + "\n")


def _outcome(outcome: Outcome) -> dict[str, Any]:
    workload = outcome.workload
    known = {name: getattr(workload, name) for name in ("name", "about", "kind", "k", "thresholds")}
    facts = asdict(outcome)
    del facts["workload"]
    return known | facts


def _grown(grown: Grown) -> dict[str, Any]:
    growth = grown.growth
    return {
        "name": growth.name,
        "axis": growth.axis,
        "sizes": growth.sizes,
        "shape": growth.shape,
        "seconds": grown.seconds,
        "slopes": {name: grown.slope(name) for name, v in grown.seconds.items() if len(v) == len(growth.sizes)},
    }
