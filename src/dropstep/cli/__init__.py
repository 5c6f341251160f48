"""The command line: dropstep select, compare, paper, demo and completion."""

from __future__ import annotations

import argparse
import os
import shlex
import sys
import traceback
from collections.abc import Sequence

from numpy.linalg import LinAlgError

from dropstep.cli.naming import in_options, printable
from dropstep.cli.parser import build_parser

DONE, FAULT, ERROR, INTERRUPTED, NO_READER = 0, 1, 2, 130, 141


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line; returns the exit code, and prints one sentence on standard error when something is wrong."""
    words = list(sys.argv[1:] if argv is None else argv)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    try:
        code = _run(words)
        sys.stdout.flush()
        return code
    except BrokenPipeError:
        # Nothing more can be written; without this, Python would complain when it closes the stream.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return NO_READER


def _run(words: list[str]) -> int:
    try:
        # The words of paper are loaded only where they are needed.
        parser = build_parser(paper=words[:1] in (["paper"], ["completion"]))
        args = parser.parse_args(words)
        if args.command is None:
            parser.print_help()
            return DONE
        return _command(parser, args, shlex.join(["dropstep", *words]))
    except SystemExit as stop:  # --help, --version, or an error that was told
        return int(stop.code or 0)
    except BrokenPipeError:
        raise
    except KeyboardInterrupt:
        print("dropstep: interrupted", file=sys.stderr)
        return INTERRUPTED
    except Exception as error:
        return _tell(error, traced="--traceback" in words)


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

    print(script(parser, args.shell))
    return DONE


def _tell(error: Exception, *, traced: bool) -> int:
    """One sentence on standard error; the traceback as well if it was asked for."""
    if traced:
        traceback.print_exception(error)
    text = in_options(str(error))
    expected = isinstance(error, ValueError | TypeError | ImportError | OSError) and not isinstance(error, LinAlgError)
    if isinstance(error, MemoryError):
        text, expected = (
            "there is not enough memory for this table; --dry-run shows its size, --exclude makes it smaller",
            True,
        )
    if not expected:
        text = f"this is a fault of dropstep ({type(error).__name__}: {text}); --traceback shows where"
    print(f"dropstep: {printable(' '.join(text.split()))}", file=sys.stderr)
    return ERROR if expected else FAULT
