"""Columns that repeat an earlier one exactly: each is a candidate of its own, which tests and penalties count."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dropstep.data.encoding import Encoding
from dropstep.data.moments import Moments
from dropstep.data.table import Names

Floats = NDArray[np.float64]

N_FIRST = 64  # rows that decide which columns may be equal
BLOCK_SIZE = 2**17  # values (1 MB) that are compared at a time
ROUNDING = 1e-10  # relative difference of two sums of the same numbers
# Of the first rows. Sums are made without BLAS, whose threads would keep spinning and compete with those that read X.
WEIGHTS = np.random.default_rng(0).normal(size=N_FIRST)
EXACT = 1e-13  # relative difference of the moments of equal columns


def duplicates_note(
    columns: Mapping[int, int], encoding: Encoding | None, names: Names, ignored: Collection[int]
) -> Iterator[str]:
    """The note on features that repeat an earlier one exactly, if there are any.

    Parameters
    ----------
    columns : mapping of int to int
        Columns of the design matrix that equal an earlier one.
    encoding : Encoding or None
        How it encodes the features; None if the columns are the features.
    names : Names
    ignored : collection of int
        Features that are not considered.

    Yields
    ------
    str
    """
    found = columns if encoding is None else _features(columns, encoding)
    found = {j: k for j, k in found.items() if j not in ignored and k not in ignored}
    if not found:
        return
    later, earlier = next(iter(found.items()))
    one, n = len(found) == 1, len(found)
    example = f"{names.label(later)} repeats {names.label(earlier)}"
    which = f"{example} exactly" if one else f"{n} columns repeat an earlier one exactly ({example})"
    counts = "counts as a candidate of its own" if one else "count as candidates of their own"
    yield (
        f"{which} and {counts}, which makes tests and penalties stricter; to ignore {'it' if one else 'them'}, use "
        f"{names.exclude(list(found))}"
    )


def repeated(values: NDArray[Any]) -> dict[int, int]:
    """Columns that equal an earlier one, with the first that they equal; constant columns are omitted."""
    with np.errstate(invalid="ignore", over="ignore"):  # missing and infinite values
        first = np.einsum("i,ij->j", WEIGHTS[: len(values)], values[:N_FIRST].astype(np.float64, copy=False))
    suspects = list(_alike(first, None))
    if not suspects:
        return {}
    columns = np.sort(np.concatenate(suspects))
    found: dict[int, int] = {}
    for cluster in _alike(_sums(values, columns), columns):
        different: list[int] = []
        for j in np.sort(cluster).tolist():
            column = values[:, j]
            earlier = next((k for k in different if np.array_equal(values[:, k], column)), None)
            if earlier is not None:
                found[j] = earlier
            elif (column != column[0]).any():
                different.append(j)
    return dict(sorted(found.items()))


def _sums(values: NDArray[Any], columns: NDArray[np.intp]) -> Floats:
    """Sums of columns over the rows with random weights, which are equal for equal columns; NaN for missing values."""
    rng, total, height = np.random.default_rng(0), np.zeros(len(columns)), max(1, BLOCK_SIZE // len(columns))
    with np.errstate(invalid="ignore", over="ignore"):
        for top in range(0, len(values), height):
            block = values[top : top + height].take(columns, axis=1).astype(np.float64, copy=False)
            total += np.einsum("i,ij->j", rng.normal(size=len(block)), block)
    return total


def _alike(sums: Floats, columns: NDArray[np.intp] | None) -> Iterator[NDArray[np.intp]]:
    """Clusters of columns whose sums are equal up to rounding."""
    finite = np.isfinite(sums).nonzero()[0]
    ordered = sums[finite]
    ordered.sort()
    close = ordered[1:] - ordered[:-1] <= ROUNDING * np.maximum(np.abs(ordered[1:]), np.abs(ordered[:-1]))
    if not close.any():  # an argsort takes several times as long as a sort
        return
    order = finite[np.argsort(sums[finite], kind="stable")]
    order = order if columns is None else columns[order]
    yield from (cluster for cluster in np.split(order, np.flatnonzero(~close) + 1) if len(cluster) > 1)


def repeated_in(moments: Moments) -> dict[int, int]:
    """The same columns by moments: those with equal means and scatter, whose correlation is 1."""
    p = moments.n_features
    squares = np.diagonal(moments.scatter)[:p]
    found: dict[int, int] = {}
    for cluster in _alike(np.where(squares > 0, squares, np.nan), None):
        first: list[int] = []
        for j in np.sort(cluster).tolist():
            earlier = next((k for k in first if _equal(moments, k, j)), None)
            if earlier is None:
                first.append(j)
            else:
                found[j] = earlier
    return dict(sorted(found.items()))


def _equal(moments: Moments, k: int, j: int) -> bool:
    """Whether the moments of two columns are those of the same values, up to rounding."""
    S, means = moments.scatter, moments.means[moments.counts > 0]
    sd = np.sqrt(S[j, j] / moments.n_rows)
    same = np.abs(means[:, j] - means[:, k]) <= EXACT * (np.abs(means[:, j]) + sd)
    return bool(same.all()) and bool(np.abs(S[j] - S[k])[[j, k]].max() <= EXACT * S[j, j])


def _features(columns: Mapping[int, int], encoding: Encoding) -> dict[int, int]:
    """Features all of whose columns repeat those of one earlier feature."""
    found = {}
    for feature in range(len(encoding.levels)):
        own = list(encoding.columns(feature))
        earlier = [columns.get(column) for column in own]
        owners = {encoding.owners[column] for column in earlier if column is not None}
        other = owners.pop() if len(owners) == 1 else feature
        if other != feature and list(encoding.columns(other)) == earlier:
            found[feature] = other
    return found
