"""Scripts that compare rules on real tables, and thresholds of "cv", measure what they say."""

from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import KFold, cross_val_score

from benchmarks import cv_rule, real_tables
from benchmarks.real_tables import Measured, Table
from dropstep import StandardErrors, select

# --- real tables -----------------------------------------------------------------------------------------------------


def small(model="linear", groups=None):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 4))
    y = X[:, 0] + rng.standard_normal(60)
    return Table("small", X, y if model == "linear" else (y > 0).astype(int), model, groups)


@pytest.mark.parametrize("model", ["linear", "logistic"])
def test_dependent_rows_are_in_one_fold(model):
    table = small(model, groups=np.arange(60) // 3)
    parts = real_tables.folds(table)
    assert len(parts) == 10
    assert not any(set(table.groups[train]) & set(table.groups[test]) for train, test in parts)
    inner = real_tables.groups_within(small("logistic", groups=np.arange(60) // 3), parts[0])
    assert all(max(train.max(), test.max()) < len(parts[0][0]) for train, test in inner)


def test_the_error_of_no_features_is_that_of_the_mean_or_of_the_largest_class():
    regression, classes = small(), small("logistic")
    for fold in real_tables.folds(regression):
        assert real_tables.refitted(regression, (), fold) == pytest.approx(1.0)
    train, test = real_tables.folds(classes)[0]
    largest = np.bincount(classes.y[train]).argmax()
    assert real_tables.refitted(classes, (), (train, test)) == pytest.approx(np.mean(classes.y[test] != largest))


def test_a_loss_is_named_beyond_one_standard_error():
    errors = np.array([0.2, 0.3, 0.25, 0.25])
    found = {"dropstep": Measured(2, errors), "BIC": Measured(3, errors - 0.1), "all features": Measured(4, errors)}
    assert real_tables.loss(found) == "loses 0.100 ± 0.000 to BIC"
    noisy = Measured(3, errors - [0.5, -0.4, 0.3, -0.3])
    assert real_tables.loss({"dropstep": Measured(2, errors), "BIC": noisy}) == ""


def test_both_checkouts_are_compared_on_the_same_folds(capsys, monkeypatch):
    monkeypatch.setattr(real_tables, "READERS", {"small": small})
    root = Path(real_tables.__file__).resolve().parents[1]
    real_tables.main(["--before", str(root)])
    cells = [cell.strip() for cell in capsys.readouterr().out.splitlines()[-1].split("|")]
    assert cells[1:3] == ["small", "60 × 4"]
    assert cells[3] == cells[4]  # the same checkout
    with pytest.raises(SystemExit):
        real_tables.main(["--before", str(root / "tests")])
    assert "is not a checkout: it has no src/dropstep" in capsys.readouterr().err


# --- thresholds of "cv" ----------------------------------------------------------------------------------------------


def table(seed, n=40, p=6):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)) @ (np.eye(p) + 0.3 * rng.standard_normal((p, p)))
    return X, X[:, 0] - X[:, 3] + 2 * rng.standard_normal(n)


def test_the_gains_are_those_of_refitted_models():
    X, y = table(0)
    folds = list(KFold(5).split(X))

    def errors(columns):
        return -cross_val_score(LinearRegression(), X[:, columns], y, cv=5, scoring="neg_mean_squared_error")

    by_fold = np.array([gain[:, 0] for gain in cv_rule.gains(X, y[:, None], [1, 4], folds)])
    for j in (0, 2, 3, 5):
        assert by_fold[:, j] == pytest.approx(errors([1, 4]) - errors([1, 4, j]))


def test_one_standard_error_is_the_rule_of_the_library():
    for seed in range(5):
        X, y = table(seed)
        path = select(X, y, model="linear", criterion="cv", strategy="forward", enter=StandardErrors(1))
        assert cv_rule.forward(X, y, cv_rule.RULES["1 se (auto)"]) == list(path.selected)


def test_permutations_share_the_folds():
    """The gains of permuted targets are those of one target after the other."""
    X, y = table(0)
    folds = list(KFold(5).split(X))
    rng = np.random.default_rng([7, 0])
    expected = []
    for _ in range(cv_rule.N_PERMUTATIONS):
        target = y.mean() + rng.permutation(y - y.mean())
        by_fold = np.array([gain[:, 0] for gain in cv_rule.gains(X, target[:, None], [], folds)])
        expected.append(by_fold.mean(axis=0).max())
    assert cv_rule.largest_gains(X, y, [], folds, 7) == pytest.approx(np.array(expected))


def test_the_tables_have_a_row_per_rule(capsys, monkeypatch):
    monkeypatch.setattr(cv_rule, "SHAPES", ((20, 3),))
    monkeypatch.setattr(cv_rule, "SETTINGS", (cv_rule.Setting(30, 6, 1.0, 2),))
    monkeypatch.setattr(cv_rule, "TABLES", ("small",))
    monkeypatch.setattr(cv_rule.data, "read", lambda name: table(1))
    cv_rule.main(["--runs", "4", "--jobs", "1"])
    printed = capsys.readouterr().out
    assert all(printed.count(f"| {name} | ") == 3 for name in cv_rule.RULES)
    assert "| default test | " in printed
