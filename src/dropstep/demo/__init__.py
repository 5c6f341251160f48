"""The paper's comparison in a minute, with its procedures from scratch: `make demo`."""
