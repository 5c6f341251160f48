"""In a notebook: a path and a selector show themselves, in the colours of the page around them, and progress works."""

import math
import re
from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from dropstep import SelectionPath, Selector, select
from test_report import EVIL, REMOVING, Page, assert_adds_up, crooked, number_of


@pytest.fixture(scope="module")
def digits() -> SelectionPath:
    X, y = load_digits(return_X_y=True, as_frame=True)
    return select(X.iloc[:600], y.iloc[:600], enter=0.05, leave=0.05)


def test_a_path_is_told_in_short(digits: SelectionPath) -> None:
    html = digits._repr_html_()
    page = Page(html)
    assert f"{len(digits.selected)} of 64 features selected by dropping, trace" in page.text
    assert f"1 {digits.selected_names[0]}" in page.text
    assert f"and {len(digits.selected) - 12 - 24} more" in page.text
    assert f"{len(digits.steps)} steps" in page.text
    assert len(html) < 60_000


@pytest.mark.parametrize(("strategy", "p"), REMOVING)
def test_displayed_gains_add_up_to_the_score(strategy: str, p: int) -> None:
    words = {"max_features": 9} if strategy == "swap" else {}
    path = crooked(strategy, n=150, p=p, seed=3 if p == 90 else 0, **words)
    table = path._repr_html_().split("<details")[0]
    rows = [re.findall(r"<td.*?</td>", row) for row in re.findall(r"<tr>(.*?)</tr>", table)[1:]]
    gains, scores = ([number_of(Page(row[i]).text) for row in rows] for i in (2, 3))
    assert_adds_up(path, gains, scores)
    assert len(rows) <= 13
    assert "removed later" in table
    assert "<s>" in table


def test_its_colours_are_those_of_the_page(digits: SelectionPath) -> None:
    """No colour of text and no background but that of the bars, which shows on white and on black."""
    styles = ";".join(Page(digits._repr_html_()).values("style"))
    assert not re.search(r"(?<!-)color:", styles)
    assert set(re.findall(r"background:([^;\"]*)", styles)) == {"#3a8fc4"}


def test_a_long_path_stays_short() -> None:
    rng = np.random.default_rng(2)
    X = rng.normal(size=(400, 260))
    y = X @ rng.exponential(size=260) + rng.normal(size=400)
    path = select(X, y, strategy="forward", max_features=250, enter=-math.inf)
    page = Page(path._repr_html_())
    assert len(page.all("tr")) < 230
    assert "and 50 more steps: see to_frame() or report()" in page.text


def test_names_notes_and_nothing_selected() -> None:
    path = replace(crooked("dropping", p=4), feature_names=tuple(EVIL), notes=(EVIL[0],))
    html = path._repr_html_()
    assert "<script" not in html
    assert "<script>alert(1)</script>" in Page(html).text
    rng = np.random.default_rng(0)
    nothing = select(rng.normal(size=(50, 10)), rng.normal(size=50))
    page = Page(nothing._repr_html_())
    assert "0 of 10 features selected" in page.text
    assert not page.all("table")


def test_the_diagram_of_scikit_learn() -> None:
    X, y = load_digits(return_X_y=True, as_frame=True)
    selector = Selector(criterion="wilks", max_features=7)
    for estimator in (selector, make_pipeline(StandardScaler(), selector).fit(X, y)):
        shown = estimator._repr_mimebundle_()
        assert set(shown) == {"text/plain", "text/html"}
        for word in ("Selector", "criterion", "wilks", "max_features", "7"):
            assert word in shown["text/html"]


NOTEBOOK = """
from sklearn.datasets import load_diabetes
from dropstep import Selector, select
path = select(*load_diabetes(return_X_y=True, as_frame=True))
path
---
path.plot();
---
Selector(max_features=3).fit(*load_diabetes(return_X_y=True, as_frame=True))
---
from sklearn.callback import ProgressBar
Selector().set_callbacks(ProgressBar()).fit(*load_diabetes(return_X_y=True)).path_.score
"""


def test_in_a_real_notebook() -> None:
    """Runs where a notebook can be run at all: the packages it needs are large, and no part of the extra `test`."""
    for package in ("nbclient", "ipykernel", "ipywidgets", "sklearn.callback"):
        pytest.importorskip(package, reason=f"{package} is not installed: pip install nbclient ipykernel ipywidgets")
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.v4.new_notebook()
    notebook.cells = [nbformat.v4.new_code_cell(cell.strip()) for cell in NOTEBOOK.split("---")]
    NotebookClient(notebook, timeout=60).execute()
    path, plot, selector, progress = (
        [kind for output in cell.outputs for kind in output.get("data", {})] for cell in notebook.cells
    )
    assert path == ["text/plain", "text/html"]
    assert "image/png" in plot
    assert selector == ["text/plain", "text/html"]
    assert "application/vnd.jupyter.widget-view+json" in progress
    assert not [output for cell in notebook.cells for output in cell.outputs if output.get("name") == "stderr"]
