"""The fit of sets as one number, less is better, and by how much deleting units worsens it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dropstep.models.least_squares.criteria import Criterion, OfDeterminant, OfTrace, Size
from dropstep.models.least_squares.problem import Problem

Floats = NDArray[np.float64]

WELL_CONDITIONED = 1e-10  # smallest relative eigenvalue of M for which its inverse is used


class Fit(Protocol):
    """A loss that orders sets of the same size and rank as the criterion does; no deletion improves it.

    A deletion of a unit changes M to M - sign V'V, where V has shape (width, n_targets). All arguments are arrays of
    matrices, with any number of axes before the last two.
    """

    def loss(self, M: Floats) -> Floats:
        """Losses of sets."""
        ...

    def increments(self, M: Floats, V: Floats) -> Floats:
        """Increases of the loss by each deletion."""
        ...

    def powers(self, M: Floats, V: Floats) -> Floats:
        """Sizes of deletions, whose sum bounds the increase by several (`increase_from`)."""
        ...

    def increase_from(self, power: Floats) -> Floats:
        """The smallest increase of the loss by deletions whose powers, if they were orthogonal, have this sum."""
        ...


@dataclass(frozen=True)
class TraceFit:
    """The trace of M, or its only element; transformed by `root`, if the criterion weights the targets."""

    sign: int

    def loss(self, M: Floats) -> Floats:
        return np.asarray(-self.sign * np.trace(M, axis1=-2, axis2=-1))

    def increments(self, M: Floats, V: Floats) -> Floats:
        return np.asarray(np.einsum("...gt,...gt->...", V, V))

    def powers(self, M: Floats, V: Floats) -> Floats:
        return self.increments(M, V)

    def increase_from(self, power: Floats) -> Floats:
        return power


@dataclass(frozen=True)
class DeterminantFit:
    """The log determinant of M."""

    sign: int

    def loss(self, M: Floats) -> Floats:
        return np.asarray(-self.sign * np.linalg.slogdet(M)[1])

    def increments(self, M: Floats, V: Floats) -> Floats:
        inner = V @ np.linalg.solve(M, np.swapaxes(V, -1, -2))  # det(M - sign V'V) = det(M) det(I - sign V inv(M) V')
        if inner.shape[-1] == 1:
            inside = np.maximum(-self.sign * inner[..., 0, 0], -1 + np.finfo(np.float64).eps)
            return np.asarray(-self.sign * np.log1p(inside))
        return np.asarray(-self.sign * np.linalg.slogdet(np.eye(inner.shape[-1]) - self.sign * inner)[1])

    def powers(self, M: Floats, V: Floats) -> Floats:
        return np.asarray(np.einsum("...gt,...tg->...", V, np.linalg.solve(M, np.swapaxes(V, -1, -2))))

    def increase_from(self, power: Floats) -> Floats:
        """log det(I + K) >= log(1 + trace K), and -log det(I - K) >= trace K."""
        return np.log1p(power) if self.sign < 0 else power


@dataclass(frozen=True)
class AnyFit:
    """Any function of M that no deletion improves; without a bound for several deletions."""

    sign: int
    function: Callable[[Floats], Floats]

    def loss(self, M: Floats) -> Floats:
        return self.function(M)

    def increments(self, M: Floats, V: Floats) -> Floats:
        return np.maximum(self.function(M - self.sign * np.swapaxes(V, -1, -2) @ V) - self.function(M), 0.0)

    def powers(self, M: Floats, V: Floats) -> Floats:
        return np.zeros(V.shape[:-2])

    def increase_from(self, power: Floats) -> Floats:
        return power


def fit_of(criterion: Criterion, problem: Problem, full: Floats) -> Fit | None:
    """The fit that a criterion orders sets of one size by; None if it has none. `full` is M of all candidates."""
    if problem.n_targets == 1 or isinstance(criterion, OfTrace):
        return TraceFit(problem.sign)
    if isinstance(criterion, OfDeterminant):
        scale = np.sqrt(np.diagonal(problem.base))
        if np.linalg.eigvalsh(full / np.outer(scale, scale))[0] > WELL_CONDITIONED:
            return DeterminantFit(problem.sign)
        return AnyFit(problem.sign, lambda M: -problem.sign * _floored_logdet(M, scale, problem.exact_fit))
    if criterion.monotone:
        return AnyFit(
            problem.sign, lambda M: np.asarray(-criterion.better * criterion.score(M, Size(0.0, 0.0), problem))
        )
    return None


def _floored_logdet(M: Floats, scale: Floats, least: float) -> Floats:
    """Log determinants, up to a constant, of residuals whose eigenvalues are raised to the exact-fit tolerance."""
    values = np.linalg.eigvalsh(M / np.outer(scale, scale))
    return np.asarray(np.log(np.maximum(values, least)).sum(axis=-1))
