"""One fold: a projection of the training rows, and the held-out score after every possible move."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dropstep.models.base import Floats, Indices, Units
from dropstep.models.least_squares.fold_problems import FoldProblem
from dropstep.projection.basis import RowsBasis, orthonormal
from dropstep.projection.projection import Projection

THIN = 1e-5  # share of its scatter below which the residual of a column is computed from rows, in both sets of rows


class Block(NamedTuple):
    """Candidates with the same number of columns: their positions in a scan, and the columns of each."""

    at: Indices
    columns: Indices  # units x m


class Reduced(NamedTuple):
    """The basis of a fold without the directions of a removed unit, by which coordinates are reduced."""

    directions: Floats | None

    def __call__(self, coordinates: Floats) -> Floats:
        g = self.directions
        return coordinates if g is None else coordinates - g.T @ (g @ coordinates)


class FoldScores:
    """The selected columns of one fold, and its held-out score.

    Invariant: with R'R = S_AA of the training rows, a held-out row x_A has the coordinates t = x_A inv(R) in the basis
    of the training projection, and column j the held-out residual x_j - t W_j.

    Subclasses compute held-out scores of additions from these residuals, and of removals from the coordinates.
    """

    def __init__(self, fold: FoldProblem, units: Units, max_features: int | None) -> None:
        self.fold, self.problem, self.units = fold, fold.training, units
        limit = math.inf if max_features is None or units.members is not None else float(max_features)
        self.projection = Projection(self.problem.equations, limit)
        self.lost_digits = False  # whether a scan found a residual of which a Gram matrix keeps few digits
        self._within: dict[int, Floats] = {}  # training scatter within units, by number of columns
        self._lengths = np.array([len(unit) for unit in units.members], dtype=np.intp) if units.members else None
        self.read()

    # --- state -------------------------------------------------------------------------------------------------------

    @property
    def score(self) -> float:
        """The held-out score of the present selection."""
        raise NotImplementedError

    @property
    def size(self) -> int:
        """Number of linearly independent selected columns."""
        return self.projection.size

    @property
    def max_rank(self) -> float:
        """How many independent columns the training rows can estimate: at least one degree of freedom remains."""
        return self.problem.df - 1

    @property
    def _has_rows(self) -> bool:
        return isinstance(self.projection.basis, RowsBasis)

    def add(self, units: Sequence[int]) -> None:
        self.projection.add(self.units.columns(units))
        self.read(grown=True)

    def remove(self, units: Sequence[int]) -> None:
        for unit in units:
            self.projection.remove(self.units.columns([unit]))
        self.read()

    def read(self, *, grown: bool = False) -> None:
        """Read the held-out rows in the basis of the projection; only its new directions if it has `grown`."""
        raise NotImplementedError

    # --- scans -------------------------------------------------------------------------------------------------------

    def additions(self, units: Indices, without: int | None = None) -> tuple[Floats, Floats]:
        """Changes of the score by adding each unit, and their ranks; after removing the unit `without` if given."""
        gone = None if without is None else self.projection.directions(self.units.columns([without]))
        reduced, changes, ranks = Reduced(gone), np.zeros(len(units)), np.zeros(len(units))
        self.projection.update(np.array(self.units.columns(units), dtype=np.intp), freeze=without is None)
        start = self.before(reduced)
        for block in self._blocks(units):
            residual, thin = self._training(block, reduced)
            least = self.projection.precision.least[block.columns]
            changes[block.at], ranks[block.at] = self.added(block, residual, least, reduced, start)
            if not self._has_rows:
                self.lost_digits |= bool(thin.any())
                continue
            for i in np.flatnonzero(thin).tolist():
                changes[block.at[i]], ranks[block.at[i]] = self._from_rows(block.columns[i], least[i], reduced, start)
        return changes, ranks

    def removals(self, units: Indices) -> Floats:
        """Changes of the score by removing each selected unit."""
        projection = self.projection
        if self._lengths is None and not projection.dependent:
            place = {j: i for i, j in enumerate(projection.independent)}
            rows = projection.inverse[[place[int(u)] for u in units]]
            return self.removed((rows / np.linalg.norm(rows, axis=1)[:, None])[:, None, :])
        changes = [self.removed(projection.directions(self.units.columns([u]))[None]) for u in units.tolist()]
        return np.concatenate(changes) if changes else np.empty(0)

    def before(self, reduced: Reduced) -> NDArray[np.float64]:
        """What `added` starts from: held-out residuals, or logits, given the reduced basis."""
        raise NotImplementedError

    def added(
        self, block: Block, residual: Floats, least: Floats, reduced: Reduced, start: Floats
    ) -> tuple[Floats, Floats]:
        """Changes of the score by adding each unit of a block, and their ranks.

        `residual` are the Gram matrices of the training residuals of each unit's columns; pivots up to `least` are
        zero.
        """
        raise NotImplementedError

    def added_directions(
        self, unit: Indices, coordinates: Floats, root: Floats, along: Floats, reduced: Reduced, start: Floats
    ) -> float:
        """Change of the score by independent columns with these coordinates in the basis, computed from rows.

        Their training residuals, times `root`, are the orthonormal columns `along`.
        """
        raise NotImplementedError

    def removed(self, directions: Floats) -> Floats:
        """Changes of the score without some directions (units x rank x size)."""
        raise NotImplementedError

    # --- training residuals ------------------------------------------------------------------------------------------

    def _blocks(self, units: Indices) -> list[Block]:
        """The units of a scan, by number of columns."""
        if self._lengths is None:
            return [Block(np.arange(len(units)), units[:, None])]
        assert self.units.members is not None
        members, lengths = self.units.members, self._lengths[units]
        found = []
        for m in np.unique(lengths):
            at = np.flatnonzero(lengths == m)
            found.append(Block(at, np.array([members[int(u)] for u in units[at]], dtype=np.intp)))
        return found

    def _training(self, block: Block, reduced: Reduced) -> tuple[Floats, NDArray[np.bool_]]:
        """Gram matrices of the training residuals of units, and which of them have lost digits."""
        projection, columns, gone = self.projection, block.columns, reduced.directions
        diagonal = self.problem.equations.diagonal[columns]
        if columns.shape[1] == 1:
            ss, _, least = projection.residuals(columns[:, 0], gone)
            thin = (ss < THIN * diagonal[:, 0]) & (ss > least)
            return ss[:, None, None], thin
        W = projection.W[:, columns]
        residual = self._scatter_within(columns) - np.einsum("sum,sul->uml", W, W)
        if gone is not None:
            W = np.einsum("rs,sum->rum", gone, W)
            residual += np.einsum("rum,rul->uml", W, W)
        thin = _pivots(residual, projection.precision.least[columns]) < THIN * diagonal
        return residual, np.asarray((thin & (diagonal > 0)).any(axis=1))

    def _scatter_within(self, columns: Indices) -> Floats:
        """Training scatter within each of some units."""
        S = self.problem.equations.scatter
        if isinstance(S, np.ndarray):
            return np.asarray(S[columns[:, :, None], columns[:, None, :]])
        m = columns.shape[1]
        assert self.units.members is not None
        if m not in self._within:
            self._within[m] = np.full((self.problem.n_features, m, m), np.nan)
        within = self._within[m]
        for unit in columns[np.isnan(within[columns[:, 0], 0, 0])]:
            within[unit[0]] = self.problem.equations.block(unit)
        return np.asarray(within[columns[:, 0]])

    def _from_rows(self, unit: Indices, least: Floats, reduced: Reduced, start: Floats) -> tuple[float, float]:
        """Change of the score and rank of one unit, from the rows: differences of products have lost digits."""
        basis = self.projection.basis
        assert isinstance(basis, RowsBasis)
        x, gone = basis.columns.centred(unit), reduced.directions
        residuals = x
        for _ in range(2):
            residuals = residuals - basis.Q @ (basis.Q.T @ residuals)
        coordinates = basis.Q.T @ x
        if gone is not None:
            residuals = residuals + (basis.Q @ gone.T) @ (gone @ coordinates)
        directions, independent = orthonormal(residuals, least)
        if not independent:
            return 0.0, 0.0
        root = np.asarray(np.linalg.inv(directions.T @ residuals[:, independent]), dtype=np.float64)
        kept = reduced(coordinates[:, independent])
        change = self.added_directions(unit[independent], kept, root, directions, reduced, start)
        return change, float(len(independent))


def _pivots(residual: Floats, least: Floats) -> Floats:
    """Residual of each column of a unit given the earlier ones."""
    residual, pivots = residual.copy(), np.empty(least.shape)
    for t in range(residual.shape[1]):
        pivots[:, t] = residual[:, t, t]
        length = np.sqrt(np.where(pivots[:, t] > least[:, t], pivots[:, t], np.inf))
        w = residual[:, t, :] / length[:, None]
        residual -= w[:, :, None] * w[:, None, :]
    return pivots
