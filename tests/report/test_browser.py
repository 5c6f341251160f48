"""The report in a browser: from disk, with the network off, as wide as a phone and as a desk, light and dark.

Needs Chromium, and axe-core from npm: `npm ci --prefix tests/browser`.
"""

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path as File
from typing import Any

import numpy as np
import pytest
from palmerpenguins import load_penguins
from sklearn.datasets import load_breast_cancer, load_digits

import datasets
from browser.chromium import Chromium, chromium, executable
from dropstep import SelectionPath, select
from dropstep.report.comparison_page import ComparisonRow, comparison_html
from test_report import EVIL, crooked

AXE = File(__file__).parents[1] / "browser" / "node_modules" / "axe-core" / "axe.min.js"
PHONE, DESK = 390, 1280
REAL = ("golub", "factors", "logistic", "empty")
RUN_AXE = """
axe.run({ resultTypes: ["violations"] }).then(found => found.violations.map(
    v => [v.impact, v.id, v.nodes.map(node => node.target.join(' ')).slice(0, 3).join(', ')]
))
"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Chromium]:
    program = executable()
    if program is None:
        pytest.skip("Chromium is not installed: the report is not opened in a browser")
    with chromium(program) as running:
        yield running


@pytest.fixture(scope="module")
def axe() -> str:
    if not AXE.is_file():
        pytest.skip("axe-core is not installed: npm ci --prefix tests/browser")
    return AXE.read_text(encoding="utf-8")


def context(path: SelectionPath) -> dict[str, Any]:
    """All that can be passed to a report."""
    first, second, *_ = path.selected
    object.__setattr__(path, "losses", {first: 40.0, second: 20.0})
    object.__setattr__(path, "equivalents", {first: ((0, 2.0), (1, -1.0)), second: ()})
    facts = {"Rows": 442, "Target": "y", "Columns": {"number": 9, EVIL[0]: 1}, "notes": [EVIL[0], "rows were left out"]}
    return {
        "title": "What explains <y>?",
        "command": "dropstep select " + "data_" * 30 + ".csv --target y",
        "data": facts,
    }


def whole() -> str:
    """Every section: names that attack or run over, removals, near-equivalents, notes, facts, a command."""
    path = crooked("dropping")
    long = (f"measurement_of_something_rather_long_{j:04d}" * (1 + j % 2) for j in range(path.n_features - len(EVIL)))
    path = replace(path, feature_names=(*EVIL, *long), notes=("x is nearly a combination",))
    return path.report(**context(path)) or ""


def many() -> str:
    X, y = load_digits(return_X_y=True, as_frame=True)
    return select(X, y, enter=0.05, leave=0.05).report() or ""


def removals() -> str:
    """Features in from the start, removed, and entered again."""
    return crooked("stepwise", n=150, p=90, seed=3, include=[0, 1]).report() or ""


def nothing() -> str:
    rng = np.random.default_rng(0)
    path = select(rng.normal(size=(50, 10)), rng.normal(size=50))
    assert not path.selected
    return path.report() or ""


def golub() -> str:
    """72 samples and 7,129 genes: the report as the command line writes it, with stability and held-out error."""
    folder = File(os.environ.get("DROPSTEP_DATA") or File(__file__).resolve().parents[3] / "shared" / "data")
    if not folder.is_dir():
        return nothing()
    X, y = datasets.golub(folder)
    return select(X, y).report(X=X, y=y, data={"Rows": 72, "notes": ["probable identifier: 'sample'"]})


def factors() -> str:
    """A regression with factors and rows left out."""
    penguins = load_penguins()
    y = penguins.pop("body_mass_g")
    path = select(penguins, y, missing="drop")
    return path.report(X=penguins, y=y, command="dropstep select penguins.csv --target body_mass_g --missing drop")


def logistic() -> str:
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    return select(X, y, model="logistic").report(X=X, y=y)


def empty() -> str:
    """Nothing is selected, with the errors that say so."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(50, 10)), rng.normal(size=50)
    return select(X, y).report(X=X, y=y)


def comparison() -> str:
    """Strategies on one table, one of them refused."""
    rows = [
        ComparisonRow("dropping", 2, ("bmi", EVIL[0]), (54.0, 56.0), 39),
        ComparisonRow("stepwise", None, (), (), None, "stepwise could cycle"),
        ComparisonRow("all features", 10, (), (53.0, 55.0), None),
        ComparisonRow("no features", 0, (), (77.0, 78.0), None),
    ]
    context: dict[str, Any] = {
        "verdict": "dropping is best",
        "title": "Strategies on x.csv",
        "command": "dropstep compare",
    }
    return comparison_html(rows, measure="RMSE", data={"Rows": 442}, notes=["rows were left out"], **context)


MAKERS = (whole, many, removals, nothing, golub, factors, logistic, empty, comparison)
PAGES = {make.__name__: make for make in MAKERS}


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, File]:
    folder = tmp_path_factory.mktemp("reports")
    files = {name: folder / f"{name}.html" for name in PAGES}
    for name, file in files.items():
        file.write_text(PAGES[name](), encoding="utf-8")
    return files


@pytest.mark.parametrize(
    ("name", "width", "dark"),
    [
        *[("whole", PHONE, False), ("whole", PHONE, True), ("whole", DESK, False), ("whole", DESK, True)],
        *[("many", PHONE, False), ("many", DESK, True), ("nothing", PHONE, True), ("nothing", DESK, False)],
        *[(name, width, dark) for name in REAL for width in (PHONE, DESK) for dark in (False, True)],
        *[("comparison", width, dark) for width in (PHONE, DESK) for dark in (False, True)],
        *[("removals", PHONE, False), ("removals", PHONE, True), ("removals", DESK, False), ("removals", DESK, True)],
    ],
)
def test_a_quiet_accessible_page(
    name: str, width: int, dark: bool, browser: Chromium, axe: str, pages: dict[str, File]
) -> None:
    browser.open(pages[name], width, dark)
    browser.evaluate("document.querySelectorAll('details').forEach(fold => fold.open = true)")
    assert browser.evaluate("document.documentElement.scrollWidth") <= width
    browser.evaluate(axe)
    assert browser.evaluate(RUN_AXE) == []
    assert browser.requests() == [pages[name].resolve().as_uri()]
    assert browser.complaints() == []


@pytest.mark.parametrize("name", ["whole", "many", "removals", "golub", "factors"])
def test_tables_keep_to_the_column_of_text(name: str, browser: Chromium, pages: dict[str, File]) -> None:
    right = "Math.max(...[...document.querySelectorAll('{}')].map(part => part.getBoundingClientRect().right))"
    for width in (PHONE, DESK):
        browser.open(pages[name], width, dark=False)
        browser.evaluate("document.querySelectorAll('details').forEach(fold => fold.open = true)")
        assert browser.evaluate(right.format("table:not(.scroll table), .scroll")) <= (
            browser.evaluate(right.format("main")) + 0.5
        )


@pytest.mark.parametrize("name", REAL)
def test_the_answer_is_on_the_first_screen(name: str, browser: Chromium, pages: dict[str, File]) -> None:
    """What is selected, how well it predicts and what to do next is above the fold; search diagnostics are below."""
    browser.open(pages[name], DESK, dark=False, height=900)
    top = "document.querySelector('{}').getBoundingClientRect().top"
    assert browser.evaluate(top.format(".lead")) < 200
    if name != "golub" or browser.evaluate("document.querySelector('.first') !== null"):
        assert browser.evaluate(top.format(".errors")) < 900
    assert browser.evaluate(top.format(".next")) < 450
    assert browser.evaluate(top.format(".answers")) < browser.evaluate(top.format("nav"))
    browser.open(pages[name], PHONE, dark=False, height=844)
    assert browser.evaluate(top.format(".next")) < 500


def test_dark_is_dark(browser: Chromium, pages: dict[str, File]) -> None:
    colours = []
    for dark in (False, True):
        browser.open(pages["whole"], DESK, dark)
        colours.append(browser.evaluate("getComputedStyle(document.body).backgroundColor"))
    assert colours == ["rgb(255, 255, 255)", "rgb(20, 24, 28)"]


def test_one_picture_for_each_width(browser: Chromium, pages: dict[str, File]) -> None:
    shown = "[...document.querySelectorAll('figure > svg')].filter(s => s.checkVisibility()).map(s => s.classList[0])"
    for width, key in ((PHONE, "narrow"), (DESK, "wide")):
        browser.open(pages["whole"], width, dark=False)
        assert browser.evaluate(shown) == [key]


def test_the_keyboard_reaches_the_report_first(browser: Chromium, pages: dict[str, File]) -> None:
    browser.open(pages["whole"], DESK, dark=False)
    for key, code in (("Tab", 9), ("Enter", 13)):
        for kind in ("rawKeyDown", "keyUp"):
            words = {"type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code}
            browser.call("Input.dispatchKeyEvent", **words)
        if key == "Tab":
            assert browser.evaluate("document.activeElement.className") == "skip"
            assert browser.evaluate("document.activeElement.getBoundingClientRect().left") >= 0
            browser.call("Input.dispatchKeyEvent", type="char", key="Enter", text="\r")
    assert browser.evaluate("location.hash") == "#report"


def test_it_prints_whole(browser: Chromium, pages: dict[str, File], tmp_path: File) -> None:
    """On paper what is folded is open, links and texts to copy are gone, and the colours are those of day."""
    browser.open(pages["whole"], DESK, dark=True)
    browser.pdf(tmp_path / "whole.pdf")
    assert (tmp_path / "whole.pdf").read_bytes().startswith(b"%PDF-")
    browser.call("Emulation.setEmulatedMedia", media="print")
    try:
        assert browser.evaluate("document.querySelector('details > table').checkVisibility()") is True
        assert browser.evaluate("document.querySelector('nav').checkVisibility()") is False
        assert browser.evaluate("document.querySelector('details.screen').checkVisibility()") is False
        assert browser.evaluate("getComputedStyle(document.body).color") == "rgb(28, 33, 38)"
    finally:
        browser.call("Emulation.setEmulatedMedia", media="")


def test_what_is_wrong_would_be_seen(browser: Chromium, axe: str, tmp_path: File) -> None:
    """A page with every fault that these tests look for."""
    file = tmp_path / "bad.html"
    file.write_text(
        "<!doctype html><html><body><div style='width:700px'>wide</div><img src='http://127.0.0.1:9/x.png'>"
        "<p style='color:#ccc;background:#fff'>pale</p><script>console.error('oh')</script></body></html>"
    )
    browser.open(file, PHONE, dark=False)
    browser.evaluate(axe)
    assert {"image-alt", "color-contrast", "html-has-lang"} <= {found[1] for found in browser.evaluate(RUN_AXE)}
    assert browser.evaluate("document.documentElement.scrollWidth") > PHONE
    assert len(browser.requests()) == 2
    assert "oh" in browser.complaints()
    assert any("ERR_" in complaint for complaint in browser.complaints())
