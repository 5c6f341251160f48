"""The path as a picture: the score and the pool by step, with the phases; drawn by hand as SVG."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from dropstep.presentation.plots import phases, pools, scored
from dropstep.presentation.report.findings import more_is_better
from dropstep.presentation.report.markup import Html, join, number, plain_names, short, tag
from dropstep.result import SelectionPath, Step

LETTER = 6.7  # the width of a letter at the size of the labels, generously


def picture(path: SelectionPath, width: int, key: str) -> Html:
    """Two panels over one axis of steps: the score above, the pool below. `key` tells several pictures apart."""
    frame = _Frame(path, width)
    return tag(
        "svg",
        tag("title", f"The {path.criterion} and the pool, step by step", id=f"{key}-title"),
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
    """What the shapes and colours mean, for the phases and actions that this path has."""
    kinds = dict.fromkeys((s.phase, s.action) for s in path.steps if s.action in ("add", "remove"))
    marks = {f"{phase}: {action}": _mark(phase, action, 8, 8, 5) for phase, action in kinds}
    idle = dict.fromkeys(s.phase for s in path.steps if s.phase not in {phase for phase, _ in kinds})
    for phase in idle:
        marks[f"{phase}: nothing added"] = tag("rect", x=1, y=1, width=14, height=14, class_=f"swatch {phase}")
    items = [tag("li", tag("svg", mark, viewBox="0 0 16 16", aria_hidden="true"), word) for word, mark in marks.items()]
    return tag("ul", *items, class_="legend", aria_label="Marks in the picture")


class _Frame:
    """Where things are: x of a step, y of a score, y of a pool."""

    def __init__(self, path: SelectionPath, width: int) -> None:
        scores = [score for _, score in scored(path) if math.isfinite(score)]
        self.scores = ticks(min(scores, default=0.0), max(scores, default=1.0), 5)
        self.pools = ticks(0.0, float(max(pools(path))), 2, whole=True)
        widest = max(len(short(tick)) for tick in (*self.scores, *self.pools))
        self.left, self.right = 14 + LETTER * widest, width - 14.0
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


def ticks(low: float, high: float, most: int, whole: bool = False) -> list[float]:
    """Round numbers that enclose low to high: steps of 1, 2 or 5 times a power of ten, about `most` of them."""
    span = high - low
    if not span > 1e-12 * max(abs(low), abs(high)):
        span = abs(high) or 1.0
        low, high = low - span / 2, high + span / 2
    unit = 10.0 ** math.floor(math.log10(span / most))
    step = next(unit * m for m in (1, 2, 5, 10) if span <= unit * m * most)
    step = max(1.0, step) if whole else step
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [i * step for i in range(first, max(last, first + 1) + 1)]


def _score_panel(path: SelectionPath, frame: _Frame) -> Html:
    """A line through the scores, and a mark for every addition and removal."""
    moves = [(i, s) for i, s in enumerate(path.steps, start=1) if s.action in ("add", "remove")]
    line = " ".join(f"{frame.x(i):.1f},{frame.y(s):.1f}" for i, s in scored(path) if math.isfinite(s))
    marks = [
        tag("g", tag("title", _told(path, i, s)), _mark(s.phase, s.action, frame.x(i), frame.y(s.score), frame.radius))
        for i, s in moves
        if math.isfinite(s.score)
    ]
    better = {True: ", more is better", False: ", less is better", None: ""}[more_is_better(path)]
    return tag(
        "g",
        _grid(frame, frame.scores, frame.y),
        tag("polyline", points=line, class_="line"),
        *marks,
        _label(4, 14, f"{path.criterion}{better}", "name"),
    )


def _pool_panel(path: SelectionPath, frame: _Frame) -> Html:
    """The number of candidates after every step, as an area with steps."""
    corners = [f"M{frame.left:.1f},{frame.pool_bottom:.1f}"]
    for i, pool in enumerate(pools(path)):
        corners.append(f"H{frame.x(i - 0.5):.1f}V{frame.y_pool(pool):.1f}")
    corners.append(f"H{frame.right:.1f}V{frame.pool_bottom:.1f}Z")
    return tag(
        "g",
        _grid(frame, frame.pools, frame.y_pool),
        tag("path", d="".join(corners), class_="pool"),
        _label(4, frame.pool_top - 14, "candidates in the pool", "name"),
    )


def _bands(path: SelectionPath, frame: _Frame) -> Html:
    """A tint behind each phase, and its name where there is room for it."""
    bands: list[Html] = []
    told = set()
    for phase, first, last in phases(path):
        left, right = frame.x(first - 0.5), frame.x(last + 0.5)
        box = {"x": left, "width": right - left, "class_": f"band {phase}"}
        bands.append(tag("rect", y=frame.top - 20, height=frame.middle - frame.top + 20, **box))
        bands.append(tag("rect", y=frame.pool_top, height=frame.pool_bottom - frame.pool_top, **box))
        if phase not in told and right - left > LETTER * len(phase) + 8:
            bands.append(_label(left + 5, frame.top - 6, phase, "phase"))
            told.add(phase)
    return join(bands)


def _step_axis(path: SelectionPath, frame: _Frame) -> Html:
    room = max(1, int((frame.right - frame.left) / 60))
    labels = [
        _label(frame.x(tick), frame.pool_bottom + 18, short(tick), "tick", "middle")
        for tick in ticks(0.0, float(len(path.steps)), min(room, 8), whole=True)
        if tick <= len(path.steps)
    ]
    return tag("g", *labels, _label(frame.right, frame.pool_bottom + 36, "step", "name", "end"))


def _grid(frame: _Frame, values: Sequence[float], y: Callable[[float], float]) -> Html:
    lines = []
    for value in values:
        lines.append(tag("line", x1=frame.left, x2=frame.right, y1=y(value), y2=y(value), class_="grid"))
        lines.append(_label(frame.left - 7, y(value) + 4, short(value), "tick", "end"))
    return join(lines)


def _label(x: float, y: float, words: str, kind: str, anchor: str | None = None) -> Html:
    return tag("text", words, x=float(x), y=float(y), class_=kind, text_anchor=anchor)


def _mark(phase: str, action: str, x: float, y: float, r: float) -> Html:
    """Circle: forward. Square: re-forward. Triangle: backward. Diamond: swap. Bar: start. Hollow: a removal."""
    kind = f"mark {phase} {action}{' small' if r < 2.5 else ''}"
    if phase == "forward":
        return tag("circle", cx=x, cy=y, r=r, class_=kind)
    corners = {
        "re-forward": ((-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)),
        "backward": ((-1.1, -0.9), (1.1, -0.9), (0, 1.2)),
        "swap": ((0, -1.3), (1.3, 0), (0, 1.3), (-1.3, 0)),
    }.get(phase, ((-0.5, -1.3), (0.5, -1.3), (0.5, 1.3), (-0.5, 1.3)))
    return tag("polygon", points=" ".join(f"{x + r * a:.1f},{y + r * b:.1f}" for a, b in corners), class_=kind)


def _told(path: SelectionPath, i: int, step: Step) -> str:
    return (
        f"step {i}, {step.phase}: {step.action} {plain_names(path.names(step.features), 3)}; "
        f"gain {number(step.gain)}, {path.criterion} {number(step.score)}"
    )


def _description(path: SelectionPath) -> str:
    runs = dict.fromkeys(phase for phase, _, _ in phases(path))
    return (
        f"Over {len(path.steps)} steps ({', '.join(runs)}) the {path.criterion} goes from {number(path.start)} to "
        f"{number(path.score)}; the pool goes from {pools(path)[0]:,} candidates to {pools(path)[-1]:,}. "
        "The table of every step holds the same numbers."
    )
