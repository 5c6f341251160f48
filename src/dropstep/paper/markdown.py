"""A page as Markdown that reads well as plain text, too."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from dropstep.paper.page import Block, Chart, Finding, Items, Page, Section, Table, Text


def markdown(page: Page, charts: str) -> str:
    """The page; charts are linked to in the folder `charts`."""
    parts = [f"# {page.title}", *(_block(block, charts) for block in page.lead)]
    if page.findings:
        parts += ["## Summary", _block(summary(page.findings), charts)]
    parts += [_section(section, charts) for section in page.sections]
    return "\n\n".join(parts) + "\n"


def summary(findings: Sequence[Finding]) -> Table:
    """The findings as a table; the sign says how ours compares."""
    signs = {"same": "✓", "near": "≈", "far": "≠"}
    rows = [[f.item, f.paper, f.ours, signs.get(f.mark, "")] for f in findings]
    return Table("", ["", "paper", "ours", ""], rows, left=4)


def _section(section: Section, charts: str) -> str:
    return "\n\n".join([f"## {section.title}", *(_block(block, charts) for block in section.blocks)])


def _block(block: Block, charts: str) -> str:
    if isinstance(block, Text):
        return textwrap.fill(block.text, 118, break_long_words=False, break_on_hyphens=False)
    if isinstance(block, Items):
        return "\n".join(
            textwrap.fill(
                item,
                118,
                initial_indent="- ",
                subsequent_indent="  ",
                break_long_words=False,
                break_on_hyphens=False,
            )
            for item in block.items
        )
    if isinstance(block, Chart):
        return f"![{block.caption}]({charts}/{block.name}.svg)"
    return _table(block)


def _table(table: Table) -> str:
    """Columns of the same width all the way down."""
    lines = [[str(cell).replace("|", "\\|") for cell in row] for row in [table.head, *table.rows]]
    widths = [max(3, *(len(line[i]) for line in lines)) for i in range(len(table.head))]
    sides = ["<" if table.is_text(i) else ">" for i in range(len(table.head))]
    padded = [
        "| " + " | ".join(f"{cell:{side}{width}}" for cell, side, width in zip(line, sides, widths, strict=True)) + " |"
        for line in lines
    ]
    rule = (
        "| "
        + " | ".join("-" * w if s == "<" else "-" * (w - 1) + ":" for s, w in zip(sides, widths, strict=True))
        + " |"
    )
    caption = [f"*{table.caption}*", ""] if table.caption else []
    return "\n".join([*caption, padded[0], rule, *padded[1:]])
