"""Poisson and quasi-Poisson regression of counts, with log link."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import special

from dropstep.models.glm.family import About, NumberFamily, RefusedTarget
from dropstep.models.glm.likelihood import Likelihood, Pointwise

Floats = NDArray[np.float64]
Dispersion = Literal[1, "estimate"]


def saturated_loglik(y: Floats) -> Floats:
    """Log likelihood of each row at mean y, without the factorial."""
    return np.asarray(special.xlogy(y, y) - y)


class PoissonLocal(Pointwise):
    """Counts y at log means eta."""

    def __init__(self, w: Floats, y: Floats, saturated: Floats, eta: Floats) -> None:
        self._w, self._y = w, y
        with np.errstate(over="ignore", invalid="ignore"):
            self._mu = np.exp(eta)
            self.deviance = 2 * float(w @ (saturated - y * eta + self._mu))

    @cached_property
    def residual(self) -> Floats:
        return (self._w * (self._y - self._mu))[:, None]

    @cached_property
    def weights(self) -> Floats:
        return (self._w * self._mu)[:, None, None]

    @cached_property
    def pearson(self) -> float:
        squares = (self._y - self._mu) ** 2  # 0 where a mean underflows to a count of 0
        with np.errstate(divide="ignore", over="ignore"):
            return float(self._w @ np.divide(squares, self._mu, out=np.zeros_like(squares), where=squares > 0))


class PoissonCounts(Likelihood):
    """y is a count and the mean is exp(eta)."""

    may_overdisperse = True

    def __init__(self, y: Floats, weights: Floats, offset: Floats, *, has_dispersion: bool = False) -> None:
        super().__init__(weights, offset)
        self.y, self.has_dispersion, self.is_quasi = y, has_dispersion, has_dispersion
        self._saturated = saturated_loglik(y)
        exact = 2 * weights @ (special.gammaln(y + 1) - self._saturated)
        with np.errstate(over="ignore"):
            self.constants = np.array([weights.sum(), weights @ y, weights @ np.exp(offset), exact])

    def start(self) -> Floats:
        in_memory = len(self.w) > 0  # then neither overflows
        exposure = special.logsumexp(self.offset[:, 0], b=self.w) if in_memory else np.log(self.constants[2])
        return np.full((1, 1), np.log(self.constants[1]) - exposure)

    def local(self, eta: Floats, nuisance: Floats) -> PoissonLocal:
        return PoissonLocal(self.w, self.y, self._saturated, eta[:, 0])

    def minus_twice_loglik(self, deviance: Any) -> Any:
        return deviance + self.constants[3]


def refused_counts(y: Floats, *, whole: bool) -> RefusedTarget | None:
    """The first value that is not a count."""
    if not len(y):
        return None
    if y.min() < 0:
        return RefusedTarget(int(y.argmin()), "y must contain counts, which are not negative", "use model='linear'")
    if whole and len(at := np.flatnonzero(y != np.floor(y))):
        return RefusedTarget(
            int(at[0]),
            "y must contain counts, which are whole numbers",
            "use model='gamma' for positive numbers, model='poisson' for rates with weights, or model='linear'",
        )
    return None


@dataclass(frozen=True)
class Poisson(NumberFamily):
    """Poisson regression of counts, with log link.

    Parameters
    ----------
    shortlist : int or None, default=8
        Number of candidates that are refitted per scan; None refits all.
    dispersion : {1, "estimate"}, default=1
        Variance of a count relative to its mean. "estimate" is quasi-Poisson regression: Pearson's statistic over its
        degrees of freedom, by which F tests and standard errors are computed, as R's ``quasipoisson``. It has no
        likelihood, so that the criterion is the deviance.
    """

    kind = "poisson"
    title = "Poisson regression"
    description = "Poisson regression of counts, with log link"
    effect = "rate ratio"
    scikit_learn = "PoissonRegressor(alpha=0)"
    r = "glm(family = poisson())"
    remedy = "use model='negative_binomial' or Poisson(dispersion='estimate')"

    dispersion: Dispersion = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.dispersion != "estimate" and (isinstance(self.dispersion, bool | str) or self.dispersion != 1):
            raise ValueError(f"dispersion must be 1 or 'estimate' (quasi-Poisson); got {self.dispersion!r}")

    @property
    def name(self) -> str:
        return self.title if self.dispersion == 1 else "quasi-Poisson regression"

    def refused(self, y: Floats) -> RefusedTarget | None:
        return refused_counts(y, whole=False)

    def likelihood(self, y: Any, weights: Floats, offset: Floats, about: About) -> PoissonCounts:
        return PoissonCounts(y, weights, offset, has_dispersion=self.dispersion == "estimate")
