"""Python code that reproduces a path: the imports, then a call of `select` with its parameters as literals."""

from __future__ import annotations

import inspect
import math
from collections.abc import Iterable, KeysView, Mapping, Set, ValuesView
from dataclasses import MISSING, fields, is_dataclass
from importlib import import_module
from numbers import Integral, Real
from typing import Any

from dropstep.result import SelectionPath, StopReason

MAX_WIDTH = 88  # a longer call is split into one line per parameter

Import = tuple[str, str]  # a module, and the name imported from it ("" for the module itself)
Literal = tuple[str, frozenset[Import]]  # the code, and the imports it needs
NOTHING: frozenset[Import] = frozenset()


class NoLiteralError(ValueError):
    """A value that cannot be written as a literal."""


def snippet(path: SelectionPath) -> str:
    """Write the code that computes a path from X and y, and from what else was given per row.

    Parameters
    ----------
    path : SelectionPath
        Path to reproduce.

    Returns
    -------
    str
        Python code; parameters without a literal are assigned ``...`` with a comment.
    """
    imports: set[Import] = {("dropstep", "select")}
    before: list[str] = []
    arguments = ["X", "y"]
    if path.from_moments:
        imports.add(("dropstep", "Moments"))
        before.append(f"moments = Moments.of(X, y, model={path.model!r})  # or the Moments that were passed")
        arguments = ["moments"]
    for name, value in _parameters(path).items():
        try:
            code, needed = literal(value)
        except NoLiteralError:
            before.append(f"{name} = ...  # fill in: an object of type {type(value).__name__} was passed")
            code, needed = name, NOTHING
        imports |= needed
        arguments.append(f"{name}={code}")
    if path.weighted:
        arguments.append("sample_weight=sample_weight")
    arguments += [f"{name}={name}" for name in path.per_row]
    if path.stop is StopReason.CALLBACK:
        before.append("callback = ...  # fill in: a callback stopped the search")
        arguments.append("callback=callback")
    return "\n".join([*_import_lines(imports), "", *before, _call(arguments)])


def _parameters(path: SelectionPath) -> dict[str, Any]:
    """The parameters that were passed, with the model and the solver that were used."""
    passed = {name: value for name, value in path.params.items() if name not in ("model", "solver")}
    first = {"strategy": passed.pop("strategy")} if "strategy" in passed else {}
    if path.from_moments:
        parameters = {**first, **passed}
    elif path.solver == "fits":  # an estimator
        parameters = {**first, "model": path.params["model"], **passed}
    else:
        given = path.params.get("model")
        model = path.model if given is None or isinstance(given, str) else given
        parameters = {**first, "model": model, **passed, "solver": path.solver}
    return parameters if path.equivalents is None else {**parameters, "equivalents": True}


def _call(arguments: list[str]) -> str:
    line = f"path = select({', '.join(arguments)})"
    if len(line) <= MAX_WIDTH:
        return line
    return "\n".join(["path = select(", *(f"    {argument}," for argument in arguments), ")"])


def _import_lines(imports: set[Import]) -> list[str]:
    """Modules first, then one line per module with the names imported from it."""
    names_of: dict[str, list[str]] = {}
    for module, name in sorted(imports):
        names_of.setdefault(module, []).append(name)
    modules = [f"import {module}" for module, names in names_of.items() if names == [""]]
    return modules + [f"from {module} import {', '.join(names)}" for module, names in names_of.items() if names != [""]]


# --- literals --------------------------------------------------------------------------------------------------------


def code_of(value: Any) -> str:
    """A value as Python code, or the name of its type if it has no literal."""
    try:
        return literal(value)[0]
    except NoLiteralError:
        return type(value).__name__


def literal(value: Any) -> Literal:
    """A value as Python code; NumPy and pandas values become numbers, text and lists."""
    if hasattr(value, "tolist"):  # arrays and scalars of NumPy, Series and Index
        value = value.tolist()
    if value is None or isinstance(value, bool | bytes):
        return repr(value), NOTHING
    if isinstance(value, str):
        return str.__repr__(value), NOTHING
    if isinstance(value, Integral):
        return repr(int(value)), NOTHING
    if isinstance(value, Real):
        return _number(float(value))
    if isinstance(value, range):
        return f"range({int(value.start)}, {int(value.stop)}, {int(value.step)})", NOTHING
    return _collection(value)


def _number(value: float) -> Literal:
    if math.isfinite(value):
        return repr(value), NOTHING
    sign = "-" if value < 0 else ""
    return f"{sign}math.{'nan' if math.isnan(value) else 'inf'}", frozenset({("math", "")})


def _collection(value: Any) -> Literal:
    if isinstance(value, Mapping):
        pairs = [(literal(key), literal(item)) for key, item in value.items()]
        needed = [part[1] for pair in pairs for part in pair]
        return "{" + ", ".join(f"{key[0]}: {item[0]}" for key, item in pairs) + "}", NOTHING.union(*needed)
    if isinstance(value, list | KeysView | ValuesView):
        return _joined(value, "[", "]")
    if isinstance(value, tuple):
        return _joined(value, "(", ",)" if len(value) == 1 else ")")
    if isinstance(value, Set):
        return _joined(_sorted(value), "{", "}") if value else ("set()", NOTHING)
    return _object(value)


def _joined(values: Iterable[Any], start: str, end: str) -> Literal:
    parts = [literal(value) for value in values]
    return start + ", ".join(code for code, _ in parts) + end, NOTHING.union(*(needed for _, needed in parts))


def _sorted(values: Set[Any]) -> list[Any]:
    """The elements of a set in a reproducible order."""
    try:
        return sorted(values)
    except TypeError:  # text and numbers
        return sorted(values, key=repr)


def _object(value: Any) -> Literal:
    """A criterion or a rule of dropstep: its class, with the parameters that differ from their defaults."""
    kind = type(value)
    if hasattr(value, "get_params"):
        return _estimator(value)
    if not is_dataclass(value) or kind.__module__.split(".")[0] != "dropstep":
        raise NoLiteralError(f"{value!r} has no literal")
    parts, needed = [], {_origin(kind)}
    for parameter in fields(value):
        given = getattr(value, parameter.name)
        if parameter.init and (parameter.default is MISSING or given is not parameter.default):
            code, more = literal(given)
            parts.append(f"{parameter.name}={code}")
            needed |= more
    return f"{kind.__name__}({', '.join(parts)})", frozenset(needed)


def _estimator(value: Any) -> Literal:
    """An estimator: its class, with the parameters that differ from their defaults."""
    kind = type(value)
    if "<locals>" in kind.__qualname__:
        raise NoLiteralError(f"{kind.__qualname__} cannot be imported")
    defaults = {name: p.default for name, p in inspect.signature(kind).parameters.items()}
    parts, needed = [], {(kind.__module__.split("._")[0], kind.__name__)}  # scikit-learn's own modules are private
    for name, given in value.get_params(deep=False).items():
        code, more = literal(given)
        if defaults.get(name) is inspect.Parameter.empty or code != _code(defaults.get(name)):
            parts.append(f"{name}={code}")
            needed |= more
    return f"{kind.__name__}({', '.join(parts)})", frozenset(needed)


def _code(default: Any) -> str | None:
    """The code of a default; None if it has no literal."""
    try:
        return literal(default)[0]
    except NoLiteralError:
        return None


def _origin(kind: type) -> Import:
    """Where to import a class from: the package itself if it exports the class."""
    public = getattr(import_module("dropstep"), kind.__name__, None)
    return ("dropstep" if public is kind else kind.__module__), kind.__name__
