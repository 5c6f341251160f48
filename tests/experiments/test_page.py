"""A reduced run of all experiments: every table and figure with fewer rows and draws, the page, and the command."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from experiments.paper import command, real
from experiments.paper.charts import Line, Panel, panel_chart, save
from experiments.paper.datasets import Sample, Split, load
from experiments.paper.expected import STATED_SAVINGS, TABLE_4, TABLE_5, saving
from experiments.paper.markdown import markdown
from experiments.paper.page import Finding, Items, Page, Section, Table, Text, Value
from experiments.paper.real import alpha_trial, classification_trial, described_trial, selection_trial
from experiments.paper.sections.table_5 import located


def fewer(name: str, data: Path | None) -> Sample:
    """At most 300 training and 100 test rows; of Parkinson, whose components need rows, fewer features."""
    sample = load(name, data)
    if name == "parkinson":
        return Sample(sample.X[:, :220], sample.y, persons=sample.persons)
    rng = np.random.default_rng(0)
    if sample.n_train is None:
        rows = np.sort(rng.permutation(len(sample.y))[:300])
        return Sample(sample.X[rows], sample.y[rows])
    rows = np.concatenate([np.arange(300), sample.n_train + np.arange(100)])
    return Sample(sample.X[rows], sample.y[rows], n_train=300)


@pytest.fixture(scope="module")
def output(data_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a reduced run of all: fewer rows, draws, splits and values of alpha."""
    folder = tmp_path_factory.mktemp("paper")
    options = ["--data", str(data_dir), "--repeats", "3", "--splits", "2", "--jobs", "1", "--output", str(folder)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(real, "load", fewer)
        patch.setattr(real, "ALPHAS", (0.04, 0.05, 0.1))
        assert command.main([*options, "--markdown", str(folder / "docs" / "copy.md")]) == 0
    return folder


def test_the_page_is_complete(output: Path) -> None:
    text, copy = ((output / name).read_text(encoding="utf-8") for name in ("paper.md", "docs/copy.md"))
    assert text.replace("](paper/", "](copy/") == copy
    charts = re.findall(r"!\[[^\]]+\]\((\S+)\)", text)
    assert len(charts) == 7
    for chart in charts:
        ElementTree.parse(output / chart)
        assert (output / "docs" / chart.replace("paper/", "copy/")).is_file()
    for title in ("Table 1:", "Table 2:", "Table 3:", "Table 4:", "Table 5:", "Figure 1:", "The theorem"):
        assert f"\n## {title}" in text
    assert "**the paper**" in text
    assert "nan" not in re.split(r"\W+", text.lower())
    for line in text.splitlines():
        assert len(line) <= 120 or line.startswith(("|", "!["))
    assert str(output) not in text


def test_some_tables_are_printed(output: Path, data_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--repeats", "3", "--splits", "2", "--jobs", "1", "--output", str(output)]
    for names in (*([name] for name in command.NAMES), ["theorem", "table-1"]):
        assert command.main([*names, *options, "--data", str(data_dir)]) == 0
        printed = capsys.readouterr()
        assert printed.out.startswith("# The paper, reproduced")
        assert "![" not in printed.out
        assert "parts  " not in printed.err  # all of them were stored before
        assert (output / f"{'_'.join(sorted(names))}.md").is_file()


# --- the numbers themselves ------------------------------------------------------------------------------------------


def test_optic_is_exact(data_dir: Path) -> None:
    record = selection_trial(0, 0, "optic", "fixed", 0.5, data=data_dir)
    assert {name: record[name]["features"] for name in TABLE_5["optic"]} == {
        name: printed.features for name, printed in TABLE_5["optic"].items()
    }
    assert round(record["dropping"]["score"], 4) == 26.0313
    assert (
        record["dropping"]["evaluations"]
        < record["forward_backward"]["evaluations"]
        < record["stepwise"]["evaluations"]
    )


def test_the_papers_percentages_follow_from_its_seconds() -> None:
    rows = {"p = 70": TABLE_4[70], "optic": TABLE_5["optic"]}
    for (row, over), stated in STATED_SAVINGS.items():
        assert saving(rows[row], over) == pytest.approx(stated, abs=3e-4)


@pytest.mark.parametrize("name", ["biodegradation", "ionosphere"])
def test_from_scratch_agrees_on_real_data(name: str, data_dir: Path) -> None:
    record = selection_trial(0, 0, name, "rows", 0.5, scratch_every=1, data=data_dir)
    assert record["agree"]
    assert record["dropping"]["evaluations"] < record["stepwise"]["evaluations"]


def test_nothing_is_learnt_from_test_rows(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Other test rows: the same selection, scaling and components, so the same predictions for the rows that stay."""
    sample = load("parkinson", data_dir)
    training, test = Split("rows", 0.5).rows(sample, [0, 470, 0])
    seen: list[np.ndarray] = []

    def fitted(X: np.ndarray, y: np.ndarray, X_test: np.ndarray, y_test: np.ndarray) -> dict[str, float]:
        seen.append(X)
        return {}

    monkeypatch.setattr(real, "errors", fitted)
    first = classification_trial(0, 0, "parkinson", "rows", 0.5, data=data_dir)
    X = sample.X.copy()
    X[test] = 1e3 * np.random.default_rng(0).normal(size=X[test].shape)
    monkeypatch.setattr(real, "load", lambda name, data: Sample(X, sample.y, persons=sample.persons))
    second = classification_trial(0, 0, "parkinson", "rows", 0.5, data=data_dir)
    assert first["explained"] == second["explained"]
    for before, after in zip(seen[:5], seen[5:], strict=True):
        np.testing.assert_array_equal(before, after)
    assert len(training) == 378


def test_components_explain_what_the_paper_says(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(real, "CLASSIFIERS", {})
    record = classification_trial(0, 1, "parkinson", "rows", 0.5, data=data_dir)
    assert record["explained"] == pytest.approx(0.9858, abs=0.003)


def test_described_and_alpha(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(real, "ALPHAS", (0.03, 0.05, 0.1))
    assert described_trial(0, 0, "ionosphere", data_dir)["constant"] >= 1
    record = alpha_trial(0, 0, "ionosphere", data_dir)
    assert record["stepwise"][1:] == sorted(record["stepwise"][1:], reverse=True)
    assert record["stepwise"][1] == 6


@pytest.mark.parametrize(
    ("features", "paper", "where", "mark"),
    [
        ([49], 49, "the same", "same"),
        ([18], 17, "not the same", "far"),
        (range(101), 50, "inside the middle half", "near"),
        (range(101), 10, "inside 5 to 95 %", "near"),
        (range(101), 100, "inside, in the tail", "near"),
        (range(101), 101, "outside, above all", "far"),
        (range(5, 101), 4, "outside, below all", "far"),
    ],
)
def test_located(features: Any, paper: float, where: str, mark: str) -> None:
    assert located(np.array(features, dtype=float), paper) == (where, mark)


# --- the command and the page ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["table-1", "--repeats", "0"], "--repeats must be at least 1; got 0"),
        (["table-1", "--jobs", "0"], "--jobs must be at least 1; got 0"),
        (["table-3", "--data", "nowhere"], "nowhere is not a folder; set --data or DROPSTEP_DATA"),
    ],
)
def test_wrong_options_are_reported_in_one_sentence(
    options: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command.main([*options, "--output", str(tmp_path)]) == 1
    printed = capsys.readouterr().err
    assert printed.startswith("python -m experiments.paper: ")
    assert message in printed
    assert printed.count("\n") == 1


def test_existing_files_are_not_replaced(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("page.md").write_text("precious")
    Path("theorem.md").write_text("precious")
    for options in (["--markdown", "page.md"], ["--output", "."]):
        assert command.main(["theorem", *options]) == 1
        assert ".md exists; add --overwrite to replace it, or choose another name\n" in capsys.readouterr().err
    assert sorted(os.listdir()) == ["page.md", "theorem.md"]
    assert Path("page.md").read_text() == Path("theorem.md").read_text() == "precious"


def test_data_comes_from_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DROPSTEP_DATA", str(tmp_path))
    assert command.main(["table-3", "--output", str(tmp_path / "out")]) == 1
    assert not os.path.exists(tmp_path / "out")


def test_ctrl_c_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*args: Any, **params: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr("experiments.paper.work._finish", interrupted)
    assert command.main(["theorem", "--jobs", "1", "--output", str(tmp_path)]) == 130
    assert "interrupted; 0 of 10 parts are stored" in capsys.readouterr().err


def test_markdown() -> None:
    table = Table("caption", ["x", "y"], [["a|b", Value("1", "far")], ["c", Value("2")]])
    section = Section("S", [Text("text"), Items(["one", "two"]), table])
    text = markdown(Page("Title", [Text("lead")], [section], [Finding("item", "1", "2", "near")]), "charts")
    assert text == (
        "# Title\n\nlead\n\n## Summary\n\n"
        "|      | paper | ours |     |\n| ---- | ----- | ---- | --- |\n| item | 1     | 2    | ≈   |\n\n"
        "## S\n\ntext\n\n- one\n- two\n\n*caption*\n\n"
        "| x    |   y |\n| ---- | --: |\n| a\\|b | 1\u00a0≠ |\n| c    |   2 |\n"
    )


def test_a_chart_is_the_same_file_in_every_run(tmp_path: Path) -> None:
    for name in ("a.svg", "b.svg"):
        panel = Panel("title", "x", [Line("line", "#000000", [(1, 2), (3, 4)])], [1, 3], 4.0)
        save(panel_chart([panel], "chart"), tmp_path / name)
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()
    assert ">chart</text>" in (tmp_path / "a.svg").read_text()
