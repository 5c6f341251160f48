"""The methods paragraph: complete, and safe in its markup."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.linear_model import LinearRegression

from dropstep import select
from dropstep.evaluation.assess import assess


@pytest.fixture(scope="module")
def data():
    return load_diabetes(return_X_y=True, as_frame=True)


def test_everything_a_reviewer_asks_for(data):
    path = select(*data, criterion="rss")
    text = path.methods(evidence=assess(path, *data, n_pairs=5))
    assert text.startswith(
        "Features were selected among 10 candidates in 442 samples by forward selection with early dropping, a second "
        "forward pass over dropped candidates and one backward pass, for linear regression with the residual sum of "
        "squares as the criterion, using dropstep "
    )
    for part in (
        "A feature entered if its partial F test was significant at level 0.0050.",
        f"{len(path.selected)} features were selected ({', '.join(path.selected_names)}); the search stopped because",
        "needed 0.0050).",
        "On 5 complementary pairs of half-samples (Shah and Samworth 2013), the selected features were selected with",
        "With the selection repeated in every fold, the 5-fold cross-validated RMSE was ",
    ):
        assert part in text


def test_names_are_safe_in_every_markup(data):
    X, y = data
    path = replace(select(X, y, max_features=2), feature_names=("a_b & c", "`x`", "50%_{$}", *X.columns[3:]))
    path = replace(path, selected=(0, 2))
    latex, markdown = path.methods("latex"), path.methods("markdown")
    assert r"\texttt{a\_b \& c}, \texttt{50\%\_\{\$\}}" in latex
    assert "max\\_features=2 is reached" in latex
    assert "`a_b & c`, `50%_{$}`" in markdown
    assert "max\\_features=2" in markdown
    assert "\0" not in latex + markdown + path.methods()
    ticks = replace(path, selected=(1,)).methods("markdown")
    assert "`` `x` ``" in ticks
    with pytest.raises(ValueError, match="form must be one of 'text', 'markdown', 'latex'; got 'html'"):
        path.methods("html")


def test_other_rules_and_models(data):
    X, y = data
    assert "1 times the standard error" in select(X, y, model=LinearRegression(), max_features=1).methods()
    assert "backward elimination" in select(X, y, strategy="backward").methods()
    rng = np.random.default_rng(0)
    nothing = select(rng.normal(size=(50, 10)), rng.normal(size=50)).methods(n_rows=50)
    assert "in 50 samples" in nothing
    assert "No feature was selected: no candidate's gain" in nothing
    weighted = select(X, y, sample_weight=np.ones(442)).methods()
    assert "with sample weights as frequencies" in weighted
    assert "logistic regression" in select(*load_breast_cancer(return_X_y=True), model="logistic").methods()
    many = select(*load_breast_cancer(return_X_y=True), enter=-np.inf, max_features=25).methods()
    assert " and 5 more)" in many
