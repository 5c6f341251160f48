"""The experiments on real data: selection by the trace (table 5), and classifiers on what was selected (figure 1)."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from dropstep.models.least_squares.criteria import Trace
from dropstep.paper.datasets import DATASETS, Sample, Split, load
from dropstep.paper.from_scratch import trace_criterion
from dropstep.paper.procedures import PROCEDURES, Record, Task, all_measured

Floats = NDArray[np.float64]

COMPONENTS = 200
CLASSIFIERS = {
    "LDA": LinearDiscriminantAnalysis,
    "SVM, RBF": SVC,
    "SVM, linear": lambda: SVC(kernel="linear"),
}
ALPHAS = (0.005, 0.0075, 0.01, 0.015, 0.02, 0.03, 0.04, 0.05, 0.07, 0.1, 0.15, 0.2)


def described_trial(seed: int, repeat: int, dataset: str, data: Path | None = None) -> Record:
    """What table 3 says of a dataset."""
    noun, sample = DATASETS[dataset], load(dataset, data)
    training, test = noun.splits[0].rows(sample, [seed, noun.uci, repeat])
    return {
        "classes": len(np.unique(sample.y)),
        "training": len(training),
        "test": len(test),
        "features": sample.X.shape[1],
        "constant": int((np.ptp(sample.X[training], axis=0) == 0).sum()),
        "persons": None if sample.persons is None else len(np.unique(sample.persons)),
    }


def task(sample: Sample, rows: NDArray[np.intp], alpha: float, beta: float) -> Task:
    """Selection by the trace on some rows, standardised by those rows."""
    return Task(StandardScaler().fit_transform(sample.X[rows]), sample.y[rows], Trace(), alpha, beta)


def selection_trial(
    seed: int,
    repeat: int,
    dataset: str,
    way: Any,
    share: float,
    scratch_every: int = 0,
    data: Path | None = None,
) -> Record:
    """All three procedures on the training rows of one split, from scratch too on each `scratch_every`-th split."""
    noun, sample = DATASETS[dataset], load(dataset, data)
    training, _ = Split(way, share).rows(sample, [seed, noun.uci, repeat])
    job = task(sample, training, noun.alpha, noun.beta)
    slow = scratch_every and repeat % scratch_every == 0
    return all_measured(job, repeat, trace_criterion(job.X, job.y) if slow else None, times=3 if slow else 1)


def alpha_trial(seed: int, repeat: int, dataset: str, data: Path | None = None) -> Record:
    """How many features dropping and stepwise select as alpha moves, beta in its proportion.

    Rows: UCI's training rows, the first half that is drawn (Parkinson), or all.
    """
    noun, sample = DATASETS[dataset], load(dataset, data)
    main = noun.splits[0]
    whole = main.random and sample.persons is None
    rows = np.arange(len(sample.y)) if whole else main.rows(sample, [seed, noun.uci, repeat])[0]
    counts: dict[str, list[int]] = {"dropping": [], "stepwise": []}
    for alpha in ALPHAS:
        job = task(sample, rows, alpha, alpha * (noun.beta / noun.alpha))
        counts["dropping"].append(len(job.path("dropping").selected))
        counts["stepwise"].append(len(job.path("stepwise").selected))
    return {"alphas": list(ALPHAS), **counts}


def classification_trial(
    seed: int, repeat: int, dataset: str, way: Any, share: float, data: Path | None = None
) -> Record:
    """Test error of each classifier on the features of each procedure, on all, and for Parkinson on components.

    Selection, scaling and components are fitted on the training rows only.
    """
    noun, sample = DATASETS[dataset], load(dataset, data)
    training, test = Split(way, share).rows(sample, [seed, noun.uci, repeat])
    job = task(sample, training, noun.alpha, noun.beta)
    known, unknown = job.X, StandardScaler().fit(sample.X[training]).transform(sample.X[test])
    views: dict[str, tuple[Floats, Floats]] = {"all": (known, unknown)}
    record: Record = {}
    for procedure in PROCEDURES:
        selected = list(job.path(procedure).selected)
        views[procedure] = known[:, selected], unknown[:, selected]
    if sample.persons is not None:
        pca = PCA(COMPONENTS, svd_solver="full").fit(known)
        views["components"] = pca.transform(known), pca.transform(unknown)
        record["explained"] = float(pca.explained_variance_ratio_.sum())
        if repeat == 0:
            whole = PCA(COMPONENTS, svd_solver="full").fit(StandardScaler().fit_transform(sample.X))
            record["explained of all rows"] = float(whole.explained_variance_ratio_.sum())
    for view, (fitted_on, tested_on) in views.items():
        record[view] = errors(fitted_on, job.y, tested_on, sample.y[test])
    return record


def errors(X: Floats, y: NDArray[Any], X_test: Floats, y_test: NDArray[Any]) -> dict[str, float]:
    """Share of the test rows that each classifier gets wrong."""
    wrong = {}
    for name, classifier in CLASSIFIERS.items():
        with warnings.catch_warnings():
            # LDA on all features says that some are combinations of others, and then leaves out those directions.
            warnings.filterwarnings("ignore", message="Variables are collinear")
            wrong[name] = float(np.mean(classifier().fit(X, y).predict(X_test) != y_test))
    return wrong
