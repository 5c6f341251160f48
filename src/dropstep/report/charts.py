"""The path as SVG: score and pool size by step, with the phases."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from dropstep.report.html import Html, join, tag
from dropstep.report.quantities import phases, scores
from dropstep.report.text import number, short
from dropstep.result import SelectionPath, Step
from dropstep.wording import plain_names

LETTER_WIDTH = 6.7  # upper bound, in pixels, at the font size of the labels


def path_svg(path: SelectionPath, width: int, key: str) -> Html:
    """Draw two panels over a common axis of steps: the score above, the pool below.

    Parameters
    ----------
    path : SelectionPath
        Path to draw.
    width : int
        Width in pixels; the height follows from it.
    key : str
        Class of the element and prefix of its ids, which must be unique in a page.

    Returns
    -------
    Html
        The svg element.
    """
    frame = _Frame(path, width)
    return tag(
        "svg",
        tag("title", f"{path.criterion} and pool size by step", id=f"{key}-title"),
        tag("desc", _description(path), id=f"{key}-desc"),
        _bands(path, frame),
        _score_panel(path, frame),
        _pool_panel(path, frame),
        _step_axis(path, frame),
        viewBox=f"0 0 {width} {frame.height}",
        role="img",
        aria_labelledby=f"{key}-title {key}-desc",
        class_=key,
    )


def legend(path: SelectionPath) -> Html:
    """Legend of the shapes and colours, for the phases and actions of the path."""
    kinds = dict.fromkeys((s.phase, s.action) for s in path.steps if s.action in ("add", "remove"))
    marks = {f"{phase}: {action}": _mark(phase, action, 8, 8, 5) for phase, action in kinds}
    idle = dict.fromkeys(s.phase for s in path.steps if s.phase not in {phase for phase, _ in kinds})
    for phase in idle:
        marks[f"{phase}: nothing added"] = tag("rect", x=1, y=1, width=14, height=14, class_=f"swatch {phase}")
    items = [
        tag("li", tag("svg", mark, viewBox="0 0 16 16", aria_hidden="true"), label) for label, mark in marks.items()
    ]
    return tag("ul", *items, class_="legend", aria_label="Legend")


class _Frame:
    """Scales from data to pixels: x of a step, y of a score, y of a pool size."""

    def __init__(self, path: SelectionPath, width: int) -> None:
        finite = [score for _, score in scores(path) if math.isfinite(score)]
        self.scores = ticks(min(finite, default=0.0), max(finite, default=1.0), 5)
        self.pools = ticks(0.0, float(max(path.pools())), 2, integer=True)
        widest = max(len(short(tick)) for tick in (*self.scores, *self.pools))
        self.left, self.right = 14 + LETTER_WIDTH * widest, width - 14.0
        self.top, self.middle = 46.0, 46.0 + min(230.0, 120.0 + width / 6)
        self.pool_top = self.middle + 46
        self.pool_bottom = self.pool_top + 74
        self.height = math.ceil(self.pool_bottom + 44)
        self.last = max(1, len(path.steps))
        self.radius = max(1.6, min(4.5, (self.right - self.left) / self.last / 2.4))

    def x(self, step: float) -> float:
        return self.left + (self.right - self.left) * (step + 0.5) / (self.last + 1)

    def y(self, score: float) -> float:
        low, high = self.scores[0], self.scores[-1]
        return self.middle - (self.middle - self.top) * (score - low) / (high - low)

    def y_pool(self, pool: float) -> float:
        return self.pool_bottom - (self.pool_bottom - self.pool_top) * pool / self.pools[-1]


def ticks(low: float, high: float, limit: int, integer: bool = False) -> list[float]:
    """Round numbers that enclose an interval: about `limit` multiples of 1, 2 or 5 times a power of ten."""
    span = high - low
    if not span > 1e-12 * max(abs(low), abs(high)):
        span = abs(high) or 1.0
        low, high = low - span / 2, high + span / 2
    unit = 10.0 ** math.floor(math.log10(span / limit))
    step = next(unit * m for m in (1, 2, 5, 10) if span <= unit * m * limit)
    step = max(1.0, step) if integer else step
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [i * step for i in range(first, max(last, first + 1) + 1)]


def _score_panel(path: SelectionPath, frame: _Frame) -> Html:
    """A line through the scores, and a mark per addition and removal."""
    moves = [(i, s) for i, s in enumerate(path.steps, start=1) if s.action in ("add", "remove")]
    line = " ".join(f"{frame.x(i):.1f},{frame.y(s):.1f}" for i, s in scores(path) if math.isfinite(s))
    marks = [
        tag(
            "g",
            tag("title", _described(path, i, s)),
            _mark(s.phase, s.action, frame.x(i), frame.y(s.score), frame.radius),
        )
        for i, s in moves
        if math.isfinite(s.score)
    ]
    better = "larger is better" if path.greater_is_better else "smaller is better"
    return tag(
        "g",
        _grid(frame, frame.scores, frame.y),
        tag("polyline", points=line, class_="line"),
        *marks,
        _label(4, 14, f"{path.criterion}, {better}", "name"),
    )


def _pool_panel(path: SelectionPath, frame: _Frame) -> Html:
    """The number of candidates before the first step and after each, as a stepped area."""
    corners = [f"M{frame.left:.1f},{frame.pool_bottom:.1f}"]
    for i, pool in enumerate(path.pools()):
        corners.append(f"H{frame.x(i - 0.5):.1f}V{frame.y_pool(pool):.1f}")
    corners.append(f"H{frame.right:.1f}V{frame.pool_bottom:.1f}Z")
    return tag(
        "g",
        _grid(frame, frame.pools, frame.y_pool),
        tag("path", d="".join(corners), class_="pool"),
        _label(4, frame.pool_top - 14, "candidates in the pool", "name"),
    )


def _bands(path: SelectionPath, frame: _Frame) -> Html:
    """A tint behind each phase, labelled where there is room."""
    bands: list[Html] = []
    labelled = set()
    for phase, first, last in phases(path):
        left, right = frame.x(first - 0.5), frame.x(last + 0.5)
        box = {"x": left, "width": right - left, "class_": f"band {phase}"}
        bands.append(tag("rect", y=frame.top - 20, height=frame.middle - frame.top + 20, **box))
        bands.append(tag("rect", y=frame.pool_top, height=frame.pool_bottom - frame.pool_top, **box))
        if phase not in labelled and right - left > LETTER_WIDTH * len(phase) + 8:
            bands.append(_label(left + 5, frame.top - 6, phase, "phase"))
            labelled.add(phase)
    return join(bands)


def _step_axis(path: SelectionPath, frame: _Frame) -> Html:
    room = max(1, int((frame.right - frame.left) / 60))
    labels = [
        _label(frame.x(tick), frame.pool_bottom + 18, short(tick), "tick", "middle")
        for tick in ticks(0.0, float(len(path.steps)), min(room, 8), integer=True)
        if tick <= len(path.steps)
    ]
    return tag("g", *labels, _label(frame.right, frame.pool_bottom + 36, "step", "name", "end"))


def _grid(frame: _Frame, values: Sequence[float], y: Callable[[float], float]) -> Html:
    lines = []
    for value in values:
        lines.append(tag("line", x1=frame.left, x2=frame.right, y1=y(value), y2=y(value), class_="grid"))
        lines.append(_label(frame.left - 7, y(value) + 4, short(value), "tick", "end"))
    return join(lines)


def _label(x: float, y: float, content: str, kind: str, anchor: str | None = None) -> Html:
    return tag("text", content, x=float(x), y=float(y), class_=kind, text_anchor=anchor)


def _mark(phase: str, action: str, x: float, y: float, r: float) -> Html:
    """Circle: forward; square: re-forward; triangle: backward; diamond: swap; bar: start; hollow: removal."""
    kind = f"mark {phase} {action}{' small' if r < 2.5 else ''}"
    if phase == "forward":
        return tag("circle", cx=x, cy=y, r=r, class_=kind)
    corners = {
        "re-forward": ((-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)),
        "backward": ((-1.1, -0.9), (1.1, -0.9), (0, 1.2)),
        "swap": ((0, -1.3), (1.3, 0), (0, 1.3), (-1.3, 0)),
    }.get(phase, ((-0.5, -1.3), (0.5, -1.3), (0.5, 1.3), (-0.5, 1.3)))
    return tag("polygon", points=" ".join(f"{x + r * a:.1f},{y + r * b:.1f}" for a, b in corners), class_=kind)


def _described(path: SelectionPath, i: int, step: Step) -> str:
    return (
        f"step {i}, {step.phase}: {step.action} {plain_names(path.names(step.features), 3)}; "
        f"gain {number(step.gain)}, {path.criterion} {number(step.score)}"
    )


def _description(path: SelectionPath) -> str:
    runs = dict.fromkeys(phase for phase, _, _ in phases(path))
    pools = path.pools()
    return (
        f"Over {len(path.steps)} steps ({', '.join(runs)}), {path.criterion} changes from {number(path.start)} to "
        f"{number(path.score)} and the pool from {pools[0]:,} to {pools[-1]:,} candidates. "
        "The table of all steps lists the same numbers."
    )
