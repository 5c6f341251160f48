"""Many features of a Gram matrix at once: selected by one factorisation, removed by updates of an inverse."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from scipy.linalg import lapack

from dropstep.data.threads import one_thread

Floats = NDArray[np.float64]

REMOVALS_AT_A_TIME = 32  # removals that are subtracted from the inverse in one product
ONE_THREAD_FROM, ONE_THREAD_BELOW = 64, 512  # features: BLAS does not start threads for fewer, and needs them for more
LOST_BELOW = 1e-4  # share of its first value below which a diagonal element of the inverse has lost too many digits


def leading_factor(residual: Floats, noise: Floats, tolerance: float) -> tuple[Floats, Floats]:
    """R with R'R = residual, for as many leading features as are linearly independent, and their noise.

    Parameters
    ----------
    residual : ndarray of shape (m, m)
        Gram matrix of residuals.
    noise : ndarray of shape (m,)
        What the rounding errors of these residuals are proportional to; infinite for constant features. The error of
        every direction is propagated to the features after it, as `Precision.propagate` does.
    tolerance : float
        Pivots up to this share of the noise count as zero.
    """
    varying = np.isfinite(noise)
    m = len(noise) if varying.all() else int(varying.argmin())
    with _threads(m):
        R, failed = lapack.dpotrf(residual[:m, :m], lower=0, clean=1)
    m = failed - 1 if failed else m
    R = R[:m, :m]
    pivots = np.diagonal(R)
    ratios = np.square(R / pivots[:, None])
    noise = linalg.solve_triangular(-ratios.T, noise[:m], lower=True, unit_diagonal=True) if m else noise[:0]
    found = np.square(pivots) > noise * tolerance
    m = m if found.all() else int(found.argmin())
    return R[:m, :m], noise[:m]


def extended_inverse(inverse: Floats, new: Floats) -> Floats:
    """The inverse of an upper triangle, from that of its leading part and its other columns."""
    known, size = len(inverse), len(new)
    place = np.arange(size - known)
    with _threads(place.size):
        corner = np.where(place[:, None] <= place, lapack.dtrtri(new[known:])[0], 0.0)
    if not known:
        return corner
    extended = np.zeros((size, size))
    extended[:known, :known] = inverse
    extended[:known, known:] = -inverse @ new[:known] @ corner
    extended[known:, known:] = corner
    return extended


def _threads(m: int) -> AbstractContextManager[Any]:
    """One thread for a matrix of medium size: more would compete with those that NumPy's BLAS keeps spinning."""
    return one_thread() if ONE_THREAD_FROM <= m < ONE_THREAD_BELOW else nullcontext()


class Downdates:
    """inv(S_AA) while features are removed one after the other.

    With N = inv(S_AA), removing feature i subtracts u u' from N and u u_C' from N C_A, where u = N_i / sqrt(N_ii) and
    u_C is the same share of row i of N C_A. Only the row of a removed feature is needed in between, so that the
    products of several removals are subtracted together.

    Attributes
    ----------
    before : list of int
        Selected features before the removals.
    removed : list of int
        Features removed, in order.
    precise : bool
        False once some diagonal element has become so small that its digits are lost.
    """

    def __init__(self, selected: list[int], inverse: Floats, Z: Floats) -> None:
        self.before, self.precise = list(selected), True
        self.removed: list[int] = []
        self._inverse, self._products = inverse @ inverse.T, inverse @ Z
        self._diagonal = self._inverse.diagonal().copy()
        self._least = LOST_BELOW * self._diagonal
        self._explained, self._returned = Z.T @ Z, np.zeros((Z.shape[1], Z.shape[1]))
        self._rows = np.arange(len(inverse))  # of the features that are still selected
        self._pending = np.empty((REMOVALS_AT_A_TIME, len(inverse)))  # u of each removal since the last product
        self._n_pending = 0

    @property
    def explained(self) -> Floats:
        """G of the features that are still selected."""
        return self._explained - self._returned

    def vectors(self, places: NDArray[np.intp]) -> tuple[Floats, Floats]:
        """(c, d) such that removing the feature at each place takes v = c / sqrt(d) from G."""
        rows = self._rows[places]
        return self._products[rows], self._diagonal[rows]

    def remove(self, place: int, feature: int) -> None:
        """Remove the feature at a place among those that are still selected."""
        row, k = self._rows[place], self._n_pending
        length, pending, u = np.sqrt(self._diagonal[row]), self._pending[:k], self._pending[k]
        np.divide(self._inverse[row] - pending[:, row] @ pending, length, out=u)
        v = self._products[row] / length
        self._products -= np.multiply.outer(u, v)
        self._diagonal -= np.square(u)
        self._returned += np.multiply.outer(v, v)
        self._rows = np.concatenate([self._rows[:place], self._rows[place + 1 :]])
        self.removed.append(feature)
        self.precise = np.count_nonzero((self._diagonal > self._least)[self._rows]) == len(self._rows)
        self._n_pending = k + 1
        if self._n_pending == REMOVALS_AT_A_TIME:
            self._subtract()

    def _subtract(self) -> None:
        """Subtract the products of the removals, and forget the features that were removed."""
        at, pending = self._rows, self._pending.take(self._rows, axis=1)
        self._inverse = self._inverse[np.ix_(at, at)]
        self._inverse -= pending.T @ pending
        self._products, self._diagonal, self._least = self._products[at], self._diagonal[at], self._least[at]
        self._rows, self._pending, self._n_pending = np.arange(len(at)), pending, 0
