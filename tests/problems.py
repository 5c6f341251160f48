"""Random selection problems, drawn from a seed: degenerate tables of many kinds, with all parameters of a selection.

Collinear groups (full one-hot encoding, nested factors), units of unequal rank, exact fits, several targets of which
one may be explained exactly, few rows, exact multiples, sums, copies and constants, weights, max_features, include and
exclude, with every strategy, criterion and rule. `compare` runs the library and the reference on one problem.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from unittest import mock

import numpy as np
from numpy.typing import NDArray

import dropstep
import reference
from dropstep import SelectionPath, Significance, select
from dropstep.models.least_squares import best_subsets as subsets
from dropstep.models.least_squares.criteria import CRITERIA
from dropstep.search.strategies import STRATEGIES

AMBIGUOUS = 1e-6  # relative margin of a decision below which rounding error may decide it
UNIT_SCALE = dict.fromkeys(["trace", "pillai", "roy", "r2", "adj_r2"], 1.0)


@dataclass(frozen=True)
class Problem:
    """A table, its target, and the parameters of a selection.

    Among them, `rounds` is that of fbed, `width` that of beam, and `bounds` keeps exhaustive from growing small sets.
    """

    X: NDArray[np.float64]
    y: NDArray[Any]
    model: str
    criterion: str
    weights: NDArray[np.float64] | None = None
    options: dict[str, Any] = field(default_factory=dict)  # of the criterion
    parameters: dict[str, Any] = field(default_factory=dict)  # of the selection

    def __str__(self) -> str:
        lines = [
            f"X = np.array({self.X.tolist()})",
            f"y = np.array({self.y.tolist()})",
            f"weights = {None if self.weights is None else self.weights.tolist()}",
            f"model={self.model!r}, criterion={self.criterion!r} {self.options}",
            f"parameters = {self.parameters}",
        ]
        return "\n".join(lines)


def problem(seed: int, strategies: Sequence[str] = sorted(STRATEGIES)) -> Problem:
    """The problem of a seed, with one of the strategies."""
    rng = np.random.default_rng([20, seed])
    n = int(rng.integers(6, 16) if rng.random() < 0.3 else rng.integers(16, 41))
    X, factors = _table(rng, n)
    model = "linear" if rng.random() < 0.65 else "discriminant"
    names = [name for name, criterion in CRITERIA.items() if criterion.kind == model]
    criterion = str(rng.choice(names))
    y = _targets(rng, X, factors) if model == "linear" else _classes(rng, X)
    weights = None
    # n is the sum of the weights, so more features than rows could enter, and would separate the classes perfectly.
    if rng.random() < 0.3 and (model == "linear" or n > X.shape[1] + 5):
        weights = rng.integers(1, 4, size=n).astype(float) if rng.random() < 0.5 else rng.uniform(0.8, 2.5, size=n)
    options = _options(rng, criterion, n, X.shape[1])
    strategy = str(rng.choice(strategies))
    return Problem(X, y, model, criterion, weights, options, _parameters(rng, X, y, factors, criterion, strategy))


def _table(rng: np.random.Generator, n: int) -> tuple[NDArray[np.float64], list[list[int]]]:
    """Columns of many kinds, and the groups that factors form."""
    columns, factors = [], []
    for _ in range(int(rng.integers(0, 3)) if rng.random() < 0.5 else 0):
        levels = int(rng.integers(2, 5))
        codes = rng.integers(0, levels, size=n)
        if factors and rng.random() < 0.4:  # nested in the factor before
            codes = codes + levels * (np.argmax(np.array([columns[j] for j in factors[-1]]), axis=0) % 2)
        coded = [(codes == level).astype(float) for level in np.unique(codes)]
        factors.append(list(range(len(columns), len(columns) + len(coded))))
        columns += coded
    numeric = rng.normal(size=(n, int(rng.integers(1, 8))))
    if rng.random() < 0.4:
        numeric += 2 * rng.normal(size=(n, 1)) * rng.normal(size=numeric.shape[1])
    if rng.random() < 0.3:
        numeric = np.exp(numeric)
    columns += list(_nearly_collinear(rng.spawn(1)[0], numeric).T)
    for _ in range(int(rng.integers(0, 4))):
        columns.append(_derived(rng, columns, n))
    X = np.column_stack(columns)
    if rng.random() < 0.25:
        X = X * 10.0 ** rng.integers(-3, 4, size=X.shape[1]) + rng.normal(size=X.shape[1])
    return X, factors


def _nearly_collinear(rng: np.random.Generator, numeric: NDArray[np.float64]) -> NDArray[np.float64]:
    """Columns, in one table of ten with two that nearly equal others; by a generator of its own."""
    n, p = numeric.shape
    if p > 3 and rng.random() < 0.1:
        order = rng.permutation(p)
        for a, b in (order[:2], order[2:4]):
            numeric[:, b] = numeric[:, a] + 10 ** -rng.uniform(1.5, 3) * rng.normal(size=n)
    return numeric


def _derived(rng: np.random.Generator, columns: list[NDArray[np.float64]], n: int) -> NDArray[np.float64]:
    """An exact multiple, a sum, a copy or a constant."""
    a, b = (columns[int(i)] for i in rng.integers(0, len(columns), size=2))
    kind = rng.choice(["multiple", "sum", "copy", "constant"])
    return {"multiple": -3.5 * a, "sum": a - 2 * b, "copy": a.copy(), "constant": np.full(n, 3.25)}[str(kind)]


def _targets(rng: np.random.Generator, X: NDArray[np.float64], factors: list[list[int]]) -> NDArray[np.float64]:
    """One to three targets: noise, a few features with noise, or an exact combination of one unit."""
    n, q = len(X), int(rng.choice([1, 1, 1, 2, 3]))
    targets = []
    for _ in range(q):
        support = rng.choice(X.shape[1], size=min(X.shape[1], 3), replace=False)
        if factors and rng.random() < 0.5:
            support = np.array(factors[int(rng.integers(len(factors)))])
        signal = _standardized(X)[:, support] @ rng.normal(size=len(support))
        kind = rng.choice(["noise", "signal", "signal", "exact"])
        noise = rng.normal(size=n) if rng.random() < 0.7 else np.exp(1.5 * rng.normal(size=n))
        target = {"noise": noise, "signal": 2 * signal + noise, "exact": signal}[str(kind)]
        if np.ptp(target) < 1e-6:
            target = noise
        targets.append(target * 10.0 ** int(rng.integers(-2, 3)))
    y = np.column_stack(targets)
    shares = (y - y.mean(axis=0)) / np.linalg.norm(y - y.mean(axis=0), axis=0)
    if np.linalg.svd(shares, compute_uv=False)[-1] < 1e-3:  # dependent targets raise
        y = rng.normal(size=(n, q))
    return y[:, 0] if q == 1 else y


def _classes(rng: np.random.Generator, X: NDArray[np.float64]) -> NDArray[Any]:
    """Two to four classes of at least two rows, by a noisy combination of features."""
    n, count = len(X), int(rng.integers(2, 5))
    support = rng.choice(X.shape[1], size=min(X.shape[1], 2), replace=False)
    noisy = _standardized(X)[:, support].sum(axis=1) + 1.5 * rng.normal(size=n)
    ranks = np.argsort(np.argsort(noisy)) * count // n
    return np.asarray(np.array(["b", "a", "d", "c"])[ranks])


def _standardized(X: NDArray[np.float64]) -> NDArray[np.float64]:
    sd = X.std(axis=0)
    return np.asarray((X - X.mean(axis=0)) / np.where(sd > 1e-9, sd, 1.0))


def _options(rng: np.random.Generator, criterion: str, n: int, p: int) -> dict[str, Any]:
    if criterion == "cp":
        options = {"per_sample": True} if rng.random() < 0.3 else {}
        return options | ({} if n > p + 8 and rng.random() < 0.6 else {"sigma2": float(rng.uniform(0.3, 3))})
    if criterion == "sawa":
        return {} if n > p + 8 and rng.random() < 0.6 else {"sigma2": float(rng.uniform(0.3, 3))}
    if criterion == "ebic" and rng.random() < 0.4:
        return {"gamma": float(rng.choice([0.0, 0.5, 1.0]))}
    return {}


def _parameters(
    rng: np.random.Generator,
    X: NDArray[np.float64],
    y: NDArray[Any],
    factors: list[list[int]],
    criterion: str,
    strategy: str,
) -> dict[str, Any]:
    p = X.shape[1]
    parameters: dict[str, Any] = {"strategy": strategy, "solver": str(rng.choice(["gram", "columns", "auto"]))}
    units = [[j] for j in range(p)]
    if factors and rng.random() < 0.7:
        parameters["groups"] = factors
    elif p > 2 and rng.random() < 0.3:
        parameters["groups"] = rng.integers(0, max(2, p // 2), size=p).tolist()
    if "groups" in parameters:
        units = [list(unit) for unit in reference.units_of(p, parameters["groups"])]
    order = rng.permutation(len(units))
    n_include = int(rng.integers(1, 4)) if rng.random() < 0.25 else 0
    n_exclude = int(rng.integers(1, 3)) if rng.random() < 0.2 else 0
    if n_include and len(units) > n_include:
        parameters["include"] = [j for u in order[:n_include] for j in units[u]]
    if n_exclude and len(units) > n_include + n_exclude:
        parameters["exclude"] = [j for u in order[n_include : n_include + n_exclude] for j in units[u]]
    if rng.random() < 0.5:
        parameters["max_features"] = int(rng.integers(max(1, n_include), 7))
    parameters |= _rules(rng, y, criterion)
    if strategy == "fbed":
        parameters["rounds"] = [0, 1, 2, math.inf][int(rng.integers(4))]
    if strategy == "beam":
        parameters["width"] = int(rng.integers(1, 5))
    if strategy == "exhaustive":
        _compare_sets(rng, parameters, len(units), n_include)
        parameters["bounds"] = bool(rng.random() < 0.6)
    return parameters


def _compare_sets(rng: np.random.Generator, parameters: dict[str, Any], n_units: int, n_include: int) -> None:
    """Sets are compared by scores, and the reference evaluates them all: no tests, and not too many sets."""
    for name in ("enter", "leave", "drop"):
        if isinstance(parameters.get(name), Significance):
            del parameters[name]
    if n_units > 7 or rng.random() < 0.5 or parameters.get("enter", "auto") == "auto":
        parameters["max_features"] = n_include + int(rng.integers(1, 4 if n_units > 7 else 7))


def _rules(rng: np.random.Generator, y: NDArray[Any], criterion: str) -> dict[str, Any]:
    scale = float(np.var(y) * len(y)) if criterion == "rss" else 1.0
    kind = rng.choice(["auto", "auto", "numbers", "levels", "enter", "reach"])
    if kind == "numbers":
        a, b, drop = scale * rng.choice([0.0, 0.005, 0.02, 0.1, 0.4], size=3)
        return {"enter": float(max(a, b)), "leave": float(min(a, b)), "drop": float(drop)}
    if kind == "levels":
        a, b, drop = rng.choice([0.01, 0.05, 0.15, 0.4], size=3)
        correction = [None, None, "bonferroni", "fdr"][int(rng.integers(4))]
        rules: dict[str, Any] = {"enter": Significance(float(min(a, b)), correction)}
        if rng.random() < 0.6:
            rules["leave"] = Significance(float(max(a, b)), correction)
        return rules | ({"drop": Significance(float(drop))} if rng.random() < 0.5 else {})
    if kind == "enter":
        return {"enter": float(scale * rng.choice([0.0, 0.02, 0.1]))}
    return {"enter": -math.inf} if kind == "reach" else {}


# --- the comparison --------------------------------------------------------------------------------------------------


def compare(given: Problem) -> str | None:
    """What differs between the library and the reference, or None; also None where rounding error decides a move."""
    fast = by_library(given)
    if isinstance(fast, str):
        return None if _has_no_answer(fast) else f"the library raises: {fast}"
    slow = by_reference(given, fast.solver)
    differences = list(_differences(fast, slow, given.criterion))
    if any("cannot resolve the gain" in note for note in fast.notes):
        return "; ".join(false_zeros(given, fast)) or None
    decided = slow.margin > AMBIGUOUS and not any("keeps few digits" in note for note in fast.notes)
    return "; ".join(differences) if differences and decided else None


def false_zeros(given: Problem, fast: SelectionPath) -> Iterator[str]:
    """Removals at a loss of 0 from a Gram matrix with few digits, although no other column resembles what left."""
    if given.criterion not in ("rss", "r2") or given.weights is not None or given.y.ndim == 2:
        return
    X, y = _standardized(given.X), given.y - given.y.mean()
    selected: list[int] = []
    for i, step in enumerate(fast.steps):
        if step.action == "add":
            selected += step.features
        elif step.action == "remove":
            kept = [j for j in selected if j not in step.features]
            others = np.delete(X, step.features, axis=1)
            alone = all(_residual(others, X[:, j]) > 1e-3 * (X[:, j] @ X[:, j]) > 0 for j in step.features)
            loss = _residual(X[:, kept], y) - _residual(X[:, selected], y)
            if alone and step.gain == 0 and loss > 1e-2 * (y @ y):
                yield f"step {i}: {step.features} left at a loss of 0 instead of {loss:.3g}"
            selected = kept


def _residual(X: NDArray[np.float64], y: NDArray[np.float64]) -> float:
    residual = y - X @ np.linalg.lstsq(X, y, rcond=1e-14)[0]
    return float(residual @ residual)


def by_library(given: Problem) -> SelectionPath | str:
    """The library's path, or the message of the ValueError that it raises."""
    criterion: Any = given.criterion
    if given.options:
        criterion = CRITERIA[criterion](**given.options)
    parameters = dict(given.parameters)
    if "width" in parameters:
        parameters["strategy"] = dropstep.Beam(width=parameters.pop("width"))
    if "rounds" in parameters and hasattr(dropstep, "FBED"):
        parameters["strategy"] = dropstep.FBED(rounds=parameters.pop("rounds"))
    max_grown = 0 if parameters.pop("bounds", False) else subsets.MAX_GROWN
    with warnings.catch_warnings(), mock.patch.object(subsets, "MAX_GROWN", max_grown):
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message=".*is a threshold in units of")
        try:
            return select(
                given.X, given.y, model=given.model, criterion=criterion, sample_weight=given.weights, **parameters
            )  # fmt: skip
        except ValueError as error:
            return str(error)


def _has_no_answer(message: str) -> bool:
    """True if the message says that there are too few rows, or that cp's full model fits exactly."""
    return any(
        text in message for text in ("rows", "samples", "degrees of freedom", "at least", "exactly", "one target")
    )


def by_reference(given: Problem, solver: str) -> reference.ReferencePath:
    """The path of the reference; an exact fit is one that the solver cannot distinguish from rounding error."""
    parameters = {name: value for name, value in given.parameters.items() if name not in ("solver", "bounds")}
    for name in ("enter", "leave", "drop"):
        if isinstance(rule := parameters.get(name), Significance):
            parameters[name] = reference.Level(rule.level, rule.correction)
    exact_fit = reference.EXACT_FIT_SEVERAL if solver == "gram" else None
    return reference.run(
        parameters.pop("strategy"), given.X, given.y, criterion=given.criterion, weights=given.weights,
        exact_fit=exact_fit, **parameters, **given.options,
    )  # fmt: skip


def _differences(fast: SelectionPath, slow: reference.ReferencePath, criterion: str) -> Iterator[str]:
    moves = [(s.phase, s.action, s.features, s.pool) for s in fast.steps]
    expected = [(s.phase, s.action, s.features, s.pool) for s in slow.steps]
    if moves != expected:
        at = next((i for i, (a, b) in enumerate(zip(moves, expected, strict=False)) if a != b), None)
        at = min(len(moves), len(expected)) if at is None else at
        yield f"step {at}: {moves[at : at + 1]} instead of {expected[at : at + 1]} (margin {slow.margin:.1g})"
        return
    if fast.selected != slow.selected:
        yield f"selected {fast.selected} instead of {slow.selected}"
    scale = max([UNIT_SCALE.get(criterion, 0.0), abs(slow.start), *(abs(s.score) for s in slow.steps)])
    for i, (a, b) in enumerate(zip(fast.steps, slow.steps, strict=True)):
        for name in ("gain", "score"):
            x, y = getattr(a, name), getattr(b, name)
            if x != y and not abs(x - y) <= 1e-7 * abs(y) + 1e-9 * scale:
                yield f"step {i}: {name} {x!r} instead of {y!r}"
    if fast.strategy != "exhaustive" and fast.n_evaluations != slow.n_evaluations:
        yield f"{fast.n_evaluations} evaluations instead of {slow.n_evaluations}"


# --- smaller problems that fail too ----------------------------------------------------------------------------------


def minimised(given: Problem) -> Problem:
    """A smaller problem that fails too: without rows, columns and parameters that the failure does not need."""
    raises = isinstance(by_library(given), str)
    changed = True
    while changed:
        changed = False
        for smaller in _smaller(given):
            try:
                fails = compare(smaller) is not None and isinstance(by_library(smaller), str) == raises
            except Exception:  # a smaller problem must fail by itself, not by being malformed
                continue
            if fails:
                given, changed = smaller, True
                break
    return given


def _smaller(given: Problem) -> Iterator[Problem]:
    for name in given.parameters:
        if name not in ("strategy", "solver"):
            yield replace(given, parameters={k: v for k, v in given.parameters.items() if k != name})
    if given.weights is not None:
        yield replace(given, weights=None)
    if given.y.ndim == 2:
        for t in range(given.y.shape[1]):
            y = np.delete(given.y, t, axis=1)
            yield replace(given, y=y[:, 0] if y.shape[1] == 1 else y)
    if not {"groups", "include", "exclude"} & set(given.parameters) and given.X.shape[1] > 1:
        for j in range(given.X.shape[1]):
            yield replace(given, X=np.delete(given.X, j, axis=1))
    for i in range(len(given.X)):
        weights = None if given.weights is None else np.delete(given.weights, i)
        yield replace(given, X=np.delete(given.X, i, axis=0), y=np.delete(given.y, i, axis=0), weights=weights)
    if not np.array_equal(given.X, rounded := np.round(given.X, 1)):
        yield replace(given, X=rounded)
