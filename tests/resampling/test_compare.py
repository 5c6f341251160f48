"""Compare: errors with the selection inside the folds, equal to those of a scikit-learn pipeline."""

import csv
import io
import json
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_wine
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GroupKFold, KFold, StratifiedGroupKFold, StratifiedKFold, cross_val_score
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from dropstep import FBED, Beam, Exhaustive, Knockoffs, Selector, select
from dropstep.cli import main
from dropstep.resampling.comparison import compare
from dropstep.result import ALL, NONE
from dropstep.search.strategies import ONE_MOVE_AT_A_TIME
from mixed_tables import ugly


def test_classes_as_a_pipeline_of_scikit_learn():
    X, y = load_wine(return_X_y=True)
    labels = np.array(["x", "y", "z"])[y]
    found = compare(X, labels, strategies=("dropping", "stepwise"), random_state=3, svm=True, enter=0.1)
    assert (found.measure, found.n_folds) == ("error_rate", 5)
    folds = StratifiedKFold(5, shuffle=True, random_state=3)
    for row in found.rows[:2]:
        selector = Selector(strategy=row.strategy, enter=0.1)
        for errors, model in zip(row.errors, [LinearDiscriminantAnalysis(), SVC()], strict=True):
            pipeline = make_pipeline(selector, StandardScaler(), model)
            np.testing.assert_allclose(errors.folds, 1 - cross_val_score(pipeline, X, y, cv=folds), atol=1e-12)
            assert errors.mean == pytest.approx(np.mean(errors.folds))
        path = select(X, y, strategy=row.strategy, enter=0.1)
        assert row.path.selected == path.selected
        assert row.path.n_evaluations == path.n_evaluations
        assert len(row.sizes) == 5


def test_numbers_as_a_pipeline_of_scikit_learn():
    X, y = load_diabetes(return_X_y=True)
    groups = np.arange(len(y)) // 7
    options = {"shuffle": True, "random_state": 1}
    for row_groups, folds in (None, KFold(4, **options)), (groups, GroupKFold(4, **options)):
        found = compare(X, y, strategies=("dropping",), cv=4, random_state=1, sample_groups=row_groups)
        again = compare(X, y, strategies=("dropping",), cv=folds, sample_groups=row_groups, n_jobs=2)
        row = found["dropping"]
        assert row.errors == again["dropping"].errors
        pipeline = make_pipeline(Selector(), LinearRegression())
        scores = cross_val_score(pipeline, X, y, groups=row_groups, cv=folds, scoring="neg_root_mean_squared_error")
        np.testing.assert_allclose(row.errors[0].folds, -scores, rtol=1e-9)


def test_rows_that_belong_together_stay_together():
    rng = np.random.default_rng(0)
    X, y, groups = rng.normal(size=(90, 4)), rng.integers(0, 2, 90), np.repeat(np.arange(30), 3)
    row = compare(X, y, strategies=("forward",), sample_groups=groups, cv=3)["forward"]
    folds = StratifiedGroupKFold(3, shuffle=True, random_state=0)
    sizes = [len(select(X[a], y[a], strategy="forward").selected) for a, _ in folds.split(X, y, groups)]
    assert row.sizes == tuple(sizes)
    with pytest.raises(ValueError, match=r"5 folds require at least 5 groups of rows; there are 2"):
        compare(X, y, sample_groups=groups // 15)
    with pytest.raises(ValueError, match=r"5 folds require at least 5 rows; there are 4"):
        compare(X[:4], np.arange(4) / 7)


def test_all_features_and_none_give_the_scale():
    X, y = load_diabetes(return_X_y=True)
    *_, everything, nothing = compare(X, y, strategies=("dropping",)).rows
    assert (everything.strategy, nothing.strategy) == (ALL, NONE)
    assert (everything.sizes, nothing.sizes) == ((10,) * 5, (0,) * 5)
    assert nothing.errors[0].mean == pytest.approx(y.std(), rel=0.02)
    assert everything.errors[0].mean < 0.8 * nothing.errors[0].mean
    assert everything.path is None


def test_a_strategy_that_raises_does_not_stop_the_others():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(30, 40))
    y = X[:, 0] + 0.1 * rng.normal(size=30)
    found = compare(X, y, cv=3)
    rows = {row.strategy: row for row in found.rows}
    assert set(rows) == {*ONE_MOVE_AT_A_TIME, ALL, NONE}
    assert "smallest error of the strategies" in found.verdict
    assert "backward starts from all 40 features" in str(found)
    assert "backward starts from all 40 features" in rows["backward"].refusal
    assert rows["backward"].errors == ()
    assert rows["dropping"].refusal == ""
    assert rows["dropping"].path.selected[0] == 0


def test_classes_of_few_rows():
    rng = np.random.default_rng(4)
    y = np.array([0] * 30 + [1] * 30 + [2] * 2)
    X = rng.normal(size=(62, 3)) + y[:, None]
    row = compare(X, y, strategies=("forward",), cv=4)["forward"]
    assert row.refusal == ""
    assert len(row.errors[0].folds) == 4


def test_tables_as_select_reads_them():
    frame = ugly(n=160)
    groups = frame["count"].to_numpy()
    rows = compare(frame, "y", strategies=("dropping",), cv=4, missing="drop", sample_groups=groups).rows
    complete = frame.dropna()
    again = compare(complete, "y", strategies=("dropping",), cv=4, sample_groups=complete["count"].to_numpy()).rows
    assert rows[0].path.selected_names == ("city", "dose", "flag")
    assert [row.errors for row in rows] == [row.errors for row in again]
    everything = compare(frame, "y", strategies=(), cv=4, missing="drop", exclude=["city", "noise"])[ALL]
    assert everything.sizes == (len(frame.columns) - 3,) * 4
    assert "dose" in everything.features[0]
    with pytest.raises(TypeError, match="compare has no parameter 'rounds'"):
        compare(complete, "y", rounds=2)


def test_ticks_count_every_fit():
    X, y = load_wine(return_X_y=True)
    seen = []
    compare(X, y, strategies=("forward",), cv=2, tick=lambda *tick: seen.append(tick))
    assert [tick[1] for tick in seen] == list(range(9))
    assert {tick[2] for tick in seen} == {9}
    assert seen[1][0] == "forward, fold 1"


# --- the command -----------------------------------------------------------------------------------------------------


@pytest.fixture
def people(tmp_path, monkeypatch) -> str:
    """Three rows for each person, with a category that matters."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(6)
    lines = ["person,hours,colour,noise,y"]
    for i in range(90):
        colour, hours = ["red", "green", "blue"][rng.integers(3)], rng.normal()
        y = hours + 2 * (colour == "red") + 0.2 * rng.normal()
        lines.append(f"p{i // 3},{hours:.3f},{colour},{rng.normal():.3f},{y:.3f}")
    Path("people.csv").write_text("\n".join(lines))
    return "people.csv"


def test_the_command_reports_features_of_the_file(people, capsys):
    line = ["compare", people, "--target", "y", "--groups-column", "person", "--strategies", "dropping,backward"]
    line.append("--columns")
    assert main([*line, "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["schema"].startswith("dropstep.compare/")
    assert (document["measure"], document["folds"], document["seed"]) == ("rmse", 5, 0)
    dropping, _, everything, nothing = document["strategies"]
    assert set(dropping["features"]) == {"hours", "colour"}
    assert [set(names) for names in dropping["features_in_folds"]] == [{"hours", "colour"}] * 5
    assert document["verdict"].startswith("dropping has the smallest error of the strategies")
    assert dropping["n_features"] == 2
    assert (everything["n_features"], nothing["n_features"]) == (3, 0)
    assert dropping["errors"]["linear regression"]["mean"] < 0.3 < nothing["errors"]["linear regression"]["mean"]
    assert {c["name"]: c["role"] for c in document["columns"]}["person"] == "groups"

    assert main(line) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert "RMSE, linear regression" in out
    assert "5 folds of whole groups (seed 0)" in out

    assert main([*line, "--format", "csv"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [row["strategy"] for row in rows] == ["dropping", "backward", ALL, NONE]
    assert float(rows[0]["error"]) == dropping["errors"]["linear regression"]["mean"]


def test_the_command_names_strategies_that_did_not_run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    np.savetxt("wide.csv", rng.normal(size=(12, 20)), delimiter=",")
    line = ["compare", "wide.csv", "--no-header", "--target", "1", "--strategies", "backward,forward", "--folds", "2"]
    assert main(line) == 0
    out, err = capsys.readouterr()
    assert "backward did not run: backward starts from all 19 features" in err
    assert "use --strategies dropping" in err
    assert "refused" in out


def test_the_command_rejects_bad_input_in_one_sentence(people, capsys):
    assert main(["compare", people, "--target", "y", "--strategies", "best"]) == 2
    assert "unknown strategy in 'best'" in capsys.readouterr().err
    assert main(["compare", people, "--target", "y", "--folds", "200", "--exclude", "person"]) == 2
    assert capsys.readouterr().err == "dropstep: 200 folds require at least 200 rows; there are 90\n"


# --- the result ------------------------------------------------------------------------------------------------------


def test_the_verdict_on_noise_and_on_signal():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 12))
    assert compare(X, rng.normal(size=120), strategies=("forward",), criterion="aic").verdict == (
        "no strategy beats no features"
    )
    y = X[:, 0] + rng.normal(size=120)
    assert compare(X, y, strategies=("forward",)).verdict.endswith(", and beats all features")
    y_of_all = X @ ([3, 3, 3] + [1] * 9) + 0.1 * rng.normal(size=120)
    everything = compare(X, y_of_all, strategies=("forward",), max_features=3)
    assert everything.verdict.endswith("but all features beat it")
    assert compare(X[:20], y[:20], strategies=("backward",), cv=4, max_features=1).n_folds == 4


def test_a_frame_and_a_plot():
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    found = compare(X, y, strategies=("dropping", FBED(rounds=2)))
    frame = found.to_frame()
    assert list(frame["strategy"]) == ["dropping", "fbed", ALL, NONE]
    assert frame.loc[0, "error"] == found["dropping"].errors[0].mean
    assert "bmi" in frame.loc[0, "features_in_folds"][0]
    axes = found.plot()
    assert [label.get_text() for label in axes.get_yticklabels()] == ["dropping", "fbed", ALL, NONE]
    assert axes.get_xlabel() == "held-out rmse"
    assert str(found).splitlines()[-1] == found.verdict
    assert list(frame["n_fits"][:2]) == [0, 0]


def test_the_same_strategy_with_other_parameters():
    X, y = load_diabetes(return_X_y=True)
    found = compare(X, y, strategies=("beam", Beam(width=1), Exhaustive()), max_features=4, enter=-np.inf)
    assert [row.strategy for row in found.rows] == ["beam", "Beam(width=1)", "exhaustive", ALL, NONE]
    assert found["Beam(width=1)"].path.n_evaluations < found["beam"].path.n_evaluations
    assert found["beam"].path.selected == select(X, y, strategy=Beam(), max_features=4, enter=-np.inf).selected
    with pytest.raises(ValueError, match="unknown strategy 'beem'"):
        compare(X, y, strategies=("beem",))


def test_likelihoods_and_estimators():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 4))
    eta = X[:, 0] - X[:, 1]
    y = (eta + rng.logistic(size=150) > 0).astype(int)
    found = compare(X, y, model="logistic", strategies=("forward",), random_state=2)
    folds = StratifiedKFold(5, shuffle=True, random_state=2)
    pipeline = make_pipeline(Selector(model="logistic", strategy="forward"), LogisticRegression(C=1e10, tol=1e-8))
    np.testing.assert_allclose(found["forward"].errors[0].folds, 1 - cross_val_score(pipeline, X, y, cv=folds))
    survival = np.column_stack([rng.exponential(np.exp(-eta)), rng.random(150) < 0.7])
    for model, target, measure in (
        ("poisson", rng.poisson(np.exp(eta)), "mean_deviance"),
        ("cox", survival, "partial_deviance"),
        (KNeighborsRegressor(), eta, "negative_r2"),
    ):
        found = compare(X, target, model=model, strategies=("forward",), cv=3)
        assert found.measure == measure
        assert found["forward"].errors[0].mean < found[NONE].errors[0].mean
        assert ("concordance" in found.to_frame()) == (", concordance 0.500" in str(found)) == (model == "cox")


def test_knockoffs_choose_in_every_fold() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 30))
    y = X[:, :12].sum(axis=1) + rng.normal(size=300)
    rule, folds = Knockoffs(0.2), KFold(3)
    row = compare(X, y, strategies=("forward",), enter=rule, cv=folds)["forward"]
    expected = [select(X[train], y[train], strategy="forward", enter=rule) for train, _ in folds.split(X)]
    assert [list(names) for names in row.features] == [list(path.selected_names) for path in expected]
