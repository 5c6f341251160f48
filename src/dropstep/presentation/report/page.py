"""The frame of every page: head, style, content policy, links to the sections."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files

from dropstep.presentation.html import Html, tag
from dropstep.presentation.report.section import Section

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
    style = files("dropstep.presentation.report").joinpath("style.css").read_text(encoding="utf-8")
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
