"""From an estimator and a table to a model that can be searched."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier

from dropstep.data.division import Fold, make_folds
from dropstep.models.base import CriterionInfo, Units
from dropstep.models.estimator.checkpoint import Checkpoint
from dropstep.models.estimator.family import EstimatorProblem
from dropstep.models.estimator.fits import Fits, Recipe, Rowwise, Runner, Task, fit_and_score
from dropstep.models.estimator.identity import fingerprint
from dropstep.models.estimator.model import CrossValidated
from dropstep.models.estimator.ordering import ordering_of
from dropstep.models.estimator.scoring import as_scorer, passed, scores_without_features
from dropstep.parameters import checked_seed


def build_model(problem: EstimatorProblem, criterion: Any, units: Units) -> CrossValidated:
    """Resolve the scorer, the folds and the seeds, and open the checkpoint."""
    family, evaluation = problem.family, problem.family.evaluation
    rng = _generator(evaluation.random_state)
    estimator = _seeded(family.estimator, rng)
    name, scorer = as_scorer(criterion, estimator)
    fit_params, score_params, split_params = passed(estimator, criterion, scorer, evaluation.cv, problem.rows)
    folds = _folds(problem, evaluation.cv, split_params)
    data = Rowwise(problem.X, problem.y, folds, fit_params, score_params)
    recipe = Recipe(estimator, scorer, family.error_score == "raise")
    checkpoint = None
    if evaluation.checkpoint is not None:
        data_parts = (problem.X, problem.y, folds, fit_params, score_params)
        parameters = (estimator, scorer, family.racing, family.error_score, evaluation.identity)
        checkpoint = Checkpoint(evaluation.checkpoint, fingerprint(*data_parts, *parameters))
    path = None if checkpoint is None else str(checkpoint.file.resolve())
    fits = Fits(Runner(recipe, data, evaluation.n_jobs, path), checkpoint, evaluation.ended, evaluation.on_fit)
    empty, notes = scores_without_features(recipe, data)
    fits.preset((), empty)
    if problem.rows.weights is not None and "sample_weight" not in score_params:
        notes.append("sample_weight is used in fits but not in scores, which the criterion computes without weights")
    several = (
        len(folds) > 1
    )  # a single fold has no standard error: the limit is then a gain of 0, as for criterion "cv"
    return CrossValidated(
        fits,
        units,
        type(family.estimator).__name__,
        CriterionInfo(name, penalised=not several, monotone=False, share=True, resampled=several),
        int(problem.X.shape[0]),
        rng.permutation(len(folds)).tolist(),
        family.racing,
        ordering_of(problem.X, problem.y, classes=is_classifier(estimator)) if family.racing else None,
        notes,
    )


def _folds(
    problem: EstimatorProblem, cv: Any, split_params: dict[str, Any] | None, seed: Any = None
) -> tuple[Fold, ...]:
    classes, groups = is_classifier(problem.family.estimator), problem.rows.groups
    return make_folds(cv, problem.X, problem.y, classes=classes, groups=groups, split_params=split_params, seed=seed)


def estimator_folds(problem: EstimatorProblem, cv: Any, seed: Any = None) -> tuple[Fold, ...]:
    """The folds of a problem by another splitter than that of its evaluation."""
    family, split_params = problem.family, None
    if seed is None or not isinstance(cv, Integral):
        _, scorer = as_scorer(family.evaluation.criterion, family.estimator)
        split_params = passed(family.estimator, family.evaluation.criterion, scorer, cv, problem.rows)[2]
    return _folds(problem, cv, split_params, seed)


def held_out_score(problem: EstimatorProblem, fold: Fold, columns: Sequence[int]) -> tuple[str, float]:
    """Name and value of the score on the test rows of a fold, of the estimator fitted on some columns."""
    family, criterion = problem.family, problem.family.evaluation.criterion
    estimator = _seeded(family.estimator, _generator(family.evaluation.random_state))
    name, scorer = as_scorer(criterion, estimator)
    fit_params, score_params, _ = passed(estimator, criterion, scorer, family.evaluation.cv, problem.rows)
    data = Rowwise(problem.X, problem.y, (fold,), fit_params, score_params)
    recipe = Recipe(estimator, scorer, raises=True)
    if not columns:
        return name, scores_without_features(recipe, data)[0][0]
    return name, fit_and_score(recipe, data, Task(tuple(sorted(columns)), 0)).score


def _generator(random_state: Any) -> np.random.Generator:
    return np.random.default_rng(checked_seed(random_state))


def _seeded(estimator: Any, rng: np.random.Generator) -> Any:
    """A clone whose unset random states are set, so that every fit draws the same numbers."""
    seeded = clone(estimator)
    params = seeded.get_params(deep=True)
    unset = [name for name in sorted(params) if name.split("__")[-1] == "random_state" and params[name] is None]
    return seeded.set_params(**{name: int(rng.integers(2**31)) for name in unset})
