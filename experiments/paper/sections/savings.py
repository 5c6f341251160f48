"""Savings of dropping over the other procedures: in evaluations, in time from scratch, and in the paper's seconds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.figure import Figure

from examples.from_scratch import Procedure
from experiments.paper.charts import BLUE, ORANGE, PAPER, Dot, Row, Series, dot_chart
from experiments.paper.page import Finding, Table
from experiments.paper.parts import Records
from experiments.paper.sections.quantities import evaluations, saved, scratch_seconds, seconds, share

OVER: dict[Procedure, str] = {"stepwise": "stepwise", "forward_backward": "forward-backward"}
CLOSE = 0.1  # ten percentage points


@dataclass(frozen=True)
class SavingRow:
    """Shares that dropping saves on one problem, per procedure it is compared with."""

    label: str
    paper: dict[Procedure, float]
    in_evaluations: dict[Procedure, float]
    from_scratch: dict[Procedure, float]
    in_time: dict[Procedure, float]

    @classmethod
    def of(cls, label: str, records: Records, paper: dict[Procedure, float]) -> SavingRow:
        return cls(
            label,
            paper,
            {over: saved(records, evaluations, over) for over in OVER},
            {over: saved(records, scratch_seconds, over) for over in OVER},
            {over: saved(records, seconds, over) for over in OVER},
        )

    def finding(self, item: str, over: Procedure, stated: float) -> Finding:
        """The saving that the paper states in its text, and ours."""
        scratch = self.from_scratch[over]
        ours = f"{share(scratch)} of the time from scratch, {share(self.in_evaluations[over])} of the evaluations"
        return Finding(item, share(stated, 2), ours, "near" if abs(scratch - stated) <= CLOSE else "far")


def savings_table(caption: str, rows: Sequence[SavingRow]) -> Table:
    """Savings over stepwise and over forward-backward; times are comparable on one machine only."""
    cells: list[list[str]] = []
    for row in rows:
        for over, name in OVER.items():
            cells.append(
                [
                    row.label,
                    name,
                    share(row.paper.get(over, float("nan"))),
                    share(row.from_scratch[over]),
                    share(row.in_evaluations[over]),
                    share(row.in_time[over]),
                ]
            )
    head = ["", "saved over", "time, paper", "time, from scratch", "evaluations", "time, ours"]
    return Table(caption, head, cells, left=2)


def savings_chart(rows: Sequence[SavingRow], title: str) -> Figure:
    """Savings of every row, with the paper's."""
    series = {
        "evaluations": Series("evaluations", BLUE),
        "scratch": Series("time from scratch", ORANGE),
        "paper": Series("time, paper", PAPER.colour, hollow=True),
    }
    drawn, lowest = [], 0.0
    for row in rows:
        for over, name in OVER.items():
            found = [
                Dot("evaluations", row.in_evaluations[over]),
                Dot("scratch", row.from_scratch[over]),
                Dot("paper", row.paper.get(over, float("nan"))),
            ]
            dots = [dot for dot in found if not np.isnan(dot.value)]
            lowest = min([lowest, *(dot.value for dot in dots)])
            drawn.append(Row(f"{row.label}, {name}", [dots]))
    limits = (float(np.floor(10 * lowest) / 10), 1.0)
    return dot_chart(drawn, series, title, "share saved by dropping over the procedure", limits, percent=True)
