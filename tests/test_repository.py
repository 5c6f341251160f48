"""Workflows, forms and version constraints agree with the Makefile and with pyproject.toml."""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[1]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
FORMS = [path for path in sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml")) if path.name != "config.yml"]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
SETTINGS = [
    ".pre-commit-config.yaml",
    ".readthedocs.yaml",
    ".github/dependabot.yml",
    ".github/ISSUE_TEMPLATE/config.yml",
]


def read(path: Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def steps(workflow: Path) -> list[dict[str, Any]]:
    return [step for job in read(workflow)["jobs"].values() for step in job.get("steps", [])]


def targets() -> set[str]:
    """Targets of the Makefile that `make help` lists."""
    return set(re.findall(r"^([a-z-]+):.*## ", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))


def minimums(requirements: list[str]) -> dict[str, str]:
    """Minimum version of each package; the extras of this one are not packages."""
    found = (
        re.fullmatch(r"([\w-]+)(?:\[[\w,]+\])?>=([\d.]+)(?:,<[\d.]+)?", requirement) for requirement in requirements
    )
    return {match[1]: match[2] for match in found if match}


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.name)
def test_workflows_call_what_exists(workflow):
    for step in steps(workflow):
        assert step.keys() & {"run", "uses"}
        command = step.get("run", "")
        assert set(re.findall(r"\bmake ([a-z-]+)", command)) <= targets()
        assert all((ROOT / script).is_file() for script in re.findall(r"^\.ci/\w+", command))


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.name)
def test_actions_are_pinned_by_version(workflow):
    used = [step["uses"] for step in steps(workflow) if "uses" in step]
    assert used
    assert all(re.fullmatch(r"[\w-]+/[\w-]+@v\d+(\.\d+)*", action) for action in used), used


def test_every_check_of_the_makefile_is_run():
    commands = " ".join(step.get("run", "") for step in steps(ROOT / ".github" / "workflows" / "ci.yml"))
    for target in ("test", "test-oldest", "test-wheel", "docs"):
        assert target in re.findall(r"make ([a-z-]+)", commands)


def test_the_matrix_is_that_of_the_classifiers():
    declared = [line.split(" :: ")[-1] for line in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", line)]
    ci = read(ROOT / ".github" / "workflows" / "ci.yml")
    assert ci["jobs"]["test"]["strategy"]["matrix"]["python"] == declared
    assert PROJECT["requires-python"] == f">={declared[0]}"


@pytest.mark.parametrize("form", FORMS, ids=lambda path: path.name)
def test_issue_forms(form):
    content = read(form)
    assert {"name", "description", "body"} <= content.keys()
    assert {field["type"] for field in content["body"]} <= {"textarea", "input", "dropdown", "checkboxes", "markdown"}
    assert all(field["attributes"]["label"] for field in content["body"])
    identifiers = [field["id"] for field in content["body"]]
    assert len(set(identifiers)) == len(identifiers) > 1


@pytest.mark.parametrize("file", SETTINGS)
def test_settings_can_be_read(file):
    assert isinstance(read(ROOT / file), dict)


def test_the_oldest_versions_are_the_declared_ones():
    """What `make test-oldest` installs is the minimum of every package that a user may install."""
    extras = [
        PROJECT["optional-dependencies"][name]
        for name in ("cli", "dask", "files", "frames", "plot", "progress", "spark")
    ]
    declared = minimums([*PROJECT["dependencies"], *(requirement for extra in extras for requirement in extra)])
    lines = (ROOT / "constraints-oldest.txt").read_text(encoding="utf-8").split()
    oldest = dict(line.split("==") for line in lines)
    assert {"numpy", "scipy", "scikit-learn", "pandas", "pyarrow"} <= declared.keys()
    for package, minimum in declared.items():
        assert re.fullmatch(rf"{re.escape(minimum)}(\.0)*", oldest[package]), package
    for package, minimum in minimums(PROJECT["optional-dependencies"]["test"]).items():
        if package in oldest:  # packages of the tests whose newest version needs newer ones of the others
            assert re.fullmatch(rf"{re.escape(minimum)}(\.0)*", oldest[package]), package
