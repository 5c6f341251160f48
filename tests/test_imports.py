"""Optional means absent: `import dropstep` loads NumPy, SciPy, joblib and itself, and works without the extras."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

OPTIONAL = [
    *("pandas", "polars", "pyarrow", "matplotlib", "rich", "dask", "pyspark", "IPython", "statsmodels"),
    "shtab",
]

LOADED = """
import json, sys
import joblib, numpy, scipy.linalg, scipy.sparse, scipy.special, threadpoolctl
before = set(sys.modules)
import dropstep
print(json.dumps(sorted(set(sys.modules) - before)))
"""

USED = """
import json, sys
import numpy as np
from dropstep import select
from dropstep.cli.values import criterion_of
rng = np.random.default_rng(0)
X = rng.normal(size=(60, 4))
y = X[:, 2] + rng.normal(size=60)
select(X, y)
select(X, y > 0)
select(X, y > 0, model="logistic")
criterion_of("auto"), criterion_of("cp:sigma2=2")
print(json.dumps(sorted({name.split(".")[0] for name in sys.modules})))
"""

WITHOUT = f"""
import json, sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {OPTIONAL!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Absent())
import numpy as np
from dropstep import Moments, Selector, select
rng = np.random.default_rng(0)
X = rng.normal(size=(60, 4))
y = X[:, 2] + 0.1 * rng.normal(size=60)
path = select(X, y)
assert select(Moments.of(X, y)).selected == path.selected == (2,)
assert select(X, np.where(y > 0, "a", "b")).selected == (2,)
assert Selector().fit_transform(X.tolist(), y.tolist()).shape == (60, 1)
told = {{"text": str(path), "html": path._repr_html_()}}
for name in ("to_frame", "plot"):
    try:
        getattr(path, name)()
    except ImportError as error:
        told[name] = str(error)
print(json.dumps(told))
"""


def run(program: str) -> Any:
    ran = subprocess.run([sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert ran.stderr == ""
    return json.loads(ran.stdout)


def test_import_loads_nothing_but_itself() -> None:
    """How long it takes is measured by benchmarks/import_time.py; what it loads is what decides that."""
    loaded = {name for name in run(LOADED) if name.split(".")[0] not in sys.stdlib_module_names}
    assert {name.split(".")[0] for name in loaded} == {"dropstep"}
    assert len(loaded) <= 110
    for heavy in ("cli", "resampling", "report", "readers"):
        assert f"dropstep.{heavy}" not in loaded


def test_scikit_learn_is_loaded_by_its_transformers_and_estimators_only() -> None:
    """Its import takes longer than that of everything else together, and every command of the shell would wait."""
    assert not {"sklearn", *OPTIONAL} & set(run(USED))


def test_it_works_without_the_extras() -> None:
    told = run(WITHOUT)
    assert "selected: x2" in told["text"]
    assert "x2" in told["html"]
    assert "to_frame needs pandas" in told["to_frame"]
    assert "pip install 'dropstep[frames]'" in told["to_frame"]
    assert "matplotlib" in told["plot"]
    assert "pip install 'dropstep[plot]'" in told["plot"]


def test_public_names() -> None:
    import dropstep

    assert {"Selector", "select", "Moments", "SelectionPath", "Step", "StopReason", "MallowsCp", "EBIC"} <= set(
        dropstep.__all__
    )
    assert all(hasattr(dropstep, name) for name in dropstep.__all__)
    assert dropstep.__version__.count(".") >= 2
