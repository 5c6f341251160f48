"""The benchmarks on small data: all installed tools, the timing protocol, and what is published from the results."""

import json
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_iris

from benchmarks import __main__ as command
from benchmarks import bars, before_after, max_features, measure, publish, report, where
from benchmarks.drawings import draw
from benchmarks.found import Found
from benchmarks.from_rows import NegativeEBIC, Recomputed
from benchmarks.growth import OURS, Grown, Growth, grown
from benchmarks.measure import interleaved, traced_peak
from benchmarks.rivals import RIVALS, dropstep
from benchmarks.runner import run
from benchmarks.simulated import Simulated
from benchmarks.trial import stored, trial
from benchmarks.workloads import WORKLOADS, Workload
from dropstep import Selector, select
from dropstep.data.columns import Columns

TINY = Simulated(60, 12, 3)
EXACT = {"dropstep forward", "dropstep forward_backward", "recomputed at every step", "a fit per candidate", "R leaps"}


@pytest.fixture(scope="module")
def outcome():
    """Everyone, here and now: no trials, so no memory."""
    return run(Workload("tiny", TINY, TINY.k, "few rows"), RIVALS, repeats=1, isolated=False, short_budget=0.0)


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
    report.write_json(path, report.as_json([outcome], [], [bar]))
    content = json.loads(path.read_text())
    assert content["workloads"][0]["rows"][0]["rival"] == outcome.rows[0].rival
    assert content["bars"][0]["met"]
    assert str(Path.home()) not in path.read_text()
    assert sys.prefix not in path.read_text()


def test_classes_by_thresholds_give_the_set_of_the_paper_s_way():
    workload = Workload("iris", partial(load_iris, return_X_y=True), 4, "flowers", "classes", (0.05, 0.05))
    outcome = run(workload, RIVALS, repeats=1, isolated=False, short_budget=0.0)
    rows = {row.rival: row for row in outcome.rows}
    for name in ("dropstep dropping", "paper, from the data", "a solve per candidate"):
        assert set(rows[name].selected) == {0, 1, 2, 3}
        assert rows[name].score == pytest.approx(32.4773, rel=1e-5)


@pytest.mark.parametrize("strategy", ["forward", "dropping", "stepwise", "forward_backward"])
def test_recomputing_from_the_data_gives_the_same_path(strategy):
    X, y = Simulated(100, 150, 8)()
    recomputed = Recomputed.of(X, y, NegativeEBIC).run(strategy)
    assert recomputed == Selector(strategy=strategy, criterion="ebic").fit(X, y).selected_.tolist()


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


def test_every_call_is_warmed_once_and_rounds_alternate():
    order = []
    times = interleaved(
        {name: partial(order.append, name) for name in "abc"}, repeats=2, burst={"c": 2}, short_budget=0.0
    )
    assert order == [*"abc", *"abcc", *"abcc"]
    assert [len(times[name].seconds) for name in "abc"] == [2, 2, 4]  # the warm-up is not timed


def test_short_calls_get_the_same_number_of_rounds(monkeypatch):
    """Best of 1,000 rounds against best of 5 would favour whichever call is shorter."""
    now = [0.0]
    monkeypatch.setattr(measure.time, "perf_counter", lambda: now[0])
    monkeypatch.setattr(measure.time, "sleep", lambda seconds: None)

    def takes(seconds):
        now[0] += seconds

    calls = {"short": partial(takes, 0.001), "longer": partial(takes, 0.01), "long": partial(takes, 1.0)}
    times = interleaved(calls, repeats=3, short_budget=0.1)
    assert len(times["short"].seconds) == len(times["longer"].seconds) >= 100
    assert len(times["long"].seconds) == 3


def test_a_call_that_seems_long_in_the_first_rounds_gets_as_many_runs_as_the_others(monkeypatch):
    now, runs = [0.0], []
    monkeypatch.setattr(measure.time, "perf_counter", lambda: now[0])
    monkeypatch.setattr(measure.time, "sleep", lambda seconds: None)

    def takes(seconds):
        now[0] += seconds

    def noisy():
        runs.append(0)
        takes(0.03 if len(runs) <= 3 else 0.001)

    times = interleaved({"noisy": noisy, "short": partial(takes, 0.001)}, repeats=2, short_budget=0.1)
    assert times["noisy"].best == pytest.approx(0.001)
    assert len(times["noisy"].seconds) == len(times["short"].seconds) >= 100


def test_a_slow_call_stops_at_its_budget_but_is_timed_once(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(measure.time, "perf_counter", lambda: now[0])
    monkeypatch.setattr(measure.time, "sleep", lambda seconds: None)

    def takes(seconds):
        now[0] += seconds

    times = interleaved({"slow": partial(takes, 100.0), "other": partial(takes, 1.0)}, repeats=4, budget=60.0)
    assert times["slow"].seconds == (100.0,)
    assert len(times["other"].seconds) == 4


def test_a_program_outside_python_reports_its_own_time():
    times = interleaved({"R": lambda: Found((0,), seconds=(3.0,))}, repeats=2, short_budget=0.0)
    assert times["R"].seconds == (3.0, 3.0)


def test_traced_memory_is_that_of_the_largest_moment():
    assert traced_peak(lambda: np.ones(10**6).sum()) == pytest.approx(8e6, rel=0.01)


def test_growth_has_the_slope_of_a_power_and_is_drawn(tmp_path):
    growth = Growth("rows", "n", tuple(Simulated(n, 5, 2) for n in (40, 80, 160)))
    assert Grown(growth, {OURS: [1.0, 2.0, 4.0]}).slope(OURS) == pytest.approx(1.0)
    measured = grown(growth, 1, [rival for rival in RIVALS if rival.name == OURS], short_budget=0.0)
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
    assert profile.calls["steps, pool, score"] >= len(path.steps)
    assert profile.calls["columns: products with features"] == len(profile.vectors) > 0
    assert np.isclose(profile.inside[0], sum(profile.seconds.values()))
    measured = where.measured("some table", X, partial(select, X, y), 1)
    lines = list(measured.lines())
    assert lines[0].startswith("some table: ")
    assert any("columns: sums, squares, products with y (1 calls)" in line for line in lines)
    shares = [float(line.split("%")[0]) for line in lines[1:-1]]
    assert abs(sum(shares) - 100) < 1
    assert sum(measured.as_json()["passes"].values()) == pytest.approx(measured.seconds / measured.one_pass)
    assert where.python_calls(partial(len, X)) < 10


# --- publishing ------------------------------------------------------------------------------------------------------

RUN = {
    "quick": False,
    "versions": {"scikit-learn": "1.0", "abess": "2.0", "fastcan": "3.0", "leaps": "4.0"},
    "machine": {"processor": "a processor", "cores": 2, "blas": ["openblas 0.3"]},
}


def one_row(rival, seconds=None, extra=None, why=""):
    return {"rival": rival, "seconds": seconds, "extra": extra, "why": why, "runs": 5, "selected": [1, 2]}


def one_workload(name):
    rows = [
        one_row("dropstep dropping", 0.2, 10_000_000),
        one_row("dropstep forward", 0.1, 1_000_000),
        one_row("dropstep stepwise", 0.3, 1_000_000),
        one_row("scikit-learn OMP", 0.15, 100_000_000),
        one_row("abess", 2.0, 250_000_000),
        one_row("fastcan", why="not finished after 120 s"),
        one_row("R leaps", why="not run: needs more rows than features"),
    ]
    shape = {"n": 5_000, "p": 10_000, "k": 30, "nbytes": 100_000_000}
    return {"name": name, "about": "", "kind": "regression", **shape, "rows": rows}


@pytest.fixture
def pages(tmp_path, monkeypatch):
    """A README and a page of documentation with empty blocks, and the results of a run."""
    for name, block in (("README", "benchmarks"), ("PAGE", "profile")):
        page = tmp_path / f"{name}.md"
        page.write_text(f"before\n\n<!-- begin {block}: generated -->\nold\n<!-- end {block} -->\n\nafter\n")
        monkeypatch.setattr(publish, name, page)
    monkeypatch.setattr(publish, "PUBLISHED", tmp_path / "published.json")
    results = tmp_path / "benchmarks.json"
    report.write_json(results, RUN | {"workloads": [one_workload(name) for name in publish.SHOWN]})
    return tmp_path


def test_ratios_are_to_the_default_strategy_and_to_forward(pages):
    publish.publish(pages / "benchmarks.json", pages / "profile.json")
    text = (pages / "README.md").read_text()
    assert "| 30 of 10,000 features, 5,000 rows | `dropping` (default) | 200 ms | 0.75 | 10 | timeout | n/a |" in text
    assert "| 30 of 10,000 features, 5,000 rows | `forward` | 100 ms | 1.5 | 20 | timeout | n/a |" in text
    assert "| 30 of 10,000 features, 5,000 rows | 10 % | 1 % | 100 % | 250 % | timeout |" in text
    assert text.startswith("before\n\n<!-- begin benchmarks: generated -->\nTime of")
    assert text.endswith("\n<!-- end benchmarks -->\n\nafter\n")
    assert "old" not in text
    assert "stepwise" not in (pages / "published.json").read_text()


def test_publishing_again_changes_nothing(pages):
    publish.publish(pages / "benchmarks.json", pages / "profile.json")
    before = [(pages / name).read_bytes() for name in ("README.md", "PAGE.md", "published.json")]
    publish.publish(pages / "benchmarks.json", pages / "profile.json")
    assert before == [(pages / name).read_bytes() for name in ("README.md", "PAGE.md", "published.json")]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"quick": True}, r"the last run was made with --quick; run `make bench` before --publish"),
        (
            {"workloads": [one_workload("tall")]},
            r"the last run lacks square, .*; run `make bench` with DROPSTEP_DATA set",
        ),
    ],
)
def test_quick_and_partial_runs_are_not_published(pages, change, message):
    content = json.loads((pages / "benchmarks.json").read_text())
    report.write_json(pages / "benchmarks.json", content | change)
    before = (pages / "README.md").read_text()
    with pytest.raises(publish.NotPublishableError, match=message):
        publish.publish(pages / "benchmarks.json", pages / "profile.json")
    assert (pages / "README.md").read_text() == before


@pytest.mark.parametrize("why", ["left out", "not available: abess is not installed"])
def test_a_run_without_one_of_the_tools_is_not_published(pages, why):
    content = json.loads((pages / "benchmarks.json").read_text())
    rows = [row for row in content["workloads"][1]["rows"] if row["rival"] != "abess"]
    rows += [] if why == "left out" else [one_row("abess", why=why)]
    content["workloads"][1]["rows"] = rows
    report.write_json(pages / "benchmarks.json", content)
    message = (
        r"the last run has no measurement of abess; install the extra 'bench' and R with leaps, and run `make bench`"
    )
    with pytest.raises(publish.NotPublishableError, match=message):
        publish.publish(pages / "benchmarks.json", pages / "profile.json")


def test_what_cannot_be_published_is_an_error_with_the_reason(pages, capsys):
    with pytest.raises(publish.NotPublishableError, match=r"there is no none.json to publish; run `make bench` first"):
        publish.publish(pages / "none.json", pages / "profile.json")
    report.write_json(pages / "profile.json", {"only": ["tall"]})
    with pytest.raises(publish.NotPublishableError, match=r"the last profile was limited by --only; run"):
        publish.publish(pages / "benchmarks.json", pages / "profile.json")
    with pytest.raises(SystemExit, match=r"error: the last profile was limited by --only"):
        command.main(["--publish", "--json", str(pages / "benchmarks.json"), "--plots", str(pages)])
    (pages / "README.md").write_text("no block")
    with pytest.raises(publish.NotPublishableError, match=r"has no block between 'begin benchmarks' and 'end benchm"):
        publish.block(pages / "README.md", "benchmarks")


def test_the_profile_is_published_in_passes(pages):
    X, y = Simulated(600, 500, 5)()
    one = where.measured("square, dropping", X, partial(select, X, y), 1).as_json()
    small = one | {"name": "small, dropping", "nbytes": 1}
    content = {"machine": RUN["machine"], "only": [], "selections": [one | {"nbytes": 10**8}, small]}
    report.write_json(pages / "profile.json", content)
    publish.publish(pages / "benchmarks.json", pages / "profile.json")
    text = publish.block(pages / "PAGE.md", "profile")
    assert text.startswith("| passes | square, dropping |\n| --- | --- |\n| moments: class sums, X'X | ")
    assert f"| total | {sum(one['passes'].values()):.1f} |" in text
    assert f"(small, dropping: {report.seconds(one['seconds'])}, {one['n_calls']:,} calls)" in text


def test_the_pages_show_the_published_results_and_nothing_else():
    """README.md and docs/benchmarks.md cannot contain a number that the benchmarks did not print."""
    published = publish.load()
    assert publish.block(publish.README, "benchmarks") == publish.comparison(published.get("benchmarks"))
    assert publish.block(publish.PAGE, "profile") == publish.profile_table(published.get("profile"))


# --- max_features ----------------------------------------------------------------------------------------------------


def test_the_problems_are_correlated_and_have_classes_of_equal_size():
    problem, again = max_features.Problem.of(3), max_features.Problem.of(3)
    np.testing.assert_array_equal(problem.X, again.X)
    assert problem.X.shape == (120, 40)
    assert np.bincount(problem.classes).tolist() == [40, 40, 40]
    assert problem.y[problem.classes == 0].max() < problem.y[problem.classes == 1].min()
    assert np.abs(np.corrcoef(problem.X.T) - np.eye(40)).max() > 0.5


def test_every_problem_is_counted_once_for_every_criterion(capsys):
    max_features.main(["--problems", "2"])
    lines = [line.strip("| ").split(" | ") for line in capsys.readouterr().out.splitlines()[2:]]
    expected = {"rss", "r2", "adj_r2", "cp", "aic", "aicc", "bic", "ebic", "trace", "wilks"}
    assert {line[0].strip("`") for line in lines} == expected
    assert all(sum(map(int, line[3:6])) == 2 for line in lines)


def test_only_all_problems_are_published(capsys):
    with pytest.raises(SystemExit):
        max_features.main(["--problems", "2", "--publish"])
    assert "--publish needs all 200 problems, not 2; omit --problems" in capsys.readouterr().err


def test_the_page_shows_the_counts_of_this_code():
    """If it fails, the search has changed: run `python -m benchmarks.max_features --publish`."""
    shown = publish.block(publish.PAGE, "max_features").splitlines()
    cases = [max_features.Case("rss", drop="auto"), max_features.Case("ebic"), max_features.Case("trace", drop="auto")]
    assert set(max_features.table(cases=cases).splitlines()) <= set(shown)
    assert len(shown) == 2 + len(max_features.CASES)


def test_what_a_path_reports_can_be_left_out() -> None:
    """A report that was renamed would be timed with the search."""
    found = [function for _, function, _ in before_after.reports()]
    assert found == [name.rsplit(".", 1)[-1] for _, name, _ in before_after.REPORTS]
