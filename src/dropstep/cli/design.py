"""The design of a search: features, target and weights from the columns of a file."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dropstep.cli.advice import with_advice
from dropstep.cli.complete import complete
from dropstep.cli.estimators import kind_of
from dropstep.cli.leakage import check_leakage
from dropstep.cli.naming import in_options
from dropstep.cli.progress import Progress
from dropstep.cli.roles import Roles, roles_of
from dropstep.cli.usable import usable, without_ids
from dropstep.data.table import Table
from dropstep.data.target import Target, as_target
from dropstep.parameters import NAMES
from dropstep.readers import Column, Layout, ReadError, Source, read
from dropstep.readers.columns import MISSING, Numerals, shown_number
from dropstep.readers.wording import quoted, shortened
from dropstep.result import SelectionPath

Floats = NDArray[np.float64]

# Parameters of select that every command passes unchanged; those that name columns are in Design.parameters.
COLUMNS = ("include", "exclude", "groups")  # parameters that name columns of the file
FITS = ("cv", "n_jobs", "random_state", "max_time", "checkpoint")  # parameters of select alone
PARAMETERS = tuple(name for name in NAMES if name not in ("strategy", *COLUMNS, *FITS))


@dataclass(frozen=True, eq=False)
class Design:
    """Input of a search, made from a file.

    Attributes
    ----------
    source : Source
        The file.
    columns : tuple of Column
        Its columns, categorical where the options require it.
    roles : tuple of str
        Role of each column: "feature", "target", "weights", "groups" or "ignored".
    features, targets : tuple of Column
        The columns that are features, and those that are targets.
    X : ndarray of shape (n_samples, n_columns)
        One column per numeric feature, one column per level of a categorical feature (a single one for two levels).
    owner : ndarray of shape (n_columns,)
        Index of the feature that each column of X encodes.
    y : ndarray
        Numbers, one column per target, or class labels.
    target : Target
        y as the search interprets it.
    weights : ndarray or None
        Sample weights.
    row_groups : ndarray or None
        Group of each row, for cross-validation.
    kept : ndarray of bool
        Rows of the file that are used.
    include : tuple of int
        Features that are included from the start.
    groups : tuple of tuple of int
        Features that are selected together.
    notes : tuple of str
        Warnings, one sentence each.
    """

    source: Source
    columns: tuple[Column, ...]
    roles: tuple[str, ...]
    features: tuple[Column, ...]
    targets: tuple[Column, ...]
    X: Floats
    owner: NDArray[np.intp]
    y: NDArray[Any]
    target: Target
    weights: Floats | None
    row_groups: NDArray[np.intp] | None
    kept: NDArray[np.bool_]
    include: tuple[int, ...]
    groups: tuple[tuple[int, ...], ...]
    notes: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.features)

    @property
    def table(self) -> Table:
        """X with column names: the name of the feature, followed by the level if it has one column per level."""
        names = []
        for f, column in enumerate(self.features):
            width = len(self._columns(f))
            names += [column.name] if width == 1 else [f"{column.name}={level}" for level in column.levels]
        return Table(self.X, tuple(names))

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters of select that name columns of X."""
        include = [j for f in self.include for j in self._columns(f)] or None
        if not self.groups and len(self.owner) == len(self.features):
            return {"include": include, "groups": None}
        return {"include": include, "groups": [[j for f in unit for j in self._columns(f)] for unit in self.units]}

    @cached_property
    def units(self) -> tuple[tuple[int, ...], ...]:
        """Features that are selected together: the groups, then every other feature by itself."""
        grouped = {f for group in self.groups for f in group}
        return (*self.groups, *((f,) for f in range(len(self.features)) if f not in grouped))

    @cached_property
    def _unit_of(self) -> dict[int, int]:
        return {f: u for u, unit in enumerate(self.units) for f in unit}

    def n_units(self, columns: Sequence[int]) -> int:
        """Number of units that columns of X belong to."""
        return len({self._unit_of[f] for f in self.owner[list(columns)].tolist()})

    def width(self, unit: tuple[int, ...]) -> int:
        """Number of columns of X of a unit."""
        return sum(len(self._columns(f)) for f in unit)

    @cached_property
    def _bounds(self) -> list[int]:
        """First column of each feature, and the number of columns."""
        return list(map(int, np.searchsorted(self.owner, np.arange(len(self.features) + 1))))

    def _columns(self, feature: int) -> range:
        return range(self._bounds[feature], self._bounds[feature + 1])

    def by_feature(self, path: SelectionPath) -> SelectionPath:
        """Translate a path over the columns of X into features of the file."""

        def owners(columns: Sequence[int]) -> tuple[int, ...]:
            return tuple(dict.fromkeys(self.owner[list(columns)].tolist()))

        def owner(column: int) -> int:
            return int(self.owner[column])

        losses, near = path.losses, path.equivalents
        if losses is not None and near is not None:
            losses = {owner(j): loss for j, loss in losses.items()}
            near = {owner(j): tuple((owner(k), loss) for k, loss in found) for j, found in near.items()}
        return replace(
            path,
            selected=owners(path.selected),
            steps=tuple(replace(step, features=owners(step.features)) for step in path.steps),
            ranking=tuple(path.ranking[j] for j in self._bounds[:-1]),
            n_features=len(self.features),
            feature_names=self.names,
            excluded=owners(path.excluded),
            groups=tuple(sorted(tuple(sorted(unit)) for unit in self.units)) if self.groups else None,
            notes=(*self.notes, *map(in_options, path.notes)),
            losses=losses,
            equivalents=near,
            params=self._params(path),
        )

    def _params(self, path: SelectionPath) -> dict[str, Any]:
        """The parameters that were passed, with features of the file in place of columns of X."""
        params = {name: value for name, value in path.params.items() if name not in ("include", "groups")}
        if self.include:
            params["include"] = [self.names[f] for f in self.include]
        if self.groups:
            params["groups"] = [[self.names[f] for f in group] for group in self.groups]
        return params


def read_design(args: argparse.Namespace, progress: Progress) -> Design:
    """Read the file, and make the design that the options describe."""
    progress.update(f"reading {args.file}")
    numerals = Numerals(args.decimal, args.thousands, MISSING if args.na is None else tuple(args.na))
    layout = Layout(not args.no_header, args.separator, args.encoding, args.skip, numerals)
    try:
        source = read(args.file, layout)
    except ReadError as error:
        raise ValueError(with_advice(error)) from error
    return design_of(source, args)


def design_of(source: Source, args: argparse.Namespace) -> Design:
    """Make the design of a file from the options."""
    roles = roles_of(args, source.names)
    notes = [in_options(note) for note in source.notes]
    columns = tuple(_converted(j, column, roles) for j, column in enumerate(source.columns))
    features = usable(columns, roles, notes)
    features, kept = complete(columns, features, roles, args.missing, notes)
    taken = {j: columns[j] for j in (*roles.targets, *features, *roles.others)}
    if not kept.all():
        taken = {j: column.at(kept) for j, column in taken.items()}
        features = without_ids({j: taken[j] for j in features}, roles, notes)
    if not features:
        raise ValueError(f"{source.shown}: no feature remains; every column except the target is ignored")
    targets = tuple(taken[j] for j in roles.targets)
    y = _target_values(targets)
    weights = None if roles.weights is None else _weights(taken[roles.weights])
    target = as_target(y, len(y), kind_of(args.model), weights)
    chosen = tuple(taken[j] for j in features)
    X, owner = _matrix(chosen)
    check_leakage(chosen, X, owner, target, notes)
    place = {j: f for f, j in enumerate(features)}
    return Design(
        source,
        columns,
        roles.names(features, len(columns)),
        chosen,
        targets,
        X,
        owner,
        y,
        target,
        weights,
        _row_groups(roles, taken),
        kept,
        tuple(place[j] for j in roles.include),
        tuple(tuple(place[j] for j in group) for group in roles.groups),
        tuple(notes),
    )


def _converted(j: int, column: Column, roles: Roles) -> Column:
    """Convert a column to categories where requested, or where identifiers of row groups would lose digits."""
    if j in roles.categorical or (j == roles.row_groups and column.loses_digits):
        return column.as_category()
    return column


def _target_values(targets: Sequence[Column]) -> NDArray[Any]:
    """Numbers, one column per target, or the labels of one target; raises if a target is constant."""
    for column in targets:
        if column.kind in ("date", "other"):
            raise ValueError(
                f"--target {shortened(column.name)}: dates and lists cannot be a target; derive a number first"
            )
        if column.is_category and len(targets) > 1:
            raise ValueError(f"--target: several targets must be numbers, but {quoted(column.name)} is text")
        if (column.values == column.values[0]).all():
            value = column.levels[column.values[0]] if column.levels else shown_number(column.values[0])
            raise ValueError(
                f"--target {shortened(column.name)}: every row has the value {shortened(value)}; "
                "choose a target that varies"
            )
    if targets[0].is_category:
        return np.asarray(np.array(targets[0].levels)[targets[0].values])
    values = np.column_stack([column.values for column in targets])
    return values[:, 0] if len(targets) == 1 else values


def _weights(column: Column) -> Floats:
    if column.kind != "number":
        raise ValueError(f"--weights {shortened(column.name)}: the column must be numeric; got {column.kind}")
    return np.asarray(column.values, dtype=np.float64)


def _row_groups(roles: Roles, taken: dict[int, Column]) -> NDArray[np.intp] | None:
    if roles.row_groups is None:
        return None
    return np.asarray(np.unique(taken[roles.row_groups].values, return_inverse=True)[1], dtype=np.intp)


def _matrix(features: Sequence[Column]) -> tuple[Floats, NDArray[np.intp]]:
    """Encode features: one column per number, one per level of a category (a single one for two levels)."""
    widths = [len(c.levels) if c.is_category and len(c.levels) != 2 else 1 for c in features]
    owner = np.repeat(np.arange(len(features)), widths)
    X = np.empty((len(features[0].values), len(owner)), order="F")
    at = 0
    for column, width in zip(features, widths, strict=True):
        if width == 1:
            X[:, at] = column.values
        else:
            for level in range(width):
                X[:, at + level] = column.values == level
        at += width
    return X, owner
