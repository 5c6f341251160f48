"""Rows that come in blocks from the caller: their sum, as a source that cannot be read again."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from typing import Any

from numpy.typing import NDArray

from dropstep.data.factor import DATES, Column, factor_of
from dropstep.data.frame import Frame, frame_names, read
from dropstep.data.sample import Kind, PerRow, first_pass, refuse_gaps
from dropstep.data.source import Block, ColumnType, Held, Origin, Partial, Source, T
from dropstep.data.summary import Summarise, Summary
from dropstep.data.table import Names, as_weights
from dropstep.data.target import as_values
from dropstep.parameters import Parameters

WEIGHTS = "sample_weight"


class Accumulated(Source):
    """The sum of blocks of rows: a source whose only pass is known.

    Parameters
    ----------
    columns : tuple of ColumnType
        Features, targets and weights.
    targets : tuple of str
        Names of the targets.
    named : bool
        Whether the features have names.
    summarise : Summarise
    summary : Summary
        The sum.
    """

    can_reread = False

    def __init__(
        self,
        columns: tuple[ColumnType, ...],
        targets: tuple[str, ...],
        summarise: Summarise,
        summary: Summary,
        *,
        named: bool,
    ) -> None:
        super().__init__()
        self._columns, self.named, self.n_blocks = columns, named, 1
        self._targets, self._summarise, self._summary = targets, summarise, summary

    @classmethod
    def of(cls, X: Any, y: Any, sample_weight: Any, given: Parameters, model: Kind) -> Accumulated:
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
        block, targets = _block(X, y, sample_weight, 1)
        weights = None if sample_weight is None else WEIGHTS
        summarise = first_pass(block, list(targets), PerRow(weights), given, model)
        columns = tuple(replace(column, order=None) for column in block.columns)
        return cls(columns, targets, summarise, _summary(summarise, block), named=block.named)

    def plus(self, X: Any, y: Any, sample_weight: Any) -> Accumulated:
        """The sum with another block."""
        block, _ = _block(X, y, sample_weight, self.n_blocks + 1)
        if block.names != self.names:
            raise ValueError(
                f"block {self.n_blocks + 1} has other columns than the blocks before: {len(block.names)} instead of "
                f"{len(self.names)}, targets and weights included, or other names"
            )
        total = copy(self)
        total.n_blocks += 1
        total._summary = self._summary + _summary(self._summarise, block)
        whole = [replace(a, whole=a.whole and b.whole) for a, b in zip(self.columns, block.columns, strict=True)]
        total._columns = tuple(whole)
        return total

    @property
    def columns(self) -> tuple[ColumnType, ...]:
        return self._columns

    @property
    def y(self) -> str | list[str]:
        """Names of the targets."""
        return self._targets[0] if len(self._targets) == 1 else list(self._targets)

    @property
    def weights(self) -> str | None:
        """Name of the column of weights."""
        return self._summarise.layout.weights

    def reduce(self, partial: Partial[T], columns: tuple[str, ...]) -> T | None:
        if self.n_passes > 1:
            raise ValueError(
                "a text column that resembles an identifier has missing values, which partial_fit cannot read again; "
                "exclude the column"
            )
        return self._summary  # type: ignore[return-value]


def _block(X: Any, y: Any, sample_weight: Any, number: int) -> tuple[Held, tuple[str, ...]]:
    """A block of rows, with its target and weights as columns, and the names of the targets."""
    table = read(X)
    features = table.columns if isinstance(table, Frame) else tuple(table.values.T)
    names = table.names or tuple(f"x{j}" for j in range(table.n_features))
    values = as_values(y)
    if values.ndim not in (1, 2) or len(values) != table.n_rows:
        n = len(values) if values.ndim else 0
        raise ValueError(f"X and y must have the same number of rows; X has {table.n_rows}, y has {n}")
    targets = [_target(column) for column in values.reshape(len(values), -1).T]
    given = getattr(y, "name", None)
    y_names: Sequence[str] = (given,) if isinstance(given, str) else frame_names(y) or _unnamed(len(targets))
    y_names = tuple(name if name not in names else f"{name} (y)" for name in y_names)
    weights = as_weights(sample_weight, table.n_rows)
    others = () if weights is None else (weights,)
    frame = Frame((*features, *targets, *others), table.n_rows, (*names, *y_names, *(WEIGHTS,) * len(others)))
    block = Held(Block(frame, Origin(f"block {number}")))
    block.named = table.names is not None
    return block, y_names


def _unnamed(n: int) -> tuple[str, ...]:
    return ("y",) if n == 1 else tuple(f"y{t}" for t in range(n))


def _target(values: NDArray[Any]) -> Column:
    if values.dtype.kind in "mM":
        return DATES
    return values if values.dtype.kind in "biuf" else factor_of(values.tolist())


def _summary(summarise: Summarise, block: Held) -> Summary:
    """The summary of a block, which is refused by itself if values are missing, so that the blocks before are kept."""
    layout = summarise.layout
    found = summarise(block.block_of(layout.columns))
    facts = dict(zip(layout.read, found.facts, strict=True))
    refuse_gaps(facts, found.gaps, Names(layout.features if block.named else None), layout.missing)
    return found
