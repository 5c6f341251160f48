"""Every source gives the result of the table in memory, whatever the blocks and their order."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dropstep.backends.arrow
import dropstep.backends.delimited
from dropstep import SelectionPath, select
from dropstep.backends.arrow import block_of
from dropstep.data.source import Origin
from dropstep.data.summary import Layout, Summarise
from sources import SOURCES, TARGETS, Source, Target, arrow, check, table, with_gaps

pytestmark = pytest.mark.usefixtures("read_in_blocks")

BLOCK_ROWS = (64, 350)
every_source = pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.name)


@pytest.fixture(params=BLOCK_ROWS)
def rows(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """Number of rows of a block; readers that choose it themselves get small blocks as well."""
    monkeypatch.setattr(dropstep.backends.arrow, "MAX_BLOCK_ROWS", request.param)
    monkeypatch.setattr(dropstep.backends.arrow, "MIN_BLOCK_ROWS", 1)
    monkeypatch.setattr(dropstep.backends.delimited, "BLOCK", 100 * request.param)
    return int(request.param)


def selected_from(
    source: Source, frame: pd.DataFrame, y: Target, folder: Path, rows: int, **parameters: Any
) -> tuple[SelectionPath, SelectionPath, Any]:
    """The path of a source, that of the table in memory, and rows to predict."""
    targets = [y] if isinstance(y, str) else y
    used = frame.drop(columns=[name for name in TARGETS if name not in targets])
    if not source.factors:
        used = used.select_dtypes("number").drop(columns="weight")
    X, y_given = source.make(used, y, folder, rows)
    if source.factors:
        return select(X, y_given, **parameters), select(used, y, **parameters), used
    return select(X, y_given, **parameters), select(used.drop(columns=targets), used[y], **parameters), None


@every_source
@pytest.mark.parametrize("y", ["y", ["y", "y2"], "code"], ids=str)
def test_every_source_gives_the_path_of_memory(source: Source, y: Target, tmp_path: Path, rows: int) -> None:
    path, expected, X = selected_from(source, table(), y, tmp_path, rows)
    assert expected.selected
    check(path, expected, X, can_reread=source.can_reread)
    if source.factors:
        assert path.n_passes == 1 + source.can_reread  # the second one tests the selected features in the tails


FACTORS = tuple(source for source in SOURCES if source.factors)


@pytest.mark.parametrize("rows", [64], indirect=True)
@pytest.mark.parametrize("source", FACTORS, ids=lambda source: source.name)
@pytest.mark.parametrize(
    ("y", "parameters"),
    [
        ("label", {}),
        ("label", {"sample_weight": "weight", "criterion": "wilks"}),
        ("y", {"sample_weight": "weight", "strategy": "stepwise"}),
        ("y", {"groups": [["a", "b"]], "include": ["size"], "exclude": ["whole"]}),
    ],
    ids=str,
)
def test_classes_weights_groups(source: Source, y: str, parameters: dict[str, Any], tmp_path: Path, rows: int) -> None:
    paths = selected_from(source, table(1), y, tmp_path, rows, **parameters)
    check(*paths, can_reread=source.can_reread)


@pytest.mark.parametrize("rows", [64], indirect=True)
@pytest.mark.parametrize("source", FACTORS, ids=lambda source: source.name)
def test_missing_rows_are_dropped(source: Source, tmp_path: Path, rows: int) -> None:
    path, expected, _ = selected_from(source, with_gaps(table(2)), "y", tmp_path, rows, missing="drop")
    assert any(note.startswith("ignored ") for note in path.notes)
    check(path, expected, can_reread=source.can_reread)
    assert path.encoding == expected.encoding


@pytest.mark.parametrize("rows", [64], indirect=True)
@pytest.mark.parametrize("source", FACTORS, ids=lambda source: source.name)
def test_missing_text_is_a_level(source: Source, tmp_path: Path, rows: int) -> None:
    frame = with_gaps(table(3)).dropna(subset=["b", "y"]).reset_index(drop=True)
    path, expected, X = selected_from(source, frame, "y", tmp_path, rows, missing="level")
    assert path.encoding is not None
    check(path, expected, X, can_reread=source.can_reread)


def test_sums_do_not_depend_on_blocks_or_order() -> None:
    frame = table(4).drop(columns=["y2", "label", "code"])
    features = tuple(name for name in frame.columns if name != "y")
    summarise = pickle.loads(pickle.dumps(Summarise(Layout(features, ("y",)), "auto")))
    columns = list(summarise.layout.columns)
    rng = np.random.default_rng(0)
    whole = summarise(block_of(arrow(frame[columns]).combine_chunks().to_batches()[0]))
    for _ in range(5):
        cuts = np.sort(rng.choice(np.arange(1, len(frame)), size=12, replace=False))
        parts = [arrow(frame[columns][a:b]).to_batches()[0] for a, b in zip([0, *cuts], [*cuts, None], strict=True)]
        sums = [pickle.loads(pickle.dumps(summarise(block_of(batch, Origin("part"))))) for batch in parts]
        while len(sums) > 1:  # a tree of random shape
            i, j = sorted(rng.choice(len(sums), size=2, replace=False))
            b, a = sums.pop(j), sums.pop(i)
            sums.append(b + a)
        (total,) = sums
        order = [total._keys.index(key) for key in whole._keys]
        at = [*order, len(order)]
        np.testing.assert_allclose(total.moments.means[:, at], whole.moments.means, rtol=1e-12)
        scale = np.sqrt(np.outer(np.diagonal(whole.moments.scatter), np.diagonal(whole.moments.scatter)))
        assert np.abs(total.moments.scatter[np.ix_(at, at)] - whole.moments.scatter).max() <= 1e-12 * scale.max()


@pytest.mark.parametrize("model", ["discriminant", "logistic"])
def test_many_classes_are_no_regression(model: str) -> None:
    """Numbers above 32 distinct values are a regression by default only, also if no block has that many."""
    rng = np.random.default_rng(0)
    code = rng.permutation(np.repeat(np.arange(34), 4))
    frame = pd.DataFrame({"a": rng.normal(size=136), "b": code + 5 * rng.normal(size=136), "code": code})
    blocks = arrow(frame).to_batches(max_chunksize=20)
    parameters = {"model": model, "max_features": 1}
    found, expected = (select(X, "code", **parameters) for X in (blocks, frame))
    assert (found.model, found.selected) == (expected.model, expected.selected) == (model, (1,))
    assert found.score == pytest.approx(expected.score, rel=1e-6)
    assert select(blocks, "code").model == select(frame, "code").model == "linear"
