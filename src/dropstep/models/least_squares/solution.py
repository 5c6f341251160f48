"""Coefficients of least squares and of discriminant analysis, from the projection onto the selected columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from dropstep.data.columns import Columns
from dropstep.models.least_squares.criterion_matrix import CriterionMatrix
from dropstep.models.least_squares.problem import ScatterProblem
from dropstep.projection.projection import Projection
from dropstep.result import Coefficients

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]

MAX_INFLATION = 1e4  # variance inflation factor from which coefficients are computed from the rows, if there are rows


@dataclass(frozen=True, eq=False)
class Solution:
    """Solution of the normal equations of the selected columns, in the units of the problem.

    Attributes
    ----------
    independent : ndarray of int of shape (n_independent,)
        The selected columns that are linearly independent.
    slopes : ndarray of shape (n_independent, n_targets)
        inv(S_AA) C_A.
    root : ndarray of shape (n_independent, n_independent)
        F with inv(S_AA) = F F'.
    """

    independent: Indices
    slopes: Floats
    root: Floats

    @classmethod
    def of(cls, projection: Projection) -> Solution:
        """The solution for the selected columns of a projection."""
        R, Z = projection.factor(), projection.Z
        size, q = Z.shape
        both = np.zeros((size, q + size), order="F")
        both[:, :q] = Z
        both[:, q:].flat[:: size + 1] = 1.0
        both = lapack.dgesv(R, both, overwrite_b=True)[2] if size else both  # R is regular: columns are independent
        return cls(np.array(projection.independent, dtype=np.intp), both[:, :q], both[:, q:])

    @cached_property
    def variances(self) -> Floats:
        """Diagonal of inv(S_AA)."""
        variances: Floats = np.add.reduce(np.square(self.root), axis=1)
        return variances


@dataclass(frozen=True, eq=False)
class _Selected:
    """The selected columns in the order of a result, and which of them are linearly independent.

    Attributes
    ----------
    columns : ndarray of int of shape (n_columns,)
    at : ndarray of int of shape (n_independent,)
        Positions in `columns` of those that are linearly independent, in the order of `Solution.independent`.
    names : tuple of str
        Names of the columns.
    """

    columns: Indices
    at: Indices
    names: tuple[str, ...]

    def spread(self, values: Floats, fill: float = 0.0) -> Floats:
        """Values of the independent columns, one row per target, as values of all columns."""
        full = np.empty((values.shape[0], self.columns.size))
        full[:] = fill
        full[:, self.at] = values
        return full


def coefficients(
    problem: ScatterProblem, solution: Solution, matrix: CriterionMatrix, columns: Sequence[int], names: Sequence[str]
) -> Coefficients:
    """Coefficients of the selected columns, in the order given; 0 for a column that depends on the others."""
    diagonal = problem.equations.diagonal[solution.independent]
    if problem.from_rows is not None and np.any(diagonal * solution.variances > MAX_INFLATION):
        problem = problem.from_rows()
        projection = Projection(problem.equations)
        projection.add(columns)
        solution = Solution.of(projection)
    place = {j: i for i, j in enumerate(columns)}
    at = np.array([place[j] for j in solution.independent.tolist()], dtype=np.intp)
    selected = _Selected(np.array(columns, dtype=np.intp), at, tuple(names))
    if problem.kind == "linear":
        return _regression(problem, matrix.M.diagonal(), solution, selected)
    return _discriminant(problem, solution, selected)


def _regression(problem: ScatterProblem, residual: Floats, solution: Solution, selected: _Selected) -> Coefficients:
    """One function per target, with standard errors, from the residual sums of squares of the targets."""
    origin, single = problem.origin, problem.n_targets == 1
    means, df = _means(problem, solution.independent)[0], problem.df - len(solution.slopes)
    rss = np.maximum(residual, 0.0)
    sigma, leverage = np.sqrt(rss / df), means @ solution.root
    intercept = origin.target_means - means @ solution.slopes
    intercept_error = sigma * np.sqrt(1 / problem.n + leverage @ leverage)
    coef = selected.spread(_in_units(solution.slopes.T, problem, solution.independent))
    errors = _in_units(sigma[:, None] * np.sqrt(solution.variances), problem, solution.independent)
    std_error = selected.spread(errors, np.nan)
    unexplained = float(np.add.reduce(rss / problem.base.diagonal())) / problem.n_targets
    return Coefficients(
        selected.names,
        tuple(selected.columns.tolist()),
        ("y",) if single else tuple(f"y{t}" for t in range(problem.n_targets)),
        float(intercept[0]) if single else intercept,
        coef[0] if single else coef,
        df,
        std_error[0] if single else std_error,
        float(intercept_error[0]) if single else intercept_error,
        r2=1 - unexplained,
        adj_r2=1 - unexplained * problem.df / df,
    )


def _discriminant(problem: ScatterProblem, solution: Solution, selected: _Selected) -> Coefficients:
    """One function per class: log prior + d' inv(S) (x - (mean + centre) / 2), with d = mean - centre and S = Sw / n.

    The centre is the mean of all rows; what it contributes is the same for all classes.
    """
    origin, columns = problem.origin, selected.columns
    assert origin.labels is not None
    priors, means = origin.counts / problem.n, _means(problem, columns)
    centre = priors @ means
    scores = problem.n * ((means - centre)[:, selected.at] @ solution.root) @ solution.root.T
    intercept = np.log(priors) - np.einsum("ij,ij->i", scores, (means + centre)[:, selected.at]) / 2
    return Coefficients(
        selected.names,
        tuple(columns.tolist()),
        tuple(origin.labels.tolist()),
        intercept,
        selected.spread(_in_units(scores, problem, solution.independent)),
        problem.df - len(solution.slopes),
        classes=tuple(origin.labels.tolist()),
        priors=priors,
        means=means if origin.exponents is None else np.ldexp(means, origin.exponents[columns]),
    )


def _means(problem: ScatterProblem, columns: Indices) -> Floats:
    """Class means of columns, in the units of the problem."""
    means, scatter = problem.origin.means[:, columns], problem.equations.scatter
    return means + scatter.mean_errors(columns) if isinstance(scatter, Columns) else means


def _in_units(values: Floats, problem: ScatterProblem, columns: Indices) -> Floats:
    """Coefficients of columns that may have been rescaled, in the units of the table; infinite beyond float64."""
    exponents = problem.origin.exponents
    if exponents is None:
        return values
    with np.errstate(over="ignore"):
        return np.ldexp(values, -exponents[columns])
