"""The problem: what is to be explained, by which features, and how many degrees of freedom there are."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from dropstep.data.columns import Columns, columns_of
from dropstep.data.matrices.matrix import Exponents, Matrix
from dropstep.data.matrices.sparse import Sparse
from dropstep.data.moments import Moments, of_rows
from dropstep.data.scale import CONSTANT
from dropstep.data.table import Table, refuse_missing
from dropstep.data.target import Categorical, Target, constant_target, one_class
from dropstep.models.tests import WilksTest
from dropstep.projection.equations import NormalEquations, Solver

Floats = NDArray[np.float64]

WEIGHT_ROUNDING = 1e-9  # error that a sum of weights may have
TINY_TABLE = 2**14  # numbers in a table for which both solvers take no time
MAX_SCATTER = 2**24  # numbers (128 MB) of a Gram matrix that may be as large as X, if many features will be added
MIN_SPARSE_COLUMNS = 256  # of a sparse table: a Gram matrix of fewer takes little memory


@dataclass(frozen=True, eq=False)
class TableScale:
    """What centring and rescaling took from the rows: with it, coefficients are in the units of the table.

    Attributes
    ----------
    counts : ndarray of shape (n_classes,)
        Number of rows (sum of weights) of each class; a regression has one class.
    means : ndarray of shape (n_classes, n_features)
        Class means of the features.
    target_means : ndarray of shape (n_targets,)
        Means of the targets; empty for class labels.
    labels : ndarray of shape (n_classes,) or None
        Class labels; None for a regression.
    exponents : ndarray of shape (n_features,) or None
        Feature j was divided by 2 ** exponents[j]; None if no feature was rescaled.
    """

    counts: Floats
    means: Floats
    target_means: Floats
    labels: NDArray[Any] | None = None
    exponents: Exponents | None = None

    @property
    def n(self) -> float:
        """Number of rows (sum of weights)."""
        return float(np.add.reduce(self.counts))


@dataclass(frozen=True, eq=False)
class ScatterProblem:
    """Normal equations, and the matrix M = base + sign * G that a criterion reads.

    G = C_A' inv(S_AA) C_A is explained by the selected features A. In a regression M = y'y - G is the residual; for
    classes M = I + G, the inverse of what Wilks' lambda compares.

    Attributes
    ----------
    kind : {"linear", "discriminant"}
    equations : NormalEquations
    base : ndarray of shape (n_targets, n_targets)
        M of the empty selection.
    df : float
        Residual degrees of freedom of the empty selection.
    origin : TableScale
        Counts, means and units of the rows.
    separating : tuple of int
        Features with a single value within every class, but not the same in all: any criterion of class separation is
        infinite with one of them, so they count as constant, and the path has a note.
    from_rows : callable or None
        Makes the same problem from the rows, for when the digits of a Gram matrix do not suffice; None if there are no
        rows, or a solver was given.
    sign : int
        Whether adding a feature adds to M (+1) or subtracts from it (-1).
    n : float
        Number of rows (sum of weights).
    n_targets : int
    max_rank : float
        How many independent features the rows can estimate: each target of a regression needs a row of its own.
    exact_fit : float
        Share of the targets' sums of squares below which a residual is nothing but rounding.
    total_ss : float
        Total sum of squares of the targets.
    test : WilksTest
        The partial F test.
    """

    kind: Literal["linear", "discriminant"]
    equations: NormalEquations
    base: Floats
    df: float
    origin: TableScale
    separating: tuple[int, ...] = ()
    from_rows: Callable[[], ScatterProblem] | None = None

    sign: int = field(init=False)
    n: float = field(init=False)
    n_targets: int = field(init=False)
    max_rank: float = field(init=False)
    exact_fit: float = field(init=False)
    total_ss: float = field(init=False)
    test: WilksTest = field(init=False)

    def __post_init__(self) -> None:
        q, is_linear = self.equations.n_targets, self.kind == "linear"
        known = {
            "sign": -1 if is_linear else 1,
            "n": self.origin.n,
            "n_targets": q,
            "max_rank": self.df - (q if is_linear else 1) + WEIGHT_ROUNDING,
            "exact_fit": 1e-13 if self.equations.targets is None or q > 1 else 1e-22,
            "total_ss": float(self.base.trace()),
            "test": WilksTest(q, self.df, is_linear),
        }
        self.__dict__.update(known)

    @property
    def n_features(self) -> int:
        return self.equations.n_features

    @property
    def varying(self) -> NDArray[np.bool_]:
        """Which features are not constant."""
        return self.equations.diagonal > 0

    @property
    def solver(self) -> Solver:
        return self.equations.solver

    @cached_property
    def scales(self) -> Floats:
        """Products of the square roots of the diagonal of `base`, by which a residual matrix is divided."""
        scale = np.sqrt(np.diagonal(self.base))
        return np.outer(scale, scale)

    def nearly_determining(self, r2: float) -> list[int]:
        """Features whose squared correlation with some target exceeds a value; never constant ones."""
        equations = self.equations
        exceeds = np.square(equations.cross) > r2 * np.multiply.outer(equations.diagonal, self.base.diagonal())
        return np.unique(exceeds.nonzero()[0]).tolist() if exceeds.any() else []


def choose_solver(n: int, p: int, max_features: int | None = None, *, from_all: bool = False) -> Solver:
    """The solver that costs less, counted in passes over X (the time of one X'y).

    Gram: one symmetric product, about p / 24 passes, and p x p numbers, which must be few compared with X. Columns:
    three passes for the sums, half a pass per feature that is added (a tenth where the next ones are predicted and
    prefetched, one and more where features are correlated), and vectors of n_samples for each of these, which come to
    2 added^2 / p passes. How many will be added is not known in advance: `max_features`, or 48. Of a search that starts
    from all features, columns would take a pass for each. For a tiny table both cost nothing, and columns have more
    digits.
    """
    if n * p <= TINY_TABLE or p > n:
        return "columns"
    if from_all:
        return "gram"
    if p > n / 8 and (max_features is None or p**2 > MAX_SCATTER):
        return "columns"
    added = min(p, 48 if max_features is None else max_features)
    return "gram" if 1 + p / 24 <= 3 + added / 2 + 2 * added**2 / p else "columns"


def solver_of(X: Matrix, max_features: int | None = None, *, from_all: bool = False) -> Solver:
    """The solver that costs less for a matrix; the Gram matrix of a sparse one must be small compared with it."""
    n, p = X.shape
    if isinstance(X, Sparse) and p > MIN_SPARSE_COLUMNS and 8 * p**2 > X.n_stored:
        return "columns"
    return choose_solver(n, p, max_features, from_all=from_all)


def problem_of(
    table: Table,
    target: Target,
    weights: Floats | None,
    solver: Solver | Literal["auto"],
    max_features: int | None = None,
    *,
    from_all: bool = False,
) -> ScatterProblem:
    """The problem of explaining a target by the features of a table."""
    if solver == "auto":
        solver = solver_of(table.matrix, max_features, from_all=from_all)
        problem = problem_of(table, target, weights, solver)
        if solver == "columns":
            return problem
        return replace(problem, from_rows=cache(lambda: problem_of(table, target, weights, "columns")))
    if solver == "gram":
        moments, exponents = of_rows(table.matrix, target, weights, table.names)
        refuse_missing(table, moments.means[:, : moments.n_features])
        refuse_missing(table, np.diagonal(moments.scatter)[None, : moments.n_features])
        return from_moments(moments, exponents)
    columns, sums = columns_of(table, target, weights)
    if isinstance(target, Categorical):
        origin = TableScale(sums.counts, sums.means, np.empty(0), target.labels, sums.exponents)
        return discriminant(sums.diagonal, columns, origin)
    y, cross = sums.targets, sums.cross
    assert y is not None
    assert cross is not None
    target_means = (np.add.reduce(target.values) if weights is None else weights @ target.values) / sums.counts[0]
    origin = TableScale(sums.counts, sums.means, target_means, exponents=sums.exponents)
    return regression(sums.diagonal, columns, cross, y.T @ y, origin, y)


def from_moments(moments: Moments, exponents: Exponents | None = None) -> ScatterProblem:
    """The problem that moments carry; `exponents` are those of features that were rescaled before."""
    p = moments.n_features
    scatter, means = moments.scatter, moments.means
    diagonal = np.diagonal(scatter)[:p].copy()
    origin = TableScale(moments.counts, means[:, :p], means[0, p:], moments.labels, exponents)
    if moments.labels is not None:
        if len(moments.labels) < 2:
            raise one_class(moments.labels[0])
        return discriminant(diagonal, scatter, origin)
    spread = np.sqrt(np.maximum(np.diagonal(scatter)[p:], 0.0))
    constant = spread <= math.sqrt(moments.n_rows) * CONSTANT * np.abs(origin.target_means)
    if constant.any():
        j = int(np.argmax(constant))
        raise constant_target(j, len(spread), origin.target_means[j])
    return regression(diagonal, scatter[:p, :p], scatter[:p, p:], scatter[p:, p:], origin)


def regression(
    diagonal: Floats,
    scatter: Floats | Columns,
    cross: Floats,
    base: Floats,
    origin: TableScale,
    targets: Floats | None = None,
) -> ScatterProblem:
    """Least squares with an intercept, on one or several targets."""
    n, means = origin.n, origin.means[0]
    if n < 3:
        raise ValueError(f"a regression needs at least 3 rows (weights count rows); there are {n:g}")
    if len(base) > 1:
        scale = np.sqrt(np.diagonal(base))
        if np.linalg.matrix_rank(base / np.outer(scale, scale), hermitian=True, tol=1e-10) < len(base):
            raise ValueError("the targets in y are linearly dependent: leave out the ones that follow from the others")
    constant = diagonal <= n * (CONSTANT * means) ** 2
    if constant.any():
        diagonal, cross = np.where(constant, 0.0, diagonal), np.where(constant[:, None], 0.0, cross)
    equations = NormalEquations(scatter, diagonal, cross, _noise(diagonal, scatter, n * means**2), targets)
    return ScatterProblem("linear", equations, base, n - 1, origin)


def discriminant(diagonal: Floats, scatter: Floats | Columns, origin: TableScale) -> ScatterProblem:
    """Separation of classes: S is the scatter within classes, C C' the scatter between them."""
    n, counts, means, labels = origin.n, origin.counts, origin.means, origin.labels
    assert labels is not None
    lone = np.flatnonzero(counts < 2 - 1e-9)
    if len(lone):
        c = int(lone[0])
        raise ValueError(
            f"class {str(labels[c])!r} has {counts[c]:g} row{'' if counts[c] == 1 else 's'} (weights count rows); "
            "every class needs at least 2: join or remove the class, or rescale the weights to mean 1"
        )
    if n - len(counts) < 2:
        raise ValueError(f"{n:g} rows are too few for {len(counts)} classes; at least {len(counts) + 2} are needed")
    between = (np.sqrt(counts)[:, None] * (means - counts @ means / n)).T
    constant_within = diagonal <= (counts @ (CONSTANT * means) ** 2)
    constant = constant_within & ((between**2).sum(axis=1) <= (counts @ (CONSTANT * means) ** 2))
    cross = np.where(constant_within[:, None], 0.0, between @ _contrasts(np.sqrt(counts / n)))
    diagonal = np.where(constant_within, 0.0, diagonal)
    return ScatterProblem(
        kind="discriminant",
        equations=NormalEquations(scatter, diagonal, cross, _noise(diagonal, scatter, counts @ means**2)),
        base=np.eye(len(counts) - 1),
        df=n - len(counts),
        origin=origin,
        separating=tuple(np.flatnonzero(constant_within & ~constant).tolist()),
    )


def _noise(diagonal: Floats, scatter: Floats | Columns, about_zero: Floats) -> Floats:
    """See `NormalEquations.noise`."""
    single = isinstance(scatter, Columns) and scatter.X.dtype == np.float32
    return np.where(diagonal > 0, diagonal + about_zero if single else diagonal, np.inf)


def _contrasts(unit: Floats) -> Floats:
    """An orthonormal basis of what is orthogonal to a unit vector: the class means differ only there."""
    v = unit.copy()
    v[0] += 1.0
    return (np.eye(len(v)) - np.outer(v, v) * (2 / (v @ v)))[:, 1:]
