"""Workloads and rivals: what a selection costs, here and elsewhere, measured side by side (make bench)."""
