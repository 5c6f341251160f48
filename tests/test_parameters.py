"""Every parameter has one entry, which all doors follow: docstrings, checks, the command line and its messages."""

import inspect
import re

import numpy as np
import pytest

from dropstep import Selector, SelectorCV, StabilitySelector, compare, select, stability
from dropstep.cli.naming import in_options
from dropstep.cli.parser import build_parser
from dropstep.parameters import DEFAULTS, ENTRIES, NAMES, Parameters, documented, whole

rng = np.random.default_rng(0)
X = rng.normal(size=(40, 3))
y = X[:, 0] + 0.1 * rng.normal(size=40)

WRONG = [
    ("max_features", 0, "max_features must be None or a whole number from 1; got 0"),
    ("max_features", 1.5, "max_features must be None or a whole number from 1; got 1.5"),
    ("missing", "ignore", "missing must be one of 'error', 'drop', 'level'; got 'ignore'"),
    ("solver", None, "solver must be one of 'auto', 'gram', 'columns'; got None"),
    ("cv", 1, "cv must be None or an integer from 2, a splitter or an iterable of folds; got 1"),
    ("n_jobs", 0, "n_jobs must be None or an integer from 1, or -1 for one process per core; got 0"),
    ("random_state", True, "random_state must be None or a whole number from 0; got True"),
    ("max_time", 0, "max_time must be None or a positive number of seconds; got 0"),
    ("checkpoint", 3, "checkpoint must be None or the name of a file; got 3"),
]


def heads(described) -> set[str]:
    """Names that the section of parameters describes."""
    section = inspect.getdoc(described).partition("Parameters\n----------\n")[2]
    return {name for line in section.splitlines() if line[:1].isalpha() for name in re.findall(r"\w+", line)}


@pytest.mark.parametrize("described", [select, stability, Selector, SelectorCV, StabilitySelector])
def test_every_docstring_has_every_parameter(described):
    assert set(NAMES) <= heads(described) & set(inspect.signature(described).parameters)
    assert "{" not in inspect.getdoc(described).partition("Notes")[0].replace('{"', "")


def test_what_a_docstring_describes_itself_is_not_replaced():
    def function():
        """Do something.

        Parameters
        ----------
        cv : int
            Own.
        {parameters}
        """

    text = documented(function).__doc__
    assert "cv : int\n    Own.\nstrategy : str" in text
    assert text.count("\ncv : ") == 1
    assert 'strategy : str, FBED, Beam or Exhaustive, default="dropping"\n    "dropping": forward selection' in text


def test_without_docstrings_nothing_is_completed():
    def function():
        pass

    assert documented(function).__doc__ is None


@pytest.mark.parametrize(("name", "value", "sentence"), WRONG)
def test_a_value_is_refused_by_every_door_before_any_work(name, value, sentence):
    doors = [
        lambda **given: select(X, y, **given),
        lambda **given: Selector(**given).fit(X, y),
        lambda **given: Selector(**given).partial_fit(X, y),
        lambda **given: SelectorCV(**given).fit(X, y),
    ]
    if name not in ("cv", "n_jobs"):
        doors.append(lambda **given: compare(X, y, **given))
    for door in doors:
        with pytest.raises(ValueError, match=re.escape(sentence)):
            door(**{name: value})


def test_defaults_are_accepted_and_written_once():
    for entry in ENTRIES.values():
        entry.check(entry.default)
    assert {name: getattr(Parameters(), name) for name in NAMES} == DEFAULTS
    assert {name: p.default for name, p in inspect.signature(Selector).parameters.items()} == DEFAULTS


@pytest.mark.parametrize("command", ["select", "compare", "moments"])
def test_every_option_has_the_default_of_its_parameter(command):
    parser = build_parser().commands()[command]
    if command == "moments":
        parser = dict(next(action.choices for action in parser._actions if action.dest == "action"))["select"]
    options = {action.dest: action for action in parser._actions if action.default != "==SUPPRESS=="}
    own = {name: entry for name, entry in ENTRIES.items() if entry.option and command in entry.option.commands}
    assert len(own) > 8
    for name, entry in own.items():
        assert entry.flag in options[name].option_strings
        assert options[name].default == entry.default


@pytest.mark.parametrize(("name", "value", "sentence"), WRONG)
def test_messages_name_the_option(name, value, sentence):
    assert in_options(sentence).startswith(f"{ENTRIES[name].flag} must be")


def test_a_domain_reads_text():
    assert whole(2).read("3") == 3
    for text in ("1", "x", "2.5", ""):
        with pytest.raises(ValueError, match=f"must be a whole number from 2; got {text!r}"):
            whole(2).read(text)
