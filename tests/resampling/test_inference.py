"""infer: equal to textbook computations on rows that took no part, which others are refused."""

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from sklearn.datasets import load_diabetes, load_iris

from dropstep import Cox, Moments, Significance, infer, select
from dropstep.data.fingerprint import Fingerprint
from dropstep.data.response import Survival
from dropstep.data.sample import PerRow
from dropstep.data.table import Table
from dropstep.data.target import Categorical, Continuous
from dropstep.models.glm.cox import concordance
from dropstep.parameters import Parameters
from dropstep.resampling import refits
from dropstep.resampling.holdout import score_held_out
from dropstep.resampling.inference import aggregated
from dropstep.resampling.refits import METRICS, metric
from dropstep.resampling.resampler import Resampler
from reference import inference as reference

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "robust.json").read_text(encoding="utf-8"))["cases"]
PER_MODEL = ("linear", "logistic", "poisson", "gamma", "cox")


@pytest.fixture(scope="module")
def diabetes():
    return load_diabetes(return_X_y=True, as_frame=True)


def problem(model, n=200, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 5))
    eta = 0.8 * X[:, 1]
    targets = {
        "linear": eta + rng.standard_normal(n),
        "discriminant": (eta + rng.logistic(size=n) > 0).astype(int),
        "logistic": (eta + rng.logistic(size=n) > 0).astype(int),
        "poisson": rng.poisson(np.exp(eta)),
        "gamma": rng.gamma(3, np.exp(eta)),
        "cox": np.column_stack([rng.exponential(np.exp(-eta)), rng.random(n) < 0.8]),
        "ordinal": np.digitize(eta + rng.logistic(size=n), [-1.0, 0.5]),
        "negative_binomial": rng.poisson(np.exp(eta) * rng.gamma(2.0, 0.5, size=n)),
    }
    return X, targets[model]


# --- held-out rows ---------------------------------------------------------------------------------------------------


def test_held_out_estimates_are_those_of_a_regression(diabetes):
    X, y = diabetes
    path = select(X[:200], y[:200])
    columns = list(path.selected)
    for covariance, label in (("robust", "HC3"), ("model", "model")):
        frame = infer(path, X[200:], y[200:], covariance=covariance).to_frame()
        assert frame.columns.tolist() == ["estimate", "std_error", "lower", "upper", "p_value"]
        assert frame.index.tolist() == list(path.selected_names)
        assert frame.attrs["covariance"] == label
        slow = reference.least_squares(X.to_numpy()[200:, columns], y[200:].to_numpy(), robust=covariance == "robust")
        np.testing.assert_allclose(frame, slow, rtol=1e-6)


def of_all_columns(X, y, model):
    """A path of other rows that has selected every column."""
    others = np.random.default_rng(99).standard_normal(X.shape)
    criterion = "r2" if model == "linear" else "deviance"
    return select(others, y, model=model, include=list(range(X.shape[1])), enter=np.inf, criterion=criterion)


@pytest.mark.parametrize("case", GOLDEN)
def test_robust_standard_errors_are_those_of_r(case):
    """vcovHC(type = "HC3") of the package sandwich, and coxph(robust = TRUE)."""
    golden = GOLDEN[case]
    X, y = np.array(golden["X"]), np.array(golden["y"]).squeeze()
    model = Cox(ties=golden.get("ties", "efron")) if golden["model"] == "cox" else golden["model"]
    found = infer(of_all_columns(X, y, model), X, y, sample_weight=golden.get("weights"), strata=golden.get("strata"))
    assert found.covariance == ("Lin-Wei" if golden["model"] == "cox" else "HC3")
    np.testing.assert_allclose([row.estimate for row in found.rows], golden["coef"], rtol=1e-8)
    np.testing.assert_allclose([row.std_error for row in found.rows], golden["std_error"], rtol=1e-8)


@pytest.mark.parametrize("model", PER_MODEL)
def test_weights_count_observations_in_robust_standard_errors(model):
    X, y = problem(model, n=60)
    counts = np.random.default_rng(0).integers(0, 4, 60)
    path = of_all_columns(X, y, model)
    weighted = infer(path, X, y, sample_weight=counts.astype(float)).to_frame()
    repeated = infer(path, np.repeat(X, counts, axis=0), np.repeat(y, counts, axis=0)).to_frame()
    np.testing.assert_allclose(weighted, repeated, rtol=1e-7)


def test_robust_standard_errors_see_overdispersion():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 2))
    y = rng.poisson(np.exp(1 + 0.3 * X[:, 0]) * rng.exponential(size=400))
    path = of_all_columns(X, y, "poisson")
    robust, model = (infer(path, X, y, covariance=c).rows[0] for c in ("robust", "model"))
    assert robust.estimate == model.estimate
    assert robust.std_error > 1.5 * model.std_error


def test_a_column_that_varies_in_a_single_row_has_no_robust_standard_error():
    X, y = problem("linear", n=40)
    X[:, 2] = np.arange(40) == 7
    path = of_all_columns(X[:, :3], y, "linear")
    found = infer(path, X[:, :3], y)
    assert [math.isnan(row.std_error) for row in found.rows] == [False, False, True]
    np.testing.assert_allclose(
        found.to_frame().iloc[:2, :2],
        reference.least_squares(np.delete(X[:, :2], 7, 0), np.delete(y, 7), robust=True)[:, :2],
    )


@pytest.mark.parametrize("covariance", ["robust", "model"])
def test_coefficients_without_a_standard_error_have_no_interval(covariance, monkeypatch):
    """As those of a separated fit."""

    def without_error(*arguments):
        found = refits.fit(*arguments)
        return replace(found, std_error=np.where(np.arange(5) == 1, np.nan, found.std_error))

    monkeypatch.setattr("dropstep.resampling.inference.fit", without_error)
    X, y = problem("poisson")
    path = of_all_columns(X, y, "poisson")
    found = infer(path, X, y, covariance=covariance)
    for row in found.rows:
        assert np.isnan(row[2:]).all() if row.name == "x1" else np.isfinite(row[2:]).all()
    assert found.notes[-1].startswith("x1: no standard error, because these rows do not determine the coefficient")
    split = infer(path, X, y, split=0.5, n_splits=2, covariance=covariance)
    assert split.rows[1][3:] == (-math.inf, math.inf, 1.0)


@pytest.mark.parametrize("model", PER_MODEL)
def test_every_model_with_standard_errors(model):
    X, y = problem(model)
    path = select(X[:100], y[:100], model=model)
    (row,) = [r for r in infer(path, X[100:], y[100:]).rows if r.name == "x1"]
    assert row.lower < row.estimate < row.upper
    assert row.p_value < 0.05
    twice = infer(path, X, y, split=0.5, n_splits=2)
    assert twice.frequencies["x1"] >= 0.5
    assert twice.n_splits == 2
    assert twice.n_rows == 100


def test_factors_by_column_and_targets_by_name():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"kind": rng.choice(list("abc"), 120), "x": rng.standard_normal(120)})
    frame["y"] = (frame["kind"] == "b") * 2.0 + rng.standard_normal(120)
    path = select(frame[:60], "y")
    found = infer(path, frame[60:], "y")
    assert [row.name for row in found.rows] == ["kind=b", "kind=c"] or len(found.rows) == 2
    assert found.rows[0].p_value < 1e-3
    with pytest.raises(ValueError, match=r"60 of the 120 rows took part in the selection"):
        infer(path, frame, "y")


def test_rows_of_the_selection_are_refused(diabetes):
    X, y = diabetes
    path = select(X[:200], y[:200])
    with pytest.raises(
        ValueError,
        match="10 of the 30 rows took part in the selection, which biases inference; pass rows that did not, or split",
    ):
        infer(path, X[190:220], y[190:220])
    shuffled = np.random.default_rng(0).permutation(200)[:50]
    with pytest.raises(ValueError, match="50 of the 50 rows took part"):
        infer(path, X.iloc[shuffled], y.iloc[shuffled])
    with pytest.raises(ValueError, match="200 of the 442 rows took part"):
        infer(path, X.to_numpy(), y.to_numpy())


def test_new_rows_that_equal_others_by_coincidence_are_not_refused():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (400, 4))
    y = X[:, 1] + rng.integers(0, 3, 400)
    path = select(X[:200], y[:200], model="linear")
    found = infer(path, X[200:], y[200:])
    assert found.rows[0].name == "x1"
    assert found.notes[0].startswith("200 of the 200 rows equal rows of the selection, as is expected where few values")
    shuffled = rng.permutation(200)
    with pytest.raises(ValueError, match="about 200 of the 200 rows took part in the selection"):
        infer(path, X[shuffled], y[shuffled])


TRANSFORMED = {
    "rounded": lambda X, y: (X.round(3), y),
    "rounded target": lambda X, y: (X, y.round(-1)),
    "float32": lambda X, y: (X.astype(np.float32), y.astype(np.float32)),
    "standardised": lambda X, y: ((X - X.mean(axis=0)) / X.std(axis=0), y),
    "y + 1": lambda X, y: (X, y + 1),
    "2 y": lambda X, y: (X, 2 * y),
    "logarithm": lambda X, y: (X, np.log(y)),
    "all": lambda X, y: ((X / X.std(axis=0)).round(2), (y / y.std()).round(2)),
}


@pytest.mark.parametrize("transformed", TRANSFORMED.values(), ids=TRANSFORMED)
def test_rows_of_the_selection_are_refused_in_other_digits_or_units(transformed, diabetes):
    X, y = (np.asarray(part) for part in diabetes)
    path = select(X, y, max_features=2)
    with pytest.raises(ValueError, match="rows took part in the selection"):
        infer(path, *transformed(X, y))
    coarse = select(*transformed(X, y), model="linear", max_features=2)
    with pytest.raises(ValueError, match="took part in the selection"):
        infer(coarse, X, y)


@pytest.mark.parametrize("model", PER_MODEL)
def test_rows_of_every_model_are_refused_after_rounding(model):
    X, y = problem(model)
    path = select(X, y, model=model, max_features=1)
    with pytest.raises(ValueError, match="took part in the selection"):
        infer(path, X.round(2), y)
    others = problem(model, seed=1)
    assert infer(path, *others).notes == ()


def snps(seed, n, classes):
    rng = np.random.default_rng(seed)
    X = rng.binomial(2, 0.5, (n, 8)).astype(np.int8)
    eta = X[:, 1] - 1.0 + rng.standard_normal(n)
    return X, (eta > 0).astype(int) if classes else eta


@pytest.mark.parametrize("classes", [False, True])
def test_fresh_tables_of_snps_are_accepted(classes):
    model, criterion = ("logistic", "deviance") if classes else ("linear", "r2")
    for seed in range(40):
        X, y = snps(seed, 40, classes)
        path = select(X, y, model=model, criterion=criterion, include=[1], enter=np.inf)
        assert len(infer(path, *snps(seed + 100, 40, classes)).rows) == 1
        with pytest.raises(ValueError, match="of the 40 rows took part"):
            infer(path, X, y)


def test_where_the_order_of_rows_tells_nothing_a_note_says_so():
    X = np.zeros((6, 3))
    X[5, 0] = 1.0
    y = np.array([0.0, 1.0, 1.0, 1.0, 1.0, 2.0])
    path = select(X, y, model="linear", include=[0], enter=np.inf)
    found = infer(path, X + 1, y + 1)
    assert found.notes[0] == (
        "whether these rows took part in the selection cannot be checked: too many of their values are equal"
    )


@given(st.integers(2, 40), st.integers(1, 10), st.integers(2, 6), st.integers(0, 10_000))
def test_the_order_of_rows_survives_increasing_transformations(n, p, levels, seed):
    rng = np.random.default_rng(seed)
    X, y = rng.integers(0, levels, (n, p)) / 7, rng.standard_normal(n)
    known = Fingerprint.of(Table(X), Continuous(y[:, None]))
    same = known.coincidence(Table(np.floor(3 * X) + 1), Continuous(np.exp(y)[:, None]))
    assert same == pytest.approx(1 / math.factorial(min(n, 32)))
    reverse = known.coincidence(Table(X), Continuous(-y[:, None]))
    assert reverse is None
    assert known.coincidence(Table(X[1:]), Continuous(y[1:, None])) is None


def test_rows_that_took_part_are_refused_where_some_rows_repeat():
    X, y = problem("linear")
    X, y = np.vstack([X[:2], X]), np.concatenate([y[:2], y])  # two rows occur twice
    path = select(X[:100], y[:100])
    with pytest.raises(ValueError, match="about 30 of the 100 rows took part in the selection"):
        infer(path, X[70:170], y[70:170])
    assert infer(path, X[100:], y[100:]).notes == ()


def test_an_empty_selection_has_no_estimates():
    X, y = problem("linear")
    path = select(X[:100], y[:100], enter=np.inf)
    assert path.selected == ()
    assert infer(path, X[100:], y[100:]).rows == ()


def test_moments_have_no_rows_to_check():
    X, y = problem("linear")
    path = select(Moments.of(X[:100], y[:100]))
    assert path.fingerprint is None
    assert "not known" in infer(path, X[100:], y[100:]).notes[0]


@given(st.integers(1, 40), st.integers(1, 12), st.booleans(), st.integers(0, 10_000))
def test_a_fingerprint_counts_the_rows_that_took_part(n, p, classes, seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((2 * n, p))
    target = (
        Categorical(np.array(["a", "b"]), rng.integers(0, 2, 2 * n)) if classes else Continuous(rng.random((2 * n, 1)))
    )
    known = Fingerprint.of(Table(X[:n]), target.at(np.arange(n)))
    some = rng.permutation(2 * n)
    assert known.count(Table(X[some]), target.at(some)) == n
    assert known.count(Table(np.asfortranarray(X[some])), target.at(some)) == n


def test_fingerprints_of_many_rows_are_a_random_part(monkeypatch):
    monkeypatch.setattr("dropstep.data.fingerprint.MAX_KEPT", 500)
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((5000, 3)), Continuous(rng.standard_normal((5000, 1)))
    known = Fingerprint.of(Table(X), y)
    assert len(known.marks) == 500
    assert not known.is_complete
    assert known.count(Table(X[:2000]), y.at(np.arange(2000))) == pytest.approx(2000, rel=0.2)
    assert known.count(Table(rng.standard_normal((2000, 3))), y.at(np.arange(2000))) == 0
    path = select(X, y.values[:, 0])
    with pytest.raises(ValueError, match=r"about [0-9]+ of the 5000 rows took part"):
        infer(path, X, y.values[:, 0])


# --- splits ----------------------------------------------------------------------------------------------------------


@given(st.lists(st.floats(1e-6, 1.0), min_size=2, max_size=60))
def test_aggregated_p_values_are_those_of_the_paper(p_values):
    assert aggregated(np.array(p_values)) == pytest.approx(reference.aggregated(p_values), rel=2e-3)


def test_one_split_is_inference_on_the_other_rows(diabetes):
    X, y = diabetes
    path = select(X, y)
    found = infer(path, X, y, split=0.5, n_splits=1, random_state=3)
    bmi = found.rows[0]
    assert bmi.name == "bmi"
    assert bmi.upper - bmi.estimate == pytest.approx(bmi.estimate - bmi.lower, rel=1e-4)
    df = 221 - 1 - round(sum(found.frequencies.values()))  # of a single split
    assert (bmi.upper - bmi.estimate) / bmi.std_error == pytest.approx(stats.t.ppf(0.975, df), rel=0.01)


def test_aggregated_intervals_are_where_the_aggregated_test_does_not_reject(diabetes):
    X, y = diabetes
    found = infer(select(X, y), X, y, split=0.5, n_splits=10)
    assert [row.name for row in found.rows] == list(select(X, y).selected_names)
    for row in found.rows:
        assert row.lower <= row.estimate <= row.upper
        assert 0 <= row.p_value <= 1
    assert found.rows[0].p_value < 1e-4
    assert found == infer(select(X, y), X, y, split=0.5, n_splits=10, random_state=0)
    wide, narrow = (infer(select(X, y), X, y, split=0.5, n_splits=4, level=v).rows[0] for v in (0.99, 0.8))
    assert wide.lower < narrow.lower < narrow.upper < wide.upper


def test_estimates_over_splits_are_those_of_the_textbook(diabetes):
    X, y = (np.asarray(part) for part in diabetes)
    path = select(X, y)
    found = infer(path, X, y, split=0.5, n_splits=6, random_state=2)
    splits = []
    for stream in np.random.SeedSequence(2).spawn(6):
        order = np.lexsort((np.random.default_rng(stream).random(len(y)), np.zeros(len(y))))
        offset = np.random.default_rng(stream).random(len(y) + 1)[-1]
        inside = np.empty(len(y), dtype=bool)
        inside[order] = np.diff(np.floor(np.arange(len(y) + 1) * 0.5 + offset)) > 0
        splits.append((inside, list(select(X[inside], y[inside]).selected)))
    for row, feature in zip(found.rows, path.selected, strict=True):
        np.testing.assert_allclose(
            row[1:], reference.over_splits(X, y, splits, list(path.selected), feature), rtol=1e-3
        )


def test_intervals_over_splits_are_for_the_model_of_the_path():
    """Halves select one of two correlated features, whose coefficient is then larger than with both in the model."""
    rules = {"strategy": "forward", "criterion": "r2", "enter": Significance(0.01)}
    covered = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((160, 3))
        X[:, 1] = 0.8 * X[:, 0] + 0.6 * X[:, 1]
        y = 0.5 * X[:, 0] + 0.5 * X[:, 1] + rng.standard_normal(160)
        path = select(X, y, **rules)
        if set(path.selected) == {0, 1}:
            rows = infer(path, X, y, split=0.5, n_splits=10, random_state=seed).rows
            covered += [row.lower <= 0.5 <= row.upper for row in rows]
    assert len(covered) >= 20
    assert np.mean(covered) >= 0.95


@pytest.mark.parametrize("model", ["linear", "poisson"])
def test_splits_without_a_varying_target_claim_nothing(model):
    X, _ = problem("linear", n=40)
    y = np.zeros(40)
    y[3] = 2
    path = select(X, y, model=model, include=[0], enter=np.inf)
    found = infer(path, X, y, split=0.5, n_splits=5)
    assert found.rows[0].p_value == 1
    assert 0 < found.frequencies["x0"] < 1


def test_a_feature_that_no_split_selects_again_is_not_claimed():
    X, y = problem("linear", n=60)
    path = select(X, y, include=[1], enter=-math.inf, max_features=2)
    assert len(path.selected) == 2
    found = infer(path, X, np.random.default_rng(0).standard_normal(60), split=0.5, n_splits=3)
    assert found.rows[0].p_value > 0.01
    path = select(X, y)
    noise = infer(path, X, np.random.default_rng(0).standard_normal(60), split=0.5, n_splits=3).rows[0]
    assert (noise.lower, noise.upper, noise.p_value) == (-math.inf, math.inf, 1.0)
    assert math.isnan(noise.estimate)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"covariance": "hc0"}, "covariance must be 'robust' or 'model'; got 'hc0'"),
        ({"split": 1.5}, r"split must be None or a share between 0 and 1; got 1\.5"),
        ({"split": 0.5, "n_splits": 0}, "n_splits must be a whole number from 1; got 0"),
        ({"level": 95}, "level must be a number between 0 and 1; got 95"),
        ({"split": 0.5, "random_state": "a"}, "random_state must be None or a whole number from 0; got 'a'"),
    ],
)
def test_parameters_that_are_refused(arguments, message, diabetes):
    X, y = diabetes
    with pytest.raises(ValueError, match=message):
        infer(select(X, y, max_features=1), X, y, **arguments)


def test_data_that_are_refused(diabetes):
    X, y = diabetes
    path = select(X, y, max_features=1)
    with pytest.raises(ValueError, match="X has 9 features, but the path was made of 10"):
        infer(path, X.iloc[:, 1:], y)
    with pytest.raises(ValueError, match="the features of X differ from those of the path; pass the same columns"):
        infer(path, X[X.columns[::-1]], y)
    iris = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match="infer has no standard errors for several targets or classes; it supports"):
        infer(select(*iris, model="logistic", max_features=1), *iris)
    with pytest.raises(ValueError, match="infer has no standard errors for model 'discriminant'; it supports linear"):
        infer(select(*iris), *iris)
    with pytest.raises(ValueError, match="which Moments do not have; pass X and y"):
        infer(path, Moments.of(X, y), None)


# --- metrics of held-out rows ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", METRICS)
def test_every_model_has_a_metric(model):
    X, y = problem(model, n=400)
    found = score_held_out(select(X[:200], y[:200], model=model), X[200:], y[200:], PerRow())
    assert found.metric == METRICS[model]
    assert max(0.2, found.baseline) < found.score < 1


@pytest.mark.parametrize("model", ["poisson", "gamma"])
def test_explained_deviance_compares_with_the_offset_alone(model):
    """Without features, the model is an intercept and the offset."""
    X, y = problem(model)
    exposure = np.random.default_rng(1).uniform(0.1, 10, 200)
    y = np.random.default_rng(1).poisson(exposure) if model == "poisson" else y * exposure
    path = select(X, y, model=model, offset=np.log(exposure), enter=np.inf)
    assert path.selected == ()
    sample = Resampler.of(X, y, PerRow(offset=np.log(exposure)), Parameters(model=model), "holdout").sample
    assert metric(model, path.coefficients, sample) == pytest.approx(0, abs=1e-9)


@given(st.integers(2, 25), st.integers(0, 10_000))
def test_concordance_is_that_of_all_pairs(n, seed):
    rng = np.random.default_rng(seed)
    time, event, risk = rng.integers(1, 6, n).astype(float), rng.random(n) < 0.6, rng.integers(0, 5, n).astype(float)
    weights, strata = rng.integers(0, 4, n).astype(float), rng.choice(["a", "b"], n)
    found = concordance(Survival(time, event), risk, weights, strata)
    assert found == pytest.approx(reference.concordance(time, event, risk, weights, strata))


def test_concordance_counts_pairs():
    target = Survival(np.array([1.0, 2.0, 3.0]), np.array([True, True, False]))
    assert concordance(target, np.array([3.0, 2.0, 1.0])) == 1
    assert concordance(target, np.array([1.0, 2.0, 3.0])) == 0
    assert concordance(target, np.zeros(3)) == 0.5


def test_inference_prints_as_text() -> None:
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    path = select(X[:200], y[:200])
    lines = str(infer(path, X[200:], y[200:])).splitlines()
    assert lines[0].split() == ["feature", "estimate", "std.", "error", "95%", "interval", "p"]
    assert [line.split()[0] for line in lines[2:-1]] == list(path.selected_names)
    assert lines[-1] == "on held-out rows (242 rows), with robust standard errors (HC3)"
    split = infer(path, X[:200], y[:200], split=0.5, n_splits=4)
    lines = str(split).splitlines()
    assert lines[0].split()[-2:] == ["selected", "in"]
    assert [line.split()[-1] for line in lines[2:-1]] == [f"{share:.0%}" for share in split.frequencies.values()]
    assert lines[-1] == "on held-out rows (4 random splits, 100 rows each), with robust standard errors (HC3)"
    plain = str(infer(path, X[200:], y[200:], covariance="model")).splitlines()
    assert plain[-1] == "on held-out rows (242 rows), with standard errors that assume the variance of the model"
