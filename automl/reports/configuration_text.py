"""A configuration in a few words."""

from __future__ import annotations

from typing import Any

from automl.records import Configuration
from automl.selection.dispositions import number_text

MOST_VALUES = 4
"""Hyperparameters that a sentence names."""


def configuration_text(configuration: Configuration) -> str:
    """Family, choices and the first few hyperparameters."""
    chosen = {step.partition("=")[0] for step in configuration.path}
    values = {
        name: value
        for name, value in configuration.values.items()
        if name not in chosen and not name.startswith("prep.") and value is not None
    }
    shown = [f"{name} {_value_text(value)}" for name, value in list(values.items())[:MOST_VALUES]]
    parts = [*(step.replace("=", " ") for step in configuration.path), *shown]
    more = ", ..." if len(values) > MOST_VALUES else ""
    return configuration.family + (f" ({', '.join(parts)}{more})" if parts else "")


def _value_text(value: Any) -> str:
    return number_text(value) if isinstance(value, float) else str(value)
