"""Rules that are calibrated on the data itself: permutations of the residual, and knockoffs of the features."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Any

import numpy as np

from dropstep.models.base import Bools, Scan


def _check_share(name: str, value: Any) -> None:
    if not isinstance(value, Real) or isinstance(value, bool) or not 0 < float(value) < 1:
        raise ValueError(f"{name} must be a number between 0 and 1; got {value!r}")


@dataclass(frozen=True)
class Permutation:
    """The best candidate enters if its statistic is large among the largest ones of permuted residuals.

    The residuals of the target under the present selection are permuted, and the largest statistic over all candidates
    (dropped ones included) is recorded; the p-value is the share of permutations, the data themselves counted as one,
    whose largest statistic reaches that of the candidate (Freedman and Lane 1983; Westfall and Young 1993). For the
    first feature the test is exact, whatever the distribution of the target and the correlation of the features: it
    controls the probability that anything is selected on noise. For later ones it is approximate.

    Parameters
    ----------
    level : float
        Significance level, between 0 and 1.
    n_permutations : int, default=199
        Number of permutations; the level should be a multiple of 1 / (n_permutations + 1).

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from dropstep import Permutation, select
    >>> select(*load_diabetes(return_X_y=True), enter=Permutation(0.05)).selected
    (2, 8, 3, 6, 1)
    """

    level: float
    n_permutations: int = 199
    seed: int = field(default=0, repr=False, compare=False)

    def __post_init__(self) -> None:
        _check_share("level", self.level)
        n = self.n_permutations
        if not isinstance(n, Integral) or isinstance(n, bool) or n < 1:
            raise ValueError(f"n_permutations must be a whole number from 1; got {n!r}")
        if self.level * (n + 1) < 1:
            raise ValueError(
                f"{n} permutations cannot give a p-value of {self.level:g} or less; use n_permutations="
                f"{math.ceil(1 / self.level) - 1} or more"
            )

    def justifies_one(self, scan: Scan, at: int, size: int) -> bool:
        return self._p_value(scan, at) <= self.level

    def justifies(self, scan: Scan, size: int) -> Bools:
        return np.array([self.justifies_one(scan, at, size) for at in range(len(scan.units))], dtype=bool)

    def compared(self, scan: Scan, at: int, size: int) -> tuple[str, float, float]:
        """The quantity, its value and its limit: see `rules.Comparison`."""
        return "p", self._p_value(scan, at), self.level

    def _p_value(self, scan: Scan, at: int) -> float:
        if scan.nulls is None:
            raise ValueError(
                f"Permutation({self.level:g}) permutes the residuals of least squares row by row, which Moments and "
                "other models do not have; pass X and y for model 'linear' or 'discriminant', or use Significance"
            )
        return scan.nulls.p_value(int(scan.units[at]), int(self.n_permutations), self.seed)


@dataclass(frozen=True)
class Knockoffs:
    """Features that enter before their knockoffs, up to an expected share of false ones (Candes et al. 2018).

    A knockoff of each feature is constructed from the moments, with the same means and covariances but no relation to
    the target given the features. Forward selection of all features and knockoffs runs to the end; the statistic of a
    feature is the order in which it or its knockoff entered, and the threshold is that of the knockoff+ filter. With
    n >= 2 p + 2 rows the construction is that of Barber and Candes (2015), which controls the false discovery rate of
    a linear model with normal errors exactly; with fewer rows features are assumed to be normal, and their estimated
    covariance is taken as known. The noise of the knockoffs is drawn from `random_state` and the correlations of
    features and target, rounded to 6 digits: it differs from table to table, but not with the order of the rows.

    Parameters
    ----------
    fdr : float
        Expected share of false selections, between 0 and 1. At least 1 / fdr features are selected, or none.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from dropstep import Knockoffs, select
    >>> select(*load_diabetes(return_X_y=True), strategy="forward", enter=Knockoffs(0.5)).selected
    (2, 8, 3, 1)
    """

    fdr: float

    def __post_init__(self) -> None:
        _check_share("fdr", self.fdr)

    @property
    def fewest(self) -> int:
        """The smallest number of features that can be selected, other than none."""
        return math.ceil(1 / self.fdr - 1e-9)

    def chosen(self, order: Sequence[int], p: int) -> list[int]:
        """Features selected by the knockoff+ filter, in order of entry; `order` counts knockoffs from p.

        The statistic of a feature is larger the earlier it or its knockoff entered, and negative if the knockoff was
        first. The threshold is the smallest for which (1 + negative ones) / positive ones is at most `fdr`.
        """
        first: dict[int, bool] = {}
        for j in order:
            first.setdefault(j % p, j < p)
        end, n_true, n_false = 0, 0, 0
        for at, original in enumerate(first.values(), start=1):
            n_true, n_false = n_true + original, n_false + (not original)
            if 1 + n_false <= self.fdr * n_true * (1 + 1e-12):
                end = at
        return [j for j, original in list(first.items())[:end] if original]

    def justifies_one(self, scan: Scan, at: int, size: int) -> bool:
        raise ValueError(f"Knockoffs({self.fdr:g}) judges a whole path; use strategy='forward'")

    def justifies(self, scan: Scan, size: int) -> Bools:
        raise ValueError(f"Knockoffs({self.fdr:g}) decides what may enter; use a number for leave and drop")
