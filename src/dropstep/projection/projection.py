"""The projection: every feature minus its projection onto the span of the selected features."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from dropstep.data.columns import Columns
from dropstep.projection.basis import basis_of
from dropstep.projection.downdates import Downdates, extended_inverse, leading_factor
from dropstep.projection.equations import NormalEquations
from dropstep.projection.precision import Precision
from dropstep.projection.prefetch import Prefetched, Prefetcher, likely_next

Floats = NDArray[np.float64]
Features = NDArray[np.intp]
ROWS_AT_A_TIME = 32  # directions for which W gets room at a time, if that is a small part of X,
NUMBERS_AT_A_TIME = 2**16  # or in this many numbers
FACTORISE_TOGETHER_FROM = 16  # features from which one factorisation is faster than adding them one by one
REFETCH_BELOW = 1e-3  # share of its residual at fetch time below which the products of a feature are recomputed
RESTART_ABOVE = 0.25  # removed features per feature that is still selected, above which a factorisation is cheaper
REPLACES_ABOVE = 1e4  # times the residual that a dependent feature may have: less of a direction does not replace it


def rotation_onto(coordinates: Floats, least: Floats) -> tuple[Floats, NDArray[np.intp]]:
    """Rotation H whose first directions span some features, and which of the features span them.

    Parameters
    ----------
    coordinates : ndarray of shape (size, m)
        Coordinates of the features in the basis.
    least : ndarray of shape (m,)
        Residual sums of squares up to which each counts as linearly dependent on the others: those of features whose
        coordinates lost digits are larger, so that they come last and their rounding errors span nothing. Infinite for
        constant features.
    """
    H, triangle, order = linalg.qr(coordinates / np.sqrt(least), pivoting=True)
    depth = np.abs(np.diagonal(triangle))
    return np.asarray(H, dtype=np.float64), np.asarray(order[: int((depth > 1).sum())])


class Projection:
    """Residuals of all features given the selected ones, A.

    Invariant, with R = W[:, independent], so that S_AA = R'R, and Z the coordinates of the targets:

        W = inv(R)' S_A    residual_ss = diag(S) - diag(W'W)    residual_cross = C - W'Z

    for every live feature, up to the directions that are pending. Features that are not queried are frozen: they are
    not updated until they are queried again. A direction is applied when residuals are queried, so that features that
    are frozen by then cost nothing.

    No more than `max_size` features will be selected: what is prefetched is limited to that. Features of the same unit
    will be selected together: `units` has the unit of each feature, None if every feature is a unit of its own.
    Features that are removed from a selection of a Gram matrix are returned to the residuals when these are queried.
    """

    def __init__(self, equations: NormalEquations, max_size: float = math.inf, units: Features | None = None) -> None:
        self.equations, self._max_size, self._units = equations, max_size, units
        self.basis = basis_of(equations)
        self.precision = Precision(equations, self.basis)
        self.residual_ss = equations.diagonal.copy()
        self.residual_cross = equations.cross.copy()
        self.independent: list[int] = []  # selected features that span the basis, in order of entry
        self.dependent: list[int] = []  # selected features in the span of others
        self._applied = 0  # directions that the live features are updated for
        self._lengths: list[float] = []  # of the pending directions
        self._live: Features | None = None
        p, S = equations.n_features, equations.scatter
        self._is_live, self._small = np.ones(p, dtype=bool), equations.small
        self._candidates: Features | None = None  # features that were queried last
        self._prefetched: dict[int, Prefetched] = {}
        self._prefetcher = Prefetcher(*self.basis.batch_limits)
        self._gram: Floats | None = None if isinstance(S, Columns) else S
        n = S.X.shape[0] if isinstance(S, Columns) else p
        self._room = max(4, min(ROWS_AT_A_TIME, n // 16), min(NUMBERS_AT_A_TIME // p, p))
        self._W = np.empty((self._room, p))  # a row is filled when its direction is applied
        self._Z = np.zeros((self._room, equations.n_targets))
        self._inverse = np.zeros((0, 0))
        self._downdates: Downdates | None = None  # removals that W, Z and the residuals are not updated for
        self.n_rotations = 0  # times that W changed otherwise than by new directions

    @property
    def size(self) -> int:
        """Number of linearly independent selected features."""
        return len(self.independent)

    @property
    def W(self) -> Floats:
        if self._downdates is not None:
            self._return_removed()
        return self._W[: len(self.independent)]

    @property
    def Z(self) -> Floats:
        if self._downdates is not None:
            self._return_removed()
        return self._Z[: len(self.independent)]

    @property
    def inverse(self) -> Floats:
        """inv(R), so that inv(S_AA) = inv(R) inv(R)'."""
        self._apply_pending()
        known, size = len(self._inverse), len(self.independent)
        if known < size:
            self._inverse = extended_inverse(self._inverse, self._W[:size, self.independent[known:]])
        return self._inverse

    @property
    def imprecise(self) -> bool:
        """True if a Gram matrix has too few digits to tell whether some feature is linearly dependent."""
        doubtful = self.precision.doubtful
        return bool(doubtful) and not self.basis.recompute_below and not doubtful.issubset(self.independent)

    @property
    def doubtful(self) -> list[int]:
        """Features that count as linearly dependent although they may not be."""
        return sorted(self.precision.doubtful - set(self.independent) | self.precision.doubted)

    # --- moves -------------------------------------------------------------------------------------------------------

    def add(self, features: Sequence[int]) -> None:
        """Select features. Those in the span of the selected are selected too, but add no direction."""
        if self._downdates is not None:
            self._return_removed()
        if self._live is not None and not self._is_live[list(features)].all():
            self._apply_pending()
            self._unfreeze()
        if len(features) >= FACTORISE_TOGETHER_FROM:
            features = sorted(features, key=lambda j: self.equations.diagonal[j] <= 0)  # constant ones last
            features = features[self._add_leading(features) :]
        for j in features:
            if self.basis.targets is None:  # without targets, cross products are those of the updates
                self._apply_pending()
            least = self.precision.least[j]
            ss, cross = self.basis.measure(j, float(self.residual_ss[j]), self.residual_cross[j])
            if not ss > least:
                self.dependent.append(j)
                self.residual_ss[j] = 0.0
                continue
            length = math.sqrt(ss)
            self.basis.extend(length)
            size = len(self.independent)
            if size == self._W.shape[0]:
                self._make_room(size + 1)
            self._Z[size] = cross / length
            self.independent.append(j)
            self._lengths.append(length)

    def _add_leading(self, features: Sequence[int]) -> int:
        """Select the leading ones of many features of a Gram matrix, as many as are independent; returns how many."""
        S = self._gram
        if S is None or self._live is not None:
            return 0
        self._apply_pending()
        at, W, first = np.array(features, dtype=np.intp), self.W, self.size
        residual = S[np.ix_(at, at)] - W[:, at].T @ W[:, at]
        R, noise = leading_factor(residual, self.precision.noise[at], self.basis.tolerance)
        at, size = at[: len(R)], first + len(R)
        self._make_room(size)
        others = np.ones(len(S), dtype=bool)
        others[at] = others[self.independent] = False
        rows = linalg.solve_triangular(R, S[np.ix_(at, others)] - W[:, at].T @ W[:, others], trans=1)
        Z = linalg.solve_triangular(R, self.residual_cross[at], trans=1)
        new = self._W[first:size]
        new[:, at], new[:, others], new[:, self.independent], self._Z[first:size] = R, rows, 0.0, Z
        self.residual_ss[others] = np.abs(self.residual_ss[others] - np.einsum("ij,ij->j", rows, rows))
        self.residual_cross[others] -= rows.T @ Z
        self.residual_ss[at] = self.residual_cross[at] = self.residual_ss[self.dependent] = 0.0
        self.precision.propagate_block(at, noise, np.diagonal(R), others, rows)
        self.independent.extend(at.tolist())
        self._applied = size
        if self.precision.lost_features(self.residual_ss, len(R)):
            self.precision.doubt(np.arange(len(S)), self.residual_ss)
        return len(R)

    def release(self) -> None:
        """Free what was kept for features that might have been added next; no more will be."""
        self._prefetched, self._prefetcher = {}, Prefetcher(0, 0)
        self.basis.release()

    # --- updates -----------------------------------------------------------------------------------------------------

    def update(self, features: Features, *, freeze: bool = True) -> None:
        """Bring features up to date; freeze the others if they are many and `freeze` is True."""
        if self._downdates is not None:
            self._return_removed()
        if self._live is not None and not self._is_live[features].all():
            self._candidates = None  # unfreezing would discard what is prefetched for the live features
            self._apply_pending()
            self._candidates = features
            self._unfreeze()
        elif freeze and not self._small and 2 * (len(features) + self.size) <= np.count_nonzero(self._is_live):
            self._freeze_all_but(features)
        if freeze:
            self._candidates = features
        self._apply_pending()

    def _freeze_all_but(self, features: Features) -> None:
        live = np.zeros(self.equations.n_features, dtype=bool)
        live[features] = live[self.independent] = live[self.dependent] = True
        still = live[self._is_live]
        self._prefetched = {
            i: Prefetched(kept.products[still], kept.size, kept.residual_ss)
            for i, kept in self._prefetched.items()
            if live[i]
        }
        self._is_live, self._live = live, live.nonzero()[0]
        self.basis.restrict_to(self._live)

    def _unfreeze(self) -> None:
        """Bring frozen features up to date: everything they missed is one matrix product."""
        frozen, live = ~self._is_live, self._is_live.nonzero()[0]
        W_live = self.W[:, live]  # more exact than products, where it was recomputed from the rows
        self._live, self._prefetched = None, {}
        self._is_live = np.ones(len(frozen), dtype=bool)
        self.basis.restrict_to(None)
        prefetch = self._likely_next(self.size)
        products = self.basis.coordinates(self.inverse, self.independent, prefetch, self.W)
        self.W[:, live] = W_live
        at, W = frozen.nonzero()[0], self.W
        residual_ss = np.maximum(self.equations.diagonal - np.einsum("ij,ij->j", W, W), 0.0)
        np.copyto(self.residual_ss, residual_ss, where=frozen)
        np.copyto(self.residual_cross, self.equations.cross - W.T @ self.Z, where=frozen[:, None])
        self._prefetched = {
            i: Prefetched(row, self.size, float(self.residual_ss[i])) for i, row in zip(prefetch, products, strict=True)
        }
        if self.basis.recompute_below:
            self.precision.recompute_below[at] = self.equations.diagonal[at] * self.basis.recompute_below
            self._recompute_residuals()
        else:
            self.precision.after_rotation(self.W, self.residual_ss)
            self.precision.doubt(at, self.residual_ss[at])

    def _apply_pending(self) -> None:
        """Update the live features for the directions that were added since they were last updated."""
        if self._downdates is not None:
            self._return_removed()
        first, size = self._applied, len(self.independent)
        if first == size:
            return
        live = slice(None) if self._live is None else self._live
        inexact = size - first > 1 and self._lost_digits(self.independent[first:])
        for k, w in enumerate(self._new_rows(first, size), first):
            j, length, square = self.independent[k], self._lengths[k - first], np.square(w)
            if self._live is not None:
                self._W[k] = 0.0
            self._W[k, live] = w
            self._update_residuals(w, square, self._Z[k], -1)
            self._W[k, j] = length
            self.residual_ss[j] = self.residual_cross[j] = self.precision.recompute_below[j] = 0.0
            if not self.basis.recompute_below:
                self.precision.propagate(j, length**2, square, live)
        self._applied, self._lengths = size, []
        if self.dependent:
            self.residual_ss[self.dependent] = 0.0
        if self.basis.recompute_below:
            if inexact:
                new = self.independent[first:]
                self._W[:size, new] = self.basis.factor(new, self._W[:size])
            self._recompute_residuals()
        elif self.precision.lost_features(self.residual_ss, size - first):
            at = np.arange(len(self.residual_ss)) if self._live is None else self._live
            self.precision.doubt(at, self.residual_ss[at])

    def _lost_digits(self, pending: list[int]) -> bool:
        """True if products with X itself have too few digits for R of features that are added together."""
        lost = np.square(self._lengths) < self.precision.recompute_below[pending]  # to others, or to each other
        return not self.equations.small_means or bool(lost.any())

    def _new_rows(self, first: int, size: int) -> Iterable[Floats]:
        """Rows of W of the pending directions, over the live features, each read when the ones before are in place."""
        if self._gram is not None:
            return self._rows_of_gram(self._gram, first)
        if not self._prefetched and not self._prefetcher.maximum:
            return self.basis.products([*range(first, size)], [])
        return self._rows_of_columns(first)

    def _rows_of_gram(self, S: Floats, first: int) -> Iterator[Floats]:
        live = slice(None) if self._live is None else self._live
        for k in range(first, self.size):
            W, j = self._W[:k], self.independent[k]
            yield (S[j, live] - W[:, j] @ W[:, live]) / self._lengths[k - first]

    def _rows_of_columns(self, first: int) -> Iterator[Floats]:
        kept = self._taken_from_prefetched(first) if self._prefetched else {}
        missing = [k for k in range(first, self.size) if k not in kept]
        fetched: dict[int, Floats] = {}
        if missing:
            prefetch = self._likely_next(len(missing))
            self._prefetched = {}
            products = self.basis.products(missing, prefetch)
            fetched = dict(zip(missing, products, strict=False))
            self._prefetched = {
                i: Prefetched(row, self.size, float(self.residual_ss[i]))
                for i, row in zip(prefetch, products[len(missing) :], strict=True)
            }
        for k in range(first, self.size):
            if k in fetched:
                yield fetched[k]
            else:
                yield self._brought_up_to_date(self.independent[k], kept[k], k) / self._lengths[k - first]

    def _taken_from_prefetched(self, first: int) -> dict[int, Prefetched]:
        """Products of pending directions that were prefetched and have not lost digits since."""
        kept: dict[int, Prefetched] = {}
        for k in range(first, self.size):
            prefetched = self._prefetched.pop(self.independent[k], None)
            if prefetched is not None:
                self._prefetcher.use()
                if self._lengths[k - first] ** 2 >= REFETCH_BELOW * prefetched.residual_ss:
                    kept[k] = prefetched
        if 0 < len(kept) < self.size - first:  # the products of the others take the place of these
            kept = {k: Prefetched(one.products.copy(), one.size, one.residual_ss) for k, one in kept.items()}
        return kept

    def _brought_up_to_date(self, j: int, kept: Prefetched, size: int) -> Floats:
        W = self._W[kept.size : size]
        return np.asarray(kept.products - W[:, j] @ (W if self._live is None else W[:, self._live]))

    def _likely_next(self, needed: int) -> list[int]:
        """Candidates that explain most now: they will probably be added next."""
        limits = (0, 0) if self._candidates is None else self._prefetcher.limits(needed, self._max_size - self.size)
        if not any(limits):
            return []
        is_candidate = np.zeros(self.equations.n_features, dtype=bool)
        is_candidate[self._candidates] = True
        is_candidate[self.independent] = False
        power = np.square(self.residual_cross) @ np.ones(self.equations.n_targets)
        power /= np.where(self.residual_ss > self.precision.least, self.residual_ss, np.inf)
        return likely_next(power, is_candidate, limits, self._units)

    def _update_residuals(self, w: Floats, square: Floats, z: Floats, sign: int) -> None:
        """Subtract the direction w, z from the residuals of the live features (-1), or add it back (+1)."""
        change = w[:, None] * (sign * z)
        if self._live is None:
            ss = self.residual_ss
            (np.add if sign > 0 else np.subtract)(ss, square, out=ss)
            np.abs(ss, out=ss)  # rounding may make it negative
            self.residual_cross += change
        else:
            at = self._live
            self.residual_ss[at] = np.abs(self.residual_ss[at] + sign * square)
            self.residual_cross[at] += change

    def _recompute_residuals(self) -> None:
        """Recompute residuals from the rows where the difference lost digits."""
        thin = self.residual_ss < self.precision.recompute_below
        if self._live is not None:
            thin &= self._is_live
        at = thin.nonzero()[0]
        if not at.size:
            return
        coordinates, residual_ss, cross = self.basis.residuals(at)
        self._W[: self.size, at] = coordinates
        found = residual_ss > self.precision.least[at]
        self.residual_ss[at] = np.where(found, residual_ss, 0.0)
        self.precision.recompute_below[at] = np.where(found, residual_ss * self.basis.recompute_below, 0.0)
        self.residual_cross[at] = self.equations.cross[at] - coordinates.T @ self.Z if cross is None else cross
        self.precision.doubt(at, residual_ss)

    def _make_room(self, size: int) -> None:
        """Room for so many directions."""
        if size > len(self._W):
            more = max(self._room, size - len(self._W), len(self._W) // 2)
            W = np.empty((len(self._W) + more, self._W.shape[1]))  # pages that are never filled take no memory
            W[: self.size] = self.W
            self._W = W
            self._Z = np.concatenate([self._Z, np.zeros((more, self._Z.shape[1]))])

    @property
    def explained(self) -> Floats:
        """G = Z'Z."""
        if self._downdates is not None:
            return self._downdates.explained
        Z = self.Z
        return Z.T @ Z

    # --- queries -----------------------------------------------------------------------------------------------------

    def residuals(self, features: Features, without: Floats | None = None) -> tuple[Floats, Floats, Floats]:
        """Residual sums of squares and cross products of features, and the tolerance up to which they count as zero.

        They are given the selected features; without some directions of the basis, if these are given.
        """
        self.update(features, freeze=without is None)
        residual_ss, cross = self.residual_ss.take(features), self.residual_cross.take(features, axis=0)
        if without is not None:
            W = without @ self.W[:, features]
            residual_ss = residual_ss + np.einsum("ij,ij->j", W, W)
            cross = cross + W.T @ (without @ self.Z)
        return residual_ss, cross, self.precision.least.take(features)

    def removal_vectors(self, places: Features) -> tuple[Floats, Floats]:
        """(c, d) such that removing each independent feature, by its place, takes v = c / sqrt(d) from G."""
        if self._downdates is not None:
            return self._downdates.vectors(places)
        inverse = self.inverse[places]
        return inverse @ self.Z, np.add.reduce(np.square(inverse), axis=1)

    def directions(self, features: Sequence[int]) -> Floats:
        """Orthonormal rows: the directions of the basis that would be removed with some selected features."""
        if len(features) == 1 and not self.dependent:
            h = self.inverse[self.independent.index(features[0])]
            return np.asarray(h / np.sqrt(h @ h))[None, :]
        H, rank, _ = self._without(features)
        return H[:, rank:].T

    def factor(self) -> Floats:
        """R with S_AA = R'R, recomputed from the rows where there are rows."""
        self._apply_pending()
        return self.basis.factor(self.independent, self.W)

    # --- removals ----------------------------------------------------------------------------------------------------

    def remove(self, features: Sequence[int]) -> None:
        """Remove selected features. A selected feature that depended on them gets its own direction."""
        if len(features) == 1 and not self.dependent and not self.basis.recompute_below:
            return self._downdate(features[0])
        self._apply_pending()
        self._prefetched = {
            i: Prefetched(self._brought_up_to_date(i, kept, self.size), self.size, kept.residual_ss)
            for i, kept in self._prefetched.items()
        }
        if self.precision.is_lost:
            self.precision.doubted.update(self.doubtful)
            gone, selected = set(features), (*self.independent, *self.dependent)
            self.dependent = []
            return self._restart([j for j in selected if j not in gone])
        if len(features) == 1 and not self.dependent:
            self._remove_one(features[0])
        else:
            self._remove_block(features)
        self._after_rotation()
        return None

    def _after_rotation(self) -> None:
        self.residual_cross[self.independent] = 0.0
        self.precision.after_rotation(self.W, self.residual_ss)

    def _downdate(self, j: int) -> None:
        """Remove a feature from the selection only; residuals follow when they are queried."""
        if self._downdates is None:
            self._downdates = Downdates(self.independent, self.inverse, self.Z)
        place = self.independent.index(j)
        self._downdates.remove(place, j)
        self.independent.pop(place)
        if not self._downdates.precise:
            self._return_removed()

    def _return_removed(self) -> None:
        """Return removed features to the residuals: one by one if they are few and no digits were lost.

        Otherwise, one factorisation of what is still selected starts again.
        """
        if self._downdates is None:
            return
        downdates, self._downdates = self._downdates, None
        kept, removed = self.independent, downdates.removed
        if downdates.precise and (len(removed) == 1 or RESTART_ABOVE * len(kept) >= len(removed)):
            self.independent = downdates.before
            for j in removed:
                self._remove_one(j)
                self._after_rotation()
            return
        self._restart(kept)

    def _restart(self, kept: list[int]) -> None:
        """Select features again, by one factorisation."""
        self._prefetched = {}
        self.independent, self._applied, self._inverse = [], 0, np.zeros((0, 0))
        self.n_rotations += 1
        self._live, self._is_live = None, np.ones(self.equations.n_features, dtype=bool)
        self.residual_ss[:], self.residual_cross[:] = self.equations.diagonal, self.equations.cross
        self.precision.restart()
        self.add(kept)

    def _remove_one(self, j: int) -> None:
        """The removed direction is row i of inv(R); a reflection makes it the last one."""
        i = self.independent.index(j)
        v = self.inverse[i] / np.sqrt(self.inverse[i] @ self.inverse[i])
        v[-1] += 1.0 if v[-1] >= 0 else -1.0
        tau = 2 / (v @ v)
        for rows in (self.W, self.Z):
            rows -= np.outer(tau * v, v @ rows)
        inverse = self.inverse - np.outer(self.inverse @ v, tau * v)
        self._inverse = np.delete(inverse, i, axis=0)[:, :-1]
        self.basis.reflect(v, tau)
        self.independent.pop(i)
        self._remove_last_directions(1)

    def _remove_block(self, features: Sequence[int]) -> None:
        H, rank, kept = self._without(features)
        size = self.size
        self._W[:size] = H.T @ self.W
        self._Z[:size] = H.T @ self.Z
        self.basis.rotate(H)
        gone = {*features, *kept}
        self.dependent = [j for j in (*self.independent, *self.dependent) if j not in gone]
        self.independent = kept
        self._inverse = linalg.solve_triangular(self._W[:rank, kept], np.eye(rank))
        self._remove_last_directions(size - rank)

    def _remove_last_directions(self, count: int) -> None:
        """Add the last `count` directions, past the size, back to the residuals of the features."""
        size = self.size
        self.n_rotations += 1
        Z = self._Z[size : size + count]
        self.basis.remove_last(Z)
        at = slice(None) if self._live is None else self._live
        for w, z in zip(self._W[size : size + count], Z, strict=True):
            self._prefetched = {
                i: Prefetched(kept.products + w[i] * w[at], size, kept.residual_ss)
                for i, kept in self._prefetched.items()
            }
            self._update_residuals(w[at], np.square(w[at]), z, +1)
        self._applied = size
        self.residual_ss[self.independent] = 0.0

    def _without(self, features: Sequence[int]) -> tuple[Floats, int, list[int]]:
        """Rotation H after which the first `rank` directions span the selected without some, and what spans them."""
        self._apply_pending()
        gone = set(features)
        spanning, dependent = ([j for j in some if j not in gone] for some in (self.independent, self.dependent))
        others = np.array([*spanning, *dependent], dtype=np.intp)
        if not len(others):
            return np.eye(self.size), 0, []
        least = self.precision.least[others]
        least[len(spanning) :] *= REPLACES_ABOVE
        H, kept = rotation_onto(self.W[:, others], least)
        return H, len(kept), others[kept].tolist()
