"""What the selected features explain: the matrix M, what a criterion reads of it, and what moves would change."""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from dropstep.problem import Problem

Floats = NDArray[np.float64]


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

    def __init__(self, vectors: Floats, rank: Floats) -> None:
        self._vectors = vectors
        super().__init__(rank, rank > 0, np.einsum("umt,umt->u", vectors, vectors))

    @property
    def vectors(self) -> Floats:
        return self._vectors

    def only(self, at: int) -> Change:
        here = slice(at, at + 1)
        return BlockChange(self._vectors[here], np.asarray(self.rank)[here])


def eliminated(left: Floats, cross: Floats, least: Floats) -> BlockChange:
    """Elimination within each unit, all units at once; a feature in the span of the earlier ones adds nothing."""
    left, cross = left.copy(), cross.copy()
    vectors, rank = np.zeros_like(cross), np.zeros(len(cross))
    for t in range(left.shape[1]):
        free = left[:, t, t] > least[:, t]
        length = np.sqrt(np.where(free, left[:, t, t], np.inf))
        w = left[:, t, :] / length[:, None]
        vectors[:, t] = cross[:, t] / length[:, None]
        left -= w[:, :, None] * w[:, None, :]
        cross -= w[:, :, None] * vectors[:, t][:, None, :]
        rank += free
    return BlockChange(vectors, rank)


class Explained:
    """The matrix M = base + sign * G of a selection.

    Where a regression leaves less than rounding, `logdet` and `root` are those of a residual of that size: an exact fit
    has a likelihood, if one without meaning.
    """

    def __init__(self, M: Floats, problem: Problem) -> None:
        self.M, self.problem = M, problem
        self.value: float | None = None  # the score, once a criterion has read it

    @cached_property
    def trace(self) -> float:
        return max(float(sum(self.M.diagonal().tolist())), 0.0)

    @cached_property
    def logdet(self) -> float:
        if len(self.M) == 1:
            return math.log(self.positive[0, 0])
        return float(np.linalg.slogdet(self.positive)[1])

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
    def positive(self) -> Floats:
        """M, raised to rounding where less is left."""
        exact = self.problem.exact_fit
        if self.problem.sign > 0 or self.left >= exact:
            return self.M
        return np.asarray(self.M + np.diag((exact - self.left) * np.diagonal(self.problem.base)))

    @cached_property
    def least_ratio(self) -> float:
        """Part of det(M) that a move can leave, so that no more than an exact fit is gained."""
        if self.problem.sign > 0:
            return float(np.finfo(np.float64).eps)
        exact = max(self.problem.exact_fit, float(np.finfo(np.float64).eps))
        return min(1.0, exact / max(self.left, exact))

    def plus(self, Z: Floats, sign: int) -> Explained:
        """What is explained with directions more (+1) or less (-1), along which the targets have coordinates Z."""
        return Explained(self.M + sign * self.problem.sign * Z.T @ Z, self.problem)

    def log_ratio(self, change: Change, sign: int) -> Floats:
        """log det(M + sign v v') - log det(M), for each unit: log det(I + sign v' inv(M) v)."""
        if isinstance(change, SingleChange):
            inner = self.inner(change)
            return np.log1p(inner) if sign > 0 else np.log1p(np.maximum(-inner, self.least_ratio - 1))
        half = self._half(change)
        inner = np.eye(half.shape[1]) + sign * np.einsum("umt,ult->uml", half, half)
        signs, logs = np.linalg.slogdet(inner)
        return np.maximum(np.where(signs > 0, logs, -np.inf), math.log(self.least_ratio))

    def inner(self, change: Change) -> Floats:
        """v' inv(M) v of moves of one feature each."""
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
        """Wilks' lambda with a unit over lambda without it, for additions or for removals: 1 means it tells nothing."""
        grows = adding == (self.problem.sign > 0)
        if isinstance(change, SingleChange):
            inner = self.inner(change)
            return np.asarray(1 / (1 + inner) if grows else np.maximum(1 - inner, 0.0))
        sign = 1 if grows else -1
        return np.asarray(np.exp(-sign * self.log_ratio(change, sign)))
