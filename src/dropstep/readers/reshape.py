"""A text table before its cells are typed: transposed, and without blank rows."""

from __future__ import annotations

import csv
import io
import re

from dropstep.readers.rows import ragged, rows


def transposed(text: str, separator: str, file: str) -> str:
    """The table with rows and columns exchanged."""
    found: list[list[str]] = []
    for row in rows(text, separator, file):
        if found and len(row) != len(found[0]):
            raise ragged(file, len(found) + 1, len(row), len(found[0]))
        found.append(row)
    stream = io.StringIO()
    csv.writer(stream, delimiter=separator, lineterminator="\n").writerows(zip(*found, strict=True))
    return stream.getvalue()


def without_blank_rows(text: str, separator: str) -> tuple[str, int]:
    """The text without rows that consist of separators only, and their number."""
    if separator == " ":
        return text, 0
    mark = re.escape(separator)
    blank = re.compile(rf"^[ \t{mark}]++(?:\r\n|\r|\n|\Z)", re.MULTILINE)  # possessive, so the time is linear
    kept, end, quotes, removed = [], 0, 0, 0
    for match in blank.finditer(text):
        if separator not in match[0]:
            continue
        quotes += text.count('"', end, match.start())
        if quotes % 2 == 0:  # not within a quoted cell of several lines
            kept.append(text[end : match.start()])
            removed += 1
        else:
            kept.append(text[end : match.end()])
        end = match.end()
    return "".join([*kept, text[end:]]), removed
