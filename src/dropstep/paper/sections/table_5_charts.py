"""The charts of table 5."""

from __future__ import annotations

from collections.abc import Iterable

from dropstep.paper.charts import Axis, Dot, Line, Panel, Row, Series, dot_chart, panel_chart
from dropstep.paper.datasets import DATASETS, Dataset
from dropstep.paper.expected import TABLE_5
from dropstep.paper.parts import Records
from dropstep.paper.procedures import PROCEDURES, RUNAWAY
from dropstep.paper.sections.quantities import count_quantiles, values


def features_chart(found: Iterable[tuple[str, Dataset, Records]]) -> str:
    """Medians and ranges over splits, with the paper's number in the same lane."""
    series: dict[str, Series] = {procedure: Series(name, procedure) for procedure, name in PROCEDURES.items()}
    series["paper"] = Series("paper", "paper")
    rows = []
    for label, dataset, records in found:
        lanes = []
        for procedure in PROCEDURES:
            low, middle, high = count_quantiles(values(records, procedure, "features"), [0.05, 0.5, 0.95])
            paper = TABLE_5[dataset.name][procedure].features
            lanes.append([Dot(procedure, middle, low, high), Dot("paper", paper)])
        rows.append(Row(label, lanes))
    axis = Axis("features selected (line: 5 to 95 % of splits, cut where it runs away)", 0, RUNAWAY)
    return dot_chart(rows, series, axis, "Features selected")


def alpha_chart(alphas: dict[str, dict[str, list[float]]]) -> str:
    """Features by alpha, one panel a dataset; the paper's numbers as dashed lines."""
    panels = []
    for name, record in alphas.items():
        printed = sorted({TABLE_5[name][procedure].features for procedure in PROCEDURES})
        at = record["alphas"]
        top = min(max(*record["dropping"], *record["stepwise"], *printed), 2.5 * printed[-1])
        lines = [
            Line("dropping", "dropping", [(a, min(n, top)) for a, n in zip(at, record["dropping"], strict=True)]),
            Line("stepwise", "stepwise", [(a, min(n, top)) for a, n in zip(at, record["stepwise"], strict=True)]),
            *(Line("paper", "paper", [(at[0], n), (at[-1], n)], dashed=True) for n in printed),
        ]
        x = Axis("α", at[0], at[-1], at=(0.005, 0.01, 0.02, 0.05, 0.1, 0.2))
        panels.append(Panel(DATASETS[name].title, lines, x, Axis("", 0, top), log_x=True))
    return panel_chart(panels, "Features selected as α moves")
