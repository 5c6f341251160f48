"""The folds of least squares: the problem of the training rows of each, and the held-out score after every move."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from itertools import accumulate
from operator import add
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dropstep.data.division import Fold
from dropstep.data.matrices.matrix import Exponents, Matrix
from dropstep.data.moments import Moments, of_matrix, rescaled_like
from dropstep.data.sample import Sample
from dropstep.data.table import refuse_missing
from dropstep.data.target import Categorical, Continuous, Target
from dropstep.models.base import Floats, Indices, Units
from dropstep.models.evaluation import SMALLEST
from dropstep.models.least_squares.problem import ScatterProblem, from_moments, problem_of, solver_of
from dropstep.projection.basis import RowsBasis, orthonormal
from dropstep.projection.equations import Solver
from dropstep.projection.projection import Projection

Rows = NDArray[np.intp]
MIN_REMAINDER = 1e-3  # share of a column's scatter that training rows must keep to be total minus test
THIN = 1e-5  # share of its scatter below which the residual of a column is computed from rows, in both sets of rows
NUMBERS_COPIED = 2**20  # values that are copied at a time
LOGITS_AT_A_TIME = 2**21  # logits that are computed at a time


@dataclass(frozen=True, eq=False)
class HeldOutRows:
    """The test rows of a fold, about the means of its training rows.

    Attributes
    ----------
    X : Matrix of shape (n_test, n_features)
        Test rows of the table; a view where they are contiguous and in memory.
    weights : ndarray of shape (n_test,) or None
    target : Continuous or Categorical
    centre : ndarray of shape (n_features,)
        Training means, in the units of the problem.
    exponents : ndarray of shape (n_features,) or None
        The problem divided feature j by 2 ** exponents[j].
    target_means : ndarray of shape (n_targets,)
    """

    X: Matrix
    weights: Floats | None
    target: Target
    centre: Floats
    exponents: Exponents | None
    target_means: Floats

    @cached_property
    def root(self) -> Floats:
        """Square roots of the weights that columns are multiplied by; those of class labels are not."""
        if self.weights is None or isinstance(self.target, Categorical):
            return np.ones((self.X.shape[0], 1))
        return np.sqrt(self.weights)[:, None]

    @cached_property
    def weight(self) -> float:
        return float(self.X.shape[0] if self.weights is None else self.weights.sum())

    def columns(self, features: Rows) -> Floats:
        """Columns minus their training means, times the square roots of the weights."""
        taken = self.X.take(features).astype(np.float64)
        if self.exponents is not None:
            taken = np.ldexp(taken, -self.exponents[features])
        return np.asarray((taken - self.centre[features]) * self.root)

    def products(self, T: Floats) -> Floats:
        """T' times all columns, in one pass over the test rows."""
        weighted = T * self.root
        products = self.X.multiply(np.ascontiguousarray(weighted.T), in_double=True)
        if self.exponents is not None:
            products = np.ldexp(products, -self.exponents)
        return np.asarray(products - np.outer(weighted.sum(axis=0), self.centre))

    @cached_property
    def targets(self) -> Floats:
        assert isinstance(self.target, Continuous)
        return np.asarray((self.target.values - self.target_means) * self.root)


@dataclass(frozen=True, eq=False)
class FoldProblem:
    """One fold: the problem of its training rows, its test rows, and (from a Gram matrix) the moments of these.

    Attributes
    ----------
    training : ScatterProblem
    rows : HeldOutRows
    moments : Moments or None
        Of the test rows, in the units of the problem; None if the training problem reads columns.
    """

    training: ScatterProblem
    rows: HeldOutRows
    moments: Moments | None


def fold_problems(
    sample: Sample, folds: Sequence[Fold], solver: Any, max_features: int | None = None
) -> tuple[ScatterProblem, tuple[FoldProblem, ...]]:
    """The problem of all rows, and those of the folds.

    From a Gram matrix, the moments of each test set are computed once, and those of the training rows are sums of
    them. From columns, the training rows of all folds are the same X with weights of 0 for the others.

    Parameters
    ----------
    sample : Sample
        Table, target and weights.
    folds : sequence of (ndarray, ndarray)
        Training and test rows.
    solver : {"auto", "gram", "columns"}
    max_features : int or None
        Number of features that may be selected.
    """
    _check(sample, folds)
    table, target, weights = sample.table, sample.target, sample.weights
    chosen: Solver = solver_of(table.matrix, max_features) if solver == "auto" else solver
    if chosen == "columns":
        total = problem_of(table, target, weights, "columns")
        masks = [training_weights(sample, fold) for fold in folds]
        training = [_named(k, problem_of, table, target, mask, "columns") for k, mask in enumerate(masks)]
        tests: list[Moments | None] = [None] * len(folds)
    else:
        parts, exponents = _fold_moments(sample, folds)
        refuse_missing(table, parts[0].means[:, : parts[0].n_features])
        refuse_missing(table, np.diagonal(parts[0].scatter)[None, : parts[0].n_features])
        total = from_moments(parts[0], exponents)
        training = [_named(k, from_moments, part, exponents) for k, part in enumerate(parts[1 : 1 + len(folds)])]
        tests = list(parts[1 + len(folds) :])
        if solver == "auto":
            total = replace(total, from_rows=cache(lambda: problem_of(table, target, weights, "columns")))
            training = [_with_finer(problem, sample, fold) for problem, fold in zip(training, folds, strict=True)]
    held_out = [_held_out(sample, test, problem) for problem, (_, test) in zip(training, folds, strict=True)]
    return total, tuple(FoldProblem(*parts) for parts in zip(training, held_out, tests, strict=True))


def training_weights(sample: Sample, fold: Fold) -> Floats:
    """Weights of the training rows of a fold, 0 for the others; a row that occurs twice counts twice."""
    counts = np.bincount(fold[0], minlength=sample.table.n_rows).astype(np.float64)
    return counts if sample.weights is None else counts * sample.weights


def _with_finer(problem: ScatterProblem, sample: Sample, fold: Fold) -> ScatterProblem:
    weights = training_weights(sample, fold)
    return replace(problem, from_rows=cache(lambda: problem_of(sample.table, sample.target, weights, "columns")))


def _named(k: int, make: Any, *arguments: Any) -> ScatterProblem:
    """A problem, or the error of its fold."""
    try:
        return make(*arguments)  # type: ignore[no-any-return]
    except ValueError as error:
        raise ValueError(f"the training rows of fold {k + 1} do not suffice: {error}") from None


def _check(sample: Sample, folds: Sequence[Fold]) -> None:
    """Refuse folds without test rows."""
    weights = np.ones(sample.table.n_rows) if sample.weights is None else sample.weights
    for k, (_, test) in enumerate(folds, start=1):
        if not weights[test].sum() > 0:
            raise ValueError(f"fold {k} has no test rows (of positive weight); use fewer folds, or another splitter")


def refuse_missing_classes(sample: Sample, folds: Sequence[Fold]) -> None:
    """Refuse folds whose training rows lack a class."""
    target = sample.target
    if not isinstance(target, Categorical):
        return
    for k, fold in enumerate(folds, start=1):
        counts = np.bincount(target.codes, training_weights(sample, fold), len(target.labels))
        if (few := np.flatnonzero(counts < 2)).size:
            raise ValueError(
                f"fold {k} has {counts[few[0]]:g} training rows of class {str(target.labels[few[0]])!r}; at least 2 "
                "are required: use fewer folds, a stratified splitter, or join classes"
            )


def without_lone_rows(train: Rows, target: Target) -> Rows:
    """Training rows without classes of a single row, which have no scatter."""
    if not isinstance(target, Categorical):
        return train
    kept = train[np.bincount(target.codes[train], minlength=len(target.labels))[target.codes[train]] > 1]
    if not len(kept):
        raise ValueError("the training rows of a fold have no class of two rows or more; use fewer folds")
    return kept


def lacks_classes(train: Rows, target: Target) -> bool:
    """Whether training rows lack a class."""
    return isinstance(target, Categorical) and len(np.unique(target.codes[train])) < len(target.labels)


def take(target: Target, rows: Any) -> Target:
    """A target at some rows."""
    if isinstance(target, Categorical):
        return Categorical(target.labels, target.codes[rows])
    return Continuous(target.values[rows])


def _held_out(sample: Sample, test: Rows, problem: ScatterProblem) -> HeldOutRows:
    at, origin = _as_slice(test), problem.origin
    centre = origin.counts @ origin.means / origin.n
    weights = None if sample.weights is None else sample.weights[at]
    target = take(sample.target, at)
    return HeldOutRows(sample.table.matrix.at(at), weights, target, centre, origin.exponents, origin.target_means)


def _as_slice(rows: Rows) -> Any:
    """Contiguous rows as a slice, so that they are not copied."""
    if len(rows) and rows[-1] - rows[0] == len(rows) - 1 and np.all(np.diff(rows) == 1):
        return slice(int(rows[0]), int(rows[-1]) + 1)
    return rows


def _fold_moments(sample: Sample, folds: Sequence[Fold]) -> tuple[list[Moments], Exponents | None]:
    """Moments of all rows, of the training rows of every fold, and of the test rows of every fold."""
    X, target, weights = sample.table.matrix, sample.target, sample.weights
    parts = _moments(X, target, weights, folds)
    scaled = rescaled_like(X, parts[0], weights)
    if scaled is None:
        return parts, None
    return _moments(scaled[0], target, weights, folds), scaled[1]


def _moments(X: Matrix, target: Target, weights: Floats | None, folds: Sequence[Fold]) -> list[Moments]:
    def of(rows: Any) -> Moments:
        return of_matrix(X.at(rows), take(target, rows), None if weights is None else weights[rows])

    n, tests = X.shape[0], [of(_as_slice(test)) for _, test in folds]
    complements = [_is_complement(train, test, n) for train, test in folds]
    if (
        len(folds) > 1
        and all(complements)
        and np.array_equal(np.sort(np.concatenate([test for _, test in folds])), np.arange(n))
    ):
        before, after = list(accumulate(tests, add)), list(accumulate(reversed(tests), add))[::-1]
        last = len(tests) - 1
        training = [
            after[1] if k == 0 else before[last - 1] if k == last else before[k - 1] + after[k + 1]
            for k in range(last + 1)
        ]
        return [before[-1], *training, *tests]
    total = of(slice(None))
    enough = MIN_REMAINDER * np.diagonal(total.scatter)
    training = []
    for (train, _), test, complement in zip(folds, tests, complements, strict=True):
        rest = total - test if complement else None
        if rest is None or len(rest.counts) < len(total.counts) or np.any(np.diagonal(rest.scatter) < enough):
            rest = of(_as_slice(train))
        training.append(rest)
    return [total, *training, *tests]


def _is_complement(train: Rows, test: Rows, n: int) -> bool:
    counts = np.bincount(train, minlength=n) + np.bincount(test, minlength=n)
    return len(counts) == n and bool((counts == 1).all())


class CandidateBlock(NamedTuple):
    """Candidates with the same number of columns: their positions in a scan, and the columns of each."""

    at: Indices
    columns: Indices  # units x m


class Reduced(NamedTuple):
    """The basis of a fold without the directions of a removed unit, by which coordinates are reduced."""

    directions: Floats | None

    def __call__(self, coordinates: Floats) -> Floats:
        g = self.directions
        return coordinates if g is None else coordinates - g.T @ (g @ coordinates)


class FoldScores:
    """The selected columns of one fold, and its held-out score.

    Invariant: with R'R = S_AA of the training rows, a held-out row x_A has the coordinates t = x_A inv(R) in the basis
    of the training projection, and column j the held-out residual x_j - t W_j.

    Subclasses compute held-out scores of additions from these residuals, and of removals from the coordinates.
    """

    def __init__(self, fold: FoldProblem, units: Units, max_features: int | None) -> None:
        self.fold, self.problem, self.units = fold, fold.training, units
        limit = math.inf if max_features is None or units.members is not None else float(max_features)
        self.projection = Projection(self.problem.equations, limit)
        self.lost_digits = False  # whether a scan found a residual of which a Gram matrix keeps few digits
        self._within: dict[int, Floats] = {}  # training scatter within units, by number of columns
        self._lengths = np.array([len(unit) for unit in units.members], dtype=np.intp) if units.members else None
        self.read()

    # --- state -------------------------------------------------------------------------------------------------------

    @property
    def score(self) -> float:
        """The held-out score of the present selection."""
        raise NotImplementedError

    @property
    def size(self) -> int:
        """Number of linearly independent selected columns."""
        return self.projection.size

    @property
    def max_rank(self) -> float:
        """How many independent columns the training rows can estimate: at least one degree of freedom remains."""
        return self.problem.df - 1

    @property
    def _has_rows(self) -> bool:
        return isinstance(self.projection.basis, RowsBasis)

    def add(self, units: Sequence[int]) -> None:
        self.projection.add(self.units.columns(units))
        self.read(grown=True)

    def remove(self, units: Sequence[int]) -> None:
        for unit in units:
            self.projection.remove(self.units.columns([unit]))
        self.read()

    def read(self, *, grown: bool = False) -> None:
        """Read the held-out rows in the basis of the projection; only its new directions if it has `grown`."""
        raise NotImplementedError

    # --- scans -------------------------------------------------------------------------------------------------------

    def additions(self, units: Indices, without: int | None = None) -> tuple[Floats, Floats]:
        """Changes of the score by adding each unit, and their ranks; after removing the unit `without` if given."""
        gone = None if without is None else self.projection.directions(self.units.columns([without]))
        reduced, changes, ranks = Reduced(gone), np.zeros(len(units)), np.zeros(len(units))
        self.projection.update(np.array(self.units.columns(units), dtype=np.intp), freeze=without is None)
        start = self.before(reduced)
        for block in self._blocks(units):
            residual, thin = self._training(block, reduced)
            least = self.projection.precision.least[block.columns]
            changes[block.at], ranks[block.at] = self.added(block, residual, least, reduced, start)
            if not self._has_rows:
                self.lost_digits |= bool(thin.any())
                continue
            for i in np.flatnonzero(thin).tolist():
                changes[block.at[i]], ranks[block.at[i]] = self._from_rows(block.columns[i], least[i], reduced, start)
        return changes, ranks

    def removals(self, units: Indices) -> Floats:
        """Changes of the score by removing each selected unit."""
        projection = self.projection
        if self._lengths is None and not projection.dependent:
            place = {j: i for i, j in enumerate(projection.independent)}
            rows = projection.inverse[[place[int(u)] for u in units]]
            return self.removed((rows / np.linalg.norm(rows, axis=1)[:, None])[:, None, :])
        changes = [self.removed(projection.directions(self.units.columns([u]))[None]) for u in units.tolist()]
        return np.concatenate(changes) if changes else np.empty(0)

    def before(self, reduced: Reduced) -> NDArray[np.float64]:
        """What `added` starts from: held-out residuals, or logits, given the reduced basis."""
        raise NotImplementedError

    def added(
        self, block: CandidateBlock, residual: Floats, least: Floats, reduced: Reduced, start: Floats
    ) -> tuple[Floats, Floats]:
        """Changes of the score by adding each unit of a block, and their ranks.

        `residual` are the Gram matrices of the training residuals of each unit's columns; pivots up to `least` are
        zero.
        """
        raise NotImplementedError

    def added_directions(
        self, unit: Indices, coordinates: Floats, root: Floats, along: Floats, reduced: Reduced, start: Floats
    ) -> float:
        """Change of the score by independent columns with these coordinates in the basis, computed from rows.

        Their training residuals, times `root`, are the orthonormal columns `along`.
        """
        raise NotImplementedError

    def removed(self, directions: Floats) -> Floats:
        """Changes of the score without some directions (units x rank x size)."""
        raise NotImplementedError

    # --- training residuals ------------------------------------------------------------------------------------------

    def _blocks(self, units: Indices) -> list[CandidateBlock]:
        """The units of a scan, by number of columns."""
        if self._lengths is None:
            return [CandidateBlock(np.arange(len(units)), units[:, None])]
        assert self.units.members is not None
        members, lengths = self.units.members, self._lengths[units]
        found = []
        for m in np.unique(lengths):
            at = np.flatnonzero(lengths == m)
            found.append(CandidateBlock(at, np.array([members[int(u)] for u in units[at]], dtype=np.intp)))
        return found

    def _training(self, block: CandidateBlock, reduced: Reduced) -> tuple[Floats, NDArray[np.bool_]]:
        """Gram matrices of the training residuals of units, and which of them have lost digits."""
        projection, columns, gone = self.projection, block.columns, reduced.directions
        diagonal = self.problem.equations.diagonal[columns]
        if columns.shape[1] == 1:
            ss, _, least = projection.residuals(columns[:, 0], gone)
            thin = (ss < THIN * diagonal[:, 0]) & (ss > least)
            return ss[:, None, None], thin
        W = projection.W[:, columns]
        residual = self._scatter_within(columns) - np.einsum("sum,sul->uml", W, W)
        if gone is not None:
            W = np.einsum("rs,sum->rum", gone, W)
            residual += np.einsum("rum,rul->uml", W, W)
        thin = _pivots(residual, projection.precision.least[columns]) < THIN * diagonal
        return residual, np.asarray((thin & (diagonal > 0)).any(axis=1))

    def _scatter_within(self, columns: Indices) -> Floats:
        """Training scatter within each of some units."""
        S = self.problem.equations.scatter
        if isinstance(S, np.ndarray):
            return np.asarray(S[columns[:, :, None], columns[:, None, :]])
        m = columns.shape[1]
        assert self.units.members is not None
        if m not in self._within:
            self._within[m] = np.full((self.problem.n_features, m, m), np.nan)
        within = self._within[m]
        for unit in columns[np.isnan(within[columns[:, 0], 0, 0])]:
            within[unit[0]] = self.problem.equations.block(unit)
        return np.asarray(within[columns[:, 0]])

    def _from_rows(self, unit: Indices, least: Floats, reduced: Reduced, start: Floats) -> tuple[float, float]:
        """Change of the score and rank of one unit, from the rows: differences of products have lost digits."""
        basis = self.projection.basis
        assert isinstance(basis, RowsBasis)
        x, gone = basis.columns.centred(unit), reduced.directions
        residuals = x
        for _ in range(2):
            residuals = residuals - basis.Q @ (basis.Q.T @ residuals)
        coordinates = basis.Q.T @ x
        if gone is not None:
            residuals = residuals + (basis.Q @ gone.T) @ (gone @ coordinates)
        directions, independent = orthonormal(residuals, least)
        if not independent:
            return 0.0, 0.0
        root = np.asarray(np.linalg.inv(directions.T @ residuals[:, independent]), dtype=np.float64)
        kept = reduced(coordinates[:, independent])
        change = self.added_directions(unit[independent], kept, root, directions, reduced, start)
        return change, float(len(independent))


def _pivots(residual: Floats, least: Floats) -> Floats:
    """Residual of each column of a unit given the earlier ones."""
    residual, pivots = residual.copy(), np.empty(least.shape)
    for t in range(residual.shape[1]):
        pivots[:, t] = residual[:, t, t]
        length = np.sqrt(np.where(pivots[:, t] > least[:, t], pivots[:, t], np.inf))
        w = residual[:, t, :] / length[:, None]
        residual -= w[:, :, None] * w[:, None, :]
    return pivots


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
        squares, step = np.empty(p), max(1, NUMBERS_COPIED // self.fold.rows.X.shape[0])
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
        self, block: CandidateBlock, residual: Floats, least: Floats, reduced: Reduced, start: Floats
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
        step = max(1, LOGITS_AT_A_TIME // (len(self._codes) * len(self._M)))
        return (slice(start, start + step) for start in range(0, n_moves, step))

    def added(
        self, block: CandidateBlock, residual: Floats, least: Floats, reduced: Reduced, start: Floats
    ) -> tuple[Floats, Floats]:
        now = self._mean(start[:, :, None].copy())[0]
        scores, ranks = np.empty(len(block.at)), np.empty(len(block.at))
        for here in self._chunks(len(block.at)):
            part = CandidateBlock(block.at[here], block.columns[here])
            scores[here], ranks[here] = self._added(part, residual[here].copy(), least[here], reduced, start)
        return scores - now, ranks

    def _added(
        self, block: CandidateBlock, residual: Floats, least: Floats, reduced: Reduced, start: Floats
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
