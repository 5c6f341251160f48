"""Criteria of linear regression."""

from __future__ import annotations

import math
from copy import copy
from dataclasses import dataclass, field, replace
from functools import lru_cache
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from dropstep.models.base import CriterionInfo
from dropstep.models.least_squares.criteria.base import OfDeterminant, OfRows, OfTrace, Size, check_finite
from dropstep.models.least_squares.explained import Explained
from dropstep.models.least_squares.problem import Problem
from dropstep.models.least_squares.updates import RankUpdate
from dropstep.models.least_squares.wilks import WilksTest
from dropstep.projection.projection import Projection

Floats = NDArray[np.float64]

LEVEL = 0.05  # of the test that the first feature must pass under the corrected EBIC
FULL_LEVERAGE = 1e-9  # 1 - leverage of a row up to which the others do not determine its prediction
SINGULAR = 1e-11  # relative eigenvalue of the full model's residual below which sigma2 cannot be taken from it


class RSS(OfTrace):
    """Residual sum of squares."""

    name, kind, monotone, share = "rss", "linear", True, False

    def score(self, rss: Any, size: Size, problem: Problem) -> Any:
        return rss


class R2(OfTrace):
    """Share of the sum of squares that is explained."""

    name, kind, better, monotone = "r2", "linear", 1, True

    def score(self, rss: Any, size: Size, problem: Problem) -> Any:
        return 1 - rss / np.trace(problem.base)


class AdjustedR2(OfTrace):
    """R2 with both sums of squares divided by their degrees of freedom."""

    name, kind, better = "adj_r2", "linear", 1

    def score(self, rss: Any, size: Size, problem: Problem) -> Any:
        room = np.maximum(problem.df - size.rank, 1e-9)  # what leaves no degree of freedom is not free to enter
        return 1 - (rss / room) / (np.trace(problem.base) / problem.df)


class Amemiya(OfTrace):
    """Amemiya's prediction criterion: (n + size + 1) / (n - size - 1) RSS / TSS (Amemiya 1980)."""

    name, kind, penalised = "amemiya", "linear", True

    def score(self, rss: Any, size: Size, problem: Problem) -> Any:
        n, parameters = problem.n, size.rank + 1
        room = np.maximum(n - parameters, 1e-9)  # what leaves no degree of freedom is not free to enter
        return (n + parameters) / room * rss / np.trace(problem.base)


class PRESS(OfRows):
    """Prediction sum of squares: the squared errors of leave-one-out predictions, in closed form (Allen 1974).

    A row whose leverage is 1 cannot be predicted from the others; the criterion is infinite with one.
    """

    name, kind, penalised, share = "press", "linear", True, False

    def read(self, residuals: Floats, leverages: Floats) -> Floats:
        room = 1 - leverages
        errors = np.square(residuals / np.where(room > FULL_LEVERAGE, room, np.nan)[:, :, None]).sum(axis=(0, 2))
        return np.where(np.isnan(errors), np.inf, errors)

    def score(self, press: Any, size: Size, problem: Problem) -> Any:
        return press


@dataclass(frozen=True)
class MallowsCp(OfTrace):
    """Mallows' Cp: RSS / sigma2 - n + 2 (size + 1).

    Parameters
    ----------
    sigma2 : float or None, default=None
        Error variance; None estimates it (for several targets, the error covariance matrix) from the model with all
        features.
    per_sample : bool, default=False
        If True, the score is (RSS + 2 size sigma2) / n, as in the paper; the ranking is the same.
    """

    name, kind, penalised, share = "cp", "linear", True, False

    sigma2: float | None = None
    per_sample: bool = False
    covariance: Floats | None = field(default=None, init=False, repr=False, compare=False)  # taken from the problem

    def __post_init__(self) -> None:
        if self.sigma2 is not None:
            check_finite("sigma2", self.sigma2, above=0)

    @property
    def info(self) -> CriterionInfo:
        return replace(super().info, share=self.per_sample)

    def resolve(self, problem: Problem, candidates: NDArray[np.intp], n_units: int) -> MallowsCp:
        if self.sigma2 is not None:
            sigma = self.sigma2 * np.eye(problem.n_targets)
        else:
            sigma = _full_covariance(problem, candidates, self)
        resolved = copy(self)
        object.__setattr__(resolved, "covariance", sigma)
        return resolved

    def of(self, explained: Explained) -> float:
        if self.per_sample:
            return explained.trace
        return float(np.trace(linalg.solve(self._sigma, explained.M, assume_a="pos")))

    def after(self, explained: Explained, update: RankUpdate, sign: int) -> Floats:
        return self.of(explained) + sign * self._power(update)

    def _power(self, update: RankUpdate) -> Floats:
        """The trace of what moves explain, in units of the error."""
        if self.per_sample:
            return update.power
        sigma = self._sigma
        if len(sigma) == 1:
            return np.asarray(update.power / sigma[0, 0])
        v = update.vectors
        half = linalg.solve_triangular(np.linalg.cholesky(sigma), v.reshape(-1, v.shape[2]).T, lower=True)
        return np.asarray(np.einsum("umt,umt->u", *2 * [half.T.reshape(v.shape)]))

    @property
    def transform(self) -> Floats | None:
        """Coordinates of the targets in units of the error."""
        if self.per_sample:
            return None
        return np.asarray(
            linalg.solve_triangular(np.linalg.cholesky(self._sigma), np.eye(len(self._sigma)), lower=True)
        )

    def score(self, rss: Any, size: Size, problem: Problem) -> Any:
        q = problem.n_targets
        if self.per_sample:
            return (rss + 2 * size.rank * np.trace(self._sigma)) / problem.n
        return rss - problem.n * q + 2 * q * (size.rank + 1)

    @property
    def _sigma(self) -> Floats:
        assert self.covariance is not None
        return self.covariance


@dataclass(frozen=True)
class Sawa(OfTrace):
    """Sawa's Bayesian information criterion: n log(RSS / n) + 2 (size + 3) r - 2 r^2, r = n sigma2 / RSS (Sawa 1978).

    Parameters
    ----------
    sigma2 : float or None, default=None
        Error variance; None estimates it from the model with all features.
    """

    name, kind, penalised, share = "sawa", "linear", True, False

    sigma2: float | None = None

    def __post_init__(self) -> None:
        if self.sigma2 is not None:
            check_finite("sigma2", self.sigma2, above=0)

    def resolve(self, problem: Problem, candidates: NDArray[np.intp], n_units: int) -> Sawa:
        if problem.n_targets > 1:
            raise ValueError(
                f"criterion 'sawa' is defined for one target; y has {problem.n_targets}: use criterion='bic', or one "
                "target at a time"
            )
        if self.sigma2 is not None:
            return self
        return Sawa(float(_full_covariance(problem, candidates, self)[0, 0]))

    def ordered_by_fit(self, max_rank: float, problem: Problem) -> bool:
        """n - 2 (size + 3) r + 4 r^2, the derivative by log RSS, has no root r."""
        return (max_rank + 3) ** 2 < 4 * problem.n

    def score(self, rss: Any, size: Size, problem: Problem) -> Any:
        assert self.sigma2 is not None
        n = problem.n
        rss = np.maximum(rss, problem.exact_fit * problem.base[0, 0])
        ratio = n * self.sigma2 / rss
        return n * np.log(rss / n) + 2 * (size.rank + 3) * ratio - 2 * ratio**2


def _full_covariance(problem: Problem, candidates: NDArray[np.intp], criterion: MallowsCp | Sawa) -> Floats:
    """Error covariance of the model with every candidate in it."""
    name, by = criterion.name, type(criterion).__name__
    if problem.n <= len(candidates) + 1:
        raise ValueError(
            f"{name} takes sigma2 from the model with all {len(candidates)} features, which {problem.n:g} rows cannot "
            f"fit (n must exceed features + 1); give it as {by}(sigma2=...), or use criterion='ebic'"
        )
    full = Projection(problem.equations)
    full.add(candidates.tolist())
    full.update(np.arange(problem.n_features))
    if full.imprecise and problem.finer is not None:
        return _full_covariance(problem.finer(), candidates, criterion)
    targets = full.basis.targets
    residual = problem.base - full.Z.T @ full.Z if targets is None else targets.T @ targets
    scale = np.sqrt(np.diagonal(problem.base))
    if np.linalg.eigvalsh(residual / np.outer(scale, scale))[0] <= SINGULAR:
        which = "fits y" if problem.n_targets == 1 else "fits some target, or a combination of targets,"
        raise ValueError(
            f"{name} takes sigma2 from the model with all features, which {which} exactly (sigma2 = 0); "
            f"give it as {by}(sigma2=...)"
        )
    return np.asarray(residual / (problem.df - full.size))


def _log_likelihood(logdet: Any, problem: Problem) -> Any:
    """n log det(E / n): minus twice the log likelihood, up to a constant."""
    return problem.n * (logdet - problem.n_targets * math.log(problem.n))


class AIC(OfDeterminant):
    """n log det(E / n) + 2 q (size + 1), on the scale of R's extractAIC; E is the residual of the q targets."""

    name, kind, penalised, share = "aic", "linear", True, False

    def score(self, logdet: Any, size: Size, problem: Problem) -> Any:
        return _log_likelihood(logdet, problem) + 2 * problem.n_targets * (size.rank + 1)


class HannanQuinn(OfDeterminant):
    """n log det(E / n) + 2 log(log n) q (size + 1) (Hannan and Quinn 1979)."""

    name, kind, penalised, share = "hqc", "linear", True, False

    def score(self, logdet: Any, size: Size, problem: Problem) -> Any:
        penalty = 2 * math.log(math.log(problem.n)) * problem.n_targets * (size.rank + 1)
        return _log_likelihood(logdet, problem) + penalty


class AICc(OfDeterminant):
    """AIC corrected for few rows (Hurvich and Tsai 1989; Bedrick and Tsai 1994 for several targets)."""

    name, kind, penalised, share = "aicc", "linear", True, False

    def score(self, logdet: Any, size: Size, problem: Problem) -> Any:
        n, q = problem.n, problem.n_targets
        room = n - (size.rank + 1) - q - 1
        penalty = 2 * n * (q * (size.rank + 1) + q * (q + 1) / 2) / np.where(room > 0, room, np.nan)
        return np.where(room > 0, _log_likelihood(logdet, problem) + penalty, np.inf)


class BIC(OfDeterminant):
    """n log det(E / n) + log(n) q (size + 1)."""

    name, kind, penalised, share = "bic", "linear", True, False

    def score(self, logdet: Any, size: Size, problem: Problem) -> Any:
        return _log_likelihood(logdet, problem) + math.log(problem.n) * problem.n_targets * (size.rank + 1)


@dataclass(frozen=True)
class EBIC(OfDeterminant):
    """BIC + 2 gamma log(number of selections of this size) (Chen and Chen 2008), corrected for small samples.

    Chen and Chen charge the i-th of m units, of rank d, d q log n + 2 gamma log((m - i + 1) / i) for q targets. The
    corrected criterion multiplies this by Bartlett's factor n / (n - 1 - i d - (q - d + 1) / 2), so that the likelihood
    ratio has its asymptotic distribution where rows are few, and never charges less than the exact partial F test at
    level 0.05 i / (m - i + 1) takes. The combinatorial term is at least 0, so that every unit is charged at every size.
    On noise nothing is selected at least 95 times in 100; for many rows it is Chen and Chen's criterion. Units of
    different rank are charged as units of their mean rank.

    Parameters
    ----------
    gamma : float, default=1.0
        Weight of the combinatorial term; 0 is BIC.
    corrected : bool, default=True
        False is Chen and Chen's formula.
    n_candidates : int or None, default=None
        Number of units that could be chosen; None counts them.
    """

    name, kind, penalised, share = "ebic", "linear", True, False

    gamma: float = 1.0
    corrected: bool = True
    n_candidates: int | None = None

    def __post_init__(self) -> None:
        check_finite("gamma", self.gamma)
        if not isinstance(self.corrected, bool | np.bool_):
            raise ValueError(f"corrected must be True or False; got {self.corrected!r}")
        n = self.n_candidates
        if n is not None and (not isinstance(n, Integral) or isinstance(n, bool) or n < 1):
            raise ValueError(f"n_candidates must be None or a whole number from 1; got {n!r}")

    def resolve(self, problem: Problem, candidates: NDArray[np.intp], n_units: int) -> EBIC:
        return self if self.n_candidates is not None else replace(self, n_candidates=max(1, n_units))

    def score(self, logdet: Any, size: Size, problem: Problem) -> Any:
        rank, units = size
        if isinstance(rank, float):
            penalty: Any = self._penalty(rank, units, problem)
        else:
            ranks, which = np.unique(rank, return_inverse=True)
            penalty = np.array([self._penalty(r, units, problem) for r in ranks.tolist()])[which]
        return _log_likelihood(logdet, problem) + math.log(problem.n) * problem.n_targets + penalty

    def _penalty(self, rank: float, units: float, problem: Problem) -> float:
        n, q, m, units = problem.n, problem.n_targets, self.n_candidates or 1, max(units, float(rank > 0))
        if not self.corrected:
            units = min(units, m)
            binomial = math.lgamma(m + 1) - math.lgamma(units + 1) - math.lgamma(m - units + 1)
            return math.log(n) * q * rank + 2 * self.gamma * binomial
        count = int(units)
        if rank == units:  # features: as many as a search may need next
            return _charges(self.gamma, m, 1.0, 8 << (count >> 3).bit_length(), n, problem.df, q)[count]
        return _charges(self.gamma, m, rank / units, count, n, problem.df, q)[count]


@lru_cache(maxsize=256)  # tables of one shape share them, and the quantiles cost as much as a step on a small table
def _charges(gamma: float, m: int, rank: float, count: int, n: float, df: float, q: int) -> list[float]:
    """What the corrected EBIC charges 0, 1, ..., `count` units of equal rank, if m could be chosen."""
    i = np.arange(1.0, count + 1)
    chances = gamma * np.log(np.maximum((m - i + 1) / i, 1.0))
    room = df - i * rank - (q - rank + 1) / 2
    bartlett = np.where(room > 0, n / np.where(room > 0, room, 1.0), np.inf)
    test = WilksTest(q, df, regression=True)
    least = -n * test.log_critical(LEVEL * np.exp(-chances), (i - 1) * rank, rank)
    charges = np.maximum((q * rank * math.log(n) + 2 * chances) * bartlett, least)
    return [0.0, *charges.cumsum().tolist()]
