"""The sample: what a search uses of a table, as a design matrix, a target and weights."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

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
from dropstep.data.missing import MISSING, complete_rows, rows_without
from dropstep.data.table import Table, as_weights
from dropstep.data.target import Categorical, Target, as_target, as_values, missing_targets
from dropstep.parameters import Parameters

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Sample:
    """What a search uses of a table.

    Attributes
    ----------
    features : Table or Frame
        The features, of the rows that are used.
    table : Table
        The design matrix, with the names of its columns.
    encoding : Encoding or None
        How the columns of the design matrix encode the features; None if they are the features.
    choice : Choice
        Features that are included, excluded and selected together; factors that resemble identifiers are excluded.
    target : Continuous or Categorical
        Target values or class labels.
    target_names : tuple of str or None
        Name of each target; None if y has none.
    weights : ndarray of shape (n_samples,) or None
        Row weights.
    rows : ndarray of bool or None
        Rows of the table that are used; None if all are.
    notes : tuple of str
        Warnings about the table, one sentence each.
    """

    features: Table | Frame
    table: Table
    encoding: Encoding | None
    choice: Choice
    target: Target
    target_names: tuple[str, ...] | None
    weights: Floats | None
    rows: NDArray[np.bool_] | None
    notes: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...] | None:
        """Names of the features; None if they have none."""
        return self.features.names

    @property
    def n_features(self) -> int:
        """Number of features."""
        return self.features.n_features


def sample_of(X: Any, y: Any, sample_weight: Any, given: Parameters, row_groups: Any = None) -> Sample:
    """What a search uses of a table: complete rows, with factors encoded.

    Parameters
    ----------
    X : array-like or frame of shape (n_samples, n_features)
        The features; if y or sample_weight name columns of a frame, also these.
    y : array-like of shape (n_samples,) or (n_samples, n_targets), str or list of str
        Target values or class labels, or the columns that contain them.
    sample_weight : array-like of shape (n_samples,), str or None
        Row weights, or the column that contains them.
    given : Parameters
        Parameters of the selection: `model`, `include`, `exclude`, `groups` and `missing`.
    row_groups : array-like of shape (n_samples,) or None, default=None
        One label per row, which must not be missing.

    Returns
    -------
    Sample
    """
    if given.missing not in MISSING:
        raise ValueError(f"missing must be one of {', '.join(map(repr, MISSING))}; got {given.missing!r}")
    X, y, sample_weight = split_columns(X, y, sample_weight)
    names, table = _target_names(y), read(X)
    choice = as_choice(table.n_features, table.names, given.include, given.exclude, given.groups)
    notes: list[str] = []
    if isinstance(table, Frame):
        table.refuse_unusable(choice.features(choice.exclude))
        choice = _without_identifiers(table, choice, notes)
    others = [] if given.missing != "drop" else _incomplete(table.n_rows, y, sample_weight, row_groups)
    rows, dropped = complete_rows(table, choice, others, given.missing)
    if rows is not None and isinstance(table, Frame):  # the rows that remain may be identified by fewer levels
        choice = _without_identifiers(table.at(rows), choice, notes)
        rows, dropped = complete_rows(table, choice, others, given.missing)
    if rows is not None:
        table, y, sample_weight = table.at(rows), as_values(y)[rows], _at(sample_weight, rows)
    notes += dropped
    excluded = set(choice.features(choice.exclude))
    weights = as_weights(sample_weight, table.n_rows)
    target = as_target(y, table.n_rows, given.model, weights)
    if isinstance(table, Frame):
        frame = _ready(table, excluded, target, weights, given.missing, notes)
        encoding = Encoding.of(frame)
        design = Table(encoding.encode(frame), encoding.column_names)
    else:
        encoding, design = None, _without_gaps(table, excluded)
    notes += table_notes(design, encoding, table.names, excluded)
    return Sample(table, design, encoding, choice, target, names, weights, rows, tuple(notes))


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
    notes.append(identifiers_note(frame, found))
    return choice.without(found)


def _incomplete(n_rows: int, y: Any, sample_weight: Any, row_groups: Any) -> list[NDArray[np.bool_]]:
    """Rows without a target, without a weight, and without a row group."""
    return [missing_targets(y, n_rows), rows_without(sample_weight, n_rows), rows_without(row_groups, n_rows)]


def _at(sample_weight: Any, rows: NDArray[np.bool_]) -> Any:
    weights = np.asarray(sample_weight)
    return weights[rows] if weights.ndim else sample_weight


def _ready(
    frame: Frame, excluded: Collection[int], target: Target, weights: Floats | None, missing: str, notes: list[str]
) -> Frame:
    """The factors as they are encoded: none for what is excluded or separates classes, missing values as a level."""
    ignored = Factor(np.zeros(frame.n_rows, dtype=np.intp), ())
    columns = [ignored if j in excluded else column for j, column in enumerate(frame.columns)]
    separating = []
    for j, column in enumerate(columns):
        if not isinstance(column, Factor) or column is ignored:
            continue
        columns[j] = factor = column.with_missing_level() if missing == "level" else column
        if isinstance(target, Categorical) and separates_classes(factor, target, weights):
            separating.append(j)
            columns[j] = ignored
    if separating:
        notes.append(separating_note(frame, separating))
    return Frame(tuple(columns), frame.n_rows, frame.names)


def _without_gaps(table: Table, excluded: Collection[int]) -> Table:
    """Zeros in excluded columns that have missing values, which would make sums over blocks of columns undefined."""
    bad = [j for j in sorted(excluded) if not np.isfinite(table.values[:, j]).all()]
    if not bad:
        return table
    values = table.values.copy()
    values[:, bad] = 0
    return Table(values, table.names)
