"""What the evidence says about a selection, in a sentence, and what to do next."""

from __future__ import annotations

import math

from dropstep.report.text import number
from dropstep.result import ALL, NONE, SELECTION, Evidence, HeldOut, SelectionPath, StopReason, is_stable
from dropstep.wording import counted

SMALL, LARGE = 0.1, 0.5  # shares of a loss: gains below and from which they are called small and large
NEGLIGIBLE = 0.01  # share of a loss below which a selection is as good as all features, however many rows show it
MAX_NAMES = 5  # features to confirm that are named
BASELINES = {"RMSE": "the mean", "error rate": "the class frequencies", "log loss": "the class frequencies"}
GAINS = {
    "RMSE": "of the variance",
    "error rate": "fewer errors",
    "log loss": "of the log loss",
    "mean deviance": "of the deviance",
    "partial deviance": "fewer pairs in the wrong order",
}


def amount(evidence: Evidence, value: float) -> str:
    """A value of the measure of errors."""
    return f"{value:.1%}" if evidence.measure == "error rate" else number(value, 3)


def shown_error(evidence: Evidence, error: HeldOut) -> str:
    """The number of an error that verdicts show: Harrell's c for survival times."""
    c = error.mean_concordance
    return amount(evidence, error.mean) if c is None else f"{c:.3f}"


def verdict(path: SelectionPath, evidence: Evidence) -> str:
    """Whether the selection predicts better than no features, and than all of them; empty without held-out errors.

    Parameters
    ----------
    path : SelectionPath
        The selection.
    evidence : Evidence
        What `assess` returned.

    Returns
    -------
    str
        One or two sentences.
    """
    own, every, none = (evidence.error_of(name) for name in (SELECTION, ALL, NONE))
    if own is None or none is None:
        return _maximised(path)
    without = BASELINES.get(evidence.measure, "a model without features")
    measure = "concordance" if own.concordance else evidence.measure
    if not path.selected and every is not None and evidence.compare(every, none) >= 0:
        return (
            f"Nothing here beats {without}: {measure} {shown_error(evidence, none)} without features, "
            f"{shown_error(evidence, every)} with {every.model} on all of them."
        )
    numbers = f"{measure} {shown_error(evidence, own)} against {shown_error(evidence, none)}"
    better = evidence.compare(own, none)
    if better < 0:
        first = f"Better than using no features: {numbers}, {_size(evidence, own, none)}."
    else:
        versus = "Worse than" if better > 0 else "Not clearly better than"
        first = f"{versus} using no features ({without}): {numbers}."
    predictive = every is not None and evidence.compare(every, none) < 0  # a ridge fit of noise is that of no features
    if every is None or (better >= 0 and not predictive):
        return first
    return f"{first} {_against_all(path, evidence, own, every)}"


def _size(evidence: Evidence, own: HeldOut, other: HeldOut) -> str:
    """The size of a gain in words and as a share of the loss: "a small gain: 7% of the variance"."""
    gain = evidence.gain(own, other)
    word = "a small" if gain < SMALL else "a large" if gain >= LARGE else "a moderate"
    share = f"{gain:.1%}" if gain < 0.01 else f"{gain:.0%}"
    return f"{word} gain: {share} {GAINS[evidence.measure]}"


def _against_all(path: SelectionPath, evidence: Evidence, own: HeldOut, every: HeldOut) -> str:
    against = evidence.compare(own, every)
    gain = evidence.gain(own, every) if against < 0 else evidence.gain(every, own)
    versus = "Better than" if against < 0 else "Worse than"
    if against == 0 or gain < NEGLIGIBLE:
        versus = "About as good as"
    elif gain < SMALL:
        versus = f"Slightly {versus.lower()}"
    return f"{versus} {every.model} on all {path.n_features:,} features ({shown_error(evidence, every)})."


def _maximised(path: SelectionPath) -> str:
    """The score that the search maximised, where that is a mean over folds."""
    if not path.selected or all(step.score_std_error is None for step in path.steps):
        return ""
    score, start = number(path.score, 3), number(path.start, 3)
    baseline = f", {start} with none" if math.isfinite(path.start) else ""
    return f"Cross-validated {path.criterion} {score} with these features{baseline}."


def next_step(path: SelectionPath, evidence: Evidence | None) -> str:
    """One line on what to do next.

    Parameters
    ----------
    path : SelectionPath
        The selection.
    evidence : Evidence or None
        What `assess` returned, if it was called.

    Returns
    -------
    str
    """
    if path.stop is StopReason.CONSTANT:
        return "Check the table: every feature is constant."
    if not path.selected:
        return (
            "Do not report a feature from this table. More rows, or fewer candidates chosen beforehand (exclude), make "
            "the rules less strict."
        )
    if evidence is None:
        return "Pass the data to see how sure this is: path.report(file, X=X, y=y) adds stability and held-out error."
    own, every, none = (evidence.error_of(name) for name in (SELECTION, ALL, NONE))
    if own is not None and none is not None and evidence.compare(own, none) >= 0:
        return "Do not use this selection for prediction; collect more rows before interpreting it."
    prediction = ""
    if own and every and evidence.compare(own, every) > 0 and evidence.gain(every, own) >= SMALL:
        prediction = f"For prediction, use {every.model} on all features. "
    return prediction + (_confirm(path, evidence) or _new_rows(path))


def _confirm(path: SelectionPath, evidence: Evidence) -> str:
    """Which features to confirm on new rows before they are named; empty if all of them are stable."""
    weak, n = unstable(path, evidence), len(path.selected)
    if not weak:
        return ""
    if len(weak) == n:
        subject = {1: "The feature is not", 2: "Neither feature is"}.get(n, f"None of the {n} features is")
        them, any_of_them = ("it", "it") if n == 1 else ("them", "any of them")
        return (
            f"{subject} stable: other rows would give others. Report {them} with the stability and stand-ins, and "
            f"confirm on new rows before naming {any_of_them}."
        )
    names = [*path.names(weak[:MAX_NAMES]), *([f"{len(weak) - MAX_NAMES} more"] if len(weak) > MAX_NAMES else [])]
    listed = names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
    stable_ones = counted(n - len(weak), "feature")
    return f"{stable_ones} stable; confirm {listed} on new rows before naming {'it' if len(weak) == 1 else 'them'}."


def _new_rows(path: SelectionPath) -> str:
    if path.coefficients is None:
        return (
            "Confirm on rows that took no part in the selection: the score was maximised over candidates and is "
            "optimistically biased."
        )
    return (
        "Confirm on rows that took no part in the selection; p-values computed on the rows that chose the features are "
        "optimistically biased."
    )


def unstable(path: SelectionPath, evidence: Evidence) -> tuple[int, ...]:
    """Selected features that are not stable; included ones are not among them."""
    if evidence.frequencies is None:
        return ()
    included = {j for step in path.steps if step.phase == "start" for j in step.features}
    return tuple(j for j in path.selected if not is_stable(evidence.frequencies[j]) and j not in included)
