"""A selection on real data with its report: the first part of make demo."""

from __future__ import annotations

import tempfile
from pathlib import Path

from sklearn.datasets import load_breast_cancer

from dropstep import select
from dropstep.data.table import Table
from dropstep.report import save_report
from dropstep.report.verdict import next_step, verdict
from dropstep.resampling.assess import assess, with_equivalents


def main() -> None:
    """Select the features that separate benign from malignant tumours, write the report, and print where it is."""
    data = load_breast_cancer()
    X = Table(data.data, tuple(str(name) for name in data.feature_names))
    y = data.target_names[data.target]
    path = select(X, y)
    evidence = assess(path, X, y)
    file = Path(tempfile.mkdtemp(prefix="dropstep-")) / "demo.html"
    facts = {"Rows": len(y), "Target": "diagnosis, malignant or benign"}
    save_report(with_equivalents(path, X, y), file, evidence=evidence, data=facts)
    print(path)
    print(f"\n{verdict(path, evidence)}\n{next_step(path, evidence)}")
    print(f"\nwrote {file}\n\nThe comparison of the paper follows; it takes about a minute.\n", flush=True)
