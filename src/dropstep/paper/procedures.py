"""The paper's three procedures, measured: by the search of this library, and from scratch as the paper runs them."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dropstep.models.least_squares.criteria import Criterion
from dropstep.paper.from_scratch import FromScratch, Procedure, Score
from dropstep.result import SelectionPath
from dropstep.select import select

Floats = NDArray[np.float64]
Record = dict[str, Any]

# One thread does the work, so its processor time is the time it takes on a machine that does nothing else; where that
# clock is coarse, the wall clock serves.
_fine = time.get_clock_info("process_time").resolution <= 1e-5
CLOCK = time.process_time if _fine else time.perf_counter

RUNAWAY = 60  # features; more than any of the paper's selections

PROCEDURES: dict[Procedure, str] = {
    "dropping": "dropping",
    "forward_backward": "forward-backward",
    "stepwise": "stepwise",
}


@dataclass(frozen=True)
class Task:
    """What a procedure is to do: rows, criterion and thresholds (alpha to enter, beta to leave and to be dropped)."""

    X: Floats
    y: NDArray[Any]
    criterion: Criterion
    alpha: float
    beta: float

    def path(self, procedure: Procedure) -> SelectionPath:
        """The procedure by this library."""
        model = self.criterion.kind
        words: dict[str, Any] = {"criterion": self.criterion, "enter": self.alpha, "leave": self.beta}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # 0.01 is the paper's threshold, also on the scale of Cp
            return select(self.X, self.y, strategy=procedure, model=model, **words)

    def measured(self, procedure: Procedure, times: int = 1) -> Record:
        """Features, evaluations and backward steps of a procedure, and the best of several times."""
        seconds = []
        for _ in range(times):
            start = CLOCK()
            path = self.path(procedure)
            seconds.append(CLOCK() - start)
        return {
            "features": len(path.selected),
            "selected": list(path.selected),
            "evaluations": path.n_evaluations,
            "removals": removals(path),
            "score": path.score,
            "seconds": min(seconds),
        }

    def from_scratch(self, procedure: Procedure, score: Score) -> Record:
        """The same with every candidate set evaluated anew from the rows, once."""
        run = FromScratch(score, self.X.shape[1], self.alpha, self.beta)
        start = CLOCK()
        selected = run.run(procedure)
        seconds = CLOCK() - start
        return {"selected": selected, "evaluations": run.n_evaluations, "seconds": seconds}


def removals(path: SelectionPath) -> int:
    """How many backward steps a path took."""
    return sum(step.action == "remove" for step in path.steps)


def in_turn(repeat: int) -> list[Procedure]:
    """The procedures, each first in a third of the repeats: being first costs time that is no one's own."""
    names = list(PROCEDURES)
    first = repeat % len(names)
    return names[first:] + names[:first]


def all_measured(task: Task, repeat: int, score: Score | None, times: int = 1) -> Record:
    """Every procedure measured; with a `score`, from scratch as well, and whether the two agree.

    A selection that runs away would take hours from scratch; those are left out.
    """
    record: Record = {procedure: task.measured(procedure, times) for procedure in in_turn(repeat)}
    if score is not None and max(record[procedure]["features"] for procedure in PROCEDURES) <= RUNAWAY:
        slow = {procedure: task.from_scratch(procedure, score) for procedure in in_turn(repeat)}
        record["from_scratch"] = slow
        record["agree"] = all(set(slow[p]["selected"]) == set(record[p]["selected"]) for p in PROCEDURES)
    return record
