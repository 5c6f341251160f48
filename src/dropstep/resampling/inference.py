"""Inference after selection: coefficients and intervals on rows that took no part in it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from numbers import Integral, Real
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from dropstep.data.response import as_offset
from dropstep.data.sample import PerRow, Sample
from dropstep.data.table import Table, are_counts
from dropstep.models.evaluation import row_weights
from dropstep.models.families import as_family
from dropstep.models.glm.family import LikelihoodFamily
from dropstep.models.glm.likelihood import Pointwise
from dropstep.parameters import checked_seed
from dropstep.report.text import plain, table
from dropstep.resampling.refits import columns_of, fit, model_of, parameters_of
from dropstep.resampling.resampler import Resampler
from dropstep.result import Coefficients, SelectionPath, feature_names, import_pandas

Floats = NDArray[np.float64]

Covariance = Literal["robust", "model"]

COVARIANCES = ("robust", "model")
INFERRED = ("linear", "logistic", "poisson", "negative_binomial", "gamma", "cox")
MAX_CHANCE = 1e-6  # probability of a coincidence beyond which rows are those of the selection
INSTEAD = "which biases inference; pass rows that did not, or split=0.5 to repeat the selection on a part"
LEAST_QUANTILE = 0.05  # gamma_min of Meinshausen, Meier and Buehlmann (2009)
ROBUST = {"cox": "Lin-Wei"}  # name of the robust covariance, where it is not HC3
SINGULAR = 1e-13  # relative eigenvalue of the information below which a direction has no finite maximum
DETERMINED = 1e-10  # 1 - leverage of a row that alone determines a coefficient
NEGLIGIBLE = 1e-8  # contribution of such a row, relative to the largest, that is rounding


class Estimate(NamedTuple):
    """A coefficient on rows that took no part in the selection.

    Attributes
    ----------
    name : str
        Name of the column.
    estimate, std_error : float
        With splits, their means over the splits that selected the feature; NaN if none did. The standard error is NaN
        where the rows do not determine the coefficient.
    lower, upper : float
        Confidence limits; NaN or infinite where there is no standard error.
    p_value : float
        With splits, aggregated, and corrected for the number of features that each split tested.
    """

    name: str
    estimate: float
    std_error: float
    lower: float
    upper: float
    p_value: float


@dataclass(frozen=True)
class Inference:
    """Coefficients and intervals of selected features.

    Attributes
    ----------
    rows : tuple of Estimate
        One per column of the selected features, in order of entry.
    level : float
        Confidence level of the intervals.
    covariance : {"HC3", "Lin-Wei", "model"}
        What the standard errors are computed from: the robust covariance, which is that of Lin and Wei for Cox
        regression and HC3 for other models, or that of the model.
    n_rows : int
        Rows on which a fit was made; with splits, those of one part.
    n_splits : int
        Number of splits; 0 for rows that were held out from the start.
    frequencies : mapping of str to float
        Share of the splits that selected each column.
    notes : tuple of str
        What could not be checked.
    """

    rows: tuple[Estimate, ...]
    level: float
    covariance: str
    n_rows: int
    n_splits: int = 0
    frequencies: dict[str, float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        head = ["feature", "estimate", "std. error", f"{self.level:.0%} interval", "p"]
        head += ["selected in"] if self.n_splits else []
        rows = []
        for name, *numbers, p in self.rows:
            estimate, error, lower, upper = map(plain, numbers)
            rows.append([name, estimate, error, f"{lower} to {upper}", f"{p:.2g}"])
            rows[-1] += [f"{self.frequencies[name]:.0%}"] if self.n_splits else []
        made = f"{self.n_splits} random splits, {self.n_rows} rows each" if self.n_splits else f"{self.n_rows} rows"
        lines = [table(head, rows, "<" + ">" * (len(head) - 1)) if rows else "no feature is selected"]
        lines.append(f"on held-out rows ({made}), with {self.standard_errors}")
        return "\n".join([*lines, *self.notes])

    @property
    def standard_errors(self) -> str:
        """What the standard errors are, in words."""
        if self.covariance == "model":
            return "standard errors that assume the variance of the model"
        return f"robust standard errors ({self.covariance})"

    def to_frame(self) -> Any:
        """Convert to a pandas DataFrame.

        Returns
        -------
        pandas.DataFrame
            Columns estimate, std_error, lower, upper and p_value, indexed by feature name; ``attrs["covariance"]`` is
            that of the standard errors.
        """
        pd = import_pandas()
        frame = pd.DataFrame(self.rows, columns=list(Estimate._fields)).set_index("name").astype(float)
        frame.attrs["covariance"] = self.covariance
        return frame


def infer(
    path: SelectionPath,
    X: Any,
    y: Any,
    split: float | None = None,
    n_splits: int = 50,
    random_state: int | None = None,
    *,
    covariance: Covariance = "robust",
    level: float = 0.95,
    sample_weight: Any = None,
    offset: Any = None,
    strata: Any = None,
    sample_groups: Any = None,
) -> Inference:
    """Coefficients, intervals and p-values of selected features, on rows that took no part in their selection.

    Parameters
    ----------
    path : SelectionPath
        A path of model "linear", "logistic" (two classes), "poisson", "negative_binomial", "gamma" or "cox".
    X : array-like or frame of shape (n_samples, n_features)
        Without `split`: rows that took no part in the selection; rows that did are refused. With `split`: the rows of
        the selection.
    y : array-like of shape (n_samples,) or str
        Their target.
    split : float or None, default=None
        Share of the rows on which the selection is repeated, with the parameters of the path; inference is made on the
        other rows.
    n_splits : int, default=50
        Number of random splits.
    random_state : int or None, default=None
        Seed of the splits; None is 0.
    covariance : {"robust", "model"}, default="robust"
        "robust" standard errors hold if noise is heteroscedastic, counts are overdispersed or hazards are not
        proportional: HC3 for least squares and generalized linear models, Lin and Wei (1989) for Cox regression.
        "model" assumes the variance of the model, as R's `summary` does. Quantiles are those of the t distribution for
        models "linear" and "gamma", and of the normal distribution otherwise.
    level : float, default=0.95
        Confidence level.
    sample_weight, offset, strata : array-like of shape (n_samples,) or str, default=None
        As in `select`.
    sample_groups : array-like of shape (n_samples,) or str, default=None
        Groups of dependent rows, which stay in one part.

    Returns
    -------
    Inference

    Notes
    -----
    An interval is for the coefficient in the model of the selected features: what it would be with all rows of the
    population, given that these features are in the model.

    With splits it is the same coefficient, in the model of the path. Each split repeats the selection on one part and
    fits this model to the other part; what it finds counts for the features that were selected again. Estimates and
    limits are means over these splits: a mean of estimates, however dependent, has a standard error of at most the mean
    of theirs. The other features of the model were selected on all rows, so that coverage is shown by simulation, not
    by a theorem. p-values are those of Meinshausen, Meier and Buehlmann (2009), which limit the probability of any
    false claim; a split that does not select a feature has p-value 1.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from dropstep import infer, select
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> path = select(X[:221], y[:221], max_features=2)
    >>> infer(path, X[221:], y[221:]).to_frame().round(1)[["lower", "upper"]].loc["bmi"].tolist()
    [549.2, 890.4]
    """
    _check(path, split, n_splits, covariance, level)
    rows = PerRow(sample_weight, offset, strata, sample_groups)
    resampler = Resampler.of(X, y, rows, parameters_of(path), "infer", on_parts=split is not None)
    sample = resampler.sample
    if getattr(sample, "table", None) is None or sample.n_features != path.n_features:
        raise ValueError(f"X has {sample.n_features} features, but the path was made of {path.n_features}")
    if path.feature_names is not None and sample.names is not None and path.feature_names != sample.names:
        raise ValueError("the features of X differ from those of the path; pass the same columns in the same order")
    if split is None:
        return infer_on(path, sample, covariance, level, _refuse_rows_of(path, sample))
    return _over_splits(path, resampler, covariance, float(split), int(n_splits), checked_seed(random_state), level)


def _check(path: SelectionPath, split: Any, n_splits: Any, covariance: Any, level: Any) -> None:
    several = path.model in INFERRED and path.coefficients is not None and len(path.coefficients.targets) > 1
    if path.model not in INFERRED or several:
        what = "several targets or classes" if several else f"model {path.model!r}"
        raise ValueError(
            f"infer has no standard errors for {what}; it supports {', '.join(INFERRED)} with one target or two classes"
        )
    if split is not None and (not isinstance(split, Real) or isinstance(split, bool) or not 0 < float(split) < 1):
        raise ValueError(f"split must be None or a share between 0 and 1; got {split!r}")
    if not isinstance(n_splits, Integral) or isinstance(n_splits, bool) or n_splits < 1:
        raise ValueError(f"n_splits must be a whole number from 1; got {n_splits!r}")
    if covariance not in COVARIANCES:
        raise ValueError(f"covariance must be 'robust' or 'model'; got {covariance!r}")
    if not isinstance(level, Real) or not 0 < float(level) < 1:
        raise ValueError(f"level must be a number between 0 and 1; got {level!r}")


# --- rows that were held out -----------------------------------------------------------------------------------------


def infer_on(
    path: SelectionPath,
    sample: Sample,
    covariance: Covariance = "robust",
    level: float = 0.95,
    notes: tuple[str, ...] = (),
) -> Inference:
    """Inference on rows that are known to have taken no part in the selection."""
    found = _fit(model_of(path), sample, columns_of(sample, path.selected), covariance)
    rows = tuple(_estimates(found, level))
    notes = (*notes, *_without_errors(rows))
    return Inference(rows, level, _name(path, covariance), sample.n_rows, notes=notes)


def _fit(model: Any, sample: Sample, columns: list[int], covariance: Covariance) -> Coefficients:
    found = fit(model, sample, columns)
    return robust(found, model, sample, columns) if covariance == "robust" and columns else found


def _name(path: SelectionPath, covariance: Covariance) -> str:
    return "model" if covariance == "model" else ROBUST.get(path.model, "HC3")


def _without_errors(rows: tuple[Estimate, ...]) -> tuple[str, ...]:
    """A note on coefficients without a standard error."""
    if not (names := [row.name for row in rows if math.isnan(row.std_error)]):
        return ()
    return (
        f"{', '.join(names)}: no standard error, because these rows do not determine the coefficient (it has no finite "
        "maximum, depends on a single row, or the column is a linear combination of others)",
    )


def _refuse_rows_of(path: SelectionPath, sample: Sample) -> tuple[str, ...]:
    """Refuse rows that took part in the selection; notes on what could not be checked.

    New rows may equal rows of the selection where values are discrete. More than expected, by five standard deviations,
    took part, and so did exactly the same rows, or rows in the same order.
    """
    known = path.fingerprint
    if known is None:
        return ("the rows of the selection are not known, so that it was not checked whether they are among these",)
    n, design = sample.n_rows, _design(path, sample)
    n_equal, expected = known.count(design, sample.target), known.expected(n)
    most = expected + 5 * math.sqrt(expected * (1 + 2 * n / known.n_rows))  # rows that equal another come in pairs
    if n_equal > most or (n_equal and known.is_of(design, sample.target)):
        about = "" if known.is_complete and expected < 1 else "about "
        raise ValueError(f"{about}{n_equal} of the {n} rows took part in the selection, {INSTEAD}")
    chance = known.coincidence(design, sample.target)
    if chance is not None and chance < MAX_CHANCE:
        raise ValueError(
            "the rows took part in the selection, perhaps rounded or in other units (the target and every column that "
            f"is compared order them alike), {INSTEAD}"
        )
    if n_equal:
        return (
            f"{n_equal} of the {n} rows equal rows of the selection, as is expected where few values occur; whether "
            "they took part cannot be checked",
        )
    if chance is not None:
        return ("whether these rows took part in the selection cannot be checked: too many of their values are equal",)
    return ()


def _design(path: SelectionPath, sample: Sample) -> Table:
    """The design matrix, with the columns that encode factors in the table of the selection."""
    same = path.encoding is None or sample.encoding is None or sample.column_names == path.encoding.column_names
    return sample.table if same or path.encoding is None else Table(path.encoding.encode(sample.features))


def _estimates(found: Coefficients, level: float) -> list[Estimate]:
    coefs = np.atleast_1d(found.coef)
    errors = np.atleast_1d(found.std_error) if found.std_error is not None else np.full(len(coefs), np.nan)
    df = np.full(len(coefs), found.df_resid if found.statistic == "t" else math.inf)
    width = -errors * _quantile(found, (1 - level) / 2)
    with np.errstate(divide="ignore", invalid="ignore"):
        p_values = 2 * _tail(-np.abs(coefs / errors), df)
    columns = (coefs, errors, coefs - width, coefs + width, p_values)
    return [Estimate(name, *map(float, row)) for name, *row in zip(found.names, *columns, strict=True)]


def _quantile(found: Coefficients, share: float) -> float:
    return float(special.stdtrit(found.df_resid, share) if found.statistic == "t" else special.ndtri(share))


# --- splits ----------------------------------------------------------------------------------------------------------


def aggregated(p_values: Floats) -> Floats:
    """One p-value of several: a quantile of p / gamma, at the best gamma (Meinshausen, Meier and Buehlmann 2009).

    Parameters
    ----------
    p_values : ndarray of shape (n_splits, ...)

    Returns
    -------
    ndarray
        min(1, (1 - log gamma_min) inf over gamma in [gamma_min, 1] of the gamma-quantile of p / gamma); a single
        p-value is returned as it is.
    """
    ordered, n = np.sort(p_values, axis=0), len(p_values)
    if n == 1:
        return np.asarray(np.minimum(ordered[0], 1.0))
    ranks = np.arange(1, n + 1)
    least = ranks / n >= LEAST_QUANTILE - 1e-12  # the infimum is attained where the empirical quantile jumps
    gammas = (ranks / n)[least].reshape(-1, *[1] * (ordered.ndim - 1))
    best = (ordered[least] / gammas).min(axis=0)
    return np.asarray(np.minimum(1.0, (1 - math.log(LEAST_QUANTILE)) * best))


def _over_splits(
    path: SelectionPath,
    resampler: Resampler,
    covariance: Covariance,
    split: float,
    n_splits: int,
    seed: int,
    level: float,
) -> Inference:
    """Select on one part of each split, and fit the model of the path to the other."""
    sample, model, n_rows = resampler.sample, model_of(path), 0
    columns = columns_of(sample, path.selected)
    found: dict[int, list[tuple[Estimate, int]]] = {column: [] for column in columns}
    for stream in np.random.SeedSequence(seed).spawn(n_splits):
        inside = resampler.observations.share(split, np.random.default_rng(stream))
        units = resampler.select_on(resampler.part(np.flatnonzero(inside)))
        chosen = columns_of(sample, sample.choice.features(units))
        others = np.flatnonzero(~inside)
        part, n_rows = resampler.part(others), len(others)
        if part is None or len(columns) >= n_rows - 2 or found.keys().isdisjoint(chosen):
            continue
        estimates = _estimates(_fit(model, part, columns, covariance), level)
        for column, estimate in zip(columns, estimates, strict=True):
            if column in chosen and math.isfinite(estimate.std_error):
                found[column].append((estimate, len(chosen)))
    named = dict(zip(feature_names(sample.column_names, columns), found.values(), strict=True))
    rows = tuple(_aggregate(name, of_splits, n_splits) for name, of_splits in named.items())
    frequencies = {name: len(of_splits) / n_splits for name, of_splits in named.items()}
    return Inference(rows, level, _name(path, covariance), n_rows, n_splits, frequencies)


def _aggregate(name: str, of_splits: list[tuple[Estimate, int]], n_splits: int) -> Estimate:
    """Means over the splits that selected a column, and a p-value from all; a pair has the number of columns tested."""
    if not of_splits:
        return Estimate(name, math.nan, math.nan, -math.inf, math.inf, 1.0)
    p_values = np.ones(n_splits)
    p_values[: len(of_splits)] = [min(1.0, one.p_value * n_tested) for one, n_tested in of_splits]
    estimate, error, lower, upper = np.mean([one[1:5] for one, _ in of_splits], axis=0).tolist()
    return Estimate(name, estimate, error, lower, upper, float(aggregated(p_values)))


def _tail(ratio: Floats, df: Floats) -> Floats:
    """Lower tail of Student's t, which is normal where the degrees of freedom are infinite."""
    return np.where(np.isinf(df), special.ndtr(ratio), special.stdtr(np.where(np.isinf(df), 1.0, df), ratio))


# --- robust standard errors -------------------------------------------------------------------------------------------


def robust(found: Coefficients, model: Any, sample: Sample, columns: Sequence[int]) -> Coefficients:
    """The same coefficients with standard errors that do not assume the variance, or the hazard, of the model.

    The covariance is the sum of d d' over the observations, where d is the change of the coefficients, to first order,
    if the observation is omitted: HC3 of MacKinnon and White (1985) for least squares and generalized linear models,
    and the sum over dfbeta residuals of Lin and Wei (1989) for Cox regression. Weights that are whole numbers count
    observations; a row of another weight is one observation.

    Parameters
    ----------
    found : Coefficients
        Coefficients of one target; what has no standard error there has none here.
    model : str or LikelihoodFamily
    sample : Sample
        The rows of the fit.
    columns : sequence of int
        Columns of the design matrix that were fitted.

    Returns
    -------
    Coefficients
    """
    errors, coef = np.full(len(columns), np.nan), np.atleast_1d(found.coef)
    assert found.std_error is not None
    known = np.isfinite(np.atleast_1d(found.std_error))
    used = np.flatnonzero(known | (coef != 0))  # without columns that are linear combinations of others
    values = sample.table.columns([columns[i] for i in used.tolist()]).astype(np.float64)
    with np.errstate(invalid="ignore", over="ignore"):
        changes = _changes(found, model, sample, values, coef[used])
        errors[used] = np.sqrt(np.square(changes).sum(axis=0))
    return replace(found, std_error=np.where(known, errors, np.nan))


def _changes(found: Coefficients, model: Any, sample: Sample, values: Floats, coef: Floats) -> Floats:
    """The changes of coefficients if an observation is omitted, of shape (n_rows, n_columns).

    A row that is several observations has the root of the sum of their squares.
    """
    weights = row_weights(sample, np.arange(len(values)))
    family, first = as_family(model), int(found.intercept is not None)
    eta, scale = values @ coef + (0.0 if found.intercept is None else found.intercept), values.std(axis=0)
    Z = np.column_stack([np.ones((len(values), first)), (values - values.mean(axis=0)) / scale])
    if isinstance(family, LikelihoodFamily):
        local, rows = family.local(sample, eta + as_offset(sample.offset, len(eta)), found)
        Z = Z[rows]
        scores, information = local.scores(Z), local.gram(Z)
        variances = local.weights[:, 0, 0] if isinstance(local, Pointwise) else np.zeros(len(rows))
    else:
        rows = np.flatnonzero(weights > 0)
        Z, variances = Z[rows], weights[rows]
        scores = (variances * (sample.target.values[rows, 0] - eta[rows]))[:, None] * Z
        information = Z.T @ (variances[:, None] * Z)
    copies = weights[rows] if are_counts(weights) else np.ones(len(rows))
    inverse = _inverse(information)
    leverage = variances / copies * np.einsum("ij,jk,ik->i", Z, inverse, Z)
    alone, pull = 1 - leverage < DETERMINED, np.abs(Z @ inverse)
    changes = scores @ inverse / (np.where(alone, 1.0, 1 - leverage) * np.sqrt(copies))[:, None]
    changes[alone[:, None] & (pull > NEGLIGIBLE * pull.max(axis=0))] = np.nan
    return np.asarray(changes[:, first:] / scale)


def _inverse(information: Floats) -> Floats:
    """The inverse; a direction without information adds nothing to the coefficients that do not vary along it."""
    values, vectors = np.linalg.eigh(information)
    kept = values > SINGULAR * values[-1]
    return np.asarray((vectors[:, kept] / values[kept]) @ vectors[:, kept].T)
