"""The parts of the page: sections of paragraphs, lists, tables and charts.

Text is Markdown.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from matplotlib.figure import Figure

Mark = Literal["", "same", "near", "far"]

SIGNS: dict[Mark, str] = {"": "", "same": "✓", "near": "≈", "far": "≠"}
LEGEND = "✓ equals the paper at the paper's digits, ≈ close (each table defines how close), ≠ differs."


@dataclass(frozen=True)
class Value:
    """A table cell with its comparison with the paper."""

    text: str
    mark: Mark = ""

    def __str__(self) -> str:
        return f"{self.text}\u00a0{SIGNS[self.mark]}" if self.mark else self.text


@dataclass(frozen=True)
class Text:
    """A paragraph."""

    text: str


@dataclass(frozen=True)
class Items:
    """A bulleted list."""

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
    """A figure, with the name of its file and its alternative text."""

    name: str
    caption: str
    figure: Figure


Block = Text | Items | Table | Chart


@dataclass(frozen=True)
class Finding:
    """A line of the summary: the paper's result, ours, and how they compare."""

    item: str
    paper: str
    ours: str
    mark: Mark


@dataclass(frozen=True)
class Section:
    """The results of one experiment."""

    title: str
    blocks: Sequence[Block]
    findings: Sequence[Finding] = ()


@dataclass(frozen=True)
class Page:
    """The whole page."""

    title: str
    lead: Sequence[Block]
    sections: Sequence[Section]
    findings: Sequence[Finding] = field(default=())
