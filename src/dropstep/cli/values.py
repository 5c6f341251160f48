"""Values of options: names with parameters, estimators, rules and characters, from their text.

A ValueError says why a text has no value.
"""

from __future__ import annotations

import ast
import dataclasses
import importlib
import math
from collections.abc import Mapping
from typing import Any

from dropstep.models.families import FAMILIES
from dropstep.models.least_squares.criteria import CRITERIA
from dropstep.parameters import Domain, is_whole
from dropstep.search.rules import Knockoffs, Permutation, Significance
from dropstep.search.strategies import STRATEGIES
from dropstep.synonyms import alias_of, did_you_mean

RULES = {"permutation": Permutation, "knockoffs": Knockoffs}
SEPARATORS = {"tab": "\t", "\\t": "\t", "space": " ", "comma": ",", "semicolon": ";"}
CHOICES = ("Ties", "Link", "Dispersion")  # types of parameters that are one of some values
FLAGS = {"": True, "true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}

HALVES = Domain(
    "an even number of half-samples from 2", lambda value: is_whole(value) and value >= 2 and value % 2 == 0, int
)
SHARE = Domain("a share of the rows between 0 and 1, such as 0.3", lambda value: 0 < value < 1, float)
CHARACTER = Domain(
    "one character of ASCII", lambda value: isinstance(value, str) and len(value) == 1 and value.isascii()
)


def separator(text: str) -> str:
    """A character, or the name of one."""
    return SEPARATORS.get(text) or str(CHARACTER.read(text))


# --- names with parameters -------------------------------------------------------------------------------------------


def strategy_of(text: str) -> Any:
    """A strategy by name, or with parameters: fbed:rounds=2, beam:width=5, exhaustive:n_best=3."""
    return _named("strategy", text, {name: type(strategy) for name, strategy in STRATEGIES.items()})


def strategies_of(text: str) -> tuple[str, ...]:
    """Names of strategies, separated by commas."""
    given = [name.strip() for name in text.split(",") if name.strip()]
    names = [alias_of(name, STRATEGIES) for name in given]
    if None in names or not names:
        hint = did_you_mean(given[names.index(None)], STRATEGIES) if names else ""
        raise ValueError(f"unknown strategy in {text!r}; {hint}choose from {', '.join(STRATEGIES)}")
    return tuple(dict.fromkeys(name for name in names if name is not None))


def criterion_of(text: str) -> Any:
    """A criterion by name, with parameters (cp:sigma2=2,per_sample), or a scorer of scikit-learn."""
    kinds: dict[str, Any] = {"auto": None, **CRITERIA, "cv": None, "deviance": None}
    if text.partition(":")[0] not in kinds and _is_scorer(text):
        return text
    return _named("criterion", text, kinds)


def _is_scorer(text: str) -> bool:
    from dropstep.models.estimator.scoring import scorer_names

    return text in scorer_names()


def model_of(text: str) -> Any:
    """A model by name, with parameters (logistic:shortlist=16, cox:ties=breslow), or an estimator (sklearn.svm:SVC)."""
    if ":" in text and text.partition(":")[0] not in FAMILIES:
        return _estimator(text)
    return _named("model", text, {name: type(family) for name, family in FAMILIES.items()})


def _named(what: str, text: str, kinds: Mapping[str, Any]) -> Any:
    """A name, or an object of the class of that name with the parameters that follow it."""
    given, _, arguments = text.partition(":")
    name = alias_of(given, kinds)
    if name is None:
        raise ValueError(f"unknown {what} {given!r}; {did_you_mean(given, kinds)}choose from {', '.join(kinds)}")
    if not arguments:
        return name
    known, values = _parameters_of(kinds[name]), {}
    for part in arguments.split(","):
        key, _, value = part.partition("=")
        if key not in known:
            takes = f"takes {', '.join(known)}" if known else "takes no parameters"
            raise ValueError(f"{name} {takes}; got {key!r}")
        values[key] = _value(key, value, known[key])
    return kinds[name](**values)


def _parameters_of(kind: Any) -> dict[str, str]:
    """Parameters of a class that can be written as text, and their types."""
    fields = dataclasses.fields(kind) if dataclasses.is_dataclass(kind) else ()
    types = {field.name: str(field.type) for field in fields if field.init}
    return {name: of for name, of in types.items() if of.split(" |")[0] in ("float", "int", "bool", *CHOICES)}


def _value(key: str, text: str, kind: str) -> float | int | bool | str | None:
    """A parameter of a type."""
    if kind in CHOICES:
        return int(text) if text.isdecimal() else text
    if kind.endswith("None") and text == "none":
        return None
    if kind == "bool":
        if text.lower() not in FLAGS:
            raise ValueError(f"{key} must be true or false; got {text!r}")
        return FLAGS[text.lower()]
    try:
        return int(text) if kind.startswith("int") else float(text)
    except ValueError:
        raise ValueError(f"{key} must be a number; got {text!r}") from None


def rule_of(text: str) -> Any:
    """A number in units of the criterion, auto, a significance level (p0.05), or a rule such as permutation:0.05."""
    name, colon, value = text.partition(":")
    if text == "auto":
        return text
    if colon and name in RULES:
        try:
            return RULES[name](float(value))
        except ValueError:
            raise ValueError(f"must be {name}: and a share between 0 and 1; got {text!r}") from None
    try:
        number = float(text.removeprefix("p"))
    except ValueError:
        number = math.nan
    if math.isnan(number):
        raise ValueError(f"must be auto, a number, or a significance level such as p0.05; got {text!r}")
    if text.startswith("p") and not 0 < number < 1:
        raise ValueError(f"a significance level must lie between 0 and 1; got {text!r}")
    return Significance(number) if text.startswith("p") else number


# --- estimators ------------------------------------------------------------------------------------------------------


def _estimator(text: str) -> Any:
    """An estimator: sklearn.ensemble:RandomForestClassifier:n_estimators=50,max_depth=3.

    Only a class with `fit` and `get_params` is called; anything else that a module holds, such as os:system, is not.
    """
    module, _, named = text.partition(":")
    name, _, arguments = named.partition(":")
    if not name:
        raise ValueError(f"an estimator is written MODULE:CLASS, such as sklearn.svm:SVC; got {text!r}")
    values = dict(map(_literal, _parts(arguments)))
    try:
        found = getattr(importlib.import_module(module), name)
        if isinstance(found, type) and hasattr(found, "fit") and hasattr(found, "get_params"):
            return found(**values)
    except (ImportError, AttributeError, TypeError, ValueError) as error:
        raise ValueError(f"{module}:{name} cannot be created ({error})") from None
    raise ValueError(f"{module}:{name} is not an estimator of scikit-learn: it must be a class with fit and get_params")


def _literal(part: str) -> tuple[str, Any]:
    """A parameter as KEY=VALUE; a value that is no literal of Python is text."""
    key, equals, value = part.partition("=")
    if not equals:
        raise ValueError(f"parameters are written KEY=VALUE; got {part!r}")
    try:
        return key.strip(), ast.literal_eval(value.strip())
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return key.strip(), value


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
