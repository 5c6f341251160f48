"""Rotations of the basis onto the span of some of its features."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

Floats = NDArray[np.float64]


def rotation_onto(coordinates: Floats, least: Floats) -> tuple[Floats, NDArray[np.intp]]:
    """Rotation H whose first directions span some features, and which of the features span them.

    Parameters
    ----------
    coordinates : ndarray of shape (size, m)
        Coordinates of the features in the basis.
    least : ndarray of shape (m,)
        Residual sums of squares up to which each counts as linearly dependent on the others: those of features whose
        coordinates lost digits are larger, so that they come last and their rounding errors span nothing. Infinite for
        constant features.
    """
    H, triangle, order = linalg.qr(coordinates / np.sqrt(least), pivoting=True)
    depth = np.abs(np.diagonal(triangle))
    return np.asarray(H, dtype=np.float64), np.asarray(order[: int((depth > 1).sum())])
