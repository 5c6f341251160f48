"""Publish results: the tables of README.md and docs/benchmarks.md are written from a run, never by hand."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from benchmarks.data import ROOT
from benchmarks.report import OURS, seconds

README = ROOT / "README.md"
PAGE = ROOT / "docs" / "benchmarks.md"
PUBLISHED = ROOT / "benchmarks" / "published.json"

SHOWN = ("tall", "square", "wide", "kdd", "mice", "riboflavin", "small")
PEERS = ("scikit-learn OMP", "abess", "fastcan", "R leaps")
MIN_BYTES = 10_000_000  # of X: for smaller data the growth of a process says little about the algorithm

NOT_YET = "*No results have been published yet: run `make bench`, then `.venv/bin/python -m benchmarks --publish`.*"
ROW_FIELDS = ("rival", "why", "seconds", "runs", "extra")
WORKLOAD_FIELDS = ("name", "about", "kind", "k", "n", "p", "nbytes")


class NotPublishableError(ValueError):
    """Results that must not be published, with the reason."""


def publish(results: Path, profile: Path) -> list[Path]:
    """Copy what the pages show from the last runs to published.json, and write the pages from that."""
    kept = load()
    if results.exists():
        kept |= {"benchmarks": extract(json.loads(results.read_text(encoding="utf-8")))}
    if profile.exists():
        kept |= {"profile": complete(json.loads(profile.read_text(encoding="utf-8")))}
    if not kept:
        raise NotPublishableError(f"there is no {results.name} to publish; run `make bench` first")
    PUBLISHED.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    write_block(README, "benchmarks", comparison(kept.get("benchmarks")))
    write_block(PAGE, "profile", profile_table(kept.get("profile")))
    return [PUBLISHED, README, PAGE]


def load() -> dict[str, Any]:
    """The published results; empty if there are none."""
    return json.loads(PUBLISHED.read_text(encoding="utf-8")) if PUBLISHED.exists() else {}


def extract(content: dict[str, Any]) -> dict[str, Any]:
    """The part of a run that the README shows; NotPublishableError if the run was quick or partial."""
    if content["quick"]:
        raise NotPublishableError("the last run was made with --quick; run `make bench` before --publish")
    found = {workload["name"]: workload for workload in content["workloads"]}
    if missing := [name for name in SHOWN if name not in found]:
        raise NotPublishableError(f"the last run lacks {', '.join(missing)}; run `make bench` with DROPSTEP_DATA set")
    if absent := [peer for peer in PEERS if not all(_took_part(peer, found[name]) for name in SHOWN)]:
        raise NotPublishableError(
            f"the last run has no measurement of {', '.join(absent)}; "
            "install the extra 'bench' and R with leaps, and run `make bench`"
        )
    return {
        "versions": content["versions"],
        "machine": content["machine"],
        "workloads": [_shown(found[name]) for name in SHOWN],
    }


def complete(profile: dict[str, Any]) -> dict[str, Any]:
    """The profile itself; NotPublishableError if it was limited to some selections."""
    if profile["only"]:
        raise NotPublishableError(
            "the last profile was limited by --only; run `python -m benchmarks --where` without it"
        )
    return profile


def _took_part(peer: str, workload: dict[str, Any]) -> bool:
    """Whether a tool was measured, or cannot perform this task; False if it was left out or is not installed."""
    reasons = [row["why"] for row in workload["rows"] if row["rival"] == peer]
    return bool(reasons) and not reasons[0].startswith("not available")


def _shown(workload: dict[str, Any]) -> dict[str, Any]:
    rows = [row for row in workload["rows"] if row["rival"] in (*OURS.values(), *PEERS)]
    kept = {name: workload[name] for name in WORKLOAD_FIELDS}
    return kept | {"rows": [{name: row[name] for name in ROW_FIELDS} for row in rows]}


# --- blocks of a page ------------------------------------------------------------------------------------------------


def block(page: Path, name: str) -> str:
    """The generated block of a page."""
    return _match(page, name)["text"].strip("\n")


def write_block(page: Path, name: str, text: str) -> None:
    """Replace the generated block of a page."""
    found, source = _match(page, name), page.read_text(encoding="utf-8")
    page.write_text(f"{source[: found.start('text')]}{text}\n{source[found.end('text') :]}", encoding="utf-8")


def _match(page: Path, name: str) -> re.Match[str]:
    pattern = rf"^<!-- begin {name}[^\n]*-->\n(?P<text>.*?)^<!-- end {name} -->$"
    found = re.search(pattern, page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    if found is None:
        raise NotPublishableError(
            f"{page.name} has no block between 'begin {name}' and 'end {name}'; add the two comments"
        )
    return found


# --- tables ----------------------------------------------------------------------------------------------------------


def markdown(head: list[str], lines: list[list[str]]) -> str:
    """A Markdown table."""
    return "\n".join(f"| {' | '.join(cells)} |" for cells in [head, ["---"] * len(head), *lines])


def comparison(content: dict[str, Any] | None) -> str:
    """Times relative to dropping and to forward, and memory, from the results of one run."""
    if content is None:
        return NOT_YET
    workloads = [workload for workload in content["workloads"] if workload["name"] in SHOWN]
    large = [workload for workload in workloads if workload["nbytes"] >= MIN_BYTES]
    times = markdown(["data", "strategy", "time", *PEERS], [line for w in workloads for line in _time_lines(w)])
    memory = markdown(["data", *(f"`{name}`" for name in OURS), *PEERS[:3]], [_memory_line(w) for w in large])
    parts = [
        "Time of the other tool divided by that of dropstep; above 1, dropstep is faster:",
        times,
        *(["Peak memory above X, in percent of the size of X:", memory] if large else []),
        _method(content),
    ]
    return "\n\n".join(parts)


def _time_lines(workload: dict[str, Any]) -> list[list[str]]:
    rows = {row["rival"]: row for row in workload["rows"]}
    lines = []
    for name, rival in OURS.items():
        ours = rows[rival]["seconds"]
        ratios = [_ratio(rows.get(peer), ours) for peer in PEERS]
        strategy = f"`{name}`{' (default)' if name == 'dropping' else ''}"
        lines.append([_data(workload), strategy, seconds(ours), *ratios])
    return lines


def _ratio(row: dict[str, Any] | None, ours: float) -> str:
    if row is None or row["seconds"] is None:
        return _absent(row)
    return two_digits(row["seconds"] / ours)


def _memory_line(workload: dict[str, Any]) -> list[str]:
    rows = {row["rival"]: row for row in workload["rows"]}
    cells = []
    for name in (*OURS.values(), *PEERS[:3]):
        row = rows.get(name)
        measured = row is not None and row["extra"] is not None
        cells.append(f"{100 * row['extra'] / workload['nbytes']:,.0f} %" if measured else _absent(row))
    return [_data(workload), *cells]


def _absent(row: dict[str, Any] | None) -> str:
    return "timeout" if row is not None and row["why"].startswith("not finished") else "n/a"


def _data(workload: dict[str, Any]) -> str:
    name = "" if workload["name"] in ("tall", "square", "wide", "small") else f" ({workload['name']})"
    classes = "" if workload["kind"] == "regression" else ", classes"
    return f"{workload['k']} of {workload['p']:,} features, {workload['n']:,} rows{classes}{name}"


def two_digits(value: float) -> str:
    return f"{value:,.0f}" if value >= 9.95 else f"{value:.1f}" if value >= 0.995 else f"{value:.2f}"


def _method(content: dict[str, Any]) -> str:
    versions = content["versions"]
    used = ", ".join(f"{name} {versions[name]}" for name in ("scikit-learn", "abess", "fastcan", "leaps"))
    fewest = min(row["runs"] for w in content["workloads"] for row in w["rows"] if row["seconds"] is not None)
    return (
        "Every tool is called once untimed; then all are timed in alternating rounds, and the best of at least "
        f"{fewest} runs counts. Memory is the peak growth of the resident set size in a separate process. "
        f"n/a: the tool does not support this problem. {_hardware(content['machine'])}; {used}."
    )


def _hardware(machine: dict[str, Any]) -> str:
    return f"{machine['processor']}, {machine['cores']} cores, {'; '.join(machine['blas'])}"


def profile_table(content: dict[str, Any] | None) -> str:
    """Passes by part of the implementation and by selection."""
    if content is None:
        return NOT_YET.replace("make bench", ".venv/bin/python -m benchmarks --where")
    profiles = [one for one in content["selections"] if one["nbytes"] >= MIN_BYTES]
    small = [one for one in content["selections"] if one["nbytes"] < MIN_BYTES]
    parts = list(dict.fromkeys(part for one in profiles for part in one["passes"]))
    lines = [[part, *(f"{one['passes'].get(part, 0):.1f}" for one in profiles)] for part in parts]
    total = ["total", *(f"{sum(one['passes'].values()):.1f}" for one in profiles)]
    vectors = ["vectors per product", *(", ".join(map(str, one["vectors"])) or "none" for one in profiles)]
    interpreted = "; ".join(f"{one['name']}: {seconds(one['seconds'])}, {one['n_calls']:,} calls" for one in small)
    notes = [
        f"{_hardware(content['machine'])}.",
        *([f"On small data the time is that of function calls in the interpreter ({interpreted})."] if small else []),
    ]
    table = markdown(["passes", *(one["name"] for one in profiles)], [*lines, total, vectors])
    return f"{table}\n\n{' '.join(notes)}"
