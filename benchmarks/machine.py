"""Versions, cores and BLAS libraries of a run; no host name, no path."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from benchmarks import leaps

PACKAGES = ("dropstep", "numpy", "scipy", "scikit-learn", "fastcan", "abess", "mlxtend")


def versions() -> dict[str, str]:
    """Versions of Python, dropstep and the other tools."""
    return (
        {"python": platform.python_version()} | {name: _version(name) for name in PACKAGES} | {"leaps": leaps.version()}
    )


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"


def machine() -> dict[str, Any]:
    """Cores, processor and BLAS libraries."""
    return {
        "system": platform.system(),
        "processor": _processor(),
        "cores": os.cpu_count(),
        "blas": blas(),
        "load": load(),
    }


def _processor() -> str:
    try:
        with open("/proc/cpuinfo") as file:
            return next(line.split(":", 1)[1].strip() for line in file if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.machine()


def blas() -> list[str]:
    """The BLAS libraries in use, with version and number of threads."""
    try:
        from threadpoolctl import threadpool_info
    except ImportError:
        return []
    return sorted(
        {
            f"{pool['internal_api']} {pool['version']}, {pool['num_threads']} threads"
            for pool in threadpool_info()
            if pool["user_api"] == "blas"
        }
    )


def load() -> float | None:
    """Load average over the last minute."""
    return round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None


def heading() -> str:
    """Versions and machine, for the terminal."""
    facts, known = machine(), versions()
    lines = [
        ", ".join(f"{name} {number}" for name, number in known.items()),
        f"{facts['processor']}, {facts['cores']} cores; {'; '.join(facts['blas'])}",
    ]
    if facts["load"] is not None and facts["load"] > 0.5 * (facts["cores"] or 1):
        lines.append(
            f"load {facts['load']} on {facts['cores']} cores: other processes share this machine; times are unreliable"
        )
    return "\n".join(lines)
