"""The path: every step, in order, adds up to the answer; and it can be read as text, a frame or a page."""

from __future__ import annotations

import math
import pickle
from dataclasses import replace
from functools import partial
from itertools import count, pairwise
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dropstep import FBED, SelectionPath, Step, StopReason, select
from dropstep.report.quantities import moves
from tables import RandomTable, tables

STRATEGIES = ("dropping", "forward", "backward", "stepwise", "forward_backward", "fbed", "floating", "swap")


def regression(seed: int = 0, n: int = 100, p: int = 10) -> tuple[pd.DataFrame, Any]:
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(n, p)), columns=[f"f{j}" for j in range(p)])
    return X, (2 * X["f3"] - X["f7"] + 0.5 * X["f1"]).to_numpy() + rng.normal(size=n)


def classes(seed: int = 0, n: int = 120, p: int = 10) -> tuple[pd.DataFrame, Any]:
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    X = rng.normal(size=(n, p))
    X[:, :4] += rng.normal(size=(3, 4))[y]
    return pd.DataFrame(X, columns=[f"f{j}" for j in range(p)]), np.array(["a", "b", "c"])[y]


# --- steps -----------------------------------------------------------------------------------------------------------


@settings(deadline=None, max_examples=100, derandomize=True)
@given(tables(), st.sampled_from(STRATEGIES), st.data())
def test_steps_add_up(table: RandomTable, strategy: str, data: st.DataObject) -> None:
    """Replay the steps: selected, pool, dropped and score follow from them, and from nothing else."""
    n, p = table.X.shape
    if strategy == "backward" and p > n - 8:
        return
    words: dict[str, Any] = {"max_features": data.draw(st.sampled_from([None, 1, 3, 6]))}
    if p > 6 and data.draw(st.booleans()):
        words |= {"include": [5, 2], "exclude": [6]} if words["max_features"] != 1 else {"exclude": [6, 0]}
    path = select(table.X, table.y, model=table.model, strategy=strategy, sample_weight=table.weights, **words)
    replay(path, set(words.get("exclude", ())), words["max_features"] or p)
    assert path.selected[: len(words.get("include", ()))] == tuple(words.get("include", ()))


def replay(path: SelectionPath, excluded: set[int], most: int) -> None:
    selected: list[int] = []
    dropped: set[int] = set()
    score = path.start
    sign = 1 if path.greater_is_better else -1
    for step, size in zip(path.steps, path.sizes(), strict=True):
        if step.action == "add":
            assert not set(step.features) & (set(selected) | dropped | excluded)
            selected += step.features
        elif step.action == "remove":
            assert set(step.features) <= set(selected)
            selected = [j for j in selected if j not in step.features]
        elif step.action == "drop":
            assert step.features
            assert not set(step.features) & (set(selected) | dropped | excluded)
            dropped |= set(step.features)
        else:
            assert step.action == "recall"
            assert set(step.features) == dropped
            dropped = set()
        if step.action in ("drop", "recall"):
            assert (step.gain, step.score) == (0.0, score)
        elif path.stop is not StopReason.EXACT:  # where nothing but rounding is left, scores have no meaning
            assert sign * (step.score - score) == pytest.approx(step.gain, rel=1e-6, abs=1e-8 * (1 + abs(score)))
        assert step.pool == path.n_features - len(selected) - len(dropped) - len(excluded)
        assert size == len(selected)
        assert size <= most or path.strategy == "backward"
        score = step.score
    assert tuple(selected) == path.selected
    assert score == path.score


@pytest.mark.parametrize("strategy", ["dropping", "stepwise", "floating", "swap"])
@pytest.mark.parametrize("criterion", ["ebic", "aic", "aicc", "rss"])
@pytest.mark.parametrize("solver", ["gram", "columns"])
def test_every_target_needs_a_row_of_its_own(strategy: str, criterion: str, solver: str) -> None:
    """The residual of q targets is singular when fewer than q rows are left: the rows are used up before."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(19, 24))
    y = X[:, :3].sum(axis=1)[:, None] * rng.normal(size=3) + rng.normal(size=(19, 3))
    path = select(X, y, strategy=strategy, criterion=criterion, solver=solver)
    assert np.isfinite([path.score, *(step.gain for step in path.steps)]).all()
    assert len(path.selected) <= 19 - 1 - 3


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("make", [regression, classes])
def test_gains_obey_the_thresholds(strategy: str, make: Any) -> None:
    """Enter: gain > enter. Leave: loss <= leave. Dropped: gain in that same scan <= drop."""
    X, y = make()
    enter, leave = 0.02, 0.01
    criterion = "r2" if make is regression else "trace"
    path = select(X, y, strategy=strategy, criterion=criterion, enter=enter, leave=leave, drop=0.05)
    for step in path.steps:
        if step.phase in ("forward", "re-forward") and step.action == "add":
            assert step.gain > enter
        if step.phase == "backward" and strategy != "floating":
            assert -step.gain <= leave
    assert path.stop in (StopReason.ENTER, StopReason.LEAVE, StopReason.POOL)


def test_dropping_in_phases() -> None:
    path = select(*classes(1), enter=0.05, leave=0.05)
    phases = [step.phase for step in path.steps]
    order = ["forward", "re-forward", "backward"]
    assert phases == sorted(phases, key=order.index)
    assert next(step.action for step in path.steps if step.phase == "re-forward") == "recall"
    for step, after in pairwise(path.steps):
        if step.action == "drop":
            assert after.action != "drop"


def test_a_recalled_feature_can_enter() -> None:
    """The noise in another feature tells nothing by itself: dropped in the first scan, found after the recall."""
    rng = np.random.default_rng(3)
    signal, error = rng.normal(size=(2, 400))
    X = np.c_[error, signal + error, rng.normal(size=400)]
    words: dict[str, Any] = {"criterion": "r2", "enter": 0.02, "leave": 0.02}
    path = select(X, signal, **words)
    assert [(step.phase, step.action, step.features) for step in path.steps] == [
        ("forward", "add", (1,)),
        ("forward", "drop", (0, 2)),
        ("re-forward", "recall", (0, 2)),
        ("re-forward", "add", (0,)),
    ]
    assert path.stop is StopReason.EXACT
    assert select(X, signal, strategy=FBED(rounds=0), **words).selected == (1,)
    assert select(X, signal, strategy=FBED(rounds=1), **words).selected == (1, 0)


def test_rounds_of_fbed() -> None:
    X, y = classes(2)
    rounds = [select(X, y, strategy=FBED(rounds=k), enter=0.01, leave=0.0, drop=0.4) for k in (0, 1, 2, math.inf)]
    recalls = [sum(step.action == "recall" for step in path.steps) for path in rounds]
    assert recalls[0] == 0
    assert recalls[1] == 1
    assert recalls[1] <= recalls[2] <= recalls[3]
    assert [len(path.selected) for path in rounds] == sorted(len(path.selected) for path in rounds)
    last = rounds[3]
    ended = max(i for i, step in enumerate(last.steps) if step.action == "recall")
    assert not any(step.action == "add" for step in last.steps[ended:]) or not last.steps[ended].pool


def test_backward_starts_from_all() -> None:
    X, y = regression()
    path = select(X.assign(copy=X["f0"], constant=1.0), y, strategy="backward")
    first = path.steps[0]
    assert (first.phase, first.action, first.features) == ("start", "add", tuple(range(10)))
    assert all((step.phase, step.action) == ("backward", "remove") for step in path.steps[1:])
    assert path.stop is StopReason.LEAVE
    assert set(path.selected) == {1, 3, 7}


def test_stepwise_removes_what_an_addition_made_useless() -> None:
    rng = np.random.default_rng(5)
    parts = rng.normal(size=(300, 2))
    X = np.c_[parts.sum(axis=1) + 0.4 * rng.normal(size=300), parts]
    y = parts.sum(axis=1) + 0.05 * rng.normal(size=300)
    path = select(X, y, strategy="stepwise", criterion="bic")
    assert [(step.action, step.features) for step in path.steps[:1]] == [("add", (0,))]
    assert ("remove", (0,)) in [(step.action, step.features) for step in path.steps]
    assert set(path.selected) == {1, 2}
    assert set(select(X, y, strategy="forward", criterion="bic").selected) == {0, 1, 2}
    floating = select(X, y, strategy="floating", criterion="rss", enter=0.6, max_features=2)
    assert set(floating.selected) <= {0, 1, 2}


def test_floating_beats_the_best_of_its_size() -> None:
    """A removal is made only when it beats every selection of that size seen before."""
    for seed in range(6):
        path = select(*classes(seed, p=16), strategy="floating", enter=0.001, max_features=8)
        best: dict[int, float] = {}
        for step, size in zip(path.steps, path.sizes(), strict=True):
            if step.action == "remove":
                assert step.score > best[size]
            best[size] = max(best.get(size, -math.inf), step.score)


def test_swaps_come_in_pairs_and_improve() -> None:
    rng = np.random.default_rng(7)
    parts = rng.normal(size=(300, 2))
    X = np.c_[parts.sum(axis=1) + 0.4 * rng.normal(size=300), parts, rng.normal(size=(300, 4))]
    y = parts.sum(axis=1) + 0.05 * rng.normal(size=300)
    path = select(X, y, strategy="swap", criterion="rss", max_features=2)
    swaps = [step for step in path.steps if step.phase == "swap"]
    assert swaps
    for out, into in zip(swaps[::2], swaps[1::2], strict=True):
        assert (out.action, into.action) == ("remove", "add")
        assert out.gain + into.gain > 0
    assert set(path.selected) == {1, 2}


@pytest.mark.parametrize("solver", ["gram", "columns"])
@pytest.mark.parametrize("strategy", ["swap", "floating", "stepwise"])
def test_searches_end_where_rounding_is_all_that_is_left(strategy: str, solver: str) -> None:
    """Rows that are repeated look like more evidence than they are: fits become exact, and scores rounding."""
    for seed in range(12):
        rng = np.random.default_rng(seed)
        X = np.repeat(rng.normal(size=(16, 24)), 2, axis=0)
        numbers = np.repeat(rng.normal(size=(16, 3)), 2, axis=0)
        labels, groups = np.repeat(np.arange(16) % 3, 2), rng.integers(0, 12, size=24).tolist()
        for y, words in ((numbers, {"criterion": "bic"}), (labels, {"criterion": "wilks", "groups": groups})):
            made = count()
            stop = partial(lambda made, _: next(made) > 500, made)
            path = select(X, y, strategy=strategy, solver=solver, callback=stop, **words)
            assert path.stop is not StopReason.CALLBACK


def test_forced_and_forbidden_features() -> None:
    X, y = regression()
    for strategy in STRATEGIES:
        path = select(X, y, strategy=strategy, include=["f9", "f0"], exclude=["f3"])
        assert path.steps[0].phase == "start"
        assert path.selected[:2] == (9, 0)
        assert 3 not in path.selected
        assert all(not {9, 0} & set(step.features) for step in path.steps[1:])
        assert all(3 not in step.features for step in path.steps)
        assert (path.ranking[9], path.ranking[0]) == (1, 2)
        assert path.ranking[3] == max(path.ranking)


def test_groups_move_whole() -> None:
    X, y = classes(4)
    groups = [[0, 5], [1, 2, 6], [3, 4]]
    units = [*map(set, groups), *({j} for j in (7, 8, 9))]
    for strategy in STRATEGIES:
        path = select(X, y, strategy=strategy, groups=groups, enter="auto", leave="auto")
        for step in path.steps:
            assert all(unit <= set(step.features) or not unit & set(step.features) for unit in units)
            if step.action in ("add", "remove") and step.phase != "start":
                assert set(step.features) in units
        for group in groups:
            assert len({path.ranking[j] for j in group}) == 1
            assert set(group) <= set(path.selected) or not set(group) & set(path.selected)


def test_max_features_counts_what_is_included() -> None:
    X, y = classes(5)
    for strategy in STRATEGIES:
        path = select(X, y, strategy=strategy, include=[9], max_features=3, enter=0.001, leave=0.0)
        assert len(path.selected) <= 3
        assert 9 in path.selected
    assert select(X, y, max_features=3, enter=0.001, leave=0.0).stop is StopReason.MAX_FEATURES


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_what_could_be_chosen_is_stored(strategy: str) -> None:
    X, y = classes(4)
    groups = [[0, 5], [1, 2, 6], [3, 4]]
    path = select(X, y, strategy=strategy, groups=groups, include=["f3", "f4"], exclude=["f9", "f8"])
    assert path.greater_is_better
    assert path.excluded == (8, 9)
    assert path.groups == ((0, 5), (1, 2, 6), (3, 4), (7,), (8,), (9,))
    assert path.n_candidates == 3
    assert path.pools() == [3, *(step.pool for step in path.steps)]
    plain = select(X, y, strategy=strategy, criterion="wilks", enter=0.02, leave=0.01)
    assert (plain.greater_is_better, plain.excluded, plain.groups, plain.n_candidates) == (False, (), None, 10)
    assert plain.rules == {"enter": 0.02, "leave": 0.01, "drop": 0.01}


def test_an_empty_path_knows_its_candidates() -> None:
    """The size of the pool is stored, not inferred from the number of evaluations."""
    path = replace(select(np.ones((20, 4)), np.arange(20.0)), n_evaluations=99)
    assert (path.steps, path.n_candidates, path.pools()) == ((), 4, [4])


# --- ranking ---------------------------------------------------------------------------------------------------------


def test_ranking_is_entry_then_gain() -> None:
    X, y = regression(2)
    path = select(X, y, strategy="forward", criterion="rss", enter="auto")
    assert sorted(path.ranking) == list(range(1, 11))
    by_rank = np.argsort(path.ranking)
    assert tuple(by_rank[: len(path.selected)]) == path.selected
    rest = [int(j) for j in by_rank[len(path.selected) :]]
    gains = [
        path.score
        - select(X, y, criterion="rss", include=[*path.selected, j], max_features=len(path.selected) + 1).score
        for j in rest
    ]
    assert gains == sorted(gains, reverse=True)


def test_ranking_of_what_could_never_enter() -> None:
    X, y = regression(3)
    table = X.assign(constant=5.0, copy=X["f3"])
    path = select(table, y, exclude=["f0", "f2"])
    assert path.ranking[0] == path.ranking[2] == max(path.ranking) == 11
    assert sorted(path.ranking)[:10] == list(range(1, 11))
    varying = [path.ranking[j] for j in range(10) if j not in (0, 2)]
    assert max(varying) < min(path.ranking[10], path.ranking[11])


# --- the callback of select ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_callback_sees_every_step_and_may_stop(strategy: str) -> None:
    X, y = classes(6)
    seen: list[Step] = []
    whole = select(X, y, strategy=strategy, callback=seen.append)
    assert tuple(seen) == whole.steps
    assert whole == select(X, y, strategy=strategy)
    for many in range(1, len(whole.steps) + 1):
        seen = []
        path = select(X, y, strategy=strategy, callback=lambda step: seen.append(step) or len(seen) >= many)  # noqa: B023
        assert path.steps == whole.steps[:many]
        assert path.stop is StopReason.CALLBACK
        assert path.score == path.steps[-1].score
        assert len(path.selected) == path.sizes()[-1]


def test_an_error_in_a_callback_comes_through() -> None:
    def fail(step: Step) -> None:
        raise RuntimeError("no more")

    with pytest.raises(RuntimeError, match="no more"):
        select(*regression(), callback=fail)


# --- reading a path --------------------------------------------------------------------------------------------------


def test_stops_say_why() -> None:
    X, y = regression(4)
    assert select(X, y).stop is StopReason.ENTER
    assert select(X, y, strategy="backward").stop is StopReason.LEAVE
    assert select(X, y, enter=-math.inf, leave=-math.inf).stop is StopReason.POOL
    assert select(X, y, max_features=1).stop is StopReason.MAX_FEATURES
    assert (
        select(X[["f3"]].assign(a=X["f3"], b=2 * X["f3"]), y, enter=0, leave=0, criterion="rss").stop is StopReason.SPAN
    )
    assert select(X, X["f1"] * 2 + 1).stop is StopReason.EXACT
    assert select(X * 0 + 1, y).stop is StopReason.CONSTANT
    assert select(X[:8], y[:8], criterion="rss", enter=0, leave=0, strategy="forward").stop is StopReason.ROWS
    assert select(X, y, callback=lambda step: True).stop is StopReason.CALLBACK
    assert len({str(stop) for stop in StopReason}) == len(StopReason)
    for stop in StopReason:
        assert str(stop)[0].islower()
        assert not str(stop).endswith(".")


def test_to_frame() -> None:
    path = select(*classes(7))
    frame = path.to_frame()
    made, tested = "phase action features gain score pool selected", "statistic df_num df_denom p_value"
    assert list(frame.columns) == [*made.split(), *tested.split()]
    assert frame.index.name == "step"
    assert len(frame) == len(path.steps)
    assert frame["selected"].tolist() == path.sizes()
    assert frame["score"].iloc[-1] == path.score
    assert frame.index.tolist() == list(range(1, len(path.steps) + 1))  # as in the plot and in the report
    assert frame["features"][1] == path.selected_names[0]
    empty = select(regression()[0], np.random.default_rng(0).normal(size=100)).to_frame()
    assert len(empty) == 0
    assert list(empty.columns) == list(frame.columns)


def test_removed_later_follows_each_entry() -> None:
    made: list[Any] = [
        ("add", (0, 1)),
        ("add", (2,)),
        ("drop", (5,)),
        ("remove", (0,)),
        ("add", (3,)),
        ("remove", (2,)),
    ]
    made += [("add", (2,)), ("remove", (3,))]
    steps = tuple(Step("forward", action, features, 0.0, 0.0, 1) for action, features in made)
    found = moves(replace(select(*regression()), steps=steps))
    assert [move.step for move in found] == [step for step in steps if step.action != "drop"]
    assert [move.removed for move in found] == [{0}, {2}, {0}, {3}, {2}, set(), {3}]
    later, removed = "forward, removed later", "forward, removed"
    assert [move.label for move in found] == [
        "forward, 1 removed later",
        later,
        removed,
        later,
        removed,
        "forward",
        removed,
    ]


def test_names() -> None:
    X, y = regression(5)
    named, plain = select(X, y), select(X.to_numpy(), y)
    assert named.selected_names == tuple(f"f{j}" for j in named.selected)
    assert plain.selected_names == tuple(f"x{j}" for j in plain.selected)
    assert named.names((0, 9)) == ("f0", "f9")
    assert named.feature_names == tuple(X.columns)
    assert plain.feature_names is None


def test_text() -> None:
    X, y = regression(6)
    path = select(X, y)
    text = str(path)
    for word in ("dropping by r2 (linear)", "of 10 features", "evaluations", str(path.stop), "selected: f3, f7"):
        assert word in text
    assert "selected: nothing" in str(select(X, np.random.default_rng(0).normal(size=100)))
    assert "feature_names" not in repr(path)


def test_html_is_escaped() -> None:
    X, y = regression(7)
    hostile = X.rename(columns={"f3": "<script>alert('x')</script>", "f7": 'a"b & c', "f1": "</td><b>"})
    html = select(hostile, y)._repr_html_()
    assert "<script>alert" not in html
    assert "</td><b>" not in html
    assert "&lt;script&gt;" in html
    assert "a&quot;b &amp; c" in html


def test_a_path_is_a_value() -> None:
    path = select(*classes(8))
    assert pickle.loads(pickle.dumps(path)) == path
    assert path == select(*classes(8))
    assert hash(path) == hash(select(*classes(8)))
    with pytest.raises(AttributeError):
        path.score = 1.0  # type: ignore[misc]
    with pytest.raises(AttributeError):
        path.steps[0].gain = 1.0  # type: ignore[misc]
    assert all(type(j) is int for j in (*path.selected, *path.ranking, *path.steps[0].features))
    assert type(path.score) is float
    assert type(path.n_evaluations) is int
    assert all(type(step.gain) is float and type(step.score) is float for step in path.steps)
    assert all(type(step.pool) is int for step in path.steps)


def test_more_features_than_can_be_read_are_still_told() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 600))
    path = select(X, X[:, 5] + rng.normal(size=200))
    assert path.selected == (5,)
    assert len(path._repr_html_()) < 200_000
    assert path.n_evaluations >= 600
