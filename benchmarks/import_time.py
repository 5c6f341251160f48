"""How long `import dropstep` takes, against `import sklearn.feature_selection`: python benchmarks/import_time.py

Each import runs in a separate process, in alternating rounds, and the best of several runs counts; the time of an empty
process is subtracted. The target is less than twice.
"""

from __future__ import annotations

import subprocess
import sys
import time

REPEATS = 7
PROGRAMS = {
    "nothing": "pass",
    "sklearn.feature_selection": "import sklearn.feature_selection",
    "dropstep": "import dropstep",
}


def seconds(program: str) -> float:
    """Seconds of a process that runs a program."""
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", program], check=True)
    return time.perf_counter() - start


def main() -> None:
    best = dict.fromkeys(PROGRAMS, float("inf"))
    for _ in range(REPEATS + 1):  # the first round fills the disk cache
        for name, program in PROGRAMS.items():
            best[name] = min(best[name], seconds(program))
    empty = best.pop("nothing")
    for name, least in best.items():
        print(f"import {name:<26} {least - empty:6.3f} s")
    ratio = (best["dropstep"] - empty) / (best["sklearn.feature_selection"] - empty)
    print(f"ratio {ratio:.2f} (best of {REPEATS + 1}; target: less than 2)")


if __name__ == "__main__":
    main()
