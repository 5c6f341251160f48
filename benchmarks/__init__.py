"""Benchmarks: time and memory of a selection with dropstep and with other tools (make bench)."""
