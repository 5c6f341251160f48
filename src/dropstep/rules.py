"""Rules: which moves are allowed. A bound says of a move whether what it gains, or loses, is worth a feature."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Real
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dropstep.criteria import Criterion
from dropstep.problem import Problem

Floats = NDArray[np.float64]

LEVEL = 0.05  # of the tests behind "auto"


@dataclass(frozen=True, eq=False)
class Moves:
    """Possible moves of one kind, by ascending unit.

    Attributes
    ----------
    units : what would be added or removed.
    gains : by how much the score would improve; for removals, by how much it would worsen.
    rank : how many independent features each brings.
    partial : partial Wilks' lambda of each unit given the others; empty unless a test asks for it.
    size : independent features selected without the unit.
    """

    units: NDArray[np.intp]
    gains: Floats
    rank: Floats
    partial: Floats
    size: Floats | float


class Bound(Protocol):
    """Whether each move is worth a feature: what enters must be, what leaves or is dropped must not be."""

    def worth(self, moves: Moves, problem: Problem) -> NDArray[np.bool_]: ...


@dataclass(frozen=True)
class Threshold:
    """Worth more than a number, in units of the criterion."""

    value: float

    def worth(self, moves: Moves, problem: Problem) -> NDArray[np.bool_]:
        return moves.gains > self.value


@dataclass(frozen=True)
class Significance:
    """Significant at a level by the exact partial F test."""

    level: float

    def worth(self, moves: Moves, problem: Problem) -> NDArray[np.bool_]:
        size = np.broadcast_to(moves.size, moves.rank.shape)
        pairs, which = np.unique(np.column_stack([size, moves.rank]), axis=0, return_inverse=True)
        critical = np.array([problem.critical(self.level, k, m) for k, m in pairs])
        return moves.partial <= critical[which.ravel()]


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
