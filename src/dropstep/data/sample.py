"""The sample: what a search uses of a table, as a design matrix, a target and weights."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dropstep.data.duplicates import duplicates_note
from dropstep.data.encoding import Encoding
from dropstep.data.factor import Factor
from dropstep.data.frame import Frame, frame_names, read, split_columns
from dropstep.data.groups import Choice, as_choice
from dropstep.data.leakage import (
    identifiers_note,
    identifying_factors,
    separates_classes,
    separating_note,
    table_notes,
)
from dropstep.data.matrices.dense import Dense
from dropstep.data.missing import complete_rows, refuse_missing_labels, rows_without
from dropstep.data.table import Table, are_counts, as_weights
from dropstep.data.target import Categorical, as_values, missing_targets
from dropstep.parameters import Parameters

Floats = NDArray[np.float64]
ReadTarget = Callable[[Any, int, "Floats | None"], Any]


@dataclass(frozen=True, eq=False)
class Rows:
    """What is given per row in addition to X and y: arrays, names of columns of X, or None.

    Attributes
    ----------
    weights, offset, strata, groups : array-like of shape (n_samples,), str or None
        Sample weights, offset, strata, and groups of dependent rows.
    metadata : mapping of str to array-like
        What an estimator's `fit`, a scorer or a splitter takes in addition.
    """

    weights: Any = None
    offset: Any = None
    strata: Any = None
    groups: Any = None
    metadata: Mapping[str, Any] = field(default_factory=dict)

    def at(self, rows: NDArray[np.intp]) -> Rows:
        """What is given for some of the rows; what does not have one entry per row is the same for all."""
        metadata = {name: _at(value, rows) for name, value in self.metadata.items()}
        weights, offset, strata, groups = (_at(v, rows) for v in (self.weights, self.offset, self.strata, self.groups))
        return Rows(weights, offset, strata, groups, metadata)

    def split_from(self, X: Any, y: Any) -> tuple[Any, Any, dict[str, Any]]:
        """X without the columns that y and these values name, y, and the values by their parameters."""
        named = {"sample_weight": self.weights, "offset": self.offset, "strata": self.strata}
        return split_columns(X, y, {**named, "sample_groups": self.groups})


@dataclass(frozen=True, eq=False)
class Features:
    """What is known of the features before a search.

    Attributes
    ----------
    names : tuple of str or None
        Feature names of the table; None if it has none.
    n_features : int
        Number of features of the table.
    encoding : Encoding or None
        How the columns of the design matrix encode the features; None if they are the features.
    choice : Choice
        Features that are included, excluded and selected together; factors that resemble identifiers are excluded.
    target_names : tuple of str or None
        Name of each target; None if y has none.
    notes : tuple of str
        Warnings about the table, one sentence each.
    """

    names: tuple[str, ...] | None
    n_features: int
    encoding: Encoding | None
    choice: Choice
    target_names: tuple[str, ...] | None
    notes: tuple[str, ...]

    @property
    def column_names(self) -> tuple[str, ...] | None:
        """Names of the columns of the design matrix."""
        return self.names if self.encoding is None else self.encoding.column_names

    @property
    def n_passes(self) -> int | None:
        """Number of passes over the values so far, rounded up; None if they are not counted."""
        return None

    @property
    def weights_are_counts(self) -> bool:
        """Whether weights can be numbers of observations: there are none, or they are integers."""
        return True


@dataclass(frozen=True, eq=False)
class Sample(Features):
    """What a search uses of a table.

    Attributes
    ----------
    table : Table
        The design matrix, with the names of its columns.
    target : Continuous, Categorical or another type that a model family reads
        The target.
    weights : ndarray of shape (n_samples,) or None
        Row weights.
    offset, strata, groups : array-like of shape (n_samples,) or None
        As given, for the rows that are used.
    rows : ndarray of bool or None
        Rows of the table that are used; None if all are.
    features : Table or Frame
        The features themselves, of the rows that are used.
    """

    table: Table
    target: Any
    weights: Floats | None
    offset: Any
    strata: Any
    groups: Any
    rows: NDArray[np.bool_] | None
    features: Table | Frame

    @property
    def n_passes(self) -> int | None:
        """Number of passes over the values so far, rounded up; None if they are not counted."""
        return self.table.matrix.reads.n_passes or None

    @property
    def weights_are_counts(self) -> bool:
        """Whether weights can be numbers of observations: there are none, or they are integers."""
        return are_counts(self.weights)

    @property
    def n_rows(self) -> int:
        """Number of rows that are used."""
        return self.table.n_rows

    @property
    def stratum(self) -> NDArray[np.intp] | None:
        """Classes, or events (by stratum, if there are strata), that parts of the rows should share alike."""
        if isinstance(self.target, Categorical):
            return self.target.codes
        event = getattr(self.target, "event", None)
        if event is None:
            return None
        labels = np.zeros(len(event)) if self.strata is None else np.asarray(self.strata).astype(str)
        return np.asarray(2 * np.unique(labels, return_inverse=True)[1] + event, dtype=np.intp)

    def at(self, rows: NDArray[np.intp]) -> Sample:
        """A part of the rows, with the encoding and the units of the whole table."""
        target = self.target[rows] if isinstance(self.target, np.ndarray) else self.target.at(rows)
        return replace(
            self,
            table=self.table.at(rows),
            target=target,
            weights=None if self.weights is None else self.weights[rows],
            offset=None if self.offset is None else _at(self.offset, rows),
            strata=None if self.strata is None else _at(self.strata, rows),
            groups=None if self.groups is None else _at(self.groups, rows),
            rows=None,
            features=self.features.at(rows),
        )


def sample_of(
    X: Any,
    y: Any,
    rows: Rows,
    given: Parameters,
    read_target: ReadTarget,
    *,
    ignore_separating: bool = False,
) -> Sample:
    """What a search uses of a table: complete rows, with factors encoded.

    Parameters
    ----------
    X : array-like or frame of shape (n_samples, n_features)
        The features; if y or rows name columns of a frame, also these.
    y : array-like of shape (n_samples,) or (n_samples, n_targets), str or list of str
        The target, or the columns that contain it.
    rows : Rows
        Weights, offset, strata and groups.
    given : Parameters
        Parameters of the selection: `include`, `exclude`, `groups` and `missing`.
    read_target : callable
        Validates y; called with y, the number of rows, and the weights.
    ignore_separating : bool, default=False
        Whether factors that separate classes are ignored, with a note.

    Returns
    -------
    Sample
    """
    X, y, others = rows.split_from(X, y)
    names, table = _target_names(y), read(X)
    choice = as_choice(table.n_features, table.names, given.include, given.exclude, given.groups)
    notes: list[str] = []
    if isinstance(table, Frame):
        table.refuse_unusable(choice.features(choice.exclude))
        choice = _without_identifiers(table, choice, notes)
    gaps = [] if given.missing != "drop" else _incomplete(table.n_rows, y, tuple(others.values()))
    kept, dropped = complete_rows(table, choice, gaps, given.missing)
    if kept is not None and isinstance(table, Frame):  # the rows that remain may be identified by fewer levels
        choice = _without_identifiers(table.at(kept), choice, notes)
        kept, dropped = complete_rows(table, choice, gaps, given.missing)
    if kept is not None:
        table, y = table.at(kept), as_values(y)[kept]
        others = {name: _at(values, kept) for name, values in others.items()}
    notes += dropped
    for name in ("strata", "sample_groups"):
        refuse_missing_labels(name, others[name], table.n_rows)
    excluded = set(choice.features(choice.exclude))
    weights = as_weights(others["sample_weight"], table.n_rows)
    target = read_target(y, table.n_rows, weights)
    encoding, design = _encoded(table, excluded, target if ignore_separating else None, weights, given.missing, notes)
    notes += table_notes(design, encoding, table.names, excluded)
    notes += duplicates_note(design, encoding, table.names, excluded)
    return Sample(
        names=table.names,
        n_features=table.n_features,
        encoding=encoding,
        choice=choice,
        target_names=names,
        notes=tuple(notes),
        table=design,
        target=target,
        weights=weights,
        offset=others["offset"],
        strata=others["strata"],
        groups=others["sample_groups"],
        rows=kept,
        features=table,
    )


def _target_names(y: Any) -> tuple[str, ...] | None:
    """Names of the columns of y, or the name of y, if they are strings."""
    name = getattr(y, "name", None)
    return (name,) if isinstance(name, str) else frame_names(y)


def _without_identifiers(frame: Frame, choice: Choice, notes: list[str]) -> Choice:
    """Exclude factors that resemble identifiers, unless a parameter names them."""
    groups = () if choice.members is None else (unit for unit in choice.members if len(unit) > 1)
    named = {*choice.features(choice.include), *choice.features(choice.exclude), *(j for unit in groups for j in unit)}
    if not (found := identifying_factors(frame, named)):
        return choice
    notes.append(identifiers_note(frame, {j: len(factor.levels) for j, factor in found.items()}))
    return choice.without(found)


def _incomplete(n_rows: int, y: Any, others: Sequence[Any]) -> list[NDArray[np.bool_]]:
    """Rows without a target, and rows without another value that is needed."""
    return [missing_targets(y, n_rows), *(rows_without(values, n_rows) for values in others)]


def _at(values: Any, rows: NDArray[Any]) -> Any:
    """Some rows of an array-like; a number, or None, is the same for all rows."""
    array = np.asarray(values)
    return array[rows] if array.ndim else values


def _encoded(
    table: Table | Frame,
    excluded: Collection[int],
    target: Any,
    weights: Floats | None,
    missing: str,
    notes: list[str],
) -> tuple[Encoding | None, Table]:
    """The encoding of a table with factors, and the design matrix."""
    if isinstance(table, Table):
        return None, _without_gaps(table, excluded)
    classes = target if isinstance(target, Categorical) else None
    frame = _ready(table, excluded, classes, weights, missing, notes)
    encoding = Encoding.of(frame, missing_is_level=missing == "level")
    return encoding, Table(encoding.encode(frame), encoding.column_names)


def _ready(
    frame: Frame,
    excluded: Collection[int],
    classes: Categorical | None,
    weights: Floats | None,
    missing: str,
    notes: list[str],
) -> Frame:
    """The factors as they are encoded: none for what is excluded or separates classes, missing values as a level."""
    ignored = Factor(np.zeros(frame.n_rows, dtype=np.intp), ())
    columns = [ignored if j in excluded else column for j, column in enumerate(frame.columns)]
    separating = []
    for j, column in enumerate(columns):
        if not isinstance(column, Factor) or column is ignored:
            continue
        columns[j] = factor = column.with_missing_level() if missing == "level" else column
        if classes is not None and separates_classes(factor, classes, weights):
            separating.append(j)
            columns[j] = ignored
    if separating:
        notes.append(separating_note(frame, separating))
    return Frame(tuple(columns), frame.n_rows, frame.names)


def _without_gaps(table: Table, excluded: Collection[int]) -> Table:
    """Zeros in excluded columns that have missing values, which would make sums over blocks of columns undefined."""
    at = np.array(sorted(excluded), dtype=np.intp)
    bad = at[table.matrix.gaps(at).columns] if len(at) else at
    if not len(bad):
        return table
    zeroed = table.matrix.zeroed(bad)
    return Table(zeroed.values if isinstance(zeroed, Dense) else zeroed, table.names)
