"""The JSON Schema describes the documents of the command line exactly: it accepts all of them, and nothing else."""

import copy
import csv
from typing import Any, get_args

import numpy as np
import pytest
from jsonschema import Draft202012Validator

from commands import DOCUMENTS, SCHEMA, answer, write_people, write_towns
from dropstep.cli.columns import ColumnKind
from dropstep.models.least_squares.criteria import CRITERIA
from dropstep.parameters import ENTRIES
from dropstep.result import Action, Phase, StopReason
from dropstep.search.strategies import STRATEGIES

MAPS = {"ranking", "classes", "errors"}  # objects whose keys are names of the user or of models


def validator(document: str) -> Draft202012Validator:
    return Draft202012Validator({"$ref": f"#/$defs/{document}", "$defs": SCHEMA["$defs"]})


def objects(node: Any, path: str = "") -> list[tuple[str, dict]]:
    """Every schema with properties, with its place."""
    if isinstance(node, list):
        return [found for item in node for found in objects(item, path)]
    if not isinstance(node, dict):
        return []
    below = [found for key, value in node.items() for found in objects(value, f"{path}/{key}")]
    return [(path, node), *below] if isinstance(node.get("properties"), dict) and "type" in node else below


def test_the_schema_is_valid_and_strict():
    Draft202012Validator.check_schema(SCHEMA)
    assert [one["$ref"] for one in SCHEMA["oneOf"]] == [f"#/$defs/{document}" for document in DOCUMENTS]
    found = objects(SCHEMA)
    assert len(found) >= 15
    for path, node in found:
        assert node["additionalProperties"] is False, path
        optional = {"columns"} if path in ("/$defs/select", "/$defs/compare") else set()  # with --columns
        assert node["required"] == [name for name in node["properties"] if name not in optional], path


def test_values_are_those_of_the_program():
    shared = SCHEMA["$defs"]
    assert shared["columns"]["items"]["properties"]["type"]["enum"] == list(get_args(ColumnKind))
    assert {"auto", *shared["solver"]["enum"]} == {*ENTRIES["solver"].domain.choices, "fits"}
    assert shared["phase"]["enum"] == list(get_args(Phase))
    assert shared["step"]["properties"]["action"]["enum"] == list(get_args(Action))
    reasons = shared["select"]["properties"]["stop"]["properties"]["reason"]["enum"]
    assert reasons == [reason.name.lower() for reason in StopReason]


# --- documents -------------------------------------------------------------------------------------------------------


def write_gaps() -> None:
    """Missing values, a constant, a column that is the target, and text in numbers; times of events."""
    rng = np.random.default_rng(0)
    with open("gaps.csv", "w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["a", "b", "constant", "copy", "mixed", "empty", "y", "z", "time", "event"])
        for i, (a, b, y) in enumerate(rng.normal(size=(40, 3)).round(3)):
            writer.writerow(["" if i == 3 else a, b, 1, y + a, "x" if i == 5 else i, "", y + a, b - a, i + 1, i % 2])


WINE = "select wine.csv --target"
REFUSED = "compare wine.csv --target alcohol --strategies backward,stepwise --enter 1 --leave 2"
NAIVE_BAYES = "--model sklearn.naive_bayes:GaussianNB --folds 2 --max-features 1"
LINES = [
    *(f"{WINE} class --strategy {strategy}" for strategy in STRATEGIES if strategy != "exhaustive"),
    f"{WINE} class --strategy exhaustive --max-features 3",
    *(
        f"{WINE} {'class' if c.kind == 'discriminant' else 'alcohol'} --criterion {name}"
        for name, c in CRITERIA.items()
    ),
    f"{WINE} alcohol,ash --solver gram",
    f"{WINE} alcohol,ash --solver columns",
    f"{WINE} class --max-features 2 --include hue --exclude ash --groups alcohol,proline",
    f"{WINE} alcohol --enter p0.15 --leave p0.2 --strategy stepwise",
    f"{WINE} alcohol --enter 1e9",
    f"{WINE} alcohol --enter=-inf --max-features 3 --quiet",
    f"{WINE} class --columns --report wine.html",
    f"{WINE} class --dry-run",
    f"{WINE} alcohol --dry-run --strategy fbed:rounds=2 --max-features 4",
    f"{WINE} alcohol --strategy exhaustive:n_best=2 --criterion press --max-features 2",
    f"{WINE} alcohol --strategy beam:width=3 --criterion hqc",
    "select people.csv --target income --weights weight",
    "select people.csv --target member --include town --exclude id,code",
    "select people.csv --target income --categorical age --dry-run",
    "select towns.csv --target y --groups x1,x2 --strategy backward",
    "select gaps.csv --target y --missing drop --exclude mixed,empty,time,event",
    "select gaps.csv --target y,z --missing drop-columns --exclude mixed,time,event --criterion adj_r2",
    "compare wine.csv --target class --strategies dropping,swap --svm",
    "compare wine.csv --target alcohol --strategies forward --folds 3 --seed 7",
    "compare people.csv --target income --strategies fbed --folds 4 --groups-column town",
    "compare wine.csv --target alcohol --strategies forward,dropping --criterion cv --folds 3 --max-features 2",
    "compare wine.csv --target class --strategies forward --model logistic --max-features 1 --folds 2",
    "compare wine.csv --target proline --strategies forward --model poisson --max-features 1 --folds 2",
    "compare gaps.csv --model cox --time time --event event --folds 2 --missing drop --exclude mixed,empty,copy",
    f"compare wine.csv --target class --strategies forward {NAIVE_BAYES}",
    f"compare wine.csv --target class --strategies forward {NAIVE_BAYES} --criterion neg_log_loss",
    f"compare wine.csv --target class --strategies backward,forward {NAIVE_BAYES} --criterion roc_auc_ovr",
    REFUSED,
]


@pytest.fixture
def tables(wine):
    write_people("people.csv")
    write_towns("towns.csv")
    write_gaps()


@pytest.mark.parametrize("line", LINES)
def test_documents_are_valid(tables, capsys, line):
    document = answer(capsys, line)
    name = document["schema"].removeprefix("dropstep.").split("/")[0]
    validator(name).validate(document)
    assert list(document) == [key for key in SCHEMA["$defs"][name]["properties"] if key != "columns" or key in document]
    assert any(row["refusal"] for row in document.get("strategies", [])) == (line == REFUSED)
    assert any(row["n_fits"] for row in document.get("strategies", [])) == ("compare" in line and "--model" in line)


# --- what must fail --------------------------------------------------------------------------------------------------

EXAMPLES = {
    "select": f"{WINE} class --strategy dropping --columns",
    "plan": f"{WINE} class --dry-run",
    "compare": "compare wine.csv --target class --strategies dropping",
}


def places(node: Any, path: tuple = ()) -> list[tuple]:
    """Paths of all values in a document; of a list, those in its first item."""
    if isinstance(node, dict):
        return [found for key, value in node.items() for found in [(*path, key), *places(value, (*path, key))]]
    if isinstance(node, list) and node:
        return [(*path, 0), *places(node[0], (*path, 0))]
    return []


def with_short_lists(node: Any) -> Any:
    """A document with the first two items of every list, which is validated faster."""
    if isinstance(node, dict):
        return {key: with_short_lists(value) for key, value in node.items()}
    return [with_short_lists(item) for item in node[:2]] if isinstance(node, list) else node


def changed(document: dict, path: tuple, change: str) -> dict:
    """The document with one value removed, replaced by one of another type, or accompanied by an unknown one."""
    made = copy.deepcopy(document)
    parent = made
    for key in path[:-1]:
        parent = parent[key]
    if change == "removed":
        del parent[path[-1]]
    elif change == "unknown":
        parent["unknown"] = None
    else:
        parent[path[-1]] = {"wrong": {}} if not isinstance(parent[path[-1]], dict) else ["wrong"]
    return made


@pytest.mark.parametrize("name", DOCUMENTS)
@pytest.mark.no_cover  # tracing jsonschema takes twice the time of the test
def test_every_change_of_a_document_is_invalid(wine, capsys, name):
    document = answer(capsys, EXAMPLES[name])
    check = validator(name)
    assert check.is_valid(document)
    document = with_short_lists(document)
    assert check.is_valid(document)
    for path in places(document):
        assert not check.is_valid(changed(document, path, "wrong type")), path
        in_map = len(path) > 1 and path[-2] in MAPS
        if isinstance(path[-1], str) and not in_map:
            optional = path == ("columns",) and name != "plan"  # with --columns
            assert check.is_valid(changed(document, path, "removed")) == optional, path
            assert not check.is_valid(changed(document, path, "unknown")), path


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("schema",), "dropstep.plan/2"),
        (("n_evaluations",), -1),
        (("n_candidates",), 1.5),
        (("stop", "reason"), "tired"),
        (("steps", 0, "action"), "added"),
        (("steps", 0, "features"), []),
        (("selected", 0, "gain"), "1.5"),
        (("ranking", "hue"), 0),
        (("columns", 0, "role"), "left out"),
        (("target", "classes"), {"0": "many"}),
    ],
)
def test_wrong_values_are_invalid(wine, capsys, path, value):
    document = answer(capsys, EXAMPLES["select"])
    parent = document
    for key in path[:-1]:
        parent = parent[key]
    parent[path[-1]] = value
    assert [tuple(error.absolute_path)[: len(path)] for error in validator("select").iter_errors(document)] == [path]
