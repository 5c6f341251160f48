"""Counts of the command line are counts of columns of the file: a category is one, however many values it has."""

import sys

import pytest

from commands import answer, chosen, run, write_towns
from dropstep.cli import output


@pytest.fixture
def towns(folder) -> str:
    write_towns("towns.csv")
    return "towns.csv"


def test_without_a_limit_every_column_that_matters_is_selected(towns, capsys):
    assert {"town", "trade", "school", "x1", "x2", "x3", "x4"} <= set(
        chosen(answer(capsys, f"select {towns} --target y"))
    )


@pytest.mark.parametrize("strategy", ["dropping", "forward", "stepwise", "backward", "floating"])
@pytest.mark.parametrize("most", [1, 3, 5])
def test_max_features_counts_columns_of_the_file(towns, capsys, strategy, most):
    told = answer(capsys, f"select {towns} --target y --strategy {strategy} --max-features {most}")
    assert len(chosen(told)) == most
    assert {"town", "trade", "school"} & set(chosen(told))


def test_included_categories_count_once(towns, capsys):
    told = answer(capsys, f"select {towns} --target y --include town,trade --max-features 3")
    assert len(chosen(told)) == 3
    code, _, err = run(capsys, f"select {towns} --target y --include town,trade --max-features 1")
    assert code == 2
    assert "include forces in 2" in err


def test_a_group_of_columns_counts_once(towns, capsys):
    told = answer(capsys, f"select {towns} --target y --groups x1,x2 --groups town,x3 --max-features 2")
    assert len(told["selected"]) == 2


def test_compare_counts_columns_of_the_file(towns, capsys):
    told = answer(capsys, f"compare {towns} --target y --strategies forward --folds 2")
    rows = {row["strategy"]: row["n_features"] for row in told["strategies"]}
    assert rows["all features"] == 9
    assert 7 <= rows["forward"] <= 9


@pytest.mark.parametrize(
    ("options", "first", "most"),
    [
        ("", 9, sum(range(1, 10))),
        ("--max-features 3", 9, 9 + 8 + 7 + 6),
        ("--groups x1,x2 --groups town,x3", 7, sum(range(1, 8))),
        ("--groups x1,x2 --groups town,x3 --max-features 2", 7, 7 + 6 + 5),
        ("--include town,trade", 7, sum(range(1, 8))),
        ("--include town,trade --max-features 3", 7, 7 + 6),
    ],
)
def test_the_plan_counts_columns_of_the_file(towns, capsys, options, first, most):
    told = answer(capsys, f"select {towns} --target y --dry-run --strategy forward {options}")
    assert (told["first_scan"], told["max_evaluations"]) == (first, most)


@pytest.mark.parametrize("options", ["", "--groups x1,x2 --groups town,x3", "--include town,x1"])
def test_the_plan_is_a_bound(towns, capsys, options):
    plan = answer(capsys, f"select {towns} --target y --dry-run --strategy forward {options}")
    told = answer(capsys, f"select {towns} --target y --strategy forward {options}")
    assert plan["first_scan"] < told["n_evaluations"] <= plan["max_evaluations"]


def test_progress_counts_columns_of_the_file(towns, capsys, monkeypatch):
    said = []
    monkeypatch.setattr(
        output.Progress, "update", lambda self, text, done=0, total=0, bound=False: said.append((text, done, total))
    )
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    for options, whole in {"": 9, "--max-features 4": 4, "--groups x1,x2 --groups town,x3": 7}.items():
        said.clear()
        assert run(capsys, f"select {towns} --target y --strategy forward {options}")[0] == 0
        steps = [(text, done, of) for text, done, of in said if text.startswith("forward: ")]
        assert {of for _, _, of in steps} == {whole}
        assert [done for _, done, _ in steps] == list(range(1, len(steps) + 1))
        assert max(done for _, done, _ in steps) <= whole
        assert any(text == "forward over 9 features" for text, _, _ in said)


def test_progress_counts_what_is_included(towns, capsys, monkeypatch):
    said = []
    monkeypatch.setattr(output.Progress, "update", lambda self, text, done=0, total=0, bound=False: said.append(text))
    assert run(capsys, f"select {towns} --target y --include town,trade,x1")[0] == 0
    assert next(text for text in said if text.startswith("start: ")).startswith("start: 3 selected")
