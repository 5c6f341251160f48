"""Gram-Schmidt on centred columns: which features are independent, and what remains of other columns."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Unit = tuple[int, ...]

DEPENDENT = 1e-10  # squared norm of a feature's residual / its own, up to which it is in the span of the others
CONSTANT = 1e-13  # norm of the centred column / norm of the column, up to which a feature is constant


def centred(columns: Floats, weights: Floats) -> Floats:
    """Columns minus their weighted means; the second pass removes the rounding error of the first."""
    for _ in range(2):
        columns = columns - weights @ columns / weights.sum()
    return columns


def zero_constants(columns: Floats, raw: Floats) -> Floats:
    """The centred columns, with those that contain only rounding error set to zero."""
    constant = np.linalg.norm(columns, axis=0) <= CONSTANT * np.linalg.norm(raw, axis=0)
    return np.where(constant, 0.0, columns)


def project_out(basis: Floats, columns: Floats) -> Floats:
    """Residual of the columns after projection on an orthonormal basis, twice to remove rounding error."""
    for _ in range(2):
        columns = columns - basis @ (basis.T @ columns)
    return columns


def orthonormal(features: Floats, subset: Sequence[int]) -> tuple[Floats, list[int]]:
    """An orthonormal basis of the subset, and its features that are independent of the ones before them."""
    basis, independent = np.empty((len(features), 0)), []
    for j in subset:
        norm = np.linalg.norm(features[:, j])
        if norm == 0:
            continue
        residual = project_out(basis, features[:, j] / norm)
        if residual @ residual > DEPENDENT:
            basis = np.column_stack([basis, residual / np.linalg.norm(residual)])
            independent.append(j)
    return basis, independent


def flat(units: Sequence[Unit]) -> Unit:
    """The features of several units."""
    return tuple(j for unit in units for j in unit)


def as_unit(j: int | Sequence[int]) -> Unit:
    """One feature or a group of features, as a tuple."""
    return (int(j),) if isinstance(j, (int, np.integer)) else tuple(int(i) for i in j)
