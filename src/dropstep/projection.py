"""The projection: every feature minus its part in the span of the selected. The only linear algebra of the search."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from dropstep.basis import basis_of
from dropstep.problem import Problem

Floats = NDArray[np.float64]
Features = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Change:
    """What a move would do to G: for each unit, G +- sum of v v' over its vectors, and the features it truly adds."""

    vectors: Floats  # units x features of a unit x targets
    rank: Floats  # units


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
        self.M = problem.base.copy()
        self._noise = np.where(problem.diagonal > 0, problem.diagonal, np.inf)  # rounding, in units of its own scatter
        self._shakiest = 0.0
        self.selected: list[int] = []
        self.independent: list[int] = []
        self.doubtful: set[int] = set()  # features taken for combinations that may be none: the digits do not tell
        self.stale: Features | None = None
        self._live: Features | None = None
        self._sound = problem.diagonal.copy()  # scatter left when it was last exact
        self._W = np.zeros((8, problem.n_features))
        self._Z = np.empty((8, problem.n_targets))
        self._inverse = np.empty((8, 8))

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
        """inv(R), so that inv(S_AA) = inv(R) inv(R)'."""
        return self._inverse[: self.size, : self.size]

    # --- what moves would do -----------------------------------------------------------------------------------------

    def additions(self, members: Features, blocks: Floats | None = None, without: Floats | None = None) -> Change:
        """What adding each unit would do.

        `members` holds the features of the units, units x m; `blocks` the scatter within each unit, when m > 1;
        `without` the directions (of `directions`) that would be given up before.
        """
        left = self.left[members[:, 0]] if blocks is None else blocks
        cross = self.cross[members]
        if blocks is not None:
            W = self.W[:, members]
            left = left - np.einsum("kum,kul->uml", W, W)
        if without is not None:
            W = np.einsum("rk,kum->rum", without, self.W[:, members])
            left = left + (np.einsum("rum,rum->u", W, W) if blocks is None else np.einsum("rum,rul->uml", W, W))
            cross = cross + np.einsum("rum,rt->umt", W, without @ self.Z)
        least = self._noise[members] * self.basis.tolerance
        return _single(left, cross, least[:, 0]) if blocks is None else _eliminated(left, cross, least)

    def removals(self) -> Change:
        """What removing each independent feature would do, in the order of `independent`."""
        inverse = self.inverse
        length = np.sqrt(np.einsum("ij,ij->i", inverse, inverse))
        return Change(((inverse @ self.Z) / length[:, None])[:, None, :], np.ones(self.size))

    def removal(self, features: Sequence[int]) -> Change:
        """What removing features together would do, when others may take their place in the span."""
        gone = self.directions(features)
        return Change((gone @ self.Z)[None], np.array([len(gone)], dtype=np.float64))

    def directions(self, features: Sequence[int]) -> Floats:
        """The directions of the basis, orthonormal rows, that would be given up with the features."""
        if len(features) == 1 and len(self.selected) == self.size:
            h = self.inverse[self.independent.index(features[0])]
            return np.asarray(h / np.sqrt(h @ h))[None, :]
        H, rank, _ = self._without(features)
        return H[:, rank:].T

    # --- moves -------------------------------------------------------------------------------------------------------

    def add(self, features: Sequence[int]) -> None:
        """Select features. Those in the span of the selected are selected too, but add no direction."""
        for j in features:
            self.selected.append(j)
            if self.left[j] > self._noise[j] * self.basis.tolerance:
                self._add(j)

    def _add(self, j: int) -> None:
        k, live = self.size, self._live
        left, cross, products = self.basis.residual(j, float(self.left[j]), self.cross[j], self.W, live)
        if left <= self._noise[j] * self.basis.tolerance:  # seen exactly, it lies in the span
            self.left[j] = 0.0
            return
        length = np.sqrt(left)
        self.basis.extend(length)
        self._grow(k + 1)
        w, z = products / length, cross / length
        column = self._W[:k, j]
        self._inverse[:k, k] = self._inverse[:k, :k] @ column / -length
        self._inverse[k, :k] = 0.0
        self._inverse[k, k] = 1 / length
        self._Z[k] = z
        self.independent.append(j)
        self._explain(z[None, :], +1)
        self._update(self._W[k], w, z, -1)
        self._W[k, j] = length
        self.left[j], self.cross[j] = 0.0, 0.0
        if self.basis.redo:
            self._make_exact()
        else:
            self._spread_noise(w, float(self._noise[j] / left))

    def _spread_noise(self, w: Floats, shaky: float) -> None:
        """Rounding in a direction, by its noise / scatter left, is in every feature that has a part along it."""
        at = slice(None) if self._live is None else self._live
        self._shakiest = max(self._shakiest, shaky)
        self._noise[at] += shaky * w**2
        self._doubt(np.arange(len(self.left))[at], self.left[at])

    def _doubt(self, features: Features, left: Floats) -> None:
        """Remember features of which so little is left that it may be something or rounding."""
        noise = self._noise[features]
        grey = (left <= noise * self.basis.tolerance) & (left > noise * self.basis.rounding)
        if grey.any():
            self.doubtful.update(features[grey].tolist())

    def _update(self, row: Floats, w: Floats, z: Floats, sign: int) -> None:
        """Take the direction w, z out of what is left of the live features (-1), or put it back (+1)."""
        if self._live is None:
            row[:] = w
            self.left += sign * w**2
            self.cross += np.multiply.outer(sign * w, z)
            np.maximum(self.left, 0.0, out=self.left)
        else:
            at = self._live
            row[at] = w
            self.left[at] = np.maximum(self.left[at] + sign * w**2, 0.0)
            self.cross[at] += np.multiply.outer(sign * w, z)

    def _make_exact(self) -> None:
        """Where most of the scatter went since it was last exact, the difference lost digits: make it from the rows."""
        thin = (self.left < self.basis.redo * self._sound) & (self.left > 0)
        thin[self.independent] = False
        if self._live is not None:
            thin &= _mask(self._live, len(thin))
        if not thin.any():
            return
        at = np.flatnonzero(thin)
        coordinates, left, cross = self.basis.exact(at)
        self._W[: self.size, at] = coordinates
        self.left[at] = np.where(left > self._noise[at] * self.basis.tolerance, left, 0.0)
        self.cross[at] = self.problem.cross[at] - coordinates.T @ self.Z if cross is None else cross
        self._sound[at] = left
        self._doubt(at, left)

    def remove(self, features: Sequence[int]) -> None:
        """Take features out again. A selected feature that they had put in the span gets its own direction back."""
        if len(features) == 1 and len(self.selected) == self.size:
            self._remove(features[0])
        else:
            self._remove_block(features)
        for j in features:
            self.selected.remove(j)
        self.left[self.independent], self.cross[self.independent] = 0.0, 0.0
        if not self.basis.redo:
            self._settle_noise()

    def _settle_noise(self) -> None:
        """After a turn of the basis every direction is taken for as shaky as the worst."""
        varying = self.problem.diagonal > 0
        noise = self.problem.diagonal + self._shakiest * np.einsum("ij,ij->j", self.W, self.W)
        self._noise = np.where(varying, noise, np.inf)

    def _remove(self, j: int) -> None:
        """The direction given up is row i of inv(R); a reflection makes it the last one."""
        k, i = self.size, self.independent.index(j)
        v = self.inverse[i].copy()
        v /= np.sqrt(v @ v)
        v[-1] += 1.0 if v[-1] >= 0 else -1.0
        tau = 2 / (v @ v)
        for rows in (self.W, self.Z):
            rows -= np.outer(tau * v, v @ rows)
        inverse = self.inverse - np.outer(self.inverse @ v, tau * v)
        self._inverse[: k - 1, : k - 1] = np.delete(inverse, i, axis=0)[:, :-1]
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
        self._inverse[:rank, :rank] = linalg.solve_triangular(self._W[:rank, kept], np.eye(rank))
        self._give_up(size - rank)

    def _give_up(self, count: int) -> None:
        """The last `count` directions, past the size, go back to what is left of the features."""
        size = self.size
        Z = self._Z[size : size + count]
        self.basis.give_up(Z)
        for w, z in zip(self._W[size : size + count], Z, strict=True):
            at = slice(None) if self._live is None else self._live
            self._update(w, w[at].copy(), z, +1)
        self._explain(Z, -1)

    def _explain(self, Z: Floats, sign: int) -> None:
        """M with directions added (+1) or given up (-1); from the targets themselves where they are at hand."""
        targets = self.basis.targets
        if not self.size:
            self.M = self.problem.base.copy()
        elif targets is not None:
            self.M = targets.T @ targets
        else:
            self.M = self.M + sign * self.problem.sign * Z.T @ Z

    def _without(self, features: Sequence[int]) -> tuple[Floats, int, list[int]]:
        """Turn H after which the first `rank` directions span the selected without some, and who spans them."""
        others = np.array([j for j in self.selected if j not in set(features)], dtype=np.intp)
        if not len(others):
            return np.eye(self.size), 0, []
        scale = np.sqrt(self.problem.diagonal[others])
        R = self.W[:, others] / np.where(scale > 0, scale, 1.0)
        H, triangle, order = linalg.qr(R, pivoting=True)
        depth = np.abs(np.diagonal(triangle))
        rank = int((depth**2 > self.basis.tolerance).sum())
        return np.asarray(H, dtype=np.float64), rank, [int(j) for j in others[order[:rank]]]

    # --- features that are not looked at for a while -----------------------------------------------------------------

    def rest(self, features: Features) -> None:
        """Stop updating features until they are recalled."""
        resting = features if self.stale is None else np.concatenate([self.stale, features])
        self.stale = resting
        self._live = np.flatnonzero(~_mask(resting, self.problem.n_features))

    def recall(self) -> None:
        """Bring the resting features up to date: all that they missed is one matrix product."""
        if self.stale is None:
            return
        at, self.stale, self._live = self.stale, None, None
        W = self.basis.coordinates(at, self.independent, self.inverse)
        self._W[: self.size, at] = W
        self.left[at] = np.maximum(self.problem.diagonal[at] - np.einsum("ij,ij->j", W, W), 0.0)
        self.cross[at] = self.problem.cross[at] - W.T @ self.Z
        if self.basis.redo:
            self._make_exact()
        else:
            self._settle_noise()
            self._doubt(at, self.left[at])

    def _grow(self, size: int) -> None:
        if size > len(self._W):
            room = min(2 * len(self._W), max(size, self.problem.n_features))
            self._W = _enlarged(self._W, (room, self._W.shape[1]))
            self._Z = _enlarged(self._Z, (room, self._Z.shape[1]))
            self._inverse = _enlarged(self._inverse, (room, room))


def _single(left: Floats, cross: Floats, least: Floats) -> Change:
    free = left > least
    length = np.sqrt(np.where(free, left, np.inf))
    return Change(cross / length[:, None, None], free.astype(np.float64))


def _eliminated(left: Floats, cross: Floats, least: Floats) -> Change:
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
    return Change(vectors, rank)


def _mask(features: Features, n: int) -> NDArray[np.bool_]:
    mask = np.zeros(n, dtype=bool)
    mask[features] = True
    return mask


def _enlarged(array: Floats, shape: tuple[int, int]) -> Floats:
    larger = np.zeros(shape)
    larger[: array.shape[0], : array.shape[1]] = array
    return larger
