"""What a frame that was not typed would be taken for by steps that expect a typed one."""

from __future__ import annotations

import warnings

import pandas as pd

from automl.data.roles import detect_roles
from automl.errors import AutoMLWarning

LOOKED_AT_ROWS = 1000
"""Rows of a column: a column of dates shows itself in fewer (by judgement)."""


def warn_of_dates(frame: pd.DataFrame) -> None:
    """Warn where columns of dates would become a category for each day.

    Warns
    -----
    AutoMLWarning
        With these columns, and what makes parts of dates of them.
    """
    texts = frame.head(LOOKED_AT_ROWS).select_dtypes(exclude=["number", "bool", "category"])
    if texts.empty:
        return
    roles = detect_roles(texts.set_axis([str(name) for name in texts.columns], axis=1))
    dates = [name for name, column in roles.items() if column.role == "date"]
    if dates:
        warnings.warn(
            f"columns of dates become a category for each date: {', '.join(dates)}; type the frame first "
            "(fit_schema, type_columns) to have parts of dates",
            AutoMLWarning,
            stacklevel=3,
        )
