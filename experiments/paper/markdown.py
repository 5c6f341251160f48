"""The page as Markdown that is also readable as plain text."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from functools import partial

from experiments.paper.page import SIGNS, Block, Chart, Finding, Items, Page, Section, Table, Text

_fill = partial(textwrap.fill, width=118, break_long_words=False, break_on_hyphens=False)


def markdown(page: Page, charts: str) -> str:
    """The page as text; its charts are links into the folder `charts`."""
    parts = [f"# {page.title}", *(_block(block, charts) for block in page.lead)]
    if page.findings:
        parts += ["## Summary", _table(summary(page.findings))]
    parts += [_section(section, charts) for section in page.sections]
    return "\n\n".join(parts) + "\n"


def summary(findings: Sequence[Finding]) -> Table:
    """The findings as a table, with the sign of each comparison."""
    rows = [[f.item, f.paper, f.ours, SIGNS[f.mark]] for f in findings]
    return Table("", ["", "paper", "ours", ""], rows, left=4)


def _section(section: Section, charts: str) -> str:
    return "\n\n".join([f"## {section.title}", *(_block(block, charts) for block in section.blocks)])


def _block(block: Block, charts: str) -> str:
    if isinstance(block, Text):
        return _fill(block.text)
    if isinstance(block, Items):
        return "\n".join(_fill(item, initial_indent="- ", subsequent_indent="  ") for item in block.items)
    if isinstance(block, Chart):
        return f"![{block.caption}]({charts}/{block.name}.svg)"
    return _table(block)


def _table(table: Table) -> str:
    """Cells are padded to the width of their column."""
    lines = [[str(cell).replace("|", "\\|") for cell in row] for row in [table.head, *table.rows]]
    widths = [max(3, *(len(line[i]) for line in lines)) for i in range(len(table.head))]
    sides = ["<" if table.is_text(i) else ">" for i in range(len(table.head))]
    rule = ["-" * w if s == "<" else "-" * (w - 1) + ":" for s, w in zip(sides, widths, strict=True)]
    head, *rows = [[f"{cell:{s}{w}}" for cell, s, w in zip(line, sides, widths, strict=True)] for line in lines]
    caption = [f"*{table.caption}*", ""] if table.caption else []
    return "\n".join([*caption, *(f"| {' | '.join(line)} |" for line in [head, rule, *rows])])
