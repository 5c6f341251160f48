"""dropstep selects features: forward while dropping hopeless candidates, forward once more, then backward once."""

from dropstep.criteria import (
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
from dropstep.estimators import Selector
from dropstep.moments import Moments
from dropstep.path import Path, Step, Stop
from dropstep.rules import Significance
from dropstep.select import select

__version__ = "0.1.0.dev0"

__all__ = [
    "AIC",
    "BIC",
    "EBIC",
    "R2",
    "RSS",
    "AICc",
    "AdjustedR2",
    "Criterion",
    "MallowsCp",
    "Moments",
    "Path",
    "Pillai",
    "Roy",
    "Selector",
    "Significance",
    "Step",
    "Stop",
    "Trace",
    "Wilks",
    "select",
]
