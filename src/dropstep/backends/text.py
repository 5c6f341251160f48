"""Text files as row sources: CSV and the like, parsed in blocks; types are those of the first rows."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.csv

from dropstep.backends.arrow import ArrowSource, Batches, types_of
from dropstep.backends.unchanged import Unchanged
from dropstep.data.factor import is_numeral
from dropstep.data.sources import ColumnType, Place
from dropstep.readers.arrow import ArrowCells
from dropstep.readers.columns import NumberFormat, Numerals, typed
from dropstep.readers.errors import DecodingError, NumberFormatError, ReadError
from dropstep.readers.files import is_gzipped
from dropstep.readers.text import SAMPLE_LINES, Layout, encoding_of, separator_of
from dropstep.wording import counted

BLOCK = 2**22  # bytes of text that are parsed at a time
SAMPLE = 2**16  # bytes of text that determine the separator


class TextSource(ArrowSource):
    """CSV files and the like.

    Parameters
    ----------
    files : sequence of str
    layout : Layout, default=Layout()
    booleans : bool, default=True
        Whether true and false are booleans, rather than text.
    """

    def __init__(self, files: Sequence[str], layout: Layout | None = None, *, booleans: bool = True) -> None:
        self._booleans = booleans
        self._unchanged, self._layout = Unchanged(files), layout or Layout()
        data = _beginning(files[0])
        self._encoding = encoding_of(data, files[0], self._layout.encoding)
        self._sample = _sample(data, files[0], self._encoding)
        self._done, self._rows = 0, 0  # bytes and rows of this pass
        with _open(files[0]) as stream:
            first = next(self._reader(files[0], stream, {}, threads=True), None)
        if first is None:
            raise ReadError(f"{files[0]}: there is a header but no row below it")
        # A column of integers may have fractions later, and a column without values may have numbers.
        try:
            columns = types_of(first.schema)
        except UnicodeDecodeError:
            raise self._undecodable(files[0]) from None
        kinds = dict(zip(first.schema.names, first.columns, strict=True))
        self._types = {name: pa.float64() if _is_number(cells) else cells.type for name, cells in kinds.items()}
        self._formats = dict(_other_formats(kinds, self._layout.numerals))
        found = types_of(pa.schema(list(self._types.items())))
        whole = {column.name for column in columns if column.whole}
        super().__init__(tuple(ColumnType(column.name, column.kind, column.name in whole) for column in found))

    @property
    def shown(self) -> str:
        return self._unchanged.files[0]

    @property
    def n_rows(self) -> int | None:
        """An estimate from the share of bytes that were read."""
        return round(self._rows * self._unchanged.n_bytes / self._done) if self._done else None

    def originals(self, columns: tuple[str, ...]) -> Iterator[Any]:
        return (batch for _, batch in self._read(dict.fromkeys(columns, pa.string())))

    def batches(self, columns: tuple[str, ...]) -> Batches:
        for name in columns:
            if problem := self._formats.get(name):
                raise NumberFormatError(f"{self.shown}: column {name!r}", problem)
        return self._read({name: self._types[name] for name in columns})

    def _read(self, types: dict[str, Any]) -> Batches:
        """Batches of some columns of given types."""
        self._done, self._rows = 0, 0
        for file in self._unchanged.files:
            self._unchanged.check(file)
            before, done = self._done, 0
            with _open(file) as stream:
                try:
                    for batch in self._reader(file, stream, types, threads=True):
                        self._done, self._rows = before + _position(stream), self._rows + batch.num_rows
                        yield Place(file, done), batch.select(list(types))
                        done += batch.num_rows
                except (pa.ArrowException, OSError) as error:
                    self._unchanged.check(file)
                    raise self._located(file, types, error) from None
                except UnicodeError:
                    raise self._undecodable(file) from None
            self._unchanged.check(file)

    def _located(self, file: str, types: dict[str, Any], error: Exception) -> ReadError:
        """The error with its row: rows are numbered only where a single thread reads them."""
        with _open(file) as stream:
            try:
                for _ in self._reader(file, stream, types, threads=False):
                    pass
            except ReadError as again:  # in the first block
                return again
            except (pa.ArrowException, OSError) as again:
                error = again
        return ReadError(_wording(file, list(types), str(error), int(self._layout.header)))

    # --- reading -----------------------------------------------------------------------------------------------------

    def _reader(self, file: str, stream: Any, types: dict[str, Any], *, threads: bool) -> Any:
        """A reader of batches."""
        layout, separator = self._layout, self._separator(file)
        try:
            return pyarrow.csv.open_csv(
                stream,
                pyarrow.csv.ReadOptions(
                    block_size=BLOCK,
                    use_threads=threads,
                    skip_rows=layout.skip,
                    encoding="utf8" if self._encoding == "utf-8-sig" else self._encoding,
                    column_names=None if layout.header else self._positions(),
                ),
                pyarrow.csv.ParseOptions(
                    delimiter=separator, newlines_in_values='"' in self._sample, ignore_empty_lines=True
                ),
                pyarrow.csv.ConvertOptions(
                    column_types=types,
                    include_columns=list(types) or None,
                    null_values=list(filter(_is_text, layout.numerals.missing)),
                    strings_can_be_null=True,
                    **({} if self._booleans else {"true_values": [], "false_values": []}),
                    decimal_point=layout.numerals.decimal,
                ),
            )
        except (pa.ArrowException, OSError) as error:
            if threads:
                raise self._located(file, types, error) from None
            raise ReadError(_wording(file, list(types), str(error), int(layout.header))) from None
        except UnicodeError:
            raise self._undecodable(file) from None

    def _undecodable(self, file: str) -> DecodingError:
        return DecodingError(f"{file}: the text is not {'UTF-8' if self._encoding == 'utf-8-sig' else self._encoding}")

    def _lines(self) -> list[str]:
        lines = re.split(r"\r\n|\r|\n", self._sample)[self._layout.skip :]
        return [line for line in lines if line.strip()][:SAMPLE_LINES]

    def _positions(self) -> list[str]:
        """Names by position, for a file without a header."""
        return [f"c{j + 1}" for j in range(self._lines()[0].count(self._separator(self.shown)) + 1)]

    def _separator(self, file: str) -> str:
        lines = self._lines()
        if not lines:
            skipped = counted(self._layout.skip, "line")
            raise ReadError(f"{file}: nothing remains of the first {SAMPLE >> 10} kB after skipping {skipped}")
        found = self._layout.separator or separator_of(lines)
        if found == " ":
            raise ReadError(f"{file}: columns separated by runs of blanks cannot be read in blocks; save it as CSV")
        return found


def _other_formats(columns: dict[str, Any], numerals: Numerals) -> Iterator[tuple[str, NumberFormat]]:
    """Columns of text that are numbers with other separators."""
    for name, cells in columns.items():
        if pa.types.is_string(cells.type):
            problem = typed(name, ArrowCells(pa.chunked_array([cells])), numerals).problem
            if isinstance(problem, NumberFormat):
                yield name, problem


def _is_number(cells: Any) -> bool:
    """Whether a column is meant as numbers: by its type, or because most of its texts are numbers."""
    kind = cells.type
    if pa.types.is_string(kind):
        counts = cells.drop_null().value_counts().to_pylist()
        numerals = sum(pair["counts"] for pair in counts if is_numeral(pair["values"]))
        return bool(2 * numerals > sum(pair["counts"] for pair in counts))
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_null(kind))


def _position(stream: Any) -> int:
    """Number of bytes that were read; 0 for a stream that does not know."""
    try:
        return int(stream.tell())
    except (pa.ArrowException, OSError, ValueError):
        return 0


def _is_text(mark: str) -> bool:
    """Whether a text can occur in a file: bytes of the command line that are no text cannot."""
    return mark.encode(errors="ignore").decode() == mark


def _open(file: str) -> Any:
    """A stream of the text of a file, decompressed if it is gzipped."""
    return pa.input_stream(file, compression="gzip" if is_gzipped(file) else None)


def _beginning(file: str) -> bytes:
    """The bytes that determine the encoding and the separator."""
    try:
        with _open(file) as stream:
            data: bytes = stream.read(SAMPLE)
            return data
    except (OSError, pa.ArrowException) as error:
        raise ReadError(f"{file}: this file cannot be read ({error})") from None


def _sample(data: bytes, file: str, encoding: str) -> str:
    """The beginning of a file, up to its last complete line."""
    text = data.decode(encoding, errors="replace")
    complete: str = text if len(data) < SAMPLE else text[: text.rfind("\n") + 1]
    if not complete.strip():
        raise ReadError(f"{file}: this file is empty, or its first line is longer than {SAMPLE} bytes")
    return complete


def _wording(file: str, columns: Sequence[str], message: str, header: int) -> str:
    """An error of pyarrow in a sentence, with the row of the table, counted from 1 below the header."""
    text = " ".join(message.split())
    number = re.search(r"Row #(\d+)", text)
    row = f", row {int(number[1]) - header}" if number else ""
    value = re.search(r"In CSV column #(\d+).*invalid value '(.*)'", text)
    if value:
        column = f"column {columns[int(value[1])]!r}" if int(value[1]) < len(columns) else "a column"
        return (
            f"{file}{row}: {value[2][:40]!r} in {column} is not a number, as in the first rows; correct the value, or "
            "mark it as missing"
        )
    ragged = re.search(r"Expected (\d+) columns, got (\d+)", text)
    if ragged:
        return f"{file}{row}: the row has {ragged[2]} cells, but the first row has {ragged[1]}"
    if "straddl" in text:
        return f"{file}: a row is longer than {BLOCK >> 20} MB, so this is not a table"
    return f"{file}{row}: this is not a table ({text[:160]})"
