"""The paragraph for the methods section of a paper, as text, Markdown or LaTeX."""

from __future__ import annotations

import re
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Literal

from dropstep.report.text import number, p_value
from dropstep.report.verdict import amount
from dropstep.result import ALL, NONE, SELECTION, Evidence, HeldOut, SelectionPath
from dropstep.wording import counted

Form = Literal["text", "markdown", "latex"]
FORMS: tuple[Form, ...] = ("text", "markdown", "latex")
MAX_NAMES = 20

STRATEGIES = {
    "forward": "forward selection",
    "backward": "backward elimination",
    "stepwise": "stepwise selection (backward elimination after every addition)",
    "bidirectional": "bidirectional stepwise selection",
    "forward_backward": "forward selection followed by backward elimination",
    "dropping": "forward selection with early dropping, a second forward pass over dropped candidates and one backward "
    "pass",
    "fbed": "forward-backward selection with early dropping (Borboudakis and Tsamardinos 2019)",
    "floating": "sequential forward floating selection (Pudil et al. 1994)",
    "swap": "forward selection followed by exchanges",
}
MODELS = {
    "linear": "linear regression",
    "discriminant": "linear discriminant analysis",
    "logistic": "logistic regression",
    "poisson": "Poisson regression",
    "negative_binomial": "negative binomial regression",
    "ordinal": "ordinal regression",
    "gamma": "gamma regression with log link",
    "cox": "Cox regression",
}
CRITERIA = {
    "rss": "the residual sum of squares",
    "r2": "R2",
    "adj_r2": "adjusted R2",
    "cp": "Mallows' Cp",
    "aic": "AIC",
    "aicc": "AICc",
    "bic": "BIC",
    "ebic": "the extended BIC (Chen and Chen 2008)",
    "deviance": "the deviance",
    "trace": "the Lawley-Hotelling trace",
    "pillai": "Pillai's trace",
    "wilks": "Wilks' lambda",
    "roy": "Roy's largest root",
    "press": "the prediction sum of squares (PRESS)",
    "cv": "cross-validated prediction error",
}
_TAILS = (
    " Where the feature and the residual were both far from normal, a saddlepoint test had to be significant at the "
    "same level."
)

_LATEX = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
_LATEX |= {c: f"\\{c}" for c in "&%$#_{}"}
_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>#|~])")


def methods(
    path: SelectionPath, form: Form = "text", *, evidence: Evidence | None = None, n_rows: int | None = None
) -> str:
    """Write the paragraph.

    Parameters
    ----------
    path : SelectionPath
        The path.
    form : {"text", "markdown", "latex"}, default="text"
        Markup.
    evidence : Evidence or None, default=None
        What `assess` returned.
    n_rows : int or None, default=None
        Number of rows; None takes that of the evidence.

    Returns
    -------
    str
        Plain sentences, in which names and special characters are escaped for the markup.
    """
    if form not in FORMS:
        raise ValueError(f"form must be one of {', '.join(map(repr, FORMS))}; got {form!r}")
    sentences = [_search(path, n_rows or (evidence.n_rows if evidence else None)), _rules(path), _result(path, form)]
    if evidence is not None:
        sentences += [_stability(path, evidence), _error(evidence)]
    sentences.append(path.caveat or "")
    paragraph = " ".join(filter(None, sentences)).replace("−", "-")
    return paragraph if form == "text" else _marked(paragraph, form)


def _search(path: SelectionPath, n_rows: int | None) -> str:
    rows = f" in {counted(n_rows, 'sample')}" if n_rows else ""
    strategy = STRATEGIES.get(path.strategy, f"the strategy {path.strategy!r}")
    model, criterion = MODELS.get(path.model, path.model), CRITERIA.get(path.criterion, path.criterion)
    weights = ", with sample weights as frequencies" if path.weighted else ""
    return (
        f"Features were selected among {counted(path.n_candidates, 'candidate')}{rows} by {strategy}, for {model} with "
        f"{criterion} as the criterion{weights}, using dropstep {_version()}."
    )


def _rules(path: SelectionPath) -> str:
    """What a feature had to do to enter, and to stay."""
    forward = path.strategy != "backward"
    rule: Any = path.rules.get("enter" if forward else "leave")
    subject = "A feature entered" if forward else "A feature stayed"
    if hasattr(rule, "n_permutations"):
        test = f"a test of {rule.n_permutations:,} permutations of the residuals"
        return f"{subject} if {test} was significant at level {p_value(rule.level)}."
    if hasattr(rule, "level"):
        return _test(path, rule, forward)
    if hasattr(rule, "fdr"):
        return (
            "Features were kept if they entered before their knockoffs, by the knockoff+ filter at a false discovery "
            f"rate of {rule.fdr:g} (Candes et al. 2018)."
        )
    if hasattr(rule, "multiple"):
        times = f"{rule.multiple:g} times the standard error of the paired fold differences"
        return f"{subject} if its gain exceeded {times}."
    if isinstance(rule, int | float):
        return f"{subject} if the criterion improved by more than {number(rule)}." if forward else ""
    return ""


def _test(path: SelectionPath, rule: Any, forward: bool) -> str:
    """The test by which features entered or stayed, and its level."""
    likelihood = "score test" if forward else "likelihood-ratio test"
    test = "partial F test" if path.model in ("linear", "discriminant") else likelihood
    if rule.correction == "fdr":
        subject = "The k-th feature entered" if forward else "With k features selected, a feature stayed"
        return (
            f"{subject} if its {test} was significant at level {rule.level:g} k / m, with m = {rule.n_choices:,} "
            f"candidates (Benjamini and Hochberg 1995).{_TAILS if forward and rule.in_tails else ''}"
        )
    subject = "A feature entered" if forward else "A feature stayed"
    divided = ", divided by the number of candidates (Bonferroni)" if rule.correction == "bonferroni" else ""
    return f"{subject} if its {test} was significant at level {p_value(rule.level)}{divided}."


def _result(path: SelectionPath, form: Form) -> str:
    n = len(path.selected)
    if not n:
        return f"No feature was selected: {path.why}."
    names = [_code(name, form) for name in path.selected_names[:MAX_NAMES]]
    more = f" and {n - MAX_NAMES:,} more" if n > MAX_NAMES else ""
    verb = "feature was" if n == 1 else "features were"
    return f"{n:,} {verb} selected ({', '.join(names)}{more}); the search stopped because {path.why}."


def _stability(path: SelectionPath, evidence: Evidence) -> str:
    if evidence.frequencies is None or not path.selected:
        return ""
    shares = [evidence.frequencies[j] for j in path.selected]
    return (
        f"On {evidence.n_halves // 2} complementary pairs of half-samples (Shah and Samworth 2013), the selected "
        f"features were selected with frequencies {min(shares):.2f} to {max(shares):.2f}."
    )


def _error(evidence: Evidence) -> str:
    own, every, none = (evidence.error_of(name) for name in (SELECTION, ALL, NONE))
    if own is None or none is None:
        return ""
    repeats = f", over {evidence.n_repeats} random divisions of the rows," if evidence.n_repeats > 1 else ""
    whole = "" if every is None else f" and {_both(evidence, every)} with {every.model} on all features"
    measure = f"{evidence.measure} (Harrell's concordance)" if own.concordance else evidence.measure
    return (
        f"With the selection repeated in every fold, the {evidence.n_folds}-fold cross-validated {measure}{repeats} "
        f"was {_both(evidence, own)}, compared with {_both(evidence, none)} without features{whole}."
    )


def _both(evidence: Evidence, error: HeldOut) -> str:
    """An error, and the concordance of survival times."""
    c = error.mean_concordance
    return amount(evidence, error.mean) + ("" if c is None else f" ({c:.3f})")


def _code(name: str, form: Form) -> str:
    return f"\0{name}\0" if form != "text" else name


def _marked(text: str, form: Form) -> str:
    """Escape a text for its markup; what is between NUL characters is a name, which is set as code."""
    parts = text.split("\0")
    marked = []
    for i, part in enumerate(parts):
        escaped = "".join(_LATEX.get(c, c) for c in part) if form == "latex" else _MARKDOWN.sub(r"\\\1", part)
        marked.append(escaped if i % 2 == 0 else rf"\texttt{{{escaped}}}" if form == "latex" else _backticks(part))
    return "".join(marked)


def _backticks(name: str) -> str:
    fence = "`" * (1 + max((len(run) for run in re.findall("`+", name)), default=0))
    return f"{fence} {name} {fence}" if "`" in name else f"`{name}`"


def _version() -> Any:
    try:
        return version("dropstep")
    except PackageNotFoundError:  # run from a source tree
        return "unknown"
