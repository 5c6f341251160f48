"""Scorers, folds, and what is passed to fits and scorers: the conventions of scikit-learn."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from sklearn import get_config
from sklearn.base import ClassifierMixin, RegressorMixin, is_classifier, is_regressor
from sklearn.metrics import check_scoring, get_scorer_names
from sklearn.pipeline import Pipeline
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping

from dropstep.data.sample import PerRow
from dropstep.models.estimator.fits import Recipe, Rowwise, Task, fit_and_score

Scorer = Callable[..., float]


def as_scorer(criterion: Any, estimator: Any) -> tuple[str, Scorer]:
    """A scorer and its name: the estimator's own score, a scorer by name, or a callable.

    Parameters
    ----------
    criterion : str or callable
        "auto" is the estimator's own score.
    estimator : estimator
    """
    if callable(criterion):
        return _name(criterion), criterion
    if criterion != "auto" and (not isinstance(criterion, str) or criterion not in get_scorer_names()):
        raise ValueError(
            f"criterion must be 'auto', a callable, or the name of a scorer such as 'roc_auc' or 'r2' where the model "
            f"is an estimator; got {criterion!r}"
        )
    scorer = check_scoring(estimator, scoring=None if criterion == "auto" else criterion)
    return (_own_score(estimator) or "score" if criterion == "auto" else criterion), scorer


def scorer_names() -> list[str]:
    """Names of the scorers of scikit-learn."""
    return list(get_scorer_names())


def predicts_classes(estimator: Any) -> bool:
    """Whether an estimator is a classifier."""
    return bool(is_classifier(estimator))


def _name(scorer: Any) -> str:
    return str(getattr(scorer, "__name__", None) or getattr(getattr(scorer, "_score_func", None), "__name__", "scorer"))


def _own_score(estimator: Any) -> str | None:
    """Name of the estimator's own score, if it is one of scikit-learn's defaults."""
    last = estimator.steps[-1][1] if isinstance(estimator, Pipeline) else estimator
    score = getattr(type(last), "score", None)
    return {ClassifierMixin.score: "accuracy", RegressorMixin.score: "r2"}.get(score)


def passed(
    estimator: Any, criterion: Any, scorer: Scorer, cv: Any, rows: PerRow
) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """What is passed to `fit`, to the scorer and to the splitter.

    With metadata routing, what each of them requests. Otherwise weights go to the estimator (the last step of a
    pipeline) and to the scorer, metadata to `fit`, and groups to the splitter.
    """
    groups = {} if rows.groups is None else {"groups": rows.groups}
    weights = {} if rows.weights is None else {"sample_weight": rows.weights}
    if get_config().get("enable_metadata_routing"):
        return _routed(estimator, criterion, cv, {**weights, **groups, **rows.metadata})
    fit: dict[str, Any] = dict(rows.metadata)
    if weights:
        last = estimator.steps[-1] if isinstance(estimator, Pipeline) else (None, estimator)
        if "sample_weight" not in inspect.signature(last[1].fit).parameters:
            raise ValueError(f"{type(last[1]).__name__}.fit takes no sample_weight; omit sample_weight")
        fit["sample_weight" if last[0] is None else f"{last[0]}__sample_weight"] = rows.weights
    return fit, weights if _takes_weights(scorer, estimator) else {}, groups


def _takes_weights(scorer: Any, estimator: Any) -> bool:
    """Whether a scorer takes weights: scorers of scikit-learn by their function, callables by their signature."""
    if hasattr(scorer, "_score_func"):
        return "sample_weight" in inspect.signature(scorer._score_func).parameters
    own = estimator.score if hasattr(scorer, "_estimator") else scorer
    return "sample_weight" in inspect.signature(own).parameters


def router_of(owner: Any, estimator: Any, criterion: Any, cv: Any) -> Any:
    """Which metadata go where, with metadata routing: to the estimator, to the scorer and to the splitter."""
    _, scorer = as_scorer(criterion, estimator)
    router = MetadataRouter(owner=owner).add(
        estimator=estimator, method_mapping=MethodMapping().add(caller="fit", callee="fit")
    )
    own = hasattr(scorer, "_estimator")  # the estimator's own score
    if own or hasattr(scorer, "get_metadata_routing"):
        mapping = MethodMapping().add(caller="fit", callee="score")
        router.add(scorer=estimator if own else scorer, method_mapping=mapping)
    if hasattr(cv, "get_metadata_routing"):
        router.add(splitter=cv, method_mapping=MethodMapping().add(caller="fit", callee="split"))
    return router


def _routed(
    estimator: Any, criterion: Any, cv: Any, metadata: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """What each of estimator, scorer and splitter requests; an integer number of folds takes the groups."""
    router = router_of("select", estimator, criterion, cv)
    own_splitter = hasattr(cv, "get_metadata_routing")
    params = {name: value for name, value in metadata.items() if name != "groups" or own_splitter}
    router.validate_metadata(method="fit", params=params)
    routed = router.route_params(caller="fit", params=params)
    split = routed["splitter"].split if own_splitter else {k: v for k, v in metadata.items() if k == "groups"}
    return dict(routed["estimator"].fit), dict(routed["scorer"].score) if "scorer" in routed else {}, dict(split)


def scores_without_features(recipe: Recipe, data: Rowwise) -> tuple[list[float], list[str]]:
    """Fold scores of the model without features (the class frequencies, or the mean), and notes on them.

    A model that predicts without features is scored by the same scorer on the same folds. Where the scorer cannot score
    it, scores are 0.
    """
    from sklearn.dummy import DummyClassifier, DummyRegressor

    estimator = recipe.estimator
    dummy = DummyClassifier(strategy="prior") if is_classifier(estimator) else DummyRegressor()
    known = is_classifier(estimator) or is_regressor(estimator)
    weights = {name.split("__")[-1]: value for name, value in data.fit_params.items() if name.endswith("sample_weight")}
    empty = Rowwise(np.zeros((data.X.shape[0], 1)), data.y, data.folds, weights, data.score_params)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        outcomes = [
            fit_and_score(Recipe(dummy, recipe.scorer), empty, Task((), fold)) for fold in range(len(data.folds))
        ]
    own = hasattr(recipe.scorer, "_estimator") and _own_score(estimator) is None
    if known and not own and all(np.isfinite(outcome.score) for outcome in outcomes):
        return [outcome.score for outcome in outcomes], []
    return [0.0] * len(data.folds), [
        "the criterion cannot score a model without features; the gain of the first feature is relative to a score of 0"
    ]
