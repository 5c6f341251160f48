"""The reference: every criterion and strategy as the textbook or the paper writes it.

Slow on purpose. Every number is computed from the rows, from scratch, for each subset of features; nothing is carried
over from one subset to the next. The library is compared with this package, so clarity comes first.

Terminology: a *unit* is added, removed and dropped as a whole: one feature, or one group of features. The *size* k of a
subset is the number of its linearly independent features.

References: Rencher & Christensen, Methods of Multivariate Analysis (Wilks, Pillai, Lawley-Hotelling, Roy, Rao's F);
Draper & Smith, Applied Regression Analysis (RSS, Cp, partial F); Bedrick & Tsai 1994 (AICc for several targets); Chen &
Chen 2008 (EBIC); Pudil et al. 1994 (floating); Borboudakis & Tsamardinos 2019 (fbed); the paper (dropping).
"""

from reference.least_squares.criteria import LOWER_IS_BETTER, criterion_of, improvement, score, score_of
from reference.least_squares.problem import EXACT_FIT_SEVERAL, adds_nothing, aliased, problem_of
from reference.least_squares.projection import Unit, flat
from reference.least_squares.tests import lambda_of, lambda_partial, p_value, p_value_of, rao
from reference.run import ReferencePath, run, units_of
from reference.search import Level, Move, Rules, Search, Step
from reference.strategies import STRATEGIES

__all__ = [
    "EXACT_FIT_SEVERAL",
    "LOWER_IS_BETTER",
    "STRATEGIES",
    "Level",
    "Move",
    "ReferencePath",
    "Rules",
    "Search",
    "Step",
    "Unit",
    "adds_nothing",
    "aliased",
    "criterion_of",
    "flat",
    "improvement",
    "lambda_of",
    "lambda_partial",
    "p_value",
    "p_value_of",
    "problem_of",
    "rao",
    "run",
    "score",
    "score_of",
    "units_of",
]
