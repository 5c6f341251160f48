"""Scale: columns whose sums of squares float64 cannot represent are rescaled by powers of two."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Exponents = NDArray[np.intc]

MAX_LOG10 = 290.0  # largest |log10| of a product of sums of squares that float64 represents with full precision
RESIDUAL_LOG10 = 40.0  # part of MAX_LOG10 that is reserved for residuals
BLOCK_SIZE = 2**18  # values that are copied at a time


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
    with np.errstate(divide="ignore", invalid="ignore"):
        reach = np.abs(np.log10(targets[targets > 0])).max(initial=RESIDUAL_LOG10)
        return np.asarray(~(np.abs(np.log10(squares)) + reach <= limit))


def rescaled_copy(
    X: NDArray[Any], squares: Floats, targets: Floats, weights: Floats | None
) -> tuple[Floats, Exponents] | None:
    """A float64 copy of X whose columns of extreme scale have values up to 1; None if there are no such columns.

    Column j is divided by 2 ** exponents[j], the second result. Columns of zeros, and columns with NaN or infinity, are
    not rescaled; rows of weight zero are set to zero.
    """
    extreme = np.flatnonzero(is_extreme(squares, targets))
    exponents = np.zeros(X.shape[1], dtype=np.intc)
    any_valid = False
    step = max(1, BLOCK_SIZE // len(X))
    for start in range(0, len(extreme), step):
        at = extreme[start : start + step]
        values = np.abs(X[:, at].astype(np.float64))
        largest = (values if weights is None else values[weights > 0]).max(axis=0)
        valid = np.isfinite(largest) & (largest > 0)
        exponents[at] = np.frexp(np.where(valid, largest, 0.0))[1]
        any_valid |= bool(valid.any())
    if not any_valid:
        return None
    copy = X.astype(np.float64)
    if weights is not None:
        copy[weights == 0] = 0.0
    return np.ldexp(copy, -exponents, out=copy), exponents
