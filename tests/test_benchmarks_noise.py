"""The script that counts empty selections on noise draws what it says, computes what it says, and can be resumed."""

import json

import numpy as np
import pytest
from scipy import stats

from benchmarks import noise, publish, recovery
from dropstep import select

CELLS = [cell for _, _, make in noise.PARTS.values() for cell in make()]


def test_every_cell_has_its_own_tables():
    assert len({cell.key for cell in CELLS}) == len(CELLS)
    X, y = CELLS[0].draw(0)
    for again, same in ((CELLS[0].draw(0)[1], True), (CELLS[0].draw(1)[1], False), (CELLS[1].draw(0)[1], False)):
        assert np.array_equal(y, again) == same
    assert X.shape == (8, 1)


@pytest.mark.parametrize("target", noise.TARGETS)
def test_every_target_varies_even_with_few_rows(target):
    cell = noise.Cell("part", "row", target, "linear", "normal", target, 8, 1)
    assert all(noise.varies(cell.draw(repeat)[1]) for repeat in range(50))


def test_targets_are_what_they_are_called():
    rng = np.random.default_rng(0)
    assert [int(noise.TARGETS[f"{share} in a class"](rng, 1000, 0).sum()) for share in ("1 %", "5 %")] == [10, 50]
    assert np.mean(noise.TARGETS["zero-inflated"](rng, 10_000, 0) == 0) == pytest.approx(0.8, abs=0.02)
    counts = noise.TARGETS["overdispersed"](rng, 10_000, 0)
    assert counts.var() > 5 * counts.mean()
    assert not noise.varies(np.column_stack([np.arange(5.0), [1, 0, 0, 0, 0]]))
    levels = noise.FEATURES["rare levels"](rng, 5000, 6)
    assert levels.reshape(5000, 2, 3).sum(axis=2).max() == 1  # one level per factor and row
    assert levels.mean(axis=0)[:3] == pytest.approx([0.2, 0.07, 0.03], abs=0.02)


def test_included_features_and_groups_are_counted_as_such():
    signal = noise.Cell("part", "row", "column", "linear", "normal", "normal", 40, 6, include=2, group=1)
    X, _ = signal.draw(0)
    assert set(select(X, X[:, 5] * 2.0, model="linear", include=range(2)).selected) >= {0, 1, 5}
    groups = noise.Cell("part", "row", "column", "linear", "normal", "normal", 40, 6, group=3)
    assert isinstance(groups.is_empty(0), bool)
    assert isinstance(signal.is_empty(0), bool)


def test_the_exact_share_is_that_of_simulated_tables():
    rng = np.random.default_rng(0)
    tables = [(rng.standard_normal((12, 3)), rng.standard_normal(12)) for _ in range(400)]
    empty = [not select(X, y, model="linear", strategy="forward", criterion="bic").selected for X, y in tables]
    assert np.mean(empty) == pytest.approx(noise.empty_share(noise.bic, 12, 3), abs=0.06)
    assert noise.chen_chen(12, 20) == pytest.approx(noise.bic(12, 20) + 2 * np.log(20))


def test_the_share_of_separators_is_exact():
    assert noise.separated_share() == pytest.approx(noise.separated_probability(*noise.SEPARATORS), abs=0.03)
    alone = stats.hypergeom(12, 6, 6).pmf([0, 6]).sum()  # all of a class in the lower half, or none
    assert noise.separated_probability(12, 1) == pytest.approx(alone)


def test_neighbours_have_the_correlation():
    X = noise.autoregressive(np.random.default_rng(0), 20_000, 4, 0.9)
    assert np.asarray(np.corrcoef(X.T))[0] == pytest.approx([1, 0.9, 0.81, 0.729], abs=0.02)
    assert X.var(axis=0) == pytest.approx(np.ones(4), abs=0.05)


def test_finished_cells_are_not_run_again(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(noise, "SHAPES", ((8, 1), (12, 20)))
    file = tmp_path / "noise.json"
    arguments = ["--tables", "3", "--jobs", "1", "--only", "shapes", "--json", str(file)]
    noise.main(arguments)
    assert "shapes: 8 × 1: default: " in capsys.readouterr().out
    done = json.loads(file.read_text())
    assert len(done) == 2
    file.write_text(json.dumps(dict.fromkeys(done, "0 of 3")))
    assert noise.main(arguments) == 1
    printed = capsys.readouterr().out
    assert "2 cells, 2 of them below 0.93" in printed
    assert "| 12 × 20         | **0.000** (3) | 0.951 | 0.827 | 0.030 |" in printed
    noise.main([*arguments, "--fresh"])
    assert json.loads(file.read_text()) == done


def test_only_all_tables_of_all_cells_are_published(capsys):
    for arguments in (["--tables", "10"], ["--only", "units"]):
        with pytest.raises(SystemExit):
            noise.main(["--publish", *arguments])
        assert "--publish needs 2000 tables of every part; omit --tables and --only" in capsys.readouterr().err


def test_the_page_shows_the_published_results():
    """If it fails, cells have changed: run `python -m benchmarks.noise --publish`."""
    published = publish.load().get("noise")
    expected = noise.NOT_YET if published is None else noise.page(published)
    assert publish.block(noise.PAGE, "noise") == expected


# --- recovery --------------------------------------------------------------------------------------------------------


def test_the_population_r2_is_that_of_new_rows():
    setting = recovery.Setting(200, 20, 1.0, 2)
    intercept, coef = recovery.with_dropstep(criterion="bic")(*setting.draw(0))
    X, y = setting._replace(n=200_000).draw(1)
    errors = y - intercept - X @ coef
    assert setting.population_r2(intercept, coef) == pytest.approx(1 - np.mean(errors**2) / y.var(), abs=0.01)
    assert setting.population_r2(0.0, setting.coefficients()) == pytest.approx(0.5)
    assert np.flatnonzero(setting._replace(beta_type=1).coefficients()).tolist() == [0, 4, 9, 14, 19]


def test_recovery_prints_a_row_per_setting(capsys, monkeypatch):
    monkeypatch.setattr(recovery, "SHAPES", ((40, 10),))
    recovery.main(["--runs", "2", "--jobs", "1"])
    *_, last = capsys.readouterr().out.splitlines()
    assert last.startswith("| 40 × 10 | 4 | ")
    assert last.endswith(" | 0.80 |")
