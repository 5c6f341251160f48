"""The charts of table 5."""

from __future__ import annotations

from collections.abc import Iterable

from matplotlib.figure import Figure

from experiments.paper.charts import COLOURS, PAPER, Dot, Line, Panel, Row, Series, dot_chart, panel_chart
from experiments.paper.datasets import DATASETS, Dataset
from experiments.paper.expected import TABLE_5
from experiments.paper.parts import Records
from experiments.paper.procedures import PROCEDURES, RUNAWAY
from experiments.paper.sections.quantities import count_quantiles, values


def features_chart(found: Iterable[tuple[str, Dataset, Records]]) -> Figure:
    """Medians and ranges over splits, with the paper's number in the same lane."""
    series: dict[str, Series] = {p: Series(name, COLOURS[p]) for p, name in PROCEDURES.items()}
    series["paper"] = PAPER
    rows = []
    for label, dataset, records in found:
        lanes = []
        for procedure in PROCEDURES:
            low, middle, high = count_quantiles(values(records, procedure, "features"), [0.05, 0.5, 0.95])
            paper = TABLE_5[dataset.name][procedure].features
            lanes.append([Dot(procedure, middle, low, high), Dot("paper", paper)])
        rows.append(Row(label, lanes))
    xlabel = f"features selected (line: 5 to 95 % of splits, cut at {RUNAWAY})"
    return dot_chart(rows, series, "Features selected", xlabel, (0, RUNAWAY))


def alpha_chart(alphas: dict[str, dict[str, list[float]]]) -> Figure:
    """Features by alpha, one panel per dataset; the paper's numbers as dashed lines."""
    panels = []
    for name, record in alphas.items():
        printed = sorted({TABLE_5[name][procedure].features for procedure in PROCEDURES})
        at = record["alphas"]
        top = min(max(*record["dropping"], *record["stepwise"], *printed), 2.5 * printed[-1])
        lines = [
            *(
                Line(one, COLOURS[one], [(a, min(n, top)) for a, n in zip(at, record[one], strict=True)])
                for one in ("dropping", "stepwise")
            ),
            *(Line("paper", PAPER.colour, [(at[0], n), (at[-1], n)], dashed=True) for n in printed),
        ]
        ticks = [tick for tick in (0.005, 0.01, 0.02, 0.05, 0.1, 0.2) if at[0] <= tick <= at[-1]]
        panels.append(Panel(DATASETS[name].title, "α", lines, ticks, top, log=True))
    return panel_chart(panels, "Features selected as a function of α")
