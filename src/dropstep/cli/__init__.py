"""The command line: dropstep select, compare, moments, columns and completion.

Everything else is imported when needed, under the handlers of `main`: importing NumPy takes long enough to be
interrupted.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
import sys
import threading
import warnings
from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import argparse

DONE, FAULT, ERROR, INTERRUPTED, NO_READER = 0, 1, 2, 130, 141


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line and return the exit code; an error is printed to standard error as one sentence."""
    _replace_closed_streams()
    try:
        arguments = list(sys.argv[1:] if argv is None else argv)
        for stream in (sys.stdout, sys.stderr):
            if hasattr(stream, "reconfigure"):
                stream.reconfigure(errors="backslashreplace")
        with _terminated_as_interrupted(), warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # what a user should know is a note
            warnings.showwarning = _show_no_warning
            code = _run(arguments)
        sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        print("dropstep: interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        _discard_output()
        return NO_READER
    except OSError as error:  # of standard output: errors of files name the file
        _discard_output()
        print(f"dropstep: standard output cannot be written ({error.strerror or error})", file=sys.stderr)
        return ERROR


def _show_no_warning(*_: Any, **__: Any) -> None:
    """Print no warning of a library."""


@contextlib.contextmanager
def _terminated_as_interrupted() -> Iterator[None]:
    """Handle SIGTERM as Ctrl-C, so that processes end and temporary files are deleted."""
    main_thread = threading.current_thread() is threading.main_thread()
    if not main_thread or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield
        return
    signal.signal(signal.SIGTERM, lambda number, frame: signal.raise_signal(signal.SIGINT))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _replace_closed_streams() -> None:
    """Open the null device where a standard stream is closed: otherwise the next file would get its number.

    Reading standard input finds nothing, messages are lost, and writing to standard output fails.
    """
    for name, access, mode in (("stdin", os.O_RDONLY, "r"), ("stdout", os.O_RDONLY, "w"), ("stderr", os.O_WRONLY, "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, access), mode, encoding="utf-8"))


def _discard_output() -> None:
    """Redirect standard output to the null device, so that closing the stream raises no second error."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _run(arguments: list[str]) -> int:
    from dropstep.cli.output import StandardOutputError
    from dropstep.cli.parser import build_parser, unknown_command

    try:
        parser = build_parser()
        if arguments and not arguments[0].startswith("-") and arguments[0] not in parser.commands():
            raise ValueError(unknown_command(arguments[0], parser.commands()))
        args = parser.parse_args(arguments)
        if args.command is None:
            parser.print_help()
            return DONE
        return _command(parser, args, shlex.join(["dropstep", *arguments]))
    except SystemExit as stop:  # --help, --version, or an error that is already printed
        return int(stop.code or 0)
    except (BrokenPipeError, StandardOutputError):
        raise
    except Exception as error:
        return _report(error, arguments)


def _command(parser: argparse.ArgumentParser, args: argparse.Namespace, line: str) -> int:
    if args.command in ("select", "compare", "moments"):
        return int(import_module(f"dropstep.cli.{args.command}_command").run(args, line))
    from dropstep.cli.output import show

    if args.command == "columns":
        from dropstep.cli.columns import column_names
        from dropstep.report.text import printable

        show("\n".join(map(printable, column_names(args.file))))
    else:
        from dropstep.cli.completion import script

        show(script(parser, args.shell))
    return DONE


def _report(error: Exception, arguments: Sequence[str]) -> int:
    """Print an error as one sentence, with --traceback after its traceback, and return the exit code."""
    from dropstep.cli.naming import in_options
    from dropstep.cli.output import labelled
    from dropstep.report.text import printable

    if "--traceback" in arguments:
        import traceback

        traceback.print_exception(error)
    command = arguments[0] if arguments else ""
    text, expected = in_options(str(error), command), _is_expected(error)
    if isinstance(error, MemoryError):
        measure = "--dry-run shows its size, " if command == "select" else ""
        text = f"not enough memory for this table; {measure}--exclude makes it smaller"
    elif not expected:
        text = f"internal error in dropstep ({type(error).__name__}: {text}); --traceback shows where"
    print(labelled("dropstep:", printable(" ".join(text.split())), "error", sys.stderr), file=sys.stderr)
    return ERROR if expected else FAULT


def _is_expected(error: Exception) -> bool:
    """True if the cause is the request, the file or the machine, not an internal error."""
    from numpy.linalg import LinAlgError

    causes = ValueError | TypeError | ImportError | OSError | MemoryError
    return isinstance(error, causes) and not isinstance(error, LinAlgError)
