"""A selection as a table for the terminal, as CSV and as JSON, with what was computed in addition."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dropstep import __version__
from dropstep.cli import output
from dropstep.report.coefficient_table import columns, label, sentences
from dropstep.report.quantities import Entry, entries, moves, reversals
from dropstep.report.sections import holdout_sentences, stability_sentences
from dropstep.report.text import MAX_TEXT_WIDTH, clipped, plain, printable
from dropstep.report.verdict import next_step, verdict
from dropstep.result import STABLE, Coefficients, Evidence, SelectionPath, Step
from dropstep.wording import counted, plain_names

if TYPE_CHECKING:
    from dropstep.resampling.holdout import Holdout
    from dropstep.resampling.stability import Stability

SCHEMA = "dropstep.select/3"
MAX_SHARES = 10  # features whose stability is listed
MIN_SHARE = 0.25  # of the half-samples: features that are selected less often are not shown, unless they are selected


@dataclass(frozen=True, eq=False)
class Certainty:
    """What was computed in addition to a path, by the options of that name and for the report; None if it was not."""

    stability: Stability | None = None
    holdout: Holdout | None = None
    evidence: Evidence | None = None


# --- text ------------------------------------------------------------------------------------------------------------


def as_text(path: SelectionPath, heading: str, found: Certainty) -> str:
    """The selected features first; then all additions and removals, the coefficients, and why the search ended."""
    about = [*_coefficients(path), *_best_subsets(path), *_stability(path, found), *_holdout(found)]
    return "\n\n".join([heading, _selected(path), *_sure(path, found.evidence), *_moves(path), *about, _summary(path)])


def _wrapped(*lines: str | None) -> str:
    return "\n".join(output.wrapped(printable(line)) for line in lines if line)


def _selected(path: SelectionPath) -> str:
    """The answer: which features."""
    if not path.selected:
        return output.painted(f"None of the {counted(path.n_features, 'feature')} is selected.", "bold")
    lead = f"{len(path.selected):,} of {counted(path.n_features, 'feature')} selected:"
    text = _wrapped(f"{lead} {', '.join(clipped(name, MAX_TEXT_WIDTH) for name in path.selected_names)}")
    return output.painted(text[: len(lead)], "bold") + text[len(lead) :]


def _sure(path: SelectionPath, evidence: Evidence | None) -> list[str]:
    """How sure the selection is, where that was computed: stability, verdict, and what to do next."""
    if evidence is None:
        return []
    again = ""
    if evidence.frequencies is not None and path.selected:
        shares = [f"{path.names((j,))[0]} {evidence.frequencies[j]:.0%}" for j in path.selected]
        again = f"Selected again on {evidence.n_halves} half-samples: {plain_names(shares, MAX_SHARES)}."
    return [_wrapped(again, verdict(path, evidence), *evidence.omitted, next_step(path, evidence))]


def _moves(path: SelectionPath) -> list[str]:
    """The table of all additions and removals."""
    made, resampled = moves(path), any(step.score_std_error is not None for step in path.steps)
    rows = []
    for i, (step, _, phase) in enumerate(made, start=1):
        certainty = step.score_std_error if resampled else None if step.test is None else step.test.p_value
        shown = "" if certainty is None else f"{certainty:.2g}"
        rows.append([str(i), _features(path, step), plain(step.gain, 5), plain(step.score, 6), shown, phase])
    head = ["#", "feature", "gain", path.criterion, "std. error" if resampled else "p", "phase"]
    gone = [i for i, move in enumerate(made) if len(move.removed) == len(move.step.features)]
    return [output.as_table(head, rows, "><>>><", gone)] if rows else []


def _features(path: SelectionPath, step: Step) -> str:
    """The features of a step, or their number if a start step has too many to list."""
    names = " + ".join(path.names(step.features))
    too_long = step.phase == "start" and len(names) > MAX_TEXT_WIDTH
    return f"{len(step.features)} features" if too_long else names


def _coefficients(path: SelectionPath) -> list[str]:
    """The table of coefficients, and what it shows."""
    if path.coefficients is None or not path.selected:
        return []
    return [output.as_table(*columns(path.coefficients)), output.wrapped(sentences(path.coefficients))]


def _best_subsets(path: SelectionPath) -> list[str]:
    """The table of the best sets of each size."""
    if path.subsets is None:
        return []
    rows = [[str(one.size), f"{one.score:.6g}", ", ".join(path.names(one.features))] for one in path.subsets.sets]
    return [output.as_table(["size", path.criterion, "best sets"], rows, ">><")]


def _stability(path: SelectionPath, found: Certainty) -> list[str]:
    """How often the selected features, and others, are selected on half-samples."""
    if found.stability is None:
        return []
    shares = found.stability.frequencies
    order = np.argsort(-shares, kind="stable").tolist()
    shown = [j for j in order if j in path.selected or shares[j] >= MIN_SHARE]
    names = found.stability.names(shown)
    rows = [[n, f"{shares[j]:.0%}", "yes" if j in path.selected else ""] for j, n in zip(shown, names, strict=True)]
    table = [output.as_table(["feature", "frequency", "selected"], rows, "<><")] if rows else []
    return [*table, _wrapped(stability_sentences(found.stability, path))]


def _holdout(found: Certainty) -> list[str]:
    """The score and the coefficients on the rows that were held out."""
    if found.holdout is None:
        return []
    inferred = () if found.holdout.inference is None else found.holdout.inference.rows
    rows = [[row.name, *(f"{value:.5g}" for value in row[1:5]), f"{row.p_value:.2g}"] for row in inferred]
    head = ["held-out rows", "estimate", "std. error", "lower", "upper", "p"]
    return [*([output.as_table(head, rows, "<>>>>>")] if rows else []), _wrapped(holdout_sentences(found.holdout))]


def _summary(path: SelectionPath) -> str:
    """How the search went, and why it ended."""
    fits = f", {counted(path.n_fits, 'fit')}" if path.n_fits else ""
    dropped, removed, entered = (len(getattr(reversals(path), name)) for name in ("dropped", "removed", "entered"))
    return _wrapped(
        f"{path.strategy} by {path.criterion} ({path.model}): score {plain(path.score, 6)}, "
        f"{counted(path.n_evaluations, 'evaluation')}{fits}.",
        f"Stopped because {path.why}.",
        f"Dropped: {dropped:,} ({entered:,} entered later); removed: {removed:,}." if dropped or removed else None,
    )


# --- CSV -------------------------------------------------------------------------------------------------------------


def as_csv(path: SelectionPath) -> str:
    """All additions and removals as CSV."""
    head = ["order", "feature", "phase", "action", "gain", "score"]
    rows = [
        [i, " + ".join(path.names(step.features)), step.phase, step.action, step.gain, step.score]
        for i, (step, _, _) in enumerate(moves(path), start=1)
    ]
    return output.as_csv([head, *rows])


# --- JSON ------------------------------------------------------------------------------------------------------------

OF_PATH = (
    *("strategy", "model", "criterion", "greater_is_better", "solver", "n_candidates", "n_evaluations", "n_fits"),
    *("fits_saved", "r2", "adj_r2"),
)
OF_STEP = ("phase", "action", "features", "gain", "score", "score_std_error", "pool", "test")


def as_data(given: dict[str, Any], path: SelectionPath, command: str, found: Certainty | None = None) -> dict[str, Any]:
    """The document: the selected features first, then how they were found; `given` is what `facts.as_data` returns."""
    found, fit = found or Certainty(), path.coefficients
    return {
        "selected": [_entry(path, entry, found.evidence) for entry in entries(path)],
        "evidence": None if found.evidence is None else _evidence(path, found.evidence),
        "score": path.score,
        "start": path.start,
        "stop": {
            "reason": path.stop.name.lower(),
            "text": path.why,
            "nearest": _fields(path, path.nearest, ("action", "features", "quantity", "value", "needed")),
        },
        "schema": SCHEMA,
        "dropstep": __version__,
        "command": command,
        **given,
        **{name: getattr(path, name) for name in OF_PATH},
        "df_resid": None if fit is None else fit.df_resid,
        "effect": None if fit is None else fit.effect,
        "coefficients": [] if fit is None else _coefficient_rows(fit),
        "steps": [_fields(path, step, OF_STEP) for step in path.steps],
        "ranking": dict(zip(path.names(tuple(range(path.n_features))), path.ranking, strict=True)),
        "subsets": None
        if path.subsets is None
        else {
            "gap": path.subsets.gap,
            "sets": [_fields(path, one, ("size", "features", "score")) for one in path.subsets.sets],
        },
        "stability": None if found.stability is None else _stability_data(found.stability),
        "holdout": None if found.holdout is None else _holdout_data(found.holdout),
        "caveat": path.caveat,
        "notes": path.notes,
    }


def _fields(path: SelectionPath, found: Any, names: tuple[str, ...]) -> dict[str, Any] | None:
    """Fields of a part of a path: features by name, and a test by its numbers."""
    if found is None:
        return None
    data = {name: getattr(found, name) for name in names}
    if "features" in data:
        data["features"] = path.names(found.features)
    if "test" in data:
        data["test"] = _fields(path, found.test, ("statistic", "df", "p_value"))
    return data


def _entry(path: SelectionPath, entry: Entry, evidence: Evidence | None) -> dict[str, Any]:
    first = entry.features[0]
    near = (path.equivalents or {}).get(first, ())
    return {
        "features": path.names(entry.features),
        "stability": None if evidence is None or evidence.frequencies is None else evidence.frequencies[first],
        "phase": entry.step.phase,
        "gain": entry.step.gain,
        "score": entry.step.score,
        "loss": (path.losses or {}).get(first),
        "equivalents": [{"feature": path.names((j,))[0], "loss": loss} for j, loss in near],
    }


def _evidence(path: SelectionPath, evidence: Evidence) -> dict[str, Any]:
    return {
        "verdict": verdict(path, evidence) or None,
        "next_step": next_step(path, evidence),
        "n_half_samples": evidence.n_halves,
        "measure": evidence.measure or None,
        "n_repeats": evidence.n_repeats,
        "errors": {
            error.name: {
                "mean": error.mean,
                "folds": error.folds,
                "model": error.model or None,
                "concordance": error.mean_concordance,
            }
            for error in evidence.errors
        },
        "omitted": evidence.omitted,
    }


def _coefficient_rows(fit: Coefficients) -> list[dict[str, Any]]:
    rows, ratios = fit.rows(), fit.ratios()
    limits = [(None,) * 3] * len(rows) if ratios is None else ratios.tolist()
    return [
        {**row._asdict(), "target": label(row.target), "ratio": ratio, "lower": lower, "upper": upper}
        for row, (ratio, lower, upper) in zip(rows, limits, strict=True)
    ]


def _stability_data(found: Stability) -> dict[str, Any]:
    return {
        "n_halves": 2 * found.n_pairs,
        "mean_size": found.mean_size,
        "threshold": STABLE,
        "selected": found.names(found.selected(STABLE)),
        "false_selections": found.false_selections(STABLE),
        "frequencies": dict(zip(found.names(range(found.n_features)), found.frequencies.tolist(), strict=True)),
    }


def _holdout_data(found: Holdout) -> dict[str, Any]:
    inference = found.inference
    return {
        "n_rows": found.n_rows,
        "metric": found.metric,
        "score": found.score,
        "covariance": None if inference is None else inference.covariance,
        "coefficients": [] if inference is None else [row._asdict() for row in inference.rows],
    }
