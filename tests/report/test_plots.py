"""Pictures of paths: right, and with no text over another, however many features and however long their names."""

import itertools
import math
import sys
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_diabetes
from sklearn.linear_model import LinearRegression

from dropstep import SelectionPath, select
from dropstep.report.plots import (
    COLOURS,
    _states,
    plot_errors,
    plot_gains,
    plot_path,
    plot_pool,
    plot_ranking,
    plot_sizes,
    plot_stability,
    plot_steps,
)
from dropstep.report.quantities import ranked

plt: Any = pytest.importorskip("matplotlib.pyplot")
same_color: Any = pytest.importorskip("matplotlib.colors").same_color

PLOTS = [plot_path, plot_steps, plot_pool, plot_gains, plot_ranking]


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    plt.switch_backend("agg")
    yield
    plt.close("all")


# --- paths to draw ---------------------------------------------------------------------------------------------------


def three() -> SelectionPath:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 3))
    return select(X, X @ [3, 2, 1] + rng.normal(size=100))


def fifty() -> SelectionPath:
    """50 of 80 features, some by recall, with names of 40 letters."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(600, 80))
    path = select(X, X[:, :60] @ np.linspace(3, 0.3, 60) + rng.normal(size=600), max_features=50)
    return replace(path, feature_names=tuple(f"measurement_of_something_rather_long_{j:04d}" for j in range(80)))


def three_hundred() -> SelectionPath:
    rng = np.random.default_rng(2)
    X = rng.normal(size=(400, 320))
    y = X @ rng.exponential(size=320) + rng.normal(size=400)
    return select(X, y, strategy="forward", criterion="rss", max_features=300, enter=-math.inf)


def crooked(strategy: str = "stepwise") -> SelectionPath:
    """Many removals: features share twelve causes, so that later ones make earlier ones useless."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(150, 12)) @ rng.normal(size=(12, 90)) + 0.35 * rng.normal(size=(150, 90))
    y = X @ np.where(rng.random(90) < 0.3, rng.normal(size=90), 0) + rng.normal(size=150)
    return select(X, y, strategy=strategy, criterion="aic")


def empty() -> SelectionPath:
    rng = np.random.default_rng(0)
    return select(rng.normal(size=(50, 10)), rng.normal(size=50))


PATHS = {make.__name__: make for make in (three, fifty, three_hundred, crooked, empty)}


@pytest.fixture(scope="module")
def paths() -> dict[str, SelectionPath]:
    return {name: make() for name, make in PATHS.items()}


# --- where the texts are ---------------------------------------------------------------------------------------------


def boxes(ax: Any) -> dict[str, Any]:
    """Where every text that shows is, in pixels."""
    ax.figure.canvas.draw()
    (left, right), (bottom, top) = sorted(ax.get_xlim()), sorted(ax.get_ylim())
    shown = [ax.title, ax._left_title, ax.xaxis.label, ax.yaxis.label, *ax.texts]
    shown += [t.label1 for t in ax.xaxis.get_major_ticks() if left <= t.get_loc() <= right]
    shown += [t.label1 for t in ax.yaxis.get_major_ticks() if bottom <= t.get_loc() <= top]
    shown += ax.get_legend().get_texts() if ax.get_legend() else []
    visible = [text for text in shown if text.get_text() and text.get_visible()]
    return {f"{i}: {text.get_text()}": text.get_window_extent() for i, text in enumerate(visible)}


def overlaps(found: dict[str, Any]) -> list[tuple[str, str]]:
    inner = {text: box.padded(-0.5) for text, box in found.items()}
    return [(a, b) for a, b in itertools.combinations(inner, 2) if inner[a].overlaps(inner[b])]


@pytest.mark.parametrize("name", PATHS)
@pytest.mark.parametrize("plot", PLOTS)
def test_no_text_lies_over_another_or_outside(plot: Any, name: str, paths: dict[str, SelectionPath]) -> None:
    ax = plot(paths[name])
    found = boxes(ax)
    assert len(found) >= 5
    assert overlaps(found) == []
    page = ax.figure.bbox.padded(1)
    assert [text for text, box in found.items() if not (page.contains(*box.p0) and page.contains(*box.p1))] == []


@pytest.mark.parametrize("plot", PLOTS)
def test_given_axes_are_used_and_letters_fit_them(plot: Any, paths: dict[str, SelectionPath]) -> None:
    _, (left, right) = plt.subplots(1, 2, figsize=(14, 5), layout="constrained")
    assert plot(paths["fifty"], right) is right
    assert not left.has_data()
    assert overlaps(boxes(right)) == []


def test_names_of_lines_that_end_together_are_apart() -> None:
    """Ten features that are selected on every half-sample, and three that are not."""
    frequencies = np.linspace(0, 1, 6)[:, None] * np.r_[np.ones(10), 0.99, 0.8, 0.2]
    names = [f"a feature with a long name {j}" for j in range(13)]
    ax = plot_stability(frequencies, names, 0.75, 50, None)
    assert sorted(text.get_text() for text in ax.texts) == sorted(names[:12])
    assert overlaps(boxes(ax)) == []
    assert ax.get_title(loc="left") == "12 of 13 features reach 0.75"


def test_errors_of_folds_have_separators() -> None:
    losses = np.array([[6100.0, 3900.0], [5900.0, 4100.0]])
    ax = plot_sizes([0, 1], losses, np.array([100.0, 100.0]), "mse", 1)
    assert ax.get_title(loc="left") == "1 feature chosen, 2 folds"
    assert any("," in text for text in boxes(ax))
    assert overlaps(boxes(ax)) == []
    assert any(": 1," in text for text in boxes(plot_errors(["a"], [[1000.0, 2000.0]], "rmse", "2 folds")))


# --- what is drawn ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("strategy", ["dropping", "backward", "stepwise", "fbed", "floating", "swap"])
def test_the_path_has_a_door(strategy: str) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 8))
    path = select(X, X[:, 0] + X[:, 3] + rng.normal(size=80), strategy=strategy, include=[7])
    ax = path.plot()
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("number of features", path.criterion)
    assert path.strategy in ax.get_title(loc="left")
    assert overlaps(boxes(ax)) == []


def test_every_move_is_a_mark_of_its_phase(paths: dict[str, SelectionPath]) -> None:
    path = paths["crooked"]
    marks = {drawn.get_label(): drawn for drawn in plot_steps(path).collections}
    kinds = {(step.phase, step.action) for step in path.steps}
    assert ("backward", "remove") in kinds
    for kind in kinds:
        drawn = marks[f"{kind[0]}: {kind[1]}"]
        steps = [(i, step.score) for i, step in enumerate(path.steps, start=1) if (step.phase, step.action) == kind]
        np.testing.assert_allclose(drawn.get_offsets(), steps)
        assert same_color(drawn.get_facecolor()[0], "white" if kind[1] == "remove" else COLOURS[kind[0]])


def test_the_path_is_drawn_by_number_of_features_with_names(paths: dict[str, SelectionPath]) -> None:
    path = paths["crooked"]
    ax = plot_path(path)
    marks = {drawn.get_label(): drawn for drawn in ax.collections}
    made = [(n, s) for n, s in zip(path.sizes(), path.steps, strict=True) if s.action in ("add", "remove")]
    for kind in {(step.phase, step.action) for _, step in made}:
        expected = [(n, step.score) for n, step in made if (step.phase, step.action) == kind]
        np.testing.assert_allclose(marks[f"{kind[0]}: {kind[1]}"].get_offsets(), expected)
    np.testing.assert_allclose(marks["selected"].get_offsets(), [(len(path.selected), path.score)])
    three = plot_path(paths["three"])
    assert [text.get_text() for text in three.texts] == list(paths["three"].selected_names)


def test_folds_have_a_band() -> None:
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    path = select(X, y, model=LinearRegression(), max_features=3)
    ax = plot_path(path)
    band = next(drawn for drawn in ax.collections if drawn.get_label() == "± 1 std. error")
    first = next(step for step in path.steps if step.action == "add")
    corners = np.asarray(band.get_paths()[0].vertices)
    edges = sorted(corners[corners[:, 0] == 1][:, 1])
    assert edges[0] == pytest.approx(first.score - first.score_std_error)
    assert edges[-1] == pytest.approx(first.score + first.score_std_error)


def test_numbers_have_separators_and_the_colours_are_those_of_the_style(paths: dict[str, SelectionPath]) -> None:
    ax = plot_path(paths["three_hundred"])
    ax.figure.canvas.draw()
    shown = [label.get_text() for label in ax.get_yticklabels()]
    assert any("," in text for text in shown)
    assert not any("e+" in text for text in shown)
    with plt.style.context("dark_background"):
        for plot in PLOTS:
            ax = plot(paths["crooked"])
            assert all(same_color(text.get_color(), "white") for text in ax.texts)
        hollow = next(d for d in plot_path(paths["crooked"]).collections if d.get_label() == "backward: remove")
        assert same_color(hollow.get_facecolor()[0], "black")


def test_unknown_kinds(paths: dict[str, SelectionPath]) -> None:
    assert paths["three"].plot(kind="dropping").get_ylabel() == "candidates in the pool"
    with pytest.raises(
        ValueError, match="kind must be one of 'path', 'steps', 'gains', 'ranking', 'dropping'; got 'x'"
    ):
        paths["three"].plot(kind="x")


def test_a_phase_that_found_nothing_is_in_the_key() -> None:
    rng = np.random.default_rng(5)
    X = rng.normal(size=(100, 3))
    path = select(X, X[:, 1] + 0.3 * rng.normal(size=100))
    texts = [text.get_text() for text in plot_steps(path).get_legend().get_texts()]
    assert texts == ["forward: add", "re-forward: nothing added"]


def test_backward_starts_with_every_feature() -> None:
    path = crooked("backward")
    line = plot_steps(path).lines[0]
    assert np.asarray(line.get_xdata())[0] == 1
    assert np.asarray(line.get_ydata())[-1] == path.score


def test_gains_are_those_of_the_entries(paths: dict[str, SelectionPath]) -> None:
    path = paths["fifty"]
    bars: Any = plot_gains(path).patches
    gains = {j: step.gain for step in path.steps if step.action == "add" for j in step.features}
    assert [bar.get_width() for bar in bars] == [gains[j] for j in path.selected]
    assert len({bar.get_facecolor() for bar in bars}) == 2
    few = plot_gains(path, limit=5)
    assert len(few.patches) == 5
    assert few.get_title(loc="left") == "Gains in order of entry, the first 5 of 50"


def test_the_pool_falls_and_rises(paths: dict[str, SelectionPath]) -> None:
    path = paths["fifty"]
    assert path.pools() == [80, *(step.pool for step in path.steps)]
    assert paths["empty"].pools() == [10]
    stairs = [patch for patch in plot_pool(path).patches if hasattr(patch, "get_data")]
    assert [list(patch.get_data().values) for patch in stairs] == [path.pools()] * 2


def test_ranking_shows_what_became_of_each_feature(paths: dict[str, SelectionPath]) -> None:
    path = paths["fifty"]
    assert [unit[0] for unit in ranked(path)][:50] == list(path.selected)
    recalled = next(step for step in path.steps if step.phase == "re-forward" and step.action == "add").features[0]
    assert [state for state, _, _ in _states(path, recalled)] == ["pool", "dropped", "pool", "re-forward"]
    labels = [label.get_text() for label in plot_ranking(path).get_yticklabels()]
    assert len(labels) == 50
    assert labels[0] == "measurement_of_so…_rather_long_0008  1"


def test_groups_share_a_row_and_the_excluded_have_none() -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(200, 12))
    groups = [[0, 1], [2, 3], [4, 5], [6, 7], [8, 9], [10, 11]]
    path = select(X, X[:, 0] + X[:, 4] + rng.normal(size=200), groups=groups, exclude=[10, 11], include=[8, 9])
    assert sorted(ranked(path)) == [(0, 1), (2, 3), (4, 5), (6, 7), (8, 9)]
    labels = [label.get_text() for label in plot_gains(path).get_yticklabels()]
    assert sorted(labels) == ["x0, x1", "x4, x5"]


def test_names_are_not_taken_for_formulas(paths: dict[str, SelectionPath]) -> None:
    named = replace(paths["three"], feature_names=("$a_{$", "b\nc  d", "e$^$f" * 20))
    ax = plot_gains(named)
    assert overlaps(boxes(ax)) == []
    labels = [label.get_text() for label in ax.get_yticklabels()]
    assert "$a_{$" in labels
    assert "b c d" in labels
    assert max(map(len, labels)) <= 36


def test_without_matplotlib(paths: dict[str, SelectionPath], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"plots need matplotlib: pip install 'dropstep\[plot\]'"):
        paths["three"].plot()
