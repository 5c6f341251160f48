"""The sections of the report, each a function of the path and of what is known besides."""

from __future__ import annotations

import math
import platform
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from dropstep.presentation.plots import Move, moves, ranked
from dropstep.presentation.report import findings, words
from dropstep.presentation.report.markup import Html, count, join, named, names, number, tag
from dropstep.presentation.report.picture import legend, picture
from dropstep.presentation.report.snippet import snippet
from dropstep.result import SelectionPath, Step

PACKAGES = ("dropstep", "numpy", "scipy", "scikit-learn")
PAST = {"add": "added", "remove": "removed", "drop": "dropped", "recall": "recalled"}
MOST_SHOWN = 8  # names in a row of a table
MOST_NAMES = 500  # names in a list; a longer one would not be read


@dataclass(frozen=True)
class Section:
    """A section of the page: the word that links to it, and what it says."""

    key: str
    link: str
    html: Html


def section(key: str, link: str, heading: str, *parts: object) -> Section:
    return Section(key, link, tag("section", tag("h2", heading, id=key), *parts, aria_labelledby=key))


def every(path: SelectionPath, command: str | None, data: Mapping[str, Any]) -> list[Section]:
    """The sections in order; a path without steps has nothing to draw, to drop or to replace."""
    made = [drawn, dropped, equivalents] if path.steps else []
    end = [steps(path)] if path.steps else []
    return [
        asked(path, data),
        selected(path),
        *(part(path) for part in made),
        spent(path),
        notes(path, data),
        reproduce(path, command),
        *end,
    ]


def found(path: SelectionPath) -> Html:
    """What was found, in two sentences."""
    n = len(path.selected)
    if not n:
        return join(
            [
                f"None of the {count(path.n_features, 'feature')} was selected: {path.stop}. ",
                f"Without any feature the {path.criterion} is {number(path.start)}.",
            ]
        )
    brought = [entry for entry in findings.entries(path) if entry.gain is not None and entry.gain > 0]
    best = max(brought, key=lambda entry: entry.gain or 0.0, default=None)
    first = (
        f"{path.strategy.replace('_', '-').capitalize()} selected {n:,} of {count(path.n_features, 'feature')}, which "
        f"{'bring' if n > 1 else 'brings'} the {path.criterion} from {number(path.start)} to {number(path.score)}. "
    )
    if best is None:
        return join([first, f"It stopped because {path.stop}."])
    largest = join(["The largest gain on entry was that of ", names(path.names(best.features), 3)])
    return join([first, largest, f" ({number(best.gain or 0.0)}); the search stopped because {path.stop}."])


def tiles(path: SelectionPath) -> Html:
    """The four numbers to remember."""
    cost = findings.cost(path)
    saved = f"{cost.share:.0%} saved by dropping" if cost.saved else "gains computed"
    facts = [
        ("Selected", f"{len(path.selected):,}", f"of {count(path.n_features, 'feature')}"),
        (f"Score ({path.criterion})", number(path.score), f"from {number(path.start)}"),
        ("Steps", f"{len(path.steps):,}", _phases(path)),
        ("Evaluations", f"{cost.made:,}", saved),
    ]
    cells = [tag("div", tag("dt", a), tag("dd", tag("b", b), " ", tag("span", c))) for a, b, c in facts]
    return tag("dl", *cells, class_="tiles")


def _phases(path: SelectionPath) -> str:
    phases = list(dict.fromkeys(step.phase for step in path.steps))
    return ", ".join(phases) if phases else "no feature may enter"


def asked(path: SelectionPath, data: Mapping[str, Any]) -> Section:
    facts: list[tuple[str, object]] = [
        ("Strategy", _meant(path.strategy, words.STRATEGIES)),
        ("Model", _meant(path.model, words.MODELS)),
        ("Criterion", _meant(path.criterion, words.CRITERIA)),
        ("Computed", _meant(path.solver, words.SOLVERS)),
    ]
    known = getattr(path, "asked", None) or {}
    rules = {key: value for key, value in known.items() if key not in ("strategy", "model", "criterion", "solver")}
    facts += [(key, _value(value)) for key, value in rules.items()]
    facts += [(key, _value(value)) for key, value in data.items() if key != "notes"]
    return section("asked", "Asked", "What was asked", _facts(facts))


def _meant(word: str, meanings: Mapping[str, str]) -> Html:
    meaning = meanings.get(word)
    return join([tag("b", word), f": {meaning}" if meaning else ""])


def _facts(facts: Sequence[tuple[str, object]], kind: str = "facts") -> Html:
    return tag("dl", *(tag("div", tag("dt", key), tag("dd", value)) for key, value in facts), class_=kind)


def _value(value: Any) -> Html:
    """A fact: a number, a text, a mapping (word by word) or a sequence (one after the other)."""
    if hasattr(value, "tolist"):  # of NumPy or pandas
        value = value.tolist()
    if isinstance(value, Mapping):
        return join((join([named(str(key)), ": ", _value(item)]) for key, item in value.items()), "; ")
    if isinstance(value, set | frozenset):
        value = sorted(value, key=str)
    if isinstance(value, list | tuple):
        return names(map(str, value), 24)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return join([value])
    return join([f"{value:,}" if isinstance(value, int) else number(value, 6)])


def selected(path: SelectionPath) -> Section:
    """Every addition and removal in the order made, with a bar for each gain, and what would enter next."""
    made = moves(path)
    largest = max((move.step.gain for move in made if math.isfinite(move.step.gain)), default=0.0)
    rows = [_move(path, order, move, largest) for order, move in enumerate(made, start=1)]
    head = [("#", "num"), ("Feature", None), ("Gain", "num"), (path.criterion, "num")]
    caption = (
        f"Additions and removals in the order made, with the gain (the bar) and the {path.criterion} after each; from "
        f"{number(path.start, 6)}, the gains add up to the score. A feature struck through was removed."
    )
    parts: list[object] = [] if path.selected else [tag("p", f"None: {path.stop}.")]
    if path.selected and any(move.gone or len(move.step.features) > MOST_SHOWN for move in made):
        parts.append(tag("p", "Selected: ", names(path.selected_names, MOST_NAMES), "."))
    parts += [_table(caption, head, rows, "entries")] if rows else []
    following = findings.next_in_line(path)
    if following:
        line = "Next in line, by the gain they would bring now: "
        parts.append(tag("p", line, names(path.names(following), len(following)), "."))
    return section("selected", "Selected", "Selected features", *parts)


def _move(path: SelectionPath, order: int, move: Move, largest: float) -> Html:
    step = move.step
    bar: Html | str = ""
    if step.gain > 0 and largest > 0:
        gone = " gone" if len(move.gone) == len(step.features) else ""
        bar = tag("span", class_=f"bar {step.phase}{gone}", style=f"width:{min(1.0, step.gain / largest):.2%}")
    who = names(path.names(step.features), MOST_SHOWN, path.names(tuple(move.gone)))
    return tag(
        "tr",
        tag("td", f"{order:,}", class_="num"),
        tag("th", tag("span", who, " ", tag("span", move.label, class_="quiet"), class_="who"), bar, scope="row"),
        tag("td", number(step.gain), class_="num"),
        tag("td", number(step.score, 6), class_="num"),
    )


def _table(caption: str, head: Sequence[tuple[str, str | None]], rows: Sequence[Html], kind: str) -> Html:
    heads = [tag("th", word, scope="col", class_=side) for word, side in head]
    parts = (tag("caption", caption), tag("thead", tag("tr", *heads)), tag("tbody", *rows))
    return tag("table", *parts, class_=kind)


def drawn(path: SelectionPath) -> Section:
    """The path as a picture: one for wide pages, one for narrow ones."""
    caption = tag(
        "figcaption",
        "The score after every addition and removal, and the number of candidates in the pool. The numbers are in ",
        tag("a", "the table of every step", href="#steps"),
        ".",
    )
    pictures = [picture(path, 720, "wide"), picture(path, 350, "narrow")]
    return section("path", "SelectionPath", "The path", tag("figure", legend(path), *pictures, caption))


def dropped(path: SelectionPath) -> Section:
    """What was dropped and what came back."""
    found = findings.turns(path)
    sentences = join(_turns(path, found), " ") or "No candidate was dropped, and no feature was removed."
    parts = [tag("p", sentences)]
    if len(found.dropped) > 8:
        listed = tag("p", names(path.names(found.dropped), MOST_NAMES), class_="many")
        parts.append(tag("details", tag("summary", f"The {count(len(found.dropped), 'dropped feature')}"), listed))
    return section("dropped", "Dropped", "Dropped, recalled and removed features", *parts)


def _turns(path: SelectionPath, found: findings.Turns) -> Iterator[Html]:
    if found.dropped:
        few = names(path.names(found.dropped)) if len(found.dropped) <= 8 else ""
        listed = join([": ", few]) if few else ""
        were = "was" if len(found.dropped) == 1 else "were"
        lead = f"{count(len(found.dropped), 'feature')} {were} dropped from the pool in a forward phase"
        yield join([lead, listed, "."])
    if found.recalled:
        whole = len(found.recalled) == len(found.dropped) > 1
        every = "All of them" if whole else count(len(found.recalled), "feature")
        were = "was" if len(found.recalled) == 1 else "were"
        yield join([f"{every} {were} recalled; ", _recalled(path, found)])
    elif found.dropped:
        yield join(["None of them was recalled."])
    if found.removed:
        were = "was" if len(found.removed) == 1 else "were"
        removed = names(path.names(found.removed))
        yield join([f"{count(len(found.removed), 'feature')} {were} removed from the selection: ", removed, "."])
    if found.returned:
        yield join(["Of those, ", names(path.names(found.returned)), " entered again."])


def _recalled(path: SelectionPath, found: findings.Turns) -> Html:
    n = len(found.entered)
    if not n:
        return join(["none of them entered."])
    return join([f"{n:,} entered after that: ", names(path.names(found.entered), 12), "."])


def equivalents(path: SelectionPath) -> Section:
    """Near-equivalents of each selected feature: candidates that could take its place."""
    known, heading = findings.equivalents(path) or {}, "Near-equivalents"
    entries = findings.entries(path)
    told = [entry.features for entry in entries if entry.features[0] in known]
    if not told:
        chosen = "They were not computed for this path." if any(entry.gain is not None for entry in entries) else ""
        why = chosen or ("Every feature was in from the start." if entries else "Nothing is selected.")
        return section("equivalents", heading, heading, tag("p", why))
    rows = [_equivalent(path, features, known[features[0]]) for features in told if known[features[0]]]
    parts: list[object] = []
    if rows:
        caption = (
            "Candidates that would do nearly as well in the place of a selected feature, all others kept. A feature is "
            "worth what the score would lose without it."
        )
        head: list[tuple[str, str | None]] = [("Feature", None), ("Could be replaced by", None)]
        parts.append(_table(caption, head, rows, "pairs"))
    if len(told) > len(rows):
        parts.append(tag("p", _alone(len(told), len(told) - len(rows))))
    return section("equivalents", heading, heading, *parts)


def _alone(told: int, alone: int) -> str:
    """How many features that were looked at have no near-equivalent."""
    if alone < told:
        return f"Of {told:,} looked at, the other {count(alone, 'feature has', 'features have')} none."
    who = "The feature has no" if told == 1 else f"None of the {told:,} features looked at has a"
    return f"{who} near-equivalent: whatever took its place would lose far more."


def _equivalent(path: SelectionPath, features: tuple[int, ...], near: Sequence[tuple[int, float]]) -> Html:
    loss = findings.losses(path).get(features[0])
    own = tag("span", f"worth {number(loss)} now", class_="quiet") if loss is not None else ""
    units = {unit[0]: unit for unit in ranked(path)}
    items = [
        tag("li", names(path.names(units.get(j, (j,)))), " ", tag("span", _exchange(cost, loss), class_="quiet"))
        for j, cost in near
    ]
    return tag("tr", tag("th", names(path.names(features)), " ", own, scope="row"), tag("td", tag("ul", *items)))


def _exchange(cost: float, worth: float | None) -> str:
    """What an exchange would do to the score."""
    if cost <= 0:
        return f"would gain {number(-cost)}" if cost else "exactly as good"
    return f"keeps {1 - cost / worth:.0%} (loses {number(cost)})" if worth else f"loses {number(cost)}"


def spent(path: SelectionPath) -> Section:
    cost = findings.cost(path)
    sentence = f"The search computed {count(cost.made, 'gain')}."
    if not cost.saved:
        return section("cost", "Cost", "The cost", tag("p", f"{sentence} No candidate was skipped by dropping."))
    whole = f"Scanning every candidate at every addition would have taken {cost.whole:,}"
    bar = tag("div", tag("span", style=f"width:{1 - cost.share:.2%}"), class_="whole", aria_hidden="true")
    key = tag("p", f"{cost.made:,} computed, {cost.saved:,} saved", class_="quiet")
    return section(
        "cost", "Cost", "The cost", tag("p", f"{sentence} {whole}: dropping saved {cost.share:.0%}."), bar, key
    )


def notes(path: SelectionPath, data: Mapping[str, Any]) -> Section:
    """Warnings of the search and of whoever read the table, then what holds for every selection."""
    items = [*path.notes, *_sentences(data.get("notes"))]
    listed = tag("ul", *(tag("li", item) for item in items), class_="notes") if items else tag("p", "No warnings.")
    always = (
        "The score and the gains are computed on the data used for selection and are optimistically biased; validate "
        "the selection on held-out data. A feature that is not selected may still matter: another feature may carry "
        "the same information."
    )
    return section("notes", "Notes", "Warnings and notes", listed, tag("p", always))


def _sentences(notes: object) -> list[str]:
    if not notes:
        return []
    return [notes] if isinstance(notes, str) else [str(note) for note in notes] if isinstance(notes, Sequence) else []


def reproduce(path: SelectionPath, command: str | None) -> Section:
    lead, code = ("Run", command) if command else (_given(path), snippet(path))
    parts: list[object] = [tag("p", f"{lead}:"), tag("pre", tag("code", code), tabindex="0")]
    if command is None and path.params is None:
        parts.append(tag("p", "Parameters other than these were not recorded; add those that were passed."))
    versions = [("Python", platform.python_version()), *((name, _version(name)) for name in PACKAGES)]
    return section("reproduce", "Reproduce", "How to reproduce it", *parts, _facts(versions, "facts versions"))


def _given(path: SelectionPath) -> str:
    """The variables that the snippet expects."""
    if path.from_moments:
        return "In Python, with the same X and y (and sample_weight in Moments.of, if rows were weighted)"
    return "In Python, with the same X, y and sample_weight" if path.weighted else "In Python, with the same X and y"


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:  # run from a folder, not installed
        return "unknown"


def steps(path: SelectionPath) -> Section:
    head = [("Step", "num"), ("What happened", None), ("Gain", "num"), (path.criterion, "num"), ("Pool", "num")]
    caption = "Every step: what happened in which phase, its gain, the score and the pool after it."
    rows = [_step(path, i, step) for i, step in enumerate(path.steps, start=1)]
    listed = tag("details", tag("summary", f"All {count(len(rows), 'step')}"), _table(caption, head, rows, "steps"))
    return section("steps", "Every step", "Every step", listed)


def _step(path: SelectionPath, i: int, step: Step) -> Html:
    number_of = f" {len(step.features):,}" if len(step.features) > 1 else ""
    who = join([tag("span", f"{step.phase}: {PAST[step.action]}{number_of}", class_="quiet"), " "])
    moved = step.action in ("add", "remove")
    return tag(
        "tr",
        tag("td", f"{i:,}", class_="num"),
        tag("th", who, names(path.names(step.features), 5), scope="row"),
        tag("td", number(step.gain) if moved else "", class_="num"),
        tag("td", number(step.score, 6), class_="num"),
        tag("td", f"{step.pool:,}", class_="num"),
        class_=None if moved else "pooled",
    )
