"""Criteria of linear regression."""

from __future__ import annotations

import math
from copy import copy
from dataclasses import dataclass, field, replace
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from dropstep.models.base import Choices, CriterionInfo
from dropstep.models.information import log_choices
from dropstep.models.least_squares.criteria.base import OfDeterminant, OfRows, OfTrace, Size, check_finite
from dropstep.models.least_squares.explained import Explained
from dropstep.models.least_squares.problem import Problem
from dropstep.models.least_squares.updates import RankUpdate
from dropstep.projection.projection import Projection

Floats = NDArray[np.float64]

FULL_LEVERAGE = 1e-9  # 1 - leverage of a row up to which the others do not determine its prediction
SINGULAR = 1e-11  # relative eigenvalue of the full model's residual below which sigma2 cannot be taken from it


class RSS(OfTrace):
    """Residual sum of squares."""

    name, kind, monotone, share = "rss", "linear", True, False

    def score(self, rss: Any, size: Size, problem: Problem) -> Any:
        return rss


@dataclass(frozen=True)
class OfShares(OfTrace):
    """A criterion that reads the residual sum of squares; of several targets, the mean of its shares of the total."""

    totals: Floats | None = field(default=None, init=False, repr=False, compare=False)  # of several targets

    def resolve(self, problem: Problem, candidates: NDArray[np.intp], choices: Choices) -> OfShares:
        if problem.n_targets == 1:
            return self
        resolved = copy(self)
        object.__setattr__(resolved, "totals", np.diagonal(problem.base))
        return resolved

    def total(self, problem: Problem) -> float:
        """What is read without features."""
        return float(np.trace(problem.base)) if self.totals is None else 1.0

    @property
    def transform(self) -> Floats | None:
        return None if self.totals is None else np.diag(1 / np.sqrt(len(self.totals) * self.totals))

    def of(self, explained: Explained) -> float:
        return explained.trace if self.totals is None else float(np.mean(np.diagonal(explained.M) / self.totals))

    def after(self, explained: Explained, update: RankUpdate, sign: int) -> Floats:
        if self.totals is None:
            return super().after(explained, update, sign)
        powers = np.square(update.vectors).sum(axis=1)
        return np.asarray(self.of(explained) + sign * (powers / self.totals).mean(axis=1))


class R2(OfShares):
    """Share of the sum of squares that is explained; the mean over several targets."""

    name, kind, better, monotone = "r2", "linear", 1, True

    def score(self, rss: Any, size: Size, problem: Problem) -> Any:
        return 1 - rss / self.total(problem)


class AdjustedR2(OfShares):
    """R2 with both sums of squares divided by their degrees of freedom."""

    name, kind, better = "adj_r2", "linear", 1

    def score(self, rss: Any, size: Size, problem: Problem) -> Any:
        room = np.maximum(problem.df - size.rank, 1e-9)  # what leaves no degree of freedom is not free to enter
        return 1 - (rss / room) / (self.total(problem) / problem.df)


class Amemiya(OfShares):
    """Amemiya's prediction criterion: (n + size + 1) / (n - size - 1) RSS / TSS (Amemiya 1980)."""

    name, kind, penalised = "amemiya", "linear", True

    def score(self, rss: Any, size: Size, problem: Problem) -> Any:
        n, parameters = problem.n, size.rank + 1
        room = np.maximum(n - parameters, 1e-9)  # what leaves no degree of freedom is not free to enter
        return (n + parameters) / room * rss / self.total(problem)


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

    def resolve(self, problem: Problem, candidates: NDArray[np.intp], choices: Choices) -> MallowsCp:
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

    def resolve(self, problem: Problem, candidates: NDArray[np.intp], choices: Choices) -> Sawa:
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
    """BIC + 2 gamma log(number of selections of this size) (Chen and Chen 2008).

    The combinatorial part counts units, and is constant from half of those that could be chosen on, so that every unit
    is charged at every size; included units are not counted. The BIC part counts linearly independent features.

    Parameters
    ----------
    gamma : float, default=1.0
        Weight of the combinatorial part; 0 is BIC.
    n_candidates : int or None, default=None
        Number of units that could be chosen; None counts them.
    """

    name, kind, penalised, share = "ebic", "linear", True, False

    gamma: float = 1.0
    n_candidates: int | None = None
    n_included: int = field(default=0, init=False, repr=False, compare=False)  # taken from the search

    def __post_init__(self) -> None:
        check_finite("gamma", self.gamma)
        n = self.n_candidates
        if n is not None and (not isinstance(n, Integral) or isinstance(n, bool) or n < 1):
            raise ValueError(f"n_candidates must be None or a whole number from 1; got {n!r}")

    def resolve(self, problem: Problem, candidates: NDArray[np.intp], choices: Choices) -> EBIC:
        n_candidates = max(1, choices.n) if self.n_candidates is None else self.n_candidates
        resolved = replace(self, n_candidates=n_candidates)
        object.__setattr__(resolved, "n_included", choices.n_included)
        return resolved

    def score(self, logdet: Any, size: Size, problem: Problem) -> Any:
        assert self.n_candidates is not None
        bic = math.log(problem.n) * problem.n_targets * (size.rank + 1)
        combinatorial = 2 * self.gamma * log_choices(self.n_candidates, size.units - self.n_included)
        return _log_likelihood(logdet, problem) + bic + combinatorial
