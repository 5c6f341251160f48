"""Tables with factors and missing values: from R (golden files), from packages, and drawn at random."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

GOLDEN = ("survey", "cars93")


def golden(name: str) -> dict[str, Any]:
    """A golden file of tests/golden/make_golden.R."""
    return json.loads((Path(__file__).parent / "golden" / f"factors_{name}.json").read_text())


def frame_of(content: dict[str, Any]) -> tuple[pd.DataFrame, pd.Series]:
    """The features of a golden file, with factors in R's order of levels, and the target."""
    columns: dict[str, Any] = {}
    for name, column in zip(content["columns"], content["features"], strict=True):
        values = np.array(column["values"], dtype=float)
        codes = np.where(np.isnan(values), -1, values).astype(int)
        levels = column.get("levels")
        columns[name] = values if levels is None else pd.Categorical.from_codes(codes, categories=levels)
    return pd.DataFrame(columns), pd.Series(np.array(content["y"], dtype=float), name=content["target"])


def _from_r(name: str) -> tuple[pd.DataFrame, str]:
    frame, y = frame_of(golden(name))
    if "Cylinders" in frame:  # text of which most are numbers is refused
        frame["Cylinders"] = frame["Cylinders"].cat.rename_categories(lambda level: f"cylinders: {level}")
    factors = frame.select_dtypes("category").columns
    return frame.astype(dict.fromkeys(factors, object)).assign(**{str(y.name): y}), str(y.name)


def _penguins() -> tuple[pd.DataFrame, str]:
    return pd.read_csv(files("palmerpenguins") / "data" / "penguins.csv"), "species"


def _cars() -> tuple[pd.DataFrame, str]:
    cars = pd.DataFrame(json.loads((files("vega_datasets") / "_data" / "cars.json").read_text()))
    cars["Cylinders"] = cars["Cylinders"].map("{:.0f} cylinders".format)
    return cars.drop(columns=["Year"]), "Miles_per_Gallon"


def ugly(seed: int = 0, n: int = 90) -> pd.DataFrame:
    """Text, booleans, a constant, a rare level, two nested factors, an integer, missing values; y depends on some."""
    rng = np.random.default_rng(seed)
    city = rng.integers(0, 6, n)
    frame = pd.DataFrame(
        {
            "dose": rng.normal(size=n).round(4),
            "city": np.array(["Oslo, N", 'the "Hague"', "Lima", "Rome", "Kyiv", " é "])[city],
            "land": np.array(["north", "south"])[city % 2],
            "flag": rng.random(n) < 0.5,
            "same": "always",
            "rare": np.where(np.arange(n) == 7, "once", "often"),
            "count": rng.integers(0, 5, n),
            "noise": rng.choice(["a", "b", "c", "d"], n),
        }
    )
    effect = np.array([0.0, 2.0, -1.0, 0.5, 3.0, -2.0])[city]
    frame["y"] = (frame["dose"] + effect + 1.5 * frame["flag"] + 0.5 * rng.normal(size=n)).round(4)
    frame = frame.astype({"city": object, "land": object, "noise": object})
    frame.loc[[3, 50], "city"] = None
    frame.loc[rng.choice(n, 5, replace=False), "noise"] = None
    frame.loc[[3, 11], "dose"] = np.nan
    frame.loc[20, "y"] = np.nan
    return frame


# Name of a table to a function that returns it, and its target.
TABLES = {
    "survey": lambda: _from_r("survey"),
    "cars93": lambda: _from_r("cars93"),
    "penguins": _penguins,
    "cars": _cars,
    "ugly": lambda: (ugly(), "y"),
}
