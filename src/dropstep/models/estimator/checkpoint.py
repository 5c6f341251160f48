"""A checkpoint: an append-only file with one checksummed record per fit, from which a new process resumes."""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

SCHEMA = "dropstep.checkpoint/1"


class Checkpoint:
    """Records of fits, locked against other processes until it is closed or its process ends.

    Each line is the CRC-32 of a JSON document in hexadecimal, a space, and the document. The first line identifies the
    data and the parameters. A line that does not match its checksum is ignored, and a torn last line is cut off.

    Parameters
    ----------
    file : str or path-like
        Created if it does not exist.
    fingerprint : str
        Of the data and the parameters; a file with another one is refused.
    """

    def __init__(self, file: str | os.PathLike[str], fingerprint: str) -> None:
        self.file = Path(file)
        self._records: dict[tuple[tuple[int, ...], int], dict[str, Any]] = {}
        self._stream = self._opened()
        try:
            self._lock()
            self._read(fingerprint)
        except BaseException:
            self._stream.close()
            raise

    def _opened(self) -> IO[bytes]:
        try:
            return open(self.file, "a+b", buffering=0)
        except OSError as error:
            raise ValueError(
                f"checkpoint {str(self.file)!r} cannot be opened ({error.strerror}); choose a file that can be written"
            ) from error

    def _lock(self) -> None:
        try:
            _lock(self._stream)
        except OSError:
            raise ValueError(
                f"checkpoint {str(self.file)!r} is in use by another process; wait for it, or choose another file"
            ) from None

    def _read(self, fingerprint: str) -> None:
        self._stream.seek(0)
        *lines, torn = self._stream.read().split(b"\n")
        header = _document(lines[0]) if lines else None
        if lines and (header is None or header.get("schema") != SCHEMA):
            raise ValueError(
                f"{str(self.file)!r} is not a checkpoint of this version of dropstep; choose another file, or delete it"
            )
        if header is not None and header["fingerprint"] != fingerprint:
            raise ValueError(
                f"checkpoint {str(self.file)!r} belongs to other data or parameters; choose another file, or delete it"
            )
        if torn:
            self._stream.truncate(sum(len(line) + 1 for line in lines))
        if header is None:
            self._write({"schema": SCHEMA, "fingerprint": fingerprint})
        for record in map(_document, lines[1:]):
            if record is not None:
                self._records[tuple(record["columns"]), record["fold"]] = record

    def get(self, columns: tuple[int, ...], fold: int) -> dict[str, Any] | None:
        """The record of a fit; None if there is none."""
        return self._records.get((columns, fold))

    def _write(self, document: Mapping[str, Any]) -> None:
        self._stream.write(_line(document))

    def close(self) -> None:
        """Release the file."""
        self._stream.close()


def append(file: str | os.PathLike[str], columns: tuple[int, ...], fold: int, outcome: Mapping[str, Any]) -> None:
    """Append the outcome of a fit, by one write: the process that makes a fit records it before it makes another."""
    with open(file, "ab", buffering=0) as stream:
        stream.write(_line({"columns": list(columns), "fold": fold, **outcome}))


def _line(document: Mapping[str, Any]) -> bytes:
    text = json.dumps(document, separators=(",", ":")).encode()
    return b"%08x %s\n" % (zlib.crc32(text), text)


def _document(line: bytes) -> dict[str, Any] | None:
    """The document of a line; None if the checksum does not match."""
    checksum, _, text = line.partition(b" ")
    if checksum != b"%08x" % zlib.crc32(text):
        return None
    document = json.loads(text)
    return document if isinstance(document, dict) else None


if os.name == "nt":  # pragma: no cover

    def _lock(stream: IO[bytes]) -> None:
        """Lock a file far beyond its end, so that it can still be read; the lock ends with the process."""
        import msvcrt

        stream.seek(2**40)
        msvcrt.locking(stream.fileno(), msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]

else:

    def _lock(stream: IO[bytes]) -> None:
        """Lock a file; the lock ends with the process."""
        import fcntl

        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
