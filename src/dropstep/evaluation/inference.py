"""Inference after selection: coefficients and intervals on rows that took no part in it."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, special

from dropstep.coefficients import Coefficients
from dropstep.data.sample import Rows, Sample
from dropstep.data.table import Table
from dropstep.evaluation.halves import Repeated, repeated
from dropstep.evaluation.refits import columns_of, fit, model_of, names_of
from dropstep.parameters import checked_seed
from dropstep.presentation.text import plain, table
from dropstep.result import SelectionPath

Floats = NDArray[np.float64]

INFERRED = ("linear", "logistic", "poisson", "gamma", "cox")
LEAST_QUANTILE = 0.05  # gamma_min of Meinshausen, Meier and Buehlmann (2009)


class Estimate(NamedTuple):
    """A coefficient on rows that took no part in the selection.

    Attributes
    ----------
    name : str
        Name of the column.
    estimate, std_error : float
        Over several splits, their medians over the splits that selected the feature; NaN if none did.
    lower, upper : float
        Confidence limits.
    p_value : float
        Over several splits, aggregated, and corrected for the number of features that each split tested.
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
    n_rows: int
    n_splits: int = 0
    frequencies: dict[str, float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        head = ["feature", "estimate", "std. error", f"{self.level:.0%} interval", "p"]
        rows = []
        for name, *numbers, p in self.rows:
            estimate, error, lower, upper = map(plain, numbers)
            rows.append([name, estimate, error, f"{lower} to {upper}", f"{p:.2g}"])
        made = f"{self.n_splits} random splits, {self.n_rows} rows each" if self.n_splits else f"{self.n_rows} rows"
        lines = [table(head, rows, "<>>>>") if rows else "no feature is selected", f"on held-out rows ({made})"]
        return "\n".join([*lines, *self.notes])

    def to_frame(self) -> Any:
        """Convert to a pandas DataFrame.

        Returns
        -------
        pandas.DataFrame
            Columns estimate, std_error, lower, upper and p_value, indexed by feature name.
        """
        try:
            import pandas as pd
        except ImportError:
            raise ImportError("to_frame needs pandas: pip install 'dropstep[frames]'") from None
        return pd.DataFrame(self.rows, columns=list(Estimate._fields)).set_index("name").astype(float)


def infer(
    path: SelectionPath,
    X: Any,
    y: Any,
    split: float | None = None,
    n_splits: int = 50,
    random_state: int | None = None,
    *,
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
        A path of model "linear", "logistic" (two classes), "poisson", "gamma" or "cox".
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
    population, given that these features are in the model. Over several splits, p-values are those of Meinshausen,
    Meier and Buehlmann (2009), which control the probability of any false claim; intervals contain the values that the
    aggregated tests of a single coefficient do not reject, and the estimates of the middle 90 % of the splits, which
    are far apart where the coefficient depends on the other features that a split selects. Both are conservative.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from dropstep import infer, select
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> path = select(X[:221], y[:221])
    >>> infer(path, X[221:], y[221:]).to_frame().round(1)[["lower", "upper"]].loc["bmi"].tolist()
    [551.5, 888.0]
    """
    _check(path, split, n_splits, level)
    rows = Rows(sample_weight, offset, strata, sample_groups)
    work = repeated(X, y, rows, parameters_of(path), "infer")
    sample = work.sample
    if getattr(sample, "table", None) is None or sample.n_features != path.n_features:
        raise ValueError(f"X has {sample.n_features} features, but the path was made of {path.n_features}")
    if path.feature_names is not None and sample.names is not None and path.feature_names != sample.names:
        raise ValueError("the features of X differ from those of the path; pass the same columns in the same order")
    if split is None:
        return held_out(path, sample, level, _refuse_rows_of(path, sample))
    return _over_splits(path, work, float(split), int(n_splits), checked_seed(random_state), level)


def _check(path: SelectionPath, split: Any, n_splits: Any, level: Any) -> None:
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
    if not isinstance(level, Real) or not 0 < float(level) < 1:
        raise ValueError(f"level must be a number between 0 and 1; got {level!r}")


def parameters_of(path: SelectionPath) -> dict[str, Any]:
    """The parameters of a path, with the model that "auto" stood for."""
    kept = {name: value for name, value in path.params.items() if name not in ("max_time", "checkpoint", "n_jobs")}
    return {**kept, "model": model_of(path)}


# --- rows that were held out -----------------------------------------------------------------------------------------


def held_out(path: SelectionPath, sample: Sample, level: float = 0.95, notes: tuple[str, ...] = ()) -> Inference:
    """Inference on rows that are known to have taken no part in the selection."""
    found = fit(model_of(path), sample, columns_of(sample, path.selected))
    return Inference(tuple(_estimates(found, level)), level, sample.n_rows, notes=notes)


def _refuse_rows_of(path: SelectionPath, sample: Sample) -> tuple[str, ...]:
    """Refuse rows that took part in the selection; notes on what could not be checked.

    New rows may equal rows of the selection where values are discrete. As many are expected to as rows of the selection
    equal each other; more, by four standard deviations, or exactly the same rows, took part.
    """
    known = path.fingerprint
    if known is None:
        return ("the rows of the selection are not known, so that it was not checked whether they are among these",)
    n, design = sample.n_rows, _design(path, sample)
    n_equal, expected = known.count(design, sample.target), known.repeated * n
    if n_equal > expected + 4 * math.sqrt(expected) or (n_equal and known.is_of(design, sample.target)):
        about = "" if known.is_complete and not expected else "about "
        raise ValueError(
            f"{about}{n_equal} of the {n} rows took part in the selection, which biases inference; pass rows that did "
            "not, or split=0.5 to repeat the selection on a part"
        )
    if not n_equal:
        return ()
    return (
        f"{n_equal} of the {n} rows equal rows of the selection, as is expected where few values occur; whether they "
        "took part cannot be checked",
    )


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
        tail = _tail(-np.abs(coefs / errors), df)
    p_values = np.where(np.isnan(tail), 1.0, 2 * tail)  # 1 for columns that are linear combinations of others
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
    path: SelectionPath, work: Repeated, split: float, n_splits: int, seed: int, level: float
) -> Inference:
    sample, model = work.sample, model_of(path)
    wanted = columns_of(sample, path.selected)
    place, fits = {c: i for i, c in enumerate(wanted)}, []
    n_rows = 0
    for stream in np.random.SeedSequence(seed).spawn(n_splits):
        inside = work.observations.share(split, np.random.default_rng(stream))
        others = np.flatnonzero(~inside)
        chosen = columns_of(sample, _features(work, work.search(np.flatnonzero(inside)).selected))
        part, n_rows = work.part(others), len(others)
        known = fit(model, part, chosen) if chosen and part is not None and len(chosen) < len(others) - 2 else None
        fits.append(({}, None) if known is None else ({c: i for i, c in enumerate(chosen)}, known))
    lines, frequencies = [], {}
    for name, column in zip(names_of(sample, wanted), place, strict=True):
        with_it = [(at[column], known) for at, known in fits if known is not None and column in at]
        lines.append(_aggregate(name, with_it, n_splits, level))
        frequencies[name] = len(with_it) / n_splits
    return Inference(tuple(lines), level, n_rows, n_splits, frequencies)


def _features(work: Repeated, units: tuple[int, ...]) -> list[int]:
    return list(work.sample.choice.features(units))


def _aggregate(name: str, fits: list[tuple[int, Coefficients]], n_splits: int, level: float) -> Estimate:
    """One estimate of a column over the splits that selected it; the other splits have p-value 1."""
    usable = [(i, known) for i, known in fits if np.isfinite(_error(known, i))]
    if not usable:
        return Estimate(name, math.nan, math.nan, -math.inf, math.inf, 1.0)
    coefs = np.array([float(np.atleast_1d(known.coef)[i]) for i, known in usable])
    errors = np.array([_error(known, i) for i, known in usable])
    df = np.array([known.df_resid if known.statistic == "t" else math.inf for _, known in usable])
    n_tested = np.array([len(known.names) for _, known in usable])

    def joint(p_values: Floats) -> float:
        return float(aggregated(np.append(np.minimum(1.0, p_values), np.ones(n_splits - len(usable)))))

    def limit(sign: int) -> float:
        """The value from which, in one direction, the aggregated one-sided test rejects; infinite if it never does."""
        inner, outer = (sign * coefs).min(), (sign * coefs).max() + 1e6 * errors.max()

        def excess(null: float) -> float:
            return joint(_tail((sign * coefs - null) / errors, df)) - (1 - level) / 2

        if excess(outer) > 0:
            return sign * math.inf
        return sign * float(optimize.brentq(excess, inner, outer, xtol=1e-6 * float(errors.min())))

    p_value = joint(2 * _tail(-np.abs(coefs / errors), df) * n_tested)
    low, high = np.quantile(coefs, [LEAST_QUANTILE, 1 - LEAST_QUANTILE])  # apart where splits select unlike models
    limits = min(limit(-1), float(low)), max(limit(1), float(high))
    return Estimate(name, float(np.median(coefs)), float(np.median(errors)), *limits, p_value)


def _error(known: Coefficients, at: int) -> float:
    assert known.std_error is not None
    return float(np.atleast_1d(known.std_error)[at])


def _tail(ratio: Floats, df: Floats) -> Floats:
    """Lower tail of Student's t, which is normal where the degrees of freedom are infinite."""
    return np.where(np.isinf(df), special.ndtr(ratio), special.stdtr(np.where(np.isinf(df), 1.0, df), ratio))
