"""The same answers from Python and the command line on five tables with factors and missing values."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest

from commands import answer, run
from dropstep import select
from dropstep.cli.naming import in_options
from dropstep.resampling.comparison import compare
from mixed_tables import TABLES

LIBRARIES = {
    "pandas": lambda frame: frame,
    "polars": lambda frame: pl.from_arrow(pa.Table.from_pandas(frame, preserve_index=False)),
    "pyarrow": lambda frame: pa.Table.from_pandas(frame, preserve_index=False),
}


def without_gaps_in_numbers(frame: pd.DataFrame, target: str) -> pd.DataFrame:
    """Rows in which only text is missing."""
    numbers = frame.select_dtypes("number").columns.union([target])
    return frame[frame[numbers].notna().all(axis=1)].reset_index(drop=True)


def agree(told: dict, path) -> None:
    """Every number of the answer is that of the path."""
    assert [name for entry in told["selected"] for name in entry["features"]] == list(path.selected_names)
    assert told["score"] == pytest.approx(path.score, rel=1e-12)
    assert told["start"] == pytest.approx(path.start, rel=1e-12)
    assert told["n_evaluations"] == path.n_evaluations
    assert told["stop"]["text"] == path.why
    steps = [(step["phase"], step["action"], step["features"], step["pool"]) for step in told["steps"]]
    assert steps == [(s.phase, s.action, list(path.names(s.features)), s.pool) for s in path.steps]
    np.testing.assert_allclose([s["gain"] for s in told["steps"]], [s.gain for s in path.steps], rtol=1e-9)
    assert told["notes"] == list(map(in_options, path.notes))
    ranks = dict(zip(path.feature_names, path.ranking, strict=True))
    assert told["ranking"] == {name: ranks[name] for name in told["ranking"]}
    assert {path.feature_names[j] for j in path.excluded} == set(ranks) - set(told["ranking"])


@pytest.mark.parametrize("strategy", ["dropping", "backward", "bidirectional"])
@pytest.mark.parametrize("missing", ["drop", "level"])
@pytest.mark.parametrize("name", TABLES)
def test_the_same_answer(folder, capsys, name, missing, strategy):
    frame, target = TABLES[name]()
    assert frame.isna().to_numpy().any()
    if missing == "level":
        frame = without_gaps_in_numbers(frame, target)
    frame.to_csv("table.csv", index=False)
    line = f"select table.csv --target {target} --na '' --missing {missing} --strategy {strategy}"  # "None" is a level
    told = answer(capsys, line)
    for made in LIBRARIES.values():
        agree(told, select(made(frame), target, missing=missing, strategy=strategy))
    assert told["selected"]


@pytest.mark.parametrize("name", TABLES)
def test_the_same_answer_from_parquet(folder, capsys, name):
    frame, target = TABLES[name]()
    table = LIBRARIES["pyarrow"](frame)
    pyarrow.parquet.write_table(table, "table.parquet")
    told = answer(capsys, f"select table.parquet --target {target} --missing drop")
    agree(told, select(table, target, missing="drop"))


@pytest.mark.parametrize("name", ["penguins", "ugly"])
def test_the_same_comparison(folder, capsys, name):
    frame, target = TABLES[name]()
    frame.to_csv("table.csv", index=False)
    line = f"compare table.csv --target {target} --missing drop --strategies dropping,stepwise --folds 3"
    told = answer(capsys, line)["strategies"]
    rows = compare(frame, target, strategies=("dropping", "stepwise"), cv=3, missing="drop").rows
    for said, row in zip(told, rows, strict=True):
        assert said["features"] == (None if row.path is None else list(row.path.selected_names))
        assert said["features_in_folds"] == [list(names) for names in row.features]
        for errors in row.errors:
            np.testing.assert_allclose(said["errors"][errors.model]["folds"], errors.folds, rtol=1e-9)


@pytest.mark.parametrize("name", TABLES)
def test_both_refuse_missing_values_by_default(folder, capsys, name):
    frame, target = TABLES[name]()
    frame.to_csv("table.csv", index=False)
    code, _, err = run(capsys, f"select table.csv --target {target}")
    assert code == 2
    assert "values are missing in" in err
    with pytest.raises(ValueError, match=r"missing|NaN"):
        select(frame, target)


def test_missing_numbers_are_no_level(folder, capsys):
    frame, target = TABLES["ugly"]()
    frame.to_csv("table.csv", index=False)
    code, _, err = run(capsys, f"select table.csv --target {target} --missing level")
    assert (code, err) == (
        2,
        "dropstep: values are missing in 'dose' (2), 'y' (1), in 3 of 90 rows; choose --missing drop or --missing "
        "drop-columns, or --exclude columns\n",
    )
    frame.drop(columns="dose").dropna(subset="y").to_csv("text.csv", index=False)
    err = run(capsys, "select text.csv --target y")[2]
    assert (
        "values are missing in 'noise' (5), 'city' (2), in 7 of 89 rows; choose --missing drop, drop-columns or level"
        in err
    )
