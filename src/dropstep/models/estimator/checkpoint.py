"""A checkpoint: an append-only file with one checksummed record per fit, from which a new process resumes."""

from __future__ import annotations

import errno
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
    data and the parameters. A line that does not match its checksum is ignored, and a torn last line is cut off. A file
    that does not begin as a checkpoint of these data is refused, and not changed.

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
            if self.file.exists() and not self.file.is_file():
                raise ValueError(f"checkpoint {str(self.file)!r} is not a regular file; choose another one")
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
        first = _line({"schema": SCHEMA, "fingerprint": fingerprint})
        self._stream.seek(0)
        content = self._stream.read()
        if first.startswith(content):  # nothing, or a first line that was cut off
            _write(self._stream, first[len(content) :], self.file)
            return
        *lines, torn = content.split(b"\n")
        header = _document(lines[0]) if lines else None
        if header is None or header.get("schema") != SCHEMA:
            raise ValueError(
                f"{str(self.file)!r} is not a checkpoint of this version of dropstep; choose another file, or delete it"
            )
        if lines[0] + b"\n" != first:
            raise ValueError(
                f"checkpoint {str(self.file)!r} belongs to other data or parameters; choose another file, or delete it"
            )
        for place, line in enumerate(lines[1:], start=2):
            record = _document(line)
            if record is not None and not _is_record(record):
                raise ValueError(
                    f"line {place} of checkpoint {str(self.file)!r} is no record of a fit; choose another file, or "
                    "delete it"
                )
            if record is not None:
                self._records[tuple(record["columns"]), record["fold"]] = record
        if torn:
            self._stream.truncate(len(content) - len(torn))

    def get(self, columns: tuple[int, ...], fold: int) -> dict[str, Any] | None:
        """The record of a fit; None if there is none."""
        return self._records.get((columns, fold))

    def close(self) -> None:
        """Release the file."""
        self._stream.close()


def append(file: str | os.PathLike[str], columns: tuple[int, ...], fold: int, outcome: Mapping[str, Any]) -> None:
    """Append the outcome of a fit, by one write: the process that makes a fit records it before it makes another."""
    with open(file, "ab", buffering=0) as stream:
        _write(stream, _line({"columns": list(columns), "fold": fold, **outcome}), file)


def _write(stream: IO[bytes], line: bytes, file: str | os.PathLike[str]) -> None:
    """Write a line as a whole; raises if there is no space for it."""
    try:
        if stream.write(line) == len(line):
            return
        reason = os.strerror(errno.ENOSPC)
    except OSError as error:
        reason = error.strerror or str(error)
    raise ValueError(
        f"checkpoint {os.fspath(file)!r} cannot be written ({reason}); the fits before are kept, so the same call "
        "continues from there once there is space"
    )


def _line(document: Mapping[str, Any]) -> bytes:
    text = json.dumps(document, separators=(",", ":")).encode()
    return b"%08x %s\n" % (zlib.crc32(text), text)


def _document(line: bytes) -> dict[str, Any] | None:
    """The document of a line, empty if it is none; None if the checksum does not match."""
    checksum, _, text = line.partition(b" ")
    if checksum != b"%08x" % zlib.crc32(text):
        return None
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}


def _is_record(document: Mapping[str, Any]) -> bool:
    """Whether a document is the record of a fit: its columns, fold and outcome."""
    columns, warnings = document.get("columns"), document.get("warnings")
    return (
        isinstance(columns, list)
        and all(type(column) is int for column in columns)
        and type(document.get("fold")) is int
        and isinstance(document.get("score"), float)
        and isinstance(document.get("error", 0), str | None)
        and isinstance(warnings, list)
        and all(isinstance(warning, str) for warning in warnings)
    )


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
