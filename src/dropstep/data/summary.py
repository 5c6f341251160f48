"""What a pass over the rows finds: the levels of factors, facts about numbers, gaps, and moments; summaries add up.

A table in memory is summarised as a single block, without moments. What follows from the facts is decided in `sample`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from dropstep.data.encoding import Encoding
from dropstep.data.factor import Column, Factor, Level, Unusable, in_order, is_date, is_numeral
from dropstep.data.frame import Frame
from dropstep.data.moments import Moments, of_block
from dropstep.data.rearrange import as_regression, placed
from dropstep.data.source import Block, Origin
from dropstep.data.table import are_counts, check_weights
from dropstep.data.target import MAX_CLASSES, Categorical, Continuous, Target, continuous_error, dates_error

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

BLOCK_SIZE = 2**22  # numbers of the design matrix of a block that are in memory at a time
MAX_LEVELS = 1000  # of a factor that no parameter names
N_FIRST = 16  # rows that decide whether a column may consist of integers
MAX_DISTINCT = 2**14  # distinct integers that are counted
COUNTED = 1e-9  # relative rounding error of sums of integers


# --- roles of columns ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Layout:
    """Roles of the columns of blocks.

    Attributes
    ----------
    features : tuple of str
        Names of the features, in order.
    targets : tuple of str
        Names of the target columns; none if the target is not in a column.
    weights, offset : str or None
        Names of the columns of weights and offset.
    unread : frozenset of int
        Features that are excluded, which are not read.
    missing : {"error", "drop", "level"}
    """

    features: tuple[str, ...]
    targets: tuple[str, ...]
    weights: str | None = None
    offset: str | None = None
    unread: frozenset[int] = frozenset()
    missing: str = "error"

    @property
    def read(self) -> tuple[int, ...]:
        """Features that are read."""
        return tuple(j for j in range(len(self.features)) if j not in self.unread)

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns that a block has, in order."""
        others = (name for name in (self.weights, self.offset) if name is not None)
        return (*(self.features[j] for j in self.read), *self.targets, *others)

    def without(self, features: Collection[int]) -> Layout:
        """The layout that does not read some features."""
        return replace(self, unread=self.unread | frozenset(features))

    def part(self, block: Block) -> Part:
        """The rows of a block by role, without those that `missing` ignores."""
        part = self.all_rows(block)
        return part.at(Gaps.of(part, block.incomplete).complete) if self.missing == "drop" else part

    def all_rows(self, block: Block) -> Part:
        """All rows of a block by role."""
        columns = block.frame.columns
        n = len(self.read)
        features, targets = columns[:n], columns[n : n + len(self.targets)]
        others = list(columns[n + len(self.targets) :])
        weights = None if self.weights is None else _as_floats("sample_weight", self.weights, others.pop(0))
        offset = None if self.offset is None else _as_floats("offset", self.offset, others.pop(0))
        return Part(features, targets, weights, offset, block.frame.n_rows, block.origin)


@dataclass(frozen=True, eq=False)
class Part:
    """Rows of a block by role.

    Attributes
    ----------
    features : tuple of Column
        The features that are read.
    targets : tuple of Column
    weights, offset : ndarray of shape (n_rows,) or None
    n_read : int
        Number of rows of the block.
    origin : Origin
    rows : ndarray of int or None
        The rows of the block that these are; None if they are all.
    """

    features: tuple[Column, ...]
    targets: tuple[Column, ...]
    weights: Floats | None
    offset: Floats | None
    n_read: int
    origin: Origin
    rows: NDArray[np.intp] | None = None

    @property
    def n_rows(self) -> int:
        """Number of rows that are used."""
        return self.n_read if self.rows is None else len(self.rows)

    @property
    def present(self) -> NDArray[np.intp]:
        """Rows of positive weight."""
        return np.arange(self.n_rows) if self.weights is None else np.flatnonzero(self.weights > 0)

    def row(self, index: int) -> str:
        """A row in words."""
        return self.origin.row(index if self.rows is None else int(self.rows[index]))

    def design(self, layout: Layout, encoding: Encoding, columns: Sequence[int], rows: NDArray[np.intp]) -> Floats:
        """Some columns of the design matrix in some of the rows."""
        used = sorted({encoding.owners[c] for c in columns})
        if not used:
            return np.empty((len(rows), 0))
        at = {j: i for i, j in enumerate(layout.read)}
        taken = encoding.take(used)
        values = taken.encode(Frame(tuple(_at(self.features[at[j]], rows) for j in used), len(rows), taken.names))
        place = {c: i for i, c in enumerate(c for j in used for c in encoding.columns(j))}
        return np.asarray(values[:, [place[c] for c in columns]])

    def at(self, mask: Bools) -> Part:
        """The rows of a mask."""
        if mask.all():
            return self
        rows = np.flatnonzero(mask)
        return Part(
            tuple(_at(column, rows) for column in self.features),
            tuple(_at(column, rows) for column in self.targets),
            None if self.weights is None else self.weights[rows],
            None if self.offset is None else self.offset[rows],
            self.n_read,
            self.origin,
            rows,
        )


def _at(column: Column, rows: NDArray[np.intp]) -> Column:
    """Some rows of a column; a factor keeps all levels of its block."""
    if isinstance(column, Unusable):
        return column
    return Factor(column.codes[rows], column.levels, column.declared) if isinstance(column, Factor) else column[rows]


def _as_floats(parameter: str, name: str, column: Column) -> Floats:
    if not isinstance(column, np.ndarray):
        raise ValueError(f"{parameter} must be a column of numbers; {name!r} has other values")
    return np.asarray(column, dtype=np.float64)


# --- facts -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Gaps:
    """Rows of a block whose values are missing or infinite.

    Attributes
    ----------
    numbers, factors, others : ndarray of bool of shape (n_rows,)
        Rows in which a feature that is a number, or a factor, has no finite value, and those without a target, weight
        or offset.
    infinite : ndarray of bool of shape (n_rows,)
        Rows in which a number is infinite.
    by_column : dict of str to ndarray of bool
        Rows without a value of y, sample_weight and offset.
    """

    numbers: Bools
    factors: Bools
    others: Bools
    infinite: Bools
    by_column: dict[str, Bools]

    @classmethod
    def of(cls, part: Part, incomplete: Bools | None) -> Gaps:
        """The gaps of a block."""
        numbers, factors, infinite = np.zeros((3, part.n_rows), dtype=bool)
        for column in part.features:
            if isinstance(column, Factor):
                factors |= column.missing
            elif not isinstance(column, Unusable) and column.dtype.kind == "f":
                finite = np.isfinite(column)
                if not finite.all():
                    numbers |= ~finite
                    infinite |= np.isinf(column)
        found = {"sample_weight": part.weights, "offset": part.offset}
        by_column = {name: ~np.isfinite(values) for name, values in found.items() if values is not None}
        y = np.zeros(part.n_rows, dtype=bool)
        for column in part.targets:
            if isinstance(column, Factor):
                y |= column.missing
            elif not isinstance(column, Unusable) and column.dtype.kind == "f":
                y |= ~np.isfinite(column)
        by_column["y"] = y if incomplete is None else y | incomplete
        return cls(numbers, factors, np.any(list(by_column.values()), axis=0), infinite, by_column)

    @property
    def complete(self) -> Bools:
        """Rows in which nothing is missing or infinite."""
        return ~(self.numbers | self.factors | self.others)


@dataclass(frozen=True)
class RowCount:
    """Number of rows of some kind, and the first of them; both can be added.

    Attributes
    ----------
    n : int
    first : tuple of (str, int) or None
        Origin of a row, and its number there, from 0.
    """

    n: int = 0
    first: tuple[str, int] | None = None

    @classmethod
    def of(cls, mask: Bools, origin: Origin) -> RowCount:
        """The rows of a mask."""
        n = int(np.count_nonzero(mask))
        return cls(n, (origin.name, origin.first + int(np.argmax(mask)))) if n else cls()

    def __add__(self, other: RowCount) -> RowCount:
        return RowCount(self.n + other.n, min((row for row in (self.first, other.first) if row), default=None))

    @property
    def shown(self) -> str:
        """The first row in words."""
        return "" if self.first is None else Origin(*self.first).row(0)


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
    n_values, n_numerals, n_dates : int
        Number of rows with a value, and of those whose text is a number, or a date.
    numeral, other : str or None
        The first text that is a number, and the first that is not, in alphabetical order.
    """

    counts: dict[Any, int] | None
    declared: bool
    n_missing: int = 0
    n_values: int = 0
    n_numerals: int = 0
    n_dates: int = 0
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
        return [*in_order(present, order), *missing]

    def __add__(self, other: Levels) -> Levels:
        counts = None
        if self.counts is not None and other.counts is not None:
            counts = dict(self.counts)
            for level, count in other.counts.items():
                counts[level] = counts.get(level, 0) + count
        return Levels(
            counts,
            self.declared and other.declared,
            self.n_missing + other.n_missing,
            self.n_values + other.n_values,
            self.n_numerals + other.n_numerals,
            self.n_dates + other.n_dates,
            min(filter(None, (self.numeral, other.numeral)), default=None),
            min(filter(None, (self.other, other.other)), default=None),
        )

    def limited(self) -> Levels:
        """The same, without its levels if there are too many."""
        too_many = self.counts is not None and len(self.counts) > MAX_LEVELS
        return replace(self, counts=None) if too_many else self

    def as_numbers(self) -> Numbers:
        """The facts about booleans as numbers."""
        counts = self.counts or {}
        n, ones = sum(counts.values()), counts.get(True, 0)
        present = [float(level) for level, count in counts.items() if count and level is not Level.MISSING]
        if not present:
            return Numbers(n, whole=True)
        mean = ones / n
        return Numbers(n, True, min(present), max(present), mean, n * mean * (1 - mean), frozenset(present))


@dataclass(frozen=True)
class Numbers:
    """Facts about a column of numbers.

    Attributes
    ----------
    n : int
        Number of values.
    whole : bool
        Whether all are integers; those below are meaningful only then.
    low, high, mean, scatter : float
        Minimum, maximum, mean, and sum of squares about the mean.
    distinct : frozenset of float or None
        The distinct values; None if they were not counted, or are too many.
    n_missing : int
        Number of rows whose value is missing or infinite.
    n_infinite : int
        Number of rows whose value is infinite.
    """

    n: int
    whole: bool
    low: float = np.inf
    high: float = -np.inf
    mean: float = 0.0
    scatter: float = 0.0
    distinct: frozenset[float] | None = frozenset()
    n_missing: int = 0
    n_infinite: int = 0

    @classmethod
    def of(cls, values: NDArray[Any], n_missing: int = 0, n_infinite: int = 0, *, counted: bool = False) -> Numbers:
        """Facts about complete values; only a column whose first rows are integers is read.

        With `counted`, also the distinct ones.
        """
        first = values[:N_FIRST]
        with np.errstate(over="ignore", invalid="ignore"):
            whole = not len(values) or bool((first == np.floor(first)).all())
            if not (whole and len(values)):
                return cls(len(values), whole, n_missing=n_missing, n_infinite=n_infinite)
            numbers = np.asarray(values, dtype=np.float64)
            if not (numbers == np.floor(numbers)).all():
                return cls(len(values), whole=False, n_missing=n_missing, n_infinite=n_infinite)
            mean = float(numbers.mean())
            scatter = float(((numbers - mean) ** 2).sum())
        found = np.unique(numbers) if counted else None
        distinct = None if found is None or len(found) > MAX_DISTINCT else frozenset(found.tolist())
        low, high = float(numbers.min()), float(numbers.max())
        return cls(len(values), True, low, high, mean, scatter, distinct, n_missing, n_infinite)

    def __add__(self, other: Numbers) -> Numbers:
        n, gaps = self.n + other.n, (self.n_missing + other.n_missing, self.n_infinite + other.n_infinite)
        whole = self.whole and other.whole
        if not (whole and n):
            return Numbers(n, whole, n_missing=gaps[0], n_infinite=gaps[1])
        share, difference = other.n / n, other.mean - self.mean
        distinct = None
        if self.distinct is not None and other.distinct is not None:
            both = self.distinct | other.distinct
            distinct = both if len(both) <= MAX_DISTINCT else None
        return Numbers(
            n,
            True,
            min(self.low, other.low),
            max(self.high, other.high),
            self.mean + share * difference,
            self.scatter + other.scatter + self.n * share * difference * difference,
            distinct,
            *gaps,
        )

    @property
    def n_distinct(self) -> float:
        """Number of distinct integers; the length of their range, if they were not counted."""
        return self.high - self.low + 1 if self.distinct is None else len(self.distinct)

    @property
    def numbers_rows(self) -> bool:
        """Whether the minimum, maximum, mean and scatter are those of integers that number the rows in some order."""
        expected = self.n * (self.n**2 - 1) / 12
        centred = abs(2 * self.mean - self.low - self.high) <= COUNTED * self.n
        return self.high - self.low == self.n - 1 and centred and abs(self.scatter - expected) <= COUNTED * expected


Facts = Levels | Numbers


def facts_of(column: Column, used: Column, *, limited: bool = True, counted: bool = False) -> Facts:
    """What a block says about a feature: `used` is its complete rows, `column` all of them."""
    assert not isinstance(used, Unusable)
    if not isinstance(used, Factor):
        finite = np.isfinite(column) if isinstance(column, np.ndarray) and column.dtype.kind == "f" else None
        if finite is None or finite.all():
            return Numbers.of(used, counted=counted)
        assert isinstance(column, np.ndarray)
        n_missing, n_infinite = int((~finite).sum()), int(np.isinf(column).sum())
        return Numbers.of(used[np.isfinite(used)], n_missing, n_infinite, counted=counted)
    counts = np.bincount(used.codes[used.codes >= 0], minlength=len(used.levels))
    found = Levels(dict(zip(used.levels, counts.tolist(), strict=True)), used.declared)
    if isinstance(column, Factor):
        n_missing = int(np.count_nonzero(column.missing))
        found = replace(found, n_missing=n_missing, n_values=len(column.codes) - n_missing)
        if not column.declared:
            found = _with_formats(found, column)
    return found.limited() if limited else found


def _with_formats(found: Levels, column: Factor) -> Levels:
    """Count the rows of text that are numbers, and those that are dates."""
    counts = np.bincount(column.codes[column.codes >= 0], minlength=len(column.levels))
    dates = np.array([is_date(level) for level in column.levels], dtype=bool)
    numeral = ~dates & np.array([is_numeral(level) for level in column.levels], dtype=bool)
    pairs = list(zip(column.levels, numeral.tolist(), strict=True))
    return replace(
        found,
        n_numerals=int(counts[numeral].sum()),
        n_dates=int(counts[dates].sum()),
        numeral=min((level for level, is_number in pairs if is_number), default=None),
        other=min((level for level, is_number in pairs if not is_number), default=None),
    )


# --- summaries -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Summary:
    """What is known of the rows after one pass over them; summaries of disjoint rows can be added.

    Attributes
    ----------
    n_read, n_rows : int
        Number of rows, and of those that are complete.
    facts : tuple of Levels or Numbers
        What is known of the features that were read.
    gaps : dict of str to RowCount
        Rows without a finite value of "numbers" and "factors" among the features, of "y", "sample_weight" and "offset",
        and rows with an "infinite" number.
    moments : Moments or None
        Moments of the columns that encode the features: a number by itself, a factor by one column per level.
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
    facts: tuple[Facts, ...]
    gaps: dict[str, RowCount]
    moments: Moments | None = None
    undecided: bool = False
    low: Floats = field(default_factory=lambda: np.empty(0))
    high: Floats = field(default_factory=lambda: np.empty(0))
    class_rows: dict[Any, int] = field(default_factory=dict)
    weights_are_counts: bool = True
    named: frozenset[int] = frozenset()

    @cached_property
    def _keys(self) -> list[tuple[int, Any]]:
        """Feature and level of each column of the moments."""
        return list(keys_of(self.facts))

    def __add__(self, other: Summary) -> Summary:
        joined = [_joined(a, b) for a, b in zip(self.facts, other.facts, strict=True)]
        facts = [f.limited() if isinstance(f, Levels) and j not in self.named else f for j, f in enumerate(joined)]
        total = replace(
            self,
            n_read=self.n_read + other.n_read,
            n_rows=self.n_rows + other.n_rows,
            facts=tuple(facts),
            gaps={name: rows + other.gaps[name] for name, rows in self.gaps.items()},
            low=np.minimum(self.low, other.low),
            high=np.maximum(self.high, other.high),
            weights_are_counts=self.weights_are_counts and other.weights_are_counts,
        )
        if self.moments is None or other.moments is None:
            return total
        place = {key: i for i, key in enumerate(keys_of(facts))}
        a, b = same_form(self.moments, other.moments, few=self.undecided)
        moments = _placed(a, self._keys, place) + _placed(b, other._keys, place)
        rows = {} if a.labels is None else dict(Counter(self.class_rows) + Counter(other.class_rows))
        return replace(total, moments=moments, class_rows=rows)


def keys_of(facts: Sequence[Facts]) -> Iterator[tuple[int, Any]]:
    """Position and level of each column that encodes some features."""
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


def _placed(moments: Moments, keys: list[tuple[int, Any]], place: Mapping[tuple[int, Any], int]) -> Moments:
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


@dataclass(frozen=True)
class Summarise:
    """Summarises a block of rows.

    Attributes
    ----------
    layout : Layout
    model : {"auto", "linear", "discriminant"} or None
        How the target is read; "auto" decides from all rows, so that numbers that may be class labels are kept by class
        as long as there are few. None for a table in memory, whose moments are not computed.
    named : frozenset of int
        Features that a parameter names, whose number of levels is not limited.
    counted : frozenset of int
        Features whose distinct integers are counted.
    """

    layout: Layout
    model: Literal["auto", "linear", "discriminant"] | None = None
    named: frozenset[int] = frozenset()
    counted: frozenset[int] = frozenset()

    def __call__(self, block: Block) -> Summary:
        whole = self.layout.all_rows(block)
        gaps = Gaps.of(whole, block.incomplete)
        used = gaps.complete if self.layout.missing == "drop" else ~gaps.others
        part = whole.at(used)
        check_weights(part.weights, part.row)
        named = frozenset(i for i, j in enumerate(self.layout.read) if j in self.named)
        columns = [_ready(column, self.layout.missing) for column in part.features]
        facts = tuple(
            facts_of(whole.features[i], column, limited=j not in self.named, counted=j in self.counted)
            for i, (j, column) in enumerate(zip(self.layout.read, columns, strict=True))
        )
        masks = {"numbers": gaps.numbers, "factors": gaps.factors, "infinite": gaps.infinite, **gaps.by_column}
        rows = {name: RowCount.of(mask, block.origin) for name, mask in masks.items()}
        summary = Summary(part.n_read, part.n_rows, facts, rows, named=named)
        if self.model is None:
            return summary
        filled = columns if not gaps.numbers.any() else [_filled(column) for column in columns]
        target = target_of(part, self.model, self.layout.targets)
        values = [np.asarray(c, dtype=np.float64) for c in part.targets if isinstance(c, np.ndarray)]
        return replace(
            summary,
            moments=self._moments(filled, facts, target, part),
            undecided=self.model == "auto" and (isinstance(target, Continuous) or target.labels.dtype.kind in "iuf"),
            low=np.array([v.min(initial=np.inf) for v in values]),
            high=np.array([v.max(initial=-np.inf) for v in values]),
            class_rows=class_rows(part.targets[0]) if isinstance(target, Categorical) else {},
            weights_are_counts=are_counts(part.weights),
        )

    def _moments(self, columns: Sequence[Column], facts: Sequence[Facts], target: Target, part: Part) -> Moments:
        """Moments of the rows of positive weight, for a limited number of rows at a time."""
        n_columns = max(1, sum(1 if isinstance(found, Numbers) else found.n_columns for found in facts))
        step, present = max(64, BLOCK_SIZE // n_columns), part.present
        weights = None if part.weights is None else part.weights[present]
        whole, total = len(present) == part.n_rows, None
        for start in range(0, max(len(present), 1), step):
            rows = slice(start, start + step)
            X = encoded(columns, facts, rows if whole else present[rows], min(step, len(present) - start))
            at = (
                Continuous(target.values[rows])
                if isinstance(target, Continuous)
                else Categorical(target.labels, target.codes[rows])
            )
            found = of_block(X, at, None if weights is None else weights[rows])
            total = found if total is None else total + found
        assert total is not None
        if not (np.isfinite(total.means).all() and np.isfinite(np.diagonal(total.scatter)).all()):
            bad = np.flatnonzero(~np.isfinite(total.means).all(axis=0) | ~np.isfinite(np.diagonal(total.scatter)))
            features = self.layout.features
            keys = [*(features[self.layout.read[i]] for i, _ in keys_of(facts)), *self.layout.targets]
            raise ValueError(f"the values of {keys[int(bad[0])]!r} are too large to be summed in float64; rescale them")
        return total


def _ready(column: Column, missing: str) -> Column:
    """A feature as it is summarised: booleans as a factor, missing values as a level where that is requested."""
    if isinstance(column, np.ndarray) and column.dtype == bool:
        return Factor(column.astype(np.intp), (False, True))
    if isinstance(column, Factor) and missing == "level":
        return column.with_missing_level()
    return column


def _filled(column: Column) -> Column:
    """Numbers with zeros where they are missing: such a column is ignored or refused, but others are summed with it."""
    if isinstance(column, np.ndarray) and column.dtype.kind == "f":
        return np.where(np.isfinite(column), column, 0.0)
    return column


def encoded(columns: Sequence[Column], facts: Sequence[Facts], rows: Any, n_rows: int) -> Floats:
    """The columns that encode features, for some rows: a factor by one column per level."""
    width = sum(1 if isinstance(found, Numbers) else found.n_columns for found in facts)
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


# --- the target of a block -------------------------------------------------------------------------------------------


def target_of(part: Part, model: str, names: Sequence[str]) -> Target:
    """The target in the rows of positive weight: numbers, or class labels as far as the block can tell."""
    present = part.present
    if len(part.targets) > 1 and model == "discriminant":
        raise ValueError(f"y has {len(part.targets)} columns, but the model requires one column of class labels")
    column = part.targets[0]
    if any(isinstance(target, Unusable) for target in part.targets):
        raise dates_error()
    if len(part.targets) > 1 or model == "linear":
        return Continuous(_as_numbers(part.targets, names)[present])
    if isinstance(column, Factor):
        labels, codes = np.unique(_labels(column), return_inverse=True)
        found, codes = np.unique(codes[column.codes[present]], return_inverse=True)
        return Categorical(labels[found], codes.astype(np.intp))
    assert isinstance(column, np.ndarray)
    values = column[present]
    if values.dtype != bool:
        values = np.asarray(values, dtype=np.float64)
        fractions = values[values != np.floor(values)]
        if len(fractions) and model == "discriminant":
            raise continuous_error(fractions[0])
        if len(fractions):
            return Continuous(values[:, None])
    labels, codes = np.unique(values, return_inverse=True)
    if model == "auto" and len(labels) > MAX_CLASSES:
        return Continuous(values[:, None].astype(np.float64))
    return Categorical(labels, codes.astype(np.intp))


def _target_rows(target: Target, rows: slice) -> Target:
    """The target in some rows, with all labels."""
    if isinstance(target, Continuous):
        return Continuous(target.values[rows])
    return Categorical(target.labels, target.codes[rows])


def class_codes(column: Column, labels: NDArray[Any]) -> NDArray[np.intp]:
    """Positions of the values of a column among sorted labels."""
    assert not isinstance(column, Unusable)
    if not isinstance(column, Factor):
        return np.searchsorted(labels, column)
    levels = np.array(column.levels)
    return np.searchsorted(labels, levels if levels.dtype.kind in "biuf" else levels.astype(str))[column.codes]


def numbers_of(column: Column) -> Floats:
    """A numeric target, declared as categories or not."""
    if isinstance(column, Factor):
        return np.asarray(column.levels, dtype=np.float64)[column.codes]
    return np.asarray(column, dtype=np.float64)


def class_rows(column: Column) -> dict[Any, int]:
    """Number of rows of each class label."""
    if isinstance(column, Factor):
        counts = np.bincount(column.codes[column.codes >= 0], minlength=len(column.levels))
        return {k: n for k, n in zip(_labels(column).tolist(), counts.tolist(), strict=True) if n}
    assert isinstance(column, np.ndarray)
    labels, counts = np.unique(column, return_counts=True)
    return dict(zip(labels.tolist(), counts.tolist(), strict=True))


def _labels(column: Factor) -> NDArray[Any]:
    """Levels as class labels: text, unless they are booleans or numbers."""
    labels = np.array(column.levels)
    return labels if labels.dtype.kind in "biuf" and len(labels) else labels.astype(str)


def _as_numbers(targets: Sequence[Column], names: Sequence[str]) -> Floats:
    values = []
    for column, name in zip(targets, names, strict=True):
        if isinstance(column, Factor):
            raise ValueError(
                f"y contains text in {name!r}, but model='linear' and several targets require numbers; use "
                "model='discriminant' for class labels"
            )
        values.append(np.asarray(column, dtype=np.float64))
    return np.column_stack(values)
