"""Feature selection by forward, backward, stepwise and dropping search, exact and incremental."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

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

if TYPE_CHECKING:
    from dropstep.evaluation.compare import Comparison, compare
    from dropstep.evaluation.selector_cv import FoldPaths, NestedError, SelectorCV

__version__ = "0.1.0.dev0"

_LAZY = {  # imported when they are used
    "Comparison": "dropstep.evaluation.compare",
    "compare": "dropstep.evaluation.compare",
    "FoldPaths": "dropstep.evaluation.selector_cv",
    "NestedError": "dropstep.evaluation.selector_cv",
    "SelectorCV": "dropstep.evaluation.selector_cv",
}

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
    "Comparison",
    "Cox",
    "Criterion",
    "Estimator",
    "Exhaustive",
    "FoldPaths",
    "Gamma",
    "HannanQuinn",
    "Logistic",
    "MallowsCp",
    "Moments",
    "NestedError",
    "PartialTest",
    "Pillai",
    "Poisson",
    "Roy",
    "Sawa",
    "SelectionPath",
    "Selector",
    "SelectorCV",
    "Significance",
    "StandardErrors",
    "Step",
    "StopReason",
    "Subset",
    "Subsets",
    "Trace",
    "Wilks",
    "compare",
    "select",
]


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_LAZY[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY})
