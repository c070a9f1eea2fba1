"""Seconds of trials: measurements, a model of them, and its forecast of later trials."""
