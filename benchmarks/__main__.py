"""Compare dropstep with other tools: workloads, growth with n, p and k, and the bars."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from benchmarks import bars, data, machine, publish, report, where
from benchmarks.growth import GROWTHS, LINES, QUICK_GROWTHS, Grown, grown
from benchmarks.rivals import RIVALS, Rival
from benchmarks.runner import Outcome, run
from benchmarks.workloads import WORKLOADS, Workload

RESULTS = data.ROOT / "benchmarks" / "results"
PROFILE = "profile.json"


def arguments(argv: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    names = [*(workload.name for workload in WORKLOADS), "growth", *bars.BARS]
    parser.add_argument("--quick", action="store_true", help="smaller workloads, fewer rounds, no bars")
    parser.add_argument("--bars", action="store_true", help="only the bars: performance targets, met or not met")
    parser.add_argument("--where", action="store_true", help="profile of a selection by its parts")
    parser.add_argument(
        "--publish",
        action="store_true",
        help="write README.md and docs/benchmarks.md from the results of the last runs",
    )
    parser.add_argument(
        "--only", nargs="+", metavar="NAME", default=[], help=f"some of: {', '.join(dict.fromkeys(names))}"
    )
    parser.add_argument("--peers", nargs="*", metavar="NAME", help="compare with these only, e.g. fastcan 'R leaps'")
    parser.add_argument("--repeats", type=int, metavar="N", help="alternating rounds (5; 2 with --quick)")
    parser.add_argument("--timeout", type=float, metavar="S", help="seconds a tool may take (120; 20 with --quick)")
    parser.add_argument("--json", type=Path, default=RESULTS / "benchmarks.json", metavar="FILE", help="results")
    parser.add_argument("--plots", type=Path, default=RESULTS, metavar="DIR", help="figures and profile")
    args = parser.parse_args(argv)
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
            print(f"\n{workload.name}: skipped, {error}")
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
        print(f"\n{report.growth_lines(measured[-1])}\nfigures: {', '.join(path.name for path in paths)}", flush=True)
    return measured


def publish_results(args: argparse.Namespace) -> None:
    try:
        written = publish.publish(args.json, args.plots / PROFILE)
    except publish.NotPublishableError as error:
        raise SystemExit(f"python -m benchmarks: error: {error}") from error
    print("\n".join(str(path.relative_to(data.ROOT)) for path in written))


def main(argv: Sequence[str] | None = None) -> None:
    args = arguments(argv)
    if args.publish:
        publish_results(args)
        return
    repeats = args.repeats or (2 if args.quick else 5)
    print(machine.heading())
    if args.where:
        profiles = [one.as_json() for one in where.show(args.only, repeats)]
        report.write_json(
            args.plots / PROFILE, {"machine": machine.machine(), "only": args.only, "selections": profiles}
        )
        return
    outcomes = [] if args.bars else workloads(args, repeats)
    measured = [] if args.bars else growths(args, repeats)
    # Names of bars are also names of workloads: without --bars, --only means the workload.
    judged = bars.show(args.only, repeats) if args.bars or not (args.quick or args.only) else []
    content = report.as_json(outcomes, measured, judged, args.quick)
    report.write_json(args.json, content)
    if outcomes:
        print(f"\n{publish.comparison(content)}")


if __name__ == "__main__":
    main()
