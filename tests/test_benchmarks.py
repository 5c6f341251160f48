"""The benchmarks measure what they say, on tables of a few rows: everyone who is installed takes part."""

import json
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_iris

from dropstep import Selector, select
from dropstep.columns import Columns

sys.path.append(str(Path(__file__).resolve().parents[1]))  # benchmarks belong to no installed package

from benchmarks import __main__ as command
from benchmarks import bars, report, where
from benchmarks.drawings import draw
from benchmarks.from_rows import AnewFromRows, NegativeEBIC
from benchmarks.growth import OURS, Grown, Growth, grown
from benchmarks.measure import interleaved, traced_peak
from benchmarks.rivals import RIVALS, dropstep
from benchmarks.runner import run
from benchmarks.simulated import Simulated
from benchmarks.trial import stored, trial
from benchmarks.workloads import WORKLOADS, Workload

TINY = Simulated(60, 12, 3)
EXACT = {"dropstep forward", "dropstep forward_backward", "anew from the rows", "a fit per candidate", "R leaps"}


@pytest.fixture(scope="module")
def outcome():
    """Everyone, here and now: no trials, so no memory."""
    return run(Workload("tiny", TINY, TINY.k, "few rows"), RIVALS, repeats=1, isolated=False, settle=0.0)


def test_everyone_selects_as_many_features_as_asked_or_says_why_not(outcome):
    for row in outcome.rows:
        if row.why:
            assert row.why.startswith(("not available: ", "not run: "))
        elif row.rival != "dropstep Selector()":
            assert len(row.selected) == TINY.k
        assert row.why or (row.seconds > 0 and 0 < row.score < 1)


def test_whoever_searches_exactly_finds_the_set_of_forward(outcome):
    rows = {row.rival: row for row in outcome.rows}
    for name in EXACT:
        if not rows[name].why:
            assert set(rows[name].selected) == set(outcome.ours.selected)
            assert rows[name].score == pytest.approx(outcome.ours.score)


def test_the_table_has_a_line_for_everyone(outcome):
    text = report.table(outcome)
    assert all(f"\n{row.rival}" in text for row in outcome.rows)
    assert "n = 60, p = 12" in text


def test_the_json_holds_the_numbers_and_no_path(outcome, tmp_path):
    path = tmp_path / "benchmarks.json"
    bar = bars.Bar("what", 2.0, 3.0)
    report.write_json(path, [outcome], [], [bar])
    content = json.loads(path.read_text())
    assert content["workloads"][0]["rows"][0]["rival"] == outcome.rows[0].rival
    assert content["bars"][0]["met"]
    assert str(Path.home()) not in path.read_text()
    assert sys.prefix not in path.read_text()


def test_classes_by_thresholds_give_the_set_of_the_paper_s_way():
    workload = Workload("iris", partial(load_iris, return_X_y=True), 4, "flowers", "classes", (0.05, 0.05))
    outcome = run(workload, RIVALS, repeats=1, isolated=False, settle=0.0)
    rows = {row.rival: row for row in outcome.rows}
    for name in ("dropstep dropping", "the paper's way", "a solve per candidate"):
        assert set(rows[name].selected) == {0, 1, 2, 3}
        assert rows[name].score == pytest.approx(32.4773, rel=1e-5)


@pytest.mark.parametrize("strategy", ["forward", "dropping", "stepwise", "forward_backward"])
def test_anew_from_the_rows_is_the_search_itself(strategy):
    X, y = Simulated(100, 150, 8)()
    anew = AnewFromRows.of(X, y, NegativeEBIC).run(strategy)
    assert anew == Selector(strategy=strategy).fit(X, y).selected_.tolist()


def test_a_trial_tells_what_was_found_and_what_failed():
    X, y = TINY()
    with stored(X, y) as paths:
        good = trial(partial(dropstep, max_features=2), paths, 2, timeout=60)
        bad = trial(partial(dropstep, strategy="sideways"), paths, 2, timeout=60)
        late = trial(dropstep, paths, 2, timeout=0.01)
    assert good.result == dropstep(X, y, 2, max_features=2)
    assert good.seconds > 0
    assert good.extra >= 0
    assert "unknown strategy 'sideways'" in bad.failed
    assert late.failed == "not finished after 0 s"


def test_simulated_data_depend_on_neither_order_nor_dtype():
    (X, y), (F, z) = TINY(), Simulated(60, 12, 3, order="F", dtype="float32")()
    assert F.flags.f_contiguous
    assert F.dtype == np.float32
    np.testing.assert_array_equal(F, X.astype(np.float32))
    np.testing.assert_array_equal(y, z)


def test_times_are_taken_in_turn_and_bursts_in_a_row():
    order = []
    times = interleaved(
        {"a": lambda: order.append("a"), "b": lambda: order.append("b")}, repeats=2, burst={"b": 2}, settle=0.0
    )
    assert order == ["a", "b", "b"] * 2
    assert len(times["b"].seconds) == 4


def test_traced_memory_is_that_of_the_largest_moment():
    assert traced_peak(lambda: np.ones(10**6).sum()) == pytest.approx(8e6, rel=0.01)


def test_growth_has_the_slope_of_a_power_and_is_drawn(tmp_path):
    growth = Growth("rows", "n", tuple(Simulated(n, 5, 2) for n in (40, 80, 160)))
    assert Grown(growth, {OURS: [1.0, 2.0, 4.0]}).slope(OURS) == pytest.approx(1.0)
    measured = grown(growth, 1, [rival for rival in RIVALS if rival.name == OURS], settle=0.0)
    assert set(measured.seconds) == {OURS, "one pass"}
    assert [path.suffix for path in draw(measured, tmp_path) if path.exists()] == [".png", ".svg"]
    assert "slope" in report.growth_lines(measured)


def test_a_bar_says_whether_it_is_met():
    assert str(bars.Bar("time", 2.0, 1.7, "products")).startswith("NOT MET")
    assert str(bars.Bar("speed", 600, 500, at_least=True)).startswith("met")


def test_the_command_knows_its_names(capsys):
    args = command.arguments(["--quick", "--only", "small", "--peers", "fastcan"])
    assert [workload.name for workload in command.chosen_workloads(args)] == ["small"]
    assert {rival.name for rival in command.chosen_rivals(args) if not rival.ours} == {"fastcan"}
    with pytest.raises(SystemExit):
        command.arguments(["--only", "huge"])
    assert "unknown huge; --only takes" in capsys.readouterr().err
    assert len({workload.name for workload in WORKLOADS}) == len(WORKLOADS)


def test_the_profile_tells_all_of_the_time_and_leaves_nothing_behind():
    X, y = Simulated(600, 500, 5)()
    before = Columns.products
    with where.profiled() as profile:
        path = select(X, y)
    assert Columns.products is before
    assert profile.calls["steps, the pool, the score"] >= len(path.steps)
    assert profile.calls["columns: products with features"] == len(profile.vectors) > 0
    assert np.isclose(profile.inside[0], sum(profile.seconds.values()))
    told = list(where.lines("some table", X, partial(select, X, y), 1))
    assert told[0].startswith("some table: ")
    assert any("columns: sums of squares (1 calls)" in line for line in told)
    shares = [float(line.split("%")[0]) for line in told[1:-1]]
    assert abs(sum(shares) - 100) < 1
    assert where.python_calls(partial(len, X)) < 10
