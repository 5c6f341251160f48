"""Text files as sources: CSV and the like, read in blocks of complete rows whose cells have types.

The types are those of the first block. A later cell that contradicts them, such as text in a column of numbers, leads
to one pass over all cells, after which the types are those of all rows, so that they do not depend on the blocks.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections import Counter, deque
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import reduce
from itertools import chain, islice
from operator import add
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
from numpy.typing import NDArray

from dropstep.atomic import free_memory
from dropstep.backends.arrow import ArrowSource, Batches
from dropstep.backends.cells import LAST_DOUBLE, Cells, Facts, Notation, is_whole, n_numerals
from dropstep.backends.content import MEMORY_PER_BYTE, Content, ReadError
from dropstep.data.factor import Column
from dropstep.data.frame import Frame
from dropstep.data.source import Block, ColumnType, Kind, Origin, TypesChangedError
from dropstep.wording import counted, quoted

BLOCK = 2**22  # bytes of text that are parsed at a time
N_PARSED = 2  # blocks that are parsed while another one is used
MAX_ROW = 2**25  # bytes of a row
SEPARATORS = "\t;|,"
SAMPLE_LINES, SAMPLE = 20, 2**20  # lines and characters that determine the separator
TEXT = pa.dictionary(pa.int32(), pa.string())
_LINE = re.compile(rb"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
_LINE_END = re.compile(rb"\r\n|\r|\n")


@dataclass(frozen=True)
class TextFormat:
    """How a text file holds a table; see `dropstep.read`."""

    separator: str | None = None
    notation: Notation = field(default_factory=Notation)
    encoding: str | None = None
    header: bool = True
    skip: int = 0
    transpose: bool = False


# --- text ------------------------------------------------------------------------------------------------------------


def _texts(content: Content, encoding: str | None) -> Iterator[bytes]:
    """The text of a file in UTF-8; raises where it is not text."""
    decoder, n_lines, first = None, 0, True
    for data in chain(content.chunks(BLOCK), [b""]):
        if decoder is None:
            name = _encoding_of(data, content.shown, encoding)
            decoder = codecs.getincrementaldecoder(name)()
        try:
            text = decoder.decode(data, final=not data)
        except UnicodeError as error:
            raise _undecodable(content.shown, name, data, error, n_lines) from None
        if first and text:
            text, first = text.removeprefix("\ufeff"), False
        if "\0" in text:
            line = n_lines + text.count("\n", 0, text.index("\0")) + 1
            raise ReadError(
                f"{content.shown}: there is a NUL byte in line {line}, so the file is damaged, binary, or UTF-16; for "
                "UTF-16, use dropstep.read(file, encoding='utf-16')"
            )
        encoded = text.encode("utf-8", "replace")
        n_lines += encoded.count(b"\n")
        yield encoded


def _encoding_of(data: bytes, file: str, encoding: str | None) -> str:
    """The given encoding, or UTF-16 if the data begin with its byte-order mark, else UTF-8."""
    if encoding is None:
        return "utf-16" if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) else "utf-8-sig"
    try:
        io.TextIOWrapper(io.BytesIO(), encoding)  # raises for codecs that are none of text
        known = codecs.lookup(encoding).name not in ("idna", "punycode", "undefined")
    except (LookupError, ValueError):
        known = False
    if not known:
        raise ReadError(
            f"{file}: unknown encoding {encoding!r}; choose another encoding, such as utf-8, latin-1 or cp1252"
        )
    return encoding


def _undecodable(file: str, encoding: str, data: bytes, error: UnicodeError, n_lines: int) -> ReadError:
    """The error for bytes that are not text."""
    at, given = (error.start, error.object) if isinstance(error, UnicodeDecodeError) else (0, data)
    byte = f"byte {given[at]:#04x}" if given else "the end of the file"
    line = n_lines + given.count(b"\n", 0, at) + 1
    shown = "UTF-8" if encoding == "utf-8-sig" else encoding
    return ReadError(
        f"{file}: {byte} in line {line} is not {shown}; use another encoding, e.g. "
        "dropstep.read(file, encoding='latin-1')"
    )


def _after(texts: Iterator[bytes], skip: int, file: str) -> Iterator[bytes]:
    """A text without its first lines."""
    begun, remaining = b"", skip
    for text in texts if skip else ():
        begun += text
        usable = begun[:-1] if begun.endswith(b"\r") else begun  # the line may end with the next character
        ends = [match.end() for match in islice(_LINE_END.finditer(usable), remaining)]
        remaining -= len(ends)
        begun = begun[ends[-1] :] if ends else begun
        if not remaining:
            break
        if len(begun) > MAX_ROW:
            raise _long_row(file)
    if not remaining:
        yield begun
    yield from texts


def _begun(texts: Iterator[bytes], file: str) -> bytes:
    """The beginning of a text, with a complete row and as many lines as determine the separator."""
    begun = b""
    for text in texts:
        begun += text
        n_lines = sum(1 for line in begun[:SAMPLE].splitlines() if line.strip())
        if n_lines > SAMPLE_LINES or (len(begun) >= SAMPLE and _LINE_END.search(begun.lstrip())):
            break
        if len(begun) > MAX_ROW:
            raise _long_row(file)
    return begun


def _long_row(file: str) -> ReadError:
    return ReadError(f"{file}: a row is longer than {MAX_ROW >> 20} MB, so this is not a table")


def _separator_of(lines: Sequence[str]) -> str:
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


# --- rows ------------------------------------------------------------------------------------------------------------


def _blocks(texts: Iterator[bytes], separator: str, file: str) -> Iterator[bytes]:
    """A text in blocks of complete rows."""
    begun = b""
    for text in texts:
        begun += text
        if len(begun) < BLOCK:
            continue
        end = _end_of_rows(begun, separator)
        if end:
            yield begun[:end]
            begun = begun[end:]
        if len(begun) > MAX_ROW:
            raise _long_row(file)
    if begun:
        yield begun


def _end_of_rows(text: bytes, separator: str) -> int:
    """Length of the complete rows at the beginning of a text, which ends anywhere."""
    end = _last_line_end(text, len(text))
    if b'"' not in text:
        return end
    quotes = _limits(text, separator)
    while end:
        place = int(np.searchsorted(quotes, end - 1))
        if place % 2 == 0:
            return end
        end = _last_line_end(text, int(quotes[place - 1]))
    return 0


def _last_line_end(text: bytes, stop: int) -> int:
    """Where the last line ends that is complete; 0 if none is. The last character may be half of a line end."""
    return text.rfind(b"\n", 0, stop) + 1 or text.rfind(b"\r", 0, min(stop, len(text) - 1)) + 1


def _limits(text: bytes, separator: str) -> NDArray[np.intp]:
    """Positions at which quoted cells begin and end, in turn; a quote within a cell that has begun without is none."""
    characters = np.frombuffer(text, np.uint8)
    quotes = np.flatnonzero(characters == ord('"'))
    before = np.where(quotes > 0, characters[quotes - 1], ord("\n"))
    begins = np.isin(before, [ord(c) for c in (separator, "\n", "\r")])
    if (begins[::2] | (before[::2] == ord('"'))).all():
        return quotes
    limits, within, end_of_pair = list[int](), False, -1
    for place, at in enumerate(quotes.tolist()):
        if within and at != end_of_pair and place + 1 < len(quotes) and quotes[place + 1] == at + 1:
            end_of_pair = at + 1  # two quotes within a cell
        elif at != end_of_pair and (within or begins[place]):
            limits.append(at)
            within = not within
    return np.array(limits, dtype=np.intp)


def _without_blank_rows(text: bytes, separator: str) -> tuple[bytes, int]:
    """The text without rows that consist of separators only, and their number."""
    if separator == " " or not _has_blank_start(text, separator):
        return text, 0
    mark = re.escape(separator.encode())
    blank = re.compile(rb"^[ \t%s]++(?:\r\n|\r|\n|\Z)" % mark, re.MULTILINE)  # possessive, so the time is linear
    kept, end, quotes, removed = [], 0, 0, 0
    for match in blank.finditer(text):
        if separator.encode() not in match[0]:
            continue
        quotes += text.count(b'"', end, match.start())
        if quotes % 2 == 0:  # not within a quoted cell of several lines
            kept.append(text[end : match.start()])
            removed += 1
        else:
            kept.append(text[end : match.end()])
        end = match.end()
    return b"".join([*kept, text[end:]]), removed


def _has_blank_start(text: bytes, separator: str) -> bool:
    """Whether a line begins with a separator or a blank."""
    characters = np.frombuffer(text, np.uint8)
    ends = characters == ord("\n")
    if b"\r" in text:
        ends |= characters == ord("\r")
    first = characters[np.append(0, np.flatnonzero(ends[:-1]) + 1)]
    return bool(((first == ord(separator)) | (first == ord(" ")) | (first == ord("\t"))).any())


def _transposed(text: bytes, separator: str, file: str) -> bytes:
    """The table with rows and columns exchanged."""
    stream = io.StringIO(text.decode(), newline="")
    try:
        rows = [row for row in csv.reader(stream, delimiter=separator) if any(map(str.strip, row))]
    except csv.Error as error:
        raise ReadError(f"{file}: this is not a table ({error})") from None
    for number, row in enumerate(rows, start=1):
        if len(row) != len(rows[0]):
            raise _ragged(file, number, len(row), len(rows[0]))
    stream = io.StringIO()
    csv.writer(stream, delimiter=separator, lineterminator="\n").writerows(zip(*rows, strict=True))
    return stream.getvalue().encode()


def _ragged(file: str, row: int, found: int, width: int) -> ReadError:
    """The error for a row whose number of cells differs from that of the first row."""
    return ReadError(
        f"{file}: row {row} has {counted(found, 'cell')}, but the first row has {width}; correct the file, or give its "
        "separator, e.g. dropstep.read(file, separator=';')"
    )


class RaggedRowError(Exception):
    """A row of a block whose number of cells differs from that of the first row: its number, and those of cells."""


class Reading:
    """One pass over the rows of a text file.

    Parameters
    ----------
    content : Content
    text : TextFormat

    Attributes
    ----------
    names : tuple of str
        Names of the columns.
    notes : tuple of str
        Warnings about the header.
    unnamed_end : bool
        Whether the last column has no name, so that it exists only if it has values.
    n_blank : int
        Number of blank rows so far.
    n_rows : int
        Number of rows so far, without the header.
    """

    def __init__(self, content: Content, text: TextFormat) -> None:
        self._content, self.file, self._format = content, content.shown, text
        self.n_blank, self.n_rows = 0, 0
        self.notes: tuple[str, ...] = ()
        texts = _after(_texts(content, text.encoding), text.skip, self.file)
        begun = _begun(texts, self.file)
        lines = _first_lines(begun)
        if not lines:
            raise ReadError(f"{self.file}: nothing remains after skipping {counted(text.skip, 'line')}")
        self._separator = text.separator or _separator_of(lines)
        texts = chain([begun], texts)
        if text.transpose:
            whole = b"".join(texts)
            if self._separator == " ":
                whole = _single_blanks(whole)
            whole, self.n_blank = _without_blank_rows(whole, self._separator)
            self._blocks = iter([_transposed(whole, self._separator, self.file)])
        else:
            self._blocks = _blocks(texts, self._separator, self.file)
        first = next((block for block in self._cleaned() if block.strip()), None)
        if first is None:
            raise ReadError(f"{self.file}: every row is blank")
        row, rest = _first_row(first, self._separator, self.file)
        self._first = rest if text.header else first
        self.unnamed_end = len(row) > 1 and (not text.header or not row[-1].strip())
        self.names = self._named(row, has_rows=len(lines) > 1) if text.header else _numbered(row)
        self._places = {name: str(j) for j, name in enumerate(self.names)}

    def __iter__(self) -> Iterator[bytes]:
        """Blocks of rows."""
        return (block for block in chain([self._first], self._cleaned()) if block.strip())

    def _cleaned(self) -> Iterator[bytes]:
        """Blocks without blank rows, and with single blanks as separators."""
        for block in self._blocks:
            if self._separator == " " and not self._format.transpose:
                block = _single_blanks(block)
            block, n_blank = _without_blank_rows(block, self._separator)
            self.n_blank += 0 if self._format.transpose else n_blank
            yield block

    def _named(self, row: Sequence[str], *, has_rows: bool) -> tuple[str, ...]:
        """Column names from the header; raises if the header is doubtful."""
        names = [name.strip() for name in row]
        if len(names) > 1 and names.count("") > len(names) / 2:
            raise ReadError(
                f"{self.file}: {names.count('')} of {len(names)} columns have no name in the header; if the names are "
                "in the next line, use dropstep.read(file, skip=1)"
            )
        numeric = n_numerals(names) * 2 > len(names)
        unnamed = [f"c{j}" for j, name in enumerate(names, start=1) if not name]
        names = [name or f"c{j}" for j, name in enumerate(names, start=1)]
        name, times = Counter(names).most_common(1)[0]
        if times > 1:
            advice = "if the file has no header, use dropstep.read(file, header=False)"
            raise ReadError(
                f"{self.file}: the column name {quoted(name)} occurs {times} times in the header; "
                f"{advice if numeric else 'rename one of them'}"
            )
        if unnamed and not (unnamed == [f"c{len(names)}"] and self.unnamed_end):
            self.notes += (f"columns without a name are named by position: {', '.join(unnamed[:5])}",)
        if numeric and has_rows:
            self.notes += (
                "the first line was read as the header although it holds numbers; dropstep.read(file, header=False) "
                "reads it as data",
            )
        return tuple(names)

    def parse(self, block: bytes, types: dict[str, Any]) -> Any:
        """The cells of some columns in a block of rows, as a table of given types; without types, of inferred ones.

        Marks of missing values are texts in columns of text. Raises pyarrow.ArrowInvalid where a cell has another type.
        """
        given = {self._places[name]: dtype for name, dtype in types.items()}
        convert = pyarrow.csv.ConvertOptions(
            column_types=given,
            include_columns=list(given),
            null_values=self._format.notation.marks,
            strings_can_be_null=False,
            true_values=[],
            false_values=[],
            decimal_point=self._format.notation.decimal,
        )
        found = list[Any]()

        def on_invalid(row: Any) -> str:
            if not row.text.strip():
                return "skip"
            found.append(row)
            return "error"

        try:
            table = pyarrow.csv.read_csv(
                pa.BufferReader(block),
                pyarrow.csv.ReadOptions(
                    use_threads=False,  # blocks are parsed in parallel, and rows are numbered only with a single thread
                    column_names=list(self._places.values()),
                    block_size=min(len(block) + 1, 2**31 - 1),
                ),
                pyarrow.csv.ParseOptions(
                    delimiter=self._separator, newlines_in_values=b'"' in block, invalid_row_handler=on_invalid
                ),
                convert,
            )
        except pa.ArrowInvalid as error:
            if found:
                raise RaggedRowError(found[0].number, found[0].actual_columns, found[0].expected_columns) from None
            if "conversion error" in str(error):
                raise
            raise ReadError(f"{self.file}: this is not a table ({' '.join(str(error).split())[:160]})") from None
        return table.rename_columns(list(types) or list(self.names))

    def ragged(self, error: RaggedRowError) -> ReadError:
        """The error for a row of the block that follows those that were counted."""
        number, found, width = error.args
        return _ragged(self.file, self.n_rows + number + self._format.header, found, width)


def _first_lines(text: bytes) -> list[str]:
    """The first lines of a text that are not blank."""
    found = islice(re.finditer(rb"[^\r\n]*\S[^\r\n]*", text), SAMPLE_LINES)
    return [line[0].decode() for place, line in enumerate(found) if not place or line.end() <= SAMPLE]


def _single_blanks(text: bytes) -> bytes:
    """The text with single blanks instead of runs of them."""
    return b"\n".join(" ".join(line.decode().split()).encode() for line in _LINE_END.split(text))


def _numbered(row: Sequence[str]) -> tuple[str, ...]:
    return tuple(f"c{j + 1}" for j in range(len(row)))


def _first_row(text: bytes, separator: str, file: str) -> tuple[list[str], bytes]:
    """The cells of the first row that is not blank, and the text below it."""
    end = 0

    def lines() -> Iterator[str]:
        nonlocal end
        for line in _LINE.finditer(text):
            end = line.end()
            yield line[0].decode()

    try:
        for row in csv.reader(lines(), delimiter=separator):
            if len(row) > 1 or (row and row[0].strip()):
                return row, text[end:]
    except (csv.Error, TypeError, ValueError) as error:
        raise ReadError(f"{file}: this is not a table ({error})") from None
    raise ReadError(f"{file}: every row is blank")


# --- the source ------------------------------------------------------------------------------------------------------


class TextSource(ArrowSource):
    """CSV files and the like.

    Parameters
    ----------
    files : sequence of Content
    text : TextFormat
    categorical : collection of str
        Columns that are read as categories.
    """

    def __init__(self, files: Sequence[Content], text: TextFormat, categorical: Collection[str] = ()) -> None:
        super().__init__(())
        self._files, self._format = tuple(files), text
        self._kept: frozenset[str] | None = None
        self._by_text = set[str]()  # columns of numbers that pyarrow cannot convert
        self._rounded = dict[str, None]()  # columns of integers that lose digits
        self._verified = set[str]()  # columns whose type is that of all rows
        self._n_read, self._n_blank, self._done = 0, 0, 0
        reading = Reading(files[0], text)
        self._header_notes, self._all_names, self._unnamed_end = reading.notes, reading.names, reading.unnamed_end
        blocks = iter(reading)
        first = next(blocks, None)
        if first is None:
            n = counted(len(reading.names), "column")
            raise ReadError(f"{self.shown}: there is a header ({n}) but no row below it")
        try:
            facts = self._quick_facts(reading, first)
        except RaggedRowError as error:
            raise reading.ragged(error) from None
        if next(blocks, None) is None and len(files) == 1:
            self._verified = set(reading.names)
        self._n_blank = reading.n_blank
        self._categorical = frozenset(categorical)
        self._set_facts(facts)

    @property
    def shown(self) -> str:
        return self._files[0].shown

    @property
    def notes(self) -> tuple[str, ...]:  # type: ignore[override]
        blank = (f"ignored {counted(self._n_blank, 'blank row')}",) if self._n_blank else ()
        return (*blank, *self._header_notes)

    @property
    def rounded(self) -> frozenset[str]:  # type: ignore[override]
        return frozenset(self._rounded)

    @property
    def n_bytes(self) -> int:
        return sum(content.size(free_memory()) for content in self._files)

    @property
    def n_rows(self) -> int | None:
        """An estimate from the share of bytes that were read."""
        total = sum(content.n_stored for content in self._files)
        return round(self._n_read * total / self._done) if self._done else None

    def rows(self, columns: Sequence[str] | None = None) -> Frame:
        limit = free_memory() // MEMORY_PER_BYTE
        if any(content.size(limit + 1) > limit for content in self._files):
            raise ReadError(
                f"{self.shown}: this table has more than {limit >> 20:,} MB of text, which does not fit into the free "
                "memory; remove columns or rows"
            )
        return super().rows(columns)

    def _set_facts(self, facts: dict[str, Facts]) -> None:
        """Determine the columns and their types from what is known of the cells."""
        self._facts = facts
        hidden = self._all_names[-1:] if self._unnamed_end and self._kind(self._all_names[-1]) == "empty" else ()
        self._columns = tuple(
            self._column_type(name)
            for name in self._all_names
            if name not in hidden and (self._kept is None or name in self._kept)
        )

    def _column_type(self, name: str) -> ColumnType:
        facts = self._facts[name]
        if name in self._categorical:
            return ColumnType(name, "factor")
        kinds: dict[str, Kind] = {"empty": "number", "text": "factor"}
        kind: Any = kinds.get(facts.kind, facts.kind)
        whole = bool(facts.n_values) and facts.n_whole == facts.n_values
        return ColumnType(name, kind, whole, problem=self._problem(name))

    def restrict(self, columns: Sequence[str], categorical: Collection[str] = ()) -> None:
        self._kept, self._categorical = frozenset(columns), frozenset(categorical)
        self._set_facts(self._facts)

    def _kind(self, name: str) -> str:
        return self._facts[name].kind

    def _problem(self, name: str) -> str:
        """Why a column that seems to be meant as numbers is not."""
        problem = self._facts[name].problem(name, self._format.notation)
        return f"{self.shown}: column {quoted(name)} {problem}" if problem else ""

    # --- reading -----------------------------------------------------------------------------------------------------

    def originals(self, columns: tuple[str, ...]) -> Iterator[Any]:
        return (table for *_, table in self._tables(columns, dict.fromkeys(columns, pa.string())))

    def batches(self, columns: tuple[str, ...]) -> Batches:
        types = {column.name: self._stored_type(column) for column in self.columns if column.name in columns}
        for reading, _, table in self._tables(columns, dict.fromkeys(columns, TEXT)):
            cells = Cells.of(table, self._format.notation)
            arrays = [cells[name].stored(types[name]) for name in columns]
            origin = Origin(reading.file, reading.n_rows - table.num_rows)
            yield origin, pa.RecordBatch.from_arrays(arrays, names=list(columns))

    def _stored_type(self, column: ColumnType) -> Any:
        """The Arrow type of a column: numbers as such, unless they would lose digits, and otherwise text."""
        if column.kind != "number" or column.name in self._rounded:
            return pa.string()
        return pa.int64() if column.whole else pa.float64()

    def _read(self, columns: Collection[str]) -> Iterator[tuple[Reading, bytes]]:
        """Blocks of rows of all files."""
        self._done = self._n_read = n_blank = 0
        for content in self._files:
            content.check()
            before = self._done
            reading = Reading(content, self._format)
            if absent := set(columns).difference(reading.names):
                raise ReadError(f"{content.shown}: there is no column {quoted(min(absent))}, which {self.shown} has")
            for block in reading:
                self._done = before + content.position
                yield reading, block
            n_blank += reading.n_blank
            content.check()
        self._n_blank = n_blank

    def _tables(self, columns: Sequence[str], types: dict[str, Any]) -> Iterator[tuple[Reading, bytes, Any]]:
        """Blocks of rows with the cells of some columns, of text where they cannot be converted to the types."""
        with ThreadPoolExecutor(N_PARSED) as pool:
            ahead = deque[tuple[Reading, bytes, Future[Any]]]()
            for reading, block in self._read(columns):
                ahead.append((reading, block, pool.submit(reading.parse, block, types)))
                if len(ahead) > N_PARSED:
                    yield self._parsed(*ahead.popleft(), columns)
            while ahead:
                yield self._parsed(*ahead.popleft(), columns)

    def _parsed(self, reading: Reading, block: bytes, future: Future[Any], columns: Sequence[str]) -> Any:
        """A block of rows with its table; counts its rows."""
        try:
            table = future.result()
        except pa.ArrowInvalid:
            table = reading.parse(block, dict.fromkeys(columns, TEXT))
        except RaggedRowError as error:
            raise reading.ragged(error) from None
        self._n_read += table.num_rows
        reading.n_rows += table.num_rows
        return reading, block, table

    def blocks(self, columns: tuple[str, ...]) -> Iterator[Block]:
        self._settle(columns)
        # Dates and columns without values are not used, so they would not be read: they may have other values below.
        unread = {name for name in self._all_names if self._kind(name) in ("date", "empty")} - self._verified
        names = tuple(dict.fromkeys((*columns, *(name for name in self._all_names if name in unread))))
        seen = dict[str, Facts]()
        for reading, block, table in self._tables(names, self._quick_types(names)):
            found = self._columns_of(reading, block, table, seen)
            if found is None:
                self._find_facts()
                raise TypesChangedError(f"{self.shown}: the types of columns change below the first rows; select again")
            frame = Frame(tuple(found[name] for name in columns), table.num_rows, columns)
            yield Block(frame, Origin(reading.file, reading.n_rows - table.num_rows))
        self._set_facts(self._facts | seen)
        self._verified |= set(names)

    def confirm(self, columns: Sequence[str]) -> None:
        used = [name for name in columns if name not in self._categorical]
        if not self._verified.issuperset(name for name in used if self._problem(name)):
            self._find_facts()

    def _settle(self, columns: Sequence[str]) -> None:
        """Find the types of all rows where that is necessary; raise if they differ from those so far."""
        before = [(column.name, column.kind) for column in self.columns]
        self.confirm(columns)
        if [(column.name, column.kind) for column in self.columns] != before:
            raise TypesChangedError(f"{self.shown}: the types of columns change below the first rows; select again")

    # --- types -------------------------------------------------------------------------------------------------------

    def _quick_facts(self, reading: Reading, block: bytes) -> dict[str, Facts]:
        """The facts of the columns in a block; those that pyarrow finds to be numbers are not looked at otherwise."""
        notation, names = self._format.notation, reading.names
        numbers = dict[str, Facts]()
        if notation.plain:
            table = reading.parse(block, {})
            hexadecimal = b"0x" in block or b"0X" in block  # which are integers for pyarrow
            numbers = {
                name: _number_facts(table[name])
                for name, dtype in zip(names, table.schema.types, strict=True)
                if pa.types.is_null(dtype)
                or pa.types.is_floating(dtype)
                or (pa.types.is_integer(dtype) and not hexadecimal)
                if notation.has_nan or not _has_nan(table[name])
            }
        others = tuple(name for name in names if name not in numbers)
        found = numbers | self._facts_of(reading, block, others)
        return {name: found[name] for name in names}

    def _facts_of(self, reading: Reading, block: bytes, names: Sequence[str]) -> dict[str, Facts]:
        table = reading.parse(block, dict.fromkeys(names, TEXT)) if names else pa.table({})
        return self._facts_in(table)

    def _facts_in(self, table: Any) -> dict[str, Facts]:
        return {name: cells.facts() for name, cells in Cells.of(table, self._format.notation).items()}

    def _find_facts(self) -> None:
        """Find the facts of all columns in all rows: one pass."""
        self.n_passes += 1
        names = self._all_names
        tables = self._tables(names, dict.fromkeys(names, TEXT))
        self._set_facts(reduce(_sum_by_name, (self._facts_in(table) for *_, table in tables)))
        self._verified = set(names)

    def _quick_types(self, names: Sequence[str]) -> dict[str, Any]:
        """The types to which pyarrow converts the cells of columns: numbers, where it reads them by the same rule."""
        quick = {"number": pa.float64(), "empty": pa.null()} if self._format.notation.plain else {}
        by_text = self._by_text | self._categorical
        return {name: TEXT if name in by_text else quick.get(self._kind(name), TEXT) for name in names}

    def _columns_of(
        self, reading: Reading, block: bytes, table: Any, seen: dict[str, Facts]
    ) -> dict[str, Column] | None:
        """Columns of a block; None if a cell contradicts the type of its column. Adds the facts of text to `seen`."""
        notation, names = self._format.notation, table.column_names
        is_text = [pa.types.is_dictionary(dtype) for dtype in table.schema.types]
        texts = Cells.of(table.select([name for name, text in zip(names, is_text, strict=True) if text]), notation)
        found: dict[str, Column] = {name: _floats(table[name]) for name in names if name not in texts}
        if doubtful := [name for name, values in found.items() if self._is_doubtful(name, table[name], values)]:
            texts |= Cells.of(reading.parse(block, dict.fromkeys(doubtful, TEXT)), notation)
        for name, cells in texts.items():
            kind = self._kind(name)
            if name not in self._verified:
                facts = cells.facts()
                if not self._is_consistent(name, facts):
                    return None
                if kind == "text":
                    seen[name] = seen[name] + facts if name in seen else facts
            if kind == "number" and name not in self._categorical:
                if notation.plain and not cells.are_plain:
                    self._by_text.add(name)
                if name not in self._rounded and cells.loses_digits():
                    self._rounded[name] = None
            found[name] = cells.column(kind, declared=name in self._categorical)
        return found

    def _is_doubtful(self, name: str, stored: Any, values: Any) -> bool:
        """Whether the texts of a column of numbers must be looked at: NaN, fractions and integers of many digits."""
        if self._kind(name) == "empty":
            return False
        if not self._format.notation.has_nan and _has_nan(stored):
            return True
        facts = self._facts[name]
        if facts.n_whole < facts.n_values:
            return False
        if name not in self._verified and not bool((is_whole(values) | np.isnan(values)).all()):
            return True
        return name not in self._rounded and bool((np.abs(values) > LAST_DOUBLE).any())

    def _is_consistent(self, name: str, facts: Facts) -> bool:
        """Whether the cells of a block have the type of their column."""
        known = self._facts[name]
        if known.kind == "text" or not facts.n_values:
            return True
        whole = known.kind != "number" or known.n_whole < known.n_values or facts.n_whole == facts.n_values
        return facts.kind == known.kind and whole


def _sum_by_name(a: dict[str, Facts], b: dict[str, Facts]) -> dict[str, Facts]:
    return {name: add(facts, b[name]) for name, facts in a.items()}


def _floats(cells: Any) -> NDArray[np.float64]:
    if pa.types.is_null(cells.type):
        return np.full(len(cells), np.nan)
    return np.asarray(cells.to_numpy(), dtype=np.float64)


def _has_nan(cells: Any) -> bool:
    """Whether a number is NaN, and not missing."""
    return pa.types.is_floating(cells.type) and bool(pc.any(pc.is_nan(cells)).as_py())


def _number_facts(cells: Any) -> Facts:
    """The facts of a column of numbers."""
    values = _floats(cells)
    n = len(values) - int(np.isnan(values).sum())
    return Facts(n, n, int(is_whole(values).sum()))
