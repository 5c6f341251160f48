"""Criteria of least squares, by name."""

from __future__ import annotations

from dropstep.models.least_squares.criteria.base import Criterion, OfDeterminant, OfMatrix, OfRows, OfTrace, Size
from dropstep.models.least_squares.criteria.discriminant import Pillai, Roy, Trace, Wilks
from dropstep.models.least_squares.criteria.linear import (
    AIC,
    BIC,
    EBIC,
    PRESS,
    R2,
    RSS,
    AdjustedR2,
    AICc,
    Amemiya,
    HannanQuinn,
    MallowsCp,
    Sawa,
)
from dropstep.synonyms import did_you_mean

__all__ = [
    "AIC",
    "BIC",
    "CRITERIA",
    "EBIC",
    "PRESS",
    "R2",
    "RSS",
    "AICc",
    "AdjustedR2",
    "Amemiya",
    "Criterion",
    "HannanQuinn",
    "MallowsCp",
    "OfDeterminant",
    "OfMatrix",
    "OfRows",
    "OfTrace",
    "Pillai",
    "Roy",
    "Sawa",
    "Size",
    "Trace",
    "Wilks",
    "as_criterion",
]

_OF_REGRESSION = (RSS, R2, AdjustedR2, MallowsCp, AIC, AICc, BIC, EBIC, HannanQuinn, Sawa, Amemiya, PRESS)
_OF_CLASSES = (Trace, Pillai, Wilks, Roy)
CRITERIA: dict[str, type[Criterion]] = {criterion.name: criterion for criterion in (*_OF_REGRESSION, *_OF_CLASSES)}
DEFAULT = {"linear": "r2", "discriminant": "trace"}


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
