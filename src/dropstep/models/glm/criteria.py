"""Criteria of likelihoods: minus twice the log likelihood, and what a selection is charged for its parameters."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dropstep.models.base import Choices, CriterionInfo
from dropstep.models.glm.likelihood import Likelihood
from dropstep.models.information import log_choices
from dropstep.synonyms import did_you_mean

if TYPE_CHECKING:
    from dropstep.models.glm.family import LikelihoodFamily

Floats = NDArray[np.float64]


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
        total = np.asarray(n_params) + self.likelihood.n_counted
        return self.likelihood.minus_twice_loglik(deviance) + self.penalty(total, n_units)


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
    """BIC + 2 gamma log(number of selections of this size) (Chen and Chen 2012); see `criteria.linear.EBIC`.

    Parameters
    ----------
    likelihood : Likelihood
    choices : Choices
    gamma : float, default=1.0
        Weight of the combinatorial part; 0 is BIC.
    """

    name = "ebic"

    choices: Choices
    gamma: float = 1.0

    def penalty(self, n_params: Any, n_units: Any) -> Any:
        combinatorial = 2 * self.gamma * log_choices(self.choices.n, np.asarray(n_units) - self.choices.n_included)
        return super().penalty(n_params, n_units) + combinatorial


CRITERIA = ("aic", "aicc", "bic", "ebic", "deviance")
_CLASSES: dict[str, type[Penalised]] = {c.name: c for c in (AIC, AICc, BIC, EBIC, Deviance)}


def as_criterion(criterion: Any, family: LikelihoodFamily, likelihood: Likelihood, choices: Choices) -> Penalised:
    """A criterion by name, or as an object with a name of ours (its parameters are read)."""
    name = criterion if isinstance(criterion, str) else getattr(criterion, "name", None)
    name = "deviance" if name == "auto" else name
    if name not in _CLASSES:
        raise ValueError(
            f"criterion {criterion!r} does not fit model {family.kind!r}, whose criteria are {', '.join(CRITERIA)}"
            + (f"; {hint}" if (hint := did_you_mean(criterion, CRITERIA).strip()) else "")
        )
    if likelihood.is_quasi and _CLASSES[name].penalised:
        raise ValueError(
            f"criterion {name!r} needs a likelihood, which {family.name} does not have; use criterion='deviance', "
            "whose tests are F tests, or model='negative_binomial'"
        )
    if name != "ebic":
        return _CLASSES[name](likelihood)
    count = getattr(criterion, "n_candidates", None) or max(1, choices.n)
    return EBIC(likelihood, choices._replace(n=count), getattr(criterion, "gamma", 1.0))
