"""The report: one self-contained HTML page with the parameters, the result and the cost of a search."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any

from dropstep.evidence import Evidence
from dropstep.files import atomic_files
from dropstep.presentation.html import Html, tag
from dropstep.presentation.notebook import path_html
from dropstep.presentation.report import answers, certainty, sections
from dropstep.presentation.report.section import Section
from dropstep.presentation.text import count
from dropstep.result import SelectionPath

__all__ = ["path_html", "report_html", "save_report"]

# The browser loads and executes nothing, whatever the features are called.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"


def report_html(
    path: SelectionPath,
    *,
    title: str | None = None,
    command: str | None = None,
    data: Mapping[str, Any] | None = None,
    evidence: Evidence | None = None,
    stability: Any = None,
    holdout: Any = None,
) -> str:
    """Render a path as a self-contained HTML page.

    Parameters
    ----------
    path : SelectionPath
        Result of `select`, or `path_` of a fitted `Selector`.
    title : str or None, default=None
        Heading; None states the number of selected features.
    command : str or None, default=None
        Shell command that reproduces the path; None shows a call in Python.
    data : mapping of str to object or None, default=None
        Facts about the table, in the order to show them: a name such as "Rows" or "Target", and a number, a text, a
        sequence or a mapping. The value of "notes" (sentences) is shown at the top.
    evidence : Evidence or None, default=None
        Stability and held-out error of the selection, from `assess`.
    stability : Stability or None, default=None
        Result of `stability` with the parameters of the path.
    holdout : HeldOut or None, default=None
        Score and coefficients on rows that took no part in the selection.

    Returns
    -------
    str
        The page.
    """
    data = {} if data is None else data
    heading = title or f"{len(path.selected):,} of {count(path.n_features, 'feature')} selected"
    body = _body(path, heading, command, data, evidence, certainty.sections(path, stability, holdout))
    return "<!doctype html>\n" + tag("html", _head(heading), body, lang="en") + "\n"


def save_report(path: SelectionPath, file: str | os.PathLike[str], **context: Any) -> None:
    """Write the page to a file, atomically.

    Parameters
    ----------
    path : SelectionPath
        Path to report.
    file : str or path-like
        File to write; an existing file is replaced once the page is complete.
    **context : object
        `title`, `command`, `data` and `evidence` of `report_html`.
    """
    page = report_html(path, **context)
    with atomic_files() as temporary:
        temporary(file).write_text(page, encoding="utf-8", newline="\n")


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


def _body(
    path: SelectionPath,
    title: str,
    command: str | None,
    data: Mapping[str, Any],
    evidence: Evidence | None,
    extra: Sequence[Section],
) -> Html:
    header = tag(
        "header",
        tag("p", "dropstep report", class_="kicker"),
        tag("h1", title),
        answers.lead(path, evidence),
        sections.notes(path, data),
        answers.answers(path, evidence),
    )
    parts = sections.all_sections(path, command, data, evidence)
    after = next(i for i, part in enumerate(parts) if part.key == "methods")
    parts[after:after] = extra
    links = [tag("li", tag("a", part.link, href=f"#{part.key}")) for part in parts]
    return tag(
        "body",
        tag("a", "Skip to the details", href="#report", class_="skip"),
        header,
        tag("nav", tag("ul", *links), aria_label="Sections"),
        tag("main", *(part.html for part in parts), id="report", tabindex="-1"),
    )
