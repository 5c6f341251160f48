"""Families of generalized linear models with one output: Bernoulli (logit), Poisson and gamma (log link)."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import special

from dropstep.models.glm.likelihood import RECEDES, Local, Pointwise

Floats = NDArray[np.float64]

MIN_DISPERSION = 1e-12  # of a gamma fit that is exact up to rounding


class Exponential:
    """What the families share.

    Parameters
    ----------
    y : ndarray of shape (n_rows,)
    weights : ndarray of shape (n_rows,)
        Frequencies, all positive.
    offset : ndarray of shape (n_rows,)
    """

    name: str
    n_outputs = 1
    has_intercept = True
    n_nuisance = 1
    has_dispersion = False

    def __init__(self, y: Floats, weights: Floats, offset: Floats) -> None:
        self.y, self.w, self.offset = y, weights, offset[:, None]
        self.n = float(weights.sum())
        self.df = self.n - 1

    def minus_twice_loglik(self, deviance: Floats | float) -> Floats | float:
        return deviance + self._saturated

    @cached_property
    def _saturated(self) -> float:
        """Minus twice the log likelihood of an exact fit."""
        return 0.0

    def dispersion(self, local: Local, n_params: int) -> float:
        return 1.0

    def _local(
        self, unit_deviance: Floats, residual: Floats, weights: Floats, observed: Floats | None, pearson: Floats
    ) -> Pointwise:
        """From values per row, which are multiplied by the frequencies."""
        w = self.w
        return Pointwise(
            float(w @ unit_deviance),
            (w * residual)[:, None],
            (w * weights)[:, None, None],
            None if observed is None else (w * observed)[:, None, None],
            float(w @ pearson),
        )


class Bernoulli(Exponential):
    """y is 0 or 1 and the mean is 1 / (1 + exp(-eta))."""

    name = "logistic"

    def start(self) -> Floats:
        mean = float(self.w @ self.y) / self.n
        return np.full((1, 1), special.logit(mean) - float(self.w @ self.offset[:, 0]) / self.n)

    def at(self, eta: Floats) -> Pointwise:
        sign = 2 * self.y - 1
        margin = sign * eta[:, 0]
        wrong, right = special.expit(-margin), special.expit(margin)
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            pearson = np.exp(-margin)
        return self._local(2 * np.logaddexp(0, -margin), sign * wrong, wrong * right, None, pearson)

    def recedes(self, direction: Floats) -> bool:
        return bool(np.min((2 * self.y - 1) * direction[:, 0]) >= -RECEDES * np.abs(direction).max())


class PoissonCounts(Exponential):
    """y is a count and the mean is exp(eta)."""

    name = "poisson"

    def start(self) -> Floats:
        return np.full((1, 1), np.log(float(self.w @ self.y) / float(self.w @ np.exp(self.offset[:, 0]))))

    def at(self, eta: Floats) -> Pointwise:
        y = self.y
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            mu = np.exp(eta[:, 0])
            deviance = 2 * (special.xlogy(y, y) - y * eta[:, 0] - (y - mu))
            return self._local(deviance, y - mu, mu, None, (y - mu) ** 2 / mu)

    @cached_property
    def _saturated(self) -> float:
        y = self.y
        return float(2 * self.w @ (special.gammaln(y + 1) - special.xlogy(y, y) + y))

    def recedes(self, direction: Floats) -> bool:
        u, limit = direction[:, 0], RECEDES * np.abs(direction).max()
        return bool(np.max(u) <= limit and np.min(u, where=self.y > 0, initial=0.0) >= -limit)


class GammaTimes(Exponential):
    """y is positive, with mean exp(eta) and variance proportional to the mean's square."""

    name = "gamma"
    n_nuisance = 2
    has_dispersion = True

    def start(self) -> Floats:
        return np.full((1, 1), np.log(float(self.w @ (self.y * np.exp(-self.offset[:, 0]))) / self.n))

    def at(self, eta: Floats) -> Pointwise:
        with np.errstate(over="ignore", invalid="ignore"):
            ratio = np.exp(self._log_y - eta[:, 0])
            excess = ratio - 1
            deviance = 2 * (excess - (self._log_y - eta[:, 0]))
            return self._local(deviance, excess, np.ones(len(ratio)), ratio, excess**2)

    @cached_property
    def _log_y(self) -> Floats:
        return np.log(self.y)

    def minus_twice_loglik(self, deviance: Floats | float) -> Floats | float:
        """With the dispersion deviance / n, as R's `Gamma()$aic`.

        The sum of y / mu + log mu is deviance / 2 + n + the sum of log y.
        """
        phi = np.maximum(np.asarray(deviance) / self.n, MIN_DISPERSION)
        log_y = float(self.w @ self._log_y)
        kernel = np.asarray(deviance) / 2 + self.n + log_y
        value = 2 * (kernel / phi + self.n * (np.log(phi) / phi + special.gammaln(1 / phi)) - (1 / phi - 1) * log_y)
        return value if np.ndim(deviance) else float(value)

    def dispersion(self, local: Local, n_params: int) -> float:
        """Pearson's statistic over the residual degrees of freedom, as R's `summary.glm`."""
        assert isinstance(local, Pointwise)
        room = self.df - n_params
        return local.pearson / room if room > 0 else np.inf

    def recedes(self, direction: Floats) -> bool:
        return False  # every row holds its mean: the likelihood falls along every direction
