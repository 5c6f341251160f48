"""Feature selection by forward, backward, stepwise and dropping search, exact and incremental."""

from dropstep.coefficients import Coefficients
from dropstep.data.moments import Moments
from dropstep.models.estimator.family import Estimator
from dropstep.models.glm.family import Cox, Gamma, Logistic, Poisson
from dropstep.models.least_squares.criteria import (
    AIC,
    BIC,
    EBIC,
    PRESS,
    R2,
    RSS,
    AdjustedR2,
    AICc,
    Amemiya,
    Criterion,
    HannanQuinn,
    MallowsCp,
    Pillai,
    Roy,
    Sawa,
    Trace,
    Wilks,
)
from dropstep.result import PartialTest, SelectionPath, Step, StopReason
from dropstep.search.rules import Significance, StandardErrors
from dropstep.search.strategies import FBED, Beam, Exhaustive
from dropstep.select import select
from dropstep.selector import Selector
from dropstep.subsets import Subset, Subsets

__version__ = "0.1.0.dev0"

__all__ = [
    "AIC",
    "BIC",
    "EBIC",
    "FBED",
    "PRESS",
    "R2",
    "RSS",
    "AICc",
    "AdjustedR2",
    "Amemiya",
    "Beam",
    "Coefficients",
    "Cox",
    "Criterion",
    "Estimator",
    "Exhaustive",
    "Gamma",
    "HannanQuinn",
    "Logistic",
    "MallowsCp",
    "Moments",
    "PartialTest",
    "Pillai",
    "Poisson",
    "Roy",
    "Sawa",
    "SelectionPath",
    "Selector",
    "Significance",
    "StandardErrors",
    "Step",
    "StopReason",
    "Subset",
    "Subsets",
    "Trace",
    "Wilks",
    "select",
]
