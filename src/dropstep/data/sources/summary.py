"""What one pass over the rows finds out: the levels of factors, facts about numbers, and the moments."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from dropstep.data.factor import Column, Factor, Level, Unusable, is_numeral, sorted_levels
from dropstep.data.leakage import MAX_LEVELS, N_FIRST, Numbers
from dropstep.data.moments import Moments, of_block
from dropstep.data.rearrange import as_regression, placed
from dropstep.data.source import Block, Origin
from dropstep.data.sources.layout import Layout, Part
from dropstep.data.sources.targets import class_rows, rows_of_target, target_of
from dropstep.data.table import are_counts
from dropstep.data.target import MAX_CLASSES, Categorical, Continuous, Target

Floats = NDArray[np.float64]

BLOCK_SIZE = 2**22  # numbers of the design matrix of a block that are in memory at a time


@dataclass(frozen=True, eq=False)
class Levels:
    """A factor, as far as it was read.

    Attributes
    ----------
    counts : dict of level to int, or None
        Number of complete rows of each level; None if there are too many levels, so that the factor is ignored.
    declared : bool
        Whether the type of the column is categorical, rather than text.
    n_missing : int
        Number of rows without a value.
    gap : str
        A row without a value; empty if there is none.
    n_values, n_numerals : int
        Number of rows with a value, and of those whose text is a number.
    numeral, other : str or None
        A text that is a number, and one that is not.
    """

    counts: dict[Any, int] | None
    declared: bool
    n_missing: int = 0
    gap: str = ""
    n_values: int = 0
    n_numerals: int = 0
    numeral: Any = None
    other: Any = None

    @property
    def n_columns(self) -> int:
        """Number of columns of the moments: one per level."""
        return 0 if self.counts is None else len(self.counts)

    @property
    def is_boolean(self) -> bool:
        """Whether all levels are True and False."""
        levels = [level for level in self.counts or {None: 0} if level is not Level.MISSING]
        return all(isinstance(level, bool) for level in levels)

    def observed(self, order: Sequence[Any] | None) -> list[Any]:
        """Levels that occur in complete rows, in their order; missing values last."""
        levels = [level for level, count in (self.counts or {}).items() if count]
        missing = [level for level in levels if level is Level.MISSING]
        present = {level for level in levels if level is not Level.MISSING}
        return [*(sorted_levels(present) if order is None else [v for v in order if v in present]), *missing]

    def __add__(self, other: Levels) -> Levels:
        counts = None
        if self.counts is not None and other.counts is not None:
            counts = {**self.counts}
            for level, count in other.counts.items():
                counts[level] = counts.get(level, 0) + count
        return Levels(
            counts,
            self.declared and other.declared,
            self.n_missing + other.n_missing,
            min(filter(None, (self.gap, other.gap)), default=""),
            self.n_values + other.n_values,
            self.n_numerals + other.n_numerals,
            self.numeral if self.numeral is not None else other.numeral,
            self.other if self.other is not None else other.other,
        )

    def limited(self) -> Levels:
        """The same, without its levels if there are too many."""
        too_many = self.counts is not None and len(self.counts) > MAX_LEVELS
        return replace(self, counts=None) if too_many else self


Facts = Levels | Numbers


@dataclass(frozen=True, eq=False)
class Summary:
    """What is known of the rows of a source after one pass over them; summaries of disjoint rows can be added.

    Attributes
    ----------
    n_read, n_rows : int
        Number of rows, and of those that are complete.
    absent, infinite : bool
        Why rows were ignored.
    facts : tuple of Levels or Numbers
        What is known of the features that were read.
    moments : Moments
        Moments of the columns that encode them: a number by itself, a factor by one column per level.
    undecided : bool
        Whether a target of numbers may be class labels or not, which is decided from all rows.
    low, high : ndarray of shape (n_targets,)
        Smallest and largest values of the targets that are numbers, in complete rows.
    class_rows : dict of label to int
        Number of complete rows of each class, whatever their weights; empty for a regression.
    weights_are_counts : bool
        Whether weights are integers.
    named : frozenset of int
        Positions of the features whose number of levels is not limited.
    """

    n_read: int
    n_rows: int
    absent: bool
    infinite: bool
    facts: tuple[Facts, ...]
    moments: Moments
    undecided: bool
    low: Floats
    high: Floats
    class_rows: dict[Any, int]
    weights_are_counts: bool = True
    named: frozenset[int] = frozenset()

    @cached_property
    def _keys(self) -> list[tuple[int, Any]]:
        """Feature and level of each column of the moments."""
        return list(keys_of(self.facts))

    def __add__(self, other: Summary) -> Summary:
        joined = [_joined(a, b) for a, b in zip(self.facts, other.facts, strict=True)]
        facts = [f.limited() if isinstance(f, Levels) and j not in self.named else f for j, f in enumerate(joined)]
        place = {key: i for i, key in enumerate(keys_of(facts))}
        a, b = same_form(self.moments, other.moments, few=self.undecided)
        return replace(
            self,
            n_read=self.n_read + other.n_read,
            n_rows=self.n_rows + other.n_rows,
            absent=self.absent or other.absent,
            infinite=self.infinite or other.infinite,
            facts=tuple(facts),
            low=np.minimum(self.low, other.low),
            high=np.maximum(self.high, other.high),
            weights_are_counts=self.weights_are_counts and other.weights_are_counts,
            class_rows={} if a.labels is None else dict(Counter(self.class_rows) + Counter(other.class_rows)),
            moments=_placed(a, self._keys, place) + _placed(b, other._keys, place),
        )


def keys_of(facts: Sequence[Facts]) -> Iterator[tuple[int, Any]]:
    """Feature and level of each column that encodes some features."""
    for j, found in enumerate(facts):
        if isinstance(found, Numbers):
            yield j, None
        else:
            yield from ((j, level) for level in found.counts or ())


def _joined(a: Facts, b: Facts) -> Facts:
    if isinstance(a, Levels) and isinstance(b, Levels):
        return a + b
    if isinstance(a, Numbers) and isinstance(b, Numbers):
        return a + b
    raise ValueError("a column has numbers in some blocks of rows, and text in others; convert it to one type")


def _placed(moments: Moments, keys: list[tuple[int, Any]], place: dict[tuple[int, Any], int]) -> Moments:
    """Moments of more columns, those of other blocks."""
    if list(place) == keys:
        return moments
    return placed(moments, np.array([place.get(key, -1) for key in keys], dtype=np.intp), len(place))


def same_form(a: Moments, b: Moments, *, few: bool) -> tuple[Moments, Moments]:
    """Moments of which both are by class, or both of a regression; `few` makes many classes a regression."""
    if (a.labels is None) != (b.labels is None):
        return as_regression(a), as_regression(b)
    if few and a.labels is not None and b.labels is not None and len(np.union1d(a.labels, b.labels)) > MAX_CLASSES:
        return as_regression(a), as_regression(b)
    return a, b


# --- one block -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Summarise:
    """Summarises a block of rows.

    Attributes
    ----------
    layout : Layout
    model : {"auto", "linear", "discriminant"}
        How the target is read; "auto" decides from all rows, so that numbers that may be class labels are kept by class
        as long as there are few.
    named : frozenset of int
        Features that a parameter names, whose number of levels is not limited.
    """

    layout: Layout
    model: Literal["auto", "linear", "discriminant"] = "auto"
    named: frozenset[int] = frozenset()

    def __call__(self, block: Block) -> Summary:
        part = self.layout.part(block)
        read = self.layout.read
        named = frozenset(i for i, j in enumerate(read) if j in self.named)
        columns = [_ready(column, self.layout.missing) for column in part.features]
        facts = tuple(
            _facts(column, block.frame.columns[i], block.origin, limited=i not in named)
            for i, column in enumerate(columns)
        )
        target, present = target_of(part, self.model, self.layout.targets)
        moments = self._moments(columns, facts, target, part, present)
        self._refuse_missing(part, moments, facts)
        values = [np.asarray(c, dtype=np.float64) for c in part.targets if isinstance(c, np.ndarray)]
        return Summary(
            part.n_read,
            part.n_rows,
            part.absent,
            part.infinite,
            facts,
            moments,
            self.model == "auto" and (isinstance(target, Continuous) or target.labels.dtype.kind in "iuf"),
            np.array([v.min(initial=np.inf) for v in values]),
            np.array([v.max(initial=-np.inf) for v in values]),
            class_rows(part.targets[0]) if isinstance(target, Categorical) else {},
            are_counts(part.weights),
            named,
        )

    def _moments(
        self, columns: list[Column], facts: Sequence[Facts], target: Target, part: Part, present: NDArray[np.intp]
    ) -> Moments:
        """Moments of the rows of positive weight, for a limited number of rows at a time."""
        n_columns = max(1, sum(1 if isinstance(found, Numbers) else found.n_columns for found in facts))
        step = max(64, BLOCK_SIZE // n_columns)
        weights = None if part.weights is None else part.weights[present]
        whole = len(present) == part.n_rows
        total = None
        for start in range(0, max(len(present), 1), step):
            rows = slice(start, start + step)
            X = encoded(columns, facts, rows if whole else present[rows])
            found = of_block(X, rows_of_target(target, rows), None if weights is None else weights[rows])
            total = found if total is None else total + found
        assert total is not None
        return total

    def _refuse_missing(self, part: Part, moments: Moments, facts: Sequence[Facts]) -> None:
        """Raise if a number is missing or infinite, which makes its mean undefined."""
        if np.isfinite(moments.means).all() and np.isfinite(moments.scatter).all():
            return
        for i, found in enumerate(facts):
            column = part.features[i]
            if isinstance(found, Numbers) and isinstance(column, np.ndarray) and not np.isfinite(column).all():
                where, name = part.row(int(np.argmin(np.isfinite(column)))), self.layout.features[self.layout.read[i]]
                raise ValueError(
                    f"{where}: X contains NaN or infinity in {name!r}; missing='drop' ignores such rows, or use "
                    f"exclude=[{name!r}]"
                )
        bad = np.flatnonzero(~np.isfinite(moments.means).all(axis=0) | ~np.isfinite(np.diagonal(moments.scatter)))
        keys = [*(self.layout.features[self.layout.read[i]] for i, _ in keys_of(facts)), *self.layout.targets]
        raise ValueError(f"the values of {keys[int(bad[0])]!r} are too large to be summed in float64; rescale them")


def _ready(column: Column, missing: str) -> Column:
    """A feature as it is summarised: booleans as a factor, missing values as a level where that is requested."""
    if isinstance(column, np.ndarray) and column.dtype == bool:
        return Factor(column.astype(np.intp), (False, True))
    if isinstance(column, Factor) and missing == "level":
        return column.with_missing_level()
    return column


def _facts(column: Column, whole: Column, origin: Origin, *, limited: bool) -> Facts:
    """What a block says about a feature: `column` is complete rows, `whole` all of them."""
    assert not isinstance(column, Unusable)
    if not isinstance(column, Factor):
        return _numbers(column)
    counts = np.bincount(column.codes[column.codes >= 0], minlength=len(column.levels))
    found = Levels(dict(zip(column.levels, counts.tolist(), strict=True)), column.declared)
    if isinstance(whole, Factor):
        gaps = whole.missing
        found = replace(found, n_missing=int(gaps.sum()), gap=origin.row(int(np.argmax(gaps))) if gaps.any() else "")
        if not whole.declared:
            found = _with_numerals(found, whole)
    return found.limited() if limited else found


def _with_numerals(found: Levels, column: Factor) -> Levels:
    """Count the rows of text that are numbers."""
    counts = np.bincount(column.codes[column.codes >= 0], minlength=len(column.levels))
    numeral = np.array([is_numeral(level) for level in column.levels], dtype=bool)
    first = {kind: next((v for v, n in zip(column.levels, numeral, strict=True) if n == kind), None) for kind in (0, 1)}
    return replace(
        found,
        n_values=int(counts.sum()),
        n_numerals=int(counts[numeral].sum()),
        numeral=first[1],
        other=first[0],
    )


def _numbers(values: NDArray[Any]) -> Numbers:
    """Facts about a column of numbers; only a column whose first rows are integers is read."""
    first = values[:N_FIRST]
    with np.errstate(over="ignore", invalid="ignore"):
        if not len(values) or not (first == np.floor(first)).all():
            return Numbers(len(values), whole=not len(values))
        numbers = np.asarray(values, dtype=np.float64)
        if not (np.isfinite(numbers) & (numbers == np.floor(numbers))).all():
            return Numbers(len(values), whole=False)
        mean = float(numbers.mean())
        scatter = float(((numbers - mean) ** 2).sum())
    return Numbers(len(values), True, float(numbers.min()), float(numbers.max()), mean, scatter)


def encoded(columns: Sequence[Column], facts: Sequence[Facts], rows: Any) -> Floats:
    """The columns that encode features, for some rows: a factor by one column per level."""
    width = sum(1 if isinstance(found, Numbers) else found.n_columns for found in facts)
    n_rows = next(
        (len(c.codes[rows] if isinstance(c, Factor) else c[rows]) for c in columns if not isinstance(c, Unusable)), 0
    )
    X = np.empty((n_rows, width), order="F")
    at = 0
    for column, found in zip(columns, facts, strict=True):
        if isinstance(column, np.ndarray):
            X[:, at] = column[rows]
            at += 1
        elif isinstance(column, Factor) and isinstance(found, Levels) and found.counts is not None:
            X[:, at : at + found.n_columns] = column.codes[rows][:, None] == np.arange(found.n_columns)
            at += found.n_columns
    return X
