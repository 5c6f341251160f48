"""Held-out squared errors of linear regression: quadratic forms in the moments, or the rows, of the test set."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from dropstep.models.base import Floats, Indices
from dropstep.models.least_squares.fold_scores import Block, FoldScores, Reduced
from dropstep.projection.basis import RowsBasis

BLOCK_SIZE = 2**20  # values that are copied at a time


class HeldOutErrors(FoldScores):
    """Mean squared error of the test rows of one fold.

    With T the test rows in the basis of the training projection, and e = y - T Z their residuals:

        P = T'X    omega = T'T    TY = T'y    error = e'e / (weight n_targets)

    where X and y are the test rows about the training means. From moments T exists only through these products, which
    are those of H, the moments of the test rows about the training means.
    """

    def read(self, *, grown: bool = False) -> None:
        rows, A = self.fold.rows, np.array(self.projection.independent, dtype=np.intp)
        inverse = self.projection.inverse
        if not grown:
            self._P: Floats = np.empty((0, self.problem.n_features))
        if self._from_moments:
            H, p = self._about_training_means, self.problem.n_features
            self._omega = inverse.T @ H[np.ix_(A, A)] @ inverse
            self._TY = inverse.T @ H[A, p:]
            self._T = np.empty((0, len(A)))
            Z = self.projection.Z
            explained = np.sum(Z * (2 * self._TY - self._omega @ Z))
            self._total = max(float(np.trace(H[p:, p:]) - explained), 0.0)
            return
        first = self._T.shape[1] if grown else 0
        new = rows.columns(A) @ inverse[:, first:]
        self._T = np.hstack([self._T, new]) if first else new
        self._omega, self._TY = self._T.T @ self._T, self._T.T @ rows.targets
        self._total = float(np.sum((rows.targets - self._T @ self.projection.Z) ** 2))

    @property
    def score(self) -> float:
        return self._total * self._unit

    @cached_property
    def _unit(self) -> float:
        return 1 / (self.fold.rows.weight * self.problem.n_targets)

    @property
    def share(self) -> float:
        """The error, relative to that of the mean of the training rows."""
        p = self.problem.n_features
        base = np.trace(self._about_training_means[p:, p:]) if self._from_moments else np.sum(self.fold.rows.targets**2)
        return self._total / base if base > 0 else 1.0

    @cached_property
    def _from_moments(self) -> bool:
        return self.fold.moments is not None

    @cached_property
    def _about_training_means(self) -> Floats:
        """Moments of features and targets of the test rows, about the training means."""
        moments, origin = self.fold.moments, self.problem.origin
        assert moments is not None
        shift = moments.means[0] - np.concatenate([origin.means[0], origin.target_means])
        return np.asarray(moments.scatter + self.fold.rows.weight * np.outer(shift, shift))

    @cached_property
    def _diagonal(self) -> Floats:
        """Sums of squares of the columns of the test rows."""
        p = self.problem.n_features
        if self._from_moments:
            return np.diagonal(self._about_training_means)[:p].copy()
        squares, step = np.empty(p), max(1, BLOCK_SIZE // len(self.fold.rows.X))
        for start in range(0, p, step):
            x = self.fold.rows.columns(np.arange(start, min(p, start + step)))
            squares[start : start + step] = np.einsum("ij,ij->j", x, x)
        return squares

    @cached_property
    def _cross(self) -> Floats:
        """Products of the columns of the test rows with the targets."""
        p, rows = self.problem.n_features, self.fold.rows
        return self._about_training_means[:p, p:] if self._from_moments else rows.products(rows.targets).T

    def _products(self) -> Floats:
        """P, brought up to date."""
        known, size = len(self._P), self.size
        if known < size:
            if self._from_moments:
                H, p = self._about_training_means, self.problem.n_features
                new = self.projection.inverse[:, known:].T @ H[self.projection.independent, :p]
            else:
                new = self.fold.rows.products(self._T[:, known:])
            self._P = np.concatenate([self._P, new]) if known else new
        return self._P

    def before(self, reduced: Reduced) -> Floats:
        if self._from_moments:
            return np.empty((0, 0))
        return np.asarray(self.fold.rows.targets - self._T @ reduced(self.projection.Z))

    def added(
        self, block: Block, residual: Floats, least: Floats, reduced: Reduced, start: Floats
    ) -> tuple[Floats, Floats]:
        projection, (n_units, m) = self.projection, block.columns.shape
        columns, q, gone = block.columns.ravel(), self.problem.n_targets, reduced.directions
        cross = projection.residual_cross[columns]
        W, Z, P = projection.W[:, columns], projection.Z, self._products()[:, columns]
        if gone is not None:
            cross = cross + (gone @ W).T @ (gone @ Z)
            W, Z = reduced(W), reduced(Z)
        omega_Z = self._omega @ Z
        D = P - self._omega @ W
        products = self._cross[columns] - P.T @ Z - W.T @ (self._TY - omega_Z)
        if m == 1:
            squares = (self._diagonal[columns] - np.einsum("ij,ij->j", W, P + D))[:, None, None]
        else:
            by_unit = [a.reshape(-1, n_units, m) for a in (W, P, D)]
            squares = self._squares_within(block.columns) - np.einsum("sum,sul->uml", by_unit[0], by_unit[1])
            squares -= np.einsum("sum,sul->uml", by_unit[2], by_unit[0])
        changes, ranks = _eliminated(
            residual.copy(), cross.reshape(n_units, m, q), squares, products.reshape(n_units, m, q), least
        )
        return changes * self._unit, ranks

    def _squares_within(self, columns: Indices) -> Floats:
        """Products of the columns within units, of the test rows."""
        if self._from_moments:
            return np.asarray(self._about_training_means[columns[:, :, None], columns[:, None, :]])
        x = [self.fold.rows.columns(unit) for unit in columns]
        return np.stack([one.T @ one for one in x])

    def added_directions(
        self, unit: Indices, coordinates: Floats, root: Floats, along: Floats, reduced: Reduced, start: Floats
    ) -> float:
        basis, gone = self.projection.basis, reduced.directions
        assert isinstance(basis, RowsBasis)
        assert basis.targets is not None
        targets = basis.targets
        if gone is not None:
            targets = targets + (basis.Q @ gone.T) @ (gone @ self.projection.Z)
        T, z = (self.fold.rows.columns(unit) - self._T @ coordinates) @ root, along.T @ targets
        return float(np.sum(z * (T.T @ T @ z - 2 * T.T @ start))) * self._unit

    def removed(self, directions: Floats) -> Floats:
        Z = self.projection.Z
        along, errors = directions @ Z, directions @ (self._TY - self._omega @ Z)
        squares = np.einsum("urs,uls->url", directions @ self._omega, directions)
        change = 2 * np.einsum("urt,urt->u", along, errors) + np.einsum("url,urt,ult->u", squares, along, along)
        return np.asarray(change * self._unit)


def _eliminated(
    residual: Floats, cross: Floats, squares: Floats, products: Floats, least: Floats
) -> tuple[Floats, Floats]:
    """Changes of the held-out sum of squares by adding units, all at once, column by column of a unit; and ranks.

    Parameters
    ----------
    residual : ndarray of shape (n_units, m, m)
        Gram matrices of training residuals.
    cross : ndarray of shape (n_units, m, n_targets)
        Their products with the training targets.
    squares : ndarray of shape (n_units, m, m)
        Gram matrices of held-out residuals.
    products : ndarray of shape (n_units, m, n_targets)
        Their products with the held-out residuals of the targets.
    least : ndarray of shape (n_units, m)
        Pivots up to this value count as zero.
    """
    changes, ranks = np.zeros(len(residual)), np.zeros(len(residual))
    for t in range(residual.shape[1]):
        independent = residual[:, t, t] > least[:, t]
        length = np.sqrt(np.where(independent, residual[:, t, t], np.inf))[:, None]
        z, errors = cross[:, t] / length, products[:, t] / length
        tau = squares[:, t, t] / length[:, 0] ** 2
        changes += np.einsum("uq,uq->u", z, tau[:, None] * z - 2 * errors)
        ranks += independent
        if t + 1 == residual.shape[1]:
            break
        w, f = residual[:, t] / length, squares[:, t] / length
        residual = residual - w[:, :, None] * w[:, None, :]
        cross = cross - w[:, :, None] * z[:, None, :]
        both = w[:, :, None] * (f - tau[:, None] * w / 2)[:, None, :]
        squares = squares - both - both.transpose(0, 2, 1)
        products = products - f[:, :, None] * z[:, None, :] - w[:, :, None] * (errors - tau[:, None] * z)[:, None, :]
    return changes, ranks
