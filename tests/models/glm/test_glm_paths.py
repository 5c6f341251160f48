"""Paths on random ugly problems: gains of refits decide what enters, what leaves and what is dropped.

`python tests/models/glm/test_glm_paths.py FIRST LAST`, with tests and src on the path, compares other problems.
"""

from __future__ import annotations

import sys

import numpy as np
import pytest

from models.glm.problems import KINDS, NUISANCE, RandomProblem, problem, without_zero_weights
from models.glm.test_glm import Scores, columns
from reference.glm import fits
from search.test_lookup import Brute

STRATEGIES = ("dropping", "fbed", "forward", "backward", "stepwise", "bidirectional", "forward_backward", "floating",
              "swap")  # fmt: skip
PER_KIND = 4


class Independent(Brute):
    """Backward starts from independent features."""

    table: Scores  # type: ignore[assignment]

    def run_backward(self) -> None:
        slow, data = self.table.slow, self.table.slow.data
        for u in range(self.table.n):
            before, after = (fits.design(data, columns(slow, units)) for units in (self.selected, [*self.selected, u]))
            if after.shape[1] > before.shape[1]:
                self.add(u)
        self.backward()


def usable(given: RandomProblem) -> bool:
    y = given.data.y
    return bool(y[:, 1].any()) if given.data.kind == "cox" else len(np.unique(y)) > (given.kind == "multinomial") + 1


def difference(seed: int, kinds: tuple[str, ...] = KINDS) -> str | None:
    """How the path of a problem differs from the reference; None if it does not."""
    rng, kind = np.random.default_rng([99, seed]), kinds[seed % len(kinds)]
    given = problem(kind, seed, n=int(rng.integers(10, 50)), p=int(rng.integers(3, 7)), plain=bool(rng.uniform() < 0.2))
    slow = without_zero_weights(given)
    if not usable(slow):
        return None
    criterion = str(rng.choice(["aic", "bic", "aicc"]))
    strategy = STRATEGIES[seed // len(kinds) % len(STRATEGIES)]
    cap = 2 if strategy != "backward" and rng.uniform() < 0.5 else None
    path = given.select(strategy=strategy, criterion=criterion, max_features=cap)
    scores = Scores(slow, criterion)
    expected = Independent(scores, {}, cap).run(strategy)
    found, wanted = scores.value(list(path.selected)), scores.value(expected)
    close = 1e-7 * max(1.0, abs(wanted))  # sets that differ by rounding are equally good
    if abs(path.score + found) > close or (set(path.selected) != set(expected) and abs(found - wanted) > close):
        return f"{kind} {strategy} {criterion} cap={cap}: {path.selected} {path.score}, not {expected} {-wanted}"
    return None


@pytest.mark.parametrize("seed", range(PER_KIND * len(KINDS)))
def test_paths_are_those_of_the_textbook(seed: int) -> None:
    assert difference(seed) is None


@pytest.mark.parametrize("seed", range(PER_KIND * len(NUISANCE)))
def test_paths_with_nuisance_parameters_are_those_of_the_textbook(seed: int) -> None:
    assert difference(seed, NUISANCE) is None


@pytest.mark.parametrize("seed", [276, 550])
def test_gains_of_refits_decide_what_is_dropped(seed: int) -> None:
    """Screening gains, which are those of score tests, would lead to other selections."""
    assert difference(seed) is None


if __name__ == "__main__":
    for number in range(*map(int, sys.argv[1:3])):
        for kinds in (KINDS, NUISANCE):
            if message := difference(number, kinds):
                print(number, message, flush=True)
