"""What in the paper's text had to be read with care."""

from __future__ import annotations

from dropstep.paper.page import Items, Section

NOTES = (
    "Its α is our `enter`, its β our `leave` and `drop`. It allows two values of β, but uses one.",
    "The first section writes n ≫ p where it means p ≫ n, and *speed is 34.23 % of* where it means time.",
    "Its noise N(0, 2) may mean a variance or a standard deviation of 2; table 4 shows both.",
    "Table 3 has leftovers of another table in two cells: (1.35, 21.6) and (0.65, 23.2).",
    "Section 4 announces the average error sum of squares, and then does not print it, *as they are very low*.",
    "Figure 1 is named for LDA only and is missing in the source; SVM results are mentioned, kernel and C are not.",
    "Stepwise as printed stops *when no feature can improve the fit more than α*, after it has added one; ours asks "
    "before adding, as its definition of forward selection does.",
    "Features are standardised throughout. The trace does not notice; the per-sample Cp depends on it.",
)


def section() -> Section:
    return Section("reading", "How the paper was read", [Items(NOTES)])
