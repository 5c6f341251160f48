"""What the selected features explain: the matrix M, what a criterion reads of it, and what moves would change."""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from dropstep.models.least_squares.problem import Problem

Floats = NDArray[np.float64]

ROUNDING = 1e-12  # share of an eigenvalue of a residual below which what a move leaves of it is rounding
NEAR_EXACT = 1e-9  # share of a residual below which what a move leaves is rounding: such moves are equal


class Change:
    """What each of several moves would do to G: add, or take away, the sum of v v' over the vectors v of a unit.

    Attributes
    ----------
    rank : how many independent features a unit brings; one number when it is the same for all.
    free : whether a unit brings any.
    power : the trace of the sum of v v'.
    """

    def __init__(self, rank: Floats | float, free: NDArray[np.bool_], power: Floats) -> None:
        self.rank, self.free, self.power = rank, free, power

    @property
    def vectors(self) -> Floats:
        """The vectors themselves: units x features of a unit x targets."""
        raise NotImplementedError

    def only(self, at: int) -> Change:
        """One of the moves."""
        raise NotImplementedError


class SingleChange(Change):
    """Moves of one feature each: v = cross / sqrt(left)."""

    def __init__(self, left: Floats, cross: Floats, free: NDArray[np.bool_]) -> None:
        self._left = np.where(free, left, np.inf)
        self._cross = cross
        squares = np.square(cross[:, 0]) if cross.shape[1] == 1 else np.square(cross) @ np.ones(cross.shape[1])
        super().__init__(1.0, free, squares / self._left)

    @property
    def vectors(self) -> Floats:
        return np.asarray(self._cross / np.sqrt(self._left)[:, None])[:, None, :]

    def only(self, at: int) -> Change:
        here = slice(at, at + 1)
        return SingleChange(self._left[here], self._cross[here], self.free[here])


class BlockChange(Change):
    """Moves of several features each."""

    rank: Floats

    def __init__(self, vectors: Floats, rank: Floats) -> None:
        self._vectors = vectors
        super().__init__(rank, rank > 0, np.einsum("umt,umt->u", vectors, vectors))

    def replace(self, unit: int, vectors: Floats) -> None:
        """Give one unit other vectors, one per independent feature."""
        self._vectors[unit] = 0.0
        self._vectors[unit, : len(vectors)] = vectors
        self.rank[unit], self.free[unit] = len(vectors), len(vectors) > 0
        self.power[unit] = np.sum(vectors**2)

    @property
    def vectors(self) -> Floats:
        return self._vectors

    def only(self, at: int) -> Change:
        here = slice(at, at + 1)
        return BlockChange(self._vectors[here], np.asarray(self.rank)[here])


def block_cholesky(residual: Floats, cross: Floats, least: Floats) -> tuple[BlockChange, Floats]:
    """Cholesky factorisation within each unit, all units at once; a feature that depends on earlier ones adds nothing.

    Parameters
    ----------
    residual : array of shape (n_units, m, m)
        Gram matrix of the residuals of each unit's m features.
    cross : array of shape (n_units, m, n_targets)
        Products of these residuals with the targets.
    least : array of shape (n_units, m)
        Pivots up to this value count as zero.

    Returns
    -------
    change : BlockChange
    pivots : array of shape (n_units, m)
        What is left of each feature after the earlier ones of its unit.
    """
    residual, cross = residual.copy(), cross.copy()
    vectors, pivots = np.zeros_like(cross), np.empty(least.shape)
    for t in range(residual.shape[1]):
        pivots[:, t] = residual[:, t, t]
        length = np.sqrt(np.where(pivots[:, t] > least[:, t], pivots[:, t], np.inf))
        w = residual[:, t, :] / length[:, None]
        vectors[:, t] = cross[:, t] / length[:, None]
        residual -= w[:, :, None] * w[:, None, :]
        cross -= w[:, :, None] * vectors[:, t][:, None, :]
    return BlockChange(vectors, (pivots > least).sum(axis=1).astype(np.float64)), pivots


class Explained:
    """The matrix M = base + sign * G of a selection.

    The log-likelihood of an exact fit diverges. In a regression `logdet` and `root` are therefore those of a residual
    whose eigenvalues, relative to the total sums of squares, are at least `Problem.exact_fit`.
    """

    def __init__(self, M: Floats, problem: Problem) -> None:
        self.M, self.problem = M, problem

    @cached_property
    def trace(self) -> float:
        return max(float(sum(self.M.diagonal().tolist())), 0.0)

    @cached_property
    def logdet(self) -> float:
        if len(self.M) == 1:
            return math.log(self.positive[0, 0])
        if self._near_exact:
            return float(self._floored_logdet(self.M, self.problem.exact_fit))
        return float(np.linalg.slogdet(self.M)[1])

    @cached_property
    def root(self) -> Floats:
        """L with L L' = M, lower triangular."""
        M = self.positive
        scale = np.sqrt(np.diagonal(M))
        shares = M / np.outer(scale, scale)
        try:
            return np.asarray(scale[:, None] * np.linalg.cholesky(shares))
        except np.linalg.LinAlgError:  # classes so far apart that one direction drowns the others
            values, vectors = np.linalg.eigh(shares)
            half = np.sqrt(np.maximum(values, np.finfo(np.float64).eps)) * vectors
            return np.asarray(scale[:, None] * np.asarray(np.linalg.qr(half.T, mode="r")).T)

    @cached_property
    def left(self) -> float:
        """Part of the sum of squares that a regression leaves; of several targets, of the best explained mixture."""
        base = self.problem.base
        if len(base) == 1:
            return float(self.M[0, 0] / base[0, 0])
        scale = np.sqrt(np.diagonal(base))
        return float(np.linalg.eigvalsh(self.M / np.outer(scale, scale))[0])

    @cached_property
    def unexplained(self) -> float:
        """Largest share of a target's sum of squares that a regression leaves."""
        return float((np.diagonal(self.M) / np.diagonal(self.problem.base)).max())

    @cached_property
    def _near_exact(self) -> bool:
        """True if some eigenvalue of the residual has to be raised to the exact-fit tolerance."""
        return self.problem.sign < 0 and self.left < self.problem.exact_fit

    @cached_property
    def _scale(self) -> Floats:
        """Square roots of the targets' total sums of squares."""
        return np.sqrt(np.diagonal(self.problem.base))

    @cached_property
    def positive(self) -> Floats:
        """M, with the eigenvalues of a residual raised to the exact-fit tolerance."""
        if not self._near_exact:
            return self.M
        scale, exact = self._scale, self.problem.exact_fit
        if len(scale) == 1:
            return np.asarray(exact * self.problem.base)
        values, vectors = np.linalg.eigh(self.M / np.outer(scale, scale))
        return np.asarray(np.outer(scale, scale) * ((vectors * np.maximum(values, exact)) @ vectors.T))

    def _floored_logdet(self, M: Floats, least: float) -> Floats:
        """Log determinants of residuals, their eigenvalues raised to a share of the total sums of squares."""
        scale = self._scale
        values = np.linalg.eigvalsh(M / np.outer(scale, scale))
        return np.asarray(np.log(np.maximum(values, least)).sum(axis=-1) + 2 * np.log(scale).sum())

    @cached_property
    def least_ratio(self) -> float:
        """Part of det(M) that a move can leave, so that no more than an exact fit is gained."""
        if self.problem.sign > 0:
            return float(np.finfo(np.float64).eps)
        exact = self.problem.exact_fit
        return min(1.0, max(exact / max(self.left, exact), NEAR_EXACT))

    def nearly_exact(self, change: Change) -> bool:
        """True if some addition would leave so little of some target that inner products do not order them."""
        if self.problem.sign > 0 or len(self.M) == 1 or not len(change.power):
            return False
        return self._near_exact or float(self.inner(change).max()) > 1 - NEAR_EXACT

    def plus(self, Z: Floats, sign: int) -> Explained:
        """What is explained with directions more (+1) or less (-1), along which the targets have coordinates Z."""
        return Explained(self.M + sign * self.problem.sign * Z.T @ Z, self.problem)

    def log_ratio(self, change: Change, sign: int) -> Floats:
        """log det(M + sign v v') - log det(M), for each unit: log det(I + sign v' inv(M) v)."""
        if len(self.M) == 1 and self._near_exact:
            floor = self.positive[0, 0]
            return np.asarray(np.log(np.maximum(self.M[0, 0] + sign * change.power, floor) / floor))
        if len(self.M) == 1 or isinstance(change, SingleChange):
            inner = self.inner(change)
            ratio = np.log1p(inner) if sign > 0 else np.log1p(np.maximum(-inner, self.least_ratio - 1))
            largest = inner
        else:
            squares = np.square(np.linalg.svd(self._half(change), compute_uv=False))
            ratio = np.log1p(squares if sign > 0 else -np.minimum(squares, 1 - self.least_ratio)).sum(axis=-1)
            largest = squares.max(axis=-1, initial=0.0)
        if self.problem.sign < 0 and len(self.M) > 1:
            near = (largest > 1 - NEAR_EXACT) & (sign < 0) | self._near_exact
            if near.any():
                v = change.vectors[near]
                after = self.M + sign * np.einsum("umt,ums->uts", v, v)
                least = max(self.problem.exact_fit, ROUNDING * self.left)
                ratio[near] = self._floored_logdet(after, least) - self.logdet
        return np.asarray(ratio)

    def inner(self, change: Change) -> Floats:
        """v' inv(M) v of moves of one feature each, and of units where M is a single number."""
        if len(self.M) == 1:
            return np.asarray(change.power / self.positive[0, 0])
        half = self._half(change)[:, 0, :]
        return np.asarray(np.einsum("ut,ut->u", half, half))

    def _half(self, change: Change) -> Floats:
        """inv(L) v for every vector v."""
        v = change.vectors
        flat = linalg.solve_triangular(self.root, v.reshape(-1, v.shape[2]).T, lower=True, check_finite=False)
        return np.asarray(flat.T.reshape(v.shape))

    def partial(self, change: Change, *, adding: bool) -> Floats:
        """Partial Wilks' lambda of each unit given the others: with the unit over without it, 1 for no effect."""
        sign = 1 if adding == (self.problem.sign > 0) else -1
        if sign < 0 and (len(self.M) == 1 or (isinstance(change, SingleChange) and not self._near_exact)):
            return np.asarray(np.maximum(1 - self.inner(change), self.least_ratio))
        return np.asarray(np.exp(-sign * self.log_ratio(change, sign)))
