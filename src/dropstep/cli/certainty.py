"""--stability and --holdout: how sure a selection is, and what may be claimed of it, in plain words."""

from __future__ import annotations

import argparse
import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dropstep.cli import output
from dropstep.cli.design import Design
from dropstep.cli.table_input import AnyDesign
from dropstep.data.sample import PerRow
from dropstep.report.sections import holdout_sentences, stability_sentences
from dropstep.report.text import printable
from dropstep.result import STABLE

if TYPE_CHECKING:
    from dropstep.evaluation.holdout import HeldOut
    from dropstep.evaluation.stability import Stability
    from dropstep.result import SelectionPath


MIN_ROWS = 3  # of each part


@dataclass(frozen=True, eq=False)
class Certainty:
    """What was computed in addition to a path; None where it was not requested."""

    stability: Stability | None = None
    holdout: HeldOut | None = None


def halves(text: str) -> int:
    """An even number of half-samples."""
    try:
        value = int(text)
    except ValueError:
        value = 0
    if value < 2 or value % 2:
        raise argparse.ArgumentTypeError(f"must be an even number of half-samples from 2; got {text!r}")
    return value


def share(text: str) -> float:
    """A share of the rows."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 < value < 1:
        raise argparse.ArgumentTypeError(f"must be a share of the rows between 0 and 1, such as 0.3; got {text!r}")
    return value


def split(design: AnyDesign, args: argparse.Namespace) -> tuple[AnyDesign, Design | None]:
    """The rows of the selection, and those that are held out; None without --holdout."""
    if not isinstance(design, Design):
        for option in ("holdout", "stability"):
            if getattr(args, option) is not None:
                raise ValueError(f"--{option} needs all rows in memory, but {design.shown} is read in blocks; omit it")
        return design, None
    if args.holdout is None:
        return design, None
    from dropstep.evaluation.holdout import rows_held_out

    outside = rows_held_out(design.sample, args.holdout, args.random_state or 0)
    n = int(outside.sum())
    if min(n, len(outside) - n) < MIN_ROWS:
        raise ValueError(
            f"--holdout {args.holdout:g} holds out {n} of {len(outside)} rows; both parts need at least {MIN_ROWS}"
        )
    return _part(design, ~outside), _part(design, outside)


def _part(design: Design, inside: Any) -> Design:
    rows = design.rows
    at = {name: _at(getattr(rows, name), inside) for name in ("weights", "offset", "strata", "groups")}
    return replace(design, table=design.table.at(inside), y=design.y[inside], rows=PerRow(**at))


def _at(values: Any, inside: Any) -> Any:
    return None if values is None else np.asarray(values)[inside]


def certainty(
    design: AnyDesign,
    outside: Design | None,
    path: SelectionPath,
    args: argparse.Namespace,
    parameters: dict[str, Any],
) -> Certainty:
    """Stability on the rows of the selection, and the score on the rows that were held out, if requested."""
    found = Certainty()
    if not isinstance(design, Design):
        return found
    if args.stability is not None:
        from dropstep.evaluation.stability import stability

        kept = {k: v for k, v in parameters.items() if k not in ("max_time", "checkpoint", "equivalents")}
        result = stability(
            design.table,
            design.y,
            n_pairs=args.stability // 2,
            sample_weight=design.rows.weights,
            offset=design.rows.offset,
            strata=design.rows.strata,
            sample_groups=design.rows.groups,
            **kept,
        )
        found = replace(found, stability=result)
    if outside is not None:
        from dropstep.evaluation.holdout import held_out

        found = replace(found, holdout=held_out(path, outside.table, outside.y, outside.rows))
    return found


def as_text(found: Certainty, path: SelectionPath) -> list[str]:
    """Tables and sentences for the terminal."""
    parts = []
    if found.stability is not None:
        shown = _shown(found.stability, path)
        rows = [
            [
                found.stability.names([j])[0],
                f"{found.stability.frequencies[j]:.0%}",
                "yes" if j in path.selected else "",
            ]
            for j in shown
        ]
        parts += [output.as_table(["feature", "frequency", "selected"], rows, "<><")] if rows else []
        parts.append(printable(stability_sentences(found.stability, path)))
    if found.holdout is not None:
        inference = found.holdout.inference
        if inference is not None and inference.rows:
            rows = [[r.name, *(f"{v:.5g}" for v in r[1:5]), f"{r.p_value:.2g}"] for r in inference.rows]
            head = ["held-out rows", "estimate", "std. error", "lower", "upper", "p"]
            parts.append(output.as_table(head, rows, "<>>>>>"))
        parts.append(printable(holdout_sentences(found.holdout)))
    return parts


def _shown(stability: Stability, path: SelectionPath) -> list[int]:
    """Selected features, and others that are selected on at least a quarter of the half-samples."""
    order = np.argsort(-stability.frequencies, kind="stable").tolist()
    return [j for j in order if j in path.selected or stability.frequencies[j] >= 0.25]


def as_data(found: Certainty) -> dict[str, Any]:
    """The same for JSON."""
    s, h = found.stability, found.holdout
    return {
        "stability": None
        if s is None
        else {
            "n_halves": 2 * s.n_pairs,
            "mean_size": s.mean_size,
            "threshold": STABLE,
            "selected": s.names(s.selected(STABLE)),
            "false_selections": s.false_selections(STABLE),
            "frequencies": dict(zip(s.names(range(s.n_features)), s.frequencies.tolist(), strict=True)),
        },
        "holdout": None
        if h is None
        else {
            "n_rows": h.n_rows,
            "metric": h.metric,
            "score": h.score,
            "covariance": None if h.inference is None else h.inference.covariance,
            "coefficients": [] if h.inference is None else [row._asdict() for row in h.inference.rows],
        },
    }
