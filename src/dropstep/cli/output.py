"""Output: JSON, CSV that a spreadsheet may open, and files that are whole or not there."""

from __future__ import annotations

import contextlib
import csv
import gzip
import io
import json
import math
import os
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TextIO

from dropstep.cli.screen import aligned
from dropstep.readers import Column

__all__ = ["aligned", "as_csv", "as_json", "check_writable", "show", "whole_files", "write_columns", "write_csv"]

_FORMULA = re.compile(r"[=+\-@\t\r\n＝＋－＠]")
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)


def as_json(value: Any) -> str:
    """JSON that every reader takes: keys in the order given, numbers that are not finite as null."""
    return json.dumps(_finite(value), indent=2, ensure_ascii=False, allow_nan=False)


def _finite(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return value


def write_csv(stream: TextIO, rows: Iterator[Sequence[Any]] | Sequence[Sequence[Any]], separator: str = ",") -> None:
    """CSV in which no text is a formula to a spreadsheet."""
    writer = csv.writer(stream, delimiter=separator, lineterminator="\n")
    writer.writerows([_safe(cell) for cell in row] for row in rows)


def _safe(cell: Any) -> Any:
    """A text that a spreadsheet would take for a formula gets an apostrophe in front; numbers stay as they are."""
    if cell is None:
        return ""
    if isinstance(cell, str) and _FORMULA.match(cell) and not _NUMBER.fullmatch(cell.strip()):
        return "'" + cell
    return cell


def as_csv(rows: Sequence[Sequence[Any]]) -> str:
    text = io.StringIO()
    write_csv(text, rows)
    return text.getvalue().removesuffix("\n")


# --- standard output -------------------------------------------------------------------------------------------------


class StandardOutputError(OSError):
    """Standard output cannot be written."""


def show(text: str) -> None:
    """Print a text at once, so that a failure is known here."""
    try:
        print(text, flush=True)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise StandardOutputError(*error.args) from None


# --- files -----------------------------------------------------------------------------------------------------------

TABLES = (".csv", ".tsv", ".csv.gz", ".tsv.gz", ".parquet")


def check_writable(
    option: str, file: str | None, source: str, endings: Sequence[str] = (), *, overwrite: bool = False
) -> None:
    """Refuse, before any work is done, a file that could not be written or must not be replaced."""
    if file is None:
        return
    path = Path(file)
    if endings and not path.name.lower().endswith(tuple(endings)):
        raise ValueError(f"{option} {file}: the name must end with one of {' '.join(endings)}")
    if path.name.lower().endswith(".parquet"):
        _need_arrow(option, file)
    if path.exists() and not path.is_file():
        raise ValueError(f"{option} {file}: this is no file that can be replaced")
    if source != "-" and path.exists() and os.path.exists(source) and path.samefile(source):
        raise ValueError(f"{option} {file}: this is the file that is read; choose another name")
    if path.exists() and not overwrite:
        raise ValueError(f"{option} {file}: this file exists; add --overwrite to replace it, or choose another name")
    if not path.parent.is_dir():
        raise ValueError(f"{option} {file}: there is no directory {str(path.parent)!r}")
    if not os.access(path.parent, os.W_OK):
        raise ValueError(f"{option} {file}: there is no permission to write into {str(path.parent)!r}")


def _need_arrow(option: str, file: str) -> None:
    try:
        import dropstep.readers.arrow  # noqa: F401
    except ImportError:
        raise ValueError(f"{option} {file}: to write Parquet files, pip install 'dropstep[cli]'") from None


@contextlib.contextmanager
def whole_files() -> Iterator[Callable[[str], str]]:
    """Give names to write to; what was written gets its real name only when everything is there.

    An error of the operating system names the file that was being written.
    """
    parts: dict[Path, Path] = {}
    current = ""

    def part_of(file: str) -> str:
        nonlocal current
        current, path = file, Path(os.path.realpath(file))
        part = path.with_name(f".{path.name}.{os.getpid()}.part")
        parts[part] = path
        return str(part)

    try:
        yield part_of
        for part, path in parts.items():
            current = path.name
            part.replace(path)
    except BrokenPipeError:
        raise
    except OSError as error:
        why = os.strerror(error.errno) if error.errno else " ".join(str(error).split())
        raise ValueError(f"{current}: this file cannot be written ({why}); no file was written") from error
    finally:
        for part in parts:
            part.unlink(missing_ok=True)


def write_columns(part: str, file: str, columns: Sequence[Column]) -> None:
    """Write columns with the values they have in the file they came from, in the format that the name asks for."""
    name = file.lower()
    if name.endswith(".parquet"):
        from dropstep.readers.arrow import write_parquet

        write_parquet(part, columns)
        return
    opened = gzip.open if name.endswith(".gz") else open
    rows = zip(*(column.cells.original() for column in columns), strict=True)
    with opened(part, "wt", encoding="utf-8", newline="") as stream:
        separator = "\t" if name.removesuffix(".gz").endswith(".tsv") else ","
        write_csv(stream, [[column.name for column in columns]], separator)
        write_csv(stream, rows, separator)
