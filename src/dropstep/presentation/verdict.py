"""What the evidence says about a selection, in a sentence, and what to do next."""

from __future__ import annotations

import math

from dropstep.evidence import ALL, NONE, SELECTION, Evidence, HeldOut
from dropstep.presentation.text import count, number
from dropstep.result import SelectionPath, StopReason

STABLE, UNSTABLE = 0.75, 0.5  # shares of the half-samples


def error_text(evidence: Evidence, error: HeldOut) -> str:
    """An error in the form of its measure: "RMSE 54.1", "error rate 6.9%"."""
    return f"{evidence.measure} {amount(evidence, error.mean)}"


def amount(evidence: Evidence, value: float) -> str:
    """A value of the measure of errors."""
    return f"{value:.1%}" if evidence.measure == "error rate" else number(value, 3)


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
    baseline = {"RMSE": "the mean", "error rate": "the class frequencies", "log loss": "the class frequencies"}
    without = baseline.get(evidence.measure, "a model without features")
    shown = {error.name: amount(evidence, error.mean) for error in (own, every, none) if error is not None}
    if not path.selected and every is not None and every.differs_from(none) >= 0:
        return (
            f"Nothing here beats {without}: {evidence.measure} {shown[NONE]} without features, {shown[ALL]} with all "
            "of them."
        )
    better = own.differs_from(none) < 0
    first = "Better than using no features" if better else f"No better than using no features ({without})"
    first += f": {evidence.measure} {shown[SELECTION]} against {shown[NONE]}."
    against_all = 0 if every is None else own.differs_from(every)
    if against_all > 0:
        return f"{first} Worse than using all features: {evidence.measure} {shown[SELECTION]} against {shown[ALL]}."
    if not better or every is None:
        return first
    versus = "About as good as" if against_all == 0 else "Better than"
    return f"{first} {versus} using all {path.n_features:,} features ({shown[ALL]})."


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
    if own is not None and none is not None and own.differs_from(none) >= 0:
        return "Do not use this selection for prediction; collect more rows before interpreting it."
    weak = unstable(path, evidence)
    if own is not None and every is not None and own.differs_from(every) > 0:
        return (
            "For prediction, use all features with a regularised model; as a short list, report these features with "
            "their stability."
        )
    if weak:
        them, any_of_them = ("it", "it") if len(path.selected) == 1 else ("them", "any of them")
        return (
            f"{_features(path, len(weak))} not stable: other rows would give other features. Report {them} with the "
            f"stability and stand-ins, and confirm on new rows before naming {any_of_them}."
        )
    if path.coefficients is None:
        return (
            "Confirm on rows that took no part in the selection: the score was maximised over candidates and is "
            "optimistically biased."
        )
    return (
        "Confirm on rows that took no part in the selection; p-values computed on the rows that chose the features are "
        "optimistically biased."
    )


def _features(path: SelectionPath, n: int) -> str:
    if n == len(path.selected):
        return "The feature is" if n == 1 else "The features are"
    return f"{n} of the {count(len(path.selected), 'feature')} {'is' if n == 1 else 'are'}"


def unstable(path: SelectionPath, evidence: Evidence) -> tuple[int, ...]:
    """Selected features that are selected on less than half of the half-samples; included ones are not among them."""
    if evidence.frequencies is None:
        return ()
    included = {j for step in path.steps if step.phase == "start" for j in step.features}
    return tuple(j for j in path.selected if evidence.frequencies[j] < UNSTABLE and j not in included)
