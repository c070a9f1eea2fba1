"""Figures of reports, as inline SVG: each function takes records and returns a figure."""
