"""Columns that repeat an earlier one exactly: each is a candidate of its own, which tests and penalties count."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dropstep.data.encoding import Encoding
from dropstep.data.table import MAX_LISTED, Table

N_FIRST = 64  # rows that decide which columns may be equal
ROUNDING = 1e-10  # relative difference of two sums of the same numbers


def duplicates_note(
    table: Table, encoding: Encoding | None, names: tuple[str, ...] | None, excluded: Collection[int]
) -> Iterator[str]:
    """The note on features that repeat an earlier one exactly, if there are any.

    Parameters
    ----------
    table : Table
        The design matrix.
    encoding : Encoding or None
        How it encodes the features; None if the columns are the features.
    names : tuple of str or None
        Names of the features.
    excluded : collection of int
        Features to ignore.

    Yields
    ------
    str
    """
    if isinstance(table.values, np.ndarray) and (found := _features(repeated(table.values), encoding, excluded)):
        labels = Table(np.empty((0, 0)), names)
        later, earlier = next(iter(found.items()))
        example = f"{labels.label(later)} repeats {labels.label(earlier)}"
        columns = list(found)
        exclude = [j if names is None else names[j] for j in columns]
        remedy = f"exclude={exclude!r}" if len(columns) <= MAX_LISTED else "exclude"
        one, n = len(columns) == 1, len(columns)
        which = f"{example} exactly" if one else f"{n} columns repeat an earlier one exactly ({example})"
        counts = "counts as a candidate of its own" if one else "count as candidates of their own"
        yield (
            f"{which} and {counts}, which makes tests and penalties stricter; to ignore {'it' if one else 'them'}, use "
            f"{remedy}"
        )


def repeated(values: NDArray[Any]) -> dict[int, int]:
    """Columns that equal an earlier one, with the first that they equal; constant columns are omitted."""
    suspects = _alike(values[:N_FIRST], np.arange(values.shape[1]))
    if len(suspects) and len(values) > N_FIRST:
        suspects = _alike(values, suspects)
    first: dict[bytes, int] = {}
    found = {}
    for j in sorted(suspects.tolist()):
        column = np.ascontiguousarray(values[:, j]) + 0.0  # -0.0 equals 0.0
        if (column == column[0]).all():
            continue
        earlier = first.setdefault(column.tobytes(), j)
        if earlier != j:
            found[j] = earlier
    return found


def _alike(values: NDArray[Any], columns: NDArray[np.intp]) -> NDArray[np.intp]:
    """Columns whose sum with random weights is that of another one, up to rounding."""
    if len(columns) < 2:
        return columns[:0]
    weights = _weights(len(values))
    own = values if len(columns) == values.shape[1] else values[:, columns]
    with np.errstate(invalid="ignore", over="ignore"):  # missing and infinite values
        # Without BLAS: its worker threads would keep spinning, and compete with those that read X next.
        sums = np.einsum("i,ij->j", weights, own.astype(np.float64, copy=False))
        finite = np.isfinite(sums)
        columns, sums = columns[finite], sums[finite]
        ordered = np.sort(sums)
        size = np.maximum(np.abs(ordered[1:]), np.abs(ordered[:-1]))
        close = ordered[1:] - ordered[:-1] <= ROUNDING * size
    if not close.any():  # an argsort takes several times as long as a sort
        return columns[:0]
    order, mask = np.argsort(sums), np.zeros(len(columns), dtype=bool)
    mask[order[1:]] |= close
    mask[order[:-1]] |= close
    return columns[mask]


@lru_cache(maxsize=1)  # those of the first rows, which every table needs
def _weights(n_rows: int) -> NDArray[np.float64]:
    """Random weights of rows."""
    return np.random.default_rng(0).normal(size=n_rows)


def _features(columns: dict[int, int], encoding: Encoding | None, excluded: Collection[int]) -> dict[int, int]:
    """Features all of whose columns repeat those of one earlier feature."""
    if encoding is None:
        return {j: k for j, k in columns.items() if j not in excluded and k not in excluded}
    found = {}
    for feature in range(len(encoding.levels)):
        own = list(encoding.columns(feature))
        earlier = [columns.get(column) for column in own]
        if feature in excluded or not own or None in earlier:
            continue
        owners = {encoding.owners[column] for column in earlier if column is not None}
        if len(owners) == 1 and (other := owners.pop()) != feature and list(encoding.columns(other)) == earlier:
            found[feature] = other
    return found
