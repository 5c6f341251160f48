"""The content of files: names, globs and directories, what is compressed, and the format by the first bytes."""

from __future__ import annotations

import contextlib
import enum
import glob
import gzip
import io
import os
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, cast

from dropstep.atomic import free_memory

# Texts that mark a missing value.
MISSING = ("", "NA", "N/A", "NaN", "nan", "null", "NULL", "None", "#N/A", "#NA", "<NA>", "n/a", "?", ".")

GZIP = b"\x1f\x8b"
CHUNK = 2**20  # bytes that are decompressed at a time
MEMORY_PER_BYTE = 16  # bytes of memory for a byte of text, at the most, while a table is made of it


class ReadError(ValueError):
    """A file that cannot be read as a table."""


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


def files_of(name: str) -> list[str]:
    """The files that a name, a directory or a glob stands for, sorted; "-" is standard input."""
    if os.path.isdir(name):
        found = sorted(str(path) for path in Path(name).rglob("*") if path.is_file() and path.name[0] not in "._")
        if not found:
            raise ReadError(f"{name}: this directory has no files")
        return found
    if name == "-" or os.path.exists(name):
        return [name]
    found = sorted(glob.glob(name, recursive=True))
    if not found:
        hint = "; its pattern matches nothing" if glob.has_magic(name) else ""
        raise ReadError(f"{name}: no such file{hint}")
    return found


class Content:
    """The content of a file, which must not change from when it is opened; decompressed where it is gzipped.

    Parameters
    ----------
    name : str
        Name of the file; "-" is standard input, which is kept in memory.

    Attributes
    ----------
    shown : str
        Name in messages.
    kind : Kind
    compressed : bool
    position : int
        Number of bytes of the file, as it is stored, that the last reader has read.
    """

    def __init__(self, name: str) -> None:
        self.name, self.position = name, 0
        self.shown = "standard input" if name == "-" else name
        self._data = self._within_memory(sys.stdin.buffer) if name == "-" else None
        with self._reported():
            self._state = self._found()
            with self._stored() as stream:
                self.compressed = stream.read(len(GZIP)) == GZIP
        with self.open() as stream:
            first = stream.read(CHUNK if self._data is None else -1)
        if not first.strip(b"\r\n\t \xef\xbb\xbf") and len(first) < CHUNK:
            raise ReadError(f"{self.shown}: this file is empty")
        for magic, sentence in UNSUPPORTED.items():
            if first.startswith(magic):
                raise ReadError(f"{self.shown}: this is {sentence}")
        self.kind = next((kind for magic, kind in KINDS.items() if first.startswith(magic)), Kind.TEXT)

    @property
    def n_stored(self) -> int:
        """Number of bytes of the file, as it is stored."""
        return self._state[0]

    def _found(self) -> tuple[int, int, int]:
        """Size, time and number of the file: one of them changes if the file does."""
        if self._data is not None:
            return len(self._data), 0, 0
        found = os.stat(self.name)
        return found.st_size, found.st_mtime_ns, found.st_ino

    def check(self) -> None:
        """Raise if the file has changed."""
        if self._data is None and (not os.path.exists(self.name) or self._found() != self._state):
            raise ReadError(f"{self.shown}: the file changed while it was being read; nothing was selected")

    def size(self, limit: int) -> int:
        """Number of bytes, decompressed and counted up to a limit or to where the file is damaged."""
        if not self.compressed:
            return self.n_stored
        size = 0
        with contextlib.suppress(ReadError):
            for chunk in self.chunks(CHUNK):
                size += len(chunk)
                if size >= limit:
                    break
        return size

    def chunks(self, size: int) -> Iterator[bytes]:
        """The bytes, decompressed, in chunks of a size."""
        with self._reported(), self._stored() as stored, self._decompressed(stored) as stream:
            while chunk := stream.read(size):
                self.position = stored.tell()
                yield chunk

    @contextlib.contextmanager
    def open(self) -> Iterator[IO[bytes]]:
        """A stream of the bytes, decompressed."""
        with self._reported(), self._stored() as stored, self._decompressed(stored) as stream:
            yield stream

    def load(self) -> bytes:
        """All bytes, decompressed, if they can become a table in the free memory."""
        with self.open() as stream:
            return self._within_memory(stream)

    def _within_memory(self, stream: IO[bytes]) -> bytes:
        limit, chunks, size = free_memory() // MEMORY_PER_BYTE, list[bytes](), 0
        while chunk := stream.read(CHUNK):
            chunks.append(chunk)
            size += len(chunk)
            if size > limit:
                raise ReadError(
                    f"{self.shown}: this table has more than {limit >> 20:,} MB, which does not fit into the free "
                    "memory; remove columns or rows"
                )
        return b"".join(chunks)

    def _stored(self) -> IO[bytes]:
        return open(self.name, "rb") if self._data is None else io.BytesIO(self._data)

    def _decompressed(self, stored: IO[bytes]) -> IO[bytes]:
        return cast(IO[bytes], gzip.GzipFile(fileobj=stored)) if self.compressed else stored

    @contextlib.contextmanager
    def _reported(self) -> Iterator[None]:
        """Errors of the operating system and of gzip become sentences."""
        try:
            yield
        except (EOFError, zlib.error, gzip.BadGzipFile):
            raise ReadError(f"{self.shown}: this gzip file is damaged or truncated; download it again") from None
        except FileNotFoundError:
            raise ReadError(f"{self.shown}: no such file") from None
        except PermissionError:
            raise ReadError(f"{self.shown}: no permission to read this file") from None
        except OSError as error:
            raise ReadError(f"{self.shown}: this file cannot be read ({error.strerror or error})") from None
