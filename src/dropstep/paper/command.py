"""The command: python -m dropstep.paper, and `dropstep paper` with the same words."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

NAMES = ("table-1", "table-2", "table-3", "table-4", "table-5", "figure-1", "theorem")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The words of the command."""
    parser.add_argument("what", choices=[*NAMES, "all"], help="a table or figure of the paper, its theorem, or all")
    parser.add_argument(
        "--data", type=Path, metavar="DIR", help="folder with the datasets (else DROPSTEP_DATA, else UCI)"
    )
    parser.add_argument("--repeats", type=int, default=1000, metavar="N", help="draws of each simulation (%(default)s)")
    parser.add_argument("--splits", type=int, default=100, metavar="N", help="splits of each dataset (%(default)s)")
    parser.add_argument(
        "--seed", type=int, default=0, metavar="N", help="where all random numbers come from (%(default)s)"
    )
    parser.add_argument(
        "--output", type=Path, default=Path("dropstep-paper"), metavar="DIR", help="folder of the report (%(default)s)"
    )
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the Markdown here as well")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="processes, one thread each (%(default)s)")
    parser.add_argument("--overwrite", action="store_true", help="replace files that exist already")
    parser.add_argument("--fresh", action="store_true", help="make everything anew, finished or not")


def run(args: argparse.Namespace) -> int:
    """Run what was asked for; 0 when done, 1 when something is missing, 130 when stopped by Ctrl-C."""
    from dropstep.paper.work import Stopped

    try:
        return _run(args)
    except BrokenPipeError:
        raise
    except (OSError, ValueError, ImportError) as error:
        print(f"dropstep paper: {error}", file=sys.stderr)
        return 1
    except Stopped as stopped:
        print(f"\ndropstep paper: {stopped}", file=sys.stderr)
        return 130


def _run(args: argparse.Namespace) -> int:
    from dropstep.paper.parts import Store
    from dropstep.paper.report import page_of, printed, write, write_markdown
    from dropstep.paper.sections import EXPERIMENTS
    from dropstep.paper.settings import Settings
    from dropstep.paper.work import run_cells

    if args.jobs < 1:
        raise ValueError(f"--jobs must be a whole number from 1; got {args.jobs}")
    stem = "paper" if args.what == "all" else args.what
    if not args.overwrite:
        _keep_files(args.output, stem, args.markdown)
    settings = Settings(args.repeats, args.splits, args.seed, _data(args.data))
    names = NAMES if args.what == "all" else (args.what,)
    if any(EXPERIMENTS[name].needs_data for name in names):
        _see_data(settings.data)
    cells = [cell for name in names for cell in EXPERIMENTS[name].cells(settings)]
    results, effort = run_cells(cells, settings.seed, Store(args.output / "parts"), jobs=args.jobs, fresh=args.fresh)
    page = page_of(names, results, settings, effort)
    files = write(page, args.output, stem)
    if args.markdown is not None:
        files.append(write_markdown(page, args.markdown))
    print(printed(page))
    print(f"written: {', '.join(str(file) for file in files)}", file=sys.stderr)
    return 0


def _keep_files(folder: Path, stem: str, markdown: Path | None) -> None:
    """Refuse to replace files; only a folder with parts of an earlier run is known to hold reports of this command."""
    reports = [] if (folder / "parts").is_dir() else [folder / f"{stem}.html", folder / f"{stem}.md"]
    for file in (*reports, *([] if markdown is None else [markdown])):
        if file.exists():
            raise ValueError(f"{file} exists; add --overwrite to replace it, or choose another name")


def _data(given: Path | None) -> Path | None:
    """The folder of the datasets: --data, else DROPSTEP_DATA, else none."""
    named = os.environ.get("DROPSTEP_DATA")
    folder = given or (Path(named) if named else None)
    if folder is not None and not folder.is_dir():
        raise FileNotFoundError(
            f"{folder} is no folder; point --data or DROPSTEP_DATA to the folder of the datasets, or leave both out to "
            "fetch them from UCI"
        )
    return folder


def _see_data(data: Path | None) -> None:
    """Find or fetch every dataset before the work begins, so that what is missing is said at once."""
    from dropstep.paper.datasets import DATASETS, load

    for name, dataset in DATASETS.items():
        print(f"reading {dataset.title}", file=sys.stderr)
        load(name, data)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command by itself; a reader of the output that goes away early is no error."""
    parser = argparse.ArgumentParser(prog="python -m dropstep.paper", description="The paper's experiments, run anew.")
    add_arguments(parser)
    try:
        code = run(parser.parse_args(argv))
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    return code
