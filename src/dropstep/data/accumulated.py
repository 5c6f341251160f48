"""Rows that come in blocks from the caller: their sum, as a row source that cannot be read again."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

from numpy.typing import NDArray

from dropstep.data.factor import DATES, Column, factor_of
from dropstep.data.frame import Frame, frame_names, read
from dropstep.data.sample import PerRow, first_pass, refuse_gaps
from dropstep.data.source import Block, ColumnType, Origin, Partial, Source, T, type_of
from dropstep.data.summary import Summarise, Summary
from dropstep.data.table import Names, as_weights
from dropstep.data.target import as_values
from dropstep.parameters import Parameters

WEIGHTS = "sample_weight"


@dataclass(frozen=True, eq=False)
class Accumulated:
    """The sum of blocks of rows.

    Attributes
    ----------
    columns : tuple of ColumnType
        Features, targets and weights.
    y : tuple of str
        Names of the targets.
    named : bool
        Whether the features have names.
    summarise : Summarise
    total : Summary
    n_blocks : int
    """

    columns: tuple[ColumnType, ...]
    y: tuple[str, ...]
    named: bool
    summarise: Summarise
    total: Summary
    n_blocks: int = 1

    def plus(self, X: Any, y: Any, sample_weight: Any) -> Accumulated:
        """The sum with another block."""
        rows = _rows(X, y, sample_weight, self.n_blocks + 1)
        if rows.names != tuple(column.name for column in self.columns):
            raise ValueError(
                f"block {self.n_blocks + 1} has other columns than the blocks before: {len(rows.names)} instead of "
                f"{len(self.columns)}, targets and weights included, or other names"
            )
        total = self.total + _summary(self.summarise, rows)
        whole = [replace(a, whole=a.whole and b.whole) for a, b in zip(self.columns, rows.columns, strict=True)]
        return replace(self, columns=tuple(whole), total=total, n_blocks=self.n_blocks + 1)

    def source(self) -> AccumulatedSource:
        """The sum as a source."""
        return AccumulatedSource(self)


class AccumulatedSource(Source):
    """A source whose only pass is known."""

    can_reread = False

    def __init__(self, accumulated: Accumulated) -> None:
        super().__init__()
        self._accumulated, self.named = accumulated, accumulated.named

    @property
    def columns(self) -> tuple[ColumnType, ...]:
        return self._accumulated.columns

    @property
    def y(self) -> str | list[str]:
        """Names of the targets."""
        names = self._accumulated.y
        return names[0] if len(names) == 1 else list(names)

    @property
    def weights(self) -> str | None:
        """Name of the column of weights."""
        return self._accumulated.summarise.layout.weights

    def reduce(self, partial: Partial[T], columns: tuple[str, ...]) -> T | None:
        if self.n_passes > 1:
            raise ValueError(
                "a text column that resembles an identifier has missing values, which partial_fit cannot read again; "
                "exclude the column"
            )
        return self._accumulated.total  # type: ignore[return-value]


def started(
    X: Any, y: Any, sample_weight: Any, given: Parameters, model: Literal["auto", "linear", "discriminant"]
) -> Accumulated:
    """The first block of rows.

    Parameters
    ----------
    X : array-like or frame of shape (n_samples, n_features)
    y : array-like of shape (n_samples,) or (n_samples, n_targets)
    sample_weight : array-like of shape (n_samples,) or None
    given : Parameters
    model : {"auto", "linear", "discriminant"}

    Returns
    -------
    Accumulated
    """
    rows = _rows(X, y, sample_weight, 1)
    weights = None if sample_weight is None else WEIGHTS
    source = _Columns(rows.columns, named=rows.named)
    summarise = first_pass(source, list(rows.targets), PerRow(weights), given, model)
    total = _summary(summarise, rows)
    return Accumulated(rows.columns, rows.targets, rows.named, summarise, total)


def _summary(summarise: Summarise, rows: _BlockRows) -> Summary:
    """The summary of a block, which is refused by itself if values are missing, so that the blocks before are kept."""
    layout = summarise.layout
    found = summarise(rows.block(layout.columns))
    facts = dict(zip(layout.read, found.facts, strict=True))
    refuse_gaps(facts, found.gaps, Names(layout.features if rows.named else None), layout.missing)
    return found


class _Columns(Source):
    """Names and types alone."""

    def __init__(self, columns: tuple[ColumnType, ...], *, named: bool) -> None:
        super().__init__()
        self._columns, self.named = columns, named

    @property
    def columns(self) -> tuple[ColumnType, ...]:
        return self._columns

    def reduce(self, partial: Partial[T], columns: tuple[str, ...]) -> T | None:
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class _BlockRows:
    """A block of rows with the names of its columns."""

    values: tuple[Column, ...]
    columns: tuple[ColumnType, ...]
    targets: tuple[str, ...]
    named: bool
    n_rows: int
    origin: Origin

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)

    def block(self, columns: tuple[str, ...]) -> Block:
        """Some of the columns."""
        at = dict(zip(self.names, self.values, strict=True))
        return Block(Frame(tuple(at[name] for name in columns), self.n_rows, columns), self.origin)


def _rows(X: Any, y: Any, sample_weight: Any, number: int) -> _BlockRows:
    """Validate a block of rows."""
    table = read(X)
    features = table.columns if isinstance(table, Frame) else tuple(table.values.T)
    names = table.names or tuple(f"x{j}" for j in range(table.n_features))
    values = as_values(y)
    if values.ndim not in (1, 2) or len(values) != table.n_rows:
        n = len(values) if values.ndim else 0
        raise ValueError(f"X and y must have the same number of rows; X has {table.n_rows}, y has {n}")
    targets = [_target(column) for column in values.reshape(len(values), -1).T]
    given = getattr(y, "name", None)
    y_names = (given,) if isinstance(given, str) else frame_names(y) or _unnamed(len(targets))
    y_names = tuple(name if name not in names else f"{name} (y)" for name in y_names)
    weights = as_weights(sample_weight, table.n_rows)
    others = () if weights is None else (weights,)
    every = (*features, *targets, *others)
    labels = (*names, *y_names, *((WEIGHTS,) * len(others)))
    types = tuple(replace(type_of(*pair), order=None) for pair in zip(labels, every, strict=True))
    return _BlockRows(every, types, y_names, table.names is not None, table.n_rows, Origin(f"block {number}"))


def _unnamed(n: int) -> tuple[str, ...]:
    return ("y",) if n == 1 else tuple(f"y{t}" for t in range(n))


def _target(values: NDArray[Any]) -> Column:
    if values.dtype.kind in "mM":
        return DATES
    return values if values.dtype.kind in "biuf" else factor_of(values.tolist())
