"""Estimators on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from dropstep import select
from dropstep.cli import main

NB = "sklearn.naive_bayes:GaussianNB"


@pytest.fixture
def run(capsys):
    """Exit code, standard output and standard error of a search on the table."""

    def command(*arguments: str) -> tuple[int, str, str]:
        code = main(["select", "wine.csv", "--target", "class", *arguments])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return command


@pytest.fixture
def selected(run):
    """The JSON document of a search that must work."""

    def command(*arguments: str) -> dict:
        code, out, err = run(*arguments, "--format", "json")
        assert code == 0, err
        return json.loads(out)

    return command


def test_an_estimator_is_searched_as_in_python(wine: str, selected) -> None:
    words = ("--model", NB, "--cv", "3", "--max-features", "3", "--random-state", "7")
    found = selected(*words, "--criterion", "f1_macro")
    X, y = load_wine(return_X_y=True)
    path = select(X, y, model=GaussianNB(), cv=3, criterion="f1_macro", max_features=3, random_state=7)
    assert [entry["score"] for entry in found["selected"]] == pytest.approx([
        step.score for step in path.steps if step.action == "add"])  # fmt: skip
    assert found["n_fits"] == path.n_fits
    assert found["fits_saved"] == path.fits_saved
    assert found["model"] == "GaussianNB"
    assert found["solver"] == "fits"
    assert selected(*words, "--scoring", "f1_macro")["selected"] == found["selected"]


def test_parameters_of_an_estimator(wine: str, selected) -> None:
    text = "sklearn.tree:DecisionTreeClassifier:max_depth=1,criterion=entropy"
    found = selected("--model", text, "--max-features", "1", "--enter", "-inf")
    X, y = load_wine(return_X_y=True)
    stump = DecisionTreeClassifier(max_depth=1, criterion="entropy")
    assert found["score"] == pytest.approx(select(X, y, model=stump, max_features=1, enter=-np.inf).score)


def test_a_report_shows_scores_by_size_and_fits(wine: str, selected) -> None:
    selected("--model", NB, "--report", "wine.html", "--max-features", "3", "--enter", "-inf", "--drop", "0")
    page = Path("wine.html").read_text(encoding="utf-8")
    assert "Score by number of features" in page
    assert "Standard error" in page
    assert "The search fitted" in page
    assert "racing saved" in page
    assert "Near-equivalents" not in page


def test_a_checkpoint_and_a_time_limit(wine: str, run, selected) -> None:
    words = ("--model", NB, "--max-features", "2", "--checkpoint", "fits")
    first = selected(*words, "--max-time", "100")
    n_lines = len(Path("fits").read_bytes().splitlines())
    assert n_lines == first["n_fits"] + 1
    assert selected(*words)["steps"] == first["steps"]
    assert len(Path("fits").read_bytes().splitlines()) == n_lines
    code, _, err = run(*words, "--cv", "4")
    assert code == 2
    assert "belongs to other data or parameters" in err


def test_a_dry_run_bounds_the_fits(wine: str, run, selected) -> None:
    words = ("--model", NB, "--cv", "4", "--max-features", "2", "--dry-run")
    assert selected(*words)["max_fits"] == 4 * (13 + 12 + 11)
    _, out, _ = run(*words)
    assert "fits: at most 144 for one forward pass" in out
    assert "Gram" not in out


def test_groups_of_rows(folder: Path, run, selected) -> None:
    X, y = load_wine(return_X_y=True)
    table = np.column_stack([X[:, :4], np.arange(len(X)) % 20, y])
    np.savetxt("wine.csv", table, "%g", ",", comments="", header="a,b,c,d,person,class")
    found = selected("--model", NB, "--groups-column", "person", "--max-features", "2")
    path = select(X[:, :4], y, model=GaussianNB(), sample_groups=np.arange(len(X)) % 20, max_features=2)
    assert found["score"] == pytest.approx(path.score)
    code, _, err = run("--groups-column", "person")
    assert code == 2
    assert "--groups-column applies to a scikit-learn estimator" in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--model", "forest"], "unknown model 'forest'; choose from auto, linear"),
        (["--model", "sklearn.nothing:Nobody"], "sklearn.nothing:Nobody cannot be created"),
        (["--model", "sklearn.svm:Nobody"], "sklearn.svm:Nobody cannot be created"),
        (["--model", "sklearn.svm:SVC:depth=3"], "sklearn.svm:SVC cannot be created"),
        (["--model", "sklearn.svm:SVC:C"], "parameters are written KEY=VALUE; got 'C'"),
        (["--model", "math:sqrt:x=4"], "math:sqrt is not an estimator of scikit-learn: it must be a class with fit"),
        (["--model", "collections:Counter"], "collections:Counter is not an estimator of scikit-learn: it must be"),
        (["--model", NB, "--scoring", "beauty"], "unknown criterion 'beauty'"),
        (["--jobs", "0"], "must be an integer from 1, or -1 for one process per core; got '0'"),
        (["--max-time", "-1"], "must be a positive number of seconds; got '-1'"),
        (["--cv", "1"], "must be a whole number from 2; got '1'"),
    ],
)
def test_bad_options_are_explained(wine: str, run, arguments: list[str], message: str) -> None:
    code, _, err = run(*arguments)
    assert code == 2
    assert message in err
