"""How ambiguous passages of the paper were read."""

from __future__ import annotations

from experiments.paper.page import Items, Section

NOTES = (
    "Its α is our `enter`, its β our `leave` and `drop`. It allows two values of β, but uses one.",
    "The first section writes n ≫ p where it means p ≫ n, and *speed is 34.23 % of* where it means time.",
    "Its noise N(0, 2) may mean a variance or a standard deviation of 2; table 4 shows both.",
    "Two cells of table 3 seem to belong to another table: (1.35, 21.6) and (0.65, 23.2).",
    "Section 4 announces the average error sum of squares, but does not print it, *as they are very low*.",
    "Figure 1 is captioned for LDA only and is missing in the source; SVM results are mentioned, kernel and C are not.",
    "Stepwise as printed tests *when no feature can improve the fit more than α* after it has added a feature; ours "
    "tests before, as the paper's definition of forward selection does.",
    "Features are standardised throughout. The trace is invariant to it; the per-sample Cp is not.",
)


def section() -> Section:
    return Section("How the paper was read", [Items(NOTES)])
