"""Notes: what the reader of a path should know about the table and about the digits of the numbers."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dropstep.data.columns import Columns
from dropstep.data.table import Table, listed
from dropstep.models.least_squares.cautions import cautions
from dropstep.models.least_squares.model import FEW_DIGITS, LeastSquares


def notes(model: LeastSquares, names: tuple[str, ...] | None, excluded: set[int]) -> Iterator[str]:
    """Notes on a model after a search."""
    problem = model.problem
    model.projection.update(np.arange(problem.n_features))
    table = Table(np.empty((0, problem.n_features)), names)
    if separating := [j for j in problem.separating if j not in excluded]:
        yield (
            f"{listed(table, separating)}: a single value within every class, which separates the classes perfectly "
            "and makes every criterion infinite; not considered in the search: if it is a copy of the target, exclude "
            "it, and if not, it suffices to classify"
        )
    if isinstance(problem.equations.scatter, Columns) and problem.equations.scatter.in_double:
        yield (
            "X is float32, and some column has a mean of more than 100 times its standard deviation, or a standard "
            "deviation beyond 1e12; products were computed in float64, because float32 would lose too many digits"
        )
    if doubtful := model.projection.doubtful:
        digits = "double precision" if problem.solver == "columns" else "a Gram matrix in double precision"
        yield (
            f"{listed(table, doubtful)}: so close to a linear combination of the selected features that {digits} "
            "cannot resolve the gain; treated as linearly dependent, so the selection may lack a feature that matters"
        )
    if together := model.separating():
        yield (
            f"{listed(table, together)}: with the selected features, separates the classes perfectly, which makes "
            "every criterion infinite; not considered in the search"
        )
    yield from cautions(model, table, excluded)
    share = model.explained.smallest_share if problem.sign < 0 else 1.0
    if problem.solver == "gram" and share < FEW_DIGITS:
        yield (
            f"the residual is {max(share, 0):.1g} of the total sum of squares; a Gram matrix keeps few digits of so "
            "small a difference (pass X and y with solver='columns')"
        )
