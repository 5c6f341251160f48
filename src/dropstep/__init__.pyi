# The public names, each listed once: type checkers read this file, and `dropstep.__getattr__` imports from it.
from dropstep.backends import read as read
from dropstep.data.moments import Moments as Moments
from dropstep.models.estimator.family import Estimator as Estimator
from dropstep.models.glm.cox import Cox as Cox
from dropstep.models.glm.gamma import Gamma as Gamma
from dropstep.models.glm.logistic import Logistic as Logistic
from dropstep.models.glm.negative_binomial import NegativeBinomial as NegativeBinomial
from dropstep.models.glm.ordinal import Ordinal as Ordinal
from dropstep.models.glm.poisson import Poisson as Poisson
from dropstep.models.least_squares.criteria import (
    AIC as AIC,
)
from dropstep.models.least_squares.criteria import (
    BIC as BIC,
)
from dropstep.models.least_squares.criteria import (
    EBIC as EBIC,
)
from dropstep.models.least_squares.criteria import (
    PRESS as PRESS,
)
from dropstep.models.least_squares.criteria import (
    R2 as R2,
)
from dropstep.models.least_squares.criteria import (
    RSS as RSS,
)
from dropstep.models.least_squares.criteria import (
    AdjustedR2 as AdjustedR2,
)
from dropstep.models.least_squares.criteria import (
    AICc as AICc,
)
from dropstep.models.least_squares.criteria import (
    Amemiya as Amemiya,
)
from dropstep.models.least_squares.criteria import (
    Criterion as Criterion,
)
from dropstep.models.least_squares.criteria import (
    HannanQuinn as HannanQuinn,
)
from dropstep.models.least_squares.criteria import (
    MallowsCp as MallowsCp,
)
from dropstep.models.least_squares.criteria import (
    Pillai as Pillai,
)
from dropstep.models.least_squares.criteria import (
    Roy as Roy,
)
from dropstep.models.least_squares.criteria import (
    Sawa as Sawa,
)
from dropstep.models.least_squares.criteria import (
    Trace as Trace,
)
from dropstep.models.least_squares.criteria import (
    Wilks as Wilks,
)
from dropstep.resampling.audit import Audit as Audit
from dropstep.resampling.audit import audit as audit
from dropstep.resampling.comparison import Comparison as Comparison
from dropstep.resampling.comparison import compare as compare
from dropstep.resampling.inference import Inference as Inference
from dropstep.resampling.inference import infer as infer
from dropstep.resampling.selector_cv import FoldPaths as FoldPaths
from dropstep.resampling.selector_cv import NestedError as NestedError
from dropstep.resampling.selector_cv import SelectorCV as SelectorCV
from dropstep.resampling.stability import Stability as Stability
from dropstep.resampling.stability import stability as stability
from dropstep.resampling.stability_selector import StabilitySelector as StabilitySelector
from dropstep.result import (
    Coefficients as Coefficients,
)
from dropstep.result import (
    PartialTest as PartialTest,
)
from dropstep.result import (
    SelectionPath as SelectionPath,
)
from dropstep.result import (
    Step as Step,
)
from dropstep.result import (
    StopReason as StopReason,
)
from dropstep.result import (
    Subset as Subset,
)
from dropstep.result import (
    Subsets as Subsets,
)
from dropstep.search.rules import Knockoffs as Knockoffs
from dropstep.search.rules import Permutation as Permutation
from dropstep.search.rules import Significance as Significance
from dropstep.search.rules import StandardErrors as StandardErrors
from dropstep.search.strategies import FBED as FBED
from dropstep.search.strategies import Beam as Beam
from dropstep.search.strategies import Exhaustive as Exhaustive
from dropstep.select import select as select
from dropstep.selector import Selector as Selector

__all__: list[str]
__version__: str
