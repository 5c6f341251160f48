"""Coefficients in the report, in a notebook and on the command line: every number, and what they cannot claim."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_digits, load_wine
from sklearn.linear_model import LinearRegression

from dropstep import SelectionPath, select
from dropstep.cli import main
from dropstep.report import report_html
from dropstep.report.coefficient_table import DEPENDENT, label, lines
from dropstep.report.text import number, p_value
from dropstep.result import CAVEAT
from test_report import EVIL, Page, rows_of

CLAIM = "computed on the rows used for selection"


@pytest.fixture(scope="module")
def diabetes() -> SelectionPath:
    return select(*load_diabetes(return_X_y=True, as_frame=True))


@pytest.fixture(scope="module")
def wine() -> SelectionPath:
    data = load_wine(as_frame=True)
    return select(data.data, data.target_names[data.target])


def cells(path: SelectionPath) -> list[list[str]]:
    return [[cell.text for cell in row] for row in rows_of(report_html(path), "coefficients")]


def test_the_report_has_the_table_and_its_label(diabetes: SelectionPath) -> None:
    page = Page(report_html(diabetes))
    assert CLAIM in page.text
    assert "optimistically biased" in page.text
    assert f"R² {number(diabetes.r2)}, adjusted R² {number(diabetes.adj_r2)}, 436 residual" in page.text
    frame = diabetes.coefficients.to_frame()
    assert cells(diabetes) == [
        [name, number(row.estimate), number(row.std_error), number(row.statistic), p_value(row.p_value)]
        for name, row in frame.iterrows()
    ]


def test_the_steps_of_the_report_have_p_values(diabetes: SelectionPath) -> None:
    shown = [[cell.text for cell in row] for row in rows_of(report_html(diabetes), "steps")]
    assert [row[4] for row in shown] == [p_value(s.test.p_value) for s in diabetes.steps if s.action == "add"]


def test_classes_have_a_column_each_and_no_standard_error(wine: SelectionPath) -> None:
    page = Page(report_html(wine))
    assert "Linear score of each class" in page.text
    assert CLAIM in page.text
    assert cells(wine)[0] == ["(intercept)", *(number(value) for value in wine.coefficients.intercept)]
    for row, name, own in zip(cells(wine)[1:], wine.selected_names, wine.coefficients.coef.T, strict=True):
        assert row == [name, *(number(value) for value in own)]


def test_several_targets_and_dependent_columns() -> None:
    X, y = load_diabetes(return_X_y=True)
    path = select(np.c_[X, 2 * X[:, 2]], np.c_[y, y**2], groups=[[2, 10]], include=[2, 10])
    shown = cells(path)
    assert [row[0] for row in shown] == ["y0"] * (len(shown) // 2) + ["y1"] * (len(shown) // 2)
    assert shown[2] == ["y0", "x10 linear combination of the others", "0", "", "", ""]


def test_a_long_table_is_folded() -> None:
    path = select(*load_digits(return_X_y=True))
    section = report_html(path).split('id="coefficients"')[1].split("</section>")[0]
    assert "<details>" in section
    assert len(Page(f"<div>{section.split('</h2>', 1)[1]}</div>").all("tr")) == len(path.selected) + 2


def test_names_and_labels_are_escaped(wine: SelectionPath) -> None:
    fit = wine.coefficients
    attacked = replace(fit, names=(EVIL[0], *fit.names[1:]), targets=(EVIL[0], *fit.targets[1:]))
    path = replace(wine, coefficients=attacked)
    for html in (report_html(path), path._repr_html_()):
        assert "<script" not in html
        assert "<script>alert(1)</script>" in Page(html).text


def test_a_notebook_folds_the_table(diabetes: SelectionPath, wine: SelectionPath) -> None:
    text = Page(diabetes._repr_html_()).text
    assert CLAIM in text
    assert f"s5 {number(diabetes.coefficients.coef[1])}" in text
    assert "class_0 class_1 class_2 (intercept)" in Page(wine._repr_html_()).text
    long = select(*load_digits(return_X_y=True))
    assert f"and {len(long.selected) + 1 - 10} more lines: see coefficients.to_frame()" in Page(long._repr_html_()).text


def test_no_table_without_a_selection_or_coefficients(diabetes: SelectionPath) -> None:
    rng = np.random.default_rng(0)
    for path in (select(rng.normal(size=(50, 4)), rng.normal(size=50)), replace(diabetes, coefficients=None)):
        assert 'id="coefficients"' not in report_html(path)
        assert "coefficients" not in path._repr_html_()


def test_numbers_that_do_not_exist_are_empty(diabetes: SelectionPath) -> None:
    fit = replace(diabetes.coefficients, std_error=np.full(5, np.nan))
    assert [line.numbers[1:] for line in lines(fit)[1:]] == [("", "", "")] * 5
    assert all(line.remark == DEPENDENT for line in lines(fit)[1:])


@pytest.mark.parametrize(("value", "shown"), [(1.0, "1"), (0.5, "0.5"), ("a", "a"), (True, "True"), (3, "3")])
def test_labels(value: object, shown: str) -> None:
    assert label(value) == shown


@pytest.mark.parametrize(
    ("value", "shown"), [(0.04321, "0.043"), (0.00012, "0.00012"), (9.9e-15, "9.9e−15"), (1.0, "1"), (0.0, "0.0e+00")]
)
def test_p_values(value: float, shown: str) -> None:
    assert p_value(value) == shown


@pytest.mark.parametrize("kind", ["linear", "discriminant", "logistic"])
def test_the_caveat_is_in_every_output_once(kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = load_wine(as_frame=True)
    X, y = data.data, data.target_names[data.target] if kind == "discriminant" else (data.target == 0).astype(int)
    y = data.data["alcohol"] if kind == "linear" else y
    path = select(X.drop(columns="alcohol"), y, model=kind, max_features=2)
    assert path.caveat == CAVEAT
    assert path.to_frame().attrs["note"] == path.coefficients.to_frame().attrs["note"] == CAVEAT
    for shown in (path.methods(), repr(path.coefficients), Page(path._repr_html_()).text):
        assert shown.count(CAVEAT) == 1
    page = Page(report_html(path))
    assert page.text.count(CAVEAT) == 1 + page.text.count("Features were selected among")  # that of each methods text
    file = tmp_path / "wine.csv"
    X.drop(columns="alcohol").assign(y=y).to_csv(file, index=False)
    for form in ("table", "json"):
        line = f"select {file} --target y --model {kind} --max-features 2 --format {form}"
        assert main(line.split()) == 0
        assert capsys.readouterr().out.count(CAVEAT) == 1


def test_a_path_without_p_values_has_no_caveat() -> None:
    X, y = load_diabetes(return_X_y=True)
    path = select(X, y, model=LinearRegression(), max_features=1)
    assert path.caveat is None
    assert "note" not in path.to_frame().attrs
    assert CAVEAT not in path.methods()
