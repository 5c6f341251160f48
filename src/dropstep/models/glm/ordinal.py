"""Ordinal regression: P(y up to level k) = F(threshold_k - eta), the same eta for all levels (McCullagh 1980).

With u and l the thresholds above and below the level of a row, minus eta, its likelihood is F(u) - F(l). All three
links have concave log densities, so that the log likelihood is concave in thresholds and coefficients (Pratt 1981).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray
from scipy import special

from dropstep.data.sample import PerRow, Sample
from dropstep.data.target import Categorical, as_target, as_values
from dropstep.models.evaluation import row_weights
from dropstep.models.glm.family import About, ClassFamily
from dropstep.models.glm.likelihood import LONG_STEP, Likelihood, WithNuisance
from dropstep.models.glm.model import GeneralizedLinear
from dropstep.models.glm.newton import solve
from dropstep.parameters import Parameters
from dropstep.result import Coefficients

Floats = NDArray[np.float64]
Link = Literal["logit", "probit", "cloglog"]

LINKS = get_args(Link)
MAX_LEVELS = 100  # beyond which a target is not a scale of a few levels
DOUBTFUL = 0.001  # level of the test of proportional odds


@dataclass(frozen=True)
class Tail:
    """Logarithms of F, 1 - F and the density f of a link at x, and f' / f."""

    cdf: Floats
    sf: Floats
    density: Floats
    slope: Floats

    @classmethod
    def of(cls, link: Link, x: Floats) -> Tail:
        """The functions of a link; x may be infinite."""
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            if link == "logit":
                cdf, sf = -np.logaddexp(0, -x), -np.logaddexp(0, x)
                return cls(cdf, sf, cdf + sf, -np.tanh(x / 2))
            if link == "probit":
                return cls(special.log_ndtr(x), special.log_ndtr(-x), -(x**2) / 2 - np.log(2 * np.pi) / 2, -x)
            rate = np.exp(x)
            return cls(np.log(-np.expm1(-rate)), -rate, np.where(np.isinf(rate), -np.inf, x - rate), 1 - rate)


def _log_difference(upper: Tail, lower: Tail) -> Floats:
    """log(F(u) - F(l)) from the tail in which it keeps its digits."""
    left = upper.cdf < lower.sf
    large, small = np.where(left, upper.cdf, lower.sf), np.where(left, lower.cdf, upper.sf)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        gap = small - large  # negative; -inf at the ends of the scale
        return np.where(gap < 0, large + np.log(-np.expm1(gap)), np.where(gap == 0, -np.inf, np.nan))


class OrdinalLocal(WithNuisance):
    """Levels at a linear predictor and thresholds."""

    def __init__(self, w: Floats, codes: NDArray[np.intp], link: Link, eta: Floats, thresholds: Floats) -> None:
        self._w, self._codes, self._link, self._eta, self._thresholds = w, codes, link, eta, thresholds
        ends = np.concatenate([[-np.inf], thresholds, [np.inf]])
        self._upper, self._lower = (Tail.of(link, ends[codes + k] - eta) for k in (1, 0))
        self._log_p = _log_difference(self._upper, self._lower)
        ordered = bool((np.diff(thresholds) > 0).all())
        self.deviance = -2 * float(w @ self._log_p) if ordered else np.inf

    @cached_property
    def _above(self) -> Floats:
        """Derivative of the log likelihood with respect to u."""
        return np.asarray(np.exp(self._upper.density - self._log_p))

    @cached_property
    def _below(self) -> Floats:
        """Minus the derivative of the log likelihood with respect to l."""
        return np.asarray(np.exp(self._lower.density - self._log_p))

    @cached_property
    def _curvature(self) -> tuple[Floats, Floats, Floats]:
        """Observed information about u, about l, and about both."""
        a, b = self._above, self._below
        with np.errstate(invalid="ignore"):  # 0 times infinity at the ends of the scale
            return (
                a * (a - np.where(a > 0, self._upper.slope, 0)),
                b * (b + np.where(b > 0, self._lower.slope, 0)),
                -a * b,
            )

    @cached_property
    def residual(self) -> Floats:
        return (self._w * (self._below - self._above))[:, None]

    @cached_property
    def observed(self) -> Floats:
        above, below, both = self._curvature
        return np.asarray(self._w * (above + below + 2 * both))[:, None, None]

    # --- expected information: sums over the levels of (d p)(d p)' / p -----------------------------------------------

    @cached_property
    def _expected(self) -> tuple[Floats, Floats, Floats]:
        """Of each row about each threshold, about it and the next, and of all thresholds and eta."""
        edges = Tail.of(self._link, self._thresholds - self._eta[:, None])
        n, m = edges.cdf.shape
        cdf = np.hstack([np.full((n, 1), -np.inf), edges.cdf, np.zeros((n, 1))])
        sf = np.hstack([np.zeros((n, 1)), edges.sf, np.full((n, 1), -np.inf)])
        nothing = np.zeros((n, m + 1))
        log_p = _log_difference(
            Tail(cdf[:, 1:], sf[:, 1:], nothing, nothing), Tail(cdf[:, :-1], sf[:, :-1], nothing, nothing)
        )
        half = log_p / 2
        with np.errstate(invalid="ignore", over="ignore"):
            up = np.nan_to_num(np.exp(edges.density - half[:, :-1]), posinf=0.0)  # f / sqrt(p) of the level below
            down = np.nan_to_num(np.exp(edges.density - half[:, 1:]), posinf=0.0)  # and of the level above
        own = self._w[:, None] * (up**2 + down**2)
        next_ = -self._w[:, None] * down[:, :-1] * up[:, 1:]
        return own, next_, np.hstack([up, np.zeros((n, 1))]) - np.hstack([np.zeros((n, 1)), down])

    @cached_property
    def _cross(self) -> Floats:
        """Expected information about eta and each threshold."""
        own, next_, _ = self._expected
        cross = -own
        cross[:, :-1] -= next_
        cross[:, 1:] -= next_
        return cross

    @cached_property
    def weights(self) -> Floats:
        return np.asarray(self._w * np.sum(self._expected[2] ** 2, axis=1))[:, None, None]

    @cached_property
    def pearson(self) -> float:
        with np.errstate(over="ignore"):
            return float(self._w @ np.expm1(-self._log_p))

    # --- thresholds --------------------------------------------------------------------------------------------------

    @property
    def nuisance_gradient(self) -> Floats:
        return np.asarray(self._by_threshold(self._w * self._above, -self._w * self._below).sum(axis=0))

    def _by_threshold(self, above: Floats, below: Floats) -> Floats:
        """Values of the thresholds above and below the level of each row, one column per threshold."""
        m, rows = len(self._thresholds), np.arange(len(self._codes))
        spread = np.zeros((len(rows), m + 2))
        spread[rows, self._codes + 1] = above
        spread[rows, self._codes] += below
        return spread[:, 1:-1]

    def nuisance_information(self, *, observed: bool) -> tuple[Floats, Floats]:
        if observed:
            above, below, both = (self._w * values for values in self._curvature)
            cross = -self._by_threshold(above + both, below + both)
            own = self._by_threshold(above, below).sum(axis=0)
            next_ = np.bincount(self._codes, both, len(own) + 1)[1:-1]
        else:
            each, pairs, _ = self._expected
            cross, own, next_ = self._cross, each.sum(axis=0), pairs.sum(axis=0)
        return np.diag(own) + np.diag(next_, 1) + np.diag(next_, -1), cross

    def unequal_slopes(self, Z: Floats) -> tuple[Floats, Floats]:
        """Gradient and expected information where each threshold has coefficients of its own, by threshold and term.

        The first term is the threshold itself; coefficients are those of a larger threshold, -eta.
        """
        X, m = Z[:, len(self._thresholds) :], len(self._thresholds)
        columns = np.column_stack([np.ones(len(X)), X])
        gradient = self._by_threshold(self._w * self._above, -self._w * self._below).T @ columns
        own, next_, _ = self._expected
        k = columns.shape[1]
        information = np.zeros((m, k, m, k))
        for j in range(m):
            information[j, :, j] = columns.T @ (own[:, j, None] * columns)
            if j + 1 < m:
                information[j, :, j + 1] = information[j + 1, :, j] = columns.T @ (next_[:, j, None] * columns)
        return gradient.ravel(), information.reshape(m * k, m * k)


class OrdinalLevels(Likelihood):
    """Levels with cumulative probabilities F(threshold - eta).

    Parameters
    ----------
    codes : ndarray of shape (n_rows,)
        Level of each row, from 0.
    n_levels : int
    weights, offset : ndarray of shape (n_rows,)
    link : {"logit", "probit", "cloglog"}
    """

    is_canonical = False
    observed_errors = True

    def __init__(self, codes: NDArray[np.intp], n_levels: int, weights: Floats, offset: Floats, link: Link) -> None:
        self.n_nuisance = n_levels - 1
        self.absorbs = (1.0,) * self.n_nuisance
        # a separated row approaches its level doubly exponentially, and steps shrink as their decrement does
        self.long_step = LONG_STEP / 10 if link == "cloglog" else LONG_STEP
        super().__init__(weights, offset)
        self.codes, self.link = codes, link
        self.constants = np.concatenate([[weights.sum(), weights @ offset], np.bincount(codes, weights, n_levels)])

    def start(self) -> Floats:
        n, offset, *counts = self.constants
        shares = np.cumsum(counts)[:-1] / n
        inverse: dict[str, Callable[[Floats], Floats]] = {
            "logit": special.logit,
            "probit": special.ndtri,
            "cloglog": lambda p: np.log(-np.log1p(-p)),
        }
        return np.asarray(inverse[self.link](shares) + offset / n)[:, None]

    def local(self, eta: Floats, nuisance: Floats) -> OrdinalLocal:
        return OrdinalLocal(self.w, self.codes, self.link, eta[:, 0], nuisance)

    def reach(self, Z: Floats, step: Floats) -> float:
        """Largest change of a threshold minus eta that the likelihood of a row depends on."""
        m = self.n_nuisance
        if not len(Z):
            return 0.0
        moved, ends = Z[:, m:] @ step[m:, 0], np.concatenate([[np.nan], step[:m, 0], [np.nan]])
        changes = np.abs(np.column_stack([ends[self.codes + 1] - moved, ends[self.codes] - moved]))
        return float(np.nanmax(changes, initial=0.0))

    def extras(self, nuisance: Floats, std_error: Floats) -> dict[str, Any]:
        return {"thresholds": nuisance, "threshold_std_error": std_error, "link": self.link}


@dataclass(frozen=True)
class Ordinal(ClassFamily):
    """Ordinal regression, with the same coefficients for all levels: proportional odds for the logit link.

    The target is an ordered categorical, or consists of whole numbers. Positive coefficients make high levels more
    likely, as in R's ``MASS::polr``.

    Parameters
    ----------
    shortlist : int or None, default=8
        Number of candidates that are refitted per scan; None refits all.
    link : {"logit", "probit", "cloglog"}, default="logit"
        Distribution of the latent variable: logistic, normal, or of a smallest extreme value.
    """

    kind = "ordinal"
    synonyms = ("polr", "ordered", "proportional_odds", "cumulative")
    title = "ordinal regression"
    description = "ordinal regression of an ordered target, with the same coefficients for all levels"
    effect = "odds ratio"
    metric = "concordance"
    r = "MASS::polr()"
    leading = "a threshold"

    link: Link = "logit"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.link not in LINKS:
            raise ValueError(f"link must be one of {', '.join(map(repr, LINKS))}; got {self.link!r}")

    @property
    def name(self) -> str:
        names = {"logit": "proportional-odds", "probit": "ordered probit", "cloglog": "complementary log-log ordinal"}
        return f"{names[self.link]} regression"

    @property
    def ratio(self) -> str | None:
        return self.effect if self.link == "logit" else None

    def sample(self, X: Any, y: Any, rows: PerRow, given: Parameters) -> Sample:
        """Validate data; the order of an ordered categorical is that of its categories."""
        order = _order(X[y] if isinstance(y, str) and hasattr(X, "columns") and y in list(X.columns) else y)
        if order is None:
            return super().sample(X, y, rows, given)
        return _Ordered(self.shortlist, self.link, order).sample(X, y, rows, given)

    def read_target(self, y: Any, n_rows: int, weights: Floats | None) -> Categorical:
        values = as_values(y) if y is not None else None
        if values is not None and values.ndim == 1 and values.dtype.kind in "OUS":
            _refuse_unordered(values[0] if len(values) else "")
        target = as_target(y, n_rows, "discriminant", weights, whole=False)
        assert isinstance(target, Categorical)
        self.check_labels(target.labels)
        return target

    def check_labels(self, labels: NDArray[Any]) -> None:
        if labels.dtype.kind in "OUS":
            _refuse_unordered(labels[0])
        _check_number(labels)

    def likelihood(self, y: Any, weights: Floats, offset: Floats, about: About) -> OrdinalLevels:
        return OrdinalLevels(y, about.n_classes, weights, offset, self.link)

    def nuisance(self, likelihood: Any, fit: Coefficients | None) -> Floats:
        assert fit is not None
        assert fit.thresholds is not None
        return fit.thresholds

    def class_scores(self, eta: Floats, offset: Floats, fit: Coefficients) -> Floats:
        return level_scores(eta[:, 0] + offset, fit)

    def measure(self, sample: Sample, eta: Floats, fit: Coefficients) -> float:
        """Share of the pairs of rows of different levels in which the higher one has the larger linear predictor."""
        target, w = sample.target, row_weights(sample, np.arange(sample.n_rows))
        order = np.argsort(eta[:, 0], kind="stable")
        values, codes, w = eta[order, 0], target.codes[order], w[order]
        below = np.zeros((len(w) + 1, len(target.labels)))  # weights of each level among the smallest values
        np.cumsum(w[:, None] * (codes[:, None] == np.arange(len(target.labels))), axis=0, out=below[1:])
        lower, upper = (below[np.searchsorted(values, values, side=side)].cumsum(axis=1) for side in ("left", "right"))
        first, at = np.arange(len(w)), codes - 1
        concordant = np.where(codes > 0, (lower[first, at] + upper[first, at]) / 2, 0.0)
        usable = np.where(codes > 0, below[-1].cumsum()[at], 0.0)
        total = float(w @ usable)
        return float(w @ concordant) / total if total else 0.5

    def notes(self, model: GeneralizedLinear) -> Iterator[str]:
        """Doubts about proportional odds, by the score test of coefficients that differ between thresholds."""
        found = model.fitted
        k, m = len(found.columns), model.likelihood.n_nuisance
        if not k or m < 2 or found.limit is not None:
            return
        gradient, information = model.unequal_slopes()
        statistic, df = float(gradient @ solve(information, gradient)), k * (m - 1)
        if special.chdtrc(df, statistic) < DOUBTFUL:
            odds = "odds are not proportional" if self.link == "logit" else "coefficients differ between levels"
            yield (
                f"the {odds} (score test: {statistic:.1f} with {df} degrees of freedom): some coefficients "
                "are not the same for all levels; model='logistic' fits one set per level"
            )


def level_scores(eta: Floats, fit: Coefficients) -> Floats:
    """Logarithms of the probabilities of the levels at linear predictors, one column per level."""
    assert fit.thresholds is not None
    link: Any = fit.link
    ends = np.concatenate([[-np.inf], fit.thresholds, [np.inf]]) - eta[:, None]
    return _log_difference(Tail.of(link, ends[:, 1:]), Tail.of(link, ends[:, :-1]))


@dataclass(frozen=True)
class _Ordered(Ordinal):
    """With the order of the labels of one target."""

    order: tuple[Any, ...] = ()

    def sample(self, X: Any, y: Any, rows: PerRow, given: Parameters) -> Sample:
        return super(Ordinal, self).sample(X, y, rows, given)

    def read_target(self, y: Any, n_rows: int, weights: Floats | None) -> Categorical:
        found = as_target(y, n_rows, "discriminant", weights, whole=False)
        assert isinstance(found, Categorical)
        ranks = {label: i for i, label in enumerate(self.order)}
        rank = np.array([ranks[label] for label in found.labels.tolist()])
        place = np.argsort(rank)
        labels = np.array([self.order[r] for r in rank[place]])
        _check_number(labels)
        return Categorical(labels, np.argsort(place)[found.codes].astype(np.intp))


def _check_number(labels: NDArray[Any]) -> None:
    if len(labels) < 2:
        raise ValueError(f"y has only one level ({labels[0]}); at least 2 levels are required")
    if len(labels) > MAX_LEVELS:
        raise ValueError(
            f"y has {len(labels)} levels, and model='ordinal' estimates a threshold for each but one; join levels "
            f"(at most {MAX_LEVELS}), or use model='linear'"
        )


def _order(y: Any) -> tuple[Any, ...] | None:
    """The categories of an ordered categorical, lowest first; None for anything else."""
    dtype = getattr(y, "dtype", None)
    categories = getattr(dtype, "categories", None)
    if categories is None:
        return None
    is_ordered = getattr(dtype, "ordered", type(dtype).__name__ == "Enum")  # an Enum of polars has an order
    if not is_ordered:
        labels = list(categories)
        if labels and not isinstance(labels[0], str):
            return None
        _refuse_unordered(labels[0] if labels else "")
    return tuple(categories)


def _refuse_unordered(label: Any) -> None:
    raise ValueError(
        f"y contains labels (such as {str(label)!r}) whose order is not known; pass an ordered categorical, such as "
        "pd.Categorical(y, categories=['low', 'high'], ordered=True), or whole numbers, or use model='logistic'"
    )
