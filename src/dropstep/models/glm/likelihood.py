"""Likelihoods: what a fit and a score test read of a family at its parameters.

A likelihood is a function of the linear predictor eta of shape (n_rows, n_outputs), one output or one per class but the
first, and of nuisance parameters that are not columns of a design: a shape, or thresholds. The parameters theta of a
fit are the nuisance parameters, then the intercept if there is one, then the coefficients of the features. The terms Z
of a fit have one column for each of them, so that a row of theta is a column of Z.

All quantities derive from the deviance: -deviance / 2 is the log likelihood in units of the dispersion, up to a
constant.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

BLOCK_ROWS = 4096
LONG_STEP = 0.1  # change of eta that a fit with a maximum no longer makes when it stops


def _weighted_gram(Z: Floats, root: Floats) -> Floats:
    """(root Z)' (root Z), in blocks of rows that stay in the cache."""
    total = np.zeros((Z.shape[1], Z.shape[1]))
    for start in range(0, len(Z), BLOCK_ROWS):
        rows = slice(start, start + BLOCK_ROWS)
        block = root[rows] * Z[rows]
        total += block.T @ block
    return total


class Local(ABC):
    """A likelihood at its parameters, to second order.

    Attributes
    ----------
    deviance : float
    residual : ndarray of shape (n_rows, n_outputs)
        Derivative of -deviance / 2 with respect to eta.
    is_bernoulli : bool
        Whether the residual is that of one of two classes: 1 minus a probability, or minus a probability.
    """

    deviance: float
    is_bernoulli: ClassVar[bool] = False

    @property
    @abstractmethod
    def residual(self) -> Floats: ...

    @abstractmethod
    def scores(self, Z: Floats) -> Floats:
        """Contribution of each row to Z' residual, of shape (n_rows, n_columns); for likelihoods of one output."""

    @abstractmethod
    def gram(self, Z: Floats, *, observed: bool = False) -> Floats:
        """Z' W Z, where W is the expected (or observed) information about eta; square, by column and output."""

    @abstractmethod
    def weighted(self, Z: Floats) -> Floats:
        """W Z of shape (n_rows, n_outputs, n_columns, n_outputs)."""

    @abstractmethod
    def squares(self, block: Floats, rows: slice) -> Floats:
        """x' W x of the columns x of a block of rows, of shape (n_columns, n_outputs, n_outputs)."""

    def sparse_squares(self, X: Any) -> Floats:
        """x' W x of the columns x of a sparse array in CSC format, where rows do not contribute independently."""
        raise NotImplementedError

    # --- the terms of a fit ------------------------------------------------------------------------------------------

    def gradient(self, Z: Floats, basis: Floats | None = None) -> Floats:
        """Derivative of -deviance / 2 with respect to theta, of shape (n_terms, n_outputs); of the terms Z basis."""
        return np.asarray((Z if basis is None else Z @ basis).T @ self.residual)

    def information(self, Z: Floats, basis: Floats | None = None, *, observed: bool = False) -> Floats:
        """Expected (or observed) information about theta, by term and output; of the terms Z basis."""
        return self.gram(Z if basis is None else Z @ basis, observed=observed)

    def terms(self, Z: Floats) -> Floats:
        """The terms with columns in place of nuisance parameters, so that x' W Z is the information about x and theta.

        A column is the expected information about eta and the parameter over that about eta.
        """
        return Z


class Pointwise(Local):
    """A likelihood whose rows contribute independently: W is block diagonal.

    Attributes
    ----------
    weights : ndarray of shape (n_rows, n_outputs, n_outputs)
        Expected information of each row.
    observed : ndarray of the same shape
        Observed information, which is the expected one for a canonical link.
    pearson : float
        Pearson's statistic.
    """

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


class WithNuisance(Pointwise):
    """A likelihood of one output with nuisance parameters, whose columns in the terms of a fit have no values."""

    @property
    @abstractmethod
    def nuisance_gradient(self) -> Floats:
        """Derivative of -deviance / 2 with respect to the nuisance parameters, of shape (n_nuisance,)."""

    @abstractmethod
    def nuisance_information(self, *, observed: bool) -> tuple[Floats, Floats]:
        """Information about the nuisance parameters, square, and that about eta and them, one row per row."""

    def gradient(self, Z: Floats, basis: Floats | None = None) -> Floats:
        first = self.nuisance_gradient
        whole = np.concatenate([first, Z[:, len(first) :].T @ self.residual[:, 0]])[:, None]
        return np.asarray(whole if basis is None else basis.T @ whole)

    def information(self, Z: Floats, basis: Floats | None = None, *, observed: bool = False) -> Floats:
        own, cross = self.nuisance_information(observed=observed)
        m = len(own)
        if basis is None:
            columns = Z[:, m:]
            between = cross.T @ columns
            return np.block([[own, between], [between.T, self.gram(columns, observed=observed)]])
        columns, first = Z[:, m:] @ basis[m:], basis[:m]  # combined first: digits of collinear columns are kept
        between = first.T @ (cross.T @ columns)
        return np.asarray(first.T @ own @ first + between + between.T + self.gram(columns, observed=observed))

    def terms(self, Z: Floats) -> Floats:
        own, cross = self.nuisance_information(observed=False)
        weights = self.weights[:, 0]
        filled = Z.copy(order="F")
        filled[:, : len(own)] = np.divide(cross, weights, out=np.zeros_like(cross), where=weights > 0)
        return filled


class Likelihood(ABC):
    """A family with its data.

    Attributes
    ----------
    n_outputs : int
    absorbs : tuple of float
        By how much each parameter that is not a coefficient of a feature changes where eta is larger by 1: -1 for an
        intercept, 1 for a threshold, 0 for a shape.
    n_nuisance : int
        How many of them are nuisance parameters.
    n_shapes : int
        How many of the nuisance parameters are orthogonal to eta, and come first.
    lower : ndarray of shape (n_nuisance,) or None
        Least values of the nuisance parameters.
    n_counted : int
        Parameters that criteria count although they do not belong to a feature.
    has_dispersion : bool
        Whether statistics are compared with an estimated dispersion.
    is_quasi : bool
        Whether the deviance is not that of a likelihood.
    may_overdisperse : bool
        Whether the variance may exceed that of the model, so that score tests estimate it.
    is_canonical : bool
        Whether observed and expected information are the same.
    observed_errors : bool
        Whether standard errors are computed from the observed information.
    sample_unit : str
        What `n` counts, in the plural.
    w : ndarray of shape (n_rows,)
        Frequencies of the rows.
    offset : ndarray of shape (n_rows, n_outputs)
    constants : ndarray of shape (n_constants,)
        Sums over the rows that do not depend on a fit, the sum of the weights first; they add up over blocks of rows.
    """

    n_outputs: int = 1
    absorbs: tuple[float, ...] = (-1.0,)
    n_nuisance: int = 0
    n_shapes: int = 0
    lower: Floats | None = None
    has_dispersion: bool = False
    is_quasi: bool = False
    may_overdisperse: bool = False
    is_canonical: ClassVar[bool] = True
    observed_errors: ClassVar[bool] = False
    sample_unit: ClassVar[str] = "rows"
    long_step: float = LONG_STEP

    w: Floats
    offset: Floats
    constants: Floats

    def __init__(self, weights: Floats, offset: Floats) -> None:
        self.w, self.offset = weights, np.repeat(offset[:, None], self.n_outputs, axis=1)

    def pooled(self, constants: Floats) -> Self:
        """The likelihood of rows that are not in memory, from the sums over all of them."""
        other = copy.copy(self)
        other.constants, other.w, other.offset = constants, np.empty(0), np.empty((0, self.n_outputs))
        return other

    @property
    def n(self) -> float:
        """Sample size that criteria count: rows (sum of weights), or events."""
        return float(self.constants[0])

    @property
    def df(self) -> float:
        """Residual degrees of freedom without features."""
        return self.n - 1

    @property
    def n_counted(self) -> int:
        return len(self.absorbs) * self.n_outputs

    @property
    def n_leading(self) -> int:
        """Parameters that are not coefficients of features: the first rows of theta."""
        return len(self.absorbs)

    @property
    def has_intercept(self) -> bool:
        """Whether a constant added to eta changes nothing."""
        return any(self.absorbs)

    def at(self, Z: Floats, theta: Floats) -> Any:
        """The likelihood of terms with their parameters."""
        m = self.n_nuisance
        return self.local(self.offset + Z[:, m:] @ theta[m:], theta[:m, 0])

    @abstractmethod
    def local(self, eta: Floats, nuisance: Floats) -> Any:
        """The likelihood at a linear predictor, offset included, and nuisance parameters."""

    def reach(self, Z: Floats, step: Floats) -> float:
        """Largest change of eta along a step."""
        m = self.n_nuisance
        return float(np.abs(Z[:, m:] @ step[m:]).max(initial=0.0))

    @abstractmethod
    def start(self) -> Floats:
        """Parameters to start from without features, of shape (n_leading, n_outputs)."""

    def tamed(self, theta: Floats, gradient: Floats, information: Floats) -> tuple[Floats, Floats]:
        """Gradient and information for the next step, where those of shapes do not lead to a smaller deviance."""
        return gradient, information

    def minus_twice_loglik(self, deviance: Any) -> Any:
        """Minus twice the maximised log likelihood, as R's `logLik`."""
        return deviance

    def dispersion(self, local: Any, n_params: int) -> float:
        """The dispersion: Pearson's statistic over the residual degrees of freedom, as R's `summary.glm`."""
        if not self.has_dispersion:
            return 1.0
        room = self.df - n_params
        return float(local.pearson / room) if room > 0 else np.inf

    def extras(self, nuisance: Floats, std_error: Floats) -> dict[str, Any]:
        """What coefficients report of nuisance parameters, in the units of the features."""
        return {}


class Summed(Pointwise):
    """A likelihood at a fit whose rows are not in memory, from sums over all of them.

    Attributes
    ----------
    deviance, pearson : float
    expected, observed_information : ndarray
        Information about theta.
    """

    def __init__(self, deviance: float, pearson: float, expected: Floats, observed: Floats, n_outputs: int) -> None:
        self.deviance, self._pearson, self._q = deviance, pearson, n_outputs
        self._expected, self._observed = expected, observed

    @property
    def pearson(self) -> float:
        return self._pearson

    @property
    def residual(self) -> Floats:
        return np.empty((0, self._q))

    @property
    def weights(self) -> Floats:
        return np.empty((0, self._q, self._q))

    def information(self, Z: Floats, basis: Floats | None = None, *, observed: bool = False) -> Floats:
        return self._observed if observed else self._expected
