"""What a run knows of its table, in ``run.json``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

LEARNED_COLUMNS = "learned_columns"
"""Entry of the number of raw columns that models learn from; ``columns`` counts the typed ones made of them."""
VALUE_COUNTS = "value_counts"
"""Entry that says whether pipelines see how many rows have the same number; absent in runs of earlier versions."""


def learned_columns(data: Mapping[str, Any]) -> int | None:
    """Raw columns that models learn from; in runs of earlier versions the typed ones, None without either."""
    count = data.get(LEARNED_COLUMNS) or data.get("columns")
    return int(count) if count else None


def has_value_counts(data: Mapping[str, Any]) -> bool:
    """Whether the pipelines of a run see how many rows have the same number."""
    return bool(data.get(VALUE_COUNTS))
