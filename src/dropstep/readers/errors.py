"""Errors of the readers. A message states the file and the problem; how to solve it is for the caller to say."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dropstep.readers.columns import NumberFormat


class ReadError(ValueError):
    """A file that cannot be read as a table."""


class UnknownEncodingError(ReadError):
    """The name of an encoding that Python does not know."""


class DecodingError(ReadError):
    """Bytes that are not text in the given encoding."""


class NulByteError(ReadError):
    """A NUL byte, which text does not contain; the file may be UTF-16."""


class RaggedRowError(ReadError):
    """A row whose number of cells differs from that of the first row."""


class UnnamedColumnsError(ReadError):
    """A header without names for most columns; the names may be in the next line."""


class NumberFormatError(ReadError):
    """A column of numbers that need another decimal or thousands separator."""

    def __init__(self, column: str, problem: NumberFormat) -> None:
        super().__init__(
            f"{column} holds numbers written like {problem.example!r}; write them with a decimal point, and without "
            "thousands separators"
        )
        self.column, self.problem = column, problem


class NumericHeaderError(ReadError):
    """A header of numbers, some of which occur twice; the file may have no header."""
