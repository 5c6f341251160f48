"""Problems: the rows, weighted and centred, with the matrices that criteria and tests are functions of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from reference.least_squares.projection import (
    Floats,
    Unit,
    as_unit,
    centred,
    orthonormal,
    project_out,
    zero_constants,
)

EXACT_FIT, EXACT_FIT_SEVERAL = 1e-22, 1e-13  # relative residual eigenvalue of an exact fit: one target, several targets
UNDETERMINED = 1e-6  # singular value of the rows but one, per root of a row, up to which they do not determine the fit
SEPARATED = 1e13  # trace at which the classes are separated as far as float64 can represent


@dataclass(frozen=True)
class Regression:
    """Least squares with intercept: centred features and targets, each row times the square root of its weight."""

    n: float
    features: Floats
    targets: Floats
    exact_fit: float
    weights: Floats

    @property
    def q(self) -> int:
        """Number of targets."""
        return int(self.targets.shape[1])

    @property
    def df_null(self) -> float:
        """Residual degrees of freedom of the empty model."""
        return self.n - 1

    @property
    def min_residual_df(self) -> int:
        """Residual degrees of freedom that E needs to be invertible: one per target."""
        return self.q

    def residual(self, subset: Sequence[int]) -> Floats:
        """The targets minus their projection on the span of the subset."""
        basis, _ = orthonormal(self.features, subset)
        return project_out(basis, self.targets)

    def error(self, subset: Sequence[int]) -> Floats:
        """E, the q x q matrix of residual sums of squares and products."""
        residual = self.residual(subset)
        return residual.T @ residual

    def log_det_error(self, subset: Sequence[int]) -> float:
        """log det E. As it diverges for an exact fit, relative eigenvalues of E are at least `exact_fit`."""
        norms = np.linalg.norm(self.targets, axis=0)
        values = np.linalg.svd(self.residual(subset) / norms, compute_uv=False)
        return float(2 * np.log(norms).sum() + np.log(np.maximum(values**2, self.exact_fit)).sum())

    def press(self, subset: Sequence[int]) -> float:
        """Squared errors of predicting each row by a model fitted without it; a row of weight w counts w times.

        One repetition of the row is left out, or a row of weight below 1 as a whole. Infinite if the others do not
        determine the prediction.
        """
        independent = orthonormal(self.features, subset)[1]
        root = np.sqrt(self.weights)[:, None]
        scale = np.linalg.norm(self.features[:, independent], axis=0)
        design = np.column_stack([np.ones(len(root)), self.features[:, independent] / root / scale])
        responses, total = self.targets / root, 0.0
        for i, weight in enumerate(self.weights):
            others = self.weights.copy()
            others[i] -= min(weight, 1.0)
            half = np.sqrt(others)[:, None]
            if np.linalg.svd(half * design, compute_uv=False)[-1] < UNDETERMINED * np.sqrt(self.n):
                return float("inf")
            fit = np.linalg.lstsq(half * design, half * responses, rcond=None)[0]
            total += weight * float(np.sum((responses[i] - design[i] @ fit) ** 2))
        return total

    def log_lambda(self, subset: Sequence[int]) -> float:
        """Logarithm of Wilks' lambda(A) = det E_A / det E_0."""
        return self.log_det_error(subset) - self.log_det_error(())

    def is_exact(self, subset: Sequence[int]) -> bool:
        """True if every target is explained up to rounding error."""
        unexplained = np.sum(self.residual(subset) ** 2, axis=0) / np.sum(self.targets**2, axis=0)
        return bool(unexplained.max() <= self.exact_fit)


@dataclass(frozen=True)
class Discriminant:
    """Features centred by class, each row times the square root of its weight, and the centred class means.

    features' features = Sw and between' between = Sb, where row c of `between` is sqrt(n_c) (mean_c - mean).
    """

    n: float
    features: Floats
    between: Floats

    @property
    def n_classes(self) -> int:
        """Number of classes with at least one row."""
        return len(self.between)

    @property
    def df_null(self) -> float:
        """Residual degrees of freedom of the empty model."""
        return self.n - self.n_classes

    @property
    def min_residual_df(self) -> int:
        """Residual degrees of freedom that a selection must not use."""
        return 1

    def eigenvalues(self, subset: Sequence[int]) -> Floats:
        """Eigenvalues of inv(Sw) Sb: with W = Q R they are the squared singular values of between inv(R)."""
        basis, independent = orthonormal(self.features, subset)
        if not independent:
            return np.zeros(1)
        within = self.features[:, independent]
        scale = np.linalg.norm(within, axis=0)
        triangle = np.triu(basis.T @ (within / scale))
        whitened = np.linalg.solve(triangle.T, (self.between[:, independent] / scale).T)
        return np.asarray(np.linalg.svd(whitened, compute_uv=False) ** 2, dtype=np.float64)

    def log_lambda(self, subset: Sequence[int]) -> float:
        """Logarithm of Wilks' lambda(A) = prod 1 / (1 + lambda_i)."""
        return float(-np.log1p(self.eigenvalues(subset)).sum())

    def is_exact(self, subset: Sequence[int]) -> bool:
        """True if the classes are separated as far as float64 can represent."""
        return float(self.eigenvalues(subset).sum()) >= SEPARATED


Problem = Regression | Discriminant


def problem_of(
    X: ArrayLike, y: ArrayLike, weights: ArrayLike | None, model: str, exact_fit: float | None = None
) -> Problem:
    """Weight and centre the rows. A weight counts its row: 2 is the row twice, 0 is no row."""
    features, target = np.asarray(X, dtype=np.float64), np.asarray(y)
    w = np.ones(len(features)) if weights is None else np.asarray(weights, dtype=np.float64)
    features, target, w = features[w > 0], target[w > 0], w[w > 0]
    n, root = float(w.sum()), np.sqrt(w)[:, None]
    raw = root * features
    if model == "linear":
        targets = target.astype(np.float64).reshape(len(target), -1)
        if exact_fit is None:
            exact_fit = EXACT_FIT if targets.shape[1] == 1 else EXACT_FIT_SEVERAL
        columns, responses = zero_constants(root * centred(features, w), raw), root * centred(targets, w)
        return Regression(n, columns, responses, exact_fit, w)
    if model == "discriminant":
        within, between = centred(features, w), []
        for label in np.unique(target):
            rows = target == label
            class_mean = w[rows] @ within[rows] / w[rows].sum()
            between.append(np.sqrt(w[rows].sum()) * class_mean)
            within[rows] = centred(within[rows], w[rows])
        return Discriminant(n, zero_constants(root * within, raw), np.array(between))
    raise ValueError(f"model={model!r}: the reference supports 'linear' and 'discriminant'.")


def size(problem: Problem, subset: Sequence[int]) -> int:
    """k, the number of linearly independent features of a subset."""
    return len(orthonormal(problem.features, subset)[1])


def adds_nothing(problem: Problem, subset: Sequence[int], unit: Unit) -> bool:
    """True if adding the unit does not change the size of the subset."""
    return size(problem, (*subset, *unit)) == size(problem, subset)


def aliased(
    X: ArrayLike,
    y: ArrayLike,
    subset: Sequence[int],
    j: int | Sequence[int],
    weights: ArrayLike | None = None,
    model: str = "linear",
) -> bool:
    """True if feature (or group) j is constant or in the span of the subset; within classes for a discriminant."""
    return adds_nothing(problem_of(X, y, weights, model), subset, as_unit(j))
