"""Significance tests of moves: score, likelihood ratio, and their F versions where a dispersion is estimated."""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import special

from dropstep.result import PartialTest

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


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
    """

    def __init__(
        self, statistics: Floats, df: Floats, feasible: Bools, residual_df: Floats | None, *, ordered_by_gain: bool
    ) -> None:
        self._statistics, self._df, self._feasible, self._residual_df = statistics, df, feasible, residual_df
        self._ordered = ordered_by_gain

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


def log_chi2_sf(statistic: Floats, df: Floats) -> Floats:
    """Logarithm of the upper tail of chi-square; by its leading term where the tail underflows."""
    x, a = np.maximum(statistic, 0.0) / 2, df / 2
    with np.errstate(divide="ignore"):
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
