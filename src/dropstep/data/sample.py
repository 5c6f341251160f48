"""The sample: every decision about the input, made from facts, for tables in memory, tables in blocks, and Moments."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from dropstep.data.duplicates import duplicates_note, repeated, repeated_in
from dropstep.data.encoding import Encoding
from dropstep.data.factor import DATES, OBJECTS, Level, Unusable, is_missing, numerals_as_text
from dropstep.data.frame import Frame, check_name, frame_names, read, refuse, split_columns
from dropstep.data.groups import Choice, as_choice
from dropstep.data.leakage import is_disconnected, meeting, names_units, separating_note, suspects, suspicions
from dropstep.data.matrices.dense import Dense
from dropstep.data.moments import Moments, refuse_extreme
from dropstep.data.rearrange import as_regression, placed
from dropstep.data.source import MAX_EXACT, Block, ColumnType, Held, Source, TypesChangedError, settled
from dropstep.data.summary import (
    MAX_LEVELS,
    Facts,
    Layout,
    Levels,
    Numbers,
    RowCount,
    Summarise,
    Summary,
    keys_of,
)
from dropstep.data.table import (
    MAX_LISTED,
    Names,
    Table,
    are_counts,
    as_weights,
    missing_error,
    missing_offset,
    missing_weights,
    no_weights,
)
from dropstep.data.target import Categorical, as_values, is_categorical, missing_target, missing_targets
from dropstep.parameters import Parameters

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Kind = Literal["auto", "linear", "discriminant"]
ReadTarget = Callable[[Any, int, "Floats | None"], Any]

MISSING = ("error", "drop", "level")

ABSENT: Any = None  # the rows of a sample whose rows are not in memory


@dataclass(frozen=True, eq=False)
class PerRow:
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

    def at(self, rows: NDArray[np.intp]) -> PerRow:
        """What is given for some of the rows; what does not have one entry per row is the same for all."""
        metadata = {name: _at(value, rows) for name, value in self.metadata.items()}
        weights, offset, strata, groups = (_at(v, rows) for v in (self.weights, self.offset, self.strata, self.groups))
        return PerRow(weights, offset, strata, groups, metadata)

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
        Features that are included, excluded and selected together; those that cannot be features are excluded.
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
    """What a search uses of a table: the rows if they are in memory, or their moments.

    Attributes
    ----------
    table : Table
        The design matrix, with the names of its columns. This and the next ones are None if the rows are not in memory.
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
    moments : Moments
        Moments of the columns of the design matrix; None if the rows are in memory.
    source, layout, summary : Source, Layout, Summary
        Where the rows are read in blocks, what is read of it, and what the first pass found; None otherwise.
    """

    table: Table = ABSENT
    target: Any = ABSENT
    weights: Floats | None = None
    offset: Any = None
    strata: Any = None
    groups: Any = None
    rows: Bools | None = None
    features: Table | Frame = ABSENT
    moments: Moments = ABSENT
    source: Source = ABSENT
    layout: Layout = ABSENT
    summary: Summary = ABSENT

    @property
    def in_memory(self) -> bool:
        """Whether the rows are in memory."""
        return self.table is not None

    @property
    def n_passes(self) -> int | None:
        """Number of passes over the values so far, rounded up; None if they are not counted."""
        if self.source is not None:
            return self.source.n_passes
        return self.table.matrix.reads.n_passes or None if self.in_memory else None

    @property
    def weights_are_counts(self) -> bool:
        """Whether weights can be numbers of observations: there are none, or they are integers."""
        return are_counts(self.weights) if self.summary is None else self.summary.weights_are_counts

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


def _at(values: Any, rows: NDArray[Any]) -> Any:
    """Some rows of an array-like; a number, or None, is the same for all rows."""
    array = np.asarray(values)
    return array[rows] if array.ndim else values


def sample_of(
    X: Any,
    y: Any,
    rows: PerRow,
    given: Parameters,
    read_target: ReadTarget,
    *,
    ignore_separating: bool = False,
) -> Sample:
    """What a search uses of a table in memory: complete rows, with factors encoded.

    Parameters
    ----------
    X : array-like or frame of shape (n_samples, n_features)
        The features; if y or rows name columns of a frame, also these.
    y : array-like of shape (n_samples,) or (n_samples, n_targets), str or list of str
        The target, or the columns that contain it.
    rows : PerRow
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
    reader_notes, rounded = (X.notes, X.rounded) if isinstance(X, Frame) else ((), frozenset())
    target_names = ((y,) if isinstance(y, str) else tuple(y)) if isinstance(X, Frame) and _are_names(y) else None
    X, y, others = rows.split_from(X, y)
    target_names, table = target_names or _target_names(y), read(X)
    incomplete = None
    if given.missing == "drop":
        masks = (rows_without(values, table.n_rows) for values in others.values())
        incomplete = np.any([missing_targets(y, table.n_rows), *masks], axis=0)
    found = _Decisions.of(table.names, table.n_features, given)
    found.notes += reader_notes
    found.rounded = rounded
    if isinstance(table, Frame):
        source = Held(Block(table, incomplete=incomplete))
        found.refuse_mixed(table)
        found.read(source, Layout(source.names, (), missing=given.missing), None)
        kept = None
        if given.missing == "drop" and found.summary.n_rows < table.n_rows:
            used = found.layout.part(source.block_of(found.layout.columns)).rows
            assert used is not None
            kept = np.isin(np.arange(table.n_rows), used)
    else:
        kept = found.read_numbers(table, incomplete)
    if kept is not None:
        table, y = table.at(kept), as_values(y)[kept]
        others = {name: _at(values, kept) for name, values in others.items()}
    n_rows = table.n_rows
    for name in ("strata", "sample_groups"):
        refuse_missing_labels(name, others[name], n_rows)
    weights = as_weights(others["sample_weight"], n_rows)
    target = read_target(y, n_rows, weights)
    if isinstance(table, Frame):
        if ignore_separating and isinstance(target, Categorical):
            found.ignore_separating(lambda j: meeting(table.columns[j], found.levels[j] or (), target, weights))
        encoding: Encoding | None = Encoding(source.names, found.levels, given.missing == "level")
        assert encoding is not None
        design = Table(encoding.encode(table), encoding.column_names)
    else:
        encoding, design = None, _without_gaps(table, found.ignored)
    same = repeated(design.values) if isinstance(design.values, np.ndarray) else {}
    return Sample(
        names=table.names,
        n_features=table.n_features,
        encoding=encoding,
        choice=found.choice,
        target_names=target_names,
        notes=(*found.notes, *found.suspicions(encoding, same)),
        table=design,
        target=target,
        weights=weights,
        offset=others["offset"],
        strata=others["strata"],
        groups=others["sample_groups"],
        rows=kept,
        features=table,
    )


def sample_of_source(
    source: Source, y: Any, rows: PerRow, given: Parameters, model: Kind, *, ignore_separating: bool = False
) -> Sample:
    """What a search uses of a table that is read in blocks: its moments, from one pass.

    It is read again where a column that turns out to be no feature has missing values.

    Parameters
    ----------
    source : Source
    y : str or sequence of str
        The columns that contain the target.
    rows : PerRow
        The columns that contain weights and an offset.
    given : Parameters
        Parameters of the selection: `include`, `exclude`, `groups` and `missing`.
    model : {"auto", "linear", "discriminant"}
        Whether the target consists of numbers or class labels.
    ignore_separating : bool, default=False
        Whether factors that separate classes are ignored, with a note.

    Returns
    -------
    Sample
    """
    return settled(lambda: _read_source(source, y, rows, given, model, ignore_separating=ignore_separating))


def _read_source(
    source: Source, y: Any, rows: PerRow, given: Parameters, model: Kind, *, ignore_separating: bool
) -> Sample:
    layout = layout_of(source, y, rows, given.missing)
    names = layout.features if source.named else None
    found = _Decisions.of(names, len(layout.features), given)
    found.read(source, layout, model)
    found.notes[:0] = source.notes
    found.rounded = source.rounded
    summary = found.summary
    if summary.moments is None or summary.moments.n_rows <= 0:
        raise no_weights()
    target = next(column for column in source.columns if column.name == layout.targets[0])
    moments = _with_target(summary, target)
    keys = [(found.layout.read[i], level) for i, level in keys_of(summary.facts)]
    shown = layout.features if source.named else tuple(f"x{j}" for j in range(len(layout.features)))
    encoding, design = found.designed(moments, keys, shown, ignore_separating=ignore_separating)
    return Sample(
        names=names,
        n_features=len(layout.features),
        encoding=encoding,
        choice=found.choice,
        target_names=layout.targets if source.named else None,
        notes=(*found.notes, *found.suspicions(encoding, repeated_in(design))),
        moments=design,
        source=source,
        layout=found.layout,
        summary=summary,
    )


def first_pass(source: Source, y: Any, rows: PerRow, given: Parameters, model: Kind) -> Summarise:
    """The function of the blocks of a source whose results `sample_of_source` reads; see there."""
    layout = layout_of(source, y, rows, given.missing)
    found = _Decisions.of(layout.features if source.named else None, len(layout.features), given)
    found.plan(source, layout)
    return found.summarise(model)


def sample_of_moments(moments: Moments, given: Parameters) -> Sample:
    """What a search uses of Moments, which carry their target.

    Parameters
    ----------
    moments : Moments
    given : Parameters
        Parameters of the selection: `include`, `exclude` and `groups`.

    Returns
    -------
    Sample
    """
    if moments.factors is None:
        choice = as_choice(moments.n_features, moments.feature_names, given.include, given.exclude, given.groups)
        return Sample(
            moments.feature_names, moments.n_features, None, choice, moments.target_names, (), moments=moments
        )
    names = moments.features
    found = _Decisions.of(names, len(names), given)
    place = {name: j for j, name in enumerate(names)}
    keys = list[tuple[int, Any]]()
    for column, factor in zip(moments.feature_names or (), moments.factors, strict=True):
        keys.append((place[factor or column], column.removeprefix(f"{factor}=") if factor else None))
    levels = {j: tuple(level for i, level in keys if i == j and level is not None) for j in range(len(names))}
    found.levels = tuple(levels[j] or None for j in range(len(names)))
    encoding, design = found.designed(moments, keys, names, ignore_separating=moments.labels is not None)
    return Sample(names, len(names), encoding, found.choice, moments.target_names, tuple(found.notes), moments=design)


def _are_names(y: Any) -> bool:
    """Whether y consists of names of columns."""
    return isinstance(y, str) or (isinstance(y, list | tuple) and bool(y) and all(isinstance(v, str) for v in y))


def _target_names(y: Any) -> tuple[str, ...] | None:
    """Names of the columns of y, or the name of y, if they are strings."""
    name = getattr(y, "name", None)
    return (name,) if isinstance(name, str) else frame_names(y)


# --- decisions -------------------------------------------------------------------------------------------------------


@dataclass(eq=False)
class _Decisions:
    """What is decided about the features, while the facts become known.

    Attributes
    ----------
    names : Names
    choice : Choice
    named : frozenset of int
        Features that a parameter names, which are never ignored: they are used, or refused.
    missing : {"error", "drop", "level"}
    notes : list of str
    rounded : frozenset of str
        Columns of integers that lost digits when they were read.
    layout, summary : Layout, Summary
        What is read, and what the last pass found.
    facts : dict of int to Levels or Numbers
        Facts about the features that are considered; those of a table of numbers only where they are suspicious.
    levels : tuple of (tuple or None)
        Levels of each feature; None for a number, and none for what is ignored.
    kinds : tuple of ColumnType
        Types of the features.
    """

    names: Names
    choice: Choice
    named: frozenset[int]
    missing: Any
    n_features: int
    notes: list[str] = field(default_factory=list)
    rounded: frozenset[str] = frozenset()
    n_rows: int = 0
    layout: Layout = ABSENT
    summary: Summary = ABSENT
    facts: dict[int, Facts] = field(default_factory=dict)
    levels: tuple[tuple[Any, ...] | None, ...] = ()
    kinds: tuple[ColumnType, ...] = ()

    @classmethod
    def of(cls, names: tuple[str, ...] | None, n_features: int, given: Parameters) -> _Decisions:
        """Resolve the parameters."""
        if given.missing not in MISSING:
            raise ValueError(f"missing must be one of {', '.join(map(repr, MISSING))}; got {given.missing!r}")
        choice = as_choice(n_features, names, given.include, given.exclude, given.groups)
        groups = () if choice.members is None else (unit for unit in choice.members if len(unit) > 1)
        named = frozenset({*choice.features(choice.include), *(j for unit in groups for j in unit)})
        return cls(Names(names), choice, named, given.missing, n_features)

    @property
    def ignored(self) -> set[int]:
        """Features that are excluded, by a parameter or because they cannot be features."""
        return set(self.choice.features(self.choice.exclude))

    def ignore(self, features: Collection[int]) -> None:
        """Exclude features that no parameter names."""
        self.choice = self.choice.without(features)
        if features and len(self.ignored) == self.n_features:
            raise ValueError("no feature remains: every column of X is ignored or excluded; " + "; ".join(self.notes))

    # --- numbers alone -----------------------------------------------------------------------------------------------

    def read_numbers(self, table: Table, incomplete: Bools | None) -> Bools | None:
        """Decide about a table of numbers; returns the rows that are used, None if all are.

        Missing values are not searched for by default: the sums over the columns reveal them without another pass.
        """
        self._ignore_blank(_blank(table, self.ignored | self.named))
        kept = None
        if self.missing == "drop":
            used = sorted(set(range(self.n_features)) - self.ignored)
            gaps = table.matrix.gaps(None if len(used) == self.n_features else np.array(used, dtype=np.intp))
            absent = gaps.absent if incomplete is None else gaps.absent | incomplete
            lost = absent | gaps.infinite
            n_lost, kinds = int(lost.sum()), (bool(absent.any()), bool(gaps.infinite.any()))
            self._note_lost(n_lost, table.n_rows, *kinds)
            kept = ~lost if n_lost else None
        whole = table if kept is None else table.at(kept)
        self.n_rows = whole.n_rows
        self.facts = dict(suspects(whole, self.ignored))
        self.levels = (None,) * self.n_features
        return kept

    # --- columns of any type -----------------------------------------------------------------------------------------

    def read(self, source: Source, layout: Layout, model: Kind | None) -> None:
        """Read a source, and decide about its columns; again without those that are ignored, if they have gaps."""
        known, others = source.columns, (*layout.targets, layout.weights, layout.offset)
        source.confirm(layout.without(self.ignored).columns)
        if source.columns != known:
            raise TypesChangedError(f"{source.shown}: the types of columns change below the first rows; select again")
        self._refuse_problems(source, others)
        self.plan(source, layout)
        while True:
            self.summary = source.total(self.summarise(model), self.layout.columns)
            self._refuse_problems(source, others)
            self.facts = dict(zip(self.layout.read, self.summary.facts, strict=True))
            found = self._no_features()
            affected = any(fact.n_missing for j, fact in self.facts.items() if j in found)
            self._drop(found)
            if not affected or not (self.missing == "drop" or (self._is_refused() and source.can_reread)):
                break
        refuse_gaps(self.facts, self.summary.gaps, self.names, self.missing)
        gaps, n_read = self.summary.gaps, self.summary.n_read
        self.n_rows = self.summary.n_rows
        infinite = self.missing == "drop" and gaps["infinite"].n > 0
        absent = any(gaps[name].n for name in gaps if name not in ("infinite", "numbers"))
        absent |= any(isinstance(fact, Numbers) and fact.n_missing > fact.n_infinite for fact in self.facts.values())
        self._note_lost(n_read - self.n_rows, n_read, absent, infinite)
        self.levels = self._levels()

    def plan(self, source: Source, layout: Layout) -> None:
        """Decide what is read, from the types of the columns."""
        types = {column.name: column for column in source.columns}
        self.kinds = tuple(types[name] for name in layout.features)
        self._ignore_dates([j for j, kind in enumerate(self.kinds) if kind.kind in ("date", "object")])
        self.layout = layout.without(self.ignored)

    def summarise(self, model: Kind | None) -> Summarise:
        """The function of the blocks of a pass."""
        counted = frozenset(j for j, name in enumerate(self.names.names or ()) if names_units(name))
        return Summarise(self.layout, model, self.named, counted)

    def _no_features(self) -> list[int]:
        """Features that no parameter names and that turn out to be blank, dates or identifiers."""
        blank = [j for j, fact in self.facts.items() if self._is_blank(fact)]
        self._ignore_blank([j for j in blank if j not in self.named])
        dates = [j for j, fact in self.facts.items() if isinstance(fact, Levels) and _are_dates(fact)]
        self._ignore_dates(dates)
        skipped = {*blank, *dates}
        self._refuse_numerals()
        ids = {j: f for j, f in self.facts.items() if j not in skipped and j not in self.named and self._identifies(f)}
        if ids:
            found = [f"{self.names.label(j)} ({_n_levels(levels)} levels)" for j, levels in ids.items()]
            more = f" and {len(found) - MAX_LISTED} more" if len(found) > MAX_LISTED else ""
            shown = ", ".join(found[:MAX_LISTED])
            self.notes.append(f"ignored text columns with too many levels, probably identifiers: {shown}{more}")
            self.ignore(ids)
        return [j for j in (*blank, *dates, *ids) if j not in self.named]

    def _is_blank(self, fact: Facts) -> bool:
        """Whether every value is missing."""
        n_missing = fact.n_missing if isinstance(fact, Levels) else fact.n_missing - fact.n_infinite
        return n_missing == self.summary.n_read

    def _identifies(self, fact: Facts) -> bool:
        """Whether a factor has too many levels: more than 1000, or than half the rows for text."""
        if not isinstance(fact, Levels) or fact.is_boolean:
            return False
        n_seen = n_used = MAX_LEVELS + 1
        if fact.counts is not None:
            n_seen, n_used = sum(v is not Level.MISSING for v in fact.counts), len(fact.observed(None))
        limits = [(n_seen, self.summary.n_read), (n_used, self.summary.n_rows)]
        return any(n > (MAX_LEVELS if fact.declared else min(MAX_LEVELS, rows / 2)) for n, rows in limits)

    def _ignore_blank(self, features: Sequence[int]) -> None:
        if features:
            noun = "column" if len(features) == 1 else "columns"
            self.notes.append(f"ignored blank {noun}: {self.names.listed(features)}")
            self.ignore(features)

    def _ignore_dates(self, features: Sequence[int]) -> None:
        """Ignore columns with dates or lists, and refuse those that a parameter names."""
        if refused := [j for j in features if j in self.named]:
            hold = "holds" if len(refused) == 1 else "hold"
            shown = self.names.listed(refused)
            raise ValueError(f"{shown} {hold} dates or lists, which cannot be features; derive numbers first")
        if found := [j for j in features if j not in self.ignored]:
            shown = self.names.listed(found)
            self.notes.append(f"ignored columns with dates or lists: {shown} (derive numbers such as the year)")
            self.ignore(found)

    def _drop(self, features: Collection[int]) -> None:
        """The layout and the summary without some features."""
        if not features:
            return
        kept = [i for i, j in enumerate(self.layout.read) if j not in features]
        moments = self.summary.moments
        if moments is not None:
            place = {key: i for i, key in enumerate(key for key in keys_of(self.summary.facts) if key[0] in set(kept))}
            positions = np.array([place.get(key, -1) for key in keys_of(self.summary.facts)], dtype=np.intp)
            moments = placed(moments, positions, len(place))
        self.summary = replace(self.summary, facts=tuple(self.summary.facts[i] for i in kept), moments=moments)
        self.layout = self.layout.without(features)
        self.facts = {j: fact for j, fact in self.facts.items() if j not in features}

    def _levels(self) -> tuple[tuple[Any, ...] | None, ...]:
        """Levels of each feature: None for a number, and none for a feature that is ignored."""
        levels: list[tuple[Any, ...] | None] = []
        for j, kind in enumerate(self.kinds):
            fact = self.facts.get(j)
            if isinstance(fact, Levels) and not (fact.is_boolean and not fact.n_missing):
                levels.append(tuple(fact.observed(kind.order)))
            else:
                levels.append(None if fact is not None or kind.kind in ("number", "boolean") else ())
        if any(found is not None for found in levels):  # what is ignored has no levels, whatever its type
            return tuple(() if j not in self.facts else found for j, found in enumerate(levels))
        return tuple(levels)

    # --- refusals ----------------------------------------------------------------------------------------------------

    def refuse_mixed(self, frame: Frame) -> None:
        """Raise if a column has values of several types."""
        unusable = {j: c for j, c in enumerate(frame.columns) if isinstance(c, Unusable) and not c.problem}
        mixed = {j: column for j, column in unusable.items() if column not in (DATES, OBJECTS)}
        refuse(self.names, {j: column for j, column in mixed.items() if j not in self.ignored})

    def _refuse_problems(self, source: Source, others: Collection[str | None]) -> None:
        """Raise for columns that seem to be meant as numbers, but cannot be read as such."""
        ignored = {self.names.names[j] for j in self.ignored} if self.names.names else set[str]()
        needed = [column for column in source.columns if column.name in others]
        unused = {*others, *ignored}
        refuse_problems(needed, [column for column in source.columns if column.name not in unused])

    def _refuse_numerals(self) -> None:
        """Raise if most values of a text column are numbers."""
        refuse(
            self.names,
            {
                j: numerals_as_text(fact.numeral, fact.other)
                for j, fact in self.facts.items()
                if isinstance(fact, Levels) and 2 * fact.n_numerals > fact.n_values
            },
        )

    def _is_refused(self) -> bool:
        """Whether a feature that is considered has gaps that are neither dropped nor a level."""
        kinds = (Numbers,) if self.missing == "level" else (Numbers, Levels)
        return any(fact.n_missing and isinstance(fact, kinds) for fact in self.facts.values())

    def _note_lost(self, n_lost: int, n_read: int, absent: bool, infinite: bool) -> None:
        """Note the rows that are ignored."""
        if not n_lost or self.missing != "drop":
            return
        why = f"values are {' or '.join(['missing'] * absent + ['infinite'] * infinite)}"
        if n_lost == n_read:
            raise ValueError(f"none of the {n_read} rows is complete, because {why}; exclude the columns concerned")
        self.notes.append(f"ignored {n_lost} of {n_read} rows, because {why}")

    # --- factors and moments -----------------------------------------------------------------------------------------

    def ignore_separating(self, met: Callable[[int], Bools]) -> None:
        """Ignore factors that separate classes perfectly, given which levels and classes occur together."""
        found = [j for j, levels in enumerate(self.levels) if levels and is_disconnected(met(j))]
        if found:
            self.notes.append(separating_note(self.names, found))
            self.levels = tuple(() if j in found else levels for j, levels in enumerate(self.levels))

    def designed(
        self,
        moments: Moments,
        keys: Sequence[tuple[int, Any]],
        names: tuple[str, ...],
        *,
        ignore_separating: bool,
    ) -> tuple[Encoding | None, Moments]:
        """The encoding, and the moments of the design matrix from those of every number and level."""
        place = {key: i for i, key in enumerate(keys)}
        if ignore_separating and moments.labels is not None:
            present = moments.counts > 0

            def met(j: int) -> Bools:
                return np.asarray(
                    moments.means[:, [place[j, level] for level in self.levels[j] or ()]].T[:, present] > 0
                )

            self.ignore_separating(met)
        encoding = Encoding(names, self.levels, self.missing == "level")
        positions = np.full(moments.n_features, -1, dtype=np.intp)
        for j, levels in enumerate(self.levels):
            wanted = (
                [(j, level) for level in levels[1:]] if levels else [(j, None), (j, True)] if levels is None else []
            )
            at = [place[key] for key in wanted if key in place]
            positions[at] = list(encoding.columns(j))[: len(at)]
        design = placed(moments, positions, encoding.n_columns)
        refuse_extreme(design, encoding.column_names)
        return encoding if any(found is not None for found in self.levels) else None, design

    def suspicions(self, encoding: Encoding | None, same: Mapping[int, int]) -> Iterator[str]:
        """Notes on identifiers, marks of test rows, repeated columns, and integers that lose digits."""
        if not (self.facts or same or self.rounded):
            return
        used = {j: fact for j, fact in self.facts.items() if self.levels[j] != ()}
        yield from suspicions(used, self.n_rows, self.names.names)
        yield from duplicates_note(same, encoding, self.names, self.ignored)
        found = {j for j, name in enumerate(self.names.names or ()) if name in self.rounded}
        large = sorted((found - self.ignored) | {j for j, fact in used.items() if _loses_digits(fact)})
        if self.names.names is not None and large:
            yield digits_note(self.names, large)


def digits_note(names: Names, features: Sequence[int]) -> str:
    """The note on integers that lose digits in double precision."""
    hold = "holds" if len(features) == 1 else "hold"
    return (
        f"{names.listed(features)} {hold} integers that lose digits in double precision (for identifiers, use "
        f"{names.exclude(features)}; for categories, convert them to a categorical type)"
    )


def refuse_problems(needed: Sequence[ColumnType], features: Sequence[ColumnType]) -> None:
    """Raise for columns that seem to be meant as numbers, but cannot be read as such; features may be excluded."""
    for columns, exclude in ((needed, False), (features, True)):
        if bad := [column for column in columns if column.problem]:
            names = [column.name for column in bad[:MAX_LISTED]]
            raise ValueError(bad[0].problem + (f", or exclude it (exclude={names})" if exclude else ""))


def refuse_gaps(facts: Mapping[int, Facts], gaps: Mapping[str, RowCount], names: Names, missing: str) -> None:
    """Raise for values that are missing or infinite where these are neither dropped nor a level."""
    if missing == "drop":
        return
    if bad := [j for j, fact in facts.items() if isinstance(fact, Numbers) and fact.n_missing]:
        raise missing_error(names, bad, gaps["numbers"].n, gaps["numbers"].shown)
    bad = [j for j, fact in facts.items() if isinstance(fact, Levels) and fact.n_missing]
    if bad and missing == "error":
        first = gaps["factors"]
        rows = f"{first.n} row{'' if first.n == 1 else 's'}"
        raise ValueError(
            f"{first.shown}: X contains missing values in {names.listed(bad)} ({rows} in total); use "
            "missing='level' to make them a level of their own, or missing='drop' to ignore these rows"
        )
    errors = {"sample_weight": missing_weights, "y": missing_target, "offset": missing_offset}
    for name, error in errors.items():
        if name in gaps and gaps[name].n:
            raise error(gaps[name].n, gaps[name].shown)


def _n_levels(levels: Facts) -> str:
    counts = levels.counts if isinstance(levels, Levels) else None
    return f"more than {MAX_LEVELS}" if counts is None else str(len(counts))


def _are_dates(levels: Levels) -> bool:
    """Whether all values of a text column are dates."""
    return not levels.declared and 0 < levels.n_values == levels.n_dates


def _loses_digits(fact: Facts) -> bool:
    """Whether a column has integers of up to 64 bits that double precision may not represent."""
    if not isinstance(fact, Numbers) or not (fact.whole and fact.n):
        return False
    return bool(MAX_EXACT < max(-fact.low, fact.high) < 2.0**64)


# --- rows ------------------------------------------------------------------------------------------------------------


def refuse_missing_labels(parameter: str, labels: Any, n_rows: int) -> None:
    """Raise if a row has no label: missing values would form a stratum or a group of rows that have nothing in common.

    Parameters
    ----------
    parameter : str
        Name of the parameter that contains the labels.
    labels : array-like of shape (n_samples,) or None
    n_rows : int
        Number of rows.
    """
    if labels is not None and (n := int(rows_without(labels, n_rows).sum())):
        raise ValueError(
            f"{parameter} has {n} missing value{'' if n == 1 else 's'}; remove these rows, as missing='drop' does, or "
            "give them labels"
        )


def rows_without(values: Any, n_rows: int) -> Bools:
    """Rows without a value in an array-like; none if it is not one value per row."""
    given = np.asarray(values, dtype=object)
    if given.shape != (n_rows,):
        return np.zeros(n_rows, dtype=bool)
    return np.array([is_missing(value) for value in given], dtype=bool)


def _blank(table: Table, skipped: Collection[int]) -> list[int]:
    """Columns of an array without any value."""
    values = table.values
    if not (isinstance(values, np.ndarray) and values.dtype.kind == "f"):
        return []
    absent = np.isnan(values[0])
    if not absent.any():
        return []
    candidates = (j for j in np.flatnonzero(absent).tolist() if j not in skipped)
    return [j for j in candidates if np.isnan(values[:, j]).all()]


def _without_gaps(table: Table, excluded: Collection[int]) -> Table:
    """Zeros in excluded columns that have missing values, which would make sums over blocks of columns undefined."""
    at = np.array(sorted(excluded), dtype=np.intp)
    bad = at[table.matrix.gaps(at).columns] if len(at) else at
    if not len(bad):
        return table
    zeroed = table.matrix.zeroed(bad)
    return Table(zeroed.values if isinstance(zeroed, Dense) else zeroed, table.names)


# --- roles of the columns of a source --------------------------------------------------------------------------------


def layout_of(source: Source, y: Any, rows: PerRow, missing: str) -> Layout:
    """The layout that y, sample_weight and offset describe, which are names of columns.

    Parameters
    ----------
    source : Source
    y : str or sequence of str
    rows : PerRow
    missing : {"error", "drop", "level"}

    Returns
    -------
    Layout
    """
    if not _are_names(y):
        got = "None" if y is None else type(y).__name__
        raise ValueError(f"y must be the name of a column, or several, where X is read in blocks of rows; got {got}")
    targets = (y,) if isinstance(y, str) else tuple(y)
    named = {"sample_weight": rows.weights, "offset": rows.offset}
    for parameter, value in named.items():
        if value is not None and not isinstance(value, str):
            raise ValueError(
                f"{parameter} must be the name of a column where X is read in blocks of rows; got "
                f"{type(value).__name__}"
            )
    for parameter, name in (*(("y", target) for target in targets), *named.items()):
        if name is not None:
            check_name(parameter, name, source.names)
    taken = {*targets, *named.values()}
    features = tuple(name for name in source.names if name not in taken)
    if not features:
        raise ValueError(f"{source.shown} has no feature: every column is a target, weight or offset")
    return Layout(features, targets, rows.weights, rows.offset, frozenset(), missing)


def _with_target(summary: Summary, target: ColumnType) -> Moments:
    """Moments by class or of a regression, decided from all rows; labels of the type of the column."""
    moments = summary.moments
    assert moments is not None
    if moments.labels is None:
        return moments
    labels = moments.labels
    if target.whole and labels.dtype.kind == "f" and np.abs(labels).max(initial=0.0) < MAX_EXACT:
        labels = labels.astype(np.int64)
    if summary.undecided and not is_categorical(labels, moments.n_rows):
        return as_regression(moments)
    return replace(moments, labels=labels)
