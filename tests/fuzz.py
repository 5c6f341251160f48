"""Compare the library with the reference on random problems: ``make fuzz SECONDS=300 SEED=0``.

Problems are numbered consecutively from the seed, so that a run can be repeated and continued. Failures are minimised.
``make fuzz TARGET=files`` reads files that were changed at random instead; see fuzz_files.py.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import traceback
from concurrent.futures import ProcessPoolExecutor

CHUNK = 50  # problems per task
SHOWN = 5  # failures that are printed in full


def failures(start: int) -> list[tuple[int, str]]:
    """Numbers and messages of the problems of one chunk that fail."""
    from problems import compare, problem

    failed = []
    for seed in range(start, start + CHUNK):
        try:
            message = compare(problem(seed))
        except Exception:  # an unexpected error is a failure too
            message = traceback.format_exc(limit=-3)
        if message:
            failed.append((seed, message))
    return failed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--target", choices=("problems", "files"), default="problems")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=0, help="number of the first problem or mutation")
    parser.add_argument("--count", type=int, help="number of mutations, however long they take")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    args = parser.parse_args()
    if args.target == "files":
        import fuzz_files

        return fuzz_files.main(vars(args))
    return compare_problems(args)


def compare_problems(args: argparse.Namespace) -> int:
    """Compare random problems for some time, print the differences, and return the exit code."""
    end, start, failed, done = time.monotonic() + args.seconds, args.seed, [], 0
    with ProcessPoolExecutor(args.jobs) as pool:
        running = []
        while time.monotonic() < end or running:
            while time.monotonic() < end and len(running) < 2 * args.jobs:
                running.append(pool.submit(failures, start))
                start += CHUNK
            failed += running.pop(0).result()
            done += CHUNK
    print(f"{done} problems from number {args.seed}: {len(failed)} differ from the reference")
    for seed, message in failed:
        print(f"  {seed}: {message.splitlines()[-1]}")
    _explain([seed for seed, _ in failed[:SHOWN]])
    return 1 if failed else 0


def _explain(seeds: list[int]) -> None:
    from problems import compare, minimised, problem

    for seed in seeds:
        try:
            smaller = minimised(problem(seed))
            print(f"\nproblem {seed}, minimised: {compare(smaller)}\n{smaller}")
        except Exception:
            print(f"\nproblem {seed}:\n{traceback.format_exc()}")


if __name__ == "__main__":
    sys.exit(main())
