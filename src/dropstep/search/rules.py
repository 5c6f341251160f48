"""Rules: which moves are allowed. A rule says of each move whether its gain, or loss, justifies a feature."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from numbers import Real
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from dropstep.models.least_squares.criteria import Criterion, MallowsCp, Size
from dropstep.models.least_squares.explained import Change, Explained
from dropstep.models.least_squares.problem import Problem

Floats = NDArray[np.float64]

LEVEL = 0.05  # of the tests behind "auto"
LOOKS_LIKE_A_LEVEL = 0.5  # a positive threshold below this is probably meant as a significance level
ON_THE_SCALE_OF_Y = frozenset({"rss", "cp", "aic", "aicc", "bic", "ebic"})  # criteria whose gains are not shares


class State(NamedTuple):
    """What a move starts from: the criterion, what is explained, and the size of the selection."""

    criterion: Criterion
    explained: Explained
    size: Size


class Moves:
    """Possible moves of one kind, by ascending unit. Gains and tests are computed when a rule needs them.

    Attributes
    ----------
    units : what would be added or removed.
    free : whether a unit brings any independent feature, and the rows suffice to estimate it.
    rank : number of independent features that each brings; one number when it is the same for all.
    size : number of independent features selected without the unit.
    """

    def __init__(self, units: NDArray[np.intp], change: Change, state: State, *, adding: bool) -> None:
        self.units, self.rank = units, change.rank
        self._change, self._state, self._adding = change, state, adding
        self.size: Floats | float = state.size.rank if adding else state.size.rank - change.rank
        room = state.size.rank + change.rank <= state.explained.problem.most
        self.free = change.free if not adding or room is True else change.free & room

    @cached_property
    def gains(self) -> Floats:
        """By how much the score would improve, 0 for what is not free; for removals, by how much it would worsen."""
        criterion, explained, size = self._state
        if not self._adding:
            return criterion.losses(explained, self._change, size)
        gains = criterion.gains(explained, self._change, size)
        return gains if self.free is self._change.free else np.where(self.free, gains, 0.0)

    @property
    def power(self) -> Floats:
        """By how much each unit would change the trace of M."""
        return self._change.power

    @cached_property
    def partial(self) -> Floats:
        """Partial Wilks' lambda of each unit given the others."""
        return self._state.explained.partial(self._change, adding=self._adding)

    @cached_property
    def log_p_values(self) -> Floats:
        """Logarithm of the p-value of each unit's partial F test given the others; 0 for what is not free."""
        problem = self._state.explained.problem
        return np.where(self.free, problem.log_p_value(self.partial, self.size, self.rank), 0.0)

    @cached_property
    def same_rank(self) -> bool:
        """True if gains and p-values have the same order, because all units have the same rank."""
        if np.ndim(self.rank) == 0:
            return True
        rank = np.asarray(self.rank)
        return len(np.unique(rank[self.free] if self._adding else rank)) <= 1

    @cached_property
    def order(self) -> Floats:
        """Numbers in the order of the gains of additions, 0 for what is not free; ties are relative to the largest."""
        criterion, explained, size = self._state
        if isinstance(self.rank, float):
            return criterion.order(explained, self._change, size)
        return self.gains

    def gain(self, at: int) -> float:
        """What one of the moves would gain, or lose."""
        return float(self.gains[at])

    def only(self, at: int) -> Moves:
        """One of the moves."""
        return Moves(self.units[at : at + 1], self._change.only(at), self._state, adding=self._adding)


class Rule(Protocol):
    """Whether each move justifies a feature: what enters must, what leaves or is dropped must not."""

    def justifies(self, moves: Moves, problem: Problem) -> NDArray[np.bool_]: ...

    def justifies_one(self, moves: Moves, at: int, problem: Problem) -> bool: ...


@dataclass(frozen=True)
class Threshold:
    """A gain or loss above a number, in units of the criterion."""

    value: float

    def justifies(self, moves: Moves, problem: Problem) -> NDArray[np.bool_]:
        return moves.gains > self.value

    def justifies_one(self, moves: Moves, at: int, problem: Problem) -> bool:
        return moves.gain(at) > self.value


@dataclass(frozen=True)
class Significance:
    """Significant by the exact partial F test (Rao's F where several targets meet units of several features).

    Parameters
    ----------
    level : float
        Significance level, between 0 and 1.
    correction : {None, "bonferroni"}, default=None
        "bonferroni" divides the level by the number of units that could be chosen at the start.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from dropstep import Significance, select
    >>> path = select(*load_diabetes(return_X_y=True), criterion="rss", strategy="stepwise", enter=Significance(0.15))
    >>> path.selected
    (2, 8, 3, 4, 1, 5)
    """

    level: float
    correction: Literal["bonferroni"] | None = None

    def __post_init__(self) -> None:
        real = isinstance(self.level, Real) and not isinstance(self.level, bool)
        if not real or not 0 < self.level < 1:
            raise ValueError(f"level must be a number between 0 and 1; got {self.level!r}")
        if not (self.correction is None or (isinstance(self.correction, str) and self.correction == "bonferroni")):
            raise ValueError(f"correction must be None or 'bonferroni'; got {self.correction!r}")

    def corrected(self, n_choices: int) -> Significance:
        """The test with its correction applied to the level."""
        return self if self.correction is None else Significance(self.level / max(1, n_choices))

    def justifies(self, moves: Moves, problem: Problem) -> NDArray[np.bool_]:
        if isinstance(moves.rank, float) and isinstance(moves.size, float):
            return moves.free & (moves.partial <= problem.critical(self.level, moves.size, moves.rank))
        pairs = np.column_stack(np.broadcast_arrays(moves.size, moves.rank))
        different, which = np.unique(pairs, axis=0, return_inverse=True)
        critical = np.array([problem.critical(self.level, size, rank) for size, rank in different.tolist()])
        return np.asarray(moves.free & (moves.partial <= critical[which.ravel()]))

    def justifies_one(self, moves: Moves, at: int, problem: Problem) -> bool:
        return bool(self.justifies(moves.only(at), problem)[0])


@dataclass(frozen=True)
class Rules:
    """What may enter, leave and be dropped, and how many units there may be."""

    enter: Rule
    leave: Rule
    drop: Rule
    max_features: int | None = None


def as_rules(
    criterion: Criterion, n_choices: int, enter: Any, leave: Any, drop: Any, max_features: int | None, strategy: str
) -> Rules:
    """Rules from parameters.

    "auto" is 0 for penalised criteria and a test for the others. An explicit `enter` holds for `leave` too, unless that
    is given; `drop=None` follows `leave` where that is a number, and is the test at 0.05 otherwise.
    """
    for name, value in (("enter", enter), ("leave", leave), ("drop", "auto" if drop is None else drop)):
        _check(name, value, criterion)

    def rule(value: Any, test: Significance) -> Rule:
        if isinstance(value, Significance):
            return value.corrected(n_choices)
        if not isinstance(value, str):
            return Threshold(float(value))
        return Threshold(0.0) if criterion.penalised else test.corrected(n_choices)

    corrected, plain = Significance(LEVEL, "bonferroni"), Significance(LEVEL)
    entering = rule(enter, corrected)
    leaving = entering if _is_auto(leave) and not _is_auto(enter) else rule(leave, corrected)
    if drop is None:
        dropping: Rule = leaving if isinstance(leaving, Threshold) else plain
    else:
        dropping = rule(drop, plain)
    if strategy == "stepwise":
        _refuse_cycles(entering, leaving)
    return Rules(entering, leaving, dropping, max_features)


def _is_auto(value: Any) -> bool:
    return isinstance(value, str) and value == "auto"


def _check(name: str, value: Any, criterion: Criterion) -> None:
    if _is_auto(value) or isinstance(value, Significance):
        return
    if not isinstance(value, Real) or isinstance(value, bool) or math.isnan(value):
        raise ValueError(f"{name} must be 'auto', a number, or a rule such as Significance(0.05); got {value!r}")
    if -math.inf < float(value) < 0 and not criterion.penalised and criterion.name != "adj_r2":
        raise ValueError(
            f"{name} must not be negative for criterion {criterion.name!r}, which no feature can worsen; got {value:g}"
        )


def _refuse_cycles(enter: Rule, leave: Rule) -> None:
    """Refuse rules under which what has just entered could leave at once."""
    match enter, leave:
        case Threshold(least), Threshold(most) if most > least:
            raise ValueError(
                f"stepwise could cycle with leave > enter (leave={most:g}, enter={least:g}); choose leave <= enter"
            )
        case Significance(level=entering), Significance(level=staying) if staying < entering:
            raise ValueError(
                f"stepwise could cycle where staying takes a smaller p-value than entering (enter at {entering:g}, "
                f"leave at {staying:g}); choose a level for leave that is at least that for enter"
            )


def numbers_like_levels(criterion: Criterion, parameters: Mapping[str, Any]) -> Iterator[str]:
    """Warnings for thresholds that look like significance levels, where gains are not shares of anything."""
    per_sample = isinstance(criterion, MallowsCp) and criterion.per_sample
    if criterion.name not in ON_THE_SCALE_OF_Y or per_sample:
        return
    for name in ("enter", "leave", "drop"):
        value = parameters[name]
        if isinstance(value, Real) and 0 < float(value) < LOOKS_LIKE_A_LEVEL:
            yield (
                f"{name}={value:g} is a threshold in units of {criterion.name}, not a significance level; "
                f"for a test at that level use {name}=Significance({value:g})"
            )
