"""Units: what a search adds, removes and drops whole. Each feature is one, or groups of features are."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dropstep.explained import BlockChange, Change
from dropstep.problem import Problem
from dropstep.projection import Projection

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]


class Units:
    """Units of a problem, by ascending first feature. Units of one length are looked at together.

    Attributes
    ----------
    n : how many units there are.
    lengths : how many features each has.
    singles : whether every feature is a unit by itself, so that units and features have the same numbers.
    """

    def __init__(self, problem: Problem, members: Sequence[Sequence[int]] | None = None) -> None:
        self.singles = members is None
        self.n = problem.n_features if members is None else len(members)
        self._members = members
        self.lengths = np.broadcast_to(np.intp(1), self.n)
        self._blocks: dict[int, tuple[Indices, Floats]] = {}
        if members is not None:
            self._place = np.arange(self.n)
            self.lengths = np.array([len(unit) for unit in members], dtype=np.intp)
            for m in np.unique(self.lengths):
                at = np.flatnonzero(self.lengths == m)
                self._place[at] = np.arange(len(at))
                features = np.array([members[int(u)] for u in at], dtype=np.intp)
                scatter = np.stack([problem.block(unit) for unit in features]) if m > 1 else np.empty(0)
                self._blocks[int(m)] = features, scatter

    def features(self, units: Sequence[int] | Indices) -> tuple[int, ...]:
        """The features of units."""
        numbers = units.tolist() if isinstance(units, np.ndarray) else units
        members = self._members
        return tuple(numbers) if members is None else tuple(j for u in numbers for j in members[u])

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
        lengths = self.lengths[units]
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
