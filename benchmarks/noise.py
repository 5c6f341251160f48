"""Pure noise: how often the default selects nothing. The bar is 93 % of the tables, in every cell.

    python -m benchmarks.noise --jobs 2            # all cells, about 40 minutes of two cores
    python -m benchmarks.noise --tables 50         # a quick look
    python -m benchmarks.noise --only classes      # some of the parts
    python -m benchmarks.noise --publish           # the same, and docs/noise.md is written from it

The features and the target are independent. A cell is one design at one shape; a table is *empty* if `select` adds
nothing to the included features. Finished cells are kept in results/noise.json and are not run again, unless the number
of tables is raised or --fresh is given.
"""

from __future__ import annotations

import argparse
import json
import math
import time
import warnings
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from scipy import signal, special

from benchmarks import publish
from benchmarks.data import ROOT
from dropstep import select

Floats = NDArray[np.float64]
Draw = Callable[[np.random.Generator, int, int], Any]
Results = dict[str, str]  # by the key of a cell: "1903 of 2000" tables were empty

BAR = 0.93  # share of empty selections, at least, in every cell
LEVEL = 0.05  # of the default rule: the first of m features enters at LEVEL / m
N_TABLES = 2000
CHUNK = 50  # tables per task of a process
RESULTS = ROOT / "benchmarks" / "results" / "noise.json"
PAGE = ROOT / "docs" / "noise.md"
NOT_YET = "*No results have been published yet: run `python -m benchmarks.noise --publish`.*"

SHAPES = (
    *((8, m) for m in (1, 2, 5, 20, 200, 2000)),
    *((12, m) for m in (1, 20, 2000, 20_000)),
    *((20, m) for m in (1, 20, 200)),
    *((30, 2000), (60, 50), (100, 1), (100, 500), (500, 1), (500, 20)),
)
FAR_SHAPES = ((8, 1), (8, 20), (8, 2000), (12, 20), (12, 2000), (12, 20_000), (50, 500), (100, 20), (200, 1000))
FAMILY_SHAPES = ((8, 1), (8, 20), (12, 20), (12, 2000), (12, 20_000), (30, 200), (100, 50))
FAR_FAMILY_SHAPES = ((12, 20), (12, 2000), (30, 200), (100, 50), (200, 200))
SEPARATORS = (12, 500)  # rows and features of the tables in which separators are counted


# --- features and targets --------------------------------------------------------------------------------------------


def autoregressive(rng: np.random.Generator, n: int, m: int, rho: float) -> Floats:
    """Standard normal features, those next to each other with correlation rho."""
    Z = rng.standard_normal((n, m))
    Z[:, 1:] *= math.sqrt(1 - rho**2)
    return np.asarray(signal.lfilter([1.0], [1.0, -rho], Z, axis=1))


def rare_levels(rng: np.random.Generator, n: int, m: int) -> Floats:
    """Indicators of the levels of factors, three columns per factor, with shares of about 70, 20, 7 and 3 %."""
    codes = rng.choice(4, size=(n, m // 3), p=[0.7, 0.2, 0.07, 0.03])
    return (codes[:, :, None] == np.arange(1, 4)).reshape(n, -1).astype(float)


FEATURES: dict[str, Draw] = {
    "normal": lambda rng, n, m: rng.standard_normal((n, m)),
    "lognormal": lambda rng, n, m: np.exp(rng.standard_normal((n, m))),
    "t(3)": lambda rng, n, m: rng.standard_t(3, size=(n, m)),
    "counts": lambda rng, n, m: rng.negative_binomial(0.5, 0.1, size=(n, m)).astype(float),
    "SNPs": lambda rng, n, m: rng.binomial(2, 0.03, size=(n, m)).astype(float),
    "rare levels": rare_levels,
}


def survival(rng: np.random.Generator, n: int, _: int) -> Floats:
    """Exponential times, of which about one third are censored."""
    times, censored = rng.exponential(size=n), rng.exponential(2.0, size=n)
    return np.column_stack([np.minimum(times, censored), times <= censored])


def rare_class(rng: np.random.Generator, n: int, share: float) -> NDArray[np.intp]:
    """Two classes, of which the second has at least two rows."""
    return (rng.permutation(n) < max(2, round(share * n))).astype(int)


TARGETS: dict[str, Draw] = {
    "normal": lambda rng, n, _: rng.standard_normal(n),
    "lognormal": lambda rng, n, _: np.exp(rng.standard_normal(n)),
    "t(3)": lambda rng, n, _: rng.standard_t(3, size=n),
    "counts": lambda rng, n, _: rng.negative_binomial(0.5, 0.1, size=n).astype(float),
    "zero-inflated": lambda rng, n, _: np.where(rng.random(n) < 0.8, 0.0, np.exp(rng.standard_normal(n))),
    "1 % in a class": lambda rng, n, _: rare_class(rng, n, 0.01),
    "5 % in a class": lambda rng, n, _: rare_class(rng, n, 0.05),
    "two classes": lambda rng, n, _: rare_class(rng, n, 0.5),
    "three classes": lambda rng, n, _: rng.permutation(n) % 3,
    "Poisson": lambda rng, n, _: rng.poisson(2.0, size=n),
    "overdispersed": lambda rng, n, _: rng.negative_binomial(0.5, 0.1, size=n),
    "gamma": lambda rng, n, _: rng.gamma(2.0, size=n),
    "survival": survival,
    "two lognormal": lambda rng, n, _: np.exp(rng.standard_normal((n, 2))),
    "two t(3)": lambda rng, n, _: rng.standard_t(3, size=(n, 2)),
    "two normal": lambda rng, n, _: rng.standard_normal((n, 2)),
}


def varies(y: NDArray[Any]) -> bool:
    """True if a model can be fitted: no constant target, and at least two events."""
    if y.ndim == 2 and set(np.unique(y[:, 1])) <= {0.0, 1.0}:
        return int(y[:, 1].sum()) > 1
    return bool((np.ptp(y, axis=0) > 0).all())


# --- cells -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Cell:
    """One design at one shape, and its place in a table of the page."""

    part: str
    row: str
    column: str
    model: str
    features: str
    target: str
    n: int
    m: int
    include: int = 0
    group: int = 1  # columns per unit

    @property
    def key(self) -> str:
        return f"{self.part}: {self.row}: {self.column}"

    def draw(self, repeat: int) -> tuple[Floats, NDArray[Any]]:
        """The features and a target that varies, seeded by the cell and the number of the table."""
        rng = np.random.default_rng([zlib.crc32(self.key.encode()), repeat])
        X = FEATURES[self.features](rng, self.n, self.m)
        y = TARGETS[self.target](rng, self.n, self.m)
        while not varies(y):
            y = TARGETS[self.target](rng, self.n, self.m)
        return X, y

    def is_empty(self, repeat: int) -> bool:
        """True if the default adds nothing to the included features."""
        X, y = self.draw(repeat)
        groups = np.arange(self.m) // self.group if self.group > 1 else None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            path = select(X, y, model=self.model, include=range(self.include), groups=groups)
        return len(path.selected) == self.include


def shape(n: int, m: int) -> str:
    return f"{n:,} × {m:,}"


def shapes() -> Iterator[Cell]:
    for n, m in SHAPES:
        yield Cell("shapes", shape(n, m), "default", "linear", "normal", "normal", n, m)


def far_from_normal() -> Iterator[Cell]:
    designs = {
        "lognormal": ("lognormal", "lognormal"),
        "t(3)": ("t(3)", "t(3)"),
        "counts": ("counts", "counts"),
        "SNPs, y lognormal": ("SNPs", "lognormal"),
        "lognormal, y zero-inflated": ("lognormal", "zero-inflated"),
    }
    for n, m in FAR_SHAPES:
        for column, (features, target) in designs.items():
            yield Cell("far", shape(n, m), column, "linear", features, target, n, m)


def classes() -> Iterator[Cell]:
    for target, n, m in (
        *(("1 % in a class", 1000, 100), ("5 % in a class", 200, 200), ("5 % in a class", 1000, 50)),
        *(("two classes", *SEPARATORS), ("three classes", 90, 100)),
    ):
        for features in ("normal", "lognormal", "SNPs"):
            for model in ("discriminant", "logistic"):
                row = f"{target}, X {features}, {shape(n, m)}"
                yield Cell("classes", row, model, model, features, target, n, m)


FAMILIES = {  # column: model and target
    "discriminant": ("discriminant", "two classes"),
    "logistic": ("logistic", "two classes"),
    "three classes": ("logistic", "three classes"),
    "poisson": ("poisson", "Poisson"),
    "poisson, overdispersed": ("poisson", "overdispersed"),
    "gamma": ("gamma", "gamma"),
    "gamma, y lognormal": ("gamma", "lognormal"),
    "cox": ("cox", "survival"),
}


def families() -> Iterator[Cell]:
    for features, sizes in (("normal", FAMILY_SHAPES), ("lognormal", FAR_FAMILY_SHAPES)):
        for n, m in sizes:
            for column, (model, target) in FAMILIES.items():
                yield Cell("families", f"X {features}, {shape(n, m)}", column, model, features, target, n, m)


def units() -> Iterator[Cell]:
    for name, features, group, target in (
        ("groups of 3 normal columns, y normal", "normal", 3, "normal"),
        ("groups of 3 lognormal columns, y lognormal", "lognormal", 3, "lognormal"),
        ("factors with rare levels, y lognormal", "rare levels", 3, "lognormal"),
        ("two normal targets", "normal", 1, "two normal"),
        ("two targets and X from t(3)", "t(3)", 1, "two t(3)"),
        ("two targets and X lognormal", "lognormal", 1, "two lognormal"),
    ):
        for n, m in ((20, 20), (50, 200), (200, 100)):
            column = f"{n} rows, {m} units"
            yield Cell("units", name, column, "linear", features, target, n, m * group, group=group)


def included() -> Iterator[Cell]:
    for model, target, n, m in (
        ("linear", "normal", 30, 100),
        *((model, "two classes", 100, 50) for model in ("discriminant", "logistic")),
        *(("poisson", "Poisson", 100, 50), ("gamma", "gamma", 100, 50), ("cox", "survival", 100, 50)),
    ):
        for include in (0, 5, 10):
            yield Cell("included", f"{model}, {shape(n, m)}", f"{include}", model, "normal", target, n, m, include)


PARTS: dict[str, tuple[str, str, Callable[[], Iterator[Cell]]]] = {
    "shapes": ("Normal features and target", "rows × features", shapes),
    "far": ("Features and target far from normal, linear", "rows × features", far_from_normal),
    "classes": ("Rare and other classes", "target, features, rows × features", classes),
    "families": ("Other families", "features, rows × features", families),
    "units": ("Units of several columns, and several targets", "", units),
    "included": ("By the number of included features", "model, rows × features", included),
}


# --- running ---------------------------------------------------------------------------------------------------------


def count_empty(cell: Cell, repeats: range) -> tuple[Cell, int, float]:
    """The number of empty selections among some tables, and the processor time."""
    start = time.process_time()
    return cell, sum(map(cell.is_empty, repeats)), time.process_time() - start


def run(cells: Sequence[Cell], wanted: int, jobs: int, file: Path, *, fresh: bool) -> Results:
    """The results of all cells, read from the file where it has them; every other cell is written when it is done."""
    results: Results = json.loads(file.read_text(encoding="utf-8")) if file.exists() and not fresh else {}
    todo = [cell for cell in cells if counted(results.get(cell.key, "0 of 0"))[1] < wanted]
    chunks = {cell: chunked(wanted) for cell in todo}
    tasks = (delayed(count_empty)(cell, chunk) for cell in todo for chunk in chunks[cell])
    waiting = {cell: len(chunks[cell]) for cell in todo}
    empty, seconds = dict.fromkeys(todo, 0), dict.fromkeys(todo, 0.0)
    for cell, count, elapsed in Parallel(n_jobs=jobs, return_as="generator_unordered")(tasks):
        empty[cell] += count
        seconds[cell] += elapsed
        waiting[cell] -= 1
        if not waiting[cell]:
            results[cell.key] = f"{empty[cell]} of {wanted}"
            file.write_text(json.dumps(results, indent=1), encoding="utf-8")
            print(f"{cell.key}: {results[cell.key]} ({seconds[cell]:.1f} s)", flush=True)
    return results


def chunked(n_tables: int) -> list[range]:
    return [range(start, min(start + CHUNK, n_tables)) for start in range(0, n_tables, CHUNK)]


def counted(result: str) -> tuple[int, int]:
    """The number of empty selections and of tables."""
    empty, tables = result.split(" of ")
    return int(empty), int(tables)


def is_below(result: str) -> bool:
    empty, tables = counted(result)
    return empty < BAR * tables


def separated_share(n_tables: int = N_TABLES) -> float:
    """Share of the tables in which some feature separates two classes of equal size, without an error."""
    n, m = SEPARATORS
    rng = np.random.default_rng(0)
    found = 0
    for _ in range(n_tables):
        X = rng.standard_normal((n, m))
        one, other = X[: n // 2], X[n // 2 :]
        found += bool(((one.max(axis=0) < other.min(axis=0)) | (other.max(axis=0) < one.min(axis=0))).any())
    return found / n_tables


def separated_probability(n: int, m: int) -> float:
    """The same, exact: the ranks of one class must be the lowest or the highest half."""
    return float(-np.expm1(m * np.log1p(-2 / math.comb(n, n // 2))))


# --- exact probabilities ---------------------------------------------------------------------------------------------


def chen_chen(n: int, m: int) -> float:
    """What EBIC charges for the first of m features, in units of n log(RSS before / RSS after)."""
    return math.log(n) + 2 * math.log(m)


def bic(n: int, m: int) -> float:
    """What BIC charges."""
    return math.log(n)


def empty_share(charge: Callable[[int, int], float], n: int, m: int) -> float:
    """Exact probability of an empty selection by a penalty if X and y are independent normal.

    Given y, the squared correlations of the features are independent Beta(1/2, (n - 2) / 2).
    """
    level = special.betainc((n - 2) / 2, 0.5, math.exp(-charge(n, m) / n))
    return float((1 - level) ** m)


def exact_columns(n: int, m: int) -> list[str]:
    return [f"{(1 - LEVEL / m) ** m:.3f}", *(f"{empty_share(charge, n, m):.3f}" for charge in (chen_chen, bic))]


# --- tables ----------------------------------------------------------------------------------------------------------


def table(title: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """A title and a table in Markdown."""
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]

    def line(cells: Sequence[str]) -> str:
        first, *others = zip(cells, widths, strict=True)
        return " | ".join(["| " + first[0].ljust(first[1]), *(cell.rjust(width) for cell, width in others)]) + " |"

    ruler = ["-" * widths[0], *("-" * (width - 1) + ":" for width in widths[1:])]
    yield from (f"**{title}**", "", line(head), line(ruler), *map(line, rows), "")


def share(result: str) -> str:
    """A share of empty selections: bold below the bar, with the number of tables if that is not the usual one."""
    empty, tables = counted(result)
    text = f"**{empty / tables:.3f}**" if is_below(result) else f"{empty / tables:.3f}"
    return text if tables == N_TABLES else f"{text} ({tables:,})"


def part_table(part: str, results: Results) -> Iterator[str]:
    """The table of one part."""
    title, corner, make = PARTS[part]
    cells = {(cell.row, cell.column): share(results[cell.key]) for cell in make()}
    rows, columns = (list(dict.fromkeys(labels)) for labels in zip(*cells, strict=True))
    lines = [[row, *(cells[row, column] for column in columns)] for row in rows]
    if part == "shapes":
        columns += ["bound", "EBIC", "BIC"]
        lines = [[*line, *exact_columns(n, m)] for line, (n, m) in zip(lines, SHAPES, strict=True)]
    yield from table(title, [corner, *columns], lines)


def page(results: Results, parts: Sequence[str] = tuple(PARTS)) -> str:
    """The tables of some parts, what they have in common, and the share of tables with a separator."""
    lines = [line for part in parts for line in part_table(part, results)]
    keys = [cell.key for part in parts for cell in PARTS[part][2]()]
    below = sum(is_below(results[key]) for key in keys)
    least = min(keys, key=lambda key: counted(results[key])[0] / counted(results[key])[1])
    n, m = SEPARATORS
    return "\n".join(
        [
            *lines,
            f"{len(keys)} cells, {below} of them below {BAR:g}. The least share is {share(results[least])} ({least}).",
            "",
            f"At least one of {m} noise features separates two classes of {n // 2} rows without an error in "
            f"{separated_share():.1%} of {N_TABLES:,} tables (exact: {separated_probability(n, m):.1%}).",
        ]
    )


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.noise", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tables", type=int, default=N_TABLES, metavar="N", help=f"per cell ({N_TABLES})")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="processes (2)")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS), metavar="PART", help=", ".join(PARTS))
    parser.add_argument("--json", type=Path, default=RESULTS, metavar="FILE", help="results of finished cells")
    parser.add_argument("--fresh", action="store_true", help="run finished cells again")
    parser.add_argument("--publish", action="store_true", help="also write docs/noise.md")
    args = parser.parse_args(argv)
    if args.publish and (args.tables < N_TABLES or len(args.only) < len(PARTS)):
        parser.error(f"--publish needs {N_TABLES} tables of every part; omit --tables and --only")
    cells = [cell for part in args.only for cell in PARTS[part][2]()]
    results = run(cells, args.tables, args.jobs, args.json, fresh=args.fresh)
    text = page(results, args.only)
    print(text)
    if args.publish:
        kept = publish.load() | {"noise": {cell.key: results[cell.key] for cell in cells}}
        publish.PUBLISHED.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
        publish.write_block(PAGE, "noise", text)
    return int(any(is_below(results[cell.key]) for cell in cells))


if __name__ == "__main__":
    raise SystemExit(main())
