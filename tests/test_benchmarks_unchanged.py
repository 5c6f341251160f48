"""The comparison with another checkout: what it finds, and how it calls an older version."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[1]

# A version before the renames: any other parameter is a TypeError, and it always selects feature 0.
OLDER = """
from collections import namedtuple

class Significance:
    def __init__(self, level, correction=None): pass

EBIC = MallowsCp = lambda **options: "criterion"
Step = namedtuple("Step", "phase action features score")
Path = namedtuple("Path", "selected steps start score n_evaluations")

def select(X, y, *, way, strategy, model, criterion, sample_weight=None, enter=0, leave=0, drop=0, max_features=None,
           rounds=1, include=None, exclude=None, groups=None):
    assert way in ("auto", "moments", "columns")
    return Path((0,), (Step("forward", "add", (0,), 1.0),), 0.0, 1.0, 7)
"""


@pytest.fixture
def unchanged(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(ROOT)
    from benchmarks import unchanged

    return unchanged


@pytest.fixture
def older(tmp_path: Path) -> Path:
    package = tmp_path / "src" / "dropstep"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(OLDER)
    return tmp_path


def test_this_checkout_does_not_differ_from_itself(unchanged: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    assert unchanged.main(["--before", str(ROOT), "--problems", "30", "--only"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["data", "selections", "errors", "steps", "evaluations", "differ", "score", "error"]
    assert lines[-1].split()[:2] == ["all", "30"]
    assert lines[-1].split()[-2:] == ["0", "0.0e+00"]


def test_an_older_version_is_called_by_its_parameter_names(
    unchanged: ModuleType, older: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert unchanged.main(["--before", str(older), "--problems", "30", "--only"]) == 1
    out = capsys.readouterr().out
    assert "problem 0, " in out
    assert "before, " in out
    assert "now" in out


def test_a_dataset_has_every_strategy(unchanged: ModuleType) -> None:
    rng = np.random.default_rng(0)
    table = unchanged.dataset("small", rng.normal(size=(60, 5)), rng.normal(size=60))
    assert {params["strategy"] for params in table.selections} == set(unchanged.ALL_STRATEGIES)
    assert {params["criterion"] for params in table.selections} == {"auto", "rss", "bic"}
    wide = unchanged.dataset("wide", rng.normal(size=(60, 50)), np.repeat(["a", "b"], 30))
    assert "backward" not in {params["strategy"] for params in wide.selections}
    assert {params["model"] for params in wide.selections} == {"discriminant"}


def test_every_kind_of_difference_is_found(unchanged: ModuleType) -> None:
    step, other = ("forward", "add", (3,)), ("forward", "add", (4,))
    before = unchanged.Result((3,), (step,), (2.0, 2.0), 10)

    def difference(now: object) -> str | None:
        return unchanged.Compared("one", "all", before, now).difference()

    assert difference(before) is None
    assert difference(before._replace(scores=(2.0 + 1e-9, 2.0))) is None
    assert difference(before._replace(scores=(2.0 + 1e-8, 2.0))) == "scores differ by 5.0e-09"
    assert difference(before._replace(scores=(np.nan, 2.0))) == "scores differ by nan"
    assert difference(before._replace(steps=(step, other))) == f"step 1: () before, {(other,)} now"
    assert difference(before._replace(selected=(4,))) == "selected: (3,) before, (4,) now"
    assert difference(before._replace(n_evaluations=11)) == "n_evaluations: 10 before, 11 now"
    assert difference("ValueError").endswith("ValueError now")
    assert unchanged.Compared("one", "all", "ValueError", "ValueError").difference() is None


def test_rounding_error_of_an_exact_fit_is_no_difference(unchanged: ModuleType) -> None:
    """Residual sums of squares are rounding error of those without features."""
    X = np.random.default_rng(0).normal(size=(40, 3))
    params = {"model": "linear", "criterion": "rss", "strategy": "forward"}
    found = unchanged.run(unchanged.Table("exact", "exact", X, 3 * X[:, 1], [params]), params)
    total, *residual = found.scores
    assert max(residual) < 1e-12 * total
    other = found._replace(scores=(total, *(1.1 * score for score in residual)))
    assert unchanged.Compared("one", "all", found, other).difference() is None


def test_a_folder_without_the_library_is_an_error(
    unchanged: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        unchanged.main(["--before", str(tmp_path)])
    assert "is not a checkout: it has no src/dropstep" in capsys.readouterr().err
