"""The step table of the command line: every addition and removal, so that the gains add up to the score."""

import csv
import io
import json

import numpy as np
import pytest

from commands import run

STRATEGIES = ["stepwise", "floating", "swap --max-features 4", "dropping", "backward"]


@pytest.fixture
def crooked(folder) -> str:
    """Features that share five causes, so that later additions make earlier ones redundant."""
    rng = np.random.default_rng(11)
    X = rng.normal(size=(150, 5)) @ rng.normal(size=(5, 25)) + 0.35 * rng.normal(size=(150, 25))
    y = X @ np.where(rng.random(25) < 0.3, rng.normal(size=25), 0) + rng.normal(size=150)
    names = ",".join([*(f"f{j}" for j in range(25)), "y"])
    np.savetxt("crooked.csv", np.c_[X, y], delimiter=",", header=names, comments="")
    return "crooked.csv"


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_gains_add_up_to_the_score(strategy, crooked, capsys):
    line = f"select {crooked} --target y --criterion aic --strategy {strategy}"
    told = json.loads(run(capsys, f"{line} --format json")[1])
    moves = [step for step in told["steps"] if step["action"] in ("add", "remove")]
    assert any(step["action"] == "remove" for step in moves)

    rows = list(csv.DictReader(io.StringIO(run(capsys, f"{line} --format csv")[1])))
    assert list(rows[0]) == ["order", "feature", "phase", "action", "gain", "score"]
    assert [row["action"] for row in rows] == [step["action"] for step in moves]
    assert [row["feature"] for row in rows] == [" + ".join(step["features"]) for step in moves]
    assert told["start"] - sum(float(row["gain"]) for row in rows) == pytest.approx(told["score"])
    assert float(rows[-1]["score"]) == told["score"]

    text = run(capsys, line)[1]
    table = text.split("\n\n")[2].splitlines()[2:]
    cells = [row.replace(",", "").split() for row in table]
    gains = [float(next(cell for cell in row[2:] if is_number(cell))) for row in cells]
    assert len(table) == len(moves)
    assert told["start"] - sum(gains) == pytest.approx(told["score"], abs=1e-3 * sum(map(abs, gains)))
    assert [row.endswith(", removed") for row in table] == [step["action"] == "remove" for step in moves]
    assert any(row.endswith("removed later") for row in table)
    names = [name for entry in told["selected"] for name in entry["features"]]
    assert f"\n{len(names)} of 25 features selected: {', '.join(names)}\n" in text


def is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def test_included_features_have_one_gain(wine, capsys):
    line = "select wine.csv --target class --include hue,ash --max-features 3"
    told = json.loads(run(capsys, f"{line} --format json")[1])
    rows = list(csv.DictReader(io.StringIO(run(capsys, f"{line} --format csv")[1])))
    assert [(row["feature"], row["phase"], row["action"]) for row in rows[:1]] == [("hue + ash", "start", "add")]
    assert sum(float(row["gain"]) for row in rows) == pytest.approx(told["score"])
    assert [entry["features"] for entry in told["selected"][:2]] == [["hue"], ["ash"]]
    text = run(capsys, line)[1]
    assert f"1  hue + ash   {float(rows[0]['gain']):.5g}" in text
    assert "selected: hue, ash, " in text


def test_a_long_start_is_counted(crooked, capsys):
    text = run(capsys, f"select {crooked} --target y --criterion aic --strategy backward")[1]
    assert "1  25 features " in text
    assert "start, " in text


def test_every_entry_may_be_removed_again(crooked, capsys):
    """With nothing selected in the end, the table still says what was tried."""
    text = run(capsys, f"select {crooked} --target y --criterion r2 --strategy forward_backward --enter 0 --leave 1")[1]
    assert "None of the 25 features is selected." in text
    assert ", removed" in text
