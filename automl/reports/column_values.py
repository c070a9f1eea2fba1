"""Values of typed columns as people write them."""

from __future__ import annotations

import time

from automl.inference.column_schema import UNSEEN, ColumnSchema
from automl.reports.figure import number

DAY_SECONDS = 86_400
"""By which days since 1970 become seconds."""


def value_words(column: ColumnSchema, value: float | str) -> str:
    """A category as it is, a number with four digits, a date as its day.

    Parameters
    ----------
    value : typed; of a date the days since the column's first one
    """
    if isinstance(value, str):
        return "new categories" if value == UNSEEN else column.category_words(value)
    if column.role == "date":
        return time.strftime("%Y-%m-%d", time.gmtime(DAY_SECONDS * (column.date_origin + value)))
    return number(float(value))
