"""Metrics, baselines and the performance index (B14, section 3.2)."""
