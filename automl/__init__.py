"""Automatic machine learning for tables, free of any orchestrator.

The packages below are the library; `automl_tasks` and `automl_flows` wrap them for Prefect.
"""

__version__ = "0.1.0"
