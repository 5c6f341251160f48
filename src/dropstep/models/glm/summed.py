"""A design, a likelihood and its local values whose rows are not in memory: sums over all rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dropstep.models.base import Bools
from dropstep.models.glm.likelihood import Pointwise

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class SummedDesign:
    """Means, standard deviations and Gram matrix of the columns of a source.

    Attributes
    ----------
    centre : ndarray of shape (1, n_columns)
    scale : ndarray of shape (n_columns,)
        Infinite for constant columns.
    correlation : ndarray of shape (n_columns, n_columns)
        Gram matrix of the standardised columns.
    """

    centre: Floats
    scale: Floats
    correlation: Floats

    @property
    def n_columns(self) -> int:
        return len(self.scale)

    @property
    def varying(self) -> Bools:
        return np.isfinite(self.scale)


class SummedLocal(Pointwise):
    """A likelihood at one fit, from sums over all rows; see `Evaluation`."""

    def __init__(self, deviance: float, pearson: float, gradient: Floats, information: Floats, reach: float) -> None:
        self.deviance, self._pearson, self.gradient, self.information = deviance, pearson, gradient, information
        self.reach = reach

    @property
    def pearson(self) -> float:
        return self._pearson

    @property
    def residual(self) -> Floats:
        return np.empty((0, self.gradient.shape[1]))

    @property
    def weights(self) -> Floats:
        return np.empty((0, self.gradient.shape[1], self.gradient.shape[1]))

    def gram(self, Z: Floats, *, observed: bool = False) -> Floats:
        return self.information


@dataclass(frozen=True)
class SummedLikelihood:
    """What criteria, tests and notes read of a likelihood whose rows are not in memory; see `Likelihood`."""

    name: str
    n_outputs: int
    n: float
    saturated: float
    intercepts: Floats

    has_intercept = True
    has_dispersion = False

    @property
    def may_overdisperse(self) -> bool:
        return self.name == "poisson"

    @property
    def df(self) -> float:
        return self.n - 1

    @property
    def n_nuisance(self) -> int:
        return self.n_outputs

    @property
    def offset(self) -> Floats:
        return np.empty((0, self.n_outputs))

    def minus_twice_loglik(self, deviance: Any) -> Any:
        return deviance + self.saturated

    def dispersion(self, local: Any, n_params: int) -> float:
        return 1.0

    def start(self) -> Floats:
        return self.intercepts
