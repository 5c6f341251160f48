"""The paper's experiments, and its procedures as it describes them."""
