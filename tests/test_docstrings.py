"""Docstrings of the public interface: numpydoc, with types, and every parameter and attribute documented."""

import dataclasses
import inspect

import pytest
from numpydoc.docscrape import ClassDoc
from numpydoc.validate import validate

import dropstep

# No docstring; parameters undocumented, unknown, in another order, without a type; no Returns section; no summary.
CHECKS = {"GL08", "PR01", "PR02", "PR03", "PR04", "RT01", "SS01"}
RESULTS = [dropstep.SelectionPath, dropstep.Step, dropstep.Moments]  # made by the library, documented by attributes
CLASSES = [dropstep.Selector, dropstep.SelectionPath, dropstep.Moments]
CALLABLES = ["select", "Selector", "Estimator", "StandardErrors", "Significance", "FBED", "EBIC", "MallowsCp"]
METHODS = [
    f"{cls.__name__}.{name}"
    for cls in CLASSES
    for name, member in vars(cls).items()
    if not name.startswith("_") and (inspect.isfunction(member) or isinstance(member, classmethod))
]


@pytest.mark.parametrize("name", [*CALLABLES, *METHODS, "resampling.comparison.compare"])
def test_parameters_are_documented_with_their_types(name: str) -> None:
    errors = validate(f"dropstep.{name}")["errors"]
    assert [error for error in errors if error[0] in CHECKS] == []


@pytest.mark.parametrize("cls", RESULTS, ids=lambda cls: cls.__name__)
def test_fields_are_documented_as_attributes(cls: type) -> None:
    documented = {n.strip() for p in ClassDoc(cls)["Attributes"] if p.type for n in p.name.split(",")}
    assert {field.name for field in dataclasses.fields(cls)} <= documented


@pytest.mark.parametrize("name", dropstep.__all__)
def test_everything_public_has_a_summary(name: str) -> None:
    assert inspect.getdoc(getattr(dropstep, name))
