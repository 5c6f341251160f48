"""The problem of the training rows of every fold, and the held-out rows, from one pass over the table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from itertools import accumulate
from operator import add
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dropstep.data.division import Fold
from dropstep.data.matrices.base import Exponents, Matrix
from dropstep.data.moments import Moments, of_matrix, rescaled_like
from dropstep.data.sample import Sample
from dropstep.data.table import refuse_missing
from dropstep.data.target import Categorical, Continuous, Target
from dropstep.models.least_squares.problem import Problem, from_moments, problem_of, solver_of
from dropstep.projection.equations import Solver

Floats = NDArray[np.float64]
Rows = NDArray[np.intp]

MIN_REMAINDER = 1e-3  # share of a column's scatter that training rows must keep to be total minus test


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
    training : Problem
    rows : HeldOutRows
    moments : Moments or None
        Of the test rows, in the units of the problem; None if the training problem reads columns.
    """

    training: Problem
    rows: HeldOutRows
    moments: Moments | None


def fold_problems(
    sample: Sample, folds: Sequence[Fold], solver: Any, max_features: int | None = None
) -> tuple[Problem, tuple[FoldProblem, ...]]:
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
            total = replace(total, finer=cache(lambda: problem_of(table, target, weights, "columns")))
            training = [_with_finer(problem, sample, fold) for problem, fold in zip(training, folds, strict=True)]
    held_out = [_held_out(sample, test, problem) for problem, (_, test) in zip(training, folds, strict=True)]
    return total, tuple(FoldProblem(*parts) for parts in zip(training, held_out, tests, strict=True))


def training_weights(sample: Sample, fold: Fold) -> Floats:
    """Weights of the training rows of a fold, 0 for the others; a row that occurs twice counts twice."""
    counts = np.bincount(fold[0], minlength=sample.table.n_rows).astype(np.float64)
    return counts if sample.weights is None else counts * sample.weights


def _with_finer(problem: Problem, sample: Sample, fold: Fold) -> Problem:
    weights = training_weights(sample, fold)
    return replace(problem, finer=cache(lambda: problem_of(sample.table, sample.target, weights, "columns")))


def _named(k: int, make: Any, *arguments: Any) -> Problem:
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


def _held_out(sample: Sample, test: Rows, problem: Problem) -> HeldOutRows:
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
