"""An orthonormal basis of the span of the selected features, held in one of the two ways in which S can be had.

Both answer the same questions: what are the products of a feature's residual with the others, what are the coordinates
of features in the basis, and (columns only) what is left of features exactly, where differences lost digits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from dropstep.data.columns import Columns
from dropstep.models.least_squares.problem import Problem

Floats = NDArray[np.float64]
Features = NDArray[np.intp]

Likely = Callable[[int, int], list[int]]  # names some features that may be added next, or at most so many

WORTH = 2  # features fetched ahead that must be added for a product of many vectors to be cheaper than one of each,
ALONE = 2  # and how many are fetched alone where fewer were: twice as many, and again twice as many the next time
MOST = 0.5  # part of a vector's scatter that must be left for one projection to be exact; otherwise it takes two


class Basis(Protocol):
    """What a projection asks of the span of the selected features."""

    tolerance: float  # a feature with less of its noise (its own scatter at first) left is taken for a combination
    rounding: float  # and with less than this, surely so
    redo: float  # where less of the scatter is left since it was last exact, it is made exact again; 0: it cannot be
    together: tuple[int, int]  # vectors that it pays to multiply together: so many in any case, and at most
    targets: Floats | None  # the part of the targets that the basis leaves, when the targets are at hand

    def focus(self, live: Features | None) -> None:
        """From now on, products with these features are asked for; None means all."""
        ...

    def fetch(self, j: int, ahead: list[int]) -> tuple[Floats, int]:
        """Products of what is left of j, which was measured last, and of features ahead with the live ones.

        Also beside how many directions it is left.
        """
        ...

    def measure(self, j: int, left: float, cross: Floats) -> tuple[float, Floats]:
        """Scatter and cross products left of feature j, as exact as can be."""
        ...

    def extend(self, length: float) -> None:
        """Take what is left of the feature that was measured last into the basis."""
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

    def coordinates(self, inverse: Floats, independent: list[int], ahead: list[int], out: Floats) -> Floats:
        """Coordinates of all features in the basis, into `out`; and, in the same pass, what `fetch` gives for some."""
        ...

    def settle(self) -> None:
        """Give back what was kept for features that might have been added next."""
        ...

    def exact(self, features: Features) -> tuple[Floats, Floats, Floats | None]:
        """Coordinates, scatter left and (where targets are at hand) cross products left, made from the rows."""
        ...

    def unit_vectors(self, unit: Features, least: Floats, cross: Floats, without: Floats | None, Z: Floats) -> Floats:
        """Vectors that adding a unit would add to G, made from the rows, one per independent feature."""
        ...


def basis_of(problem: Problem) -> Basis:
    return RowsBasis(problem) if isinstance(problem.scatter, Columns) else GramBasis(problem)


class Foresight:
    """How many features to fetch ahead.

    Where features are alike, the next one can hardly be told: what was fetched in vain is not fetched again soon.
    """

    def __init__(self, some: int, most: int) -> None:
        self.some, self.most = some, most
        self.used = 0  # how many of those fetched last were added
        self._fetched, self._vain, self._alone = False, 0, 0

    def ahead(self, needed: int, likely: Likely | None) -> list[int]:
        """Features to fetch along with so many vectors that are needed: a product of 4, 8, 12 ... is the cheapest."""
        if likely is None or self.most <= needed:
            return []
        if self._fetched:
            self._vain = self._vain + 1 if self.used < WORTH else 0
            self._alone = ALONE * 2**self._vain if self._vain else 0
        if self._alone and needed == 1:
            self._alone -= 1
            found = []
        else:
            found = likely(max(self.some, -(-needed // 4) * 4) - needed, self.most - needed)
        self._fetched, self.used = bool(found), 0
        return found


class GramBasis:
    """The basis from moments: it exists only through coordinates, S = W'W + what is left."""

    redo, together = 0.0, (0, 0)
    targets: Floats | None = None

    def __init__(self, problem: Problem) -> None:
        assert isinstance(problem.scatter, np.ndarray)
        self.S = problem.scatter
        self.tolerance, self.rounding = problem.resolution
        self.live: Features | None = None

    def focus(self, live: Features | None) -> None:
        self.live = live

    def fetch(self, j: int, ahead: list[int]) -> tuple[Floats, int]:
        row = self.S[j] if self.live is None else self.S[j, self.live]
        return row[None, :], 0

    def measure(self, j: int, left: float, cross: Floats) -> tuple[float, Floats]:
        return left, cross

    def extend(self, length: float) -> None:
        pass

    def reflect(self, v: Floats, tau: float) -> None:
        pass

    def turn(self, H: Floats) -> None:
        pass

    def give_up(self, Z: Floats) -> None:
        pass

    def coordinates(self, inverse: Floats, independent: list[int], ahead: list[int], out: Floats) -> Floats:
        np.matmul(inverse.T, self.S[np.array(independent, dtype=np.intp)], out=out)
        return out[:0]

    def settle(self) -> None:
        pass

    def exact(self, features: Features) -> tuple[Floats, Floats, Floats | None]:
        raise NotImplementedError("moments hold no rows")

    def unit_vectors(self, unit: Features, least: Floats, cross: Floats, without: Floats | None, Z: Floats) -> Floats:
        raise NotImplementedError("moments hold no rows")


class RowsBasis:
    """The basis as rows: Q with orthonormal columns, and the part of the targets that Q leaves."""

    def __init__(self, problem: Problem) -> None:
        assert isinstance(problem.scatter, Columns)
        self.columns = problem.scatter
        n, p = self.columns.X.shape
        single = self.columns.X.dtype == np.float32 and not self.columns.in_double
        self.tolerance, self.rounding = problem.resolution
        self.redo = 1e-2 if single else 1e-5
        # A product with 16 vectors takes little longer than one with 4, and one with 32 half as long again; its result
        # must stay a small part of X.
        self.together = (0, 0) if problem.small else (min(16, 1 + n // 32), min(32, 1 + n // 32))
        self.targets = None if problem.targets is None else problem.targets.copy()
        self.k = 0
        self._Q = np.empty((n, 8), order="F")
        self._measured = np.empty(0)
        self._place = np.empty((0, p))
        self._fetched: dict[int, Floats] = {}  # what was left of the features that were fetched ahead
        self._near, self._held = self.columns, np.arange(p)
        self._pick: Features | None = None

    @property
    def Q(self) -> Floats:
        return self._Q[:, : self.k]

    def focus(self, live: Features | None) -> None:
        """A few live features are copied side by side; otherwise all that are held are multiplied, and these picked."""
        n, p = self.columns.X.shape
        if live is None:
            self._near, self._held, self._pick = self.columns, np.arange(p), None
        elif 2 * len(live) <= len(self._held) and (10 * len(live) <= p or n * p <= 2**18):
            self._near, self._held, self._pick = self.columns.take(live), live, None
        else:
            self._pick = np.searchsorted(self._held, live)

    def _centred(self, features: Features) -> Floats:
        """Columns of features, from those that lie side by side if they do."""
        if self._near is self.columns:
            return self.columns.centred(features)
        at = np.minimum(np.searchsorted(self._held, features), len(self._held) - 1)
        here = np.array_equal(self._held[at], features)
        return self._near.centred(at) if here else self.columns.centred(features)

    def _left(self, vectors: Floats) -> Floats:
        """The part of vectors beside the basis; projecting twice is enough (Kahan, Parlett)."""
        return self._beside(self._beside(vectors)) if self.k else vectors

    def _beside(self, vectors: Floats) -> Floats:
        Q = self._Q[:, : self.k]
        return np.asarray(vectors - Q @ (Q.T @ vectors))

    def fetch(self, j: int, ahead: list[int]) -> tuple[Floats, int]:
        products = self._products(self._with_ahead(self._measured[:, None], ahead))
        return products if self._pick is None else products[:, self._pick], self.k

    def _products(self, vectors: Floats) -> Floats:
        """Products with the features held, in a place that the next ones will take."""
        m, p = vectors.shape[1], len(self._held)
        if self._place.shape[0] < m or self._place.shape[1] != p:
            self._place = np.empty((0, p))  # give the old one back first
            self._place = np.empty((m, p))
        return self._near.products(vectors, self._place[:m])

    def _with_ahead(self, vectors: Floats, ahead: list[int]) -> Floats:
        """Vectors, and beside them what is left of features, which is kept for when they are added."""
        if not ahead:
            return vectors
        left = self._left(self._centred(np.array(ahead, dtype=np.intp)))
        self._fetched = dict(zip(ahead, left.T, strict=True))
        return np.hstack([vectors, left])

    def measure(self, j: int, left: float, cross: Floats) -> tuple[float, Floats]:
        x = self._fetched.pop(j, None)
        if x is None:
            x = self.columns.X[:, j] if self.columns.means is None else self._centred(np.array([j]))[:, 0]
        r = self._beside(x) if self.k else x
        left = float(r @ r)
        if self.k and left < MOST * float(x @ x):
            r = self._beside(r)
            left = float(r @ r)
        self._measured = r
        return left, cross if self.targets is None else r @ self.targets

    def extend(self, length: float) -> None:
        if self.k == self._Q.shape[1]:
            self._Q = np.concatenate([self._Q, np.empty_like(self._Q)], axis=1)
        q = np.divide(self._measured, length, out=self._Q[:, self.k])
        self.k += 1
        if self.targets is not None:
            self.targets -= np.multiply.outer(q, q @ self.targets)

    def reflect(self, v: Floats, tau: float) -> None:
        Q = self.Q
        Q -= np.multiply.outer(Q @ v, tau * v)

    def turn(self, H: Floats) -> None:
        self._Q[:, : self.k] = self.Q @ H

    def give_up(self, Z: Floats) -> None:
        if self.targets is not None:
            self.targets += self._Q[:, self.k - len(Z) : self.k] @ Z
        self.k -= len(Z)
        self._fetched = {}  # they are beside what was given up as well

    def coordinates(self, inverse: Floats, independent: list[int], ahead: list[int], out: Floats) -> Floats:
        if not ahead:
            return self.columns.products(self.Q, out)[:0]
        products = self._products(self._with_ahead(self.Q, ahead))
        out[:] = products[: self.k]
        return products[self.k :]

    def settle(self) -> None:
        self._fetched, self._place = {}, np.empty((0, 0))

    def exact(self, features: Features) -> tuple[Floats, Floats, Floats | None]:
        x = self.columns.centred(features)
        left = self._left(x)
        cross = None if self.targets is None else left.T @ self.targets
        return self.Q.T @ x, np.einsum("ij,ij->j", left, left), cross

    def unit_vectors(self, unit: Features, least: Floats, cross: Floats, without: Floats | None, Z: Floats) -> Floats:
        x = self.columns.centred(unit)
        removed = np.empty((len(x), 0)) if without is None else self.Q @ without.T
        residuals = self._left(x) + removed @ (removed.T @ x)
        directions, independent = orthonormal(residuals, least)
        if self.targets is not None:
            targets = self.targets if without is None else self.targets + removed @ (without @ Z)
            return np.asarray(directions.T @ targets)
        kept = Z if without is None else Z - without.T @ (without @ Z)
        cross = (cross - x.T @ self.Q @ kept)[independent]
        triangle = directions.T @ residuals[:, independent]
        return np.asarray(linalg.solve_triangular(triangle, cross, trans="T"))


def orthonormal(columns: Floats, least: Floats) -> tuple[Floats, list[int]]:
    """Gram-Schmidt, twice per column: an orthonormal basis, and the columns that do not depend on earlier ones.

    A column depends on earlier ones if its squared residual is at most `least`.
    """
    basis, independent = np.empty((len(columns), 0)), []
    for j, residual in enumerate(columns.T):
        for _ in range(2):
            residual = residual - basis @ (basis.T @ residual)
        if (length := float(residual @ residual)) > least[j]:
            basis = np.column_stack([basis, residual / np.sqrt(length)])
            independent.append(j)
    return basis, independent
