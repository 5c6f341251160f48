"""The projection: every feature minus its projection onto the span of the selected features."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from dropstep.projection.blocks import Downdates
from dropstep.projection.directions import Directions
from dropstep.projection.equations import NormalEquations, Residuals
from dropstep.projection.prefetch import Prefetched
from dropstep.projection.rotation import rotation_onto

Floats = NDArray[np.float64]
Features = NDArray[np.intp]

RESTART_ABOVE = 0.25  # removed features per feature that is still selected, above which a factorisation is cheaper
REPLACES_ABOVE = 1e4  # times the residual that a dependent feature may have: less of a direction does not replace it


class Projection(Directions):
    """Directions of the selected features, some of which can be removed.

    Features that are removed from a selection of a Gram matrix are returned to the residuals when these are queried.
    """

    def __init__(self, equations: NormalEquations, max_size: float = math.inf, units: Features | None = None) -> None:
        super().__init__(equations, max_size, units)
        self._downdates: Downdates | None = None  # removals that W, Z and the residuals are not updated for
        self.n_rotations = 0  # times that W changed otherwise than by new directions

    @property
    def explained(self) -> Floats:
        """G = Z'Z."""
        if self._downdates is not None:
            return self._downdates.explained
        Z = self.Z
        return Z.T @ Z

    # --- queries -----------------------------------------------------------------------------------------------------

    def residuals(self, features: Features, without: Floats | None = None) -> Residuals:
        """Residuals of features, given the selected ones; without some directions of the basis, if these are given."""
        self.update(features, freeze=without is None)
        residual_ss, cross = self.residual_ss.take(features), self.residual_cross.take(features, axis=0)
        if without is not None:
            W = without @ self.W[:, features]
            residual_ss = residual_ss + np.einsum("ij,ij->j", W, W)
            cross = cross + W.T @ (without @ self.Z)
        return Residuals(residual_ss, cross, self.precision.least.take(features))

    def removal_vectors(self, places: Features) -> tuple[Floats, Floats]:
        """(c, d) such that removing each independent feature, by its place, takes v = c / sqrt(d) from G."""
        if self._downdates is not None:
            return self._downdates.vectors(places)
        inverse = self.inverse[places]
        return inverse @ self.Z, np.einsum("ij,ij->i", inverse, inverse)

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
            self._apply_removals()

    def _apply_removals(self) -> None:
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
