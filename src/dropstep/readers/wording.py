"""Wording: counts with their nouns, and texts short enough to quote in a sentence."""

from __future__ import annotations

LONGEST = 40  # characters of a cell or name that are quoted


def counted(count: int, noun: str, plural: str = "") -> str:
    """A count with its noun: "1 row", "2 rows"."""
    return f"{count} {noun if count == 1 else plural or noun + 's'}"


def shortened(text: str, longest: int = LONGEST) -> str:
    """The beginning of a text, followed by an ellipsis and its length where it is long."""
    return text if len(text) <= longest else f"{text[:longest]}… ({len(text):,} characters)"


def quoted(text: str) -> str:
    """A cell or a name in quotation marks, shortened."""
    return repr(text) if len(text) <= LONGEST else f"{text[:LONGEST] + '…'!r} ({len(text):,} characters)"
