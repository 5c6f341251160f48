"""Scale: columns whose sums of squares float64 cannot represent are rescaled by powers of two."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dropstep.data.matrices.matrix import Exponents, Floats, Matrix

MAX_LOG10 = 290.0  # largest |log10| of a product of sums of squares that float64 represents with full precision
CONSTANT = 1e-12  # a column whose standard deviation is below this share of its mean is constant up to rounding
RESIDUAL_LOG10 = 40.0  # part of MAX_LOG10 that is reserved for residuals


def is_extreme(squares: Floats, targets: Floats, limit: float = MAX_LOG10) -> NDArray[np.bool_]:
    """True where sums of squares, or their products or ratios with those of a target, are out of range.

    Parameters
    ----------
    squares : ndarray of shape (n_features,)
        Sums of squares of the columns about zero; 0 and NaN are out of range.
    targets : ndarray of shape (n_targets,)
        Sums of squares of the targets about their means; empty for class labels.
    limit : float, default=MAX_LOG10
        Largest |log10| in range.

    Returns
    -------
    ndarray of shape (n_features,)
    """
    reach = float(np.maximum.reduce(np.abs(np.log10(targets[targets > 0])), initial=RESIDUAL_LOG10))
    if reach > limit:
        return np.ones(len(squares), dtype=bool)
    largest = 10.0 ** (limit - reach)
    within: NDArray[np.bool_] = (squares <= largest) & (squares >= 1 / largest)
    return ~within


def rescaled(X: Matrix, squares: Floats, targets: Floats, weights: Floats | None) -> tuple[Matrix, Exponents] | None:
    """X with columns of extreme scale divided by powers of two, so that their values are up to 1.

    Column j is divided by 2 ** exponents[j], the second result. Columns of zeros, and columns with NaN or infinity, are
    not rescaled; rows of weight zero are set to zero.

    Parameters
    ----------
    X : Matrix
        The design matrix.
    squares, targets : ndarray
        See `is_extreme`.
    weights : ndarray of shape (n_samples,) or None
        Row weights.

    Returns
    -------
    tuple of (Matrix, ndarray) or None
        None if there are no such columns.
    """
    extreme = is_extreme(squares, targets).nonzero()[0]
    if not extreme.size:
        return None
    exponents = np.zeros(X.shape[1], dtype=np.intc)
    largest = X.largest(extreme, None if weights is None else weights > 0)
    valid = np.isfinite(largest) & (largest > 0)
    exponents[extreme] = np.frexp(np.where(valid, largest, 0.0))[1]
    return (X.rescaled(exponents, weights), exponents) if valid.any() else None
