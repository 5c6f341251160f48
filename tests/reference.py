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
from scipy.special import gammaln
from scipy.stats import f as f_distribution

Floats = NDArray[np.float64]
Unit = tuple[int, ...]
Threshold = float | Literal["auto"]

ALIASED = 1e-10  # a feature is in the span of others: squared norm of its residual / its own centred squared norm
CONSTANT = 1e-13  # a feature is constant: norm of the centred column / norm of the column
EXACT = 1e-13  # a target is explained to the last digit: norm of its residual / its own centred norm
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
        """log det E, from the QR factors of the residuals: det E = prod diag(R)^2."""
        residual = self.residual(subset)
        norms = np.linalg.norm(residual, axis=0)
        if len(residual) < len(norms) or np.any(norms <= EXACT * np.linalg.norm(self.targets, axis=0)):
            return -math.inf
        diagonal = np.abs(np.diag(np.linalg.qr(residual / norms, mode="r")))
        if diagonal.min() <= EXACT:
            return -math.inf
        return float(2 * np.log(norms).sum() + 2 * np.log(diagonal).sum())

    def log_lambda(self, subset: Sequence[int]) -> float:
        """Wilks' lambda(A) = det E_A / det E_0, as a logarithm."""
        total = self.log_det_error(())
        return 0.0 if total == -math.inf else self.log_det_error(subset) - total


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

    def log_lambda(self, subset: Sequence[int]) -> float:
        """Wilks' lambda(A) = prod 1 / (1 + lambda_i), as a logarithm."""
        return float(-np.log1p(self.eigenvalues(subset)).sum())


Problem = Regression | Discriminant


def problem_of(X: ArrayLike, y: ArrayLike, weights: ArrayLike | None, model: str) -> Problem:
    """Weight and centre the rows. A weight counts its row: 2 is the row twice, 0 is no row."""
    features, target = np.asarray(X, dtype=np.float64), np.asarray(y)
    w = np.ones(len(features)) if weights is None else np.asarray(weights, dtype=np.float64)
    features, target, w = features[w > 0], target[w > 0], w[w > 0]
    n, root = float(w.sum()), np.sqrt(w)[:, None]
    raw = root * features
    if model == "linear":
        targets = target.astype(np.float64).reshape(len(target), -1)
        centred = root * about_mean(features, w)
        return Regression(n, without_constants(centred, raw), root * about_mean(targets, w))
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
) -> float:
    """The score of a subset, in the criterion's own sign.

    `exclude` says which features the full model of Cp and the candidates of EBIC do without.
    """
    problem = problem_of(X, y, weights, model or model_of(criterion))
    known = criterion_of(problem, criterion, exclude, sigma2, per_sample, gamma, n_candidates)
    return score_of(problem, known, subset)


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
) -> Criterion:
    """Fill in what is the same for all subsets: Sigma of Cp, the number of candidates of EBIC."""
    if isinstance(problem, Discriminant) != (name in SEPARABILITY):
        raise ValueError(f"criterion={name!r} does not belong to a {type(problem).__name__.lower()} problem.")
    candidates = [j for j in range(problem.features.shape[1]) if j not in set(exclude)]
    varying = [j for j in candidates if problem.features[:, j].any()]
    known = Criterion(name, None, per_sample, gamma, len(varying) if n_candidates is None else n_candidates)
    if name != "cp" or isinstance(problem, Discriminant):
        return known
    return replace(known, sigma=full_model_sigma(problem, candidates) if sigma2 is None else sigma2 * np.eye(problem.q))


def full_model_sigma(problem: Regression, candidates: Sequence[int]) -> Floats:
    """Sigma = E_full / (n - k_full - 1), of the model with all candidates."""
    df = problem.n - size(problem, candidates) - 1
    if df <= 0:
        raise ValueError(f"cp has no residual left in the full model (n = {problem.n:g}): give sigma2.")
    return problem.error(candidates) / df


def score_of(problem: Problem, criterion: Criterion, subset: Sequence[int]) -> float:
    """The score of a subset of a problem."""
    if isinstance(problem, Discriminant):
        return separability(criterion.name, problem.eigenvalues(subset))
    if criterion.name in {"rss", "r2", "adj_r2", "cp"}:
        return least_squares(problem, criterion, subset)
    return information(problem, criterion, subset)


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


def information(problem: Regression, criterion: Criterion, subset: Sequence[int]) -> float:
    """aic, aicc, bic and ebic: n log det(E / n) plus a penalty."""
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
            return fit + math.log(n) * q * (k + 1) + 2 * criterion.gamma * log_binomial(criterion.n_candidates, k)
    raise ValueError(f"criterion={criterion.name!r} is unknown.")


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
    before = problem.log_lambda(subset)
    return 1.0 if before == -math.inf else math.exp(problem.log_lambda((*subset, *unit)) - before)


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


@dataclass(frozen=True)
class Rules:
    """Which moves are allowed. A threshold is a number, or "auto": the test, at `level` = 0.05 / m."""

    enter: Threshold
    leave: Threshold
    drop: Threshold
    level: float
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
    grown: set[frozenset[Unit]] = field(default_factory=set)

    # What things are worth

    def score(self, units: Sequence[Unit] | None = None) -> float:
        """The score of some units, of the selected ones unless told."""
        return score_of(self.problem, self.criterion, flat(self.selected if units is None else units))

    def gain(self, after: Sequence[Unit], before: float) -> float:
        """What it brings to have the units `after` instead of a score `before`."""
        return improvement(self.criterion.name, self.score(after), before)

    def without(self, unit: Unit) -> list[Unit]:
        """The selected units but one."""
        return [other for other in self.selected if other != unit]

    def adds_nothing(self, units: Sequence[Unit], unit: Unit) -> bool:
        """Whether a unit is constant or in the span of other units."""
        return adds_nothing(self.problem, flat(units), unit)

    def fits(self, units: Sequence[Unit], unit: Unit) -> bool:
        """Whether the rows and max_features leave room for a unit besides others."""
        if len(flat(units)) + len(unit) > self.rules.max_features:
            return False
        after = max(size(self.problem, flat([*units, unit])), size(self.problem, flat(units)) + 1)
        return self.problem.df0 - after >= self.problem.reserve

    # Scans; n_evaluations counts a gain once for one selected set, however often that set is scanned

    def additions(self) -> list[Move]:
        """The gain of each candidate of the pool."""
        moves, before = [], self.score()
        for unit in self.pool:
            if self.fits(self.selected, unit):
                nothing = self.adds_nothing(self.selected, unit)
                gain = 0.0 if nothing else self.gain([*self.selected, unit], before)
                moves.append(Move((), (unit,), gain, nothing))
        return self.counted(moves)

    def removals(self) -> list[Move]:
        """The gain (minus the loss) of removing each selected unit that may be removed."""
        moves, before = [], self.score()
        for unit in self.removable():
            rest = self.without(unit)
            lossless = isinstance(self.problem, Regression) and self.adds_nothing(rest, unit)
            moves.append(Move((unit,), (), 0.0 if lossless else self.gain(rest, before), False))
        return self.counted(moves)

    def exchanges(self) -> list[Move]:
        """The gain of removing i and adding j, for each pair of a removable i and a j of the pool."""
        moves, before = [], self.score()
        for i in self.removable():
            rest = self.without(i)
            for j in self.pool:
                if self.fits(rest, j):
                    moves.append(Move((i,), (j,), self.gain([*rest, j], before), self.adds_nothing(rest, j)))
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
        """Under a test, whether the selected set grew once already: what follows would repeat itself for ever."""
        if "auto" not in (self.rules.enter, self.rules.leave, self.rules.drop):
            return False
        now = frozenset(self.selected)
        came_back = now in self.grown
        self.grown.add(now)
        return came_back

    def enters(self, move: Move) -> bool:
        """gain > enter, or a p-value of at most 0.05 / m."""
        if move.aliased:
            return False
        if self.rules.enter == "auto":
            return p_value_of(self.problem, flat(self.selected), move.entering[0]) <= self.rules.level
        return move.gain > self.rules.enter

    def leaves(self, move: Move) -> bool:
        """loss <= leave, or a p-value above 0.05 / m, or there are too many features anyway."""
        (unit,) = move.leaving
        if len(flat(self.selected)) > self.rules.max_features:
            return True
        if self.rules.leave == "auto":
            return p_value_of(self.problem, flat(self.without(unit)), unit) > self.rules.level
        return -move.gain <= self.rules.leave

    def useless(self, move: Move) -> bool:
        """gain <= drop, or a p-value above 0.05."""
        if self.rules.drop == "auto":
            return p_value_of(self.problem, flat(self.selected), move.entering[0]) > SIGNIFICANCE
        return move.gain <= self.rules.drop

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


def best(moves: Sequence[Move]) -> Move | None:
    """The largest gain of moves that are not aliased; among equal ones the lowest index (leaving, then entering)."""
    real = [move for move in moves if not move.aliased]
    if not real:
        return None
    slack = TIE * max((abs(move.gain) for move in real if math.isfinite(move.gain)), default=0.0)
    top = max(move.gain for move in real)
    return min((move for move in real if move.gain >= top - slack), key=lambda move: (move.leaving, move.entering))


# ---------------------------------------------------------------------------------------------------------------------
# Strategies, as the boxes of the paper write them. R = search.selected, C = search.pool.
# ---------------------------------------------------------------------------------------------------------------------

Strategy = Callable[[Search], Iterator[Step]]


def forward(search: Search, phase: str = "forward", *, dropping: bool = False) -> Iterator[Step]:
    """Add to R the feature that improves the fit the most. Stop when no feature improves it more than alpha.

    With dropping: remove from C the features that did not improve the fit more than beta in that same scan.
    """
    while True:
        scan = search.additions()
        move = best(scan)
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
        move = best(search.removals())
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
    yield from backward(search)


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
    yield from backward(search)


def floating(search: Search) -> Iterator[Step]:
    """A forward step, then removals as long as they give a better set of that size than any seen so far; again."""
    record = {len(search.selected): search.score()}
    moved = True
    while moved:
        moved = False
        move = best(search.additions())
        if move is not None and search.enters(move) and not search.goes_round():
            moved = True
            yield search.add(move.entering, "forward")
            keep_record(record, search)
        while len(search.selected) > 2:
            move = best(search.removals())
            if move is None or not beats_record(record, search, search.without(move.leaving[0])):
                break
            moved = True
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
    while True:
        move = best(search.exchanges())
        if move is None or not improves(search, move):
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
    **criterion_params: Any,
) -> ReferencePath:
    """Select features from the rows, the slow way. Thresholds are numbers or "auto"."""
    problem = problem_of(X, y, weights, model or model_of(criterion))
    pool = units_of(problem.features.shape[1], groups, taken={*include, *exclude})
    rules = replace(
        rules_of(problem, criterion, pool, enter, leave, drop),
        max_features=math.inf if max_features is None else max_features,
        rounds=rounds,
    )
    if strategy == "stepwise" and "auto" not in (rules.enter, rules.leave) and float(rules.leave) > float(rules.enter):
        raise ValueError(f"stepwise could cycle: leave={rules.leave} is above enter={rules.enter}.")
    known = criterion_of(problem, criterion, exclude, **criterion_params)
    search = Search(problem, known, rules, pool, kept=[(int(j),) for j in include])
    start = search.score()
    steps = list(from_the_included(search, STRATEGIES[strategy]))
    return ReferencePath(in_order_of_entry(steps), steps, search.score(), start, search.n_evaluations)


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
    """The thresholds: "auto" is 0 for a criterion with a penalty, and stays "auto", the test, for the others.

    The level of the test is 0.05 / m, m = the units that could be chosen: neither excluded, included nor constant.
    """
    m = sum(not adds_nothing(problem, (), unit) for unit in pool)
    drop = leave if drop is None else drop
    if criterion in PENALISED:
        enter, leave, drop = (0.0 if value == "auto" else value for value in (enter, leave, drop))
    return Rules(enter, leave, drop, level=SIGNIFICANCE / max(m, 1))


def units_of(p: int, groups: Sequence[Any] | None, taken: set[int]) -> list[Unit]:
    """What can be chosen, lowest index first: groups (labels, or lists of features) without the features taken."""
    if groups is None:
        parts: list[Unit] = [(j,) for j in range(p)]
    elif all(isinstance(group, (list, tuple, set, np.ndarray)) for group in groups):
        named = [tuple(int(j) for j in group) for group in groups]
        parts = [*named, *((j,) for j in range(p) if j not in set(flat(named)))]
    else:
        parts = [tuple(j for j in range(p) if groups[j] == label) for label in dict.fromkeys(groups)]
    left = [tuple(sorted(j for j in part if j not in taken)) for part in parts]
    return sorted(part for part in left if part)
