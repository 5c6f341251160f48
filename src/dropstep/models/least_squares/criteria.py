"""Criteria: a score of the matrix M of a problem, the size of the selection and the number of rows.

A criterion is one small class. It says what it reads of M (the trace, the log determinant, or M itself), which
way is better, and its formula. The gains of all possible moves follow from that.
"""

from __future__ import annotations

import math
from copy import copy
from dataclasses import dataclass, field, replace
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from dropstep.models.least_squares.explained import Change, Explained
from dropstep.models.least_squares.problem import Problem
from dropstep.projection.projection import Projection

Floats = NDArray[np.float64]

LEVEL = 0.05  # of the test that the first feature must pass under the corrected EBIC
SINGULAR = 1e-11  # relative eigenvalue of the full model's residual below which sigma2 cannot be taken from it


class Size(NamedTuple):
    """How large selections are: the number of linearly independent features, and of units (features or groups)."""

    rank: Any
    units: Any


@dataclass(frozen=True)
class Criterion:
    """A score of a selection.

    Subclasses define `score(read, size, problem)`, where `read` is what `of` and `after` return and `size` is a `Size`,
    for one selection or for many at once.
    """

    name: ClassVar[str]
    kind: ClassVar[Literal["linear", "discriminant"]]
    better: ClassVar[int] = -1  # -1: less is better, +1: more is better
    penalised: ClassVar[bool] = False  # whether the score itself charges for size

    def resolve(self, problem: Problem, candidates: NDArray[np.intp], n_units: int) -> Criterion:
        """The criterion with the parameters that it takes from the problem and its candidates filled in."""
        return self

    def score(self, read: Any, size: Size, problem: Problem) -> Any:
        raise NotImplementedError

    def of(self, explained: Explained) -> Any:
        """What the score reads of what is explained."""
        raise NotImplementedError

    def after(self, explained: Explained, change: Change, sign: int) -> Any:
        """What it would read after each move, M + sign v v'."""
        raise NotImplementedError

    def order(self, explained: Explained, change: Change, size: Size) -> Floats:
        """Numbers in the order of the gains of moves of one feature each, 0 for what is not feasible.

        Numbers closer than rounding, relative to the largest, are ties.
        """
        return self.gains(explained, change, size)

    def value(self, explained: Explained, size: Size) -> float:
        """The score of what is explained by a selection of this size."""
        return float(self.score(self.of(explained), size, explained.problem))

    def gains(self, explained: Explained, change: Change, size: Size) -> Floats:
        """By how much each addition would improve the score; 0 for units that bring no independent feature."""
        problem = explained.problem
        then = Size(size.rank + change.rank, size.units + 1)
        after = self.score(self.after(explained, change, problem.sign), then, problem)
        return np.where(change.free, self.better * _minus(after, self.value(explained, size)), 0.0)

    def losses(self, explained: Explained, change: Change, size: Size) -> Floats:
        """By how much each removal would worsen the score."""
        problem = explained.problem
        then = Size(size.rank - change.rank, size.units - 1)
        after = self.score(self.after(explained, change, -problem.sign), then, problem)
        return np.asarray(-self.better * _minus(after, self.value(explained, size)))


def _minus(then: Any, now: float) -> Any:
    """The difference of scores; none between two that are infinite."""
    return then - now if math.isfinite(now) else np.where(np.isinf(then), 0.0, -now)


class OfTrace(Criterion):
    """A criterion that reads the trace of M."""

    def of(self, explained: Explained) -> float:
        return explained.trace

    def after(self, explained: Explained, change: Change, sign: int) -> Floats:
        return explained.trace + sign * change.power

    def order(self, explained: Explained, change: Change, size: Size) -> Floats:
        return change.power


class OfDeterminant(Criterion):
    """A criterion that reads the log determinant of M."""

    def of(self, explained: Explained) -> float:
        return explained.logdet

    def after(self, explained: Explained, change: Change, sign: int) -> Floats:
        return explained.logdet + explained.log_ratio(change, sign)

    def order(self, explained: Explained, change: Change, size: Size) -> Floats:
        if explained.nearly_exact(change):
            return super().order(explained, change, size)
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

    def score(self, rss: Any, size: Size, problem: Problem) -> Any:
        return rss


class R2(OfTrace):
    """Share of the sum of squares that is explained."""

    name, kind, better = "r2", "linear", 1

    def score(self, rss: Any, size: Size, problem: Problem) -> Any:
        return 1 - rss / np.trace(problem.base)


class AdjustedR2(OfTrace):
    """R2 with both sums of squares divided by their degrees of freedom."""

    name, kind, better = "adj_r2", "linear", 1

    def score(self, rss: Any, size: Size, problem: Problem) -> Any:
        room = np.maximum(problem.df - size.rank, 1e-9)  # what leaves no degree of freedom is not free to enter
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
        if self.sigma2 is not None:
            _check_finite("sigma2", self.sigma2, above=0)

    def resolve(self, problem: Problem, candidates: NDArray[np.intp], n_units: int) -> MallowsCp:
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

    def order(self, explained: Explained, change: Change, size: Size) -> Floats:
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

    def score(self, rss: Any, size: Size, problem: Problem) -> Any:
        q = problem.n_targets
        if self.per_sample:
            return (rss + 2 * size.rank * np.trace(self._sigma)) / problem.n
        return rss - problem.n * q + 2 * q * (size.rank + 1)

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
    if full.imprecise and problem.finer is not None:
        return _full_covariance(problem.finer(), candidates)
    covariance = full.explained.M / (problem.df - full.size)
    scale = np.sqrt(np.diagonal(problem.base))
    if np.linalg.eigvalsh(full.explained.M / np.outer(scale, scale))[0] <= SINGULAR:
        which = "fits y" if problem.n_targets == 1 else "fits some target, or a combination of targets,"
        raise ValueError(
            f"cp takes sigma2 from the model with all features, which {which} exactly (sigma2 = 0); "
            "give it as MallowsCp(sigma2=...)"
        )
    return covariance


def _check_finite(name: str, value: Any, above: float | None = None) -> None:
    """Refuse a parameter of a criterion that is not a finite number, above a bound or (None) not negative."""
    ok = isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)
    if not ok or (value < 0 if above is None else value <= above):
        what = "a finite number that is not negative" if above is None else "a positive finite number"
        raise ValueError(f"{name} must be {what}; got {value!r}")


def _log_likelihood(logdet: Any, problem: Problem) -> Any:
    """n log det(E / n): minus twice the log likelihood, up to a constant."""
    return problem.n * (logdet - problem.n_targets * math.log(problem.n))


class AIC(OfDeterminant):
    """n log det(E / n) + 2 q (size + 1), on the scale of R's extractAIC; E is the residual of the q targets."""

    name, kind, penalised = "aic", "linear", True

    def score(self, logdet: Any, size: Size, problem: Problem) -> Any:
        return _log_likelihood(logdet, problem) + 2 * problem.n_targets * (size.rank + 1)


class AICc(OfDeterminant):
    """AIC corrected for few rows (Hurvich and Tsai 1989; Bedrick and Tsai 1994 for several targets)."""

    name, kind, penalised = "aicc", "linear", True

    def score(self, logdet: Any, size: Size, problem: Problem) -> Any:
        n, q = problem.n, problem.n_targets
        room = n - (size.rank + 1) - q - 1
        penalty = 2 * n * (q * (size.rank + 1) + q * (q + 1) / 2) / np.where(room > 0, room, np.nan)
        return np.where(room > 0, _log_likelihood(logdet, problem) + penalty, np.inf)


class BIC(OfDeterminant):
    """n log det(E / n) + log(n) q (size + 1)."""

    name, kind, penalised = "bic", "linear", True

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

    name, kind, penalised = "ebic", "linear", True

    gamma: float = 1.0
    corrected: bool = True
    n_candidates: int | None = None
    _penalties: dict[tuple[float, float], float] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        _check_finite("gamma", self.gamma)
        if not isinstance(self.corrected, bool | np.bool_):
            raise ValueError(f"corrected must be True or False; got {self.corrected!r}")
        n = self.n_candidates
        if n is not None and (not isinstance(n, Integral) or isinstance(n, bool) or n < 1):
            raise ValueError(f"n_candidates must be None or a whole number from 1; got {n!r}")

    def resolve(self, problem: Problem, candidates: NDArray[np.intp], n_units: int) -> EBIC:
        return replace(self, n_candidates=max(1, n_units) if self.n_candidates is None else self.n_candidates)

    def score(self, logdet: Any, size: Size, problem: Problem) -> Any:
        rank, units = size
        if isinstance(rank, float):
            penalty: Any = self._penalty(rank, units, problem)
        else:
            pairs, which = np.unique(np.column_stack(np.broadcast_arrays(rank, units)), axis=0, return_inverse=True)
            penalty = np.array([self._penalty(r, u, problem) for r, u in pairs.tolist()])[which.ravel()]
        return _log_likelihood(logdet, problem) + math.log(problem.n) * problem.n_targets + penalty

    def _penalty(self, rank: float, units: float, problem: Problem) -> float:
        m = self.n_candidates or 1
        if not self.corrected:
            units = min(units, m)
            binomial = math.lgamma(m + 1) - math.lgamma(units + 1) - math.lgamma(m - units + 1)
            return math.log(problem.n) * problem.n_targets * rank + 2 * self.gamma * binomial
        if (rank, units) not in self._penalties:
            if rank == units:  # features: prefix sums, as many as a search may need next
                sums = np.cumsum(self._charges(1.0, 2 * int(units) + 8, problem))
                self._penalties.update({(float(k), float(k)): total for k, total in enumerate([0.0, *sums.tolist()])})
            else:
                self._penalties[rank, units] = float(self._charges(rank / units, int(units), problem).sum())
        return self._penalties[rank, units]

    def _charges(self, rank: float, count: int, problem: Problem) -> Floats:
        """What each of `count` units of equal rank is charged."""
        i, m, n, q = np.arange(1.0, count + 1), self.n_candidates or 1, problem.n, problem.n_targets
        chances = self.gamma * np.log(np.maximum((m - i + 1) / i, 1.0))
        room = problem.df - i * rank - (q - rank + 1) / 2
        bartlett = np.where(room > 0, n / np.where(room > 0, room, 1.0), np.inf)
        least = -n * problem.log_critical(LEVEL * np.exp(-chances), (i - 1) * rank, rank)
        return np.maximum((q * rank * math.log(n) + 2 * chances) * bartlett, least)


# --- classes ---------------------------------------------------------------------------------------------------------


class Trace(OfTrace):
    """trace(inv(Sw) Sb), the paper's criterion (Lawley-Hotelling)."""

    name, kind, better = "trace", "discriminant", 1

    def score(self, trace: Any, size: Size, problem: Problem) -> Any:
        return trace - problem.n_targets


class Wilks(OfDeterminant):
    """Wilks' lambda, det(Sw) / det(Sw + Sb): less is better."""

    name, kind = "wilks", "discriminant"

    def score(self, logdet: Any, size: Size, problem: Problem) -> Any:
        return np.exp(-logdet)


class Pillai(OfMatrix):
    """trace(inv(Sw + Sb) Sb)."""

    name, kind, better = "pillai", "discriminant", 1

    def score(self, M: Any, size: Size, problem: Problem) -> Any:
        return (1 - 1 / np.maximum(np.linalg.eigvalsh(M), 1.0)).sum(axis=-1)


class Roy(OfMatrix):
    """The largest eigenvalue of inv(Sw) Sb."""

    name, kind, better = "roy", "discriminant", 1

    def score(self, M: Any, size: Size, problem: Problem) -> Any:
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
