"""Names that other libraries use: the sentence that says which parameter or value of dropstep corresponds to them."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])

_SIGNIFICANCE = "use enter=Significance(0.15), and leave=Significance(...) for removals"
_SIZE = "use max_features, e.g. max_features=5"
_FOLDS = "use cv, e.g. cv=5, with model=... set to an estimator"
PARAMETERS = {
    "direction": "use strategy='forward', 'backward' or 'bidirectional' (R's direction='both')",
    "forward": "use strategy='forward' or strategy='backward'",
    "floating": "use strategy='floating'",
    "method": "use strategy, e.g. strategy='stepwise'",
    "n_features_to_select": _SIZE,
    "k_features": _SIZE,
    "n_features": _SIZE,
    "k": _SIZE,
    "nvmax": _SIZE,
    "support_size": _SIZE,
    "scoring": "use criterion, e.g. criterion='roc_auc' with model=... set to an estimator, or criterion='bic'",
    "metric": "use criterion, e.g. criterion='bic'",
    "estimator": "use model, e.g. model=LogisticRegression(), or model='logistic' for the exact search",
    "family": "use model, e.g. model='logistic' or model='poisson'",
    "tol": "use enter, the gain that a feature must exceed, e.g. enter=0.01",
    "alpha": "use enter (the gain that a feature must exceed), or enter=Significance(0.05)",
    "beta": "use leave (the loss up to which a feature is removed), or leave=Significance(0.05)",
    "threshold": "use enter, the gain that a feature must exceed",
    "threshold_in": _SIGNIFICANCE,
    "threshold_out": _SIGNIFICANCE,
    "slentry": _SIGNIFICANCE,
    "slstay": _SIGNIFICANCE,
    "p_enter": _SIGNIFICANCE,
    "pent": _SIGNIFICANCE,
    "cv_folds": _FOLDS,
    "folds": _FOLDS,
    "n_folds": _FOLDS,
    "fixed_features": "use include",
    "always_include": "use include",
    "feature_groups": "use groups",
    "weights": "use sample_weight",
    "seed": "use random_state",
    "random_seed": "use random_state",
    "rounds": "use strategy=FBED(rounds=2)",
    "width": "use strategy=Beam(width=10)",
    "verbose": "use callback=print to see every step, or print the path",
    "importance_getter": "gains need no importances; omit it",
}
VALUES = {
    "both": "bidirectional",
    "sfs": "forward",
    "sbs": "backward",
    "sffs": "floating",
    "rfe": "backward",
    "mallows": "cp",
    "adjr2": "adj_r2",
    "adjusted_r2": "adj_r2",
    "ols": "linear",
    "lm": "linear",
    "regression": "linear",
    "lda": "discriminant",
    "classification": "discriminant",
    "logit": "logistic",
    "binomial": "logistic",
    "coxph": "cox",
    "glm.nb": "negative_binomial",
    "negbin": "negative_binomial",
    "polr": "ordinal",
}


def unknown_parameter(function: str, name: str, known: Iterable[str]) -> TypeError:
    """The error for a parameter that does not exist, with the one that corresponds to it."""
    names = list(known)
    if name in PARAMETERS:
        hint = PARAMETERS[name]
    elif near := difflib.get_close_matches(name, names, n=1, cutoff=0.75):
        hint = f"did you mean {near[0]!r}?"
    else:
        hint = f"its parameters are {', '.join(names)}"
    return TypeError(f"{function} has no parameter {name!r}; {hint}")


def alias_of(text: str, known: Iterable[str]) -> str | None:
    """The known name that a text is in other letters or by the name of another library; None if it is none."""
    names, lower = set(known), text.lower().replace("-", "_")
    return next((name for name in (text, lower, VALUES.get(lower)) if name in names), None)


def similar_value(text: Any, known: Iterable[str]) -> str | None:
    """The known name that a text probably means: in other letters, by another name, or misspelt; None if none is."""
    if not isinstance(text, str):
        return None
    names = list(known)
    return alias_of(text, names) or next(iter(difflib.get_close_matches(text.lower(), names, n=1)), None)


def did_you_mean(text: Any, known: Iterable[str]) -> str:
    """The beginning of a hint, "did you mean 'aic'? "; empty if nothing is similar."""
    near = similar_value(text, known)
    return "" if near is None else f"did you mean {near!r}? "


def with_hints(init: Function) -> Function:
    """A constructor that names the parameter to use in place of one that it does not have."""

    @wraps(init)
    def checked(self: Any, *args: Any, **kwargs: Any) -> None:
        known = list(self.__dataclass_fields__)
        for name in kwargs:
            if name not in known:
                raise unknown_parameter(type(self).__name__, name, known)
        init(self, *args, **kwargs)

    return checked  # type: ignore[return-value]
