"""Fits by iteratively reweighted least squares, and the partial likelihood by loops over events and risk sets.

X has no intercept column; columns may be linearly dependent. Weights are frequencies. The parameters of ordinal models
are thresholds and coefficients; those of negative binomial models are 1 / theta, for which a line is searched, the
intercept and coefficients.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, special, stats

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Data:
    """A response with what is given per row.

    `y` holds 0 and 1, class codes, levels, counts, positive numbers, or the columns time and event.
    """

    kind: str
    y: Any
    weights: Floats
    offset: Floats
    strata: Any
    ties: str = "efron"

    @property
    def n_classes(self) -> int:
        return int(self.y.max()) + 1 if self.kind == "multinomial" else 2

    @property
    def levels(self) -> Any:
        """Codes of the levels that occur."""
        return np.unique(self.y, return_inverse=True)[1]

    @property
    def n_leading(self) -> int:
        """Parameters that are not coefficients of features, per output."""
        if self.kind in ORDINAL:
            return int(self.levels.max())
        return {"cox": 0, "negative_binomial": 2}.get(self.kind, 1)


ORDINAL: dict[str, Any] = {"ordinal": stats.logistic, "probit": stats.norm, "cloglog": stats.gumbel_l}


@dataclass(frozen=True)
class ReferenceFit:
    beta: Floats
    loglik: float
    deviance: float
    rank: int
    information: Floats
    X: Floats


def independent(X: Floats) -> Floats:
    """Columns of X that do not depend on the ones before, by least squares."""
    kept: list[Floats] = []
    for x in X.T:
        if kept:
            Q = np.linalg.qr(np.column_stack(kept))[0]
            residual = x - Q @ (Q.T @ x)
            residual = residual - Q @ (Q.T @ residual)
        else:
            residual = x
        if residual @ residual > 1e-10 * (x @ x):
            kept.append(x)
    return np.column_stack(kept) if kept else np.empty((len(X), 0))


def design(data: Data, X: Floats) -> Floats:
    """Centred columns (within strata), after an intercept unless the model has none."""
    centred = X.astype(float)
    for s in set(data.strata):
        rows = data.strata == s
        centred[rows] -= centred[rows].mean(axis=0)
    largest = np.abs(centred).max(axis=0, initial=0.0)
    centred[:, largest < 1e-12 * np.abs(X).max(axis=0, initial=0.0)] = 0.0
    centred = independent(centred / np.maximum(np.abs(centred).max(axis=0, initial=0.0), 1e-300))
    return np.column_stack([np.ones((len(X), data.n_leading)), centred])


def fit(data: Data, X: Floats, iterations: int = 60) -> ReferenceFit:
    """Newton's method (Fisher scoring for gamma) with step halving, from zero."""
    Z = design(data, X)
    if data.kind == "negative_binomial":
        return negative_binomial(data, Z)
    q = data.n_classes - 1 if data.kind == "multinomial" else 1
    beta = np.zeros(Z.shape[1] * q)
    if data.kind in ("poisson", "gamma"):
        beta[0] = math.log(float(data.weights @ data.y / (data.weights @ np.exp(data.offset))))
    if data.kind in ORDINAL:
        beta[: data.n_leading] = np.linspace(-1, 1, data.n_leading + 2)[1:-1]
    value = loglik(data, Z, beta)
    for _ in range(iterations * (3 if data.kind in ("gamma", *ORDINAL) else 1)):
        gradient, information = derivatives(data, Z, beta)
        step = np.linalg.lstsq(information, gradient, rcond=1e-13)[0] if len(beta) else beta
        if gradient @ step <= 1e-18:
            break
        length = 1.0
        while (moved := loglik(data, Z, beta + length * step)) < value - 1e-12 * abs(value) and length > 1e-9:
            length /= 2
        if not length > 1e-9:
            break
        beta, value = beta + length * step, moved
    information = derivatives(data, Z, beta)[1]
    rank = (Z.shape[1] - data.n_leading) * q
    return ReferenceFit(beta, full_loglik(data, value), deviance(data, value), rank, information, Z)


def negative_binomial(data: Data, Z: Floats) -> ReferenceFit:
    """For each of many values of 1 / theta, the best of which is refined, the other parameters by Newton's method."""

    def at(alpha: float) -> tuple[float, Floats]:
        beta = np.zeros(Z.shape[1])
        beta[:2] = alpha, math.log(float(data.weights @ data.y / (data.weights @ np.exp(data.offset))))
        value = loglik(data, Z, beta)
        for _ in range(60):
            gradient, information = derivatives(data, Z, beta)
            step = np.r_[0.0, np.linalg.solve(information[1:, 1:], gradient[1:])]
            if gradient @ step <= 1e-18:
                break
            while (moved := loglik(data, Z, beta + step)) < value - 1e-12 * abs(value) and np.abs(step).max() > 1e-9:
                step /= 2
            beta, value = beta + step, moved
        return value, beta

    grid = np.linspace(-10, 5, 16)
    best = int(np.argmax([at(math.exp(t))[0] for t in grid]))
    ends = grid[max(best - 1, 0)], grid[min(best + 1, 15)]
    found = optimize.minimize_scalar(
        lambda t: -at(math.exp(t))[0], bounds=ends, method="bounded", options={"xatol": 1e-9}
    )
    value, beta = max(at(math.exp(found.x)), at(0.0), key=lambda pair: pair[0])
    information = derivatives(data, Z, beta)[1]
    return ReferenceFit(beta, value, -2 * value, Z.shape[1] - 2, information, Z)


# --- log likelihoods (gamma: with dispersion 1, up to a constant) ----------------------------------------------------


def loglik(data: Data, Z: Floats, beta: Floats) -> float:
    if data.kind == "cox":
        return partial_loglik(data, Z @ beta)
    if data.kind in ORDINAL:
        if (np.diff(beta[: data.n_leading]) <= 0).any():
            return -math.inf
        p = level_probabilities(data, Z, beta)[np.arange(len(Z)), data.levels]
        with np.errstate(divide="ignore"):
            return float(data.weights @ np.log(p))
    if data.kind == "negative_binomial":
        mu, alpha = np.exp(Z[:, 1:] @ beta[1:] + data.offset), beta[0]
        value = special.xlogy(data.y, mu) - special.gammaln(data.y + 1)
        if alpha == 0:
            return float(data.weights @ (value - mu))
        rising = special.gammaln(data.y + 1 / alpha) - special.gammaln(1 / alpha) + data.y * math.log(alpha)
        return float(data.weights @ (value + rising - (data.y + 1 / alpha) * np.log1p(alpha * mu)))
    if data.kind == "multinomial":
        p = probabilities(data, Z, beta)
        return float(sum(w * math.log(max(p[i, int(data.y[i])], 1e-300)) for i, w in enumerate(data.weights)))
    eta, y, w = Z @ beta + data.offset, data.y, data.weights
    if data.kind == "logistic":
        return float(w @ (y * eta - np.logaddexp(0, eta)))
    if data.kind == "poisson":
        return float(w @ (y * eta - np.exp(eta)))
    return float(-w @ (y * np.exp(-eta) + eta))


def full_loglik(data: Data, value: float) -> float:
    """The log likelihood with its constants, as R's logLik."""
    w, n = data.weights, float(data.weights.sum())
    if data.kind == "poisson":
        return value - float(sum(a * math.lgamma(b + 1) for a, b in zip(w, data.y, strict=True)))
    if data.kind != "gamma":
        return value
    shape = n / deviance(data, value)
    log_y = float(w @ np.log(data.y))
    return shape * value + n * (shape * math.log(shape) - math.lgamma(shape)) + (shape - 1) * log_y


def deviance(data: Data, value: float) -> float:
    w, y = data.weights, data.y
    if data.kind == "poisson":
        return 2 * (float(sum(a * (b * math.log(b) - b if b > 0 else 0.0) for a, b in zip(w, y, strict=True))) - value)
    if data.kind == "gamma":
        return 2 * (float(-w @ (1 + np.log(y))) - value)
    return -2 * value


def probabilities(data: Data, Z: Floats, beta: Floats) -> Floats:
    eta = Z @ beta.reshape(Z.shape[1], -1)
    weights = np.exp(np.column_stack([np.zeros(len(Z)), eta]) - eta.max(axis=1, initial=0.0)[:, None])
    return weights / weights.sum(axis=1, keepdims=True)


def level_probabilities(data: Data, Z: Floats, beta: Floats) -> Floats:
    m = data.n_leading
    edges = np.r_[-np.inf, beta[:m], np.inf] - (Z[:, m:] @ beta[m:] + data.offset)[:, None]
    F = ORDINAL[data.kind]
    right = edges[:, :-1] > 0  # the tail in which a difference keeps its digits
    return np.where(right, F.sf(edges[:, :-1]) - F.sf(edges[:, 1:]), F.cdf(edges[:, 1:]) - F.cdf(edges[:, :-1]))


def ordinal_derivatives(data: Data, Z: Floats, beta: Floats) -> tuple[Floats, Floats]:
    """Sums over rows of dp / p, and over rows and levels of dp dp' / p."""
    m, p, n = data.n_leading, level_probabilities(data, Z, beta), len(Z)
    density = ORDINAL[data.kind].pdf(beta[:m] - (Z[:, m:] @ beta[m:] + data.offset)[:, None])
    steps = np.zeros((n, m + 2, len(beta)))  # of F at each threshold, and at the ends of the scale
    steps[:, 1:-1, m:] = -density[:, :, None] * Z[:, None, m:]
    steps[:, np.arange(m) + 1, np.arange(m)] = density
    dp = np.diff(steps, axis=1)
    gradient = (data.weights / p[np.arange(n), data.levels]) @ dp[np.arange(n), data.levels]
    information = np.einsum("ica,ic,icb->ab", dp, data.weights[:, None] / np.maximum(p, 1e-300), dp, optimize=True)
    return gradient, information


def covariance(data: Data, found: ReferenceFit) -> Floats:
    """The inverse of the expected information; of the observed one for ordinal models, as polr."""
    if data.kind not in ORDINAL:
        return np.asarray(np.linalg.inv(found.information))
    h, rows = 1e-5, []
    for e in np.eye(len(found.beta)) * h:
        up, down = (derivatives(data, found.X, found.beta + s * e)[0] for s in (1, -1))
        rows.append((down - up) / (2 * h))
    return np.asarray(np.linalg.inv((np.array(rows) + np.array(rows).T) / 2))


def derivatives(data: Data, Z: Floats, beta: Floats) -> tuple[Floats, Floats]:
    """Gradient of the log likelihood and expected information."""
    if data.kind == "cox":
        return cox_derivatives(data, Z, Z @ beta)
    if data.kind in ORDINAL:
        return ordinal_derivatives(data, Z, beta)
    w = data.weights
    if data.kind == "negative_binomial":  # theta is orthogonal to the coefficients
        mu, X = np.exp(Z[:, 1:] @ beta[1:] + data.offset), Z[:, 1:]
        inflation = 1 + beta[0] * mu
        information = np.eye(len(beta))
        information[1:, 1:] = X.T @ np.diag(w * mu / inflation) @ X
        return np.r_[0.0, X.T @ (w * (data.y - mu) / inflation)], information
    if data.kind == "multinomial":
        p = probabilities(data, Z, beta)
        k = data.n_classes
        gradient, information = np.zeros(len(beta)), np.zeros((len(beta), len(beta)))
        for i, z in enumerate(Z):
            own = np.eye(k)[int(data.y[i])]
            gradient += w[i] * np.kron(z, (own - p[i])[1:])
            information += w[i] * np.kron(np.outer(z, z), (np.diag(p[i]) - np.outer(p[i], p[i]))[1:, 1:])
        return gradient, information
    eta = Z @ beta + data.offset
    if data.kind == "logistic":
        mu = (1 + np.tanh(eta / 2)) / 2
        return Z.T @ (w * (data.y - mu)), Z.T @ np.diag(w * mu * (1 - mu)) @ Z
    mu = np.exp(eta)
    if data.kind == "poisson":
        return Z.T @ (w * (data.y - mu)), Z.T @ np.diag(w * mu) @ Z
    return Z.T @ (w * (data.y / mu - 1)), Z.T @ np.diag(w) @ Z


# --- Cox -------------------------------------------------------------------------------------------------------------


def expanded(data: Data) -> list[int]:
    """Rows repeated as often as their weights say."""
    return [i for i, w in enumerate(data.weights) for _ in range(round(float(w)))]


def terms(data: Data) -> list[tuple[list[int], list[int]]]:
    """Events at each time of each stratum, and the rows at risk."""
    time, event = data.y[:, 0], data.y[:, 1]
    found = []
    for s in sorted(set(data.strata)):
        rows = [i for i in expanded(data) if data.strata[i] == s]
        for t in sorted({float(time[i]) for i in rows if event[i]}):
            found.append(([i for i in rows if time[i] == t and event[i]], [i for i in rows if time[i] >= t]))
    return found


def fractions(data: Data, d: int) -> list[float]:
    return [0.0] * d if data.ties == "breslow" else [r / d for r in range(d)]


def partial_loglik(data: Data, eta: Floats) -> float:
    eta, total = eta + data.offset, 0.0
    for events, at_risk in terms(data):
        top = max(eta[i] for i in at_risk)
        risk = sum(math.exp(eta[i] - top) for i in at_risk)
        tied = sum(math.exp(eta[i] - top) for i in events)
        total += sum(eta[i] - top for i in events)
        total -= sum(math.log(risk - f * tied) for f in fractions(data, len(events)))
    return total


def cox_derivatives(data: Data, Z: Floats, eta: Floats) -> tuple[Floats, Floats]:
    eta = eta + data.offset
    gradient, information = np.zeros(Z.shape[1]), np.zeros((Z.shape[1], Z.shape[1]))
    for events, at_risk in terms(data):
        top = max(eta[i] for i in at_risk)
        for f in fractions(data, len(events)):
            s0, s1, s2 = 0.0, np.zeros(Z.shape[1]), np.zeros((Z.shape[1], Z.shape[1]))
            for rows, sign in ((at_risk, 1.0), (events, -f)):
                for i in rows:
                    e = sign * math.exp(eta[i] - top)
                    s0, s1, s2 = s0 + e, s1 + e * Z[i], s2 + e * np.outer(Z[i], Z[i])
            gradient -= s1 / s0
            information += s2 / s0 - np.outer(s1, s1) / s0**2
        gradient += sum((Z[i] for i in events), np.zeros(Z.shape[1]))
    return gradient, information


# --- tests and criteria ----------------------------------------------------------------------------------------------


def score_statistic(data: Data, X: Floats, added: Floats) -> tuple[float, int]:
    """Rao's statistic of adding columns: gradient and information of the larger model at the smaller fit."""
    small = fit(data, X)
    Z = design(data, np.column_stack([X, added]))
    q = data.n_classes - 1 if data.kind == "multinomial" else 1
    beta = np.zeros(Z.shape[1] * q)
    beta[: len(small.beta)] = small.beta
    gradient, information = derivatives(data, Z, beta)
    if not len(beta):
        return 0.0, 0
    return float(gradient @ np.linalg.solve(information, gradient)), len(beta) - len(small.beta)


def score_log_p(data: Data, X: Floats, added: Floats) -> float:
    """Logarithm of the p-value of the score test; of counts, by the F test if Pearson's statistic exceeds its df."""
    statistic, rank = score_statistic(data, X, added)
    if data.kind in ("poisson", "negative_binomial"):
        small, first = fit(data, X), data.n_leading - 1
        mu, alpha = np.exp(data.offset + small.X[:, first:] @ small.beta[first:]), small.beta[0] if first else 0.0
        pearson = float(data.weights @ ((data.y - mu) ** 2 / (mu + alpha * mu**2)))
        df = float(data.weights.sum()) - len(small.beta) + first
        if pearson > df:
            room = df - rank
            return float(stats.f.logsf(statistic / (pearson - statistic) * room / rank, rank, room))
    return float(stats.chi2.logsf(statistic, rank))


def score(data: Data, X: Floats, criterion: str) -> float:
    """aic, aicc, bic or deviance of the model with columns X."""
    found = fit(data, X)
    return found.deviance if criterion == "deviance" else penalised(data, found.loglik, found.rank, criterion)


def penalised(data: Data, loglik: float, rank: int, criterion: str) -> float:
    """aic, aicc or bic of a log likelihood with so many coefficients."""
    extra = {"gamma": 2, "multinomial": data.n_classes - 1}.get(data.kind, data.n_leading)
    n = float(data.weights @ data.y[:, 1]) if data.kind == "cox" else float(data.weights.sum())
    k = rank + extra
    charge = {"aic": 2 * k, "bic": math.log(n) * k}.get(criterion)
    if charge is None:
        charge = 2 * k + 2 * k * (k + 1) / (n - k - 1) if n - k - 1 > 0 else math.inf
    return -2 * loglik + charge
