"""Text tables: encoding, separator and header are detected; every row must have as many cells as the first."""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import islice

from dropstep.readers import rows
from dropstep.readers.columns import Cells, Column, Numerals, typed
from dropstep.readers.errors import (
    DecodingError,
    NulByteError,
    NumericHeaderError,
    ReadError,
    UnknownEncodingError,
    UnnamedColumnsError,
)
from dropstep.readers.reshape import transposed, without_blank_rows
from dropstep.wording import counted, quoted

SEPARATORS = "\t;|,"
SAMPLE_LINES = 20  # to detect the separator


@dataclass(frozen=True)
class Layout:
    """Layout of a text file.

    Attributes
    ----------
    header : bool
        Whether the first line holds the column names; otherwise they are c1, c2, ...
    separator : str or None
        One character, where " " matches any run of blanks; None detects it.
    encoding : str or None
        Name of the encoding in Python; None is UTF-8, or UTF-16 with a byte-order mark.
    skip : int
        Number of lines to skip before the header.
    transpose : bool
        Whether to exchange rows and columns: the first column holds the names.
    numerals : Numerals
        Format of numbers and of missing values.
    """

    header: bool = True
    separator: str | None = None
    encoding: str | None = None
    skip: int = 0
    transpose: bool = False
    numerals: Numerals = field(default_factory=Numerals)


def read_text(data: bytes, file: str, layout: Layout) -> tuple[list[Column], list[str]]:
    """Read the columns of a CSV, TSV or similar file; returns them with warnings."""
    text = _after(_decoded(data, file, layout.encoding), layout.skip)
    lines = [line[0] for line in islice(re.finditer(r"[^\r\n]*\S[^\r\n]*", text), SAMPLE_LINES)]
    if not lines:
        raise ReadError(f"{file}: nothing remains after skipping {counted(layout.skip, 'line')}")
    separator = layout.separator or separator_of(lines)
    if separator == " ":
        text = "\n".join(" ".join(line.split()) for line in re.split(r"\r\n|\r|\n", text))
    text, n_blank = without_blank_rows(text, separator)
    if layout.transpose:
        text = transposed(text, separator, file)
        text, _ = without_blank_rows(text, separator)
        lines = text.split("\n", 2)[:2]
    first = next(rows.rows(text, separator, file), None)
    if first is None:
        raise ReadError(f"{file}: every row is blank")
    notes = [f"ignored {counted(n_blank, 'blank row')}"] if n_blank else []
    names = _named(first, lines, separator, file, notes) if layout.header else [f"c{j + 1}" for j in range(len(first))]
    cells = _cells(text, separator, len(first), layout.header, file)
    columns = [typed(name, column, layout.numerals) for name, column in zip(names, cells, strict=True)]
    if not len(columns[0].values):
        raise ReadError(f"{file}: there is a header ({counted(len(names), 'column')}) but no row below it")
    unnamed = not layout.header or not first[-1].strip()
    if unnamed and len(columns) > 1 and columns[-1].kind == "empty":
        columns.pop()  # every line ends with a separator
    return columns, notes


def _decoded(data: bytes, file: str, encoding: str | None) -> str:
    encoding = encoding_of(data, file, encoding)
    try:
        text = data.decode(encoding).removeprefix("\ufeff")
    except UnicodeError as error:
        at = error.start if isinstance(error, UnicodeDecodeError) else 0
        line = data.count(b"\n", 0, at) + 1
        shown = "UTF-8" if encoding == "utf-8-sig" else encoding
        raise DecodingError(f"{file}: byte {data[at]:#04x} in line {line} is not {shown}") from None
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise NulByteError(f"{file}: there is a NUL byte in line {line}, so the file is damaged, binary, or UTF-16")
    return text


def encoding_of(data: bytes, file: str, encoding: str | None) -> str:
    """The encoding of a file: the given one, or UTF-16 if the data begin with its byte-order mark, else UTF-8."""
    if encoding is None:
        return "utf-16" if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) else "utf-8-sig"
    try:
        io.TextIOWrapper(io.BytesIO(), encoding)  # raises for codecs that are none of text
        known = codecs.lookup(encoding).name not in ("idna", "punycode", "undefined")
    except (LookupError, ValueError):
        known = False
    if not known:
        raise UnknownEncodingError(f"{file}: unknown encoding {encoding!r}")
    return encoding


def complete_rows(data: bytes, file: str) -> bytes:
    """The beginning of a file up to the last row that is complete."""
    try:
        text = codecs.getincrementaldecoder(encoding_of(data, file, None))().decode(data)
    except UnicodeError:
        return data  # read_text says where
    end = len(text)
    for place, part in reversed(list(enumerate(text.split('"')))):
        end -= len(part) + 1
        if place % 2 == 0 and "\n" in part:  # not within a quoted cell of several lines
            return text[: end + 1 + part.rfind("\n") + 1].encode("utf-8", "surrogatepass")
    raise ReadError(f"{file}: the first line is longer than {len(data) >> 20} MB")


def _after(text: str, skip: int) -> str:
    """The text without its first lines."""
    ends = (match.end() for match in re.finditer(r"\r\n|\r|\n", text))
    return text[next(islice(ends, skip - 1, None), len(text)) :] if skip else text


def separator_of(lines: Sequence[str]) -> str:
    """The character that splits all lines into the same number of cells; else the most frequent of the first line."""
    for separator in SEPARATORS:
        widths = _widths(lines, separator)
        if len(widths) == 1 and widths != {1}:
            return separator
    widths = {len(line.split()) for line in lines}
    if len(widths) == 1 and widths != {1}:
        return " "
    frequent = max(SEPARATORS, key=lines[0].count)
    return frequent if frequent in lines[0] else ","


def _widths(lines: Sequence[str], separator: str) -> set[int]:
    """Numbers of cells of the lines."""
    if not any('"' in line for line in lines):
        return {line.count(separator) + 1 for line in lines}
    try:
        return {len(row) for row in csv.reader(lines, delimiter=separator)}
    except csv.Error:  # a cell too long to be one
        return set()


def _named(first: Sequence[str], lines: Sequence[str], separator: str, file: str, notes: list[str]) -> list[str]:
    """Column names from the header; raises if the header is doubtful."""
    names = [name.strip() for name in first]
    if len(names) > 1 and names.count("") > len(names) / 2:
        raise UnnamedColumnsError(f"{file}: {names.count('')} of {len(names)} columns have no name in the header")
    numbers = Numerals()
    n_numbers = sum(numbers.number(name) is not None for name in names)
    numeric = n_numbers * 2 > len(names)
    names = [name or f"c{j}" for j, name in enumerate(names, start=1)]
    name, times = Counter(names).most_common(1)[0]
    if times > 1:
        duplicate = f"{file}: the column name {quoted(name)} occurs {times} times in the header"
        raise NumericHeaderError(duplicate) if numeric else ReadError(f"{duplicate}; rename one of them")
    unnamed = [f"c{j}" for j, name in enumerate(first, start=1) if not name.strip()]
    if unnamed and not (unnamed == [f"c{len(first)}"] and len(first) > 1):
        notes.append(f"columns without a name are named by position: {', '.join(unnamed[:5])}")
    if numeric and len(lines) > 1:
        notes.append("the first line was read as the header although it holds numbers; header=False reads it as data")
    return names


def _cells(text: str, separator: str, width: int, header: bool, file: str) -> Sequence[Cells]:
    """Split a text into cells, column by column: with pyarrow if installed, otherwise with the csv module."""
    try:
        from dropstep.readers.arrow import split_cells
    except ImportError:
        return rows.split_cells(text, separator, width, header, file)
    return split_cells(text, separator, width, header, file)
