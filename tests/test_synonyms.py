"""Names that other libraries use: the sentence names the parameter or value of dropstep."""

import inspect
import math

import pytest
from sklearn.base import clone
from sklearn.datasets import load_diabetes

from dropstep import Selector, select
from dropstep.models.families import FAMILIES
from dropstep.models.least_squares.criteria import CRITERIA
from dropstep.parameters import NAMES
from dropstep.search.strategies import STRATEGIES
from dropstep.synonyms import PARAMETERS, alias_of, similar_value

X, y = load_diabetes(return_X_y=True)


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("direction", "has no parameter 'direction'; use strategy='forward', 'backward' or 'bidirectional'"),
        ("n_features_to_select", "use max_features, e.g. max_features=5"),
        ("scoring", "use criterion, e.g. criterion='roc_auc'"),
        ("estimator", r"use model, e.g. model=LogisticRegression\(\)"),
        ("k_features", "use max_features"),
        ("tol", "use enter, the gain that a feature must exceed"),
        ("cv_folds", "use cv, e.g. cv=5"),
        ("criterian", "did you mean 'criterion'?"),
        ("zzz", "its parameters are strategy, model, criterion"),
    ],
)
def test_a_parameter_of_another_library(name, sentence):
    with pytest.raises(TypeError, match="Selector.*" + sentence):
        Selector(**{name: 1})
    with pytest.raises(TypeError, match="select.*" + sentence):
        select(X, y, **{name: 1})


def test_no_parameter_of_ours_is_refused():
    assert not set(PARAMETERS) & set(NAMES)
    assert tuple(inspect.signature(Selector).parameters) == NAMES
    assert clone(Selector(strategy="forward")).get_params()["strategy"] == "forward"
    assert Selector("forward").strategy == "forward"


@pytest.mark.parametrize(
    ("params", "sentence"),
    [
        ({"strategy": "both"}, "unknown strategy 'both'; did you mean 'bidirectional'?"),
        ({"strategy": "Forward"}, "did you mean 'forward'?"),
        ({"criterion": "AIC"}, "unknown criterion 'AIC'; did you mean 'aic'?"),
        ({"criterion": "AIC", "model": "poisson"}, "did you mean 'aic'?"),
        ({"model": "logit"}, r"got 'logit' \(did you mean 'logistic'\?\)"),
        ({"model": 3}, "got 3$"),
    ],
)
def test_values_of_other_libraries(params, sentence):
    with pytest.raises(ValueError, match=sentence):
        select(X, y, **params)


def test_aliases_lead_to_names_that_exist():
    known = {*STRATEGIES, *CRITERIA, *FAMILIES}
    for name in ("both", "SFFS", "lm", "Logit", "adjusted-R2", "mallows"):
        assert alias_of(name, known) in known
    assert alias_of("nothing", known) is None
    assert similar_value("forwrd", STRATEGIES) == "forward"
    assert similar_value(None, STRATEGIES) is None


def test_a_short_representation():
    path = select(X, y)
    assert repr(path) == "<SelectionPath: 5 of 10 features by dropping, r2 0.508632: x2, x8, x3, x6, x1>"
    many = select(X, y, enter=-math.inf, max_features=10)
    assert repr(many).endswith(" and 5 more>")
