"""The report: one HTML file that says what a search was asked, what it found, and what that cost."""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path as File
from typing import Any

from dropstep.presentation.report import sections
from dropstep.presentation.report.markup import Html, count, tag
from dropstep.presentation.report.notebook import path_html
from dropstep.result import SelectionPath

__all__ = ["path_html", "report_html", "save_report"]

# Nothing is fetched and nothing is run, whatever a feature is called.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"


def report_html(
    path: SelectionPath, *, title: str | None = None, command: str | None = None, data: Mapping[str, Any] | None = None
) -> str:
    """A path as one HTML page that needs nothing else.

    Parameters
    ----------
    path : what `select` returned, or `path_` of a fitted `Selector`.
    title : the heading; by default how many features were selected.
    command : the shell line that made the path, to be repeated as it stands; by default a call in Python is shown.
    data : what is known about the table, in the order to show it: words (such as "Rows" or "Target") and a number, a
        text, a sequence or a mapping for each. "notes" holds sentences that are shown among the warnings.
    """
    data = {} if data is None else data
    heading = title or f"{len(path.selected):,} of {count(path.n_features, 'feature')} selected"
    return "<!doctype html>\n" + tag("html", _head(heading), _body(path, heading, command, data), lang="en") + "\n"


def save_report(path: SelectionPath, file: str | os.PathLike[str], **context: Any) -> None:
    """Write the page to a file; a file of that name is replaced only once the page is whole."""
    page = report_html(path, **context)
    target = File(os.path.realpath(file))
    part = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        part.write_text(page, encoding="utf-8", newline="\n")
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)


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


def _body(path: SelectionPath, title: str, command: str | None, data: Mapping[str, Any]) -> Html:
    header = tag(
        "header",
        tag("p", "dropstep report", class_="kicker"),
        tag("h1", title),
        tag("p", sections.found(path), class_="lead"),
        sections.tiles(path),
    )
    parts = sections.every(path, command, data)
    links = [tag("li", tag("a", part.link, href=f"#{part.key}")) for part in parts]
    return tag(
        "body",
        tag("a", "Skip to the report", href="#report", class_="skip"),
        header,
        tag("nav", tag("ul", *links), aria_label="Sections"),
        tag("main", *(part.html for part in parts), id="report", tabindex="-1"),
    )
