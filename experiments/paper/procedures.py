"""The paper's three procedures, timed: by the search of this library, and from scratch as in the paper."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from dropstep import Criterion, SelectionPath, select
from examples.from_scratch import FromScratch, Procedure, Score

Floats = NDArray[np.float64]
Record = dict[str, Any]

# With one thread, processor time is the time on an idle machine; where that clock is coarse, the wall clock serves.
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
    """A selection problem.

    Attributes
    ----------
    X : ndarray of shape (n_samples, n_features)
    y : ndarray of shape (n_samples,)
    model : {"linear", "discriminant"}
    criterion : Criterion
    alpha : float
        Threshold to enter.
    beta : float
        Threshold to leave, and to be dropped.
    """

    X: Floats
    y: NDArray[Any]
    model: Literal["linear", "discriminant"]
    criterion: Criterion
    alpha: float
    beta: float

    def path(self, procedure: Procedure) -> SelectionPath:
        """The path of a procedure by this library."""
        params: dict[str, Any] = {"criterion": self.criterion, "enter": self.alpha, "leave": self.beta}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # 0.01 is the paper's threshold, also on the scale of Cp
            return select(self.X, self.y, strategy=procedure, model=self.model, **params)

    def measured(self, procedure: Procedure, times: int = 1) -> Record:
        """Features, evaluations and backward steps of a procedure, and the minimum time of `times` runs."""
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
        """The same with every candidate set evaluated from the rows, in one run."""
        run = FromScratch(score, self.X.shape[1], self.alpha, self.beta)
        start = CLOCK()
        selected = run.run(procedure)
        seconds = CLOCK() - start
        return {"selected": selected, "evaluations": run.n_evaluations, "seconds": seconds}


def removals(path: SelectionPath) -> int:
    """Number of backward steps of a path."""
    return sum(step.action == "remove" for step in path.steps)


def in_turn(repeat: int) -> list[Procedure]:
    """The procedures, each first in a third of the repeats: the first run of a trial is slower than the others."""
    names = list(PROCEDURES)
    first = repeat % len(names)
    return names[first:] + names[:first]


def all_measured(task: Task, repeat: int, score: Score | None, times: int = 1) -> Record:
    """Time every procedure; with a `score`, from scratch as well, and compare the selections.

    A selection of more than `RUNAWAY` features would take hours from scratch and is skipped.
    """
    record: Record = {procedure: task.measured(procedure, times) for procedure in in_turn(repeat)}
    if score is not None and max(record[procedure]["features"] for procedure in PROCEDURES) <= RUNAWAY:
        slow = {procedure: task.from_scratch(procedure, score) for procedure in in_turn(repeat)}
        record["from_scratch"] = slow
        record["agree"] = all(set(slow[p]["selected"]) == set(record[p]["selected"]) for p in PROCEDURES)
    return record
