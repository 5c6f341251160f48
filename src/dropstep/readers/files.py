"""Files: their bytes, unpacked, and what kind of table these bytes are."""

from __future__ import annotations

import enum
import gzip
import sys
import zlib
from pathlib import Path

GZIP = b"\x1f\x8b"


class Kind(enum.Enum):
    """What a table is stored as."""

    TEXT = "text"
    PARQUET = "Parquet"
    ARROW = "Arrow"
    STREAM = "Arrow stream"


# What the first bytes of a file say, and for what cannot be read, the way out.
KINDS = {b"PAR1": Kind.PARQUET, b"ARROW1": Kind.ARROW, b"\xff\xff\xff\xff": Kind.STREAM}
REFUSED = {
    b"PK\x03\x04": "a zip archive (Excel workbooks are, too); unpack it, or save the sheet as CSV",
    b"BZh": "compressed with bzip2; unpack it, or compress it with gzip",
    b"\xfd7zXZ": "compressed with xz; unpack it, or compress it with gzip",
    b"\x28\xb5\x2f\xfd": "compressed with zstd; unpack it, or compress it with gzip",
    b"\x89HDF": "an HDF5 file; save the table as CSV or Parquet",
    b"\xd0\xcf\x11\xe0": "an old Excel workbook; save the sheet as CSV",
    b"%PDF": "a PDF document; save the table as CSV",
}


def shown_name(file: str) -> str:
    return "standard input" if file == "-" else file


def load(file: str) -> bytes:
    """All bytes of a file, unpacked if it is gzipped; "-" is standard input."""
    try:
        data = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
    except FileNotFoundError:
        raise ValueError(f"{file}: there is no such file") from None
    except IsADirectoryError:
        raise ValueError(f"{file}: this is a directory; give one file of it") from None
    except PermissionError:
        raise ValueError(f"{file}: there is no permission to read this file") from None
    except OSError as error:
        raise ValueError(f"{file}: this file cannot be read ({error.strerror or error})") from None
    if data.startswith(GZIP):
        data = _unpacked(data, shown_name(file))
    if not data.strip(b"\r\n\t \xef\xbb\xbf"):
        raise ValueError(f"{shown_name(file)}: this file is empty")
    return data


def _unpacked(data: bytes, file: str) -> bytes:
    try:
        return gzip.decompress(data)
    except (EOFError, zlib.error, gzip.BadGzipFile):
        raise ValueError(f"{file}: this gzip file is damaged or ends too early; fetch it once more") from None


def kind_of(file: str, data: bytes) -> Kind:
    """What the bytes are, by their beginning; a kind that cannot be read is refused with the way out."""
    for magic, sentence in REFUSED.items():
        if data.startswith(magic):
            raise ValueError(f"{file}: this is {sentence}")
    return next((kind for magic, kind in KINDS.items() if data.startswith(magic)), Kind.TEXT)
