"""The report: one self-contained HTML page with the parameters, the result and the cost of a search."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from dropstep.atomic import atomic_files
from dropstep.report import answers, sections
from dropstep.report.html import tag
from dropstep.report.notebook import path_html
from dropstep.report.page import page
from dropstep.result import Evidence, SelectionPath
from dropstep.wording import counted

__all__ = ["path_html", "report_html", "save_report"]


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
    heading = title or f"{len(path.selected):,} of {counted(path.n_features, 'feature')} selected"
    header = tag(
        "header",
        tag("p", "dropstep report", class_="kicker"),
        tag("h1", heading),
        answers.lead(path, evidence),
        answers.notes(path, data),
        answers.answers(path, evidence),
    )
    parts = sections.all_sections(path, command, data, evidence)
    after = next(i for i, part in enumerate(parts) if part.key == "methods")
    parts[after:after] = sections.certainty_sections(path, stability, holdout)
    return page(heading, header, parts)


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
