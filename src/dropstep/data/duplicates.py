"""Columns that repeat an earlier one exactly: each is a candidate of its own, which tests and penalties count."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dropstep.data.encoding import Encoding
from dropstep.data.table import MAX_LISTED, Table

N_FIRST = 64  # rows that decide which columns may be equal
WEIGHTS = np.random.default_rng(0).normal(size=N_FIRST)  # of these rows
BLOCK_SIZE = 2**17  # values (1 MB) that are compared at a time
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
    suspects = _alike(values[:N_FIRST])
    if not len(suspects):
        return {}
    hashes, varying = _hashes(values, suspects)
    first: dict[int, int] = {}
    found = {}
    for j, value in zip(suspects[varying].tolist(), hashes[varying].tolist(), strict=True):
        earlier = first.setdefault(value, j)
        if earlier != j and np.array_equal(values[:, earlier], values[:, j]):
            found[j] = earlier
    return found


def _alike(values: NDArray[Any]) -> NDArray[np.intp]:
    """Columns whose sum with random weights is that of another one, up to rounding."""
    with np.errstate(invalid="ignore", over="ignore"):  # missing and infinite values
        # Without BLAS: its worker threads would keep spinning, and compete with those that read X next.
        sums = np.einsum("i,ij->j", WEIGHTS[: len(values)], values.astype(np.float64, copy=False))
        columns: NDArray[np.intp] = np.isfinite(sums).nonzero()[0]
        sums = sums[columns]
        ordered = np.sort(sums)
        size = np.maximum(np.abs(ordered[1:]), np.abs(ordered[:-1]))
        close = ordered[1:] - ordered[:-1] <= ROUNDING * size
    if not close.any():  # an argsort takes several times as long as a sort
        return columns[:0]
    order, mask = np.argsort(sums), np.zeros(len(columns), dtype=bool)
    mask[order[1:]] |= close
    mask[order[:-1]] |= close
    return columns[mask]


def _hashes(values: NDArray[Any], columns: NDArray[np.intp]) -> tuple[NDArray[np.uint64], NDArray[np.bool_]]:
    """A hash of each of some columns, and which of them vary and have no missing values.

    The hash is the sum of the bits of the values times random odd numbers, modulo 2^64.
    """
    rng, height = np.random.default_rng(0), max(1, BLOCK_SIZE // len(columns))
    hashes, finite = np.zeros(len(columns), dtype=np.uint64), np.ones(len(columns), dtype=bool)
    varying = ~finite
    first = values[0].take(columns)
    for top in range(0, len(values), height):
        block = values[top : top + height].take(columns, axis=1).astype(np.float64, copy=False)
        varying |= (block != first).any(axis=0)
        finite &= np.isfinite(block).all(axis=0)
        bits = (block + 0.0).view(np.uint64)  # -0.0 equals 0.0
        bits ^= bits >> np.uint64(32)  # the low bits of small integers are 0
        bits *= rng.integers(2**63, size=(len(block), 1), dtype=np.uint64) * np.uint64(2) + np.uint64(1)
        hashes += bits.sum(axis=0)
    return hashes, varying & finite


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
