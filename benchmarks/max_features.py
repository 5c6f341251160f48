"""Dropping against forward under `max_features`: python -m benchmarks.max_features

On seeded problems with correlated features, both strategies select at most a fixed number of features. The table counts
how often dropping ends with a worse, the same or a better score than forward, and how often with fewer features.
"""

from __future__ import annotations

import argparse
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks import publish
from dropstep import select

N_PROBLEMS, N_ROWS, N_FEATURES, N_TRUE, N_CLASSES = 200, 120, 40, 8, 3
MAX_FEATURES = 6
MIXING, NOISE = 0.35, 3.0
GREATER_IS_BETTER = ("r2", "adj_r2", "trace")
TIE = 1e-9  # relative difference of scores up to which they count as the same


@dataclass(frozen=True)
class Case:
    """A criterion with its thresholds; leave equals enter."""

    criterion: str
    enter: float = 0.0
    drop: float | str = 0.0


# Criteria that every feature improves always reach the limit, and drop by the test at 0.05. The others may stop before
# the limit with enter=0, and always reach it with enter=-inf.
INCREASING = ("rss", "r2")
PENALISED = ("adj_r2", "cp", "aic", "aicc", "bic", "ebic")
CLASSES = ("trace", "wilks")
CASES = (
    *(Case(criterion, drop="auto") for criterion in INCREASING),
    *(Case(criterion) for criterion in PENALISED),
    *(Case(criterion, enter=-math.inf) for criterion in PENALISED),
    *(Case(criterion, drop="auto") for criterion in CLASSES),
)


@dataclass(frozen=True)
class Problem:
    """X = Z (I + 0.35 N), y = X b + noise with 8 nonzero coefficients, and y cut into 3 classes of equal size."""

    X: NDArray[np.float64]
    y: NDArray[np.float64]
    classes: NDArray[np.intp]

    @classmethod
    def of(cls, seed: int) -> Problem:
        rng = np.random.default_rng(seed)
        Z, N = rng.standard_normal((N_ROWS, N_FEATURES)), rng.standard_normal((N_FEATURES, N_FEATURES))
        X = Z @ (np.eye(N_FEATURES) + MIXING * N)
        true = rng.choice(N_FEATURES, N_TRUE, replace=False)
        coefficients = rng.choice([-1.0, 1.0], N_TRUE) * rng.uniform(0.5, 1.5, N_TRUE)
        y = X[:, true] @ coefficients + NOISE * rng.standard_normal(N_ROWS)
        return cls(X, y, np.argsort(np.argsort(y)) * N_CLASSES // N_ROWS)


def outcomes(case: Case, problem: Problem) -> Iterator[str]:
    """How the selection by dropping compares with that by forward."""
    model, y = ("discriminant", problem.classes) if case.criterion in CLASSES else ("linear", problem.y)
    params = {"model": model, "criterion": case.criterion, "enter": case.enter, "leave": case.enter, "drop": case.drop}
    dropping, forward = (
        select(problem.X, y, strategy=strategy, max_features=MAX_FEATURES, **params)
        for strategy in ("dropping", "forward")
    )
    difference = dropping.score - forward.score
    improvement = difference if case.criterion in GREATER_IS_BETTER else -difference
    if abs(difference) <= TIE * max(abs(dropping.score), abs(forward.score)):
        yield "same"
    else:
        yield "better" if improvement > 0 else "worse"
    if len(dropping.selected) < len(forward.selected):
        yield "fewer"


def table(n_problems: int = N_PROBLEMS, cases: Sequence[Case] = CASES) -> str:
    """A line per criterion and thresholds, in Markdown."""
    problems = [Problem.of(seed) for seed in range(n_problems)]
    lines = []
    for case in cases:
        counts = Counter(outcome for problem in problems for outcome in outcomes(case, problem))
        drop = f'"{case.drop}"' if isinstance(case.drop, str) else f"{case.drop:g}"
        numbers = [str(counts[outcome]) for outcome in ("worse", "same", "better", "fewer")]
        lines.append([f"`{case.criterion}`", f"`{case.enter:g}`", f"`{drop}`", *numbers])
    head = ["criterion", "`enter`, `leave`", "`drop`", "worse", "same", "better", "fewer features"]
    return publish.markdown(head, lines)


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.max_features", description=__doc__)
    parser.add_argument("--problems", type=int, default=N_PROBLEMS, metavar="N", help="number of seeded problems (200)")
    parser.add_argument("--publish", action="store_true", help="also write the table to docs/benchmarks.md")
    args = parser.parse_args(argv)
    if args.publish and args.problems != N_PROBLEMS:
        parser.error(f"--publish needs all {N_PROBLEMS} problems, not {args.problems}; omit --problems")
    text = table(args.problems)
    print(text)
    if args.publish:
        publish.write_block(publish.PAGE, "max_features", text)


if __name__ == "__main__":
    main()
