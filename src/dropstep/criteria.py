"""Criteria: a score of the matrix M of a problem, the size of the selection and the number of rows.

A criterion is one small class. It says what it reads of M (the trace, the log determinant, or M itself), which
way is better, and its formula. The gains of all possible moves follow from that.
"""

from __future__ import annotations

import math
from copy import copy
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, special

from dropstep.explained import Change, Explained, SingleChange
from dropstep.problem import Problem
from dropstep.projection import Projection

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Criterion:
    """A score of a selection.

    Subclasses define `score(read, size, problem)`, where `read` is what `of` and `after` return, for one selection
    or for many at once.
    """

    name: ClassVar[str]
    kind: ClassVar[Literal["linear", "discriminant"]]
    better: ClassVar[int] = -1  # -1: less is better, +1: more is better
    penalised: ClassVar[bool] = False  # whether the score itself charges for size

    def resolve(self, problem: Problem, candidates: NDArray[np.intp]) -> Criterion:
        """The criterion with the parameters it takes from the problem filled in."""
        return self

    def score(self, read: Any, size: Any, problem: Problem) -> Any:
        raise NotImplementedError

    def of(self, explained: Explained) -> Any:
        """What the score reads of what is explained."""
        raise NotImplementedError

    def after(self, explained: Explained, change: Change, sign: int) -> Any:
        """What it would read after each move, M + sign v v'."""
        raise NotImplementedError

    def order(self, explained: Explained, change: Change, size: float) -> Floats:
        """Numbers in the order of the gains, at least 0 and 0 for what is not free, for moves of one feature each."""
        gains = self.gains(explained, change, size)
        return np.where(change.free, gains - gains.min(), 0.0)

    def value(self, explained: Explained, size: float) -> float:
        """The score of what is explained by so many independent features."""
        if explained.value is None:
            explained.value = float(self.score(self.of(explained), size, explained.problem))
        return explained.value

    def gains(self, explained: Explained, change: Change, size: float) -> Floats:
        """By how much each addition would improve the score; 0 for units that bring no independent feature."""
        problem = explained.problem
        then = self.score(self.after(explained, change, problem.sign), size + change.rank, problem)
        return np.where(change.free, self.better * _minus(then, self.value(explained, size)), 0.0)

    def gain(self, explained: Explained, power: float, size: float) -> float:
        """The gain of one feature that explains so much more of a single target."""
        read = self.after_power(explained, power)
        return self.better * (float(self.score(read, size + 1, explained.problem)) - self.value(explained, size))

    def after_power(self, explained: Explained, power: float) -> Any:
        """What the score would read with so much more explained, of a single target."""
        one = SingleChange(np.ones(1), np.full((1, 1), math.sqrt(power)), np.ones(1, dtype=bool))
        return self.after(explained, one, explained.problem.sign)[0]

    def losses(self, explained: Explained, change: Change, size: float) -> Floats:
        """By how much each removal would worsen the score."""
        problem = explained.problem
        then = self.score(self.after(explained, change, -problem.sign), size - change.rank, problem)
        return np.asarray(-self.better * _minus(then, self.value(explained, size)))


def _minus(then: Any, now: float) -> Any:
    """The difference of scores; none between two that are infinite."""
    return then - now if math.isfinite(now) else np.where(np.isinf(then), 0.0, -now)


class OfTrace(Criterion):
    """A criterion that reads the trace of M."""

    def of(self, explained: Explained) -> float:
        return explained.trace

    def after(self, explained: Explained, change: Change, sign: int) -> Floats:
        return explained.trace + sign * change.power

    def after_power(self, explained: Explained, power: float) -> float:
        return explained.trace + explained.problem.sign * power

    def order(self, explained: Explained, change: Change, size: float) -> Floats:
        return change.power


class OfDeterminant(Criterion):
    """A criterion that reads the log determinant of M."""

    def of(self, explained: Explained) -> float:
        return explained.logdet

    def after(self, explained: Explained, change: Change, sign: int) -> Floats:
        return explained.logdet + explained.log_ratio(change, sign)

    def after_power(self, explained: Explained, power: float) -> float:
        ratio = 1 + explained.problem.sign * power / explained.positive[0, 0]
        return explained.logdet + math.log(max(ratio, explained.least_ratio))

    def order(self, explained: Explained, change: Change, size: float) -> Floats:
        return change.power if len(explained.M) == 1 else explained.inner(change)


class OfMatrix(Criterion):
    """A criterion that reads M itself."""

    def of(self, explained: Explained) -> Floats:
        return explained.M

    def after(self, explained: Explained, change: Change, sign: int) -> Floats:
        v = change.vectors
        return np.asarray(explained.M + sign * np.einsum("umt,ums->uts", v, v))


# --- regression ------------------------------------------------------------------------------------------------------


class RSS(OfTrace):
    """Residual sum of squares."""

    name, kind = "rss", "linear"

    def score(self, rss: Any, size: Any, problem: Problem) -> Any:
        return rss


class R2(OfTrace):
    """Share of the sum of squares that is explained."""

    name, kind, better = "r2", "linear", 1

    def score(self, rss: Any, size: Any, problem: Problem) -> Any:
        return 1 - rss / np.trace(problem.base)


class AdjustedR2(OfTrace):
    """R2 with both sums of squares divided by their degrees of freedom."""

    name, kind, better = "adj_r2", "linear", 1

    def score(self, rss: Any, size: Any, problem: Problem) -> Any:
        room = np.maximum(problem.df - size, 1e-9)  # what leaves no degree of freedom is not free to enter
        return 1 - (rss / room) / (np.trace(problem.base) / problem.df)


@dataclass(frozen=True)
class MallowsCp(OfTrace):
    """Mallows' Cp: RSS / sigma2 - n + 2 (size + 1).

    Parameters
    ----------
    sigma2 : the error variance; None takes it from the model with all features (and the matrix of error
        covariances when there are several targets).
    per_sample : (RSS + 2 size sigma2) / n instead, the same order on the scale of y: what the paper used.
    """

    name, kind, penalised = "cp", "linear", True

    sigma2: float | None = None
    per_sample: bool = False
    covariance: Floats | None = field(default=None, init=False, repr=False, compare=False)  # taken from the problem

    def __post_init__(self) -> None:
        if self.sigma2 is not None and not self.sigma2 > 0:
            raise ValueError(f"sigma2 must be positive; got {self.sigma2!r}")

    def resolve(self, problem: Problem, candidates: NDArray[np.intp]) -> MallowsCp:
        if self.sigma2 is not None:
            sigma = self.sigma2 * np.eye(problem.n_targets)
        else:
            sigma = _full_covariance(problem, candidates)
        resolved = copy(self)
        object.__setattr__(resolved, "covariance", sigma)
        return resolved

    def of(self, explained: Explained) -> float:
        if self.per_sample:
            return explained.trace
        return float(np.trace(linalg.solve(self._sigma, explained.M, assume_a="pos")))

    def after(self, explained: Explained, change: Change, sign: int) -> Floats:
        return self.of(explained) + sign * self._power(change)

    def after_power(self, explained: Explained, power: float) -> float:
        unit = 1.0 if self.per_sample else self._sigma[0, 0]
        return float(self.of(explained) + explained.problem.sign * power / unit)

    def order(self, explained: Explained, change: Change, size: float) -> Floats:
        return self._power(change)

    def _power(self, change: Change) -> Floats:
        """The trace of what moves explain, in units of the error."""
        if self.per_sample:
            return change.power
        sigma = self._sigma
        if len(sigma) == 1:
            return np.asarray(change.power / sigma[0, 0])
        v = change.vectors
        half = linalg.solve_triangular(np.linalg.cholesky(sigma), v.reshape(-1, v.shape[2]).T, lower=True)
        return np.asarray(np.einsum("umt,umt->u", *2 * [half.T.reshape(v.shape)]))

    def score(self, rss: Any, size: Any, problem: Problem) -> Any:
        q = problem.n_targets
        if self.per_sample:
            return (rss + 2 * size * np.trace(self._sigma)) / problem.n
        return rss - problem.n * q + 2 * q * (size + 1)

    @property
    def _sigma(self) -> Floats:
        assert self.covariance is not None
        return self.covariance


def _full_covariance(problem: Problem, candidates: NDArray[np.intp]) -> Floats:
    """Error covariance of the model with every candidate in it."""
    if problem.n <= len(candidates) + 1:
        raise ValueError(
            f"cp takes sigma2 from the model with all {len(candidates)} features, which {problem.n:g} rows cannot fit "
            "(n must exceed features + 1); give it as MallowsCp(sigma2=...), or use criterion='ebic'"
        )
    full = Projection(problem)
    full.add([int(j) for j in candidates])
    covariance = full.explained.M / (problem.df - full.size)
    if np.any(np.diagonal(covariance) <= 1e-14 * np.diagonal(problem.base)):
        raise ValueError(
            "cp takes sigma2 from the model with all features, which fits y exactly (sigma2 = 0); "
            "give it as MallowsCp(sigma2=...)"
        )
    return covariance


def _log_likelihood(logdet: Any, problem: Problem) -> Any:
    """n log det(E / n): minus twice the log likelihood, up to a constant."""
    return problem.n * (logdet - problem.n_targets * math.log(problem.n))


class AIC(OfDeterminant):
    """n log det(E / n) + 2 q (size + 1), on the scale of R's extractAIC; E is the residual of the q targets."""

    name, kind, penalised = "aic", "linear", True

    def score(self, logdet: Any, size: Any, problem: Problem) -> Any:
        return _log_likelihood(logdet, problem) + 2 * problem.n_targets * (size + 1)


class AICc(OfDeterminant):
    """AIC corrected for few rows (Hurvich and Tsai 1989; Bedrick and Tsai 1994 for several targets)."""

    name, kind, penalised = "aicc", "linear", True

    def score(self, logdet: Any, size: Any, problem: Problem) -> Any:
        n, q = problem.n, problem.n_targets
        room = n - (size + 1) - q - 1
        penalty = 2 * n * (q * (size + 1) + q * (q + 1) / 2) / np.where(room > 0, room, np.nan)
        return np.where(room > 0, _log_likelihood(logdet, problem) + penalty, np.inf)


class BIC(OfDeterminant):
    """n log det(E / n) + log(n) q (size + 1)."""

    name, kind, penalised = "bic", "linear", True

    def score(self, logdet: Any, size: Any, problem: Problem) -> Any:
        return _log_likelihood(logdet, problem) + math.log(problem.n) * problem.n_targets * (size + 1)


@dataclass(frozen=True)
class EBIC(OfDeterminant):
    """BIC + 2 gamma log(number of selections of this size) (Chen and Chen 2008).

    Parameters
    ----------
    gamma : weight of the search over many features; 0 is BIC.
    n_candidates : how many features could be chosen; None counts them.
    """

    name, kind, penalised = "ebic", "linear", True

    gamma: float = 1.0
    n_candidates: int | None = None

    def __post_init__(self) -> None:
        if not self.gamma >= 0:
            raise ValueError(f"gamma must not be negative; got {self.gamma!r}")
        if self.n_candidates is not None and not self.n_candidates >= 1:
            raise ValueError(f"n_candidates must be at least 1; got {self.n_candidates!r}")

    def resolve(self, problem: Problem, candidates: NDArray[np.intp]) -> EBIC:
        return self if self.n_candidates is not None else replace(self, n_candidates=max(1, len(candidates)))

    def score(self, logdet: Any, size: Any, problem: Problem) -> Any:
        bic = _log_likelihood(logdet, problem) + math.log(problem.n) * problem.n_targets * (size + 1)
        return bic + 2 * self.gamma * _log_binomial(self.n_candidates or 1, size)


def _log_binomial(n: int, k: Any) -> Any:
    """log of n over k."""
    if isinstance(k, float | int):
        k = min(k, n)
        return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
    k = np.minimum(k, n)
    return special.gammaln(n + 1) - special.gammaln(k + 1) - special.gammaln(n - k + 1)


# --- classes ---------------------------------------------------------------------------------------------------------


class Trace(OfTrace):
    """trace(inv(Sw) Sb), the paper's criterion (Lawley-Hotelling)."""

    name, kind, better = "trace", "discriminant", 1

    def score(self, trace: Any, size: Any, problem: Problem) -> Any:
        return trace - problem.n_targets


class Wilks(OfDeterminant):
    """Wilks' lambda, det(Sw) / det(Sw + Sb): less is better."""

    name, kind = "wilks", "discriminant"

    def score(self, logdet: Any, size: Any, problem: Problem) -> Any:
        return np.exp(-logdet)


class Pillai(OfMatrix):
    """trace(inv(Sw + Sb) Sb)."""

    name, kind, better = "pillai", "discriminant", 1

    def score(self, M: Any, size: Any, problem: Problem) -> Any:
        return (1 - 1 / np.linalg.eigvalsh(M)).sum(axis=-1)


class Roy(OfMatrix):
    """The largest eigenvalue of inv(Sw) Sb."""

    name, kind, better = "roy", "discriminant", 1

    def score(self, M: Any, size: Any, problem: Problem) -> Any:
        return np.linalg.eigvalsh(M)[..., -1] - 1


CRITERIA: dict[str, type[Criterion]] = {
    criterion.name: criterion
    for criterion in (RSS, R2, AdjustedR2, MallowsCp, AIC, AICc, BIC, EBIC, Trace, Pillai, Wilks, Roy)
}
DEFAULT = {"linear": "ebic", "discriminant": "trace"}


def as_criterion(criterion: str | Criterion, kind: str) -> Criterion:
    """A criterion by name or as an object, refused when it does not fit the model."""
    if isinstance(criterion, str):
        name = DEFAULT[kind] if criterion == "auto" else criterion
        if name not in CRITERIA:
            raise ValueError(f"unknown criterion {criterion!r}; there are {', '.join(['auto', *CRITERIA])}")
        criterion = CRITERIA[name]()
    if not isinstance(criterion, Criterion):
        raise TypeError(f"criterion must be a name or a Criterion; got {criterion!r}")
    if criterion.kind != kind:
        fitting = ", ".join(name for name, c in CRITERIA.items() if c.kind == kind)
        raise ValueError(f"criterion {criterion.name!r} does not fit model {kind!r}, whose criteria are {fitting}")
    return criterion
