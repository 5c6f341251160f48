"""Estimators on the command line: a class of scikit-learn with its parameters, and how it is fitted."""

from __future__ import annotations

import argparse
import ast
import importlib
from typing import Any


def estimator_of(text: str) -> Any:
    """An estimator: sklearn.ensemble:RandomForestClassifier:n_estimators=50,max_depth=3."""
    module, _, named = text.partition(":")
    name, _, arguments = named.partition(":")
    if not name:
        raise argparse.ArgumentTypeError(f"an estimator is written MODULE:CLASS, such as sklearn.svm:SVC; got {text!r}")
    try:
        estimator = getattr(importlib.import_module(module), name)(**_arguments(arguments))
    except (ImportError, AttributeError, TypeError) as error:
        raise argparse.ArgumentTypeError(f"{module}:{name} cannot be created ({error})") from None
    if not hasattr(estimator, "fit") or not hasattr(estimator, "get_params"):
        raise argparse.ArgumentTypeError(f"{module}:{name} is not an estimator of scikit-learn; it has no fit")
    return estimator


def _arguments(text: str) -> dict[str, Any]:
    """Parameters as KEY=VALUE; a value that is no literal of Python is text."""
    found = {}
    for part in filter(None, text.split(",")):
        key, equals, value = part.partition("=")
        if not equals:
            raise argparse.ArgumentTypeError(f"parameters are written KEY=VALUE; got {part!r}")
        try:
            found[key] = ast.literal_eval(value)
        except (ValueError, SyntaxError):
            found[key] = value
    return found


def is_scorer(name: str) -> bool:
    """Whether a criterion is the name of a scorer."""
    from dropstep.models.estimator.scoring import scorer_names

    return name in scorer_names()
