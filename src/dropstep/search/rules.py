"""Rules: which moves are allowed. A rule decides whether the gain, or loss, of a move justifies a feature."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np

from dropstep.models.base import Bools, CriterionInfo, Scan, Tests
from dropstep.result import NearestMove

LEVEL = 0.05  # of the tests behind "auto"
CORRECTIONS = ("fdr", "bonferroni")
LOOKS_LIKE_A_LEVEL = 0.5  # a positive threshold below this is probably meant as a significance level


class Rule(Protocol):
    """A condition on gains or losses. Units enter if it holds, and leave or are dropped if it does not.

    `size` is the number of selected units with the unit in question, without the included ones.
    """

    def justifies(self, scan: Scan, size: int) -> Bools: ...

    def justifies_one(self, scan: Scan, at: int, size: int) -> bool: ...

    def compared(self, scan: Scan, at: int, size: int) -> Compared:
        """The two numbers that it compares."""
        ...


Refusal = Literal["add", "remove"]


class Compared(NamedTuple):
    """What a rule compares for one move: a gain (a loss, for removals) or a p-value, with its limit."""

    quantity: Literal["gain", "p"]
    value: float
    needed: float


@dataclass(frozen=True)
class Threshold:
    """A gain or loss above a number, in units of the criterion."""

    value: float

    def justifies(self, scan: Scan, size: int) -> Bools:
        return scan.gains > self.value

    def justifies_one(self, scan: Scan, at: int, size: int) -> bool:
        return bool(scan.gains[at] > self.value)

    def compared(self, scan: Scan, at: int, size: int) -> Compared:
        return Compared("gain", float(scan.gains[at]), self.value)


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
        resolved = Significance(self.level, self.correction)
        object.__setattr__(resolved, "n_choices", max(1, n_choices))
        object.__setattr__(resolved, "in_tails", in_tails)
        return resolved

    def level_of(self, size: int) -> float:
        """The level at which each of a number of selected units is tested."""
        m = self.n_choices
        return self.level if self.correction is None else self.level * (size if size < m else m) / m

    def justifies(self, scan: Scan, size: int) -> Bools:
        tests = scan.tests or self.tests(scan)
        return tests.significant(self.level_of(size))

    def justifies_one(self, scan: Scan, at: int, size: int) -> bool:
        tests = scan.tests or self.tests(scan)
        return tests.is_significant(at, self.level_of(size))

    def confirmed(self, scan: Scan, at: int, size: int) -> tuple[bool, float | None]:
        """Whether a significant unit is so in the tails too, and its p-value there; None if the plain test holds."""
        tests = scan.tests or self.tests(scan)
        log_p = tests.log_tail(at) if self.in_tails else None
        return (True, None) if log_p is None else (log_p <= math.log(self.level_of(size)), math.exp(log_p))

    def compared(self, scan: Scan, at: int, size: int) -> Compared:
        test = (scan.tests or self.tests(scan)).one(at)
        return Compared("p", 1.0 if test is None else test.p_value, self.level_of(size))

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

    def compared(self, scan: Scan, at: int, size: int) -> Compared:
        assert scan.std_errors is not None
        return Compared("gain", float(scan.gains[at]), self.multiple * float(scan.std_errors[at]))


def nearest_move(action: Refusal, rule: Rule, scan: Scan, at: int, size: int, features: tuple[int, ...]) -> NearestMove:
    """The move that a rule did not allow, with the numbers that it compared."""
    quantity, value, needed = rule.compared(scan, at, size)
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
        if not _is_auto(value):
            _check(name, value, criterion)
    if isinstance(enter, Knockoffs) and strategy != "forward":
        raise ValueError(f"{enter!r} judges a whole forward path; use strategy='forward' instead of {strategy!r}")

    def rule(value: Any, test: Significance, *, in_tails: bool = False) -> Rule:
        if _is_auto(value):
            if criterion.resampled:
                return StandardErrors()
            return Threshold(0.0) if criterion.penalised else test.among(n_choices, in_tails=in_tails)
        if isinstance(value, Significance):
            return value.among(n_choices)
        return value if isinstance(value, StandardErrors | Permutation | Knockoffs) else Threshold(float(value))

    if strategy == "exhaustive":
        enter = _price(enter, criterion, max_features)
    entering = rule(enter, BY_SIZE, in_tails=True)
    if isinstance(entering, Permutation) and _is_auto(leave):
        leaving: Rule = Significance(entering.level)
    elif _is_auto(leave) and not isinstance(entering, Knockoffs):
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
    if isinstance(value, Significance | StandardErrors | Permutation | Knockoffs):
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


def warn_about_thresholds(criterion: CriterionInfo, parameters: Mapping[str, Any]) -> Iterator[str]:
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


def _check_share(name: str, value: Any) -> None:
    if not isinstance(value, Real) or isinstance(value, bool) or not 0 < float(value) < 1:
        raise ValueError(f"{name} must be a number between 0 and 1; got {value!r}")


@dataclass(frozen=True)
class Permutation:
    """The best candidate enters if its statistic is large among the largest ones of permuted residuals.

    The residuals of the target under the present selection are permuted, and the largest statistic over all candidates
    (dropped ones included) is recorded; the p-value is the share of permutations, the data themselves counted as one,
    whose largest statistic reaches that of the candidate (Freedman and Lane 1983; Westfall and Young 1993). For the
    first feature the test is exact, whatever the distribution of the target and the correlation of the features: it
    controls the probability that anything is selected on noise. For later ones it is approximate.

    Parameters
    ----------
    level : float
        Significance level, between 0 and 1.
    n_permutations : int, default=199
        Number of permutations; the level should be a multiple of 1 / (n_permutations + 1).

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from dropstep import Permutation, select
    >>> select(*load_diabetes(return_X_y=True), enter=Permutation(0.05)).selected
    (2, 8, 3, 6, 1)
    """

    level: float
    n_permutations: int = 199
    seed: int = field(default=0, repr=False, compare=False)

    def __post_init__(self) -> None:
        _check_share("level", self.level)
        n = self.n_permutations
        if not isinstance(n, Integral) or isinstance(n, bool) or n < 1:
            raise ValueError(f"n_permutations must be a whole number from 1; got {n!r}")
        if self.level * (n + 1) < 1:
            raise ValueError(
                f"{n} permutations cannot give a p-value of {self.level:g} or less; use n_permutations="
                f"{math.ceil(1 / self.level) - 1} or more"
            )

    def justifies_one(self, scan: Scan, at: int, size: int) -> bool:
        return self._p_value(scan, at) <= self.level

    def justifies(self, scan: Scan, size: int) -> Bools:
        return np.array([self.justifies_one(scan, at, size) for at in range(len(scan.units))], dtype=bool)

    def compared(self, scan: Scan, at: int, size: int) -> Compared:
        return Compared("p", self._p_value(scan, at), self.level)

    def _p_value(self, scan: Scan, at: int) -> float:
        if scan.largest_null is None:
            raise ValueError(
                f"Permutation({self.level:g}) permutes the residuals of least squares row by row, which Moments and "
                "other models do not have; pass X and y for model 'linear' or 'discriminant', or use Significance"
            )
        return scan.largest_null(int(scan.units[at]), int(self.n_permutations), self.seed)


@dataclass(frozen=True)
class Knockoffs:
    """Features that enter before their knockoffs, up to an expected share of false ones (Candes et al. 2018).

    A knockoff of each feature is constructed from the moments, with the same means and covariances but no relation to
    the target given the features. Forward selection of all features and knockoffs runs to the end; the statistic of a
    feature is the order in which it or its knockoff entered, and the threshold is that of the knockoff+ filter. With
    n >= 2 p + 2 rows the construction is that of Barber and Candes (2015), which controls the false discovery rate of
    a linear model with normal errors exactly; with fewer rows features are assumed to be normal, and their estimated
    covariance is taken as known. The noise of the knockoffs is drawn from `random_state` and the correlations of
    features and target, rounded to 6 digits: it differs from table to table, but not with the order of the rows.

    Parameters
    ----------
    fdr : float
        Expected share of false selections, between 0 and 1. At least 1 / fdr features are selected, or none.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from dropstep import Knockoffs, select
    >>> select(*load_diabetes(return_X_y=True), strategy="forward", enter=Knockoffs(0.5)).selected
    (2, 8, 3, 1)
    """

    fdr: float

    def __post_init__(self) -> None:
        _check_share("fdr", self.fdr)

    @property
    def fewest(self) -> int:
        """The smallest number of features that can be selected, other than none."""
        return math.ceil(1 / self.fdr - 1e-9)

    def chosen(self, order: Sequence[int], p: int) -> list[int]:
        """Features selected by the knockoff+ filter, in order of entry; `order` counts knockoffs from p.

        The statistic of a feature is larger the earlier it or its knockoff entered, and negative if the knockoff was
        first. The threshold is the smallest for which (1 + negative ones) / positive ones is at most `fdr`.
        """
        first: dict[int, bool] = {}
        for j in order:
            first.setdefault(j % p, j < p)
        end, n_true, n_false = 0, 0, 0
        for at, original in enumerate(first.values(), start=1):
            n_true, n_false = n_true + original, n_false + (not original)
            if 1 + n_false <= self.fdr * n_true * (1 + 1e-12):
                end = at
        return [j for j, original in list(first.items())[:end] if original]

    def justifies_one(self, scan: Scan, at: int, size: int) -> bool:
        raise ValueError(f"Knockoffs({self.fdr:g}) judges a whole path; use strategy='forward'")

    def justifies(self, scan: Scan, size: int) -> Bools:
        raise ValueError(f"Knockoffs({self.fdr:g}) decides what may enter; use a number for leave and drop")

    def compared(self, scan: Scan, at: int, size: int) -> Compared:
        raise ValueError(f"Knockoffs({self.fdr:g}) judges a whole path; use strategy='forward'")
