"""The paper's tables, its figure and its theorem, computed with dropstep: python -m experiments.paper."""
