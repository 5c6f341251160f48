"""Rows: residuals and leverages of a selection, and what moves would make of them.

For criteria that are no function of M. Rows are weighted: row i of the residuals is sqrt(w_i) e_i, and its leverage is
that of the part of it that is left out, one repetition of weight 1 or less.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dropstep.data.columns import Columns
from dropstep.models.base import Units
from dropstep.models.least_squares.problem import Problem
from dropstep.projection.basis import RowsBasis, orthonormal
from dropstep.projection.projection import Projection

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]

BLOCK = 2**18  # numbers in the residuals of the candidates that are evaluated together


@dataclass(frozen=True, eq=False)
class RegressionRows:
    """The rows of a regression, read from a problem that has them.

    Attributes
    ----------
    problem : Problem
        With columns as its scatter, and targets.
    """

    problem: Problem

    @property
    def columns(self) -> Columns:
        assert isinstance(self.problem.equations.scatter, Columns)
        return self.problem.equations.scatter

    @property
    def targets(self) -> Floats:
        assert self.problem.equations.targets is not None
        return self.problem.equations.targets

    @cached_property
    def shares(self) -> Floats:
        """What a squared coordinate of a weighted row is multiplied by to be the leverage of the part left out."""
        root = self.columns.root
        if root is None:
            return np.ones(len(self.targets))
        weights = np.square(root)
        return np.asarray(np.minimum(weights, 1.0) / np.where(weights > 0, weights, 1.0))

    @cached_property
    def constant(self) -> Floats:
        """Leverages of a model with nothing but an intercept."""
        weights = np.ones(len(self.targets)) if self.columns.root is None else np.square(self.columns.root)
        return np.asarray(np.minimum(weights, 1.0) / self.problem.n)


class RowFit:
    """Residuals and leverages of the features that are selected in a projection.

    Parameters
    ----------
    rows : RegressionRows
    projection : Projection
    removed : ndarray of shape (n_directions, size) or None
        Directions of the basis that are left out.
    """

    def __init__(self, rows: RegressionRows, projection: Projection, removed: Floats | None = None) -> None:
        self._rows, self._projection, self._removed = rows, projection, removed

    @cached_property
    def _whole_basis(self) -> Floats:
        """Orthonormal basis of the selected features."""
        projection = self._projection
        if isinstance(projection.basis, RowsBasis):
            return projection.basis.Q
        return np.asarray(self._centred(projection.independent) @ projection.inverse)

    def _centred(self, columns: Sequence[int]) -> Floats:
        """Columns in the scale of the projection."""
        at = np.array(columns, dtype=np.intp)
        own, here = self._rows.problem.equations.diagonal[at], self._projection.equations.diagonal[at]
        return self._rows.columns.centred(at) * np.sqrt(np.divide(here, own, out=np.ones(len(at)), where=own > 0))

    @cached_property
    def _basis(self) -> Floats:
        """Orthonormal basis of what is selected and not removed."""
        if self._removed is None:
            return self._whole_basis
        H = np.linalg.qr(self._removed.T, mode="complete")[0][:, len(self._removed) :]
        return np.asarray(self._whole_basis @ H)

    @cached_property
    def residuals(self) -> Floats:
        """Weighted residuals of the targets, of shape (n_samples, n_targets)."""
        targets = self._rows.targets
        for _ in range(2):
            targets = targets - self._basis @ (self._basis.T @ targets)
        return np.asarray(targets)

    @cached_property
    def leverages(self) -> Floats:
        """Leverages of shape (n_samples,)."""
        return np.asarray(self._rows.constant + self._rows.shares * np.square(self._basis).sum(axis=1))

    def without(self, removed: Floats) -> RowFit:
        """The fit without some directions of the basis."""
        return RowFit(self._rows, self._projection, removed)

    def additions(self, units: Units, chosen: Indices) -> Iterator[tuple[Floats, Floats]]:
        """Residuals and leverages after adding each unit, in blocks of shapes (n, m, n_targets) and (n, m)."""
        if units.members is not None:
            for unit in chosen.tolist():
                yield self._after(self._directions(units.columns([unit]))[:, None, :], -1)
            return
        count = max(1, BLOCK // max(1, len(self.residuals)))
        for first in range(0, len(chosen), count):
            residuals = self._residuals_of(chosen[first : first + count].tolist())
            lengths = np.sqrt(np.square(residuals).sum(axis=0))
            yield self._after((residuals / np.where(lengths > 0, lengths, 1.0))[:, :, None], -1)

    def removals(self, units: Units, chosen: Indices) -> Iterator[tuple[Floats, Floats]]:
        """Residuals and leverages after removing each selected unit, in blocks."""
        for unit in chosen.tolist():
            directions = self._whole_basis @ self._projection.directions(units.columns([unit])).T
            yield self._after(directions[:, None, :], +1)

    def _after(self, directions: Floats, sign: int) -> tuple[Floats, Floats]:
        """Residuals and leverages after subtracting (-1) or adding back (+1) directions of shape (n, m, rank)."""
        source = self.residuals if sign < 0 else self._rows.targets
        explained = np.einsum("nmr,mrt->nmt", directions, np.einsum("nmr,nt->mrt", directions, source))
        leverages = self.leverages[:, None] - sign * self._rows.shares[:, None] * np.square(directions).sum(axis=2)
        return self.residuals[:, None, :] + sign * explained, leverages

    def _residuals_of(self, columns: Sequence[int]) -> Floats:
        x = self._centred(columns)
        for _ in range(2):
            x = x - self._basis @ (self._basis.T @ x)
        return x

    def _directions(self, columns: Sequence[int]) -> Floats:
        """Orthonormal directions that a unit adds."""
        at = np.array(columns, dtype=np.intp)
        equations = self._projection.equations
        return orthonormal(self._residuals_of(columns), equations.noise[at] * equations.resolution[0])[0]
