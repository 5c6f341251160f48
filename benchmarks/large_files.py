"""Large files: memory and time of a selection from a Parquet file, and of the command line on a CSV file.

    python -m benchmarks.large_files --folder /tmp/large --parquet-gb 3 --csv-gb 2

Both files are written from a seed, and deleted at the end. Each measurement is a process of its own; memory is the
maximum resident set size that the operating system reports. Reading is pyarrow's scan of the same columns with the same
batch size and readahead, without a computation.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

N_COLUMNS = 50
GROUP_ROWS = 2**16
SEED = 2019
ROUNDS = 2


def write_parquet(file: Path, gigabytes: float) -> int:
    """Write normal features and a target that depends on ten of them; returns the number of rows."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    names = [f"x{j}" for j in range(N_COLUMNS)] + ["y"]
    n_groups = max(1, round(gigabytes * 1e9 / (GROUP_ROWS * (N_COLUMNS + 1) * 8)))
    schema = pa.schema([(name, pa.float64()) for name in names])
    with pq.ParquetWriter(file, schema) as writer:
        for group in range(n_groups):
            writer.write_table(pa.table(_rows(group), names=names))
    return n_groups * GROUP_ROWS


def write_csv(file: Path, gigabytes: float) -> int:
    """Write the same table as text, with five digits, up to a size."""
    import pyarrow as pa
    import pyarrow.csv as pc

    names = [f"x{j}" for j in range(N_COLUMNS)] + ["y"]
    group = 0
    with open(file, "wb") as stream, pc.CSVWriter(stream, pa.schema([(name, pa.float64()) for name in names])) as out:
        while group == 0 or stream.tell() < gigabytes * 1e9:
            out.write_table(pa.table([np.round(column, 5) for column in _rows(group)], names=names))
            group += 1
    return group * GROUP_ROWS


def _rows(group: int) -> list[np.ndarray]:
    rng = np.random.default_rng([SEED, group])
    X = rng.standard_normal((N_COLUMNS, GROUP_ROWS))
    return [*X, X[:10].sum(axis=0) + 3 * rng.standard_normal(GROUP_ROWS)]


READ = """
import sys
import pyarrow.dataset as ds
from dropstep.backends.arrow import READAHEAD, batch_rows, scan_options
dataset = ds.dataset(sys.argv[1])
n = 0
for fragment in dataset.get_fragments():
    scanner = fragment.scanner(batch_size=batch_rows(len(dataset.schema.names)), batch_readahead=READAHEAD,
                               fragment_readahead=READAHEAD, fragment_scan_options=scan_options(fragment))
    for batch in scanner.to_batches():
        n += batch.num_rows
print(n)
"""
SELECT = """
import sys
from dropstep import select
path = select(sys.argv[1], "y")
print(len(path.selected), path.n_passes)
"""


def measured(*command: str) -> tuple[float, float, float, str]:
    """Seconds, CPU seconds, maximum resident memory in MB, and output of a process."""
    start = time.perf_counter()
    with subprocess.Popen([sys.executable, *command], stdout=subprocess.PIPE, text=True) as process:
        out = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{command} failed")
    memory = usage.ru_maxrss / (1024 if sys.platform != "darwin" else 2**20)
    return time.perf_counter() - start, usage.ru_utime + usage.ru_stime, memory, out.strip()


def parquet(folder: Path, gigabytes: float) -> None:
    file = folder / "large.parquet"
    n = write_parquet(file, gigabytes)
    try:
        print(f"Parquet: {file.stat().st_size / 1e9:.2f} GB, {n:,} rows x {N_COLUMNS} features")
        best: dict[str, tuple[float, float, float, str]] = {}
        for _ in range(ROUNDS):
            for name, program in (("read", READ), ("select", SELECT)):
                found = measured("-c", program, str(file))
                best[name] = min(best.get(name, found), found)
        for name, (seconds, cpu, memory, out) in best.items():
            print(f"  {name:<8}{seconds:8.1f} s {cpu:8.1f} s CPU {memory:8.0f} MB   {out}")
        print(f"  ratio {best['select'][0] / best['read'][0]:.2f}, of CPU {best['select'][1] / best['read'][1]:.2f}")
    finally:
        file.unlink()


def csv(folder: Path, gigabytes: float) -> None:
    file = folder / "large.csv"
    n = write_csv(file, gigabytes)
    try:
        print(f"CSV: {file.stat().st_size / 1e9:.2f} GB, {n:,} rows x {N_COLUMNS} features")
        seconds, cpu, memory, out = measured("-m", "dropstep", "select", str(file), "--target", "y")
        print(f"  dropstep select {seconds:.1f} s, {cpu:.1f} s CPU, {memory:.0f} MB   {out.splitlines()[-1]}")
    finally:
        file.unlink()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, required=True, help="where the files are written")
    parser.add_argument("--parquet-gb", type=float, default=3.0)
    parser.add_argument("--csv-gb", type=float, default=2.0)
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    if args.parquet_gb:
        parquet(args.folder, args.parquet_gb)
    if args.csv_gb:
        csv(args.folder, args.csv_gb)


if __name__ == "__main__":
    main()
