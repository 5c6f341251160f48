"""The sections of the report, each a function of the path."""

from __future__ import annotations

import math
import platform
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

from dropstep.report import descriptions, html
from dropstep.report import quantities as summary
from dropstep.report.charts import legend, path_svg, ticks
from dropstep.report.coefficient_table import Line, heads, lines, sentences
from dropstep.report.html import Html, feature_name, feature_names, join, tag
from dropstep.report.methods import FORMS
from dropstep.report.methods import methods as as_methods
from dropstep.report.page import Section, section, table
from dropstep.report.quantities import SizeScore
from dropstep.report.snippet import code_of, snippet
from dropstep.report.text import number, p_value, short
from dropstep.result import STABLE, Coefficients, Evidence, SelectionPath, Step, Subset, Subsets
from dropstep.wording import counted

if TYPE_CHECKING:
    from dropstep.resampling.holdout import Holdout
    from dropstep.resampling.stability import Stability


PACKAGES = ("dropstep", "numpy", "scipy", "scikit-learn")
PAST = {"add": "added", "remove": "removed", "drop": "dropped", "recall": "recalled"}
THRESHOLDS = {"enter": "gain > {}", "leave": "loss ≤ {}", "drop": "gain ≤ {}"}
RANKS = {"enter": "the k-th feature", "leave": "each of k features", "drop": "the k-th feature"}
DROPPING = ("dropping", "fbed")  # strategies that drop candidates
MAX_IN_ROW = 8  # names in a row of a table
MAX_IN_SUBSET = 40  # names of a set of features
MAX_IN_LIST = 500  # names in a list


def all_sections(
    path: SelectionPath, command: str | None, data: Mapping[str, Any], evidence: Evidence | None = None
) -> list[Section]:
    """The sections in order: the fitted model first, then how it was found; those without content are omitted."""
    facts = [(name, _value(value)) for name, value in data.items() if name != "notes"]
    about_data = [section("data", "Data", "Data", _facts(facts))] if facts else []
    about_fit = [coefficients(path.coefficients)] if path.coefficients is not None and path.selected else []
    about_steps = [drawing(path), *scores_by_size(path), dropped(path)] if path.steps else []
    about_steps += [equivalents(path)] if path.steps and not path.fits_saved else []
    last = [steps(path)] if path.steps else []
    return [
        *about_fit,
        *best_subsets(path),
        methods(path, evidence, data),
        *about_data,
        selected(path),
        *about_steps,
        search(path),
        parameters(path),
        reproduce(path, command),
        *last,
    ]


def methods(path: SelectionPath, evidence: Evidence | None, data: Mapping[str, Any]) -> Section:
    """A paragraph for a paper, as text, Markdown and LaTeX, and the caution that applies to every selection."""
    rows = data.get("Rows")
    n_rows = rows if isinstance(rows, int) else None
    text, markdown, latex = (as_methods(path, form, evidence=evidence, n_rows=n_rows) for form in FORMS)
    folded = [
        tag("details", tag("summary", name), tag("pre", tag("code", paragraph), tabindex="0"), class_="screen")
        for name, paragraph in (("Markdown", markdown), ("LaTeX", latex))
    ]
    resampled = any(step.score_std_error is not None for step in path.steps)
    how = "cross-validated, but were maximised over candidates" if resampled else "computed on the training data"
    always = (
        f"Scores and gains are {how} and are optimistically biased; validate on held-out data. "
        "A feature that is not selected may still be relevant: another feature may carry the same information."
    )
    copied = tag("blockquote", tag("p", text), tabindex="0")
    return section("methods", "Methods", "Methods paragraph to copy", copied, *folded, tag("p", always, class_="quiet"))


def search(path: SelectionPath) -> Section:
    """The key figures of the search, and why it ended."""
    spent = summary.cost(path)
    saved = f"{spent.share:.0%} saved by dropping" if spent.saved else "gains computed"
    facts = [
        (f"Score ({path.criterion})", number(path.score), f"from {number(path.start)}"),
        ("Steps", f"{len(path.steps):,}", ", ".join(dict.fromkeys(step.phase for step in path.steps)) or "none"),
        ("Evaluations", f"{spent.computed:,}", saved),
    ]
    cells = [tag("div", tag("dt", a), tag("dd", tag("b", b), " ", tag("span", c))) for a, b, c in facts]
    stopped = tag("p", f"The search stopped because {path.why}.")
    return section("search", "Search", "Search and its cost", stopped, tag("dl", *cells, class_="tiles"), *_cost(path))


def _cost(path: SelectionPath) -> list[Html]:
    """Number of evaluations, and how many dropping saved."""
    spent = summary.cost(path)
    sentence = f"The search computed {counted(spent.computed, 'gain')}."
    if path.fits_saved:
        return [tag("p", sentence), fits(path)]
    if path.n_fits:
        sentence = f"The search computed {counted(spent.computed, 'gain')} and fitted {counted(path.n_fits, 'model')}."
    if not spent.saved:
        return [tag("p", f"{sentence} Dropping saved none." if path.strategy in DROPPING else sentence)]
    total = f"Without dropping, the same additions would have required {spent.total:,}"
    bar = tag("div", tag("span", style=f"width:{1 - spent.share:.2%}"), class_="whole", aria_hidden="true")
    key = tag("p", f"{spent.computed:,} computed, {spent.saved:,} saved", class_="quiet")
    return [tag("p", f"{sentence} {total}; dropping saved {spent.share:.0%}."), bar, key]


# --- parameters ------------------------------------------------------------------------------------------------------


def parameters(path: SelectionPath) -> Section:
    """The parameters of the search, with defaults resolved."""
    direction = "larger is better" if path.greater_is_better else "smaller is better"
    drops = path.strategy in DROPPING
    facts: list[tuple[str, object]] = [
        ("strategy", _described(path.strategy, path.params.get("strategy"), descriptions.STRATEGIES)),
        ("model", _described(path.model, path.params.get("model"), descriptions.MODELS)),
        (
            "criterion",
            join([_described(path.criterion, path.params.get("criterion"), descriptions.CRITERIA), f"; {direction}"]),
        ),
        ("solver", _described(path.solver, None, descriptions.SOLVERS)),
        *((name, _rule(name, rule)) for name, rule in path.rules.items() if name != "drop" or drops),
    ]
    known = {"strategy", "model", "criterion", "solver", *path.rules}
    facts += [(name, _value(value)) for name, value in path.params.items() if name not in known]
    return section("parameters", "Parameters", "Parameters", _facts(facts))


def _described(name: str, passed: Any, known: Mapping[str, str]) -> Html:
    """A name, or the object that was passed in its place with its parameters, and a description where one is known."""
    shown = name if passed is None or isinstance(passed, str) else code_of(passed)
    return join([tag("b", shown), f": {known[name]}" if name in known else ""])


def _rule(name: str, rule: Any) -> str:
    if isinstance(rule, int | float):
        return THRESHOLDS[name].format(number(rule))
    if hasattr(rule, "multiple"):
        return THRESHOLDS[name].format(f"{rule.multiple:g} standard error{'' if rule.multiple == 1 else 's'}")
    if hasattr(rule, "n_permutations"):
        return f"test at level {rule.level:.4g} by {rule.n_permutations} permutations of the residuals"
    if hasattr(rule, "fdr"):
        return f"knockoffs with a false discovery rate of {rule.fdr:.4g}"
    if not hasattr(rule, "level"):
        return code_of(rule)
    by_size = f" k / {rule.n_choices:,} for {RANKS[name]}" if rule.correction == "fdr" else ""
    return f"significance test at level {rule.level:.4g}{by_size}"


def _value(value: Any) -> Html:
    """A number, a text, a mapping or a sequence; other objects as Python code."""
    if hasattr(value, "tolist"):  # of NumPy or pandas
        value = value.tolist()
    if isinstance(value, Mapping):
        return join((join([feature_name(str(key)), ": ", _value(item)]) for key, item in value.items()), "; ")
    if isinstance(value, set | frozenset):
        value = sorted(value, key=str)
    if isinstance(value, list | tuple):
        return feature_names((" + ".join(map(str, v)) if isinstance(v, list | tuple) else str(v) for v in value), 24)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return join([value if isinstance(value, str) else code_of(value)])
    return join([f"{value:,}" if isinstance(value, int) else number(value, 6)])


def _facts(facts: Sequence[tuple[str, object]], kind: str = "facts") -> Html:
    return tag("dl", *(tag("div", tag("dt", key), tag("dd", value)) for key, value in facts), class_=kind)


# --- selected features and steps -------------------------------------------------------------------------------------


def selected(path: SelectionPath) -> Section:
    """All additions and removals in the order made, with a bar per gain, and the next candidates."""
    made = summary.moves(path)
    largest = max((move.step.gain for move in made if math.isfinite(move.step.gain)), default=0.0)
    rows = [_move(path, order, move, largest) for order, move in enumerate(made, start=1)]
    head = [("#", "num"), ("Feature", None), ("Gain", "num"), (path.criterion, "num")]
    caption = (
        f"Additions and removals in the order made, with the gain (bar) and {path.criterion} after each. From "
        f"{number(path.start, 6)}, the gains add up to the score. Removed features are struck through."
    )
    parts: list[object] = [] if path.selected else [tag("p", f"None: {path.why}.")]
    if path.selected and any(move.removed or len(move.step.features) > MAX_IN_ROW for move in made):
        parts.append(tag("p", "Selected: ", feature_names(path.selected_names, MAX_IN_LIST), "."))
    parts += [table(caption, head, rows, "entries")] if rows else []
    if following := summary.runners_up(path):
        names = feature_names(path.names(following), len(following))
        by = "their last computed gain" if path.fits_saved else "the gain they would bring now"
        parts.append(tag("p", f"Next candidates, by {by}: ", names, "."))
    return section("selected", "Order of entry", "How the features were selected", *parts)


def _move(path: SelectionPath, order: int, move: summary.MoveMade, largest: float) -> Html:
    step = move.step
    bar: Html | str = ""
    if step.gain > 0 and largest > 0:
        gone = " gone" if len(move.removed) == len(step.features) else ""
        bar = tag("span", class_=f"bar {step.phase}{gone}", style=f"width:{min(1.0, step.gain / largest):.2%}")
    names = feature_names(path.names(step.features), MAX_IN_ROW, path.names(tuple(move.removed)))
    return tag(
        "tr",
        tag("td", f"{order:,}", class_="num"),
        tag("th", tag("span", names, " ", tag("span", move.label, class_="quiet"), class_="who"), bar, scope="row"),
        tag("td", number(step.gain), class_="num"),
        tag("td", number(step.score, 6), class_="num"),
    )


def drawing(path: SelectionPath) -> Section:
    """Score and pool by step: one drawing for wide pages, one for narrow ones."""
    caption = tag(
        "figcaption",
        "Score after each addition and removal, and number of candidates in the pool. The numbers are in ",
        tag("a", "the table of all steps", href="#steps"),
        ".",
    )
    drawings = [path_svg(path, 720, "wide"), path_svg(path, 350, "narrow")]
    return section("path", "Path", "Path", tag("figure", legend(path), *drawings, caption))


def scores_by_size(path: SelectionPath) -> list[Section]:
    """Score by number of features with its band, where scores are means over folds."""
    found, heading = summary.best_by_size(path), "Score by number of features"
    return [section("sizes", "Sizes", heading, *by_size(path, found))] if found else []


def steps(path: SelectionPath) -> Section:
    """The table of all steps, folded."""
    head = [("Step", "num"), ("Action", None), ("Gain", "num"), (path.criterion, "num"), ("p", "num"), ("Pool", "num")]
    caption = (
        "Phase, action, features and gain of each step, with the score after it, the p-value of the features added or "
        "removed given the other selected features, and the pool size."
    )
    rows = [_step(path, i, step) for i, step in enumerate(path.steps, start=1)]
    listed = tag("details", tag("summary", f"All {counted(len(rows), 'step')}"), table(caption, head, rows, "steps"))
    return section("steps", "All steps", "All steps", listed)


def _step(path: SelectionPath, i: int, step: Step) -> Html:
    number_of = f" {len(step.features):,}" if len(step.features) > 1 else ""
    action = join([tag("span", f"{step.phase}: {PAST[step.action]}{number_of}", class_="quiet"), " "])
    moved = step.action in ("add", "remove")
    return tag(
        "tr",
        tag("td", f"{i:,}", class_="num"),
        tag("th", action, feature_names(path.names(step.features), 5), scope="row"),
        tag("td", number(step.gain) if moved else "", class_="num"),
        tag("td", number(step.score, 6), class_="num"),
        tag("td", "" if step.test is None else p_value(step.test.p_value), class_="num"),
        tag("td", f"{step.pool:,}", class_="num"),
        class_=None if moved else "pooled",
    )


# --- dropping and equivalents ----------------------------------------------------------------------------------------


def dropped(path: SelectionPath) -> Section:
    """Features that were dropped, recalled or removed, and which of them entered later."""
    found = summary.reversals(path)
    sentences = join(_reversals(path, found), " ") or "No candidate was dropped, and no feature was removed."
    parts = [tag("p", sentences)]
    if len(found.dropped) > MAX_IN_ROW:
        listed = tag("p", feature_names(path.names(found.dropped), MAX_IN_LIST), class_="many")
        title = tag("summary", f"The {counted(len(found.dropped), 'dropped feature')}")
        parts.append(tag("details", title, listed, class_="screen"))
    return section("dropped", "Dropped", "Dropped, recalled and removed features", *parts)


def _reversals(path: SelectionPath, found: summary.Reversals) -> Iterator[Html]:
    if found.dropped:
        few = len(found.dropped) <= MAX_IN_ROW
        listed = join([": ", feature_names(path.names(found.dropped))]) if few else ""
        yield join([f"{_were(found.dropped)} dropped from the pool in a forward phase", listed, "."])
    if found.recalled:
        everything = len(found.recalled) == len(found.dropped) > 1
        yield join(["All of them were" if everything else _were(found.recalled), " recalled; ", _entered(path, found)])
    elif found.dropped:
        yield join(["None of them was recalled."])
    if found.removed:
        removed = feature_names(path.names(found.removed))
        yield join([f"{_were(found.removed)} removed from the selection: ", removed, "."])
    if found.returned:
        yield join(["Of those, ", feature_names(path.names(found.returned)), " entered again."])


def _were(features: Sequence[int]) -> str:
    return f"{counted(len(features), 'feature')} {'was' if len(features) == 1 else 'were'}"


def _entered(path: SelectionPath, found: summary.Reversals) -> Html:
    n = len(found.entered)
    if not n:
        return join(["none of them entered."])
    return join([f"{n:,} entered after that: ", feature_names(path.names(found.entered), 12), "."])


def equivalents(path: SelectionPath) -> Section:
    """Candidates that could replace each selected feature."""
    heading, known = "Near-equivalents", path.equivalents
    if known is None:
        return section("equivalents", heading, heading, tag("p", "Not computed; pass equivalents=True to select."))
    examined = [entry.features for entry in summary.entries(path) if entry.features[0] in known]
    if not examined:
        why = "All selected features were included from the start." if path.selected else "No feature is selected."
        return section("equivalents", heading, heading, tag("p", why))
    rows = [_equivalent(path, features, known[features[0]]) for features in examined if known[features[0]]]
    parts: list[object] = []
    if rows:
        caption = (
            "Candidates that could replace a selected feature at a small loss, all others kept. The loss of a feature "
            "is that of removing it without replacement."
        )
        head: list[tuple[str, str | None]] = [("Feature", None), ("Could be replaced by", None)]
        parts.append(table(caption, head, rows, "pairs"))
    if len(examined) > len(rows):
        parts.append(tag("p", _without_equivalent(len(examined), len(examined) - len(rows))))
    return section("equivalents", heading, heading, *parts)


def _without_equivalent(examined: int, without: int) -> str:
    if without < examined:
        return f"Of {examined:,} features examined, the other {without:,} {'has' if without == 1 else 'have'} none."
    subject = "The feature has no" if examined == 1 else f"None of the {examined:,} features examined has a"
    return f"{subject} near-equivalent: every replacement would lose far more."


def _equivalent(path: SelectionPath, features: summary.Unit, near: Sequence[tuple[int, float]]) -> Html:
    loss = (path.losses or {}).get(features[0])
    own = tag("span", f"loss without it: {number(loss)}", class_="quiet") if loss is not None else ""
    unit_of = {unit[0]: unit for unit in summary.units(path)}
    items = [
        tag("li", feature_names(path.names(unit_of[j])), " ", tag("span", _exchange(change, loss), class_="quiet"))
        for j, change in near
    ]
    return tag(
        "tr", tag("th", feature_names(path.names(features)), " ", own, scope="row"), tag("td", tag("ul", *items))
    )


def _exchange(change: float, loss: float | None) -> str:
    """Effect of an exchange on the score, relative to removal without replacement."""
    if change <= 0:
        return f"would gain {number(-change)}" if change else "exactly as good"
    return f"keeps {1 - change / loss:.0%} (loses {number(change)})" if loss else f"loses {number(change)}"


# --- code -----------------------------------------------------------------------------------------------------------


def reproduce(path: SelectionPath, command: str | None) -> Section:
    """The command or the Python code that repeats the search, and the versions used."""
    lead, code = ("Run", command) if command else (_variables(path), snippet(path))
    parts = [tag("p", f"{lead}:"), tag("pre", tag("code", code), tabindex="0")]
    versions = [("Python", platform.python_version()), *((name, _version(name)) for name in PACKAGES)]
    return section("reproduce", "Reproduce", "How to reproduce it", *parts, _facts(versions, "facts versions"))


def _variables(path: SelectionPath) -> str:
    """The variables that the snippet expects."""
    if path.from_moments:
        return "In Python, with the same X and y (and sample_weight in Moments.of, if rows were weighted)"
    return "In Python, with the same X, y and sample_weight" if path.weighted else "In Python, with the same X and y"


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:  # run from a source tree
        return "unknown"


MAX_LINES = 30  # of a table that is not folded


def coefficients(fit: Coefficients) -> Section:
    """The table of coefficients with its label; folded if it is long."""
    listed, several = lines(fit), fit.std_error is not None and len(fit.targets) > 1
    first = [("Target", None)] if several else []
    head = [*first, ("Column", None), *((name, "num") for name in heads(fit))]
    rows = [_coefficient_row(line, several) for line in listed]
    shown = tag(
        "div",
        table("In the units of the table, in order of entry.", head, rows, "coefficients"),
        class_="scroll",
        role="region",
        aria_label="Table of coefficients",
        tabindex="0",
    )
    if len(rows) > MAX_LINES:
        shown = tag("details", tag("summary", f"All {counted(len(rows), 'line')}"), shown)
    return section("coefficients", "Coefficients", "Coefficients", tag("p", sentences(fit)), shown)


def _coefficient_row(line: Line, several: bool) -> Html:
    note = (" ", tag("span", line.remark, class_="quiet")) if line.remark else ()
    return tag(
        "tr",
        *([tag("td", feature_name(line.target))] if several else []),
        tag("th", feature_name(line.name), *note, scope="row"),
        *(tag("td", cell, class_="num") for cell in line.numbers),
    )


WIDTH, HEIGHT = 720, 260
LEFT, RIGHT, TOP, BOTTOM = 64.0, 706.0, 28.0, 216.0
CAUSES = {"dropping": "dropping candidates", "racing": "racing", "cache": "the cache"}


def by_size(path: SelectionPath, found: Sequence[SizeScore]) -> list[Html]:
    """A line with its band of one standard error, and the same numbers in a table."""
    caption = "Cross-validated score by number of features, with a band of one standard error over the folds."
    head = [tag("th", text, scope="col", class_="num") for text in ("Features", path.criterion, "Standard error")]
    rows = [
        tag("tr", *(tag("td", text, class_="num") for text in (f"{n:,}", number(score, 6), number(error))))
        for n, score, error in found
    ]
    return [
        tag("figure", _band(path, found), tag("figcaption", caption)),
        tag("details", tag("summary", "The numbers"), html.table(head, rows, caption, class_="steps")),
    ]


def _band(path: SelectionPath, found: Sequence[SizeScore]) -> Html:
    low, high = min(s.score - s.std_error for s in found), max(s.score + s.std_error for s in found)
    scores = ticks(low, high, 5)
    first, last = found[0].n_features, found[-1].n_features

    def x(n: float) -> float:
        return LEFT + (RIGHT - LEFT) * (n - first + 0.5) / (last - first + 1)

    def y(score: float) -> float:
        return BOTTOM - (BOTTOM - TOP) * (score - scores[0]) / (scores[-1] - scores[0])

    grid = [tag("line", x1=LEFT, x2=RIGHT, y1=y(t), y2=y(t), class_="grid") for t in scores]
    grid += [_text(LEFT - 7, y(t) + 4, short(t), "tick", "end") for t in scores]
    shown = {s.n_features for s in found}
    axis = [
        _text(x(t), BOTTOM + 18, short(t), "tick", "middle") for t in ticks(first, last, 8, integer=True) if t in shown
    ]
    upper = [f"{x(s.n_features):.1f},{y(s.score + s.std_error):.1f}" for s in found]
    lower = [f"{x(s.n_features):.1f},{y(s.score - s.std_error):.1f}" for s in reversed(found)]
    middle = [f"{x(s.n_features):.1f},{y(s.score):.1f}" for s in found]
    marks = [tag("circle", cx=x(s.n_features), cy=y(s.score), r=4, class_="mark forward add") for s in found]
    return tag(
        "svg",
        tag("title", f"{path.criterion} by number of features"),
        *grid,
        *axis,
        tag("polygon", points=" ".join([*upper, *lower]), class_="pool"),
        tag("polyline", points=" ".join(middle), class_="line"),
        *marks,
        _text(4, 14, path.criterion, "name"),
        _text(RIGHT, BOTTOM + 36, "number of features", "name", "end"),
        viewBox=f"0 0 {WIDTH} {HEIGHT}",
        role="img",
    )


def _text(x: float, y: float, content: str, kind: str, anchor: str | None = None) -> Html:
    return tag("text", content, x=x, y=y, class_=kind, text_anchor=anchor)


def fits(path: SelectionPath) -> Html:
    """Fits made, and those that were not necessary, by what saved them."""
    saved = [(CAUSES[name], n) for name, n in path.fits_saved.items() if n]
    made = f"The search fitted {counted(path.n_fits, 'model')}"
    if not saved:
        return tag("p", f"{made}; none were saved.")
    total = path.n_fits + sum(n for _, n in saved)
    parts = join([f"{cause} saved {n:,}" for cause, n in saved], ", ")
    return tag("p", f"{made} instead of {total:,}: ", parts, f" ({1 - path.n_fits / total:.0%} in all).")


def best_subsets(path: SelectionPath) -> list[Section]:
    """The best sets of each size, with the selected one marked, and whether it is proven to be the best."""
    if path.subsets is None:
        return []
    chosen = tuple(sorted(path.selected))
    rows = [_subset_row(path, one, selected=one.features == chosen) for one in path.subsets.sets]
    head: list[tuple[str, str | None]] = [("Size", "num"), ("Features", None), (path.criterion, "num")]
    caption = "The best sets of each size; the selected set is in bold."
    parts = [tag("p", _proof(path.subsets)), table(caption, head, rows, "entries")]
    return [section("subsets", "Subsets", "Best subsets", *parts)]


def _proof(found: Subsets) -> str:
    if found.gap == 0:
        return "The selected set is proven to be the best."
    if math.isinf(found.gap):
        return "The search ended early; a better set may exist."
    return f"The search ended early; a set that scores better by up to {number(found.gap)} may exist."


def _subset_row(path: SelectionPath, one: Subset, *, selected: bool) -> Html:
    names = feature_names(path.names(one.features), MAX_IN_SUBSET) if one.features else tag("span", "none")
    return tag(
        "tr",
        tag("td", f"{one.size:,}", class_="num"),
        tag("th", tag("b", names) if selected else names, scope="row"),
        tag("td", number(one.score, 6), class_="num"),
    )


METRICS = {
    "r2": "the share of the variance that is predicted (R²)",
    "accuracy": "the share of rows whose class is predicted correctly",
    "explained deviance": "the share of the deviance that is predicted",
    "concordance": "the share of pairs of rows whose order of events is predicted correctly",
}


def stability_sentences(found: Stability, path: SelectionPath) -> str:
    """The result of repeating the selection on half-samples, in plain words."""
    stable = found.selected(STABLE)
    named = {
        f"Selected on at least {STABLE:.0%} of them": [j for j in path.selected if j in stable],
        "Selected less often, so that other rows might not select them": [j for j in path.selected if j not in stable],
        "Selected as often, but not on all rows together": [j for j in stable if j not in path.selected],
    }
    sentences = [f"The selection was repeated on {2 * found.n_pairs} random halves of the rows."]
    if found.n_empty:
        sentences.append(
            f"On {found.n_empty} of them nothing could be fitted, because the target hardly varies there; they count "
            "as halves that select nothing."
        )
    sentences += [f"{text}: {', '.join(found.names(features))}." for text, features in named.items() if features]
    if not stable:
        return " ".join([*sentences, f"No feature is selected on at least {STABLE:.0%} of them."])
    sentences.append(
        f"Among the features that reach {STABLE:.0%}, at most {number(found.false_selections(STABLE))} false ones are "
        "expected, which are selected no more often than by a random choice (bound of Shah and Samworth 2013 for a "
        "unimodal distribution)."
    )
    return " ".join(sentences)


def holdout_sentences(found: Holdout) -> str:
    """The result on held-out rows, in plain words."""
    text = (
        f"On {found.n_rows} rows that took no part in the selection, {METRICS[found.metric]} is {number(found.score)}."
    )
    if found.metric == "accuracy":
        text += f" The most frequent class has a share of {number(found.baseline)}."
    elif found.score < found.baseline:
        without = "a random order" if found.metric == "concordance" else "their mean"
        text += f" This is worse than {without}, which needs no features."
    if found.inference is not None and found.inference.rows:
        text += (
            f" Coefficients and {found.inference.level:.0%} intervals fitted on these rows, with "
            f"{found.inference.standard_errors}, are not biased by the selection."
        )
        text += "".join(f" Note: {note}." for note in found.inference.notes)
    return text


def certainty_sections(path: SelectionPath, stability: Any = None, holdout: Any = None) -> list[Section]:
    """The sections of a report on stability and held-out rows; none for what was not computed."""
    found = []
    if stability is not None:
        order = sorted(range(stability.n_features), key=lambda j: (-stability.frequencies[j], j))
        shown = [j for j in order if j in path.selected or stability.frequencies[j] >= 0.25]
        rows = [
            _named_row(stability.names([j])[0], [f"{stability.frequencies[j]:.0%}"], j in path.selected) for j in shown
        ]
        head: list[tuple[str, str | None]] = [("Feature", None), ("Frequency", "num"), ("Selected", None)]
        caption = "Share of the half-samples on which each feature is selected."
        found.append(
            section(
                "stability",
                "Stability",
                "How sure is the selection?",
                tag("p", stability_sentences(stability, path)),
                table(caption, head, rows, "steps"),
            )
        )
    if holdout is not None:
        parts: list[Html] = [tag("p", holdout_sentences(holdout))]
        if holdout.inference is not None and holdout.inference.rows:
            names = ("Estimate", "Std. error", "Lower", "Upper", "p-value")
            numbers = [_named_row(r.name, [number(v) for v in r[1:]]) for r in holdout.inference.rows]
            columns: list[tuple[str, str | None]] = [("Feature", None), *((name, "num") for name in names)]
            parts.append(table("Coefficients on held-out rows, with intervals.", columns, numbers, "steps"))
        found.append(section("holdout", "Held-out rows", "What holds on other rows?", *parts))
    return found


def _named_row(name: str, numbers: list[str], selected: bool | None = None) -> Html:
    last = [] if selected is None else [tag("td", "yes" if selected else "")]
    return tag("tr", tag("th", name, scope="row"), *(tag("td", text, class_="num") for text in numbers), *last)
