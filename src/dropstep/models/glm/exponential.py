"""Families of generalized linear models with one output: Bernoulli (logit), Poisson and gamma (log link)."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import special

from dropstep.models.glm.likelihood import Local, Pointwise

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
    may_overdisperse = False

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


class BernoulliLocal(Pointwise):
    """In terms of the margin, which is eta where y is 1 and -eta where it is 0: all digits are kept near separation."""

    def __init__(self, w: Floats, sign: Floats, eta: Floats) -> None:
        self._w, self._sign, self._margin = w, sign, sign * eta
        self._odds = np.exp(-np.abs(self._margin))  # of the less likely outcome
        self.deviance = 2 * float(w @ (np.log1p(self._odds) + np.maximum(-self._margin, 0.0)))

    @cached_property
    def residual(self) -> Floats:
        wrong = np.where(self._margin > 0, self._odds, 1.0) / (1 + self._odds)
        return np.asarray(self._w * self._sign * wrong)[:, None]

    @cached_property
    def weights(self) -> Floats:
        return np.asarray(self._w * self._odds / (1 + self._odds) ** 2)[:, None, None]

    @cached_property
    def pearson(self) -> float:
        with np.errstate(over="ignore"):
            return float(self._w @ np.exp(-self._margin))


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


class Bernoulli(Exponential):
    """y is 0 or 1 and the mean is 1 / (1 + exp(-eta))."""

    name = "logistic"

    def start(self) -> Floats:
        mean = float(self.w @ self.y) / self.n
        return np.full((1, 1), special.logit(mean) - float(self.w @ self.offset[:, 0]) / self.n)

    def at(self, eta: Floats) -> BernoulliLocal:
        return BernoulliLocal(self.w, self._sign, eta[:, 0])

    @cached_property
    def _sign(self) -> Floats:
        return 2 * self.y - 1


class PoissonCounts(Exponential):
    """y is a count and the mean is exp(eta)."""

    name = "poisson"
    may_overdisperse = True

    def start(self) -> Floats:
        return np.full((1, 1), np.log(float(self.w @ self.y)) - special.logsumexp(self.offset[:, 0], b=self.w))

    def at(self, eta: Floats) -> PoissonLocal:
        return PoissonLocal(self.w, self.y, self._unit_saturated, eta[:, 0])

    @cached_property
    def _unit_saturated(self) -> Floats:
        """Log likelihood of each row at mean y, without the factorial."""
        return special.xlogy(self.y, self.y) - self.y

    @cached_property
    def _saturated(self) -> float:
        return float(2 * self.w @ (special.gammaln(self.y + 1) - self._unit_saturated))


class GammaTimes(Exponential):
    """y is positive, with mean exp(eta) and variance proportional to the mean's square."""

    name = "gamma"
    n_nuisance = 2
    has_dispersion = True
    may_overdisperse = True

    def start(self) -> Floats:
        return np.full((1, 1), special.logsumexp(self._log_y - self.offset[:, 0], b=self.w) - np.log(self.n))

    def at(self, eta: Floats) -> GammaLocal:
        return GammaLocal(self.w, self._log_y, eta[:, 0])

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
        assert isinstance(local, GammaLocal)
        room = self.df - n_params
        return local.pearson / room if room > 0 else np.inf
