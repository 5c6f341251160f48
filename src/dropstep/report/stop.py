"""A path in a sentence: what is selected, and why the search ended, with the numbers that the rule compared."""

from __future__ import annotations

from dropstep.report.text import clipped, p_value, plain
from dropstep.result import SelectionPath, StopReason
from dropstep.wording import counted, plain_names

MAX_NAMES = 5  # in the representation of a path
MAX_NAME = 60  # characters of a name in a sentence


def why(path: SelectionPath) -> str:
    """Why a search ended, as a sentence without its full stop.

    Parameters
    ----------
    path : SelectionPath
        The path.

    Returns
    -------
    str
        The stop reason; where a rule ended the search, also the best remaining candidate and what the rule required.
    """
    if path.stop is StopReason.MAX_FEATURES and "max_features" in path.params:
        return f"max_features={path.params['max_features']} is reached"
    if path.stop is StopReason.MAX_TIME and "max_time" in path.params:
        return f"max_time={path.params['max_time']:g} seconds is reached"
    compared = comparison(path)
    return f"{path.stop} ({compared})" if compared else str(path.stop)


def comparison(path: SelectionPath) -> str:
    """The numbers that the rule compared: "best p = 3.0e−5 (bmi), needed 7.0e−6"; empty if no rule ended the search."""
    near = path.nearest
    if near is None:
        return ""
    name = plain_names([clipped(name, MAX_NAME) for name in path.names(near.features)], 3)
    if near.quantity == "p":
        value, needed = (p_value(number).replace("−", "-") for number in (near.value, near.needed))
        if near.action == "add":
            return f"best p = {value} ({name}), needed {needed}"
        return f"largest p = {value} ({name}), removed above {needed}"
    errors = "" if near.std_error is None else _errors(path, near.action)
    value, needed = plain(near.value, 3), plain(near.needed, 3)
    if near.action == "add":
        return f"best gain = {value} ({name}), needed more than {needed}{errors}"
    return f"smallest loss = {value} ({name}), removed up to {needed}{errors}"


def _errors(path: SelectionPath, action: str) -> str:
    """The multiple of the standard error that a limit is."""
    multiple = getattr(path.rules.get("enter" if action == "add" else "leave"), "multiple", None)
    return "" if multiple is None else f", {multiple:g} standard error{'' if multiple == 1 else 's'}"


def as_text(path: SelectionPath) -> str:
    """A path in a few lines: the result, the selected features and the notes."""
    names = ", ".join(path.selected_names) or "nothing"
    notes = "".join(f"\nnote: {note}" for note in path.notes)
    fits = f", {counted(path.n_fits, 'fit')}" if path.n_fits else ""
    return (
        f"{path.strategy} by {path.criterion} ({path.model}): {len(path.selected):,} of "
        f"{counted(path.n_features, 'feature')}, score {plain(path.score, 6)}, "
        f"{counted(path.n_evaluations, 'evaluation')}{fits}; stopped because {why(path)}.\n"
        f"selected: {names}{notes}"
    )


def as_repr(path: SelectionPath) -> str:
    """A path in one short line."""
    names = f": {plain_names(path.selected_names, MAX_NAMES)}" if path.selected else ""
    return (
        f"<SelectionPath: {len(path.selected):,} of {counted(path.n_features, 'feature')} by {path.strategy}, "
        f"{path.criterion} {plain(path.score, 6)}{names}>"
    )
