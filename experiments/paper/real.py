"""The experiments on real data: selection by the trace (table 5), and classification with the selection (figure 1)."""

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

from dropstep import Trace
from examples.from_scratch import trace_criterion
from experiments.paper.datasets import DATASETS, Sample, Split, load
from experiments.paper.procedures import PROCEDURES, Record, Task, all_measured

Floats = NDArray[np.float64]

COMPONENTS = 200
CLASSIFIERS = {
    "LDA": LinearDiscriminantAnalysis,
    "SVM, RBF": SVC,
    "SVM, linear": lambda: SVC(kernel="linear"),
}
ALPHAS = (0.005, 0.0075, 0.01, 0.015, 0.02, 0.03, 0.04, 0.05, 0.07, 0.1, 0.15, 0.2)


def described_trial(seed: int, repeat: int, dataset: str, data: Path | None = None) -> Record:
    """The row of table 3 of a dataset."""
    described, sample = DATASETS[dataset], load(dataset, data)
    training, test = described.splits[0].rows(sample, [seed, described.uci, repeat])
    return {
        "classes": len(np.unique(sample.y)),
        "training": len(training),
        "test": len(test),
        "features": sample.X.shape[1],
        "constant": int((np.ptp(sample.X[training], axis=0) == 0).sum()),
        "persons": None if sample.persons is None else len(np.unique(sample.persons)),
    }


def task(sample: Sample, rows: NDArray[np.intp], alpha: float, beta: float) -> Task:
    """Selection by the trace on some rows, standardised with their own means and variances."""
    X = StandardScaler().fit_transform(sample.X[rows])
    return Task(X, sample.y[rows], "discriminant", Trace(), alpha, beta)


def selection_trial(
    seed: int,
    repeat: int,
    dataset: str,
    kind: Any,
    share: float,
    scratch_every: int = 0,
    data: Path | None = None,
) -> Record:
    """All three procedures on the training rows of a split; on every `scratch_every`-th split also from scratch."""
    described, sample = DATASETS[dataset], load(dataset, data)
    training, _ = Split(kind, share).rows(sample, [seed, described.uci, repeat])
    job = task(sample, training, described.alpha, described.beta)
    slow = scratch_every and repeat % scratch_every == 0
    return all_measured(job, repeat, trace_criterion(job.X, job.y) if slow else None, times=3 if slow else 1)


def alpha_trial(seed: int, repeat: int, dataset: str, data: Path | None = None) -> Record:
    """Number of features that dropping and stepwise select as a function of alpha, with beta in proportion.

    The rows are UCI's training rows, those of the first random half (Parkinson), or all.
    """
    described, sample = DATASETS[dataset], load(dataset, data)
    main = described.splits[0]
    whole = main.random and sample.persons is None
    rows = np.arange(len(sample.y)) if whole else main.rows(sample, [seed, described.uci, repeat])[0]
    counts: dict[str, list[int]] = {"dropping": [], "stepwise": []}
    for alpha in ALPHAS:
        job = task(sample, rows, alpha, alpha * (described.beta / described.alpha))
        counts["dropping"].append(len(job.path("dropping").selected))
        counts["stepwise"].append(len(job.path("stepwise").selected))
    return {"alphas": list(ALPHAS), **counts}


def classification_trial(
    seed: int, repeat: int, dataset: str, kind: Any, share: float, data: Path | None = None
) -> Record:
    """Test error of each classifier with the features of each procedure, all features, and components (Parkinson).

    Selection, scaling and components are fitted on the training rows only.
    """
    described, sample = DATASETS[dataset], load(dataset, data)
    training, test = Split(kind, share).rows(sample, [seed, described.uci, repeat])
    job = task(sample, training, described.alpha, described.beta)
    X, X_test = job.X, StandardScaler().fit(sample.X[training]).transform(sample.X[test])
    views: dict[str, tuple[Floats, Floats]] = {"all": (X, X_test)}
    record: Record = {}
    for procedure in PROCEDURES:
        selected = list(job.path(procedure).selected)
        views[procedure] = X[:, selected], X_test[:, selected]
    if sample.persons is not None:
        pca = PCA(COMPONENTS, svd_solver="full").fit(X)
        views["components"] = pca.transform(X), pca.transform(X_test)
        record["explained"] = float(pca.explained_variance_ratio_.sum())
        if repeat == 0:
            whole = PCA(COMPONENTS, svd_solver="full").fit(StandardScaler().fit_transform(sample.X))
            record["explained of all rows"] = float(whole.explained_variance_ratio_.sum())
    for name, (train_view, test_view) in views.items():
        record[name] = errors(train_view, job.y, test_view, sample.y[test])
    return record


def errors(X: Floats, y: NDArray[Any], X_test: Floats, y_test: NDArray[Any]) -> dict[str, float]:
    """Share of the test rows that each classifier misclassifies."""
    wrong = {}
    for name, classifier in CLASSIFIERS.items():
        with warnings.catch_warnings():
            # LDA on all features warns that some are collinear, and discards those directions.
            warnings.filterwarnings("ignore", message="Variables are collinear")
            wrong[name] = float(np.mean(classifier().fit(X, y).predict(X_test) != y_test))
    return wrong
