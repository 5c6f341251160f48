"""Files that were changed at random, drawn from a number, each with the command that reads it.

Tables as text (separators, quotes, encodings, gzip), Parquet, Arrow files and streams, moments, and checkpoints. Some
changes are blind (bits, spans, splices); others keep what a reader checks first (checksums, archives, the syntax of a
table), so that they reach what it does later.
"""

from __future__ import annotations

import contextlib
import csv
import gzip
import io
import json
import os
import random
import shlex
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cache, partial
from itertools import accumulate
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from sklearn.linear_model import LinearRegression

from dropstep import Moments, select

MAX_BYTES = 3 * 2**20  # of a file, before it is compressed
MAX_ROWS = 2**16
MAX_BLOCKS = 100  # in which a text is parsed
MAX_BYTES_TO_RESAMPLE = 2**17  # of a table on which a hundred searches take a few seconds
INTACT = "intact"  # beginning of the names of files that are not changed
CHECKPOINT = "search.checkpoint"
BINARY_OPTIONS = "--missing level --exclude nothing"
ESTIMATOR_CALL = f"select(X, y, model=LinearRegression(), cv=2, strategy='forward', checkpoint={CHECKPOINT!r})"

TOKENS = (
    *("", " ", "NA", "nan", "NaN", "None", "null", "inf", "-inf", "Infinity", "nan(1)", "1e400", "-1e400", "1e-400"),
    *("1e308", "1e5000000000", "-0", "1.", ".5", ".", "-", "+", "?", "1_000", "0x10", "1,5", "1.234,5", "1 000", "1d5"),
    *("9" * 400, "1" * 5000, "18446744073709551616", "9007199254740993", "-9223372036854775809", "٣", "１", "½"),
    *('"', '""', '"a', '"\n', "'", ",", ";", "\t", "|", "\n", "\r", "\r\n", "\0", "\\", "\\N", "#", "%s", "{}", "*"),
    *("\ufeff", "\x1b[31m", "\x1b]0;x\x07", "\x07", "\x0b", "\x0c", "\x1c", "\x7f", "\x85", "\xa0", "\u2028", "\u202e"),
    *("\ud800", "\U0001f600", "é", "e\u0301", "=1+1", "=cmd|' /C calc'!A0", "+1", "@x", "-1+1", "<script>", "&amp;"),
    *("true", "TRUE", "False", "yes", "2020-01-01", "2020-13-45T25:61", "12:00", "y", "Y", " y ", "a=b", "a:b", "c1"),
    *("1", "-1", "0", "x" * 60_000, "p0.05", "--target", "../../x", "a" * 41),
)


# --- seeds -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Text:
    """A table as text, and the options that read it."""

    content: str
    separator: str = ","
    encoding: str = "utf-8"
    gzipped: bool = False
    options: str = ""

    def encoded(self) -> bytes:
        return self.content.encode(self.encoding, "surrogatepass" if "utf" in self.encoding else "replace")


@cache
def rows() -> tuple[np.ndarray, np.ndarray]:
    """Features and target of 40 rows; the first two features explain the target."""
    rng = np.random.default_rng(7)
    X = rng.normal(size=(40, 4)).round(3)
    return X, (2 * X[:, 0] - X[:, 1] + 0.3 * rng.normal(size=40)).round(3)


def _lines(separator: str = ",", decimal: str = ".") -> list[str]:
    """Four numbers, a text, a yes or no, a class, and the target."""
    X, y = rows()
    lines = [separator.join(["a", "b", "c", "d", "town", "member", "class", "y"])]
    for i, values in enumerate(np.c_[X, y]):
        numbers = [f"{value:g}".replace(".", decimal) for value in values]
        town, member, label = ("Oslo", "Rome", "Kyiv")[i % 3], ("yes", "no")[i % 2], "pqr"[i * 7 % 3]
        lines.append(separator.join([*numbers[:4], town, member, label, numbers[4]]))
    return lines


@cache
def texts() -> tuple[Text, ...]:
    """Tables as text."""
    comma = "\n".join(_lines()) + "\n"
    several_lines = comma.replace("Oslo", '"Oslo,\n ""N"""').replace("town", '"to\nwn"')
    return (
        Text(comma),
        Text("\n".join(_lines(";", ",")) + "\n", ";", options="--decimal ,"),
        Text("\n".join(_lines("\t")) + "\n", "\t"),
        Text(several_lines),
        Text("\r\n".join(_lines()) + "\r\n"),
        Text(comma.replace("Kyiv", "Київ"), encoding="utf-16"),
        Text("\ufeff" + comma),
        Text(comma.replace("Rome", "Münster"), encoding="latin-1", options="--encoding latin-1"),
        Text(comma, gzipped=True),
        Text("\n".join(_lines(" ")) + "\n", " "),
        Text("# a comment\n\n" + comma, options="--skip 2"),
    )


def _table() -> pa.Table:
    """A column of every kind."""
    X, y = rows()
    n = len(y)
    return pa.table(
        {
            **{name: X[:, j] for j, name in enumerate("abcd")},
            "whole": pa.array(np.arange(n) % 7, pa.int32()),
            "town": pa.array([("Oslo", "Rome", None)[i % 3] for i in range(n)]).dictionary_encode(),
            "text": pa.array([f"t{i % 4}" for i in range(n)], pa.large_string()),
            "member": pa.array([i % 2 == 0 for i in range(n)]),
            "price": pa.array([Decimal(i % 9) / 4 for i in range(n)], pa.decimal128(10, 2)),
            "nothing": pa.nulls(n),
            "at": pa.array([1_600_000_000 + 86_400 * i for i in range(n)], pa.timestamp("s", "UTC")),
            "day": pa.array(range(n), pa.date32()),
            "list": pa.array([[i, None] for i in range(n)]),
            "record": pa.array([{"p": i, "q": str(i)} for i in range(n)]),
            "class": pa.array(["pqr"[i * 7 % 3] for i in range(n)]),
            "y": y,
        }
    )


def _parquet(table: pa.Table, **options: Any) -> bytes:
    stream = io.BytesIO()
    pq.write_table(table, stream, **options)
    return stream.getvalue()


def _arrow(table: pa.Table, *, stream: bool, compression: str | None = None, chunk: int = 15) -> bytes:
    written = io.BytesIO()
    make = pa.ipc.new_stream if stream else pa.ipc.new_file
    with make(written, table.schema, options=pa.ipc.IpcWriteOptions(compression=compression)) as writer:
        writer.write_table(table, max_chunksize=chunk)
    return written.getvalue()


@cache
def binaries() -> dict[str, bytes]:
    """Parquet and Arrow files, by their usual endings."""
    table = _table()
    numbers = table.select(["a", "b", "c", "d", "nothing", "class", "y"])
    return {
        "groups.parquet": _parquet(table, row_group_size=15, compression="none"),
        "zstd.parquet": _parquet(table, compression="zstd"),
        "snappy.parquet": _parquet(numbers, row_group_size=9, data_page_size=64, use_dictionary=False),
        "version1.parquet": _parquet(numbers, version="1.0", compression="gzip"),
        "file.arrow": _arrow(table, stream=False),
        "zstd.feather": _arrow(numbers, stream=False, compression="zstd"),
        "stream.arrows": _arrow(table, stream=True),
        "lz4.arrows": _arrow(numbers, stream=True, compression="lz4"),
    }


@cache
def moments() -> tuple[bytes, ...]:
    """Files of moments: of a numeric target, of classes, and of a table with text."""
    table = _table()
    numbers, y, label = table.select(["a", "b", "c", "d"]), rows()[1], np.array(table["class"])
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for columns, target in ((numbers, y), (numbers, label), (table.select(["a", "b", "text"]), y)):
            file = os.path.join(folder, "moments.npz")
            Moments.of(columns, target).save(file)
            with open(file, "rb") as stream:
                found.append(stream.read())
    return tuple(found)


@cache
def checkpoints() -> dict[str, bytes]:
    """Checkpoints by the command that wrote each."""
    from dropstep.cli import main

    X, y = rows()
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        table, called, typed = (os.path.join(folder, name) for name in ("table.csv", "called", "typed"))
        with open(table, "wb") as stream:
            stream.write(texts()[0].encoded())
        select(X, y, model=LinearRegression(), cv=2, strategy="forward", checkpoint=called)
        with contextlib.redirect_stdout(io.StringIO()):
            code = main(_estimator_arguments(table, typed))
        assert code == 0, "the command that writes the checkpoint fails"
        typed_command = shlex.join(["dropstep", *_estimator_arguments(f"{INTACT}.csv", CHECKPOINT)])
        for command, file in ((ESTIMATOR_CALL, called), (typed_command, typed)):
            with open(file, "rb") as stream:
                found[command] = stream.read()
    return found


def _estimator_arguments(table: str, checkpoint: str) -> list[str]:
    options = "--target y --model sklearn.linear_model:LinearRegression --cv 2 --strategy forward --no-check"
    return ["select", table, *options.split(), "--checkpoint", checkpoint]


# --- blind changes ---------------------------------------------------------------------------------------------------


def _span(rng: random.Random, size: int) -> slice:
    start = rng.randrange(size + 1)
    return slice(start, min(size, start + int(2 ** rng.uniform(0, 8))))


def _flip(rng: random.Random, data: bytes) -> bytes:
    flipped = bytearray(data)
    for _ in range(int(2 ** rng.uniform(0, 5)) if data else 0):
        flipped[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    return bytes(flipped)


def _overwrite(rng: random.Random, data: bytes) -> bytes:
    """Small integers, as sizes and offsets are written, set to extremes."""
    extremes = (0, 1, 0x7F, 0x80, 0xFF, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 2**63 - 1, 2**63, 2**64 - 1)
    at, width = rng.randrange(len(data) + 1), rng.choice((1, 2, 4, 8))
    value = (rng.choice(extremes) & (1 << 8 * width) - 1).to_bytes(width, rng.choice(("little", "big")))
    return data[:at] + value + data[at + width :]


def _truncate(rng: random.Random, data: bytes) -> bytes:
    cut = rng.randrange(len(data) + 1)
    return data[cut:] if rng.random() < 0.2 else data[:cut]


def _duplicate(rng: random.Random, data: bytes) -> bytes:
    span = _span(rng, len(data))
    times = min(int(2 ** rng.uniform(0, 20)), MAX_BYTES // max(1, span.stop - span.start))
    return data[: span.start] + data[span] * max(times, 1) + data[span.start :]


def _insert(rng: random.Random, data: bytes) -> bytes:
    at = rng.randrange(len(data) + 1)
    token = rng.choice(TOKENS).encode("utf-8", "surrogatepass") if rng.random() < 0.7 else rng.randbytes(9)
    return data[:at] + token + data[at:]


def _delete(rng: random.Random, data: bytes) -> bytes:
    span = _span(rng, len(data))
    return data[: span.start] + data[span.stop :]


def _splice(rng: random.Random, data: bytes) -> bytes:
    """The beginning of the file and the end of another one, or the reverse."""
    others = [*binaries().values(), *moments(), *checkpoints().values(), *(text.encoded() for text in texts())]
    other = rng.choice(others)
    first, second = (data, other) if rng.random() < 0.5 else (other, data)
    return first[: rng.randrange(len(first) + 1)] + second[rng.randrange(len(second) + 1) :]


BLIND = (_flip, _flip, _overwrite, _overwrite, _truncate, _duplicate, _insert, _delete, _splice)


def _blindly(rng: random.Random, data: bytes, least: int, most: int) -> bytes:
    for _ in range(rng.randint(least, most)):
        data = rng.choice(BLIND)(rng, data)[:MAX_BYTES]
    return data


# --- changes of a table that is text ---------------------------------------------------------------------------------

Cells = list[list[str]]


def _replace_cell(rng: random.Random, cells: Cells) -> None:
    row = rng.choice(cells)
    row[rng.randrange(len(row))] = rng.choice(TOKENS)


def _extend_cell(rng: random.Random, cells: Cells) -> None:
    row = rng.choice(cells)
    at = rng.randrange(len(row))
    row[at] = rng.choice((row[at] + rng.choice(TOKENS), rng.choice(TOKENS) + row[at]))


def _rename(rng: random.Random, cells: Cells) -> None:
    head = cells[0]
    head[rng.randrange(len(head))] = rng.choice((*TOKENS, *head))


def _replace_column(rng: random.Random, cells: Cells) -> None:
    """Other values in a column: a constant, a few, many, none, of every scale."""
    at, few = rng.randrange(len(cells[0])), [rng.choice(TOKENS) for _ in range(rng.randint(1, 4))]
    makers: tuple[Callable[[int], str], ...] = (
        lambda i: few[i % len(few)],
        lambda i: f"P{i:03d}",
        lambda i: "",
        lambda i: str(i),
        lambda i: str(10 ** (i % 350)),
        lambda i: f"{rng.gauss(0, 1) * 10.0 ** rng.randint(-300, 300):g}",
        lambda i: str(2**53 + i),
        lambda i: f"2020-01-{i % 28 + 1:02d}",
        lambda i: str(i % 2),
        lambda i: "1" if i else few[0],
    )
    make = rng.choice(makers)
    for i, row in enumerate(cells[1:]):
        if at < len(row):
            row[at] = make(i)


def _swap_cells(rng: random.Random, cells: Cells) -> None:
    one, other = rng.choice(cells), rng.choice(cells)
    i, j = rng.randrange(len(one)), rng.randrange(len(other))
    one[i], other[j] = other[j], one[i]


def _swap_lines(rng: random.Random, cells: Cells) -> None:
    i, j = rng.randrange(len(cells)), rng.randrange(len(cells))
    cells[i], cells[j] = cells[j], cells[i]


def _delete_cells(rng: random.Random, cells: Cells) -> None:
    """A cell, a column, or some rows."""
    kind = rng.randrange(3)
    if kind == 0:
        row = rng.choice(cells)
        del row[rng.randrange(len(row))]
    elif kind == 1:
        at = rng.randrange(len(cells[0]))
        for row in cells:
            del row[at : at + 1]
    else:
        del cells[_span(rng, len(cells))]


def _add_cells(rng: random.Random, cells: Cells) -> None:
    """A column, or cells of one row."""
    if rng.random() < 0.5:
        rng.choice(cells).extend([rng.choice(TOKENS)] * rng.randint(1, 5))
        return
    value = rng.choice(TOKENS)
    for i, row in enumerate(cells):
        row.insert(rng.randrange(len(row) + 1) if rng.random() < 0.01 else len(row), value if i else f"new{value}")


def _repeat_lines(rng: random.Random, cells: Cells) -> None:
    span = _span(rng, len(cells))
    size = sum(len(cell) + 1 for row in cells[span] for cell in row)
    times = min(int(2 ** rng.uniform(1, 17)), MAX_BYTES // max(size, 1), MAX_ROWS // max(len(cells[span]), 1))
    cells[span.start : span.start] = [list(row) for _ in range(times) for row in cells[span]]


def _repeat_columns(rng: random.Random, cells: Cells) -> None:
    """Many columns with names of their own."""
    n = min(int(2 ** rng.uniform(1, 8)), MAX_BYTES // len(cells))
    for i, row in enumerate(cells):
        value = rng.choice(row) if row else ""
        row.extend(value if i else f"{value}{j}" for j in range(n))


def _repeat_cell(rng: random.Random, cells: Cells) -> None:
    row = rng.choice(cells)
    at = rng.randrange(len(row))
    text = row[at] or "x"
    row[at] = text * min(int(2 ** rng.uniform(1, 21)), MAX_BYTES // (2 * len(text)) + 1)


def _blank_lines(rng: random.Random, cells: Cells) -> None:
    for _ in range(int(2 ** rng.uniform(0, 10))):
        cells.insert(rng.randrange(len(cells) + 1), [rng.choice(("", " ", '""'))] * rng.choice((1, len(cells[0]))))


def _keep_few(rng: random.Random, cells: Cells) -> None:
    del cells[rng.randint(1, 6) :]


OF_CELLS = (
    *(_replace_cell, _replace_cell, _extend_cell, _rename, _rename, _replace_column, _replace_column, _replace_column),
    *(_swap_cells, _swap_lines, _delete_cells, _add_cells, _repeat_lines, _repeat_columns, _repeat_cell, _blank_lines),
    _keep_few,
)


def _first_rows(cells: Cells) -> Cells:
    """The rows that are not empty, up to the size of a file."""
    sizes = accumulate(sum(map(len, row)) + len(row) for row in cells)
    return [row for row, size in zip(cells, sizes, strict=True) if row and size <= MAX_BYTES]


def _with_cells(rng: random.Random, text: Text) -> str:
    """The content with changes in its cells, which are quoted where they must be, or not."""
    read = csv.reader(io.StringIO(text.content, newline=""), delimiter=text.separator)
    cells = [row or [""] for row in read]
    for _ in range(rng.randint(0, 3)):
        rng.choice(OF_CELLS)(rng, cells)
        cells = _first_rows(cells) or [["y"]]
    separator = text.separator if rng.random() < 0.97 else rng.choice((",", ";", "\t", "|", " ", ", ", "::"))
    newline = "\r\n" if "\r" in text.content else "\n"
    newline = newline if rng.random() < 0.97 else rng.choice(("\r", "\n\r", "\u2028"))
    as_cell = partial(_quoted, separator=separator) if rng.random() < 0.8 else str
    end = newline if rng.random() < 0.9 else ""
    return newline.join(separator.join(map(as_cell, row)) for row in cells) + end


def _quoted(cell: str, separator: str) -> str:
    needed = any(character in cell for character in (separator, '"', "\n", "\r"))
    return f'"{cell.replace(chr(34), chr(34) * 2)}"' if needed else cell


def _text_file(rng: random.Random) -> tuple[bytes, str, str]:
    """Content, ending and options."""
    text = rng.choice(texts())
    text = replace(text, content=_with_cells(rng, text))
    if rng.random() < 0.05:
        text = replace(text, encoding=rng.choice(("utf-16", "utf-16-le", "utf-32", "cp1252", "utf-7", "shift_jis")))
    data = text.encoded()[:MAX_BYTES]
    if rng.random() < 0.15:
        data = _blindly(rng, data, 1, 2)
    if text.gzipped or rng.random() < 0.05:
        data = gzip.compress(data, mtime=0)
        if rng.random() < 0.4:
            data = _blindly(rng, data, 1, 2)
    return data, ".csv.gz" if text.gzipped else ".tsv" if text.separator == "\t" else ".csv", text.options


# --- changes of Parquet and Arrow ------------------------------------------------------------------------------------


def _any_array(rng: random.Random, n: int) -> pa.Array:
    """An array of some type, with values at the limits of the type."""
    integers, several = [rng.choice((0, 1, -1, 2**31, -(2**63), 2**63 - 1)) for _ in range(n)], rng.randint(1, 4)
    floats = [rng.choice((0.0, -0.0, 1.5, float("nan"), float("inf"), 1e308, -1e308, 5e-324, None)) for _ in range(n)]
    words = [rng.choice(TOKENS[:several] if rng.random() < 0.3 else TOKENS) for _ in range(n)]
    words = [word.encode("utf-8", "replace").decode() for word in words]
    makers: tuple[Callable[[], pa.Array], ...] = (
        lambda: pa.array(integers, pa.int64()),
        lambda: pa.array([abs(i) for i in integers], pa.uint64()),
        lambda: pa.array(floats, pa.float64()),
        lambda: pa.array(floats, pa.float32()),
        lambda: pa.array(np.array([0.5, 65504, np.nan] * n, np.float16)[:n], pa.float16()),
        lambda: pa.array(words),
        lambda: pa.array(words, pa.large_string()),
        lambda: pa.array(words).dictionary_encode(),
        lambda: pa.array(integers).dictionary_encode(),
        lambda: pa.array(floats).dictionary_encode(),
        lambda: pa.DictionaryArray.from_arrays(pa.array([0, 1, None] * n, pa.int8())[:n], pa.array(["twice", "twice"])),
        lambda: pa.DictionaryArray.from_arrays(pa.array([0] * n, pa.int8()), pa.array([None], pa.string())),
        lambda: pa.array([[True, False, None][i % 3] for i in range(n)]),
        lambda: pa.array([None] * n, pa.bool_()),
        lambda: pa.nulls(n),
        lambda: pa.nulls(n, pa.float64()),
        lambda: pa.nulls(n, pa.string()),
        lambda: pa.array([Decimal(10) ** (i % 30) for i in range(n)], pa.decimal128(38, 0)),
        lambda: pa.array([Decimal(10) ** -(i % 30) for i in range(n)], pa.decimal256(76, 40)),
        lambda: pa.array(integers, pa.timestamp("ns")),
        lambda: pa.array(integers, pa.timestamp("s", "Nowhere/Land")),
        lambda: pa.array(integers, pa.timestamp("us")),
        lambda: pa.array(integers, pa.date64()),
        lambda: pa.array([i % 86_400 for i in integers], pa.time32("s")),
        lambda: pa.array(integers, pa.duration("s")),
        lambda: pa.array([word.encode() for word in words]),
        lambda: pa.array([b"ab"] * n, pa.binary(2)),
        lambda: pa.array([{"y": i} for i in range(n)]),
        lambda: pa.array([[[i]] for i in range(n)]),
        lambda: pa.array([[("k", i)] for i in range(n)], pa.map_(pa.string(), pa.int64())),
        lambda: pa.array([[1.0, 2.0]] * n, pa.list_(pa.float64(), 2)),
        lambda: pa.array([f"P{i}" for i in range(n)]),
        lambda: pa.array([float(i % 2) for i in range(n)]),
    )
    return rng.choice(makers)()


def _any_table(rng: random.Random) -> pa.Table:
    """The table of the seeds with other columns, names and numbers of rows."""
    table = _table()
    table = table.slice(0, rng.choice((0, 1, 2, 3, *[table.num_rows] * 16)))
    for _ in range(rng.randint(1, 4)):
        array, name = _any_array(rng, table.num_rows), rng.choice((*"abcdy", "new", rng.choice(TOKENS)))
        name = name.encode("utf-8", "replace").decode()
        if name in table.column_names and rng.random() < 0.9:
            at = table.column_names.index(name)
            table = table.set_column(at, name, array)
        else:
            table = table.append_column(name, array)
    if rng.random() < 0.1:
        table = table.select(rng.sample(range(table.num_columns), rng.randint(0, table.num_columns)))
    return table


def _any_binary(rng: random.Random) -> tuple[bytes, str]:
    """Content and ending of a Parquet or Arrow file, intact so far."""
    if rng.random() < 0.3:
        name = rng.choice(sorted(binaries()))
        return binaries()[name], os.path.splitext(name)[1]
    table = _any_table(rng)
    try:
        if rng.random() < 0.5:
            options = {"row_group_size": rng.choice((1, 15, 1000)), "use_dictionary": rng.random() < 0.5}
            return _parquet(table, compression=rng.choice(("none", "zstd", "snappy")), **options), ".parquet"
        compression = rng.choice((None, "zstd", "lz4"))
        stream = rng.random() < 0.5
        return _arrow(table, stream=stream, compression=compression), ".arrows" if stream else ".arrow"
    except (pa.ArrowException, ValueError):  # a type that the format does not have
        return binaries()["file.arrow"], ".arrow"


def _binary_file(rng: random.Random) -> tuple[bytes, str, str]:
    """Content, ending and options."""
    data, ending = _any_binary(rng)
    if rng.random() < 0.4:
        data = _blindly(rng, data, 1, 3)
    if rng.random() < 0.05:
        data = gzip.compress(data, mtime=0)
    return data, ending, BINARY_OPTIONS


# --- changes of moments ----------------------------------------------------------------------------------------------


def _any_value(rng: random.Random, array: np.ndarray) -> np.ndarray:
    """An array with another value, shape or type."""
    kind = rng.randrange(6)
    if kind == 0 and array.dtype.kind == "f" and array.size:
        extremes = (0, -1, 1e-300, 1e300, 1e154, np.nan, np.inf, -np.inf, 0.5, 2**53, array.flat[0])
        array = array.copy()
        array.flat[rng.randrange(array.size)] = rng.choice(extremes)
    elif kind == 1:
        return array.reshape(rng.choice([(-1,), (1, -1), (-1, 1), (-1, 1, 1)]))
    elif kind == 2:
        types = ("f4", ">f8", "i1", "u8", "c16", "U3", "S2", "?", "M8[s]", "f2")
        return array.astype(rng.choice(types), casting="unsafe") if array.dtype.kind in "fiu" else array
    elif kind == 3 and array.ndim:
        return array[: rng.randrange(len(array) + 1)]
    elif kind == 4 and array.dtype.kind == "U":
        return np.array([rng.choice(TOKENS)[:500] or name for name in array.tolist()])
    elif kind == 5 and array.ndim == 2:
        scaled = array * rng.choice((0.0, 1e-200, 1e150, -1.0))
        return rng.choice((array.T, scaled, np.asfortranarray(array)))
    return array


def _archive(entries: Mapping[str, bytes], rng: random.Random) -> bytes:
    """A zip archive with correct checksums."""
    stream = io.BytesIO()
    compression = zipfile.ZIP_DEFLATED if rng.random() < 0.05 else zipfile.ZIP_STORED
    with zipfile.ZipFile(stream, "w", compression) as archive:
        for name, data in entries.items():
            archive.writestr(zipfile.ZipInfo(name), data, compression)
    return stream.getvalue()


def _moments_file(rng: random.Random) -> bytes:
    data = rng.choice(moments())
    if rng.random() < 0.15:
        return _blindly(rng, data, 1, 3)
    with np.load(io.BytesIO(data)) as arrays:
        found = {name: arrays[name] for name in arrays.files}
    entries = {}
    changed = set(rng.sample(sorted(found), rng.randint(0, 2)))
    for name, array in found.items():
        stream = io.BytesIO()
        with np.errstate(all="ignore"):
            np.save(stream, _any_value(rng, array) if name in changed else array)
        entries[f"{name}.npy"] = stream.getvalue()
    if rng.random() < 0.15:
        name = rng.choice(sorted(entries))
        entries[name] = _blindly(rng, entries[name], 1, 2)
    if rng.random() < 0.05:
        name = rng.choice(sorted(entries))
        other = rng.choice((f"{rng.choice(TOKENS)[:50]}.npy", "../x.npy", "factors.npy"))
        entries[other.encode("utf-8", "replace").decode()] = entries.pop(name)
    return _archive(entries, rng)


# --- changes of checkpoints ------------------------------------------------------------------------------------------


NO_RECORDS = (b"", b"{", b"[]", b"null", b"1", b'"x"', b"\xff", b"[" * 100_000, b"1" * 5_000, b'{"a":' * 5_000)
NUMBERS = (True, -1, 0, 99, 2**70, 0.5, float("nan"), float("inf"))
VALUES = (*NUMBERS, None, "x", "", [], [0], [[0]], {}, [None], "\x1b[31m")


def _line(text: bytes) -> bytes:
    """A line of a checkpoint, with its checksum."""
    return b"%08x %s\n" % (zlib.crc32(text), text)


def _any_document(rng: random.Random, record: dict[str, Any]) -> bytes:
    """A document with a valid checksum, which may be no record and no JSON."""
    kind = rng.randrange(6)
    if kind == 0:
        return rng.choice(NO_RECORDS)
    if kind == 1:
        return _blindly(rng, json.dumps(record).encode(), 1, 2).replace(b"\n", b"")
    changed = dict(record)
    for _ in range(rng.randint(1, 2)):
        name = rng.choice((*record, "new"))
        if rng.random() < 0.3:
            changed.pop(name, None)
        else:
            changed[name] = rng.choice(VALUES)
    return json.dumps(changed).encode()


def _checkpoint_file(rng: random.Random, data: bytes) -> bytes:
    if rng.random() < 0.3:
        return _blindly(rng, data, 1, 3)
    if rng.random() < 0.15:  # a file that is none
        others = [*binaries().values(), *moments(), *(text.encoded() for text in texts())]
        return _blindly(rng, rng.choice(others), 0, 1)
    lines = data.splitlines(keepends=True)
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(0 if rng.random() < 0.2 else 1, len(lines))
        document = _any_document(rng, json.loads(data.splitlines()[min(at, 5)].partition(b" ")[2]))
        if rng.random() < 0.7:
            lines[at] = _line(document)
        else:
            lines.insert(at, _line(document))
    joined = b"".join(lines)
    return joined[: -rng.randrange(1, 40)] if rng.random() < 0.2 else joined


# --- commands --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Mutation:
    """A changed file and the command that reads it.

    Attributes
    ----------
    number : int
    files : mapping of str to bytes
        Files of the working folder; the first one is the changed one.
    command : str
        A command line that begins with dropstep, or an expression in Python.
    large : bool
        Whether the command line reads tables in blocks of rows whatever their size.
    block : int or None
        Bytes of text that are parsed at a time; None is as always.
    written : tuple of str
        Files that the command may create.
    header : bytes
        First line of a checkpoint that the command continues, if the changed file is one.
    """

    number: int
    files: Mapping[str, bytes]
    command: str
    large: bool = False
    block: int | None = None
    written: tuple[str, ...] = ()
    header: bytes = b""

    @property
    def file(self) -> str:
        """Name of the changed file."""
        return next(iter(self.files))

    @property
    def is_typed(self) -> bool:
        """Whether the command is one of the command line."""
        return self.command.startswith("dropstep ")

    def __str__(self) -> str:
        size = "DROPSTEP_LARGE_FILE=1 " if self.large else ""
        stdin = f" < {shlex.quote(self.file)}" if self.is_typed and " - " in f"{self.command} " else ""
        block = f"  # with dropstep.backends.delimited.BLOCK = {self.block}" if self.block else ""
        return f"{size if self.is_typed else ''}{self.command}{stdin}{block}"


ENCODINGS = (
    *("latin-1", "utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-32", "utf-7", "cp037", "shift_jis", "ascii", "idna"),
    *("punycode", "base64", "rot13", "hex", "undefined", "unicode_escape", "raw_unicode_escape", "no-such", "", "é"),
)
Options = Mapping[str, Sequence[str]]  # values by option; an option without values is a flag
LAYOUT: Options = {
    "--no-header": (),
    "--transpose": (),
    "--skip": ("0", "1", "2", "40", "9999999999"),
    "--separator": (",", ";", "tab", "space", "|", '"', "a", "1", ".", "é", "\n", "\r", "\x1b"),
    "--decimal": (",", ".", ";", '"', "e", "1", "-", " ", "é", "\n", "\x1b"),
    "--thousands": (",", ".", "'", " ", "1", "e", "-", "é"),
    "--encoding": ENCODINGS,
    "--na": [*(token for token in TOKENS if not set(token) & {"\0", "\ud800"}), "\udcff"],
    "--missing": ("drop", "drop", "drop", "level", "drop-columns"),
    "--categorical": ("a", "1", "a,b", "town", "-1", "1-3", "x"),
}
SEARCH: Options = {
    "--strategy": ("forward", "backward", "stepwise", "fbed", "floating", "swap", "beam:width=2"),
    "--model": ("linear", "discriminant", "logistic", "poisson", "gamma"),
    "--criterion": ("aic", "bic", "ebic:gamma=0.5", "cp", "press", "cv", "wilks", "roy"),
    "--enter": ("0", "p0.05", "1e-300", "inf", "permutation:0.2"),
    "--max-features": ("1", "2", "99"),
    "--include": ("a", "town", "1"),
    "--exclude": ("a", "town,class", "2-3"),
    "--groups": ("a,b", "town,c", "1-2"),
    "--solver": ("gram", "columns"),
}
SELECT: Options = {
    "--weights": ("d", "whole", "1"),
    "--offset": ("d", "1"),
    "--groups-column": ("town", "d"),
    "--stability": ("4",),
    "--holdout": ("0.3",),
    "--dry-run": (),
    "--max-time": ("5",),
}
TARGETS = (*["y"] * 12, *["class"] * 4, *["-1"] * 3, "member", "1", "town", "a,y", "99", "", "nope", "y,y")
PARAMETERS = {
    "missing": ("drop", "level"),
    "model": ("logistic", "poisson", "discriminant"),
    "strategy": ("forward",),
    "criterion": ("bic",),
    "sample_weight": ("d",),
    "exclude": (["a"],),
    "max_features": (2,),
}


def _options(rng: random.Random, offered: Options, most: int) -> list[str]:
    """Up to a number of options with values; few are more likely than many."""
    chosen: list[str] = []
    for _ in range(min(rng.randint(0, most), rng.randint(0, most))):
        option = rng.choice(list(offered))
        chosen += [option, rng.choice(offered[option])] if offered[option] else [option]
    return chosen


def _typed(rng: random.Random, file: str, options: str, size: int) -> tuple[list[str], tuple[str, ...]]:
    """The arguments of a command that reads a table, and the files that it writes."""
    source = "-" if rng.random() < 0.05 else file
    kind = rng.random()
    if kind < 0.12:
        return ["columns", source], ()
    table = [source, "--target", rng.choice(TARGETS)]
    if rng.random() < 0.9:
        table += shlex.split(options)
    table += _options(rng, LAYOUT, 2)
    if kind < 0.2:
        return ["moments", "make", *table, "--output", "moments.npz"], ("moments.npz",)
    table += _options(rng, SEARCH, 2)
    if rng.random() < 0.3:
        table += ["--format", rng.choice(("json", "csv")), *(["--columns"] if rng.random() < 0.3 else [])]
    written: list[str] = []
    if rng.random() < 0.15:
        written.append("report.html")
        table += ["--report", written[-1]]
    if kind < 0.28 and size <= MAX_BYTES_TO_RESAMPLE:
        return ["compare", *table, "--strategies", "forward,dropping", "--folds", "2"], tuple(written)
    table += _options(rng, SELECT, 1)
    by_position = "--categorical" in table and not {"-1", "1", "1-3"}.isdisjoint(table)  # may be the target
    if "logistic" in table and (by_position or size > MAX_BYTES_TO_RESAMPLE):  # a class for each value of the target
        table[table.index("logistic")] = "linear"
    if rng.random() < 0.2:
        written.append(f"few{rng.choice(('.csv', '.tsv', '.csv.gz', '.parquet'))}")
        table += ["--output", written[-1]]
    if rng.random() < 0.8 or size > MAX_BYTES_TO_RESAMPLE:
        table.append("--no-check")
    return ["select", *table], tuple(written)


def _called(rng: random.Random, file: str) -> str:
    """An expression that selects from a table."""
    source = repr(file) if rng.random() < 0.9 else f"[{f'{INTACT}.csv'!r}, {file!r}]"
    chosen = {name: rng.choice(PARAMETERS[name]) for name in rng.sample(list(PARAMETERS), rng.randint(0, 2))}
    parameters = "".join(f", {name}={value!r}" for name, value in chosen.items())
    return f"select({source}, {rng.choice(TARGETS)!r}{parameters})"


def _of_table(rng: random.Random, number: int) -> Mutation:
    data, ending, options = (_text_file if rng.random() < 0.6 else _binary_file)(rng)
    if rng.random() < 0.1:
        ending = rng.choice((".csv", ".parquet", ".arrow", ".gz", ".txt", "", ".npz", ".xlsx", ".[x]*"))
    file = f"table{ending}"
    block = max(2 ** rng.randint(6, 12), _n_bytes(data) // MAX_BLOCKS) if rng.random() < 0.25 else None
    files = {file: data}
    if rng.random() < 0.3:
        command = _called(rng, file)
        if INTACT in command:
            files[f"{INTACT}.csv"] = texts()[0].encoded()
        return Mutation(number, files, command, block=block)
    arguments, written = _typed(rng, file, options, len(data))
    if written and rng.random() < 0.1:
        files[written[0]] = b"this exists\n"
    return Mutation(number, files, shlex.join(["dropstep", *arguments]), rng.random() < 0.5, block, written)


def _of_moments(rng: random.Random, number: int) -> Mutation:
    file, other = "moments.npz" if rng.random() < 0.95 else "moments.csv", f"{INTACT}.npz"
    files = {file: _moments_file(rng), other: rng.choice(moments())}
    kind = rng.random()
    if kind < 0.3:
        calls = ("Moments.load({0!r})", "select(Moments.load({0!r}))", "Moments.load({1!r}) + Moments.load({0!r})")
        return Mutation(number, files, rng.choice(calls).format(file, other))
    if kind < 0.6:
        both = rng.sample([file, other], 2)
        command = shlex.join(["dropstep", "moments", "add", *both, "--output", "sum.npz"])
        return Mutation(number, files, command, written=("sum.npz",))
    if kind < 0.65:
        return Mutation(number, files, shlex.join(["dropstep", "columns", file]))
    arguments = ["moments", "select", file, *([other] if rng.random() < 0.2 else []), *_options(rng, SEARCH, 2)]
    written = ("report.html",) if rng.random() < 0.1 else ()
    arguments += ["--format", rng.choice(("json", "csv", "table")), *(["--report", *written] if written else [])]
    return Mutation(number, files, shlex.join(["dropstep", *arguments]), written=written)


def _of_checkpoint(rng: random.Random, number: int) -> Mutation:
    command, data = rng.choice(sorted(checkpoints().items()))
    files = {CHECKPOINT: _checkpoint_file(rng, data), f"{INTACT}.csv": texts()[0].encoded()}
    return Mutation(number, files, command, header=data[: data.index(b"\n") + 1])


def _n_bytes(data: bytes) -> int:
    """Number of bytes of a file, decompressed as far as it can be."""
    with contextlib.suppress(zlib.error):
        return max(len(data), len(zlib.decompressobj(31).decompress(data, 2 * MAX_BYTES)))
    return len(data)


def mutation(number: int) -> Mutation:
    """The mutation of a number."""
    rng = random.Random(number)
    kind = rng.random()
    return (_of_table if kind < 0.7 else _of_moments if kind < 0.87 else _of_checkpoint)(rng, number)
