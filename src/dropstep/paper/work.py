"""Run the parts of experiments on a few processes, show progress, and keep what is finished."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TextIO

from joblib import Parallel, delayed, parallel_config
from threadpoolctl import threadpool_limits

from dropstep.paper.parts import Cell, Finished, Part, Records, Results, Store

Done = tuple[Part, Records, float]


@dataclass(frozen=True)
class Effort:
    """What all parts took, and how many of them an earlier run had finished."""

    parts: int
    found: int
    worked: float
    passed: float
    jobs: int


class Stopped(Exception):  # noqa: N818 (it is no error)
    """The user stopped a run; what is finished is kept."""


class Progress:
    """A line on a terminal that is written over, or a line now and then elsewhere."""

    def __init__(self, total: int, stream: TextIO | None = None) -> None:
        self.total, self.done, self.shown = total, 0, -1
        self.stream = sys.stderr if stream is None else stream
        self.start = time.perf_counter()

    def add(self, part: Part) -> None:
        self.done += 1
        tenth = 20 * self.done // self.total
        passed = time.perf_counter() - self.start
        line = f"{self.done:>4}/{self.total} parts  {passed // 60:.0f}:{passed % 60:02.0f}  {part.name}"
        if self.stream.isatty():
            end = "\n" if self.done == self.total else ""
            self.stream.write(f"\r\x1b[K{line[:100]}{end}")
        elif tenth > self.shown:
            self.stream.write(line + "\n")
        self.shown = tenth
        self.stream.flush()


def run_cells(
    cells: Iterable[Cell], seed: int, store: Store, *, jobs: int = 2, fresh: bool = False, stream: TextIO | None = None
) -> tuple[Results, Effort]:
    """Make what is not finished yet; Ctrl-C raises `Stopped` after keeping every part that was finished."""
    cells = list(cells)
    parts = [part for cell in cells for part in cell.parts(seed)]
    kept = {} if fresh else {part.name: one for part in parts if (one := store.load(part)) is not None}
    # Long trials come in small blocks; they go first, so that no process is left alone with one at the end.
    todo = sorted((part for part in parts if part.name not in kept), key=lambda part: part.cell.block)
    found, progress, last = len(kept), Progress(len(todo), stream), time.perf_counter()
    try:
        for part, records, worked in _made(todo, jobs):
            now = time.perf_counter()
            kept[part.name], last = Finished(records, worked, now - last), now
            store.save(part, kept[part.name])
            progress.add(part)
    except KeyboardInterrupt:
        raise Stopped(
            f"stopped; {len(kept)} of {len(parts)} parts are finished and kept in {store.folder}, and the same command "
            "goes on from there"
        ) from None
    records_of = {cell.key: [r for part in cell.parts(seed) for r in kept[part.name].records] for cell in cells}
    took = [kept[part.name] for part in parts]
    worked, passed = sum(done.worked for done in took), sum(done.passed for done in took)
    return Results(records_of), Effort(len(parts), found, worked, passed, jobs)


def _made(parts: list[Part], jobs: int) -> Iterator[Done]:
    """Parts as they are finished, each process with one thread for linear algebra."""
    if jobs == 1:
        with threadpool_limits(1):
            yield from map(_finish, parts)
        return
    with parallel_config(backend="loky", inner_max_num_threads=1):
        yield from Parallel(n_jobs=jobs, return_as="generator_unordered")(
            delayed(_finish_apart)(part) for part in parts
        )


def _finish_apart(part: Part) -> Done:
    """The same in a process of its own, which leaves Ctrl-C to the one that started it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    return _finish(part)


def _finish(part: Part) -> Done:
    start = time.process_time()
    records = part.run()
    return part, records, time.process_time() - start
