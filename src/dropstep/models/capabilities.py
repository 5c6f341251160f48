"""Capabilities of some models, problems and families only: what a strategy or a rule checks for before it uses them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar, cast, runtime_checkable

from dropstep.models.base import Indices, Problem
from dropstep.result import Coefficients

P = TypeVar("P")

_CAPABLE: dict[tuple[type, object], bool] = {}


def capability(obj: object, protocol: Callable[..., P]) -> P | None:
    """Return an object if it implements a protocol, else None.

    A class is checked once: before Python 3.12, `isinstance` with a protocol inspects all of its members.
    """
    key = type(obj), protocol
    if key not in _CAPABLE:
        _CAPABLE[key] = isinstance(obj, cast(type, protocol))
    return cast(P, obj) if _CAPABLE[key] else None


@runtime_checkable
class StartsFromAll(Protocol):
    """A model that can determine which units are linearly independent, so that backward can start from them."""

    def independent(self, units: Indices) -> list[int]:
        """Units, in order, that do not depend on the selected ones or on the ones before."""
        ...


@runtime_checkable
class WithCoefficients(Protocol):
    """A model with coefficients."""

    def coefficients(self, columns: Sequence[int], names: Sequence[str]) -> Coefficients:
        """Coefficients of the selected columns, in the order given, with their names."""
        ...


@dataclass(frozen=True)
class BestSets:
    """The best sets of each size that were found.

    Attributes
    ----------
    sets : mapping of int to list of tuple of int
        For each number of units added, the best sets, best first; units in ascending order.
    bounds : mapping of int to float
        For each number of units of which some sets were not examined, a score, signed so that larger is better, that no
        set exceeds.
    n_evaluations : int
        Sets evaluated.
    """

    sets: Mapping[int, list[tuple[int, ...]]]
    bounds: Mapping[int, float]
    n_evaluations: int


@runtime_checkable
class Bounds(Protocol):
    """A model that can exclude sets without evaluating them, so that the best ones are found among many."""

    def best_sets(self, units: Indices, max_size: int, n_best: int, ended: Callable[[], object]) -> BestSets | None:
        """The `n_best` best sets of up to `max_size` units that can be added; None if its criterion has no bounds.

        The search ends early when `ended` returns something that is true.
        """
        ...


@runtime_checkable
class WithKnockoffs(Protocol):
    """A problem whose columns can be extended by their knockoffs."""

    def with_knockoffs(self, candidates: Indices, seed: int) -> Problem:
        """The problem of candidate columns, followed by a knockoff of each."""
        ...


class RowBlocks(Protocol):
    """Disjoint blocks of rows, unions of which are problems that need not read the rows."""

    def halves(self, chosen: Indices) -> tuple[Problem, Problem]:
        """The problem of the union of some blocks, and that of the other blocks."""
        ...


@runtime_checkable
class SumsBlocks(Protocol):
    """A family whose problems of unions of row blocks are sums over the blocks."""

    def blocks(self, sample: Any, block: Indices, solver: str, max_features: int | None) -> RowBlocks | None:
        """The blocks of a sample, given the block of each row; None where the rows themselves are the better source."""
        ...

    def prefers_blocks(self, sample: Any, criterion: Any, solver: str, n_blocks: int) -> bool:
        """Whether sums over blocks suffice for a criterion, and cost less than the rows themselves."""
        ...
