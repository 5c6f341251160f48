"""Normal equations: the Gram matrix of the features and their products with the targets."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dropstep.data.columns import Columns
from dropstep.data.matrices.dense import Dense

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]
Solver = Literal["gram", "columns"]

CENTRED_AT_A_TIME = 2**18  # values (2 MB) of columns that are centred, and multiplied while they are in the cache
ROW_BLOCK = 2**18  # values (2 MB) of rows that are centred, and multiplied while they are in the cache
ROWS_PER_PRODUCT = 2**10  # rows that are multiplied at a time, if they need not be centred
MAX_MEAN = 10.0  # squared mean / variance up to which products lose no more than a digit if columns are not centred
COLUMNS_PER_PANEL = 12  # columns that are multiplied by each other at a time, where units have fewer
SMALL_TABLE = 2**20  # values of X (8 MB): a table up to this size is updated as a whole, as it stays in the cache
UPDATE_ALL_UP_TO = 1000  # features of a Gram matrix: updating all of them costs no more than updating some


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

    @property
    def n_features(self) -> int:
        return int(self.cross.shape[0])

    @property
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

    @property
    def small(self) -> bool:
        """True if updating all features costs no more than updating some."""
        S = self.scatter
        return S.X.size <= SMALL_TABLE if isinstance(S, Columns) else self.n_features <= UPDATE_ALL_UP_TO

    @cached_property
    def small_means(self) -> bool:
        """True if products with columns that are not centred lose no more than a digit; False if rows are weighted."""
        S = self.scatter
        if not isinstance(S, Columns) or S.X.dtype != np.float64 or S.root is not None:
            return False
        return S.means is None or bool(np.all(S.X.shape[0] * S.means**2 <= MAX_MEAN * self.noise))

    def block(self, features: Indices) -> Floats:
        """S among a few features."""
        found: Floats = self.blocks(features[None, :])[0]
        return found

    def blocks(self, units: Indices) -> Floats:
        """S among the features of each of several units, which are rows of `units`."""
        S, (n_units, m) = self.scatter, units.shape
        if not isinstance(S, Columns):
            return S[units[:, :, None], units[:, None, :]]
        n = S.X.shape[0]
        if isinstance(S.X, Dense) and S.X.values.flags.c_contiguous and S.means is not None and S.unweighted:
            return _blocks_by_rows(S.X, S.means[0], self.diagonal, units, centre=not self.small_means)
        found = np.empty((n_units, m, m))
        step = max(1, CENTRED_AT_A_TIME // (n * m))
        for i in range(0, n_units, step):
            columns = S.centred(units[i : i + step].ravel()).T.reshape(-1, m, n)
            np.matmul(columns, columns.transpose(0, 2, 1), out=found[i : i + step])
        return found


def _blocks_by_rows(X: Dense, means: Floats, diagonal: Floats, units: Indices, *, centre: bool) -> Floats:
    """S among the features of units, for an X whose rows are contiguous, and a regression without weights.

    If the features are not centred before they are multiplied, their means and the diagonal must be exact. Small units
    are multiplied several at a time, and the products between units are discarded: fewer calls of BLAS. Features that
    are not centred are multiplied without the last of each product, whose row is the last column and the diagonal: for
    so few columns, BLAS takes half as long again for a symmetric product. Threads would compete with those of BLAS,
    which keep spinning after the products with the targets.
    """
    (n_units, m), n = units.shape, X.shape[0]
    features = None if np.array_equal(units.ravel(), np.arange(X.shape[1])) else units.ravel()
    means = means if features is None else means[features]
    at_a_time = math.gcd(n_units, max(1, COLUMNS_PER_PANEL // m))
    width, height = at_a_time * m, max(1, ROW_BLOCK // units.size) if centre else ROWS_PER_PRODUCT
    S, sums = np.zeros((n_units // at_a_time, width, width)), np.zeros(units.size) if centre else n * means
    multiplied = slice(0, width if centre else width - 1)
    for top in range(0, n, height):
        block = X.values[top : top + height]
        block = block if features is None else block.take(features, axis=1)
        if centre:
            block = block - means
            sums += block.sum(axis=0)
        panels = block.reshape(len(block), -1, width).transpose(1, 0, 2)
        S[:, multiplied] += panels[:, :, multiplied].transpose(0, 2, 1) @ panels
    X.reads.add(n * units.size)
    remaining = sums.reshape(-1, width, 1)  # if centred, the rounding errors of the means
    S -= remaining * remaining.transpose(0, 2, 1) / n
    if not centre:
        S[:, -1, :-1], S[:, -1, -1] = S[:, :-1, -1], diagonal[units].reshape(-1, width)[:, -1]
    return np.asarray(np.einsum("uimin->uimn", S.reshape(-1, at_a_time, m, at_a_time, m))).reshape(*units.shape, m)
