"""The methods paragraph: complete, and safe in its markup."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.linear_model import LinearRegression

from dropstep import Knockoffs, Permutation, Significance, select
from dropstep.resampling.assess import assess


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
        "The k-th feature entered if its partial F test was significant at level 0.05 k / m, with m = 10 candidates",
        "a saddlepoint test had to be significant at the same level.",
        f"{len(path.selected)} features were selected ({', '.join(path.selected_names)}); the search stopped because",
        "needed 0.030).",
        "On 5 complementary pairs of half-samples (Shah and Samworth 2013), the selected features were selected with",
        "With the selection repeated in every fold, the 5-fold cross-validated RMSE, over 4 random "
        "divisions of the rows, was ",
        " with ridge regression on all features.",
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


@pytest.mark.parametrize(
    ("strategy", "model", "correction", "sentence"),
    [
        ("forward", "linear", "fdr", "The k-th feature entered if its partial F test was significant at level 0.05 k / "
         "m, with m = 10 candidates (Benjamini and Hochberg 1995)."),
        ("forward", "poisson", "fdr", "The k-th feature entered if its score test was significant at level 0.05 k / m"),
        ("backward", "poisson", "fdr", "With k features selected, a feature stayed if its likelihood-ratio test was "),
        ("forward", "linear", None, "A feature entered if its partial F test was significant at level 0.050."),
        ("forward", "linear", "bonferroni", "at level 0.050, divided by the number of candidates (Bonferroni)."),
    ],
)  # fmt: skip
def test_the_rule_in_effect_is_described(data, strategy, model, correction, sentence):
    path = select(*data, criterion="bic", strategy=strategy)
    rule = SimpleNamespace(level=0.05, correction=correction, n_choices=10, in_tails=False)
    path = replace(path, model=model, rules={"enter": rule, "leave": rule})
    assert sentence in path.methods()
    assert "Benjamini" not in select(*data, criterion="r2", enter=Significance(0.05)).methods()


def test_calibrated_rules_are_described(data):
    permuted = select(*data, enter=Permutation(0.05), max_features=1).methods()
    assert "if a test of 199 permutations of the residuals was significant at level 0.050." in permuted
    kept = select(*data, strategy="forward", enter=Knockoffs(0.5)).methods()
    assert "by the knockoff+ filter at a false discovery rate of 0.5 (Candes et al. 2018)." in kept
