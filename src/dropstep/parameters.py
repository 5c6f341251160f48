"""The parameters of a selection. Each has one entry: its default, its check, its option and its documentation.

`select`, the transformers, `compare`, `stability`, the command line and the report follow these entries.
"""

from __future__ import annotations

import inspect
import json
import math
import os
import re
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar

from dropstep.synonyms import unknown_parameter, with_hints

if TYPE_CHECKING:
    from dropstep.models.estimator.family import Estimator
    from dropstep.models.glm.family import LikelihoodFamily
    from dropstep.models.least_squares.criteria import Criterion
    from dropstep.search.rules import Knockoffs, Permutation, Significance, StandardErrors
    from dropstep.search.strategies import FBED, Beam, Exhaustive

T = TypeVar("T")
Described = TypeVar("Described", bound=Callable[..., Any])
Command = Literal["select", "compare", "moments"]


# --- values ----------------------------------------------------------------------------------------------------------


class Domain(NamedTuple):
    """The values that a parameter or an option takes.

    Attributes
    ----------
    what : str
        What they are, as in "must be a whole number from 1".
    contains : callable
        Whether a value is one of them.
    parse : callable
        A value from the text on a command line; a ValueError refuses the text.
    choices : tuple of str
        All values, if they are names.
    """

    what: str
    contains: Callable[[Any], bool]
    parse: Callable[[str], Any] = str
    choices: tuple[str, ...] = ()

    def check(self, name: str, value: Any, *, optional: bool = False) -> None:
        """Raise unless a value is in the domain, or None where that is allowed."""
        if not (optional and value is None) and not self.contains(value):
            raise ValueError(f"{name} must be {'None or ' if optional else ''}{self.what}; got {value!r}")

    def read(self, text: str) -> Any:
        """The value that a text stands for."""
        try:
            value = self.parse(text)
        except ValueError:
            value = math.nan
        if not self.contains(value):
            raise ValueError(f"must be {self.what}; got {text!r}")
        return value


def is_whole(value: Any) -> bool:
    """Whether a value is a whole number."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def whole(least: int) -> Domain:
    """Whole numbers from the least one on."""
    return Domain(f"a whole number from {least}", lambda value: is_whole(value) and value >= least, int)


def one_of(*names: str) -> Domain:
    """Names."""
    listed = ", ".join(map(repr, names))
    return Domain(f"one of {listed}", lambda value: isinstance(value, str) and value in names, choices=names)


def _is_positive(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool) and float(value) > 0


def _divides_rows(value: Any) -> bool:
    if isinstance(value, bool | Integral):
        return NUMBER_OF_FOLDS.contains(value)
    return hasattr(value, "split") or isinstance(value, Iterable)  # text has `split`: scikit-learn refuses it


SECONDS = Domain("a positive number of seconds", _is_positive, float)
NUMBER_OF_FOLDS = whole(2)
FOLDS = Domain("an integer from 2, a splitter or an iterable of folds", _divides_rows)
PROCESSES = Domain(
    "an integer from 1, or -1 for one process per core", lambda value: is_whole(value) and value != 0, int
)
SEED = whole(0)
FILE = Domain("the name of a file", lambda value: isinstance(value, str | os.PathLike))


# --- entries ---------------------------------------------------------------------------------------------------------


class Option(NamedTuple):
    """How a parameter is given on the command line.

    Attributes
    ----------
    help : str
        What it does; names in braces stand for lists of strategies, models and criteria.
    metavar : str or None
        What its value stands for; None where the values are listed.
    flag : str
        Its name, if that is not the name of the parameter.
    commands : tuple of str
        The commands that have it.
    section : str
        Where the help of these commands lists it.
    domain : Domain or None
        The values it takes, where those of the parameter cannot be written as text.
    repeated : bool
        Whether the option may be repeated; its values are then a list.
    """

    help: str
    metavar: str | None = None
    flag: str = ""
    commands: tuple[Command, ...] = ("select", "compare", "moments")
    section: Literal["input", "search", "estimators"] = "search"
    domain: Domain | None = None
    repeated: bool = False


class Parameter(NamedTuple):
    """What is known of a parameter.

    Attributes
    ----------
    name : str
    default : object
    kind : str
        Its type, as docstrings give it.
    text : str
        What it does, for docstrings.
    domain : Domain or None
        The values it takes; None where the search, the model or the table decides.
    option : Option or None
        None if the command line does not have it.
    """

    name: str
    default: Any
    kind: str
    text: str
    domain: Domain | None = None
    option: Option | None = None

    @property
    def flag(self) -> str:
        """The name of its option."""
        return (self.option and self.option.flag) or f"--{self.name.replace('_', '-')}"

    def check(self, value: Any) -> None:
        """Raise if it does not take a value."""
        if self.domain is not None:
            self.domain.check(self.name, value, optional=self.default is None)

    def documentation(self) -> str:
        """Its entry in a docstring."""
        default = json.dumps(self.default) if isinstance(self.default, str) else repr(self.default)
        return f"{self.name} : {self.kind}, default={default}\n" + textwrap.indent(self.text, "    ")


def parameter(default: T, kind: str, text: str, domain: Domain | None = None, option: Option | None = None) -> T:
    """The entry of a parameter, as a field of a dataclass."""
    return field(default=default, metadata={"entry": (kind, inspect.cleandoc(text), domain, option)})


def entries_of(kind: type) -> dict[str, Parameter]:
    """The entries of a dataclass of parameters, by name."""
    found = [each for each in fields(kind) if "entry" in each.metadata]
    return {each.name: Parameter(each.name, each.default, *each.metadata["entry"]) for each in found}


@dataclass(eq=False, repr=False)
class Parameters:
    """The parameters of a selection, with their defaults."""

    strategy: str | FBED | Beam | Exhaustive = parameter(
        "dropping",
        "str, FBED, Beam or Exhaustive",
        """
        "dropping": forward selection with early dropping, a second forward pass over dropped candidates, then one
        backward pass. Others: "forward", "backward", "stepwise", "bidirectional", "forward_backward", "fbed",
        "floating", "swap", "beam", "exhaustive"; see ``dropstep.search.strategies``. An object takes parameters, e.g.
        ``FBED(rounds=2)``, ``Beam(width=5)`` or ``Exhaustive(n_best=3)``.
        """,
        option=Option(
            "{strategies}, with parameters as in beam:width=5 or exhaustive:n_best=3 (default: dropping)",
            "NAME",
            commands=("select", "moments"),
        ),
    )
    model: (
        Literal["auto", "linear", "discriminant", "logistic", "poisson", "negative_binomial", "gamma", "ordinal", "cox"]
        | LikelihoodFamily
        | Estimator
        | Any
    ) = parameter(
        "auto",
        "str, Logistic, Ordinal, Poisson, NegativeBinomial, Gamma, Cox, Estimator or estimator",
        """
        "linear" (least squares), "discriminant" (separation of classes), "logistic", "ordinal", "poisson",
        "negative_binomial", "gamma" or "cox"; or a scikit-learn estimator, whose features are selected by
        cross-validation. An object takes parameters, e.g.
        ``Logistic(shortlist=16)`` or ``Estimator(estimator, racing=False)``. "auto" is "linear" or "discriminant": y
        holds classes if it is text, boolean, two distinct integers, or up to 32 distinct integers that occur 4 times
        each on average.
        """,
        option=Option(
            "{models}, with parameters as in logistic:shortlist=16 (default: linear or discriminant, by the type of "
            "the target); or an estimator, as in sklearn.ensemble:RandomForestClassifier:n_estimators=50",
            "NAME[:KEY=VALUE]|MODULE:CLASS",
        ),
    )
    criterion: str | Criterion | Callable[..., float] = parameter(
        "auto",
        "str, Criterion or callable",
        """
        linear: rss, r2, adj_r2, cp, aic, aicc, bic, ebic, hqc, sawa, amemiya, press, cv; discriminant: trace, pillai,
        wilks, roy, cv; likelihoods: aic, aicc, bic, ebic, deviance; estimators: the name of a scorer, or a callable
        ``scorer(estimator, X, y)``. "auto" is r2 for "linear", trace for "discriminant", deviance for likelihoods, and
        the estimator's own score; ebic for strategy "exhaustive", which compares sizes (trace for "discriminant"). An
        object takes parameters, e.g. ``MallowsCp(sigma2=2.0)``.
        """,
        option=Option(
            "linear: {linear} cv (default: r2); discriminant: {discriminant} cv (default: trace); other models: "
            "{likelihoods} (default: deviance); estimators: a scorer of scikit-learn, such as roc_auc; with parameters "
            "as in cp:sigma2=2 or ebic:gamma=0.5",
            "NAME[:KEY=VALUE,...]",
        ),
    )
    enter: float | Significance | StandardErrors | Permutation | Knockoffs | Literal["auto"] = parameter(
        "auto",
        'float, Significance, Permutation, Knockoffs, StandardErrors or "auto"',
        """
        A gain must exceed it (the paper's alpha). "auto" is 0 for criteria that charge for size (cp, aic, aicc, bic,
        ebic, hqc, sawa, amemiya, press), and one standard error of the paired fold differences for cv and estimators;
        for the others it is ``Significance(0.05, "fdr")``: the k-th of m features enters if its partial F test
        (likelihoods: score test) is significant at level 0.05 k / m, and where the feature and the residual are both
        far from normal, if a saddlepoint test is as well. `Significance` is a plain test at any level, `Permutation` a
        test by permuted residuals (linear, discriminant); `Knockoffs` controls the share of false selections of
        strategy "forward". -inf adds features until `max_features` is reached. Strategy "exhaustive" maximises the
        score less `enter` per feature; without a penalty, "auto" is the best set of `max_features`.
        """,
        option=Option(
            "a feature enters if its gain exceeds GAIN, or if it is significant at LEVEL, as in p0.15; or "
            "permutation:0.05, or knockoffs:0.1 (with --strategy forward)",
            "GAIN|pLEVEL|RULE",
        ),
    )
    leave: float | Significance | StandardErrors | Literal["auto"] = parameter(
        "auto",
        'float, Significance, StandardErrors or "auto"',
        """
        A loss up to it is accepted in backward steps (the paper's beta). "auto" follows an explicit `enter`; where
        that is "auto" too, each of k features leaves if it is not significant at 0.05 k / m, by its partial F test or,
        for likelihoods, the likelihood ratio of the refit.
        """,
        option=Option(
            "a feature leaves if its loss is at most LOSS, or if it is not significant (default: as --enter)",
            "LOSS|pLEVEL",
        ),
    )
    drop: float | Significance | StandardErrors | Literal["auto"] | None = parameter(
        None,
        'float, Significance, StandardErrors, "auto" or None',
        """
        A candidate whose gain is up to it is dropped until the second forward pass. None follows `leave` where that is
        a number, and is the test at 0.05 otherwise. "auto" is 0 or that test.
        """,
        option=Option(
            "a candidate is dropped if its gain is at most GAIN, or if it is not significant (default: as --leave)",
            "GAIN|pLEVEL",
        ),
    )
    max_features: int | None = parameter(
        None,
        "int or None",
        """
        Maximum number of features or groups, including those in `include`. At that size, "dropping" and "fbed" recall
        what was dropped, and exchange features while the score improves.
        """,
        whole(1),
        Option("maximum number of columns of the file to select; a group of --groups counts once", "N"),
    )
    include: Sequence[int | str] | int | str | None = parameter(
        None,
        "sequence of int or str",
        "Features, by index or name, that are selected from the start and never removed.",
        option=Option("included from the start and never removed", "COLS", repeated=True),
    )
    exclude: Sequence[int | str] | int | str | None = parameter(
        None,
        "sequence of int or str",
        "Features, by index or name, that are never considered.",
        option=Option("excluded from the search", "COLS", repeated=True),
    )
    groups: Any = parameter(
        None,
        "sequence, str or callable",
        """
        One label per feature, or a list of lists of features. A group is added, removed and dropped as a whole. Text
        is a prefix: the features whose names start with it form a group, so that ``groups=("color_", "size_")`` keeps
        the columns of a one-hot encoder together. A callable returns the label of a feature from its name, or from its
        index if there are no names; None for a feature without a group.
        """,
        option=Option("selected as a whole; repeat the option for each group", "COLS", repeated=True),
    )
    missing: Literal["error", "drop", "level"] = parameter(
        "error",
        '{"error", "drop", "level"}',
        """
        What to do with missing values (NaN, None, NaT, NA or null). "drop" ignores the rows in which a feature that is
        not excluded, the target or the weight is missing or infinite, with a note in ``path_.notes``; "level" makes
        missing values of a text or categorical column a level of their own, and raises for missing numbers.
        """,
        one_of("error", "drop", "level"),
        Option(
            "drop rows or columns with missing or infinite values, or make missing text a level (default: error)",
            commands=("select", "compare"),
            section="input",
            domain=one_of("error", "drop", "level", "drop-columns"),
        ),
    )
    solver: Literal["auto", "gram", "columns"] = parameter(
        "auto",
        '{"auto", "gram", "columns"}',
        """
        "gram" precomputes the Gram matrix in one pass over the rows, "columns" computes its rows on demand. "auto"
        chooses by cost, and changes to columns where the Gram matrix would lose too many digits.
        """,
        one_of("auto", "gram", "columns"),
        Option("precompute the Gram matrix, or compute its rows on demand (default: by cost)"),
    )
    cv: Any = parameter(
        None,
        "int, splitter or iterable",
        """
        Folds of criterion "cv" and of an estimator, the same for all candidates; None is 5. An integer stratifies
        classes, and keeps the rows of one of `sample_groups` together.
        """,
        FOLDS,
        Option(
            "number of cross-validation folds (default: 5)",
            "N",
            commands=("select",),
            section="estimators",
            domain=NUMBER_OF_FOLDS,
        ),
    )
    n_jobs: int | None = parameter(
        None,
        "int",
        "Number of processes that fit estimators. Results do not depend on it.",
        PROCESSES,
        Option(
            "number of processes; -1 is one per core (default: 1)",
            "N",
            flag="--jobs",
            commands=("select",),
            section="estimators",
        ),
    )
    random_state: int | None = parameter(
        None,
        "int",
        """
        Seed of the order of the folds, of estimators whose own `random_state` is None, and of the rules `Permutation`
        and `Knockoffs`; None is 0.
        """,
        SEED,
        Option("random seed of the folds' order and of the estimator", "N", commands=("select",), section="estimators"),
    )
    max_time: float | None = parameter(
        None,
        "float",
        "Seconds after which the search ends with the path so far.",
        SECONDS,
        Option("end the search after SECONDS with the path so far", "SECONDS", commands=("select",)),
    )
    checkpoint: str | os.PathLike[str] | None = parameter(
        None,
        "str or path-like",
        """
        File to which every fit of an estimator is written, and from which a search with the same data and parameters
        resumes.
        """,
        FILE,
        Option("write every fit to FILE, and resume from it", "FILE", commands=("select",), section="estimators"),
    )


Parameters.__init__ = with_hints(Parameters.__init__)  # type: ignore[method-assign]
ENTRIES = entries_of(Parameters)
DEFAULTS = {name: entry.default for name, entry in ENTRIES.items()}
NAMES = tuple(DEFAULTS)
RESOURCES = ("n_jobs", "max_time", "checkpoint")  # parameters on which results do not depend


# --- use -------------------------------------------------------------------------------------------------------------


def checked_parameters(function: str, given: Mapping[str, Any]) -> Parameters:
    """The parameters of a selection that a function was given; raises if one does not exist, or not with that value."""
    for name, value in given.items():
        if name not in ENTRIES:
            raise unknown_parameter(function, name, NAMES)
        if value is not DEFAULTS[name]:
            ENTRIES[name].check(value)
    return Parameters(**given)


def non_default(parameters: Parameters) -> dict[str, Any]:
    """The parameters that are not at their default."""
    values = vars(parameters)
    changed = {name: values[name] for name, default in DEFAULTS.items() if values[name] is not default}
    return {name: value for name, value in changed.items() if not _equals(value, DEFAULTS[name])}


def _equals(value: Any, default: Any) -> bool:
    return isinstance(value, str | int | float) and value == default


def checked_seed(random_state: Any) -> int:
    """A seed; 0 for None."""
    ENTRIES["random_state"].check(random_state)
    return 0 if random_state is None else int(random_state)


# --- signatures and docstrings ---------------------------------------------------------------------------------------


def documented(described: Described) -> Described:
    """Complete a docstring from the entries of the parameters that it does not describe itself.

    They take the place of the line "{parameters}".
    """
    if described.__doc__:  # none with python -OO
        text = inspect.cleandoc(described.__doc__)
        own = {
            name for head in re.findall(r"^(\w+(?:, \w+)*)(?: :.*)?$", text, re.MULTILINE) for name in head.split(", ")
        }
        rest = [entry.documentation() for name, entry in ENTRIES.items() if name not in own]
        described.__doc__ = text.replace("{parameters}", "\n".join(rest))
    return described


def with_parameters(function: Described) -> Described:
    """Show the parameters in the signature and the docstring of a function that takes them as ``**parameters``."""
    signature = inspect.signature(function)
    own = [p for p in signature.parameters.values() if p.kind is not inspect.Parameter.VAR_KEYWORD]
    shared = list(inspect.signature(Parameters).parameters.values())
    keywords = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in shared if p.name not in signature.parameters]
    first = [p for p in own if p.kind is not inspect.Parameter.KEYWORD_ONLY]
    last = [p for p in own if p.kind is inspect.Parameter.KEYWORD_ONLY]
    function.__signature__ = signature.replace(parameters=[*first, *keywords, *last])  # type: ignore[attr-defined]
    return documented(function)
