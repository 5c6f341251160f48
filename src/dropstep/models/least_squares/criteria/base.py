"""Criteria: a score of the matrix M of a problem, the size of the selection and the number of rows.

A criterion is one small class. It declares what it reads of M (the trace, the log determinant, or M itself), in which
direction it improves, and its formula. The gains of all possible moves follow from that.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dropstep.models.base import Choices, CriterionInfo
from dropstep.models.least_squares.explained import Explained
from dropstep.models.least_squares.problem import Problem
from dropstep.models.least_squares.updates import RankUpdate

Floats = NDArray[np.float64]


class Size(NamedTuple):
    """How large selections are: the number of linearly independent features, and of units (features or groups)."""

    rank: Any
    units: Any


@dataclass(frozen=True)
class Criterion:
    """A score of a selection.

    Subclasses define `score(read, size, problem)`, where `read` is what `of` and `after` return and `size` is a `Size`,
    for one selection or for many at once.
    """

    name: ClassVar[str]
    kind: ClassVar[Literal["linear", "discriminant"]]
    better: ClassVar[int] = -1  # -1: less is better, +1: more is better
    penalised: ClassVar[bool] = False  # whether the score itself charges for size
    monotone: ClassVar[bool] = False  # whether no feature can worsen the score
    share: ClassVar[bool] = True  # whether gains are shares, so that 0.05 is a plausible threshold

    @property
    def info(self) -> CriterionInfo:
        """What rules need to know."""
        return CriterionInfo(self.name, self.penalised, self.monotone, self.share)

    def resolve(self, problem: Problem, candidates: NDArray[np.intp], choices: Choices) -> Criterion:
        """The criterion with the parameters that it takes from the problem and its candidates filled in."""
        return self

    def ordered_by_fit(self, max_rank: float, problem: Problem) -> bool:
        """True if a better fit improves the score of sets of any one size, up to a rank."""
        return True

    def score(self, read: Any, size: Size, problem: Problem) -> Any:
        raise NotImplementedError

    def of(self, explained: Explained) -> Any:
        """What the score reads of what is explained."""
        raise NotImplementedError

    def after(self, explained: Explained, update: RankUpdate, sign: int) -> Any:
        """What it would read after each move, M + sign v v'."""
        raise NotImplementedError

    def value(self, explained: Explained, size: Size) -> float:
        """The score of what is explained by a selection of this size."""
        return float(self.score(self.of(explained), size, explained.problem))

    def gains(self, explained: Explained, update: RankUpdate, size: Size, now: float) -> Floats:
        """By how much each addition would improve the score `now`; 0 for units that bring no independent feature."""
        problem = explained.problem
        then = Size(size.rank + update.rank, size.units + 1)
        after = self.score(self.after(explained, update, problem.sign), then, problem)
        gains = self._improvement(after, now)
        return gains if update.all_feasible else np.where(update.feasible, gains, 0.0)

    def losses(self, explained: Explained, update: RankUpdate, size: Size, now: float) -> Floats:
        """By how much each removal would worsen the score `now`."""
        problem = explained.problem
        then = Size(size.rank - update.rank, size.units - 1)
        after = self.score(self.after(explained, update, -problem.sign), then, problem)
        return -self._improvement(after, now)

    def _improvement(self, then: Any, now: float) -> Floats:
        """By how much scores are better than the score `now`; two that are infinite do not differ."""
        if not math.isfinite(now):
            return np.where(np.isinf(then), 0.0, -self.better * now)
        return np.asarray(then - now if self.better > 0 else now - then)


class OfTrace(Criterion):
    """A criterion that reads the trace of M."""

    @property
    def transform(self) -> Floats | None:
        """T, where the criterion reads the trace of T M T' instead; None for the trace of M."""
        return None

    def of(self, explained: Explained) -> float:
        return explained.trace

    def after(self, explained: Explained, update: RankUpdate, sign: int) -> Floats:
        return explained.trace + sign * update.power


class OfDeterminant(Criterion):
    """A criterion that reads the log determinant of M."""

    def of(self, explained: Explained) -> float:
        return explained.logdet

    def after(self, explained: Explained, update: RankUpdate, sign: int) -> Floats:
        return explained.logdet + explained.log_ratio(update, sign)


class OfMatrix(Criterion):
    """A criterion that reads M itself."""

    def of(self, explained: Explained) -> Floats:
        return explained.M

    def after(self, explained: Explained, update: RankUpdate, sign: int) -> Floats:
        v = update.vectors
        return np.asarray(explained.M + sign * np.einsum("umt,ums->uts", v, v))


class OfRows(Criterion):
    """A criterion that reads the residuals and the leverages of the rows, which are no function of M.

    Subclasses define `read(residuals, leverages)`, of arrays of shapes (n_samples, n_moves, n_targets) and (n_samples,
    n_moves), in weighted rows (see `rows`): one number per move.
    """

    def read(self, residuals: Floats, leverages: Floats) -> Floats:
        raise NotImplementedError

    def ordered_by_fit(self, max_rank: float, problem: Problem) -> bool:
        return False

    def of(self, explained: Explained) -> float:
        assert explained.rows is not None
        return float(self.read(explained.rows.residuals[:, None, :], explained.rows.leverages[:, None])[0])

    def after(self, explained: Explained, update: RankUpdate, sign: int) -> Floats:
        assert update.rows is not None
        return np.concatenate([np.empty(0), *(self.read(*block) for block in update.rows)])


def check_finite(name: str, value: Any, above: float | None = None) -> None:
    """Refuse a parameter of a criterion that is not a finite number, above a bound or (None) not negative."""
    ok = isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)
    if not ok or (value < 0 if above is None else value <= above):
        what = "a finite number that is not negative" if above is None else "a positive finite number"
        raise ValueError(f"{name} must be {what}; got {value!r}")
