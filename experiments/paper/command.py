"""The command line of the experiments."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

NAMES = ("table-1", "table-2", "table-3", "table-4", "table-5", "figure-1", "theorem")
PROG = "python -m experiments.paper"


def build_parser() -> argparse.ArgumentParser:
    """The parser of the options."""
    parser = argparse.ArgumentParser(prog=PROG, description="Compute the paper's tables and figures with dropstep.")
    parser.add_argument(
        "names",
        nargs="*",
        default="all",  # argparse compares a default with the choices, so it is no list
        choices=[*NAMES, "all"],
        metavar="NAME",
        help=f"any of {', '.join(NAMES)}, or all (%(default)s)",
    )
    parser.add_argument(
        "--data", type=Path, metavar="DIR", help="folder with the datasets (default: DROPSTEP_DATA, else UCI)"
    )
    parser.add_argument("--repeats", type=int, default=1000, metavar="N", help="draws per simulation (%(default)s)")
    parser.add_argument("--splits", type=int, default=100, metavar="N", help="random splits per dataset (%(default)s)")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="random seed (%(default)s)")
    parser.add_argument(
        "--output", type=Path, default=Path("build/paper"), metavar="DIR", help="folder of the results (%(default)s)"
    )
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="also write the page to FILE")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="processes, one thread each (%(default)s)")
    parser.add_argument("--overwrite", action="store_true", help="replace existing files")
    parser.add_argument("--fresh", action="store_true", help="recompute results that are already stored")
    return parser


def run(args: argparse.Namespace) -> int:
    """Run experiments.

    Parameters
    ----------
    args : argparse.Namespace
        Parsed options.

    Returns
    -------
    code : int
        0 if done, 1 if the options or the data are wrong, 130 if interrupted.
    """
    from experiments.paper.work import Stopped

    try:
        return _run(args)
    except BrokenPipeError:
        raise
    except (OSError, ValueError, ImportError) as error:
        print(f"{PROG}: {error}", file=sys.stderr)
        return 1
    except Stopped as stopped:
        print(f"\n{PROG}: {stopped}", file=sys.stderr)
        return 130


def _run(args: argparse.Namespace) -> int:
    from experiments.paper.parts import Store
    from experiments.paper.report import page_of, printed, write_markdown
    from experiments.paper.sections import EXPERIMENTS
    from experiments.paper.settings import Settings
    from experiments.paper.work import run_cells

    if args.jobs < 1:
        raise ValueError(f"--jobs must be at least 1; got {args.jobs}")
    names = [name for name in NAMES if name in args.names or "all" in args.names]
    page_file = args.output / f"{'paper' if len(names) == len(NAMES) else '_'.join(names)}.md"
    if not args.overwrite:
        _refuse_existing(page_file, args.markdown)
    settings = Settings(args.repeats, args.splits, args.seed, _data(args.data))
    if any(EXPERIMENTS[name].needs_data for name in names):
        _load_datasets(settings.data)
    cells = [cell for name in names for cell in EXPERIMENTS[name].cells(settings)]
    results, effort = run_cells(cells, settings.seed, Store(args.output / "parts"), jobs=args.jobs, fresh=args.fresh)
    page = page_of(names, results, settings, effort)
    files = [write_markdown(page, file) for file in (page_file, args.markdown) if file is not None]
    print(printed(page))
    print(f"written: {', '.join(str(file) for file in files)}", file=sys.stderr)
    return 0


def _refuse_existing(page_file: Path, markdown: Path | None) -> None:
    """Raise if a file would be replaced; pages next to stored parts are this command's own."""
    own = (page_file.parent / "parts").is_dir()
    for file in ([] if own else [page_file]) + ([] if markdown is None else [markdown]):
        if file.exists():
            raise ValueError(f"{file} exists; add --overwrite to replace it, or choose another name")


def _data(given: Path | None) -> Path | None:
    """The folder of the datasets: --data, else DROPSTEP_DATA, else None."""
    named = os.environ.get("DROPSTEP_DATA")
    folder = given or (Path(named) if named else None)
    if folder is not None and not folder.is_dir():
        raise FileNotFoundError(
            f"{folder} is not a folder; set --data or DROPSTEP_DATA to the folder of the datasets, or omit both to "
            "fetch them from UCI"
        )
    return folder


def _load_datasets(data: Path | None) -> None:
    """Load every dataset before the computation starts, so that missing files are reported at once."""
    from experiments.paper.datasets import DATASETS, load

    for name, dataset in DATASETS.items():
        print(f"reading {dataset.title}", file=sys.stderr)
        load(name, data)


def main(argv: Sequence[str] | None = None) -> int:
    """Parse options and run; a closed output pipe is not an error."""
    try:
        code = run(build_parser().parse_args(argv))
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    return code
