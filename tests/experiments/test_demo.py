"""The table of the demonstration."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


@pytest.fixture
def demo(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The names of the script, which finds what is beside it."""
    monkeypatch.syspath_prepend(EXAMPLES)
    return runpy.run_path(str(EXAMPLES / "demo.py"))


def test_it_fits_a_terminal(demo: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    names = demo["PROCEDURES"].values()
    lines = demo["printed"]([demo["Row"]("table 4, p = 50", name, 3.94, 3456, 0.1136, 188.8285) for name in names])
    assert "table 4, p = 50  forward-backward  3.94        3,456  113.6   188,828.5  1,662" in lines
    assert max(map(len, lines.splitlines())) <= 80
    assert max(map(len, demo["wrapped"]("word " * 40).splitlines())) <= 80
