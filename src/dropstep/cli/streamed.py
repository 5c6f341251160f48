"""Files that are too large for memory: the design of a search whose rows are read in blocks."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dropstep.backends.content import ReadError
from dropstep.cli import output
from dropstep.cli.columns import KINDS, open_source, shown_level
from dropstep.cli.design import design_of
from dropstep.cli.naming import in_options
from dropstep.cli.output import Progress
from dropstep.cli.roles import Roles, roles_of
from dropstep.cli.table_input import AnyDesign, ColumnLine
from dropstep.cli.usable import refuse_mixed
from dropstep.data.sample import Features, PerRow, Sample
from dropstep.data.source import ColumnType, fits
from dropstep.models.families import as_family
from dropstep.models.glm.family import LikelihoodFamily
from dropstep.models.least_squares.family import LeastSquaresFamily
from dropstep.parameters import Parameters
from dropstep.wording import listed

if TYPE_CHECKING:
    from dropstep.backends.arrow import ArrowSource


def any_design(args: argparse.Namespace, progress: Progress) -> AnyDesign:
    """The design of a file: in memory if its rows fit, or else in blocks, if the model allows it."""
    progress.update(f"reading {args.file}")
    source, family = open_source(args), as_family(args.model)
    allowed = isinstance(family, LeastSquaresFamily) or (isinstance(family, LikelihoodFamily) and family.in_blocks)
    return streamed_design(source, args, progress) if allowed and not fits(source) else design_of(source, args)


@dataclass(frozen=True, eq=False)
class StreamedDesign(AnyDesign):
    """Input of a search, made from a file whose rows are not in memory.

    Attributes
    ----------
    file : str
    source : ArrowSource
    sample : Sample
        What the first pass found.
    lines : tuple of ColumnLine
        The columns of the file.
    parameters : dict
        The parameters of select that depend on the file.
    notes : tuple of str
    """

    file: str
    source: ArrowSource
    sample: Sample
    lines: tuple[ColumnLine, ...]
    parameters: dict[str, Any]
    notes: tuple[str, ...] = ()

    @property
    def shown(self) -> str:
        return self.file

    @property
    def names(self) -> tuple[str, ...]:
        return self.sample.layout.features

    @property
    def known(self) -> Features:
        return self.sample

    @property
    def listing(self) -> tuple[ColumnLine, ...]:
        return self.lines

    @property
    def target_names(self) -> tuple[str, ...]:
        return self.sample.layout.targets

    @property
    def rows_read(self) -> int:
        return self.sample.summary.n_read

    @property
    def shape(self) -> tuple[int, int]:
        return self.sample.summary.n_rows, self.sample.moments.n_features

    @property
    def values_bytes(self) -> int:
        return 0

    def summaries(self) -> list[str]:
        return [""] * len(self.listing)

    def data(self) -> dict[str, Any]:
        return {"X": self.sample}

    def report_rows(self, progress: Progress) -> Callable[[int, int], None]:
        return _row_report(progress)

    def target_range(self) -> str:
        summary = self.sample.summary
        ranges = zip(summary.low.tolist(), summary.high.tolist(), strict=True)
        return "numbers from " + ", ".join(f"{low:,g} to {high:,g}" for low, high in ranges)

    def class_counts(self) -> dict[str, int]:
        moments = self.sample.moments
        if moments.labels is None:
            return {}
        counts: Counter[Any] = Counter()
        for label, n in self.sample.summary.class_rows.items():  # several, if float64 cannot distinguish them
            counts[float(label) if moments.labels.dtype.kind == "f" else label] += n
        return {shown_level(label): counts[label] for label in moments.labels.tolist()}

    def write(self, part: Path, file: str, names: Sequence[str]) -> None:
        output.write_columns(part, file, self.source, names)


def _row_report(progress: Progress) -> Callable[[int, int], None]:
    def report(done: int, remaining: int) -> None:
        progress.update(f"reading: {done:,} rows", done, done + remaining if remaining else 0)

    return report


def streamed_design(source: ArrowSource, args: argparse.Namespace, progress: Progress) -> StreamedDesign:
    """Read the file once, and make the design that the options describe."""
    _check_options(args)
    try:
        return _design_of(source, args, progress)
    except ReadError as error:
        raise ValueError(in_options(str(error))) from error


def _design_of(source: ArrowSource, args: argparse.Namespace, progress: Progress) -> StreamedDesign:
    roles, notes = roles_of(args, source.names), list[str]()
    names = source.names
    source.confirm([names[j] for j in (*roles.candidates(len(names)), *roles.targets, *roles.others)])
    kinds = source.columns
    refuse_mixed(kinds, roles)
    features = _usable(kinds, roles, notes)
    if not features:
        raise ValueError(f"{args.file}: no feature remains; every column except the target is ignored")
    used = [kinds[j].name for j in (*features, *roles.targets, *roles.others)]
    source.restrict(used, [kinds[j].name for j in roles.categorical])
    source.report = lambda done, remaining: _row_report(progress)(done, remaining or 0)
    parameters: dict[str, Any] = {
        "include": [kinds[j].name for j in roles.include] or None,
        "groups": [[kinds[j].name for j in group] for group in roles.groups] or None,
        "missing": args.missing,
    }
    given = Parameters(model=args.model, solver=args.solver, **parameters)
    targets = [kinds[j].name for j in roles.targets]
    sample = as_family(args.model).sample(source, targets, _rows(kinds, roles), given)
    assert isinstance(sample, Sample)
    ignored = {sample.layout.features[j] for j in sample.choice.features(sample.choice.exclude)}
    kept = [j for j in features if kinds[j].name not in ignored]
    lines = zip(kinds, roles.names(kept, len(kinds)), strict=True)
    text = {kinds[j].name for j in roles.categorical}
    listing = tuple(ColumnLine(c.name, "text" if c.name in text else KINDS[c.kind], role) for c, role in lines)
    return StreamedDesign(args.file, source, sample, listing, parameters, tuple(notes))


def _check_options(args: argparse.Namespace) -> None:
    """Raise for options that need all rows in memory."""
    if args.missing == "drop-columns":
        raise ValueError(
            f"{args.file}: --missing drop-columns needs all rows in memory, but the file is read in blocks; use "
            " --missing drop, or --exclude columns"
        )
    if getattr(args, "criterion", None) == "cv":
        raise ValueError(
            f"{args.file}: --criterion cv needs all rows in memory, but the file is read in blocks; use another one "
            "such as ebic"
        )


def _usable(kinds: Sequence[ColumnType], roles: Roles, notes: list[str]) -> list[int]:
    """Columns that can be features; dates and lists only if an option names them, which raises."""
    candidates = roles.candidates(len(kinds))
    dates = [j for j in candidates if kinds[j].kind in ("date", "object")]
    if refused := [kinds[j].name for j in dates if j in roles.forced | {*roles.categorical}]:
        holds = "holds" if len(refused) == 1 else "hold"
        raise ValueError(f"{listed(refused)} {holds} dates or lists, which cannot be features; derive numbers first")
    if dates:
        shown = listed([kinds[j].name for j in dates])
        notes.append(f"ignored columns with dates or lists: {shown} (derive numbers such as the year)")
    ignored = set(dates)
    return [j for j in candidates if j not in ignored]


def _rows(kinds: Sequence[ColumnType], roles: Roles) -> PerRow:
    """The columns that the options name per row."""
    named = (roles.weights, roles.offset, roles.strata, roles.row_groups)
    weights, offset, strata, groups = (None if j is None else kinds[j].name for j in named)
    return PerRow(weights, offset, strata, groups)
