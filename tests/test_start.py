"""The first page of the documentation, for a reader who installed dropstep without any extra."""

import re
import subprocess
import sys
from pathlib import Path

from dropstep.report import plots
from test_docs import ROOT, blocks
from test_imports import OPTIONAL

PAGE = ROOT / "docs" / "start.md"
EXTRA = (".plot(", "plot_", "ProgressBar", "frame[", "(frame")  # the page names the extra before these

ABSENT = f"""
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {OPTIONAL!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Absent())
"""


def test_it_runs_without_the_extras(tmp_path: Path) -> None:
    code = [b.text for b in blocks(PAGE) if b.kind == "python" and not any(word in b.text for word in EXTRA)]
    assert len(code) >= 6
    program = "\n".join([ABSENT, *code])
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_kinds_of_plots_that_it_names_exist() -> None:
    named = re.search(r"`kind` is (.+?)\.", PAGE.read_text(encoding="utf-8"))
    assert named is not None
    assert set(re.findall(r'"(\w+)"', named[1])) == set(plots.PLOTS)
