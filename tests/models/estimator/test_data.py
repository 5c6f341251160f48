"""What an estimator gets: the table as it is, weights, groups and metadata; and what happens when it fails."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from scipy import sparse
from sklearn.base import clone
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.metrics import make_scorer, r2_score
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeRegressor

from dropstep import Estimator, Moments, Selector, StandardErrors, StopReason, select
from models.estimator.problems import Fails, signal

REACH: dict[str, Any] = {"enter": -math.inf, "drop": 0, "max_features": 3}


@pytest.fixture
def frame() -> tuple[pd.DataFrame, Any]:
    """Numbers with gaps, a text column that matters, and one that does not."""
    X, y = signal()
    rng = np.random.default_rng(6)
    table = pd.DataFrame(X, columns=list("abcdef"))
    table["colour"] = rng.choice(["red", "green", "blue"], size=len(X))
    table["shape"] = pd.Categorical(rng.choice(["round", "square"], size=len(X)))
    return table, y + 5 * (table["colour"] == "red").to_numpy()


# --- tables ----------------------------------------------------------------------------------------------------------


def test_frames_reach_the_estimator_as_frames(frame: Any) -> None:
    X, y = frame
    encoder = ColumnTransformer(
        [("text", OneHotEncoder(handle_unknown="ignore"), make_column_selector(dtype_exclude=np.number))],
        remainder="passthrough",
    )
    pipeline = make_pipeline(encoder, Ridge())
    path = select(X, y, model=pipeline, cv=4)
    assert {"colour", "a", "c"} <= set(path.selected_names)
    assert path.model == "Pipeline"
    assert path.criterion == "r2"
    selector = Selector(model=pipeline, cv=4).set_output(transform="pandas").fit(X, y)
    assert selector.path_ == path
    assert list(selector.transform(X).columns) == [name for name in X if name in path.selected_names]
    assert selector.transform(X).dtypes["colour"] == X.dtypes["colour"]


def test_missing_values_and_categories_are_left_to_the_estimator(frame: Any) -> None:
    X, y = frame
    X = X.astype({"colour": "category"})
    X.loc[::7, "a"] = np.nan
    model = HistGradientBoostingRegressor(categorical_features="from_dtype", max_iter=15, min_samples_leaf=5)
    path = select(X, y, model=model, cv=3, max_features=2)
    assert set(path.selected_names) == {"a", "colour"}
    numbers = X.drop(columns=["colour", "shape"]).to_numpy()
    selector = Selector(model=DecisionTreeRegressor(max_depth=3), cv=3, max_features=2).fit(numbers, y)
    assert np.isnan(selector.transform(numbers)).any()
    with pytest.raises(ValueError, match="NaN"):
        Selector().fit(numbers, y)


@pytest.mark.parametrize("container", ["polars", "list", "sparse"])
def test_other_containers(container: str) -> None:
    X, y = signal()
    table = {"polars": lambda: pl.DataFrame(X, schema=list("abcdef")), "list": X.tolist,
             "sparse": lambda: sparse.csr_array(X)}[container]()  # fmt: skip
    path = select(table, y, model=Ridge(), **REACH)
    assert path.selected == select(X, y, model=Ridge(), **REACH).selected == (0, 2, 5)
    assert path.selected_names == (("a", "c", "f") if container == "polars" else ("x0", "x2", "x5"))


def test_groups_of_features_include_and_exclude() -> None:
    X, y = signal()
    path = select(X, y, model=LinearRegression(), groups=[[0, 1], [2, 3], [4, 5]], include=[4, 5], enter=-math.inf,
                  max_features=2)  # fmt: skip
    assert path.selected == (4, 5, 0, 1)
    assert path.steps[0].phase == "start"
    assert 0 not in select(X, y, model=LinearRegression(), exclude=0).selected


def test_classes_that_are_text() -> None:
    X, y = signal()
    path = select(X, np.where(y > 0, "yes", "no"), model=LogisticRegression(), criterion="roc_auc", max_features=1)
    assert path.selected == (0,)
    assert path.start == 0.5
    assert path.criterion == "roc_auc"


# --- scorers and folds -----------------------------------------------------------------------------------------------


def test_scorers_are_names_callables_or_the_estimators_own() -> None:
    X, y = signal()

    def largest_error(estimator: Any, X: Any, y: Any) -> float:
        return -float(np.abs(estimator.predict(X) - y).max())

    names = [select(X, y, model=Ridge(), criterion=scorer, **REACH).criterion for scorer in
             ("auto", "neg_mean_absolute_error", largest_error, make_scorer(r2_score))]  # fmt: skip
    assert names == ["r2", "neg_mean_absolute_error", "largest_error", "r2_score"]
    for wrong in ("ebic", 3, None):
        with pytest.raises(ValueError, match=r"criterion must be 'auto', a callable, or the name of a scorer .*; got"):
            select(X, y, model=Ridge(), criterion=wrong)


def test_a_model_without_features_predicts_the_mean_or_the_frequencies() -> None:
    X, y = signal()
    scores = cross_val_score(sklearn.dummy.DummyRegressor(), X, y, cv=5)
    assert select(X, y, model=Ridge(), **REACH).start == pytest.approx(scores.mean())

    def by_coefficient(estimator: Any, X: Any, y: Any) -> float:
        return float(estimator.coef_.max())

    path = select(X, y, model=Ridge(), criterion=by_coefficient, **REACH)
    assert path.start == 0
    assert "the criterion cannot score a model without features" in path.notes[-1]
    grid = GridSearchCV(Ridge(), {"alpha": [1.0]}, scoring="neg_mean_squared_error", cv=2)
    assert "the criterion cannot score" in select(X, y, model=grid, cv=2, max_features=1, enter=-math.inf).notes[-1]


def test_one_standard_error_is_the_default_rule() -> None:
    X, y = signal()
    path = select(X, y, model=Estimator(LinearRegression(), racing=False), strategy="forward")
    assert path.rules == dict.fromkeys(("enter", "leave", "drop"), StandardErrors(1.0))
    assert path.stop is StopReason.ENTER
    selected = list(path.selected)
    before = cross_val_score(LinearRegression(), X[:, sorted(selected)], y)
    for j in set(range(6)) - set(selected):
        differences = cross_val_score(LinearRegression(), X[:, sorted([*selected, j])], y) - before
        assert differences.mean() <= differences.std(ddof=1) / math.sqrt(5)
    strict = select(X, y, model=LinearRegression(), strategy="forward", enter=StandardErrors(50))
    assert len(strict.selected) < len(selected)
    with pytest.raises(ValueError, match="multiple must be a finite number from 0; got -1"):
        StandardErrors(-1)
    with pytest.raises(ValueError, match=r"StandardErrors\(multiple=1.0\) needs scores of at least 2 folds"):
        select(X, y, enter=StandardErrors())
    with pytest.raises(ValueError, match="stepwise could cycle where leaving takes more standard errors"):
        select(X, y, model=LinearRegression(), strategy="stepwise", enter=StandardErrors(1), leave=StandardErrors(2))


def test_a_single_fold_has_no_standard_error() -> None:
    X, y = signal()
    fold = [(np.arange(60), np.arange(60, 80))]
    path = select(X, y, model=LinearRegression(), cv=fold, enter=0.01, max_features=2)
    assert path.selected == (0, 2)
    assert {step.score_std_error for step in path.steps} == {None}
    by_default = select(X, y, model=LinearRegression(), cv=fold)
    assert by_default.rules == {"enter": 0.0, "leave": 0.0, "drop": 0.0}
    assert by_default.selected == select(X, y, criterion="cv", cv=fold).selected
    for wrong in (1, True):
        with pytest.raises(ValueError, match="cv must be None or an integer from 2, a splitter or an iterable"):
            select(X, y, model=LinearRegression(), cv=wrong)
    with pytest.raises(ValueError, match="cv yields no folds"):
        select(X, y, model=LinearRegression(), cv=[])


@pytest.mark.parametrize("given", [{"model": LinearRegression()}, {"criterion": "cv"}])
def test_folds_are_row_numbers_or_masks(given: dict[str, Any]) -> None:
    X, y = signal()
    masks = [np.arange(80) % 3 == fold for fold in range(3)]
    numbers = [(np.flatnonzero(~mask), np.flatnonzero(mask)) for mask in masks]
    path = select(X, y, cv=[(~mask, mask) for mask in masks], **given)
    assert path.steps == select(X, y, cv=numbers, **given).steps
    with pytest.raises(ValueError, match=r"cv yields masks of shape \(5,\), but there are 80 rows; pass one per row"):
        select(X, y, cv=[(masks[0][:5], masks[1])], **given)
    with pytest.raises(ValueError, match=r"cv must yield row numbers or masks; got an array of float64"):
        select(X, y, cv=[([0.0, 1.0], [2])], **given)


def test_fewer_rows_than_candidates_are_noted() -> None:
    X, y = np.random.default_rng(0).standard_normal((20, 30)), np.arange(20.0)
    path = select(X, y, model=LinearRegression(), criterion="r2", max_features=1)
    assert any(note.startswith("20 rows for 30 candidates (0.67 per candidate)") for note in path.notes)


def test_rows_without_a_group_are_refused() -> None:
    X, y = signal()
    groups = np.where(np.arange(80) == 3, np.nan, 1.0)
    for given in ({"criterion": "cv"}, {"model": LinearRegression()}):
        with pytest.raises(ValueError, match="sample_groups has 1 missing value; remove these rows"):
            select(X, y, sample_groups=groups, **given)


def test_rows_of_a_group_stay_in_one_fold() -> None:
    X, y = signal()
    groups = np.repeat(np.arange(16), 5)
    seen = []

    class Watched(LinearRegression):
        def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
            seen.append(set(X[:, 0].tolist()))
            return super().fit(X, y, sample_weight)

    marked = np.column_stack([groups.astype(float), X])
    path = select(marked, y, model=Watched(), cv=4, sample_groups=groups, include=0, max_features=2)
    assert path.n_fits > 0
    assert all(len(rows) == 12 for rows in seen)
    by_splitter = select(marked, y, model=Watched(), cv=GroupKFold(4), sample_groups=groups, include=0, max_features=2)
    assert by_splitter.steps == path.steps
    assert Selector(model=LinearRegression(), cv=4).fit(X, y, sample_groups=groups).score_ == pytest.approx(
        select(X, y, model=LinearRegression(), cv=GroupKFold(4), sample_groups=groups).score
    )


# --- weights and metadata --------------------------------------------------------------------------------------------


def test_weights_repeat_rows() -> None:
    X, y = signal()
    weights = np.random.default_rng(1).integers(1, 4, size=80)
    rows = np.repeat(np.arange(80), weights)
    folds = [(np.arange(80)[np.arange(80) % 4 != k], np.arange(80)[np.arange(80) % 4 == k]) for k in range(4)]
    repeated = [(np.flatnonzero(np.isin(rows, a)), np.flatnonzero(np.isin(rows, b))) for a, b in folds]
    weighted = select(X, y, model=LinearRegression(), cv=folds, sample_weight=weights, **REACH)
    plain = select(X[rows], y[rows], model=LinearRegression(), cv=repeated, **REACH)
    assert weighted.selected == plain.selected
    np.testing.assert_allclose([s.score for s in weighted.steps], [s.score for s in plain.steps])
    assert weighted.start == pytest.approx(plain.start)
    pipeline = make_pipeline(StandardScaler(), LinearRegression())
    assert select(X, y, model=pipeline, cv=folds, sample_weight=weights, **REACH).score == pytest.approx(plain.score)
    unweighted = select(X, y, model=LinearRegression(), criterion=lambda e, X, y: e.score(X, y), sample_weight=weights)
    assert "sample_weight is used in fits but not in scores" in unweighted.notes[-1]
    assert not weighted.notes
    with pytest.raises(ValueError, match=r"KNeighborsRegressor.fit takes no sample_weight; omit sample_weight"):
        select(X, y, model=sklearn.neighbors.KNeighborsRegressor(), sample_weight=weights)


class Offset(LinearRegression):
    """Takes metadata with one entry per row."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None, shift: Any = None) -> Offset:
        assert shift is not None
        assert len(shift) == len(y)
        return super().fit(X, y - shift, sample_weight)


def test_metadata_reach_fit() -> None:
    X, y = signal()
    path = select(X, y, model=Estimator(Offset(), error_score="raise"), metadata={"shift": np.ones(80)}, **REACH)
    selector = Selector(model=Estimator(Offset(), error_score="raise"), **REACH).fit(X, y, shift=np.ones(80))
    assert selector.path_ == path
    with pytest.raises(ValueError, match="shift applies to a scikit-learn estimator"):
        Selector().fit(X, y, shift=np.ones(80))
    with pytest.raises(ValueError, match="sample_groups applies to a scikit-learn estimator"):
        Selector().fit(X, y, sample_groups=np.ones(80))


def test_metadata_are_routed_to_what_requests_them() -> None:
    X, y = signal()
    weights, groups = np.random.default_rng(1).uniform(1, 4, size=80), np.repeat(np.arange(16), 5)
    plain = select(X, y, model=LinearRegression(), sample_weight=weights, sample_groups=groups, cv=4, **REACH)
    with sklearn.config_context(enable_metadata_routing=True):
        asking = LinearRegression().set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        routed = select(X, y, model=asking, sample_weight=weights, sample_groups=groups, cv=GroupKFold(4), **REACH)
        assert routed.steps == plain.steps
        declining = LinearRegression().set_fit_request(sample_weight=False).set_score_request(sample_weight=False)
        with pytest.raises(TypeError, match=r"sample_weight.* not routed to any object"):
            select(X, y, model=declining, sample_weight=weights, **REACH)
        selector = Selector(model=asking, cv=4, **REACH).fit(X, y, weights, sample_groups=groups)
        assert selector.path_.steps == plain.steps
        assert "estimator" in str(selector.get_metadata_routing())


# --- failures --------------------------------------------------------------------------------------------------------


def test_a_candidate_whose_fit_raises_is_set_aside() -> None:
    X, y = signal()
    X[4, 3] = -1000
    table = pd.DataFrame(X, columns=list("abcdef"))
    path = select(table, y, model=Fails(), **REACH)
    assert "d" not in path.selected_names
    assert path.notes == (
        "'d': set aside, because the estimator cannot be fitted with it (ValueError: cannot digest this column)",
    )
    assert sorted(path.ranking) == [1, 2, 3, 4, 5, 6]
    with pytest.raises(ValueError, match="cannot digest this column") as raised:
        select(table, y, model=Estimator(Fails(), error_score="raise"), **REACH)
    assert "while columns [3] were evaluated" in raised.value.__notes__[0]
    with pytest.raises(ValueError, match=r"cannot be fitted on columns \[3\] \(ValueError: cannot digest"):
        select(table, y, model=Fails(), include="d")
    with pytest.raises(ValueError, match=r"the estimator can be fitted on no candidate \(ValueError: cannot digest"):
        select(table - 500, y, model=Fails())


def test_a_search_ends_when_the_other_candidates_fail() -> None:
    X, y = signal()
    X[4, 1:] = -1000
    path = select(X, y, model=Fails(), **REACH)
    assert path.selected == (0,)
    assert path.stop is StopReason.FAILED
    assert path.notes[0].startswith("column 1, column 2, column 3, column 4, column 5: set aside")


def test_warnings_of_fits_become_notes() -> None:
    X, y = signal()
    path = select(X, y > 0, model=LogisticRegression(max_iter=1), max_features=1, enter=-math.inf)
    assert ConvergenceWarning.__name__ in path.notes[0]
    assert path.notes[0].startswith(f"{path.n_fits} of {path.n_fits} fits: ConvergenceWarning: lbfgs failed")


# --- randomness and parameters ---------------------------------------------------------------------------------------


def test_unset_random_states_are_set_from_ours() -> None:
    X, y = signal()
    model = RandomForestClassifier(n_estimators=5)
    first, again, other = (select(X, y > 0, model=model, max_features=2, random_state=seed, cv=3) for seed in (1, 1, 2))
    assert first == again
    assert [s.score for s in first.steps] != [s.score for s in other.steps]
    assert model.random_state is None
    with pytest.raises(ValueError, match="random_state must be None or a whole number from 0; got -1"):
        select(X, y, model=Ridge(), random_state=-1)


def test_an_estimator_is_a_parameter_like_any_other() -> None:
    X, y = signal()
    selector = Selector(model=Ridge(alpha=3.0), cv=3, max_features=2)
    assert clone(selector).get_params()["model__alpha"] == 3.0
    fitted = clone(selector).fit(X, y)
    assert fitted.get_params()["model"].alpha == 3.0
    assert not hasattr(fitted.get_params()["model"], "coef_")
    grid = GridSearchCV(make_pipeline(selector, Ridge()), {"selector__max_features": [1, 3]}, cv=2).fit(X, y)
    assert grid.best_params_ == {"selector__max_features": 3}
    frame = fitted.path_.to_frame()
    assert (frame["score_std_error"] > 0).all()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"model": Ridge}, "or a scikit-learn estimator; got <class"),
        ({"model": Ridge(), "solver": "gram"}, "solver='gram' does not apply to an estimator"),
        ({"model": Ridge(), "offset": np.ones(80)}, "offset does not apply to an estimator; omit offset"),
        ({"model": Ridge(), "y": None}, "y is None, but an estimator requires a target"),
        ({"model": Ridge(), "y": np.ones(3)}, "X and y must have the same number of rows; X has 80, y has 3"),
        (
            {"model": Ridge(), "X": np.ones(80)},
            r"X must have rows and features, .*; its shape is \(80,\)",
        ),
    ],
)
def test_bad_input_is_rejected(words: dict[str, Any], message: str) -> None:
    X, y = signal()
    with pytest.raises(ValueError, match=message):
        select(**({"X": X, "y": y} | words))


def test_moments_and_bad_estimators_are_rejected() -> None:
    X, y = signal()
    with pytest.raises(ValueError, match="Moments do not suffice for an estimator"):
        select(Moments.of(X, y), model=Ridge())
    with pytest.raises(ValueError, match="estimator must have fit and get_params, as scikit-learn's do; got 'ridge'"):
        Estimator("ridge")
    with pytest.raises(ValueError, match="error_score must be 'drop' or 'raise'; got nan"):
        Estimator(Ridge(), error_score=math.nan)
