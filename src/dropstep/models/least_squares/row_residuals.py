"""Residuals of the rows under a selection: what permutations and tests in the tails read, and moments do not have."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dropstep.data.sample import Sample
from dropstep.data.target import Categorical
from dropstep.models.base import Units
from dropstep.models.tests import Distribution, ScoreSum

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]
Ahead = Callable[[], Sequence[int]]  # returns units that are likely to be added after a unit, in order

DEPENDENT = 1e-10  # relative residual sum of squares below which a column counts as linearly dependent
MAX_ROWS = 2**15  # more rows are thinned
THINNED = 2**13  # to this number, from which the shape of a distribution is read
N_EXTREMES = 256  # rows with the most extreme values of a target, or of a candidate, which are never thinned


@dataclass(frozen=True, eq=False)
class Given:
    """What is known of the rows under a selection.

    Attributes
    ----------
    basis : ndarray of shape (n_rows, n_columns)
        An orthonormal basis of the intercept and the columns of the selected units.
    residual : ndarray of shape (n_rows, n_targets)
        What it leaves of the targets.
    candidates : dict of int to ndarray
        Orthonormal bases of what it leaves of units.
    """

    basis: Floats
    residual: Floats
    candidates: dict[int, Floats] = field(default_factory=dict)

    def extended(self, columns: Floats) -> Given:
        """The selection with another unit, given an orthonormal basis of what the others leave of it."""
        return Given(np.hstack([self.basis, columns]), orthogonal(self.residual, columns))


@dataclass(frozen=True, eq=False)
class RowResiduals:
    """Rows of a sample, and what a selection leaves of the targets and of candidates.

    For classes, the targets are indicators of all classes but the first. All columns are multiplied by the roots of the
    weights.

    Attributes
    ----------
    sample : Sample
    units : Units
    choose : callable or None
        Returns the rows of the sample; None means all.
    n_represented : ndarray of shape (n_rows,) or None
        Number of rows that each of the rows stands for; None means 1.
    """

    sample: Sample
    units: Units
    choose: Callable[[], Indices] | None = None
    n_represented: Floats | None = None
    _known: dict[tuple[int, ...], Given] = field(default_factory=dict)

    @cached_property
    def rows(self) -> Indices | None:
        """Rows of the sample; None if they are all."""
        return None if self.choose is None else self.choose()

    @cached_property
    def weights(self) -> Floats | None:
        """Frequencies of the rows; None if all are 1."""
        weights = self.sample.weights
        if weights is not None and self.rows is not None:
            weights = weights[self.rows]
        if weights is None or self.n_represented is None:
            return self.n_represented if weights is None else weights
        return np.asarray(weights * self.n_represented)

    @cached_property
    def targets(self) -> Floats:
        """The targets, one column each."""
        target = self.sample.target
        rows = slice(None) if self.rows is None else self.rows
        if isinstance(target, Categorical):
            values = np.asarray(target.codes[rows, None] == np.arange(1, len(target.labels)), dtype=np.float64)
        else:
            values = np.asarray(target.values[rows], dtype=np.float64)
        return values if self.weights is None else values * np.sqrt(self.weights)[:, None]

    def columns(self, columns: Sequence[int]) -> Floats:
        """Columns of the design matrix, centred and rescaled."""
        X = self.sample.table.columns(columns, self.rows).astype(np.float64)
        X *= np.ldexp(1.0, -np.frexp(np.abs(X).max(axis=0, initial=0.0))[1])  # no square overflows
        if self.weights is None:
            X -= X.mean(axis=0)
            return X
        X -= self.weights @ X / self.weights.sum()
        return np.asarray(X * np.sqrt(self.weights)[:, None])

    def given(self, selected: Sequence[int]) -> Given:
        """The basis of a selection, and what it leaves; a selection that extends the last one adds to its basis."""
        key = tuple(selected)
        known = next((other for other in self._known if key[: len(other)] == other), None)
        if known is None:
            ones = np.ones(len(self.targets)) if self.weights is None else np.sqrt(self.weights)
            Q = ones[:, None] / np.linalg.norm(ones)
            given, new = Given(Q, orthogonal(self.targets, Q)), key
        else:
            given, new = self._known[known], key[len(known) :]
        for unit in new:
            given = given.extended(self.candidate(given, unit))
        self._known.clear()
        self._known[key] = given
        return given

    def candidate(self, given: Given, unit: int) -> Floats:
        """An orthonormal basis of what a selection leaves of the columns of a unit."""
        if unit not in given.candidates:
            given.candidates[unit] = orthonormal(self.columns(self.units.columns([unit])), given.basis)
        return given.candidates[unit]

    @cached_property
    def _strata(self) -> Indices | None:
        """A stratum of each row, if there are too many rows; None if not.

        It is the class, or whether the row is one of those that are most extreme in a target.
        """
        n, rows, target = len(self.targets), self.rows, self.sample.target
        if n <= MAX_ROWS:
            return None
        if isinstance(target, Categorical):
            return np.asarray(target.codes if rows is None else target.codes[rows], dtype=np.intp)
        values = target.values if rows is None else target.values[rows]
        strata = np.zeros(n, dtype=np.intp)
        strata[_most_extreme(values, N_EXTREMES)] = 1
        return strata

    @cached_property
    def _few(self) -> RowResiduals:
        """About `THINNED` rows that stand for all, for every candidate."""
        assert self._strata is not None
        return self._thinned(self._strata)

    def _with_extremes(self, unit: int) -> RowResiduals:
        """The same, with the extreme rows of a candidate.

        A product of candidate and residual is extreme only if one of them is, so that no wild row is missed.
        """
        assert self._strata is not None
        X, strata = self.sample.table.columns(self.units.columns([unit]), self.rows), self._strata.copy()
        strata[_most_extreme(X, max(N_EXTREMES // X.shape[1], 1))] = int(strata.max()) + 1
        return self._thinned(strata)

    def _thinned(self, strata: Indices) -> RowResiduals:
        """Evenly spaced rows of each stratum."""
        every, rows = (np.flatnonzero(strata == code) for code in range(int(strata.max()) + 1)), self.rows
        members = [here for here in every if len(here)]
        kept = [here[:: -(-len(here) * len(members) // THINNED)] for here in members]
        chosen, counts = np.concatenate(kept), [len(some) for some in kept]
        represented = np.repeat([len(here) / len(some) for here, some in zip(members, kept, strict=True)], counts)
        return RowResiduals(self.sample, self.units, lambda: chosen if rows is None else rows[chosen], represented)

    def log_tail(
        self, unit: int, selected: Sequence[int], statistic: float, df: float, ahead: Ahead | None = None
    ) -> float | None:
        """Logarithm of the p-value of adding a unit in the tails; None where its partial F test holds.

        Parameters
        ----------
        unit : int
        selected : sequence of int
            Selected units.
        statistic : float
            Pillai's trace of the unit given the selected ones, times the residual degrees of freedom without it: close
            to chi-squared for normal rows.
        df : float
            Degrees of freedom of the statistic.
        ahead : callable or None, default=None
            Not used: rows are at hand.

        Returns
        -------
        float or None
        """
        if self._strata is not None:
            if not self._few.leaves_far_from_normal(selected):
                return None
            return self._with_extremes(unit).log_tail(unit, selected, statistic, df)
        given = self.given(selected)
        E, R = self.candidate(given, unit), given.residual
        if not E.shape[1]:
            return None
        if R.shape[1] == 1 and E.shape[1] == 1:
            candidate, residual = E[:, 0], R[:, 0] / np.linalg.norm(R)
        else:  # the pair of directions along which the unit explains most
            Q = np.linalg.qr(R)[0]
            U, _, V = np.linalg.svd(E.T @ Q, full_matrices=False)
            candidate, residual = E @ U[:, 0], Q @ V[0]
        both, weights = self._unweighted(np.column_stack([candidate, residual]))
        return ScoreSum.of(both[:, 0], both[:, 1], weights).log_p_value(statistic, df, statistic)

    def leaves_far_from_normal(self, selected: Sequence[int]) -> bool:
        """True if a selection leaves a target that is far from normal, or several targets."""
        residual = self.given(selected).residual
        return residual.shape[1] > 1 or Distribution.of(*self._unweighted(residual)).far_from_normal

    def _unweighted(self, columns: Floats) -> tuple[Floats, Floats | None]:
        """Columns without the roots of the weights, and the weights, of rows of positive weight."""
        if (weights := self.weights) is None:
            return columns, None
        here = weights > 0
        return columns[here] / np.sqrt(weights[here])[:, None], weights[here]


def _most_extreme(values: NDArray[Any], count: int) -> Indices:
    """The rows that are furthest from the mean of a column, about as many for each; the limit is that of some rows."""
    distance = np.abs(values - values.mean(axis=0))
    step = max(min(len(values) // THINNED, count), 1)
    some = distance[::step]
    limit = np.partition(some, len(some) - count // step, axis=0)[len(some) - count // step]
    return np.flatnonzero((distance > limit).any(axis=1))


def orthogonal(X: Floats, basis: Floats) -> Floats:
    """What an orthonormal basis leaves of columns, in two passes for the digits."""
    for _ in range(2):
        X = X - basis @ (basis.T @ X)
    return X


def normalised(X: Floats, basis: Floats) -> tuple[Floats, NDArray[np.bool_]]:
    """What a basis leaves of columns, with length 1, and which columns do not depend on it; the others are omitted."""
    own, E = np.einsum("ij,ij->j", X, X), orthogonal(X, basis)
    residual_ss = np.einsum("ij,ij->j", E, E)
    kept = residual_ss > DEPENDENT * own
    return E[:, kept] / np.sqrt(residual_ss[kept]), kept


def orthonormal(X: Floats, basis: Floats) -> Floats:
    """An orthonormal basis of what a basis leaves of columns."""
    E = normalised(X, basis)[0]
    if E.shape[1] > 1:
        Q, T = np.linalg.qr(E)
        E = Q[:, np.abs(np.diagonal(T)) > np.sqrt(DEPENDENT)]
    return E
