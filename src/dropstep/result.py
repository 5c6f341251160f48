"""The result of a search: the path of its steps, why it ended, the coefficients, and how far it can be trusted."""

from __future__ import annotations

import enum
import itertools
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from dropstep.data.encoding import Encoding
    from dropstep.data.fingerprint import Fingerprint

Floats = NDArray[np.float64]
Phase = Literal["start", "forward", "re-forward", "backward", "swap"]
Action = Literal["add", "remove", "drop", "recall"]
Quantity = Literal["gain", "loss", "p"]

INTERCEPT = "(intercept)"
SELECTION, ALL, NONE = "this selection", "all features", "no features"
STABLE = 0.75  # share of the half-samples from which a feature is called stable
CAVEAT = (
    "Coefficients, R² and p-values are computed on the rows used for selection, as if the features had been fixed in "
    "advance, and are optimistically biased; for inference, fit on rows that took no part in the selection."
)


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


@dataclass(frozen=True, slots=True)
class NearestMove:
    """The best remaining candidate, or the least useful selected feature, when a search stopped.

    Attributes
    ----------
    action : {"add", "remove"}
        Whether the features would have been added or removed.
    features : tuple of int
        Indices of the features.
    quantity : {"gain", "loss", "p"}
        What the rule compares.
    value : float
        Its value for this move.
    needed : float
        The limit of the rule: to enter, a gain must exceed it, and a p-value must not; to leave, a loss must not exceed
        it, and a p-value must.
    gain : float
        Score after the move minus score before, signed so that larger is better.
    std_error : float or None
        Standard error of the gain, where it is a mean over folds.
    """

    action: Literal["add", "remove"]
    features: tuple[int, ...]
    quantity: Quantity
    value: float
    needed: float
    gain: float
    std_error: float | None = None


@dataclass(frozen=True, slots=True)
class Subset:
    """A set of features and its score.

    Attributes
    ----------
    features : tuple of int
        Indices of the features, in ascending order; those in `include` are part of every set.
    size : int
        Number of features, or of groups.
    score : float
        Criterion of the set, in its own sign.
    """

    features: tuple[int, ...]
    size: int
    score: float


@dataclass(frozen=True)
class Subsets:
    """The best sets of each size.

    Attributes
    ----------
    sets : tuple of Subset
        By size, the best of each size first.
    gap : float
        By how much a set that was not examined could be better than the selected one, in units of the criterion: 0 if
        the selection is proven to be the best, infinite if nothing is known of the sets that were not examined.
    feature_names : tuple of str or None
        Names of all features, or None if the table has none.
    """

    sets: tuple[Subset, ...]
    gap: float
    feature_names: tuple[str, ...] | None = field(default=None, repr=False)

    def __len__(self) -> int:
        return len(self.sets)

    def __getitem__(self, at: int) -> Subset:
        return self.sets[at]

    def of_size(self, size: int) -> tuple[Subset, ...]:
        """The sets of one size, best first.

        Parameters
        ----------
        size : int
            Number of features, or of groups.

        Returns
        -------
        tuple of Subset
            Empty if no set of this size was found.
        """
        return tuple(one for one in self.sets if one.size == size)

    def to_frame(self) -> Any:
        """Convert the sets to a pandas DataFrame.

        Returns
        -------
        pandas.DataFrame
            One row per set, with columns size, place (1 for the best set of its size), features and score.
        """
        pd = import_pandas()
        rows, place, size = [], 0, None
        for one in self.sets:
            place, size = (place + 1 if one.size == size else 1), one.size
            rows.append((one.size, place, ", ".join(feature_names(self.feature_names, one.features)), one.score))
        return pd.DataFrame(rows, columns=["size", "place", "features", "score"])


class Coefficient(NamedTuple):
    """One row of a table of coefficients.

    Attributes
    ----------
    target : object
        Name of the target, or class label.
    name : str
        Name of the column, or "(intercept)".
    estimate : float
        The coefficient.
    std_error, statistic, p_value : float or None
        Standard error, t or z statistic and two-sided p-value; None if the model has none, NaN for a column that is a
        linear combination of the others and for an infinite coefficient.
    """

    target: Any
    name: str
    estimate: float
    std_error: float | None
    statistic: float | None
    p_value: float | None


@dataclass(frozen=True, eq=False, repr=False)
class Coefficients:
    """Linear functions of the selected columns, in the units of the table.

    A regression has one function per target. Discriminant analysis has one function per class, the linear score of a
    row: the log of its posterior probability, up to a term that is the same for all classes. Logistic regression has
    one per class but the first: the log odds of the class against the first one.

    Standard errors and p-values are computed on the rows used for selection, as if the features had been fixed in
    advance, so they are optimistically biased.

    Attributes
    ----------
    names : tuple of str
        Names of the selected columns of the design matrix, in order of entry; a categorical feature has several.
    columns : tuple of int
        Indices of these columns in the design matrix.
    targets : tuple
        Name of each target, or label of each class: what each function is for.
    intercept : float, ndarray of shape (n_targets,) or None
        A number if there is one target; None if the model has no intercept.
    coef : ndarray of shape (n_columns,) or (n_targets, n_columns)
        One dimension if there is one target. 0 for a column that is a linear combination of the others (R reports NA).
    std_error : ndarray of the shape of `coef`, or None
        Standard errors, NaN for a column that is a linear combination of the others and for a coefficient that is
        infinite, because the likelihood has no maximum; None for classes.
    intercept_std_error : float, ndarray of shape (n_targets,) or None
        Standard error of the intercept.
    df_resid : float
        Residual degrees of freedom.
    statistic : {"t", "z"}
        Whether `coef / std_error` is referred to a t distribution or to the normal distribution.
    r2, adj_r2 : float or None
        Share of the sum of squares that is explained (the mean over several targets), and the same with both sums of
        squares divided by their degrees of freedom; None for models other than least squares regression.
    classes : tuple or None
        Labels of all classes; None for a regression. Discriminant analysis has a function for each of them, logistic
        regression for each but the first, the baseline.
    priors : ndarray of shape (n_classes,) or None
        Shares of the classes in the rows, which are the prior probabilities; None for other models than discriminant
        analysis.
    means : ndarray of shape (n_classes, n_columns) or None
        Class means; None for other models than discriminant analysis.
    effect : {"odds ratio", "rate ratio", "mean ratio", "hazard ratio"} or None
        What the exponential of a coefficient is; None for least squares.
    theta : float or None
        Shape of the negative binomial distribution, infinite where Poisson's is adequate; None for other models.
    thresholds, threshold_std_error : ndarray of shape (n_classes - 1,) or None
        Values of the linear predictor that divide the levels of an ordinal model, and their standard errors: the
        probability of a level up to the k-th is that of a value below ``thresholds[k] - X @ coef``. None for others.
    link : {"logit", "probit", "cloglog"} or None
        Link of an ordinal model; None for others.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from dropstep import select
    >>> fit = select(*load_diabetes(return_X_y=True, as_frame=True), max_features=2).coefficients
    >>> fit.names, fit.coef.round(1), round(fit.intercept, 2), round(fit.r2, 4)
    (('bmi', 's5'), array([675.1, 614.9]), 152.13, 0.4595)
    """

    names: tuple[str, ...]
    columns: tuple[int, ...]
    targets: tuple[Any, ...]
    intercept: float | Floats | None
    coef: Floats
    df_resid: float
    std_error: Floats | None = None
    intercept_std_error: float | Floats | None = None
    statistic: Literal["t", "z"] = "t"
    r2: float | None = None
    adj_r2: float | None = None
    classes: tuple[Any, ...] | None = None
    priors: Floats | None = None
    means: Floats | None = None
    effect: str | None = None
    theta: float | None = None
    thresholds: Floats | None = None
    threshold_std_error: Floats | None = None
    link: str | None = None

    def rows(self) -> list[Coefficient]:
        """The table of coefficients: for each target the intercept, then the columns.

        Returns
        -------
        list of Coefficient
            One row per target and coefficient.
        """
        names, estimates = (*self._leading_names, *self.names), self._estimates
        if self.std_error is None:
            return [
                Coefficient(target, name, value, None, None, None)
                for target, line in zip(self.targets, estimates.tolist(), strict=True)
                for name, value in zip(names, line, strict=True)
            ]
        errors = self._errors
        with np.errstate(divide="ignore", invalid="ignore"):
            ratios = estimates / errors
        tables = (estimates, errors, ratios, self._p_values(ratios))
        lines = zip(*(table.tolist() for table in tables), strict=True)
        return [
            Coefficient(target, name, *numbers)
            for target, line in zip(self.targets, lines, strict=True)
            for name, *numbers in zip(names, *line, strict=True)
        ]

    @property
    def _leading_names(self) -> tuple[str, ...]:
        """Name of the intercept, or names of the thresholds, such as "low | high"."""
        if self.thresholds is not None and self.classes is not None:
            labels = (f"{label:g}" if isinstance(label, float) else str(label) for label in self.classes)
            return tuple(f"{a} | {b}" for a, b in itertools.pairwise(labels))
        return () if self.intercept is None else (INTERCEPT,)

    @property
    def _estimates(self) -> Floats:
        """Coefficients after the intercept or the thresholds, one row per target."""
        if self.thresholds is not None:
            return np.concatenate([self.thresholds, self.coef])[None, :]
        return _bordered(self.intercept, self.coef)

    @property
    def _errors(self) -> Floats:
        """The standard errors of the same."""
        assert self.std_error is not None
        if self.threshold_std_error is not None:
            return np.concatenate([self.threshold_std_error, self.std_error])[None, :]
        return _bordered(self.intercept_std_error, self.std_error)

    def _p_values(self, ratios: Floats) -> Floats:
        """Two-sided p-values; NaN where the ratio is."""
        tail = special.stdtr(self.df_resid, -np.abs(ratios)) if self.statistic == "t" else special.ndtr(-np.abs(ratios))
        return np.asarray(2 * tail)

    def to_frame(self) -> Any:
        """Convert the table of coefficients to a pandas DataFrame.

        Returns
        -------
        pandas.DataFrame
            Columns estimate, std_error, statistic and p_value (for discriminant analysis the estimate only), indexed by
            name with the intercept first; by target or class and name if there are several functions. Where `effect` is
            not None, columns ratio, lower and upper with 95 % intervals. ``attrs["note"]`` says what they cannot claim.
        """
        pd = import_pandas()
        kept = ["estimate"] if self.std_error is None else ["estimate", "std_error", "statistic", "p_value"]
        frame = pd.DataFrame(self.rows(), columns=list(Coefficient._fields))
        index = ["name"] if len(self.targets) == 1 else ["target", "name"]
        frame = frame.set_index(index)[kept].astype(float)
        if self.effect is not None:
            frame[["ratio", "lower", "upper"]] = self.ratios()
        frame.attrs["note"] = CAVEAT
        return frame

    def ratios(self, level: float = 0.95) -> Floats | None:
        """Odds, rate, mean or hazard ratios: exponentials of the coefficients, with intervals.

        Parameters
        ----------
        level : float, default=0.95
            Confidence level, as if the features had been fixed in advance.

        Returns
        -------
        ndarray of shape (n_rows, 3) or None
            Ratio, lower and upper limit for each of `rows`; None for least squares.
        """
        if self.effect is None or self.std_error is None:
            return None
        tail = (1 + level) / 2
        z = float(special.ndtri(tail) if self.statistic == "z" else special.stdtrit(self.df_resid, tail))
        estimates, errors = self._estimates.ravel(), self._errors.ravel()
        with np.errstate(over="ignore"):
            return np.exp(np.column_stack([estimates, estimates - z * errors, estimates + z * errors]))

    def linear_predictor(self, values: Floats) -> Floats:
        """Values of the functions for rows.

        Parameters
        ----------
        values : ndarray of shape (n_samples, n_columns)
            The selected columns of the design matrix.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_targets)
        """
        intercept = 0.0 if self.intercept is None else self.intercept
        return np.asarray(values @ self.coef.T + intercept)

    def classify(self, values: Floats) -> NDArray[Any]:
        """The class whose function is largest.

        Parameters
        ----------
        values : ndarray of shape (n_samples,) or (n_samples, n_targets)
            What `linear_predictor` returned; without `priors`, log odds against the first class.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        scores = values.reshape(len(values), -1)
        if self.priors is None:
            scores = np.column_stack([np.zeros(len(scores)), scores])
        return np.asarray(np.array(self.classes)[scores.argmax(axis=1)])

    def __repr__(self) -> str:
        from dropstep.report.coefficient_table import as_text

        return as_text(self)


def _bordered(first: float | Floats | None, others: Floats) -> Floats:
    """Rows of numbers, one per target, with the number of the intercept in front if there is one."""
    table = np.atleast_2d(others)
    return table if first is None else np.column_stack([np.atleast_1d(first), table])


class OverFolds:
    """Errors of a model over folds."""

    folds: tuple[float, ...]

    @property
    def mean(self) -> float:
        """Mean over the folds."""
        return float(np.mean(self.folds))

    @property
    def deviation(self) -> float:
        """Standard deviation over the folds. Training sets overlap, so it does not give a standard error."""
        return float(np.std(self.folds, ddof=1)) if len(self.folds) > 1 else 0.0


@dataclass(frozen=True)
class HeldOut(OverFolds):
    """Cross-validated error of a model, with the selection repeated in every fold.

    Attributes
    ----------
    name : str
        What is used: "this selection", "all features" or "no features".
    n_features : float
        Number of features, on average over the folds.
    folds : tuple of float
        Error of each fold, of all repetitions.
    model : str
        Name of the model that was fitted, such as "ridge regression".
    concordance : tuple of float
        Harrell's c of each fold, for survival times; empty for other targets.
    """

    name: str
    n_features: float
    folds: tuple[float, ...]
    model: str = ""
    concordance: tuple[float, ...] = ()

    @property
    def mean_concordance(self) -> float | None:
        """Mean of Harrell's c over the folds; None if there is none."""
        return sum(self.concordance) / len(self.concordance) if self.concordance else None

    @property
    def compared(self) -> tuple[float, ...]:
        """What verdicts compare: the share of discordant pairs of survival times, and the error of other targets."""
        return tuple(1 - c for c in self.concordance) or self.folds


@dataclass(frozen=True)
class Evidence:
    """What repeating a selection on parts of the rows says about it.

    Attributes
    ----------
    n_rows : int
        Number of rows used.
    frequencies : tuple of float or None
        Share of the half-samples on which each feature is selected; None if not computed.
    n_halves : int
        Number of half-samples.
    errors : tuple of HeldOut
        Errors of the selection, of all features (unless they cannot be fitted) and of none; empty if not computed.
    measure : str
        What the errors are: "RMSE", "error rate", "log loss", "mean deviance" or "partial deviance".
    omitted : tuple of str
        Why something was not computed, one sentence each.
    n_repeats : int
        How often the rows were divided into folds.
    """

    n_rows: int
    frequencies: tuple[float, ...] | None = None
    n_halves: int = 0
    errors: tuple[HeldOut, ...] = ()
    measure: str = ""
    omitted: tuple[str, ...] = ()
    n_repeats: int = 1

    def error_of(self, name: str) -> HeldOut | None:
        """The error by name; None if it was not computed."""
        return next((error for error in self.errors if error.name == name), None)

    @property
    def n_folds(self) -> int:
        """Number of folds of each repetition."""
        return len(self.errors[0].folds) // self.n_repeats if self.errors else 0

    def compare(self, own: HeldOut, other: HeldOut) -> int:
        """-1 if an error is clearly smaller than another, 1 if it is clearly larger, and 0 otherwise."""
        return compare_folds(own.compared, other.compared, self.n_folds)

    def gain(self, own: HeldOut, other: HeldOut) -> float:
        """Share of the loss of another error that this one avoids; the loss of an RMSE is the squared error."""
        power = 2 if self.measure == "RMSE" else 1
        before, after = (sum(e**power for e in error.compared) for error in (other, own))
        return 1 - after / before if before else 0.0


def standard_error(values: Any, test_share: float = 0.0) -> Any:
    """Standard error of means over folds, which are the first axis; NaN for a single fold.

    Training sets overlap, so that the variance of a mean over J folds is that of the values times
    1 / J + n_test / n_train (Nadeau and Bengio 2003); `test_share` is n_test / n_train, or 0 for the usual one.
    """
    n_folds = len(values)
    if n_folds == 1:
        return np.full(np.shape(values)[1:], np.nan)[()]
    return np.std(values, axis=0, ddof=1) / math.sqrt(n_folds) * math.sqrt(1 + n_folds * test_share)


def compare_folds(own: Sequence[float], other: Sequence[float], n_folds: int) -> int:
    """-1 if errors are clearly smaller than others of the same folds, 1 if they are clearly larger, and 0 otherwise.

    Clearly: by more than one standard error of the mean of the paired differences, where n_test / n_train is
    1 / (n_folds - 1), however often the rows are divided. With 5 folds this is 1.5 times the usual standard error, and
    2.4 times if they are repeated 4 times. With a single fold, any difference is clear.
    """
    differences = np.subtract(own, other)
    mean = float(differences.mean())
    error = standard_error(differences, 1 / max(1, n_folds - 1)) if len(differences) > 1 else 0.0
    return int(math.copysign(1, mean)) if abs(mean) > error else 0


def is_stable(frequency: Any, threshold: float = STABLE) -> Any:
    """Whether a share of the half-samples reaches a threshold, up to rounding."""
    return frequency >= threshold - 1e-9


@dataclass(frozen=True, repr=False)
class SelectionPath:
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
        pd = import_pandas()
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

    @property
    def why(self) -> str:
        """Why the search ended, with the numbers that the rule compared, as a sentence without its full stop."""
        from dropstep.report.stop import why

        return why(self)

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the target of rows by the coefficients.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
            All features of the table, or a frame that contains the selected ones by name.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_targets)
            Values of the targets, or class labels.
        """
        from dropstep.prediction import predict

        return predict(self, X)

    def to_estimator(self) -> Any:
        """Convert the coefficients to a fitted scikit-learn estimator of the selected features, in order of entry.

        Returns
        -------
        LinearRegression, LinearDiscriminantAnalysis, LogisticRegression, PoissonRegressor or GammaRegressor
            Fitted, with the coefficients of this path; its X consists of the selected columns.
        """
        from dropstep.prediction import to_estimator

        return to_estimator(self)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        kind: Literal["path", "steps", "gains", "ranking", "dropping"] = "path",
    ) -> Axes:
        """Plot the path; requires matplotlib.

        Parameters
        ----------
        ax : matplotlib.axes.Axes or None, default=None
            Axes to draw on; None creates a figure.
        kind : {"path", "steps", "gains", "ranking", "dropping"}, default="path"
            "path": the score by number of features, with the names, and with a band of one standard error where it is
            cross-validated; "steps": the score by step; "gains": the gains in order of entry; "ranking": what became of
            each feature; "dropping": the number of candidates by step.

        Returns
        -------
        matplotlib.axes.Axes
            The axes drawn on.
        """
        from dropstep.report.plots import PLOTS

        if kind not in PLOTS:
            raise ValueError(f"kind must be one of {', '.join(map(repr, PLOTS))}; got {kind!r}")
        return PLOTS[kind](self, ax)

    def report(self, file: str | os.PathLike[str] | None = None, X: Any = None, y: Any = None, **context: Any) -> Any:
        """Write the path as a self-contained HTML page.

        Parameters
        ----------
        file : str, path-like or None, default=None
            File to write; None returns the page as text.
        X, y : array-like or frame, default=None
            The data of the selection: with them, the page shows the stability of each feature (on 100 half-samples)
            and the cross-validated error, and features that could stand in for each other.
        **context : object
            `sample_weight`, `offset`, `strata` and `sample_groups`, as for `select`; `title`, the heading of the page;
            `command`, the shell command that made the path; `data`, a mapping of facts about the table.

        Returns
        -------
        str or None
            The page if `file` is None.
        """
        from dropstep.report import report_html, save_report

        path, evidence = self, context.pop("evidence", None)
        per_row = {name: context.pop(name, None) for name in ("sample_weight", "offset", "strata", "sample_groups")}
        if X is not None and evidence is None:
            from dropstep.resampling.assess import assess, with_equivalents

            evidence = assess(path, X, y, **per_row)
            path = with_equivalents(path, X, y, **per_row)
        if file is None:
            return report_html(path, evidence=evidence, **context)
        save_report(path, file, evidence=evidence, **context)
        return None

    def methods(self, form: Literal["text", "markdown", "latex"] = "text", **context: Any) -> str:
        """The paragraph for the methods section of a paper: model, criterion, strategy, rules and result.

        Parameters
        ----------
        form : {"text", "markdown", "latex"}, default="text"
            Markup of the paragraph.
        **context : object
            `evidence`, what `assess` returned; `n_rows`, the number of rows.

        Returns
        -------
        str
        """
        from dropstep.report.methods import methods

        return methods(self, form, **context)

    def __str__(self) -> str:
        from dropstep.report.stop import as_text

        return as_text(self)

    def __repr__(self) -> str:
        from dropstep.report.stop import as_repr

        return as_repr(self)

    def _repr_html_(self) -> str:
        from dropstep.report import path_html

        return path_html(self)


def feature_names(names: Sequence[str] | None, features: Sequence[int]) -> tuple[str, ...]:
    """Names of features; x0, x1, ... if there are none."""
    return tuple([f"x{j}" if names is None else names[j] for j in features])


def _numbers(test: PartialTest | None) -> tuple[float, float, float, float]:
    """Statistic, degrees of freedom and p-value of a test, NaN for what there is not."""
    if test is None:
        return (math.nan,) * 4
    numerator, denominator = test.df if len(test.df) == 2 else (*test.df, math.nan)
    return test.statistic, numerator, denominator, test.p_value


def import_pandas() -> Any:
    """Import pandas, which `to_frame` of every result returns a frame of, or say how to install it."""
    try:
        import pandas
    except ImportError:
        raise ImportError("to_frame needs pandas: pip install 'dropstep[frames]'") from None
    return pandas
