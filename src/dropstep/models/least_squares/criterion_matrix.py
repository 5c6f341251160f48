"""What criteria and tests read of a selection: the matrix M, and residuals and leverages of the rows."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from dropstep.data.columns import Columns
from dropstep.models.base import Units
from dropstep.models.least_squares.moves import RankUpdate, SingleUpdate
from dropstep.models.least_squares.problem import ScatterProblem
from dropstep.projection.basis import RowsBasis, orthonormal
from dropstep.projection.projection import Projection

Floats = NDArray[np.float64]
ROUNDING = 1e-12  # share of an eigenvalue of a residual below which what a move leaves of it is rounding
FEW_NUMBERS = 2**12  # in the vectors v of all moves, for which one solution is faster than a factor and a product
EPSILON = float(np.finfo(np.float64).eps)
NEAR_EXACT = 1e-9  # share of a residual below which what a move leaves is rounding: such moves are equal
Indices = NDArray[np.intp]
ROWS_OF_CANDIDATES = 2**18  # numbers in the residuals of the candidates that are evaluated together


class CriterionMatrix:
    """The matrix M = base + sign * G of a selection, and what moves make of it.

    The log-likelihood of an exact fit diverges. In a regression `logdet` and `root` are therefore those of a residual
    whose eigenvalues, relative to the total sums of squares, are at least `ScatterProblem.exact_fit`.

    Attributes
    ----------
    M : ndarray of shape (n_targets, n_targets)
    problem : ScatterProblem
    rows : RowFit or None
        Residuals and leverages, for criteria that read them.
    trace : float
    """

    def __init__(self, M: Floats, problem: ScatterProblem, rows: RowFit | None = None) -> None:
        self.M, self.problem, self.rows = M, problem, rows
        self.trace = max(float(sum(M.diagonal().tolist())), 0.0)

    @staticmethod
    def of(M: Floats, problem: ScatterProblem, rows: RowFit | None = None) -> CriterionMatrix:
        """M as a number where it is one."""
        return (CriterionNumber if M.shape[0] == 1 else CriterionMatrix)(M, problem, rows)

    def without(self, directions: Floats, Z: Floats) -> CriterionMatrix:
        """M without directions of the basis, in which the targets have coordinates Z."""
        gone, rows = directions @ Z, None if self.rows is None else self.rows.without(directions)
        return CriterionMatrix.of(self.M - self.problem.sign * gone.T @ gone, self.problem, rows)

    @cached_property
    def logdet(self) -> float:
        if self.near_exact:
            return float(self._floored_logdet(self.M, self.problem.exact_fit))
        return 2 * float(np.log(np.abs(np.diagonal(self.root))).sum())

    @cached_property
    def root(self) -> Floats:
        """L with L L' = M, lower triangular."""
        M = self.positive
        try:
            return np.asarray(np.linalg.cholesky(M))
        except np.linalg.LinAlgError:  # classes so far apart that one direction drowns the others
            scale = np.sqrt(np.diagonal(M))
            values, vectors = np.linalg.eigh(M / np.outer(scale, scale))
            half = np.sqrt(np.maximum(values, np.finfo(np.float64).eps)) * vectors
            return np.asarray(scale[:, None] * np.asarray(np.linalg.qr(half.T, mode="r")).T)

    @cached_property
    def smallest_share(self) -> float:
        """Unexplained share of the sum of squares; of several targets, that of the best explained combination."""
        return float(np.linalg.eigvalsh(self.M / self.problem.scales)[0])

    @cached_property
    def unexplained(self) -> float:
        """Largest share of a target's sum of squares that a regression leaves."""
        return float((np.diagonal(self.M) / np.diagonal(self.problem.base)).max())

    @cached_property
    def near_exact(self) -> bool:
        """True if some eigenvalue of the residual has to be raised to the exact-fit tolerance."""
        return self.problem.sign < 0 and self.smallest_share < self.problem.exact_fit

    @property
    def positive(self) -> Floats:
        """M, with the eigenvalues of a residual raised to the exact-fit tolerance."""
        if not self.near_exact:
            return self.M
        scales, exact = self.problem.scales, self.problem.exact_fit
        values, vectors = np.linalg.eigh(self.M / scales)
        return np.asarray(scales * ((vectors * np.maximum(values, exact)) @ vectors.T))

    def _floored_logdet(self, M: Floats, least: float) -> Floats:
        """Log determinants of residuals, their eigenvalues raised to a share of the total sums of squares."""
        values = np.linalg.eigvalsh(M / self.problem.scales)
        scale = np.log(np.diagonal(self.problem.base)).sum()
        return np.asarray(np.log(np.maximum(values, least)).sum(axis=-1) + scale)

    @cached_property
    def least_ratio(self) -> float:
        """Share of det(M) that a move can leave, so that an exact fit gains no more than rounding allows."""
        return _least_ratio(self.problem, 1.0 if self.problem.sign > 0 else self.smallest_share)

    def log_ratio(self, update: RankUpdate, sign: int) -> Floats:
        """log det(M + sign v v') - log det(M), for each unit: log det(I + sign v' inv(M) v)."""
        if isinstance(update, SingleUpdate):
            inner = self.inner(update)
            ratio = np.log1p(inner) if sign > 0 else np.log1p(np.maximum(-inner, self.least_ratio - 1))
            largest = inner
        else:
            squares = np.square(np.linalg.svd(self._half(update), compute_uv=False))
            ratio = np.log1p(squares if sign > 0 else -np.minimum(squares, 1 - self.least_ratio)).sum(axis=-1)
            largest = squares.max(axis=-1, initial=0.0)
        if self.problem.sign < 0:
            near = (largest > 1 - NEAR_EXACT) & (sign < 0) | self.near_exact
            if near.any():
                v = update.vectors[near]
                after = self.M + sign * np.einsum("umt,ums->uts", v, v)
                least = max(self.problem.exact_fit, ROUNDING * self.smallest_share)
                ratio[near] = self._floored_logdet(after, least) - self.logdet
        return np.asarray(ratio)

    def inner(self, update: RankUpdate) -> Floats:
        """v' inv(M) v of moves of one feature each."""
        v = update.vectors[:, 0]
        if self.problem.sign > 0 and v.size <= FEW_NUMBERS:
            _, solution, failed = linalg.lapack.dposv(self.M, v.T)
            if not failed:
                return np.asarray(np.einsum("ut,tu->u", v, solution))
        half = self._half(update)[:, 0, :]
        return np.asarray(np.einsum("ut,ut->u", half, half))

    def _half(self, update: RankUpdate) -> Floats:
        """inv(L) v for every vector v."""
        v = update.vectors
        flat = np.einsum("st,tu->su", self._inverse_root, np.ascontiguousarray(v.reshape(-1, v.shape[2]).T))
        return np.asarray(flat.T.reshape(v.shape))

    @cached_property
    def _inverse_root(self) -> Floats:
        """inv(L). A product with it takes no BLAS: threads that SciPy's would start compete with those of NumPy's."""
        return np.asarray(linalg.lapack.dtrtri(self.root, lower=1)[0])

    def pillai(self, update: RankUpdate, at: int) -> float:
        """Pillai's trace of one unit given the selected ones: the partial R2, for one feature and one target."""
        v = update.vectors[at]
        squares = np.maximum(np.linalg.eigvalsh(v @ np.linalg.solve(self.positive, v.T)), 0.0)
        return float((squares / (1 + squares) if self.problem.sign > 0 else np.minimum(squares, 1.0)).sum())

    def partial(self, update: RankUpdate, *, adding: bool) -> Floats:
        """Partial Wilks' lambda of each unit given the others: with the unit over without it, 1 for no effect."""
        sign = 1 if adding == (self.problem.sign > 0) else -1
        if isinstance(update, SingleUpdate) and not self.near_exact:
            inner = self.inner(update)
            return np.asarray(1 / (1 + inner) if sign > 0 else np.maximum(1 - inner, self.least_ratio))
        return np.asarray(np.exp(-sign * self.log_ratio(update, sign)))

    def partial_of(self, update: RankUpdate, at: int, *, adding: bool) -> float:
        """Partial Wilks' lambda of one unit."""
        return float(self.partial(update.only(at), adding=adding)[0])


class CriterionNumber(CriterionMatrix):
    """M of one target, or of two classes: a number, so that no move takes a factorisation."""

    def __init__(self, M: Floats, problem: ScatterProblem, rows: RowFit | None = None) -> None:
        value, total = float(M[0, 0]), float(problem.base[0, 0])
        self.M, self.problem, self.rows = M, problem, rows
        self.trace = value if value > 0 else 0.0
        self.smallest_share = self.unexplained = value / total
        self.near_exact = problem.sign < 0 and self.smallest_share < problem.exact_fit
        self.number = problem.exact_fit * total if self.near_exact else value
        self.least_ratio = _least_ratio(problem, self.smallest_share)

    @property
    def logdet(self) -> float:
        return math.log(self.number)

    @property
    def positive(self) -> Floats:
        return np.array([[self.number]])

    def log_ratio(self, update: RankUpdate, sign: int) -> Floats:
        if self.near_exact:
            return np.asarray(np.log(np.maximum(self.M[0, 0] + sign * update.power, self.number) / self.number))
        inner = update.power / self.number
        return np.asarray(np.log1p(inner) if sign > 0 else np.log1p(np.maximum(-inner, self.least_ratio - 1)))

    def inner(self, update: RankUpdate) -> Floats:
        return np.asarray(update.power / self.number)

    def pillai(self, update: RankUpdate, at: int) -> float:
        square = float(update.power[at]) / self.number
        return square / (1 + square) if self.problem.sign > 0 else square if square < 1.0 else 1.0

    def partial(self, update: RankUpdate, *, adding: bool) -> Floats:
        if adding != (self.problem.sign > 0):
            return np.maximum(1 - update.power / self.number, self.least_ratio)
        if self.near_exact:
            return np.exp(-self.log_ratio(update, 1))
        return 1 / (1 + update.power / self.number)

    def partial_of(self, update: RankUpdate, at: int, *, adding: bool) -> float:
        inner = float(update.power[at]) / self.number
        if adding != (self.problem.sign > 0):
            kept = 1 - inner
            return kept if kept > self.least_ratio else self.least_ratio
        return float(self.partial(update, adding=adding)[at]) if self.near_exact else 1 / (1 + inner)


def _least_ratio(problem: ScatterProblem, smallest_share: float) -> float:
    if problem.sign > 0:
        return EPSILON
    exact = problem.exact_fit
    ratio = exact / smallest_share if smallest_share > exact else 1.0
    return ratio if ratio > NEAR_EXACT else NEAR_EXACT


@dataclass(frozen=True, eq=False)
class RegressionRows:
    """The rows of a regression, read from a problem that has them.

    Attributes
    ----------
    problem : ScatterProblem
        With columns as its scatter, and targets.
    """

    problem: ScatterProblem

    @property
    def columns(self) -> Columns:
        assert isinstance(self.problem.equations.scatter, Columns)
        return self.problem.equations.scatter

    @property
    def targets(self) -> Floats:
        assert self.problem.equations.targets is not None
        return self.problem.equations.targets

    @cached_property
    def shares(self) -> Floats:
        """What a squared coordinate of a weighted row is multiplied by to be the leverage of the part left out."""
        root = self.columns.root
        if root is None:
            return np.ones(len(self.targets))
        weights = np.square(root)
        return np.asarray(np.minimum(weights, 1.0) / np.where(weights > 0, weights, 1.0))

    @cached_property
    def constant(self) -> Floats:
        """Leverages of a model with nothing but an intercept."""
        weights = np.ones(len(self.targets)) if self.columns.root is None else np.square(self.columns.root)
        return np.asarray(np.minimum(weights, 1.0) / self.problem.n)


class RowFit:
    """Residuals and leverages of the features that are selected in a projection.

    Parameters
    ----------
    rows : RegressionRows
    projection : Projection
    removed : ndarray of shape (n_directions, size) or None
        Directions of the basis that are left out.
    """

    def __init__(self, rows: RegressionRows, projection: Projection, removed: Floats | None = None) -> None:
        self._rows, self._projection, self._removed = rows, projection, removed

    @cached_property
    def _whole_basis(self) -> Floats:
        """Orthonormal basis of the selected features."""
        projection = self._projection
        if isinstance(projection.basis, RowsBasis):
            return projection.basis.Q
        return np.asarray(self._centred(projection.independent) @ projection.inverse)

    def _centred(self, columns: Sequence[int]) -> Floats:
        """Columns in the scale of the projection."""
        at = np.array(columns, dtype=np.intp)
        own, here = self._rows.problem.equations.diagonal[at], self._projection.equations.diagonal[at]
        return self._rows.columns.centred(at) * np.sqrt(np.divide(here, own, out=np.ones(len(at)), where=own > 0))

    @cached_property
    def _basis(self) -> Floats:
        """Orthonormal basis of what is selected and not removed."""
        if self._removed is None:
            return self._whole_basis
        H = np.linalg.qr(self._removed.T, mode="complete")[0][:, len(self._removed) :]
        return np.asarray(self._whole_basis @ H)

    @cached_property
    def residuals(self) -> Floats:
        """Weighted residuals of the targets, of shape (n_samples, n_targets)."""
        targets = self._rows.targets
        for _ in range(2):
            targets = targets - self._basis @ (self._basis.T @ targets)
        return np.asarray(targets)

    @cached_property
    def leverages(self) -> Floats:
        """Leverages of shape (n_samples,)."""
        return np.asarray(self._rows.constant + self._rows.shares * np.square(self._basis).sum(axis=1))

    def without(self, removed: Floats) -> RowFit:
        """The fit without some directions of the basis."""
        return RowFit(self._rows, self._projection, removed)

    def additions(self, units: Units, chosen: Indices) -> Iterator[tuple[Floats, Floats]]:
        """Residuals and leverages after adding each unit, in blocks of shapes (n, m, n_targets) and (n, m)."""
        if units.members is not None:
            for unit in chosen.tolist():
                yield self._after(self._directions(units.columns([unit]))[:, None, :], -1)
            return
        count = max(1, ROWS_OF_CANDIDATES // max(1, len(self.residuals)))
        for first in range(0, len(chosen), count):
            residuals = self._residuals_of(chosen[first : first + count].tolist())
            lengths = np.sqrt(np.square(residuals).sum(axis=0))
            yield self._after((residuals / np.where(lengths > 0, lengths, 1.0))[:, :, None], -1)

    def removals(self, units: Units, chosen: Indices) -> Iterator[tuple[Floats, Floats]]:
        """Residuals and leverages after removing each selected unit, in blocks."""
        for unit in chosen.tolist():
            directions = self._whole_basis @ self._projection.directions(units.columns([unit])).T
            yield self._after(directions[:, None, :], +1)

    def _after(self, directions: Floats, sign: int) -> tuple[Floats, Floats]:
        """Residuals and leverages after subtracting (-1) or adding back (+1) directions of shape (n, m, rank)."""
        source = self.residuals if sign < 0 else self._rows.targets
        explained = np.einsum("nmr,mrt->nmt", directions, np.einsum("nmr,nt->mrt", directions, source))
        leverages = self.leverages[:, None] - sign * self._rows.shares[:, None] * np.square(directions).sum(axis=2)
        return self.residuals[:, None, :] + sign * explained, leverages

    def _residuals_of(self, columns: Sequence[int]) -> Floats:
        x = self._centred(columns)
        for _ in range(2):
            x = x - self._basis @ (self._basis.T @ x)
        return x

    def _directions(self, columns: Sequence[int]) -> Floats:
        """Orthonormal directions that a unit adds."""
        at = np.array(columns, dtype=np.intp)
        equations = self._projection.equations
        return orthonormal(self._residuals_of(columns), equations.noise[at] * equations.resolution[0])[0]
