"""Texts about a run for the terminal and the pages: results, stories, tables."""
