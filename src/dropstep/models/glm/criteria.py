"""Criteria of likelihoods: the deviance, or minus twice the log-likelihood and a charge for the parameters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from dropstep.models import information
from dropstep.models.base import Choices, CriterionInfo
from dropstep.models.glm.likelihood import Likelihood
from dropstep.synonyms import did_you_mean

if TYPE_CHECKING:
    from dropstep.models.glm.family import LikelihoodFamily

PENALTIES: dict[str, Callable[[float, Any], Any]] = {
    "aic": information.aic,
    "aicc": information.aicc,
    "bic": information.bic,
}
CRITERIA = (*PENALTIES, "ebic", "deviance")


@dataclass(frozen=True)
class LikelihoodCriterion:
    """The residual deviance, as R's `deviance`, or an information criterion, as R's `AIC`; less is better.

    All parameters are counted, a dispersion among them. For Cox regression n is the number of events, and the deviance
    minus twice the partial log-likelihood.

    Parameters
    ----------
    name : str
    likelihood : Likelihood
    choices : Choices
        Of EBIC (Chen and Chen 2012).
    gamma : float, default=1.0
        Weight of the combinatorial part of EBIC; 0 is BIC.
    """

    name: str
    likelihood: Likelihood = field(repr=False)
    choices: Choices
    gamma: float = 1.0

    @property
    def info(self) -> CriterionInfo:
        """What rules need to know."""
        penalised = self.name != "deviance"
        return CriterionInfo(self.name, penalised, not penalised, False)

    def score(self, deviance: Any, n_params: Any, n_units: Any) -> Any:
        """The criterion of a fit; parameters and units of features alone are given."""
        if self.name == "deviance":
            return deviance
        n, k = self.likelihood.n, np.asarray(n_params, dtype=np.float64) + self.likelihood.n_counted
        if self.name == "ebic":
            n_units = np.asarray(n_units) - self.choices.n_included
            penalty = information.ebic(n, k, n_units, self.choices.n, self.gamma)
        else:
            penalty = PENALTIES[self.name](n, k)
        return self.likelihood.minus_twice_loglik(deviance) + penalty


def as_criterion(
    criterion: Any, family: LikelihoodFamily, likelihood: Likelihood, choices: Choices
) -> LikelihoodCriterion:
    """A criterion by name, or as an object with a name of ours (its parameters are read)."""
    name = criterion if isinstance(criterion, str) else getattr(criterion, "name", None)
    name = "deviance" if name == "auto" else name
    if name not in CRITERIA:
        raise ValueError(
            f"criterion {criterion!r} does not fit model {family.kind!r}, whose criteria are {', '.join(CRITERIA)}"
            + (f"; {hint}" if (hint := did_you_mean(criterion, CRITERIA).strip()) else "")
        )
    if likelihood.is_quasi and name != "deviance":
        raise ValueError(
            f"criterion {name!r} needs a likelihood, which {family.name} does not have; use criterion='deviance', "
            "whose tests are F tests, or model='negative_binomial'"
        )
    n_candidates = getattr(criterion, "n_candidates", None) or max(1, choices.n)
    return LikelihoodCriterion(name, likelihood, choices._replace(n=n_candidates), getattr(criterion, "gamma", 1.0))
