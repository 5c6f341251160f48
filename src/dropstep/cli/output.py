"""Output of the commands: tables, JSON, CSV that is safe in a spreadsheet, notes, progress, and files."""

from __future__ import annotations

import contextlib
import csv
import glob
import gzip
import io
import json
import math
import os
import re
import shutil
import sys
import textwrap
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, TextIO

from dropstep.atomic import atomic_files
from dropstep.report import text

_FORMULA = re.compile(r"[=+\-@\t\r\n＝＋－＠]")
_NUMBER = re.compile(r"[+-]?(?:\d++\.?\d*+|\.\d++)(?:[eE][+-]?\d++)?", re.ASCII)


Style = Literal["bold", "dim", "warning", "error"]
CODES: dict[Style, str] = {"bold": "1", "dim": "2", "warning": "33", "error": "31"}
MIN_INTERVAL = 0.1  # seconds between two updates of the progress


def is_coloured(stream: TextIO) -> bool:
    """True if a stream is a terminal that has colours."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def painted(text: str, style: Style, stream: TextIO | None = None) -> str:
    """A text in a style, if the stream (standard output by default) has colours."""
    return f"\x1b[{CODES[style]}m{text}\x1b[0m" if is_coloured(stream or sys.stdout) else text


def terminal_width(stream: TextIO | None = None) -> int | None:
    """Width of the terminal; None if the stream (standard output by default) is none."""
    return shutil.get_terminal_size().columns if (stream or sys.stdout).isatty() else None


def as_table(head: Sequence[str], rows: Sequence[Sequence[str]], sides: str, struck: Collection[int] = ()) -> str:
    """Format an aligned table, no wider than the terminal if standard output is one.

    Columns of numbers that do not fit follow in further tables, below the first column again. On a terminal with
    colours the head is bold, and the rows of `struck` are dim.
    """
    limit, parts = terminal_width(), [list(range(len(head)))]
    if limit is not None:
        parts = _fitting(head, rows, sides, limit)
    tables = []
    for part in parts:
        lines = text.table(
            [head[j] for j in part], [[row[j] for j in part] for row in rows], "".join(sides[j] for j in part), limit
        ).split("\n")
        lines[0] = painted(lines[0], "bold")
        tables.append("\n".join(painted(line, "dim") if i - 2 in struck else line for i, line in enumerate(lines)))
    return "\n\n".join(tables)


def _fitting(head: Sequence[str], rows: Sequence[Sequence[str]], sides: str, limit: int) -> list[list[int]]:
    """Columns by table, so that no table is wider than the limit; the leading columns of text are in all of them."""
    lead = [j for j in range(len(sides)) if set(sides[: j + 1]) == {"<"}]
    if len(lead) in (0, len(sides)):
        return [list(range(len(head)))]
    widths = [
        max(text.width(line[j]) for line in (head, *rows)) if side == ">" else text.MIN_WIDTH
        for j, side in enumerate(sides)
    ]
    first = sum(widths[j] + text.GAP for j in lead)
    parts: list[list[int]] = [[]]
    used = first
    for j in range(len(lead), len(head)):
        if parts[-1] and used + widths[j] > limit:
            parts.append([])
            used = first
        parts[-1].append(j)
        used += widths[j] + text.GAP
    return [[*lead, *part] for part in parts]


def wrapped(paragraph: str, stream: TextIO | None = None) -> str:
    """A paragraph in lines no longer than the terminal, if the stream (standard output by default) is one."""
    limit = terminal_width(stream)
    return paragraph if limit is None else textwrap.fill(paragraph, max(limit, 20), break_on_hyphens=False)


def labelled(label: str, sentence: str, style: Style, stream: TextIO) -> str:
    """A sentence after a label in colour, in lines no longer than the terminal, if the stream is one."""
    return painted(label, style, stream) + wrapped(f"{label} {sentence}", stream).removeprefix(label)


def as_json(value: Any) -> str:
    """Format strictly valid JSON: keys in the order given, numbers that are not finite as null.

    Characters that control a terminal are escaped, others are not.
    """
    content = json.dumps(_finite(value), indent=2, ensure_ascii=False, allow_nan=False)
    return re.sub(r"[^\x20-\x7e\n]", lambda c: c[0] if c[0].isprintable() else json.dumps(c[0])[1:-1], content)


def _finite(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return value


def write_csv(stream: TextIO, rows: Iterator[Sequence[Any]] | Sequence[Sequence[Any]], separator: str = ",") -> None:
    """Write CSV in which a spreadsheet interprets no text as a formula."""
    writer = csv.writer(stream, delimiter=separator, lineterminator="\n")
    writer.writerows([_safe(cell) for cell in row] for row in rows)


def _safe(cell: Any) -> Any:
    """Prefix text that a spreadsheet would interpret as a formula with an apostrophe; numbers are unchanged."""
    if cell is None:
        return ""
    if isinstance(cell, str) and _FORMULA.match(cell) and not _NUMBER.fullmatch(cell.strip()):
        return "'" + cell
    return cell


def as_csv(rows: Sequence[Sequence[Any]]) -> str:
    """Format rows as CSV."""
    stream = io.StringIO()
    write_csv(stream, rows)
    return "\n".join(map(text.printable, stream.getvalue().removesuffix("\n").split("\n")))


# --- standard output -------------------------------------------------------------------------------------------------


class StandardOutputError(OSError):
    """Standard output cannot be written."""


def show(content: str) -> None:
    """Print to standard output and flush it, so that a failure is raised here."""
    try:
        print(content, flush=True)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise StandardOutputError(*error.args) from None


# --- standard error --------------------------------------------------------------------------------------------------


def print_notes(notes: Sequence[str], *, quiet: bool) -> None:
    """Print notes to standard error: one line each, or several where the terminal is narrower."""
    for note in () if quiet else notes:
        print(labelled("note:", text.printable(note), "warning", sys.stderr), file=sys.stderr)


def print_written(files: Sequence[str | None], *, quiet: bool) -> None:
    """Print the names of the files that were written to standard error."""
    for file in () if quiet else filter(None, files):
        print(f"wrote {text.printable(file)}", file=sys.stderr)


class Progress:
    """A line that is overwritten by each update and erased at the end.

    Parameters
    ----------
    quiet : bool, default=False
        Whether to show nothing even on a terminal.
    clock : callable, default=time.monotonic
        Returns the current time in seconds.
    """

    def __init__(self, *, quiet: bool = False, clock: Callable[[], float] = time.monotonic) -> None:
        self.stream = sys.stderr
        self.enabled = not quiet and self.stream.isatty()
        self.clock = clock
        self.started = clock()
        self._last = -math.inf
        self._written = False

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._written:
            self.stream.write("\r\x1b[K")
            self.stream.flush()

    def update(self, task: str, done: float = 0.0, total: float = 0.0, *, bound: bool = False) -> None:
        """Show the current task, the time elapsed and, if there is a total, an estimate of the time remaining.

        Parameters
        ----------
        task : str
            The current task.
        done, total : float, default=0.0
            Amount of work done, and in all.
        bound : bool, default=False
            Whether `total` is an upper bound.
        """
        now = self.clock()
        if not self.enabled or now - self._last < MIN_INTERVAL:
            return
        self._last = now
        remaining = ""
        if 0 < done <= total:
            seconds = (now - self.started) * (total - done) / done
            remaining = f", {'at most' if bound else 'about'} {duration(seconds)} left"
        line = f"{text.printable(task)}, {duration(now - self.started)}{remaining}"
        width = shutil.get_terminal_size().columns - 1
        self.stream.write("\r\x1b[K" + line[:width])
        self.stream.flush()
        self._written = True

    def restart(self) -> None:
        """Restart the clock for another task."""
        self.started = self.clock()


def duration(seconds: float) -> str:
    """Format a number of seconds: "59 s", "1 min 01 s", "1 h 01 min"."""
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes, remainder = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02d} min" if hours else f"{minutes} min {remainder:02d} s"


# --- files -----------------------------------------------------------------------------------------------------------

PAGE_ENDINGS = (".html", ".htm")
TABLE_ENDINGS = (".csv", ".tsv", ".csv.gz", ".tsv.gz", ".parquet")


def check_writable(
    option: str, file: str | None, inputs: Sequence[str], endings: Sequence[str] = (), *, overwrite: bool = False
) -> None:
    """Raise, before any work is done, if a file cannot be written or must not be replaced."""
    if file is None:
        return
    path = Path(file)
    if endings and not path.name.lower().endswith(tuple(endings)):
        raise ValueError(f"{option} {file}: the name must end with one of {' '.join(endings)}")
    if path.name.lower().endswith(".parquet"):
        _require_arrow(option, file)
    if path.exists() and not path.is_file():
        raise ValueError(f"{option} {file}: this is not a regular file")
    check_no_input(option, file, inputs)
    if path.exists() and not overwrite:
        raise ValueError(f"{option} {file}: this file exists; add --overwrite to replace it, or choose another name")
    if not path.parent.is_dir():
        raise ValueError(f"{option} {file}: there is no directory {str(path.parent)!r}")
    if not os.access(path.parent, os.W_OK):
        raise ValueError(f"{option} {file}: there is no permission to write into {str(path.parent)!r}")


def check_no_input(option: str, file: str, inputs: Sequence[str]) -> None:
    """Raise if a file is one of the inputs, each of which is a name or a glob."""
    for name in inputs:
        for match in [name] if os.path.exists(name) else glob.glob(name, recursive=True):
            if same_file(file, match):
                which = "the input file" if len(inputs) == 1 and match == name else "one of the input files"
                raise ValueError(f"{option} {file}: this is {which}; choose another name")


def same_file(a: str, b: str) -> bool:
    """Whether two names are, or would become, one file."""
    if os.path.exists(a) and os.path.exists(b):
        return os.path.samefile(a, b)
    return os.path.realpath(a) == os.path.realpath(b)


def _require_arrow(option: str, file: str) -> None:
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        raise ValueError(f"{option} {file}: writing Parquet files needs pyarrow: pip install 'dropstep[cli]'") from None


@contextlib.contextmanager
def output_files() -> Iterator[Callable[[str], Path]]:
    """Write several files atomically; an error of the operating system names the file concerned."""
    names: dict[str, str] = {}
    current = ""

    def temporary_name(file: str) -> Path:
        nonlocal current
        current = file
        part = temporary(file)
        names[str(part)] = file
        return part

    try:
        with atomic_files() as temporary:
            yield temporary_name
    except BrokenPipeError:
        raise
    except OSError as error:
        file = names.get(str(error.filename), current)
        why = os.strerror(error.errno) if error.errno else " ".join(str(error).split())
        raise ValueError(f"{file}: this file cannot be written ({why}); no file was written") from error


def write_columns(part: Path, file: str, source: Any, names: Sequence[str]) -> None:
    """Write columns of a source with their original values to `part`, in the format given by the ending of `file`."""
    kept = set(names)
    columns = tuple(name for name in source.names if name in kept)
    if file.lower().endswith(".parquet"):
        from dropstep.backends.files import write_parquet

        write_parquet(str(part), (batch for _, batch in source.batches(columns)))
        return
    from dropstep.cli.columns import original_rows

    write_table(part, file, columns, original_rows(source, columns))


def write_table(part: Path, file: str, names: Sequence[str], rows: Iterator[Sequence[Any]]) -> None:
    """Write rows as CSV or TSV to `part`, compressed if the ending of `file` says so."""
    name = file.lower()
    opened = gzip.open if name.endswith(".gz") else open
    with opened(part, "wt", encoding="utf-8", newline="") as stream:
        separator = "\t" if name.removesuffix(".gz").endswith(".tsv") else ","
        write_csv(stream, [names], separator)
        write_csv(stream, rows, separator)
