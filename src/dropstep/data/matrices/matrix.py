"""The protocol of a design matrix: what the solvers and the likelihoods read of X, however it is stored."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]
Bools = NDArray[np.bool_]
Exponents = NDArray[np.intc]
Part = tuple[slice, slice, NDArray[Any]]


class Reads:
    """How many values of a matrix were read, counted in passes over the matrix.

    Matrices that are derived from one another share their count, so that reading a tenth of the columns is a tenth of a
    pass.

    Parameters
    ----------
    size : int
        Number of values of the matrix; stored values if it is sparse.
    """

    def __init__(self, size: int) -> None:
        self._size, self._n_values = max(size, 1), 0

    def add(self, n_values: int) -> None:
        """Count values that were read."""
        self._n_values += n_values

    @property
    def n_passes(self) -> int:
        """Number of passes, rounded up."""
        return math.ceil(self._n_values / self._size)


class MatrixGaps(NamedTuple):
    """Where values are missing or infinite.

    Attributes
    ----------
    absent, infinite : ndarray of bool of shape (n_rows,)
        Rows with a missing value, and rows with an infinite one.
    columns : ndarray of bool of shape (n_features,)
        Which of the columns have such a value.
    """

    absent: Bools
    infinite: Bools
    columns: Bools


class Matrix(Protocol):
    """A design matrix that is read in place."""

    @property
    def reads(self) -> Reads:
        """How much of it was read."""
        ...

    @property
    def shape(self) -> tuple[int, int]: ...

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type in which products are computed: float32, or another, for which it is float64."""
        ...

    @property
    def size(self) -> int:
        """Number of rows times number of columns."""
        ...

    def take(self, features: Indices) -> NDArray[Any]:
        """A dense copy of a few columns."""
        ...

    def multiply(self, vectors: Floats, out: Floats | None = None, *, in_double: bool = False) -> Floats:
        """vectors @ X in one pass; a float32 X is multiplied in float32, unless `in_double`."""
        ...

    def sums(self, vectors: Floats, weights: Floats | None) -> tuple[Floats, Floats]:
        """vectors @ X, and the weighted sum of squares of every column."""
        ...

    def largest(self, features: Indices, rows: Bools | None) -> Floats:
        """Largest absolute value of some columns, over all rows or some."""
        ...

    def gaps(self, features: Indices | None = None) -> MatrixGaps:
        """Where values of some columns are missing or infinite; None means all columns."""
        ...

    def subset(self, features: Indices) -> Matrix:
        """A matrix of some columns."""
        ...

    def can_copy(self, n_features: int) -> bool:
        """Whether memory suffices for a copy of so many columns."""
        ...

    def at(self, rows: NDArray[Any]) -> Matrix:
        """A matrix of some rows."""
        ...

    def native(self) -> Any:
        """The values as an estimator takes them: an array, or a sparse array."""
        ...

    def zeroed(self, features: Indices) -> Matrix:
        """The matrix with zeros in some columns."""
        ...

    def rescaled(self, exponents: Exponents, weights: Floats | None) -> Matrix:
        """The matrix with column j divided by 2 ** exponents[j]; rows of weight zero are set to zero."""
        ...


class Blocked(Matrix, Protocol):
    """A matrix whose values are all stored, so that it can be read in blocks."""

    def parts(
        self, features: Indices | None = None, size: int | None = None, *, all_rows: bool = False
    ) -> Iterator[Part]:
        """Blocks of some columns, in the direction in which they are stored.

        Parameters
        ----------
        features : ndarray of int or None, default=None
            The columns; None means all.
        size : int or None, default=None
            Number of values of a block, approximately.
        all_rows : bool, default=False
            Whether every block must contain all rows.

        Yields
        ------
        rows, positions : slice
            Rows, and positions among the columns.
        block : ndarray
            Their values; valid until the next block.
        """
        ...

    def row_parts(self, height: int) -> Iterator[tuple[slice, NDArray[Any]]]:
        """Blocks of rows with all columns."""
        ...
