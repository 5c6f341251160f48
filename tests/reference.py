"""The reference: every criterion and every strategy as the textbook or the paper writes it.

Slow on purpose. Each number is computed from the rows, from scratch, for each set of features; nothing is carried over
from one set to the next. The fast library is compared with this file, so clarity comes before everything here.

Words: a *unit* is what enters, leaves and is dropped whole: one feature, or one group of features. The *size* k of a
set is the number of its linearly independent features; a feature that is a combination of earlier ones does not count.

Books: Rencher & Christensen, Methods of Multivariate Analysis (Wilks, Pillai, Lawley-Hotelling, Roy, Rao's F); Draper &
Smith, Applied Regression Analysis (RSS, Cp, partial F); Bedrick & Tsai 1994 (AICc for several targets); Chen & Chen
2008 (EBIC); Pudil et al. 1994 (floating); Borboudakis & Tsamardinos 2019 (fbed); the paper (dropping).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betaln, gammaln
from scipy.stats import f as f_distribution

Floats = NDArray[np.float64]
Unit = tuple[int, ...]

ALIASED = 1e-10  # a feature is in the span of others: squared norm of its residual / its own centred squared norm
CONSTANT = 1e-13  # a feature is constant: norm of the centred column / norm of the column
EXACT_ONE, EXACT_SEVERAL = 1e-22, 1e-13  # smallest eigenvalue of a residual, relative to the targets' sums of squares
SEPARATED = 1e13  # trace at which classes are separated as far as a float64 can express
TINIEST = 1e-290  # below it a p-value is computed by its logarithm
TIE = 1e-9  # scores closer than this are equal
SIGNIFICANCE = 0.05

SEPARABILITY = frozenset({"trace", "pillai", "wilks", "roy"})
PENALISED = frozenset({"cp", "aic", "aicc", "bic", "ebic"})
LOWER_IS_BETTER = PENALISED | {"rss", "wilks"}


# ---------------------------------------------------------------------------------------------------------------------
# Problems: the rows, weighted and centred
# ---------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Regression:
    """Features and targets about their means, every row times the root of its weight: least squares with intercept."""

    n: float
    features: Floats
    targets: Floats
    exact: float

    @property
    def q(self) -> int:
        """The number of targets."""
        return int(self.targets.shape[1])

    @property
    def df0(self) -> float:
        """Degrees of freedom that are left with nothing selected."""
        return self.n - 1

    @property
    def reserve(self) -> int:
        """Degrees of freedom that must be left: E has an inverse only if every target has one."""
        return self.q

    def residual(self, subset: Sequence[int]) -> Floats:
        """The targets minus their projection on the span of the subset."""
        basis, _ = orthonormal(self.features, subset)
        return project_off(basis, self.targets)

    def error(self, subset: Sequence[int]) -> Floats:
        """E, the q x q matrix of residual sums of squares and products."""
        residual = self.residual(subset)
        return residual.T @ residual

    def log_det_error(self, subset: Sequence[int]) -> float:
        """log det E. The likelihood of an exact fit diverges: relative eigenvalues of E are at least `exact`."""
        norms = np.linalg.norm(self.targets, axis=0)
        values = np.linalg.svd(self.residual(subset) / norms, compute_uv=False)
        return float(2 * np.log(norms).sum() + np.log(np.maximum(values**2, self.exact)).sum())

    def log_lambda(self, subset: Sequence[int]) -> float:
        """Wilks' lambda(A) = det E_A / det E_0, as a logarithm."""
        return self.log_det_error(subset) - self.log_det_error(())

    def done(self, subset: Sequence[int]) -> bool:
        """Whether every target is explained to the last digit."""
        left = np.sum(self.residual(subset) ** 2, axis=0) / np.sum(self.targets**2, axis=0)
        return bool(left.max() <= self.exact)


@dataclass(frozen=True)
class Discriminant:
    """Features about their class means, every row times the root of its weight; and the class means about the mean.

    features' features = Sw and between' between = Sb, where row c of `between` is sqrt(n_c) (mean_c - mean).
    """

    n: float
    features: Floats
    between: Floats

    @property
    def classes(self) -> int:
        """C, the number of classes that have rows."""
        return len(self.between)

    @property
    def df0(self) -> float:
        """Degrees of freedom that are left with nothing selected."""
        return self.n - self.classes

    @property
    def reserve(self) -> int:
        """Degrees of freedom that must be left."""
        return 1

    def eigenvalues(self, subset: Sequence[int]) -> Floats:
        """Eigenvalues of inv(Sw) Sb: with W = Q R they are the squared singular values of between inv(R)."""
        basis, independent = orthonormal(self.features, subset)
        if not independent:
            return np.zeros(1)
        within = self.features[:, independent]
        scale = np.linalg.norm(within, axis=0)
        triangle = np.triu(basis.T @ (within / scale))
        whitened = np.linalg.solve(triangle.T, (self.between[:, independent] / scale).T)
        return np.asarray(np.linalg.svd(whitened, compute_uv=False) ** 2, dtype=np.float64)

    def done(self, subset: Sequence[int]) -> bool:
        """Whether the classes are separated as far as can be expressed."""
        return float(self.eigenvalues(subset).sum()) >= SEPARATED

    def log_lambda(self, subset: Sequence[int]) -> float:
        """Wilks' lambda(A) = prod 1 / (1 + lambda_i), as a logarithm."""
        return float(-np.log1p(self.eigenvalues(subset)).sum())


Problem = Regression | Discriminant


def problem_of(
    X: ArrayLike, y: ArrayLike, weights: ArrayLike | None, model: str, exact: float | None = None
) -> Problem:
    """Weight and centre the rows. A weight counts its row: 2 is the row twice, 0 is no row."""
    features, target = np.asarray(X, dtype=np.float64), np.asarray(y)
    w = np.ones(len(features)) if weights is None else np.asarray(weights, dtype=np.float64)
    features, target, w = features[w > 0], target[w > 0], w[w > 0]
    n, root = float(w.sum()), np.sqrt(w)[:, None]
    raw = root * features
    if model == "linear":
        targets = target.astype(np.float64).reshape(len(target), -1)
        centred = root * about_mean(features, w)
        exact = (EXACT_ONE if targets.shape[1] == 1 else EXACT_SEVERAL) if exact is None else exact
        return Regression(n, without_constants(centred, raw), root * about_mean(targets, w), exact)
    if model == "discriminant":
        within, between = about_mean(features, w), []
        for label in np.unique(target):
            rows = target == label
            class_mean = w[rows] @ within[rows] / w[rows].sum()
            between.append(np.sqrt(w[rows].sum()) * class_mean)
            within[rows] = about_mean(within[rows], w[rows])
        return Discriminant(n, without_constants(root * within, raw), np.array(between))
    raise ValueError(f"model={model!r}: the reference knows 'linear' and 'discriminant'.")


def about_mean(columns: Floats, w: Floats) -> Floats:
    """Columns minus their weighted means; the second round takes away the rounding of the first."""
    for _ in range(2):
        columns = columns - w @ columns / w.sum()
    return columns


def without_constants(centred: Floats, raw: Floats) -> Floats:
    """The centred columns, with those that hold nothing but rounding made exactly zero."""
    constant = np.linalg.norm(centred, axis=0) <= CONSTANT * np.linalg.norm(raw, axis=0)
    return np.where(constant, 0.0, centred)


def project_off(basis: Floats, columns: Floats) -> Floats:
    """Columns minus their part in the span of an orthonormal basis, twice, so that the rounding goes as well."""
    for _ in range(2):
        columns = columns - basis @ (basis.T @ columns)
    return columns


def orthonormal(features: Floats, subset: Sequence[int]) -> tuple[Floats, list[int]]:
    """Gram-Schmidt: an orthonormal basis of the subset, and the features that are no combination of earlier ones."""
    basis, independent = np.empty((len(features), 0)), []
    for j in subset:
        norm = np.linalg.norm(features[:, j])
        if norm == 0:
            continue
        residual = project_off(basis, features[:, j] / norm)
        if residual @ residual > ALIASED:
            basis = np.column_stack([basis, residual / np.linalg.norm(residual)])
            independent.append(j)
    return basis, independent


def size(problem: Problem, subset: Sequence[int]) -> int:
    """k, the number of linearly independent features of a subset."""
    return len(orthonormal(problem.features, subset)[1])


def aliased(
    X: ArrayLike,
    y: ArrayLike,
    subset: Sequence[int],
    j: int | Sequence[int],
    weights: ArrayLike | None = None,
    model: str = "linear",
) -> bool:
    """Whether feature (or group) j is constant or in the span of the subset; within classes for a discriminant."""
    return adds_nothing(problem_of(X, y, weights, model), subset, as_unit(j))


def adds_nothing(problem: Problem, subset: Sequence[int], unit: Unit) -> bool:
    """Whether a unit leaves the size of the subset as it is."""
    return size(problem, (*subset, *unit)) == size(problem, subset)


def as_unit(j: int | Sequence[int]) -> Unit:
    """One feature or a group of them, as a tuple."""
    return (int(j),) if isinstance(j, (int, np.integer)) else tuple(int(i) for i in j)


# ---------------------------------------------------------------------------------------------------------------------
# Criteria
# ---------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Criterion:
    """A criterion by name, with everything that it has to know besides the subset."""

    name: str
    sigma: Floats | None = None
    per_sample: bool = False
    gamma: float = 1.0
    n_candidates: float = 0
    corrected: bool = True


def score(
    criterion: str,
    X: ArrayLike,
    y: ArrayLike,
    subset: Sequence[int],
    *,
    weights: ArrayLike | None = None,
    model: str | None = None,
    exclude: Sequence[int] = (),
    sigma2: float | None = None,
    per_sample: bool = False,
    gamma: float = 1.0,
    n_candidates: int | None = None,
    corrected: bool = True,
) -> float:
    """The score of a subset of single features, in the criterion's own sign.

    `exclude` says which features the full model of Cp and the candidates of EBIC do without.
    """
    problem = problem_of(X, y, weights, model or model_of(criterion))
    known = criterion_of(problem, criterion, exclude, sigma2, per_sample, gamma, n_candidates, corrected)
    return score_of(problem, known, [(j,) for j in subset])


def model_of(criterion: str) -> str:
    """The model that a criterion belongs to."""
    return "discriminant" if criterion in SEPARABILITY else "linear"


def criterion_of(
    problem: Problem,
    name: str,
    exclude: Sequence[int] = (),
    sigma2: float | None = None,
    per_sample: bool = False,
    gamma: float = 1.0,
    n_candidates: int | None = None,
    corrected: bool = True,
    units: Sequence[Unit] | None = None,
) -> Criterion:
    """Fill in what is the same for all subsets: Sigma of Cp, the number of candidates of EBIC."""
    if isinstance(problem, Discriminant) != (name in SEPARABILITY):
        raise ValueError(f"criterion={name!r} does not belong to a {type(problem).__name__.lower()} problem.")
    candidates = [j for j in range(problem.features.shape[1]) if j not in set(exclude)]
    units = [(j,) for j in candidates] if units is None else units
    varying = [unit for unit in units if problem.features[:, list(unit)].any()]
    n_candidates = max(1, len(varying)) if n_candidates is None else n_candidates
    known = Criterion(name, None, per_sample, gamma, n_candidates, corrected)
    if name != "cp" or isinstance(problem, Discriminant):
        return known
    return replace(known, sigma=full_model_sigma(problem, candidates) if sigma2 is None else sigma2 * np.eye(problem.q))


def full_model_sigma(problem: Regression, candidates: Sequence[int]) -> Floats:
    """Sigma = E_full / (n - k_full - 1), of the model with all candidates."""
    df = problem.n - size(problem, candidates) - 1
    if df <= 0:
        raise ValueError(f"cp has no residual left in the full model (n = {problem.n:g}): give sigma2.")
    return problem.error(candidates) / df


def score_of(problem: Problem, criterion: Criterion, units: Sequence[Unit]) -> float:
    """The score of some units of a problem."""
    subset = flat(units)
    if isinstance(problem, Discriminant):
        return separability(criterion.name, problem.eigenvalues(subset))
    if criterion.name in {"rss", "r2", "adj_r2", "cp"}:
        return least_squares(problem, criterion, subset)
    return information(problem, criterion, units)


def separability(name: str, eigenvalues: Floats) -> float:
    """The four classical functions of the eigenvalues lambda_i of inv(Sw) Sb."""
    match name:
        case "trace":
            return float(np.sum(eigenvalues))
        case "pillai":
            return float(np.sum(eigenvalues / (1 + eigenvalues)))
        case "wilks":
            return float(np.prod(1 / (1 + eigenvalues)))
        case "roy":
            return float(np.max(eigenvalues))
    raise ValueError(f"criterion={name!r} is unknown.")


def least_squares(problem: Regression, criterion: Criterion, subset: Sequence[int]) -> float:
    """rss, r2, adj_r2 and Mallows' Cp."""
    n, q, k = problem.n, problem.q, size(problem, subset)
    error = problem.error(subset)
    rss, tss = float(np.trace(error)), float(np.trace(problem.error(())))
    match criterion.name:
        case "rss":
            return rss
        case "r2":
            return 1 - rss / tss
        case "adj_r2":
            return 1 - (rss / (n - k - 1)) / (tss / (n - 1))
    sigma = criterion.sigma
    if sigma is None:
        raise ValueError("cp needs sigma.")
    if criterion.per_sample:
        return (rss + 2 * k * float(np.trace(sigma))) / n
    return float(np.trace(np.linalg.solve(sigma, error))) - n * q + 2 * q * (k + 1)


def information(problem: Regression, criterion: Criterion, units: Sequence[Unit]) -> float:
    """aic, aicc, bic and ebic: n log det(E / n) plus a penalty."""
    subset = flat(units)
    n, q, k = problem.n, problem.q, size(problem, subset)
    fit = n * (problem.log_det_error(subset) - q * math.log(n))
    match criterion.name:
        case "aic":
            return fit + 2 * q * (k + 1)
        case "aicc":
            room = n - (k + 1) - q - 1
            return fit + 2 * n * (q * (k + 1) + q * (q + 1) / 2) / room if room > 0 else math.inf
        case "bic":
            return fit + math.log(n) * q * (k + 1)
        case "ebic":
            counted = sum(not adds_nothing(problem, flat(units[:i]), unit) for i, unit in enumerate(units))
            if not criterion.corrected:
                bic = fit + math.log(n) * q * (k + 1)
                return bic + 2 * criterion.gamma * log_binomial(criterion.n_candidates, counted)
            charges = [ebic_charge(problem, criterion, i, k / counted) for i in range(1, counted + 1)]
            return fit + math.log(n) * q + sum(charges)
    raise ValueError(f"criterion={criterion.name!r} is unknown.")


def ebic_charge(problem: Regression, criterion: Criterion, i: int, rank: float) -> float:
    """What the i-th unit is charged: Chen and Chen's charge, times Bartlett's factor, and at least that of a test.

    The test is the exact one at level 0.05 i / (m - i + 1) for gamma = 1: minus n log of the quantile of lambda.
    """
    n, q, m = problem.n, problem.q, criterion.n_candidates
    chances = criterion.gamma * max(0.0, math.log(max(m - i + 1, 1) / i))
    error = problem.df0 - i * rank
    room = error - (q - rank + 1) / 2
    # Rao's F, solved for lambda: F = (1 - L) / L * df2 / df1 with L = lambda ** (1 / t).
    t = math.sqrt((q**2 * rank**2 - 4) / (q**2 + rank**2 - 5)) if q**2 + rank**2 > 5 else 1.0
    df1 = q * rank
    df2 = (error + rank - (q + rank + 1) / 2) * t - (q * rank - 2) / 2
    if df2 <= 0 or room <= 0:
        return math.inf
    f = float(f_distribution.isf(SIGNIFICANCE * math.exp(-chances), df1, df2))
    return max((q * rank * math.log(n) + 2 * chances) * n / room, n * t * math.log1p(f * df1 / df2))


def log_binomial(n: float, k: float) -> float:
    """log of n over k."""
    return float(gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1))


def improvement(criterion: str, after: float, before: float) -> float:
    """The gain: score after minus score before, turned so that more is better."""
    if after == before:
        return 0.0
    return before - after if criterion in LOWER_IS_BETTER else after - before


# ---------------------------------------------------------------------------------------------------------------------
# Tests
# ---------------------------------------------------------------------------------------------------------------------


def lambda_partial(
    X: ArrayLike,
    y: ArrayLike,
    subset: Sequence[int],
    j: int | Sequence[int],
    *,
    weights: ArrayLike | None = None,
    model: str = "linear",
) -> float:
    """Partial Wilks' lambda of adding feature (or group) j to the subset: lambda(A + j) / lambda(A)."""
    return lambda_of(problem_of(X, y, weights, model), subset, as_unit(j))


def p_value(
    X: ArrayLike,
    y: ArrayLike,
    subset: Sequence[int],
    j: int | Sequence[int],
    *,
    weights: ArrayLike | None = None,
    model: str = "linear",
) -> float:
    """p-value of the partial Wilks' lambda of adding feature (or group) j to the subset."""
    return p_value_of(problem_of(X, y, weights, model), subset, as_unit(j))


def lambda_of(problem: Problem, subset: Sequence[int], unit: Unit) -> float:
    """lambda(A + unit) / lambda(A); 1 where nothing is left to explain."""
    return math.exp(problem.log_lambda((*subset, *unit)) - problem.log_lambda(subset))


def p_value_of(problem: Problem, subset: Sequence[int], unit: Unit) -> float:
    """One more independent feature: the exact partial F. Several: Rao's F. None: 1."""
    k = size(problem, subset)
    m = size(problem, (*subset, *unit)) - k
    if m == 0:
        return 1.0
    wilks = lambda_of(problem, subset, unit)
    if m == 1:
        return p_value_of_one(problem, wilks, k)
    if isinstance(problem, Regression):
        return rao(wilks, variates=problem.q, hypothesis=m, error=problem.df0 - k - m)
    return rao(wilks, variates=m, hypothesis=problem.classes - 1, error=problem.df0 - k)


def log_p_value_of(problem: Problem, subset: Sequence[int], unit: Unit) -> float:
    """The logarithm; where p underflows, by the series of the incomplete beta function (Abramowitz & Stegun 26.5.4)."""
    p = p_value_of(problem, subset, unit)
    if p > TINIEST:
        return math.log(p)
    k = size(problem, subset)
    m = size(problem, (*subset, *unit)) - k
    linear = isinstance(problem, Regression)
    v, h = (problem.q, m) if isinstance(problem, Regression) else (m, problem.classes - 1)
    error = problem.df0 - k - (m if linear else 0)
    t = math.sqrt((v**2 * h**2 - 4) / (v**2 + h**2 - 5)) if v**2 + h**2 > 5 else 1.0
    a, b = ((error + h - (v + h + 1) / 2) * t - (v * h - 2) / 2) / 2, v * h / 2
    log_x = (problem.log_lambda((*subset, *unit)) - problem.log_lambda(subset)) / t
    x = math.exp(log_x)
    series, term, i = 0.0, 1.0, 0
    while term > 1e-17 * series:
        series, term, i = series + term, term * (a + b + i) / (a + 1 + i) * x, i + 1
    return float(a * log_x + b * math.log1p(-x) - math.log(a) - betaln(a, b) + math.log(series))


def p_value_of_one(problem: Problem, wilks: float, k: int) -> float:
    """Exact: F = (1 - L) / L * nu / h on (h, nu) degrees of freedom, when one feature joins k others.

    h is the number of targets and nu = n - 1 - k - h; or h is the number of classes - 1 and nu = n - C - k.
    """
    if isinstance(problem, Regression):
        h = problem.q
        nu = problem.n - 1 - k - h
    else:
        h = problem.classes - 1
        nu = problem.n - problem.classes - k
    return upper_tail(wilks, h, nu)


def rao(wilks: float, variates: int, hypothesis: int, error: float) -> float:
    """Rao's F approximation (Rencher 6.15); exact when the variates or the hypothesis have 1 or 2 dimensions."""
    p, h = variates, hypothesis
    t = math.sqrt((p**2 * h**2 - 4) / (p**2 + h**2 - 5)) if p**2 + h**2 > 5 else 1.0
    w = error + h - (p + h + 1) / 2
    return upper_tail(wilks ** (1 / t), p * h, w * t - (p * h - 2) / 2)


def upper_tail(wilks: float, df1: float, df2: float) -> float:
    """P(F > (1 - L) / L * df2 / df1); without degrees of freedom there is no evidence: 1."""
    if df2 <= 0:
        return 1.0
    if wilks == 0:
        return 0.0
    return float(f_distribution.sf((1 - wilks) / wilks * df2 / df1, df1, df2))


# ---------------------------------------------------------------------------------------------------------------------
# Search: what is selected, in the pool, dropped; which moves there are and what they bring
# ---------------------------------------------------------------------------------------------------------------------


class Step(NamedTuple):
    """A move that was made."""

    phase: str
    action: str
    features: Unit
    gain: float
    score: float
    pool: int


class Move(NamedTuple):
    """A move that is possible: units that leave, units that enter, the gain."""

    leaving: tuple[Unit, ...]
    entering: tuple[Unit, ...]
    gain: float
    aliased: bool


@dataclass(frozen=True)
class ReferencePath:
    """What was selected (in order of entry), and how."""

    selected: Unit
    steps: list[Step]
    score: float
    start: float
    n_evaluations: int
    margin: float


class Level(NamedTuple):
    """A test at a level, which "bonferroni" divides by the number of units that could be chosen at the start."""

    level: float
    correction: str | None = None


Threshold = float | Level | Literal["auto"]


@dataclass(frozen=True)
class Rules:
    """Which moves are allowed: a number is a threshold of gains, a Level (correction applied) a test."""

    enter: float | Level
    leave: float | Level
    drop: float | Level
    max_features: float = math.inf
    rounds: float = 1


@dataclass
class Search:
    """The state of a search, in units."""

    problem: Problem
    criterion: Criterion
    rules: Rules
    pool: list[Unit]
    selected: list[Unit] = field(default_factory=list)
    kept: list[Unit] = field(default_factory=list)
    dropped: list[Unit] = field(default_factory=list)
    computed: set[Move] = field(default_factory=set)
    n_evaluations: int = 0
    margin: float = math.inf  # smallest relative distance of a decision from the opposite one
    grown: set[frozenset[Unit]] = field(default_factory=set)

    # What things are worth

    def score(self, units: Sequence[Unit] | None = None) -> float:
        """The score of some units, by default of the selected ones."""
        return score_of(self.problem, self.criterion, self.selected if units is None else units)

    def gain(self, after: Sequence[Unit], before: float) -> float:
        """What it brings to have the units `after` instead of a score `before`."""
        return improvement(self.criterion.name, self.score(after), before)

    def without(self, unit: Unit) -> list[Unit]:
        """The selected units but one."""
        return [other for other in self.selected if other != unit]

    def adds_nothing(self, units: Sequence[Unit], unit: Unit) -> bool:
        """Whether a unit is constant or in the span of other units."""
        self.check_separation(flat([*units, unit]))
        return adds_nothing(self.problem, flat(units), unit)

    def check_separation(self, subset: Unit) -> None:
        """Features that depend on each other within classes only separate these perfectly: then nothing is decided."""
        if isinstance(self.problem, Discriminant):
            whole = np.vstack([self.problem.features, self.problem.between])
            if len(orthonormal(whole, subset)[1]) > size(self.problem, subset):
                self.margin = 0.0

    def fits(self, units: Sequence[Unit], unit: Unit) -> bool:
        """Whether the rows leave room for a unit besides others."""
        after = max(size(self.problem, flat([*units, unit])), size(self.problem, flat(units)) + 1)
        return self.problem.df0 - after >= self.problem.reserve

    # Scans; n_evaluations counts a gain once for one selected set, however often that set is scanned

    def additions(self) -> list[Move]:
        """The gain of each candidate of the pool."""
        moves, before = [], self.score()
        for unit in self.pool:
            impossible = not self.fits(self.selected, unit) or self.adds_nothing(self.selected, unit)
            gain = 0.0 if impossible else self.gain([*self.selected, unit], before)
            moves.append(Move((), (unit,), gain, impossible))
        return self.counted(moves)

    def removals(self) -> list[Move]:
        """The gain (minus the loss) of removing each selected unit that may be removed."""
        moves, before = [], self.score()
        for unit in self.removable():
            moves.append(Move((unit,), (), self.gain(self.without(unit), before), False))
        return self.counted(moves)

    def exchanges(self, pool: Sequence[Unit] | None = None) -> list[Move]:
        """The gain of removing i and adding j, for each pair of a removable i and a j (by default of the pool)."""
        moves, before = [], self.score()
        for i in self.removable():
            rest = self.without(i)
            for j in self.pool if pool is None else pool:
                impossible = not self.fits(rest, j) or self.adds_nothing(rest, j)
                gain = 0.0 if impossible else self.gain([*rest, j], before)
                moves.append(Move((i,), (j,), gain, impossible))
        return self.counted(moves)

    def removable(self) -> list[Unit]:
        """The selected units that were not there from the start, lowest index first."""
        return sorted(unit for unit in self.selected if unit not in self.kept)

    def counted(self, moves: list[Move]) -> list[Move]:
        """The moves, noted down as computed for the set that is selected now."""
        self.n_evaluations += len(set(moves) - self.computed)
        self.computed.update(moves)
        return moves

    # Rules

    def goes_round(self) -> bool:
        """Whether the selected set grew once already: what follows would repeat itself for ever."""
        now = frozenset(self.selected)
        came_back = now in self.grown
        self.grown.add(now)
        return came_back

    def enters(self, move: Move) -> bool:
        """gain > enter, or a p-value of at most the level."""
        if move.aliased:
            return False
        if isinstance(self.rules.enter, Level):
            return self.decided(self.p_to_enter(move), self.rules.enter.level, test=True) <= self.rules.enter.level
        return self.decided(move.gain, self.rules.enter) > self.rules.enter

    def leaves(self, move: Move) -> bool:
        """loss <= leave, or a p-value above the level, or there are too many units anyway."""
        if len(self.selected) > self.rules.max_features:
            return True
        if isinstance(self.rules.leave, Level):
            return self.decided(self.p_to_leave(move), self.rules.leave.level, test=True) > self.rules.leave.level
        return self.decided(-move.gain, self.rules.leave) <= self.rules.leave

    def useless(self, move: Move) -> bool:
        """gain <= drop, or a p-value above the level."""
        if isinstance(self.rules.drop, Level):
            return self.decided(self.p_to_enter(move), self.rules.drop.level, test=True) > self.rules.drop.level
        return (0.0 if move.aliased else self.decided(move.gain, self.rules.drop)) <= self.rules.drop

    def decided(self, value: float, bound: float, *, test: bool = False) -> float:
        """The value, after taking down how far it is from its bound, relative to what rounding is relative to."""
        if math.isfinite(bound) and math.isfinite(value):
            unit = 1.0 if self.criterion.name in SEPARABILITY | {"r2", "adj_r2"} else 0.0
            scale = bound if test else max(abs(self.score()), abs(value), abs(bound), unit) * 1e-3
            self.margin = min(self.margin, abs(value - bound) / scale if scale else math.inf)
        return value

    def chosen(self, moves: Sequence[Move], values: Sequence[float] | None = None) -> Move | None:
        """The best move, after taking down how far the others are from a tie with it."""
        gains = [move.gain for move in moves] if values is None else values
        real = [value for value, move in zip(gains, moves, strict=True) if not move.aliased and math.isfinite(value)]
        if real:
            scale = max(abs(value) for value in real)
            if values is None and scale < 1e-12 * abs(self.score(())):
                self.margin = 0.0  # of an exact fit, gains are rounding
            gaps = [(max(real) - value) / scale for value in real if scale]
            self.margin = min([self.margin, *(gap for gap in gaps if gap > TIE / 100)])
        return best(moves, values)

    def p_to_enter(self, move: Move) -> float:
        """The p-value of the unit that would enter; 1 if it cannot."""
        return 1.0 if move.aliased else p_value_of(self.problem, flat(self.selected), move.entering[0])

    def p_to_leave(self, move: Move) -> float:
        """The p-value of the unit that would leave, given the others."""
        (unit,) = move.leaving
        return p_value_of(self.problem, flat(self.without(unit)), unit)

    def log_p(self, subset: Unit, unit: Unit) -> float:
        """Logarithm of a p-value, also of one that underflows."""
        return log_p_value_of(self.problem, subset, unit)

    # Choices

    def best_to_enter(self, moves: Sequence[Move]) -> Move | None:
        """The largest gain; where a test judges units of different ranks, the smallest p-value."""
        now = size(self.problem, flat(self.selected))
        ranks = {size(self.problem, flat([*self.selected, *m.entering])) - now for m in moves if not m.aliased}
        if isinstance(self.rules.enter, Level) and len(ranks) > 1:
            return self.chosen(moves, [-self.log_p(flat(self.selected), *move.entering) for move in moves])
        return self.chosen(moves)

    def best_to_leave(self, moves: Sequence[Move]) -> Move | None:
        """The smallest loss; where a test judges units of different ranks, the largest p-value."""
        now = size(self.problem, flat(self.selected))
        ranks = {now - size(self.problem, flat(self.without(*move.leaving))) for move in moves}
        if isinstance(self.rules.leave, Level) and len(ranks) > 1:
            return self.chosen(moves, [self.log_p(flat(self.without(*move.leaving)), *move.leaving) for move in moves])
        return self.chosen(moves)

    @property
    def full(self) -> bool:
        """Whether max_features is reached."""
        return len(self.selected) >= self.rules.max_features

    # Steps

    def add(self, units: Sequence[Unit], phase: str) -> Step:
        """Select units."""
        before = self.score()
        self.selected.extend(units)
        self.pool = [unit for unit in self.pool if unit not in units]
        self.computed = set()
        return self.step(phase, "add", units, self.gain(self.selected, before))

    def remove(self, unit: Unit, phase: str) -> Step:
        """Give a selected unit back to the pool."""
        before = self.score()
        self.selected.remove(unit)
        self.pool = sorted([*self.pool, unit])
        self.computed = set()
        return self.step(phase, "remove", [unit], self.gain(self.selected, before))

    def drop(self, units: Sequence[Unit], phase: str) -> Step:
        """Take units out of the pool until they are recalled."""
        self.pool = [unit for unit in self.pool if unit not in units]
        self.dropped.extend(units)
        return self.step(phase, "drop", [tuple(sorted(flat(units)))], 0.0)

    def recall(self, phase: str) -> Step:
        """Put everything that was dropped back into the pool: C = {X_1, ..., X_p} minus R."""
        units, self.dropped = self.dropped, []
        self.pool = sorted([*self.pool, *units])
        return self.step(phase, "recall", [tuple(sorted(flat(units)))], 0.0)

    def step(self, phase: str, action: str, units: Sequence[Unit], gain: float) -> Step:
        """Write down a step that was just made."""
        return Step(phase, action, flat(units), gain, self.score(), len(self.pool))


def flat(units: Sequence[Unit]) -> Unit:
    """The features of some units."""
    return tuple(j for unit in units for j in unit)


def best(moves: Sequence[Move], values: Sequence[float] | None = None) -> Move | None:
    """The largest gain (or value) of what is not aliased; the lowest index (leaving, then entering) of equal ones."""
    values = [move.gain for move in moves] if values is None else values
    real = [(value, move) for value, move in zip(values, moves, strict=True) if not move.aliased]
    if not real:
        return None
    slack = TIE * max((abs(value) for value, _ in real if math.isfinite(value)), default=0.0)
    top = max(value for value, _ in real)
    return min((move for value, move in real if value >= top - slack), key=lambda move: (move.leaving, move.entering))


# ---------------------------------------------------------------------------------------------------------------------
# Strategies, as the boxes of the paper write them. R = search.selected, C = search.pool.
# ---------------------------------------------------------------------------------------------------------------------

Strategy = Callable[[Search], Iterator[Step]]


def forward(search: Search, phase: str = "forward", *, dropping: bool = False) -> Iterator[Step]:
    """Add to R the feature that improves the fit the most. Stop when no feature improves it more than alpha.

    With dropping: remove from C the features that did not improve the fit more than beta in that same scan.
    """
    while search.pool and not search.full and not search.problem.done(flat(search.selected)):
        if search.problem.df0 - size(search.problem, flat(search.selected)) - 1 < search.problem.reserve:
            return
        few = len(search.problem.features) - size(search.problem, flat(search.selected)) <= search.problem.reserve + 2
        if few and search.problem.reserve > 1:
            search.margin = 0.0  # several targets with hardly any rows left for them: residuals are rounding
        scan = search.additions()
        move = search.best_to_enter(scan)
        if move is None or not search.enters(move) or search.goes_round():
            return
        (unit,) = move.entering
        useless = [other.entering[0] for other in scan if dropping and other != move and search.useless(other)]
        yield search.add([unit], phase)
        if useless:
            yield search.drop(useless, phase)


def backward(search: Search) -> Iterator[Step]:
    """Remove from R the least useful feature, one at a time, as long as that costs no more than beta."""
    while True:
        move = search.best_to_leave(search.removals())
        if move is None or not search.leaves(move):
            return
        yield search.remove(move.leaving[0], "backward")


def backward_from_all(search: Search) -> Iterator[Step]:
    """R = all features, except constant ones and combinations of earlier ones. Then backward steps."""
    units: list[Unit] = []
    for unit in search.pool:
        there = [*search.selected, *units]
        room = search.problem.df0 - size(search.problem, flat([*there, unit])) >= search.problem.reserve
        if room and not search.adds_nothing(there, unit):
            units.append(unit)
    if units:
        yield search.add(units, "start")
    yield from backward(search)


def stepwise(search: Search) -> Iterator[Step]:
    """A forward step, then backward steps to the end; again, until no feature enters."""
    for step in forward(search):
        yield step
        yield from backward(search)


def forward_backward(search: Search) -> Iterator[Step]:
    """Forward steps to the end, then backward steps to the end."""
    yield from forward(search)
    yield from backward(search)


def dropping(search: Search) -> Iterator[Step]:
    """Forward dropping steps; re-forward steps over all that is not in R, without dropping; backward steps."""
    yield from forward(search, dropping=True)
    if search.dropped:
        yield search.recall("re-forward")
    yield from forward(search, "re-forward")
    yield from exchange(search)
    yield from backward(search)


def exchange(search: Search) -> Iterator[Step]:
    """At max_features: the best candidate takes the place of the least useful feature, while the score improves."""
    while search.full and search.pool and not search.problem.done(flat(search.selected)):
        candidate = search.best_to_enter(search.additions())
        if candidate is None or not search.enters(candidate):
            return
        move = search.chosen(search.exchanges(candidate.entering))
        if move is None or not improves(search, move) or search.goes_round():
            return
        yield search.remove(move.leaving[0], "swap")
        yield search.add(move.entering, "swap")


def fbed(search: Search) -> Iterator[Step]:
    """Forward dropping steps, then up to `rounds` further rounds of them over all that is not in R; backward steps."""
    yield from forward(search, dropping=True)
    rounds = 0
    while rounds < search.rules.rounds and search.dropped:
        rounds += 1
        yield search.recall("re-forward")
        before = list(search.selected)
        yield from forward(search, "re-forward", dropping=True)
        if search.selected == before:
            break
    if search.rules.max_features < math.inf:
        if search.dropped:
            yield search.recall("re-forward")
        yield from forward(search, "re-forward")
        yield from exchange(search)
    yield from backward(search)


def floating(search: Search) -> Iterator[Step]:
    """A forward step, then removals as long as they give a better set of that size than any seen so far; again."""
    record = {len(search.selected): search.score()}
    smallest = len(search.selected) + 2
    moved = True
    while moved:
        moved = False
        for step in forward(search):
            moved = True
            yield step
            keep_record(record, search)
            break
        while moved and len(search.selected) > smallest:
            move = search.chosen(search.removals())
            if move is None or not beats_record(record, search, search.without(move.leaving[0])):
                break
            yield search.remove(move.leaving[0], "backward")
            keep_record(record, search)


def beats_record(record: dict[int, float], search: Search, units: Sequence[Unit]) -> bool:
    """Whether some units score strictly better than the best set of as many units so far."""
    if len(units) not in record:
        return True
    new, old = search.score(units), record[len(units)]
    return improvement(search.criterion.name, new, old) > TIE * max(abs(new), abs(old))


def keep_record(record: dict[int, float], search: Search) -> None:
    """Note the score of the selected set if it is the best of its number of units."""
    units, new = len(search.selected), search.score()
    if units not in record or improvement(search.criterion.name, new, record[units]) > 0:
        record[units] = new


def swap(search: Search) -> Iterator[Step]:
    """Forward steps to the end; then the best exchange of one selected feature for another, until none improves."""
    yield from forward(search)
    while not search.problem.done(flat(search.selected)):
        move = search.chosen(search.exchanges())
        if move is None or not improves(search, move) or search.goes_round():
            return
        yield search.remove(move.leaving[0], "swap")
        yield search.add(move.entering, "swap")


def improves(search: Search, move: Move) -> bool:
    """Whether an exchange makes the score better by more than rounding could do."""
    before = search.score()
    after = search.score([*search.without(move.leaving[0]), *move.entering])
    return move.gain > TIE * max(abs(before), abs(after))


STRATEGIES: dict[str, Strategy] = {
    "forward": forward,
    "backward": backward_from_all,
    "stepwise": stepwise,
    "forward_backward": forward_backward,
    "dropping": dropping,
    "fbed": fbed,
    "floating": floating,
    "swap": swap,
}


# ---------------------------------------------------------------------------------------------------------------------
# A whole path
# ---------------------------------------------------------------------------------------------------------------------


def run(
    strategy: str,
    X: ArrayLike,
    y: ArrayLike,
    *,
    criterion: str,
    model: str | None = None,
    enter: Threshold = "auto",
    leave: Threshold = "auto",
    drop: Threshold | None = None,
    max_features: int | None = None,
    rounds: float = 1,
    include: Sequence[int] = (),
    exclude: Sequence[int] = (),
    groups: Sequence[Any] | None = None,
    weights: ArrayLike | None = None,
    exact: float | None = None,
    **criterion_params: Any,
) -> ReferencePath:
    """Select features from the rows, the slow way. Rules are numbers, Levels or "auto"."""
    problem = problem_of(X, y, weights, model or model_of(criterion), exact)
    units = units_of(problem.features.shape[1], groups)
    kept = list(dict.fromkeys(unit for j in include for unit in units if j in unit))
    candidates = [unit for unit in units if not set(unit) & set(exclude)]
    pool = [unit for unit in candidates if unit not in kept]
    rules = replace(
        rules_of(problem, criterion, pool, enter, leave, drop),
        max_features=math.inf if max_features is None else max_features,
        rounds=rounds,
    )
    numbers = not isinstance(rules.enter, Level) and not isinstance(rules.leave, Level)
    if strategy == "stepwise" and numbers and rules.leave > rules.enter:
        raise ValueError(f"stepwise could cycle: leave={rules.leave} is above enter={rules.enter}.")
    known = criterion_of(problem, criterion, exclude, **criterion_params, units=candidates)
    search = Search(problem, known, rules, pool, kept=kept)
    start = search.score()
    steps = list(from_the_included(search, STRATEGIES[strategy]))
    return ReferencePath(in_order_of_entry(steps), steps, search.score(), start, search.n_evaluations, search.margin)


def in_order_of_entry(steps: Sequence[Step]) -> Unit:
    """The features that were added and not removed since."""
    selected: list[int] = []
    for step in steps:
        if step.action == "add":
            selected += step.features
        if step.action == "remove":
            selected = [j for j in selected if j not in step.features]
    return tuple(selected)


def from_the_included(search: Search, strategy: Strategy) -> Iterator[Step]:
    """The included features first, then the steps of the strategy."""
    if search.kept:
        yield search.add(search.kept, "start")
    yield from strategy(search)


def rules_of(
    problem: Problem,
    criterion: str,
    pool: Sequence[Unit],
    enter: Threshold,
    leave: Threshold,
    drop: Threshold | None,
) -> Rules:
    """What "auto" and None mean.

    "auto" is 0 for a criterion with a penalty, and for the others a test: at 0.05 / m to enter and to leave, m = the
    units that could be chosen (neither excluded, included nor constant), and at 0.05 to stay in the pool. An explicit
    `enter` holds for `leave` as well, unless that is given. `drop=None` is `leave` where that is a number.
    """
    m = max(1, sum(not adds_nothing(problem, (), unit) for unit in pool))
    if leave == "auto" and enter != "auto":
        leave = enter

    def rule(value: Threshold, level: float) -> float | Level:
        if isinstance(value, Level):
            return Level(value.level / m if value.correction == "bonferroni" else value.level)
        if value == "auto":
            return 0.0 if criterion in PENALISED else Level(level)
        return value

    leaving = rule(leave, SIGNIFICANCE / m)
    if drop is None:
        drop = Level(SIGNIFICANCE) if isinstance(leaving, Level) else leaving
    return Rules(rule(enter, SIGNIFICANCE / m), leaving, rule(drop, SIGNIFICANCE))


def units_of(p: int, groups: Sequence[Any] | None) -> list[Unit]:
    """What can be chosen, lowest index first: features, or groups (labels, or lists of features)."""
    if groups is None:
        return [(j,) for j in range(p)]
    if all(isinstance(group, (list, tuple, set, np.ndarray)) for group in groups):
        named = [tuple(sorted(int(j) for j in group)) for group in groups]
        return sorted([*named, *((j,) for j in range(p) if j not in set(flat(named)))])
    return [tuple(j for j in range(p) if groups[j] == label) for label in dict.fromkeys(groups)]
