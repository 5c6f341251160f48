"""Complementary half-samples: rows are dealt at random, and a selection is made on each half."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray

from dropstep.data.moments import Moments
from dropstep.data.response import Survival
from dropstep.data.sample import Rows
from dropstep.data.target import Categorical
from dropstep.models.base import Family, Problem
from dropstep.models.capabilities import RowBlocks, SumsBlocks
from dropstep.parameters import NAMES, Parameters
from dropstep.running import prepared, searched
from dropstep.search.calibrated import Permutation

Indices = NDArray[np.intp]

MIN_ROWS = 3  # of a regression
N_BLOCKS = 32  # of which a half has 16: 300 million pairs of halves
MIN_CLASS = 2 * N_BLOCKS  # rows of every class, so that each block has some


@dataclass(frozen=True, eq=False)
class Half:
    """What was selected on a half of the rows.

    Attributes
    ----------
    selected : tuple of int
        Selected units, in order of entry.
    by_size : tuple of tuple of int
        For each number of units from 0, the last selection of at most that size that the search visited.
    estimable : bool, default=True
        False if the target does not vary in this half, or classes have too few rows, so that nothing is selected.
    """

    selected: tuple[int, ...]
    by_size: tuple[tuple[int, ...], ...]
    estimable: bool = True


@dataclass(frozen=True, eq=False)
class Repeated:
    """A selection that can be repeated on parts of the rows.

    Attributes
    ----------
    family : Family
    sample : Sample or EstimatorSample
        The whole sample, validated once: parts of it have the same encoding and the same units.
    given : Parameters
    """

    family: Family
    sample: Any
    given: Parameters

    def search(self, rows: Indices | None = None, problem: Problem | None = None) -> Half:
        """The selection on some rows, or on a problem that was made of them."""
        sample = self.sample if rows is None else self.part(np.sort(rows))
        if sample is None:
            nothing = self.sample.choice.include
            return Half(nothing, (nothing,), estimable=False)
        search, visited = searched(self.family, sample, self.given, problem)
        return Half(tuple(search.selected), tuple(_by_size(visited, tuple(search.selected))))

    def part(self, rows: Indices) -> Any:
        """A part of the rows, without classes of a single row; None if the target does not vary there."""
        if (target := getattr(self.sample, "target", None)) is None:
            return self.sample.at(rows)
        if isinstance(target, Categorical):
            counts = np.bincount(target.codes[rows], minlength=len(target.labels))
            rows, n_classes = rows[counts[target.codes[rows]] > 1], int((counts > 1).sum())
            return self.sample.at(rows) if n_classes > 1 and len(rows) - n_classes > 1 else None
        values = target.event if isinstance(target, Survival) else getattr(target, "values", target)
        varies = values[rows].any() if isinstance(target, Survival) else np.ptp(values[rows], axis=0).all()
        return self.sample.at(rows) if varies and len(rows) > MIN_ROWS else None


def _by_size(visited: dict[int, tuple[int, ...]], final: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    order = {size: at for at, size in enumerate(visited)}
    best: tuple[int, ...] = ()
    latest = -1
    for size in range(max([*visited, len(final)], default=0) + 1):
        if order.get(size, -1) > latest:
            best, latest = visited[size], order[size]
        yield best


def repeated(X: Any, y: Any, rows: Rows, parameters: dict[str, Any], caller: str) -> Repeated:
    """Validate the data and parameters of a selection that is to be repeated on parts of the rows."""
    if unknown := [name for name in parameters if name not in NAMES]:
        raise TypeError(f"{caller} has no parameter {unknown[0]!r}; its parameters are those of select")
    for name in ("max_time", "checkpoint"):
        if parameters.get(name) is not None:
            raise ValueError(f"{name} does not apply to {caller}, which repeats the selection; omit {name}")
    if isinstance(X, Moments):
        raise ValueError(
            f"{caller} repeats the selection on parts of the rows, which Moments do not have; pass X and y"
        )
    given = replace(Parameters(**parameters), n_jobs=None)
    family, sample = prepared(X, y, rows, given)
    return Repeated(family, sample, given)


def deal(n_rows: int, stratum: Indices | None, groups: Any, n_parts: int, rng: np.random.Generator) -> Indices:
    """Deal rows at random to parts that differ by at most one row, in total and up to two in each stratum.

    Groups of rows are dealt as a whole, and then it is groups that are counted.
    """
    if groups is not None:
        _, first, group = np.unique(np.asarray(groups).astype(str), return_index=True, return_inverse=True)
        part = deal(len(first), None if stratum is None else stratum[first], None, n_parts, rng)
        return part[group.ravel()]
    order = np.lexsort((rng.random(n_rows), np.zeros(n_rows) if stratum is None else stratum))
    runs = rng.random((-(-n_rows // n_parts), n_parts)).argsort(axis=1)
    part = np.empty(n_rows, dtype=np.intp)
    part[order] = runs.ravel()[:n_rows]
    return part


def share_of_rows(sample: Any, share: float, rng: np.random.Generator) -> NDArray[np.bool_]:
    """A random share of the rows, the same in each stratum; groups of rows stay together."""
    stratum, groups = sample.stratum, sample.groups
    if groups is not None:
        _, first, group = np.unique(np.asarray(groups).astype(str), return_index=True, return_inverse=True)
        stratum = None if stratum is None else stratum[first]
    n = sample.n_rows if groups is None else len(first)
    order = np.lexsort((rng.random(n), np.zeros(n) if stratum is None else stratum))
    steps = np.floor(np.arange(n + 1) * share + rng.random())
    inside = np.empty(n, dtype=bool)
    inside[order] = np.diff(steps) > 0
    return inside if groups is None else inside[group.ravel()]


def half_samples(work: Repeated, n_pairs: int, seed: int | None, n_jobs: int | None) -> tuple[list[Half], bool]:
    """Selections on complementary halves, the two of a pair one after the other, and whether blocks were summed."""
    family, sample, given = work.family, work.sample, work.given
    streams = np.random.SeedSequence(seed).spawn(n_pairs + 1)
    blocks = _blocks(family, sample, given, np.random.default_rng(streams[0]))
    run: Callable[..., tuple[Half, Half]] = _pair_of_rows if blocks is None else _pair_of_blocks
    tasks = (delayed(run)(work, blocks, stream) for stream in streams[1:])
    pairs = Parallel(n_jobs=n_jobs)(tasks)
    return [half for pair in pairs for half in pair], blocks is not None


def _blocks(family: Family, sample: Any, given: Parameters, rng: np.random.Generator) -> RowBlocks | None:
    """Blocks of rows, where sums over blocks cost less than the rows themselves."""
    if not isinstance(family, SumsBlocks) or not family.prefers_blocks(sample, given.solver, N_BLOCKS):
        return None
    if isinstance(given.enter, Permutation):  # of rows
        return None
    if sample.stratum is not None and np.bincount(sample.stratum).min() < MIN_CLASS:
        return None
    block = deal(sample.n_rows, sample.stratum, sample.groups, N_BLOCKS, rng)
    return family.blocks(sample, block, given.solver, given.max_features)


def _pair_of_rows(work: Repeated, blocks: None, stream: np.random.SeedSequence) -> tuple[Half, Half]:
    sample = work.sample
    part = deal(sample.n_rows, sample.stratum, sample.groups, 2, np.random.default_rng(stream))
    return work.search(np.flatnonzero(part == 0)), work.search(np.flatnonzero(part == 1))


def _pair_of_blocks(work: Repeated, blocks: RowBlocks, stream: np.random.SeedSequence) -> tuple[Half, Half]:
    chosen = np.random.default_rng(stream).permutation(N_BLOCKS)[: N_BLOCKS // 2]
    first, second = blocks.halves(np.sort(chosen))
    return work.search(problem=first), work.search(problem=second)
