"""Residual sums of squares of the NIST reference problems, against arithmetic without rounding.

The library is given columns of doubles, so the truth is the exact residual sum of squares of those very doubles. Every
score on a path must have seven correct digits, from rows ("columns") and from moments. Two things limit that:

- the size of what a score is a difference of. Moments hold sums of squares, so a residual below their rounding has no
  digits left; rows hold the square root of that. This is the `floor` below, and matters for the exact fits only.
- features in the span of the others as far as doubles can tell: Filip has powers 1 to 10 of x. A path that leaves
  features out for that reason has to say so in its notes.
"""

import math
import sys
from fractions import Fraction

import numpy as np
import pytest

import nist
from dropstep import StopReason, select

DIGITS = 1e-7
BY_NAME = {problem.name: problem for problem in nist.PROBLEMS}

# How many features the forward path reaches, and the start of backward has. All there are, but for Filip: one more of
# its features than listed here would be progress, one less a loss. What is missing must be in the notes.
SOLVERS = ("columns", "gram")
EASY = {"Longley": 6, "Wampler3": 5, "Wampler4": 5, "Wampler5": 5}
FORWARD_REACHES = {"columns": EASY | {"Filip": 9}, "gram": EASY | {"Filip": 5}}
BACKWARD_STARTS = {"columns": EASY | {"Filip": 10}, "gram": EASY | {"Filip": 4}}
# A residual up to this part of the total sum of squares is no residual: rounding is all there is to report.
EXACT_FIT = {"columns": 1e-22, "gram": 1e-13}
CASES = [(solver, name) for solver in SOLVERS for name in (*EASY, "Filip")]


def given(name):
    """The problem as a library sees it: X and y of doubles, and the same doubles for exact arithmetic."""
    rows, y = BY_NAME[name].stored()
    return np.array(rows), np.array(y), rows, y


def forward(X, y, solver):
    return select(X, y, model="linear", strategy="forward", criterion="rss", enter=0, solver=solver)


def assert_digits(score, rows, y, features, solver):
    exact = nist.exact_rss(rows, y, features)
    total = nist.exact_rss(rows, y, ())
    if exact <= Fraction(EXACT_FIT[solver]) * total:
        assert 0 <= score <= EXACT_FIT[solver] * float(total) * (1 + 1e-9), (features, score, float(exact))
        return
    rounding = Fraction(len(y) * sys.float_info.epsilon)
    floor = total * (rounding if solver == "gram" else rounding**2)
    assert abs(Fraction(score) - exact) <= max(Fraction(DIGITS) * exact, floor), (features, score, float(exact))


def sets_and_scores(path):
    """The selected set and the score after every step."""
    selected = []
    for step in path.steps:
        if step.action == "add":
            selected = [*selected, *step.features]
        else:
            assert step.action == "remove"
            selected = [j for j in selected if j not in step.features]
        yield tuple(selected), step.score
    assert tuple(selected) == path.selected


# ---- the data and the certified values themselves ----------------------------------------------------------------


@pytest.mark.parametrize("name", BY_NAME)
def test_exact_arithmetic_gives_the_certified_values(name):
    problem = BY_NAME[name]
    rows, y = problem.exact()
    rss = nist.exact_rss(rows, y, range(problem.n_features))
    total = nist.exact_rss(rows, y, ())
    assert float(rss) == pytest.approx(float(problem.rss), rel=1e-14, abs=0)
    assert float(1 - rss / total) == pytest.approx(float(problem.r2), rel=1e-14)
    sd = math.sqrt(rss / (len(y) - problem.n_features - 1))
    assert sd == pytest.approx(float(problem.residual_sd), rel=1e-14, abs=0)


@pytest.mark.parametrize("name", BY_NAME)
def test_certified_coefficients_give_the_certified_residuals(name):
    problem = BY_NAME[name]
    rows, y = problem.exact()
    intercept, *slopes = map(Fraction, problem.coefficients)
    fitted = [intercept + sum(b * x for b, x in zip(slopes, row, strict=True)) for row in rows]
    rss = sum((a - b) ** 2 for a, b in zip(y, fitted, strict=True))
    assert float(rss) == pytest.approx(float(problem.rss), rel=1e-9, abs=0)


# ---- the library -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("solver", "name"), CASES)
def test_every_score_of_the_forward_path_has_seven_digits(solver, name):
    X, y, rows, target = given(name)
    path = forward(X, y, solver)
    assert_digits(path.start, rows, target, (), solver)
    for features, score in sets_and_scores(path):
        assert_digits(score, rows, target, features, solver)
    assert len(path.selected) >= FORWARD_REACHES[solver][name]
    assert len(path.selected) == X.shape[1] or path.notes


@pytest.mark.parametrize(("solver", "name"), CASES)
def test_every_addition_is_the_best_one_to_seven_digits(solver, name):
    X, y, rows, target = given(name)
    path = forward(X, y, solver)
    for size in range(FORWARD_REACHES[solver][name]):
        before, chosen = path.selected[:size], path.selected[: size + 1]
        rest = set(range(X.shape[1])) - set(before)
        best = min(nist.exact_rss(rows, target, (*before, j)) for j in rest)
        assert nist.exact_rss(rows, target, chosen) <= best * (1 + Fraction(DIGITS))


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("name", [*EASY, "Filip"])
def test_forward_order_is_the_exact_order(solver, name):
    """Every best addition is clear of the second best by more than rounding, also where the gain is 1 in 1e16."""
    X, y, rows, target = given(name)
    path = forward(X, y, solver)
    exact = tuple(j for j, _ in nist.exact_forward(rows, target))
    assert path.selected == exact[: len(path.selected)]


@pytest.mark.parametrize(("solver", "name"), CASES)
def test_every_score_of_the_backward_path_has_seven_digits(solver, name):
    X, y, rows, target = given(name)
    path = select(X, y, model="linear", strategy="backward", criterion="rss", leave=math.inf, solver=solver)
    start = path.steps[0].features
    assert len(start) >= BACKWARD_STARTS[solver][name]
    assert len(start) == X.shape[1] or path.notes
    for features, score in sets_and_scores(path):
        assert_digits(score, rows, target, features, solver)
    assert path.selected == ()


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("name", ["Wampler1", "Wampler2"])
def test_an_exact_fit_ends_the_path_and_says_so(solver, name):
    """A feature to spare must not enter: nothing is left for it to explain."""
    X, y, rows, target = given(name)
    spare = np.cos(np.arange(len(y)))
    path = forward(np.column_stack([X, spare]), y, solver)
    assert path.stop is StopReason.EXACT
    assert X.shape[1] not in path.selected
    assert len(path.selected) >= 4
    for features, score in sets_and_scores(path):
        assert_digits(score, rows, target, features, solver)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("name", ["Wampler1", "Wampler2"])
def test_an_exact_fit_that_takes_every_feature_says_so(solver, name):
    X, y, rows, target = given(name)
    path = forward(X, y, solver)
    assert path.stop is StopReason.EXACT
    for features, score in sets_and_scores(path):
        assert_digits(score, rows, target, features, solver)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("name", EASY)
def test_the_full_model_has_the_certified_values(solver, name):
    """The doubles of these four are the decimals, or near enough, so the certified values hold for them too."""
    problem = BY_NAME[name]
    X, y, *_ = given(name)
    everything = {
        "strategy": "forward",
        "include": list(range(X.shape[1])),
        "max_features": X.shape[1],
        "solver": solver,
    }
    rss = select(X, y, model="linear", criterion="rss", **everything).score
    r2 = select(X, y, model="linear", criterion="r2", **everything).score
    assert rss == pytest.approx(float(problem.rss), rel=DIGITS)
    assert r2 == pytest.approx(float(problem.r2), rel=DIGITS)
