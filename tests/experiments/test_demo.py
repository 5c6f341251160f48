"""The table of the demo."""

from __future__ import annotations

import pytest

from dropstep.demo import comparison
from dropstep.demo.comparison import Row


def test_it_fits_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    names = comparison.PROCEDURES.values()
    lines = comparison.printed([Row("table 4, p = 50", name, 3.94, 3456, 0.1136, 188.8285) for name in names])
    assert "table 4, p = 50  forward-backward  3.94        3,456  113.6   188,828.5  1,662" in lines
    assert max(map(len, lines.splitlines())) <= 80
    assert max(map(len, comparison.wrapped("word " * 40).splitlines())) <= 80
