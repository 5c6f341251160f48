"""Rotations of the basis onto the span of some of its features."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

Floats = NDArray[np.float64]


def rotation_onto(coordinates: Floats, scatter: Floats, tolerance: float) -> tuple[Floats, NDArray[np.intp]]:
    """Rotation H whose first directions span some features, and which of the features span them.

    Parameters
    ----------
    coordinates : ndarray of shape (size, m)
        Coordinates of the features in the basis.
    scatter : ndarray of shape (m,)
        Sums of squares of the features; 0 for constant ones, which span nothing.
    tolerance : float
        Relative residual sum of squares up to which a feature counts as linearly dependent on the others.
    """
    scale = np.sqrt(scatter)
    H, triangle, order = linalg.qr(coordinates / np.where(scale > 0, scale, np.inf), pivoting=True)
    depth = np.abs(np.diagonal(triangle))
    return np.asarray(H, dtype=np.float64), np.asarray(order[: int((depth**2 > tolerance).sum())])
