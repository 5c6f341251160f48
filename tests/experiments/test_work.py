"""Parts of experiments: stored one by one, reused, and never mixed with those of other code."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from experiments.paper import parts as parts_module
from experiments.paper.parts import Cell, Store
from experiments.paper.settings import Settings
from experiments.paper.theorem import theorem_trial
from experiments.paper.work import Progress, Stopped, run_cells


def counted(calls: list[tuple[str, int]], stop_at: int | None = None) -> Callable[..., dict[str, Any]]:
    """A trial that records its calls, and is interrupted at one of them."""

    def trial(seed: int, repeat: int, name: str) -> dict[str, Any]:
        if stop_at is not None and len(calls) == stop_at:
            raise KeyboardInterrupt
        calls.append((name, repeat))
        return {"value": 100 * seed + repeat}

    return trial


def cells(trial: Callable[..., dict[str, Any]], n: int = 5) -> list[Cell]:
    return [Cell("table-0", {"name": name}, trial, n, block=2) for name in ("a", "b")]


def run(trial: Callable[..., dict[str, Any]], folder: Path, n: int = 5, seed: int = 1, **params: Any) -> Any:
    return run_cells(cells(trial, n), seed, Store(folder), jobs=1, stream=io.StringIO(), **params)


def test_records_are_in_order_of_the_trials(tmp_path: Path) -> None:
    results, effort = run(counted([]), tmp_path)
    assert [record["value"] for record in results.of("table-0", name="b")] == [100, 101, 102, 103, 104]
    assert (effort.parts, effort.found, effort.jobs) == (6, 0, 1)
    assert effort.passed > 0


def test_a_second_run_computes_nothing(tmp_path: Path) -> None:
    first, _ = run(counted([]), tmp_path)
    calls: list[tuple[str, int]] = []
    again, effort = run(counted(calls), tmp_path)
    assert not calls
    assert (effort.parts, effort.found) == (6, 6)
    assert again.of("table-0", name="a") == first.of("table-0", name="a")


def test_more_trials_reuse_stored_parts(tmp_path: Path) -> None:
    run(counted([]), tmp_path, n=4)
    calls: list[tuple[str, int]] = []
    run(counted(calls), tmp_path, n=6)
    assert calls == [("a", 4), ("a", 5), ("b", 4), ("b", 5)]


def test_fresh_and_another_seed_compute_everything(tmp_path: Path) -> None:
    run(counted([]), tmp_path)
    calls: list[tuple[str, int]] = []
    run(counted(calls), tmp_path, fresh=True)
    run(counted(calls), tmp_path, seed=2)
    assert len(calls) == 20


def test_ctrl_c_keeps_finished_parts(tmp_path: Path) -> None:
    with pytest.raises(Stopped, match=r"interrupted; 2 of 6 parts are stored in .* the same command continues"):
        run(counted([], stop_at=4), tmp_path)
    calls: list[tuple[str, int]] = []
    results, effort = run(counted(calls), tmp_path)
    assert effort.found == 2
    assert calls[0] == ("a", 4)
    assert len(results.of("table-0", name="b")) == 5


def test_results_of_other_code_are_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run(counted([]), tmp_path)
    monkeypatch.setattr(parts_module, "source_digest", lambda: "other code")
    _, effort = run(counted([]), tmp_path)
    assert effort.found == 0


def test_a_truncated_file_is_computed_again(tmp_path: Path) -> None:
    run(counted([]), tmp_path)
    victim = sorted(tmp_path.glob("*.json"))[0]
    victim.write_text(victim.read_text()[:-5])
    _, effort = run(counted([]), tmp_path)
    assert (effort.parts, effort.found) == (6, 5)


def test_processes_do_not_change_the_numbers(tmp_path: Path) -> None:
    cell = Cell("theorem", {}, theorem_trial, 6, block=2)
    one, _ = run_cells([cell], 0, Store(tmp_path / "1"), jobs=1, stream=io.StringIO())
    two, _ = run_cells([cell], 0, Store(tmp_path / "2"), jobs=2, stream=io.StringIO())
    assert one.of("theorem") == two.of("theorem")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_is_shown() -> None:
    part = next(cells(counted([]))[0].parts(0))
    plain, terminal = io.StringIO(), Terminal()
    for stream in (plain, terminal):
        progress = Progress(40, stream)
        for _ in range(40):
            progress.add(part)
    assert 10 < len(plain.getvalue().splitlines()) <= 21
    assert terminal.getvalue().count("\r") == 40
    assert "40/40 parts" in terminal.getvalue().splitlines()[-1]


@pytest.mark.parametrize("params", [{"repeats": 0}, {"splits": 0}, {"seed": -1}])
def test_invalid_settings(params: dict[str, int]) -> None:
    with pytest.raises(ValueError, match=r"^--(repeats|splits|seed) must be at least [01]; got (0|-1)$"):
        Settings(**params)
