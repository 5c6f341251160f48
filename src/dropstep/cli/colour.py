"""Colours on a terminal; none in pipes and files, and none where NO_COLOR or a dumb terminal requests that."""

from __future__ import annotations

import os
import sys
from typing import Literal, TextIO

Style = Literal["bold", "dim", "warning", "error"]
CODES: dict[Style, str] = {"bold": "1", "dim": "2", "warning": "33", "error": "31"}


def is_coloured(stream: TextIO) -> bool:
    """True if a stream is a terminal that has colours."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def painted(text: str, style: Style, stream: TextIO | None = None) -> str:
    """A text in a style, if the stream (standard output by default) has colours."""
    return f"\x1b[{CODES[style]}m{text}\x1b[0m" if is_coloured(stream or sys.stdout) else text
