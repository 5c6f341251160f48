"""Encoding: factors as columns of a design matrix, in treatment coding."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dropstep.data.factor import Column, Factor, Level, Unusable, factor_of
from dropstep.data.frame import Frame, read
from dropstep.data.table import Table

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Encoding:
    """How the features of a table are encoded: a number by itself, a factor by 0 and 1 for each level but the first.

    The first level is the baseline, whose columns are all 0, as in R's `lm`. A factor without a second level, and a
    feature that is ignored, which has no levels, are encoded by one column of zeros.

    Attributes
    ----------
    names : tuple of str
        Names of the features; x0, x1, ... if the table has none.
    levels : tuple of (tuple or None)
        Levels of each factor; None for a number.
    missing_is_level : bool
        Whether a missing value of a factor is a level, which is encoded as any other level even if it is unknown.
    """

    names: tuple[str, ...]
    levels: tuple[tuple[Any, ...] | None, ...]
    missing_is_level: bool = False

    @classmethod
    def of(cls, frame: Frame, *, missing_is_level: bool = False) -> Encoding:
        """The encoding of a table.

        Parameters
        ----------
        frame : Frame
            Numbers and factors.
        missing_is_level : bool, default=False
            Whether a missing value of a factor is a level.

        Returns
        -------
        Encoding
        """
        names = frame.names or tuple(f"x{j}" for j in range(frame.n_features))
        levels = tuple(c.levels if isinstance(c, Factor) else None for c in frame.columns)
        return cls(names, levels, missing_is_level)

    @cached_property
    def _bounds(self) -> list[int]:
        """First column of each feature, and the number of columns."""
        return [0, *accumulate(1 if levels is None else max(len(levels) - 1, 1) for levels in self.levels)]

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return self._bounds[-1]

    def columns(self, feature: int) -> range:
        """Columns that encode a feature.

        Parameters
        ----------
        feature : int
            Index of the feature.

        Returns
        -------
        range
        """
        return range(self._bounds[feature], self._bounds[feature + 1])

    def take(self, features: Sequence[int]) -> Encoding:
        """The encoding of some of the features.

        Parameters
        ----------
        features : sequence of int
            Indices of the features, in the order wanted.

        Returns
        -------
        Encoding
        """
        names, levels = tuple(self.names[j] for j in features), tuple(self.levels[j] for j in features)
        return replace(self, names=names, levels=levels)

    @cached_property
    def owners(self) -> tuple[int, ...]:
        """The feature that each column encodes."""
        return tuple(feature for feature in range(len(self.names)) for _ in self.columns(feature))

    @cached_property
    def column_names(self) -> tuple[str, ...]:
        """Names of the columns: that of the feature, for a factor followed by the level, as in colour=red."""
        return tuple(self._column_names())

    def _column_names(self) -> Iterator[str]:
        for name, levels in zip(self.names, self.levels, strict=True):
            if levels is None or len(levels) < 2:
                yield name
            else:
                yield from (f"{name}={level}" for level in levels[1:])

    def encode(self, X: Any) -> Floats:
        """Encode a table: unknown levels are 0 in all columns, missing values are NaN unless they are a level.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
            A table with the features of the encoding: in the same order, or a frame that has their names.

        Returns
        -------
        ndarray of shape (n_samples, n_columns)
        """
        table = read(X)
        order = self._order(table)
        out = np.empty((table.n_rows, self.n_columns), order="F")
        for feature, j in enumerate(order):
            column = table.columns[j] if isinstance(table, Frame) else table.columns([j])[:, 0]
            columns = self.columns(feature)
            self._fill(out[:, columns.start : columns.stop], feature, column)
        return out

    def _fill(self, block: Floats, feature: int, column: Column) -> None:
        """Write the columns that encode a feature."""
        levels = self.levels[feature]
        if levels is not None and len(levels) < 2:
            block[:] = 0.0
        elif levels is not None:
            assert not isinstance(column, Unusable)
            if not isinstance(column, Factor):
                self._refuse_numbers(feature, column)
                column = factor_of(column.tolist())
            codes = _recoded(column, levels, 0 if self.missing_is_level else -1)
            block[:] = codes[:, None] == np.arange(1, len(levels))
            block[codes < 0] = np.nan
        else:
            assert not isinstance(column, Unusable)
            block[:, 0] = self._numbers(feature, column) if isinstance(column, Factor) else column

    def _numbers(self, feature: int, factor: Factor) -> Floats:
        """Booleans with missing values as numbers, for a feature that had none; raises for other factors."""
        if not all(isinstance(level, bool | np.bool_) for level in factor.levels):
            raise ValueError(f"{self.names[feature]!r} must be a number, but X contains text or categories in it")
        return np.array([*map(float, factor.levels), np.nan])[factor.codes]

    def _refuse_numbers(self, feature: int, column: NDArray[Any]) -> None:
        """Raise if the levels of a factor are text, and a column contains numbers: none of them would be known."""
        levels = self.levels[feature] or ()
        if any(isinstance(level, str | bytes) for level in levels) and not np.isnan(column.astype(np.float64)).all():
            name = self.names[feature]
            raise ValueError(f"{name!r} must be text, such as {levels[0]!r}, but X contains numbers in it")

    def _order(self, table: Table | Frame) -> list[int]:
        """Position in a table of each feature."""
        if table.names is not None and set(self.names) <= set(table.names):
            place = {name: j for j, name in enumerate(table.names)}
            order = [place[name] for name in self.names]
        elif table.n_features == len(self.names):
            order = list(range(table.n_features))
        else:
            raise ValueError(f"X has {table.n_features} features, but {len(self.names)} are expected")
        if isinstance(table, Frame):
            used = {j for j, levels in zip(order, self.levels, strict=True) if levels != ()}
            table.refuse_unusable({*range(table.n_features)} - used)
        return order


def _recoded(factor: Factor, levels: tuple[Any, ...], missing: int) -> NDArray[np.intp]:
    """Indices into `levels`: 0, the baseline, for others, `missing` for missing values if they are not among them."""
    place = {level: i for i, level in enumerate(levels)}
    position = [place.get(level, 0) for level in factor.levels]
    return np.array([*position, place.get(Level.MISSING, missing)], dtype=np.intp)[factor.codes]
