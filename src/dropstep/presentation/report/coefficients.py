"""The section of the report about coefficients."""

from __future__ import annotations

from dropstep.presentation.coefficients import Line, heads, lines, sentences
from dropstep.presentation.html import Html, feature_name, tag
from dropstep.presentation.report.section import Section, section, table
from dropstep.presentation.text import count
from dropstep.result import Coefficients

MAX_LINES = 30  # of a table that is not folded


def coefficients(fit: Coefficients) -> Section:
    """The table of coefficients with its label; folded if it is long."""
    listed, several = lines(fit), fit.std_error is not None and len(fit.targets) > 1
    first = [("Target", None)] if several else []
    head = [*first, ("Column", None), *((name, "num") for name in heads(fit))]
    rows = [_row(line, several) for line in listed]
    shown = tag(
        "div",
        table("In the units of the table, in order of entry.", head, rows, "coefficients"),
        class_="scroll",
        role="region",
        aria_label="Table of coefficients",
        tabindex="0",
    )
    if len(rows) > MAX_LINES:
        shown = tag("details", tag("summary", f"All {count(len(rows), 'line')}"), shown)
    return section("coefficients", "Coefficients", "Coefficients", tag("p", sentences(fit)), shown)


def _row(line: Line, several: bool) -> Html:
    note = (" ", tag("span", line.remark, class_="quiet")) if line.remark else ()
    return tag(
        "tr",
        *([tag("td", feature_name(line.target))] if several else []),
        tag("th", feature_name(line.name), *note, scope="row"),
        *(tag("td", cell, class_="num") for cell in line.numbers),
    )
