"""The partial F test of a unit: null distribution of partial Wilks' lambda, exact or by Rao's approximation."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from dropstep.result import PartialTest

Floats = NDArray[np.float64]

MAX_TERMS = 10_000  # of a series that takes about b terms
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

    def critical(self, level: float, size: float, rank: float) -> float:
        """The largest partial Wilks' lambda that is significant at a level, for `rank` features added to `size`."""
        a, b, power = self._null_distribution(size, rank)
        return float(special.betaincinv(a, b, level) ** power) if a > 0 and b > 0 else 0.0

    def log_p_value(self, partial: Floats, size: Floats | float, rank: Floats | float) -> Floats:
        """Logarithm of the p-value of each partial Wilks' lambda, finite where the p-value itself underflows."""
        sizes, ranks, _ = np.broadcast_arrays(size, rank, partial)
        pairs = zip(sizes.tolist(), ranks.tolist(), strict=True)
        a, b, power = np.array([self._null_distribution(k, m) for k, m in pairs]).reshape(-1, 3).T
        judged = (a > 0) & (b > 0)
        a, b = np.where(judged, a, 1.0), np.where(judged, b, 1.0)
        x = np.clip(partial, TINIEST, 1.0) ** (1 / power)
        p = special.betainc(a, b, x)
        log_p, tiny = np.log(np.maximum(p, TINIEST)), p < UNDERFLOW
        if tiny.any():
            log_p[tiny] = _log_lower_tail(a[tiny], b[tiny], x[tiny])
        return np.where(judged, log_p, 0.0)

    def f_test(self, partial: float, size: float, rank: float) -> PartialTest | None:
        """F of a partial Wilks' lambda, and its degrees of freedom; None if there are none."""
        a, b, power = self._null_distribution(size, rank)
        if not (a > 0 and b > 0):
            return None
        x = partial ** (1 / power)
        return PartialTest((1 - x) / x * (a / b), (2 * b, 2 * a))

    def _null_distribution(self, size: float, rank: float) -> tuple[float, float, float]:
        """(a, b, power) such that partial lambda ** (1 / power) is Beta(a, b) without an effect.

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
