"""JSON Schemas of the documents that `--format json` prints."""

from __future__ import annotations

import json
from importlib import resources
from typing import Any

DOCUMENTS = ("select", "plan", "compare")


def schema(document: str) -> dict[str, Any]:
    """Read the schema of a document; the definitions that all documents share are included, so it stands alone."""
    own = _read(document)
    return own | {"$defs": own.get("$defs", {}) | {"common": _read("common")}}


def _read(name: str) -> dict[str, Any]:
    text = resources.files("dropstep.cli").joinpath("schemas", f"{name}.json").read_text(encoding="utf-8")
    return dict(json.loads(text))
