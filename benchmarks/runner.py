"""One workload: every tool once in a separate process for its memory, then all in one process for their times."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.found import Found
from benchmarks.measure import interleaved, traced_peak, yardsticks
from benchmarks.rivals import Rival, Task
from benchmarks.trial import Trial, attempt, stored, trial
from benchmarks.workloads import Workload, coded
from examples.from_scratch import least_squares_criterion, trace_criterion

BUDGET = 12.0  # seconds: a tool that has spent more takes no part in further rounds
MAX_PRODUCT = 4_000  # features: X.T @ X of more takes too long to serve as a unit


@dataclass(frozen=True)
class Row:
    """One tool on one workload; `why` is the reason if it was not measured.

    Attributes
    ----------
    seconds : the best of `runs` timed runs, which follow one untimed run.
    extra : peak growth of the resident set size above X, in bytes, in a separate process.
    traced : peak bytes that NumPy and Python allocated (tracemalloc); dropstep only.
    score : R2 or trace of the selected features.
    shared : number of selected features in common with `Outcome.ours`.
    """

    rival: str
    why: str = ""
    seconds: float | None = None
    runs: int = 0
    n_evaluations: int | None = None
    extra: int | None = None
    traced: int | None = None
    selected: tuple[int, ...] = ()
    score: float | None = None
    shared: int = 0


@dataclass(frozen=True)
class Outcome:
    """All tools on one workload, and the units of measurement."""

    workload: Workload
    n: int
    p: int
    dtype: str
    order: str
    nbytes: int
    one_pass: float
    one_product: float | None
    rows: tuple[Row, ...]

    @property
    def ours(self) -> Row:
        """The row whose selected features the others are compared with."""
        return next(row for row in self.rows if row.rival == self.workload.ours)


@dataclass(frozen=True)
class Entry:
    """A tool that takes part: its call, y in the form it expects, and its trial."""

    rival: Rival
    call: Any
    y: NDArray[Any]
    tried: Trial = field(default_factory=Trial)


def run(
    workload: Workload,
    rivals: Sequence[Rival],
    repeats: int = 5,
    timeout: float = 120.0,
    isolated: bool = True,
    short_budget: float = 1.0,
) -> Outcome:
    """Measure all tools on a workload: `repeats` and `short_budget` as in `interleaved`.

    A tool whose trial takes longer than `timeout` seconds is not timed. Unless `isolated`, trials run in this process,
    without a timeout and without a measurement of memory.
    """
    X, y = workload.make()
    numbers = coded(y, workload.kind)
    n, p = X.shape
    task = Task(workload, n, p, targets=numbers.shape[1] if numbers.ndim == 2 else 1, patience=timeout / 2)
    rows, entries = _sorted_out(task, rivals, y, numbers)
    entries = _tried(entries, X, y, numbers, workload.k, timeout, isolated)
    rows |= {e.rival.name: Row(e.rival.name, why=e.tried.failed) for e in entries if e.tried.failed}
    able = [entry for entry in entries if not entry.tried.failed]
    calls = {e.rival.name: partial(e.call, X, e.y, workload.k) for e in able}
    units = yardsticks(X, product=task.p <= min(task.n, MAX_PRODUCT))
    times = interleaved(calls | units, repeats, BUDGET, {"one pass": 3}, short_budget)
    rows |= {e.rival.name: _row(e, times, X, workload.k) for e in able}
    product = times.get("one product")
    return Outcome(
        workload=workload,
        n=task.n,
        p=task.p,
        dtype=str(X.dtype),
        order="C" if X.flags.c_contiguous else "F",
        nbytes=X.nbytes,
        one_pass=times["one pass"].best,
        one_product=None if product is None else product.best,
        rows=_judged([rows[rival.name] for rival in rivals if rival.name in rows], X, y, numbers, workload),
    )


def _sorted_out(
    task: Task, rivals: Sequence[Rival], y: NDArray[Any], numbers: NDArray[Any]
) -> tuple[dict[str, Row], list[Entry]]:
    """Rows of the tools that cannot take part, with the reason, and entries of those that can."""
    rows, entries = {}, []
    for rival in rivals:
        unable = rival.unable(task)
        if unable == "-":
            continue
        if missing := rival.missing():
            rows[rival.name] = Row(rival.name, why=f"not available: {missing}")
        elif unable:
            rows[rival.name] = Row(rival.name, why=f"not run: {unable}")
        else:
            entries.append(Entry(rival, rival.call(task.workload), numbers if rival.coded else y))
    return rows, entries


def _tried(entries: list[Entry], X: Any, y: Any, numbers: Any, k: int, timeout: float, isolated: bool) -> list[Entry]:
    """Run every tool once: in a separate process, or in this one if not `isolated` or if it runs outside Python."""
    if not isolated:
        return [replace(e, tried=attempt(e.call, X, e.y, k)) for e in entries]
    with stored(X, y, numbers) as (path_X, path_y, path_numbers):
        paths = {False: (path_X, path_y), True: (path_X, path_numbers)}
        return [
            replace(
                e,
                tried=attempt(e.call, X, e.y, k)
                if e.rival.outside
                else trial(e.call, paths[e.rival.coded], k, timeout),
            )
            for e in entries
        ]


def _row(entry: Entry, times: Any, X: Any, k: int) -> Row:
    """The measurements of one tool."""
    name, found = entry.rival.name, entry.tried.result
    assert isinstance(found, Found)
    seconds = times[name].seconds
    return Row(
        name,
        seconds=min(seconds),
        runs=len(seconds),
        n_evaluations=found.n_evaluations,
        extra=entry.tried.extra,
        traced=traced_peak(partial(entry.call, X, entry.y, k)) if entry.rival.ours else None,
        selected=found.selected,
    )


def _judged(rows: list[Row], X: Any, y: Any, numbers: Any, workload: Workload) -> tuple[Row, ...]:
    """Rows with the R2 or the trace of their sets, and the number of features in common with ours."""
    ours = next(set(row.selected) for row in rows if row.rival == workload.ours)
    scores: dict[frozenset[int], float] = {}
    for row in rows:
        features = frozenset(row.selected)
        if row.seconds is not None and features not in scores:
            scores[features] = _score(X, y, numbers, sorted(features), workload.kind)
    return tuple(
        row
        if row.seconds is None
        else replace(row, score=scores[frozenset(row.selected)], shared=len(ours & set(row.selected)))
        for row in rows
    )


def _score(X: Any, y: Any, numbers: Any, features: list[int], kind: str) -> float:
    table = np.asarray(X[:, features], dtype=np.float64)
    everything = list(range(len(features)))
    if kind == "classes":
        return trace_criterion(table, y)(everything)
    rss = least_squares_criterion(table, numbers, lambda rss, size: rss)(everything)
    return float(1 - rss / np.square(numbers - numbers.mean()).sum())
