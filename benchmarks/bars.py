"""The bars: performance targets of the library, each measured and met or not met."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from benchmarks import data, structure
from benchmarks.bar import Bar, Bars, milliseconds
from benchmarks.found import Found
from benchmarks.from_rows import NegativeEBIC, NegativeRSS, Recomputed, trace_by_solves
from benchmarks.growth import GROWTHS, OURS, grown
from benchmarks.measure import interleaved, traced_peak, yardsticks
from benchmarks.rivals import RIVALS, abess, dropstep, dropstep_select, fastcan, paper_way
from benchmarks.simulated import Simulated
from benchmarks.trial import stored, trial
from benchmarks.workloads import coded, exactly, real
from dropstep import select
from examples.from_scratch import trace_criterion

TALL = Simulated(200_000, 200, 20)
SQUARE = Simulated(5_000, 10_000, 30)
WIDE = Simulated(500, 20_000, 20)
SMALL = Simulated(80, 80, 4)
FEW_FEATURES = Simulated(500, 50, 5)
STRATEGIES = ("dropping", "forward", "stepwise")
LINE = tuple(rival for rival in RIVALS if rival.name == OURS)
LINEAR = 1.1  # largest slope on log-log axes that counts as linear growth, allowing for noise


def tall(repeats: int) -> Bars:
    """Tall: Selector().fit within 1.7 products."""
    X, y = TALL()
    calls = {"ours": lambda: dropstep(X, y, 0)} | yardsticks(X, product=True)
    times = interleaved(calls, repeats, burst={"one product": 2})
    product, found = times["one product"].best, times["ours"].result
    note = f"{milliseconds(times['ours'].best)}, product {milliseconds(product)}, {_true(found.selected, TALL)}"
    yield Bar("tall: Selector().fit", times["ours"].best / product, 1.7, "products", note=note)


def rows(repeats: int) -> Bars:
    """Tall: float32 within 1.05 times the time of float64, and weights within 1.25 times, with the same set."""
    X, y = TALL()
    X32, weights = X.astype(np.float32), np.random.default_rng(0).uniform(0.5, 1.5, len(y))
    calls = {
        "float64": partial(select, X, y),
        "float32": partial(select, X32, y),
        "weights": partial(select, X, y, sample_weight=weights),
    }
    times = interleaved(calls, max(repeats, 8))
    one = times.pop("float64")
    for limit, (name, timing) in zip((1.05, 1.25), times.items(), strict=True):
        same = set(timing.result.selected) == set(one.result.selected)
        note = f"{milliseconds(timing.best)}, float64 {milliseconds(one.best)}, {'the' if same else 'NOT THE'} same set"
        yield Bar(f"tall: {name} / float64 without weights", timing.best / one.best, limit, "times", note=note)


def square(repeats: int) -> Bars:
    """Square: dropping within 7 passes, forward and stepwise within 12, the same set as the reference."""
    yield from _passes("square", SQUARE, {"dropping": 7, "forward": 12, "stepwise": 12}, max(repeats, 15))


def wide(repeats: int) -> Bars:
    """Wide: dropping within 10 passes, forward and stepwise within 16, dropping faster than stepwise."""
    yield from _passes("wide", WIDE, {"dropping": 10, "forward": 16, "stepwise": 16}, max(repeats, 25))


def _passes(name: str, workload: Simulated, limits: dict[str, float], repeats: int) -> Bars:
    X, y = workload()
    calls: dict[str, Callable[[], Any]] = {}
    for strategy in limits:
        calls[f"Selector('{strategy}')"] = partial(dropstep, X, y, 0, strategy=strategy)
        calls[f"'{strategy}', fixed k"] = partial(dropstep, X, y, 0, strategy=strategy, **exactly(workload.k))
    times = interleaved(calls | yardsticks(X), repeats, burst={"one pass": 3})
    one_pass = times["one pass"].best
    for call in calls:
        limit = next(limit for strategy, limit in limits.items() if strategy in call)
        found = times[call].result
        note = f"{milliseconds(times[call].best)}, pass {milliseconds(one_pass)}, {_true(found.selected, workload)}"
        yield Bar(f"{name}: {call}", times[call].best / one_pass, limit, "passes", note=note)
    yield from _sets(name, X, y, workload, {call: times[call].result.selected for call in calls})
    if name == "wide":
        dropping, stepwise = (times[f"Selector('{s}')"].best for s in ("dropping", "stepwise"))
        yield Bar("wide: time of dropping / stepwise", dropping / stepwise, 1.0)


def _sets(name: str, X: Any, y: Any, workload: Simulated, found: dict[str, tuple[int, ...]]) -> Bars:
    """Whether the selected sets equal those of the reference implementation.

    Dropping with a fixed k is not compared: it then drops by a test, which the reference does not implement.
    """
    expected = {s: set(Recomputed.of(X, y, NegativeEBIC).run(s)) for s in STRATEGIES}
    differ = [s for s in STRATEGIES if set(found[f"Selector('{s}')"]) != expected[s]]
    fixed = set(Recomputed.of(X, y, NegativeRSS, workload.k).run("forward"))
    differ += [f"{s}, fixed k" for s in ("forward", "stepwise") if set(found[f"'{s}', fixed k"]) != fixed]
    yield Bar(f"{name}: sets that differ from the reference", len(differ), 0, "of 5", note="; ".join(differ))


def digits(repeats: int) -> Bars:
    """Classes: optdigits.tra by the trace, alpha = beta = 0.05, 49 features."""
    X, y = data.read("optdigits")
    X = data.standardised(X)
    one_hot = coded(y, "classes")
    calls: dict[str, Callable[[], Found]] = {
        "ours": lambda: dropstep(X, y, 49, criterion="trace", enter=0.05, leave=0.05),
        "from the data per candidate": lambda: paper_way(X, y, 49, trace_criterion, 0.05, 0.05),
        "a solve per candidate": lambda: paper_way(X, y, 49, trace_by_solves, 0.05, 0.05),
    }
    limits = {"from the data per candidate": 500, "a solve per candidate": 10}
    if importlib.util.find_spec("fastcan"):
        calls["fastcan on one-hot classes"] = lambda: fastcan(X, one_hot, 49)
        limits["fastcan on one-hot classes"] = 5
    times = interleaved(calls, max(repeats, 10), budget=10)
    ours = times["ours"]
    for name, limit in limits.items():
        shared = _shared(ours.result, times[name].result)
        note = f"{milliseconds(times[name].best)}, ours {milliseconds(ours.best)}, {shared}"
        yield Bar(f"digits: {name} / ours", times[name].best / ours.best, limit, "times", True, note)


def small(repeats: int) -> Bars:
    """Small: Selector no slower than FastCan, select at most half as long; with k features no slower than abess."""
    X, y = SMALL()
    calls = {
        "Selector(max_features=4).fit": lambda: dropstep(X, y, 0, max_features=SMALL.k),
        "select(max_features=4)": lambda: dropstep_select(X, y, 0, max_features=SMALL.k),
        "fastcan": lambda: fastcan(X, y, SMALL.k),
    }
    times = interleaved(calls, max(repeats, 50), short_budget=4.0)
    peer = times.pop("fastcan")
    for limit, (name, timing) in zip((1.0, 0.5), times.items(), strict=True):
        note = f"{milliseconds(timing.best)}, fastcan {milliseconds(peer.best)}, {_shared(timing.result, peer.result)}"
        yield Bar(f"small: {name} / FastCan(4).fit", timing.best / peer.best, limit, "times", note=note)
    for workload in (SMALL, FEW_FEATURES):
        X, y = workload()
        named: dict[str, Callable[[], Any]] = {
            strategy: partial(dropstep, X, y, 0, strategy=strategy, **exactly(workload.k))
            for strategy in ("dropping", "forward")
        }
        times = interleaved(named | {"abess": partial(abess, X, y, workload.k)}, max(repeats, 50), short_budget=2.0)
        peer = times.pop("abess")
        for name, timing in times.items():
            note = (
                f"{milliseconds(timing.best)}, abess {milliseconds(peer.best)}, {_shared(timing.result, peer.result)}"
            )
            shape = f"{workload.n} x {workload.p}, {workload.k} features"
            yield Bar(f"small: {name}, {shape} / abess", timing.best / peer.best, 1.0, "times", note=note)


PAPER = (("biodeg", 0.05), ("ionosphere", 0.05), ("optdigits", 0.05), ("satellite", 0.05), ("parkinson", 0.01))


def counts(repeats: int) -> Bars:
    """Dropping evaluates no more candidates than forward_backward on each of the paper's datasets."""
    for name, beta in PAPER:
        X, y = data.read(name)
        halves: dict[str, Any] = {"": slice(None)}
        if name == "parkinson":  # the paper uses half of the rows, without saying which
            halves[", a half"] = np.random.default_rng(0).permutation(len(y))[: len(y) // 2]
        for part, rows in halves.items():
            Z = data.standardised(X[rows])
            paths = [
                select(Z, y[rows], strategy=strategy, criterion="trace", enter=0.05, leave=beta)
                for strategy in ("dropping", "forward_backward")
            ]
            ours, theirs = (path.n_evaluations for path in paths)
            sizes = " and ".join(str(len(path.selected)) for path in paths)
            note = f"{ours:,} against {theirs:,}; {sizes} features"
            yield Bar(f"evaluations of dropping / forward_backward: {name}{part}", ours / theirs, 1.0, note=note)


def memory(repeats: int) -> Bars:
    """Peak memory above X: dropping within 12 %, forward and stepwise within 15 %, both orders; KDD within 12 %."""
    for name, workload in (("wide", WIDE), ("square", SQUARE)):
        for order in ("C", "F"):
            X, y = Simulated(workload.n, workload.p, workload.k, order=order)()
            yield from _memory(f"{name}, order {order}", X, y, {"dropping": 12, "forward": 15, "stepwise": 15})
    yield from _memory("kdd", *real("kdd"), {"dropping": 12})


def _memory(name: str, X: Any, y: Any, limits: dict[str, float]) -> Bars:
    with stored(X, y) as paths:
        for strategy, limit in limits.items():
            traced = traced_peak(partial(dropstep, X, y, 0, strategy=strategy)) / X.nbytes
            process = trial(partial(dropstep, strategy=strategy), paths, 0, timeout=300)
            resident = (process.extra or 0) / X.nbytes
            note = process.failed or f"allocated by NumPy {traced:.1%}, growth of the process {resident:.1%}"
            most = 100 * max(traced, resident)
            yield Bar(f"memory: {name}, {strategy}", most, limit, "% of X", note=note)


def growth(repeats: int) -> Bars:
    """Time grows linearly in n and in p."""
    for growth in GROWTHS:
        if growth.linear:
            measured = grown(growth, repeats, rivals=LINE)
            note = f"{measured.sentence()}; one pass: slope {measured.slope('one pass'):.2f}"
            yield Bar(f"growth: {growth.name}", measured.slope(OURS), LINEAR, "slope", note=note)


def single(repeats: int) -> Bars:
    """float32: at least 1.5 times faster than float64 on the square run, with the same set."""
    X, y = SQUARE()
    X32 = X.astype(np.float32)
    calls = {
        (strategy, dtype): partial(dropstep, table, y, 0, strategy=strategy)
        for strategy in STRATEGIES
        for dtype, table in (("float64", X), ("float32", X32))
    }
    times = interleaved(calls, max(repeats, 15))
    for strategy in STRATEGIES:
        double, float32 = (times[strategy, dtype] for dtype in ("float64", "float32"))
        same = set(double.result.selected) == set(float32.result.selected)
        note = f"{milliseconds(float32.best)}, {'the same set' if same else 'A DIFFERENT SET'}"
        ratio = double.best / float32.best if same else 0.0
        yield Bar(f"float32: {strategy} on square", ratio, 1.5, "times", True, note)


BARS: dict[str, Callable[[int], Bars]] = {
    f.__name__: f for f in (small, digits, counts, wide, tall, rows, square, single, memory, growth, *structure.BARS)
}


def show(only: list[str], repeats: int) -> list[Bar]:
    """Measure the bars, and print each as soon as it is available."""
    bars = []
    for name, measure in BARS.items():
        if only and name not in only:
            continue
        print(f"\n{measure.__doc__}")
        try:
            for bar in measure(repeats):
                print(f"  {bar}", flush=True)
                bars.append(bar)
        except (FileNotFoundError, ModuleNotFoundError) as error:
            print(f"  skipped: {error}")
    missed = [bar.what for bar in bars if not bar.met]
    print(f"\n{len(bars) - len(missed)} of {len(bars)} met" + ("; not met:" if missed else ""))
    for what in missed:
        print(f"  {what}")
    return bars


def _shared(ours: Found, theirs: Found) -> str:
    """How many features two sets have in common."""
    both = len(set(ours.selected) & set(theirs.selected))
    same = both == len(ours.selected) == len(theirs.selected)
    return f"the same {both} features" if same else f"{both} of {len(ours.selected)} features shared"


def _true(selected: tuple[int, ...], workload: Simulated) -> str:
    hits = len(set(selected) & set(workload.true().tolist()))
    return f"{len(selected)} selected, {hits} of {workload.k} true"
