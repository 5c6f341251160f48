"""A path in a notebook: compact HTML in the colours of the surrounding page, light or dark."""

from __future__ import annotations

import math
from collections.abc import Sequence

from dropstep.report.coefficient_table import heads, sentences
from dropstep.report.coefficient_table import lines as coefficient_lines
from dropstep.report.html import Html, feature_names, join, table, tag
from dropstep.report.quantities import MoveMade, moves
from dropstep.report.text import number, p_value
from dropstep.result import SelectionPath
from dropstep.wording import counted

MAX_MOVES = 12
MAX_STEPS = 200
MAX_LINES = 10  # of the table of coefficients
BLUE = "#3a8fc4"  # visible on white and on black
CELL = "padding:.15em .7em;vertical-align:top;text-align:"


def path_html(path: SelectionPath) -> str:
    """Represent a path in a notebook.

    Parameters
    ----------
    path : SelectionPath
        Path to show.

    Returns
    -------
    str
        HTML: a summary, the additions and removals with their gains, the notes, and folded tables of coefficients and
        of all steps.
    """
    parts = (_summary(path), _moves(path), _notes(path), _coefficients(path), _steps(path))
    return tag("div", *parts, style="max-width:48em")


def _summary(path: SelectionPath) -> Html:
    return tag(
        "p",
        tag("b", f"{len(path.selected):,} of {counted(path.n_features, 'feature')}"),
        f" selected by {path.strategy}, {path.criterion} {number(path.score)} (from {number(path.start)}), "
        f"{counted(path.n_evaluations, 'evaluation')}. Stopped because {path.why}.",
        style="margin:.4em 0",
    )


def _moves(path: SelectionPath) -> Html:
    """All additions and removals; the later ones share a row, so that the gains still add up to the score."""
    made = moves(path)
    if not made:
        return Html("")
    shown, others = made[:MAX_MOVES], made[MAX_MOVES:]
    largest = max((move.step.gain for move in made if math.isfinite(move.step.gain)), default=0.0)
    rows = [_move(path, i, move, largest) for i, move in enumerate(shown, start=1)]
    if others:
        rows.append(_others(path, others))
    return _table(("", "feature", "gain", path.criterion), rows)


def _move(path: SelectionPath, order: int, move: MoveMade, largest: float) -> Html:
    step = move.step
    width = 100 * min(1.0, step.gain / largest) if step.gain > 0 and largest > 0 else 0.0
    bar = tag("div", style=f"height:3px;margin-top:2px;width:{width:.3g}%;background:{BLUE}")
    names = feature_names(path.names(step.features), struck=path.names(tuple(move.removed)))
    label = tag("small", " ", move.label, style="opacity:.7") if move.label != "forward" else ""
    return _row(order, join([names, label, bar]), step.gain, step.score)


def _others(path: SelectionPath, others: Sequence[MoveMade]) -> Html:
    """One row for the later moves: features added and removed, and the sum of the gains."""
    listed: list[object] = []
    for action, lead in (("add", "then "), ("remove", "; removed: ")):
        features = [name for move in others if move.step.action == action for name in path.names(move.step.features)]
        listed += [lead, feature_names(features, 24)] if features else []
    return _row("", join(listed), sum(move.step.gain for move in others), others[-1].step.score)


def _row(order: int | str, names: Html, gain: float, score: float) -> Html:
    return tag(
        "tr",
        tag("td", order, style=CELL + "right;opacity:.7"),
        tag("td", names, style=CELL + "left;min-width:12em;overflow-wrap:anywhere"),
        *(
            tag("td", cell, style=CELL + "right;font-variant-numeric:tabular-nums")
            for cell in (number(gain), number(score, 6))
        ),
    )


def _notes(path: SelectionPath) -> Html:
    return join(tag("p", tag("b", "Note: "), note, style="margin:.4em 0") for note in path.notes)


def _coefficients(path: SelectionPath) -> Html:
    fit = path.coefficients
    if fit is None or not path.selected:
        return Html("")
    listed = coefficient_lines(fit)
    rows = [
        tag(
            "tr",
            tag(
                "td", feature_names(filter(None, (line.target, line.name))), style=CELL + "left;overflow-wrap:anywhere"
            ),
            *(tag("td", cell, style=CELL + "right") for cell in line.numbers),
        )
        for line in listed[:MAX_LINES]
    ]
    omitted = len(listed) - len(rows)
    more = tag("p", f"and {counted(omitted, 'more line')}: see coefficients.to_frame()") if omitted > 0 else ""
    shown = _table(("feature", *heads(fit)), rows)
    caveat = tag("p", tag("small", sentences(fit)), style="margin:.4em 0")
    title = tag("summary", "coefficients", style="cursor:pointer")
    return tag("details", title, tag("div", shown, style="overflow-x:auto"), more, caveat)


def _steps(path: SelectionPath) -> Html:
    if not path.steps:
        return Html("")
    rows = []
    for i, step in enumerate(path.steps[:MAX_STEPS], start=1):
        gain = number(step.gain) if step.action in ("add", "remove") else ""
        p = "" if step.test is None else p_value(step.test.p_value)
        numbers = (gain, number(step.score), p, f"{step.pool:,}")
        rows.append(
            tag(
                "tr",
                tag("td", i, style=CELL + "right;opacity:.7"),
                tag("td", f"{step.phase}: {step.action}", style=CELL + "left;white-space:nowrap"),
                tag("td", feature_names(path.names(step.features), 5), style=CELL + "left;overflow-wrap:anywhere"),
                *(tag("td", cell, style=CELL + "right") for cell in numbers),
            )
        )
    shown = _table(("", "step", "features", "gain", path.criterion, "p", "pool"), rows)
    omitted = len(path.steps) - MAX_STEPS
    more = tag("p", f"and {counted(omitted, 'more step')}: see to_frame() or report()") if omitted > 0 else ""
    return tag("details", tag("summary", counted(len(path.steps), "step"), style="cursor:pointer"), shown, more)


def _table(head: tuple[str, ...], rows: list[Html]) -> Html:
    texts = {"feature", "features", "step"}
    heads = [tag("th", name, style=CELL + ("left" if name in texts else "right"), scope="col") for name in head]
    return table(heads, rows, style="border-collapse:collapse;margin:.4em 0")
