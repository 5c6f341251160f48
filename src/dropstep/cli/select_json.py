"""The JSON document of dropstep select."""

from __future__ import annotations

from typing import Any

from dropstep import __version__
from dropstep.cli.certainty import Certainty
from dropstep.cli.certainty import as_data as certainty_data
from dropstep.report.coefficient_table import label
from dropstep.report.quantities import Entry, entries
from dropstep.report.verdict import next_step, verdict
from dropstep.result import Coefficients, Evidence, NearestMove, PartialTest, SelectionPath, Subsets

SCHEMA = "dropstep.select/3"


def as_data(
    given: dict[str, Any], path: SelectionPath, command: str, evidence: Evidence | None, found: Certainty
) -> dict[str, Any]:
    """The document: the selected features first, then how they were found; `given` is what `facts.as_data` returns."""
    return {
        "selected": [_entry(path, entry, evidence) for entry in entries(path)],
        "evidence": None if evidence is None else _evidence(path, evidence),
        "score": path.score,
        "start": path.start,
        "stop": {
            "reason": path.stop.name.lower(),
            "text": path.why,
            "nearest": None if path.nearest is None else _nearest(path, path.nearest),
        },
        "schema": SCHEMA,
        "dropstep": __version__,
        "command": command,
        **given,
        "strategy": path.strategy,
        "model": path.model,
        "criterion": path.criterion,
        "greater_is_better": path.greater_is_better,
        "solver": path.solver,
        "n_candidates": path.n_candidates,
        "n_evaluations": path.n_evaluations,
        "n_fits": path.n_fits,
        "fits_saved": path.fits_saved,
        "r2": path.r2,
        "adj_r2": path.adj_r2,
        "df_resid": None if path.coefficients is None else path.coefficients.df_resid,
        "effect": None if path.coefficients is None else path.coefficients.effect,
        "coefficients": [] if path.coefficients is None else _coefficient_rows(path.coefficients),
        "steps": [
            {
                "phase": step.phase,
                "action": step.action,
                "features": path.names(step.features),
                "gain": step.gain,
                "score": step.score,
                "score_std_error": step.score_std_error,
                "pool": step.pool,
                "test": _test(step.test),
            }
            for step in path.steps
        ],
        "ranking": dict(zip(path.names(tuple(range(path.n_features))), path.ranking, strict=True)),
        "subsets": None if path.subsets is None else _subsets(path, path.subsets),
        **certainty_data(found),
        "caveat": path.caveat,
        "notes": path.notes,
    }


def _subsets(path: SelectionPath, found: Subsets) -> dict[str, Any]:
    sets = [{"size": one.size, "features": path.names(one.features), "score": one.score} for one in found.sets]
    return {"gap": found.gap, "sets": sets}


def _nearest(path: SelectionPath, near: NearestMove) -> dict[str, Any]:
    return {
        "action": near.action,
        "features": path.names(near.features),
        "quantity": near.quantity,
        "value": near.value,
        "needed": near.needed,
    }


def _coefficient_rows(fit: Coefficients) -> list[dict[str, Any]]:
    rows, ratios = fit.rows(), fit.ratios()
    limits = [(None,) * 3] * len(rows) if ratios is None else ratios.tolist()
    return [
        {**row._asdict(), "target": label(row.target), "ratio": ratio, "lower": lower, "upper": upper}
        for row, (ratio, lower, upper) in zip(rows, limits, strict=True)
    ]


def _test(test: PartialTest | None) -> dict[str, Any] | None:
    return None if test is None else {"statistic": test.statistic, "df": test.df, "p_value": test.p_value}


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
