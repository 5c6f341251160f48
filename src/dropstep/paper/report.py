"""The report: what was run, on what, what came out; one page of sections for any of the renderings."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import joblib
import numpy
import scipy
import sklearn
from threadpoolctl import threadpool_info

import dropstep
from dropstep.paper.html import html
from dropstep.paper.markdown import markdown
from dropstep.paper.page import LEGEND, Block, Chart, Page, Section, Table, Text
from dropstep.paper.parts import Results
from dropstep.paper.sections import EXPERIMENTS, reading
from dropstep.paper.settings import Settings
from dropstep.paper.work import Effort

PAPER = "Thu Nguyen, *Faster feature selection with a Dropping Forward-Backward algorithm*"


def page_of(names: Iterable[str], results: Results, settings: Settings, effort: Effort) -> Page:
    """The page of some experiments; of all, with notes on how the paper was read."""
    names = list(names)
    sections = [EXPERIMENTS[name].section(results, settings) for name in names]
    findings = [finding for section in sections for finding in section.findings]
    if len(names) == len(EXPERIMENTS):
        sections.append(reading.section())
    sections.append(_made(settings, effort))
    lead: list[Block] = [
        Text(
            f"The experiments of {PAPER}, run anew with dropstep, each number beside the paper's own. Where "
            "the paper leaves a choice open, ours is stated, and how the result moves with it is shown. Choices that "
            "were found by looking for the paper's numbers are named as such: they show what is possible, not what was "
            "done."
        ),
        Text(LEGEND),
    ]
    return Page("The paper, reproduced", lead, sections, findings)


def _made(settings: Settings, effort: Effort) -> Section:
    blas = sorted({f"{one['internal_api']} {one['version']}" for one in threadpool_info() if one["user_api"] == "blas"})
    rows = [
        ["repeats of each simulation", f"{settings.repeats:,}"],
        ["splits of each dataset without one of its own", f"{settings.splits:,}"],
        ["seed", f"{settings.seed}"],
        ["dropstep", dropstep.__version__],
        ["Python", f"{platform.python_implementation()} {platform.python_version()}"],
        ["NumPy, SciPy", f"{numpy.__version__}, {scipy.__version__}"],
        ["scikit-learn, joblib", f"{sklearn.__version__}, {joblib.__version__}"],
        ["linear algebra", ", ".join(blas) or "unknown"],
        ["machine", f"{platform.system()} on {platform.machine()}, {os.cpu_count()} cores"],
        ["processes", f"{effort.jobs}, one thread each"],
        ["run time", _run_time(effort)],
    ]
    text = Text(
        "Trial `r` of a cell draws from its own generator, seeded by the seed, the table, the column and `r`, so every "
        "number but the times comes out the same on any number of processes. Make this page anew with "
        "`python -m dropstep.paper all`."
    )
    return Section("made", "How this page was made", [Table("Settings and versions", ["", ""], rows, left=2), text])


def _run_time(effort: Effort) -> str:
    earlier = f", {effort.found:,} of them by an earlier run" if effort.found else ""
    worked = f"{_minutes(effort.worked)} of processor time in {effort.parts:,} parts{earlier}"
    return f"{_minutes(effort.passed)} ({worked})"


def _minutes(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.1f} min"


def write(page: Page, folder: Path, stem: str) -> list[Path]:
    """The page as one HTML file, and as Markdown with its charts beside it."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{stem}.html").write_text(html(page), encoding="utf-8")
    return [folder / f"{stem}.html", write_markdown(page, folder / f"{stem}.md")]


def write_markdown(page: Page, file: Path) -> Path:
    """The page as Markdown, its charts in a folder of the same name."""
    charts = file.parent / file.stem
    charts.mkdir(parents=True, exist_ok=True)
    for section in page.sections:
        for block in section.blocks:
            if isinstance(block, Chart):
                (charts / f"{block.name}.svg").write_text(block.svg + "\n", encoding="utf-8")
    file.write_text(markdown(page, charts.name), encoding="utf-8")
    return file


def printed(page: Page) -> str:
    """The page for a terminal: Markdown without charts."""
    bare = [
        replace(section, blocks=[block for block in section.blocks if not isinstance(block, Chart)])
        for section in page.sections
    ]
    return markdown(replace(page, sections=bare), "")
