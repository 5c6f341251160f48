"""Diagnostics: what the reader of a path should know about the table, the digits of the numbers and the final fit."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from dropstep.data.columns import Columns
from dropstep.data.table import Table, listed
from dropstep.models.least_squares.model import FEW_DIGITS, LeastSquares

if TYPE_CHECKING:
    from dropstep.models.least_squares.model import LeastSquares

MAX_CONDITION = 100.0  # condition number of the correlations' square root from which coefficients are unstable
MIN_CLASS = 5  # rows of a class
NEAR_LIMIT = 0.5  # share of n - classes from which the trace grows with the number of features alone
MIN_CP_DF = 10  # residual degrees of freedom of the full model, whose variance Cp uses


def notes(model: LeastSquares, names: tuple[str, ...] | None, excluded: set[int]) -> Iterator[str]:
    """Notes on a model after a search."""
    problem, p = model.problem, model.problem.n_features
    model.projection.update(np.arange(p))
    table = Table(np.empty((0, p)), names)
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
    share = model.matrix.smallest_share if problem.sign < 0 else 1.0
    if share < FEW_DIGITS and problem.solver == "gram":
        yield (
            f"the residual is {max(share, 0):.1g} of the total sum of squares; a Gram matrix keeps few digits of so "
            "small a difference (pass X and y with solver='columns')"
        )


def cautions(model: LeastSquares, table: Table, excluded: set[int]) -> Iterator[str]:
    """Sentences on a model after a search."""
    yield from _dependence(model, table, excluded)
    problem = model.problem
    if problem.kind == "discriminant":
        counts, labels, df = problem.origin.counts, problem.origin.labels, problem.df
        if counts.min() < MIN_CLASS and labels is not None:
            c = int(counts.argmin())
            yield (
                f"class {str(labels[c])!r} has {counts[c]:g} rows; its mean, and what separates it from the others, "
                "are uncertain"
            )
        size = model.projection.size
        if model.criterion_info.name == "trace" and size > NEAR_LIMIT * df:
            yield (
                f"{size} features are selected with {df:g} rows more than classes; as these numbers approach each "
                "other the trace grows without limit, whatever the features are"
            )
    elif model.criterion_info.name == "cp":
        full = float(np.count_nonzero(problem.equations.diagonal > 0))
        room = problem.df - full
        if 0 < room < MIN_CP_DF and getattr(model.criterion, "sigma2", None) is None:
            yield (
                f"Cp estimates the error variance from {room:g} residual degrees of freedom of the full model; pass "
                "MallowsCp(sigma2=...), or use another criterion"
            )


def _dependence(model: LeastSquares, table: Table, excluded: set[int]) -> Iterator[str]:
    """The condition number of the selected features, and candidates that are linear combinations of them."""
    projection, equations = model.projection, model.problem.equations
    if model.problem.sign > 0 or not projection.independent:
        return
    if (condition := _condition(model)) > MAX_CONDITION:
        yield (
            f"the selected features are nearly collinear (condition number {condition:.3g}): their coefficients are "
            "uncertain, and other rows may select others"
        )
    inside = (projection.residual_ss <= projection.precision.least) & (equations.diagonal > 0)
    inside[[*projection.independent, *projection.dependent, *excluded, *projection.doubtful]] = False
    if inside.any():
        aliases = np.flatnonzero(inside).tolist()
        yield f"{listed(table, aliases)}: linear combinations of the selected features, which could stand in for them"


def _condition(model: LeastSquares) -> float:
    """Condition number of the selected features, scaled to unit length; an upper bound on it, if that is small enough.

    The square of the bound is the product of the squared Frobenius norms: the number of features times the sum of their
    variance inflation factors.
    """
    solution = model.solution()
    inflation = model.problem.equations.diagonal[solution.independent] @ solution.variances
    bound = math.sqrt(len(solution.independent) * float(inflation))
    if bound <= MAX_CONDITION:
        return bound
    R = model.projection.factor()
    values = np.linalg.svd(R / np.sqrt(np.einsum("ij,ij->j", R, R)), compute_uv=False)
    return float(values[0] / values[-1])
