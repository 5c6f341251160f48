"""Draws the pictures of the README and of the documentation: python docs/pictures.py

The picture of the report needs Chromium; the others need matplotlib.
"""

import io
import sys
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
from PIL import Image
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits
from sklearn.linear_model import LinearRegression

from dropstep import select, stability

DOCS = Path(__file__).parent
FOLDER = DOCS / "pictures"
STYLE = {"svg.hashsalt": "dropstep", "svg.fonttype": "none", "font.family": "sans-serif"}


def save(ax, name: str) -> None:
    """An SVG with its letters as text, the same bytes every time."""
    ax.figure.savefig(FOLDER / f"{name}.svg", metadata={"Date": None})
    plt.close(ax.figure)


def plots() -> None:
    cancer = load_breast_cancer(return_X_y=True, as_frame=True)
    diabetes = load_diabetes(return_X_y=True, as_frame=True)
    with plt.rc_context(STYLE):
        path = select(*cancer)
        save(path.plot(), "path")
        save(path.plot(kind="gains"), "gains")
        save(path.plot(kind="ranking"), "ranking")
        save(path.plot(kind="dropping"), "dropping")
        save(select(*diabetes, model=LinearRegression(), criterion="neg_root_mean_squared_error").plot(), "folds")
        save(stability(*diabetes, random_state=0).plot(), "stability")
        digits = load_digits(return_X_y=True, as_frame=True)
        save(select(*digits, enter=0.05, leave=0.05).plot(kind="steps"), "steps")
        with plt.style.context("dark_background"):
            save(select(*diabetes, strategy="stepwise", criterion="aic").plot(), "dark")


def report() -> None:
    """The first screen of the report of the README."""
    sys.path.insert(0, str(DOCS.parent / "tests"))
    from browser.chromium import chromium, executable

    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    program = executable()
    if program is None:
        sys.exit("Chromium is not installed: the picture of the report is not drawn")
    with tempfile.TemporaryDirectory() as folder, chromium(program) as browser:
        file = Path(folder) / "cancer.html"
        y = y.map({0: "malignant", 1: "benign"})
        select(X, y).report(file, X=X, y=y)
        browser.open(file, 860, dark=False, height=1150)
        browser.screenshot_of_view(Path(folder) / "report.png")
        shot = Image.open(io.BytesIO((Path(folder) / "report.png").read_bytes()))
        shot.convert("RGB").quantize(64).save(FOLDER / "report.png", optimize=True)


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    plt.switch_backend("agg")
    plots()
    report()
    for file in sorted(FOLDER.iterdir()):
        print(f"{file.name}: {file.stat().st_size / 1000:.0f} kB")
