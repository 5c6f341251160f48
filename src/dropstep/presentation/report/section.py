"""A section of the report, and the tables in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dropstep.presentation import html
from dropstep.presentation.html import Html, tag


@dataclass(frozen=True)
class Section:
    """A section of the page.

    Attributes
    ----------
    key : str
        Id of the heading.
    link : str
        Text of the link to the section.
    html : Html
        The section itself.
    """

    key: str
    link: str
    html: Html


def section(key: str, link: str, heading: str, *parts: object) -> Section:
    """Make a section from its parts."""
    return Section(key, link, tag("section", tag("h2", heading, id=key), *parts, aria_labelledby=key))


def table(caption: str, head: Sequence[tuple[str, str | None]], rows: Sequence[Html], kind: str) -> Html:
    """Make a table from its head cells, each with a class, and its rows."""
    return html.table([tag("th", name, scope="col", class_=side) for name, side in head], rows, caption, class_=kind)


def measured(name: Html, bar: Html) -> Html:
    """A name with a bar at its side, or below it on a narrow page."""
    return tag("span", tag("span", name), tag("span", bar, aria_hidden="true"), class_="measured")
