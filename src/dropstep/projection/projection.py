"""The projection: every feature minus its part in the span of the selected. The only linear algebra of the search."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from scipy.linalg import lapack

from dropstep.models.least_squares.explained import Change, Explained, SingleChange, block_cholesky
from dropstep.models.least_squares.problem import Problem
from dropstep.projection.basis import Foresight, Likely, basis_of

Floats = NDArray[np.float64]
Features = NDArray[np.intp]

MORE = 32  # directions for which room is made at a time, if that is a small part of X,
ROOM = 2**16  # or in this many numbers
APART = 1e-6  # part of its scatter that a feature must have between classes, for classes to be apart by it
KEPT = 1e-3  # part of the scatter that must be left since products were fetched, for them to have their digits


class _Row(NamedTuple):
    """Products of what was left of a feature, beside the first `size` directions, with the live features."""

    products: Floats
    size: int
    left: float


class Projection:
    """Every feature beside the span of the selected features A.

    Invariant, with R = W[:, independent], so that S_AA = R'R, and Z the coordinates of the targets:

        W = inv(R)' S_A      left = diag(S) - diag(W'W)      cross = C - W'Z      M = base + sign * Z'Z

    for every feature that is live; the others are brought up to date when they are recalled.
    Adding a feature adds a row to W; removing one turns the rows of W by a reflection, and takes off the last.
    """

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.basis = basis_of(problem)
        self.left = problem.diagonal.copy()
        self.cross = problem.cross.copy()
        self.explained = Explained(problem.base, problem)
        self.selected: list[int] = []
        self.independent: list[int] = []
        self.doubtful: set[int] = set()  # features taken for combinations that may be none: the digits do not tell
        self.imprecise = False  # whether moments have too few digits for what was met so far
        self._resting: Features | None = None
        self._live: Features | None = None
        self._noise = problem.noise.copy()
        self._least = self._noise * self.basis.tolerance  # what must be left of a feature that is no combination
        self._shakiest = 0.0
        self._thin = problem.diagonal * self.basis.redo  # where less is left, the difference has lost its digits
        self._rows: dict[int, _Row] = {}
        self._foresight = Foresight(*self.basis.together)
        self._low = 0  # how many features had nothing left when this was last looked at
        self._more = max(4, min(MORE, int(problem.n) // 16), min(ROOM // problem.n_features, problem.n_features))
        self._W = np.empty((self._more, problem.n_features))  # a row is filled when its direction is added
        self._Z = np.zeros((self._more, problem.n_targets))
        self._inverse = np.zeros((0, 0))
        self._spanning = np.zeros(self._more, dtype=np.intp)  # `independent`, as an array

    @property
    def size(self) -> int:
        """Number of linearly independent selected features."""
        return len(self.independent)

    @property
    def W(self) -> Floats:
        return self._W[: self.size]

    @property
    def Z(self) -> Floats:
        return self._Z[: self.size]

    @property
    def inverse(self) -> Floats:
        """inv(R), so that inv(S_AA) = inv(R) inv(R)'; brought up to date when it is asked for."""
        known, size = len(self._inverse), self.size
        if known < size:
            new = self._W[:size, self.independent[known:]]
            corner = np.triu(lapack.dtrtri(new[known:])[0])
            inverse = np.zeros((size, size))
            inverse[:known, :known] = self._inverse
            inverse[:known, known:] = -self._inverse @ new[:known] @ corner
            inverse[known:, known:] = corner
            self._inverse = inverse
        return self._inverse

    # --- what moves would do -----------------------------------------------------------------------------------------

    def additions(self, features: Features | None, without: Floats | None = None) -> Change:
        """What adding each one of the features (None: of all) would do, once directions were given up before."""
        if features is None:
            left, cross, least = self.left, self.cross, self._least
        else:
            left, cross = self.left.take(features), self.cross.take(features, axis=0)
            least = self._least.take(features)
        if without is not None:
            W = without @ (self.W if features is None else self.W[:, features])
            left = left + np.einsum("ij,ij->j", W, W)
            cross = cross + W.T @ (without @ self.Z)
        return SingleChange(left, cross, left > least)

    def block_additions(self, members: Features, blocks: Floats, without: Floats | None = None) -> Change:
        """What adding each unit of m features would do: `members` is units x m, `blocks` the scatter within units."""
        W = self.W[:, members]
        residual, cross = blocks - np.einsum("kum,kul->uml", W, W), self.cross[members]
        if without is not None:
            W = np.einsum("rk,kum->rum", without, W)
            residual = residual + np.einsum("rum,rul->uml", W, W)
            cross = cross + np.einsum("rum,rt->umt", W, without @ self.Z)
        least = self._least[members]
        change, pivots = block_cholesky(residual, cross, least)
        if self.basis.redo:
            thin = (pivots < self.problem.diagonal[members] * self.basis.redo).any(axis=1)
            for u in np.flatnonzero(thin).tolist():
                cross_of_unit = self.problem.cross[members[u]]
                change.replace(u, self.basis.unit_vectors(members[u], least[u], cross_of_unit, without, self.Z))
        return change

    def removals(self, places: list[int]) -> Change:
        """What removing each independent feature, by its place in `independent`, would do."""
        inverse = self.inverse[places]
        length = np.einsum("ij,ij->i", inverse, inverse)
        return SingleChange(length, inverse @ self.Z, np.ones(len(places), dtype=bool))

    def removal(self, features: Sequence[int]) -> Floats:
        """The vectors that removing features together would take, when others may take their place in the span."""
        return np.asarray(self.directions(features) @ self.Z)

    def directions(self, features: Sequence[int]) -> Floats:
        """The directions of the basis, orthonormal rows, that would be given up with the features."""
        if len(features) == 1 and len(self.selected) == self.size:
            h = self.inverse[self.independent.index(features[0])]
            return np.asarray(h / np.sqrt(h @ h))[None, :]
        H, rank, _ = self._without(features)
        return H[:, rank:].T

    def separating(self) -> list[int]:
        """Features in the span of the selected within classes, but not between them: together they separate classes."""
        if self.problem.sign < 0:
            return []
        between = np.einsum("ij,ij->i", self.cross, self.cross)
        own = self.problem.diagonal + np.einsum("ij,ij->i", self.problem.cross, self.problem.cross)
        found = (self.left <= self._least) & (self.problem.diagonal > 0) & (between > APART * own)
        found[self.selected] = False
        return [int(j) for j in np.flatnonzero(found)]

    # --- moves -------------------------------------------------------------------------------------------------------

    def add(self, features: Sequence[int], likely: Likely | None = None) -> None:
        """Select features. Those in the span of the selected are selected too, but add no direction.

        `likely(some, most)` names features that may be added next; their products are fetched in the same pass.
        """
        for j in features:
            self.selected.append(j)
            if self.left[j] > self._least[j]:
                self._add(j, likely)

    def _add(self, j: int, likely: Likely | None) -> None:
        k = self.size
        left, cross = self.basis.measure(j, float(self.left[j]), self.cross[j])
        if left <= self._least[j]:  # seen exactly, it lies in the span
            self.left[j] = 0.0
            return
        products = self._products(j, likely)
        length = math.sqrt(left)
        self.basis.extend(length)
        self._grow(k + 1)
        row, z = self._W[k], cross / length
        if self._live is None:
            w = np.divide(products, length, out=row)
        else:
            row[:] = 0.0
            w = row[self._live] = products / length
        self._Z[k] = z
        self.independent.append(j)
        self._explain(z[None, :], +1)
        square = np.square(w)
        self._update(w, square, z, -1)
        row[j] = length
        self._spanning[k] = j
        self.left[self._spanning[: k + 1]] = 0.0
        self.cross[j] = self._thin[j] = 0.0
        if self.basis.redo:
            self._make_exact()
        else:
            self._spread_noise(square, float(self._noise[j] / left))

    def _products(self, j: int, likely: Likely | None) -> Floats:
        """Products of what is left of feature j with the live features: fetched with it, or some steps ago."""
        kept = self._rows.pop(j, None)
        if kept is not None:
            self._foresight.used += 1
        if kept is None or self.left[j] < KEPT * kept.left:
            ahead = self._foresight.ahead(1, likely)
            self._rows = {}  # the next products take their place
            products, k = self.basis.fetch(j, ahead)
            kept = _Row(products[0], k, float(self.left[j]))
            self._rows = {i: _Row(row, k, float(self.left[i])) for i, row in zip(ahead, products[1:], strict=True)}
        return self._up_to_date(j, kept)

    def _up_to_date(self, j: int, kept: _Row) -> Floats:
        if kept.size == self.size:
            return kept.products
        W = self._W[kept.size : self.size]
        return np.asarray(kept.products - W[:, j] @ (W if self._live is None else W[:, self._live]))

    def _spread_noise(self, square: Floats, shaky: float) -> None:
        """Rounding in a direction, by its noise / scatter left, is in every feature that has a part along it."""
        self._shakiest = max(self._shakiest, shaky)
        if self._live is None:
            self._noise += shaky * square
        else:
            self._noise[self._live] += shaky * square
        self._least = self._noise * self.basis.tolerance
        low = int(np.count_nonzero(self.left <= self._least))
        if low > self._low + 1:  # more than the one that was added
            live = np.arange(len(self.left)) if self._live is None else self._live
            self._doubt(live, self.left[live])
        self._low = low

    def _doubt(self, features: Features, left: Floats) -> None:
        """Remember features of which so little is left that it may be something or rounding."""
        noise = self._noise[features]
        grey = (left <= noise * self.basis.tolerance) & (left > noise * self.basis.rounding)
        if grey.any():
            self.doubtful.update(features[grey].tolist())
        if not self.basis.redo:
            self.imprecise = self.imprecise or bool(self.doubtful - set(self.selected)) or bool(self.separating())

    def _update(self, w: Floats, square: Floats, z: Floats, sign: int) -> None:
        """Take the direction w, z out of what is left of the live features (-1), or put it back (+1)."""
        change = (sign * z[0]) * w[:, None] if len(z) == 1 else np.multiply.outer(w, sign * z)
        if self._live is None:
            left = np.add(self.left, square, out=self.left) if sign > 0 else np.subtract(self.left, square, self.left)
            np.abs(left, out=left)  # rounding may leave less than nothing
            self.cross += change
        else:
            at = self._live
            self.left[at] = np.abs(self.left[at] + sign * square)
            self.cross[at] += change

    def _make_exact(self) -> None:
        """Where most of the scatter went since it was last exact, the difference lost digits: make it from the rows."""
        thin = self.left < self._thin
        if self._live is not None:
            thin &= _mask(self._live, len(thin))
        if not thin.any():
            return
        at = np.flatnonzero(thin)
        coordinates, left, cross = self.basis.exact(at)
        self._W[: self.size, at] = coordinates
        found = left > self._least[at]
        self.left[at] = np.where(found, left, 0.0)
        self._thin[at] = np.where(found, left * self.basis.redo, 0.0)
        self.cross[at] = self.problem.cross[at] - coordinates.T @ self.Z if cross is None else cross
        self._doubt(at, left)

    def remove(self, features: Sequence[int]) -> None:
        """Take features out again. A selected feature that they had put in the span gets its own direction back."""
        self._rows = {i: _Row(self._up_to_date(i, kept), self.size, kept.left) for i, kept in self._rows.items()}
        if len(features) == 1 and len(self.selected) == self.size:
            self._remove(features[0])
        else:
            self._remove_block(features)
        for j in features:
            self.selected.remove(j)
        self.cross[self.independent] = 0.0
        if self.basis.redo:
            np.maximum(self._thin, self.left * self.basis.redo, out=self._thin)
        else:
            self._settle_noise()

    def _settle_noise(self) -> None:
        """After a turn of the basis every direction is taken for as shaky as the worst."""
        self._noise = self.problem.noise + self._shakiest * np.einsum("ij,ij->j", self.W, self.W)
        self._least = self._noise * self.basis.tolerance
        self._low = 0

    def _remove(self, j: int) -> None:
        """The direction given up is row i of inv(R); a reflection makes it the last one."""
        i = self.independent.index(j)
        v = self.inverse[i].copy()
        v /= np.sqrt(v @ v)
        v[-1] += 1.0 if v[-1] >= 0 else -1.0
        tau = 2 / (v @ v)
        for rows in (self.W, self.Z):
            rows -= np.outer(tau * v, v @ rows)
        inverse = self.inverse - np.outer(self.inverse @ v, tau * v)
        self._inverse = np.delete(inverse, i, axis=0)[:, :-1]
        self.basis.reflect(v, tau)
        self.independent.pop(i)
        self._give_up(1)

    def _remove_block(self, features: Sequence[int]) -> None:
        H, rank, kept = self._without(features)
        size = self.size
        self._W[:size] = H.T @ self.W
        self._Z[:size] = H.T @ self.Z
        self.basis.turn(H)
        self.independent = kept
        self._inverse = linalg.solve_triangular(self._W[:rank, kept], np.eye(rank))
        self._give_up(size - rank)

    def _give_up(self, count: int) -> None:
        """The last `count` directions, past the size, go back to what is left of the features."""
        size = self.size
        Z = self._Z[size : size + count]
        self.basis.give_up(Z)
        at = slice(None) if self._live is None else self._live
        for w, z in zip(self._W[size : size + count], Z, strict=True):
            self._rows = {i: _Row(kept.products + w[i] * w[at], size, kept.left) for i, kept in self._rows.items()}
            self._update(w[at], np.square(w[at]), z, +1)
        self._spanning[:size] = self.independent
        self.left[self.independent] = 0.0
        self._explain(Z, -1)

    def _explain(self, Z: Floats, sign: int) -> None:
        """M with directions added (+1) or given up (-1); from the targets themselves where they are at hand."""
        targets = self.basis.targets
        if not self.size:
            self.explained = Explained(self.problem.base, self.problem)
        elif targets is not None:
            self.explained = Explained(targets.T @ targets, self.problem)
        else:
            self.explained = self.explained.plus(Z, sign)

    def _without(self, features: Sequence[int]) -> tuple[Floats, int, list[int]]:
        """Turn H after which the first `rank` directions span the selected without some, and who spans them."""
        others = np.array([j for j in self.selected if j not in set(features)], dtype=np.intp)
        if not len(others):
            return np.eye(self.size), 0, []
        scale = np.sqrt(self.problem.diagonal[others])
        R = self.W[:, others] / np.where(scale > 0, scale, np.inf)
        H, triangle, order = linalg.qr(R, pivoting=True)
        depth = np.abs(np.diagonal(triangle))
        rank = int((depth**2 > self.basis.tolerance).sum())
        return np.asarray(H, dtype=np.float64), rank, [int(j) for j in others[order[:rank]]]

    # --- features that are not looked at for a while -----------------------------------------------------------------

    def rest(self, features: Features) -> None:
        """Stop updating features until they are recalled; where all of them cost nothing, they are not put to rest."""
        if self.problem.small:
            return
        resting = features if self._resting is None else np.concatenate([self._resting, features])
        awake = ~_mask(resting, self.problem.n_features)
        before, self._resting, self._live = self._live, resting, np.flatnonzero(awake)
        still = awake if before is None else awake[before]
        self._rows = {
            i: _Row(kept.products[still], kept.size, kept.left) for i, kept in self._rows.items() if awake[i]
        }  # fmt: skip
        self.basis.focus(self._live)

    def recall(self, likely: Likely | None = None) -> None:
        """Bring the resting features up to date: all that they missed is one matrix product.

        Features that may be added next are fetched along with it, if it is not large already.
        """
        if self._resting is None:
            return
        at, self._resting, self._live, self._rows = self._resting, None, None, {}
        self.basis.focus(None)
        size, ahead = self.size, self._foresight.ahead(self.size, likely)
        fetched = self.basis.coordinates(self.inverse, self.independent, ahead, self.W)
        awake = ~_mask(at, self.problem.n_features)
        left = np.maximum(self.problem.diagonal - np.einsum("ij,ij->j", self.W, self.W), 0.0)
        cross = self.problem.cross - self.W.T @ self.Z
        left[awake], cross[awake] = self.left[awake], self.cross[awake]
        self.left, self.cross = left, cross
        self._rows = {i: _Row(row, size, float(self.left[i])) for i, row in zip(ahead, fetched, strict=True)}
        if self.basis.redo:
            self._make_exact()
        else:
            self._settle_noise()
            self._doubt(at, self.left[at])

    def settle(self) -> None:
        """Give back what was kept for features that might have been added next."""
        self._rows = {}
        self.basis.settle()

    def _grow(self, size: int) -> None:
        """Room for so many directions."""
        if size > len(self._W):
            more = max(self._more, size - len(self._W), len(self._W) // 2)
            W = np.empty((len(self._W) + more, self._W.shape[1]))  # pages that are never filled cost no memory
            W[: self.size] = self.W
            self._W = W
            self._Z = np.concatenate([self._Z, np.zeros((more, self._Z.shape[1]))])
            self._spanning = np.concatenate([self._spanning, np.zeros(more, dtype=np.intp)])


def _mask(features: Features, n: int) -> NDArray[np.bool_]:
    mask = np.zeros(n, dtype=bool)
    mask[features] = True
    return mask
