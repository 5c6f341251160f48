"""The wheel: what it contains, and that the demonstration works with it."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from sklearn.datasets import load_breast_cancer

ROOT = Path(__file__).resolve().parents[2]
TOOLS = ("pip", "hatchling")
DEMO = """
import runpy
import dropstep
print(dropstep.__file__)
demo = runpy.run_path("demo.py")
demo["table_4"].__globals__["REPEATS"] = 10
print(demo["printed"](demo["table_4"](12)))
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
    assert not [name for name in names if "experiment" in name or "paper" in name]


def test_the_demo_needs_only_the_wheel(wheel: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(wheel) as packed:
        packed.extractall(tmp_path)
    for script in ("demo.py", "from_scratch.py"):
        shutil.copy(ROOT / "examples" / script, tmp_path)
    env = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", DEMO], cwd=tmp_path, env=env, capture_output=True, text=True, check=True
    )
    file, *table = done.stdout.splitlines()
    assert Path(file).is_relative_to(tmp_path)
    assert len(table) == 2 + 3


def test_from_a_csv_to_a_report(wheel: Path, tmp_path: Path) -> None:
    """The command of the README, with nothing on the path but the wheel and its dependencies."""
    with zipfile.ZipFile(wheel) as packed:
        packed.extractall(tmp_path / "site")
    data = load_breast_cancer()
    lines = [",".join(map(str, [*row, label])) for row, label in zip(data.data, data.target, strict=True)]
    (tmp_path / "cancer.csv").write_text("\n".join([",".join([*data.feature_names, "diagnosis"]), *lines]))
    command = ["select", "cancer.csv", "--target", "diagnosis", "--report", "cancer.html"]
    env = {**os.environ, "PYTHONPATH": str(tmp_path / "site")}
    done = subprocess.run(
        [sys.executable, "-m", "dropstep", *command], cwd=tmp_path, env=env, capture_output=True, text=True, check=True
    )
    assert "10 of 30 features selected: worst concave points, worst radius" in done.stdout
    assert done.stderr.endswith("wrote cancer.html\n")
    page = (tmp_path / "cancer.html").read_text(encoding="utf-8")
    assert "What now?" in page
    assert "<style>" in page
