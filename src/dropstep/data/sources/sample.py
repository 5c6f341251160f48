"""The sample of a row source: names, levels, encoding and moments as they would be in memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from dropstep.data.encoding import Encoding
from dropstep.data.factor import DATES, OBJECTS, Column, Level, numerals_as_text
from dropstep.data.frame import Frame
from dropstep.data.groups import Choice, as_choice
from dropstep.data.leakage import (
    MAX_LEVELS,
    ROUNDING,
    Numbers,
    determining_note,
    identifiers_note,
    is_disconnected,
    separating_note,
    summary_notes,
)
from dropstep.data.missing import MISSING
from dropstep.data.moments import Moments, refuse_extreme
from dropstep.data.rearrange import as_regression, placed
from dropstep.data.sample import Features, PerRow
from dropstep.data.source import ColumnType, Source, TypesChangedError
from dropstep.data.sources.layout import Layout, layout_of
from dropstep.data.sources.summary import Levels, Summarise, Summary
from dropstep.data.target import is_categorical
from dropstep.parameters import Parameters

Model = Literal["auto", "linear", "discriminant"]


@dataclass(frozen=True, eq=False)
class SourceSample(Features):
    """What a search uses of a row source after the first pass.

    Attributes
    ----------
    source : Source
    layout : Layout
        What further passes read.
    moments : Moments
        Of the columns of the design matrix.
    summary : Summary
        What the first pass found.
    """

    source: Source
    layout: Layout
    moments: Moments
    summary: Summary

    @property
    def n_passes(self) -> int:
        return self.source.n_passes

    @property
    def weights_are_counts(self) -> bool:
        return self.summary.weights_are_counts


def source_sample(
    source: Source, y: Any, rows: PerRow, given: Parameters, model: Model, *, least_squares: bool = False
) -> SourceSample:
    """Read a source once, or again where a factor that turns out to identify the rows has missing values.

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
    least_squares : bool, default=False
        Whether factors that separate classes are ignored, with a note, and features that determine the target noted.

    Returns
    -------
    SourceSample
    """
    try:
        return _read_sample(source, y, rows, given, model, least_squares=least_squares)
    except TypesChangedError:
        return _read_sample(source, y, rows, given, model, least_squares=least_squares)


def _read_sample(
    source: Source, y: Any, rows: PerRow, given: Parameters, model: Model, *, least_squares: bool
) -> SourceSample:
    """The sample of a source whose types are known."""
    first = prepared(source, y, rows, given, model)
    layout, choice, notes = first.layout, first.choice, list[str]()
    while True:
        summary = source.total(Summarise(layout, model, first.named), layout.columns)
        found = _identifying(summary, layout, first.named)
        _refuse_numerals(summary, layout, first.names)
        if not found:
            break
        notes.append(identifiers_note(Frame((), 0, first.names), {j: _n_levels(v) for j, v in found.items()}))
        choice = choice.without(found)
        again = given.missing == "drop" and any(levels.n_missing for levels in found.values())
        summary, layout = _without(summary, layout, found), layout.without(found)
        if not again:
            break
    _refuse_gaps(summary, layout, first.names)
    notes += _ignored_note(summary)
    finished = _Finished(summary, layout, first.kinds, first.names)
    return finished.sample(source, choice, notes, least_squares=least_squares)


@dataclass(frozen=True, eq=False)
class Prepared:
    """What is known of a selection from a source before it is read.

    Attributes
    ----------
    layout : Layout
    choice : Choice
    kinds : tuple of ColumnType
        Types of the features.
    names : tuple of str or None
        Names of the features.
    named : frozenset of int
        Features that a parameter names, which are used however many levels they have.
    """

    layout: Layout
    choice: Choice
    kinds: tuple[ColumnType, ...]
    names: tuple[str, ...] | None
    named: frozenset[int]


def prepared(source: Source, y: Any, rows: PerRow, given: Parameters, model: Model) -> Prepared:
    """Resolve the parameters of a selection from a source; see `source_sample`."""
    if given.missing not in MISSING:
        raise ValueError(f"missing must be one of {', '.join(map(repr, MISSING))}; got {given.missing!r}")
    layout = layout_of(source, y, rows, given.missing)
    names = layout.features if source.named else None
    choice = as_choice(len(layout.features), names, given.include, given.exclude, given.groups)
    types = {column.name: column for column in source.columns}
    kinds = tuple(types[name] for name in layout.features)
    excluded = set(choice.features(choice.exclude))
    _refuse_unusable(kinds, names, excluded)
    return Prepared(layout.without(excluded), choice, kinds, names, _named(choice))


def _named(choice: Choice) -> frozenset[int]:
    """Features that a parameter names, which are used however many levels they have."""
    groups = () if choice.members is None else (unit for unit in choice.members if len(unit) > 1)
    return frozenset({*choice.features(choice.include), *(j for unit in groups for j in unit)})


def _facts_by_feature(summary: Summary, layout: Layout) -> dict[int, Levels | Numbers]:
    return dict(zip(layout.read, summary.facts, strict=True))


def _identifying(summary: Summary, layout: Layout, named: frozenset[int]) -> dict[int, Levels]:
    """Factors with too many levels: more than 1000, or than half the rows for text."""
    found = {}
    for j, levels in _facts_by_feature(summary, layout).items():
        if not isinstance(levels, Levels) or j in named or levels.is_boolean:
            continue
        n_seen = MAX_LEVELS + 1 if levels.counts is None else sum(v is not Level.MISSING for v in levels.counts)
        n_used = MAX_LEVELS + 1 if levels.counts is None else len(levels.observed(None))
        limits = [(n_seen, summary.n_read), (n_used, summary.n_rows)]
        if any(n > (MAX_LEVELS if levels.declared else min(MAX_LEVELS, rows / 2)) for n, rows in limits):
            found[j] = levels
    return found


def _n_levels(levels: Levels) -> str:
    return f"more than {MAX_LEVELS}" if levels.counts is None else str(len(levels.counts))


def _without(summary: Summary, layout: Layout, features: dict[int, Levels]) -> Summary:
    """The summary without some of the features that were read."""
    kept = [i for i, j in enumerate(layout.read) if j not in features]
    widths = [1 if isinstance(f, Numbers) else f.n_columns for f in summary.facts]
    positions = np.full(sum(widths), -1, dtype=np.intp)
    starts, at = np.concatenate([[0], np.cumsum(widths)]), 0
    for i in kept:
        positions[starts[i] : starts[i + 1]] = np.arange(at, at + widths[i])
        at += widths[i]
    facts = tuple(summary.facts[i] for i in kept)
    return replace(summary, facts=facts, moments=placed(summary.moments, positions, at))


# --- refusals --------------------------------------------------------------------------------------------------------


def _refuse_unusable(kinds: Sequence[ColumnType], names: tuple[str, ...] | None, excluded: set[int]) -> None:
    """Raise for dates and objects that are not excluded, before anything is read."""
    unusable: dict[str, Column] = {"date": DATES, "object": OBJECTS}
    columns = tuple(unusable.get(kind.kind, np.empty(0)) for kind in kinds)
    Frame(columns, 0, names).refuse_unusable(excluded)


def _refuse_numerals(summary: Summary, layout: Layout, names: tuple[str, ...] | None) -> None:
    """Raise if most values of a text column are numbers."""
    columns: list[Column] = [np.empty(0) for _ in layout.features]
    for j, levels in _facts_by_feature(summary, layout).items():
        if isinstance(levels, Levels) and 2 * levels.n_numerals > levels.n_values:
            columns[j] = numerals_as_text(levels.numeral, levels.other)
    Frame(tuple(columns), 0, names).refuse_unusable(())


def _refuse_gaps(summary: Summary, layout: Layout, names: tuple[str, ...] | None) -> None:
    """Raise if a factor has missing values that are neither dropped nor a level."""
    if layout.missing != "error":
        return
    table = Frame((), 0, names)
    for j, levels in _facts_by_feature(summary, layout).items():
        if isinstance(levels, Levels) and levels.n_missing:
            more = f" ({levels.n_missing} rows in total)" if levels.n_missing > 1 else ""
            raise ValueError(
                f"{levels.gap}: X contains missing values in {table.label(j)}{more}; use missing='level' to make them "
                "a level of their own, or missing='drop' to ignore these rows"
            )


def _ignored_note(summary: Summary) -> list[str]:
    n_ignored = summary.n_read - summary.n_rows
    if not n_ignored:
        return []
    kinds = ["missing"] * summary.absent + ["infinite"] * summary.infinite
    why = f"values are {' or '.join(kinds)}"
    if not summary.n_rows:
        raise ValueError(f"none of the {summary.n_read} rows is complete, because {why}; exclude the columns concerned")
    return [f"ignored {n_ignored} of {summary.n_read} rows, because {why}"]


# --- the result ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Finished:
    """A complete summary, from which the columns of the design matrix are taken."""

    summary: Summary
    layout: Layout
    kinds: tuple[ColumnType, ...]
    names: tuple[str, ...] | None

    def sample(
        self,
        source: Source,
        choice: Choice,
        notes: list[str],
        *,
        least_squares: bool,
    ) -> SourceSample:
        """The sample, with the notes that moments allow."""
        facts = _facts_by_feature(self.summary, self.layout)
        starts = self._starts()
        target = next(column for column in source.columns if column.name == self.layout.targets[0])
        moments = _with_target(self.summary, target)
        if moments.n_rows <= 0:
            raise ValueError("sample_weight is zero for every row; at least one weight must be positive")
        levels = self._levels(facts)
        frame = Frame((), 0, self.names)
        separating: list[int] = []
        if least_squares and moments.labels is not None:
            separating = [j for j in facts if levels[j] and self._separates(moments, starts[j], levels[j], facts[j])]
        if separating:
            notes.append(separating_note(frame, separating))
        ignored = set(separating)
        levels = tuple(() if j in ignored else found for j, found in enumerate(levels))
        names = self.layout.features if source.named else tuple(f"x{j}" for j in range(len(levels)))
        encoding = Encoding(names, levels, self.layout.missing == "level")
        design = self._design(moments, encoding, facts, starts)
        refuse_extreme(design, encoding.column_names)
        used = encoding if any(found is not None for found in levels) else None
        numbers = {j: found for j, found in facts.items() if isinstance(found, Numbers) and levels[j] is None}
        notes += summary_notes(numbers, used, self.names)
        if least_squares and (found := list(_determining(design, encoding))):
            notes.append(determining_note(Frame((), 0, self.names), found))
        return SourceSample(
            names=self.names,
            n_features=len(self.layout.features),
            encoding=used,
            choice=choice,
            target_names=self.layout.targets if source.named else None,
            notes=tuple(notes),
            source=source,
            layout=self.layout,
            moments=design,
            summary=self.summary,
        )

    def _starts(self) -> dict[int, int]:
        """First column of the summary's moments of each feature that is read."""
        widths = [1 if isinstance(f, Numbers) else f.n_columns for f in self.summary.facts]
        return dict(zip(self.layout.read, np.cumsum([0, *widths]).tolist()[:-1], strict=True))

    def _levels(self, facts: dict[int, Levels | Numbers]) -> tuple[tuple[Any, ...] | None, ...]:
        """Levels of each feature as in memory: None for a number, and none for a feature that is ignored."""
        levels: list[tuple[Any, ...] | None] = []
        for j, kind in enumerate(self.kinds):
            found = facts.get(j)
            if isinstance(found, Levels) and not (found.is_boolean and not found.n_missing):
                levels.append(tuple(found.observed(kind.order)))
            else:
                levels.append(None if found is not None or kind.kind in ("number", "boolean") else ())
        if any(found is not None for found in levels):  # a frame, in which all features that are ignored have no levels
            return tuple(() if j in self.layout.unread else found for j, found in enumerate(levels))
        return tuple(levels)

    def _places(self, found: Levels | Numbers, start: int, levels: tuple[Any, ...] | None) -> list[int]:
        """Columns of the summary's moments that encode a feature; -1 for a column of zeros."""
        if isinstance(found, Numbers):
            return [start]
        place = {level: start + i for i, level in enumerate(found.counts or ())}
        if levels is None:  # booleans that are numbers
            return [place.get(True, -1)]
        return [place[level] for level in levels[1:]] or [-1]

    def _design(
        self, moments: Moments, encoding: Encoding, facts: dict[int, Levels | Numbers], starts: dict[int, int]
    ) -> Moments:
        """Moments of the columns of the design matrix."""
        positions = np.full(moments.n_features, -1, dtype=np.intp)
        for j, found in facts.items():
            places = self._places(found, starts[j], encoding.levels[j])
            for column, place in zip(encoding.columns(j), places, strict=True):
                if place >= 0:
                    positions[place] = column
        return placed(moments, positions, encoding.n_columns)

    def _separates(self, moments: Moments, start: int, levels: Any, found: Levels | Numbers) -> bool:
        """Whether a factor separates some classes from the others."""
        assert isinstance(found, Levels)
        place = {level: start + i for i, level in enumerate(found.counts or ())}
        met = moments.means[:, [place[level] for level in levels]].T > 0
        return is_disconnected(met[:, moments.counts > 0])


def _with_target(summary: Summary, target: ColumnType) -> Moments:
    """Moments by class or of a regression, decided from all rows; labels of the type of the column."""
    moments = summary.moments
    if moments.labels is None:
        return moments
    if summary.undecided and not is_categorical(moments.labels, moments.n_rows):
        return as_regression(moments)
    if target.whole and moments.labels.dtype.kind == "f" and np.abs(moments.labels).max() < 2**53:
        return replace(moments, labels=moments.labels.astype(np.int64))
    return moments


def _determining(design: Moments, encoding: Encoding) -> Iterator[int]:
    """Features that determine a target: a linear function of it, or one value of the target per level."""
    if design.labels is not None:
        return
    p, n = design.n_features, design.n_rows
    squares, targets = np.diagonal(design.scatter)[:p], np.diagonal(design.scatter)[p:]
    cross = design.scatter[:p, p:]
    with np.errstate(divide="ignore", invalid="ignore"):
        r2 = cross**2 / (squares[:, None] * targets)
        shares = n * design.means[0, :p]
        explained = cross**2 / shares[:, None]
    for j, levels in enumerate(encoding.levels):
        at = encoding.columns(j)
        if levels is None or len(levels) == 2:
            is_exact = r2[at.start] >= 1 - ROUNDING
        elif len(levels) > 2:
            others = explained[at.start : at.stop]
            first = cross[at.start : at.stop].sum(axis=0) ** 2 / (n - shares[at.start : at.stop].sum())
            is_exact = others.sum(axis=0) + first >= (1 - ROUNDING) * targets
        else:
            continue
        if np.any(is_exact & (targets > 0)):
            yield j
