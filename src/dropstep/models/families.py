"""Model families by name: the one list of what `model` may be."""

from __future__ import annotations

from typing import Any

from dropstep.models.base import Family
from dropstep.models.estimator.family import Estimator, is_estimator
from dropstep.models.glm.cox import Cox
from dropstep.models.glm.family import LikelihoodFamily
from dropstep.models.glm.gamma import Gamma
from dropstep.models.glm.logistic import Logistic
from dropstep.models.glm.negative_binomial import NegativeBinomial
from dropstep.models.glm.ordinal import Ordinal
from dropstep.models.glm.poisson import Poisson
from dropstep.models.least_squares.family import LeastSquaresFamily
from dropstep.synonyms import did_you_mean

FAMILIES: dict[str, Family] = {
    "auto": LeastSquaresFamily("auto"),
    "linear": LeastSquaresFamily("linear"),
    "discriminant": LeastSquaresFamily("discriminant"),
    "logistic": Logistic(),
    "poisson": Poisson(),
    "negative_binomial": NegativeBinomial(),
    "gamma": Gamma(),
    "ordinal": Ordinal(),
    "cox": Cox(),
}
MODELS = tuple(FAMILIES)


def _hint(model: Any) -> str:
    hint = did_you_mean(model, FAMILIES).strip()
    return f" ({hint})" if hint else ""


def as_family(model: Any) -> Family:
    """A family by name, as an object with parameters, or of a scikit-learn estimator."""
    if isinstance(model, str) and model in FAMILIES:
        return FAMILIES[model]
    if isinstance(model, LikelihoodFamily | Estimator):
        return model
    if is_estimator(model):
        return Estimator(model)
    raise ValueError(
        f"model must be one of {', '.join(map(repr, MODELS))}, an object such as Logistic(shortlist=16), or a "
        f"scikit-learn estimator; got {model!r}{_hint(model)}"
    )
