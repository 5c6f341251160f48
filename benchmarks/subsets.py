"""Best subsets: time, sets evaluated and remaining gap, with R's leaps in the same run if it is installed.

    python -m benchmarks.subsets [SECONDS]

500 rows, half of the features informative; then the correlated features of diabetes64, within a limit of SECONDS.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks.data import read
from dropstep import SelectionPath, select

LEAPS = """
d <- as.matrix(read.csv(commandArgs(TRUE)[1], header = FALSE))
time <- system.time(found <- summary(leaps::regsubsets(d[, -1], d[, 1], method = "exhaustive", nvmax = ncol(d) - 1,
                                                       really.big = TRUE)))[["elapsed"]]
cat(time, format(found$rss, digits = 15))
"""


def main() -> None:
    limit = float(sys.argv[1]) if len(sys.argv) > 1 else 20.0
    print(f"{'table':34} {'seconds':>8} {'sets evaluated':>15} {'gap (bic)':>10} {'R leaps, seconds':>17}")
    for p, correlation in ((20, 0.0), (30, 0.0), (30, 0.9), (40, 0.0), (40, 0.9), (50, 0.0)):
        X, y = simulated(500, p, correlation)
        report(f"{p} features, correlation {correlation:g}", X, y, None, leaps=p <= 30)
    X, y = read("diabetes64")
    report("diabetes64: the first 40 features", X[:, :40], y, None, leaps=True)
    report("diabetes64: 64 features", X, y, limit, leaps=False)


def simulated(n: int, p: int, correlation: float) -> tuple[np.ndarray, np.ndarray]:
    """Equicorrelated features, of which half are informative."""
    rng = np.random.default_rng([50, p])
    X = np.sqrt(1 - correlation) * rng.normal(size=(n, p)) + np.sqrt(correlation) * rng.normal(size=(n, 1))
    effects = np.where(rng.permutation(p) < p // 2, rng.normal(size=p), 0.0)
    return X, X @ effects + 2 * rng.normal(size=n)


def report(name: str, X: np.ndarray, y: np.ndarray, limit: float | None, *, leaps: bool) -> None:
    """Time one search, and leaps on the same table; the two must agree."""
    start = time.perf_counter()
    path = select(X, y, strategy="exhaustive", criterion="bic", max_time=limit)
    seconds = time.perf_counter() - start
    assert path.subsets is not None
    rival = leaps_seconds(X, y, path) if leaps and shutil.which("Rscript") else ""
    print(f"{name:34} {seconds:8.2f} {path.n_evaluations:15,} {path.subsets.gap:10.3g} {rival:>17}", flush=True)


def leaps_seconds(X: np.ndarray, y: np.ndarray, path: SelectionPath) -> str:
    """Seconds of regsubsets, whose best residual sums of squares must be those of the path."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "table.csv"
        script = Path(folder) / "leaps.R"
        script.write_text(LEAPS)
        np.savetxt(file, np.column_stack([y, X]), delimiter=",", fmt="%.17g")
        run = subprocess.run(["Rscript", str(script), str(file)], capture_output=True, text=True, check=True)
    seconds, *rss = map(float, run.stdout.split())
    assert path.subsets is not None
    n, sizes = len(y), np.arange(1, X.shape[1] + 1)
    bic = [path.subsets.of_size(size)[0].score for size in sizes]
    np.testing.assert_allclose(n * np.log(np.array(rss) / n) + np.log(n) * (sizes + 1), bic, rtol=1e-6)
    return f"{seconds:.2f}"


if __name__ == "__main__":
    main()
