"""Sections of the report of a run: each function takes what is known of the run."""
