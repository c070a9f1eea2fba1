"""Ensembles of evaluated models, and the evidence for them (SPEC K)."""
