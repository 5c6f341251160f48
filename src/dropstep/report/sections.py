"""The sections of the report, each a function of the path and of what is known besides."""

from __future__ import annotations

import platform
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from dropstep.path import Path, Step
from dropstep.plots import ranked
from dropstep.report import findings, words
from dropstep.report.markup import Html, count, join, named, names, number, tag
from dropstep.report.picture import legend, picture

PACKAGES = ("dropstep", "numpy", "scipy", "scikit-learn")
PAST = {"add": "added", "remove": "removed", "drop": "dropped", "recall": "recalled"}
MOST_NAMES = 500  # past this a list of names serves nobody


@dataclass(frozen=True)
class Section:
    """A section of the page: the word that links to it, and what it says."""

    key: str
    link: str
    html: Html


def section(key: str, link: str, heading: str, *parts: object) -> Section:
    return Section(key, link, tag("section", tag("h2", heading, id=key), *parts, aria_labelledby=key))


def every(path: Path, command: str | None, data: Mapping[str, Any]) -> list[Section]:
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


def found(path: Path) -> Html:
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


def tiles(path: Path) -> Html:
    """The four numbers to remember."""
    cost = findings.cost(path)
    saved = f"{cost.share:.0%} spared by dropping" if cost.saved else "gains computed"
    facts = [
        ("Selected", f"{len(path.selected):,}", f"of {count(path.n_features, 'feature')}"),
        (f"Score ({path.criterion})", number(path.score), f"from {number(path.start)}"),
        ("Steps", f"{len(path.steps):,}", _phases(path)),
        ("Evaluations", f"{cost.made:,}", saved),
    ]
    cells = [tag("div", tag("dt", a), tag("dd", tag("b", b), " ", tag("span", c))) for a, b, c in facts]
    return tag("dl", *cells, class_="tiles")


def _phases(path: Path) -> str:
    phases = list(dict.fromkeys(step.phase for step in path.steps))
    return ", ".join(phases) if phases else "no feature may enter"


def asked(path: Path, data: Mapping[str, Any]) -> Section:
    facts: list[tuple[str, object]] = [
        ("Strategy", _meant(path.strategy, words.STRATEGIES)),
        ("Model", _meant(path.model, words.MODELS)),
        ("Criterion", _meant(path.criterion, words.CRITERIA)),
        ("Computed", _meant(path.way, words.WAYS)),
    ]
    known = getattr(path, "asked", None) or {}
    rules = {key: value for key, value in known.items() if key not in ("strategy", "model", "criterion", "way")}
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
    if isinstance(value, Mapping):
        return join((join([named(str(key)), ": ", _value(item)]) for key, item in value.items()), "; ")
    if isinstance(value, (list, tuple, set, frozenset)):
        return names(map(str, value), 24)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return join([value])
    return join([f"{value:,}" if isinstance(value, int) else number(value, 6)])


def selected(path: Path) -> Section:
    """The selection in order of entry: a bar for each gain."""
    entries = findings.entries(path)
    most = max((entry.gain for entry in entries if entry.gain is not None), default=0.0)
    rows = [_entry(path, order, entry, most) for order, entry in enumerate(entries, start=1)]
    head = [("#", "num"), ("Feature", None), ("Gain", "num"), (path.criterion, "num")]
    caption = f"In order of entry, with the gain on entry (the bar) and the {path.criterion} after it."
    parts: list[object] = [_table(caption, head, rows, "entries") if rows else tag("p", f"None: {path.stop}.")]
    following = findings.next_in_line(path)
    if following:
        line = "Next in line, by the gain they would bring now: "
        parts.append(tag("p", line, names(path.names(following), len(following)), "."))
    return section("selected", "Selected", "Selected features", *parts)


def _entry(path: Path, order: int, entry: findings.Entry, most: float) -> Html:
    gain, step = entry.gain, entry.step
    bar: Html | str = ""
    if gain is not None and step is not None and most > 0:
        bar = tag("span", class_=f"bar {step.phase}", style=f"width:{max(0.0, gain / most):.2%}")
    told = tag("span", "in from the start" if gain is None else step.phase if step else "", class_="quiet")
    return tag(
        "tr",
        tag("td", f"{order:,}", class_="num"),
        tag("th", tag("span", names(path.names(entry.features)), " ", told, class_="who"), bar, scope="row"),
        tag("td", "" if gain is None else number(gain), class_="num"),
        tag("td", "" if gain is None or step is None else number(step.score), class_="num"),
    )


def _table(caption: str, head: Sequence[tuple[str, str | None]], rows: Sequence[Html], kind: str) -> Html:
    heads = [tag("th", word, scope="col", class_=side) for word, side in head]
    parts = (tag("caption", caption), tag("thead", tag("tr", *heads)), tag("tbody", *rows))
    return tag("table", *parts, class_=kind)


def drawn(path: Path) -> Section:
    """The path as a picture: one for wide pages, one for narrow ones."""
    caption = tag(
        "figcaption",
        "Every addition and removal, with the candidates that were left to look at. The numbers are in the table of ",
        tag("a", "every step", href="#steps"),
        ".",
    )
    pictures = [picture(path, 720, "wide"), picture(path, 350, "narrow")]
    return section("path", "Path", "The path", tag("figure", legend(path), *pictures, caption))


def dropped(path: Path) -> Section:
    """What was dropped and what came back."""
    found = findings.turns(path)
    sentences = join(_turns(path, found), " ") or "No candidate was dropped, and no feature was removed."
    parts = [tag("p", sentences)]
    if len(found.dropped) > 8:
        listed = tag("p", names(path.names(found.dropped), MOST_NAMES), class_="many")
        parts.append(tag("details", tag("summary", f"The {count(len(found.dropped), 'dropped feature')}"), listed))
    removed = [step for step in path.steps if step.action == "remove"]
    if removed:
        head = [("Removed", None), ("Gain", "num"), (path.criterion, "num")]
        rows = [_removed(path, step) for step in removed]
        caption = f"Features that were removed: what that gained (below zero: lost), and the {path.criterion} after it."
        parts.append(_table(caption, head, rows, "removed"))
    return section("dropped", "Dropped", "What was dropped, and what came back", *parts)


def _turns(path: Path, found: findings.Turns) -> Iterator[Html]:
    if found.dropped:
        few = names(path.names(found.dropped)) if len(found.dropped) <= 8 else ""
        listed = join([": ", few]) if few else ""
        were = "was" if len(found.dropped) == 1 else "were"
        yield join(
            [count(len(found.dropped), "feature"), f" {were} dropped on the way, hopeless at the time", listed, "."]
        )
    if found.recalled:
        every = "All of them" if len(found.recalled) == len(found.dropped) else count(len(found.recalled), "feature")
        yield join([f"{every} had a second chance; ", _second_chance(path, found)])
    elif found.dropped:
        yield join(["None of them was looked at again."])
    if found.removed:
        yield join([f"{count(len(found.removed), 'feature')} left the selection again."])
    if found.returned:
        yield join(["Of those, ", names(path.names(found.returned)), " came back."])


def _second_chance(path: Path, found: findings.Turns) -> Html:
    n = len(found.entered)
    if not n:
        return join(["none of them entered."])
    return join([f"{n:,} entered after all: ", names(path.names(found.entered), 12), "."])


def _removed(path: Path, step: Step) -> Html:
    return tag(
        "tr",
        tag("th", names(path.names(step.features)), " ", tag("span", step.phase, class_="quiet"), scope="row"),
        tag("td", number(step.gain), class_="num"),
        tag("td", number(step.score), class_="num"),
    )


def equivalents(path: Path) -> Section:
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


def _equivalent(path: Path, features: tuple[int, ...], near: Sequence[tuple[int, float]]) -> Html:
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


def spent(path: Path) -> Section:
    cost = findings.cost(path)
    sentence = f"The search computed {count(cost.made, 'gain')}."
    if not cost.saved:
        return section("cost", "Cost", "The cost", tag("p", f"{sentence} No candidate was skipped by dropping."))
    whole = f"Scanning every candidate at every addition would have taken {cost.whole:,}"
    bar = tag("div", tag("span", style=f"width:{1 - cost.share:.2%}"), class_="whole", aria_hidden="true")
    key = tag("p", f"{cost.made:,} made, {cost.saved:,} spared", class_="quiet")
    return section(
        "cost", "Cost", "The cost", tag("p", f"{sentence} {whole}: dropping spared {cost.share:.0%}."), bar, key
    )


def notes(path: Path, data: Mapping[str, Any]) -> Section:
    """Warnings of the search and of whoever read the table, then what holds for every selection."""
    items = [*path.notes, *_sentences(data.get("notes"))]
    listed = tag("ul", *(tag("li", item) for item in items), class_="notes") if items else tag("p", "No warnings.")
    always = (
        "The score and the gains were measured on the very rows that chose the features, so they promise more than new "
        "rows will keep. Judge a selection on rows that the search has not seen. A feature that was left out may still "
        "matter: another may have told the same."
    )
    return section("notes", "Notes", "Warnings and notes", listed, tag("p", always))


def _sentences(notes: object) -> list[str]:
    if not notes:
        return []
    return [notes] if isinstance(notes, str) else [str(note) for note in notes] if isinstance(notes, Sequence) else []


def reproduce(path: Path, command: str | None) -> Section:
    given = getattr(path, "asked", None)
    lead, call = ("Run", command) if command else ("In Python, with the same X and y", _call(path, given))
    parts: list[object] = [tag("p", f"{lead}:"), tag("pre", tag("code", call), tabindex="0")]
    if command is None and given is None:
        parts.append(tag("p", "Add the thresholds and other words that were given; the path does not hold them."))
    versions = [("Python", platform.python_version()), *((name, _version(name)) for name in PACKAGES)]
    return section("reproduce", "Reproduce", "How to reproduce it", *parts, _facts(versions, "facts versions"))


def _call(path: Path, given: Mapping[str, Any] | None) -> str:
    known = {"strategy": path.strategy, "model": path.model, "criterion": path.criterion}
    words = [f"{key}={value!r}" for key, value in (known if given is None else given).items()]
    return f"from dropstep import select\n\npath = select({', '.join(['X', 'y', *words])})"


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:  # run from a folder, not installed
        return "unknown"


def steps(path: Path) -> Section:
    head = [("Step", "num"), ("What happened", None), ("Gain", "num"), (path.criterion, "num"), ("Pool", "num")]
    caption = "Every step: what happened in which phase, its gain, the score and the pool after it."
    rows = [_step(path, i, step) for i, step in enumerate(path.steps, start=1)]
    listed = tag("details", tag("summary", f"All {count(len(rows), 'step')}"), _table(caption, head, rows, "steps"))
    return section("steps", "Every step", "Every step", listed)


def _step(path: Path, i: int, step: Step) -> Html:
    number_of = f" {len(step.features):,}" if len(step.features) > 1 else ""
    who = join([tag("span", f"{step.phase}: {PAST[step.action]}{number_of}", class_="quiet"), " "])
    moved = step.action in ("add", "remove")
    return tag(
        "tr",
        tag("td", f"{i:,}", class_="num"),
        tag("th", who, names(path.names(step.features), 5), scope="row"),
        tag("td", number(step.gain) if moved else "", class_="num"),
        tag("td", number(step.score), class_="num"),
        tag("td", f"{step.pool:,}", class_="num"),
        class_=None if moved else "pooled",
    )
