"""The seam between the search and the models: what a search knows about the thing being searched."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from dropstep.data.sample import Features, PerRow
from dropstep.parameters import Parameters
from dropstep.result import PartialTest, StopReason

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]
Bools = NDArray[np.bool_]

TIE = 1e-9  # relative difference of gains that is rounding error


class Units:
    """What a search adds, removes and drops as a whole: every feature, or groups of features.

    A model counts columns of its design matrix; steps, rankings and results count features of the table. They differ
    where a feature is encoded by several columns.

    Parameters
    ----------
    n_columns : int
        Number of columns of the design matrix.
    members : sequence of sequence of int or None
        The columns of each unit, by ascending first column; None if every column is a unit of its own.
    features : sequence of sequence of int or None
        The features of each unit; None if the columns are the features.
    """

    def __init__(
        self,
        n_columns: int,
        members: Sequence[Sequence[int]] | None = None,
        features: Sequence[Sequence[int]] | None = None,
    ) -> None:
        self.members = members
        self.n = n_columns if members is None else len(members)
        self._features = members if features is None else features

    @cached_property
    def of_column(self) -> Indices:
        """The unit of each column."""
        return np.arange(self.n) if self.members is None else _owners(self.members)

    def columns(self, units: Sequence[int] | Indices) -> tuple[int, ...]:
        """The columns of units."""
        return tuple(units) if self.members is None and type(units) in (list, tuple) else _flat(self.members, units)

    def features(self, units: Sequence[int] | Indices) -> tuple[int, ...]:
        """The features of units."""
        return tuple(units) if self._features is None and type(units) in (list, tuple) else _flat(self._features, units)

    def having(self, mask: Bools) -> Bools:
        """Which units have at least one column in a mask of columns."""
        return mask if self.members is None else np.bincount(self.of_column[mask], minlength=self.n) > 0

    def count(self, mask: Bools) -> int:
        """Number of units with at least one column in a mask of columns."""
        return self.having(mask).nonzero()[0].size

    def to_features(self, values: Indices) -> tuple[int, ...]:
        """Broadcast per-unit values to features."""
        return tuple((values if self._features is None else values[_owners(self._features)]).tolist())


def _flat(members: Sequence[Sequence[int]] | None, units: Sequence[int] | Indices) -> tuple[int, ...]:
    numbers = units.tolist() if isinstance(units, np.ndarray) else units
    return tuple(numbers) if members is None else tuple(j for u in numbers for j in members[u])


def _owners(members: Sequence[Sequence[int]]) -> Indices:
    """The unit of each of the numbers 0, 1, ..., every one of which is in one unit."""
    flat = np.fromiter(chain.from_iterable(members), dtype=np.intp)
    owners = np.empty_like(flat)
    owners[flat] = np.repeat(np.arange(len(members)), [len(unit) for unit in members])
    return owners


class Tests(Protocol):
    """Significance tests of the moves of a scan, computed when a rule needs them."""

    @property
    def ordered_by_gain(self) -> bool:
        """True if gains and p-values order the units alike, because all units have the same rank."""
        ...

    @property
    def log_p_values(self) -> Floats:
        """Logarithm of the p-value of each unit given the others; 0 for what is not feasible."""
        ...

    def significant(self, level: float) -> Bools:
        """Which units are significant at a level."""
        ...

    def is_significant(self, at: int, level: float) -> bool:
        """Whether one of the units is significant at a level."""
        ...

    def one(self, at: int) -> PartialTest | None:
        """The test of one of the units; None if it brings no independent column."""
        ...

    def log_tail(self, at: int) -> float | None:
        """Logarithm of the p-value of an addition in the tails; None where the test itself holds.

        It holds unless the unit and the residual are both far from normal, and where the rows are not known.
        """
        ...


@dataclass(frozen=True, eq=False)
class Scan:
    """Possible moves of one kind, by ascending unit.

    Attributes
    ----------
    units : ndarray of int
        What would be added or removed.
    gains : ndarray of float
        By how much the score would improve, 0 for what is not feasible; for removals, by how much it would worsen.
    feasible : ndarray of bool
        Whether the move is possible.
    exact : bool
        False for screening values, which `Model.confirm` replaces by exact ones for a few units.
    n_evaluations, n_fits : int
        Gains computed, and models fitted.
    tests : Tests or None
        None where the model has no test.
    reason : StopReason or None
        Why nothing is feasible.
    std_errors : ndarray of float or None
        Standard errors of the gains, where they are means over folds.
    finalists : ndarray of bool or None
        Units among which the best is chosen, where gains of the others were estimated from fewer folds; None if all.
    largest_null : callable or None
        Of a unit, a number of permutations and a seed: the share of permuted residuals, the data themselves counted as
        one, for which the largest statistic over all candidates reaches that of the unit. None where the model cannot
        permute its residuals.
    tie : float
        Gains closer than this share of the largest are equal, and the lowest unit is chosen.
    refine : callable or None
        Makes the model continue with more digits, where the gains have too few; None if they suffice.
    """

    units: Indices
    gains: Floats
    feasible: Bools
    exact: bool = True
    n_evaluations: int = 0
    n_fits: int = 0
    tests: Tests | None = None
    reason: StopReason | None = None
    std_errors: Floats | None = None
    finalists: Bools | None = None
    largest_null: Callable[[int, int, int], float] | None = None
    tie: float = TIE
    refine: Callable[[], None] | None = None

    @property
    def eligible(self) -> Bools:
        """Which moves are possible and may be the best."""
        return self.feasible if self.finalists is None else self.feasible & self.finalists

    def joined(self, other: Scan) -> Scan:
        """This scan and one of other units for the same selection, without tests."""
        units = np.concatenate([self.units, other.units])
        order = np.argsort(units)

        def both(a: Any, b: Any) -> Any:
            return None if a is None or b is None else np.concatenate([a, b])[order]

        return replace(
            self,
            units=units[order],
            gains=both(self.gains, other.gains),
            feasible=both(self.feasible, other.feasible),
            tests=None,
            std_errors=both(self.std_errors, other.std_errors),
            finalists=both(self.finalists, other.finalists),
        )


def additions_of(model: Model, units: Indices, without: int | None = None) -> Scan:
    """Gains of adding each unit to a model, with as many digits as they need."""
    scan = model.additions(units, without)
    if scan.refine is None:
        return scan
    scan.refine()
    again = model.additions(units, without)
    return replace(again, n_evaluations=scan.n_evaluations + again.n_evaluations)


class Model(Protocol):
    """All that a search knows about the thing being searched."""

    @property
    def score(self) -> float:
        """The criterion of the current selection, in its own sign."""
        ...

    @property
    def greater_is_better(self) -> bool: ...

    @property
    def scans_cost_fits(self) -> bool:
        """True if scans fit models: rankings and replacements are not computed after the search then."""
        ...

    def additions(self, units: Indices, without: int | None = None) -> Scan:
        """Gains of adding each unit, after removing the selected unit `without` if it is given; see `additions_of`."""
        ...

    def removals(self, units: Indices) -> Scan:
        """Losses of removing each selected unit."""
        ...

    def confirm(self, units: Indices, without: int | None = None) -> Scan:
        """Exact gains (or losses) of the first of some units in descending order of promise; by ascending unit.

        Gains are those after removing the selected unit `without` if it is given.
        """
        ...

    def add(self, units: Sequence[int]) -> None:
        """Select units."""
        ...

    def remove(self, units: Sequence[int]) -> None:
        """Remove selected units."""
        ...

    def copy(self) -> Model:
        """An independent model with the same selection."""
        ...

    def release(self) -> None:
        """Free what was kept for moves that will not be made."""
        ...

    def saturated(self) -> StopReason | None:
        """Why no unit can be added to the current selection; None if one could be."""
        ...


class FamilyModel(Model, Protocol):
    """A model as its family makes it: what a result records of it."""

    @property
    def kind(self) -> str:
        """Name of the model."""
        ...

    @property
    def solver(self) -> str:
        """Whether the Gram matrix is precomputed or its rows are computed on demand."""
        ...

    @property
    def criterion_info(self) -> CriterionInfo: ...

    @property
    def n(self) -> float:
        """Number of rows (sum of weights), or of events."""
        ...

    @property
    def max_rank(self) -> float:
        """How many independent columns the rows can estimate."""
        ...

    @property
    def sample_unit(self) -> str:
        """What `n` counts, in the plural."""
        ...

    @property
    def reads_tails(self) -> bool:
        """Whether the rows, which tests in the tails read, are at hand."""
        ...

    def rank(self, units: Sequence[int]) -> int:
        """Number of columns of some units that do not depend on others of the same unit; constant ones excluded."""
        ...


class Choices(NamedTuple):
    """How many units a search chooses from.

    Attributes
    ----------
    n : int
        Units that could be chosen at the start: not constant, excluded or included.
    n_included : int
        Units that are included, and not constant.
    """

    n: int
    n_included: int


class Problem(Protocol):
    """Data as one family reads them; a model of them is made when the units are known."""

    @property
    def sizes_by(self) -> str:
        """The "auto" criterion of a strategy that compares selections of different sizes."""
        ...

    @property
    def n_columns(self) -> int:
        """Number of columns of the design matrix."""
        ...

    @property
    def varying(self) -> Bools:
        """Which columns are not constant."""
        ...

    def model(self, criterion: Any, units: Units, candidates: Indices, choices: Choices) -> FamilyModel:
        """A model of candidate columns."""
        ...

    def notes(self, model: Any, excluded: set[int]) -> Iterator[str]:
        """What the reader of a path should know about the data and the final fit, except for excluded columns."""
        ...


class Family(Protocol):
    """A model family, with its parameters."""

    def sample(self, X: Any, y: Any, rows: PerRow, given: Parameters) -> Features:
        """Validate data: the features, and whatever else the family uses of the table."""
        ...

    def problem(self, sample: Any, solver: str, max_features: int | None, *, from_all: bool = False) -> Problem:
        """The problem of a sample of this family.

        At most `max_features` units will be selected, unless the search starts from all of them.
        """
        ...


@dataclass(frozen=True)
class CriterionInfo:
    """What rules need to know of a criterion.

    Attributes
    ----------
    name : str
    penalised : bool
        Whether the score itself charges for size, so that 0 is its "auto" threshold.
    monotone : bool
        Whether no feature can worsen the score.
    share : bool
        Whether gains are shares, so that a number such as 0.05 is a plausible threshold.
    resampled : bool, default=False
        Whether gains are means over folds, so that one standard error is their "auto" threshold.
    """

    name: str
    penalised: bool
    monotone: bool
    share: bool
    resampled: bool = False
