"""Names with parameters on the command line: cp:sigma2=2,per_sample or fbed:rounds=2."""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Mapping
from typing import Any, TypeVar

from dropstep.cli.estimators import estimator_of, is_scorer
from dropstep.models.families import FAMILIES
from dropstep.models.glm.family import LikelihoodFamily
from dropstep.models.least_squares.criteria import CRITERIA, Criterion
from dropstep.search.strategies import FBED, STRATEGIES, Beam, Exhaustive
from dropstep.synonyms import alias_of, did_you_mean

Named = TypeVar("Named")

ParametricStrategy = FBED | Beam | Exhaustive

PARAMETRIC_STRATEGIES: Mapping[str, type[ParametricStrategy]] = {
    "fbed": FBED,
    "beam": Beam,
    "exhaustive": Exhaustive,
}


def criterion_of(text: str) -> str | Criterion:
    """A criterion by name, with parameters (cp:sigma2=2,per_sample), or a scorer of scikit-learn."""
    names = ["auto", *CRITERIA, "cv", "deviance"]
    if text.partition(":")[0] not in names and is_scorer(text):
        return text
    return _named("criterion", text, names, CRITERIA)


def model_of(text: str) -> Any:
    """A model by name, with parameters (logistic:shortlist=16, cox:ties=breslow), or an estimator (sklearn.svm:SVC)."""
    if ":" in text and text.partition(":")[0] not in FAMILIES:
        return estimator_of(text)
    families = {name: type(family) for name, family in FAMILIES.items() if isinstance(family, LikelihoodFamily)}
    return _named("model", text, list(FAMILIES), families)


def strategy_of(text: str) -> str | ParametricStrategy:
    """A strategy by name, or with parameters: fbed:rounds=2, beam:width=5, exhaustive:n_best=3."""
    return _named("strategy", text, list(STRATEGIES), PARAMETRIC_STRATEGIES)


def _named(what: str, text: str, names: list[str], classes: Mapping[str, type[Named]]) -> str | Named:
    """A name, or an object of the class of that name."""
    given, _, arguments = text.partition(":")
    name = alias_of(given, names)
    if name is None:
        hint = did_you_mean(given, names)
        raise argparse.ArgumentTypeError(f"unknown {what} {given!r}; {hint}choose from {', '.join(names)}")
    if not arguments:
        return name
    known = parameters(classes.get(name))
    values = {}
    for part in arguments.split(","):
        key, _, value = part.partition("=")
        if key not in known:
            takes = f"takes {', '.join(known)}" if known else "takes no parameters"
            raise argparse.ArgumentTypeError(f"{name} {takes}; got {key!r}")
        values[key] = _parameter(key, value, known[key])
    try:
        return classes[name](**values)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def parameters(named: Any) -> dict[str, str]:
    """Parameters of a class that the command line accepts, and their types."""
    if named is None or not dataclasses.is_dataclass(named):
        return {}
    types = {field.name: str(field.type) for field in dataclasses.fields(named) if field.init}
    return {name: kind for name, kind in types.items() if kind.split(" |")[0] in ("float", "int", "bool", "Ties")}


def _parameter(key: str, value: str, kind: str) -> float | int | bool | str | None:
    if kind == "Ties":
        return value
    if kind.endswith("None") and value == "none":
        return None
    if kind.startswith("bool"):
        answers = {"": True, "true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
        if value.lower() not in answers:
            raise argparse.ArgumentTypeError(f"{key} must be true or false; got {value!r}")
        return answers[value.lower()]
    try:
        return int(value) if kind.startswith("int") else float(value)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{key} must be a number; got {value!r}") from None
