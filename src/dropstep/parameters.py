"""The parameters of a selection: one definition for `select`, `Selector`, the command line and the report."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from numbers import Integral
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from dropstep.synonyms import with_hints

if TYPE_CHECKING:
    from dropstep.models.estimator.family import Estimator
    from dropstep.models.glm.family import LikelihoodFamily
    from dropstep.models.least_squares.criteria import Criterion
    from dropstep.search.calibrated import Knockoffs, Permutation
    from dropstep.search.rules import Significance, StandardErrors
    from dropstep.search.strategies import FBED, Beam, Exhaustive

Function = TypeVar("Function", bound=Callable[..., Any])


@dataclass(eq=False, repr=False)
class Parameters:
    """Parameters of a selection and their defaults; `Selector` documents them."""

    strategy: str | FBED | Beam | Exhaustive = "dropping"
    model: (
        Literal["auto", "linear", "discriminant", "logistic", "poisson", "negative_binomial", "gamma", "ordinal", "cox"]
        | LikelihoodFamily
        | Estimator
        | Any
    ) = "auto"
    criterion: str | Criterion | Callable[..., float] = "auto"
    enter: float | Significance | StandardErrors | Permutation | Knockoffs | Literal["auto"] = "auto"
    leave: float | Significance | StandardErrors | Literal["auto"] = "auto"
    drop: float | Significance | StandardErrors | Literal["auto"] | None = None
    max_features: int | None = None
    include: Sequence[int | str] | int | str | None = None
    exclude: Sequence[int | str] | int | str | None = None
    groups: Any = None
    missing: Literal["error", "drop", "level"] = "error"
    solver: Literal["auto", "gram", "columns"] = "auto"
    cv: Any = None
    n_jobs: int | None = None
    random_state: int | None = None
    max_time: float | None = None
    checkpoint: str | os.PathLike[str] | None = None


Parameters.__init__ = with_hints(Parameters.__init__)  # type: ignore[method-assign]
DEFAULTS = {field.name: field.default for field in fields(Parameters)}
NAMES = tuple(DEFAULTS)
RESOURCES = ("n_jobs", "max_time", "checkpoint")  # parameters on which results do not depend


def non_default(parameters: Parameters) -> dict[str, Any]:
    """The parameters that are not at their default."""
    values = vars(parameters)
    return {name: values[name] for name, default in DEFAULTS.items() if not _same(values[name], default)}


def _same(value: Any, default: Any) -> bool:
    return value is default or (isinstance(value, str | int | float) and value == default)


def checked_seed(random_state: Any) -> int:
    """A seed; 0 for None."""
    if random_state is not None and (not isinstance(random_state, Integral) or random_state < 0):
        raise ValueError(f"random_state must be None or an integer from 0; got {random_state!r}")
    return 0 if random_state is None else int(random_state)


def with_parameters(function: Function) -> Function:
    """Show the parameters in the signature of a function that takes them as ``**parameters``."""
    signature = inspect.signature(function)
    own = [p for p in signature.parameters.values() if p.kind is not inspect.Parameter.VAR_KEYWORD]
    shared = list(inspect.signature(Parameters).parameters.values())
    keywords = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in shared if p.name not in signature.parameters]
    first = [p for p in own if p.kind is not inspect.Parameter.KEYWORD_ONLY]
    last = [p for p in own if p.kind is inspect.Parameter.KEYWORD_ONLY]
    function.__signature__ = signature.replace(parameters=[*first, *keywords, *last])  # type: ignore[attr-defined]
    return function
