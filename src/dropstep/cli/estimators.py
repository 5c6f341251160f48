"""Estimators on the command line: a class of scikit-learn with its parameters, and how it is fitted."""

from __future__ import annotations

import argparse
import ast
import importlib
from typing import Any


def estimator_of(text: str) -> Any:
    """An estimator: sklearn.ensemble:RandomForestClassifier:n_estimators=50,max_depth=3.

    Only a class with `fit` and `get_params` is called; anything else that a module holds, such as os:system, is not.
    """
    module, _, named = text.partition(":")
    name, _, arguments = named.partition(":")
    if not name:
        raise argparse.ArgumentTypeError(f"an estimator is written MODULE:CLASS, such as sklearn.svm:SVC; got {text!r}")
    try:
        found = getattr(importlib.import_module(module), name)
        if not isinstance(found, type) or not hasattr(found, "fit") or not hasattr(found, "get_params"):
            raise argparse.ArgumentTypeError(
                f"{module}:{name} is not an estimator of scikit-learn: it must be a class with fit and get_params"
            )
        return found(**_arguments(arguments))
    except (ImportError, AttributeError, TypeError, ValueError) as error:
        raise argparse.ArgumentTypeError(f"{module}:{name} cannot be created ({error})") from None


def _arguments(text: str) -> dict[str, Any]:
    """Parameters as KEY=VALUE; a value that is no literal of Python is text."""
    found = {}
    for part in _parts(text):
        key, equals, value = part.partition("=")
        if not equals:
            raise argparse.ArgumentTypeError(f"parameters are written KEY=VALUE; got {part!r}")
        try:
            found[key.strip()] = ast.literal_eval(value.strip())
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            found[key.strip()] = value
    return found


def _parts(text: str) -> list[str]:
    """A text split at its commas, except at those within brackets or quotes."""
    parts, depth, quote = [""], 0, ""
    for character in text:
        if quote:
            quote = "" if character == quote else quote
        elif character in "'\"":
            quote = character
        else:
            depth += (character in "([{") - (character in ")]}")
        if character == "," and not quote and depth <= 0:
            parts.append("")
        else:
            parts[-1] += character
    return [part for part in parts if part]


def is_scorer(name: str) -> bool:
    """Whether a criterion is the name of a scorer."""
    from dropstep.models.estimator.scoring import scorer_names

    return name in scorer_names()
