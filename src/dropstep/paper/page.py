"""The nouns of a report: a page of sections, and in them paragraphs, lists, tables and charts.

Text is Markdown with `code`, **bold**, *italic* and [links](address) only, so that both renderings can say the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

Mark = Literal["", "same", "near", "far", "paper"]

SIGNS: dict[Mark, str] = {"": "", "same": "\u00a0✓", "near": "\u00a0≈", "far": "\u00a0≠", "paper": ""}
LEGEND = "✓ equals the paper at the paper's digits, ≈ close (how close is said at each table), ≠ differs."


@dataclass(frozen=True)
class Value:
    """A cell of a table, with how it compares with the paper; "paper" marks the paper's own numbers."""

    text: str
    mark: Mark = ""

    def __str__(self) -> str:
        return self.text + SIGNS[self.mark]


@dataclass(frozen=True)
class Text:
    """A paragraph."""

    text: str


@dataclass(frozen=True)
class Items:
    """A list."""

    items: Sequence[str]


@dataclass(frozen=True)
class Table:
    """A table; the first `left` columns are text, and the last if `text_last`; the others are numbers."""

    caption: str
    head: Sequence[str]
    rows: Sequence[Sequence[Value | str]]
    left: int = 1
    text_last: bool = False

    def is_text(self, column: int) -> bool:
        return column < self.left or (self.text_last and column == len(self.head) - 1)


@dataclass(frozen=True)
class Chart:
    """A picture, as SVG, with a name for its file and a sentence for those who do not see it."""

    name: str
    caption: str
    svg: str


Block = Text | Items | Table | Chart


@dataclass(frozen=True)
class Finding:
    """One line of the summary: what the paper says, what came out, and whether that is the same."""

    item: str
    paper: str
    ours: str
    mark: Mark


@dataclass(frozen=True)
class Section:
    """The report of one experiment."""

    name: str
    title: str
    blocks: Sequence[Block]
    findings: Sequence[Finding] = ()


@dataclass(frozen=True)
class Page:
    """The whole report."""

    title: str
    lead: Sequence[Block]
    sections: Sequence[Section]
    findings: Sequence[Finding] = field(default=())
