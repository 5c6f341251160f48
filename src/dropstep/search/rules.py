"""Rules: which moves are allowed. A rule decides whether the gain, or loss, of a move justifies a feature."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from copy import copy
from dataclasses import dataclass, field
from numbers import Real
from typing import Any, Literal, NamedTuple, Protocol, runtime_checkable

from dropstep.models.base import Bools, CriterionInfo, Scan, Tests
from dropstep.models.capabilities import offered
from dropstep.result import NearestMove
from dropstep.search.calibrated import Knockoffs, Permutation

LEVEL = 0.05  # of the tests behind "auto"
CORRECTIONS = ("fdr", "bonferroni")
LOOKS_LIKE_A_LEVEL = 0.5  # a positive threshold below this is probably meant as a significance level


class Rule(Protocol):
    """A condition on gains or losses. Units enter if it holds, and leave or are dropped if it does not.

    `size` is the number of selected units with the unit in question, without the included ones.
    """

    def justifies(self, scan: Scan, size: int) -> Bools: ...

    def justifies_one(self, scan: Scan, at: int, size: int) -> bool: ...


Refusal = Literal["add", "remove"]


class Comparison(NamedTuple):
    """What a rule compares for one move: a gain (a loss, for removals) or a p-value, with its limit."""

    quantity: Literal["gain", "p"]
    value: float
    needed: float


@runtime_checkable
class Compares(Protocol):
    """A rule that can state the two numbers that it compares."""

    def compared(self, scan: Scan, at: int, size: int) -> Comparison: ...


@dataclass(frozen=True)
class Threshold:
    """A gain or loss above a number, in units of the criterion."""

    value: float

    def justifies(self, scan: Scan, size: int) -> Bools:
        return scan.gains > self.value

    def justifies_one(self, scan: Scan, at: int, size: int) -> bool:
        return bool(scan.gains[at] > self.value)

    def compared(self, scan: Scan, at: int, size: int) -> Comparison:
        return Comparison("gain", float(scan.gains[at]), self.value)


@dataclass(frozen=True)
class Significance:
    """Significant given the other selected units, by the test of the model.

    The test is the partial F test for least squares (Rao's F where several targets meet units of several features), the
    score test for likelihoods, and the likelihood-ratio test of the refit for removals from likelihoods.

    Parameters
    ----------
    level : float
        Significance level, between 0 and 1.
    correction : {None, "fdr", "bonferroni"}, default=None
        How the level accounts for the m units that could be chosen at the start. "fdr" tests the k-th unit that enters,
        and each of k selected ones that could leave, at level k / m, the condition of Benjamini and Hochberg (1995);
        "bonferroni" tests all at level / m. Included units are not counted.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from dropstep import Significance, select
    >>> path = select(*load_diabetes(return_X_y=True), strategy="stepwise", enter=Significance(0.15))
    >>> path.selected
    (2, 8, 3, 4, 1, 5)
    """

    level: float
    correction: Literal["fdr", "bonferroni"] | None = None
    n_choices: int = field(default=1, init=False, repr=False, compare=False)  # m, taken from the search
    in_tails: bool = field(default=False, init=False, repr=False, compare=False)  # True if tails confirm what enters

    def __post_init__(self) -> None:
        real = isinstance(self.level, Real) and not isinstance(self.level, bool)
        if not real or not 0 < self.level < 1:
            raise ValueError(f"level must be a number between 0 and 1; got {self.level!r}")
        if not (self.correction is None or (isinstance(self.correction, str) and self.correction in CORRECTIONS)):
            raise ValueError(f"correction must be None, 'fdr' or 'bonferroni'; got {self.correction!r}")

    def among(self, n_choices: int, *, in_tails: bool = False) -> Significance:
        """The test, where a number of units could be chosen; `in_tails`: units that enter are confirmed there."""
        if self.correction == "bonferroni":
            return Significance(self.level / max(1, n_choices))
        resolved = copy(self)
        object.__setattr__(resolved, "n_choices", max(1, n_choices))
        object.__setattr__(resolved, "in_tails", in_tails)
        return resolved

    def level_of(self, size: int) -> float:
        """The level at which each of a number of selected units is tested."""
        return self.level if self.correction is None else self.level * min(size, self.n_choices) / self.n_choices

    def justifies(self, scan: Scan, size: int) -> Bools:
        return self.tests(scan).significant(self.level_of(size))

    def justifies_one(self, scan: Scan, at: int, size: int) -> bool:
        return self.tests(scan).is_significant(at, self.level_of(size))

    def confirmed(self, scan: Scan, at: int, size: int) -> tuple[bool, float | None]:
        """Whether a significant unit is so in the tails too, and its p-value there; None if the plain test holds."""
        tests = self.tests(scan)
        log_p = tests.log_tail(at) if self.in_tails else None
        return (True, None) if log_p is None else (log_p <= math.log(self.level_of(size)), math.exp(log_p))

    def compared(self, scan: Scan, at: int, size: int) -> Comparison:
        test = self.tests(scan).one(at)
        return Comparison("p", 1.0 if test is None else test.p_value, self.level_of(size))

    def tests(self, scan: Scan) -> Tests:
        """The tests of a scan."""
        if scan.tests is None:
            raise ValueError(f"{self!r} needs a significance test, which this model does not have; use a number")
        return scan.tests


# "auto", where the criterion does not charge for size: to enter or leave, and to drop.
BY_SIZE, PLAIN = Significance(LEVEL, "fdr"), Significance(LEVEL)


@dataclass(frozen=True)
class StandardErrors:
    """A gain or loss above a multiple of its standard error, from the paired differences of the fold scores.

    Parameters
    ----------
    multiple : float, default=1.0
        Number of standard errors.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import LinearRegression
    >>> from dropstep import StandardErrors, select
    >>> path = select(*load_diabetes(return_X_y=True), model=LinearRegression(), enter=StandardErrors(2))
    >>> path.selected
    (2, 8)
    """

    multiple: float = 1.0

    def __post_init__(self) -> None:
        real = isinstance(self.multiple, Real) and not isinstance(self.multiple, bool)
        if not real or not 0 <= self.multiple < math.inf:
            raise ValueError(f"multiple must be a finite number from 0; got {self.multiple!r}")

    def justifies(self, scan: Scan, size: int) -> Bools:
        if scan.std_errors is None:
            raise ValueError(f"{self!r} needs scores of at least 2 folds, which this model does not have; use a number")
        return scan.gains > self.multiple * scan.std_errors

    def justifies_one(self, scan: Scan, at: int, size: int) -> bool:
        return bool(self.justifies(scan, size)[at])

    def compared(self, scan: Scan, at: int, size: int) -> Comparison:
        assert scan.std_errors is not None
        return Comparison("gain", float(scan.gains[at]), self.multiple * float(scan.std_errors[at]))


def refused(
    action: Refusal, rule: Rule, scan: Scan, at: int, size: int, features: tuple[int, ...]
) -> NearestMove | None:
    """The move that a rule did not allow, with the numbers that it compared; None if the rule does not state them."""
    comparing = offered(Compares, by=rule)
    if comparing is None:
        return None
    quantity, value, needed = comparing.compared(scan, at, size)
    gain = float(scan.gains[at])
    return NearestMove(
        action,
        features,
        "loss" if quantity == "gain" and action == "remove" else quantity,
        value,
        needed,
        gain if action == "add" else -gain,
        None if scan.std_errors is None else float(scan.std_errors[at]),
    )


@dataclass(frozen=True)
class Rules:
    """The rules of a search and its size limit."""

    enter: Rule
    leave: Rule
    drop: Rule
    max_features: int | None = None

    def in_effect(self) -> dict[str, Any]:
        """Each rule by name: a threshold as its number, a test as the rule itself."""
        rules = {"enter": self.enter, "leave": self.leave, "drop": self.drop}
        return {name: rule.value if isinstance(rule, Threshold) else rule for name, rule in rules.items()}


def as_rules(
    criterion: CriterionInfo, n_choices: int, enter: Any, leave: Any, drop: Any, max_features: int | None, strategy: str
) -> Rules:
    """Rules from parameters.

    "auto" is 0 for penalised criteria, one standard error for means over folds, and a test for the others. An explicit
    `enter` holds for `leave` too, unless that is given; `drop=None` follows `leave`, unless that is a test: then it is
    the test at 0.05.
    """
    for name, value in (("enter", enter), ("leave", leave), ("drop", "auto" if drop is None else drop)):
        _check(name, value, criterion)
    if isinstance(enter, Knockoffs) and strategy != "forward":
        raise ValueError(f"{enter!r} judges a whole forward path; use strategy='forward' instead of {strategy!r}")

    def rule(value: Any, test: Significance, *, in_tails: bool = False) -> Rule:
        if isinstance(value, Significance):
            return value.among(n_choices)
        if isinstance(value, StandardErrors | Permutation | Knockoffs):
            return value
        if not isinstance(value, str):
            return Threshold(float(value))
        if criterion.resampled:
            return StandardErrors()
        return Threshold(0.0) if criterion.penalised else test.among(n_choices, in_tails=in_tails)

    if strategy == "exhaustive":
        enter = _price(enter, criterion, max_features)
    entering = rule(enter, BY_SIZE, in_tails=True)
    if isinstance(entering, Permutation) and _is_auto(leave):
        leaving: Rule = Significance(entering.level)
    elif _is_auto(leave) and not _is_auto(enter) and not isinstance(entering, Knockoffs):
        leaving = entering
    else:
        leaving = rule(leave, BY_SIZE)
    if drop is None:
        dropping: Rule = PLAIN if isinstance(leaving, Significance) else leaving
    else:
        dropping = rule(drop, PLAIN)
    if strategy == "stepwise":
        _refuse_cycles(entering, leaving)
    return Rules(entering, leaving, dropping, max_features)


def _price(enter: Any, criterion: CriterionInfo, max_features: int | None) -> float:
    """What a feature must gain in an exhaustive search; -inf for the best set of `max_features`."""
    if isinstance(enter, Real):
        return float(enter)
    if not _is_auto(enter):
        raise ValueError(f"exhaustive compares sets by their scores, so that enter must be a number; got {enter!r}")
    if criterion.penalised:
        return 0.0
    if max_features is None:
        raise ValueError(
            f"exhaustive by {criterion.name!r}, which does not charge for size, needs max_features or a number as enter"
        )
    return -math.inf


def _is_auto(value: Any) -> bool:
    return isinstance(value, str) and value == "auto"


def _check(name: str, value: Any, criterion: CriterionInfo) -> None:
    if isinstance(value, Permutation | Knockoffs) and name != "enter":
        raise ValueError(f"{value!r} decides what may enter; {name} must be 'auto', a number, or Significance")
    if _is_auto(value) or isinstance(value, Significance | StandardErrors | Permutation | Knockoffs):
        return
    if not isinstance(value, Real) or isinstance(value, bool) or math.isnan(value):
        raise ValueError(f"{name} must be 'auto', a number, or a rule such as Significance(0.05); got {value!r}")
    if -math.inf < float(value) < 0 and criterion.monotone:
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
        case Significance(n_choices=m), Significance() if any(leave.level_of(k) < enter.level_of(k) for k in (1, m)):
            raise ValueError(
                f"stepwise could cycle where staying takes a smaller p-value than entering (enter at {enter.level:g}, "
                f"leave at {leave.level:g}); choose a level for leave that is at least that for enter"
            )
        case StandardErrors(least), StandardErrors(most) if most > least:
            raise ValueError(
                f"stepwise could cycle where leaving takes more standard errors than entering (enter={enter!r}, "
                f"leave={leave!r}); choose a multiple for leave that is at most that for enter"
            )


def numbers_like_levels(criterion: CriterionInfo, parameters: Mapping[str, Any]) -> Iterator[str]:
    """Warnings for thresholds that look like significance levels, where gains are not shares of anything."""
    if criterion.share:
        return
    for name in ("enter", "leave", "drop"):
        value = parameters[name]
        if isinstance(value, Real) and 0 < float(value) < LOOKS_LIKE_A_LEVEL:
            yield (
                f"{name}={value:g} is a threshold in units of {criterion.name}, not a significance level; "
                f"for a test at that level use {name}=Significance({value:g})"
            )
