"""Likelihoods: what a fit and a score test read of a family at a linear predictor.

A likelihood is a function of the linear predictor eta of shape (n_rows, n_outputs): one output, or one per class but
the first. All quantities derive from the deviance: -deviance / 2 is the log likelihood in units of the dispersion, up
to a constant.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

BLOCK_ROWS = 4096


class Local(Protocol):
    """The likelihood at one linear predictor, to second order."""

    @property
    def deviance(self) -> float: ...

    @property
    def residual(self) -> Floats:
        """Derivative of -deviance / 2 with respect to eta, of shape (n_rows, n_outputs)."""
        ...

    def scores(self, Z: Floats) -> Floats:
        """Contribution of each row to Z' residual, of shape (n_rows, n_columns); for likelihoods of one output."""
        ...

    def gram(self, Z: Floats, *, observed: bool = False) -> Floats:
        """Z' W Z, where W is the expected (or observed) information about eta; square, by column and output."""
        ...

    def weighted(self, Z: Floats) -> Floats:
        """W Z of shape (n_rows, n_outputs, n_columns, n_outputs)."""
        ...

    def squares(self, block: Floats, rows: slice) -> Floats:
        """x' W x of the columns x of a block of rows, of shape (n_columns, n_outputs, n_outputs)."""
        ...


class Likelihood(Protocol):
    """A family with its data.

    Attributes
    ----------
    name : str
    n_outputs : int
    has_intercept : bool
    n : float
        Sample size that criteria count: rows (sum of weights), or events.
    df : float
        Residual degrees of freedom without features.
    n_nuisance : int
        Parameters that criteria count although they do not belong to a feature: intercepts and a dispersion.
    has_dispersion : bool
        Whether statistics are compared with an estimated dispersion.
    may_overdisperse : bool
        Whether the variance may exceed that of the model, so that score tests estimate it.
    w : ndarray of shape (n_rows,)
        Frequencies of the rows.
    exact : float
        Deviance below which a fit is exact, relative to that of the empty selection.
    """

    name: str
    n_outputs: int
    has_intercept: bool
    n: float
    df: float
    n_nuisance: int
    has_dispersion: bool
    may_overdisperse: bool
    w: Floats
    offset: Floats

    def at(self, eta: Floats) -> Local: ...

    def start(self) -> Floats:
        """Intercepts to start from, of shape (1, n_outputs); without an intercept of shape (0, n_outputs)."""
        ...

    def minus_twice_loglik(self, deviance: Floats | float) -> Floats | float:
        """Minus twice the maximised log likelihood, as R's `logLik`."""
        ...

    def dispersion(self, local: Local, n_params: int) -> float: ...


def _weighted_gram(Z: Floats, root: Floats) -> Floats:
    """(root Z)' (root Z), in blocks of rows that stay in the cache."""
    total = np.zeros((Z.shape[1], Z.shape[1]))
    for start in range(0, len(Z), BLOCK_ROWS):
        rows = slice(start, start + BLOCK_ROWS)
        block = root[rows] * Z[rows]
        total += block.T @ block
    return total


class Pointwise(ABC):
    """A likelihood at one eta whose rows contribute independently: W is block diagonal.

    Attributes
    ----------
    deviance : float
    residual : ndarray of shape (n_rows, n_outputs)
    weights : ndarray of shape (n_rows, n_outputs, n_outputs)
        Expected information of each row.
    observed : ndarray of the same shape
        Observed information, which is the expected one for a canonical link.
    pearson : float
        Pearson's statistic.
    """

    deviance: float

    @property
    @abstractmethod
    def residual(self) -> Floats: ...

    @property
    @abstractmethod
    def weights(self) -> Floats: ...

    @property
    def observed(self) -> Floats:
        return self.weights

    @property
    @abstractmethod
    def pearson(self) -> float: ...

    def scores(self, Z: Floats) -> Floats:
        return np.asarray(self.residual * Z)

    def gram(self, Z: Floats, *, observed: bool = False) -> Floats:
        weights = self.observed if observed else self.weights
        q = weights.shape[1]
        if q == 1:
            return _weighted_gram(Z, np.sqrt(weights[:, 0]))
        blocks = [[Z.T @ (weights[:, a, b, None] * Z) for b in range(q)] for a in range(q)]
        size = Z.shape[1] * q
        return np.array(blocks).transpose(2, 0, 3, 1).reshape(size, size)

    def weighted(self, Z: Floats) -> Floats:
        return np.asarray(self.weights[:, :, None, :] * Z[:, None, :, None])

    def squares(self, block: Floats, rows: slice) -> Floats:
        weights = self.weights[rows]
        flat = weights.reshape(len(weights), -1)
        return np.asarray((block * block).T @ flat).reshape(-1, *weights.shape[1:])
