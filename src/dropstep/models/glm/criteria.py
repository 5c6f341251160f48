"""Criteria of likelihoods: minus twice the log likelihood, and what a selection is charged for its parameters."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import special

from dropstep.models.base import CriterionInfo
from dropstep.models.glm.likelihood import Likelihood
from dropstep.synonyms import did_you_mean

Floats = NDArray[np.float64]

LEVEL = 0.05  # of the test that the first feature must pass under the corrected EBIC


@dataclass(frozen=True)
class Penalised:
    """Minus twice the log likelihood plus a penalty; less is better.

    Parameters
    ----------
    likelihood : Likelihood
    """

    name: ClassVar[str]
    penalised: ClassVar[bool] = True

    likelihood: Likelihood = field(repr=False)

    @property
    def info(self) -> CriterionInfo:
        """What rules need to know."""
        return CriterionInfo(self.name, self.penalised, not self.penalised, False)

    def penalty(self, n_params: Any, n_units: Any) -> Any:
        """The charge for a number of parameters, nuisance parameters included, that belong to a number of units."""
        raise NotImplementedError

    def score(self, deviance: Any, n_params: Any, n_units: Any) -> Any:
        """The criterion of a fit; parameters of features alone are given."""
        total = np.asarray(n_params) + self.likelihood.n_nuisance
        return self.likelihood.minus_twice_loglik(deviance) + self.penalty(total, n_units)

    def entry_level(self, n_units: int) -> float | None:
        """Level at which the last of some units must be significant for its gain to count; None for no such test."""
        return None


class Deviance(Penalised):
    """The residual deviance, as R's `deviance`; minus twice the partial log likelihood for Cox regression."""

    name, penalised = "deviance", False

    def score(self, deviance: Any, n_params: Any, n_units: Any) -> Any:
        return deviance


class AIC(Penalised):
    """-2 log likelihood + 2 parameters, as R's `AIC`; a dispersion counts as a parameter."""

    name = "aic"

    def penalty(self, n_params: Any, n_units: Any) -> Any:
        return 2.0 * n_params


class AICc(Penalised):
    """AIC corrected for few rows: + 2 k (k + 1) / (n - k - 1) for k parameters."""

    name = "aicc"

    def penalty(self, n_params: Any, n_units: Any) -> Any:
        k = np.asarray(n_params, dtype=np.float64)
        room = self.likelihood.n - k - 1
        return np.where(room > 0, 2 * k + 2 * k * (k + 1) / np.where(room > 0, room, 1.0), np.inf)


class BIC(Penalised):
    """-2 log likelihood + log(n) parameters; n is the number of events for Cox regression."""

    name = "bic"

    def penalty(self, n_params: Any, n_units: Any) -> Any:
        return math.log(self.likelihood.n) * n_params


@dataclass(frozen=True)
class EBIC(BIC):
    """BIC + 2 gamma log(number of selections of this size) (Chen and Chen 2012), safe in small samples.

    The i-th of m units is charged log(n) per parameter and 2 gamma log((m - i + 1) / i), at least 0, so that every unit
    is charged at every size. In small samples a likelihood ratio is not distributed as chi-square, and it is as large
    as it can be when a noise feature separates the classes. The corrected criterion therefore counts a gain only where
    the share of the residual that the unit explains is significant at level 0.05 i / (m - i + 1) by the exact test of
    normal features (`entry_test`).

    Parameters
    ----------
    likelihood : Likelihood
    n_candidates : int
        Number of units that could be chosen.
    gamma : float, default=1.0
        Weight of the combinatorial term; 0 is BIC.
    corrected : bool, default=True
        False is Chen and Chen's formula.
    """

    name = "ebic"

    n_candidates: int = 1
    gamma: float = 1.0
    corrected: bool = True

    def penalty(self, n_params: Any, n_units: Any) -> Any:
        bic = super().penalty(n_params, n_units)
        m, units = self.n_candidates, np.asarray(n_units)
        if not self.corrected:
            units = np.minimum(units, m)
            binomial = special.gammaln(m + 1) - special.gammaln(units + 1) - special.gammaln(m - units + 1)
            return bic + 2 * self.gamma * binomial
        i = np.arange(1, int(units.max(initial=0)) + 1)
        terms = np.concatenate([[0.0], np.cumsum([self._choices(int(u)) for u in i])])
        return bic + 2 * self.gamma * terms[units]

    def _choices(self, i: int) -> float:
        """By how much the log number of selections grows with the i-th unit, or 0 where it falls."""
        return math.log(max((self.n_candidates - i + 1) / i, 1.0))

    def entry_level(self, n_units: int) -> float | None:
        return LEVEL * math.exp(-self.gamma * self._choices(n_units)) if self.corrected else None


CRITERIA = ("aic", "aicc", "bic", "ebic", "deviance")
_CLASSES: dict[str, type[Penalised]] = {c.name: c for c in (AIC, AICc, BIC, EBIC, Deviance)}


def as_criterion(criterion: Any, likelihood: Likelihood, n_candidates: int) -> Penalised:
    """A criterion by name, or as an object with a name of ours (its parameters are read)."""
    name = criterion if isinstance(criterion, str) else getattr(criterion, "name", None)
    name = "ebic" if name == "auto" else name
    if name not in _CLASSES:
        raise ValueError(
            f"criterion {criterion!r} does not fit model {likelihood.name!r}, whose criteria are {', '.join(CRITERIA)}"
            + (f"; {hint}" if (hint := did_you_mean(criterion, CRITERIA).strip()) else "")
        )
    if name != "ebic":
        return _CLASSES[name](likelihood)
    count = getattr(criterion, "n_candidates", None) or max(1, n_candidates)
    return EBIC(likelihood, count, getattr(criterion, "gamma", 1.0), getattr(criterion, "corrected", True))


def entry_test(share: float, n_columns: int, n_outputs: int, df: float) -> float:
    """p-value of the share of a residual that columns explain, by Pillai's trace.

    Exact if X is normal, and there is one column or one output, and nothing but intercepts is in the model.

    Parameters
    ----------
    share : float
        See `Local.explained`.
    n_columns, n_outputs : int
    df : float
        Residual degrees of freedom before the columns are added.

    Returns
    -------
    float
    """
    s = min(n_columns, n_outputs)
    room = s * (df - n_columns - n_outputs + s)
    if room <= 0:
        return 1.0
    return float(special.betainc(room / 2, n_columns * n_outputs / 2, min(max(1 - share / s, 0.0), 1.0)))
