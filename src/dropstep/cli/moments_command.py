"""dropstep moments: make moments of a file, add those of several files, and select features from them."""

from __future__ import annotations

import argparse
import shlex
from dataclasses import replace
from functools import reduce
from operator import add
from typing import Any

from dropstep.cli import output
from dropstep.cli.design import Design
from dropstep.cli.formats import as_csv, as_data
from dropstep.cli.naming import find_all, in_options, parameters_of
from dropstep.cli.streamed import StreamedDesign, any_design
from dropstep.cli.table_input import AnyDesign
from dropstep.data.encoding import Encoding
from dropstep.data.moments import Moments, of_rows, refuse_extreme
from dropstep.data.rearrange import with_levels
from dropstep.models.families import as_family
from dropstep.models.least_squares.family import LeastSquaresFamily
from dropstep.report.text import printable
from dropstep.result import SelectionPath
from dropstep.select import select
from dropstep.wording import counted

ENDING = (".npz",)
MIN_ROWS_PER_CELL = 10  # rows of a class, or of a level, that are few enough to reveal something about single rows


def run(args: argparse.Namespace, command: str) -> int:
    """Run an action."""
    return {"make": _make, "add": _add, "select": _select}[args.action](args, command)


def _make(args: argparse.Namespace, command: str) -> int:
    output.check_writable("--output", args.output, [args.file], ENDING, overwrite=args.overwrite)
    with output.Progress(quiet=args.quiet) as progress:
        design = any_design(args, progress)
        moments = _moments_of(design)
        moments.save(args.output)
    output.print_notes((*design.notes_with(design.known.notes), *_small_cells(moments)), quiet=args.quiet)
    output.show(_written(moments, args.output))
    return 0


def _moments_of(design: AnyDesign) -> Moments:
    """Moments of a design, with one column per level of every factor."""
    assert isinstance(design, Design | StreamedDesign)
    sample, names = design.sample, design.names
    if isinstance(design, Design):
        table = design.sample.table
        moments, exponents = of_rows(table.matrix, design.sample.target, design.sample.weights)
        if exponents is not None:
            refuse_extreme(moments, table.names)
    else:
        moments = design.sample.moments
    encoding = sample.encoding or Encoding(names, (None,) * len(names))
    return with_levels(replace(moments, target_names=design.target_names), encoding)


def _small_cells(moments: Moments) -> list[str]:
    """A note on classes, levels and files with so few rows that their means reveal them."""
    shown = ["all rows"] if moments.labels is None else [str(label) for label in moments.labels]
    cells = dict(zip(shown, moments.counts.tolist(), strict=True))
    for j, factor in enumerate(moments.factors or ()):
        if factor:
            cells[(moments.feature_names or ())[j]] = float(moments.counts @ moments.means[:, j])
    few = {name: round(n) for name, n in cells.items() if 0 < round(n) < MIN_ROWS_PER_CELL}
    if not few:
        return []
    listed = ", ".join(f"{name} ({n})" for name, n in list(few.items())[:5])
    return [
        f"the moments reveal values of single rows where a class, a level or the file has few of them: {listed}"
        f"{', ...' if len(few) > 5 else ''}; join or exclude these before sharing the file"
    ]


def _add(args: argparse.Namespace, command: str) -> int:
    output.check_writable("--output", args.output, args.files, ENDING, overwrite=args.overwrite)
    total = _total(args.files)
    total.save(args.output)
    output.show(_written(total, args.output))
    return 0


def _total(files: list[str]) -> Moments:
    """The sum of the moments of files."""
    loaded = []
    for file in files:
        try:
            loaded.append(Moments.load(file))
        except FileNotFoundError:
            raise ValueError(f"{file}: no such file") from None
    return reduce(add, loaded)


def _written(moments: Moments, file: str) -> str:
    features = counted(len(moments.features), "feature")
    kind = "" if moments.labels is None else f", {len(moments.labels)} classes"
    return f"wrote {file}: {moments.n_rows:,.6g} rows, {features}{kind}"


def _select(args: argparse.Namespace, command: str) -> int:
    output.check_writable("--report", args.report, args.files, output.PAGE_ENDINGS, overwrite=args.overwrite)
    if not isinstance(as_family(args.model), LeastSquaresFamily):
        raise ValueError("--model: moments suffice for linear and discriminant models only; use dropstep select FILE")
    moments = _total(args.files)
    names = moments.features
    chosen = {option: _named(f"--{option}", getattr(args, option), names) for option in ("include", "exclude")}
    groups = [_named("--groups", [text], names) for text in args.groups or ()]
    parameters: dict[str, Any] = parameters_of(args) | chosen | {"groups": groups or None}
    path = select(moments, **parameters, equivalents=args.format == "json" or bool(args.report))
    path = replace(path, notes=tuple(map(in_options, path.notes)))
    if args.report:
        with output.output_files() as temporary:
            temporary(args.report).write_text(path.report() or "", encoding="utf-8", newline="\n")
    output.print_notes(path.notes, quiet=args.quiet)
    output.show(_formatted(path, moments, args, command))
    return 0


def _formatted(path: SelectionPath, moments: Moments, args: argparse.Namespace, command: str) -> str:
    if args.format == "csv":
        return as_csv(path)
    if args.format == "json":
        return output.as_json(as_data(_facts(moments, args.files), path, command))
    return "\n".join(printable(line) for line in str(path).splitlines())


def _facts(moments: Moments, files: list[str]) -> dict[str, Any]:
    """What the JSON document contains of the input; numbers of rows are sums of weights."""
    n, labels = round(moments.n_rows), moments.labels
    classes = {} if labels is None else dict(zip(map(str, labels.tolist()), map(round, moments.counts), strict=True))
    return {
        "file": shlex.join(files),
        "rows": {"read": n, "used": n},
        "target": {"names": list(moments.target_names or ("y",)), "classes": classes or None},
    }


def _named(option: str, texts: list[str] | None, names: tuple[str, ...]) -> list[str] | None:
    return [names[j] for j in find_all(option, texts, names)] or None
