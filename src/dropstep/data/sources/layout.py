"""The layout of blocks: which columns are features, target, weights and offset, and which rows are complete."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dropstep.data.encoding import Encoding
from dropstep.data.factor import Column, Factor, Unusable
from dropstep.data.frame import Frame, check_name
from dropstep.data.sample import PerRow
from dropstep.data.source import Block, Origin, Source
from dropstep.data.table import MAX_ROWS

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class Layout:
    """Roles of the columns of blocks.

    Attributes
    ----------
    features : tuple of str
        Names of the features, in order.
    targets : tuple of str
        Names of the target columns.
    weights, offset : str or None
        Names of the columns of weights and offset.
    unread : frozenset of int
        Features that are excluded, which are not read.
    missing : {"error", "drop", "level"}
    """

    features: tuple[str, ...]
    targets: tuple[str, ...]
    weights: str | None = None
    offset: str | None = None
    unread: frozenset[int] = frozenset()
    missing: str = "error"

    @property
    def read(self) -> tuple[int, ...]:
        """Features that are read."""
        return tuple(j for j in range(len(self.features)) if j not in self.unread)

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns that a block has, in order."""
        others = (name for name in (self.weights, self.offset) if name is not None)
        return (*(self.features[j] for j in self.read), *self.targets, *others)

    def without(self, features: Collection[int]) -> Layout:
        """The layout that does not read some features."""
        return replace(self, unread=self.unread | frozenset(features))

    def part(self, block: Block) -> Part:
        """The rows of a block by role, without those that `missing` ignores."""
        columns = block.frame.columns
        n = len(self.read)
        features, targets = columns[:n], columns[n : n + len(self.targets)]
        others = list(columns[n + len(self.targets) :])
        weights = None if self.weights is None else _numbers("sample_weight", self.weights, others.pop(0))
        offset = None if self.offset is None else _numbers("offset", self.offset, others.pop(0))
        part = Part(features, targets, weights, offset, block.frame.n_rows, block.origin)
        return part.complete(self)


@dataclass(frozen=True, eq=False)
class Part:
    """Rows of a block by role.

    Attributes
    ----------
    features : tuple of Column
        The features that are read.
    targets : tuple of Column
    weights, offset : ndarray of shape (n_rows,) or None
    n_read : int
        Number of rows of the block.
    origin : Origin
    rows : ndarray of int or None
        The rows of the block that these are; None if they are all.
    absent, infinite : bool
        Why rows were ignored.
    """

    features: tuple[Column, ...]
    targets: tuple[Column, ...]
    weights: Floats | None
    offset: Floats | None
    n_read: int
    origin: Origin
    rows: NDArray[np.intp] | None = None
    absent: bool = False
    infinite: bool = False

    @property
    def n_rows(self) -> int:
        """Number of rows that are used."""
        return self.n_read if self.rows is None else len(self.rows)

    def row(self, index: int) -> str:
        """A row in words."""
        return self.origin.row(index if self.rows is None else int(self.rows[index]))

    def design(self, layout: Layout, encoding: Encoding, columns: Sequence[int], rows: NDArray[np.intp]) -> Floats:
        """Some columns of the design matrix in some of the rows."""
        used = sorted({encoding.owners[c] for c in columns})
        if not used:
            return np.empty((len(rows), 0))
        at = {j: i for i, j in enumerate(layout.read)}
        taken = encoding.take(used)
        values = taken.encode(Frame(tuple(_at(self.features[at[j]], rows) for j in used), len(rows), taken.names))
        place = {c: i for i, c in enumerate(c for j in used for c in encoding.columns(j))}
        return np.asarray(values[:, [place[c] for c in columns]])

    def complete(self, layout: Layout) -> Part:
        """The complete rows with missing="drop", otherwise all; raises if a target, weight or offset is missing."""
        named = {"sample_weight": self.weights, "offset": self.offset}
        others = {parameter: ~np.isfinite(values) for parameter, values in named.items() if values is not None}
        others["y"] = np.zeros(self.n_read, dtype=bool)
        for column in self.targets:
            others["y"] |= _gaps(column)[0] | _gaps(column)[1]
        if layout.missing != "drop":
            for parameter, mask in others.items():
                if mask.any():
                    raise ValueError(
                        f"{self.row(int(np.argmax(mask)))}: {parameter} is missing or infinite; missing='drop' ignores "
                        "such rows"
                    )
            return self._checked()
        absent, infinite = np.any(list(others.values()), axis=0), np.zeros(self.n_read, dtype=bool)
        for column in self.features:
            gaps = _gaps(column)
            absent, infinite = absent | gaps[0], infinite | gaps[1]
        if not (absent | infinite).any():
            return self._checked()
        rows = np.flatnonzero(~(absent | infinite))
        return Part(
            tuple(_at(column, rows) for column in self.features),
            tuple(_at(column, rows) for column in self.targets),
            None if self.weights is None else self.weights[rows],
            None if self.offset is None else self.offset[rows],
            self.n_read,
            self.origin,
            rows,
            bool(absent.any()),
            bool(infinite.any()),
        )._checked()

    def _checked(self) -> Part:
        """Raise for weights that do not count rows."""
        if self.weights is not None and len(self.weights):
            if self.weights.min() < 0:
                where = self.row(int(np.argmin(self.weights)))
                raise ValueError(f"{where}: sample_weight must not be negative; it is {self.weights.min():g}")
            if self.weights.sum() > MAX_ROWS:
                total = self.weights.sum()
                raise ValueError(f"sample_weight counts rows, but its sum is {total:g}; rescale it to mean 1")
        return self


def _at(column: Column, rows: NDArray[np.intp]) -> Column:
    """Some rows of a column; a factor keeps all levels of its block."""
    if isinstance(column, Unusable):
        return column
    return Factor(column.codes[rows], column.levels, column.declared) if isinstance(column, Factor) else column[rows]


def _gaps(column: Column) -> tuple[Any, Any]:
    """Rows without a value, and rows with an infinite one."""
    if isinstance(column, Factor):
        return column.missing, False
    if isinstance(column, Unusable) or column.dtype == bool:
        return False, False
    return np.isnan(column), np.isinf(column)


def _numbers(parameter: str, name: str, column: Column) -> Floats:
    if not isinstance(column, np.ndarray):
        raise ValueError(f"{parameter} must be a column of numbers; {name!r} has other values")
    return np.asarray(column, dtype=np.float64)


def layout_of(source: Source, y: Any, rows: PerRow, missing: str) -> Layout:
    """The layout that y, sample_weight and offset describe, which are names of columns.

    Parameters
    ----------
    source : Source
    y : str or sequence of str
    rows : PerRow
    missing : {"error", "drop", "level"}

    Returns
    -------
    Layout
    """
    several = isinstance(y, list | tuple) and len(y) > 0 and all(isinstance(name, str) for name in y)
    if not isinstance(y, str) and not several:
        got = "None" if y is None else type(y).__name__
        raise ValueError(f"y must be the name of a column, or several, where X is read in blocks of rows; got {got}")
    targets = (y,) if isinstance(y, str) else tuple(y)
    named = {"sample_weight": rows.weights, "offset": rows.offset}
    for parameter, value in named.items():
        if value is not None and not isinstance(value, str):
            raise ValueError(
                f"{parameter} must be the name of a column where X is read in blocks of rows; got "
                f"{type(value).__name__}"
            )
    for parameter, name in (*(("y", target) for target in targets), *named.items()):
        if name is not None:
            check_name(parameter, name, source.names)
    taken = {*targets, *named.values()}
    features = tuple(name for name in source.names if name not in taken)
    if not features:
        raise ValueError(f"{source.shown} has no feature: every column is a target, weight or offset")
    return Layout(features, targets, rows.weights, rows.offset, frozenset(), missing)
