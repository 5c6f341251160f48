"""Blocks of rows: their moments are computed once, and a half of the rows is a sum of blocks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, reduce
from operator import add

import numpy as np
from numpy.typing import NDArray

from dropstep.data.moments import Moments, of_rows
from dropstep.data.sample import Sample
from dropstep.data.table import refuse_missing
from dropstep.models.least_squares.problem import Problem, from_moments, problem_of

Indices = NDArray[np.intp]
Rows = Callable[[], Indices]

MIN_ROWS_PER_VALUE = 2  # moments of all blocks may have as many numbers as X has, divided by this


@dataclass(frozen=True, eq=False)
class MomentBlocks:
    """Moments of disjoint blocks of the rows of a sample.

    Attributes
    ----------
    sample : Sample
    block : ndarray of int of shape (n_samples,)
        Block of each row.
    moments : tuple of Moments
        Moments of each block.
    total : Moments
        Moments of all rows.
    exact : bool
        Whether to continue from the rows where the digits of a Gram matrix do not suffice.
    """

    sample: Sample
    block: Indices
    moments: tuple[Moments, ...]
    total: Moments
    exact: bool

    def halves(self, chosen: Indices) -> tuple[tuple[Problem, Rows], tuple[Problem, Rows]]:
        """The problem of the union of some blocks, and that of the other blocks; with functions that find the rows."""
        half = union([self.moments[b] for b in chosen.tolist()])
        return self._problem(half, chosen, inside=True), self._problem(self.total - half, chosen, inside=False)

    def _problem(self, moments: Moments, chosen: Indices, *, inside: bool) -> tuple[Problem, Rows]:
        problem = from_moments(moments)

        @cache
        def rows() -> Indices:
            return np.flatnonzero(np.isin(self.block, chosen) == inside)

        @cache
        def from_rows() -> Problem:
            part = self.sample.at(rows())
            return problem_of(part.table, part.target, part.weights, "columns")

        return replace(problem, finer=from_rows) if self.exact else problem, rows


def union(parts: Sequence[Moments]) -> Moments:
    """The sum of moments, at once where all have the same classes, which costs less than one after the other."""
    first = parts[0]
    classes = {None if part.labels is None else tuple(part.labels.tolist()) for part in parts}
    if len(classes) > 1:
        return reduce(add, parts)
    counts = np.array([part.counts for part in parts])
    means = np.array([part.means for part in parts])
    total = counts.sum(axis=0)
    shares = np.divide(counts, total, out=np.zeros_like(counts), where=total > 0)
    centre = np.einsum("bc,bcj->cj", shares, means)
    between = (np.sqrt(counts)[:, :, None] * (means - centre)).reshape(-1, means.shape[2])
    scatter = between.T @ between
    for part in parts:
        scatter += part.scatter
    return replace(first, counts=total, means=centre, scatter=scatter)


def prefers_blocks(n_rows: int, n_columns: int, n_blocks: int) -> bool:
    """Whether the moments of all blocks are few compared with the rows."""
    return MIN_ROWS_PER_VALUE * n_blocks * n_columns <= n_rows


def blocks_of(sample: Sample, block: Indices, *, exact: bool) -> MomentBlocks | None:
    """The moments of blocks; None if columns have so extreme a scale that moments cannot be added."""
    n_blocks = int(block.max()) + 1
    order = np.argsort(block, kind="stable")
    found = []
    for rows in np.split(order, np.searchsorted(block[order], np.arange(1, n_blocks))):
        table = sample.table.at(rows)
        weights = None if sample.weights is None else sample.weights[rows]
        moments, exponents = of_rows(table.matrix, sample.target.at(rows), weights, table.names)
        refuse_missing(sample.table, moments.means[:, : moments.n_features])
        if exponents is not None:
            return None
        found.append(moments)
    return MomentBlocks(sample, block, tuple(found), union(found), exact)
