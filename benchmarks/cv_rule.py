"""Thresholds for `criterion="cv"`: how often noise enters, and what the selection predicts on real tables.

    python -m benchmarks.cv_rule --jobs 2

The candidate with the largest mean gain over the folds enters if a rule allows it. One standard error of the paired
fold differences (the "auto" of dropstep) does not account for the number of candidates. The rules that do:

- more standard errors: 2, 3, the normal or the t quantile at 1 - 0.05 / m for m candidates;
- permutations of the residual of the target: the gain must exceed the largest gain over all candidates in 95 % of
  them, or by size, in 100 - 5 k % for the k-th feature. All permutations share the projections of the features in
  every fold;
- the partial F test on all rows, at 0.05 k / m, or its statistic by permutations.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from scipy import stats
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import KFold

from benchmarks import data
from benchmarks.recovery import Setting
from dropstep import select

Floats = NDArray[np.float64]
Fold = tuple[NDArray[np.intp], NDArray[np.intp]]

LEVEL = 0.05
N_PERMUTATIONS = 99
N_FOLDS = 5
TOLERANCE = 1e-9  # residual scatter, relative to the scatter of the column, below which it is in the span of others
MAX_SIZE = 40
SHAPES = ((30, 10), (100, 30), (200, 50), (30, 200), (100, 500), (60, 2000))
TABLES = ("riboflavin", "diabetes64", "communities", "wheat", "qsar")
MAX_ROWS = 2000  # of a real table
DEFAULT = "default test"  # that of `select` without parameters, for comparison
PARTS = {
    "noise": "Noise: share of the tables with a selection",
    "recovery": "True features: F1, false selections",
    "real": "Real tables: mean size, 1 - R2 on held-out rows",
}
SETTINGS = (Setting(100, 50, 1.0, 2), Setting(100, 1000, 4.0, 2), Setting(500, 200, 0.25, 2))


# --- one step --------------------------------------------------------------------------------------------------------


class Step(NamedTuple):
    """The gains of all candidates, their standard errors, and the largest gain of each permutation."""

    gains: Floats
    std_errors: Floats
    size: int
    n_folds: int
    largest: Callable[[], Floats]
    p_value: Callable[[], float]  # of the best candidate's partial F test on all rows
    permuted_p_value: Callable[[], float]  # of the same statistic, compared with the largest of permuted residuals

    @property
    def best(self) -> int:
        return int(self.gains.argmax())


def gains(X: Floats, Y: Floats, selected: list[int], folds: list[Fold]) -> Iterator[Floats]:
    """Fold by fold, the decrease of the mean squared error by each candidate (rows) for each target (columns).

    With the training residuals R of the candidates and E of the targets after projecting out the selected features, the
    coefficient is r'e / r'r, and the held-out decrease 2 delta r'e - delta^2 r'r with held-out residuals.
    """
    for train, test in folds:
        Q, T = np.linalg.qr(np.column_stack([np.ones(len(train)), X[train][:, selected]]))
        held_out = np.column_stack([np.ones(len(test)), X[test][:, selected]]) @ np.linalg.pinv(T)
        scatter = X[train].var(axis=0) * len(train)
        R, E = (Z[train] - Q @ (Q.T @ Z[train]) for Z in (X, Y))
        Rt, Et = (Z[test] - held_out @ (Q.T @ Z[train]) for Z in (X, Y))
        d = np.square(R).sum(axis=0)
        usable = d > TOLERANCE * scatter
        delta = np.where(usable, 1 / np.where(usable, d, 1), 0)[:, None] * (R.T @ E)
        yield (2 * delta * (Rt.T @ Et) - delta**2 * np.square(Rt).sum(axis=0)[:, None]) / len(test)


def largest_gains(X: Floats, y: Floats, selected: list[int], folds: list[Fold], seed: int) -> Floats:
    """The largest gain over all candidates after each permutation of the residual (Freedman and Lane 1983)."""
    rng = np.random.default_rng([seed, len(selected)])
    Q = np.linalg.qr(np.column_stack([np.ones(len(y)), X[:, selected]]))[0]
    fitted = Q @ (Q.T @ y)
    permuted = np.column_stack([fitted + rng.permutation(y - fitted) for _ in range(N_PERMUTATIONS)])
    total = sum(gains(X, permuted, selected, folds), np.zeros((X.shape[1], 1)))
    total[selected] = -np.inf
    return np.asarray(total.max(axis=0) / len(folds))


def partial_f(X: Floats, y: Floats, selected: list[int], j: int) -> float:
    """p-value of the partial F test of feature j, on all rows."""
    Q = np.linalg.qr(np.column_stack([np.ones(len(y)), X[:, selected]]))[0]
    x, e = (z - Q @ (Q.T @ z) for z in (X[:, j], y))
    explained, df = (x @ e) ** 2 / (x @ x), len(y) - len(selected) - 2
    return float(stats.f.sf(df * explained / max(e @ e - explained, np.finfo(float).tiny), 1, df))


def permuted_f(X: Floats, y: Floats, selected: list[int], j: int, seed: int) -> float:
    """Share of the permutations of the residual whose largest partial F statistic reaches that of feature j."""
    rng = np.random.default_rng([seed, len(selected)])
    Q = np.linalg.qr(np.column_stack([np.ones(len(y)), X[:, selected]]))[0]
    R, e = (Z - Q @ (Q.T @ Z) for Z in (X, y))
    d = np.square(R).sum(axis=0)
    usable = d > TOLERANCE * X.var(axis=0) * len(X)
    E = np.column_stack([e, *(rng.permutation(e) for _ in range(N_PERMUTATIONS))])
    E -= Q @ (Q.T @ E)
    shares = np.square(R.T @ E) / np.square(E).sum(axis=0) / np.where(usable, d, np.inf)[:, None]
    return float(np.mean(shares.max(axis=0) >= shares[j, 0]))


# --- rules -----------------------------------------------------------------------------------------------------------


def errors_above(multiple: float) -> Callable[[Step], bool]:
    return lambda step: bool(step.gains[step.best] > multiple * step.std_errors[step.best])


def normal_quantile(step: Step) -> bool:
    """As many standard errors as the normal quantile at 1 - 0.05 / m."""
    return errors_above(float(stats.norm.isf(LEVEL / len(step.gains))))(step)


def t_quantile(step: Step) -> bool:
    """As many as the t quantile with one degree of freedom less than folds."""
    return errors_above(float(stats.t.isf(LEVEL / len(step.gains), step.n_folds - 1)))(step)


def permutations(step: Step, level: float = LEVEL) -> bool:
    """A gain above 0 that at most 5 % of the permutations reach."""
    if step.gains[step.best] <= 0:
        return False
    reached = 1 + int(np.sum(step.largest() >= step.gains[step.best]))
    return reached <= level * (N_PERMUTATIONS + 1)


def permutations_by_size(step: Step) -> bool:
    """A gain that at most 5 k % of the permutations reach, for the k-th feature, as the default test's 0.05 k / m."""
    return permutations(step, min(1.0, LEVEL * (step.size + 1)))


def f_test(step: Step) -> bool:
    """The default test: significant at 0.05 k / m as the k-th feature."""
    return step.p_value() <= LEVEL * (step.size + 1) / len(step.gains)


def permuted_f_test(step: Step) -> bool:
    """The partial F statistic is reached by the largest one in at most 5 k % of the permutations."""
    return step.permuted_p_value() <= LEVEL * (step.size + 1)


RULES: dict[str, Callable[[Step], bool]] = {
    "1 se (auto)": errors_above(1),
    "2 se": errors_above(2),
    "3 se": errors_above(3),
    "normal quantile": normal_quantile,
    "t quantile": t_quantile,
    "permutations": permutations,
    "permutations first, then 1 se": lambda step: errors_above(1)(step) and (step.size > 0 or permutations(step)),
    "permutations by size, 1 se": lambda step: errors_above(1)(step) and permutations_by_size(step),
    "permuted F by size, 1 se": lambda step: errors_above(1)(step) and permuted_f_test(step),
    "F test by size, 1 se": lambda step: errors_above(1)(step) and f_test(step),
}


def forward(
    X: Floats, y: Floats, rule: Callable[[Step], bool], n_folds: int = N_FOLDS, seed: int = 0, max_size: int = MAX_SIZE
) -> list[int]:
    """Forward selection by held-out error: contiguous folds, as `criterion="cv"`."""
    folds, selected = list(KFold(n_folds).split(X)), list[int]()
    while len(selected) < min(max_size, X.shape[1], len(y) - len(y) // n_folds - 3):
        by_fold = np.array([gain[:, 0] for gain in gains(X, y[:, None], selected, folds)])
        by_fold[:, selected] = -np.inf
        with np.errstate(invalid="ignore"):
            errors = by_fold.std(axis=0, ddof=1) / np.sqrt(n_folds)
        mean = by_fold.mean(axis=0)
        best = int(mean.argmax())
        step = Step(
            mean,
            errors,
            len(selected),
            n_folds,
            largest=partial(largest_gains, X, y, selected, folds, seed),
            p_value=partial(partial_f, X, y, selected, best),
            permuted_p_value=partial(permuted_f, X, y, selected, best, seed),
        )
        if not rule(step):
            break
        selected.append(step.best)
    return selected


# --- measurements ----------------------------------------------------------------------------------------------------


def noise_enters(name: str, n: int, p: int, seed: int, n_folds: int) -> bool:
    """True if a first feature enters from noise."""
    rng = np.random.default_rng([n, p, seed])
    X, y = rng.standard_normal((n, p)), rng.standard_normal(n)
    return bool(forward(X, y, RULES[name], n_folds, seed, max_size=1))


def noise_table(names: Sequence[str], runs: int, jobs: int, n_folds: int) -> Iterator[str]:
    """Share of noise tables with a selection."""
    yield "| enter | " + " | ".join(f"{n} × {p:,}" for n, p in SHAPES) + " |"
    yield "|---" * (len(SHAPES) + 1) + "|"
    for name in names:
        tasks = [(n, p, seed) for n, p in SHAPES for seed in range(runs)]
        enters = Parallel(n_jobs=jobs)(delayed(noise_enters)(name, *task, n_folds) for task in tasks)
        shares = np.reshape(enters, (len(SHAPES), runs)).mean(axis=1)
        yield f"| {name} | " + " | ".join(f"{share:.0%}" for share in shares) + " |"


def recovered(name: str, setting: Setting, seed: int) -> tuple[float, float]:
    """F1 and false selections."""
    X, y = setting.draw(seed)
    found, true = set(forward(X, y, RULES[name], seed=seed)), set(np.flatnonzero(setting.coefficients()))
    return 2 * len(found & true) / (len(found) + len(true)), len(found - true)


def recovery_table(names: Sequence[str], runs: int, jobs: int) -> Iterator[str]:
    yield "| enter | " + " | ".join(f"{s.n} × {s.p:,}, SNR {s.snr:g}" for s in SETTINGS) + " |"
    yield "|---" * (len(SETTINGS) + 1) + "|"
    for name in names:
        cells = []
        for setting in SETTINGS:
            found = Parallel(n_jobs=jobs)(delayed(recovered)(name, setting, seed) for seed in range(runs))
            cells.append("{:.2f}, {:.1f}".format(*np.mean(found, axis=0)))
        yield f"| {name} | " + " | ".join(cells) + " |"


def real_table(name: str, order: int) -> tuple[Floats, Floats]:
    """A table in random order, because folds are contiguous, without constant columns."""
    X, y = data.read(name)
    rows = np.random.default_rng(order).permutation(len(X))[:MAX_ROWS]
    X, y = X[rows], (y if y.ndim == 1 else y[:, 0])[rows]
    return X[:, X.std(axis=0) > 0], y


def held_out(name: str, X: Floats, y: Floats, train: NDArray[np.intp], test: NDArray[np.intp]) -> tuple[int, float]:
    """Size of the selection from the training rows, and 1 - R2 on the test rows."""
    if name == DEFAULT:
        selected = list(select(X[train], y[train], model="linear").selected)
    else:
        selected = forward(X[train], y[train], RULES[name])
    mean = y[train].mean()
    predicted = (
        LinearRegression().fit(X[train][:, selected], y[train]).predict(X[test][:, selected]) if selected else mean
    )
    return len(selected), float(np.mean((y[test] - predicted) ** 2) / np.mean((y[test] - mean) ** 2))


def real_rows(names: Sequence[str], jobs: int, order: int) -> Iterator[str]:
    """Size and 10-fold error, with the selection inside every fold, and paired differences to the first rule."""
    tables = {name: real_table(name, order) for name in TABLES}
    heads = (f"{name}, {X.shape[0]:,} × {X.shape[1]:,}" for name, (X, _) in tables.items())
    yield "| enter | " + " | ".join(heads) + " |"
    yield "|---" * (len(tables) + 1) + "|"
    first: dict[str, Floats] = {}
    for name in names:
        cells = []
        for table, (X, y) in tables.items():
            parts = list(KFold(10).split(X))
            found = np.array(Parallel(n_jobs=jobs)(delayed(held_out)(name, X, y, *part) for part in parts))
            sizes, errors = found.T
            cells.append(f"{sizes.mean():.1f}: {errors.mean():.3f}")
            if table in first:
                change = errors - first[table]
                cells[-1] += f" ({change.mean():+.3f} ± {change.std(ddof=1) / np.sqrt(len(change)):.3f})"
            first.setdefault(table, errors)
        yield f"| {name} | " + " | ".join(cells) + " |"


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=200, help="simulated tables per shape or setting (200)")
    parser.add_argument("--folds", type=int, default=N_FOLDS, help="of the noise table (5)")
    parser.add_argument("--jobs", type=int, default=2, help="processes (2)")
    parser.add_argument("--order", type=int, default=0, metavar="SEED", help="of the rows of real tables (0)")
    parser.add_argument("--rules", nargs="+", choices=RULES, default=list(RULES), metavar="RULE", help=", ".join(RULES))
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS), metavar="PART", help=", ".join(PARTS))
    given = parser.parse_args(arguments)
    lines = {
        "noise": lambda: noise_table(given.rules, given.runs, given.jobs, given.folds),
        "recovery": lambda: recovery_table(given.rules, given.runs // 4, given.jobs),
        "real": lambda: real_rows([*given.rules, DEFAULT], given.jobs, given.order),
    }
    for name in given.only:
        print(f"\n{PARTS[name]}\n")
        for line in lines[name]():
            print(line, flush=True)


if __name__ == "__main__":
    main()
