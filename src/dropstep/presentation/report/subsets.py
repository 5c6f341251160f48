"""The section about the best sets of each size."""

from __future__ import annotations

import math

from dropstep.presentation.html import Html, feature_names, tag
from dropstep.presentation.report.section import Section, section, table
from dropstep.presentation.text import number
from dropstep.result import SelectionPath, Subset, Subsets

MAX_IN_ROW = 40  # names in a row of the table


def best_subsets(path: SelectionPath) -> list[Section]:
    """The best sets of each size, with the selected one marked, and whether it is proven to be the best."""
    if path.subsets is None:
        return []
    chosen = tuple(sorted(path.selected))
    rows = [_row(path, one, selected=one.features == chosen) for one in path.subsets.sets]
    head: list[tuple[str, str | None]] = [("Size", "num"), ("Features", None), (path.criterion, "num")]
    caption = "The best sets of each size; the selected set is in bold."
    parts = [tag("p", _proof(path.subsets)), table(caption, head, rows, "entries")]
    return [section("subsets", "Subsets", "Best subsets", *parts)]


def _proof(found: Subsets) -> str:
    if found.gap == 0:
        return "The selected set is proven to be the best."
    if math.isinf(found.gap):
        return "The search ended early; a better set may exist."
    return f"The search ended early; a set that scores better by up to {number(found.gap)} may exist."


def _row(path: SelectionPath, one: Subset, *, selected: bool) -> Html:
    names = feature_names(path.names(one.features), MAX_IN_ROW) if one.features else tag("span", "none")
    return tag(
        "tr",
        tag("td", f"{one.size:,}", class_="num"),
        tag("th", tag("b", names) if selected else names, scope="row"),
        tag("td", number(one.score, 6), class_="num"),
    )
