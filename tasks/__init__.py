"""Prefect tasks, one module per stage; each makes one call into `automl`."""
