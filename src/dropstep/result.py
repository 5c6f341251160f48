"""The result of a search: a path of steps, and the reason why it ended."""

from __future__ import annotations

import enum
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from scipy import special

from dropstep.coefficients import CAVEAT, Coefficients
from dropstep.lazy import PathMethods
from dropstep.stopping import NearestMove
from dropstep.subsets import Subsets

if TYPE_CHECKING:
    from dropstep.data.encoding import Encoding
    from dropstep.data.fingerprint import Fingerprint

Phase = Literal["start", "forward", "re-forward", "backward", "swap"]
Action = Literal["add", "remove", "drop", "recall"]


class StopReason(enum.Enum):
    """Why a search ended; the value is a sentence without its full stop."""

    ENTER = "no candidate's gain is large enough to enter"
    LEAVE = "no selected feature can be removed within `leave`"
    POOL = "no candidates remain"
    SPAN = "every remaining candidate is constant or a linear combination of the selected features"
    MAX_FEATURES = "max_features is reached"
    ROWS = "no residual degrees of freedom left for another feature"
    EXACT = "the selected features explain the target exactly"
    CONSTANT = "every feature is constant"
    CYCLE = "a selection recurred; continuing would cycle"
    FAILED = "the estimator cannot be fitted on any remaining candidate"
    OPTIMAL = "the selection is proven to be the best"
    CALLBACK = "a callback returned True"
    MAX_TIME = "max_time is reached"
    INTERRUPTED = "it was interrupted"

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True, slots=True)
class PartialTest:
    """Test of the features that a step added or removed, given the other selected features.

    The features were chosen on the same rows, so the p-value is optimistically biased: it is that of features fixed in
    advance.

    Attributes
    ----------
    statistic : float
        F for least squares (for several targets, and for classes, by Wilks' lambda), chi-squared for other models.
    df : tuple of float
        Degrees of freedom of the numerator and the denominator of F, or the one of chi-squared. F is exact, except
        where more than two linearly independent features are tested together and there are more than two targets or
        more than three classes: there it is Rao's approximation, whose denominator need not be a whole number.
    confirmed : float or None
        The p-value by which `enter="auto"` decided, where the features and the residual are both far from normal (by a
        saddlepoint approximation) or few degrees of freedom remain; None where the distribution of the statistic is
        that of `df`.
    """

    statistic: float
    df: tuple[float, ...]
    confirmed: float | None = None

    @property
    def p_value(self) -> float:
        """Probability of a larger statistic if the features had no effect."""
        if self.confirmed is not None:
            return self.confirmed
        if len(self.df) == 1:
            return float(special.chdtrc(self.df[0], self.statistic))
        return float(special.fdtrc(self.df[0], self.df[1], self.statistic))


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a path.

    Attributes
    ----------
    phase : {"start", "forward", "re-forward", "backward", "swap"}
        Phase of the strategy in which the step was made.
    action : {"add", "remove", "drop", "recall"}
        Features are added to or removed from the selection, dropped from or recalled to the pool.
    features : tuple of int
        Indices of the features concerned.
    gain : float
        Score after minus score before, signed so that larger is better; 0 for "drop" and "recall".
    score : float
        Criterion after the step, in its own sign.
    pool : int
        Number of candidates (features or groups) in the pool after the step.
    test : PartialTest or None
        Test of the features added or removed, given the other selected features; None for other steps, for a start,
        where the model has no test, and for features that are linear combinations of the others.
    score_std_error : float or None
        Standard error of the score, where it is a mean over folds.
    """

    phase: Phase
    action: Action
    features: tuple[int, ...]
    gain: float
    score: float
    pool: int
    test: PartialTest | None = None
    score_std_error: float | None = None


@dataclass(frozen=True, repr=False)
class SelectionPath(PathMethods):
    """Result of a search.

    Attributes
    ----------
    selected : tuple of int
        Indices of the selected features, in order of entry.
    steps : tuple of Step
        All steps, in the order made.
    score : float
        Criterion of the selected features, in its own sign.
    stop : StopReason
        Why the search ended; for a search that goes forward, why it stopped adding features. `why` adds the numbers.
    n_evaluations : int
        Number of gains computed.
    start : float
        Criterion of the empty selection.
    ranking : tuple of int
        Rank of each feature: 1 for the first that entered, and so on; features that are not selected follow by the
        gain they would bring now. The features of a group share a rank; excluded features share the last one.
    n_features : int
        Number of features of the table.
    feature_names : tuple of str or None
        Names of the features, or None if the table has none.
    strategy, model, criterion : str
        Names of the strategy, the model and the criterion, with "auto" resolved.
    solver : {"gram", "columns", "fits"}
        Whether the Gram matrix was precomputed or its rows were computed on demand; "fits" for an estimator.
    greater_is_better : bool
        Whether larger values of the criterion are better.
    n_candidates : int
        Number of candidates (features or groups) in the pool before the first step; included and excluded ones are
        not counted.
    excluded : tuple of int
        Indices of the features that were excluded from the search.
    groups : tuple of tuple of int or None
        Indices of the features of each group, features that form a group by themselves included; None if no groups
        were given.
    rules : mapping of str to float or rule
        The rules "enter", "leave" and "drop" in effect, with defaults and corrections resolved: a threshold in units of
        the criterion, or a rule such as `Significance`.
    notes : tuple of str
        Warnings about the data and about the precision of the result, one sentence each.
    losses : mapping of int to float or None
        For each selected feature (of a group: its first) that could be removed, the loss of score without it; None if
        not computed.
    equivalents : mapping of int to tuple of (int, float) or None
        For the same features, the candidates that could replace them at the smallest loss, and that loss (negative if
        the score would improve); None if not computed.
    n_fits : int
        Number of models fitted; 0 for least squares, whose gains need no fit.
    n_passes : int or None
        Number of passes over the table, rounded up: values read over values of the table; None where they are not
        counted.
    fits_saved : mapping of str to int
        Where evaluations cost fits, how many were not necessary, by what saved them: "dropping", "racing", "cache".
    params : mapping of str to object
        Parameters of `select` that differ from their defaults, as they were passed.
    weighted : bool
        Whether `sample_weight` was given.
    per_row : tuple of str
        Which of `offset` and `strata` were given.
    from_moments : bool
        Whether `Moments` were given instead of rows.
    coefficients : Coefficients or None
        Coefficients of the selected features in the units of the table, with standard errors for a regression; None if
        the model has none.
    fingerprint : Fingerprint or None
        Identifiers of the rows, by which `infer` recognises them; None where rows are not known.
    encoding : Encoding or None
        How the columns of the design matrix encode the features; None if they are the features.
    subsets : Subsets or None
        The best sets of each size, for strategy "exhaustive".
    nearest : NearestMove or None
        Where a rule ended the search, the best remaining candidate (or the least useful selected feature) at that time,
        its gain or p-value, and what the rule required; None for other stop reasons.
    """

    selected: tuple[int, ...]
    steps: tuple[Step, ...]
    score: float
    stop: StopReason
    n_evaluations: int
    start: float
    ranking: tuple[int, ...] = field(repr=False)
    n_features: int
    feature_names: tuple[str, ...] | None = field(repr=False)
    strategy: str
    model: str
    criterion: str
    solver: str
    greater_is_better: bool = False
    n_candidates: int = 0
    excluded: tuple[int, ...] = field(default=(), repr=False)
    groups: tuple[tuple[int, ...], ...] | None = field(default=None, repr=False)
    rules: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)
    notes: tuple[str, ...] = ()
    losses: Mapping[int, float] | None = field(default=None, repr=False, compare=False)
    equivalents: Mapping[int, tuple[tuple[int, float], ...]] | None = field(default=None, repr=False, compare=False)
    n_fits: int = 0
    n_passes: int | None = field(default=None, repr=False, compare=False)
    fits_saved: Mapping[str, int] = field(default_factory=dict, repr=False, compare=False)
    params: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)
    weighted: bool = field(default=False, repr=False, compare=False)
    per_row: tuple[str, ...] = field(default=(), repr=False, compare=False)
    from_moments: bool = field(default=False, repr=False, compare=False)
    coefficients: Coefficients | None = field(default=None, repr=False, compare=False)
    encoding: Encoding | None = field(default=None, repr=False, compare=False)
    subsets: Subsets | None = field(default=None, repr=False, compare=False)
    nearest: NearestMove | None = field(default=None, repr=False, compare=False)
    fingerprint: Fingerprint | None = field(default=None, repr=False, compare=False)

    @property
    def selected_names(self) -> tuple[str, ...]:
        """Names of the selected features, in order of entry."""
        return self.names(self.selected)

    def names(self, features: tuple[int, ...]) -> tuple[str, ...]:
        """Names of features; x0, x1, ... if the table has none.

        Parameters
        ----------
        features : tuple of int
            Indices of the features.

        Returns
        -------
        tuple of str
            One name per feature.
        """
        return feature_names(self.feature_names, features)

    @property
    def r2(self) -> float | None:
        """Share of the sum of squares that is explained, the mean over several targets; None for other models."""
        return None if self.coefficients is None else self.coefficients.r2

    @property
    def adj_r2(self) -> float | None:
        """R2 with both sums of squares divided by their degrees of freedom; None for other models."""
        return None if self.coefficients is None else self.coefficients.adj_r2

    @property
    def caveat(self) -> str | None:
        """What coefficients, R2 and p-values of the path cannot claim; None if it has none of them."""
        fitted = self.coefficients is not None and bool(self.selected)
        return CAVEAT if fitted or any(step.test is not None for step in self.steps) else None

    def sizes(self) -> list[int]:
        """Number of selected features after each step.

        Returns
        -------
        list of int
            One number per step.
        """
        sizes, size = [], 0
        for step in self.steps:
            size += {"add": 1, "remove": -1}.get(step.action, 0) * len(step.features)
            sizes.append(size)
        return sizes

    def pools(self) -> list[int]:
        """Number of candidates in the pool before the first step and after each step.

        Returns
        -------
        list of int
            `n_candidates`, followed by one number per step.
        """
        return [self.n_candidates, *(step.pool for step in self.steps)]

    def to_frame(self) -> Any:
        """Convert the steps to a pandas DataFrame.

        Returns
        -------
        pandas.DataFrame
            One row per step, numbered from 1 as in the plot and in the report. Columns statistic, df_num, df_denom and
            p_value are those of `Step.test`, NaN where there is none (df_denom for a chi-squared statistic as well).
            ``attrs["note"]`` is `caveat`, if that is not None.
        """
        try:
            import pandas as pd
        except ImportError:
            raise ImportError("to_frame needs pandas: pip install 'dropstep[frames]'") from None
        rows = [
            (s.phase, s.action, ", ".join(self.names(s.features)), s.gain, s.score, s.pool, size, *_numbers(s.test))
            for s, size in zip(self.steps, self.sizes(), strict=True)
        ]
        columns = ["phase", "action", "features", "gain", "score", "pool", "selected"]
        columns += ["statistic", "df_num", "df_denom", "p_value"]
        frame = pd.DataFrame(rows, columns=columns, index=pd.RangeIndex(1, len(rows) + 1, name="step"))
        if any(s.score_std_error is not None for s in self.steps):
            frame.insert(5, "score_std_error", [s.score_std_error for s in self.steps])
        if self.caveat is not None:
            frame.attrs["note"] = self.caveat
        return frame


def feature_names(names: Sequence[str] | None, features: Sequence[int]) -> tuple[str, ...]:
    """Names of features; x0, x1, ... if there are none."""
    return tuple(f"x{j}" if names is None else names[j] for j in features)


def _numbers(test: PartialTest | None) -> tuple[float, float, float, float]:
    """Statistic, degrees of freedom and p-value of a test, NaN for what there is not."""
    if test is None:
        return (math.nan,) * 4
    numerator, denominator = test.df if len(test.df) == 2 else (*test.df, math.nan)
    return test.statistic, numerator, denominator, test.p_value
