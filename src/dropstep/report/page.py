"""The report: one self-contained HTML page. Here are its frame, its sections as values, and the order of its parts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files

from dropstep.report import html
from dropstep.report.html import Html, tag


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


# The browser loads and executes nothing, whatever the features are called.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"


def page(title: str, header: Html, parts: Sequence[Section]) -> str:
    """A self-contained page from its header and its sections."""
    links = [tag("li", tag("a", part.link, href=f"#{part.key}")) for part in parts]
    body = tag(
        "body",
        tag("a", "Skip to the details", href="#report", class_="skip"),
        header,
        tag("nav", tag("ul", *links), aria_label="Sections"),
        tag("main", *(part.html for part in parts), id="report", tabindex="-1"),
    )
    return "<!doctype html>\n" + tag("html", _head(title), body, lang="en") + "\n"


def _head(title: str) -> Html:
    style = files("dropstep.report").joinpath("style.css").read_text(encoding="utf-8")
    return tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("meta", http_equiv="Content-Security-Policy", content=POLICY),
        tag("link", rel="icon", href="data:,"),
        tag("title", f"{title} · dropstep"),
        tag("style", Html(style)),
    )
