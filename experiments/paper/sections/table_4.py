"""Table 4: the three procedures on the simulated regression, and which Cp the paper used."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from examples.from_scratch import Procedure
from experiments.paper.expected import STATED_SAVINGS, TABLE_4, saving
from experiments.paper.page import Block, Chart, Finding, Items, Section, Table, Text, Value
from experiments.paper.parts import Cell, Records, Results
from experiments.paper.procedures import PROCEDURES
from experiments.paper.sections.quantities import (
    compared,
    listed,
    milliseconds,
    number,
    standard_error,
    values,
)
from experiments.paper.sections.savings import OVER, SavingRow, savings_chart, savings_table
from experiments.paper.settings import Settings
from experiments.paper.simulation import CPS, ROWS, table_4_choice_trial, table_4_trial

NEAR = 0.1
MAIN, SD, TEXTBOOK = "per sample", "noise sd 2", "textbook"
FULL = (MAIN, SD, TEXTBOOK)  # by all three procedures; the other choices only by stepwise
OTHERS = ("estimated", "noise 0.2", "raw y", "textbook estimated")
BY_CHOICE = "table-4 choices"

Found = dict[str, dict[int, Records]]


def cells(settings: Settings) -> Iterator[Cell]:
    for p in TABLE_4:
        for cp in FULL:
            yield Cell("table-4", {"p": p, "cp": cp}, table_4_trial, settings.repeats)
        for cp in OTHERS:
            if _can(cp, p):
                yield Cell(BY_CHOICE, {"p": p, "cp": cp}, table_4_choice_trial, settings.repeats)


def _can(cp: str, p: int) -> bool:
    """Whether the model with all features has residual degrees of freedom to estimate the noise from."""
    return CPS[cp].sigma2 != "estimated" or p + 1 < ROWS


def section(results: Results, settings: Settings) -> Section:
    found: Found = {cp: {p: results.of("table-4", p=p, cp=cp) for p in TABLE_4} for cp in FULL}
    main, rows = found[MAIN], _saving_rows(found[MAIN])
    blocks: list[Block] = [
        Text(
            "Y = 4.5 + 3 X1 + 2.1 X2 + 3.5 X7 + 0.8 X12 + e with 80 rows, α = β = 0.01, the per-sample Cp, "
            f"{settings.repeats} draws for each p, the same for all three procedures. The paper's e ~ N(0, 2) can mean "
            "variance 2, which is ours, or a standard deviation of 2, which is what R's and NumPy's generators take. "
            f"Features are averages (with the standard error of the average); ≈ means within {NEAR:g}. Times are "
            "medians of processor time; *from scratch* evaluates the criterion from the rows for every candidate, as "
            "the paper does, on every tenth draw."
        ),
        _main_table(found),
        Text(
            f"With variance 2 **{_within(found[MAIN])} of 12** averages lie within {NEAR:g} of the paper's (largest "
            f"difference {number(_largest(found[MAIN]))}), with a standard deviation of 2 **{_within(found[SD])} of "
            f"12** ({number(_largest(found[SD]))}). The second reading, initially one of the choices below, was "
            f"extended to all three procedures after the first missed {NEAR:g} at p = 70. {_agreement(main)}"
        ),
        Text("**Which Cp?** Average number of features that stepwise selects, by choice:"),
        _choices_table(results, found),
        Items(_why(found, results)),
        savings_table("Table 4: savings of dropping", rows),
        Chart("savings-table-4", "Savings of dropping on the simulation", savings_chart(rows, "Savings of dropping")),
        Text(
            "Savings are medians over draws. Evaluations and time from scratch agree; the paper's savings of time are "
            "smaller, as if its seconds contained work that no procedure saves. In our search there is little time to "
            "save: a whole path takes about one millisecond."
        ),
    ]
    return Section("Table 4: the simulated regression", blocks, _findings(found, rows))


def _gaps(records: dict[int, Records]) -> list[float]:
    """Differences of the twelve averages from the paper's."""
    return [
        abs(float(values(records[p], procedure, "features").mean()) - TABLE_4[p][procedure].features)
        for p in TABLE_4
        for procedure in PROCEDURES
    ]


def _within(records: dict[int, Records]) -> int:
    return sum(gap <= NEAR for gap in _gaps(records))


def _largest(records: dict[int, Records]) -> float:
    return max(_gaps(records))


def _average(records: Records, procedure: Procedure, paper: float) -> Value:
    features = values(records, procedure, "features")
    ours = float(features.mean())
    return Value(f"{ours:.3f} ± {standard_error(features):.3f}", compared(ours, paper, 3, NEAR))


def _main_table(found: Found) -> Table:
    rows: list[list[Value | str]] = []
    for p, printed in TABLE_4.items():
        main = found[MAIN][p]
        for procedure, name in PROCEDURES.items():
            paper = printed[procedure].features
            scratch = values(main, "from_scratch", procedure, "seconds")
            rows.append(
                [
                    f"{p}",
                    name,
                    f"{paper:.3f}",
                    _average(main, procedure, paper),
                    _average(found[SD][p], procedure, paper),
                    number(float(values(found[TEXTBOOK][p], procedure, "features").mean()), 2),
                    number(float(values(main, procedure, "evaluations").mean()), 1),
                    milliseconds(printed[procedure].seconds),
                    milliseconds(float(np.median(scratch))),
                    milliseconds(float(np.median(values(main, procedure, "seconds")))),
                ]
            )
    head = ["p", "procedure", "features, paper", "variance 2", "sd 2", "textbook Cp"]
    head += ["evaluations", "ms, paper", "ms, from scratch", "ms, ours"]
    return Table("Table 4: features, evaluations and time of the three procedures", head, rows, left=2)


def _choices_table(results: Results, found: Found) -> Table:
    rows: list[list[Value | str]] = [
        ["**the paper**", *(f"{row['stepwise'].features:.3f}" for row in TABLE_4.values())]
    ]
    for cp in (MAIN, SD, *OTHERS, TEXTBOOK):
        cells: list[Value | str] = [CPS[cp].label]
        for p, printed in TABLE_4.items():
            if cp in FULL:
                ours = float(values(found[cp][p], "stepwise", "features").mean())
            elif _can(cp, p):
                ours = float(values(results.of(BY_CHOICE, p=p, cp=cp), "features").mean())
            else:
                cells.append("impossible")
                continue
            cells.append(Value(f"{ours:.3f}", compared(ours, printed["stepwise"].features, 3, NEAR)))
        rows.append(cells)
    return Table("Table 4: features selected, by choice of Cp", ["choice", *(f"p = {p}" for p in TABLE_4)], rows)


def _why(found: Found, results: Results) -> list[str]:
    many = [float(values(records, "stepwise", "features").mean()) for records in found[TEXTBOOK].values()]
    quiet = [float(values(results.of(BY_CHOICE, p=p, cp="noise 0.2"), "features").mean()) for p in TABLE_4]
    apart = {cp: _standard_errors(found[cp]) for cp in (MAIN, SD)}
    return [
        f"The paper cannot have used the textbook Cp: with α = 0.01 it selects {number(min(many), 1)} to "
        f"{number(max(many), 1)} features, not 4, because 0.01 is negligible on its scale, where the penalty is 2 per "
        "feature. And its usual σ², from the model with all features, does not exist at p = 80: with 80 rows that "
        "model has no residual degrees of freedom.",
        "The per-sample Cp on standardised data agrees with what the paper reports: there α = 0.01 means *one more per "
        "cent of the variance of y*. It hardly matters whether σ² is known or estimated.",
        "Unexplained: for p ≥ 60 the paper prints 4.000 to 4.002, and no reading of its noise gives that. Ours are up "
        f"to {apart[MAIN]:.0f} standard errors away with variance 2, up to {apart[SD]:.0f} with a standard deviation "
        "of 2: the weakest feature, X12, is missed in about one run in ten, and others enter by chance. Averages of "
        "exactly 4 mean that nearly every run selected exactly 4, which lower noise gives (variance 0.2: "
        f"{listed([number(x) for x in quiet])}), but then at p = 50 as well, where the paper has 3.914. We keep the "
        "noise as the paper states it.",
    ]


def _standard_errors(records: dict[int, Records]) -> float:
    """The largest distance from the paper's averages of stepwise, in standard errors."""
    apart = [0.0]
    for p, some in records.items():
        features = values(some, "stepwise", "features")
        if features.std() > 0:
            apart.append(abs(float(features.mean()) - TABLE_4[p]["stepwise"].features) / standard_error(features))
    return max(apart)


def _agreement(main: dict[int, Records]) -> str:
    runs = [record for records in main.values() for record in records if "agree" in record]
    same = sum(record["agree"] for record in runs)
    found = np.mean([values(records, "stepwise", "found").mean() for records in main.values()])
    return (
        f"The search and the procedures from scratch selected the same features in {same} of {len(runs)} draws where "
        f"both ran, and {number(float(found), 2)} of the 4 true features were found on average."
    )


def _saving_rows(main: dict[int, Records]) -> list[SavingRow]:
    return [
        SavingRow.of(f"p = {p}", records, {over: saving(TABLE_4[p], over) for over in OVER})
        for p, records in main.items()
    ]


def _findings(found: Found, rows: list[SavingRow]) -> list[Finding]:
    paper = ", ".join(f"{row['dropping'].features:g}" for row in TABLE_4.values())
    findings = []
    for cp, noise in ((MAIN, "variance 2"), (SD, "standard deviation 2")):
        ours = [number(float(values(records, "dropping", "features").mean())) for records in found[cp].values()]
        within = _within(found[cp])
        text = f"{', '.join(ours)}; {within} of 12 cells within {NEAR:g}"
        findings.append(
            Finding(f"Table 4, features by dropping, noise of {noise}", paper, text, "near" if within == 12 else "far")
        )
    at_70 = next(row for row in rows if row.label == "p = 70")
    item = "Table 4, p = 70, saving over stepwise"
    return [*findings, at_70.finding(item, "stepwise", STATED_SAVINGS["p = 70", "stepwise"])]
