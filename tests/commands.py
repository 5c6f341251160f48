"""Commands as a user types them, and tables to try them on."""

import csv
import json
import shlex
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_wine

from dropstep.cli import main

SCHEMA = json.loads((Path(__file__).parents[1] / "docs" / "schema.json").read_text(encoding="utf-8"))
DOCUMENTS = ("select", "plan", "compare")


def run(capsys, line: str) -> tuple[int, str, str]:
    """Exit code, standard output and standard error of a command."""
    code = main(shlex.split(line))
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def answer(capsys, line: str) -> dict:
    """The JSON answer of a command that must work."""
    code, out, err = run(capsys, line + " --format json")
    assert code == 0, err
    return json.loads(out)


def schema(document: str) -> dict[str, Any]:
    """The schema of one of the documents, on its own."""
    return SCHEMA | {"oneOf": [one for one in SCHEMA["oneOf"] if one["$ref"] == f"#/$defs/{document}"]}


def chosen(told: dict) -> list[str]:
    """Names of the selected features."""
    return [name for entry in told["selected"] for name in entry["features"]]


def write_wine(file: str) -> None:
    """The table of the help: 13 measures and a class."""
    X, y = load_wine(return_X_y=True)
    names = [*load_wine().feature_names, "class"]
    np.savetxt(file, np.c_[X, y], "%g", ",", header=",".join(names), comments="")


def write_people(file: str) -> None:
    """Numbers, categories, an id, a date, and weights; income depends on work and town."""
    rng = np.random.default_rng(4)
    rows = [["id", "code", "age", "town", "member", "work", "noise", "born", "weight", "income"]]
    towns = {"Oslo": 3.0, "Rome": -1.0, "Kyiv": 0.0, "Lima": 1.0}
    for i in range(120):
        town = rng.choice(list(towns))
        work, age = rng.normal(), rng.integers(20, 60)
        income = 2 * work + towns[town] + 0.3 * rng.normal()
        member = "yes" if rng.random() < 0.5 else "no"
        born = f"19{i % 90 + 10}-01-01"
        row = [i + 1, f"P{i:03d}", age, town, member, f"{work:.4f}", f"{rng.normal():.4f}", born, 1 + i % 3]
        rows.append([*row, f"{income:.4f}"])
    with open(file, "w", newline="") as stream:
        csv.writer(stream).writerows(rows)


def write_towns(file: str) -> None:
    """Three text columns of six levels and four numbers, all of which matter, and two that do not."""
    rng = np.random.default_rng(8)
    n, levels = 300, np.array(list("abcdef"))
    codes = rng.integers(0, 6, size=(n, 3))
    effects = rng.normal(size=(3, 6)) * np.array([[9.0], [7.0], [6.0]])
    numbers = rng.normal(size=(n, 6))
    y = effects[np.arange(3), codes].sum(axis=1) + numbers[:, :4] @ [3.0, 2.5, 2.0, 1.5] + 0.3 * rng.normal(size=n)
    head = ["town", "trade", "school", "x1", "x2", "x3", "x4", "noise1", "noise2", "y"]
    rows = np.c_[levels[codes], numbers.round(4).astype(str), y.round(4).astype(str)]
    np.savetxt(file, rows, "%s", ",", header=",".join(head), comments="")
