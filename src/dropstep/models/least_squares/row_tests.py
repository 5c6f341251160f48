"""Tests that read the rows: in the tails, from rows in memory or in blocks, and by permutation of the residuals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dropstep.data.encoding import Encoding
from dropstep.data.rearrange import pooled
from dropstep.data.sample import Sample
from dropstep.data.source import Block
from dropstep.data.summary import Layout, class_codes, numbers_of
from dropstep.data.target import Categorical
from dropstep.models.base import Units
from dropstep.models.tests import NO_ROWS, Distribution, ScoreSum, WilksTest

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]
Ahead = Callable[[], Sequence[int]]  # returns units that are likely to be added after a unit, in order
DEPENDENT = 1e-10  # relative residual sum of squares below which a column counts as linearly dependent
MAX_ROWS = 2**15  # more rows are thinned
THINNED = 2**13  # to this number, from which the shape of a distribution is read
N_EXTREMES = 256  # rows with the most extreme values of a target, or of a candidate, which are never thinned
DEPENDENT_DIRECTION = 1e-10  # relative eigenvalue below which a direction counts as linearly dependent
NUMBERS_READ = 2**21  # numbers of the design matrix that are in memory at a time
NUMBERS_PROJECTED = 2**21  # values of X that are centred and projected at a time


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
        return Given(np.concatenate((self.basis, columns), axis=1), orthogonal(self.residual, columns))


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
    _last: dict[str, tuple[tuple[int, ...], Given]] = field(default_factory=dict)

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
            X -= np.add.reduce(X) / X.shape[0]
            return X
        X -= self.weights @ X / self.weights.sum()
        return np.asarray(X * np.sqrt(self.weights)[:, None])

    def given(self, selected: Sequence[int]) -> Given:
        """The basis of a selection, and what it leaves; a selection that extends the last one adds to its basis."""
        key = tuple(selected)
        known, given = self._last.get("given", ((), None))
        if given is None or key[: len(known)] != known:
            ones = np.ones(len(self.targets)) if self.weights is None else np.sqrt(self.weights)
            Q = ones[:, None] / np.linalg.norm(ones)
            known, given = (), Given(Q, orthogonal(self.targets, Q))
        for unit in key[len(known) :]:
            given = given.extended(self.candidate(given, unit))
        self._last["given"] = key, given
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
        self,
        unit: int,
        selected: Sequence[int],
        statistic: float,
        df: float,
        residual: Floats | None = None,
        ahead: Ahead | None = None,
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
        residual : ndarray of shape (n_rows, n_targets) or None, default=None
            What the selection leaves of the targets of all rows, where that is known.
        ahead : callable or None, default=None
            Not used: rows are at hand.

        Returns
        -------
        float or None
        """
        every_row = self.choose is None and self.n_represented is None
        if residual is not None and every_row and residual.shape[0] <= MAX_ROWS and self._are_close_to_normal(residual):
            return None
        if self._strata is not None:
            if self._few._are_close_to_normal(self._few.given(selected).residual):
                return None
            return self._with_extremes(unit).log_tail(unit, selected, statistic, df)
        given = self.given(selected)
        R = given.residual
        if self._are_close_to_normal(R):
            return None
        E = self.candidate(given, unit)
        if not E.shape[1]:
            return None
        if R.shape[1] == 1 and E.shape[1] == 1:
            pair = E[:, 0], R[:, 0] / np.linalg.norm(R)
        else:  # the pair of directions along which the unit explains most
            Q = np.linalg.qr(R)[0]
            U, _, V = np.linalg.svd(E.T @ Q, full_matrices=False)
            pair = E @ U[:, 0], Q @ V[0]
        both, weights = self._unweighted(np.column_stack(pair))
        return ScoreSum.of(both[:, 0], both[:, 1], weights).log_p_value(statistic, df, statistic)

    def _are_close_to_normal(self, residual: Floats) -> bool:
        """True if the residual of a single target is close to normal: then no candidate is tested in the tails."""
        if residual.shape[1] > 1:
            return False
        largest = float(np.maximum.reduce(np.abs(residual), axis=None, initial=0.0))  # no power of it overflows
        return not largest or not Distribution.of(*self._unweighted(residual / largest)).far_from_normal

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
    own, E = np.add.reduce(X * X), orthogonal(X, basis)
    residual_ss = np.add.reduce(E * E)
    kept = residual_ss > DEPENDENT * own
    return E[:, kept] / np.sqrt(residual_ss[kept]), kept


def orthonormal(X: Floats, basis: Floats) -> Floats:
    """An orthonormal basis of what a basis leaves of columns."""
    E = normalised(X, basis)[0]
    if E.shape[1] > 1:
        Q, T = np.linalg.qr(E)
        E = Q[:, np.abs(np.diagonal(T)) > np.sqrt(DEPENDENT)]
    return E


@dataclass(frozen=True, eq=False)
class Combinations:
    """Linear combinations of centred columns, one per candidate: the candidate and the residual given a selection.

    Attributes
    ----------
    candidate, residual : ndarray of shape (n_columns + n_targets, n_candidates)
        Coefficients of the columns of the design matrix, followed by the targets.
    """

    candidate: Floats
    residual: Floats


@dataclass(frozen=True, eq=False)
class Scores:
    """Scores of several candidates; those of disjoint rows can be added."""

    of: tuple[ScoreSum, ...]

    def __add__(self, other: Scores) -> Scores:
        return Scores(tuple(a + b for a, b in zip(self.of, other.of, strict=True)))


@dataclass(frozen=True, eq=False)
class Pass:
    """The scores of a block of rows.

    Attributes
    ----------
    layout : Layout
    encoding : Encoding
    labels : ndarray or None
        Class labels; None for numbers.
    columns : tuple of int
        Columns of the design matrix that are read.
    means : ndarray of shape (n_columns + n_targets,)
    combinations : Combinations
    """

    layout: Layout
    encoding: Encoding
    labels: NDArray[np.generic] | None
    columns: tuple[int, ...]
    means: Floats
    combinations: Combinations

    def __call__(self, block: Block) -> Scores:
        part = self.layout.part(block)
        present = np.arange(part.n_rows) if part.weights is None else np.flatnonzero(part.weights > 0)
        if self.labels is None:
            targets = np.column_stack([numbers_of(column) for column in part.targets])
        else:
            targets = class_codes(part.targets[0], self.labels)[:, None] == np.arange(1, len(self.labels))
        scores = Scores((NO_ROWS,) * self.combinations.candidate.shape[1])
        step = max(64, NUMBERS_READ // len(self.means))
        for start in range(0, len(present), step):
            rows = present[start : start + step]
            values = np.hstack([part.design(self.layout, self.encoding, self.columns, rows), targets[rows]])
            values -= self.means
            candidates, residuals = values @ self.combinations.candidate, values @ self.combinations.residual
            weights = None if part.weights is None else part.weights[rows]
            pairs = zip(candidates.T, residuals.T, strict=True)
            scores = scores + Scores(tuple(ScoreSum.of(g, e, weights) for g, e in pairs))
        return scores


@dataclass(frozen=True, eq=False)
class BlockResiduals:
    """Tests in the tails of a row source. See `RowResiduals.log_tail`.

    One pass reads the columns of a candidate, of the selected ones, and of those that are likely to be added next.

    Attributes
    ----------
    sample : Sample
    units : Units
    """

    sample: Sample
    units: Units
    _known: dict[tuple[frozenset[int], int], ScoreSum] = field(default_factory=dict)

    def log_tail(
        self,
        unit: int,
        selected: Sequence[int],
        statistic: float,
        df: float,
        residual: Floats | None = None,
        ahead: Ahead | None = None,
    ) -> float | None:
        """Logarithm of the p-value of adding a unit in the tails; None where its partial F test holds."""
        key = frozenset(selected), unit
        if key not in self._known:
            self._read([*selected], [unit, *(() if ahead is None else ahead())])
        return self._known[key].log_p_value(statistic, df, statistic)

    def _read(self, selected: list[int], chain: Sequence[int]) -> None:
        """The scores of units that are added one after the other, in one pass."""
        sample, known = self.sample, self.sample.moments
        steps = [([*selected, *chain[:i]], unit) for i, unit in enumerate(chain)]
        columns = tuple(sorted(self.units.columns([*selected, *chain])))
        pairs = [self._directions(columns, *step) for step in steps]
        combinations = Combinations(*(np.column_stack(some) for some in zip(*pairs, strict=True)))
        names = sample.names or tuple(f"x{j}" for j in range(sample.n_features))
        encoding = sample.encoding or Encoding(names, (None,) * sample.n_features)
        layout = sample.layout
        if layout.missing != "drop":
            used = {encoding.owners[c] for c in columns}
            layout = layout.without([j for j in layout.read if j not in used])
        means = self._means[[*columns, *range(known.n_features, len(self._means))]]
        read = Pass(layout, encoding, known.labels, columns, means, combinations)
        scores = sample.source.total(read, layout.columns)
        for (before, unit), score in zip(steps, scores.of, strict=True):
            self._known[frozenset(before), unit] = score

    @cached_property
    def _means(self) -> Floats:
        """Means of the columns and the targets."""
        moments = self.sample.moments
        if moments.labels is None:
            return np.asarray(moments.means[0])
        return np.concatenate([pooled(moments).means[0], moments.counts[1:] / moments.n_rows])

    @cached_property
    def _scatter(self) -> Floats:
        """The scatter matrix of the columns and the targets."""
        moments = self.sample.moments
        if moments.labels is None:
            return moments.scatter
        X, counts, means = pooled(moments), moments.counts[1:], moments.means[1:, : moments.n_features]
        cross = (counts[:, None] * (means - X.means[0])).T
        return np.block([[X.scatter, cross], [cross.T, np.diag(counts) - np.outer(counts, counts) / moments.n_rows]])

    def _directions(self, columns: tuple[int, ...], selected: list[int], unit: int) -> tuple[Floats, Floats]:
        """Coefficients of the candidate and of the residual along the pair of directions of the unit's score."""
        p = self.sample.moments.n_features
        every = np.array([*columns, *range(p, len(self._scatter))])
        S = self._scatter[np.ix_(every, every)]
        scale = np.sqrt(np.where(np.diagonal(S) > 0, np.diagonal(S), 1.0))
        S = S / np.outer(scale, scale)
        at = {c: i for i, c in enumerate(columns)}
        A, U = ([at[c] for c in self.units.columns(some)] for some in (selected, [unit]))
        Y = list(range(len(columns), len(every)))
        projection = np.linalg.pinv(S[np.ix_(A, A)], rcond=DEPENDENT_DIRECTION, hermitian=True) @ S[A]
        residual = S - S[:, A] @ projection
        whiten_unit, whiten_targets = (_whitening(residual[np.ix_(some, some)]) for some in (U, Y))
        if not whiten_unit.size or not whiten_targets.size:  # nothing remains to be tested
            return np.zeros(len(every)), np.zeros(len(every))
        left, _, right = np.linalg.svd(whiten_unit.T @ residual[np.ix_(U, Y)] @ whiten_targets, full_matrices=False)
        found = []
        for some, direction in ((U, whiten_unit @ left[:, 0]), (Y, whiten_targets @ right[0])):
            coefficients = np.zeros(len(every))
            coefficients[some] = direction
            coefficients[A] -= projection[:, some] @ direction
            found.append(coefficients / scale)
        return found[0], found[1]


def _whitening(S: Floats) -> Floats:
    """A matrix T with T' S T = I on the span of S."""
    values, vectors = np.linalg.eigh(S)
    kept = values > DEPENDENT_DIRECTION * max(values[-1], 1.0)
    return np.asarray(vectors[:, kept] / np.sqrt(values[kept]))


@dataclass(frozen=True, eq=False)
class PermutedResiduals:
    """Largest statistics over all candidates, for permutations of the residuals of a selection.

    The statistic of a unit is 1 - partial Wilks' lambda, the share of the residual that it explains; where units differ
    in rank, it is minus the logarithm of the p-value of its partial F test. For classes, the targets are indicators.

    Attributes
    ----------
    rows : RowResiduals
    candidates : ndarray of int
        Columns of the units that could be chosen.
    test : WilksTest
    """

    rows: RowResiduals
    candidates: Indices
    test: WilksTest
    _known: dict[Any, tuple[dict[int, float], Floats]] = field(default_factory=dict)

    def p_value(self, selected: tuple[int, ...], unit: int, n_permutations: int, seed: int) -> float:
        """Share of the permutations, the identity included, whose largest statistic reaches that of a unit."""
        key = frozenset(selected), n_permutations, seed
        if key not in self._known:
            self._known.clear()
            self._known[key] = self._statistics(selected, n_permutations, seed)
        own, largest = self._known[key]
        reached = largest >= own.get(unit, -np.inf) * (1 - 1e-12)
        return float((1 + np.count_nonzero(reached)) / (1 + n_permutations))

    def _statistics(self, selected: tuple[int, ...], n_permutations: int, seed: int) -> tuple[dict[int, float], Floats]:
        """The statistic of each candidate, and the largest one for each permutation."""
        rows = self.rows
        if rows.weights is not None:
            raise ValueError("Permutation exchanges rows, which weights make unlike; use Significance, or repeat rows")
        basis, residual = rows.given(selected).basis, rows.given(selected).residual
        rng, n = np.random.default_rng(seed), len(residual)
        orders = [np.arange(n), *(rng.permutation(n) for _ in range(n_permutations))]
        R = _whitened(residual[np.array(orders)], basis)  # permutations x rows x targets
        out = set(selected)
        eligible = np.zeros(rows.sample.table.n_features, dtype=bool)
        eligible[self.candidates] = True
        units = rows.units
        pool = [u for u in range(units.n) if u not in out and eligible[list(units.columns([u]))].any()]
        flat = np.ascontiguousarray(np.moveaxis(R, 1, 0).reshape(n, -1))
        shares, ranks = self._shares(pool, basis, flat, R.shape[2])
        if len(set(ranks.tolist()) - {0}) > 1:
            size = float(basis.shape[1] - 1)
            pairs = zip(shares, ranks.tolist(), strict=True)
            shares = -np.array([self.test.log_p_value(1 - s, size, float(m)) if m else 0 * s for s, m in pairs])
        own = dict(zip(pool, shares[:, 0].tolist(), strict=True))
        return own, shares[:, 1:].max(axis=0, initial=0.0)

    def _shares(self, pool: list[int], basis: Floats, R: Floats, n_targets: int) -> tuple[Floats, Indices]:
        """Share of the permuted residuals that each unit explains, by one product per block of columns; its rank."""
        rows, single = self.rows, self.rows.units.members is None
        found, ranks = np.zeros((len(pool), R.shape[1] // n_targets)), np.zeros(len(pool), dtype=np.intp)
        step = max(1, NUMBERS_PROJECTED // len(R)) if single else 1
        for start in range(0, len(pool), step):
            here = pool[start : start + step]
            X = rows.columns(rows.units.columns(here))
            E, kept = normalised(X, basis) if single else (orthonormal(X, basis), None)
            if not E.shape[1]:
                continue
            explained = ((E.T @ R) ** 2).reshape(E.shape[1], -1, n_targets).sum(axis=2)
            if single:
                found[start : start + step][kept], ranks[start : start + step][kept] = explained, 1
            elif n_targets == 1 or E.shape[1] == 1:
                found[start], ranks[start] = explained.sum(axis=0), E.shape[1]
            else:  # 1 - det(I - B'B)
                B = np.moveaxis((E.T @ R).reshape(E.shape[1], -1, n_targets), 1, 0)
                found[start] = 1 - np.linalg.det(np.eye(n_targets) - np.swapaxes(B, 1, 2) @ B)
                ranks[start] = E.shape[1]
        return np.clip(found, 0.0, 1.0), ranks


def _whitened(R: Floats, basis: Floats) -> Floats:
    """Permuted residuals, orthogonal to a basis and with unit scatter: R' R = I for each permutation."""
    R = R - np.einsum("nk,pkt->pnt", basis, np.einsum("nk,pnt->pkt", basis, R))
    if R.shape[2] == 1:
        length = np.sqrt(np.einsum("pnt,pnt->p", R, R))
        return np.asarray(R / np.where(length > 0, length, 1.0)[:, None, None])
    return np.linalg.qr(R)[0]
