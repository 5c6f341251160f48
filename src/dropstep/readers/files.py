"""The bytes of a file, decompressed as far as memory allows, and their format."""

from __future__ import annotations

import contextlib
import enum
import gzip
import io
import os
import sys
import zlib
from collections.abc import Iterator
from typing import IO, cast

from dropstep.files import free_memory
from dropstep.readers.errors import ReadError

GZIP = b"\x1f\x8b"
CHUNK = 2**20  # bytes that are decompressed at a time
MEMORY_PER_BYTE = 16  # bytes of memory for a byte of text, at the most, while a table is made of it


class Kind(enum.Enum):
    """Format of a file."""

    TEXT = "text"
    PARQUET = "Parquet"
    ARROW = "Arrow"
    STREAM = "Arrow stream"


# Formats by their first bytes; for formats that are not supported, what to do instead.
KINDS = {b"PAR1": Kind.PARQUET, b"ARROW1": Kind.ARROW, b"\xff\xff\xff\xff": Kind.STREAM}
UNSUPPORTED = {
    b"PK\x03\x04": "a zip archive (or an Excel workbook); extract it, or save the sheet as CSV",
    b"BZh": "compressed with bzip2; decompress it, or compress it with gzip",
    b"\xfd7zXZ": "compressed with xz; decompress it, or compress it with gzip",
    b"\x28\xb5\x2f\xfd": "compressed with zstd; decompress it, or compress it with gzip",
    b"\x89HDF": "an HDF5 file; save the table as CSV or Parquet",
    b"\xd0\xcf\x11\xe0": "an old Excel workbook; save the sheet as CSV",
    b"%PDF": "a PDF document; save the table as CSV",
}


def shown_name(file: str) -> str:
    """Name of a file in messages."""
    return "standard input" if file == "-" else file


def is_gzipped(file: str) -> bool:
    """Whether a file begins as a gzipped one."""
    with open(file, "rb") as stream:
        return stream.read(len(GZIP)) == GZIP


def text_size(file: str, limit: int) -> int:
    """Number of bytes of a file; if it is gzipped, of its content, counted up to a limit or to where it is damaged."""
    if not is_gzipped(file):
        return os.path.getsize(file)
    size = 0
    with contextlib.suppress(EOFError, zlib.error, gzip.BadGzipFile), gzip.open(file) as content:
        while size < limit and (chunk := content.read(CHUNK)):
            size += len(chunk)
    return size


def load(file: str, head: int | None = None) -> bytes:
    """The bytes of a file, decompressed if it is gzipped; "-" is standard input.

    Parameters
    ----------
    file : str
    head : int or None, default=None
        Number of bytes at the beginning to read; None reads all, if they can become a table in the free memory.

    Returns
    -------
    bytes
    """
    shown, limit = shown_name(file), _max_bytes() if head is None else head
    try:
        with _opened(file) as stream:
            data = _read(stream, limit if head else limit + 1)
    except (EOFError, zlib.error, gzip.BadGzipFile):
        raise ReadError(f"{shown}: this gzip file is damaged or truncated; download it again") from None
    except FileNotFoundError:
        raise ReadError(f"{file}: no such file") from None
    except IsADirectoryError:
        raise ReadError(f"{file}: this is a directory; give one of its files") from None
    except PermissionError:
        raise ReadError(f"{file}: no permission to read this file") from None
    except OSError as error:
        raise ReadError(f"{file}: this file cannot be read ({error.strerror or error})") from None
    if len(data) > limit:
        raise ReadError(
            f"{shown}: this table has more than {limit >> 20:,} MB of text, which does not fit into the free memory; "
            "remove columns or rows"
        )
    if not data.strip(b"\r\n\t \xef\xbb\xbf"):
        raise ReadError(f"{shown}: this file is empty")
    return data


def _read(stream: IO[bytes], limit: int) -> bytes:
    """The bytes of a stream up to a limit, which are allocated as they are read."""
    chunks, size = [], 0
    while size < limit and (chunk := stream.read(min(CHUNK, limit - size))):
        chunks.append(chunk)
        size += len(chunk)
    return b"".join(chunks)


def _max_bytes() -> int:
    """Number of bytes of a text that can become a table in the free memory."""
    return free_memory() // MEMORY_PER_BYTE


@contextlib.contextmanager
def _opened(file: str) -> Iterator[IO[bytes]]:
    """A file that is decompressed while it is read, if it begins as a gzipped one."""
    with contextlib.ExitStack() as stack:
        raw: IO[bytes] = sys.stdin.buffer if file == "-" else stack.enter_context(open(file, "rb"))
        if not raw.seekable():
            raw = io.BytesIO(_read(raw, _max_bytes() + 1))
        start = raw.tell()
        compressed = raw.read(len(GZIP)) == GZIP
        raw.seek(start)
        yield cast(IO[bytes], stack.enter_context(gzip.GzipFile(fileobj=raw))) if compressed else raw


def kind_of(file: str, data: bytes) -> Kind:
    """Detect the format from the first bytes; raise if it is not supported."""
    for magic, sentence in UNSUPPORTED.items():
        if data.startswith(magic):
            raise ReadError(f"{file}: this is {sentence}")
    return next((kind for magic, kind in KINDS.items() if data.startswith(magic)), Kind.TEXT)
