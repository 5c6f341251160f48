"""The input of a search as commands read it, whether its rows are in memory or not."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from dropstep.cli.naming import in_options
from dropstep.cli.output import Progress
from dropstep.data.sample import Features
from dropstep.result import Coefficients


class AnyDesign(ABC):
    """What commands read of the input of a search, whether its rows are in memory or not."""

    file: str
    parameters: dict[str, Any]
    notes: tuple[str, ...]

    @property
    @abstractmethod
    def shown(self) -> str:
        """Name of the file in messages."""

    @property
    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """Names of the features."""

    @property
    @abstractmethod
    def known(self) -> Features:
        """What is known of the features before the search."""

    @property
    @abstractmethod
    def listing(self) -> tuple[ColumnLine, ...]:
        """The columns of the file."""

    @property
    @abstractmethod
    def target_names(self) -> tuple[str, ...]:
        """Names of the targets."""

    @property
    @abstractmethod
    def rows_read(self) -> int:
        """Number of rows of the file."""

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int]:
        """Rows that are used, and columns of the design matrix."""

    @property
    @abstractmethod
    def values_bytes(self) -> int:
        """Memory of the design matrix."""

    @abstractmethod
    def summaries(self) -> list[str]:
        """The values of each column of the file, in words."""

    @abstractmethod
    def data(self) -> dict[str, Any]:
        """Arguments of select: X, y and what is given per row."""

    @abstractmethod
    def write(self, part: Path, file: str, names: Sequence[str]) -> None:
        """Write columns to `part`, in the format given by the ending of `file`."""

    def report_rows(self, progress: Progress) -> Callable[[int, int], None] | None:
        """Shows the rows that a pass has read; None if the rows are in memory."""
        return None

    @abstractmethod
    def target_range(self) -> str:
        """The values of a target that is not classes, in words."""

    @abstractmethod
    def class_counts(self) -> dict[str, int]:
        """Number of rows per class; empty for a target that is not classes."""

    @cached_property
    def units(self) -> tuple[tuple[int, ...], ...]:
        """Features that are selected together: groups, and every other feature by itself."""
        return self.known.choice.members or tuple((f,) for f in range(len(self.names)))

    @cached_property
    def _unit_of(self) -> dict[int, int]:
        return {f: u for u, unit in enumerate(self.units) for f in unit}

    def n_units(self, features: Sequence[int]) -> int:
        """Number of units that features belong to."""
        return len({self._unit_of[f] for f in features})

    def width(self, unit: tuple[int, ...]) -> int:
        """Number of columns that encode a unit."""
        encoding = self.known.encoding
        return len(unit) if encoding is None else sum(len(encoding.columns(f)) for f in unit)

    def named(self, coefficients: Coefficients | None) -> Coefficients | None:
        """Coefficients with the names of the target columns, where the targets are numbers."""
        if coefficients is None or coefficients.classes is not None:
            return coefficients
        names = self.target_names[: len(coefficients.targets)]  # of survival: the time
        return replace(coefficients, targets=names)

    def notes_with(self, notes: Sequence[str]) -> tuple[str, ...]:
        """Warnings about the file, followed by those of the library in terms of options."""
        return (*self.notes, *map(in_options, notes))


class ColumnLine(NamedTuple):
    """A column of a file: its name, type and role."""

    name: str
    kind: str
    role: str
