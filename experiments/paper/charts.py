"""The charts, drawn with matplotlib: rows of dots with ranges, and small panels of lines."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, PercentFormatter

# Okabe and Ito's palette, distinguishable with colour vision deficiency.
BLUE, GREEN, ORANGE, PURPLE, YELLOW, GREY, BLACK = (
    "#0072B2",
    "#009E73",
    "#D55E00",
    "#B5569A",
    "#C98A00",
    "#7B8290",
    "#1B1F24",
)
COLOURS = {"dropping": BLUE, "forward_backward": GREEN, "stepwise": ORANGE}
BAND, GRID = "#F3F5F8", "#D5DAE1"
WIDTH, LANE = 8.75, 0.17  # inches

# Text stays text, and ids do not change from run to run, so that the files can be compared.
STYLE: Any = {"font.size": 9, "axes.titlesize": 10, "svg.fonttype": "none", "svg.hashsalt": "dropstep"}


@dataclass(frozen=True)
class Series:
    """Label and colour of a series; `hollow` for the paper's numbers."""

    label: str
    colour: str
    hollow: bool = False


PAPER = Series("paper", BLACK, hollow=True)


@dataclass(frozen=True)
class Dot:
    """A value of a series, with its range where there is one."""

    series: str
    value: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Row:
    """A labelled row of a dot chart, with one or more lanes of dots."""

    label: str
    lanes: Sequence[Sequence[Dot]]

    @property
    def height(self) -> float:
        return len(self.lanes) + 0.6


@matplotlib.rc_context(STYLE)
def dot_chart(
    rows: Sequence[Row],
    series: Mapping[str, Series],
    title: str,
    xlabel: str,
    limits: tuple[float, float],
    *,
    percent: bool = False,
) -> Figure:
    """Rows of dots, with ranges as lines.

    Parameters
    ----------
    rows : sequence of Row
        From top to bottom.
    series : mapping of str to Series
        In the order of the legend.
    title, xlabel : str
    limits : tuple of float
        Limits of the x-axis; ranges that exceed them are cut.
    percent : bool
        Whether values are shares, to be labelled in per cent.

    Returns
    -------
    figure : matplotlib.figure.Figure
    """
    height = sum(row.height for row in rows)
    figure, (axes,) = _figure(LANE * height + 1.1, title, 1, 1)
    _draw_rows(axes, rows, series)
    axes.set(xlim=limits, ylim=(height, 0), xlabel=xlabel)
    axes.grid(axis="x", color=GRID)
    if percent:
        axes.xaxis.set_major_formatter(PercentFormatter(1.0, decimals=0, symbol=" %"))
    for one in series.values():
        axes.plot([], [], **_marker(one), label=one.label)
    _legend(figure, axes)
    return figure


def _draw_rows(axes: Axes, rows: Sequence[Row], series: Mapping[str, Series]) -> None:
    top, centres = 0.0, []
    for number, row in enumerate(rows):
        if number % 2 == 0:
            axes.axhspan(top, top + row.height, color=BAND, zorder=0)
        for lane, dots in enumerate(row.lanes):
            for dot in dots:
                _draw(axes, dot, series[dot.series], top + 0.8 + lane)
        centres.append(top + row.height / 2)
        top += row.height
    axes.set_yticks(centres, [row.label for row in rows])


def _draw(axes: Axes, dot: Dot, series: Series, y: float) -> None:
    if dot.low is not None and dot.high is not None:
        axes.plot([dot.low, dot.high], [y, y], color=series.colour, alpha=0.38, linewidth=3, solid_capstyle="round")
    axes.plot([dot.value], [y], **_marker(series))


def _marker(series: Series) -> dict[str, Any]:
    marker, fill = ("D", "none") if series.hollow else ("o", series.colour)
    style = {"linestyle": "none", "color": series.colour, "markersize": 5, "zorder": 3}
    return {**style, "marker": marker, "markerfacecolor": fill}


@dataclass(frozen=True)
class Line:
    """Points joined by a line; dashed for the paper's numbers."""

    label: str
    colour: str
    points: Sequence[tuple[float, float]]
    dashed: bool = False


@dataclass(frozen=True)
class Panel:
    """One of several small charts.

    Attributes
    ----------
    title, xlabel : str
    lines : sequence of Line
    ticks : sequence of float
        Ticks of the x-axis.
    top : float
        Upper limit of the y-axis, which starts at 0.
    log : bool
        Whether the x-axis is logarithmic.
    """

    title: str
    xlabel: str
    lines: Sequence[Line]
    ticks: Sequence[float]
    top: float
    log: bool = False


@matplotlib.rc_context(STYLE)
def panel_chart(panels: Sequence[Panel], title: str, columns: int = 3) -> Figure:
    """Small charts in a grid, with one legend."""
    rows = math.ceil(len(panels) / columns)
    figure, grid = _figure(2.4 * rows + 0.8, title, rows, columns)
    for axes, panel in zip(grid, panels, strict=False):
        for line in panel.lines:
            dash = "--" if line.dashed else "-"
            axes.plot(*zip(*line.points, strict=True), dash, color=line.colour, label=line.label, clip_on=False)
        if panel.log:
            axes.set_xscale("log")
            axes.minorticks_off()
        axes.set_xticks(panel.ticks, [f"{tick:g}" for tick in panel.ticks])
        axes.set_title(panel.title, loc="left")
        axes.set(xlabel=panel.xlabel, ylim=(0, panel.top))
        axes.yaxis.set_major_locator(MaxNLocator(7, steps=[1, 2, 5, 10]))
        axes.grid(axis="y", color=GRID)
    for axes in grid[len(panels) :]:
        axes.set_visible(False)
    _legend(figure, grid[0])
    return figure


def _figure(height: float, title: str, rows: int, columns: int) -> tuple[Figure, list[Axes]]:
    figure = Figure(figsize=(WIDTH, height), layout="constrained")
    grid = figure.subplots(rows, columns, squeeze=False)
    figure.suptitle(title, x=0.01, ha="left", fontweight="bold", fontsize=11)
    for axes in grid.flat:
        axes.set_axisbelow(True)
        axes.spines[:].set_visible(False)
        axes.tick_params(length=0)
    return figure, list(grid.flat)


def _legend(figure: Figure, axes: Axes) -> None:
    entries = dict(zip(*axes.get_legend_handles_labels()[::-1], strict=True))
    style: dict[str, Any] = {"ncols": len(entries), "frameon": False, "handlelength": 1.5}
    figure.legend(entries.values(), entries.keys(), loc="outside lower center", **style)


@matplotlib.rc_context(STYLE)
def save(figure: Figure, file: Path) -> None:
    """Write a figure as SVG; the same figure gives the same file."""
    figure.savefig(file, format="svg", metadata={"Date": None, "Creator": None})
