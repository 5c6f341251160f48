"""The bytes of a file, decompressed, and their format."""

from __future__ import annotations

import enum
import gzip
import sys
import zlib
from pathlib import Path

from dropstep.readers.errors import ReadError

GZIP = b"\x1f\x8b"


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


def load(file: str) -> bytes:
    """All bytes of a file, decompressed if it is gzipped; "-" is standard input."""
    try:
        data = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
    except FileNotFoundError:
        raise ReadError(f"{file}: no such file") from None
    except IsADirectoryError:
        raise ReadError(f"{file}: this is a directory; give one of its files") from None
    except PermissionError:
        raise ReadError(f"{file}: no permission to read this file") from None
    except OSError as error:
        raise ReadError(f"{file}: this file cannot be read ({error.strerror or error})") from None
    if data.startswith(GZIP):
        data = _decompressed(data, shown_name(file))
    if not data.strip(b"\r\n\t \xef\xbb\xbf"):
        raise ReadError(f"{shown_name(file)}: this file is empty")
    return data


def _decompressed(data: bytes, file: str) -> bytes:
    try:
        return gzip.decompress(data)
    except (EOFError, zlib.error, gzip.BadGzipFile):
        raise ReadError(f"{file}: this gzip file is damaged or truncated; download it again") from None


def kind_of(file: str, data: bytes) -> Kind:
    """Detect the format from the first bytes; raise if it is not supported."""
    for magic, sentence in UNSUPPORTED.items():
        if data.startswith(magic):
            raise ReadError(f"{file}: this is {sentence}")
    return next((kind for magic, kind in KINDS.items() if data.startswith(magic)), Kind.TEXT)
