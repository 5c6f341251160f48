"""The paper's experiments, and its procedures as it describes them: python -m dropstep.paper."""
