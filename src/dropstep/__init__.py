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
from dropstep.search.calibrated import Knockoffs, Permutation
from dropstep.search.rules import Significance, StandardErrors
from dropstep.search.strategies import FBED, Beam, Exhaustive
from dropstep.select import select
from dropstep.subsets import Subset, Subsets

if TYPE_CHECKING:
    from dropstep.evaluation.audit import Audit, audit
    from dropstep.evaluation.compare import compare
    from dropstep.evaluation.comparison import Comparison
    from dropstep.evaluation.inference import Inference, infer
    from dropstep.evaluation.selector_cv import FoldPaths, NestedError, SelectorCV
    from dropstep.evaluation.stability import Stability, stability
    from dropstep.evaluation.stability_selector import StabilitySelector
    from dropstep.selector import Selector

__version__ = "0.1.0.dev0"

# Imported when used, so that `import dropstep` stays fast: what repeats selections, and what needs scikit-learn.
_ON_DEMAND = {
    "Audit": "evaluation.audit",
    "Comparison": "evaluation.comparison",
    "FoldPaths": "evaluation.selector_cv",
    "Inference": "evaluation.inference",
    "NestedError": "evaluation.selector_cv",
    "Selector": "selector",
    "SelectorCV": "evaluation.selector_cv",
    "Stability": "evaluation.stability",
    "StabilitySelector": "evaluation.stability_selector",
    "audit": "evaluation.audit",
    "compare": "evaluation.compare",
    "infer": "evaluation.inference",
    "stability": "evaluation.stability",
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
    "Audit",
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
    "Inference",
    "Knockoffs",
    "Logistic",
    "MallowsCp",
    "Moments",
    "NestedError",
    "PartialTest",
    "Permutation",
    "Pillai",
    "Poisson",
    "Roy",
    "Sawa",
    "SelectionPath",
    "Selector",
    "SelectorCV",
    "Significance",
    "Stability",
    "StabilitySelector",
    "StandardErrors",
    "Step",
    "StopReason",
    "Subset",
    "Subsets",
    "Trace",
    "Wilks",
    "audit",
    "compare",
    "infer",
    "select",
    "stability",
]


def __getattr__(name: str) -> Any:
    if name not in _ON_DEMAND:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"dropstep.{_ON_DEMAND[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_ON_DEMAND})
