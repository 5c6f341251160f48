"""Held-out log score of discriminant analysis: the mean log probability of the true classes of the test rows."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np

from dropstep.data.target import Categorical
from dropstep.models.base import Floats, Indices
from dropstep.models.evaluation import SMALLEST
from dropstep.models.least_squares.fold_scores import Block, FoldScores, Reduced

BLOCK_SIZE = 2**21  # logits that are computed at a time


class HeldOutLogScores(FoldScores):
    """Mean log probability of the true class of the test rows of one fold.

    With T the test rows and M the class means in the basis of the training projection, about the mean of the training
    rows, and n the number of these, the logits of linear discriminant analysis (whose covariance matrix is Sw / n) are

        log prior + n (T M' - |M|^2 / 2)

    up to a constant per row, and a further column adds one term n (t m - m^2 / 2).
    """

    def read(self, *, grown: bool = False) -> None:
        A = np.array(self.projection.independent, dtype=np.intp)
        inverse = self.projection.inverse
        self._T, self._M = self.fold.rows.columns(A) @ inverse, self._class_means(A) @ inverse
        self._logits = self.before(Reduced(None))
        self._score = self._mean(self._logits[:, :, None].copy())[0]

    @property
    def score(self) -> float:
        return float(self._score)

    @cached_property
    def _codes(self) -> Indices:
        assert isinstance(self.fold.rows.target, Categorical)
        return self.fold.rows.target.codes

    @cached_property
    def _weights(self) -> Floats:
        weights = self.fold.rows.weights
        share = np.ones(len(self._codes)) if weights is None else weights
        return np.asarray(share / share.sum())

    def _class_means(self, columns: Indices) -> Floats:
        """Class means of the training rows, about the mean of all of them."""
        return np.asarray(self.problem.origin.means[:, columns] - self.fold.rows.centre[columns])

    def _mean(self, logits: Floats) -> Floats:
        """Mean log probabilities of the true classes; `logits` is classes x rows x moves, and is overwritten."""
        true = logits[self._codes, np.arange(len(self._codes))]
        top = logits.max(axis=0)
        logits = np.exp(np.subtract(logits, top, out=logits), out=logits)
        log_p = true - top - np.log(logits.sum(axis=0))
        return np.asarray(self._weights @ np.clip(log_p, SMALLEST, 0.0))

    def before(self, reduced: Reduced) -> Floats:
        """Logits given the reduced basis, classes x rows."""
        n, origin = self.problem.n, self.problem.origin
        M = reduced(self._M.T)
        constant = np.log(origin.counts / n) - n * np.einsum("sc,sc->c", M, M) / 2
        return np.asarray(constant[:, None] + n * (self._T @ M).T)

    def _chunks(self, n_moves: int) -> Iterator[slice]:
        step = max(1, BLOCK_SIZE // (len(self._codes) * len(self._M)))
        return (slice(start, start + step) for start in range(0, n_moves, step))

    def added(
        self, block: Block, residual: Floats, least: Floats, reduced: Reduced, start: Floats
    ) -> tuple[Floats, Floats]:
        now = self._mean(start[:, :, None].copy())[0]
        scores, ranks = np.empty(len(block.at)), np.empty(len(block.at))
        for here in self._chunks(len(block.at)):
            part = Block(block.at[here], block.columns[here])
            scores[here], ranks[here] = self._added(part, residual[here].copy(), least[here], reduced, start)
        return scores - now, ranks

    def _added(
        self, block: Block, residual: Floats, least: Floats, reduced: Reduced, start: Floats
    ) -> tuple[Floats, Floats]:
        n, (n_units, m), columns = self.problem.n, block.columns.shape, block.columns.ravel()
        W = reduced(self.projection.W[:, columns])
        x = (self.fold.rows.columns(columns) - self._T @ W).reshape(-1, n_units, m)
        means = (self._class_means(columns) - self._M @ W).reshape(-1, n_units, m)
        logits, ranks = np.repeat(start[:, :, None], n_units, axis=2), np.zeros(n_units)
        for t in range(m):
            independent = residual[:, t, t] > least[:, t]
            length = np.sqrt(np.where(independent, residual[:, t, t], np.inf))
            along, centres = x[:, :, t] / length, means[:, :, t] / length
            for c, centre in enumerate(centres):
                logits[c] += along * (n * centre) - n / 2 * centre**2
            ranks += independent
            if t + 1 < m:
                w = residual[:, t] / length[:, None]
                residual -= w[:, :, None] * w[:, None, :]
                x = x - along[:, :, None] * w
                means = means - centres[:, :, None] * w
        return self._mean(logits), ranks

    def added_directions(
        self, unit: Indices, coordinates: Floats, root: Floats, along: Floats, reduced: Reduced, start: Floats
    ) -> float:
        n = self.problem.n
        T = (self.fold.rows.columns(unit) - self._T @ coordinates) @ root
        M = (self._class_means(unit) - self._M @ coordinates) @ root
        logits = start + n * (M @ T.T) - n / 2 * np.einsum("cr,cr->c", M, M)[:, None]
        return float((self._mean(logits[:, :, None]) - self._mean(start[:, :, None].copy()))[0])

    def removed(self, directions: Floats) -> Floats:
        n, changes = self.problem.n, np.empty(len(directions))
        for here in self._chunks(len(directions)):
            T = np.einsum("is,urs->iur", self._T, directions[here])
            M = np.einsum("cs,urs->cur", self._M, directions[here])
            logits = self._logits[:, :, None] - n * np.einsum("iur,cur->ciu", T, M)
            logits += n / 2 * np.einsum("cur,cur->cu", M, M)[:, None, :]
            changes[here] = self._mean(logits) - self._score
        return changes
