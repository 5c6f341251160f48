"""Precision control: which residuals are rounding errors, which must be recomputed, and where a Gram matrix fails."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dropstep.projection.basis import Basis
from dropstep.projection.equations import NormalEquations

Floats = NDArray[np.float64]
Features = NDArray[np.intp]

LOST = 1e-4  # share of a residual that rounding errors may be


class Precision:
    """Rounding errors of the residuals of all features.

    From columns a residual is recomputed from the rows once it has lost digits. From a Gram matrix it cannot be: the
    rounding error of every direction is propagated to all features correlated with it, and a feature whose residual
    may be a rounding error counts as linearly dependent, and as doubtful.

    Attributes
    ----------
    least : ndarray of shape (n_features,)
        Residual sum of squares up to which a feature counts as linearly dependent.
    recompute_below : ndarray of shape (n_features,)
        Residual sum of squares below which it is recomputed from the rows.
    noise : ndarray of shape (n_features,)
        What the rounding error of each residual sum of squares is proportional to.
    doubtful : set of int
        Features that count as linearly dependent although they may not be.
    doubted : set of int
        Those that did so until a factorisation of fewer features resolved them.
    """

    def __init__(self, equations: NormalEquations, basis: Basis) -> None:
        self._equations, self._basis = equations, basis
        self.noise = equations.noise.copy()
        self._max_error_ratio = 0.0
        self._n_dependent = 0  # features with no residual when they were last counted
        self.least = self.noise * basis.tolerance
        self.recompute_below = equations.diagonal * basis.recompute_below
        self.doubtful: set[int] = set()
        self.doubted: set[int] = set()

    def propagate(self, j: int, residual_ss: float, square: Floats, live: Features | slice) -> None:
        """Propagate the rounding error of a new direction, the residual of j, to all features correlated with it."""
        error_ratio = float(self.noise[j] / residual_ss)
        self._max_error_ratio = max(self._max_error_ratio, error_ratio)
        self.noise[live] += error_ratio * square
        self.least = self.noise * self._basis.tolerance

    def propagate_block(
        self, features: Features, noise: Floats, lengths: Floats, others: NDArray[np.bool_], W: Floats
    ) -> None:
        """The same for new directions, the residuals of features in order, and their coordinates W of the others."""
        error_ratios = noise / np.square(lengths)
        self._max_error_ratio = max(self._max_error_ratio, float(error_ratios.max(initial=0.0)))
        self.noise[features] = noise
        self.noise[others] += error_ratios @ np.square(W)
        self.least = self.noise * self._basis.tolerance

    @property
    def is_lost(self) -> bool:
        """True if rounding errors of a direction may exceed residuals, so that no rotation could be trusted."""
        return not self._basis.recompute_below and self._max_error_ratio * self._basis.tolerance > LOST

    def restart(self) -> None:
        """Start again from the empty selection; what was doubtful remains so."""
        self.noise, self._max_error_ratio, self._n_dependent = self._equations.noise.copy(), 0.0, 0
        self.least = self.noise * self._basis.tolerance

    def after_rotation(self, W: Floats, residual_ss: Floats) -> None:
        """After a rotation, bound every direction's rounding error by the largest one."""
        if self._basis.recompute_below:
            np.maximum(self.recompute_below, residual_ss * self._basis.recompute_below, out=self.recompute_below)
            return
        self.noise = self._equations.noise + self._max_error_ratio * np.einsum("ij,ij->j", W, W)
        self.least = self.noise * self._basis.tolerance
        self._n_dependent = 0

    def lost_features(self, residual_ss: Floats, n_added: int) -> bool:
        """True if more features have become linearly dependent than were added."""
        n_dependent = int(np.count_nonzero(residual_ss <= self.least))
        lost, self._n_dependent = n_dependent > self._n_dependent + n_added, n_dependent
        return lost

    def doubt(self, features: Features, residual_ss: Floats) -> None:
        """Remember features whose residual is so small that it may be real or a rounding error."""
        noise = self.noise[features]
        small = residual_ss <= noise * self._basis.tolerance
        uncertain = small & (residual_ss > noise * self._basis.rounding)
        if uncertain.any():
            self.doubtful.update(features[uncertain].tolist())
