"""Logistic, Poisson, gamma and Cox regression from the command line: the same path as from Python."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from commands import run
from dropstep import Cox, Logistic, select

RNG = np.random.default_rng(7)
X = RNG.normal(size=(120, 4))
EXPOSURE = RNG.normal(size=120)
STRATA = RNG.integers(0, 3, size=120)
TIMES = np.ceil(20 * RNG.exponential(np.exp(-X[:, 1])))
EVENTS = RNG.integers(0, 2, size=120)
COUNTS = RNG.poisson(np.exp(X[:, 2] + EXPOSURE))
BINARY = (X[:, 0] + RNG.logistic(size=120) > 0).astype(int)


@pytest.fixture
def file(folder: Any) -> str:
    names = ["a", "b", "c", "d", "log_exposure", "centre", "days", "died", "claims", "ill"]
    columns = np.column_stack([X, EXPOSURE, STRATA, TIMES, EVENTS, COUNTS, BINARY])
    np.savetxt("table.csv", columns, "%.17g", ",", header=",".join(names), comments="")
    return "table.csv"


def answer(capsys: Any, line: str) -> dict[str, Any]:
    code, out, err = run(capsys, f"{line} --format json --quiet")
    assert (code, err) == (0, "")
    return json.loads(out)


def test_logistic(file: str, capsys: Any) -> None:
    found = answer(capsys, f"select {file} --target ill --exclude 5-9 --model logistic:shortlist=2 --criterion aic")
    path = select(X, BINARY, model=Logistic(shortlist=2), criterion="aic")
    assert found["model"] == "logistic"
    assert found["score"] == pytest.approx(path.score, rel=1e-12)
    assert [entry["features"] for entry in found["selected"]] == [["abcd"[j]] for j in path.selected]


def test_poisson_with_an_offset(file: str, capsys: Any) -> None:
    line = f"select {file} --target claims --exclude centre,days,died,ill --model poisson --offset log_exposure"
    path = select(X, COUNTS, model="poisson", offset=EXPOSURE)
    assert path.selected == (2,)
    assert answer(capsys, line)["score"] == pytest.approx(path.score, rel=1e-12)


def test_cox_with_strata(file: str, capsys: Any) -> None:
    line = f"select {file} --model cox:ties=breslow --time days --event died --strata centre --exclude claims,ill,5"
    path = select(X, np.column_stack([TIMES, EVENTS]), model=Cox(ties="breslow"), strata=STRATA)
    found = answer(capsys, f"{line} --columns")
    assert found["score"] == pytest.approx(path.score, rel=1e-12)
    assert found["target"]["names"] == ["days", "died"]
    roles = {column["name"]: column["role"] for column in found["columns"]}
    assert (roles["days"], roles["died"], roles["centre"]) == ("target", "target", "strata")


def test_a_plan_and_a_report(file: str, capsys: Any, folder: Any) -> None:
    line = f"select {file} --model cox --time days --event died"
    code, out, _ = run(capsys, f"{line} --dry-run --quiet")
    assert code == 0
    assert "solver columns" in out
    assert run(capsys, f"{line} --strata centre --report cox.html --quiet")[0] == 0
    page = (folder / "cox.html").read_text()
    assert "Cox regression of survival times" in page


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--model cox --target days", "--model cox needs --time and --event, in place of --target"),
        ("--model cox --time days", "--model cox needs --time and --event"),
        ("--target ill --time days", "--time applies to --model cox only"),
        ("--model logistic", "the following arguments are required: --target"),
        ("--target ill --model logstic", "unknown model 'logstic'; did you mean 'logistic'? choose from auto, linear"),
        ("--target ill --model logistic:shortlist=0", "shortlist must be None or a whole number from 1; got 0"),
        ("--target ill --model ordinal:link=log", "link must be one of 'logit', 'probit', 'cloglog'; got 'log'"),
        ("--target ill --model logistic:width=3", "logistic takes shortlist; got 'width'"),
        ("--model cox:ties=exact --time days --event died", "ties must be 'efron' or 'breslow'; got 'exact'"),
        ("--model cox --time days --event claims", "event must be 0 (censored) or 1; got"),
        ("--target a --model poisson", "y must contain counts, which are not negative"),
    ],
)
def test_messages(file: str, capsys: Any, options: str, message: str) -> None:
    code, out, err = run(capsys, f"select {file} {options}")
    assert (code, out) == (2, "")
    assert message in err
    assert len(err.splitlines()) == 1
