"""The notebooks run from the first cell to the last, draw progress bars, and show what their readers look for."""

from pathlib import Path

import pytest

nbclient = pytest.importorskip("nbclient")
nbformat = pytest.importorskip("nbformat")
pytest.importorskip("ipykernel")
pytest.importorskip("sklearn.callback")

FOLDER = Path(__file__).parents[1] / "examples" / "notebooks"
SEEN = {
    "biologist": [
        "2 of 2,000 features",
        "gene10",
        "gene500",
        "Features were selected among 2,000 candidates",
        "() no ",
    ],
    "statistician": ["X contains NaN", "species=Gentoo", "needed 0.15)", r"\texttt{flipper\_length\_mm}"],
    "data_scientist": ["of 30 features", "2 of 30 features, score", "% positives", "x0, x1"],
}


@pytest.mark.parametrize("name", SEEN)
def test_a_notebook_runs_and_answers(name, tmp_path, monkeypatch):
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "1")
    monkeypatch.setenv("JUPYTER_PLATFORM_DIRS", "1")
    notebook = nbformat.read(FOLDER / f"{name}.ipynb", as_version=4)
    assert not any(cell.get("outputs") for cell in notebook.cells)
    nbclient.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    text = " ".join(
        str(part) for output in outputs for part in (output.get("text", ""), *output.get("data", {}).values())
    )
    for part in SEEN[name]:
        assert part in text
    assert "Selector - fit" in text or any("widget" in key for o in outputs for key in o.get("data", {}))
    assert any("image/png" in output.get("data", {}) for output in outputs)
    assert sorted(file.suffix for file in tmp_path.iterdir()) == [".html"]
