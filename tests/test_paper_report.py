"""A reduced run of everything: every table and figure on fewer rows and draws, the report, and the command."""

from __future__ import annotations

import os
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from dropstep.paper import command, real
from dropstep.paper.charts import Axis, nice_step
from dropstep.paper.datasets import Sample, Split, load
from dropstep.paper.expected import STATED_SAVINGS, TABLE_4, TABLE_5, saving
from dropstep.paper.html import html
from dropstep.paper.page import Page, Section, Table, Text, Value
from dropstep.paper.real import alpha_trial, classification_trial, described_trial, selection_trial
from dropstep.paper.sections.table_5 import located


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
    words = ["all", "--data", str(data_dir), "--repeats", "3", "--splits", "2", "--jobs", "1", "--output", str(folder)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(real, "load", fewer)
        patch.setattr(real, "ALPHAS", (0.04, 0.05, 0.1))
        assert command.main([*words, "--markdown", str(folder / "docs" / "copy.md")]) == 0
    return folder


class Tags(HTMLParser):
    """Which tags are open at the end, and which attributes point elsewhere."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.outside: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in ("meta", "rect", "line", "circle", "path"):
            self.open.append(tag)
        self.outside += [value or "" for name, value in attrs if name in ("src", "href") and tag != "a"]

    def handle_endtag(self, tag: str) -> None:
        if tag in self.open:
            assert self.open.pop() == tag


def test_the_page_is_whole_and_needs_nothing(output: Path) -> None:
    text = (output / "paper.html").read_text(encoding="utf-8")
    tags = Tags()
    tags.feed(text)
    assert not tags.open
    assert not tags.outside
    assert "@import" not in text
    assert "url(" not in text
    assert "prefers-color-scheme:dark" in text
    for name in command.NAMES:
        assert f'id="{name}"' in text
    assert str(output) not in text
    assert "nan" not in re.sub(r"<[^>]+>", " ", text).lower().split()


def test_the_markdown_says_the_same(output: Path) -> None:
    text, copy = ((output / name).read_text(encoding="utf-8") for name in ("paper.md", "docs/copy.md"))
    assert text.replace("](paper/", "](copy/") == copy
    charts = re.findall(r"!\[[^\]]+\]\((\S+)\)", text)
    assert len(charts) == 7
    for chart in charts:
        ElementTree.parse(output / chart)
    assert "**the paper**" in text
    for line in text.splitlines():
        assert len(line) <= 120 or line.startswith(("|", "!["))
    assert str(output) not in text


def test_one_table_prints_itself(output: Path, data_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--repeats", "3", "--splits", "2", "--jobs", "1", "--output", str(output)]
    for name in command.NAMES:
        assert command.main([name, *words, "--data", str(data_dir)]) == 0
        printed = capsys.readouterr()
        assert printed.out.startswith("# The paper, reproduced")
        assert "![" not in printed.out
        assert "parts  " not in printed.err  # all of it was finished before
        assert (output / f"{name}.html").is_file()


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
        assert saving(rows[row], over) == pytest.approx(stated, abs=3e-4)  # type: ignore[arg-type]


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
    ("words", "message"),
    [
        (["table-1", "--repeats", "0"], "--repeats must be a whole number from 1; got 0"),
        (["table-1", "--jobs", "0"], "--jobs must be a whole number from 1; got 0"),
        (["table-3", "--data", "nowhere"], "nowhere is no folder; point --data or DROPSTEP_DATA"),
    ],
)
def test_one_sentence_when_something_is_wrong(
    words: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command.main([*words, "--output", str(tmp_path)]) == 1
    said = capsys.readouterr().err
    assert said.startswith("dropstep paper: ")
    assert message in said
    assert said.count("\n") == 1


def test_data_comes_from_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DROPSTEP_DATA", str(tmp_path))
    assert command.main(["table-3", "--output", str(tmp_path / "out")]) == 1
    assert not os.path.exists(tmp_path / "out")


def test_ctrl_c_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupted(*args: Any, **words: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr("dropstep.paper.work._finish", interrupted)
    assert command.main(["theorem", "--jobs", "1", "--output", str(tmp_path)]) == 130
    assert "stopped; 0 of 10 parts are finished" in capsys.readouterr().err


def test_text_is_escaped_and_marked_up() -> None:
    table = Table("a & b", ["x", "y"], [["<b>", Value("1", "far")], ["`c`", Value("2", "paper")]])
    text = html(Page("A < B", [Text("**bold** *it* [link](https://example.org)")], [Section("s", "S", [table])]))
    assert "<title>A &lt; B</title>" in text
    assert '<b>bold</b> <i>it</i> <a href="https://example.org">link</a>' in text
    assert '<td class="left">&lt;b&gt;</td><td>1<span class="far">\u00a0≠</span></td>' in text
    assert '<code>c</code></td><td class="paper">2</td>' in text


@pytest.mark.parametrize(("rough", "nice"), [(0.3, 0.5), (1.0, 1.0), (1.1, 2.0), (7.0, 10.0), (0.012, 0.02)])
def test_ticks_are_nice(rough: float, nice: float) -> None:
    assert nice_step(rough) == pytest.approx(nice)
    assert Axis("", 0.0, 6 * nice).ticks()[1] == pytest.approx(nice)
