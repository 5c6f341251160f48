"""Negative binomial regression of overdispersed counts, with log link: the variance is mu + mu^2 / theta (NB2).

The likelihood is a function of alpha = 1 / theta, which is smooth at 0, where it is that of Poisson:

    log p = sum over j < y of log(1 + alpha j) - (y + 1/alpha) log(1 + alpha mu) + y log mu - log y!

Its parameter is u = log(1 + alpha m) with m the mean of y: close to linear in alpha near 0, and logarithmic where the
counts are very variable. The information about u and eta is 0 on average, so that score tests of features do not
depend on u. The deviance is twice the distance to the saturated Poisson likelihood, so that fits of different theta,
and Poisson fits, can be compared; it is not negative, because a negative binomial distribution is a mixture of Poisson
distributions.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from dropstep.models.glm.family import About, NumberFamily, RefusedTarget
from dropstep.models.glm.likelihood import Likelihood, WithNuisance
from dropstep.models.glm.model import GeneralizedLinear
from dropstep.models.glm.newton import solve
from dropstep.models.glm.poisson import refused_counts
from dropstep.result import Coefficients

Floats = NDArray[np.float64]

DIRECT = 4096  # counts up to which sums over j < y are added up
SMALL = 1e-2  # argument below which a function is computed by its series
NODES, NODE_WEIGHTS = np.polynomial.legendre.leggauss(64)


@dataclass(frozen=True, eq=False)
class Counts:
    """The distinct counts of some rows.

    Attributes
    ----------
    values : ndarray of shape (n_values,)
        Ascending.
    weights : ndarray of shape (n_values,)
        Frequencies.
    """

    values: Floats
    weights: Floats

    @cached_property
    def _small(self) -> NDArray[np.intp]:
        """Position of each count among 0, 1, ..., `DIRECT`."""
        return np.minimum(self.values, DIRECT).astype(np.intp)

    @cached_property
    def _j(self) -> Floats:
        return np.arange(self._small.max(initial=0), dtype=np.float64)

    def remainder(self, alpha: float) -> float:
        """Weighted sum of what the sum of log(1 + alpha j) over j < y exceeds its integral from 0 to y by."""
        y, x = self.values, self._small.astype(np.float64)
        found = np.concatenate([[0.0], np.cumsum(np.log1p(alpha * self._j))])[self._small] - _integral(alpha, x)
        if y.max(initial=0.0) > DIRECT:  # Euler and Maclaurin
            a, b = 1 + alpha * x, 1 + alpha * y
            found += -np.log(b / a) / 2 + alpha * (1 / b - 1 / a) / 12 - alpha**3 * (1 / b**3 - 1 / a**3) / 360
        return float(self.weights @ found)

    def slopes(self, alpha: float) -> tuple[float, float]:
        """Weighted sums of the sums over j < y of j / (1 + alpha j), and of its square."""
        ratio = self._j / (1 + alpha * self._j)
        first = np.concatenate([[0.0], np.cumsum(ratio)])[self._small]
        second = np.concatenate([[0.0], np.cumsum(ratio**2)])[self._small]
        if len(at := np.flatnonzero(self.values > DIRECT)):
            y, start = self.values[at], np.log(DIRECT)
            half = (np.log(y) - start) / 2
            j = np.exp(start + half[:, None] * (1 + NODES))
            ratio, scale = j / (1 + alpha * j), j * half[:, None] * NODE_WEIGHTS
            ends = [x / (1 + alpha * x) for x in (float(DIRECT), y)]
            first[at] += (ratio * scale).sum(axis=1) - (ends[1] - ends[0]) / 2
            second[at] += (ratio**2 * scale).sum(axis=1) - (ends[1] ** 2 - ends[0] ** 2) / 2
        return float(self.weights @ first), float(self.weights @ second)


def _integral(alpha: float, y: Floats) -> Floats:
    """The integral of log(1 + alpha x) from 0 to y."""
    x = alpha * y
    with np.errstate(divide="ignore", invalid="ignore"):
        direct = ((1 + x) * np.log1p(x) - x) / alpha if alpha > 0 else np.zeros_like(x)
    return np.where(x < SMALL, y * x * (1 / 2 - x * (1 / 6 - x * (1 / 12 - x * (1 / 20 - x / 30)))), direct)


class NegativeBinomialLocal(WithNuisance):
    """Counts at log means eta and one alpha; see the module."""

    def __init__(self, w: Floats, y: Floats, counts: Counts, eta: Floats, alpha: float, slope: float | None) -> None:
        self._w, self._y, self._counts, self._alpha, self._slope = w, y, counts, alpha, slope
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            self._mu = np.exp(eta)
            self._inflation = 1 + alpha * self._mu
            distance = _unit_deviance(y, self._mu, eta, alpha)
            self.deviance = 2 * (float(w @ distance) - counts.remainder(alpha))

    @cached_property
    def residual(self) -> Floats:
        return (self._w * (self._y - self._mu) / self._inflation)[:, None]

    @cached_property
    def weights(self) -> Floats:
        return (self._w * self._mu / self._inflation)[:, None, None]

    @cached_property
    def observed(self) -> Floats:
        return (self._w * self._mu * (1 + self._alpha * self._y) / self._inflation**2)[:, None, None]

    @cached_property
    def pearson(self) -> float:
        squares = (self._y - self._mu) ** 2  # 0 where a mean underflows to a count of 0
        with np.errstate(divide="ignore", over="ignore"):
            ratios = np.divide(squares, self._mu, out=np.zeros_like(squares), where=squares > 0)
            return float(self._w @ (ratios / self._inflation))

    # --- derivatives with respect to u, where slope = d alpha / d u = d2 alpha / d u2 --------------------------------

    @cached_property
    def _slopes(self) -> tuple[float, float]:
        return self._counts.slopes(self._alpha)

    @cached_property
    def _by_alpha(self) -> float:
        """Derivative of the log likelihood with respect to alpha."""
        with np.errstate(over="ignore", invalid="ignore"):
            mu, x = self._mu, self._alpha * self._mu
            rows = mu**2 * _bend(x) - self._y * mu / (1 + x)
        return self._slopes[0] + float(self._w @ rows)

    @property
    def nuisance_gradient(self) -> Floats:
        return np.empty(0) if self._slope is None else np.array([self._slope * self._by_alpha])

    def nuisance_information(self, *, observed: bool) -> tuple[Floats, Floats]:
        if self._slope is None:
            return np.empty((0, 0)), np.empty((len(self._y), 0))
        with np.errstate(over="ignore", invalid="ignore"):
            mu, x = self._mu, self._alpha * self._mu
            bent = self._slopes[1] - float(self._w @ (mu**3 * _bend_slope(x) + self._y * mu**2 / (1 + x) ** 2))
        own = self._slope**2 * bent - self._slope * self._by_alpha
        cross = self._w * (self._y - mu) * mu / (1 + x) ** 2 * self._slope if observed else np.zeros(len(mu))
        return np.array([[own]]), cross[:, None]


def _unit_deviance(y: Floats, mu: Floats, eta: Floats, alpha: float) -> Floats:
    """y log(y / mu) - (y + theta) log((y + theta) / (mu + theta)), without cancellation for large y or theta."""
    log_ratio = np.where(y > 0, eta - np.log(np.where(y > 0, y, 1.0)), 0.0)  # log(mu / y)
    if alpha == 0:
        return np.asarray(mu - y - y * log_ratio)
    # With k = theta / y and r = mu / y: theta log r + (y + theta) log1p(k (1/r - 1) / (1 + k)) where theta < y.
    theta = 1 / alpha
    share = 1 / (1 + alpha * y)
    few = -y * log_ratio + (y + theta) * np.log1p((mu - y) * alpha * share)
    many = theta * log_ratio + (y + theta) * np.log1p(np.expm1(-log_ratio) * share)
    return np.where(alpha * y > 1, many, few)


def _bend(x: Floats) -> Floats:
    """(log(1 + x) - x / (1 + x)) / x^2."""
    with np.errstate(divide="ignore", invalid="ignore"):
        direct = (np.log1p(x) - x / (1 + x)) / x**2
    series = 1 / 2 - x * (2 / 3 - x * (3 / 4 - x * (4 / 5 - x * (5 / 6 - x * (6 / 7 - x * 7 / 8)))))
    return np.where(x < SMALL, series, direct)


def _bend_slope(x: Floats) -> Floats:
    """Derivative of `_bend`: (x^2 / (1 + x)^2 - 2 (log(1 + x) - x / (1 + x))) / x^3."""
    with np.errstate(divide="ignore", invalid="ignore"):
        direct = (x / (1 + x) ** 2 - 2 * (np.log1p(x) - x / (1 + x)) / x) / x**2
    series = -2 / 3 + x * (3 / 2 - x * (12 / 5 - x * (10 / 3 - x * (30 / 7 - x * 21 / 4))))
    return np.where(x < SMALL, series, direct)


class NegativeBinomialCounts(Likelihood):
    """y is a count with mean exp(eta) and variance mu + mu^2 / theta.

    Parameters
    ----------
    y : ndarray of shape (n_rows,)
    weights, offset : ndarray of shape (n_rows,)
    mean : float
        Mean of the counts of all rows.
    theta : float or None
        None if it is estimated.
    """

    may_overdisperse = True
    is_canonical = False

    def __init__(self, y: Floats, weights: Floats, offset: Floats, mean: float, theta: float | None) -> None:
        if theta is None:
            self.n_nuisance, self.n_shapes, self.absorbs, self.lower = 1, 1, (0.0, -1.0), np.zeros(1)
        super().__init__(weights, offset)
        self.y, self.mean, self.theta = y, mean, theta
        values, codes = np.unique(y, return_inverse=True)
        self._counts = Counts(values, np.bincount(codes, weights, len(values)).astype(np.float64))
        with np.errstate(over="ignore"):
            exposure = np.exp(offset)
            exact = 2 * weights @ (special.gammaln(y + 1) - special.xlogy(y, y) + y)
            sums = [weights @ v for v in (y, exposure, y * y, y * exposure, exposure**2)]
        self.constants = np.array([weights.sum(), *sums, exact])

    def start(self) -> Floats:
        """The rate, and the alpha at which the variance is that of the counts."""
        _, y, exposure, square, cross, exposures, _ = self.constants
        rate = y / exposure
        intercept = np.log(y) - (special.logsumexp(self.offset[:, 0], b=self.w) if len(self.w) else np.log(exposure))
        if self.theta is not None:
            return np.full((1, 1), intercept)
        with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
            alpha = (square - 2 * rate * cross + rate**2 * exposures - y) / (rate**2 * exposures)
        alpha = max(float(alpha), 0.0) if np.isfinite(alpha) else 1.0
        return np.array([[np.log1p(alpha * self.mean)], [intercept]])

    def local(self, eta: Floats, nuisance: Floats) -> NegativeBinomialLocal:
        alpha, slope = self._alpha(nuisance)
        return NegativeBinomialLocal(self.w, self.y, self._counts, eta[:, 0], alpha, slope)

    def _alpha(self, nuisance: Floats) -> tuple[float, float | None]:
        """alpha, and its derivative with respect to u."""
        if self.theta is not None:
            return 1 / self.theta, None
        with np.errstate(over="ignore"):
            return float(np.expm1(nuisance[0]) / self.mean), float(np.exp(nuisance[0]) / self.mean)

    def tamed(self, theta: Floats, gradient: Floats, information: Floats) -> tuple[Floats, Floats]:
        """u stays 0 where Poisson is more likely, and moves by at most 1 where the likelihood is not concave in it."""
        if self.theta is not None:
            return gradient, information
        slope, own, cross = float(gradient[0, 0]), float(information[0, 0]), information[0, 1:]
        is_poisson = theta[0, 0] <= 0 and slope <= 0
        if not is_poisson and own > cross @ solve(information[1:, 1:], cross):
            return gradient, information
        gradient, information = gradient.copy(), information.copy()
        information[0, 1:] = information[1:, 0] = 0.0
        if is_poisson:
            gradient[0, 0], information[0, 0] = 0.0, 1.0
        else:
            information[0, 0] = max(abs(own) + abs(slope), np.finfo(float).tiny)
        return gradient, information

    def minus_twice_loglik(self, deviance: Any) -> Any:
        return deviance + self.constants[-1]

    def extras(self, nuisance: Floats, std_error: Floats) -> dict[str, Any]:
        alpha = self._alpha(nuisance)[0]
        return {"theta": 1 / alpha if alpha > 0 else np.inf}


@dataclass(frozen=True)
class NegativeBinomial(NumberFamily):
    """Negative binomial regression of overdispersed counts, with log link.

    The variance of a count is mu + mu^2 / theta. Every fit that is confirmed estimates theta, as R's ``MASS::glm.nb``;
    candidates are ranked at the theta of the present fit.

    Parameters
    ----------
    shortlist : int or None, default=8
        Number of candidates that are refitted per scan; None refits all.
    theta : float or None, default=None
        Shape, which is then not estimated; None estimates it.
    """

    kind = "negative_binomial"
    synonyms = ("negbin", "nb", "glm.nb", "nb2")
    title = "negative binomial regression"
    description = "negative binomial regression of overdispersed counts, with log link"
    effect = "rate ratio"
    r = "MASS::glm.nb()"

    theta: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        theta = self.theta
        if theta is not None and (not isinstance(theta, Real) or isinstance(theta, bool) or not 0 < theta < np.inf):
            raise ValueError(f"theta must be None or a positive number; got {theta!r}")

    def refused(self, y: Floats) -> RefusedTarget | None:
        return refused_counts(y, whole=True)

    def likelihood(self, y: Any, weights: Floats, offset: Floats, about: About) -> NegativeBinomialCounts:
        return NegativeBinomialCounts(y, weights, offset, about.mean, self.theta)

    def nuisance(self, likelihood: Any, fit: Coefficients | None) -> Floats:
        if self.theta is not None:
            return np.empty(0)
        assert fit is not None
        assert fit.theta is not None
        return np.array([np.log1p(likelihood.mean / fit.theta)])

    def notes(self, model: GeneralizedLinear) -> Iterator[str]:
        if self.theta is None and model.fitted.theta[0, 0] <= 0:
            yield (
                "theta is infinite: the counts are not more variable than Poisson's, which is adequate; "
                "use model='poisson'"
            )
