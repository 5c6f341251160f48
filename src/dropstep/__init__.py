"""Feature selection by forward, backward, stepwise and dropping search, exact and incremental."""

import ast
from importlib import import_module, resources
from typing import Any

from dropstep.select import select as select  # now: the module of the same name would hide it later

__version__ = "0.1.0.dev0"

# Public names are listed in __init__.pyi and imported when used: scikit-learn, which some need, takes a second to load.
_MODULES = {
    alias.name: str(node.module)
    for node in ast.parse(resources.files(__name__).joinpath("__init__.pyi").read_text(encoding="utf-8")).body
    if isinstance(node, ast.ImportFrom)
    for alias in node.names
}
__all__ = sorted(_MODULES)


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = getattr(import_module(_MODULES[name]), name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULES})
