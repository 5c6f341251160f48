"""The page: results of the experiments, and the settings they were computed with."""

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
from experiments.paper.charts import save
from experiments.paper.markdown import markdown
from experiments.paper.page import LEGEND, Block, Chart, Page, Section, Table, Text
from experiments.paper.parts import Results
from experiments.paper.sections import EXPERIMENTS, reading
from experiments.paper.settings import Settings
from experiments.paper.work import Effort

PAPER = "Thu Nguyen, *Faster feature selection with a Dropping Forward-Backward algorithm*"


def page_of(names: Iterable[str], results: Results, settings: Settings, effort: Effort) -> Page:
    """The page of some experiments; the page of all includes notes on how the paper was read."""
    names = list(names)
    sections = [EXPERIMENTS[name].section(results, settings) for name in names]
    findings = [finding for section in sections for finding in section.findings]
    if len(names) == len(EXPERIMENTS):
        sections.append(reading.section())
    sections.append(_settings(settings, effort))
    lead: list[Block] = [
        Text(
            f"The experiments of {PAPER}, repeated with dropstep, each number next to the paper's own. Where the paper "
            "leaves a choice open, ours is stated, and how the result depends on it is shown. Choices that were found "
            "by searching for the paper's numbers are named as such: they show what is possible, not what was done."
        ),
        Text(LEGEND),
    ]
    return Page("The paper, reproduced", lead, sections, findings)


def _settings(settings: Settings, effort: Effort) -> Section:
    blas = sorted({f"{one['internal_api']} {one['version']}" for one in threadpool_info() if one["user_api"] == "blas"})
    rows = [
        ["repeats of each simulation", f"{settings.repeats:,}"],
        ["splits of each dataset that UCI does not split", f"{settings.splits:,}"],
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
        "number except the times is the same for any number of processes. `make paper` regenerates this page."
    )
    return Section("Settings", [Table("Settings and versions", ["", ""], rows, left=2), text])


def _run_time(effort: Effort) -> str:
    earlier = f", {effort.found:,} of them by an earlier run" if effort.found else ""
    worked = f"{_minutes(effort.worked)} of processor time in {effort.parts:,} parts{earlier}"
    return f"{_minutes(effort.passed)} ({worked})"


def _minutes(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.1f} min"


def write_markdown(page: Page, file: Path) -> Path:
    """Write the page as Markdown, and its charts into the folder of the same name."""
    charts = file.parent / file.stem
    charts.mkdir(parents=True, exist_ok=True)
    for section in page.sections:
        for block in section.blocks:
            if isinstance(block, Chart):
                save(block.figure, charts / f"{block.name}.svg")
    file.write_text(markdown(page, charts.name), encoding="utf-8")
    return file


def printed(page: Page) -> str:
    """The page for a terminal: Markdown without charts."""
    bare = [
        replace(section, blocks=[block for block in section.blocks if not isinstance(block, Chart)])
        for section in page.sections
    ]
    return markdown(replace(page, sections=bare), "")
