"""Complementary half-samples: rows are dealt at random, and a selection is made on each half."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray

from dropstep.backends import opened
from dropstep.data.moments import Moments
from dropstep.data.sample import Rows
from dropstep.data.sources import RowSource
from dropstep.data.target import Categorical
from dropstep.evaluation.observations import Observations, estimable
from dropstep.models.base import Family, Problem
from dropstep.models.capabilities import RowBlocks, SumsBlocks
from dropstep.parameters import Parameters, checked_parameters
from dropstep.running import prepared, searched
from dropstep.search.calibrated import Permutation

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]

N_BLOCKS = 32  # of which a half has 16: 300 million pairs of halves
MIN_PER_BLOCK = 2  # rows of every class, or groups of rows, on average


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

    @cached_property
    def observations(self) -> Observations:
        """What is drawn when the sample is divided."""
        return Observations.of(self.sample)

    def search(self, drawn: Indices) -> Half:
        """The selection on some observations."""
        part = self.part(drawn)
        return self.unsearched if part is None else self.searched(part)

    def searched(self, part: Any, problem: Problem | None = None) -> Half:
        """The selection on a part of the sample, or on a problem that was made of it."""
        try:
            search, visited = searched(self.family, part, self.given, problem)
        except ValueError as error:
            raise ValueError(f"on a part of the rows: {error}") from error
        return Half(tuple(search.selected), tuple(_by_size(visited, tuple(search.selected))))

    @property
    def unsearched(self) -> Half:
        """What is selected where nothing can be estimated."""
        included = self.sample.choice.include
        return Half(included, (included,), estimable=False)

    def part(self, drawn: Indices) -> Any:
        """The sample of some observations, without classes of a single one; None if its target cannot be fitted."""
        return estimable(self.observations.at(self.sample, drawn))


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
    given = replace(checked_parameters(caller, parameters), n_jobs=None)
    for name in ("max_time", "checkpoint"):
        if parameters.get(name) is not None:
            raise ValueError(f"{name} does not apply to {caller}, which repeats the selection; omit {name}")
    if isinstance(X, Moments):
        raise ValueError(
            f"{caller} repeats the selection on parts of the rows, which Moments do not have; pass X and y"
        )
    if isinstance(opened(X, y, rows)[0], RowSource):
        raise ValueError(f"{caller} needs all rows in memory; pass X as an array or a frame")
    family, sample = prepared(X, y, rows, given)
    return Repeated(family, sample, given)


def half_samples(work: Repeated, n_pairs: int, seed: int | None, n_jobs: int | None) -> tuple[list[Half], bool]:
    """Selections on complementary halves, the two of a pair one after the other, and whether blocks were summed."""
    if work.observations.n_groups == 1:
        raise ValueError("sample_groups has a single group, which cannot be divided into halves; pass several groups")
    streams = np.random.SeedSequence(seed).spawn(n_pairs + 1)
    blocks = _blocks(work, np.random.default_rng(streams[0]))
    run: Callable[..., tuple[Half, Half]] = _pair_of_rows if blocks is None else _pair_of_blocks
    tasks = (delayed(run)(work, blocks, stream) for stream in streams[1:])
    halves = [half for pair in Parallel(n_jobs=n_jobs)(tasks) for half in pair]
    if not any(half.estimable for half in halves):
        raise ValueError(
            "no half of the rows can be fitted: they are too few, the target does not vary there, or its classes have "
            "a single row; pass more rows"
        )
    return halves, blocks is not None


class _Blocks(NamedTuple):
    """Blocks of rows: their sums, the block of each row, and the range of the target in each (of numbers)."""

    sums: RowBlocks
    block: Indices
    ranges: Floats | None

    def vary(self, chosen: Indices) -> bool:
        """Whether the target varies in the union of some blocks, and in that of the others."""
        if self.ranges is None:  # every block has rows of every class
            return True
        halves = self.ranges[chosen], np.delete(self.ranges, chosen, axis=0)
        return all(bool((half[:, 0].min(axis=0) < half[:, 1].max(axis=0)).all()) for half in halves)


def _blocks(work: Repeated, rng: np.random.Generator) -> _Blocks | None:
    """Blocks of rows, where sums over blocks cost less than the rows themselves."""
    family, sample, given, observations = work.family, work.sample, work.given, work.observations
    if not isinstance(family, SumsBlocks) or not family.prefers_blocks(sample, given.criterion, given.solver, N_BLOCKS):
        return None
    if isinstance(given.enter, Permutation) or observations.has_copies:  # which need the rows
        return None
    if observations.n_rarest < MIN_PER_BLOCK * N_BLOCKS:
        return None
    block = np.zeros(sample.n_rows, dtype=np.intp)
    block[observations.row] = observations.deal(N_BLOCKS, rng)
    sums = family.blocks(sample, block, given.solver, given.max_features)
    return None if sums is None else _Blocks(sums, block, _ranges(sample, block[observations.row], observations.row))


def _ranges(sample: Any, block: Indices, row: Indices) -> Floats | None:
    """The least and the largest value of each target in each block; None for classes."""
    if isinstance(sample.target, Categorical):
        return None
    order = np.argsort(block, kind="stable")
    parts = np.split(sample.target.values[row[order]], np.searchsorted(block[order], np.arange(1, N_BLOCKS)))
    return np.array([(values.min(axis=0), values.max(axis=0)) for values in parts])


def _pair_of_rows(work: Repeated, blocks: None, stream: np.random.SeedSequence) -> tuple[Half, Half]:
    part = work.observations.deal(2, np.random.default_rng(stream))
    return work.search(np.flatnonzero(part == 0)), work.search(np.flatnonzero(part == 1))


def _pair_of_blocks(work: Repeated, blocks: _Blocks, stream: np.random.SeedSequence) -> tuple[Half, Half]:
    chosen = np.sort(np.random.default_rng(stream).permutation(N_BLOCKS)[: N_BLOCKS // 2])
    if not blocks.vary(chosen):
        inside = np.isin(blocks.block, chosen)[work.observations.row]
        return work.search(np.flatnonzero(inside)), work.search(np.flatnonzero(~inside))
    first, second = blocks.sums.halves(chosen)
    return work.searched(work.sample, first), work.searched(work.sample, second)
