"""The scale on which sets are compared: losses, values and scores."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dropstep.models.least_squares.criteria import OfDeterminant, Size
from dropstep.models.least_squares.explained import Explained
from dropstep.models.least_squares.subsets.fit import AnyFit, Fit, TraceFit

if TYPE_CHECKING:
    from dropstep.models.least_squares.model import LeastSquares

Floats = NDArray[np.float64]

ROUNDING = 1e-12  # error of a loss relative to that of the empty set


@dataclass(frozen=True, eq=False)
class Scale:
    """Losses (less is better), and values and scores (more is better) of sets that are added to a model.

    Attributes
    ----------
    model : LeastSquares
    fit : Fit
    M, full : ndarray of shape (n_targets, n_targets)
        M of the model, and with all candidates.
    equal_ranks : bool
        True if all units have rank 1, so that the loss orders the sets of one size.
    """

    model: LeastSquares
    fit: Fit
    M: Floats
    full: Floats
    equal_ranks: bool

    @property
    def sign(self) -> int:
        return self.model.problem.sign

    def loss(self, G: Floats) -> float:
        """The loss of a set that adds to G; residuals at rounding level of the Gram matrix are equal."""
        loss = float(self.fit.loss((self.M + self.sign * G)[None])[0])
        return max(loss, ROUNDING * self.interval[1]) if self.sign < 0 and isinstance(self.fit, TraceFit) else loss

    @cached_property
    def interval(self) -> tuple[float, float]:
        """Losses of all candidates and of none."""
        return float(self.fit.loss(self.full[None])[0]), float(self.fit.loss(self.M[None])[0])

    def value(self, loss: float, rank: int, size: int) -> float:
        """What orders the sets of one size."""
        return -loss if self.equal_ranks else self.score(loss, rank, size)

    def score(self, loss: float, rank: int, size: int) -> float:
        """The score of a set of a rank and size that is added to the model, signed so that larger is better."""
        model, criterion = self.model, self.model.criterion
        if isinstance(self.fit, AnyFit) and not isinstance(criterion, OfDeterminant):
            return -loss
        then = Size(float(model.size.rank + rank), float(model.size.units + size))
        return criterion.better * float(criterion.score(self._read(-self.sign * loss), then, model.problem))

    def best_score(self, loss: float, rank: int, size: int) -> float:
        """The score that sets of at least a loss cannot exceed; a residual at rounding level may be 0."""
        rounding = self.sign < 0 and isinstance(self.fit, TraceFit) and loss <= ROUNDING * self.interval[1]
        return self.score(0.0 if rounding else loss, rank, size)

    def _read(self, measure: float) -> float | Floats:
        """What the criterion reads of M, of which the fit measures the trace or the log determinant."""
        criterion, problem = self.model.criterion, self.model.problem
        if problem.n_targets > 1:
            return measure
        read: float | Floats = criterion.of(Explained(np.array([[measure]]), problem))
        return read
