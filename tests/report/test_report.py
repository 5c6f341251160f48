"""The report: what it says is what the path says, and it is one page that needs nothing else."""

import math
import re
from dataclasses import replace
from html.parser import HTMLParser
from importlib.metadata import PackageNotFoundError
from pathlib import Path as File
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes

from dropstep import FBED, Exhaustive, MallowsCp, SelectionPath, Significance, Step, StopReason, select
from dropstep.report import quantities as summary
from dropstep.report import report_html, save_report
from dropstep.report.charts import path_svg, ticks
from dropstep.report.html import Html, feature_name, feature_names, tag, text
from dropstep.report.text import number, short
from dropstep.wording import counted

INLINE = {"a", "b", "bdi", "code", "span", "wbr"}
VOID = {"br", "col", "link", "meta", "wbr"}
EVIL = ["<script>alert(1)</script>", "=cmd()", '" onload="alert(1)', "\u202eback\x00wards \ud800 & co"]


# --- paths to report -------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def diabetes() -> SelectionPath:
    return select(*load_diabetes(return_X_y=True, as_frame=True))


@pytest.fixture(scope="module")
def winding() -> SelectionPath:
    """A path that drops, recalls, adds some of what it recalled, and removes."""
    return crooked("dropping")


@pytest.fixture(scope="module")
def grouped() -> SelectionPath:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(200, 24))
    y = X[:, 0] - X[:, 1] + X[:, 6] + 0.5 * X[:, 9] + rng.normal(size=200)
    units = [list(range(i, i + 3)) for i in range(0, 24, 3)]
    return select(X, y, groups=units, include=[21, 22, 23], exclude=[18, 19, 20], criterion="bic")


@pytest.fixture(scope="module")
def empty() -> SelectionPath:
    rng = np.random.default_rng(0)
    return select(rng.normal(size=(50, 10)), rng.normal(size=50))


@pytest.fixture(scope="module")
def evil() -> SelectionPath:
    rng = np.random.default_rng(4)
    X = rng.normal(size=(100, 4))
    return replace(select(X, X @ [3, 2, 1, 0.5] + rng.normal(size=100)), feature_names=tuple(EVIL))


def crooked(strategy: str, n: int = 200, p: int = 60, seed: int = 0, **params: Any) -> SelectionPath:
    """Features that share twelve causes, so that later ones make earlier ones useless."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 12)) @ rng.normal(size=(12, p)) + 0.35 * rng.normal(size=(n, p))
    y = X @ np.where(rng.random(p) < 0.3, rng.normal(size=p), 0) + rng.normal(size=n)
    return select(X, y, strategy=strategy, criterion="aic", **params)


# --- reading a page --------------------------------------------------------------------------------------------------


class Page(HTMLParser):
    """The elements and the text of a page; refuses tags that do not nest."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.feed(html)
        assert not self.open
        self.text = " ".join("".join(self.words).split())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self.words.append("" if tag in INLINE else " ")
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag
        self.words.append("" if tag in INLINE else " ")

    def handle_data(self, data: str) -> None:
        self.words.append("" if "style" in self.open else data)

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]

    def values(self, key: str) -> list[str]:
        return [attributes[key] or "" for _, attributes in self.elements if key in attributes]


ALL = ["diabetes", "winding", "grouped", "empty", "evil"]


@pytest.mark.parametrize("name", ALL)
def test_the_page_is_whole_and_needs_nothing_else(name: str, request: pytest.FixtureRequest) -> None:
    path = request.getfixturevalue(name)
    html = report_html(path)
    page = Page(html)
    assert html == report_html(path)
    assert "://" not in html
    assert not {"script", "img", "iframe", "object", "embed", "form"} & {tag for tag, _ in page.elements}
    assert not [key for _, attributes in page.elements for key in attributes if key.startswith("on")]
    ids = page.values("id")
    assert len(ids) == len(set(ids))
    assert set(page.values("href")) <= {"data:,", *(f"#{i}" for i in ids)}
    assert {i for value in page.values("aria-labelledby") for i in value.split()} <= set(ids)


@pytest.mark.parametrize("name", ALL)
def test_landmarks_headings_and_table_heads(name: str, request: pytest.FixtureRequest) -> None:
    page = Page(report_html(request.getfixturevalue(name)))
    for landmark in ("header", "nav", "main", "h1"):
        assert len(page.all(landmark)) == 1
    assert page.all("html") == [{"lang": "en"}]
    assert len(page.all("caption")) == len(page.all("table"))
    assert {head.get("scope") for head in page.all("th")} <= {"row", "col"}
    assert len(page.all("h2")) == len(page.all("section"))


def test_nothing_a_feature_is_called_becomes_markup(evil: SelectionPath) -> None:
    html = report_html(
        evil, title=EVIL[0], command=EVIL[0], data={EVIL[0]: EVIL, "notes": [EVIL[0]], "x": {EVIL[0]: 1}}
    )
    page = Page(html)
    assert "<script" not in html
    assert "\x00" not in html
    assert 'onload="' not in html
    assert page.text.count("<script>alert(1)</script>") >= 6
    html.encode("utf-8")


# --- what it says ----------------------------------------------------------------------------------------------------


def test_the_answer_comes_first(diabetes: SelectionPath, empty: SelectionPath) -> None:
    found = "5 of 10 features selected Selected: bmi, s5, bp, s3, sex."
    nothing = "None of the 10 features was selected: no candidate's gain is large enough to enter (best"
    assert found in Page(report_html(diabetes)).text
    assert nothing in Page(report_html(empty)).text


def test_selected_features_in_order_with_their_gains(diabetes: SelectionPath) -> None:
    text = Page(report_html(diabetes)).text
    rows = re.findall(r"(\d+) (\w+) (forward|re-forward) ([\d.]+) ([\d,.]+)(?= )", text)
    assert [row[1] for row in rows[:5]] == list(diabetes.selected_names)
    gains = {j: step.gain for step in diabetes.steps if step.action == "add" for j in step.features}
    assert [row[3] for row in rows[:5]] == [number(gains[j]) for j in diabetes.selected]


REMOVING = [("stepwise", 90), ("floating", 90), ("swap", 90), ("dropping", 60), ("backward", 20)]


def number_of(shown: str) -> float:
    return float(shown.replace(",", "").replace("−", "-"))


def assert_adds_up(path: SelectionPath, gains: list[float], scores: list[float]) -> None:
    """The start, with every displayed gain, is the score; and so is the last row."""
    sign = 1 if path.greater_is_better else -1
    rounding = 1e-3 * sum(map(abs, gains))
    assert path.start + sign * sum(gains) == pytest.approx(path.score, abs=rounding)
    assert scores[-1] == pytest.approx(path.score, rel=1e-3)


def rows_of(html: str, kind: str) -> list[list[Page]]:
    """The cells of the body of a table."""
    body = re.search(rf'<table class="{kind}">.*?<tbody>(.*?)</tbody>', html, re.DOTALL)
    assert body
    rows = re.findall(r"<tr>(.*?)</tr>", body[1], re.DOTALL)
    return [[Page(cell) for cell in re.findall(r"<t[hd].*?</t[hd]>", row, re.DOTALL)] for row in rows]


@pytest.mark.parametrize(("strategy", "p"), REMOVING)
def test_displayed_gains_add_up_to_the_score(strategy: str, p: int) -> None:
    words: dict[str, Any] = {"max_features": 9} if strategy == "swap" else {}
    path = crooked(strategy, n=150, p=p, seed=3 if p == 90 else 0, **words)
    made = summary.moves(path)
    assert any(move.step.action == "remove" for move in made)
    rows = rows_of(report_html(path), "entries")
    assert len(rows) == len(made)
    assert_adds_up(path, [number_of(row[2].text) for row in rows], [number_of(row[3].text) for row in rows])
    for row, move in zip(rows, made, strict=True):
        assert len(row[1].all("s")) == len(move.removed & set(move.step.features[:8]))
        assert row[1].text.endswith(f" {move.label}")
    listed = "Selected: " + ", ".join(path.selected_names[:24])
    assert listed in Page(report_html(path)).text


def test_features_in_from_the_start_have_their_gain(grouped: SelectionPath) -> None:
    first, *rest = rows_of(report_html(grouped), "entries")
    assert first[1].text == "x21, x22, x23 start"
    assert first[2].text == number(grouped.steps[0].gain)
    gains = [number_of(row[2].text) for row in (first, *rest)]
    assert grouped.start - sum(gains) == pytest.approx(grouped.score, abs=1e-3 * sum(map(abs, gains)))


def test_an_infinite_gain_has_a_bar_too(diabetes: SelectionPath) -> None:
    steps = (Step("forward", "add", (0,), 1.0, 5.0, 9), Step("forward", "add", (1,), math.inf, -math.inf, 8))
    html = report_html(replace(diabetes, steps=steps, selected=(0, 1), score=-math.inf))
    assert "nan%" not in html
    assert "inf%" not in html


def test_what_was_dropped_and_what_came_back(winding: SelectionPath) -> None:
    text = Page(report_html(winding)).text
    found = summary.reversals(winding)
    assert found.entered
    assert found.removed
    assert f"{len(found.dropped)} features were dropped from the pool in a forward phase." in text
    assert f"All of them were recalled; {len(found.entered)} entered after that: " in text
    assert f"1 feature was removed from the selection: {winding.names(found.removed)[0]}." in text


def test_other_turns_of_a_path() -> None:
    stepwise = crooked("stepwise", n=150, p=90, seed=3)
    returned = summary.reversals(stepwise).returned
    assert returned
    assert f"Of those, {', '.join(stepwise.names(returned[:3]))}" in Page(report_html(stepwise)).text
    unseen = crooked(FBED(rounds=0))
    assert "None of them was recalled." in Page(report_html(unseen)).text
    rng = np.random.default_rng(5)
    X = rng.normal(size=(100, 3))
    page = Page(report_html(select(X, X[:, 1] + 0.3 * rng.normal(size=100))))
    assert "2 features were dropped from the pool in a forward phase: x0, x2." in page.text
    assert "All of them were recalled; none of them entered." in page.text
    assert "re-forward: nothing added" in page.text


def test_a_package_that_is_not_installed_has_no_version(
    diabetes: SelectionPath, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(package: str) -> str:
        raise PackageNotFoundError(package)

    monkeypatch.setattr("dropstep.report.sections.version", missing)
    assert "dropstep unknown numpy unknown" in Page(report_html(diabetes)).text


def test_parameters_and_how_to_reproduce_them(diabetes: SelectionPath) -> None:
    facts = {"Rows": 442, "Target": "progression", "Columns": {"number": 9, "text": 1}, "notes": "id was left out"}
    page = Page(report_html(diabetes, title="Diabetes", command="dropstep select d.csv --target y", data=facts))
    for part in (
        "dropping: forward with early dropping",
        "r2: coefficient of determination R²",
        "Rows 442",
        "Target progression",
        "number: 9; text: 1",
        "Id was left out.",
        "Run: dropstep select d.csv --target y",
        f"numpy {np.__version__}",
        "scikit-learn",
    ):
        assert part in page.text
    assert "from dropstep import select" in Page(report_html(diabetes)).text


def test_parameters_that_were_passed_are_shown(diabetes: SelectionPath) -> None:
    path = with_fields(diabetes, params={"strategy": "dropping", "enter": 0.5, "max_features": 3})
    text = Page(report_html(path)).text
    assert (
        "path = select( X, y, strategy='dropping', model='linear', enter=0.5, max_features=3, solver='columns', )"
        in text
    )
    assert "max_features 3" in text
    assert (
        "path = select(X, y, model='linear', solver='columns')"
        in Page(report_html(with_fields(diabetes, params={}))).text
    )
    given = {"include": np.array([3, 1]), "exclude": {"b", "c", "a"}, "groups": np.array(["u", "v"])}
    text = Page(report_html(with_fields(diabetes, params=given))).text
    assert "include 3, 1 exclude a, b, c groups u, v" in text
    text = Page(report_html(with_fields(diabetes, params={"groups": [["a", "b"], ["c"]]}))).text
    assert "groups a + b, c" in text


def test_rules_are_those_in_effect() -> None:
    """Defaults and corrections are resolved: what the report says is what the search compared."""
    X, y = load_diabetes(return_X_y=True)
    text = Page(report_html(select(X, y, criterion="bic"))).text
    assert "enter gain > 0 leave loss ≤ 0 drop gain ≤ 0" in text
    text, test = Page(report_html(select(X, y, max_features=3))).text, "significance test at level"
    by_size = "0.05 k / 10 for"
    assert f"enter {test} {by_size} the k-th feature leave {test} {by_size} each of k features drop {test} 0.05" in text
    text = Page(report_html(select(X, y, enter=Significance(0.05, "bonferroni")))).text
    assert f"enter {test} 0.005 leave {test} 0.005 drop {test} 0.05" in text
    text = Page(report_html(select(X, y, criterion=MallowsCp(sigma2=3000.0), enter=2.0))).text
    assert "criterion MallowsCp(sigma2=3000.0): Mallows' Cp; smaller is better" in text
    assert "enter gain > 2 leave loss ≤ 2 drop gain ≤ 2" in text


def test_warnings(diabetes: SelectionPath) -> None:
    noted = replace(diabetes, notes=("X is float32", "y is odd"))
    text = Page(report_html(noted, data={"notes": ["rows were left out"]})).text
    assert "X is float32. y is odd. Rows were left out." in text
    assert text.index("Rows were left out") < text.index("Coefficients")
    many = Page(report_html(replace(diabetes, notes=tuple(f"note {i}." for i in range(7))))).text
    assert "Note 3. 3 more notes Note 4." in many


def test_near_equivalents(diabetes: SelectionPath, grouped: SelectionPath) -> None:
    assert "Not computed; pass equivalents=True to select." in Page(report_html(diabetes)).text
    first, second, *_ = diabetes.selected
    path = with_fields(
        diabetes, losses={first: 40.0, second: 20.0}, equivalents={first: ((4, 2.0), (5, -1.0)), second: ()}
    )
    text = Page(report_html(path)).text
    assert "bmi loss without it: 40 s1 keeps 95% (loses 2) s2 would gain 1" in text
    assert "Of 2 features examined, the other 1 has none." in text
    alone = with_fields(diabetes, losses={}, equivalents=dict.fromkeys(diabetes.selected, ()))
    assert "None of the 5 features examined has a near-equivalent" in Page(report_html(alone)).text
    whole = with_fields(grouped, losses={}, equivalents={0: ((3, 0.5), (12, 0.0))})
    assert "x0, x1, x2 x3, x4, x5 loses 0.5000 x12, x13, x14 exactly as good" in Page(report_html(whole)).text
    forced = select(*load_diabetes(return_X_y=True), include=range(3), enter=math.inf, equivalents=True)
    assert "All selected features were included from the start." in Page(report_html(forced)).text


def test_a_path_without_steps_has_no_path_svg(empty: SelectionPath) -> None:
    page = Page(report_html(empty))
    assert not page.all("svg")
    assert not page.all("table")
    assert "Next candidates" in page.text


def with_fields(path: SelectionPath, **fields: Any) -> SelectionPath:
    """A copy of a path that holds more than `select` puts there."""
    copy = replace(path)
    for name, value in fields.items():
        object.__setattr__(copy, name, value)
    return copy


# --- what a path says ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("words", [{}, {"enter": 0.05, "leave": 0.05}, {"enter": 0.5, "leave": 0.5}])
def test_cost_is_that_of_scanning_everything(words: dict[str, Any]) -> None:
    """made + saved = what forward-backward computes, wherever it makes the same additions."""
    X, y = load_breast_cancer(return_X_y=True)
    ours = select(X, y, strategy="dropping", **words)
    whole = select(X, y, strategy="forward_backward", **words)
    assert [s.features for s in ours.steps if s.action == "add"] == [
        s.features for s in whole.steps if s.action == "add"
    ]
    cost = summary.cost(ours)
    assert cost.saved > 0
    assert cost.total == whole.n_evaluations
    assert summary.cost(whole).saved == 0
    assert cost.share == pytest.approx(1 - ours.n_evaluations / whole.n_evaluations)


def test_entries_count_from_the_last_entry(grouped: SelectionPath) -> None:
    entries = summary.entries(grouped)
    assert entries[0].features == (21, 22, 23)
    assert entries[0].gain is None
    assert all(len(entry.features) == 3 and (entry.gain or 0) > 0 for entry in entries[1:])
    twice = crooked("floating", n=150, p=90, seed=3)
    last = {j: s.gain for s in twice.steps if s.action == "add" for j in s.features}
    assert [entry.gain for entry in summary.entries(twice)] == [last[j] for j in twice.selected]


def test_next_in_line_leaves_the_excluded_out(grouped: SelectionPath) -> None:
    line = summary.runners_up(grouped, limit=100)
    assert set(line) == set(range(24)) - set(grouped.selected) - {18, 19, 20}
    assert [grouped.ranking[j] for j in line] == sorted(grouped.ranking[j] for j in line)


def test_the_direction_of_the_criterion(diabetes: SelectionPath, empty: SelectionPath) -> None:
    assert diabetes.greater_is_better
    ebic = select(*load_diabetes(return_X_y=True), criterion="ebic")
    assert not ebic.greater_is_better
    assert "the number of candidates searched; smaller is better" in Page(report_html(ebic)).text
    r2 = select(*load_diabetes(return_X_y=True), criterion="r2")
    assert r2.greater_is_better
    page = Page(report_html(r2)).text
    assert "the share of the sum of squares that is explained; larger is better" in page
    assert "r2, larger is better" in page


# --- the picture -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_steps", [1, 2, 7, 40, 300])
@pytest.mark.parametrize("width", [350, 720])
def test_marks_stay_inside_the_path_svg(n_steps: int, width: int, diabetes: SelectionPath) -> None:
    rng = np.random.default_rng(n_steps)
    scores = 1e3 * rng.normal(size=n_steps).cumsum()
    phases = rng.choice(["forward", "re-forward", "backward", "swap"], n_steps)
    steps = tuple(
        Step(phase, "remove" if i % 3 == 2 else "add", (0,), 1.0, float(score), int(rng.integers(10_000)))
        for i, (phase, score) in enumerate(zip(phases, scores, strict=True))
    )
    page = Page(path_svg(replace(diabetes, steps=steps), width, "key"))
    marks = [(tag, a) for tag, a in page.elements if (a.get("class") or "").startswith("mark")]
    assert len(marks) == n_steps
    _, _, right, bottom = (float(v) for v in page.values("viewbox")[0].split())
    points = [tuple(map(float, p.split(","))) for _, a in marks for p in (a.get("points") or "").split()]
    points += [(float(a["cx"] or 0), float(a["cy"] or 0)) for tag, a in marks if tag == "circle"]
    assert all(0 <= x <= right and 0 <= y <= bottom for x, y in points)
    assert all(0 <= float(a["x"] or 0) <= right and 0 <= float(a["y"] or 0) <= bottom for a in page.all("text"))


def test_a_score_without_end_is_left_out_of_the_path_svg(diabetes: SelectionPath) -> None:
    steps = (Step("forward", "add", (0,), 1.0, 5.0, 9), Step("forward", "add", (1,), math.inf, -math.inf, 8))
    page = Page(path_svg(replace(diabetes, steps=steps, score=-math.inf), 720, "key"))
    assert len(page.all("circle")) == 1
    assert "nan" not in page.text.lower()
    assert "to −∞" in page.text


def test_the_picture_starts_where_the_search_started() -> None:
    backward = crooked("backward", p=20)
    line = Page(path_svg(backward, 720, "key")).all("polyline")[0]
    assert len((line["points"] or "").split()) == len(backward.steps)


@pytest.mark.parametrize(("low", "high"), [(0, 1), (-3.2, 17.9), (3571.2, 3846), (1e-9, 2e-9), (5, 5), (0, 0)])
def test_ticks_are_few_and_enclose(low: float, high: float) -> None:
    found = ticks(low, high, 5)
    assert found[0] <= low + 1e-9 * abs(low)
    assert found[-1] >= high - 1e-9 * abs(high)
    assert 2 <= len(found) <= 7
    assert all(tick == round(tick) for tick in ticks(0, 3, 8, integer=True))


# --- markup ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        *[
            (0, "0"),
            (17173, "17,173"),
            (26.0313, "26.03"),
            (3573.53, "3,574"),
            (0.00012346, "0.0001235"),
            (-1.5, "−1.500"),
        ],
        *[(1e-9, "1.000e−09"), (2.5e12, "2.500e+12"), (math.inf, "∞"), (-math.inf, "−∞"), (math.nan, "undefined")],
    ],
)
def test_numbers_for_a_reader(value: float, shown: str) -> None:
    assert number(value) == shown


def test_markup_escapes_all_but_markup() -> None:
    assert tag("p", "<b>", tag("b", "&"), class_="a", aria_label='"', title=None) == (
        '<p class="a" aria-label="&quot;">&lt;b&gt;<b>&amp;</b></p>'
    )
    assert tag("meta", charset="utf-8") == '<meta charset="utf-8">'
    assert text(Html("<i>")) == "<i>"
    assert text("a\x00\ud800b") == "a\ufffd\ufffdb"
    assert feature_name("a_b.c<") == "<bdi>a_b.c&lt;</bdi>"
    assert feature_name("a_b.c<" * 4).startswith("<bdi>a_<wbr>b.<wbr>c&lt;a_<wbr>")
    assert feature_names(["a", "b", "c"], 2) == "<bdi>a</bdi>, <bdi>b</bdi> and 1 more"
    assert (short(0.2), short(1500.0), short(-0.05)) == ("0.2", "1,500", "−0.05")
    assert (counted(1, "feature"), counted(2000, "feature")) == ("1 feature", "2,000 features")


# --- files -----------------------------------------------------------------------------------------------------------


def test_the_door_of_the_path(diabetes: SelectionPath, tmp_path: File) -> None:
    file = tmp_path / "out.html"
    assert diabetes.report(file, title="A title") is None
    assert (
        file.read_text(encoding="utf-8") == diabetes.report(title="A title") == report_html(diabetes, title="A title")
    )
    assert list(tmp_path.iterdir()) == [file]


def test_a_report_that_fails_leaves_the_old_one(
    diabetes: SelectionPath, tmp_path: File, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "out.html"
    file.write_text("old")
    with pytest.raises(TypeError):
        diabetes.report(file, nonsense=1)

    def full(*args: object, **words: object) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(File, "replace", full)
    with pytest.raises(OSError, match="no space left"):
        save_report(diabetes, file)
    assert file.read_text() == "old"
    assert list(tmp_path.iterdir()) == [file]


def test_a_link_is_followed(diabetes: SelectionPath, tmp_path: File) -> None:
    file, link = tmp_path / "out.html", tmp_path / "link.html"
    file.write_text("old")
    link.symlink_to(file)
    save_report(diabetes, link)
    assert link.is_symlink()
    assert file.read_text(encoding="utf-8").startswith("<!doctype html>")


def test_every_stop_and_strategy_has_a_page(diabetes: SelectionPath) -> None:
    for stop in StopReason:
        assert str(stop) in Page(report_html(replace(diabetes, stop=stop))).text.replace("\u2019", "'")
    for strategy in ("forward", "backward", "stepwise", "forward_backward", "fbed", "floating", "swap"):
        Page(report_html(crooked(strategy, p=20)))


def test_best_subsets_are_listed_with_the_selected_one_in_bold() -> None:
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    path = select(X, y, strategy=Exhaustive(n_best=2), criterion="bic", max_features=2)
    page = report_html(path)
    assert "The selected set is proven to be the best." in page
    assert page.count('<th scope="row"><b>') == 1
    assert "Best subsets" not in report_html(select(X, y))
    ended = replace(path, subsets=replace(path.subsets, gap=1.5))
    assert f"a set that scores better by up to {number(1.5)} may exist" in report_html(ended)
    assert "a better set may exist" in report_html(replace(path, subsets=replace(path.subsets, gap=math.inf)))
