"""Selection path of the digits: which of 64 pixels separate the ten digits, and in which phase each is added.

Pass a file name to save the figure: python path_of_the_digits.py path.svg
"""

import sys

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits

from dropstep import select

digits = load_digits(as_frame=True)
path = select(digits.data, digits.target, enter=0.05, leave=0.05)  # the paper's alpha and beta

print(f"{len(path.selected)} of {path.n_features} pixels, trace {path.score:.2f}, {path.n_evaluations:,} evaluations")
for phase in ("forward", "re-forward", "backward"):
    steps = [step for step in path.steps if step.phase == phase]
    count = {action: sum(len(s.features) for s in steps if s.action == action) for action in ("add", "drop", "remove")}
    print(f"{phase:10}  added {count['add']:2}, dropped {count['drop']:2}, removed {count['remove']}")

plt.rcParams["svg.hashsalt"] = "dropstep"  # a reproducible file
figure, ax = plt.subplots(figsize=(8, 4), layout="constrained")
path.plot(ax, kind="steps")
if len(sys.argv) > 1 and sys.argv[1].endswith(".svg"):
    figure.savefig(sys.argv[1], metadata={"Date": None})
