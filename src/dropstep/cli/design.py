"""The design of a search: features, target and weights from the columns of a file."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dropstep.backends.content import ReadError
from dropstep.cli import output
from dropstep.cli.columns import Column, columns_of, open_source, original_rows, shown_level
from dropstep.cli.complete import complete
from dropstep.cli.naming import brief, in_options
from dropstep.cli.output import Progress
from dropstep.cli.roles import Roles, roles_of
from dropstep.cli.table_input import AnyDesign, ColumnLine
from dropstep.cli.usable import as_table, refuse_mixed, usable
from dropstep.data.frame import Frame
from dropstep.data.response import Survival
from dropstep.data.sample import Features, PerRow, Sample, digits_note
from dropstep.data.table import Names, Table
from dropstep.data.target import Categorical, dates_error
from dropstep.models.families import as_family
from dropstep.models.glm.cox import Cox
from dropstep.parameters import Parameters
from dropstep.wording import counted, quoted, shortened

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Design(AnyDesign):
    """Input of a search, made from a file that is in memory.

    Attributes
    ----------
    source : ArrowSource
        The file.
    file : str
        Its name, as it was given.
    columns : tuple of Column
        Its columns, categorical where the options require it.
    roles : tuple of str
        Role of each column: "feature", "target", "weights", "groups" or "ignored".
    features, targets : tuple of Column
        The columns that are features, and those that are targets.
    table : Table or Frame
        The features.
    y : ndarray
        Numbers, one column per target, or class labels.
    rows : PerRow
        Sample weights, offset, strata, and groups of rows for cross-validation.
    parameters : dict
        The parameters of select that depend on the file: include, groups and missing.
    sample : Sample
        What the search uses.
    notes : tuple of str
        Warnings about the file, one sentence each.
    """

    source: Any
    file: str
    columns: tuple[Column, ...]
    roles: tuple[str, ...]
    features: tuple[Column, ...]
    targets: tuple[Column, ...]
    table: Table | Frame
    y: NDArray[Any]
    rows: PerRow
    parameters: dict[str, Any]
    sample: Sample
    notes: tuple[str, ...] = ()

    @property
    def shown(self) -> str:
        return str(self.source.shown)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.features)

    @property
    def known(self) -> Features:
        return self.sample

    @property
    def listing(self) -> tuple[ColumnLine, ...]:
        return tuple(ColumnLine(c.name, c.kind, role) for c, role in zip(self.columns, self.roles, strict=True))

    def summaries(self) -> list[str]:
        others = [j for j, column in enumerate(self.columns) if not len(column.values) and column.kind != "mixed"]
        columns = columns_of(self.source, self.source.columns, others, ())
        return [_values(columns[j] if j in others else column) for j, column in enumerate(self.columns)]

    @property
    def target_names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.targets)

    @property
    def rows_read(self) -> int:
        return len(self.kept)

    @property
    def shape(self) -> tuple[int, int]:
        return int(self.kept.sum()), self.sample.table.values.shape[1]

    @property
    def values_bytes(self) -> int:
        return int(self.sample.table.values.nbytes)

    @property
    def target(self) -> Any:
        """y as the model reads it."""
        return self.sample.target

    @cached_property
    def kept(self) -> NDArray[np.bool_]:
        """Rows of the file that are used."""
        return np.ones(len(self.y), dtype=bool) if self.sample.rows is None else self.sample.rows

    def data(self) -> dict[str, Any]:
        return {
            "X": self.table,
            "y": self.y,
            "sample_weight": self.rows.weights,
            "offset": self.rows.offset,
            "strata": self.rows.strata,
            "sample_groups": self.rows.groups,
        }

    def write(self, part: Path, file: str, names: Sequence[str]) -> None:
        output.write_columns(part, file, self.source, names)

    def target_range(self) -> str:
        if isinstance(self.target, Survival):
            time, event = self.target.time, self.target.event
            return f"{counted(int(event.sum()), 'event')}, times from {time.min():g} to {time.max():g}"
        ranges = (column.values[self.kept] for column in self.targets)
        return "numbers from " + ", ".join(f"{values.min():,g} to {values.max():,g}" for values in ranges)

    def class_counts(self) -> dict[str, int]:
        if not isinstance(self.target, Categorical):
            return {}
        counts = np.bincount(self.target.codes, minlength=len(self.target.labels))
        return {shown_level(label): int(n) for label, n in zip(self.target.labels, counts, strict=True)}


def _values(column: Column) -> str:
    """A summary of the values of a column."""
    counts = {"missing": int(column.missing.sum()), "infinite": int(column.infinite.sum())}
    gaps = [f"{count} {kind}" for kind, count in counts.items() if count]
    if column.levels:
        return ", ".join([f"{len(column.levels)} levels", f"e.g. {shortened(column.levels[0])}", *gaps])
    present = column.values[~(column.missing | column.infinite)]
    span = [f"{present.min():g} to {present.max():g}"] if len(present) and column.kind == "number" else []
    return ", ".join(span + gaps)


def read_design(args: argparse.Namespace, progress: Progress) -> Design:
    """Read the file, and make the design that the options describe."""
    progress.update(f"reading {args.file}")
    return design_of(open_source(args), args)


def design_of(source: Any, args: argparse.Namespace) -> Design:
    """Make the design of a file from the options; its rows are read into memory."""
    try:
        return _design_of(source, args)
    except ReadError as error:
        raise ValueError(in_options(str(error))) from error


def _design_of(source: Any, args: argparse.Namespace) -> Design:
    roles = _roles(source, args)
    names = source.names
    needed = (*roles.candidates(len(names)), *roles.targets, *roles.others)
    source.confirm([names[j] for j in needed])
    types, categorical = (
        source.columns,
        {*roles.categorical, *(() if roles.row_groups is None else (roles.row_groups,))},
    )
    refuse_mixed(types, roles)
    columns = tuple(columns_of(source, types, needed, sorted(categorical)))
    if len(source.columns) != len(types) or any(
        new.kind != old.kind
        for j, (new, old) in enumerate(zip(source.columns, types, strict=True))
        if j not in categorical
    ):
        source.restrict(source.names)
        return _design_of(source, args)  # rows below the first ones have other types
    for column in (columns[j] for j in roles.targets):
        if column.kind in ("date", "other"):
            raise dates_error()
    notes = [in_options(note) for note in source.notes]
    features, missing = complete(columns, usable(columns, roles, notes), roles, args.missing, notes)
    if not features:
        raise ValueError(f"{source.shown}: no feature remains; every column except the target is ignored")
    targets, family = tuple(columns[j] for j in roles.targets), as_family(args.model)
    y = _survival(*targets) if isinstance(family, Cox) else _target_values(targets)
    numbered = roles.row_groups is not None and types[roles.row_groups].kind == "number"
    rows = _rows(roles, columns, numbered=numbered and roles.row_groups not in roles.categorical)
    parameters: dict[str, Any] = {
        "include": [columns[j].name for j in roles.include] or None,
        "groups": [[columns[j].name for j in group] for group in roles.groups] or None,
        "missing": missing,
    }
    given = Parameters(model=args.model, **parameters)
    table = as_table(columns, features, roles)
    sample = family.sample(table, y, rows, given)
    if ids := set(sample.choice.features(sample.choice.exclude)):  # text that identifies the rows that are complete
        notes.append(brief(sample.notes[0]))
        features = [j for place, j in enumerate(features) if place not in ids]
        table = as_table(columns, features, roles)
        sample = family.sample(table, y, rows, given)
    assert isinstance(sample, Sample)
    rounded = [place for place, j in enumerate(features) if columns[j].name in source.rounded]
    if rounded and (note := digits_note(Names(sample.names), rounded)) not in sample.notes:
        notes.append(in_options(note))
    return Design(
        source,
        args.file,
        columns,
        roles.names(features, len(columns)),
        tuple(columns[j] for j in features),
        targets,
        table,
        y,
        rows,
        parameters,
        sample,
        tuple(notes),
    )


def _roles(source: Any, args: argparse.Namespace) -> Roles:
    """Roles of the columns; a target that stands in the first column suggests that the table is transposed."""
    try:
        return roles_of(args, source.names)
    except ValueError:
        first = {str(row[0]).strip() for row in original_rows(source, source.names[:1])}
        if args.target is None or args.target in source.names or args.target not in first:
            raise
        add = "if rows are features and columns are samples, add --transpose"
        raise ValueError(
            f"--target {shortened(args.target)}: no such column, but a row of the first column has that name; "
            f"{'omit --transpose' if args.transpose else add}"
        ) from None


def _rows(roles: Roles, columns: Sequence[Column], *, numbered: bool) -> PerRow:
    """What the options name per row; groups of rows that are numbered have numbers, unless these would lose digits."""
    groups = None if roles.row_groups is None else _labels(columns[roles.row_groups])
    if groups is not None and numbered:
        numbers = np.asarray(groups, dtype=np.float64)
        levels = columns[roles.row_groups or 0].levels
        groups = numbers if len(set(map(float, levels))) == len(levels) else groups
    return PerRow(
        None if roles.weights is None else _numbers("--weights", columns[roles.weights]),
        None if roles.offset is None else _numbers("--offset", columns[roles.offset]),
        None if roles.strata is None else _labels(columns[roles.strata]),
        groups,
    )


def _target_values(targets: Sequence[Column]) -> NDArray[Any]:
    """Numbers, one column per target, or the labels of one target."""
    for column in targets:
        if column.is_category and len(targets) > 1:
            raise ValueError(f"--target: several targets must be numbers, but {quoted(column.name)} is text")
    if targets[0].is_category:
        return _labels(targets[0])
    values = np.column_stack([column.values for column in targets])
    return values[:, 0] if len(targets) == 1 else values


def _labels(column: Column) -> NDArray[Any]:
    """The levels of a categorical column by row, or its numbers; None or NaN where missing."""
    return np.array([*column.levels, None], dtype=object)[column.values] if column.levels else column.values


def _survival(time: Column, event: Column) -> Floats:
    """Columns time and event, the latter 0 or 1."""
    if event.kind not in ("number", "boolean"):
        raise ValueError(f"--event {shortened(event.name)}: the column must be 0 or 1, or boolean; got {event.kind}")
    return np.column_stack([_numbers("--time", time), np.asarray(event.values, dtype=np.float64)])


def _numbers(option: str, column: Column) -> Floats:
    if column.kind != "number":
        raise ValueError(f"{option} {shortened(column.name)}: the column must be numeric; got {column.kind}")
    return np.asarray(column.values, dtype=np.float64)
