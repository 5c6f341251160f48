"""Measure a selection beside its rivals: tables of workloads, growth with n, p and k, and the bars."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from benchmarks import bars, data, machine, report, where
from benchmarks.growth import GROWTHS, LINES, QUICK_GROWTHS, Grown, grown
from benchmarks.rivals import RIVALS, Rival
from benchmarks.runner import Outcome, run
from benchmarks.workloads import WORKLOADS, Workload

RESULTS = data.ROOT / "benchmarks" / "results"


def arguments(words: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    names = [*(workload.name for workload in WORKLOADS), "growth", *bars.BARS]
    parser.add_argument("--quick", action="store_true", help="smaller workloads, fewer runs, no bars")
    parser.add_argument("--bars", action="store_true", help="the bars alone: what is promised, met or not met")
    parser.add_argument("--where", action="store_true", help="where the time of a selection goes, by its parts")
    parser.add_argument(
        "--only", nargs="+", metavar="NAME", default=[], help=f"some of: {', '.join(dict.fromkeys(names))}"
    )
    parser.add_argument("--peers", nargs="*", metavar="NAME", help="only these beside ours, e.g. fastcan 'R leaps'")
    parser.add_argument("--repeats", type=int, metavar="N", help="rounds of each time (5; 2 with --quick)")
    parser.add_argument("--timeout", type=float, metavar="S", help="seconds a rival may take (120; 20 with --quick)")
    parser.add_argument("--json", type=Path, default=RESULTS / "benchmarks.json", metavar="FILE", help="where to write")
    parser.add_argument("--plots", type=Path, default=RESULTS, metavar="DIR", help="where to draw")
    args = parser.parse_args(words)
    if unknown := set(args.only) - set(names):
        parser.error(f"unknown {', '.join(sorted(unknown))}; --only takes {', '.join(dict.fromkeys(names))}")
    known = [rival.name for rival in RIVALS]
    if unknown := set(args.peers or ()) - set(known):
        parser.error(f"unknown {', '.join(sorted(unknown))}; --peers takes {', '.join(known)}")
    return args


def chosen_workloads(args: argparse.Namespace) -> list[Workload]:
    chosen = [w for w in WORKLOADS if not args.only or w.name in args.only]
    if args.quick:
        return [replace(w, make=w.quick) for w in chosen if w.quick is not None]
    return chosen


def chosen_rivals(args: argparse.Namespace) -> list[Rival]:
    return [rival for rival in RIVALS if args.peers is None or rival.ours or rival.name in args.peers]


def workloads(args: argparse.Namespace, repeats: int) -> list[Outcome]:
    outcomes = []
    timeout = args.timeout or (20.0 if args.quick else 120.0)
    for workload in chosen_workloads(args):
        try:
            outcomes.append(run(workload, chosen_rivals(args), repeats, timeout))
        except FileNotFoundError as error:
            print(f"\n{workload.name}: left out, {error}")
            continue
        print(f"\n{report.table(outcomes[-1])}", flush=True)
    if outcomes:
        print(f"\n{report.LEGEND}")
    return outcomes


def growths(args: argparse.Namespace, repeats: int) -> list[Grown]:
    if args.only and "growth" not in args.only:
        return []
    from benchmarks.drawings import draw

    rivals = [r for r in chosen_rivals(args) if r.name in LINES and not r.missing()]
    measured = []
    for growth in QUICK_GROWTHS if args.quick else GROWTHS:
        measured.append(grown(growth, min(repeats, 3), rivals))
        paths = draw(measured[-1], args.plots)
        print(f"\n{report.growth_lines(measured[-1])}\ndrawn: {', '.join(path.name for path in paths)}", flush=True)
    return measured


def main(words: Sequence[str] | None = None) -> None:
    args = arguments(words)
    repeats = args.repeats or (2 if args.quick else 5)
    print(machine.heading())
    if args.where:
        where.show(args.only, repeats)
        return
    outcomes = [] if args.bars else workloads(args, repeats)
    measured = [] if args.bars else growths(args, repeats)
    # Names of bars are also names of workloads: without --bars, --only means the workload.
    judged = bars.show(args.only, repeats) if args.bars or not (args.quick or args.only) else []
    report.write_json(args.json, outcomes, measured, judged)


if __name__ == "__main__":
    main()
