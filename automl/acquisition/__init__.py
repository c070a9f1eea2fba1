"""Acquisition functions and their maximizers (SPEC E)."""
