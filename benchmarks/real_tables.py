"""Real tables: size and held-out error of the default, of BIC and of a regularised fit of all features.

    python -m benchmarks.real_tables                     # this checkout
    python -m benchmarks.real_tables --before FOLDER     # and the default of another checkout
    python -m benchmarks.real_tables --only spambase     # some of the tables

Every method sees the same ten folds. Rows of one person, molecule or litter are in one fold. The error is the share of
wrong classes (`model="logistic"`), or 1 - R2 (`model="linear"`; R2 relative to the mean of the training rows), with its
standard error over the folds. A selection is refitted without a penalty, except that a ridge of 1e-6 keeps separated
classes finite. "All features" is a ridge regression (RidgeCV), or a logistic regression with a ridge penalty, whose
strength is chosen by 3-fold cross-validation, on standardised features.
"""

from __future__ import annotations

import argparse
import os
import pickle
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LinearRegression, LogisticRegression, LogisticRegressionCV, RidgeCV
from sklearn.model_selection import GroupKFold, KFold, StratifiedGroupKFold, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from benchmarks import data

Floats = NDArray[np.float64]
Fold = tuple[NDArray[np.intp], NDArray[np.intp]]

N_FOLDS = 10
SEED = 0
N_BLOG = 10_000  # rows of BlogFeedback, of 52,397, drawn once
SOLVER = "newton-cholesky"  # 30 times as fast as the default on these tables
CONDITIONS = {"dropstep": {}, "BIC": {"criterion": "bic"}}  # parameters of `select`


class Table(NamedTuple):
    """X and y, the model, and what rows are dependent (None: nothing)."""

    name: str
    X: Floats
    y: NDArray[Any]
    model: str
    groups: NDArray[Any] | None = None
    remark: str = ""


# --- tables ----------------------------------------------------------------------------------------------------------


def as_classes(name: str, **params: Any) -> Table:
    X, y = data.read(name, **params)
    return Table(name, X, np.unique(y, return_inverse=True)[1], "logistic")


def grouped(name: str, label: str) -> Table:
    X, y, groups = getattr(data.readers(), name)(data.folder())
    return Table(name, X, y, "logistic", groups, remark=f"folds by {label}")


def blog() -> Table:
    X, y = data.read("blogfeedback")
    rows = np.sort(np.random.default_rng(SEED).choice(len(y), N_BLOG, replace=False))
    return Table("BlogFeedback, any comment", X[rows], (y[rows] > 0).astype(int), "logistic", remark=f"{N_BLOG:,} rows")


def breast_cancer() -> Table:
    X, y = load_breast_cancer(return_X_y=True)
    return Table("breast cancer", X, y, "logistic")


def regression(name: str) -> Table:
    X, y = data.read(name)
    return Table(name, X, y if y.ndim == 1 else y[:, 0], "linear", remark="" if y.ndim == 1 else "first environment")


def mice(trait: str = "Biochem.HDL") -> Table:
    """Genotypes; mice of one cage are in one fold."""
    X, y = data.read("mice", trait=trait)
    import pandas as pd

    frame = pd.read_csv(data.folder() / "mice_pheno.csv.gz")
    cages = frame.loc[frame[trait].notna(), "cage"].astype(str).to_numpy()
    return Table(f"mice, {trait}", X, y, "linear", cages, remark="folds by cage")


READERS: dict[str, Callable[[], Table]] = {
    "spambase": partial(as_classes, "spambase"),
    "blog": blog,
    "biodeg": partial(as_classes, "biodeg"),
    "ionosphere": partial(as_classes, "ionosphere"),
    "cancer": breast_cancer,
    "musk2": partial(grouped, "musk2", "molecule"),
    "pd_speech": partial(grouped, "parkinson", "person"),
    **{name: partial(regression, name) for name in ("riboflavin", "qsar", "wheat", "communities", "diabetes64")},
    "mice": mice,
}


def folds(table: Table) -> list[Fold]:
    """Ten folds, stratified by class, with dependent rows in one fold."""
    stratified = table.model == "logistic"
    if table.groups is None:
        splitter = (StratifiedKFold if stratified else KFold)(N_FOLDS, shuffle=True, random_state=SEED)
    else:
        splitter = (StratifiedGroupKFold if stratified else GroupKFold)(N_FOLDS, shuffle=True, random_state=SEED)
    return list(splitter.split(table.X, table.y, table.groups))


# --- methods ---------------------------------------------------------------------------------------------------------


def selections(table: Table, parts: Sequence[Fold], parameters: dict[str, Any]) -> list[tuple[int, ...]]:
    """The selection on the training rows of every fold; imports the dropstep of the process."""
    from dropstep import select

    found = []
    for train, _ in parts:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found.append(tuple(select(table.X[train], table.y[train], model=table.model, **parameters).selected))
    return found


def selections_of_checkout(checkout: Path, table: Table, parts: Sequence[Fold]) -> list[tuple[int, ...]]:
    """The selections by the default of another checkout, in a process that imports its source."""
    environment = os.environ | {"PYTHONPATH": str(checkout.resolve() / "src"), "OPENBLAS_NUM_THREADS": "1"}
    code = "import sys; from benchmarks.real_tables import work; work(*sys.argv[1:])"
    with TemporaryDirectory() as folder:
        todo, done = Path(folder) / "table", Path(folder) / "selections"
        todo.write_bytes(pickle.dumps((tuple(table), list(parts))))
        subprocess.run([sys.executable, "-c", code, str(todo), str(done)], cwd=data.ROOT, env=environment, check=True)
        return list(pickle.loads(done.read_bytes()))


def work(todo: str, done: str) -> None:
    """Make the selections of a pickled table, and pickle them."""
    table, parts = pickle.loads(Path(todo).read_bytes())
    Path(done).write_bytes(pickle.dumps(selections(Table(*table), parts, {})))


def refitted(table: Table, selected: Sequence[int], fold: Fold) -> float:
    """Held-out error of the selected features; of none, that of the mean or of the most frequent class."""
    X = table.X[:, list(selected)] if selected else np.zeros((len(table.y), 1))
    estimator = LinearRegression() if table.model == "linear" else LogisticRegression(C=1e6, solver=SOLVER)
    return held_out(make_pipeline(StandardScaler(), estimator), X, table, fold)


def regularised(table: Table, fold: Fold) -> float:
    """Held-out error of a ridge fit of all features."""
    if table.model == "linear":
        estimator: Any = RidgeCV(np.logspace(-2, 6, 17))
    else:
        inner = 3 if table.groups is None else groups_within(table, fold)
        strengths = np.logspace(-4, 2, 7)
        estimator = LogisticRegressionCV(
            Cs=strengths, cv=inner, scoring="neg_log_loss", solver=SOLVER, l1_ratios=(0.0,), use_legacy_attributes=False
        )
    return held_out(make_pipeline(StandardScaler(), estimator), table.X, table, fold)


def groups_within(table: Table, fold: Fold) -> list[Fold]:
    """Three folds of the training rows, dependent rows in one."""
    assert table.groups is not None
    train = fold[0]
    splitter = StratifiedGroupKFold(3, shuffle=True, random_state=SEED)
    return list(splitter.split(table.X[train], table.y[train], table.groups[train]))


def held_out(estimator: Any, X: Floats, table: Table, fold: Fold) -> float:
    train, test = fold
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # convergence of separated classes
        predicted = estimator.fit(X[train], table.y[train]).predict(X[test])
    y = table.y[test]
    if table.model == "logistic":
        return float(np.mean(predicted != y))
    return float(np.mean((y - predicted) ** 2) / np.mean((y - table.y[train].mean()) ** 2))


class Measured(NamedTuple):
    """Mean size of the selections and the held-out errors, fold by fold."""

    size: float
    errors: Floats

    def __str__(self) -> str:
        return f"{self.size:.1f}: {self.errors.mean():.3f} ± {std_error(self.errors):.3f}"


def std_error(values: Floats) -> float:
    return float(values.std(ddof=1) / np.sqrt(len(values)))


def measure(table: Table, before: Path | None) -> dict[str, Measured]:
    """Every method on the same folds."""
    parts = folds(table)
    chosen = {} if before is None else {"before": selections_of_checkout(before, table, parts)}
    chosen |= {name: selections(table, parts, parameters) for name, parameters in CONDITIONS.items()}
    found = {
        name: Measured(
            float(np.mean([len(selected) for selected in sets])),
            np.array([refitted(table, selected, fold) for selected, fold in zip(sets, parts, strict=True)]),
        )
        for name, sets in chosen.items()
    }
    errors = np.array([regularised(table, fold) for fold in parts])
    return found | {"all features": Measured(table.X.shape[1], errors)}


def loss(found: dict[str, Measured]) -> str:
    """By how many standard errors of the paired differences the default loses to the best other; empty up to one."""
    ours = found["dropstep"]
    best = min((name for name in found if name != "dropstep"), key=lambda name: found[name].errors.mean())
    difference = ours.errors - found[best].errors
    spread = std_error(difference)
    if difference.mean() <= spread:
        return ""
    return f"loses {difference.mean():.3f} ± {spread:.3f} to {best}"


def rows(names: Sequence[str], before: Path | None) -> Iterator[str]:
    columns = [*([] if before is None else ["before"]), *CONDITIONS, "all features"]
    yield f"| table | rows × features | {' | '.join(columns)} | more than one standard error | remarks |"
    yield "|---" * (len(columns) + 4) + "|"
    for name in names:
        start = time.perf_counter()
        table = READERS[name]()
        found = measure(table, before)
        cells = [str(found[column]) for column in columns]
        n, p = table.X.shape
        yield f"| {table.name} | {n:,} × {p:,} | {' | '.join(cells)} | {loss(found)} | {table.remark} |"
        print(f"{name}: {time.perf_counter() - start:.0f} s", file=sys.stderr, flush=True)


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.real_tables",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--before", type=Path, metavar="FOLDER", help="the other checkout")
    parser.add_argument("--only", nargs="+", choices=READERS, default=list(READERS), metavar="TABLE")
    args = parser.parse_args(argv)
    if args.before is not None and not (args.before / "src" / "dropstep").is_dir():
        parser.error(f"--before {args.before} is not a checkout: it has no src/dropstep")
    print("Mean size of the selections: held-out error ± its standard error over the folds\n")
    with threadpool_limits(1):
        for line in rows(args.only, args.before):
            print(line, flush=True)


if __name__ == "__main__":
    main()
