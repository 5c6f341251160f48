"""A wide table on disk, in both orders, and the same table in memory: python -m benchmarks.wide_on_disk

The file is written from a seed, a block at a time, and deleted at the end. Every selection runs in a process of its
own, so that the peak of resident memory, mapped pages included, is that of the selection.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from dropstep import select

N_TRUE = 25  # features with an effect
BLOCK_ROWS = 100


def write(folder: Path, n: int, p: int, seed: int = 0) -> None:
    """The table as float32 in C and in Fortran order, and the target."""
    rng = np.random.default_rng(seed)
    at = rng.choice(p, N_TRUE, replace=False)
    effects = rng.choice([-1.0, 1.0], N_TRUE) * rng.uniform(0.5, 1.5, N_TRUE)
    y = rng.standard_normal(n)
    files = {
        order: np.lib.format.open_memmap(folder / f"{order}.npy", "w+", np.float32, (n, p), fortran_order=order == "F")
        for order in "CF"
    }
    for start in range(0, n, BLOCK_ROWS):
        rows = slice(start, start + BLOCK_ROWS)
        block = rng.standard_normal((len(y[rows]), p), dtype=np.float32)
        y[rows] += block[:, at] @ effects
        for file in files.values():
            file[rows] = block
    np.save(folder / "y.npy", y)


def run(file: Path, n_features: int, in_memory: bool) -> None:
    """Select features, and print what it took as JSON."""
    y = np.load(file.with_name("y.npy"))
    X = np.load(file, mmap_mode=None if in_memory else "r")
    start = time.perf_counter()
    path = select(X, y, strategy="dropping", max_features=n_features)
    print(
        json.dumps(
            {
                "seconds": time.perf_counter() - start,
                "passes": path.n_passes,
                "gigabytes": peak(),
                "selected": path.selected,
                "score": path.score,
            }
        )
    )


def peak() -> float:
    """Peak of resident memory; ru_maxrss includes that of the process that started this one."""
    status = Path("/proc/self/status")
    if status.exists():
        return int(status.read_text().split("VmHWM:")[1].split()[0]) / 2**20
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=2_000)
    parser.add_argument("--features", type=int, default=200_000)
    parser.add_argument("--select", type=int, default=20)
    parser.add_argument("--folder", type=Path, help="where the files are written (default: a temporary folder)")
    parser.add_argument("--run", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--in-memory", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.run is not None:
        run(args.run, args.select, args.in_memory)
        return
    with tempfile.TemporaryDirectory(dir=args.folder) as name:
        folder = Path(name)
        write(folder, args.rows, args.features)
        size = (folder / "C.npy").stat().st_size / 2**30
        print(f"{args.rows:,} x {args.features:,} float32, {size:.2f} GB; {args.select} features by dropping")
        known = None
        for label, order, options in (
            ("in memory, C order", "C", ["--in-memory"]),
            ("on disk, C order", "C", []),
            ("on disk, Fortran order", "F", []),
        ):
            command = [sys.executable, "-m", "benchmarks.wide_on_disk", "--run", str(folder / f"{order}.npy")]
            ran = subprocess.run(
                [*command, "--select", str(args.select), *options], capture_output=True, text=True, check=True
            )
            found = json.loads(ran.stdout)
            known = known or found
            same = found["selected"] == known["selected"] and abs(found["score"] / known["score"] - 1) < 1e-9
            print(
                f"{label:24}{found['passes']:4} passes {found['seconds']:7.1f} s {found['gigabytes']:6.2f} GB resident"
                f"   {len(found['selected'])} features, {'the same' if same else 'DIFFERENT'}"
            )


if __name__ == "__main__":
    main()
