"""Optimism: by how much a score on the rows of the selection exceeds that on new rows, by Harrell's bootstrap."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from scipy import special

from dropstep.coefficients import Coefficients
from dropstep.data.response import Survival
from dropstep.data.sample import Rows, Sample
from dropstep.data.target import Categorical
from dropstep.evaluation.halves import Repeated, repeated
from dropstep.evaluation.inference import parameters_of
from dropstep.evaluation.refits import columns_of, fit, model_of
from dropstep.parameters import checked_seed
from dropstep.presentation.text import plain
from dropstep.result import SelectionPath

Floats = NDArray[np.float64]

METRICS = {
    "linear": "r2",
    "discriminant": "accuracy",
    "logistic": "accuracy",
    "poisson": "explained deviance",
    "gamma": "explained deviance",
    "cox": "concordance",
}


@dataclass(frozen=True)
class Optimism:
    """A score on the rows of the selection, and what is expected on new rows.

    Attributes
    ----------
    metric : str
        "r2" (linear), "accuracy" (classes), "explained deviance" (poisson, gamma) or "concordance" (cox).
    apparent : float
        The metric of the selected features on the rows that selected them.
    optimism : float
        Mean difference between the metric on a bootstrap sample, of a model that was selected and fitted there, and the
        metric of the same model on the rows.
    std_error : float
        Standard error of that mean.
    n_bootstrap : int
        Number of bootstrap samples, without those that could not be fitted.
    """

    metric: str
    apparent: float
    optimism: float
    std_error: float
    n_bootstrap: int

    @property
    def corrected(self) -> float:
        """The metric that is expected on new rows: apparent minus optimism."""
        return self.apparent - self.optimism

    def __str__(self) -> str:
        spread = f"optimism {plain(self.optimism, 2)} ± {plain(self.std_error, 2)}"
        return (
            f"{self.metric}: {plain(self.apparent)} on the rows of the selection, {plain(self.corrected)} expected on "
            f"new rows ({spread}, {self.n_bootstrap} bootstrap samples)"
        )


def optimism(
    path: SelectionPath,
    X: Any,
    y: Any,
    n_bootstrap: int = 200,
    random_state: int | None = None,
    *,
    n_jobs: int | None = None,
    sample_weight: Any = None,
    offset: Any = None,
    strata: Any = None,
    sample_groups: Any = None,
) -> Optimism:
    """Bootstrap correction of the score of a selection (Harrell, Lee and Mark 1996).

    The selection is repeated, with the parameters of the path, on samples of the rows with replacement; each time the
    score on the sample is compared with the score of the same model on the rows.

    Parameters
    ----------
    path : SelectionPath
        A path of any model but an estimator.
    X : array-like or frame of shape (n_samples, n_features)
        The rows of the selection.
    y : array-like of shape (n_samples,) or (n_samples, n_targets), or str
        Their target.
    n_bootstrap : int, default=200
        Number of bootstrap samples.
    random_state : int or None, default=None
        Seed of the samples; None is 0.
    n_jobs : int or None, default=None
        Number of processes.
    sample_weight, offset, strata : array-like of shape (n_samples,) or str, default=None
        As in `select`.
    sample_groups : array-like of shape (n_samples,) or str, default=None
        Groups of dependent rows, which are drawn as a whole.

    Returns
    -------
    Optimism

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from dropstep import optimism, select
    >>> X, y = load_diabetes(return_X_y=True)
    >>> found = optimism(select(X, y), X, y, n_bootstrap=50)
    >>> found.metric, round(found.apparent, 3), found.corrected < found.apparent
    ('r2', 0.509, True)
    """
    if path.model not in METRICS:
        raise ValueError(
            f"optimism supports the models {', '.join(METRICS)}; estimators are scored by cross-validation"
        )
    if not isinstance(n_bootstrap, Integral) or isinstance(n_bootstrap, bool) or n_bootstrap < 2:
        raise ValueError(f"n_bootstrap must be a whole number from 2; got {n_bootstrap!r}")
    work = repeated(X, y, Rows(sample_weight, offset, strata, sample_groups), parameters_of(path), "optimism")
    model, sample = model_of(path), work.sample
    columns = columns_of(sample, path.selected)
    apparent = metric(path.model, fit(model, sample, columns), sample, columns)
    streams = np.random.SeedSequence(checked_seed(random_state)).spawn(int(n_bootstrap))
    differences = Parallel(n_jobs=n_jobs)(delayed(_difference)(work, path.model, model, stream) for stream in streams)
    kept = np.array([d for d in differences if d is not None and np.isfinite(d)])
    if len(kept) < 2:
        raise ValueError("the rows are so few that hardly a bootstrap sample could be used; pass more rows")
    error = float(kept.std(ddof=1) / np.sqrt(len(kept)))
    return Optimism(METRICS[path.model], apparent, float(kept.mean()), error, len(kept))


def _difference(work: Repeated, kind: str, model: Any, stream: np.random.SeedSequence) -> float | None:
    """The metric on a bootstrap sample minus that on all rows; None where the target of the sample cannot be fitted."""
    drawn = work.part(work.observations.bootstrap(np.random.default_rng(stream)))
    if drawn is None:
        return None
    selected = work.searched(drawn).selected
    columns = columns_of(work.sample, list(work.sample.choice.features(selected)))
    fitted = fit(model, drawn, columns)
    return metric(kind, fitted, drawn, columns) - metric(kind, fitted, work.sample, columns)


def metric(kind: str, fitted: Coefficients, sample: Sample, columns: list[int]) -> float:
    """How well a fit predicts the target of a sample, by the metric of the model; larger is better."""
    target, n = sample.target, sample.n_rows
    weights = np.ones(n) if sample.weights is None else sample.weights
    scores = fitted.linear_predictor(sample.table.columns(columns).astype(np.float64)).reshape(n, -1)
    if sample.offset is not None:
        scores = scores + np.asarray(sample.offset, dtype=np.float64)[:, None]
    if isinstance(target, Survival):
        return concordance(target, scores[:, 0], weights, sample.strata)
    if isinstance(target, Categorical):
        if fitted.priors is None:  # log odds against the first class
            scores = np.column_stack([np.zeros(n), scores])
        labels = np.array(fitted.classes)[scores.argmax(axis=1)]
        return float(np.average(labels == target.labels[target.codes], weights=weights))
    if kind == "linear":
        centre = np.average(target.values, axis=0, weights=weights)
        squares = [weights @ (target.values - m) ** 2 for m in (scores, centre)]
        return 1 - float(squares[0].sum() / squares[1].sum())
    exposure = np.ones(n) if sample.offset is None else np.exp(np.asarray(sample.offset, dtype=np.float64))
    if kind == "poisson":  # the maximum likelihood without features
        null = exposure * (weights @ target / (weights @ exposure))
    else:
        null = exposure * np.average(target / exposure, weights=weights)
    with np.errstate(over="ignore"):  # of fits that diverge
        means = np.exp(scores[:, 0]), null
        deviances = [float(weights @ _deviance(kind, target, mean)) for mean in means]
    return 1 - deviances[0] / deviances[1]


def _deviance(kind: str, y: Floats, mean: Floats) -> Floats:
    if kind == "poisson":
        return np.asarray(2 * special.kl_div(y, mean))
    return np.asarray(2 * ((y - mean) / mean - np.log(y / mean)))


def concordance(target: Survival, risk: Floats, weights: Floats | None = None, strata: Any = None) -> float:
    """Harrell's c: share of the usable pairs in which the row with the earlier event has the larger risk.

    A row that is censored at the time of an event has outlived it. Pairs of different strata are not usable.
    """
    w = np.ones(len(risk)) if weights is None else weights
    stratum = np.zeros(len(risk), dtype=np.intp)
    if strata is not None:
        stratum = np.unique(np.asarray(strata).astype(str), return_inverse=True)[1].ravel()
    concordant = usable = 0.0
    for i in np.flatnonzero(target.event):
        outlives = (target.time > target.time[i]) | ((target.time == target.time[i]) & ~target.event)
        outlives &= stratum == stratum[i]
        usable += w[i] * w[outlives].sum()
        concordant += w[i] * w[outlives] @ ((risk[outlives] < risk[i]) + 0.5 * (risk[outlives] == risk[i]))
    return float(concordant / usable) if usable else 0.5
