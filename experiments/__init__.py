"""Experiments with dropstep that are not part of the installed package; they run from the repository."""
