"""Best subsets of each size by branch and bound, as leaps and bounds (Furnival and Wilson 1974)."""
