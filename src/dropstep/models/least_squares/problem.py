"""The problem: what is to be explained, by which features, and how much evidence there is."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy import special

from dropstep.data.columns import SMALL, Columns, columns_of
from dropstep.data.moments import Moments, of_rows
from dropstep.data.table import Table, refuse_missing
from dropstep.data.target import Categorical, Target

Floats = NDArray[np.float64]
Solver = Literal["gram", "columns"]

ROUNDED = 1e-9  # a sum of weights may be off by rounding
TINY = 2**14  # numbers in a table that costs nothing either way
TINIEST, UNDERFLOW = np.finfo(np.float64).tiny, 1e-290  # p-values below are computed by their logarithm
CONSTANT = 1e-12  # a column with sd below this part of its mean is constant up to rounding


@dataclass(frozen=True, eq=False)
class Problem:
    """Features with scatter S and cross products C, and the matrix M = base + sign * G that a criterion reads.

    G = C_A' inv(S_AA) C_A is what the selected features A explain. In a regression M = y'y - G is the
    residual; for classes M = I + G, the inverse of what Wilks' lambda compares.

    Attributes
    ----------
    kind : "linear" or "discriminant".
    diagonal : S_jj; zero for a feature that is constant up to rounding.
    cross : row j of C, one column a target (regression) or a contrast of classes.
    base, sign : M of the empty selection, and whether adding a feature adds to M (+1) or takes from it (-1).
    n : number of rows (sum of weights).
    df : degrees of freedom left with nothing selected.
    scatter : where the rows of S come from: a matrix (moments) or Columns.
    noise : rounding errors of the features, up to a factor: S_jj, or the sum of squares of a feature in float32.
    targets : the centred targets themselves, when they are at hand (regression on columns).
    finer : makes the same problem from the rows, for when the digits of moments do not suffice; None if there are no
        rows, or none are wanted.
    separating : features with a single value within every class, but not the same in all: any criterion of class
        separation is infinite with one of them, so they are taken for constant, and the path says so.
    """

    kind: Literal["linear", "discriminant"]
    diagonal: Floats
    cross: Floats
    base: Floats
    sign: int
    n: float
    df: float
    scatter: Floats | Columns
    noise: Floats
    targets: Floats | None = None
    separating: tuple[int, ...] = ()
    finer: Callable[[], Problem] | None = None

    @cached_property
    def n_features(self) -> int:
        return len(self.diagonal)

    @cached_property
    def n_targets(self) -> int:
        return int(self.cross.shape[1])

    @property
    def solver(self) -> Solver:
        """How S is had: as a matrix of moments, or from columns, a row when it is needed."""
        return "columns" if isinstance(self.scatter, Columns) else "gram"

    @property
    def digits(self) -> str:
        """The arithmetic behind the numbers, in words."""
        return "double precision" if self.solver == "columns" else "double precision from moments"

    @property
    def resolution(self) -> tuple[float, float]:
        """Residuals that count as linearly dependent, and those that surely are, relative to `noise`."""
        if not isinstance(self.scatter, Columns):
            return 1e-8, 1e-13
        return (1e-13, 3e-14) if self.scatter.X.dtype == np.float32 else (1e-15, 1e-18)

    @cached_property
    def most(self) -> float:
        """How many independent features can be judged: each target of a regression needs a row of its own."""
        return self.df - (self.n_targets if self.kind == "linear" else 1) + ROUNDED

    @cached_property
    def small(self) -> bool:
        """Whether the features are so few that looking at all of them costs no more than looking at some."""
        return self.scatter.X.size <= SMALL if isinstance(self.scatter, Columns) else self.n_features <= 1000

    @cached_property
    def exact_fit(self) -> float:
        """Part of the targets below which a residual is nothing but rounding."""
        if self.targets is None or self.n_targets > 1:
            return 1e-13
        return 1e-22

    def block(self, features: NDArray[np.intp]) -> Floats:
        """S among a few features."""
        if isinstance(self.scatter, Columns):
            taken = self.scatter.centred(features)
            return taken.T @ taken
        return self.scatter[np.ix_(features, features)]

    def critical(self, level: float, size: float, rank: float) -> float:
        """The largest partial Wilks' lambda that is significant at a level, for `rank` features added to `size`."""
        a, b, power = self._null_distribution(size, rank)
        return float(special.betaincinv(a, b, level) ** power) if a > 0 and b > 0 else 0.0

    def log_critical(self, level: Floats, size: Floats, rank: float) -> Floats:
        """Logarithms of `critical`, to the last digit also where it is near 1; -inf without degrees of freedom."""
        a, b, power = np.array([self._null_distribution(k, rank) for k in size.tolist()]).T
        judged = (a > 0) & (b > 0)
        a, b = np.where(judged, a, 1.0), np.where(judged, b, 1.0)
        quantile, complement = special.betaincinv(a, b, level), special.betainccinv(b, a, level)
        log_quantile = np.where(
            quantile < 0.5, np.log(np.maximum(quantile, TINIEST)), np.log1p(-np.minimum(complement, 0.5))
        )
        return np.where(judged, power * log_quantile, -np.inf)

    def log_p_value(self, partial: Floats, size: Floats | float, rank: Floats | float) -> Floats:
        """Logarithm of the p-value of each partial Wilks' lambda, finite where the p-value itself underflows."""
        sizes, ranks, _ = np.broadcast_arrays(size, rank, partial)
        pairs = zip(sizes.tolist(), ranks.tolist(), strict=True)
        a, b, power = np.array([self._null_distribution(k, m) for k, m in pairs]).reshape(-1, 3).T
        judged = (a > 0) & (b > 0)
        a, b = np.where(judged, a, 1.0), np.where(judged, b, 1.0)
        x = np.clip(partial, TINIEST, 1.0) ** (1 / power)
        p = special.betainc(a, b, x)
        log_p, tiny = np.log(np.maximum(p, TINIEST)), p < UNDERFLOW
        if tiny.any():  # I_x(a, b) = x^a (1 - x)^b / (a B(a, b)) 2F1(a + b, 1; a + 1; x)
            a, b, x = a[tiny], b[tiny], x[tiny]
            series = np.log(special.hyp2f1(a + b, 1.0, a + 1, x))
            log_p[tiny] = a * np.log(x) + b * np.log1p(-x) - np.log(a) - special.betaln(a, b) + series
        return np.where(judged, log_p, 0.0)

    def _null_distribution(self, size: float, rank: float) -> tuple[float, float, float]:
        """(a, b, power) such that partial lambda ** (1 / power) is Beta(a, b) without an effect.

        Exact where one feature is added or there is one target, which is the partial F test; Rao's F otherwise.
        """
        if self.kind == "linear":
            variates, hypothesis, error = float(self.n_targets), rank, self.df - size - rank
        else:
            variates, hypothesis, error = rank, float(self.n_targets), self.df - size
        product = variates * hypothesis
        spread = variates**2 + hypothesis**2 - 5
        power = math.sqrt((product**2 - 4) / spread) if spread > 0 and product > 2 else 1.0
        first = error + hypothesis - (variates + hypothesis + 1) / 2
        return (first * power - (product - 2) / 2) / 2, product / 2, power


def choose_solver(n: int, p: int, max_features: int | None = None) -> Solver:
    """The way to have S that costs less, counted in passes over X (the time of one X'y).

    Moments: one symmetric product, about p / 24 passes, and p x p numbers, which must be few beside X. Columns: three
    passes for the sums, half a pass for each feature that is added (a tenth where the next ones can be told and are
    fetched together, one and more where features are alike), and vectors as long as the rows are many for each of
    these, which come to 2 added^2 / p passes. How many will be added is not known before: `max_features`, or 48. A tiny
    table is cheap either way, and from columns its numbers have more digits.
    """
    if n * p <= TINY or p > n / 8:
        return "columns"
    added = min(p, 48 if max_features is None else max_features)
    return "gram" if 1 + p / 24 <= 3 + added / 2 + 2 * added**2 / p else "columns"


def problem_of(
    table: Table,
    target: Target,
    weights: Floats | None,
    solver: Solver | Literal["auto"],
    max_features: int | None = None,
) -> Problem:
    """The problem of explaining a target by the features of a table."""
    if solver == "auto":
        solver = choose_solver(len(table.values), table.values.shape[1], max_features)
        problem = problem_of(table, target, weights, solver)
        if solver == "columns":
            return problem
        return replace(problem, finer=cache(lambda: problem_of(table, target, weights, "columns")))
    if solver == "gram":
        moments = of_rows(table.values, target, weights, table.names)
        refuse_missing(table, moments.means[:, : moments.n_features])
        refuse_missing(table, np.diagonal(moments.scatter)[None, : moments.n_features])
        return from_moments(moments)
    columns, sums = columns_of(table, target, weights)
    if isinstance(target, Categorical):
        return discriminant(sums.diagonal, columns, sums.means, sums.counts, target.labels)
    y, cross = sums.targets, sums.cross
    assert y is not None
    assert cross is not None
    return regression(sums.diagonal, columns, sums.means[0], cross, y.T @ y, sums.counts, y)


def from_moments(moments: Moments) -> Problem:
    """The problem that moments carry."""
    p = moments.n_features
    scatter = moments.scatter
    diagonal = np.diagonal(scatter)[:p].copy()
    if moments.labels is not None:
        if len(moments.labels) < 2:
            raise ValueError(f"y has one class only ({moments.labels[0]}); at least two are needed to tell apart")
        return discriminant(diagonal, scatter, moments.means, moments.counts, moments.labels)
    if np.any(np.diagonal(scatter)[p:] <= moments.n_rows * (CONSTANT * moments.means[0, p:]) ** 2):
        raise ValueError("y is constant: nothing is to be explained; pass another y")
    return regression(diagonal, scatter[:p, :p], moments.means[0, :p], scatter[:p, p:], scatter[p:, p:], moments.counts)


def regression(
    diagonal: Floats,
    scatter: Floats | Columns,
    means: Floats,
    cross: Floats,
    base: Floats,
    counts: Floats,
    targets: Floats | None = None,
) -> Problem:
    """Least squares with an intercept, on one or several targets."""
    n = float(counts.sum())
    if n < 3:
        raise ValueError(f"a regression needs at least 3 rows (weights count rows); there are {n:g}")
    scale = np.sqrt(np.diagonal(base))
    if len(base) > 1 and np.linalg.matrix_rank(base / np.outer(scale, scale), hermitian=True, tol=1e-10) < len(base):
        raise ValueError("the targets in y are linearly dependent: leave out the ones that follow from the others")
    constant = diagonal <= n * (CONSTANT * means) ** 2
    diagonal = np.where(constant, 0.0, diagonal)
    cross = np.where(constant[:, None], 0.0, cross)
    noise = _noise(diagonal, scatter, n * means**2)
    return Problem("linear", diagonal, cross, base, -1, n, n - 1, scatter, noise, targets)


def discriminant(
    diagonal: Floats,
    scatter: Floats | Columns,
    means: Floats,
    counts: Floats,
    labels: NDArray[np.generic],
) -> Problem:
    """Separation of classes: S is the scatter within classes, C C' the scatter between them."""
    n = float(counts.sum())
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
    return Problem(
        kind="discriminant",
        diagonal=diagonal,
        cross=cross,
        base=np.eye(len(counts) - 1),
        sign=1,
        n=n,
        df=n - len(counts),
        scatter=scatter,
        noise=_noise(diagonal, scatter, counts @ means**2),
        separating=tuple(np.flatnonzero(constant_within & ~constant).tolist()),
    )


def _noise(diagonal: Floats, scatter: Floats | Columns, about_zero: Floats) -> Floats:
    """What the rounding errors of each feature are proportional to; infinite for a constant feature."""
    single = isinstance(scatter, Columns) and scatter.X.dtype == np.float32
    return np.where(diagonal > 0, diagonal + about_zero if single else diagonal, np.inf)


def _contrasts(unit: Floats) -> Floats:
    """An orthonormal basis of what is orthogonal to a unit vector: the class means differ only there."""
    v = unit.copy()
    v[0] += 1.0
    return (np.eye(len(v)) - np.outer(v, v) * (2 / (v @ v)))[:, 1:]
