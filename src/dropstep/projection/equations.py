"""Normal equations: the Gram matrix of the features and their products with the targets."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dropstep.data.columns import SMALL, Columns
from dropstep.data.matrices.dense import Dense

Floats = NDArray[np.float64]
Solver = Literal["gram", "columns"]

CENTRED_AT_A_TIME = 2**18  # values (2 MB) of columns that are centred, and multiplied while they are in the cache
ROW_BLOCK = 2**17  # values (1 MB) of rows that are centred, and multiplied while they are in the cache
SMALL_GRAM = 1000  # features up to which updating all of them costs no more than updating some


@dataclass(frozen=True, eq=False)
class NormalEquations:
    """S b = C for centred features and targets.

    Attributes
    ----------
    scatter : ndarray of shape (n_features, n_features) or Columns
        The Gram matrix S, or the columns from which its rows are computed on demand.
    diagonal : ndarray of shape (n_features,)
        S_jj; zero for a feature that is constant up to rounding.
    cross : ndarray of shape (n_features, n_targets)
        C; one column per target of a regression, or per contrast of classes.
    noise : ndarray of shape (n_features,)
        What the rounding errors of each feature are proportional to: S_jj, or the sum of squares of a feature in
        single precision; infinite for a constant feature.
    targets : ndarray of shape (n_samples, n_targets) or None
        The centred targets themselves, where they are available.
    """

    scatter: Floats | Columns
    diagonal: Floats
    cross: Floats
    noise: Floats
    targets: Floats | None = None

    @cached_property
    def n_features(self) -> int:
        return len(self.diagonal)

    @cached_property
    def n_targets(self) -> int:
        return int(self.cross.shape[1])

    @property
    def solver(self) -> Solver:
        """Whether the Gram matrix is precomputed or its rows are computed on demand."""
        return "columns" if isinstance(self.scatter, Columns) else "gram"

    @property
    def resolution(self) -> tuple[float, float]:
        """Residuals that count as linearly dependent, and those that certainly are, relative to `noise`."""
        if not isinstance(self.scatter, Columns):
            return 1e-8, 1e-13
        return (1e-13, 3e-14) if self.scatter.X.dtype == np.float32 else (1e-15, 1e-18)

    @cached_property
    def small(self) -> bool:
        """True if updating all features costs no more than updating some."""
        return self.scatter.X.size <= SMALL if isinstance(self.scatter, Columns) else self.n_features <= SMALL_GRAM

    def block(self, features: NDArray[np.intp]) -> Floats:
        """S among a few features."""
        found: Floats = self.blocks(features[None, :])[0]
        return found

    def blocks(self, units: NDArray[np.intp]) -> Floats:
        """S among the features of each of several units, which are rows of `units`."""
        S, (n_units, m) = self.scatter, units.shape
        if not isinstance(S, Columns):
            return S[units[:, :, None], units[:, None, :]]
        if isinstance(S.X, Dense) and S.X.values.flags.c_contiguous and S.means is not None and S.unweighted:
            return _blocks_by_rows(S.X, S.means[0], units)
        found, n = np.empty((n_units, m, m)), S.X.shape[0]
        step = max(1, CENTRED_AT_A_TIME // (n * m))
        for i in range(0, n_units, step):
            columns = S.centred(units[i : i + step].ravel()).T.reshape(-1, m, n)
            np.matmul(columns, columns.transpose(0, 2, 1), out=found[i : i + step])
        return found


def _blocks_by_rows(X: Dense, means: Floats, units: NDArray[np.intp]) -> Floats:
    """S among the features of units, for an X whose rows are contiguous, and a regression without weights."""
    (n_units, m), features = units.shape, units.ravel()
    found, sums = np.zeros((n_units, m, m)), np.zeros(len(features))
    for _, _, block in X.parts(features, ROW_BLOCK):
        centred = block - means[features]
        sums += centred.sum(axis=0)
        by_unit = centred.reshape(-1, n_units, m).transpose(1, 0, 2)
        found += by_unit.transpose(0, 2, 1) @ by_unit
    rounding = sums.reshape(n_units, m)  # of the means
    return np.asarray(found - rounding[:, :, None] * rounding[:, None, :] / X.shape[0])


class Residuals(NamedTuple):
    """Residual sums of squares and cross products of features, and the tolerance up to which they count as zero."""

    sums_of_squares: Floats
    cross: Floats
    least: Floats
