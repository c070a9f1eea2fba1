"""Acquisition functions and their maximizers (X20, section V-B; H18, section 2.2)."""
