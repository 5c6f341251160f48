"""Compare selections with those of another checkout: python -m benchmarks.unchanged --before FOLDER

The same selections, on the public datasets and on random problems, run with the source of both checkouts in separate
processes. Compared are the selected features, the steps, the scores (1e-9 relative) and the number of evaluations.
"""

from __future__ import annotations

import argparse
import os
import pickle
import subprocess
import sys
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks import data

TOLERANCE = 1e-9  # of scores, relative to the largest score of the path, that of the empty selection included
STRATEGIES = ("forward", "dropping", "stepwise", "forward_backward", "fbed", "floating")
ALL_STRATEGIES = sorted((*STRATEGIES, "backward", "swap"))  # that both versions have
CRITERIA = {"linear": ("auto", "rss", "bic"), "discriminant": ("auto", "wilks", "pillai")}
NEW_CRITERIA = ("hqc", "sawa", "amemiya", "press", "cv")  # not in older versions: bic takes their place
MAX_FEATURES = 10  # for swap, for criteria other than the default, and for slow datasets
MAX_BACKWARD = 300  # features that backward starts from, at most
SLOW = ("isolet", "kdd", "mice")
DATASETS = (
    *("arcene", "biodeg", "blogfeedback", "colon", "communities", "diabetes64", "golub", "ionosphere", "isolet", "kdd"),
    *("madelon", "mice", "musk2", "optdigits", "parkinson", "qsar", "riboflavin", "satellite", "spambase", "wheat"),
)
TEST_PARTS = ("arcene", "blogfeedback", "madelon", "optdigits", "satellite")
LINE = "{:36} {:>10} {:>6} {:>8} {:>12} {:>6} {:>11}"


class Table(NamedTuple):
    """X and y, and the parameters of each selection from them, in plain types that any version can unpickle."""

    name: str
    heading: str
    X: NDArray[Any]
    y: NDArray[Any]
    selections: list[dict[str, Any]]


class Result(NamedTuple):
    """What is compared of a path; a step is (phase, action, features), and the first score that without features."""

    selected: tuple[int, ...]
    steps: tuple[tuple[str, str, tuple[int, ...]], ...]
    scores: tuple[float, ...]
    n_evaluations: int


# --- what to select --------------------------------------------------------------------------------------------------


def readers() -> dict[str, Callable[[], tuple[NDArray[Any], NDArray[Any]]]]:
    """The public datasets by name."""
    known: dict[str, Any] = {name: partial(data.read, name) for name in DATASETS}
    known |= {f"{name}-test": partial(data.read, name, train=False) for name in TEST_PARTS}
    known["musk1"] = partial(columns, "clean1.data", range(2, 168), 168)
    known["prostate"] = partial(columns, "singh_prostate.csv.gz", range(1, 12601), 0)
    return known


def columns(file: str, features: Sequence[int], target: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """X and y of a comma-separated file with a first line to skip, which tests/datasets.py does not read."""
    read = partial(np.loadtxt, data.folder() / file, delimiter=",", skiprows=1)
    return read(usecols=features), read(usecols=target, dtype=str)


def dataset(name: str, X: NDArray[Any], y: NDArray[Any]) -> Table:
    """A dataset, with every strategy and three criteria; backward where it is affordable."""
    model = "linear" if y.dtype.kind == "f" else "discriminant"
    selections: list[dict[str, Any]] = []
    for criterion in CRITERIA[model]:
        params = {"model": model, "criterion": criterion}
        limit = {"max_features": MAX_FEATURES} if criterion != "auto" or name in SLOW else {}
        selections += [params | limit | {"strategy": strategy} for strategy in STRATEGIES]
        selections.append(params | {"strategy": "swap", "max_features": MAX_FEATURES})
        if X.shape[1] <= min(MAX_BACKWARD, len(X) // 2):
            selections.append(params | {"strategy": "backward"})
    return Table(name, f"{name}, {len(X)} x {X.shape[1]}", X, y, selections)


def random_problem(seed: int) -> Table:
    """A problem of tests/problems.py: groups, weights or several targets, with any strategy, criterion and rules."""
    from problems import problem

    drawn = problem(seed, ALL_STRATEGIES)
    params = {"model": drawn.model, "sample_weight": drawn.weights, **drawn.parameters, "criterion": "bic"}
    if drawn.criterion not in NEW_CRITERIA:
        params["criterion"] = (drawn.criterion, drawn.options) if drawn.options else drawn.criterion
    for name in {"enter", "leave", "drop"} & params.keys():
        rule = params[name]
        params[name] = {"level": rule.level, "correction": rule.correction} if hasattr(rule, "level") else rule
    return Table(f"problem {seed}", f"random problems, {params['strategy']}", drawn.X, drawn.y, [params])


# --- in the process of one version -----------------------------------------------------------------------------------


def work(tables: str, results: str) -> None:
    """Run the selections of pickled tables, and pickle their results."""
    todo = pickle.loads(Path(tables).read_bytes())
    Path(results).write_bytes(pickle.dumps([[run(table, params) for params in table.selections] for table in todo]))


def run(table: Table, params: dict[str, Any]) -> Result | str:
    """The result of a selection, or the type of the error that it raises; messages are not compared."""
    from dropstep import select

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            path = select(table.X, table.y, **as_arguments(**params))
        except ValueError as error:
            return type(error).__name__
    steps = tuple((step.phase, step.action, tuple(step.features)) for step in path.steps)
    scores = (path.start, path.score, *(step.score for step in path.steps))
    return Result(path.selected, steps, scores, path.n_evaluations)


def as_arguments(**params: Any) -> dict[str, Any]:
    """Parameters as arguments of this version's `select`; an older one has `way="moments"` and `rounds`."""
    import dropstep

    for name in ("enter", "leave", "drop"):
        if isinstance(params.get(name), dict):
            params[name] = dropstep.Significance(**params[name])
    if isinstance(params["criterion"], tuple):
        criterion, options = params["criterion"]
        params["criterion"] = {"ebic": dropstep.EBIC, "cp": dropstep.MallowsCp}[criterion](**options)
    if "rounds" in params and hasattr(dropstep, "FBED"):
        params["strategy"] = dropstep.FBED(rounds=params.pop("rounds"))
    if "solver" in params and not hasattr(dropstep, "SelectionPath"):
        params["way"] = params.pop("solver").replace("gram", "moments")
    return params


# --- the comparison --------------------------------------------------------------------------------------------------


class Compared(NamedTuple):
    """The results of one selection with both versions; a string is the type of an error."""

    name: str
    heading: str
    before: Result | str
    now: Result | str

    def score_error(self) -> float:
        """Largest difference of the scores, relative to the largest score of the path."""
        x, y = np.array(self.before.scores), np.array(self.now.scores)
        scale = np.max(np.abs(x), initial=0.0, where=np.isfinite(x)) or 1.0
        return float(np.max(np.abs(x[x != y] - y[x != y]), initial=0.0) / scale)

    def difference(self) -> str | None:
        """The first thing that differs, or None."""
        before, now = self.before, self.now
        if isinstance(before, str) or isinstance(now, str):
            return None if before == now else f"{before} before, {now} now"
        if before.steps != now.steps:
            n = min(len(before.steps), len(now.steps))
            at = next((i for i in range(n) if before.steps[i] != now.steps[i]), n)
            return f"step {at}: {before.steps[at : at + 1]} before, {now.steps[at : at + 1]} now"
        for name in ("selected", "n_evaluations"):
            if getattr(before, name) != getattr(now, name):
                return f"{name}: {getattr(before, name)} before, {getattr(now, name)} now"
        return None if self.score_error() <= TOLERANCE else f"scores differ by {self.score_error():.1e}"


def rounding_decides(seed: int) -> bool:
    """True if rounding error may decide a move of the reference on a random problem."""
    from problems import AMBIGUOUS, by_reference, problem

    drawn = problem(seed, ALL_STRATEGIES)
    return by_reference(drawn, drawn.parameters["solver"]).margin <= AMBIGUOUS


def compare(before: Path, tables: Sequence[Table]) -> list[Compared]:
    """Run all selections with both versions, at the same time."""
    with TemporaryDirectory() as folder, ThreadPoolExecutor(2) as pool:
        todo, *files = (Path(folder) / name for name in ("tables", "before", "now"))
        todo.write_bytes(pickle.dumps(tables))
        list(pool.map(run_checkout, (before, data.ROOT), (todo, todo), files))
        both = [pickle.loads(file.read_bytes()) for file in files]
    return [
        Compared(f"{table.name}, {params['strategy']}, {params['criterion']}", table.heading, *results)
        for table, *lists in zip(tables, *both, strict=True)
        for params, *results in zip(table.selections, *lists, strict=True)
    ]


def run_checkout(checkout: Path, tables: Path, results: Path) -> None:
    """Call `work` with the source of a checkout."""
    environment = os.environ | {"PYTHONPATH": str(checkout.resolve() / "src"), "OPENBLAS_NUM_THREADS": "1"}
    code = "import sys; from benchmarks.unchanged import work; work(*sys.argv[1:])"
    subprocess.run([sys.executable, "-c", code, str(tables), str(results)], cwd=data.ROOT, env=environment, check=True)


def row(heading: str, compared: Sequence[Compared]) -> str:
    """A line of the table: totals before, and the largest error of scores that do not differ."""
    paths = [one.before for one in compared if isinstance(one.before, Result)]
    n_steps, n_evaluations = sum(len(path.steps) for path in paths), sum(path.n_evaluations for path in paths)
    same = [one for one in compared if one.difference() is None]
    counts = (len(compared), len(compared) - len(paths), n_steps, n_evaluations, len(compared) - len(same))
    error = max((one.score_error() for one in same if isinstance(one.before, Result)), default=0.0)
    return LINE.format(heading, *(f"{count:,}" for count in counts), f"{error:.1e}")


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.unchanged", description=__doc__)
    parser.add_argument("--before", type=Path, required=True, metavar="FOLDER", help="the other checkout")
    parser.add_argument("--datasets", metavar="DIR", help="folder of the public datasets (DROPSTEP_DATA)")
    parser.add_argument("--problems", type=int, default=2000, metavar="N", help="random problems (2000)")
    parser.add_argument("--only", nargs="*", metavar="NAME", help="some of the datasets", choices=readers())
    args = parser.parse_args(argv)
    if not (args.before / "src" / "dropstep").is_dir():
        parser.error(f"--before {args.before} is not a checkout: it has no src/dropstep")
    if args.datasets:
        os.environ["DROPSTEP_DATA"] = args.datasets
    print(LINE.format("data", "selections", "errors", "steps", "evaluations", "differ", "score error"))
    compared: list[Compared] = []
    for name, read in readers().items():
        if args.only is None or name in args.only:
            table = dataset(name, *read())
            compared += (results := compare(args.before, [table]))
            print(row(table.heading, results), flush=True)
    sys.path[:0] = [str(data.ROOT / "src"), str(data.ROOT / "tests")]
    random = compare(args.before, [random_problem(seed) for seed in range(args.problems)])
    for heading in sorted({one.heading for one in random}):
        print(row(heading, [one for one in random if one.heading == heading]))
    differ = [f"{one.name}: {one.difference():.240}" for one in compared if one.difference()]
    for seed, one in enumerate(random):
        if found := one.difference():
            differ.append(f"{one.name}: {found:.240}{' (decided by rounding error)' if rounding_decides(seed) else ''}")
    print("\n".join([row("all", compared + random), *differ]))
    return int(bool(differ))


if __name__ == "__main__":
    from benchmarks.unchanged import main as main_  # pickled classes must belong to the module, not to __main__

    sys.exit(main_())
