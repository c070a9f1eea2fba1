"""A run that is alive: its folder, settings, table, budget, and what it knows of other data."""
