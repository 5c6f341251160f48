"""Sections about scores that are means over folds: score by number of features, and fits."""

from __future__ import annotations

from collections.abc import Sequence

from dropstep.presentation import html
from dropstep.presentation.html import Html, join, tag
from dropstep.presentation.summary import Size
from dropstep.presentation.svg import ticks
from dropstep.presentation.text import count, number, short
from dropstep.result import SelectionPath

WIDTH, HEIGHT = 720, 260
LEFT, RIGHT, TOP, BOTTOM = 64.0, 706.0, 28.0, 216.0
CAUSES = {"dropping": "dropping candidates", "racing": "racing", "cache": "the cache"}


def by_size(path: SelectionPath, found: Sequence[Size]) -> list[Html]:
    """A line with its band of one standard error, and the same numbers in a table."""
    caption = "Cross-validated score by number of features, with a band of one standard error over the folds."
    head = [tag("th", text, scope="col", class_="num") for text in ("Features", path.criterion, "Standard error")]
    rows = [
        tag("tr", *(tag("td", text, class_="num") for text in (f"{n:,}", number(score, 6), number(error))))
        for n, score, error in found
    ]
    return [
        tag("figure", _band(path, found), tag("figcaption", caption)),
        tag("details", tag("summary", "The numbers"), html.table(head, rows, caption, class_="steps")),
    ]


def _band(path: SelectionPath, found: Sequence[Size]) -> Html:
    low, high = min(s.score - s.std_error for s in found), max(s.score + s.std_error for s in found)
    scores = ticks(low, high, 5)
    first, last = found[0].n_features, found[-1].n_features

    def x(n: float) -> float:
        return LEFT + (RIGHT - LEFT) * (n - first + 0.5) / (last - first + 1)

    def y(score: float) -> float:
        return BOTTOM - (BOTTOM - TOP) * (score - scores[0]) / (scores[-1] - scores[0])

    grid = [tag("line", x1=LEFT, x2=RIGHT, y1=y(t), y2=y(t), class_="grid") for t in scores]
    grid += [_text(LEFT - 7, y(t) + 4, short(t), "tick", "end") for t in scores]
    shown = {s.n_features for s in found}
    axis = [
        _text(x(t), BOTTOM + 18, short(t), "tick", "middle") for t in ticks(first, last, 8, integer=True) if t in shown
    ]
    upper = [f"{x(s.n_features):.1f},{y(s.score + s.std_error):.1f}" for s in found]
    lower = [f"{x(s.n_features):.1f},{y(s.score - s.std_error):.1f}" for s in reversed(found)]
    middle = [f"{x(s.n_features):.1f},{y(s.score):.1f}" for s in found]
    marks = [tag("circle", cx=x(s.n_features), cy=y(s.score), r=4, class_="mark forward add") for s in found]
    return tag(
        "svg",
        tag("title", f"{path.criterion} by number of features"),
        *grid,
        *axis,
        tag("polygon", points=" ".join([*upper, *lower]), class_="pool"),
        tag("polyline", points=" ".join(middle), class_="line"),
        *marks,
        _text(4, 14, path.criterion, "name"),
        _text(RIGHT, BOTTOM + 36, "number of features", "name", "end"),
        viewBox=f"0 0 {WIDTH} {HEIGHT}",
        role="img",
    )


def _text(x: float, y: float, content: str, kind: str, anchor: str | None = None) -> Html:
    return tag("text", content, x=x, y=y, class_=kind, text_anchor=anchor)


def fits(path: SelectionPath) -> Html:
    """Fits made, and those that were not necessary, by what saved them."""
    saved = [(CAUSES[name], n) for name, n in path.fits_saved.items() if n]
    made = f"The search fitted {count(path.n_fits, 'model')}"
    if not saved:
        return tag("p", f"{made}; none were saved.")
    total = path.n_fits + sum(n for _, n in saved)
    parts = join([f"{cause} saved {n:,}" for cause, n in saved], ", ")
    return tag("p", f"{made} instead of {total:,}: ", parts, f" ({1 - path.n_fits / total:.0%} in all).")
