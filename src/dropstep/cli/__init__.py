"""The command line: dropstep select, compare, paper, demo and completion.

Everything else is imported when it is needed, under the handlers of `main`: importing NumPy takes long enough to be
interrupted.
"""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse

DONE, FAULT, ERROR, INTERRUPTED, NO_READER = 0, 1, 2, 130, 141


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line; returns the exit code, and prints one sentence on standard error when something is wrong."""
    try:
        words = list(sys.argv[1:] if argv is None else argv)
        for stream in (sys.stdout, sys.stderr):
            if hasattr(stream, "reconfigure"):
                stream.reconfigure(errors="backslashreplace")
        code = _run(words)
        sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        print("dropstep: interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        _discard_output()
        return NO_READER
    except OSError as error:  # of standard output: what fails to write a file names it
        _discard_output()
        print(f"dropstep: standard output cannot be written ({error.strerror or error})", file=sys.stderr)
        return ERROR


def _discard_output() -> None:
    """Nothing more can be written; without this, Python would complain when it closes the stream."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _run(words: list[str]) -> int:
    from dropstep.cli.output import StandardOutputError
    from dropstep.cli.parser import build_parser

    try:
        # The options of paper are loaded only where they are needed.
        parser = build_parser(paper=words[:1] in (["paper"], ["completion"]))
        args = parser.parse_args(words)
        if args.command is None:
            parser.print_help()
            return DONE
        return _command(parser, args, shlex.join(["dropstep", *words]))
    except SystemExit as stop:  # --help, --version, or an error that is printed already
        return int(stop.code or 0)
    except (BrokenPipeError, StandardOutputError):
        raise
    except Exception as error:
        return _report(error, words)


def _command(parser: argparse.ArgumentParser, args: argparse.Namespace, line: str) -> int:
    if args.command == "select":
        from dropstep.cli.select import run

        return run(args, line)
    if args.command == "compare":
        from dropstep.cli.compare import run as run_compare

        return run_compare(args, line)
    if args.command == "paper":
        from dropstep.paper import command

        return int(command.run(args))
    if args.command == "demo":
        from dropstep import demo

        demo.main()
        return DONE
    from dropstep.cli.completion import script
    from dropstep.cli.output import show

    show(script(parser, args.shell))
    return DONE


def _report(error: Exception, words: Sequence[str]) -> int:
    """One sentence on standard error; with --traceback, the traceback as well."""
    from dropstep.cli.naming import in_options, printable

    if "--traceback" in words:
        import traceback

        traceback.print_exception(error)
    command = words[0] if words else ""
    text, expected = in_options(str(error), command), _is_expected(error)
    if isinstance(error, MemoryError):
        measure = "--dry-run shows its size, " if command == "select" else ""
        text = f"there is not enough memory for this table; {measure}--exclude makes it smaller"
    elif not expected:
        text = f"internal error in dropstep ({type(error).__name__}: {text}); --traceback shows where"
    print(f"dropstep: {printable(' '.join(text.split()))}", file=sys.stderr)
    return ERROR if expected else FAULT


def _is_expected(error: Exception) -> bool:
    """Whether the request, the file or the machine is the cause, and not a fault of dropstep."""
    from numpy.linalg import LinAlgError

    causes = ValueError | TypeError | ImportError | OSError | MemoryError
    return isinstance(error, causes) and not isinstance(error, LinAlgError)
