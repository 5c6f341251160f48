"""Columns that should not be features: identifiers, marks of training and test rows, and copies of the target."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dropstep.data.encoding import Encoding
from dropstep.data.moments import Moments
from dropstep.data.source import MAX_EXACT
from dropstep.data.summary import N_FIRST, Facts, Levels, Numbers
from dropstep.data.table import Names, Table
from dropstep.data.target import Categorical, Continuous

Floats = NDArray[np.float64]

MAX_FOLDS = 20  # distinct numbers in a column that marks folds
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


def names_units(name: str) -> bool:
    """Whether a name is that of an identifier, or of persons, molecules and the like."""
    return bool(_ID.search(name) or _UNIT.fullmatch(name))


def suspects(table: Table, ignored: Collection[int]) -> dict[int, Numbers]:
    """Facts about the columns of a table of numbers that may be identifiers, or marks of training and test rows.

    Only columns whose first rows are integers are read, and only if these are distinct or lose digits, or their name is
    telling.
    """
    names = table.names
    if names is None:
        return {}
    few = table.at(np.arange(min(N_FIRST, table.n_rows)))
    first = few.values if isinstance(few.values, np.ndarray) else few.columns(range(few.n_features))
    whole = np.ones(first.shape[1], dtype=bool) if first.dtype.kind in "biu" else (first == np.floor(first)).all(axis=0)
    if not whole.any():
        return {}
    ordered = np.sort(first, axis=0)
    distinct = (ordered[1:] != ordered[:-1]).all(axis=0)
    telling = {j for j in np.flatnonzero(whole).tolist() if names_units(names[j]) or _SPLIT_NAME.fullmatch(names[j])}
    large = np.abs(first).max(axis=0) > MAX_EXACT
    read = sorted(telling.union(np.flatnonzero(whole & (distinct | large)).tolist()).difference(ignored))
    return {j: Numbers.of(table.columns([j])[:, 0], counted=j in telling) for j in read}


def suspicions(facts: Mapping[int, Facts], n_rows: int, names: tuple[str, ...] | None) -> Iterator[str]:
    """Notes on features that are probably identifiers, or that mark training and test rows, by name and content.

    Identifiers that repeat are those of persons, molecules and the like with several rows each.

    Parameters
    ----------
    facts : mapping of int to Levels or Numbers
        Facts about the features that are not excluded.
    n_rows : int
        Number of rows that are used.
    names : tuple of str or None
        Names of the features; without names there are no notes.

    Yields
    ------
    str
    """
    if names is None:
        return
    ids, marks, units = list[int](), list[int](), list[int]()
    for feature, found in facts.items():
        name = names[feature]
        if isinstance(found, Levels) and not (found.is_boolean and not found.n_missing):
            levels = found.observed(None)
            if names_units(name) and _are_units(len(levels), n_rows):
                units.append(feature)
            if levels and {str(level).lower() for level in levels} <= _SPLIT_LEVELS:
                marks.append(feature)
            continue
        numbers = found.as_numbers() if isinstance(found, Levels) else found
        if not numbers.whole or numbers.n < 3:
            continue
        if names_units(name) and _are_units(numbers.n_distinct, numbers.n):
            units.append(feature)
        elif numbers.numbers_rows or (_ID.search(name) and numbers.n_distinct > 2):
            ids.append(feature)
        elif _SPLIT_NAME.fullmatch(name) and numbers.high - numbers.low < MAX_FOLDS:
            marks.append(feature)
    shown = Names(names)
    if units:
        yield (
            f"{shown.listed(units)} may identify persons or other units with several rows each, which are then "
            "dependent: tests and random folds are too optimistic; if so, pass it as sample_groups where rows are "
            f"divided (stability, compare, infer, report), and use {shown.exclude(units)}"
        )
    if ids:
        noun, pronoun = ("identifier", "it") if len(ids) == 1 else ("identifiers", "them")
        yield f"probable {noun}: {shown.listed(ids)} (to ignore {pronoun}, use {shown.exclude(ids)})"
    if marks:
        mark = "seems to mark" if len(marks) == 1 else "seem to mark"
        yield f"{shown.listed(marks)} {mark} training and test rows; if so, use {shown.exclude(marks)}"


def _are_units(n_distinct: float, n_rows: int) -> bool:
    """Whether so many distinct values can be those of units with several rows each: neither a few nor almost all."""
    return bool(min(MIN_UNITS, np.sqrt(n_rows)) < n_distinct <= n_rows / MIN_PER_UNIT)


# --- target leakage --------------------------------------------------------------------------------------------------


def is_disconnected(met: NDArray[np.bool_]) -> bool:
    """True if a factor separates some classes from the others perfectly, which makes every criterion infinite.

    Levels (rows) and classes (columns) that occur together form a bipartite graph. A linear combination of the levels
    is constant within every class, but not the same in all, if and only if the graph is not connected.
    """
    reached = np.arange(met.shape[1]) == 0
    while True:
        grown = met[met[:, reached].any(axis=1)].any(axis=0)
        if (grown == reached).all():
            return not reached.all()
        reached = grown


def meeting(factor: Any, levels: Sequence[Any], target: Categorical, weights: Floats | None) -> NDArray[np.bool_]:
    """Which levels of a factor, in their order, and classes occur together."""
    rows = slice(None) if weights is None else weights > 0
    met = np.zeros((len(factor.levels) + 1, len(target.labels)), dtype=bool)
    met[factor.codes[rows], target.codes[rows]] = True
    place = {level: i for i, level in enumerate(factor.levels)}
    return np.asarray(met[[place.get(level, -1) for level in levels]])


def separating_note(names: Names, features: list[int]) -> str:
    """The note on factors that separate classes perfectly."""
    return (
        f"{names.listed(features)}: levels that separate some classes from the others perfectly, which makes every "
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
    found = {j for j in suspects if _is_function(table.columns([j])[rows, 0], centred)}
    if encoding is None:
        return sorted(found)
    found = {encoding.owners[j] for j in found}
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


def determining_by_moments(moments: Moments, encoding: Encoding | None) -> list[int]:
    """The same features, from the moments of the design matrix."""
    p, n = moments.n_features, moments.n_rows
    squares, targets = np.diagonal(moments.scatter)[:p], np.diagonal(moments.scatter)[p:]
    cross, shares = moments.scatter[:p, p:], n * moments.means[0, :p]
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        r2, explained = cross**2 / (squares[:, None] * targets), cross**2 / shares[:, None]
    if encoding is None:
        return np.flatnonzero(((r2 >= 1 - ROUNDING) & (targets > 0)).any(axis=1)).tolist()
    found = []
    for j, levels in enumerate(encoding.levels):
        at = encoding.columns(j)
        if levels is None or len(levels) == 2:
            is_exact = r2[at.start] >= 1 - ROUNDING
        elif len(levels) > 2:
            others = explained[at.start : at.stop].sum(axis=0)
            first = cross[at.start : at.stop].sum(axis=0) ** 2 / (n - shares[at.start : at.stop].sum())
            is_exact = others + first >= (1 - ROUNDING) * targets
        else:
            continue
        if np.any(is_exact & (targets > 0)):
            found.append(j)
    return found


def determining_note(names: Names, features: list[int]) -> str:
    """The note on features that determine the target."""
    determine = "determines" if len(features) == 1 else "each determine"
    return (
        f"{names.listed(features)} {determine} the target exactly; if unavailable at prediction time (target "
        f"leakage), use {names.exclude(features)}"
    )
