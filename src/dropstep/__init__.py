"""Feature selection by forward, backward, stepwise and dropping search, exact and incremental."""

from dropstep.coefficients import Coefficients
from dropstep.data.moments import Moments
from dropstep.evaluation.compare import Comparison, compare
from dropstep.evaluation.selector_cv import FoldPaths, NestedError, SelectorCV
from dropstep.models.estimator.family import Estimator
from dropstep.models.glm.family import Cox, Gamma, Logistic, Poisson
from dropstep.models.least_squares.criteria import (
    AIC,
    BIC,
    EBIC,
    R2,
    RSS,
    AdjustedR2,
    AICc,
    Criterion,
    MallowsCp,
    Pillai,
    Roy,
    Trace,
    Wilks,
)
from dropstep.result import PartialTest, SelectionPath, Step, StopReason
from dropstep.search.rules import Significance, StandardErrors
from dropstep.search.strategies import FBED
from dropstep.select import select
from dropstep.selector import Selector

__version__ = "0.1.0.dev0"

__all__ = [
    "AIC",
    "BIC",
    "EBIC",
    "FBED",
    "R2",
    "RSS",
    "AICc",
    "AdjustedR2",
    "Coefficients",
    "Comparison",
    "Cox",
    "Criterion",
    "Estimator",
    "FoldPaths",
    "Gamma",
    "Logistic",
    "MallowsCp",
    "Moments",
    "NestedError",
    "PartialTest",
    "Pillai",
    "Poisson",
    "Roy",
    "SelectionPath",
    "Selector",
    "SelectorCV",
    "Significance",
    "StandardErrors",
    "Step",
    "StopReason",
    "Trace",
    "Wilks",
    "compare",
    "select",
]
