"""Columns that should not be features: identifiers, marks of training and test rows, and copies of the target."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dropstep.data.encoding import Encoding
from dropstep.data.factor import Factor
from dropstep.data.frame import Frame
from dropstep.data.table import MAX_LISTED, Labelled, Table, listed
from dropstep.data.target import Categorical, Continuous

Floats = NDArray[np.float64]

MAX_LEVELS = 1000  # of a factor that no parameter names
N_FIRST = 16  # rows that decide which columns may hold identifiers
MAX_FOLDS = 20  # distinct numbers in a column that marks folds
COUNTED = 1e-9  # relative rounding error of sums of integers
SUSPICIOUS = 1e-3  # 1 - R² below which a column is compared with the target
ROUNDING = 1e-12  # 1 - R² of a column that determines the target
MIN_UNITS = 20  # distinct values above which they may identify persons or the like, or the root of the number of rows
MIN_PER_UNIT = 1.5  # rows of each, on average

_ID = re.compile(r"(?:^|[_.\s])(?:id|ID|Id)$|[a-z](?:Id|ID)$")
_UNIT = re.compile(
    r"(?:subject|patient|person|participant|individual|animal|donor|speaker|molecule|household|family|litter|cage|user|"
    r"customer|client)s?(?:[_.\s]?(?:id|no|nr|number|code|name))?",
    re.I,
)
_SPLIT_NAME = re.compile(r"(?:is_?)?(?:train|test|valid|validation)|(?:cv_?|data_?)?(?:fold|split|partition)s?", re.I)
_SPLIT_LEVELS = {"train", "training", "test", "testing", "val", "valid", "validation", "dev", "holdout"}


def identifying_factors(table: Table | Frame, named: Collection[int]) -> dict[int, Factor]:
    """Factors that no parameter names and that have too many levels: more than 1000, or than half the rows for text.

    Parameters
    ----------
    table : Table or Frame
        The table.
    named : collection of int
        Features that a parameter names.

    Returns
    -------
    dict of int to Factor
    """
    if isinstance(table, Table):
        return {}
    limits = {True: MAX_LEVELS, False: min(MAX_LEVELS, table.n_rows / 2)}  # by whether the type is categorical
    factors = {j: column for j, column in enumerate(table.columns) if isinstance(column, Factor) and j not in named}
    return {j: factor for j, factor in factors.items() if len(factor.levels) > limits[factor.declared]}


def identifiers_note(table: Labelled, n_levels: Mapping[int, int | str]) -> str:
    """The note on factors that are ignored because they have too many levels."""
    shown = [f"{table.label(j)} ({n} levels)" for j, n in n_levels.items()]
    more = f" and {len(shown) - MAX_LISTED} more" if len(shown) > MAX_LISTED else ""
    return f"ignored text columns with too many levels, probably identifiers: {', '.join(shown[:MAX_LISTED])}{more}"


def table_notes(
    table: Table, encoding: Encoding | None, names: tuple[str, ...] | None, excluded: Collection[int]
) -> Iterator[str]:
    """Notes on features that are probably identifiers, or that mark training and test rows, by name and content.

    Identifiers that repeat are those of persons, molecules and the like with several rows each: integers or levels with
    such a name, or without it, if the rows of each value follow each other (and, for integers, are equally many).

    Parameters
    ----------
    table : Table
        The design matrix.
    encoding : Encoding or None
        How it encodes the features; None if the columns are the features.
    names : tuple of str or None
        Names of the features; without names there are no notes.
    excluded : collection of int
        Features to ignore.

    Yields
    ------
    str
    """
    if names is None:
        return
    units = _repeating_factors(table, encoding, names, excluded)
    yield from _suspect_notes(names, *_suspects(table, encoding, names, excluded, units), units)


def _suspect_notes(names: tuple[str, ...], ids: list[int], marks: list[int], units: list[int]) -> Iterator[str]:
    """Notes on features that are probably identifiers, and on those that seem to mark training and test rows."""
    features = Table(np.empty((0, len(names))), names)
    if units:
        yield (
            f"{listed(features, units)} may identify persons or other units with several rows each, which are then "
            "dependent: tests and random folds are too optimistic; if so, pass it as sample_groups where rows are "
            f"divided (stability, compare, infer, report), and use {_exclude(features, units)}"
        )
    if ids:
        noun, pronoun = ("identifier", "it") if len(ids) == 1 else ("identifiers", "them")
        yield f"probable {noun}: {listed(features, ids)} (to ignore {pronoun}, use {_exclude(features, ids)})"
    if marks:
        mark = "seems to mark" if len(marks) == 1 else "seem to mark"
        yield f"{listed(features, marks)} {mark} training and test rows; if so, use {_exclude(features, marks)}"


def _suspects(
    table: Table, encoding: Encoding | None, names: tuple[str, ...], excluded: Collection[int], units: list[int]
) -> tuple[list[int], list[int]]:
    """Features that are probably identifiers, and those that seem to mark training and test rows; extends `units`."""
    ids, marks = [], _marking_factors(encoding)
    whole, distinct, runs = _first_rows(table)
    for j in np.flatnonzero(whole).tolist():
        feature = j if encoding is None else encoding.owners[j]
        if feature in excluded or (encoding is not None and encoding.levels[feature] is not None):
            continue
        name = names[feature]
        if (runs[j] or _names_units(name)) and _repeats(table.columns([j])[:, 0], name):
            units.append(feature)
        elif (distinct[j] or _ID.search(name)) and _is_identifier(table.columns([j])[:, 0], name):
            ids.append(feature)
        elif _SPLIT_NAME.fullmatch(name) and len(np.unique(table.columns([j]))) <= MAX_FOLDS:
            marks.append(feature)
    return ids, sorted(marks)


@dataclass(frozen=True)
class Numbers:
    """Facts about a column of numbers that can be added, block of rows by block of rows.

    Attributes
    ----------
    n : int
        Number of values.
    whole : bool
        Whether all are integers; the others are meaningful only then.
    low, high, mean, scatter : float
        Minimum, maximum, mean, and sum of squares about the mean.
    """

    n: int
    whole: bool
    low: float = np.inf
    high: float = -np.inf
    mean: float = 0.0
    scatter: float = 0.0

    def __add__(self, other: Numbers) -> Numbers:
        n = self.n + other.n
        if not (self.whole and other.whole) or not n:
            return Numbers(n, whole=self.whole and other.whole)
        share, difference = other.n / n, other.mean - self.mean
        scatter = self.scatter + other.scatter + self.n * share * difference * difference
        return Numbers(
            n,
            True,
            min(self.low, other.low),
            max(self.high, other.high),
            self.mean + share * difference,
            scatter,
        )

    @property
    def has_two_values(self) -> bool:
        """Whether every value is the minimum or the maximum."""
        spread = self.n * (self.mean - self.low) * (self.high - self.mean)
        return bool(abs(spread - self.scatter) <= COUNTED * max(spread, self.scatter))

    @property
    def numbers_rows(self) -> bool:
        """Whether the minimum, maximum, mean and scatter are those of integers that number the rows in some order."""
        expected = self.n * (self.n**2 - 1) / 12
        centred = abs(2 * self.mean - self.low - self.high) <= COUNTED * self.n
        return self.high - self.low == self.n - 1 and centred and abs(self.scatter - expected) <= COUNTED * expected


def summary_notes(
    numbers: Mapping[int, Numbers], encoding: Encoding | None, names: tuple[str, ...] | None
) -> Iterator[str]:
    """The notes of `table_notes`, from facts that one pass over the rows can give.

    Parameters
    ----------
    numbers : mapping of int to Numbers
        Facts about the features that are numbers and not excluded.
    encoding : Encoding or None
        How the factors are encoded.
    names : tuple of str or None
        Names of the features; without names there are no notes.

    Yields
    ------
    str
    """
    if names is None:
        return
    ids, marks, units = [], _marking_factors(encoding), []
    if encoding is not None:
        n = max((found.n for found in numbers.values()), default=0)
        units = [j for j, levels in _factors(encoding) if _names_units(names[j]) and are_units(len(levels), n)]
    for feature, found in numbers.items():
        if not found.whole or found.n < 3:
            continue
        name = names[feature]
        if _names_units(name) and are_units(found.high - found.low + 1, found.n):  # fewer integers than rows: repeated
            units.append(feature)
        elif found.numbers_rows or (_ID.search(name) and not found.has_two_values):
            ids.append(feature)
        elif _SPLIT_NAME.fullmatch(name) and found.high - found.low < MAX_FOLDS:
            marks.append(feature)
    yield from _suspect_notes(names, ids, sorted(marks), sorted(units))


def _names_units(name: str) -> bool:
    """Whether a name is that of an identifier, or of persons, molecules and the like."""
    return bool(_ID.search(name) or _UNIT.fullmatch(name))


def are_units(n_distinct: float, n_rows: int) -> bool:
    """Whether so many distinct values can be those of units with several rows each: neither a few nor almost all."""
    return bool(min(MIN_UNITS, np.sqrt(n_rows)) < n_distinct <= n_rows / MIN_PER_UNIT)


def _repeats(values: NDArray[Any], name: str) -> bool:
    """True for integers that identify units with several rows each, by name or as equally long runs of equal values."""
    if not (np.isfinite(values) & (values == np.floor(values))).all():
        return False
    counts = np.unique(values, return_counts=True)[1]
    if _names_units(name) or not are_units(len(counts), len(values)):
        return are_units(len(counts), len(values))
    return len(counts) > MIN_UNITS and _n_runs(values) == len(counts) and counts.min() == counts.max()


def _n_runs(values: NDArray[Any]) -> int:
    return 1 + int(np.count_nonzero(values[1:] != values[:-1]))


def _repeating_factors(
    table: Table, encoding: Encoding | None, names: tuple[str, ...], excluded: Collection[int]
) -> list[int]:
    """Factors whose levels identify units with several rows each, by name or because each level is one run of rows."""
    found = []
    for j, levels in _factors(encoding):
        if j in excluded or not are_units(len(levels), table.n_rows):
            continue
        if not _names_units(names[j]):
            assert encoding is not None
            codes = table.columns(encoding.columns(j)) @ np.arange(1, len(levels))
            if len(levels) <= MIN_UNITS or _n_runs(codes) != len(levels):
                continue
        found.append(j)
    return found


def _first_rows(table: Table) -> tuple[NDArray[np.bool_], NDArray[np.bool_], NDArray[np.bool_]]:
    """Columns whose first rows are integers, those in which they are distinct, and those in which they are runs."""
    few = table.at(np.arange(min(N_FIRST, table.n_rows)))
    first = few.values if isinstance(few.values, np.ndarray) else few.columns(range(few.n_features))
    whole = np.ones(first.shape[1], dtype=bool) if first.dtype.kind in "biu" else (first == np.floor(first)).all(axis=0)
    if not whole.any():
        return whole, whole, whole
    ordered = np.sort(first, axis=0)
    n_distinct, n_runs = ((rows[1:] != rows[:-1]).sum(axis=0) for rows in (ordered, first))
    distinct = n_distinct == len(first) - 1
    return whole, distinct, (n_runs == n_distinct) & (n_distinct > 0) & ~distinct


def _is_identifier(values: NDArray[Any], name: str) -> bool:
    """True for integers that number the rows in some order, or whose name says that they are identifiers."""
    values = values.astype(np.float64)
    if len(values) < 3 or not (np.isfinite(values) & (values == np.floor(values))).all():
        return False
    if _ID.search(name):
        return len(np.unique(values)) > 2
    is_range = float(values.max()) - float(values.min()) == len(values) - 1
    return is_range and len(np.unique(values)) == len(values)


def _factors(encoding: Encoding | None) -> list[tuple[int, tuple[Any, ...]]]:
    """Factors that are encoded, and their levels."""
    return [] if encoding is None else [(j, levels) for j, levels in enumerate(encoding.levels) if levels]


def _marking_factors(encoding: Encoding | None) -> list[int]:
    """Factors whose levels are train, test and the like."""
    return [j for j, levels in _factors(encoding) if {str(level).lower() for level in levels} <= _SPLIT_LEVELS]


def _exclude(table: Table | Frame, features: Sequence[int]) -> str:
    """The parameter that excludes features."""
    names = [j if table.names is None else table.names[j] for j in features]
    return f"exclude={names!r}" if len(names) <= MAX_LISTED else "exclude"


# --- target leakage --------------------------------------------------------------------------------------------------


def separates_classes(factor: Factor, target: Categorical, weights: Floats | None) -> bool:
    """True if a factor separates some classes from the others perfectly, which makes every criterion infinite.

    Levels and classes that occur together form a bipartite graph. A linear combination of the levels is constant
    within every class, but not the same in all, if and only if the graph is not connected.
    """
    rows = slice(None) if weights is None else weights > 0
    met = np.zeros((len(factor.levels), len(target.labels)), dtype=bool)
    met[factor.codes[rows], target.codes[rows]] = True
    return is_disconnected(met)


def is_disconnected(met: NDArray[np.bool_]) -> bool:
    """True if the bipartite graph of levels (rows) and classes (columns) that occur together is not connected."""
    reached = np.arange(met.shape[1]) == 0
    while True:
        grown = met[met[:, reached].any(axis=1)].any(axis=0)
        if (grown == reached).all():
            return not reached.all()
        reached = grown


def separating_note(table: Labelled, features: list[int]) -> str:
    """The note on factors that separate classes perfectly."""
    return (
        f"{listed(table, features)}: levels that separate some classes from the others perfectly, which makes every "
        "criterion infinite; not considered in the search: if it is a copy of the target, exclude it, and if not, it "
        "suffices to separate them"
    )


def determining(
    table: Table, encoding: Encoding | None, target: Continuous, weights: Floats | None, suspects: Sequence[int]
) -> list[int]:
    """Features that determine a target: a linear function of it, or one value of the target per level.

    Parameters
    ----------
    table : Table
        The design matrix.
    encoding : Encoding or None
        How it encodes the features.
    target : Continuous
        The targets.
    weights : ndarray of shape (n_samples,) or None
        Row weights.
    suspects : sequence of int
        Columns whose squared correlation with a target is almost 1, up to rounding; only these are read.

    Returns
    -------
    list of int
    """
    if not suspects and encoding is None:
        return []
    rows = slice(None) if weights is None else weights > 0
    centred = target.values[rows] - target.values[rows].mean(axis=0)
    if encoding is None:
        return [j for j in suspects if _is_function(table.columns([j])[rows, 0], centred)]
    found = {encoding.owners[j] for j in suspects if _is_function(table.columns([j])[rows, 0], centred)}
    for feature, levels in enumerate(encoding.levels):
        if levels is not None and len(levels) > 2:
            codes = table.columns(encoding.columns(feature))[rows] @ np.arange(1, len(levels))
            if _has_one_value_per_level(codes.astype(np.intp), centred):
                found.add(feature)
    return sorted(found)


def _is_function(values: NDArray[Any], centred: Floats) -> bool:
    """True if a column has correlation 1 with a target."""
    x = values.astype(np.float64)
    x = x - x.mean()
    return any((x @ y) ** 2 >= (1 - ROUNDING) * (x @ x) * (y @ y) > 0 for y in centred.T)


def _has_one_value_per_level(codes: NDArray[np.intp], centred: Floats) -> bool:
    """True if a target is constant within every level."""
    counts = np.maximum(np.bincount(codes), 1)
    residuals = (y - (np.bincount(codes, y) / counts)[codes] for y in centred.T)
    return any(r @ r <= ROUNDING * (y @ y) for r, y in zip(residuals, centred.T, strict=True))


def determining_note(table: Table | Frame, features: list[int]) -> str:
    """The note on features that determine the target."""
    determine = "determines" if len(features) == 1 else "each determine"
    return (
        f"{listed(table, features)} {determine} the target exactly; if unavailable at prediction time (target "
        f"leakage), use {_exclude(table, features)}"
    )
