"""The design: the columns of a file become features, target and weights, and what is odd about them is said."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dropstep.cli.complete import complete
from dropstep.cli.leakage import point_out
from dropstep.cli.naming import in_options
from dropstep.cli.progress import Progress
from dropstep.cli.roles import Roles, roles_of
from dropstep.cli.usable import usable, without_ids
from dropstep.data.table import Table
from dropstep.data.target import Target, as_target
from dropstep.readers import Column, Layout, Source, read
from dropstep.readers.columns import MISSING, Numerals, shown_number
from dropstep.readers.wording import quoted, shortened
from dropstep.result import SelectionPath

Floats = NDArray[np.float64]

# The words of select that are the same for every command; those that name columns are in Design.words.
WORDS = ("model", "criterion", "enter", "leave", "drop", "max_features", "rounds")


@dataclass(frozen=True, eq=False)
class Design:
    """What a search is given.

    Attributes
    ----------
    source : the file.
    columns : its columns, as they are meant.
    roles : for each of them "feature", "target", "weights", "groups" or "left out".
    features : the columns that are features.
    targets : the columns that are explained.
    X : one column a number, one column a value of a category; owner says to which feature it belongs.
    y : numbers (one column a target), or labels.
    target : y as the search will read it.
    weights : of the rows, or None.
    row_groups : for each row the group it belongs to, or None.
    kept : rows of the file that are used.
    include, groups : features that are in from the start; features that are chosen together.
    notes : what the reader should know, in sentences.
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
        """X with a name for each column: that of its feature, and the value where there is one column a value."""
        names = []
        for f, column in enumerate(self.features):
            width = len(self._columns(f))
            names += [column.name] if width == 1 else [f"{column.name}={level}" for level in column.levels]
        return Table(self.X, tuple(names))

    @property
    def words(self) -> dict[str, Any]:
        """The words of select that name columns of X."""
        include = [j for f in self.include for j in self._columns(f)] or None
        if not self.groups and len(self.owner) == len(self.features):
            return {"include": include, "groups": None}
        return {"include": include, "groups": [[j for f in unit for j in self._columns(f)] for unit in self.units]}

    @cached_property
    def units(self) -> tuple[tuple[int, ...], ...]:
        """Features that are selected as a whole: the groups, then every other feature by itself."""
        grouped = {f for group in self.groups for f in group}
        return (*self.groups, *((f,) for f in range(len(self.features)) if f not in grouped))

    @cached_property
    def _unit_of(self) -> dict[int, int]:
        return {f: u for u, unit in enumerate(self.units) for f in unit}

    def n_units(self, columns: Sequence[int]) -> int:
        """How many units some columns of X belong to."""
        return len({self._unit_of[f] for f in self.owner[list(columns)].tolist()})

    def width(self, unit: tuple[int, ...]) -> int:
        """How many columns of X a unit has."""
        return sum(len(self._columns(f)) for f in unit)

    @cached_property
    def _bounds(self) -> list[int]:
        """Where the columns of each feature begin, and after the last where they end."""
        return list(map(int, np.searchsorted(self.owner, np.arange(len(self.features) + 1))))

    def _columns(self, feature: int) -> range:
        return range(self._bounds[feature], self._bounds[feature + 1])

    def by_feature(self, path: SelectionPath) -> SelectionPath:
        """A path over the columns of X, told in features of the file."""

        def owners(columns: Sequence[int]) -> tuple[int, ...]:
            return tuple(dict.fromkeys(self.owner[list(columns)].tolist()))

        def owner(column: int) -> int:
            return int(self.owner[column])

        near = {owner(j): tuple((owner(k), loss) for k, loss in found) for j, found in path.equivalents.items()}
        return replace(
            path,
            selected=owners(path.selected),
            steps=tuple(replace(step, features=owners(step.features)) for step in path.steps),
            ranking=tuple(path.ranking[j] for j in self._bounds[:-1]),
            n_features=len(self.features),
            feature_names=self.names,
            notes=(*self.notes, *map(in_options, path.notes)),
            losses={owner(j): loss for j, loss in path.losses.items()},
            equivalents=near,
            params=self._asked(path),
        )

    def _asked(self, path: SelectionPath) -> dict[str, Any]:
        """The words that were given, with features of the file in place of columns of X."""
        asked = {word: value for word, value in (path.params or {}).items() if word not in ("include", "groups")}
        if self.include:
            asked["include"] = [self.names[f] for f in self.include]
        if self.groups:
            asked["groups"] = [[self.names[f] for f in group] for group in self.groups]
        return asked


def read_design(args: argparse.Namespace, progress: Progress) -> Design:
    """Read the file that the options name, and make the design they ask for."""
    progress.say(f"reading {args.file}")
    numerals = Numerals(args.decimal, args.thousands, MISSING if args.na is None else tuple(args.na))
    layout = Layout(not args.no_header, args.separator, args.encoding, args.skip, numerals)
    return design_of(read(args.file, layout), args)


def design_of(source: Source, args: argparse.Namespace) -> Design:
    """Features, target and weights of a file, as the options ask for."""
    roles = roles_of(args, source.names)
    notes = list(source.notes)
    columns = tuple(_as_meant(j, column, roles) for j, column in enumerate(source.columns))
    features = usable(columns, roles, notes)
    features, kept = complete(columns, features, roles, args.missing, notes)
    taken = {j: columns[j] for j in (*roles.targets, *features, *roles.others)}
    if not kept.all():
        taken = {j: column.at(kept) for j, column in taken.items()}
        features = without_ids({j: taken[j] for j in features}, roles, notes)
    if not features:
        raise ValueError(f"{source.shown}: no feature remains; every column but the target is left out")
    targets = tuple(taken[j] for j in roles.targets)
    y = _target_values(targets)
    weights = None if roles.weights is None else _weights(taken[roles.weights])
    target = as_target(y, len(y), args.model, weights)
    chosen = tuple(taken[j] for j in features)
    X, owner = _matrix(chosen)
    point_out(chosen, X, owner, target, notes)
    place = {j: f for f, j in enumerate(features)}
    return Design(
        source,
        columns,
        roles.words(features, len(columns)),
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


def _as_meant(j: int, column: Column, roles: Roles) -> Column:
    """The column as the options read it: a long identifier of groups of rows would lose digits as a number."""
    if j in roles.categorical or (j == roles.row_groups and column.loses_digits):
        return column.as_category()
    return column


def _target_values(targets: Sequence[Column]) -> NDArray[Any]:
    """Numbers, one column a target; or the labels of one target. A constant target is refused by its name."""
    for column in targets:
        if column.kind in ("date", "other"):
            raise ValueError(
                f"--target {shortened(column.name)}: dates and lists cannot be explained; derive a number first"
            )
        if column.is_category and len(targets) > 1:
            raise ValueError(f"--target: several targets must be numbers, but {quoted(column.name)} is text")
        if (column.values == column.values[0]).all():
            value = column.levels[column.values[0]] if column.levels else shown_number(column.values[0])
            raise ValueError(
                f"--target {shortened(column.name)}: every row has the value {shortened(value)}, "
                "so there is nothing to explain"
            )
    if targets[0].is_category:
        return np.asarray(np.array(targets[0].levels)[targets[0].values])
    values = np.column_stack([column.values for column in targets])
    return values[:, 0] if len(targets) == 1 else values


def _weights(column: Column) -> Floats:
    if column.kind != "number":
        raise ValueError(f"--weights {shortened(column.name)}: this column must hold numbers, but it is {column.kind}")
    return np.asarray(column.values, dtype=np.float64)


def _row_groups(roles: Roles, taken: dict[int, Column]) -> NDArray[np.intp] | None:
    if roles.row_groups is None:
        return None
    return np.asarray(np.unique(taken[roles.row_groups].values, return_inverse=True)[1], dtype=np.intp)


def _matrix(features: Sequence[Column]) -> tuple[Floats, NDArray[np.intp]]:
    """One column a number, one column a value of a category (one in all for two values)."""
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
