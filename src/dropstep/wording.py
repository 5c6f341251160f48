"""Counts with their nouns, and texts and lists short enough to quote in a message."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

MAX_QUOTE = 40  # characters of a cell or name in a message


def counted(count: int, noun: str, plural: str = "") -> str:
    """Format a count with its noun: "1 row", "2 rows"."""
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"


def shortened(text: str, limit: int = MAX_QUOTE) -> str:
    """Shorten a long text to its beginning, followed by an ellipsis and its length."""
    return text if len(text) <= limit else f"{text[:limit]}… ({len(text):,} characters)"


def quoted(text: str) -> str:
    """Quote a cell or a name, shortened if it is long."""
    return repr(text) if len(text) <= MAX_QUOTE else f"{text[:MAX_QUOTE] + '…'!r} ({len(text):,} characters)"


def listed(names: Sequence[str], limit: int = 5) -> str:
    """List a few names in quotation marks, and how many more there are."""
    return ", ".join(map(quoted, names[:limit])) + more(names, limit)


def plain_names(names: Iterable[str], limit: int = 8) -> str:
    """List a few names, and how many more there are."""
    found = list(names)
    return ", ".join(found[:limit]) + more(found, limit)


def more(names: Sequence[str], limit: int) -> str:
    """How many names there are past the limit of a list."""
    return f" and {len(names) - limit:,} more" if len(names) > limit else ""
