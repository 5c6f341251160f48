"""Penalties judged by simulation: pure noise must give an empty selection, true features must be recovered.

A rule charges the i-th of m units, of rank d (1 for a numeric feature), in a regression of n rows on q targets. The
unit enters when its gain, n log of the ratio of residual determinants, exceeds the charge.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import signal, special

from dropstep import select

Floats = NDArray[np.float64]
Rule = Callable[..., float]
Draw = Callable[[np.random.Generator, int, int], tuple[Floats, Floats]]

LEVEL = 0.05  # probability of a nonempty selection on noise, at most

SHAPES = (
    *((8, m) for m in (1, 2, 5, 20, 200, 2000)),
    *((12, m) for m in (1, 20, 2000, 20_000)),
    *((20, m) for m in (1, 20, 200)),
    *((30, 2000), (60, 50), (100, 1), (100, 500), (500, 1), (500, 20)),
)
# rows, features, true ones, their coefficient, correlation of neighbours
RECOVERY = (
    (30, 20, 3, 1.0, 0.0),
    (30, 500, 3, 1.5, 0.0),
    (60, 100, 4, 0.8, 0.5),
    (100, 50, 5, 0.5, 0.0),
    (100, 1000, 5, 0.7, 0.5),
    (200, 2000, 10, 0.5, 0.0),
    (500, 100, 10, 0.25, 0.5),
    (1000, 50, 10, 0.15, 0.0),
)
LEVELS = (8, 2, 3, 4, 6)  # of the factors; only the first has an effect
NUMERIC = 10  # features in the table of factors
EFFECT = 0.635  # standard deviation of the first factor's means: BIC finds it in about 77 % of the tables


# --- rules -----------------------------------------------------------------------------------------------------------


def chen_chen(n: float, m: int, i: int, d: float = 1.0, q: int = 1) -> float:
    """Chen and Chen (2008) with gamma = 1: BIC, and twice the log of the number of selections of that size."""
    return q * d * math.log(n) + 2 * math.log((m - i + 1) / i)


def inflated(n: float, m: int, i: int, d: float = 1.0, q: int = 1) -> float:
    """The same, times n / residual degrees of freedom as in AICc."""
    return chen_chen(n, m, i, d, q) * n / (n - 1 - i * d - q)


def inflated_floor(n: float, m: int, i: int, d: float = 1.0, q: int = 1) -> float:
    """The same, but never below the F test at LEVEL."""
    return max(inflated(n, m, i, d, q), quantile(LEVEL, n, i * d, d, q))


def bonferroni(n: float, m: int, i: int, d: float = 1.0, q: int = 1) -> float:
    """The partial F test at LEVEL / m."""
    return quantile(LEVEL / m, n, i * d, d, q)


def calibrated(n: float, m: int, i: int, d: float = 1.0, q: int = 1) -> float:
    """The exact test at the level that Chen and Chen's charge has for large n, or at LEVEL / m if that is less."""
    search = combinations(m, i)
    asymptotic = special.chdtrc(q * d, q * d * math.log(n) + 2 * search)
    return quantile(min(asymptotic, LEVEL * math.exp(-search)), n, i * d, d, q)


def bartlett(n: float, m: int, i: int, d: float = 1.0, q: int = 1) -> float:
    """Chen and Chen's charge times Bartlett's factor for small n, but never below the exact test at LEVEL / m."""
    search = combinations(m, i)
    df = n - 1 - i * d - (q - d + 1) / 2
    scaled = (q * d * math.log(n) + 2 * search) * n / df if df > 0 else math.inf
    return max(scaled, quantile(LEVEL * math.exp(-search), n, i * d, d, q))


def library(n: int, m: int, i: int, d: float = 1.0, q: int = 1) -> float:
    """What dropstep's own "ebic" charges for single features."""
    return library_charges(n, m, q, 1 if i == 1 else 30)[i - 1]


@cache
def library_charges(n: int, m: int, q: int, steps: int) -> list[float]:
    """Charges of the first steps: the gain by BIC, which charges q log n, minus the gain by EBIC."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((n, m)), rng.standard_normal((n, q)).squeeze()
    parameters: dict[str, Any] = {"enter": -math.inf, "max_features": min(steps, m, n - 2 - q), "strategy": "forward"}
    bic, ebic = (select(X, y, criterion=criterion, **parameters).steps for criterion in ("bic", "ebic"))
    return [q * math.log(n) + b.gain - e.gain for b, e in zip(bic, ebic, strict=True)]


def combinations(m: int, i: int) -> float:
    """By how much log(number of selections) grows with the i-th of m units, or 0 where it falls."""
    return max(0.0, math.log((m - i + 1) / i))


def quantile(level: float, n: float, size: float, d: float, q: int) -> float:
    """-n log of the quantile of Wilks' lambda for d of `size` columns: exact if d or q is 1 or 2, else Rao's F."""
    product, spread = q * d, q**2 + d**2 - 5
    power = math.sqrt((product**2 - 4) / spread) if spread > 0 else 1.0
    nu = (n - 1 - size + d - (q + d + 1) / 2) * power - (product - 2) / 2
    root = special.betaincinv(nu / 2, product / 2, level) if nu > 0 else 0.0
    return -n * power * math.log(root) if root > 0 else math.inf


RULES: dict[str, Rule] = {
    "ebic": library,
    "chen-chen": chen_chen,
    "inflated": inflated,
    "inflated-floor": inflated_floor,
    "bonferroni": bonferroni,
    "calibrated": calibrated,
    "bartlett": bartlett,
}


# --- noise -----------------------------------------------------------------------------------------------------------


def empty_share(rule: Rule, n: int, m: int) -> float:
    """Exact probability of an empty selection if X and y are independent normal.

    Given y, the squared correlations of the features are independent Beta(1/2, (n - 2) / 2).
    """
    level = special.betainc((n - 2) / 2, 0.5, math.exp(-rule(n, m, 1) / n))
    return float((1 - level) ** m)


def first_gain(X: Floats, y: Floats) -> float:
    """The largest gain of a single feature, n log(det E0 / det E1)."""
    X = X - X.mean(axis=0)
    Q = np.linalg.qr((y - y.mean(axis=0)).reshape(len(y), -1))[0]
    explained = ((Q.T @ X) ** 2).sum(axis=0) / (X * X).sum(axis=0)
    return float(-len(y) * np.log1p(-explained.max()))


def normal(rng: np.random.Generator, n: int, m: int) -> tuple[Floats, Floats]:
    return rng.standard_normal((n, m)), rng.standard_normal(n)


def two_targets(rng: np.random.Generator, n: int, m: int) -> tuple[Floats, Floats]:
    return rng.standard_normal((n, m)), rng.standard_normal((n, 2))


def correlated(rng: np.random.Generator, n: int, m: int) -> tuple[Floats, Floats]:
    return autoregressive(rng, n, m, 0.9), rng.standard_normal(n)


def heavy_tails(rng: np.random.Generator, n: int, m: int) -> tuple[Floats, Floats]:
    return rng.standard_normal((n, m)), rng.standard_t(3, n)


def skewed(rng: np.random.Generator, n: int, m: int) -> tuple[Floats, Floats]:
    return rng.standard_exponential((n, m)), rng.standard_normal(n)


def heavy_and_skewed(rng: np.random.Generator, n: int, m: int) -> tuple[Floats, Floats]:
    return rng.standard_exponential((n, m)), rng.standard_t(3, n)


def autoregressive(rng: np.random.Generator, n: int, m: int, rho: float) -> Floats:
    """Standard normal features, those next to each other with correlation rho."""
    Z = rng.standard_normal((n, m))
    Z[:, 1:] *= math.sqrt(1 - rho**2)
    return np.asarray(signal.lfilter([1.0], [1.0, -rho], Z, axis=1))


DEPARTURES: dict[str, Draw] = {
    "AR(1) features, correlation 0.9": correlated,
    "y from t(3)": heavy_tails,
    "exponential features": skewed,
    "y from t(3), exponential features": heavy_and_skewed,
}


def noise_row(rules: Sequence[str], n: int, m: int, repeats: int, draw: Draw = normal) -> list[str]:
    """Shares of empty selections on one shape; only the first step matters."""
    rng = np.random.default_rng([1, n, m])
    tables = (draw(rng, n, m) for _ in range(repeats))
    q = 2 if draw is two_targets else 1
    gains = np.array([first_gain(X, y) for X, y in tables])
    shares = [np.mean(gains <= RULES[rule](n, m, 1, q=q)) for rule in rules]
    error = max(math.sqrt(share * (1 - share) / repeats) for share in shares)
    return [f"{n:,} × {m:,}", *(f"{share:.3f}" for share in shares), f"{error:.3f}"]


def noise(rules: Sequence[str], repeats: int | None) -> Iterator[str]:
    def enough(n: int, m: int) -> int:
        return repeats or (4000 if n * m <= 50_000 else 1000)

    head = ["rows × features", *rules, "s.e."]
    rows = [noise_row(rules, n, m, enough(n, m)) for n, m in SHAPES]
    yield from table("Noise: share of empty selections", head, rows)
    exact = [[f"{n:,} × {m:,}", *(f"{empty_share(RULES[rule], n, m):.3f}" for rule in rules)] for n, m in SHAPES]
    yield from table("The same, exact", head[:-1], exact)
    for name, draw in DEPARTURES.items():
        rows = [noise_row(rules, n, m, enough(n, m), draw) for n, m in ((8, 20), (12, 2000), (60, 50))]
        yield from table(f"Noise: {name}", head, rows)
    rows = [noise_row(rules, n, m, enough(n, m), two_targets) for n, m in ((8, 20), (12, 200), (60, 50))]
    yield from table("Noise: two targets", head, rows)


# --- recovery --------------------------------------------------------------------------------------------------------


def simulated(n: int, p: int, s: int, b: float, rho: float, repeat: int) -> tuple[Floats, Floats, set[int]]:
    """A table of the recovery grid, and its true features."""
    rng = np.random.default_rng([2, n, p, repeat])
    X = autoregressive(rng, n, p, rho)
    true = rng.choice(p, s, replace=False)
    return X, X[:, true] @ (b * rng.choice([-1, 1], s)) + rng.standard_normal(n), set(true.tolist())


def forward_gains(X: Floats, y: Floats, steps: int) -> tuple[list[int], Floats]:
    """The forward path: features in order of entry, and n log(RSS before / RSS after) of each."""
    path = select(X, y, strategy="forward", criterion="rss", enter=0, max_features=steps)
    rss = np.array([path.start, *(step.score for step in path.steps)])
    return list(path.selected), -len(y) * np.diff(np.log(rss))


def recovery_row(rules: Sequence[str], repeats: int, n: int, p: int, s: int, b: float, rho: float) -> list[str]:
    """Exact recovery in %, missed and false features, for every rule on the same paths."""
    charges = {rule: np.array([RULES[rule](n, p, i) for i in range(1, 3 * s + 1)]) for rule in rules}
    counts = np.zeros((len(rules), 3))
    for repeat in range(repeats):
        X, y, true = simulated(n, p, s, b, rho, repeat)
        order, gains = forward_gains(X, y, 3 * s)
        for row, rule in zip(counts, rules, strict=True):
            size = int(np.argmin(np.append(gains > charges[rule][: len(gains)], False)))
            found = set(order[:size])
            row += (found == true, len(true - found), len(found - true))
    cells = (f"{100 * exact:.1f}, {missed:.2f}, {false:.2f}" for exact, missed, false in counts / repeats)
    return [f"{n:,} × {p:,}, {s} of {b:g}, ρ {rho:g}", *cells]


def recovery(rules: Sequence[str], repeats: int | None) -> Iterator[str]:
    rows = [recovery_row(rules, repeats or 2000, *shape) for shape in RECOVERY]
    yield from table("Recovery: exact in %, missed features, false features", ["rows × features, true", *rules], rows)


# --- factors ---------------------------------------------------------------------------------------------------------

FACTOR_RULES: dict[str, Rule] = {  # charges for a unit of rank d, among m units with `columns` columns
    "BIC": lambda n, m, d, columns: d * math.log(n),
    "chen-chen, columns": lambda n, m, d, columns: d * math.log(n) + 2 * math.log(math.comb(columns, d)),
    "chen-chen, units": lambda n, m, d, columns: chen_chen(n, m, 1, d),
    "calibrated, units": lambda n, m, d, columns: calibrated(n, m, 1, d),
    "bartlett, units": lambda n, m, d, columns: bartlett(n, m, 1, d),
}


def factor_table(n: int, effect: float, repeat: int) -> tuple[list[Floats], Floats]:
    """Units as matrices (indicators of a factor's levels but one), the true factor first, and y."""
    rng = np.random.default_rng([3, n, repeat])
    codes = [rng.permutation(np.arange(n) % levels) for levels in LEVELS]
    means = rng.standard_normal(LEVELS[0])
    means = (means - means.mean()) / means.std()
    factors = [
        (code[:, None] == np.arange(1, levels)).astype(float) for code, levels in zip(codes, LEVELS, strict=True)
    ]
    numeric = [rng.standard_normal((n, 1)) for _ in range(NUMERIC)]
    return [*factors, *numeric], effect * means[codes[0]] + rng.standard_normal(n)


def unit_gains(units: Sequence[Floats], y: Floats) -> Floats:
    """n log(RSS before / RSS after) of each unit alone."""
    y = y - y.mean()
    bases = (np.linalg.qr(unit - unit.mean(axis=0))[0] for unit in units)
    return np.array([-len(y) * np.log1p(-((Q.T @ y) ** 2).sum() / (y @ y)) for Q in bases])


def library_first(units: Sequence[Floats], y: Floats) -> int | None:
    """The unit that dropstep's default criterion adds first."""
    labels = np.repeat(np.arange(len(units)), [unit.shape[1] for unit in units])
    steps = select(np.hstack(units), y, strategy="forward", criterion="ebic", groups=labels).steps
    return int(labels[steps[0].features[0]]) if steps else None


def factor_row(n: int, effect: float, repeats: int) -> list[str]:
    """Shares of tables in which the first unit added is the true factor, and in which there is one."""
    firsts: dict[str, list[int | None]] = {name: [] for name in (*FACTOR_RULES, "ebic")}
    for repeat in range(repeats):
        units, y = factor_table(n, effect, repeat)
        ranks = [unit.shape[1] for unit in units]
        gains = unit_gains(units, y)
        for name, rule in FACTOR_RULES.items():
            net = gains - [rule(n, len(units), d, sum(ranks)) for d in ranks]
            firsts[name].append(int(net.argmax()) if net.max() > 0 else None)
        firsts["ebic"].append(library_first(units, y))
    shares = [(np.mean([f == 0 for f in first]), np.mean([f is None for f in first])) for first in firsts.values()]
    return [f"{n} rows, effect {effect:g}", *(f"{factor:.3f}, {empty:.3f}" for factor, empty in shares)]


def factors(rules: Sequence[str], repeats: int | None) -> Iterator[str]:
    head = ["", *FACTOR_RULES, "ebic"]
    rows = [factor_row(n, effect, repeats or 1000) for n, effect in ((100, EFFECT), (100, 0.0), (20, 0.0))]
    yield from table("Factors: share with the true factor first, share of empty selections", head, rows)


# --- growth ----------------------------------------------------------------------------------------------------------


def penalty(rule: Rule, n: int, m: int, rank: int, units: int, q: int = 1) -> float:
    """The charges of `units` units of mean rank rank / units."""
    return sum(rule(n, m, i, rank / units, q) for i in range(1, units + 1))


def violations(rule: Rule, n: int, m: int, q: int = 1) -> tuple[int, int, int]:
    """How often the penalty does not grow with rank, with rank and units (what a move does), and with units alone."""
    sizes = [(r, u) for u in range(1, min(m, n - 2 - q) + 1) for r in range(u, min(5 * u, n - 2 - q) + 1)]
    penalties = {(r, u): penalty(rule, n, m, r, u, q) for r, u in sizes}

    def fails(by_rank: int, by_units: int) -> int:
        after = ((value, penalties.get((r + by_rank, u + by_units))) for (r, u), value in penalties.items())
        return sum(more is not None and not more > value for value, more in after)

    return fails(1, 0), fails(1, 1), fails(0, 1)


def growth(rules: Sequence[str], repeats: int | None) -> Iterator[str]:
    grid = [(n, m, q) for n in (8, 9, 10, 12, 20, 30, 60, 100, 200) for m in (1, 2, 5, 10, 20, 60) for q in (1, 2)]
    counts = {
        rule: np.sum([violations(RULES[rule], *shape) for shape in grid], axis=0) for rule in rules if rule != "ebic"
    }
    rows = [[rule, *map(str, count)] for rule, count in counts.items()]
    yield from table(
        "Growth: pairs of sizes at which the penalty does not grow", ["", "rank", "rank and units", "units"], rows
    )


TABLES = {"noise": noise, "recovery": recovery, "factors": factors, "growth": growth}


def table(title: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """A title and a table in Markdown."""
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]

    def line(cells: Sequence[str]) -> str:
        first, *others = zip(cells, widths, strict=True)
        return " | ".join(["| " + first[0].ljust(first[1]), *(cell.rjust(width) for cell, width in others)]) + " |"

    ruler = ["-" * widths[0], *("-" * (width - 1) + ":" for width in widths[1:])]
    yield from (f"**{title}**", "", line(head), line(ruler), *map(line, rows), "")


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.noise", description=__doc__)
    parser.add_argument("--repeats", type=int, metavar="R", help="simulated tables per row (default 1,000 to 4,000)")
    parser.add_argument("--rules", nargs="+", choices=RULES, default=list(RULES), metavar="RULE", help=", ".join(RULES))
    parser.add_argument(
        "--only", nargs="+", choices=TABLES, default=list(TABLES), metavar="TABLE", help=", ".join(TABLES)
    )
    args = parser.parse_args(argv)
    for name in args.only:
        for line in TABLES[name](args.rules, args.repeats):
            print(line, flush=True)


if __name__ == "__main__":
    main()
