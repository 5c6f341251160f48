"""Significance tests of moves: score and likelihood-ratio tests, and their tails where the normal ones do not hold.

The score of a candidate is a sum of products g_i e_i, where g is the candidate after removing the selected features and
e the residual. Far out, its distribution is normal if g or e is. If both have heavy tails, a test at a small level is
wrong by orders of magnitude. The saddlepoint approximation uses the whole cumulant generating function of the sum
(Daniels 1954, Barndorff-Nielsen 1986); in genetics it is used for rare alleles and rare diseases (Dey et al. 2017).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import special

from dropstep.result import PartialTest

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Cumulants = Callable[[float], tuple[float, float, float]]  # K(t), K'(t) and K''(t)
NullDistribution = tuple[float, float, float]  # (a, b, power): partial lambda ** (1 / power) is Beta(a, b)
FEW = 128  # observations that are not binned
BINS_PER_OCTAVE = 8
MAX_ITERATIONS = 60
TOLERANCE = 1e-8  # relative error of the saddlepoint equation
NEAR_MEAN = 1e-4  # saddlepoint up to which the approximation divides rounding errors, and the normal one holds
END_OF_RANGE = 1e6  # saddlepoint from which the statistic is as large as it can be
MAX_TERMS = 10_000  # of a series that takes about b terms


KURTOSIS, SKEWNESS = 1.0, 0.8  # excess kurtosis, or absolute skewness, from which a variable is far from normal


class StatisticTests:
    """Tests of units by a statistic that is chi-square, or F times its degrees of freedom.

    Parameters
    ----------
    statistics, df : ndarray of shape (n_units,)
        Statistics, and their degrees of freedom.
    feasible : ndarray of bool of shape (n_units,)
    residual_df : ndarray of shape (n_units,) or None
        Degrees of freedom of the estimated dispersion; None for chi-square.
    ordered_by_gain : bool
        Whether gains and p-values order the units alike.
    log_tail : callable or None, default=None
        See `Tests.log_tail`.
    """

    def __init__(
        self,
        statistics: Floats,
        df: Floats,
        feasible: Bools,
        residual_df: Floats | None,
        *,
        ordered_by_gain: bool,
        log_tail: Callable[[int], float | None] | None = None,
    ) -> None:
        self._statistics, self._df, self._feasible, self._residual_df = statistics, df, feasible, residual_df
        self._ordered, self._log_tail = ordered_by_gain, log_tail

    @property
    def ordered_by_gain(self) -> bool:
        """True if gains and p-values order the units alike."""
        return self._ordered and len(np.unique(self._df[self._feasible])) <= 1

    @cached_property
    def log_p_values(self) -> Floats:
        """Logarithm of the p-value of each unit; 0 for what is not feasible."""
        log_p = np.zeros(len(self._statistics))
        at = self._feasible & (self._df > 0)
        statistic, df = self._statistics[at], self._df[at]
        if self._residual_df is None:
            log_p[at] = log_chi2_sf(statistic, df)
        else:
            log_p[at] = log_f_sf(statistic, df, self._residual_df[at])
        return log_p

    def significant(self, level: float) -> Bools:
        """Which units are significant at a level."""
        return np.asarray(self._feasible & (self.log_p_values <= math.log(level)))

    def is_significant(self, at: int, level: float) -> bool:
        """Whether one of the units is significant at a level."""
        return bool(self.significant(level)[at])

    def one(self, at: int) -> PartialTest | None:
        """The test of one of the units; None if it brings no independent column."""
        statistic, df = float(self._statistics[at]), float(self._df[at])
        if df <= 0:
            return None
        if self._residual_df is None:
            return PartialTest(statistic, (df,))
        room = float(self._residual_df[at])
        return PartialTest(statistic / df, (df, room)) if room > 0 else None

    def log_tail(self, at: int) -> float | None:
        """Logarithm of the p-value of an addition in the tails; None where the test itself holds."""
        return None if self._log_tail is None else self._log_tail(at)


def log_chi2_sf(statistic: Floats, df: Floats) -> Floats:
    """Logarithm of the upper tail of chi-square; by its leading term where the tail underflows."""
    x, a = np.maximum(statistic, 0.0) / 2, df / 2
    with np.errstate(divide="ignore", invalid="ignore"):
        log_p = np.log(special.gammaincc(a, x))
        leading = -x + (a - 1) * np.log(x) - special.gammaln(a)
    return np.where(np.isfinite(log_p), log_p, leading)


def log_f_sf(statistic: Floats, df: Floats, residual_df: Floats) -> Floats:
    """Logarithm of the upper tail of `df` times an F variable; 0 where no degrees of freedom remain."""
    b, room = np.maximum(residual_df, 1e-300) / 2, residual_df > 0
    x = residual_df / (residual_df + np.maximum(statistic, 0.0))
    with np.errstate(divide="ignore", invalid="ignore"):
        log_p = np.log(special.betainc(b, df / 2, np.where(room, x, 1.0)))
        leading = b * np.log(x) - np.log(b) - special.betaln(b, df / 2)
    return np.where(room, np.where(np.isfinite(log_p), log_p, leading), 0.0)


# --- tails -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Distribution:
    """Weighted points. The sum of two distributions is that of both samples.

    Attributes
    ----------
    points : ndarray of shape (n_points, n_coordinates)
    weights : ndarray of shape (n_points,) or None
        None if all are 1.
    sums : ndarray of shape (5,)
        Sums of the powers 0 to 4 of the first coordinate.
    """

    points: Floats
    weights: Floats | None
    sums: Floats

    @classmethod
    def of(cls, points: Floats, weights: Floats | None = None) -> Distribution:
        """The distribution of a sample, with frequency weights."""
        x = points[:, 0]
        squares = x * x
        if weights is None:
            n, mean, weighted = float(x.shape[0]), np.add.reduce(x), squares
        else:
            n, mean, weighted = np.add.reduce(weights), weights @ x, weights * squares
        sums = np.array([n, mean, np.add.reduce(weighted), weighted @ x, weighted @ squares])
        return cls(points, weights, sums)

    def __add__(self, other: Distribution) -> Distribution:
        (a, v), (b, w) = self.binned, other.binned
        return Distribution(np.concatenate([a, b]), np.concatenate([v, w]), self.sums + other.sums)

    @cached_property
    def binned(self) -> tuple[Floats, Floats]:
        """Few points, and their weights: bins are logarithmic, so that extreme points keep bins of their own."""
        weights = np.ones(len(self.points)) if self.weights is None else self.weights
        if self.sums[0] <= FEW:
            return self.points, weights
        bins = _bins(self.points[:, 0])
        for coordinate in self.points.T[1:]:
            other = _bins(coordinate)
            bins = np.unique(bins * (int(other.max()) + 1) + other, return_inverse=True)[1]
        totals = np.bincount(bins, weights)
        kept = totals > 0
        means = [np.bincount(bins, weights * x)[kept] / totals[kept] for x in self.points.T]
        return np.column_stack(means), np.asarray(totals[kept], dtype=np.float64)

    @property
    def variance(self) -> float:
        """The variance of the first coordinate."""
        return float(self.sums[2] / self.sums[0] - (self.sums[1] / self.sums[0]) ** 2)

    @property
    def far_from_normal(self) -> bool:
        """True if the excess kurtosis or the skewness of the first coordinate is large."""
        if not self.sums[0] > 0:
            return False
        mean, square, cube, fourth = (self.sums[1:] / self.sums[0]).tolist()
        variance = square - mean**2
        if not variance > 0:
            return False
        third = cube - 3 * mean * square + 2 * mean**3
        return bool(
            (fourth - 4 * mean * cube + 6 * mean**2 * square - 3 * mean**4) / variance**2 - 3 > KURTOSIS
            or abs(third) / variance**1.5 > SKEWNESS
        )

    @property
    def standardised(self) -> tuple[Floats, Floats]:
        """The first coordinate of the bins, with mean 0 and variance 1, and their weights."""
        points, w = self.binned
        x = points[:, 0] - w @ points[:, 0] / w.sum()
        return x / math.sqrt(w @ (x * x) / w.sum()), w


def _bins(values: Floats) -> NDArray[np.int64]:
    """The bin of each value: its sign, its binary exponent and the first digits of its mantissa; from 0."""
    mantissa, exponent = np.frexp(values)
    code = (exponent.astype(np.int64) + 2**11) * BINS_PER_OCTAVE
    code += (np.abs(mantissa) * (2 * BINS_PER_OCTAVE)).astype(np.int64) - BINS_PER_OCTAVE
    code = np.where(mantissa < 0, -code, code)
    code[mantissa == 0] = 0
    return np.asarray(code - code.min())


@dataclass(frozen=True, eq=False)
class ScoreSum:
    """The score of a unit along its own direction, as a sum of products; scores of disjoint rows can be added.

    Attributes
    ----------
    candidate : Distribution
        The candidate after removing the selected features, times the root of its working weight.
    residual : Distribution
        The residual over the root of its working weight: for likelihoods Pearson's, or the martingale residual.
    two_classes : Distribution or None
        The candidate, and the probability of its class (minus that of the other, if it exceeds 1/2), where the target
        is one of two classes; None for other targets.
    total : float or None
        The score itself, where its variance is not less than that of exchangeable residuals; None for other targets.
    """

    candidate: Distribution
    residual: Distribution
    two_classes: Distribution | None = None
    total: float | None = None

    @classmethod
    def of(
        cls,
        candidate: Floats,
        residual: Floats,
        weights: Floats | None,
        probability: Floats | None = None,
        *,
        exchangeable: bool = False,
    ) -> ScoreSum:
        """The score of one candidate on rows with frequency weights; `probability` is that of the second class."""
        classes, total = None, None
        g, e = candidate, residual
        if exchangeable:
            total = float((g if weights is None else weights * g) @ e)
        if probability is not None:
            signed = np.where(probability > 0.5, probability - 1, probability)
            classes = Distribution.of(np.column_stack([candidate, signed]), weights)
            root = np.sqrt(probability * (1 - probability))
            g = candidate * root
            e = np.divide(residual, root, out=np.zeros_like(residual), where=root > 0)
        return cls(Distribution.of(g[:, None], weights), Distribution.of(e[:, None], weights), classes, total)

    def __add__(self, other: ScoreSum) -> ScoreSum:
        both = self.two_classes or other.two_classes
        if self.two_classes is not None and other.two_classes is not None:
            both = self.two_classes + other.two_classes
        total = None if self.total is None or other.total is None else self.total + other.total
        return ScoreSum(self.candidate + other.candidate, self.residual + other.residual, both, total)

    def log_p_value(self, statistic: float, df: float, plain: float) -> float | None:
        """Logarithm of the p-value of a chi-squared statistic; None where the plain test holds.

        That is where candidate or residual is close to normal, and the statistic is not less than that of the plain
        test. A statistic with several degrees of freedom is replaced by one with the same p-value and one degree of
        freedom, along the direction of the score.
        """
        far = self.residual.far_from_normal and self.candidate.far_from_normal
        if self.total is not None:
            variance = self.candidate.variance * self.residual.variance * self.candidate.sums[0]
            statistic = min(statistic, self.total**2 / variance)
        if not statistic > 0 or (statistic >= plain and not far):
            return None
        log_p = float(log_chi2_sf(np.array([statistic]), np.array([df]))[0])
        if not far:
            return log_p
        z = math.sqrt(statistic) if df == 1 else float(-special.ndtri_exp(log_p - math.log(2)))  # |Z| > z has that p
        if self.two_classes is not None:
            K = _bernoulli(*self.two_classes.binned)
        else:
            K = _empirical(*self.candidate.standardised, *self.residual.standardised)
        return float(np.logaddexp(_log_tail(K, z), _log_tail(K, -z)))


NO_ROWS = ScoreSum.of(np.empty(0), np.empty(0), None)


def _empirical(g: Floats, weights: Floats, e: Floats, counts: Floats) -> Cumulants:
    """Cumulants of sum w_i g_i e_i, standardised, where the e_i are independent draws of a standardised sample."""
    g, counts, squares = g / math.sqrt(weights @ (g * g)), counts / counts.sum(), e * e

    def cumulants(t: float) -> tuple[float, float, float]:
        exponents = np.outer(t * g, e)
        largest = exponents.max(axis=1)
        density = np.exp(exponents - largest[:, None]) * counts
        total = density.sum(axis=1)
        mean, square = density @ e / total, density @ squares / total
        k = weights @ (np.log(total) + largest)
        return float(k), float(weights @ (g * mean)), float(weights @ (g * g * (square - mean**2)))

    return cumulants


def _bernoulli(points: Floats, weights: Floats) -> Cumulants:
    """Cumulants of sum w_i g_i (y_i - p_i), standardised, where y_i is 1 with probability p_i and 0 otherwise."""
    g, signed = points.T
    rare, sign = np.abs(signed), np.where(signed < 0, -1.0, 1.0)  # the rare class keeps its digits
    h = sign * g / math.sqrt(max(float(weights @ (g * g * rare * (1 - rare))), np.finfo(float).tiny))

    def cumulants(t: float) -> tuple[float, float, float]:
        u = t * h
        log_odds = special.logit(rare) + u
        tilted = special.expit(log_odds)
        k = np.logaddexp(np.log1p(-rare), np.log(np.maximum(rare, np.finfo(float).tiny)) + u) - u * rare
        spread = tilted * special.expit(-log_odds)
        return float(weights @ k), float(weights @ (h * (tilted - rare))), float(weights @ (h * h * spread))

    return cumulants


def _log_tail(K: Cumulants, z: float) -> float:
    """log P(S > z) for z > 0 and log P(S < z) for z < 0, of a sum with cumulants K, by Barndorff-Nielsen's formula."""
    sign, z = math.copysign(1.0, z), abs(z)
    t, low, high = z, 0.0, math.inf
    for _ in range(MAX_ITERATIONS):
        k, slope, curvature = K(sign * t)
        excess = sign * slope - z
        if abs(excess) <= TOLERANCE * z:
            break
        low, high = (t, high) if excess < 0 else (low, t)
        newton = t - excess / curvature if curvature > 0 else math.inf
        t = newton if low < newton < min(high, 3 * t) else 2 * t if high == math.inf else (low + high) / 2
        if t > END_OF_RANGE:
            return -math.inf
    w, v = math.sqrt(max(2 * (t * z - k), 0.0)), t * math.sqrt(max(curvature, 0.0))
    if w < NEAR_MEAN or not v > 0:
        return float(special.log_ndtr(-z))
    return float(special.log_ndtr(-(w + math.log(v / w) / w)))


TINIEST, UNDERFLOW = np.finfo(np.float64).tiny, 1e-290  # p-values below are computed by their logarithm


@dataclass(frozen=True)
class WilksTest:
    """Tests of units added to a selection.

    Parameters
    ----------
    n_targets : int
        Number of targets of a regression, or of contrasts of classes.
    df : float
        Residual degrees of freedom of the empty selection.
    regression : bool
        Whether the targets are the variates (regression) or the features are (discriminant analysis).
    """

    n_targets: int
    df: float
    regression: bool

    def critical(self, level: float, null: NullDistribution) -> float:
        """The largest partial Wilks' lambda that is significant at a level."""
        a, b, power = null
        return float(special.betaincinv(a, b, level) ** power) if a > 0 and b > 0 else 0.0

    def log_p_value(self, partial: Floats, size: Floats | float, rank: Floats | float) -> Floats:
        """Logarithm of the p-value of each partial Wilks' lambda, finite where the p-value itself underflows."""
        sizes, ranks, _ = np.broadcast_arrays(size, rank, partial)
        pairs = zip(sizes.tolist(), ranks.tolist(), strict=True)
        a, b, power = np.array([self.null_distribution(k, m) for k, m in pairs]).reshape(-1, 3).T
        judged = (a > 0) & (b > 0)
        a, b = np.where(judged, a, 1.0), np.where(judged, b, 1.0)
        x = np.clip(partial, TINIEST, 1.0) ** (1 / power)
        p = special.betainc(a, b, x)
        log_p, tiny = np.log(np.maximum(p, TINIEST)), p < UNDERFLOW
        if tiny.any():
            log_p[tiny] = _log_lower_tail(a[tiny], b[tiny], x[tiny])
        return np.where(judged, log_p, 0.0)

    def f_test(self, partial: float, null: NullDistribution) -> PartialTest | None:
        """F of a partial Wilks' lambda, and its degrees of freedom; None if there are none."""
        a, b, power = null
        if not (a > 0 and b > 0):
            return None
        x = partial ** (1 / power)
        return PartialTest((1 - x) / x * (a / b), (2 * b, 2 * a))

    def null_distribution(self, size: float, rank: float) -> NullDistribution:
        """That of the partial lambda of `rank` features added to `size`.

        Exact where one feature is added or there is one target, which is the partial F test; Rao's F otherwise.
        """
        if self.regression:
            variates, hypothesis, error = float(self.n_targets), rank, self.df - size - rank
        else:
            variates, hypothesis, error = rank, float(self.n_targets), self.df - size
        product = variates * hypothesis
        spread = variates**2 + hypothesis**2 - 5
        power = math.sqrt((product**2 - 4) / spread) if spread > 0 and product > 2 else 1.0
        first = error + hypothesis - (variates + hypothesis + 1) / 2
        return (first * power - (product - 2) / 2) / 2, product / 2, power


def _log_lower_tail(a: Floats, b: Floats, x: Floats) -> Floats:
    """log I_x(a, b), the distribution function of Beta(a, b), where it is so small that it underflows.

    I_x(a, b) = x^a (1 - x)^(b - 1) / (a B(a, b)) 2F1(1 - b, 1; a + 1; x / (x - 1)). Far below the mean, a / (a + b),
    the terms of the series decrease, and are positive up to the b-th one. SciPy's hyp2f1 fails for large a.
    """
    odds, term, series = x / (1 - x), np.ones_like(x), np.ones_like(x)
    for k in range(MAX_TERMS):
        term = term * odds * (b - 1 - k) / (a + 1 + k)
        series += term
        if np.all(np.abs(term) <= np.finfo(np.float64).eps * series):
            break
    return a * np.log(x) + (b - 1) * np.log1p(-x) - np.log(a) - special.betaln(a, b) + np.log(series)
