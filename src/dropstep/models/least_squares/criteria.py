"""Criteria of least squares: a score of the matrix M of a problem, the size of the selection and the number of rows.

A criterion is one small class. It declares what it reads of M (the trace, the log determinant, or M itself), in which
direction it improves, and its formula. The gains of all possible moves follow from that.
"""

from __future__ import annotations

import math
from copy import copy
from dataclasses import dataclass, field, replace
from numbers import Integral, Real
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from dropstep.models import information
from dropstep.models.base import Choices, CriterionInfo
from dropstep.models.least_squares.criterion_matrix import CriterionMatrix
from dropstep.models.least_squares.moves import RankUpdate
from dropstep.models.least_squares.problem import ScatterProblem
from dropstep.projection.projection import Projection
from dropstep.synonyms import did_you_mean

Floats = NDArray[np.float64]
FULL_LEVERAGE = 1e-9  # 1 - leverage of a row up to which the others do not determine its prediction
SINGULAR = 1e-11  # relative eigenvalue of the full model's residual below which sigma2 cannot be taken from it
DEFAULT = {"linear": "r2", "discriminant": "trace"}


@dataclass(frozen=True)
class Size:
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
    monotone: ClassVar[bool] = False  # whether no feature can worsen the score
    share: ClassVar[bool] = True  # whether gains are shares, so that 0.05 is a plausible threshold

    @property
    def info(self) -> CriterionInfo:
        """What rules need to know."""
        return CriterionInfo(self.name, self.penalised, self.monotone, self.share)

    def resolve(self, problem: ScatterProblem, candidates: NDArray[np.intp], choices: Choices) -> Criterion:
        """The criterion with the parameters that it takes from the problem and its candidates filled in."""
        return self

    def ordered_by_fit(self, max_rank: float, problem: ScatterProblem) -> bool:
        """True if a better fit improves the score of sets of any one size, up to a rank."""
        return True

    def score(self, read: Any, size: Size, problem: ScatterProblem) -> Any:
        raise NotImplementedError

    def of(self, matrix: CriterionMatrix) -> Any:
        """The statistic of M that `score` takes."""
        raise NotImplementedError

    def after(self, matrix: CriterionMatrix, update: RankUpdate, sign: int) -> Any:
        """The statistic after each move, M + sign v v'."""
        raise NotImplementedError

    def value(self, matrix: CriterionMatrix, size: Size) -> float:
        """The score of a selection of this size."""
        return float(self.score(self.of(matrix), size, matrix.problem))

    def gains(self, matrix: CriterionMatrix, update: RankUpdate, size: Size, now: float) -> Floats:
        """By how much each addition would improve the score `now`; 0 for units that bring no independent feature."""
        problem = matrix.problem
        then = Size(size.rank + update.rank, size.units + 1)
        after = self.score(self.after(matrix, update, problem.sign), then, problem)
        if not -math.inf < now < math.inf:
            gains = self._from_infinity(after, now)
        else:
            gains = after - now if self.better > 0 else now - after
        return gains if update.all_feasible else np.where(update.feasible, gains, 0.0)

    def losses(self, matrix: CriterionMatrix, update: RankUpdate, size: Size, now: float) -> Floats:
        """By how much each removal would worsen the score `now`."""
        problem = matrix.problem
        then = Size(size.rank - update.rank, size.units - 1)
        after = self.score(self.after(matrix, update, -problem.sign), then, problem)
        if not -math.inf < now < math.inf:
            return -self._from_infinity(after, now)
        return np.asarray(now - after if self.better > 0 else after - now)

    def _from_infinity(self, then: Any, now: float) -> Floats:
        """By how much scores are better than an infinite one; two that are infinite do not differ."""
        return np.where(np.isinf(then), 0.0, -self.better * now)


class OfTrace(Criterion):
    """A criterion that reads the trace of M."""

    @property
    def transform(self) -> Floats | None:
        """T, where the criterion reads the trace of T M T' instead; None for the trace of M."""
        return None

    def of(self, matrix: CriterionMatrix) -> float:
        return matrix.trace

    def after(self, matrix: CriterionMatrix, update: RankUpdate, sign: int) -> Floats:
        return matrix.trace + sign * update.power


class OfDeterminant(Criterion):
    """A criterion that reads the log determinant of M."""

    def of(self, matrix: CriterionMatrix) -> float:
        return matrix.logdet

    def after(self, matrix: CriterionMatrix, update: RankUpdate, sign: int) -> Floats:
        return matrix.logdet + matrix.log_ratio(update, sign)


class OfMatrix(Criterion):
    """A criterion that reads M itself."""

    def of(self, matrix: CriterionMatrix) -> Floats:
        return matrix.M

    def after(self, matrix: CriterionMatrix, update: RankUpdate, sign: int) -> Floats:
        v = update.vectors
        return np.asarray(matrix.M + sign * np.einsum("umt,ums->uts", v, v))


class OfRows(Criterion):
    """A criterion that reads the residuals and the leverages of the rows, which are no function of M.

    Subclasses define `read(residuals, leverages)`, of arrays of shapes (n_samples, n_moves, n_targets) and (n_samples,
    n_moves), in weighted rows (see `rows`): one number per move.
    """

    def read(self, residuals: Floats, leverages: Floats) -> Floats:
        raise NotImplementedError

    def ordered_by_fit(self, max_rank: float, problem: ScatterProblem) -> bool:
        return False

    def of(self, matrix: CriterionMatrix) -> float:
        assert matrix.rows is not None
        return float(self.read(matrix.rows.residuals[:, None, :], matrix.rows.leverages[:, None])[0])

    def after(self, matrix: CriterionMatrix, update: RankUpdate, sign: int) -> Floats:
        assert update.rows is not None
        return np.concatenate([np.empty(0), *(self.read(*block) for block in update.rows)])


def check_finite(name: str, value: Any, above: float | None = None) -> None:
    """Refuse a parameter of a criterion that is not a finite number, above a bound or (None) not negative."""
    ok = isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)
    if not ok or (value < 0 if above is None else value <= above):
        what = "a finite number that is not negative" if above is None else "a positive finite number"
        raise ValueError(f"{name} must be {what}; got {value!r}")


class RSS(OfTrace):
    """Residual sum of squares."""

    name, kind, monotone, share = "rss", "linear", True, False

    def score(self, rss: Any, size: Size, problem: ScatterProblem) -> Any:
        return rss


@dataclass(frozen=True)
class OfShares(OfTrace):
    """A criterion that reads the residual sum of squares; of several targets, the mean of its shares of the total."""

    totals: Floats | None = field(default=None, init=False, repr=False, compare=False)  # of several targets

    def resolve(self, problem: ScatterProblem, candidates: NDArray[np.intp], choices: Choices) -> OfShares:
        if problem.n_targets == 1:
            return self
        resolved = copy(self)
        object.__setattr__(resolved, "totals", np.diagonal(problem.base))
        return resolved

    def total(self, problem: ScatterProblem) -> float:
        """The statistic of the empty selection."""
        return problem.total_ss if self.totals is None else 1.0

    @property
    def transform(self) -> Floats | None:
        return None if self.totals is None else np.diag(1 / np.sqrt(len(self.totals) * self.totals))

    def of(self, matrix: CriterionMatrix) -> float:
        return matrix.trace if self.totals is None else float(np.mean(np.diagonal(matrix.M) / self.totals))

    def after(self, matrix: CriterionMatrix, update: RankUpdate, sign: int) -> Floats:
        if self.totals is None:
            return matrix.trace + sign * update.power
        powers = np.square(update.vectors).sum(axis=1)
        return np.asarray(self.of(matrix) + sign * (powers / self.totals).mean(axis=1))


class R2(OfShares):
    """Share of the sum of squares that is explained; the mean over several targets."""

    name, kind, better, monotone = "r2", "linear", 1, True

    def score(self, rss: Any, size: Size, problem: ScatterProblem) -> Any:
        return 1 - rss / (problem.total_ss if self.totals is None else 1.0)


class AdjustedR2(OfShares):
    """R2 with both sums of squares divided by their degrees of freedom."""

    name, kind, better = "adj_r2", "linear", 1

    def score(self, rss: Any, size: Size, problem: ScatterProblem) -> Any:
        room = np.maximum(problem.df - size.rank, 1e-9)  # what leaves no degree of freedom is not free to enter
        return 1 - (rss / room) / (self.total(problem) / problem.df)


class Amemiya(OfShares):
    """Amemiya's prediction criterion: (n + size + 1) / (n - size - 1) RSS / TSS (Amemiya 1980)."""

    name, kind, penalised = "amemiya", "linear", True

    def score(self, rss: Any, size: Size, problem: ScatterProblem) -> Any:
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

    def score(self, press: Any, size: Size, problem: ScatterProblem) -> Any:
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

    def resolve(self, problem: ScatterProblem, candidates: NDArray[np.intp], choices: Choices) -> MallowsCp:
        if self.sigma2 is not None:
            sigma = self.sigma2 * np.eye(problem.n_targets)
        else:
            sigma = _full_covariance(problem, candidates, self)
        resolved = copy(self)
        object.__setattr__(resolved, "covariance", sigma)
        return resolved

    def of(self, matrix: CriterionMatrix) -> float:
        if self.per_sample:
            return matrix.trace
        return float(np.trace(linalg.solve(self._sigma, matrix.M, assume_a="pos")))

    def after(self, matrix: CriterionMatrix, update: RankUpdate, sign: int) -> Floats:
        return self.of(matrix) + sign * self._power(update)

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

    def score(self, rss: Any, size: Size, problem: ScatterProblem) -> Any:
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

    def resolve(self, problem: ScatterProblem, candidates: NDArray[np.intp], choices: Choices) -> Sawa:
        if problem.n_targets > 1:
            raise ValueError(
                f"criterion 'sawa' is defined for one target; y has {problem.n_targets}: use criterion='bic', or one "
                "target at a time"
            )
        if self.sigma2 is not None:
            return self
        return Sawa(float(_full_covariance(problem, candidates, self)[0, 0]))

    def ordered_by_fit(self, max_rank: float, problem: ScatterProblem) -> bool:
        """n - 2 (size + 3) r + 4 r^2, the derivative by log RSS, has no root r."""
        return (max_rank + 3) ** 2 < 4 * problem.n

    def score(self, rss: Any, size: Size, problem: ScatterProblem) -> Any:
        assert self.sigma2 is not None
        n = problem.n
        rss = np.maximum(rss, problem.exact_fit * problem.base[0, 0])
        ratio = n * self.sigma2 / rss
        return n * np.log(rss / n) + 2 * (size.rank + 3) * ratio - 2 * ratio**2


def _full_covariance(problem: ScatterProblem, candidates: NDArray[np.intp], criterion: MallowsCp | Sawa) -> Floats:
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
    if full.imprecise and problem.from_rows is not None:
        return _full_covariance(problem.from_rows(), candidates, criterion)
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


class Information(OfDeterminant):
    """n log det(E / n), minus twice the log-likelihood up to a constant, and a charge for the parameters of q targets.

    E is the residual matrix. As in R's extractAIC, the parameters are the q (size + 1) coefficients.
    """

    kind, penalised, share = "linear", True, False

    def penalty(self, n: float, k: Any, size: Size, q: int) -> Any:
        """The charge for k coefficients."""
        raise NotImplementedError

    def score(self, logdet: Any, size: Size, problem: ScatterProblem) -> Any:
        n, q = problem.n, problem.n_targets
        return n * (logdet - q * math.log(n)) + self.penalty(n, q * (size.rank + 1), size, q)


class AIC(Information):
    """n log det(E / n) + 2 q (size + 1), on the scale of R's extractAIC; E is the residual of the q targets."""

    name = "aic"

    def penalty(self, n: float, k: Any, size: Size, q: int) -> Any:
        return information.aic(n, k)


class HannanQuinn(Information):
    """n log det(E / n) + 2 log(log n) q (size + 1) (Hannan and Quinn 1979)."""

    name = "hqc"

    def penalty(self, n: float, k: Any, size: Size, q: int) -> Any:
        return information.hqc(n, k)


class AICc(Information):
    """AIC corrected for few rows (Hurvich and Tsai 1989; Bedrick and Tsai 1994 for several targets).

    It counts the q (q + 1) / 2 elements of the error covariance as well.
    """

    name = "aicc"

    def penalty(self, n: float, k: Any, size: Size, q: int) -> Any:
        every = k + q * (q + 1) / 2
        return information.aicc(n, every, every - (size.rank + 1 + q))


class BIC(Information):
    """n log det(E / n) + log(n) q (size + 1)."""

    name = "bic"

    def penalty(self, n: float, k: Any, size: Size, q: int) -> Any:
        return information.bic(n, k)


@dataclass(frozen=True)
class EBIC(Information):
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

    name = "ebic"

    gamma: float = 1.0
    n_candidates: int | None = None
    n_included: int = field(default=0, init=False, repr=False, compare=False)  # taken from the search

    def __post_init__(self) -> None:
        check_finite("gamma", self.gamma)
        n = self.n_candidates
        if n is not None and (not isinstance(n, Integral) or isinstance(n, bool) or n < 1):
            raise ValueError(f"n_candidates must be None or a whole number from 1; got {n!r}")

    def resolve(self, problem: ScatterProblem, candidates: NDArray[np.intp], choices: Choices) -> EBIC:
        n_candidates = max(1, choices.n) if self.n_candidates is None else self.n_candidates
        resolved = replace(self, n_candidates=n_candidates)
        object.__setattr__(resolved, "n_included", choices.n_included)
        return resolved

    def penalty(self, n: float, k: Any, size: Size, q: int) -> Any:
        assert self.n_candidates is not None
        return information.ebic(n, k, size.units - self.n_included, self.n_candidates, self.gamma)


class Trace(OfTrace):
    """trace(inv(Sw) Sb), the paper's criterion (Lawley-Hotelling)."""

    name, kind, better, monotone = "trace", "discriminant", 1, True

    def score(self, trace: Any, size: Size, problem: ScatterProblem) -> Any:
        return trace - problem.n_targets


class Wilks(OfDeterminant):
    """Wilks' lambda, det(Sw) / det(Sw + Sb): less is better."""

    name, kind, monotone = "wilks", "discriminant", True

    def score(self, logdet: Any, size: Size, problem: ScatterProblem) -> Any:
        return np.exp(-logdet)


class Pillai(OfMatrix):
    """trace(inv(Sw + Sb) Sb)."""

    name, kind, better, monotone = "pillai", "discriminant", 1, True

    def score(self, M: Any, size: Size, problem: ScatterProblem) -> Any:
        return (1 - 1 / np.maximum(np.linalg.eigvalsh(M), 1.0)).sum(axis=-1)


class Roy(OfMatrix):
    """The largest eigenvalue of inv(Sw) Sb."""

    name, kind, better, monotone = "roy", "discriminant", 1, True

    def score(self, M: Any, size: Size, problem: ScatterProblem) -> Any:
        return np.linalg.eigvalsh(M)[..., -1] - 1


_OF_REGRESSION = (RSS, R2, AdjustedR2, MallowsCp, AIC, AICc, BIC, EBIC, HannanQuinn, Sawa, Amemiya, PRESS)


_OF_CLASSES = (Trace, Pillai, Wilks, Roy)


CRITERIA: dict[str, type[Criterion]] = {criterion.name: criterion for criterion in (*_OF_REGRESSION, *_OF_CLASSES)}


def as_criterion(criterion: str | Criterion, kind: str) -> Criterion:
    """A criterion by name or as an object, refused when it does not fit the model."""
    if isinstance(criterion, str):
        name = DEFAULT[kind] if criterion == "auto" else criterion
        if name not in CRITERIA:
            known = ", ".join(["auto", *CRITERIA, "cv"])
            hint = did_you_mean(criterion, CRITERIA)
            raise ValueError(f"unknown criterion {criterion!r}; {hint}there are {known}")
        criterion = CRITERIA[name]()
    if not isinstance(criterion, Criterion):
        raise TypeError(f"criterion must be a name or a Criterion; got {criterion!r}")
    if criterion.kind != kind:
        fitting = ", ".join(name for name, c in CRITERIA.items() if c.kind == kind)
        raise ValueError(f"criterion {criterion.name!r} does not fit model {kind!r}, whose criteria are {fitting}")
    return criterion
