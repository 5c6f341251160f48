"""dropstep moments: make, add and select give what select gives for all rows."""

from typing import Any

import pandas as pd
import pytest
from jsonschema import Draft202012Validator

from commands import answer, run, schema
from dropstep import Moments, select
from sources import table


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    frame = table()[["a", "b", "c", "colour", "size", "label", "y"]]
    frame[:400].to_csv("one.csv", index=False)
    frame[400:].to_csv("two.csv", index=False)
    frame.to_csv("all.csv", index=False)


def make(capsys, options: str) -> None:
    for name, rows in (("one", 400), ("two", 500)):
        code, out, err = run(capsys, f"moments make {name}.csv {options} --output {name}.npz")
        assert code == 0, err
        assert out.startswith(f"wrote {name}.npz: {rows} rows, 5 features")


@pytest.mark.parametrize(("target", "other"), [("y", "label"), ("label", "y")])
def test_the_sum_of_two_files_is_the_file_of_both(capsys, tmp_path, target, other):
    make(capsys, f"--target {target} --exclude {other}")
    _, out, _ = run(capsys, "moments add one.npz two.npz --output total.npz")
    assert out == "wrote total.npz: 900 rows, 5 features" + (", 3 classes\n" if target == "label" else "\n")
    expected = select(pd.read_csv("all.csv").drop(columns=other), target)
    code, out, err = run(capsys, "moments select total.npz --report total.html")
    assert code == 0, err
    assert f"selected: {', '.join(expected.selected_names)}" in out
    assert f"score {expected.score:.6g}" in out
    assert "<html" in (tmp_path / "total.html").read_text()
    assert run(capsys, "moments select one.npz two.npz --format csv")[1].startswith("order,feature,phase")


@pytest.mark.parametrize(("target", "other"), [("y", "label"), ("label", "y")])
def test_the_json_document_is_that_of_select(capsys, target, other):
    make(capsys, f"--target {target} --exclude {other}")
    line = "moments select one.npz two.npz --max-features 2 --include b"
    document = answer(capsys, line)
    Draft202012Validator(schema("select")).validate(document)
    whole = answer(capsys, f"select all.csv --target {target} --exclude {other} --max-features 2 --include b")
    own = {"command": f"dropstep {line} --format json", "file": "one.npz two.npz", "solver": "gram"}
    assert "could not be checked without the rows" in document["notes"].pop(0)
    agrees(document, whole | own)


def agrees(found: Any, expected: Any) -> None:
    """The same document, numbers to nine digits."""
    if isinstance(expected, dict):
        assert list(found) == list(expected)
        for key in expected:
            agrees(found[key], expected[key])
    elif isinstance(expected, list):
        assert len(found) == len(expected)
        for a, b in zip(found, expected, strict=True):
            agrees(a, b)
    else:
        assert found == (pytest.approx(expected, rel=1e-9) if isinstance(expected, float) else expected)


def test_weights_that_sum_to_a_fraction_are_rounded(capsys):
    frame = pd.read_csv("one.csv").assign(weight=0.7301)
    frame.to_csv("one.csv", index=False)
    assert run(capsys, "moments make one.csv --target label --exclude y --weights weight --output w.npz")[0] == 0
    document = answer(capsys, "moments select w.npz")
    Draft202012Validator(schema("select")).validate(document)
    assert document["rows"] == {"read": 292, "used": 292}
    assert sum(document["target"]["classes"].values()) == pytest.approx(292, abs=2)


def test_large_files_are_read_in_blocks(capsys, monkeypatch):
    make(capsys, "--target y --exclude label --quiet")
    small = [Moments.load(file) for file in ("one.npz", "two.npz")]
    monkeypatch.setenv("DROPSTEP_LARGE_FILE", "1")
    make(capsys, "--target y --exclude label --quiet --overwrite")
    for before, after in zip(small, map(Moments.load, ("one.npz", "two.npz")), strict=True):
        assert after.feature_names == before.feature_names
        assert after.factors == before.factors
        assert after.target_names == before.target_names == ("y",)
        assert select(after).selected == select(before).selected


def test_few_rows_are_noted(capsys):
    frame = pd.read_csv("one.csv")
    frame.loc[:3, "colour"] = "rare"
    frame.to_csv("one.csv", index=False)
    _, _, err = run(capsys, "moments make one.csv --target y --output one.npz")
    assert "the moments reveal values of single rows" in err
    assert "colour=rare (4)" in err
    assert "all rows" not in err


def test_a_small_site_is_noted(capsys):
    pd.read_csv("one.csv")[["a", "b", "y"]][:7].to_csv("few.csv", index=False)
    _, _, err = run(capsys, "moments make few.csv --target y --output few.npz")
    assert "where a class, a level or the file has few of them: all rows (7); join or exclude" in err


def test_messages(capsys, tmp_path):
    make(capsys, "--target y --exclude label --quiet")
    code, _, err = run(capsys, "moments make one.csv --target y --output one.npz")
    assert code == 2
    assert "this file exists; add --overwrite" in err
    assert "three.npz: no such file" in run(capsys, "moments add one.npz three.npz --output x.npz")[2]
    assert not (tmp_path / "x.npz").exists()
    assert "moments suffice for linear and disc" in run(capsys, "moments select one.npz --model logistic")[2]
    code, _, err = run(capsys, "moments select one.npz --exclude zzz")
    assert code == 2
    assert "zzz" in err
    (tmp_path / "bad.npz").write_bytes(b"PK")
    assert "does not contain valid moments" in run(capsys, "moments select bad.npz")[2]
