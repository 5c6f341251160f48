"""From an estimator and a table to a model that can be searched."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier

from dropstep.models.base import CriterionInfo, Units
from dropstep.models.estimator.checkpoint import Checkpoint
from dropstep.models.estimator.family import EstimatorProblem
from dropstep.models.estimator.fingerprint import fingerprint
from dropstep.models.estimator.fits import Fits, Recipe, Rowwise, Runner
from dropstep.models.estimator.model import CrossValidated
from dropstep.models.estimator.ordering import ordering_of
from dropstep.models.estimator.scoring import as_scorer, passed, scores_without_features
from dropstep.models.folds import folds_of


def build_model(problem: EstimatorProblem, criterion: Any, units: Units) -> CrossValidated:
    """Resolve the scorer, the folds and the seeds, and open the checkpoint."""
    family, evaluation = problem.family, problem.family.evaluation
    rng = _generator(evaluation.random_state)
    estimator = _seeded(family.estimator, rng)
    name, scorer = as_scorer(criterion, estimator)
    fit_params, score_params, split_params = passed(estimator, criterion, scorer, evaluation.cv, problem.rows)
    folds = folds_of(
        evaluation.cv,
        problem.X,
        problem.y,
        classes=is_classifier(estimator),
        grouped=problem.rows.groups is not None,
        split_params=split_params,
    )
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
    return CrossValidated(
        fits,
        units,
        type(family.estimator).__name__,
        CriterionInfo(name, penalised=False, monotone=False, share=True, resampled=len(folds) > 1),
        int(problem.X.shape[0]),
        rng.permutation(len(folds)).tolist(),
        family.racing,
        ordering_of(problem.X, problem.y, classes=is_classifier(estimator)) if family.racing else None,
        notes,
    )


def _generator(random_state: Any) -> np.random.Generator:
    if random_state is not None and (not isinstance(random_state, int | np.integer) or random_state < 0):
        raise ValueError(f"random_state must be None or an integer from 0; got {random_state!r}")
    return np.random.default_rng(0 if random_state is None else int(random_state))


def _seeded(estimator: Any, rng: np.random.Generator) -> Any:
    """A clone whose unset random states are set, so that every fit draws the same numbers."""
    seeded = clone(estimator)
    params = seeded.get_params(deep=True)
    unset = [name for name in sorted(params) if name.split("__")[-1] == "random_state" and params[name] is None]
    return seeded.set_params(**{name: int(rng.integers(2**31)) for name in unset})
