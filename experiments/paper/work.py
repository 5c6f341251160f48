"""Run the parts of experiments in several processes, with progress, and store finished parts."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TextIO

from joblib import Parallel, delayed, parallel_config
from threadpoolctl import threadpool_limits

from experiments.paper.parts import Cell, Finished, Part, Records, Results, Store

Done = tuple[Part, Records, float]


@dataclass(frozen=True)
class Effort:
    """The cost of a run.

    Attributes
    ----------
    parts : int
        Number of parts.
    found : int
        Number of parts stored by an earlier run.
    worked, passed : float
        Processor time and elapsed time of all parts, in seconds.
    jobs : int
        Number of processes.
    """

    parts: int
    found: int
    worked: float
    passed: float
    jobs: int


class Stopped(Exception):  # noqa: N818 (not an error)
    """The user interrupted a run; finished parts are stored."""


class Progress:
    """One line that is updated on a terminal; elsewhere, a new line for every twentieth of the work."""

    def __init__(self, total: int, stream: TextIO | None = None) -> None:
        self.total, self.done, self.shown = total, 0, -1
        self.stream = sys.stderr if stream is None else stream
        self.start = time.perf_counter()

    def add(self, part: Part) -> None:
        self.done += 1
        twentieth = 20 * self.done // self.total
        passed = time.perf_counter() - self.start
        line = f"{self.done:>4}/{self.total} parts  {passed // 60:.0f}:{passed % 60:02.0f}  {part.name}"
        if self.stream.isatty():
            end = "\n" if self.done == self.total else ""
            self.stream.write(f"\r\x1b[K{line[:100]}{end}")
        elif twentieth > self.shown:
            self.stream.write(line + "\n")
        self.shown = twentieth
        self.stream.flush()


def run_cells(
    cells: Iterable[Cell], seed: int, store: Store, *, jobs: int = 2, fresh: bool = False, stream: TextIO | None = None
) -> tuple[Results, Effort]:
    """Run the parts that are not stored yet.

    Parameters
    ----------
    cells : iterable of Cell
    seed : int
    store : Store
    jobs : int
        Number of processes.
    fresh : bool
        Whether to recompute stored parts.
    stream : text stream, optional
        Where progress is shown; standard error by default.

    Returns
    -------
    results : Results
    effort : Effort

    Raises
    ------
    Stopped
        On Ctrl-C; the parts finished so far are stored.
    """
    cells = list(cells)
    parts = [part for cell in cells for part in cell.parts(seed)]
    done = {} if fresh else {part.name: one for part in parts if (one := store.load(part)) is not None}
    found = len(done)
    try:
        _run_parts([part for part in parts if part.name not in done], done, store, jobs, stream)
    except KeyboardInterrupt:
        raise Stopped(
            f"interrupted; {len(done)} of {len(parts)} parts are stored in {store.folder}, and the same command "
            "continues from there"
        ) from None
    records = {cell.key: [r for part in cell.parts(seed) for r in done[part.name].records] for cell in cells}
    worked, passed = sum(one.worked for one in done.values()), sum(one.passed for one in done.values())
    return Results(records), Effort(len(parts), found, worked, passed, jobs)


def _run_parts(parts: list[Part], done: dict[str, Finished], store: Store, jobs: int, stream: TextIO | None) -> None:
    """Run parts, store them and add them to `done`."""
    # Long trials come in small blocks; they run first, so that all processes end at about the same time.
    parts = sorted(parts, key=lambda part: part.cell.block)
    progress, last = Progress(len(parts), stream), time.perf_counter()
    for part, records, worked in _completed(parts, jobs):
        now = time.perf_counter()
        done[part.name], last = Finished(records, worked, now - last), now
        store.save(part, done[part.name])
        progress.add(part)


def _completed(parts: list[Part], jobs: int) -> Iterator[Done]:
    """Parts in order of completion, each process with one thread for linear algebra."""
    if jobs == 1:
        with threadpool_limits(1):
            yield from map(_finish, parts)
        return
    with parallel_config(backend="loky", inner_max_num_threads=1):
        yield from Parallel(n_jobs=jobs, return_as="generator_unordered")(
            delayed(_finish_in_worker)(part) for part in parts
        )


def _finish_in_worker(part: Part) -> Done:
    """The same in a worker process, which ignores Ctrl-C: the main process handles it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    return _finish(part)


def _finish(part: Part) -> Done:
    start = time.process_time()
    records = part.run()
    return part, records, time.process_time() - start
