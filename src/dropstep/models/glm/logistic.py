"""Logistic regression, multinomial for more than two classes: one output for every class but the first."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from dropstep.models.glm.family import About, ClassFamily
from dropstep.models.glm.likelihood import Likelihood, Pointwise

Floats = NDArray[np.float64]


class BernoulliLocal(Pointwise):
    """In terms of the margin, which is eta where y is 1 and -eta where it is 0: all digits are kept near separation."""

    is_bernoulli = True

    def __init__(self, w: Floats, sign: Floats, eta: Floats) -> None:
        self._w, self._sign, self._margin = w, sign, sign * eta
        self._odds = np.exp(-np.abs(self._margin))  # of the less likely outcome
        self.deviance = 2 * float(w @ (np.log1p(self._odds) + np.maximum(-self._margin, 0.0)))

    @cached_property
    def residual(self) -> Floats:
        wrong = np.where(self._margin > 0, self._odds, 1.0) / (1 + self._odds)
        return np.asarray(self._w * self._sign * wrong)[:, None]

    @cached_property
    def weights(self) -> Floats:
        return np.asarray(self._w * self._odds / (1 + self._odds) ** 2)[:, None, None]

    @cached_property
    def pearson(self) -> float:
        with np.errstate(over="ignore"):
            return float(self._w @ np.exp(-self._margin))


class Bernoulli(Likelihood):
    """y is 0 or 1 and the mean is 1 / (1 + exp(-eta))."""

    def __init__(self, y: Floats, weights: Floats, offset: Floats) -> None:
        super().__init__(weights, offset)
        self.y = y
        self.constants = np.array([weights.sum(), weights @ y, weights @ offset])

    def start(self) -> Floats:
        n, y, offset = self.constants
        return np.full((1, 1), special.logit(y / n) - offset / n)

    def local(self, eta: Floats, nuisance: Floats) -> BernoulliLocal:
        return BernoulliLocal(self.w, self._sign, eta[:, 0])

    @cached_property
    def _sign(self) -> Floats:
        return 2 * self.y - 1


class MultinomialLocal(Pointwise):
    """Classes at log odds eta."""

    def __init__(self, w: Floats, codes: NDArray[np.intp], member: Floats, eta: Floats) -> None:
        self._w, self._member = w, member
        logits = np.concatenate([np.zeros((len(eta), 1)), eta], axis=1)
        log_p = logits - special.logsumexp(logits, axis=1, keepdims=True)
        self._p, self._own = np.exp(log_p), log_p[np.arange(len(eta)), codes]
        self.deviance = float(-2 * w @ self._own)

    @cached_property
    def residual(self) -> Floats:
        return np.asarray(self._w[:, None] * (self._member - self._p)[:, 1:])

    @cached_property
    def weights(self) -> Floats:
        P = self._p[:, 1:]
        between = np.eye(P.shape[1]) * P[:, None, :] - P[:, :, None] * P[:, None, :]
        return np.asarray(self._w[:, None, None] * between)

    @cached_property
    def pearson(self) -> float:
        with np.errstate(over="ignore"):
            return float(self._w @ np.expm1(-self._own))


class Multinomial(Likelihood):
    """Log odds of each class against the first are linear.

    Parameters
    ----------
    codes : ndarray of shape (n_rows,)
        Class of each row.
    n_classes : int
    weights : ndarray of shape (n_rows,)
        Frequencies, all positive.
    offset : ndarray of shape (n_rows,)
        Zero: an offset of several outputs is not defined.
    """

    def __init__(self, codes: NDArray[np.intp], n_classes: int, weights: Floats, offset: Floats) -> None:
        self.n_outputs = n_classes - 1
        super().__init__(weights, offset)
        self.codes = codes
        self._member = (codes[:, None] == np.arange(n_classes)).astype(float)
        self.constants = np.concatenate([[weights.sum()], weights @ self._member])

    def start(self) -> Floats:
        counts = self.constants[1:]
        return np.asarray(np.log(counts[None, 1:] / counts[0]))

    def local(self, eta: Floats, nuisance: Floats) -> MultinomialLocal:
        return MultinomialLocal(self.w, self.codes, self._member, eta)


@dataclass(frozen=True)
class Logistic(ClassFamily):
    """Logistic regression, multinomial for more than two classes.

    Parameters
    ----------
    shortlist : int or None, default=8
        Number of candidates that are refitted per scan; None refits all.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from dropstep import Logistic, select
    >>> path = select(*load_breast_cancer(return_X_y=True), model=Logistic(shortlist=16), max_features=3)
    >>> path.selected
    (27, 20, 21)
    """

    kind = "logistic"
    synonyms = ("logit", "binomial", "multinomial")
    title = "logistic regression"
    description = "logistic regression, multinomial for more than two classes"
    effect = "odds ratio"
    scikit_learn = "LogisticRegression(C=np.inf)"
    r = "glm(family = binomial())"

    def likelihood(self, y: Any, weights: Floats, offset: Floats, about: About) -> Likelihood:
        if about.n_classes == 2:
            return Bernoulli(y.astype(np.float64), weights, offset)
        if about.has_offset:
            raise ValueError(
                f"offset is defined for two classes, but y has {about.n_classes}; omit offset, or join classes"
            )
        return Multinomial(y, about.n_classes, weights, offset)

    def class_scores(self, eta: Floats, offset: Floats, fit: Any) -> Floats:
        if eta.shape[1] == 1:
            eta = eta + offset[:, None]
        return np.column_stack([np.zeros(len(eta)), eta])
