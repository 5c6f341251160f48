"""Charts as SVG, drawn by hand: readable in light and dark, inside a page or as a file of their own."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Literal

Colour = Literal["dropping", "forward_backward", "stepwise", "all", "components", "other", "paper"]

# Okabe and Ito's colours, which the colour-blind can tell apart; lighter ones on dark ground.
STYLE = """
.chart{--ink:#1b1f24;--soft:#5b6470;--line:#d5dae1;--band:#f3f5f8;--ground:#ffffff;
--dropping:#0072b2;--forward_backward:#009e73;--stepwise:#d55e00;--all:#7b8290;--components:#b5569a;--other:#c98a00;
--paper:#1b1f24;font:13px system-ui,-apple-system,"Segoe UI",sans-serif}
@media (prefers-color-scheme:dark){.chart{--ink:#e7eaee;--soft:#9aa4b1;--line:#3a424d;--band:#1e242c;--ground:#161b22;
--dropping:#4db2ef;--forward_backward:#2fc79b;--stepwise:#ff8b45;--all:#9aa4b1;--components:#e38fc8;--other:#f0b93a;
--paper:#f4f6f8}}
.chart text{fill:var(--ink)}.chart .soft{fill:var(--soft)}.chart .title{font-weight:600}
"""


@dataclass(frozen=True)
class Dot:
    """A value with its range, in the lane of a series."""

    series: str
    value: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Series:
    """How a series is called and drawn; the paper's is a hollow diamond."""

    label: str
    colour: Colour


@dataclass(frozen=True)
class Axis:
    """An axis from low to high, with ticks where `at` says, or at nice places."""

    label: str
    low: float
    high: float
    percent: bool = False
    at: tuple[float, ...] = ()

    def ticks(self) -> list[float]:
        if self.at:
            return list(self.at)
        step = nice_step((self.high - self.low) / 6)
        first = math.ceil(self.low / step - 1e-9)
        return [step * i for i in range(first, math.floor(self.high / step + 1e-9) + 1)]

    def text(self, x: float) -> str:
        return f"{100 * x:.0f} %" if self.percent else f"{x:g}"


def nice_step(rough: float) -> float:
    """The next 1, 2 or 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(rough))
    return next(power * nice for nice in (1, 2, 5, 10) if power * nice >= rough - 1e-12)


@dataclass(frozen=True)
class Row:
    """A labelled row of a dot chart, with dots in one or more lanes."""

    label: str
    lanes: Sequence[Sequence[Dot]]


def dot_chart(rows: Sequence[Row], series: dict[str, Series], axis: Axis, title: str) -> str:
    """Rows of dots, each with its range as a line."""
    left = 34 + 7 * max(len(row.label) for row in rows)
    right, top, lane = 820, 58, 15
    bands, marks, grid, y = [], [], [], top
    for number, row in enumerate(rows):
        height = lane * len(row.lanes) + 10
        if number % 2 == 0:
            bands.append(f'<rect x="8" y="{y}" width="{right + 12}" height="{height}" rx="4" fill="var(--band)"/>')
        marks.append(f'<text x="{left - 16}" y="{y + height / 2 + 4.5}" text-anchor="end">{escape(row.label)}</text>')
        for place, dots in enumerate(row.lanes):
            at = y + 5 + lane * (place + 0.5)
            marks += [_dot(dot, series[dot.series], at, left, right, axis) for dot in dots]
        y += height
    for tick in axis.ticks():
        x = _at(tick, axis, left, right)
        grid.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{top}" y2="{y}" stroke="var(--line)"/>')
        grid.append(f'<text class="soft" x="{x:.1f}" y="{y + 18}" text-anchor="middle">{axis.text(tick)}</text>')
    middle = (left + right) / 2
    grid.append(f'<text class="soft" x="{middle}" y="{y + 38}" text-anchor="middle">{escape(axis.label)}</text>')
    return _svg(840, y + 50, title, [_legend(series, left), *bands, *grid, *marks])


def _at(value: float, axis: Axis, left: float, right: float) -> float:
    share = (value - axis.low) / (axis.high - axis.low)
    return left + min(max(share, -0.01), 1.01) * (right - left)


def _dot(dot: Dot, series: Series, y: float, left: float, right: float, axis: Axis) -> str:
    x, colour = _at(dot.value, axis, left, right), f"var(--{series.colour})"
    said = f"<title>{escape(series.label)}: {axis.text(dot.value)}</title>"
    if series.colour == "paper":
        return f"<g>{said}{_diamond(x, y)}</g>"
    span = ""
    if dot.low is not None and dot.high is not None:
        ends = _at(dot.low, axis, left, right), _at(dot.high, axis, left, right)
        span = f'<line x1="{ends[0]:.1f}" x2="{ends[1]:.1f}" y1="{y}" y2="{y}" stroke="{colour}" stroke-width="4"'
        span += ' stroke-opacity=".38" stroke-linecap="round"/>'
    return f'<g>{said}{span}<circle cx="{x:.1f}" cy="{y}" r="4.5" fill="{colour}"/></g>'


def _diamond(x: float, y: float) -> str:
    path = f"M{x - 5.5:.1f} {y}L{x:.1f} {y - 5.5}L{x + 5.5:.1f} {y}L{x:.1f} {y + 5.5}Z"
    return f'<path d="{path}" fill="none" stroke="var(--paper)" stroke-width="1.8"/>'


def _legend(series: dict[str, Series], left: float) -> str:
    parts, x = [], left
    for one in series.values():
        if one.colour == "paper":
            parts.append(_diamond(x, 40))
        else:
            parts.append(f'<circle cx="{x}" cy="40" r="4.5" fill="var(--{one.colour})"/>')
        parts.append(f'<text x="{x + 11}" y="44.5">{escape(one.label)}</text>')
        x += 32 + 7.3 * len(one.label)
    return "".join(parts)


@dataclass(frozen=True)
class Line:
    """Points joined by a line; `dashed` for the paper's."""

    label: str
    colour: Colour
    points: Sequence[tuple[float, float]]
    dashed: bool = False


@dataclass(frozen=True)
class Panel:
    """One small chart of several."""

    title: str
    lines: Sequence[Line]
    x: Axis
    y: Axis
    log_x: bool = False


def panel_chart(panels: Sequence[Panel], title: str, columns: int = 3) -> str:
    """Small charts side by side, with one legend."""
    series = {line.label: Series(line.label, line.colour) for panel in panels for line in panel.lines}
    width, height = 840 / columns, 210
    rows = math.ceil(len(panels) / columns)
    marks = [_line_legend(series)]
    for number, panel in enumerate(panels):
        marks.append(_panel(panel, number % columns * width, 52 + number // columns * height, width, height))
    return _svg(840, 52 + rows * height + 6, title, marks)


def _line_legend(series: dict[str, Series]) -> str:
    parts, x = [], 50.0
    for one in series.values():
        dash = ' stroke-dasharray="5 4"' if one.colour == "paper" else ""
        parts.append(f'<line x1="{x}" x2="{x + 22}" y1="40" y2="40" stroke="var(--{one.colour})" stroke-width="2.4"')
        parts.append(f'{dash}/><text x="{x + 28}" y="44.5">{escape(one.label)}</text>')
        x += 52 + 7.3 * len(one.label)
    return "".join(parts)


def _panel(panel: Panel, x: float, y: float, width: float, height: float) -> str:
    left, right, top, bottom = x + 50, x + width - 14, y + 26, y + height - 40
    place = _log if panel.log_x else _at
    parts = [f'<text class="title" x="{left}" y="{y + 16}">{escape(panel.title)}</text>']
    for tick in panel.y.ticks():
        at = _at(tick, panel.y, bottom, top)
        parts.append(f'<line x1="{left}" x2="{right}" y1="{at:.1f}" y2="{at:.1f}" stroke="var(--line)"/>')
        text = panel.y.text(tick)
        parts.append(f'<text class="soft" x="{left - 6}" y="{at + 4:.1f}" text-anchor="end">{text}</text>')
    for tick in panel.x.ticks():
        at = place(tick, panel.x, left, right)
        text = panel.x.text(tick).removeprefix("0") or "0"
        parts.append(f'<text class="soft" x="{at:.1f}" y="{bottom + 16}" text-anchor="middle">{text}</text>')
    middle = (left + right) / 2
    parts.append(
        f'<text class="soft" x="{middle}" y="{bottom + 32}" text-anchor="middle">{escape(panel.x.label)}</text>'
    )
    for line in panel.lines:
        points = " ".join(
            f"{place(px, panel.x, left, right):.1f},{_at(py, panel.y, bottom, top):.1f}" for px, py in line.points
        )
        dash = ' stroke-dasharray="5 4"' if line.dashed else ""
        parts.append(
            f'<polyline points="{points}" fill="none" stroke="var(--{line.colour})" stroke-width="2.2"{dash} '
            f'stroke-linejoin="round"><title>{escape(line.label)}</title></polyline>'
        )
    return "".join(parts)


def _log(value: float, axis: Axis, left: float, right: float) -> float:
    share = math.log(value / axis.low) / math.log(axis.high / axis.low)
    return left + share * (right - left)


def _svg(width: float, height: float, title: str, marks: Sequence[str]) -> str:
    return (
        f'<svg class="chart" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" role="img">'
        f"<title>{escape(title)}</title><style>{STYLE}</style>"
        f'<rect width="{width:g}" height="{height:g}" rx="8" fill="var(--ground)"/>'
        f'<text class="title" x="14" y="20">{escape(title)}</text>' + "\n".join(marks) + "</svg>"
    )
