"""Gamma regression of positive numbers, with log link."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from dropstep.models.glm.family import About, NumberFamily, RefusedTarget
from dropstep.models.glm.likelihood import Likelihood, Pointwise

Floats = NDArray[np.float64]

MIN_DISPERSION = 1e-12  # of a fit that is exact up to rounding


class GammaLocal(Pointwise):
    """Positive y at log means eta."""

    def __init__(self, w: Floats, log_y: Floats, eta: Floats) -> None:
        self._w = w
        with np.errstate(over="ignore", invalid="ignore"):
            self._ratio = np.exp(log_y - eta)
            self.deviance = 2 * float(w @ (self._ratio - 1 - (log_y - eta)))

    @cached_property
    def residual(self) -> Floats:
        return np.asarray(self._w * (self._ratio - 1))[:, None]

    @cached_property
    def weights(self) -> Floats:
        return self._w[:, None, None]

    @cached_property
    def observed(self) -> Floats:
        return (self._w * self._ratio)[:, None, None]

    @cached_property
    def pearson(self) -> float:
        return float(self._w @ (self._ratio - 1) ** 2)


class GammaTimes(Likelihood):
    """y is positive, with mean exp(eta) and variance proportional to the mean's square."""

    has_dispersion = True
    may_overdisperse = True
    is_canonical = False

    def __init__(self, y: Floats, weights: Floats, offset: Floats) -> None:
        super().__init__(weights, offset)
        with np.errstate(divide="ignore", invalid="ignore"):
            self._log_y = np.log(y)
        with np.errstate(over="ignore", invalid="ignore"):
            self.constants = np.array([weights.sum(), weights @ np.exp(self._log_y - offset), weights @ self._log_y])

    @property
    def n_counted(self) -> int:
        return 2

    def start(self) -> Floats:
        in_memory = len(self.w) > 0  # then nothing overflows
        ratios = (
            special.logsumexp(self._log_y - self.offset[:, 0], b=self.w) if in_memory else np.log(self.constants[1])
        )
        return np.full((1, 1), ratios - np.log(self.n))

    def local(self, eta: Floats, nuisance: Floats) -> GammaLocal:
        return GammaLocal(self.w, self._log_y, eta[:, 0])

    def minus_twice_loglik(self, deviance: Any) -> Any:
        """With the dispersion deviance / n, as R's `Gamma()$aic`.

        The sum of y / mu + log mu is deviance / 2 + n + the sum of log y.
        """
        phi = np.maximum(np.asarray(deviance) / self.n, MIN_DISPERSION)
        log_y = self.constants[2]
        kernel = np.asarray(deviance) / 2 + self.n + log_y
        value = 2 * (kernel / phi + self.n * (np.log(phi) / phi + special.gammaln(1 / phi)) - (1 / phi - 1) * log_y)
        return value if np.ndim(deviance) else float(value)


@dataclass(frozen=True)
class Gamma(NumberFamily):
    """Gamma regression of positive numbers, with log link.

    Parameters
    ----------
    shortlist : int or None, default=8
        Number of candidates that are refitted per scan; None refits all.
    """

    kind = "gamma"
    title = "gamma regression with log link"
    description = "gamma regression of positive numbers, with log link"
    effect = "mean ratio"
    scikit_learn = "GammaRegressor(alpha=0)"
    r = 'glm(family = Gamma("log"))'

    def refused(self, y: Floats) -> RefusedTarget | None:
        if not len(y) or y.min() > 0:
            return None
        return RefusedTarget(
            int(y.argmin()),
            "y must be positive for model='gamma'",
            "remove these rows, or use model='poisson' for counts and model='linear' otherwise",
        )

    def null_log_rate(self, y: Floats, weights: Floats, exposure: Floats) -> float:
        return float(np.log(np.average(y / exposure, weights=weights)))

    def likelihood(self, y: Any, weights: Floats, offset: Floats, about: About) -> GammaTimes:
        return GammaTimes(y, weights, offset)
