"""Rules: which moves are allowed. A bound says of a move whether what it gains, or loses, is worth a feature."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from numbers import Real
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from dropstep.criteria import Criterion
from dropstep.explained import Change, Explained, SingleChange
from dropstep.problem import Problem

Floats = NDArray[np.float64]

LEVEL = 0.05  # of the tests behind "auto"


class Moves:
    """Possible moves of one kind, by ascending unit. What they gain is worked out when it is asked for.

    Attributes
    ----------
    units : what would be added or removed.
    free : whether a unit brings any independent feature that there is room for.
    rank : how many independent features each brings; one number when it is the same for all.
    size : independent features selected without the unit.
    """

    def __init__(self, units: NDArray[np.intp], change: Change, state: State, *, adding: bool) -> None:
        self.units, self.rank = units, change.rank
        self._change, self._state, self._adding = change, state, adding
        self._gain: tuple[int, float] | None = None
        self.size: Floats | float = state.size if adding else state.size - change.rank
        room = state.size + change.rank <= state.explained.problem.most
        self.free = change.free if not adding or room is True else change.free & room

    @cached_property
    def gains(self) -> Floats:
        """By how much the score would improve; for removals, by how much it would worsen."""
        criterion, explained, size = self._state
        made = criterion.gains if self._adding else criterion.losses
        return made(explained, self._change, size)

    @cached_property
    def partial(self) -> Floats:
        """Partial Wilks' lambda of each unit given the others."""
        return self._state.explained.partial(self._change, adding=self._adding)

    @property
    def order(self) -> Floats:
        """Numbers in the order of the gains, at least 0, and 0 for what is not free."""
        criterion, explained, size = self._state
        return criterion.order(explained, self._change, size)

    def gain(self, at: int) -> float:
        """What one of the moves would gain, or lose."""
        if self._gain is None or self._gain[0] != at:
            self._gain = at, self._gain_of(at)
        return self._gain[1]

    def _gain_of(self, at: int) -> float:
        criterion, explained, size = self._state
        one = self._adding and len(explained.M) == 1 and isinstance(self._change, SingleChange)
        if "gains" in vars(self) or not one or not self._change.free[at]:
            return float(self.gains[at])
        return criterion.gain(explained, float(self._change.power[at]), size)

    def only(self, at: int) -> Moves:
        """One of the moves."""
        return Moves(self.units[at : at + 1], self._change.only(at), self._state, adding=self._adding)


class State(NamedTuple):
    """What a move starts from: the criterion, what is explained, and by how many independent features."""

    criterion: Criterion
    explained: Explained
    size: float


class Bound(Protocol):
    """Whether each move is worth a feature: what enters must be, what leaves or is dropped must not be."""

    def worth(self, moves: Moves, problem: Problem) -> NDArray[np.bool_]: ...

    def one_worth(self, moves: Moves, at: int, problem: Problem) -> bool: ...


@dataclass(frozen=True)
class Threshold:
    """Worth more than a number, in units of the criterion."""

    value: float

    def worth(self, moves: Moves, problem: Problem) -> NDArray[np.bool_]:
        return moves.gains > self.value

    def one_worth(self, moves: Moves, at: int, problem: Problem) -> bool:
        return moves.gain(at) > self.value


@dataclass(frozen=True)
class Significance:
    """Significant at a level by the exact partial F test."""

    level: float

    def worth(self, moves: Moves, problem: Problem) -> NDArray[np.bool_]:
        if isinstance(moves.rank, float) and isinstance(moves.size, float):
            return moves.free & (moves.partial <= problem.critical(self.level, moves.size, moves.rank))
        pairs = np.column_stack(np.broadcast_arrays(moves.size, moves.rank))
        different, which = np.unique(pairs, axis=0, return_inverse=True)
        critical = np.array([problem.critical(self.level, size, rank) for size, rank in different])
        return np.asarray(moves.partial <= critical[which.ravel()])

    def one_worth(self, moves: Moves, at: int, problem: Problem) -> bool:
        return bool(self.worth(moves.only(at), problem)[0])


@dataclass(frozen=True)
class Rules:
    """Who may enter, leave and be dropped, and how many features there may be."""

    enter: Bound
    leave: Bound
    drop: Bound
    max_features: int | None = None

    @property
    def test(self) -> bool:
        """Whether any rule is a test, so that a path is not bound to climb."""
        return any(isinstance(bound, Significance) for bound in (self.enter, self.leave, self.drop))


def as_rules(
    criterion: Criterion, n_choices: int, enter: Any, leave: Any, drop: Any, max_features: int | None, strategy: str
) -> Rules:
    """Rules from the words a user gives; "auto" becomes 0 for penalised criteria and a test for the others."""
    drop = leave if drop is None else drop
    _check_number("enter", enter, criterion)
    _check_number("leave", leave, criterion)
    _check_number("drop", drop, criterion)
    corrected = LEVEL / max(1, n_choices)
    automatic = {"enter": corrected, "leave": corrected, "drop": LEVEL}

    def bound(word: str, value: Any) -> Bound:
        if not isinstance(value, str):
            return Threshold(float(value))
        return Threshold(0.0) if criterion.penalised else Significance(automatic[word])

    rules = Rules(bound("enter", enter), bound("leave", leave), bound("drop", drop), max_features)
    match strategy, rules.enter, rules.leave:
        case "stepwise", Threshold(least), Threshold(most) if most > least:
            raise ValueError(
                f"stepwise could go round in circles with leave > enter (leave={most:g}, enter={least:g}); "
                "choose leave <= enter"
            )
    return rules


def _check_number(word: str, value: Any, criterion: Criterion) -> None:
    if isinstance(value, str) and value == "auto":
        return
    if not isinstance(value, Real) or isinstance(value, bool) or math.isnan(value):
        raise ValueError(f"{word} must be 'auto' or a number; got {value!r}")
    if value < 0 and not criterion.penalised and criterion.name != "adj_r2":
        raise ValueError(
            f"{word} must not be negative for criterion {criterion.name!r}, which no feature can worsen; got {value:g}"
        )
