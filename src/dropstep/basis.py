"""An orthonormal basis of the span of the selected features, held in one of the two ways in which S can be had.

Both answer the same three questions: what is left of a feature beside the basis, what are the coordinates of
features in the basis, and (columns only) what is left of a few features exactly, where downdating lost digits.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dropstep.columns import Columns
from dropstep.problem import Problem

Floats = NDArray[np.float64]
Features = NDArray[np.intp]
Residual = tuple[float, Floats, Floats]


class Basis(Protocol):
    """What a projection asks of the span of the selected features."""

    tolerance: float  # a feature with less of its noise (its own scatter at first) left is taken for a combination
    rounding: float  # and with less than this, surely so
    targets: Floats | None  # the part of the targets that the basis leaves, when the targets are at hand
    redo: float  # where less of the scatter is left since it was last exact, it is made exact again; 0: it cannot be

    def residual(self, j: int, left: float, cross: Floats, W: Floats, live: Features | None) -> Residual:
        """What is left of feature j: its scatter, its cross products, and its products with the live features."""
        ...

    def extend(self, length: float) -> None:
        """Take the last residual asked for into the basis."""
        ...

    def reflect(self, v: Floats, tau: float) -> None:
        """Turn the basis by I - tau v v'."""
        ...

    def turn(self, H: Floats) -> None:
        """Turn the basis by the orthogonal matrix H."""
        ...

    def give_up(self, Z: Floats) -> None:
        """Give up the last directions, along which the targets had the coordinates Z."""
        ...

    def coordinates(self, features: Features, independent: list[int], inverse: Floats) -> Floats:
        """Coordinates of features in the basis, one column a feature."""
        ...

    def exact(self, features: Features) -> tuple[Floats, Floats, Floats | None]:
        """Coordinates, scatter left and (where targets are at hand) cross products left, made from the rows."""
        ...


def basis_of(problem: Problem) -> Basis:
    return RowsBasis(problem) if isinstance(problem.scatter, Columns) else GramBasis(problem)


class GramBasis:
    """The basis from moments: it exists only through coordinates, S = W'W + what is left."""

    tolerance, rounding = 1e-8, 1e-13
    redo = 0.0
    targets: Floats | None = None

    def __init__(self, problem: Problem) -> None:
        assert isinstance(problem.scatter, np.ndarray)
        self.S = problem.scatter

    def residual(self, j: int, left: float, cross: Floats, W: Floats, live: Features | None) -> Residual:
        if live is None:
            return left, cross, self.S[j] - W[:, j] @ W
        return left, cross, self.S[j, live] - W[:, j] @ W[:, live]

    def extend(self, length: float) -> None:
        pass

    def reflect(self, v: Floats, tau: float) -> None:
        pass

    def turn(self, H: Floats) -> None:
        pass

    def give_up(self, Z: Floats) -> None:
        pass

    def coordinates(self, features: Features, independent: list[int], inverse: Floats) -> Floats:
        return np.asarray(inverse.T @ self.S[np.array(independent, dtype=np.intp)][:, features])

    def exact(self, features: Features) -> tuple[Floats, Floats, Floats | None]:
        raise NotImplementedError("moments hold no rows")


class RowsBasis:
    """The basis as rows: Q with orthonormal columns, and the part of the targets that Q leaves."""

    tolerance, rounding = 1e-15, 1e-18

    def __init__(self, problem: Problem) -> None:
        assert isinstance(problem.scatter, Columns)
        self.columns = problem.scatter
        self.redo = 1e-5 if self.columns.X.dtype == np.float64 or self.columns.in_double else 1e-2
        self.Q = np.empty((len(self.columns.X), 8), order="F")
        self.k = 0
        self.targets = None if problem.targets is None else problem.targets.copy()
        self._last: Floats | None = None

    def _left(self, vectors: Floats) -> Floats:
        """The part of vectors beside the basis; projecting twice is enough (Kahan, Parlett)."""
        if self.k:
            Q = self.Q[:, : self.k]
            vectors = vectors - Q @ (Q.T @ vectors)
            vectors -= Q @ (Q.T @ vectors)
        return vectors

    def residual(self, j: int, left: float, cross: Floats, W: Floats, live: Features | None) -> Residual:
        r = self._left(self.columns.centred(np.array([j])))
        self._last = r[:, 0]
        if self.targets is not None:
            cross = self.targets.T @ self._last
        return float(self._last @ self._last), cross, self.columns.products(r, live)[0]

    def extend(self, length: float) -> None:
        assert self._last is not None
        if self.k == self.Q.shape[1]:
            self.Q = np.concatenate([self.Q, np.empty_like(self.Q)], axis=1)
        q = self._last / length
        self.Q[:, self.k] = q
        self.k += 1
        if self.targets is not None:
            self.targets -= np.outer(q, q @ self.targets)

    def reflect(self, v: Floats, tau: float) -> None:
        Q = self.Q[:, : self.k]
        Q -= np.outer(Q @ v, tau * v)

    def turn(self, H: Floats) -> None:
        self.Q[:, : self.k] = self.Q[:, : self.k] @ H

    def give_up(self, Z: Floats) -> None:
        if self.targets is not None:
            self.targets += self.Q[:, self.k - len(Z) : self.k] @ Z
        self.k -= len(Z)

    def coordinates(self, features: Features, independent: list[int], inverse: Floats) -> Floats:
        return self.columns.products(self.Q[:, : self.k], features)

    def exact(self, features: Features) -> tuple[Floats, Floats, Floats | None]:
        x = self.columns.centred(features)
        Q = self.Q[:, : self.k]
        left = self._left(x)
        cross = None if self.targets is None else left.T @ self.targets
        return Q.T @ x, np.einsum("ij,ij->j", left, left), cross
