"""Units: what a search adds, removes and drops whole. Each feature is one, or groups of features are."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dropstep.data.columns import Columns
from dropstep.models.least_squares.explained import BlockChange, Change, block_cholesky
from dropstep.models.least_squares.problem import Problem
from dropstep.projection.basis import orthonormal
from dropstep.projection.projection import Projection

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]


class Units:
    """Units of a problem, by ascending first feature. Units of the same rank are evaluated together.

    Attributes
    ----------
    n : number of units.
    singles : whether every feature is a unit by itself, so that units and features have the same numbers.
    """

    def __init__(self, problem: Problem, members: Sequence[Sequence[int]] | None = None) -> None:
        self.singles = members is None
        self.n = problem.n_features if members is None else len(members)
        self._members = members
        self._varying = problem.diagonal > 0
        self._blocks: dict[int, tuple[Indices, Floats]] = {}
        if members is not None:
            independent = [_independent(problem, np.array(unit, dtype=np.intp)) for unit in members]
            self._varying = np.array([self._varying[list(unit)].any() for unit in members])
            self._place = np.arange(self.n)
            self._lengths = np.array([len(unit) for unit in independent], dtype=np.intp)
            for m in np.unique(self._lengths):
                at = np.flatnonzero(self._lengths == m)
                self._place[at] = np.arange(len(at))
                features = np.array([independent[int(u)] for u in at], dtype=np.intp)
                scatter = np.stack([problem.block(unit) for unit in features]) if m > 1 else np.empty(0)
                self._blocks[int(m)] = features, scatter

    def of(self, problem: Problem) -> Units:
        """The same units of another problem."""
        return Units(problem, self._members)

    def features(self, units: Sequence[int] | Indices) -> tuple[int, ...]:
        """The features of units."""
        numbers = units.tolist() if isinstance(units, np.ndarray) else units
        members = self._members
        return tuple(numbers) if members is None else tuple(j for u in numbers for j in members[u])

    def rank(self, units: Sequence[int]) -> int:
        """Number of features of some units that do not depend on others of the same unit, constant ones not counted."""
        if self.singles:
            return int(np.count_nonzero(self._varying[list(units)]))
        return int(self._lengths[list(units)] @ self._varying[list(units)])

    def spread(self, values: Indices) -> tuple[int, ...]:
        """One number a unit, as one number a feature."""
        if self._members is None:
            return tuple(values.tolist())
        spread = {j: int(values[u]) for u, unit in enumerate(self._members) for j in unit}
        return tuple(spread[j] for j in range(len(spread)))

    def additions(self, projection: Projection, units: Indices | None, without: Floats | None = None) -> Change:
        """What adding each unit (None: all) would do, once directions were given up before."""
        if self.singles:
            return projection.additions(units, without)
        units = np.arange(self.n) if units is None else units
        lengths = self._lengths[units]
        vectors = np.zeros((len(units), int(lengths.max(initial=1)), projection.problem.n_targets))
        rank = np.zeros(len(units))
        for m, (members, blocks) in self._blocks.items():
            at = np.flatnonzero(lengths == m)
            place = self._place[units[at]]
            if len(at):
                scatter = blocks[place] if m > 1 else projection.problem.diagonal[members[place]][:, :, None]
                change = projection.block_additions(members[place], scatter, without)
                vectors[at, :m], rank[at] = change.vectors, change.rank
        return BlockChange(vectors, rank)

    def removals(self, projection: Projection, units: Indices) -> Change:
        """What removing each selected unit would do."""
        if not len(units):
            return BlockChange(np.zeros((0, 1, projection.problem.n_targets)), np.zeros(0))
        if self.singles and len(projection.selected) == projection.size:
            place = {j: i for i, j in enumerate(projection.independent)}
            return projection.removals([place[int(u)] for u in units])
        vectors = [projection.removal(self.features([u])) for u in units.tolist()]
        padded = np.zeros((len(units), max(map(len, vectors)), projection.problem.n_targets))
        for i, some in enumerate(vectors):
            padded[i, : len(some)] = some
        return BlockChange(padded, np.array([len(some) for some in vectors], dtype=np.float64))


def _independent(problem: Problem, unit: Indices) -> Indices:
    """The features of a unit that do not depend on earlier ones of it; the first one if all are constant."""
    if len(unit) == 1:
        return unit
    least = problem.noise[unit] * problem.resolution[0]
    if isinstance(problem.scatter, Columns):
        kept = orthonormal(problem.scatter.centred(unit), least)[1]
    else:
        block = problem.block(unit)[None]
        pivots = block_cholesky(block, np.zeros((1, len(unit), 0)), least[None])[1]
        kept = np.flatnonzero(pivots[0] > least).tolist()
    return unit[kept] if kept else unit[:1]
