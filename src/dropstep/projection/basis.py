"""An orthonormal basis of the span of the selected features, for both solvers.

Both answer the same questions: the residual of a feature, the products of directions with the features, the coordinates
of features in the basis, and (columns only) exact residuals where differences lost digits.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from dropstep.data.columns import SMALL, Columns
from dropstep.projection.equations import NormalEquations

Floats = NDArray[np.float64]
Features = NDArray[np.intp]

REORTHOGONALIZE_BELOW = 0.5  # residual share of a vector below which one projection is not exact, and a second is made
MAX_CENTRED = 2**22  # values (32 MB) of columns that are centred at a time, where their number is not limited
COPY_BELOW = 0.1  # share of the features below which the live ones are copied next to each other


class Basis(Protocol):
    """What a projection needs to know of the span of the selected features.

    Attributes
    ----------
    tolerance, rounding : float
        Residuals, relative to the noise of a feature, that count as linearly dependent, and that certainly are.
    recompute_below : float
        Residuals are recomputed from the rows once they fall below this share of their last exact value; 0 if they
        cannot be.
    batch_limits : tuple of int
        Number of vectors in a product that is worthwhile in any case, and at most.
    targets : ndarray or None
        Residuals of the targets, where the targets are available.
    """

    tolerance: float
    rounding: float
    recompute_below: float
    batch_limits: tuple[int, int]
    targets: Floats | None

    def restrict_to(self, live: Features | None) -> None:
        """From now on compute products with these features only; None means all."""
        ...

    def measure(self, j: int, residual_ss: float, residual_cross: Floats) -> tuple[float, Floats]:
        """Residual sum of squares and cross products of feature j, as exact as possible."""
        ...

    def extend(self, length: float) -> None:
        """Add the residual that was measured last to the basis."""
        ...

    def products(self, directions: list[int], prefetch: list[int]) -> Floats:
        """Products of directions of the basis, then of the residuals of prefetched features, with the live features."""
        ...

    def reflect(self, v: Floats, tau: float) -> None:
        """Reflect the basis by I - tau v v'."""
        ...

    def rotate(self, H: Floats) -> None:
        """Rotate the basis by the orthogonal matrix H."""
        ...

    def remove_last(self, Z: Floats) -> None:
        """Remove the last directions, along which the targets had the coordinates Z."""
        ...

    def coordinates(self, inverse: Floats, independent: list[int], prefetch: list[int], out: Floats) -> Floats:
        """Coordinates of all features in the basis, into `out`; returns products of prefetched features as well."""
        ...

    def factor(self, independent: list[int], W: Floats) -> Floats:
        """R with S_AA = R'R for the features that span the basis, as exact as possible; W are all coordinates."""
        ...

    def release(self) -> None:
        """Free what was kept for prefetched features."""
        ...

    def residuals(self, features: Features) -> tuple[Floats, Floats, Floats | None]:
        """Coordinates, residual sums of squares and (with targets) cross products, computed from the rows."""
        ...

    def unit_vectors(self, unit: Features, least: Floats, cross: Floats, without: Floats | None, Z: Floats) -> Floats:
        """Vectors that adding a unit would add to G, computed from the rows, one per independent feature."""
        ...


def basis_of(equations: NormalEquations) -> Basis:
    return RowsBasis(equations) if isinstance(equations.scatter, Columns) else GramBasis(equations)


class GramBasis:
    """The basis from a Gram matrix: it exists through coordinates only, S = W'W + residual."""

    recompute_below, batch_limits = 0.0, (0, 0)
    targets: Floats | None = None

    def __init__(self, equations: NormalEquations) -> None:
        assert isinstance(equations.scatter, np.ndarray)
        self.S = equations.scatter
        self.tolerance, self.rounding = equations.resolution

    def restrict_to(self, live: Features | None) -> None:
        pass

    def measure(self, j: int, residual_ss: float, residual_cross: Floats) -> tuple[float, Floats]:
        return residual_ss, residual_cross

    def extend(self, length: float) -> None:
        pass

    def products(self, directions: list[int], prefetch: list[int]) -> Floats:
        raise NotImplementedError("a Gram matrix has the products of features, not of directions")

    def reflect(self, v: Floats, tau: float) -> None:
        pass

    def rotate(self, H: Floats) -> None:
        pass

    def remove_last(self, Z: Floats) -> None:
        pass

    def coordinates(self, inverse: Floats, independent: list[int], prefetch: list[int], out: Floats) -> Floats:
        np.matmul(inverse.T, self.S[np.array(independent, dtype=np.intp)], out=out)
        return out[:0]

    def factor(self, independent: list[int], W: Floats) -> Floats:
        return W[:, independent]

    def release(self) -> None:
        pass

    def residuals(self, features: Features) -> tuple[Floats, Floats, Floats | None]:
        raise NotImplementedError("a Gram matrix has no rows")

    def unit_vectors(self, unit: Features, least: Floats, cross: Floats, without: Floats | None, Z: Floats) -> Floats:
        raise NotImplementedError("a Gram matrix has no rows")


class RowsBasis:
    """The basis as columns: Q with orthonormal columns, and the residuals of the targets given Q."""

    def __init__(self, equations: NormalEquations) -> None:
        assert isinstance(equations.scatter, Columns)
        self.columns = equations.scatter
        n, p = self.columns.X.shape
        single = self.columns.X.dtype == np.float32 and not self.columns.in_double
        self._copy = self.columns.copy
        self.tolerance, self.rounding = equations.resolution
        self.recompute_below = 1e-2 if single else 1e-5
        # A product with 16 vectors takes little longer than one with 4, and one with 32 half as long again; its result
        # must stay a small part of X.
        small = self.columns.X.size <= SMALL
        self.batch_limits = (0, 0) if small else (min(16, 1 + n // 32), min(32, 1 + n // 32))
        self.targets = None if equations.targets is None else equations.targets.copy()
        self.size = 0
        self._Q = np.empty((n, 8), order="F")
        self._measured = np.empty(0)
        self._buffer = np.empty((0, p))
        self._prefetched: dict[int, Floats] = {}  # residuals of the features that were prefetched
        self._live: Features | None = None
        self._held_columns, self._held = self.columns, np.arange(p)

    @property
    def Q(self) -> Floats:
        return self._Q[:, : self.size]

    def restrict_to(self, live: Features | None) -> None:
        self._live = live
        if live is None:
            self._held_columns, self._held = self.columns, np.arange(self.columns.X.shape[1])

    def _hold_live(self, live: Features) -> None:
        """Copy the live features next to each other if they are few, before products with them."""
        X = self.columns.X
        few = 2 * len(live) <= len(self._held) and len(live) <= COPY_BELOW * X.shape[1]
        if few and X.can_copy(len(live)):
            at = np.searchsorted(self._held, live)  # in the previous copy, which is smaller than X
            self._held_columns, self._held = self._held_columns.take(at), live

    def _centred(self, features: Features) -> Floats:
        """Columns of features, from the copies if all of them have one."""
        if self._held_columns is self.columns:
            return self.columns.centred(features)
        at = np.minimum(np.searchsorted(self._held, features), len(self._held) - 1)
        here = np.array_equal(self._held[at], features)
        return self._held_columns.centred(at) if here else self.columns.centred(features)

    def _residual(self, vectors: Floats) -> Floats:
        """Residuals of vectors given the basis; projecting twice is enough (Kahan, Parlett)."""
        if not self.size:
            return vectors
        residuals = self._projected_out(vectors)
        small = _squares(residuals) < REORTHOGONALIZE_BELOW * _squares(vectors)
        if small.any():
            residuals[:, small] = self._projected_out(residuals[:, small])
        return residuals

    def _projected_out(self, vectors: Floats) -> Floats:
        Q = self._Q[:, : self.size]
        residuals: Floats = vectors - Q @ (Q.T @ vectors)
        return residuals

    def measure(self, j: int, residual_ss: float, residual_cross: Floats) -> tuple[float, Floats]:
        x = self._prefetched.pop(j, None)
        if x is None:
            x = self._centred(np.array([j]))[:, 0] if self._copy is None else self._copy[:, j]
        r = self._projected_out(x) if self.size else x
        residual_ss = float(r @ r)
        if self.size and residual_ss < REORTHOGONALIZE_BELOW * float(x @ x):
            r = self._projected_out(r)
            residual_ss = float(r @ r)
        self._measured = r
        return residual_ss, residual_cross if self.targets is None else r @ self.targets

    def extend(self, length: float) -> None:
        if self.size == self._Q.shape[1]:
            self._Q = np.concatenate([self._Q, np.empty_like(self._Q)], axis=1)
        q = np.divide(self._measured, length, out=self._Q[:, self.size])
        self.size += 1
        if self.targets is not None:
            self.targets -= q[:, None] * (q @ self.targets)

    def products(self, directions: list[int], prefetch: list[int]) -> Floats:
        vectors, live = self._Q[:, directions], self._live
        if live is not None:
            self._hold_live(live)
        products = self._multiplied(self._with_prefetched(vectors, prefetch) if prefetch else vectors)
        return products if live is None or live is self._held else products[:, np.searchsorted(self._held, live)]

    def _multiplied(self, vectors: Floats) -> Floats:
        """Products with the features held, in a buffer that the next ones reuse."""
        m, p, room = vectors.shape[1], self._held.shape[0], self._buffer.shape
        if room[0] < m or room[1] != p:
            self._buffer = np.empty((0, p))  # free the old one first
            self._buffer = np.empty((m, p))
        return self._held_columns.products(vectors, self._buffer[:m])

    def _with_prefetched(self, vectors: Floats, prefetch: list[int]) -> Floats:
        """Vectors, and the residuals of features, which are kept until these are added."""
        residuals = self._residual(self._centred(np.array(prefetch, dtype=np.intp)))
        self._prefetched = dict(zip(prefetch, residuals.T, strict=True))
        return np.hstack([vectors, residuals])

    def reflect(self, v: Floats, tau: float) -> None:
        Q = self.Q
        Q -= np.multiply.outer(Q @ v, tau * v)

    def rotate(self, H: Floats) -> None:
        self._Q[:, : self.size] = self.Q @ H

    def remove_last(self, Z: Floats) -> None:
        if self.targets is not None:
            self.targets += self._Q[:, self.size - len(Z) : self.size] @ Z
        self.size -= len(Z)
        self._prefetched = {}  # residuals given the removed directions as well

    def coordinates(self, inverse: Floats, independent: list[int], prefetch: list[int], out: Floats) -> Floats:
        if not prefetch:
            return self.columns.products(self.Q, out)[:0]
        products = self._multiplied(self._with_prefetched(self.Q, prefetch))
        out[:] = products[: self.size]
        return products[self.size :]

    def factor(self, independent: list[int], W: Floats) -> Floats:
        """From centred columns in float64: products with X itself may have too few digits."""
        if self._copy is not None:
            return W[:, independent]
        return np.asarray(self.Q.T @ self.columns.centred(np.array(independent, dtype=np.intp)))

    def release(self) -> None:
        self._prefetched, self._buffer = {}, np.empty((0, 0))

    def residuals(self, features: Features) -> tuple[Floats, Floats, Floats | None]:
        step = max(1, MAX_CENTRED // self.columns.X.shape[0])
        parts = [self._residuals(features[i : i + step]) for i in range(0, len(features), step)]
        coordinates, sums_of_squares, cross = (list(part) for part in zip(*parts, strict=True))
        joined = None if self.targets is None else np.vstack(cross)
        return np.hstack(coordinates), np.concatenate(sums_of_squares), joined

    def _residuals(self, features: Features) -> tuple[Floats, Floats, Floats]:
        x = self.columns.centred(features)
        residuals = self._residual(x)
        cross = np.empty((0, 0)) if self.targets is None else residuals.T @ self.targets
        return self.Q.T @ x, np.einsum("ij,ij->j", residuals, residuals), cross

    def unit_vectors(self, unit: Features, least: Floats, cross: Floats, without: Floats | None, Z: Floats) -> Floats:
        x = self.columns.centred(unit)
        removed = np.empty((len(x), 0)) if without is None else self.Q @ without.T
        residuals = self._residual(x) + removed @ (removed.T @ x)
        directions, independent = orthonormal(residuals, least)
        if self.targets is not None:
            targets = self.targets if without is None else self.targets + removed @ (without @ Z)
            return np.asarray(directions.T @ targets)
        kept = Z if without is None else Z - without.T @ (without @ Z)
        cross = (cross - x.T @ self.Q @ kept)[independent]
        triangle = directions.T @ residuals[:, independent]
        return np.asarray(linalg.solve_triangular(triangle, cross, trans="T"))


def _squares(vectors: Floats) -> Floats:
    return np.asarray(np.einsum("ij,ij->j", vectors, vectors))


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
