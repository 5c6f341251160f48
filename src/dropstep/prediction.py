"""Predictions of a path: by its coefficients, and as a fitted scikit-learn estimator."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import GammaRegressor, LinearRegression, LogisticRegression, PoissonRegressor

from dropstep.data.frame import as_table, frame_names, is_frame, take_columns
from dropstep.data.matrices.sparse import is_sparse
from dropstep.data.table import Table, refuse_missing
from dropstep.models.glm.ordinal import level_scores
from dropstep.result import Coefficients, SelectionPath

Floats = NDArray[np.float64]

MEANS = ("rate ratio", "mean ratio")  # effects in models with a log link, whose mean is predicted
MIN_SINGULAR = 1e-4  # relative singular value of the class means below which a canonical variate is omitted


def predict(path: SelectionPath, X: Any) -> NDArray[Any]:
    """Predict the target of rows by the coefficients of a path.

    Parameters
    ----------
    path : SelectionPath
        The path.
    X : array-like or frame of shape (n_samples, n_features)
        All features of the table, or a frame that contains the selected ones by name.

    Returns
    -------
    ndarray of shape (n_samples,) or (n_samples, n_targets)
        Values of the targets, class labels, or means, of a row whose offset is 0; for Cox regression the log of the
        hazard, up to a constant.
    """
    fit = _coefficients(path)
    values = fit.linear_predictor(_selected_columns(path, X))
    if fit.classes is None:
        return np.asarray(np.exp(values)) if fit.effect in MEANS else values
    if fit.thresholds is not None:
        return np.asarray(np.array(fit.classes)[level_scores(values, fit).argmax(axis=1)])
    return fit.classify(values)


def to_estimator(path: SelectionPath) -> Any:
    """Convert the coefficients of a path to a fitted scikit-learn estimator.

    Parameters
    ----------
    path : SelectionPath
        The path.

    Returns
    -------
    LinearRegression, LinearDiscriminantAnalysis, LogisticRegression, PoissonRegressor or GammaRegressor
        Its X consists of the selected columns, in order of entry.
    """
    fit = _coefficients(path)
    if not fit.names:
        raise ValueError("no feature is selected, and scikit-learn has no estimator without features; use path.predict")
    if fit.effect == "hazard ratio":
        raise ValueError(
            "scikit-learn has no Cox regression; use path.predict, or fit scikit-survival's on the columns"
        )
    if fit.thresholds is not None:
        raise ValueError("scikit-learn has no ordinal regression; use path.predict, or statsmodels' OrderedModel")
    make = _discriminant if fit.priors is not None else _likelihood if fit.effect is not None else _regression
    estimator = make(fit)
    estimator.n_features_in_ = len(fit.names)
    if path.feature_names is not None:
        estimator.feature_names_in_ = np.array(fit.names, dtype=object)
    return estimator


def _coefficients(path: SelectionPath) -> Coefficients:
    if path.coefficients is None:
        raise ValueError(f"model {path.model!r} has no coefficients; fit an estimator on the selected columns")
    return path.coefficients


def _selected_columns(path: SelectionPath, X: Any) -> Floats:
    """The columns of the design matrix that encode the selected features of X."""
    features = _selected_features(path, X)
    if not path.selected:
        return np.empty((len(X), 0))
    if path.encoding is None:
        values = first = as_table(features).values.astype(np.float64)
    else:
        encoding = path.encoding.take(path.selected)
        values = encoding.encode(features)
        first = values[:, [encoding.columns(j).start for j in range(len(path.selected))]]  # NaN in one is NaN in all
    refuse_missing(Table(first, path.selected_names), first.sum(axis=0))
    return np.asarray(values)


def _selected_features(path: SelectionPath, X: Any) -> Any:
    """The selected features of X: by name if both tables have names, by position otherwise."""
    names = None if path.feature_names is None else frame_names(X)
    if names is not None:
        place = {name: j for j, name in enumerate(names)}
        if missing := [name for name in path.selected_names if name not in place]:
            raise ValueError(f"X has no column {missing[0]!r}, which is selected; pass a frame that contains it")
        return take_columns(X, [place[name] for name in path.selected_names])
    if not is_frame(X) and not is_sparse(X):
        X = np.asarray(X, dtype=None if path.encoding is None else object)
    if len(X.shape) != 2 or X.shape[1] != path.n_features:
        raise ValueError(
            f"X has shape {tuple(X.shape)}, but the features were selected among {path.n_features}; pass all of them, "
            "or a frame that contains the selected ones by name"
        )
    if is_sparse(X):
        return X.tocsc()[:, list(path.selected)].toarray()
    return take_columns(X, list(path.selected)) if is_frame(X) else X[:, list(path.selected)]


def _regression(fit: Coefficients) -> LinearRegression:
    estimator = LinearRegression()
    estimator.coef_, estimator.intercept_ = fit.coef, fit.intercept
    return estimator


def _likelihood(fit: Coefficients) -> LogisticRegression | PoissonRegressor | GammaRegressor:
    """Without regularisation; a multinomial model has a function for the first class as well, which is 0."""
    if fit.classes is None:
        estimator = (PoissonRegressor if fit.effect == "rate ratio" else GammaRegressor)(alpha=0)
        estimator.coef_, estimator.intercept_ = fit.coef, fit.intercept
        estimator._base_loss = estimator._get_loss()
        return estimator
    estimator, baseline = LogisticRegression(C=np.inf), int(len(fit.classes) > 2)
    estimator.coef_ = np.pad(np.atleast_2d(fit.coef), ((baseline, 0), (0, 0)))
    estimator.intercept_ = np.pad(np.array(fit.intercept, ndmin=1), (baseline, 0))
    estimator.classes_ = np.array(fit.classes)
    return estimator


def _discriminant(fit: Coefficients) -> LinearDiscriminantAnalysis:
    """Linear scores; for two classes their difference. The canonical variates of `transform` follow from them."""
    estimator, labels = LinearDiscriminantAnalysis(), np.array(fit.targets)
    assert fit.priors is not None
    assert fit.means is not None
    centre = fit.priors @ fit.means
    # With D the centred class means and S = Sw / n, coef = D inv(S). If diag(root) D inv(S) D' diag(root) = U s^2 U',
    # the columns of coef' diag(root) U / s are the canonical variates: V' S V = I, and coef = (D V) V'.
    root = np.sqrt(fit.priors)[:, None]
    power, U = np.linalg.eigh(root * (fit.coef @ (fit.means - centre).T) * root.T)
    n_components = min(len(labels) - 1, len(fit.names))
    power, U = np.maximum(power[::-1], 0.0)[:n_components], U[:, ::-1][:, :n_components]
    kept = power > (MIN_SINGULAR**2) * power[0]
    estimator.scalings_ = (fit.coef * root).T @ (U[:, kept] / np.sqrt(power[kept]))
    estimator.explained_variance_ratio_ = power / power.sum()
    estimator.classes_, estimator.priors_, estimator.means_ = labels, fit.priors, fit.means
    estimator.xbar_ = centre
    estimator.coef_, estimator.intercept_ = fit.coef, np.asarray(fit.intercept)
    if len(labels) == 2:
        estimator.coef_, estimator.intercept_ = np.diff(fit.coef, axis=0), np.diff(estimator.intercept_)
    estimator._max_components = estimator._n_features_out = n_components
    return estimator
