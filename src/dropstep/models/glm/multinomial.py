"""Multinomial logistic regression: one output for every class but the first."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import special

from dropstep.models.glm.likelihood import Local, Pointwise

Floats = NDArray[np.float64]


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


class Multinomial:
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

    name = "logistic"
    has_intercept = True
    has_dispersion = False
    may_overdisperse = False

    def __init__(self, codes: NDArray[np.intp], n_classes: int, weights: Floats, offset: Floats) -> None:
        self.codes, self.w = codes, weights
        self.n_outputs = self.n_nuisance = n_classes - 1
        self.offset = np.repeat(offset[:, None], self.n_outputs, axis=1)
        self.n = float(weights.sum())
        self.df = self.n - 1
        self._member = (codes[:, None] == np.arange(n_classes)).astype(float)

    def start(self) -> Floats:
        shares = self.w @ self._member
        return np.asarray(np.log(shares[None, 1:] / shares[0]))

    def at(self, eta: Floats) -> MultinomialLocal:
        return MultinomialLocal(self.w, self.codes, self._member, eta)

    def minus_twice_loglik(self, deviance: Floats | float) -> Floats | float:
        return deviance

    def dispersion(self, local: Local, n_params: int) -> float:
        return 1.0
