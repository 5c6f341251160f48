"""The wheel: what it contains, and that the demo works from it."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TOOLS = ("pip", "hatchling")
DEMO = """
import dropstep
from dropstep.demo import comparison
print(dropstep.__file__)
comparison.REPEATS = 10
print(comparison.printed(comparison.table_4(12)))
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if missing := [tool for tool in TOOLS if importlib.util.find_spec(tool) is None]:
        pytest.skip(f"building a wheel needs {', '.join(missing)}")
    folder = tmp_path_factory.mktemp("wheel")
    options = ["--quiet", "--no-index", "--no-deps", "--no-build-isolation", "--wheel-dir", str(folder)]
    subprocess.run([sys.executable, "-m", "pip", "wheel", *options, str(ROOT)], check=True, cwd=folder)
    (built,) = folder.glob("*.whl")
    return built


def test_the_wheel_contains_no_experiment(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.split("/")[0] for name in names if ".dist-info/" not in name} == {"dropstep", "_dropstep_console.py"}
    assert "dropstep/demo/from_scratch.py" in names
    assert not [name for name in names if "experiment" in name or "paper" in name]


def test_the_demo_needs_only_the_wheel(wheel: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(wheel) as packed:
        packed.extractall(tmp_path)
    env = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", DEMO], cwd=tmp_path, env=env, capture_output=True, text=True, check=True
    )
    file, *table = done.stdout.splitlines()
    assert Path(file).is_relative_to(tmp_path)
    assert len(table) == 2 + 3
