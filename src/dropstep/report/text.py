"""Plain text: aligned tables, and numbers as a reader expects them."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Sequence

MAX_TEXT_WIDTH, MIN_WIDTH = 60, 8  # of a column of text
GAP = 2  # between columns


def table(head: Sequence[str], rows: Sequence[Sequence[str]], sides: str, max_width: int | None = None) -> str:
    """Align rows under a head.

    Parameters
    ----------
    head : sequence of str
        Names of the columns.
    rows : sequence of sequence of str
        Cells, one sequence per row.
    sides : str
        One character per column: "<" for text, which may be shortened, ">" for numbers, which are never shortened.
    max_width : int or None, default=None
        Width that the table should not exceed: the widest columns are shortened first, text to no less than 8
        characters, and of numbers only the head.

    Returns
    -------
    str
        The lines of the table: the head, a rule, and one line per row.
    """
    lines = [[printable(cell) for cell in line] for line in (head, *rows)]
    widths = [max(width(line[j]) for line in lines) for j in range(len(head))]
    numbers = [max((width(line[j]) for line in lines[1:]), default=MIN_WIDTH) for j in range(len(head))]
    lower = [number if side == ">" else MIN_WIDTH for side, number in zip(sides, numbers, strict=True)]
    widths = [min(w, MAX_TEXT_WIDTH) if side == "<" else w for w, side in zip(widths, sides, strict=True)]
    if max_width is not None:
        widths = _fitted(widths, lower, max_width - GAP * (len(widths) - 1))
    first, *below = (_line(line, sides, widths) for line in lines)
    return "\n".join([first, "-" * (sum(widths) + GAP * (len(widths) - 1)), *below])


def _fitted(widths: list[int], lower: Sequence[int], room: int) -> list[int]:
    """Widths that sum to at most `room` where possible, by narrowing the widest column that is above its bound."""
    widths = list(widths)
    while sum(widths) > room and (wide := [j for j, w in enumerate(widths) if w > lower[j]]):
        widths[max(wide, key=lambda j: widths[j])] -= 1
    return widths


def _line(cells: Sequence[str], sides: str, widths: Sequence[int]) -> str:
    padded = [_padded(clipped(c, w), side, w) for c, side, w in zip(cells, sides, widths, strict=True)]
    return (" " * GAP).join(padded).rstrip()


def clipped(text: str, limit: int) -> str:
    """Shorten a text to a number of columns, with an ellipsis."""
    if width(text) <= limit:
        return text
    while width(text) > limit - 1:
        text = text[: min(len(text) - 1, limit)]
    return text + "…"


def _padded(text: str, side: str, total: int) -> str:
    blanks = " " * (total - width(text))
    return blanks + text if side == ">" else text + blanks


def width(text: str) -> int:
    """Number of terminal columns that a text occupies: wide characters count twice, combining marks not at all."""
    if text.isascii():
        return len(text)
    return sum(0 if unicodedata.combining(c) else 1 + (unicodedata.east_asian_width(c) in "WF") for c in text)


def printable(text: str) -> str:
    """Replace control characters, which a terminal would interpret, by their escape sequences."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


def number(value: float, digits: int = 4) -> str:
    """Format a number with a few significant digits, a thousands separator and a true minus sign."""
    if math.isnan(value):
        return "undefined"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    exponent = math.floor(math.log10(abs(value))) if value else 0
    if not -5 <= exponent < 9:
        return f"{value:.{digits - 1}e}".replace("-", "−")
    decimals = 0 if float(value).is_integer() else max(0, digits - 1 - exponent)
    return f"{value:,.{decimals}f}".replace("-", "−")


def plain(value: float, digits: int = 4) -> str:
    """Format a number as `number` does, with the hyphen as its minus sign: for a terminal, and to be copied."""
    return number(value, digits).replace("−", "-")


def p_value(value: float) -> str:
    """Format a p-value with two significant digits."""
    return number(value, 2) if value >= 1e-4 else f"{value:.1e}".replace("-", "−")


def short(value: float) -> str:
    """Format a round number, such as an axis label, without trailing zeros."""
    text = number(value, 6)
    return text.rstrip("0").rstrip(".") if "." in text and "e" not in text else text
